//! `POST /trading/orders/batch`: several placements and cancels in one request, each executed or
//! refused on its own (semantics 8).

use serde::de::{Deserialize, Deserializer, Error as _};

use super::asking::{AskingSeveral, Outcomes, ask_several};
use super::call::{Call, Writing, Written};
use super::gather;
use super::idempotency::meaning_of_several;
use super::json::Json;
use super::lazy_view::LazyView;
use super::members::{Checked, Faults, Given, Members, bodies, elements};
use super::order_form::{OrderForm, TimeLimit};
use super::orders::{
    Placed, changed_order, incomplete_effects, named_order, own_open_order, own_order, placed,
    placed_before, with_end,
};
use super::parse::{self, Fault};
use super::problem::{FieldCode, Kind, Problem};
use super::rates::RequestClass;
use super::reply::Reply;
use super::tokens;
use super::trials;
use super::wire::order::{BatchJson, BatchOrderJson, DoneJson, OrderJson, RefusedJson, ResultJson};
use super::wire::problem::ProblemJson;
use engine::pending::Refusal;
use exchange::command::{Command, IdempotencyKey, KeyedCommand, PlaceOrder};
use exchange::effect::{Applied, Effect};
use exchange::ids::{OrderId, OrderNo, Token};
use exchange::reject::Reject;
use exchange::units::Sequence;
use views::ReadModel;
use views::orders::Sought;
use views::responses::StoredResponse;

/// Most operations of one request: they share a journal block.
const OPERATIONS_MAX: usize = 100;

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
    /// A cancel of this order.
    Order(OrderNo),
    /// A cancel of an order that an earlier operation would place.
    Unplaced,
}

impl Subject {
    /// The refusal with what is known.
    pub fn explain(self, call: &Call, problem: Problem) -> Problem {
        match self {
            Subject::Placement(limit) => limit.named(problem),
            Subject::Order(order) => with_end(call, order, problem),
            Subject::Unplaced => problem,
        }
    }
}

/// What the answer shows of an operation.
pub enum Shown {
    /// It placed an order.
    Placed(Placed),
    /// It cancelled one.
    Cancelled(OrderJson),
    /// An earlier request cancelled it.
    CancelledBefore(Box<Sought>),
}

impl Shown {
    /// Its JSON.
    ///
    /// # Errors
    /// History cannot be read.
    pub fn json(self, call: &Call) -> Result<BatchOrderJson, Problem> {
        Ok(match self {
            Shown::Placed(placed) => BatchOrderJson::Placed(placed.json()?),
            Shown::Cancelled(json) => BatchOrderJson::Cancelled(json),
            Shown::CancelledBefore(sought) => {
                let row = sought.row()?.ok_or_else(Problem::lacking_row)?;
                let (_, json) = call.look(|view| Ok(OrderJson::seen(view, &row)))?;
                BatchOrderJson::Cancelled(json)
            }
        })
    }
}

/// `POST /trading/orders/batch`
pub async fn batch(call: Call) -> Result<Reply, Problem> {
    let mut form = call.form();
    let dry_run = form.query("dryRun", parse::boolean);
    let batch = form.body::<BatchForm>();
    let (BatchForm { operations: Operations(read) }, dry_run) = form.finish(batch.zip(dry_run))?;
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
        matches!(operation, Ok(Resolved::CancelNamed(id)) if self.names.contains(id))
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
                        self.next.push(command.into());
                        Slot::Placing(limit)
                    })
                } else {
                    self.submit_placements();
                    self.place(part, terms)
                }
            }
            Ok(Resolved::Cancel(order)) => {
                self.submit_placements();
                self.cancel(part, Ok(order))
            }
            Ok(Resolved::CancelEnded(id)) => {
                self.submit_placements();
                self.cancel(part, own_order(self.call, id))
            }
            Ok(Resolved::CancelNamed(id)) => {
                self.submit_placements();
                self.cancel(part, named_order(self.call, id))
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

    fn cancel(&self, part: u8, found: Result<OrderNo, Problem>) -> Result<Slot, Problem> {
        let (user, order) = (self.call.caller.user, found?);
        let look = move |view: &ReadModel, _: &Applied<'_>| {
            changed_order(view, user, order).map(Shown::Cancelled)
        };
        let again = |view: &ReadModel, kept: &StoredResponse| match kept {
            StoredResponse::Cancelled(user, order) => {
                Some(Shown::CancelledBefore(Box::new(view.orders.order(*user, *order))))
            }
            _ => None,
        };
        let asked = self.asked(part, Command::CancelOrder { user, order });
        let writing = self.call.ask_and_look(asked, look, again)?;
        Ok(Slot::Writing(Box::new(writing), Subject::Order(order)))
    }

    fn asked(&self, part: u8, command: Command) -> KeyedCommand {
        let once = self.call.once.as_ref().map(|once| Box::new(IdempotencyKey { part, ..**once }));
        KeyedCommand { once, command }
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

/// Whether an operation was refused because the request's key was used for another request. Then
/// all operations were refused.
pub fn key_reused(problem: &Problem) -> bool {
    problem.kind == Kind::Refused(Reject::IdempotencyKeyReused)
}

/// What came of a plain placement.
fn placement(
    came: Option<Result<Applied<'_>, Refusal>>,
) -> Result<Written<BatchOrderJson>, Problem> {
    let applied = came.ok_or_else(incomplete_effects)??;
    if let [Effect::Refused(reject)] = applied.effects {
        return Err(Problem::refused(*reject, applied.sequence));
    }
    let shown = BatchOrderJson::Placed(placed(&applied).ok_or_else(incomplete_effects)?);
    Ok(Written { sequence: applied.sequence, replayed: false, shown })
}

impl Call {
    /// The result of one operation, and the record that it reflects.
    fn settled(&self, came: Result<Written<BatchOrderJson>, Problem>) -> (Sequence, ResultJson) {
        match came {
            Ok(Written { sequence, replayed, shown }) => {
                (sequence, ResultJson::Done(DoneJson { order: shown, replayed }))
            }
            Err(problem) => {
                let sequence = problem.sequence.unwrap_or(self.caller.as_of);
                let error = ProblemJson::of(&problem, self.request_id.as_str());
                (sequence, ResultJson::Refused(RefusedJson { error }))
            }
        }
    }
}

/// An operation in the exchange's terms, as far as it does not depend on earlier ones.
pub enum Resolved {
    /// Places an order.
    Place(PlaceOrder),
    /// Cancels this order.
    Cancel(OrderNo),
    /// Cancels the order with this id, which is not open or does not exist.
    CancelEnded(OrderId),
    /// Cancels the newest order with this client order id.
    CancelNamed(Token),
}

/// Resolves all operations: placements in known markets need no read model;
/// everything else is looked up in one state.
fn resolved(
    call: &Call,
    operations: Vec<Result<Operation, Problem>>,
) -> Vec<Result<Resolved, Problem>> {
    let (lazy_view, mut likely) = (LazyView::of(call), None);
    let mut resolve = |operation| match operation {
        Operation::Place(order) => order.resolve_like(&mut likely, &lazy_view).map(Resolved::Place),
        Operation::Cancel(CancelForm { order: Some(id), .. }) => {
            let open = own_open_order(&lazy_view, id);
            Ok(open.map_or(Resolved::CancelEnded(id), Resolved::Cancel))
        }
        Operation::Cancel(CancelForm { name, .. }) => {
            name.map(Resolved::CancelNamed).ok_or_else(incomplete_effects)
        }
    };
    operations.into_iter().map(|read| read.and_then(&mut resolve)).collect()
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

bodies! {
    /// A batch.
    struct BatchForm {
        required { "operations" => operations: Operations }
    }

    /// A cancel by exactly one of two ids.
    struct CancelForm {
        optional { "orderId" => order: OrderId, "clientOrderId" => name: Token }
    }
    check one_is_named;
}

fn one_is_named(cancel: &CancelForm) -> Checked {
    if cancel.order.is_some() != cancel.name.is_some() {
        return Ok(());
    }
    Err(("", Fault::invalid("must have either orderId or clientOrderId")))
}

/// An operation as a batch has it.
#[derive(Debug, Clone, PartialEq, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
enum Operation {
    Place(#[serde(deserialize_with = "Given::plain")] OrderForm),
    Cancel(#[serde(deserialize_with = "Given::plain")] CancelForm),
}

/// The operations of a batch in order, each read or refused.
#[derive(Debug, Clone, PartialEq)]
struct Operations(Vec<Result<Operation, Problem>>);

impl Given for Operations {
    fn plain<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Operations, D::Error> {
        let all = Vec::<Operation>::deserialize(deserializer)?;
        if !(1..=OPERATIONS_MAX).contains(&all.len()) {
            return Err(D::Error::custom("are none or too many"));
        }
        Ok(Operations(all.into_iter().map(Ok).collect()))
    }

    fn noted(json: Json, at: &str, faults: &mut Faults) -> Option<Operations> {
        let elements = elements(json, at, (1, OPERATIONS_MAX), faults)?;
        Some(Operations(elements.into_iter().map(Operation::read).collect()))
    }
}

impl Operation {
    /// Reads one, which may be bad while others are good.
    fn read(json: Json) -> Result<Operation, Problem> {
        let mut faults = Faults::default();
        let read = Operation::noted(json, &mut faults).filter(|_| faults.is_empty());
        read.ok_or_else(|| Problem::invalid(faults.into_errors()))
    }

    fn noted(json: Json, faults: &mut Faults) -> Option<Operation> {
        let mut members = Members::open(json, "", faults)?;
        let place = members.optional::<OrderForm>("place", faults);
        let cancel = members.optional::<CancelForm>("cancel", faults);
        members.close(faults);
        match (place?, cancel?) {
            (Some(order), None) => return Some(Operation::Place(order)),
            (None, Some(cancel)) => return Some(Operation::Cancel(cancel)),
            (None, None) => {
                let fault = Fault::new(FieldCode::Required, "either place or cancel is needed");
                faults.note("body", fault);
            }
            (Some(_), Some(_)) => {
                let detail = "must not stand beside place: an operation is one of them";
                faults.note("cancel", Fault::invalid(detail));
            }
        }
        None
    }

    /// What it asks for, in bytes.
    fn meaning(&self) -> Vec<u8> {
        match self {
            Operation::Place(order) => [&b"P"[..], &order.meaning()].concat(),
            Operation::Cancel(CancelForm { order: Some(id), .. }) => {
                [&b"C"[..], id.uuid().as_bytes()].concat()
            }
            Operation::Cancel(CancelForm { name, .. }) => {
                let name = name.as_ref().map_or("", Token::as_str);
                [&b"N"[..], name.as_bytes()].concat()
            }
        }
    }
}
