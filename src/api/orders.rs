//! Orders: placing, reading, amending and cancelling the caller's own (interface 4.5, 4.6).

use super::call::{Call, never, public_market};
use super::cursor::CursorPage;
use super::form::text;
use super::once;
use super::order_form::OrderForm;
use super::page::{Above, PageRule};
use super::parse;
use super::problem::Problem;
use super::reply::Reply;
use super::routes::BASE;
use super::wire::account::BalanceJson;
use super::wire::order::{CancelledJson, OrderJson, OrdersJson, PlacedJson, TriedJson};
use super::wire::{CursorEcho, Text};
use crate::exchange::command::{Command, PlaceOrder};
use crate::exchange::effect::{Applied, Effect};
use crate::exchange::ids::{OrderId, OrderNo, Token, UserNo};
use crate::exchange::invariant::Broken;
use crate::exchange::reject::Reject;
use crate::exchange::trial::Tried;
use crate::exchange::units::Sequence;
use crate::projection::ReadModel;
use crate::projection::answers::Kept;
use crate::projection::history::HistoryError;
use crate::projection::orders::{OrderList, OrderRow, Sought, SoughtFills};

/// Orders in one answer: the newest. The interface has no pages here, and the answer is copied
/// while the read model's writer waits, so there must be an end. This is as many as one user may
/// have open, so that with `active=true` nothing is ever left out.
const ORDERS_MAX: usize = 10_000;
/// Pages of orders, for those who ask with a cursor.
const ORDERS_PAGE: PageRule = PageRule { standard: 50, max: 1000, above: Above::Refused };

/// `POST /trading/orders`. The answer is told from the record's effects: the read model is asked
/// only for what was answered before.
pub async fn place(call: Call) -> Result<Reply, Problem> {
    let (form, dry_run) = OrderForm::read(&call)?;
    let (_, terms) = call.look(|view| form.resolve(view, call.caller.user))?;
    if dry_run {
        return try_out(&call, terms).await;
    }
    let unnamed = terms.client_order_id.is_none() && call.once.is_none();
    let command = Command::PlaceOrder(terms);
    if unnamed {
        let answer = call.submit(command).await?;
        let (sequence, time) = (answer.sequence(), answer.time());
        let placed = placed(&Applied { sequence, time, effects: answer.effects() });
        return Reply::ok(sequence, &placed.ok_or_else(untold)?);
    }
    let look = |_: &ReadModel, applied: &Applied<'_>| placed(applied).map(Placed::Now);
    let written = call.submit_and_look(command, look, placed_before).await?;
    let written = written.told(Placed::json)?;
    written.saying(&written.shown)
}

/// What an order would come to now. Nothing is recorded, no name is used up; `Sequence` is the last
/// record that the answer knows of.
async fn try_out(call: &Call, terms: PlaceOrder) -> Result<Reply, Problem> {
    let user = call.caller.user;
    // The key is held to what the request would be without `dryRun`.
    let target = format!("{BASE}/trading/orders");
    let once =
        call.once.as_ref().map(|once| Box::new(once::once(user, once.key, &target, &call.body)));
    let tell = move |view: &ReadModel, came: Result<&Applied<'_>, Broken>| {
        let sequence = view.watermark();
        let applied = came.map_err(|_| Problem::internal("a trial came to what cannot be"))?;
        let (sequence, placed, replayed) = match applied.effects {
            [Effect::Refused(reject)] => return Err(Problem::refused(*reject, sequence)),
            [Effect::Repeated { first }] => {
                (*first, view.answers.of(*first).and_then(|kept| placed_before(view, kept)), true)
            }
            _ => (sequence, placed(applied).map(Placed::Now), false),
        };
        let after = applied.effects.iter().rev().find_map(|effect| match effect {
            Effect::AccountChanged { user: whose, available, reserved } if *whose == user => {
                Some((*available, *reserved))
            }
            _ => None,
        });
        let now = view.accounts.user(user).map(|row| (row.balance.available, row.balance.reserved));
        let (available, reserved) = after.or(now).ok_or_else(untold)?;
        let balance = BalanceJson::new(available, reserved, view.accounts.currency());
        Ok((sequence, placed.ok_or_else(untold)?, balance, replayed))
    };
    let tried = call.engine.try_out(Tried::Place(terms), once, tell).await?;
    let (sequence, placed, balance, replayed) = tried?;
    let content = TriedJson { placed: placed.json()?, dry_run: true, balance };
    Ok(Reply::ok(sequence, &content)?.replayed(replayed))
}

/// What is to be said of an order that was placed.
pub enum Placed {
    /// By this request.
    Now(PlacedJson),
    /// Before: the row as it was then, and where its fills are.
    Before(Box<(OrderRow, SoughtFills)>),
}

impl Placed {
    /// As it is said.
    ///
    /// # Errors
    /// History cannot be read.
    pub fn json(self) -> Result<PlacedJson, HistoryError> {
        match self {
            Placed::Now(json) => Ok(json),
            Placed::Before(before) => PlacedJson::again(&before.0, before.1),
        }
    }
}

/// An order as the latest record left it, which changed it.
pub fn changed_order(view: &ReadModel, user: UserNo, order: OrderNo) -> Option<OrderJson> {
    // It stood until that record, so this is in memory.
    let row = view.orders.order(user, order).row().ok()??;
    Some(OrderJson::of(view, &row))
}

/// What came of an order.
pub fn placed(applied: &Applied<'_>) -> Option<PlacedJson> {
    PlacedJson::of(applied.sequence, applied.time, applied.effects).ok().flatten()
}

/// What came of an order that was placed before.
pub fn placed_before(view: &ReadModel, kept: &Kept) -> Option<Placed> {
    match kept {
        Kept::Order(row) => {
            let fills = view.orders.fills_of_order(row.user, row.no);
            Some(Placed::Before(Box::new((*row, fills))))
        }
        _ => None,
    }
}

/// What is said where a record's effects do not tell what the answer needs.
pub fn untold() -> Problem {
    Problem::internal("a record's effects do not say what came of it")
}

/// `GET /trading/orders`
pub fn list(call: &Call) -> Result<Reply, Problem> {
    let mut form = call.form();
    let active = form.query("active", parse::boolean);
    let market = form.query("marketId", parse::market_id);
    // Without a cursor there are no pages, and `limit` is as unknown as it ever was.
    let page = if form.asks("cursor") {
        CursorPage::read(&mut form, ORDERS_PAGE).map(Some)
    } else {
        Some(None)
    };
    let (active, (market, page)) = form.finish(active.zip(market.zip(page)))?;
    let user = call.caller.user;
    let before = OrderNo(Sequence::new(page.map_or(u64::MAX, CursorPage::before)));
    let (sequence, rows) = call.look(|view| {
        let market = market.map(|id| view.catalogue.market_no(id));
        Ok(match market {
            // A market that nobody has heard of has no orders.
            Some(None) => Rows::Open(Vec::new()),
            _ if active == Some(true) => {
                let open = view.orders.open_before(user, before);
                let there = |row: &OrderRow| market.is_none_or(|of| of == Some(row.market));
                let most = page.map_or(ORDERS_MAX, CursorPage::one_more);
                Rows::Open(open.filter(there).take(most).collect())
            }
            Some(Some(market)) => Rows::All(Box::new(view.orders.before_in(user, market, before))),
            None => Rows::All(Box::new(view.orders.before(user, before))),
        })
    })?;
    let (rows, next) = rows.cut(page)?;
    let (_, orders) =
        call.look(|view| Ok(rows.iter().map(|row| OrderJson::of(view, row)).collect()))?;
    let orders = OrdersJson { orders, next };
    Reply::list(sequence, orders, "orders", |all| &mut all.orders)
}

/// Where a list of orders comes from.
enum Rows {
    /// Memory.
    Open(Vec<OrderRow>),
    /// History too.
    All(Box<OrderList>),
}

impl Rows {
    /// Takes the page that was asked for, or the newest of them if none was.
    fn cut(self, page: Option<CursorPage>) -> Result<(Vec<OrderRow>, Option<CursorEcho>), Problem> {
        let rows: Box<dyn Iterator<Item = Result<OrderRow, HistoryError>>> = match self {
            Rows::Open(rows) => Box::new(rows.into_iter().map(Ok)),
            Rows::All(list) => list,
        };
        let Some(page) = page else {
            return Ok((rows.take(ORDERS_MAX).collect::<Result<_, _>>()?, None));
        };
        let key =
            |row: &Result<OrderRow, HistoryError>| row.as_ref().map_or(0, |row| row.no.0.get());
        let (rows, next) = page.cut(rows.map(|row| (key(&row), row)));
        Ok((rows.into_iter().collect::<Result<_, _>>()?, Some(next)))
    }
}

/// `GET /trading/orders/{orderId}`
pub fn one(call: &Call) -> Result<Reply, Problem> {
    let mut form = call.form();
    let id = form.path("orderId", parse::order_id);
    let id = form.finish(id)?;
    let sought = call.look(|view| Ok(view.orders.order(call.caller.user, number(id))))?;
    show(call, sought, |row| row.id() == id)
}

/// `PATCH /trading/orders/{orderId}`
pub async fn amend(call: Call) -> Result<Reply, Problem> {
    let mut form = call.form_with_body();
    let id = form.path("orderId", parse::order_id);
    let price = form.field_optional("price", text(parse::tick));
    let quantity = form.field_optional("quantity", text(parse::lots));
    if let (Some(None), Some(None)) = (price, quantity) {
        form.note_nothing("price or quantity is needed");
    }
    let (id, (price, quantity)) = form.finish(id.zip(price.zip(quantity)))?;
    let user = call.caller.user;
    let order = own_order(&call, id)?;
    reply_with(&call, order, Command::AmendOrder { user, order, price, quantity }).await
}

/// `DELETE /trading/orders/{orderId}`
pub async fn cancel(call: Call) -> Result<Reply, Problem> {
    let mut form = call.form();
    let id = form.path("orderId", parse::order_id);
    let id = form.finish(id)?;
    let user = call.caller.user;
    let order = own_order(&call, id)?;
    reply_with(&call, order, Command::CancelOrder { user, order }).await
}

/// `GET /trading/orders/by-client-id/{clientOrderId}`: the newest order of that name.
pub fn named(call: &Call) -> Result<Reply, Problem> {
    let mut form = call.form();
    let id = form.path("clientOrderId", parse::token_in_path);
    let id = form.finish(id)?;
    let sought = call.look(|view| Ok(view.orders.named(call.caller.user, id)))?;
    show(call, sought, |_| true)
}

/// `DELETE /trading/orders/by-client-id/{clientOrderId}`: the newest order of that name.
pub async fn cancel_named(call: Call) -> Result<Reply, Problem> {
    let mut form = call.form();
    let id = form.path("clientOrderId", parse::token_in_path);
    let id = form.finish(id)?;
    let user = call.caller.user;
    let order = named_order(&call, id)?;
    reply_with(&call, order, Command::CancelOrder { user, order }).await
}

/// `DELETE /trading/orders`
pub async fn cancel_all(call: Call) -> Result<Reply, Problem> {
    let mut form = call.form();
    let market = form.query("marketId", parse::market_id);
    let market = form.finish(market)?;
    let user = call.caller.user;
    let (_, market) =
        call.look(|view| market.map(|id| public_market(view, id).map(|row| row.no)).transpose())?;
    let answer = call.submit(Command::CancelOrders { user, market }).await?;
    let cancelled = answer.effects().iter().filter_map(|effect| match effect {
        Effect::OrderCancelled { order, .. } => Some(*order),
        _ => None,
    });
    let (_, mut ids) = call.look(|view| Ok(view.orders.ids(user)))?;
    let cancelled = cancelled.map(|order| ids.id(order)).collect::<Result<Vec<_>, _>>()?;
    let cancelled = cancelled.into_iter().flatten().map(Text).collect();
    let cancelled = CancelledJson { cancelled };
    Reply::list(answer.sequence(), cancelled, "cancelled", |all| &mut all.cancelled)
}

/// The number in an order's id; whether it is that order's id remains to be seen.
pub fn number(id: OrderId) -> OrderNo {
    OrderNo(id.sequence())
}

/// An order of the caller's; another user's is not found, not forbidden (semantics 7).
pub fn own_order(call: &Call, id: OrderId) -> Result<OrderNo, Problem> {
    let (sequence, sought) =
        call.look(|view| Ok(view.orders.order(call.caller.user, number(id))))?;
    let row = sought.row()?.filter(|row| row.id() == id);
    found(row, sequence).map(|row| row.no)
}

/// The newest order to which the caller gave this name.
pub fn named_order(call: &Call, id: Token) -> Result<OrderNo, Problem> {
    let (sequence, sought) = call.look(|view| Ok(view.orders.named(call.caller.user, id)))?;
    found(sought.row()?, sequence).map(|row| row.no)
}

/// What was looked for at one moment.
pub fn found<T>(found: Option<T>, sequence: Sequence) -> Result<T, Problem> {
    let not_found = || Problem { sequence: Some(sequence), ..Problem::of(Reject::OrderNotFound) };
    found.ok_or_else(not_found)
}

/// Answers an order that was looked for at one moment.
fn show(
    call: &Call,
    (sequence, sought): (Sequence, Sought),
    is_it: impl Fn(&OrderRow) -> bool,
) -> Result<Reply, Problem> {
    let row = found(sought.row()?.filter(is_it), sequence)?;
    let (_, order) = call.look(|view| Ok(OrderJson::of(view, &row)))?;
    Reply::ok(sequence, &order)
}

/// Carries out a command that changes an order, and answers the order as it left it.
async fn reply_with(call: &Call, order: OrderNo, command: Command) -> Result<Reply, Problem> {
    let user = call.caller.user;
    let look = move |view: &ReadModel, _: &Applied<'_>| changed_order(view, user, order);
    let written = call.submit_and_look(command, look, never).await?;
    written.saying(&written.shown)
}
