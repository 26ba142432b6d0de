//! The operations of a batch: as a body has them, and in the exchange's terms.

use serde::de::{Deserialize, Deserializer, Error as _};

use super::call::Call;
use super::json::Json;
use super::lazy_view::LazyView;
use super::members::{Checked, Faults, Given, Members, bodies, elements, lacking};
use super::order_form::OrderForm;
use super::own_orders::{incomplete_effects, named_order, own_open_order, own_order};
use super::parse::Fault;
use super::problem::{FieldCode, Problem};
use exchange::command::PlaceOrder;
use exchange::ids::{OrderId, OrderNo, Token};
use exchange::units::{Lots, Tick};

/// Most operations of one request: they share a journal block.
pub const OPERATIONS_MAX: usize = 100;

bodies! {
    /// A batch.
    struct BatchForm {
        required { "operations" => operations: Operations }
    }

    /// A cancel by exactly one of two ids.
    struct CancelForm {
        optional { "orderId" => order: OrderId, "clientOrderId" => name: Token }
    }
    check one_is_cancelled;

    /// An amend of an order that is named by exactly one of two ids.
    struct AmendForm {
        optional {
            "orderId" => order: OrderId,
            "clientOrderId" => name: Token,
            "price" => price: Tick,
            "quantity" => quantity: Lots,
        }
    }
    check one_is_amended;

    /// An order that is placed only if another is cancelled.
    struct ReplaceForm {
        required { "cancel" => cancel: CancelForm, "place" => place: OrderForm }
    }
}

fn one_is_cancelled(cancel: &CancelForm) -> Checked {
    one_is_named(cancel.order, cancel.name)
}

fn one_is_amended(amend: &AmendForm) -> Checked {
    one_is_named(amend.order, amend.name)?;
    match amend {
        AmendForm { price: None, quantity: None, .. } => lacking_change(),
        _ => Ok(()),
    }
}

fn lacking_change() -> Checked {
    lacking("price or quantity is needed").map_err(|(_, fault)| ("", fault))
}

fn one_is_named(order: Option<OrderId>, name: Option<Token>) -> Checked {
    if order.is_some() != name.is_some() {
        return Ok(());
    }
    Err(("", Fault::invalid("must have either orderId or clientOrderId")))
}

/// An operation as a batch has it.
#[derive(Debug, Clone, PartialEq, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Operation {
    /// Places an order.
    Place(#[serde(deserialize_with = "Given::plain")] OrderForm),
    /// Cancels one.
    Cancel(#[serde(deserialize_with = "Given::plain")] CancelForm),
    /// Amends one.
    Amend(#[serde(deserialize_with = "Given::plain")] AmendForm),
    /// Cancels one and places another, or neither.
    Replace(#[serde(deserialize_with = "Given::plain")] ReplaceForm),
}

/// The operations of a batch in order, each read or refused.
#[derive(Debug, Clone, PartialEq)]
pub struct Operations(Vec<Result<Operation, Problem>>);

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

impl BatchForm {
    /// Its operations, each read or refused.
    pub fn operations(self) -> Vec<Result<Operation, Problem>> {
        let BatchForm { operations: Operations(all) } = self;
        all
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
        let place =
            members.optional::<OrderForm>("place", faults).map(|it| it.map(Operation::Place));
        let cancel = members.optional("cancel", faults).map(|it| it.map(Operation::Cancel));
        let amend = members.optional("amend", faults).map(|it| it.map(Operation::Amend));
        let replace = members.optional("replace", faults).map(|it| it.map(Operation::Replace));
        members.close(faults);
        let all =
            [("place", place?), ("cancel", cancel?), ("amend", amend?), ("replace", replace?)];
        let mut given = all.into_iter().filter_map(|(name, read)| Some((name, read?)));
        let Some((_, operation)) = given.next() else {
            let detail = "one of place, cancel, amend and replace is needed";
            faults.note("body", Fault::new(FieldCode::Required, detail));
            return None;
        };
        for (name, _) in given {
            let detail = "must not stand beside another: an operation is one of them";
            faults.note(name, Fault::invalid(detail));
        }
        Some(operation)
    }

    /// What it asks for, in bytes.
    pub fn meaning(&self) -> Vec<u8> {
        match self {
            Operation::Place(order) => [&b"P"[..], &order.meaning()].concat(),
            Operation::Cancel(cancel) => cancel.meaning(),
            Operation::Amend(AmendForm { order, name, price, quantity }) => {
                let price = price.map_or(0, Tick::get);
                let quantity = quantity.map_or(0, Lots::get).to_le_bytes();
                let named = CancelForm { order: *order, name: *name }.meaning();
                [&b"A"[..], &[price], &quantity, &named].concat()
            }
            Operation::Replace(ReplaceForm { cancel, place }) => {
                let cancel = cancel.meaning();
                let length = u8::try_from(cancel.len()).unwrap_or(u8::MAX);
                [&b"R"[..], &[length], &cancel, &place.meaning()].concat()
            }
        }
    }
}

impl CancelForm {
    fn meaning(&self) -> Vec<u8> {
        match self {
            CancelForm { order: Some(id), .. } => [&b"C"[..], id.uuid().as_bytes()].concat(),
            CancelForm { name, .. } => {
                let name = name.as_ref().map_or("", Token::as_str);
                [&b"N"[..], name.as_bytes()].concat()
            }
        }
    }
}

/// An operation in the exchange's terms, as far as it does not depend on earlier ones.
pub enum Resolved {
    /// Places an order.
    Place(PlaceOrder),
    /// Cancels an order.
    Cancel(Whose),
    /// Amends an order.
    Amend(Whose, Option<Tick>, Option<Lots>),
    /// Cancels an order and places another, or neither.
    Replace(Whose, Box<PlaceOrder>),
}

/// The order of the caller's that an operation is about.
#[derive(Debug, Clone, Copy)]
pub enum Whose {
    /// This open order.
    Open(OrderNo),
    /// The order with this id, which is not open or does not exist.
    Ended(OrderId),
    /// The newest order with this client order id.
    Named(Token),
}

impl Resolved {
    /// The order that it is about, unless it only places one.
    pub const fn about(&self) -> Option<Whose> {
        match self {
            Resolved::Place(_) => None,
            Resolved::Cancel(whose) | Resolved::Amend(whose, ..) | Resolved::Replace(whose, _) => {
                Some(*whose)
            }
        }
    }
}

impl Whose {
    fn of(
        lazy_view: &LazyView<'_>,
        order: Option<OrderId>,
        name: Option<Token>,
    ) -> Result<Whose, Problem> {
        match (order, name) {
            (Some(id), _) => {
                Ok(own_open_order(lazy_view, id).map_or(Whose::Ended(id), Whose::Open))
            }
            (None, name) => name.map(Whose::Named).ok_or_else(incomplete_effects),
        }
    }

    /// Its number.
    ///
    /// # Errors
    /// The caller has no such order.
    pub fn number(self, call: &Call) -> Result<OrderNo, Problem> {
        match self {
            Whose::Open(order) => Ok(order),
            Whose::Ended(id) => own_order(call, id),
            Whose::Named(name) => named_order(call, name),
        }
    }
}

/// Resolves all operations: placements in known markets need no read model;
/// everything else is looked up in one state.
pub fn resolved(
    call: &Call,
    operations: Vec<Result<Operation, Problem>>,
) -> Vec<Result<Resolved, Problem>> {
    let (lazy_view, mut likely) = (LazyView::of(call), None);
    let mut resolve = |operation| {
        Ok(match operation {
            Operation::Place(order) => {
                Resolved::Place(order.resolve_like(&mut likely, &lazy_view)?)
            }
            Operation::Cancel(CancelForm { order, name }) => {
                Resolved::Cancel(Whose::of(&lazy_view, order, name)?)
            }
            Operation::Amend(AmendForm { order, name, price, quantity }) => {
                Resolved::Amend(Whose::of(&lazy_view, order, name)?, price, quantity)
            }
            Operation::Replace(ReplaceForm { cancel: CancelForm { order, name }, place }) => {
                let terms = place.resolve_like(&mut likely, &lazy_view)?;
                Resolved::Replace(Whose::of(&lazy_view, order, name)?, Box::new(terms))
            }
        })
    };
    operations.into_iter().map(|read| read.and_then(&mut resolve)).collect()
}
