//! The caller's orders, oldest first: those placed after a record, a time or the page before.

use super::call::Call;
use super::onward::{self, OnwardPage};
use super::problem::Problem;
use super::reply::Reply;
use super::wire::order::{ListedOrder, OrdersJson};
use super::wire::{Cursor, CursorEcho, Text};
use exchange::ids::{Group, MarketId, OrderNo};
use exchange::units::Sequence;
use views::ReadModel;
use views::history::onward::Start;
use views::orders::{OrderRow, OrdersAfter};

/// Where the orders are from.
enum Rows {
    /// Those that stand in the book, and one more than asked if there are more.
    Open(Vec<OrderRow>),
    /// All.
    All(Box<OrdersAfter>),
}

/// A page of the orders in one market or all; of all, or only of those that stand in the book, of
/// one group or all.
pub async fn list(
    call: &Call,
    market: Option<MarketId>,
    (active, group): (bool, Option<Group>),
    page: OnwardPage,
) -> Result<Reply, Problem> {
    let (user, limit) = (call.account, page.limit);
    let after = match page.start {
        Start::After(record) => record,
        Start::Place(number) => Sequence::new(number),
        Start::At(time) => {
            let (_, mut ids) = call.look(|view| Ok(view.orders.ids(user)))?;
            ids.last_before(time)?.map_or(Sequence::ZERO, |order| order.0)
        }
    };
    let after = OrderNo(after);
    let (_, open) = call.look(|view| Ok(view.orders.open_count_of(user)))?;
    let rows = move |view: &ReadModel| {
        let market = match market.map(|id| view.catalogue.market_no(id)) {
            // An unknown market has no orders.
            Some(None) => return Ok(Rows::Open(Vec::new())),
            known => known.flatten(),
        };
        if !active {
            return Ok(Rows::All(Box::new(view.orders.after(user, market, after, limit))));
        }
        let open = view.orders.open_after(user, after);
        let open = open.filter(|row| market.is_none_or(|market| row.market == market));
        let open = open.filter(|row| group.is_none_or(|group| row.group == Some(group)));
        Ok(Rows::Open(open.take(limit.saturating_add(1)).collect()))
    };
    let (sequence, rows) = call.look_apart(open, rows).await?;
    let (rows, next) = match rows {
        Rows::All(orders) => {
            let (rows, _, next) = onward::read(orders.onward(limit)?).await?;
            (rows, next)
        }
        Rows::Open(mut rows) => {
            let has_more = rows.len() > limit;
            rows.truncate(limit);
            let last = rows.last().map_or(after, |row| row.no);
            let next_cursor = Some(Text(Cursor::After(last.0.get())));
            (rows, CursorEcho { has_more, next_cursor })
        }
    };
    let (_, orders) =
        call.look(|view| Ok(rows.into_iter().map(|row| ListedOrder::of(view, row)).collect()))?;
    let orders = OrdersJson { orders, next: Some(next), cut: None };
    Reply::list(sequence, orders, "orders", |all| &mut all.orders)
}
