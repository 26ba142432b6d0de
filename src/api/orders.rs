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
use super::wire::Text;
use super::wire::account::BalanceJson;
use super::wire::order::{CancelledJson, OrderJson, OrdersJson, PlacedJson, TriedJson};
use crate::exchange::command::{Command, PlaceOrder};
use crate::exchange::effect::{Applied, Effect};
use crate::exchange::ids::{OrderId, OrderNo, Token, UserNo};
use crate::exchange::invariant::Broken;
use crate::exchange::reject::Reject;
use crate::exchange::trial::Tried;
use crate::exchange::units::Sequence;
use crate::projection::ReadModel;
use crate::projection::answers::Kept;
use crate::projection::orders::OrderRow;

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
    let command = Command::PlaceOrder(terms);
    if terms.client_order_id.is_none() && call.once.is_none() {
        let answer = call.submit(command).await?;
        let (sequence, time) = (answer.sequence(), answer.time());
        let placed = placed(&Applied { sequence, time, effects: answer.effects() });
        return Reply::ok(sequence, &placed.ok_or_else(untold)?);
    }
    let look = |_: &ReadModel, applied: &Applied<'_>| placed(applied);
    let written = call.submit_and_look(command, look, placed_before).await?;
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
            _ => (sequence, placed(applied), false),
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
        let content = TriedJson { placed: placed.ok_or_else(untold)?, dry_run: true, balance };
        Ok((sequence, content, replayed))
    };
    let tried = call.engine.try_out(Tried::Place(terms), once, tell).await?;
    let (sequence, content, replayed) = tried?;
    Ok(Reply::ok(sequence, &content)?.replayed(replayed))
}

/// What came of an order.
pub fn placed(applied: &Applied<'_>) -> Option<PlacedJson> {
    PlacedJson::of(applied.sequence, applied.time, applied.effects).ok().flatten()
}

/// What came of an order that was placed before.
pub fn placed_before(view: &ReadModel, kept: &Kept) -> Option<PlacedJson> {
    match kept {
        Kept::Order(row) => Some(PlacedJson::again(view, row)),
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
    let (sequence, orders) = call.look(|view| {
        let before = OrderNo(Sequence::new(page.map_or(u64::MAX, CursorPage::before)));
        let rows: Box<dyn Iterator<Item = &OrderRow>> = match market {
            // A market that nobody has heard of has no orders.
            Some(id) => match view.catalogue.market_no(id) {
                None => Box::new(std::iter::empty()),
                Some(market) if active == Some(true) => {
                    let open = view.orders.open_before(user, before);
                    Box::new(open.filter(move |row| row.market == market))
                }
                Some(market) => Box::new(view.orders.before_in(user, market, before)),
            },
            None if active == Some(true) => Box::new(view.orders.open_before(user, before)),
            None => Box::new(view.orders.before(user, before)),
        };
        let order = |row: &OrderRow| OrderJson::of(view, row);
        Ok(match page {
            None => OrdersJson { orders: rows.take(ORDERS_MAX).map(order).collect(), next: None },
            Some(page) => {
                let (orders, next) = page.cut(rows.map(|row| (row.no.0.get(), order(row))));
                OrdersJson { orders, next: Some(next) }
            }
        })
    })?;
    Reply::list(sequence, orders, "orders", |all| &mut all.orders)
}

/// `GET /trading/orders/{orderId}`
pub fn one(call: &Call) -> Result<Reply, Problem> {
    let mut form = call.form();
    let id = form.path("orderId", parse::order_id);
    let id = form.finish(id)?;
    let (sequence, order) = call
        .look(|view| own_order(view, call.caller.user, id).map(|row| OrderJson::of(view, row)))?;
    Reply::ok(sequence, &order)
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
    let (_, order) = call.look(|view| own_order(view, user, id).map(|row| row.no))?;
    reply_with(&call, order, Command::AmendOrder { user, order, price, quantity }).await
}

/// `DELETE /trading/orders/{orderId}`
pub async fn cancel(call: Call) -> Result<Reply, Problem> {
    let mut form = call.form();
    let id = form.path("orderId", parse::order_id);
    let id = form.finish(id)?;
    let user = call.caller.user;
    let (_, order) = call.look(|view| own_order(view, user, id).map(|row| row.no))?;
    reply_with(&call, order, Command::CancelOrder { user, order }).await
}

/// `GET /trading/orders/by-client-id/{clientOrderId}`: the newest order of that name.
pub fn named(call: &Call) -> Result<Reply, Problem> {
    let mut form = call.form();
    let id = form.path("clientOrderId", parse::token_in_path);
    let id = form.finish(id)?;
    let (sequence, order) = call
        .look(|view| named_order(view, call.caller.user, id).map(|row| OrderJson::of(view, row)))?;
    Reply::ok(sequence, &order)
}

/// `DELETE /trading/orders/by-client-id/{clientOrderId}`: the newest order of that name.
pub async fn cancel_named(call: Call) -> Result<Reply, Problem> {
    let mut form = call.form();
    let id = form.path("clientOrderId", parse::token_in_path);
    let id = form.finish(id)?;
    let user = call.caller.user;
    let (_, order) = call.look(|view| named_order(view, user, id).map(|row| row.no))?;
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
    let (_, cancelled) = call.look(|view| {
        let id = |order: OrderNo| view.orders.order(order).map(|row| Text(row.id));
        Ok(cancelled.filter_map(id).collect())
    })?;
    let cancelled = CancelledJson { cancelled };
    Reply::list(answer.sequence(), cancelled, "cancelled", |all| &mut all.cancelled)
}

/// An order of this user's; another user's is not found, not forbidden (semantics 7).
pub fn own_order(view: &ReadModel, user: UserNo, id: OrderId) -> Result<&OrderRow, Problem> {
    let row = view.orders.order_by_id(id).filter(|row| row.user == user);
    row.ok_or_else(|| Problem::of(Reject::OrderNotFound))
}

/// The newest order to which this user gave this name.
pub fn named_order(view: &ReadModel, user: UserNo, id: Token) -> Result<&OrderRow, Problem> {
    let row = view.orders.order_by_client_id(user, id);
    row.ok_or_else(|| Problem::of(Reject::OrderNotFound))
}

/// Carries out a command that changes an order, and answers the order as it left it.
async fn reply_with(call: &Call, order: OrderNo, command: Command) -> Result<Reply, Problem> {
    let look = move |view: &ReadModel, _: &Applied<'_>| {
        view.orders.order(order).map(|row| OrderJson::of(view, row))
    };
    let written = call.submit_and_look(command, look, never).await?;
    written.saying(&written.shown)
}
