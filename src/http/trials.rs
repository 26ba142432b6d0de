//! Dry runs: the result that a placement, an amend or a batch would have now. Nothing is journaled
//! and no name is used up; `Sequence` is the last record that the answer reflects.

use super::asking::try_out;
use super::batch::{Shown, Subject, changed_before, key_reused};
use super::batch_form::{Resolved, Whose};
use super::call::Call;
use super::order_form::TimeLimit;
use super::orders::{Placed, placed, placed_before};
use super::own_orders::incomplete_effects;
use super::problem::Problem;
use super::reply::Reply;
use super::wire::account::BalanceJson;
use super::wire::order::{AmendedJson, BatchJson, DoneJson, OrderJson, RefusedJson, ResultJson};
use super::wire::placed::{self as told, after};
use super::wire::problem::ProblemJson;
use exchange::command::{Command, IdempotencyKey, PlaceOrder};
use exchange::effect::{Applied, Effect};
use exchange::ids::{OrderNo, Token, UserNo};
use exchange::invariant::Broken;
use exchange::trial::{KeyedStep, Step, Target};
use exchange::units::{Lots, Sequence, Tick};
use views::ReadModel;
use views::accounts::Balance;
use views::orders::OrderRow;

/// `POST /trading/orders?dryRun=true`: the result of a placement.
pub async fn place(call: &Call, terms: PlaceOrder) -> Result<Reply, Problem> {
    let user = call.caller.user;
    let once = call.once.as_ref().and_then(|_| call.once_for(&Command::PlaceOrder(terms.clone())));
    let show = move |view: &ReadModel, came: Result<&[Applied<'_>], Broken>| {
        let sequence = view.watermark();
        let applied = only(came)?;
        let (sequence, placed, replayed) = match applied.effects {
            [Effect::Refused(reject)] => return Err(Problem::refused(*reject, sequence)),
            [Effect::Repeated { first }] => {
                let kept = view.answers.or_placed(*first, user);
                (*first, placed_before(view, &kept), true)
            }
            _ => (sequence, placed(applied).map(Placed::Now), false),
        };
        let balance = balance_after(view, user, applied.effects)?;
        Ok((sequence, placed.ok_or_else(incomplete_effects)?, balance, replayed))
    };
    let tried = try_out(&call.engine, vec![(Step::Place(terms), once)], show).await?;
    let (sequence, placed, balance, replayed) = tried?;
    Ok(Reply::ok(sequence, &placed.json()?.tried(balance))?.replayed(replayed))
}

/// `PATCH /trading/orders/{orderId}?dryRun=true`: the order after an amend.
pub async fn amend(
    call: &Call,
    order: OrderNo,
    price: Option<Tick>,
    quantity: Option<Lots>,
) -> Result<Reply, Problem> {
    let user = call.caller.user;
    let show = move |view: &ReadModel, came: Result<&[Applied<'_>], Broken>| {
        let sequence = view.watermark();
        let applied = only(came)?;
        if let [Effect::Refused(reject)] = applied.effects {
            return Err(Problem::refused(*reject, sequence));
        }
        let before = view.orders.open_order_of(user, order).ok_or_else(incomplete_effects)?;
        let (row, _) = after(before, applied).map_err(|_| incomplete_effects())?;
        let balance = balance_after(view, user, applied.effects)?;
        Ok((sequence, AmendedJson::of(OrderJson::seen(view, &row), Some(balance))))
    };
    let steps = vec![(Step::Amend { user, target: order.into(), price, quantity }, None)];
    let (sequence, content) = try_out(&call.engine, steps, show).await??;
    Reply::ok(sequence, &content)
}

/// `POST /trading/orders/batch?dryRun=true`: the result of each operation after those before it.
pub async fn batch(
    call: &Call,
    operations: Vec<Result<Resolved, Problem>>,
) -> Result<Reply, Problem> {
    let (user, once) = (call.caller.user, call.once.as_deref().copied());
    let (mut steps, mut slots): (Vec<KeyedStep>, Vec<Result<_, Problem>>) = Default::default();
    for (part, operation) in (0_u8..).zip(operations) {
        let step = operation.and_then(|operation| step(call, operation, &steps));
        let keyed = |step| (step, once.map(|once| Box::new(IdempotencyKey { part, ..once })));
        slots.push(step.map(|step| {
            let subject = match &step {
                Step::Place(terms) => Subject::Placement(TimeLimit::of(terms)),
                Step::Replace { target: Target { order: Some(order), .. }, terms } => {
                    Subject::Replacement(TimeLimit::of(terms), *order)
                }
                Step::Replace { terms, .. } => Subject::Placement(TimeLimit::of(terms)),
                Step::Cancel { target, .. } | Step::Amend { target, .. } => {
                    target.order.map_or(Subject::Unplaced, Subject::Order)
                }
                Step::Act(_) | Step::Ask => Subject::Unplaced,
            };
            steps.push(keyed(step));
            subject
        }));
    }
    let tried = steps.clone();
    let show = move |view: &ReadModel, came: Result<&[Applied<'_>], Broken>| {
        let sequence = view.watermark();
        let all = consistent(came)?;
        let tried = Tried { view, user, steps: &tried, all };
        let shown: Vec<_> = (0..all.len()).map(|index| tried.shown(index)).collect();
        let effects = all.iter().flat_map(|applied| applied.effects);
        let balance = balance_after(view, user, effects)?;
        Ok::<_, Problem>((sequence, shown, balance))
    };
    let (sequence, shown, balance) = try_out(&call.engine, steps, show).await??;
    let mut shown = shown.into_iter();
    let results = slots.into_iter().map(|slot| {
        let came = slot.and_then(|subject| {
            let came = shown.next().unwrap_or_else(|| Err(incomplete_effects()));
            came.map_err(|problem| subject.explain(call, problem))
        });
        let json = came.and_then(|(shown, replayed)| Ok((shown.json(call)?, replayed)));
        match json {
            Ok((done, replayed)) => Ok(ResultJson::Done(DoneJson { replayed, ..done })),
            Err(problem) if key_reused(&problem) => Err(problem),
            Err(problem) => {
                let error = ProblemJson::of(&problem, call.origin.request_id.as_str());
                Ok(ResultJson::Refused(RefusedJson { error }))
            }
        }
    });
    let results = results.collect::<Result<_, Problem>>()?;
    Reply::ok(sequence, &BatchJson { results, dry_run: true, balance: Some(balance) })
}

/// An operation as a step of the dry run.
fn step(call: &Call, operation: Resolved, before: &[KeyedStep]) -> Result<Step, Problem> {
    let user = call.caller.user;
    let target = |whose| target(call, whose, before);
    Ok(match operation {
        Resolved::Place(terms) => Step::Place(terms),
        Resolved::Cancel(whose) => Step::Cancel { user, target: target(whose)? },
        Resolved::Amend(whose, price, quantity) => {
            Step::Amend { user, target: target(whose)?, price, quantity }
        }
        Resolved::Replace(whose, terms) => Step::Replace { target: target(whose)?, terms },
    })
}

/// The order that a step is about. A client order id may name one that an earlier step places.
fn target(call: &Call, whose: Whose, before: &[KeyedStep]) -> Result<Target, Problem> {
    let Whose::Named(name) = whose else { return whose.number(call).map(Target::from) };
    let order = match whose.number(call) {
        Err(problem) if !before.iter().any(|(step, _)| gives(step, name)) => return Err(problem),
        order => order.ok(),
    };
    Ok(Target { name: Some(name), order })
}

/// Whether a step gives its order this client order id.
fn gives(step: &Step, name: Token) -> bool {
    step.placement().is_some_and(|terms| terms.client_order_id.as_deref() == Some(&name))
}

/// The steps of a dry run and what came of them.
struct Tried<'a> {
    view: &'a ReadModel,
    user: UserNo,
    steps: &'a [KeyedStep],
    all: &'a [Applied<'a>],
}

impl Tried<'_> {
    /// The result of one step, and whether it repeats an earlier one.
    fn shown(&self, index: usize) -> Result<(Shown, bool), Problem> {
        let applied = self.all.get(index).ok_or_else(incomplete_effects)?;
        match applied.effects {
            [] => {
                let row = self.unchanged(index).and_then(|order| self.row(index, order));
                let row = row.ok_or_else(incomplete_effects)?;
                Ok((Shown::Changed(OrderJson::seen(self.view, &row)), false))
            }
            [Effect::Refused(reject)] => Err(Problem::refused(*reject, self.view.watermark())),
            [Effect::Repeated { first }] => {
                let shown = self.before(index, *first).ok_or_else(incomplete_effects)?;
                Ok((shown, true))
            }
            [Effect::OrderCancelled { order, .. } | Effect::OrderAmended { order, .. }, ..] => {
                let row = self.row(index, *order).ok_or_else(incomplete_effects)?;
                let (row, _) = after(row, applied).map_err(|_| incomplete_effects())?;
                let changed = OrderJson::seen(self.view, &row);
                let shown = match placed(applied).map(Placed::Now) {
                    Some(placed) => Shown::Replaced(placed, changed),
                    None => Shown::Changed(changed),
                };
                Ok((shown, false))
            }
            _ => {
                let json = placed(applied).ok_or_else(incomplete_effects)?;
                Ok((Shown::Placed(Placed::Now(json)), false))
            }
        }
    }

    /// What a record, or an earlier step, did that this step repeats.
    fn before(&self, index: usize, first: Sequence) -> Option<Shown> {
        if self.all.iter().any(|one| accepts(one, OrderNo(first))) {
            let earlier = self.all.iter().position(|one| one.sequence == first)?;
            return self.shown(earlier).ok().map(|(shown, _)| shown);
        }
        let kept = self.view.answers.or_placed(first, self.user);
        if let Some((Step::Replace { target, .. }, _)) = self.steps.get(index) {
            let sought = self.view.orders.order(self.user, target.order?);
            return Some(Shown::ReplacedBefore(placed_before(self.view, &kept)?, Box::new(sought)));
        }
        let placed = || placed_before(self.view, &kept).map(Shown::Placed);
        changed_before(self.view, &kept).or_else(placed)
    }

    /// The order of an amend that changes nothing.
    fn unchanged(&self, index: usize) -> Option<OrderNo> {
        let (Step::Amend { target, .. }, _) = self.steps.get(index)? else { return None };
        let earlier = self.steps.iter().zip(self.all).take(index).rev();
        let named = target.name.and_then(|name| {
            let mut giving = earlier.filter(|((step, _), _)| gives(step, name));
            giving.find_map(|(_, applied)| placed_by(applied))
        });
        named.or(target.order)
    }

    /// The caller's open order as the steps before this one leave it.
    fn row(&self, index: usize, order: OrderNo) -> Option<OrderRow> {
        let placed = self.all.iter().find(|one| accepts(one, order));
        let placed = placed.and_then(|one| Some(told::placed(one).ok()??.0));
        let row = placed.or_else(|| self.view.orders.open_order_of(self.user, order));
        // Only amends of its own: orders of one user do not trade with each other.
        let amended = |one: &&Applied<'_>| {
            let of_it = |effect: &Effect| match effect {
                Effect::OrderAmended { order: amended, .. } => *amended == order,
                _ => false,
            };
            one.effects.iter().any(of_it)
        };
        let row = row.filter(|row| row.user == self.user)?;
        let mut amends = self.all.iter().take(index).filter(amended);
        amends.try_fold(row, |row, one| Some(after(row, one).ok()?.0))
    }
}

/// The order that a step placed, now or before.
fn placed_by(step: &Applied<'_>) -> Option<OrderNo> {
    step.effects.iter().find_map(|effect| match effect {
        Effect::OrderAccepted { order, .. } => Some(*order),
        Effect::Repeated { first } => Some(OrderNo(*first)),
        _ => None,
    })
}

/// Whether a step placed this order.
fn accepts(step: &Applied<'_>, placed: OrderNo) -> bool {
    let accepted =
        |effect: &Effect| matches!(effect, Effect::OrderAccepted { order, .. } if *order == placed);
    step.effects.iter().any(accepted)
}

/// Whether a request for this command was executed before, under its idempotency key.
pub async fn executed_before(call: &Call, command: &Command) -> Result<bool, Problem> {
    let Some(once) = call.once_for(command) else { return Ok(false) };
    let show = |view: &ReadModel, came: Result<&[Applied<'_>], Broken>| match only(came)?.effects {
        [Effect::Refused(reject)] => Err(Problem::refused(*reject, view.watermark())),
        effects => Ok(matches!(effects, [Effect::Repeated { .. }])),
    };
    try_out(&call.engine, vec![(Step::Ask, Some(once))], show).await?
}

/// The result of a dry run, unless the state contradicts itself.
fn consistent<T>(came: Result<T, Broken>) -> Result<T, Problem> {
    came.map_err(|_| Problem::internal("a trial came to what cannot be"))
}

/// The result of a dry run of one step.
fn only<'a>(came: Result<&'a [Applied<'a>], Broken>) -> Result<&'a Applied<'a>, Problem> {
    consistent(came)?.first().ok_or_else(incomplete_effects)
}

/// The user's balance after these effects.
fn balance_after<'a>(
    view: &ReadModel,
    user: UserNo,
    effects: impl IntoIterator<Item = &'a Effect, IntoIter: DoubleEndedIterator>,
) -> Result<BalanceJson, Problem> {
    let after = effects.into_iter().rev().find_map(|effect| match effect {
        Effect::AccountChanged { user: whose, available, reserved } if *whose == user => {
            Some(Balance { available: *available, reserved: *reserved })
        }
        _ => None,
    });
    let now = view.accounts.user(user).map(|row| row.balance);
    let balance = after.or(now).ok_or_else(incomplete_effects)?;
    Ok(BalanceJson::of(balance, view.accounts.currency()))
}
