//! The caller's orders as a list (interface 4.6).

use std::ops::ControlFlow;
use std::sync::Arc;

use bytes::Bytes;

use super::call::{Call, SHORT_MAX};
use super::cursor::CursorPage;
use super::listed::Content;
use super::onward::Asked;
use super::orders_onward;
use super::page::{Above, PageRule};
use super::parse::{self, Fault};
use super::problem::{FieldCode, Problem};
use super::reply::Reply;
use super::stream::channel::Topic;
use super::unread_rows::{UnreadRows, read_in_turns};
use super::waiting::{Until, follow};
use super::wire::Text;
use super::wire::order::{CutJson, ListedOrder, OrdersJson};
use exchange::ids::{Group, MarketId, MarketNo, OrderNo, UserNo};
use exchange::units::Sequence;
use views::ReadModel;
use views::history::HistoryError;
use views::orders::{OrderList, OrderRow, OrdersIn};

/// Most orders in one answer: all open ones, and the newest others. The interface has no pages
/// here, and the rows are copied while the projector waits, so a bound is needed. It equals the
/// open orders a user may have, so that none of them is ever left out.
const ORDERS_MAX: usize = 10_000;
/// Pages of orders by cursor.
const ORDERS_PAGE: PageRule = PageRule { standard: 50, max: 1000, above: Above::Refused };

/// `GET /trading/orders`
pub async fn list(call: Call) -> Result<Reply, Problem> {
    let mut form = call.form();
    let active = form.query("active", parse::boolean);
    let market = form.query("marketId", parse::text);
    let group = if form.asks("group") && active != Some(Some(true)) {
        let detail = "is taken only with active=true: only open orders are found by group";
        form.query("group", |_| Err(Fault::new(FieldCode::UnknownField, detail)))
    } else {
        form.query("group", parse::text)
    };
    let page = Asked::read(&mut form, ORDERS_PAGE, |form, rule| {
        // Without a cursor there are no pages.
        if form.asks("cursor") {
            return CursorPage::read(form, rule).map(Some);
        }
        let detail = "is taken only with a cursor; cursor= is the first page";
        form.query::<()>("limit", |_| Err(Fault::new(FieldCode::UnknownField, detail)))
            .map(|_| None)
    });
    let until = Until::read(&mut form);
    let which = active.zip(group).zip(market.zip(page));
    let (((active, group), (market, page)), until) = form.finish(which.zip(until))?;
    let user = call.account;
    let followed = |view: &ReadModel| Ok((Topic::Account(user), view.changes.of_orders(user)));
    let tag = match follow(&call, until, followed).await? {
        ControlFlow::Break(reply) => return Ok(reply),
        ControlFlow::Continue(tag) => tag,
    };
    let which = (active == Some(true), group);
    Ok(listed(&call, which, market, page).await?.with_tag(tag))
}

/// The orders that are asked for.
async fn listed(
    call: &Call,
    (active, group): (bool, Option<Group>),
    market: Option<MarketId>,
    page: Asked<Option<CursorPage>>,
) -> Result<Reply, Problem> {
    let page = match page {
        Asked::Newest(page) => page,
        Asked::Onward(page) => {
            return orders_onward::list(call, market, (active, group), page).await;
        }
    };
    let wanted = Wanted { active, market, group, page };
    if let Wanted { active: true, market: None, group: None, page: None } = wanted {
        return all_open(call).await;
    }
    // Count the rows before copying them.
    let user = call.account;
    let count = call.look(|view| Ok(wanted.rows(view, user, 0).count()))?.1;
    let rows = |most| call.look_apart(count, move |view| Ok(wanted.rows(view, user, most)));
    let mut reserved = None;
    let (sequence, rows, next, cut) = if let Some(page) = page {
        let (sequence, rows) = rows(page.one_more()).await?;
        let rows = read_in_turns(rows.read()?.map(keyed), page.one_more()).await?;
        let (rows, next) = page.cut(rows.into_iter());
        (sequence, rows, Some(next), None)
    } else {
        let count = count.min(ORDERS_MAX);
        let turn = if count > SHORT_MAX {
            let reserved =
                reserved.insert(UnreadRows::reserve(&call.shared.unread, &call.caller, count)?);
            call.shared.unread.turn(reserved).await
        } else {
            None
        };
        let most = ORDERS_MAX.saturating_add(1);
        let listed = move |view: &ReadModel| {
            // Counted again: there may be more since.
            let short = wanted.rows(view, user, 0).count() < ORDERS_MAX;
            let open = if short { Vec::new() } else { wanted.open(view, user) };
            Ok((wanted.rows(view, user, most), open))
        };
        let (sequence, (rows, open)) = call.look_apart(count, listed).await?;
        let rows = read_in_turns(rows.read()?, most).await?;
        drop(turn);
        let (rows, cut) = with_open(rows, &open);
        (sequence, rows, None, cut)
    };
    let listed =
        |view: &ReadModel| Ok(rows.into_iter().map(|row| ListedOrder::of(view, row)).collect());
    let (_, orders) = call.look_apart(count, listed).await?;
    let orders = OrdersJson { orders, next, cut };
    let mut reply = Reply::list(sequence, orders, "orders", |all| &mut all.orders)?;
    if let Some(reserved) = reserved {
        reply.body.count(reserved);
    }
    Ok(reply)
}

/// Cuts a list that is too long: as many of its newest orders stay as leave room for all open ones.
fn with_open(mut rows: Vec<OrderRow>, open: &[OrderRow]) -> (Vec<OrderRow>, Option<CutJson>) {
    let Some(newest) = rows.first().map(|row| row.no).filter(|_| rows.len() > ORDERS_MAX) else {
        return (rows, None);
    };
    let older = |than: Option<&OrderRow>| {
        let begin = than.map_or(0, |than| open.partition_point(|row| row.no >= than.no));
        open.get(begin..).unwrap_or_default()
    };
    while !rows.is_empty() && rows.len().saturating_add(older(rows.last()).len()) > ORDERS_MAX {
        rows.pop();
    }
    let cursor = rows.last().map_or(newest.0.get().saturating_add(1), |row| row.no.0.get());
    let older = older(rows.last());
    rows.extend_from_slice(older);
    (rows, Some(CutJson { truncated: true, cursor: Text(cursor) }))
}

/// All the caller's open orders, which trading programs read most. The answer is cached until one
/// of them changes, if it fits one piece.
async fn all_open(call: &Call) -> Result<Reply, Problem> {
    let user = call.account;
    let (sequence, found) = call.look(|view| {
        let kept = call.shared.caches.orders.find(user, &view.changes.of_orders(user));
        Ok(kept.ok_or_else(|| view.orders.open_count_of(user)))
    })?;
    let count = match found {
        Ok(text) => return Ok(Reply::json(sequence, Bytes::from_owner(text))),
        Err(count) => count,
    };
    // Reserve before copying the rows.
    let long =
        (count > SHORT_MAX).then(|| UnreadRows::reserve(&call.shared.unread, &call.caller, count));
    let reserved = long.transpose()?;
    // No turn is taken: nothing of this is read from disk.
    let copy = move |view: &ReadModel| {
        let orders = view.orders.open_of(user).take(ORDERS_MAX);
        let orders = orders.map(|row| ListedOrder::of(view, row)).collect();
        Ok((view.changes.of_orders(user), OrdersJson { orders, next: None, cut: None }))
    };
    let (sequence, (changed, orders)) = call.look_apart(count, copy).await?;
    let mut reply = Reply::list(sequence, orders, "orders", |all| &mut all.orders)?;
    if let Content::Whole(text) = &reply.body {
        call.shared.caches.orders.keep(user, changed, Arc::from(&**text));
    }
    if let Some(reserved) = reserved {
        reply.body.count(reserved);
    }
    Ok(reply)
}

/// Which of the caller's orders are listed.
#[derive(Clone, Copy)]
struct Wanted {
    active: bool,
    market: Option<MarketId>,
    /// Only with `active`.
    group: Option<Group>,
    page: Option<CursorPage>,
}

impl Wanted {
    /// The source of the newest `most` of them.
    fn rows(self, view: &ReadModel, user: UserNo, most: usize) -> Rows {
        let before = self.page.map_or(u64::MAX, CursorPage::before);
        let before = OrderNo(Sequence::new(before));
        let market = self.market.map(|id| view.catalogue.market_no(id));
        match market {
            // An unknown market has no orders.
            Some(None) => Rows::Open { rows: Vec::new(), count: 0 },
            _ if self.active => {
                let open = view.orders.open_before(user, before);
                let rows = open.filter(|row| self.has(market, row)).take(most).collect();
                Rows::Open { rows, count: view.orders.open_count_of(user) }
            }
            Some(Some(market)) => {
                Rows::In(Box::new(view.orders.before_in(user, market, before, most)))
            }
            None => Rows::All(Box::new(view.orders.before(user, before, most))),
        }
    }

    /// All open orders among them, newest first.
    fn open(self, view: &ReadModel, user: UserNo) -> Vec<OrderRow> {
        let market = self.market.map(|id| view.catalogue.market_no(id));
        let open = view.orders.open_of(user);
        open.filter(|row| self.has(market, row)).collect()
    }

    /// Whether an open order is one of them; `market` is theirs, `Some(None)` one that is unknown.
    #[allow(clippy::option_option, reason = "a market that is asked for may be none")]
    fn has(self, market: Option<Option<MarketNo>>, row: &OrderRow) -> bool {
        market.is_none_or(|of| of == Some(row.market))
            && self.group.is_none_or(|group| row.group == Some(group))
    }
}

/// The source of a list of orders.
enum Rows {
    /// Open orders, from memory; at most `count`.
    Open { rows: Vec<OrderRow>, count: usize },
    /// All orders, from history too.
    All(Box<OrderList>),
    /// All orders of one market.
    In(Box<OrdersIn>),
}

impl Rows {
    /// An upper bound of the number of rows.
    fn count(&self) -> usize {
        match self {
            Rows::Open { count, .. } => *count,
            Rows::All(list) => list.left(),
            Rows::In(sought) => sought.most(),
        }
    }

    /// Reads them, newest first.
    fn read(
        self,
    ) -> Result<Box<dyn Iterator<Item = Result<OrderRow, HistoryError>> + Send>, HistoryError> {
        Ok(match self {
            Rows::Open { rows, .. } => Box::new(rows.into_iter().map(Ok)),
            Rows::All(list) => list,
            Rows::In(sought) => Box::new(sought.list()?),
        })
    }
}

/// A row with its key for cursors, the order's number.
fn keyed(row: Result<OrderRow, HistoryError>) -> Result<(u64, OrderRow), HistoryError> {
    row.map(|row| (row.no.0.get(), row))
}
