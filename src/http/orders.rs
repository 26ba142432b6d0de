//! Orders: placing, reading, amending and cancelling the caller's own (interface 4.5, 4.6).

use std::sync::Arc;

use bytes::Bytes;

use super::call::{Call, SHORT_MAX, never, public_market};
use super::cursor::CursorPage;
use super::lazy_view::LazyView;
use super::listed::{self, Content};
use super::members::{Checked, bodies, lacking};
use super::onward::Asked;
use super::order_form::{OrderForm, TimeLimit};
use super::orders_onward;
use super::own_orders::{found, incomplete_effects, named_order, number, own_order, own_row};
use super::page::{Above, PageRule};
use super::parse::{self, Escaped, Fault};
use super::problem::{FieldCode, Kind, Problem, Told};
use super::reply::Reply;
use super::trials;
use super::unread_rows::{UnreadRows, read_in_turns};
use super::wire::Text;
use super::wire::order::{
    CancelledJson, CancelledOrderJson, CutJson, ListedOrder, OrderJson, OrdersJson, PlacedJson,
};
use super::wire::placed as told;
use exchange::command::{Command, SeenTerms};
use exchange::effect::Applied;
use exchange::ids::{Group, MarketId, MarketNo, OrderNo, UserNo};
use exchange::reject::Reject;
use exchange::units::{Lots, Sequence, Tick};
use views::ReadModel;
use views::history::HistoryError;
use views::orders::{AsPlaced, OrderList, OrderRow, OrdersIn, Sought};
use views::responses::StoredResponse;

/// Most orders in one answer: all open ones, and the newest others. The interface has no pages
/// here, and the rows are copied while the projector waits, so a bound is needed. It equals the
/// open orders a user may have, so that none of them is ever left out.
const ORDERS_MAX: usize = 10_000;
/// Pages of orders by cursor.
const ORDERS_PAGE: PageRule = PageRule { standard: 50, max: 1000, above: Above::Refused };

/// `POST /trading/orders`. The answer is built from the record's effects; the read model is needed
/// only for repetitions.
pub async fn place(call: Call) -> Result<Reply, Problem> {
    let mut form = call.form();
    let dry_run = form.query("dryRun", parse::boolean);
    let order = form.body::<OrderForm>();
    let (order, dry_run) = form.finish(order.zip(dry_run))?;
    let terms = order.resolve(&LazyView::of(&call))?;
    let limit = TimeLimit::of(&terms);
    if dry_run.unwrap_or(false) {
        return trials::place(&call, terms).await.map_err(|problem| limit.named(problem));
    }
    let unnamed = terms.client_order_id.is_none() && call.once.is_none();
    let command = Command::PlaceOrder(terms);
    if unnamed {
        let answer = call.submit(command).await.map_err(|problem| limit.named(problem))?;
        let (sequence, time) = (answer.sequence(), answer.time());
        let placed = placed(&Applied { sequence, time, effects: answer.effects() });
        return Reply::ok(sequence, &placed.ok_or_else(incomplete_effects)?);
    }
    let look = |_: &ReadModel, applied: &Applied<'_>| placed(applied).map(Placed::Now);
    let written = call.submit_and_look(command, look, placed_before).await;
    let written = written.map_err(|problem| limit.named(problem))?.try_map(Placed::json)?;
    written.reply(&written.shown)
}

/// A placed order, as the answer shows it.
pub enum Placed {
    /// Placed by this request.
    Now(PlacedJson),
    /// Placed by an earlier request: the order as it was then.
    Before(Box<AsPlaced>),
}

impl Placed {
    /// Its JSON.
    ///
    /// # Errors
    /// History cannot be read.
    pub fn json(self) -> Result<PlacedJson, Problem> {
        match self {
            Placed::Now(json) => Ok(json),
            Placed::Before(before) => told::again(*before)?.ok_or_else(Problem::lacking_row),
        }
    }
}

/// An order as changed by the latest record.
pub fn changed_order(view: &ReadModel, user: UserNo, order: OrderNo) -> Option<OrderJson> {
    // The order was open until that record, so its row is in memory.
    let row = view.orders.order(user, order).row().ok()??;
    Some(OrderJson::seen(view, &row))
}

/// The JSON of an order that a record placed.
pub fn placed(applied: &Applied<'_>) -> Option<PlacedJson> {
    let (row, trades) = told::placed(applied).ok()??;
    Some(PlacedJson::of(&row, trades))
}

/// An order placed by an earlier request.
pub fn placed_before(view: &ReadModel, kept: &StoredResponse) -> Option<Placed> {
    match kept {
        StoredResponse::Placed(user, order) => {
            Some(Placed::Before(Box::new(view.orders.as_placed(*user, *order))))
        }
        _ => None,
    }
}

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
    let ((active, group), (market, page)) = form.finish(active.zip(group).zip(market.zip(page)))?;
    let page = match page {
        Asked::Newest(page) => page,
        Asked::Onward(page) => {
            return orders_onward::list(&call, market, (active == Some(true), group), page).await;
        }
    };
    let wanted = Wanted { active: active == Some(true), market, group, page };
    if let Wanted { active: true, market: None, group: None, page: None } = wanted {
        return all_open(&call).await;
    }
    // Count the rows before copying them.
    let user = call.caller.user;
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
    let user = call.caller.user;
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

/// `GET /trading/orders/{orderId}`
pub fn one(call: &Call) -> Result<Reply, Problem> {
    let id = call.read(|form| form.path("orderId"))?;
    let sought = call.look(|view| Ok(view.orders.order(call.caller.user, number(id))))?;
    show(call, sought, |row| row.id() == id)
}

bodies! {
    /// What an order becomes.
    struct Amendment {
        optional { "price" => price: Tick, "quantity" => quantity: Lots }
    }
    check something_becomes_else;
}

fn something_becomes_else(amendment: &Amendment) -> Checked {
    match amendment {
        Amendment { price: None, quantity: None } => lacking("price or quantity is needed"),
        _ => Ok(()),
    }
}

/// `PATCH /trading/orders/{orderId}`
pub async fn amend(call: Call) -> Result<Reply, Problem> {
    let mut form = call.form();
    let (id, dry_run) = (form.path("orderId"), form.query("dryRun", parse::boolean));
    let amendment = form.body::<Amendment>();
    let ((id, dry_run), Amendment { price, quantity }) =
        form.finish(id.zip(dry_run).zip(amendment))?;
    let user = call.caller.user;
    let row = own_row(&call, id)?;
    let (order, seen) = (row.no, seen(&call, &row)?);
    if dry_run.unwrap_or(false) {
        let tried = trials::amend(&call, order, price, quantity).await;
        return tried.map_err(|problem| with_end(&call, order, problem));
    }
    let amend = Command::AmendOrder { user, order, price, quantity, seen };
    Ok(reply_with(&call, order, amend).await?.tagged())
}

/// What the client saw of the order that it amends, if it says so by the order's tag. The exchange
/// compares it again in the order of its records: the order may trade until then.
fn seen(call: &Call, row: &OrderRow) -> Result<Option<SeenTerms>, Problem> {
    if !call.conditions.guards() {
        return Ok(None);
    }
    let (sequence, json) = call.look(|view| Ok(OrderJson::seen(view, row)))?;
    let tag = Reply::ok(sequence, &json)?.tagged().tag.unwrap_or_default();
    call.conditions.check(&tag).map_err(|failed| Problem { sequence: Some(sequence), ..failed })?;
    // An order that has ended cannot be amended, whatever was seen of it.
    let rests = row.filled < row.quantity;
    let (price, quantity, filled) = (row.price, row.quantity, row.filled);
    Ok(rests.then_some(SeenTerms { price, quantity, filled }))
}

/// `DELETE /trading/orders/{orderId}`
pub async fn cancel(call: Call) -> Result<Reply, Problem> {
    let id = call.read(|form| form.path("orderId"))?;
    let user = call.caller.user;
    let order = own_order(&call, id)?;
    reply_with(&call, order, Command::CancelOrder { user, order }).await
}

/// `GET /trading/orders/by-client-id/{clientOrderId}`: the newest order of that name.
pub fn named(call: &Call) -> Result<Reply, Problem> {
    let Escaped(id) = call.read(|form| form.path("clientOrderId"))?;
    let sought = call.look(|view| Ok(view.orders.named(call.caller.user, id)))?;
    show(call, sought, |_| true)
}

/// `DELETE /trading/orders/by-client-id/{clientOrderId}`: the newest order of that name.
pub async fn cancel_named(call: Call) -> Result<Reply, Problem> {
    let Escaped(id) = call.read(|form| form.path("clientOrderId"))?;
    let user = call.caller.user;
    let order = named_order(&call, id)?;
    reply_with(&call, order, Command::CancelOrder { user, order }).await
}

/// `DELETE /trading/orders`
pub async fn cancel_all(call: Call) -> Result<Reply, Problem> {
    let mut form = call.form();
    let market = form.query("marketId", parse::text);
    let group = form.query("group", parse::text);
    let (market, group) = form.finish(market.zip(group))?;
    let group = group.map(Box::new);
    let user = call.caller.user;
    let (_, market) =
        call.look(|view| market.map(|id| public_market(view, id).map(|row| row.no)).transpose())?;
    // Read the list while this record is the latest: later, each order would have to be found in
    // history.
    let look = |view: &ReadModel, _: &Applied<'_>| {
        Some(view.orders.just_ended().map(CancelledOrderJson::of).collect::<Vec<_>>())
    };
    let written =
        call.submit_and_look(Command::CancelOrders { user, market, group }, look, never).await?;
    let ids: Vec<_> = written.shown.iter().map(CancelledOrderJson::id).collect();
    let lists: Vec<(&str, Box<dyn listed::Rows>)> = vec![
        ("cancelled", Box::new(ids.into_iter())),
        ("orders", Box::new(written.shown.into_iter())),
    ];
    Reply::lists(written.sequence, &CancelledJson::default(), lists)
}

/// Answers an order that was found at `sequence`.
fn show(
    call: &Call,
    (sequence, sought): (Sequence, Sought),
    is_it: impl Fn(&OrderRow) -> bool,
) -> Result<Reply, Problem> {
    let row = found(sought.row()?.filter(is_it), sequence)?;
    let (_, order) = call.look(|view| Ok(OrderJson::seen(view, &row)))?;
    Ok(Reply::ok(sequence, &order)?.tagged())
}

/// Executes a command that changes an order, and answers the order as it left it.
async fn reply_with(call: &Call, order: OrderNo, command: Command) -> Result<Reply, Problem> {
    let user = call.caller.user;
    let look = move |view: &ReadModel, _: &Applied<'_>| changed_order(view, user, order);
    let written = call.submit_and_look(command, look, never).await;
    let written = written.map_err(|problem| with_end(call, order, problem))?;
    written.reply(&written.shown)
}

/// Adds to a refusal for an order that is not open how it ended: it may have filled while its
/// cancel was on the way. Ended orders never change.
pub fn with_end(call: &Call, order: OrderNo, problem: Problem) -> Problem {
    if problem.kind != Kind::Refused(Reject::OrderNotOpen) {
        return problem;
    }
    let ended = || {
        let (_, sought) = call.look(|view| Ok(view.orders.order(call.caller.user, order)))?;
        let row = sought.row()?.filter(|row| !row.status.open());
        let listed = call.look(|view| Ok(row.map(|row| ListedOrder::of(view, row))));
        listed.map(|(_, order)| order)
    };
    // The refusal stands, whether history can be read or not.
    let told = ended().ok().flatten().map(|order| Box::new(Told::Order(order)));
    Problem { told, ..problem }
}
