//! The caller's orders, found by what a request calls them.

use super::call::Call;
use super::lazy_view::LazyView;
use super::problem::Problem;
use exchange::ids::{OrderId, OrderNo, Token};
use exchange::reject::Reject;
use exchange::units::Sequence;
use views::orders::OrderRow;

/// The problem for a record whose effects lack what the answer needs.
pub fn incomplete_effects() -> Problem {
    Problem::internal("a record's effects do not say what came of it")
}

/// The number in an order's id; the caller must check that the order has this very id.
pub fn number(id: OrderId) -> OrderNo {
    OrderNo(id.sequence())
}

/// An order of the caller; another user's order is not found, rather than forbidden (semantics 7).
pub fn own_order(call: &Call, id: OrderId) -> Result<OrderNo, Problem> {
    own_row(call, id).map(|row| row.no)
}

/// The row of an order of the caller.
pub fn own_row(call: &Call, id: OrderId) -> Result<OrderRow, Problem> {
    let (sequence, sought) =
        call.look(|view| Ok(view.orders.order(call.caller.user, number(id))))?;
    found(sought.row()?.filter(|row| row.id() == id), sequence)
}

/// An open order of the caller. Ended orders are not searched: that would copy much of the caller's
/// history under the lock.
pub fn own_open_order(lazy_view: &LazyView<'_>, id: OrderId) -> Option<OrderNo> {
    let row = lazy_view.view().orders.open_order_of(lazy_view.caller(), number(id));
    row.filter(|row| row.id() == id).map(|row| row.no)
}

/// The caller's newest order with this client order id.
pub fn named_order(call: &Call, id: Token) -> Result<OrderNo, Problem> {
    let (sequence, sought) = call.look(|view| Ok(view.orders.named(call.caller.user, id)))?;
    found(sought.row()?, sequence).map(|row| row.no)
}

/// Turns an order that was not found into a problem that names the record searched.
pub fn found<T>(found: Option<T>, sequence: Sequence) -> Result<T, Problem> {
    let not_found = || Problem { sequence: Some(sequence), ..Problem::of(Reject::OrderNotFound) };
    found.ok_or_else(not_found)
}
