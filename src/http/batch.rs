//! `POST /trading/orders/batch`: several operations in one request, each executed or refused on its
//! own (semantics 8).

use super::asking::{AskingSeveral, Outcomes, ask_several};
use super::batch_form::{BatchForm, Operation, Resolved, Whose, resolved};
use super::call::{Call, Writing, Written};
use super::gather;
use super::idempotency::meaning_of_several;
use super::order_form::TimeLimit;
use super::orders::{Placed, changed_order, placed, placed_before, with_end};
use super::own_orders::incomplete_effects;
use super::parse;
use super::problem::{Kind, Problem};
use super::rates::RequestClass;
use super::reply::Reply;
use super::tokens;
use super::trials;
use super::wire::order::{BatchJson, BatchOrderJson, DoneJson, OrderJson, RefusedJson, ResultJson};
use super::wire::problem::ProblemJson;
use engine::pending::Refusal;
use exchange::command::{Command, IdempotencyKey, KeyedCommand, PlaceOrder};
use exchange::effect::{Applied, Effect};
use exchange::ids::{OrderNo, Token};
use exchange::reject::Reject;
use exchange::units::{Lots, Sequence, Tick};
use views::ReadModel;
use views::orders::Sought;
use views::responses::{Amended, StoredResponse};

/// An operation in progress.
enum Slot {
    Refused(Box<Problem>),
    Placing(TimeLimit),
    Writing(Box<Writing<Shown>>, Subject),
}

/// What an operation is about: its refusal may say more about it.
pub enum Subject {
    /// A placement with this time limit.
    Placement(TimeLimit),
    /// A change of this order.
    Order(OrderNo),
    /// A placement with this time limit, if this order can be cancelled.
    Replacement(TimeLimit, OrderNo),
    /// A change of an order that an earlier operation would place.
    Unplaced,
}

impl Subject {
    /// The refusal with what is known.
    pub fn explain(self, call: &Call, problem: Problem) -> Problem {
        match self {
            Subject::Placement(limit) => limit.named(problem),
            Subject::Order(order) => with_end(call, order, problem),
            Subject::Replacement(limit, order) => limit.named(with_end(call, order, problem)),
            Subject::Unplaced => problem,
        }
    }
}

/// What the answer shows of an operation.
#[allow(clippy::large_enum_variant, reason = "most are placements")]
pub enum Shown {
    /// It placed an order.
    Placed(Placed),
    /// It cancelled or amended one.
    Changed(OrderJson),
    /// An earlier request cancelled it.
    CancelledBefore(Box<Sought>),
    /// An earlier request amended it to this.
    AmendedBefore(Box<Sought>, Box<Amended>),
    /// It placed an order in place of the other.
    Replaced(Placed, OrderJson),
    /// An earlier request did that.
    ReplacedBefore(Placed, Box<Sought>),
}

impl Shown {
    /// The result, as if of this request.
    ///
    /// # Errors
    /// History cannot be read.
    pub fn json(self, call: &Call) -> Result<DoneJson, Problem> {
        let sought = |sought: Box<Sought>, amended: Option<Box<Amended>>| {
            let row = sought.row()?.ok_or_else(Problem::lacking_row)?;
            let row = amended.map_or(row, |amended| amended.over(row));
            call.look(|view| Ok(OrderJson::seen(view, &row))).map(|(_, json)| json)
        };
        let (order, replaced) = match self {
            Shown::Placed(placed) => (BatchOrderJson::Placed(placed.json()?), None),
            Shown::Changed(json) => (BatchOrderJson::Changed(json), None),
            Shown::CancelledBefore(order) => (BatchOrderJson::Changed(sought(order, None)?), None),
            Shown::AmendedBefore(order, amended) => {
                (BatchOrderJson::Changed(sought(order, Some(amended))?), None)
            }
            Shown::Replaced(placed, json) => (BatchOrderJson::Placed(placed.json()?), Some(json)),
            Shown::ReplacedBefore(placed, order) => {
                (BatchOrderJson::Placed(placed.json()?), Some(sought(order, None)?))
            }
        };
        Ok(DoneJson { order, replaced, replayed: false })
    }
}

/// `POST /trading/orders/batch`
pub async fn batch(call: Call) -> Result<Reply, Problem> {
    let mut form = call.form();
    let dry_run = form.query("dryRun", parse::boolean);
    let batch = form.body::<BatchForm>();
    let (batch, dry_run) = form.finish(batch.zip(dry_run))?;
    let read = batch.operations();
    let drew = take_tokens(&call, &read)?;
    // What cannot be read asks for nothing.
    let asked =
        || read.iter().map(|one| one.as_ref().map_or_else(|_| Vec::new(), Operation::meaning));
    let once = call.once.as_ref().map(|once| meaning_of_several(once, asked()));
    let call = Call { once: once.map(Box::new), ..call };
    let resolved = resolved(&call, read);
    if dry_run.unwrap_or(false) {
        return trials::batch(&call, resolved).await.map(|reply| Reply { drew, ..reply });
    }
    let count = resolved.len();
    let mut batch = Batch::new(&call, count);
    let mut held = None;
    for (part, operation) in (0_u8..).zip(resolved) {
        if batch.must_settle_first(&operation) {
            // What follows on its connection must not come before the rest of it.
            held = held.or_else(gather::hold);
            batch.settle().await?;
        }
        batch.submit(part, operation);
    }
    drop(held);
    batch.settle().await?;
    batch.reply().map(|reply| Reply { drew, ..reply })
}

/// The operations of one request, submitted and settled in order.
struct Batch<'a> {
    call: &'a Call,
    /// Operations that are not settled, in order.
    slots: Vec<Slot>,
    /// Client order ids of orders placed here and not settled yet.
    names: Vec<Token>,
    /// Plain placements in the order of their slots: `placing` are submitted, `next` are not.
    placing: Vec<AskingSeveral>,
    next: Vec<KeyedCommand>,
    /// The results of settled operations.
    results: Vec<ResultJson>,
    /// Whether all settled operations were executed by an earlier request.
    replayed: bool,
    /// Set if the request's key was used for another request; this holds for all operations.
    reused: Option<Problem>,
    /// The last record that the results reflect.
    last: Sequence,
}

impl<'a> Batch<'a> {
    fn new(call: &'a Call, count: usize) -> Batch<'a> {
        let (slots, next) = (Vec::with_capacity(count), Vec::with_capacity(count));
        let (placing, last) = (Vec::new(), call.caller.as_of);
        let results = Vec::with_capacity(count);
        let (names, replayed, reused) = (Vec::new(), true, None);
        Batch { call, slots, names, placing, next, results, replayed, reused, last }
    }

    /// Whether the operations submitted so far must be settled before this one: a client order id
    /// of an order placed in this batch can be looked up only after its placement.
    fn must_settle_first(&self, operation: &Result<Resolved, Problem>) -> bool {
        let about = operation.as_ref().ok().and_then(Resolved::about);
        matches!(about, Some(Whose::Named(id)) if self.names.contains(&id))
    }

    /// Submits one operation as its own command, under its own part of the request's key. Plain
    /// placements are collected and submitted together.
    #[inline]
    fn submit(&mut self, part: u8, operation: Result<Resolved, Problem>) {
        let slot = match operation {
            Err(problem) => Err(problem),
            Ok(Resolved::Place(terms)) => {
                self.names.extend(terms.client_order_id.as_deref().copied());
                if terms.client_order_id.is_none() && self.call.once.is_none() {
                    let limit = TimeLimit::of(&terms);
                    let command = Command::PlaceOrder(terms);
                    self.call.record(&command).map(|()| {
                        self.next.push(self.call.by_key(command).into());
                        Slot::Placing(limit)
                    })
                } else {
                    self.submit_placements();
                    self.place(part, terms)
                }
            }
            Ok(Resolved::Cancel(whose)) => self.cancel(part, whose),
            Ok(Resolved::Amend(whose, price, quantity)) => self.amend(part, whose, price, quantity),
            Ok(Resolved::Replace(whose, terms)) => {
                self.names.extend(terms.client_order_id.as_deref().copied());
                self.replace(part, whose, terms)
            }
        };
        self.slots.push(slot.unwrap_or_else(|problem| Slot::Refused(Box::new(problem))));
    }

    /// Submits the collected placements, before anything that follows them.
    fn submit_placements(&mut self) {
        if !self.next.is_empty() {
            let next = std::mem::take(&mut self.next);
            self.placing.push(ask_several(&self.call.engine, next));
        }
    }

    fn place(&self, part: u8, terms: PlaceOrder) -> Result<Slot, Problem> {
        let look = |_: &ReadModel, applied: &Applied<'_>| {
            placed(applied).map(|json| Shown::Placed(Placed::Now(json)))
        };
        let again =
            |view: &ReadModel, kept: &StoredResponse| placed_before(view, kept).map(Shown::Placed);
        let subject = Subject::Placement(TimeLimit::of(&terms));
        let asked = self.asked(part, Command::PlaceOrder(terms));
        Ok(Slot::Writing(Box::new(self.call.ask_and_look(asked, look, again)?), subject))
    }

    fn cancel(&mut self, part: u8, whose: Whose) -> Result<Slot, Problem> {
        self.submit_placements();
        let (user, order) = (self.call.caller.user, whose.number(self.call)?);
        self.change(part, order, Command::CancelOrder { user, order })
    }

    fn amend(
        &mut self,
        part: u8,
        whose: Whose,
        price: Option<Tick>,
        quantity: Option<Lots>,
    ) -> Result<Slot, Problem> {
        self.submit_placements();
        let (user, order) = (self.call.caller.user, whose.number(self.call)?);
        self.change(part, order, Command::AmendOrder { user, order, price, quantity, seen: None })
    }

    fn change(&self, part: u8, order: OrderNo, command: Command) -> Result<Slot, Problem> {
        let user = self.call.caller.user;
        let look = move |view: &ReadModel, _: &Applied<'_>| {
            changed_order(view, user, order).map(Shown::Changed)
        };
        let again = changed_before;
        let writing = self.call.ask_and_look(self.asked(part, command), look, again)?;
        Ok(Slot::Writing(Box::new(writing), Subject::Order(order)))
    }

    fn replace(&mut self, part: u8, whose: Whose, terms: Box<PlaceOrder>) -> Result<Slot, Problem> {
        self.submit_placements();
        let (user, replaced) = (self.call.caller.user, whose.number(self.call)?);
        let subject = Subject::Replacement(TimeLimit::of(&terms), replaced);
        let look = move |view: &ReadModel, applied: &Applied<'_>| {
            let placed = placed(applied).map(Placed::Now)?;
            Some(Shown::Replaced(placed, changed_order(view, user, replaced)?))
        };
        let again = move |view: &ReadModel, kept: &StoredResponse| {
            let sought = Box::new(view.orders.order(user, replaced));
            Some(Shown::ReplacedBefore(placed_before(view, kept)?, sought))
        };
        let asked = self.asked(part, Command::ReplaceOrder { replaced, terms });
        let writing = self.call.ask_and_look(asked, look, again)?;
        Ok(Slot::Writing(Box::new(writing), subject))
    }

    fn asked(&self, part: u8, command: Command) -> KeyedCommand {
        let once = self.call.once.as_ref().map(|once| Box::new(IdempotencyKey { part, ..**once }));
        KeyedCommand { once, act: None, command: self.call.by_key(command) }
    }

    /// Waits for all submitted operations.
    async fn settle(&mut self) -> Result<(), Problem> {
        self.submit_placements();
        let mut placed = Vec::with_capacity(self.placing.len());
        for placing in self.placing.drain(..) {
            placed.push(placing.await);
        }
        let mut placings = placed.iter().flat_map(Outcomes::each);
        for slot in self.slots.drain(..) {
            let came = match slot {
                Slot::Refused(problem) => Err(*problem),
                Slot::Placing(limit) => {
                    placement(placings.next()).map_err(|problem| limit.named(problem))
                }
                Slot::Writing(writing, subject) => {
                    let came =
                        writing.came().await.and_then(|came| came.try_map(|it| it.json(self.call)));
                    came.map_err(|problem| subject.explain(self.call, problem))
                }
            };
            self.replayed &= came.as_ref().is_ok_and(|written| written.replayed);
            if let Err(problem) = &came
                && key_reused(problem)
            {
                self.reused = Some(problem.clone());
            }
            let (sequence, result) = self.call.settled(came);
            self.last = self.last.max(sequence);
            self.results.push(result);
        }
        self.names.clear();
        Ok(())
    }

    /// The answer to the whole request.
    fn reply(self) -> Result<Reply, Problem> {
        if let Some(problem) = self.reused {
            return Err(problem);
        }
        let all = BatchJson { results: self.results, dry_run: false, balance: None };
        Ok(Reply::ok(self.last, &all)?.replayed(self.replayed))
    }
}

/// What an earlier request made of an order.
pub fn changed_before(view: &ReadModel, kept: &StoredResponse) -> Option<Shown> {
    match kept {
        StoredResponse::Cancelled(user, order) => {
            Some(Shown::CancelledBefore(Box::new(view.orders.order(*user, *order))))
        }
        StoredResponse::Amended(amended) => {
            let sought = Box::new(view.orders.order(amended.user, amended.order));
            Some(Shown::AmendedBefore(sought, amended.clone()))
        }
        _ => None,
    }
}

/// Whether an operation was refused because the request's key was used for another request. Then
/// all operations were refused.
pub fn key_reused(problem: &Problem) -> bool {
    problem.kind == Kind::Refused(Reject::IdempotencyKeyReused)
}

/// What came of a plain placement.
fn placement(came: Option<Result<Applied<'_>, Refusal>>) -> Result<Written<DoneJson>, Problem> {
    let applied = came.ok_or_else(incomplete_effects)??;
    if let [Effect::Refused(reject)] = applied.effects {
        return Err(Problem::refused(*reject, applied.sequence));
    }
    let order = BatchOrderJson::Placed(placed(&applied).ok_or_else(incomplete_effects)?);
    let shown = DoneJson { order, replaced: None, replayed: false };
    Ok(Written { sequence: applied.sequence, replayed: false, shown })
}

impl Call {
    /// The result of one operation, and the record that it reflects.
    fn settled(&self, came: Result<Written<DoneJson>, Problem>) -> (Sequence, ResultJson) {
        match came {
            Ok(Written { sequence, replayed, shown }) => {
                (sequence, ResultJson::Done(DoneJson { replayed, ..shown }))
            }
            Err(problem) => {
                let sequence = problem.sequence.unwrap_or(self.caller.as_of);
                let error = ProblemJson::of(&problem, self.origin.request_id.as_str());
                (sequence, ResultJson::Refused(RefusedJson { error }))
            }
        }
    }
}

/// Takes the tokens for the operations, each as if it came alone, all or none. An operation that
/// cannot be parsed costs a write. Returns the class that was charged if it is not writes.
fn take_tokens(
    call: &Call,
    operations: &[Result<Operation, Problem>],
) -> Result<Option<RequestClass>, Problem> {
    let cancel =
        |operation: &&Result<Operation, Problem>| matches!(operation, Ok(Operation::Cancel(_)));
    let cancels = operations.iter().filter(cancel).count();
    let writes = operations.len().saturating_sub(cancels);
    tokens::take_several(call, writes, cancels)?;
    Ok((writes == 0).then_some(RequestClass::Cancels))
}
