//! Dry runs: the result that a placement, an amend or a batch would have now. Nothing is journaled
//! and no name is used up; `Sequence` is the last record that the answer reflects.

use super::asking::try_out;
use super::batch::{Resolved, Shown, Subject, key_reused};
use super::call::Call;
use super::order_form::TimeLimit;
use super::orders::{Placed, incomplete_effects, named_order, own_order, placed, placed_before};
use super::problem::Problem;
use super::reply::Reply;
use super::wire::account::BalanceJson;
use super::wire::order::{AmendedJson, BatchJson, DoneJson, OrderJson, RefusedJson, ResultJson};
use super::wire::placed::{self as told, after};
use super::wire::problem::ProblemJson;
use exchange::command::{Command, IdempotencyKey, PlaceOrder};
use exchange::effect::{Applied, Effect};
use exchange::ids::{OrderNo, UserNo};
use exchange::invariant::Broken;
use exchange::trial::{KeyedStep, Step};
use exchange::units::{Lots, Tick};
use views::ReadModel;
use views::accounts::Balance;
use views::responses::StoredResponse;

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
    let steps = vec![(Step::Amend { user, order, price, quantity }, None)];
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
                Step::Cancel { order, .. } => order.map_or(Subject::Unplaced, Subject::Order),
                Step::Amend { .. } | Step::Ask => Subject::Unplaced,
            };
            steps.push(keyed(step));
            subject
        }));
    }
    let show = move |view: &ReadModel, came: Result<&[Applied<'_>], Broken>| {
        let sequence = view.watermark();
        let all = consistent(came)?;
        let shown: Vec<_> = all.iter().map(|one| shown(view, user, all, one)).collect();
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
            Ok((order, replayed)) => Ok(ResultJson::Done(DoneJson { order, replayed })),
            Err(problem) if key_reused(&problem) => Err(problem),
            Err(problem) => {
                let error = ProblemJson::of(&problem, call.request_id.as_str());
                Ok(ResultJson::Refused(RefusedJson { error }))
            }
        }
    });
    let results = results.collect::<Result<_, Problem>>()?;
    Reply::ok(sequence, &BatchJson { results, dry_run: true, balance: Some(balance) })
}

/// An operation as a step of the dry run. A client order id may name an order placed by an earlier
/// step.
fn step(call: &Call, operation: Resolved, before: &[KeyedStep]) -> Result<Step, Problem> {
    let user = call.caller.user;
    Ok(match operation {
        Resolved::Place(terms) => Step::Place(terms),
        Resolved::Cancel(order) => Step::Cancel { user, name: None, order: Some(order) },
        Resolved::CancelEnded(id) => {
            Step::Cancel { user, name: None, order: Some(own_order(call, id)?) }
        }
        Resolved::CancelNamed(name) => {
            let named = |step: &Step| match step {
                Step::Place(terms) => terms.client_order_id.as_deref() == Some(&name),
                Step::Amend { .. } | Step::Cancel { .. } | Step::Ask => false,
            };
            let order = match named_order(call, name) {
                Err(problem) if !before.iter().any(|(step, _)| named(step)) => return Err(problem),
                order => order.ok(),
            };
            Step::Cancel { user, name: Some(name), order }
        }
    })
}

/// The result of one step, and whether it repeats an earlier one.
fn shown(
    view: &ReadModel,
    user: UserNo,
    all: &[Applied<'_>],
    applied: &Applied<'_>,
) -> Result<(Shown, bool), Problem> {
    let by = |order: OrderNo| {
        let placed = all.iter().find(|one| accepts(one, order));
        placed.and_then(|one| Some(told::placed(one).ok()??.0))
    };
    match applied.effects {
        [Effect::Refused(reject)] => Err(Problem::refused(*reject, view.watermark())),
        [Effect::Repeated { first }] => {
            // The first one is a record, or an earlier step.
            let step = all.iter().find(|one| accepts(one, OrderNo(*first)));
            let shown = match step {
                Some(step) => placed(step).map(|json| Shown::Placed(Placed::Now(json))),
                None => match &*view.answers.or_placed(*first, user) {
                    StoredResponse::Cancelled(user, order) => {
                        Some(Shown::CancelledBefore(Box::new(view.orders.order(*user, *order))))
                    }
                    kept => placed_before(view, kept).map(Shown::Placed),
                },
            };
            shown.map(|shown| (shown, true)).ok_or_else(incomplete_effects)
        }
        [Effect::OrderCancelled { order, .. }, ..] => {
            let row = by(*order).or_else(|| view.orders.open_order_of(user, *order));
            let row = row.filter(|row| row.user == user).ok_or_else(incomplete_effects)?;
            let (row, _) = after(row, applied).map_err(|_| incomplete_effects())?;
            Ok((Shown::Cancelled(OrderJson::seen(view, &row)), false))
        }
        _ => {
            let json = placed(applied).ok_or_else(incomplete_effects)?;
            Ok((Shown::Placed(Placed::Now(json)), false))
        }
    }
}

/// Whether a step placed this order.
fn accepts(step: &Applied<'_>, placed: OrderNo) -> bool {
    matches!(step.effects, [Effect::OrderAccepted { order, .. }, ..] if *order == placed)
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
