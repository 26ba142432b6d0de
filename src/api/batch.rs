//! Several places and cancels in one request, each done or refused on its own (semantics 8).

use super::call::{Call, Writing, Written};
use super::form::{Faults, Fields, Form, array};
use super::lazy_view::LazyView;
use super::members::{self, Members, Noting};
use super::order_form::OrderForm;
use super::orders::{
    Placed, changed_order, named_order, own_open_order, own_order, placed, placed_before, untold,
};
use super::parse::{self, Fault};
use super::problem::{FieldCode, FieldError, Kind, Problem};
use super::rates::Allowance;
use super::reply::Reply;
use super::routes::RequestClass;
use super::trials;
use super::wire::json::Json;
use super::wire::order::{BatchOrderJson, OrderJson, ResultJson};
use super::wire::problem::ProblemJson;
use super::wire::results::PrintedResults;
use crate::engine::batch_reply::BatchReplies;
use crate::engine::pending::Refusal;
use crate::exchange::command::{Command, IdempotencyKey, KeyedCommand, PlaceOrder};
use crate::exchange::effect::{Applied, Effect};
use crate::exchange::ids::{OrderId, OrderNo, Token};
use crate::exchange::reject::Reject;
use crate::exchange::units::Sequence;
use crate::projection::ReadModel;
use crate::projection::history::HistoryError;
use crate::projection::responses::StoredResponse;

/// Most operations of one request: they share a block of the journal.
const OPERATIONS_MAX: usize = 100;

/// One operation, of the right form.
enum Operation {
    Place(OrderForm),
    Cancel(OrderId),
    CancelNamed(Token),
}

/// An operation on its way.
enum Slot {
    Refused(Box<Problem>),
    Placing,
    Writing(Box<Writing<Shown>>),
}

/// What is to be said of an operation.
pub enum Shown {
    /// It placed an order.
    Placed(Placed),
    /// It cancelled one.
    Cancelled(OrderJson),
}

impl Shown {
    /// As it is said.
    ///
    /// # Errors
    /// History cannot be read.
    pub fn json(self) -> Result<BatchOrderJson, HistoryError> {
        Ok(match self {
            Shown::Placed(placed) => BatchOrderJson::Placed(placed.json()?),
            Shown::Cancelled(json) => BatchOrderJson::Cancelled(json),
        })
    }
}

/// `POST /trading/orders/batch`
pub async fn batch(call: Call) -> Result<Reply, Problem> {
    let (read, dry_run) = read(&call)?;
    let drew = draw(&call, &read)?;
    let resolved = resolved(&call, read);
    if dry_run.unwrap_or(false) {
        return trials::batch(&call, resolved).await.map(|reply| Reply { drew, ..reply });
    }
    let count = resolved.len();
    let mut batch = Batch::new(&call, count);
    for (part, operation) in (0_u8..).zip(resolved) {
        if batch.waits(&operation) {
            batch.settle().await?;
        }
        batch.hand_in(part, operation);
    }
    batch.settle().await?;
    batch.reply().map(|reply| Reply { drew, ..reply })
}

/// The operations of a request, those handed in and those settled.
struct Batch<'a> {
    call: &'a Call,
    /// Operations in their order that are not settled.
    slots: Vec<Slot>,
    /// What orders placed here are called, and not settled yet.
    names: Vec<Token>,
    /// Plain placements, in the order of their slots: those handed in, and those to be.
    placing: BatchReplies,
    next: Vec<KeyedCommand>,
    /// What is settled.
    results: PrintedResults,
    /// Whether every one of those was done by an earlier request.
    replayed: bool,
    /// That the request's key belongs to another request, which holds for all operations alike.
    reused: Option<Problem>,
    /// The last record that the results reflect.
    last: Sequence,
}

impl<'a> Batch<'a> {
    fn new(call: &'a Call, count: usize) -> Batch<'a> {
        let (slots, next) = (Vec::with_capacity(count), Vec::with_capacity(count));
        let (placing, last) = (call.engine.gather(), call.caller.as_of);
        let results = PrintedResults::expecting(count);
        let (names, replayed, reused) = (Vec::new(), true, None);
        Batch { call, slots, names, placing, next, results, replayed, reused, last }
    }

    /// Whether what was handed in must be settled before this operation: what is named here is
    /// known once it is placed, and not before.
    fn waits(&self, operation: &Result<Resolved, Problem>) -> bool {
        matches!(operation, Ok(Resolved::CancelNamed(id)) if self.names.contains(id))
    }

    /// Hands one operation in: as its own command, and under its own part of the request's key.
    /// Plain placements wait for those that follow them.
    #[inline]
    fn hand_in(&mut self, part: u8, operation: Result<Resolved, Problem>) {
        let slot = match operation {
            Err(problem) => Err(problem),
            Ok(Resolved::Place(terms)) => {
                self.names.extend(terms.client_order_id.as_deref().copied());
                if terms.client_order_id.is_none() && self.call.once.is_none() {
                    self.next.push(Command::PlaceOrder(terms).into());
                    Ok(Slot::Placing)
                } else {
                    self.hand_in_placements();
                    self.place(part, terms)
                }
            }
            Ok(Resolved::Cancel(order)) => {
                self.hand_in_placements();
                self.cancel(part, Ok(order))
            }
            Ok(Resolved::CancelEnded(id)) => {
                self.hand_in_placements();
                self.cancel(part, own_order(self.call, id))
            }
            Ok(Resolved::CancelNamed(id)) => {
                self.hand_in_placements();
                self.cancel(part, named_order(self.call, id))
            }
        };
        self.slots.push(slot.unwrap_or_else(|problem| Slot::Refused(Box::new(problem))));
    }

    /// Hands in the plain placements that wait, so that what follows them is behind them.
    fn hand_in_placements(&mut self) {
        if !self.next.is_empty() {
            let next = std::mem::take(&mut self.next);
            self.call.engine.ask_several(&mut self.placing, next);
        }
    }

    fn place(&self, part: u8, terms: PlaceOrder) -> Result<Slot, Problem> {
        let look = |_: &ReadModel, applied: &Applied<'_>| {
            placed(applied).map(|json| Shown::Placed(Placed::Now(json)))
        };
        let again =
            |view: &ReadModel, kept: &StoredResponse| placed_before(view, kept).map(Shown::Placed);
        let asked = self.asked(part, Command::PlaceOrder(terms));
        Ok(Slot::Writing(Box::new(self.call.ask_and_look(asked, look, again)?)))
    }

    fn cancel(&self, part: u8, found: Result<OrderNo, Problem>) -> Result<Slot, Problem> {
        let (user, order) = (self.call.caller.user, found?);
        let look = move |view: &ReadModel, _: &Applied<'_>| {
            changed_order(view, user, order).map(Shown::Cancelled)
        };
        let again = |view: &ReadModel, kept: &StoredResponse| match kept {
            StoredResponse::Order(row) => Some(Shown::Cancelled(OrderJson::of(view, row))),
            _ => None,
        };
        let asked = self.asked(part, Command::CancelOrder { user, order });
        Ok(Slot::Writing(Box::new(self.call.ask_and_look(asked, look, again)?)))
    }

    fn asked(&self, part: u8, command: Command) -> KeyedCommand {
        let once = self.call.once.as_ref().map(|once| Box::new(IdempotencyKey { part, ..**once }));
        KeyedCommand { once, command }
    }

    /// Waits for everything that was handed in, and prints what came of it.
    async fn settle(&mut self) -> Result<(), Problem> {
        self.hand_in_placements();
        let placing = std::mem::replace(&mut self.placing, self.call.engine.gather());
        let placed = placing.came().await;
        let mut placings = placed.each();
        for slot in self.slots.drain(..) {
            let came = match slot {
                Slot::Refused(problem) => Err(*problem),
                Slot::Placing => match placings.next() {
                    Some(Ok(applied)) if self.results.print_placed(&applied)? => {
                        self.last = self.last.max(applied.sequence);
                        self.replayed = false;
                        continue;
                    }
                    came => Err(unplaced(came)),
                },
                Slot::Writing(writing) => {
                    writing.came().await.and_then(|written| written.told(Shown::json))
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
            self.results.print(&result)?;
        }
        self.names.clear();
        Ok(())
    }

    /// The answer to the whole request.
    fn reply(self) -> Result<Reply, Problem> {
        if let Some(problem) = self.reused {
            return Err(problem);
        }
        Ok(Reply::json(self.last, self.results.close().into()).replayed(self.replayed))
    }
}

/// Whether an operation was refused because the request's key belongs to another request. Then so
/// was every other, and none was done.
pub fn key_reused(problem: &Problem) -> bool {
    problem.kind == Kind::Refused(Reject::IdempotencyKeyReused)
}

/// Why a plain placement placed no order.
fn unplaced(came: Option<Result<Applied<'_>, Refusal>>) -> Problem {
    match came {
        Some(Err(refusal)) => refusal.into(),
        Some(Ok(Applied { effects: [Effect::Refused(reject)], sequence, .. })) => {
            Problem::refused(*reject, sequence)
        }
        Some(Ok(_)) | None => untold(),
    }
}

impl Call {
    /// What is said of one operation, and the record that it reflects.
    fn settled(&self, came: Result<Written<BatchOrderJson>, Problem>) -> (Sequence, ResultJson) {
        match came {
            Ok(Written { sequence, replayed, shown }) => {
                (sequence, ResultJson::Order { order: shown, replayed })
            }
            Err(problem) => {
                let sequence = problem.sequence.unwrap_or(self.caller.as_of);
                let error = ProblemJson::of(&problem, self.request_id.as_str());
                (sequence, ResultJson::Error { error })
            }
        }
    }
}

/// One operation in the exchange's terms, as far as they do not depend on those before it.
pub enum Resolved {
    /// Places an order.
    Place(PlaceOrder),
    /// Cancels this order.
    Cancel(OrderNo),
    /// Cancels the order with this id, which does not stand any more or never did.
    CancelEnded(OrderId),
    /// Cancels the newest order of this name.
    CancelNamed(Token),
}

/// Resolves all: placements in markets that the door knows without a look at the read model, and
/// what has to be looked up at one moment.
fn resolved(
    call: &Call,
    operations: Vec<Result<Operation, Problem>>,
) -> Vec<Result<Resolved, Problem>> {
    let (glance, mut likely) = (LazyView::of(call), None);
    let mut resolve = |operation| match operation {
        Operation::Place(order) => order.resolve_like(&mut likely, &glance).map(Resolved::Place),
        Operation::Cancel(id) => Ok(match own_open_order(&glance, id) {
            Some(order) => Resolved::Cancel(order),
            None => Resolved::CancelEnded(id),
        }),
        Operation::CancelNamed(id) => Ok(Resolved::CancelNamed(id)),
    };
    operations.into_iter().map(|read| read.and_then(&mut resolve)).collect()
}

/// Takes what the operations cost, each as much as if it came alone: all or none of them are looked
/// at. One that cannot be read costs a write. Gives the lane that was drawn on, if not writes.
fn draw(
    call: &Call,
    operations: &[Result<Operation, Problem>],
) -> Result<Option<RequestClass>, Problem> {
    let cancel = |operation: &&Result<Operation, Problem>| {
        matches!(operation, Ok(Operation::Cancel(_) | Operation::CancelNamed(_)))
    };
    let cancels = operations.iter().filter(cancel).count();
    let writes = operations.len().saturating_sub(cancels);
    let count = |operations| u32::try_from(operations).unwrap_or(u32::MAX);
    let (keyring, caller) = (&call.shared.keyring, &call.caller);
    let drawn = keyring.admit_several(caller, count(writes), count(cancels), call.drew);
    drawn.map(|()| (writes == 0).then_some(RequestClass::Cancels)).map_err(|(lane, left)| {
        let asked = if lane == RequestClass::Cancels { cancels } else { writes };
        if count(asked) > left.limit {
            // Waiting does not help: this is no 429.
            let (limit, lane) = (left.limit, lane.name());
            let detail = format!(
                "has {asked} {lane}, and this key never has more than {limit} at once: send parts"
            );
            let (field, code) = ("operations".to_owned(), FieldCode::OutOfBounds);
            let bad = Problem::invalid(vec![FieldError { field, code, detail: detail.into() }]);
            let left = Allowance { wait_seconds: None, ..left };
            Problem { allowance: Some(Box::new(left)), ..bad }
        } else {
            Problem::beyond(lane.name(), left)
        }
    })
}

/// Operations in their order, each as it was read.
type Operations = Vec<Result<Operation, Problem>>;

/// Reads the operations, of which each may be wrong in its own way, and whether they are only to
/// be tried.
fn read(call: &Call) -> Result<(Operations, Option<bool>), Problem> {
    if call.query.is_none()
        && let Some(read) =
            members::list(&call.body, "operations", OPERATIONS_MAX, |kind, plain| match kind {
                "place" => OrderForm::read_from(plain).map(|order| Ok(Operation::Place(order))),
                "cancel" => names(plain).and_then(cancel).map(Ok),
                _ => None,
            })
    {
        return Ok((read, None));
    }
    let mut form = call.form_with_body();
    let operations = form.field("operations", operations);
    let dry_run = form.query("dryRun", parse::boolean);
    let (operations, dry_run) = form.finish(operations.zip(dry_run))?;
    Ok((operations.into_iter().map(Operation::read).collect(), dry_run))
}

/// Reads the array; what stands in it is each operation's own.
fn operations<'a>(faults: &mut Faults, field: &str, json: Json<'a>) -> Option<Vec<Json<'a>>> {
    let elements = array(faults, field, json, OPERATIONS_MAX)?;
    if elements.is_empty() {
        faults.note(field, Fault::new(FieldCode::OutOfBounds, "must have at least one element"));
        return None;
    }
    Some(elements)
}

impl Operation {
    fn read(json: Json<'_>) -> Result<Operation, Problem> {
        let mut form = Form::of_json(json);
        let place = form.field_optional("place", |faults, field, json| {
            let mut fields = Fields::open(faults, field, json)?;
            let order = OrderForm::read_fields(faults, &mut fields);
            fields.close(faults);
            order.map(Operation::Place)
        });
        let cancel = form.field_optional("cancel", |faults, field, json| {
            let mut fields = Fields::open(faults, field, json)?;
            let names = names(&mut Noting { faults, fields: &mut fields });
            fields.close(faults);
            let cancel = cancel(names?);
            if cancel.is_none() {
                let detail = "must have either orderId or clientOrderId";
                faults.note(field, Fault::new(FieldCode::InvalidValue, detail));
            }
            cancel
        });
        match (&place, &cancel) {
            (Some(None), Some(None)) => form.note_nothing("either place or cancel is needed"),
            (Some(Some(_)), Some(Some(_))) => {
                let detail = "must not stand beside place: an operation is one of them";
                form.note("cancel", Fault::new(FieldCode::InvalidValue, detail));
                return form.finish(None);
            }
            _ => {}
        }
        form.finish(place.zip(cancel).and_then(|(place, cancel)| place.or(cancel)))
    }
}

/// By what an order to be cancelled is named.
type Names = (Option<OrderId>, Option<Token>);

fn names(members: &mut impl Members) -> Option<Names> {
    let order = members.text("orderId", parse::order_id);
    let name = members.text("clientOrderId", parse::token);
    order.zip(name)
}

/// Named by one of them.
fn cancel(names: Names) -> Option<Operation> {
    match names {
        (Some(order), None) => Some(Operation::Cancel(order)),
        (None, Some(name)) => Some(Operation::CancelNamed(name)),
        _ => None,
    }
}
