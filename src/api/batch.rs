//! Several places and cancels in one request, each done or refused on its own (semantics 8).

use super::call::{Call, Writing};
use super::form::{Faults, Fields, Form, array, text};
use super::order_form::OrderForm;
use super::orders::{Placed, changed_order, named_order, own_order, placed, placed_before};
use super::parse::{self, Fault};
use super::problem::{FieldCode, Problem};
use super::reply::Reply;
use super::wire::json::Json;
use super::wire::order::{BatchJson, BatchOrderJson, OrderJson, ResultJson};
use super::wire::problem::ProblemJson;
use crate::exchange::command::{Asked, Command, Once};
use crate::exchange::effect::Applied;
use crate::exchange::ids::{OrderId, Token};
use crate::exchange::units::Sequence;
use crate::projection::ReadModel;
use crate::projection::answers::Kept;
use crate::projection::history::HistoryError;

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
    Refused(Problem),
    Writing(Writing<Shown>),
    Done(ResultJson, Sequence),
}

/// What is to be said of an operation.
enum Shown {
    Placed(Placed),
    Cancelled(OrderJson),
}

impl Shown {
    fn json(self) -> Result<BatchOrderJson, HistoryError> {
        Ok(match self {
            Shown::Placed(placed) => BatchOrderJson::Placed(placed.json()?),
            Shown::Cancelled(json) => BatchOrderJson::Cancelled(json),
        })
    }
}

/// `POST /trading/orders/batch`
pub async fn batch(call: Call) -> Result<Reply, Problem> {
    let mut form = call.form_with_body();
    let operations = form.field("operations", operations);
    let operations = form.finish(operations)?;
    let operations: Vec<_> = operations.into_iter().map(Operation::read).collect();
    draw(&call, &operations)?;
    let mut slots: Vec<Slot> = Vec::new();
    let mut names: Vec<Token> = Vec::new();
    for (part, operation) in (0_u8..).zip(operations) {
        let slot = match operation {
            Err(problem) => Slot::Refused(problem),
            Ok(operation) => {
                // What is named here is known once it is placed, and not before.
                if matches!(&operation, Operation::CancelNamed(id) if names.contains(id)) {
                    settle(&call, &mut slots).await;
                }
                if let Operation::Place(order) = &operation {
                    names.extend(order.client_order_id());
                }
                hand_in(&call, part, operation).map_or_else(Slot::Refused, Slot::Writing)
            }
        };
        slots.push(slot);
    }
    settle(&call, &mut slots).await;
    let mut last = call.caller.as_of;
    let results = slots.into_iter().filter_map(|slot| match slot {
        Slot::Done(result, sequence) => {
            last = last.max(sequence);
            Some(result)
        }
        Slot::Refused(_) | Slot::Writing(_) => None,
    });
    let results = results.collect();
    Reply::ok(last, &BatchJson { results })
}

/// Takes what the operations cost, each as much as if it came alone: all or none of them are looked
/// at. One that cannot be read costs a write.
fn draw(call: &Call, operations: &[Result<Operation, Problem>]) -> Result<(), Problem> {
    let cancel = |operation: &&Result<Operation, Problem>| {
        matches!(operation, Ok(Operation::Cancel(_) | Operation::CancelNamed(_)))
    };
    let cancels = operations.iter().filter(cancel).count();
    let writes = operations.len().saturating_sub(cancels);
    let count = |operations| u32::try_from(operations).unwrap_or(u32::MAX);
    let drawn = call.keyring.admit_several(&call.caller, count(writes), count(cancels));
    drawn.map_err(|(lane, left)| Problem::beyond(lane.name(), left))
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
        let cancel = form.field_optional("cancel", cancel);
        if let (Some(None), Some(None)) | (Some(Some(_)), Some(Some(_))) = (&place, &cancel) {
            form.note_nothing("either place or cancel is needed");
        }
        form.finish(place.zip(cancel).and_then(|(place, cancel)| place.or(cancel)))
    }
}

fn cancel(faults: &mut Faults, field: &str, json: Json<'_>) -> Option<Operation> {
    let mut fields = Fields::open(faults, field, json)?;
    let order = fields.optional(faults, "orderId", text(parse::order_id));
    let name = fields.optional(faults, "clientOrderId", text(parse::token));
    fields.close(faults);
    match (order?, name?) {
        (Some(order), None) => Some(Operation::Cancel(order)),
        (None, Some(name)) => Some(Operation::CancelNamed(name)),
        _ => {
            let detail = "must have either orderId or clientOrderId";
            faults.note(field, Fault::new(FieldCode::InvalidValue, detail));
            None
        }
    }
}

/// Hands one operation in: as its own command, and under its own part of the request's key.
fn hand_in(call: &Call, part: u8, operation: Operation) -> Result<Writing<Shown>, Problem> {
    let user = call.caller.user;
    let command = match operation {
        Operation::Place(order) => {
            Command::PlaceOrder(call.look(|view| order.resolve(view, user))?.1)
        }
        Operation::Cancel(id) => Command::CancelOrder { user, order: own_order(call, id)? },
        Operation::CancelNamed(id) => Command::CancelOrder { user, order: named_order(call, id)? },
    };
    let once = call.once.as_ref().map(|once| Box::new(Once { part, ..**once }));
    let asked = Asked { once, command };
    if let Command::CancelOrder { order, .. } = asked.command {
        let look = move |view: &ReadModel, _: &Applied<'_>| {
            changed_order(view, user, order).map(Shown::Cancelled)
        };
        let again = |view: &ReadModel, kept: &Kept| match kept {
            Kept::Order(row) => Some(Shown::Cancelled(OrderJson::of(view, row))),
            _ => None,
        };
        return call.ask_and_look(asked, look, again);
    }
    let look = |_: &ReadModel, applied: &Applied<'_>| {
        placed(applied).map(|json| Shown::Placed(Placed::Now(json)))
    };
    let again = |view: &ReadModel, kept: &Kept| placed_before(view, kept).map(Shown::Placed);
    call.ask_and_look(asked, look, again)
}

/// Waits for everything that was handed in.
async fn settle(call: &Call, slots: &mut Vec<Slot>) {
    for slot in std::mem::take(slots) {
        let came = match slot {
            Slot::Done(..) => {
                slots.push(slot);
                continue;
            }
            Slot::Refused(problem) => Err(problem),
            Slot::Writing(writing) => {
                writing.came().await.and_then(|written| written.told(Shown::json))
            }
        };
        slots.push(match came {
            Ok(written) => {
                let (order, replayed) = (written.shown, written.replayed);
                Slot::Done(ResultJson::Order { order, replayed }, written.sequence)
            }
            Err(problem) => {
                let sequence = problem.sequence.unwrap_or(call.caller.as_of);
                let error = ProblemJson::of(&problem, &call.request_id);
                Slot::Done(ResultJson::Error { error }, sequence)
            }
        });
    }
}
