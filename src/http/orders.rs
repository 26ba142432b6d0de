//! Orders: placing, reading, amending and cancelling the caller's own (interface 4.5, 4.6).

use super::call::{Call, never, own_key_no, public_market};
use super::lazy_view::LazyView;
use super::listed;
use super::members::{Checked, bodies, lacking};
use super::order_form::{OrderForm, TimeLimit};
use super::own_orders::{found, incomplete_effects, named_order, number, own_order, own_row};
use super::parse::{self, Escaped};
use super::problem::{Kind, Problem, Told};
use super::queue_place;
use super::reply::Reply;
use super::trials;
use super::wire::order::{CancelledJson, CancelledOrderJson, ListedOrder, OrderJson, PlacedJson};
use super::wire::placed as told;
use exchange::command::{Command, SeenTerms};
use exchange::effect::Applied;
use exchange::ids::{Group, KeyId, MarketId, OrderNo, UserNo};
use exchange::reject::Reject;
use exchange::units::{Lots, Sequence, Tick};
use views::ReadModel;
use views::orders::{AsPlaced, OrderRow, Sought};
use views::responses::StoredResponse;

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

/// `GET /trading/orders/{orderId}`
pub async fn one(call: Call) -> Result<Reply, Problem> {
    let mut form = call.form();
    let (id, queue) = (form.path("orderId"), form.query("queue", parse::boolean));
    let (id, queue) = form.finish(id.zip(queue))?;
    let queue = queue == Some(true);
    // Its tag is of the order alone, which an amend is compared with: none is sent with the place.
    if queue && let Some(found) = queue_place::find(&call, id).await? {
        return Ok(found);
    }
    let sought = call.look(|view| Ok(view.orders.order(call.caller.user, number(id))))?;
    if queue {
        let row = found(sought.1.row()?.filter(|row| row.id() == id), sought.0)?;
        let (_, order) = call.look(|view| Ok(OrderJson::seen(view, &row).queued(None)))?;
        return Reply::ok(sought.0, &order);
    }
    show(&call, sought, |row| row.id() == id)
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
    let (market, group, key) = which(&call)?;
    let group = group.map(Box::new);
    let user = call.account;
    let (_, (market, key)) = call.look(|view| {
        let market = market.map(|id| public_market(view, id).map(|row| row.no)).transpose()?;
        Ok((market, key.map(|id| own_key_no(view, user, id)).transpose()?))
    })?;
    // Read the list while this record is the latest: later, each order would have to be found in
    // history.
    let look = |view: &ReadModel, _: &Applied<'_>| {
        Some(view.orders.just_ended().map(CancelledOrderJson::of).collect::<Vec<_>>())
    };
    let command = Command::CancelOrders { user, market, group, key };
    let written = call.submit_and_look(command, look, never).await?;
    let ids: Vec<_> = written.shown.iter().map(CancelledOrderJson::id).collect();
    let lists: Vec<(&str, Box<dyn listed::Rows>)> = vec![
        ("cancelled", Box::new(ids.into_iter())),
        ("orders", Box::new(written.shown.into_iter())),
    ];
    Reply::lists(written.sequence, &CancelledJson::default(), lists)
}

/// Orders of a market, a group, a key, as far as each is named.
type Which = (Option<MarketId>, Option<Group>, Option<KeyId>);

/// Which orders are to be cancelled.
pub(super) fn which(call: &Call) -> Result<Which, Problem> {
    let mut form = call.form();
    let market = form.query("marketId", parse::text);
    let group = form.query("group", parse::text);
    let key = form.query("keyId", parse::text);
    let ((market, group), key) = form.finish(market.zip(group).zip(key))?;
    Ok((market, group, key))
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
