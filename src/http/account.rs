//! The caller's money, fills and limits (semantics 8).

use std::ops::ControlFlow;

use tokio::sync::oneshot;

use super::call::Call;
use super::cursor::EitherPage;
use super::onward::Asked;
use super::own_orders::{found, number};
use super::page::{Above, PageRule};
use super::parse;
use super::problem::Problem;
use super::reply::Reply;
use super::stream::channel::Topic;
use super::waiting::{Followed, Until, follow};
use super::wire::account::BalanceJson;
use super::wire::limits::{DailyJson, ExposureJson, GroupExposureJson, LimitJson, LimitsJson};
use super::wire::order::{FillJson, FillsJson};
use exchange::command::TradingMode;
use exchange::ids::UserNo;
use exchange::units::Sequence;
use views::ReadModel;
use views::orders::FillsIn;

/// Pages of fills.
const FILLS_PAGE: PageRule = PageRule { standard: 50, max: 1000, above: Above::Refused };

/// `GET /trading/balance`
pub async fn balance(call: Call) -> Result<Reply, Problem> {
    let until = call.read(Until::read)?;
    let tag = match follow(&call, until, |view| Ok(money(&call, view))).await? {
        ControlFlow::Break(reply) => return Ok(reply),
        ControlFlow::Continue(tag) => tag,
    };
    let (sequence, balance) = call.look(|view| {
        let user = view.accounts.user(call.account);
        let user = user.ok_or_else(Problem::lacking_row)?;
        Ok(BalanceJson::of(user.balance, view.accounts.currency()))
    })?;
    Ok(Reply::ok(sequence, &balance)?.with_tag(tag))
}

/// What the caller's balance and ledger follow.
pub fn money(call: &Call, view: &ReadModel) -> Followed {
    let user = call.account;
    (Topic::Account(user), view.statements.last(user))
}

/// `GET /trading/fills`
pub async fn fills(call: Call) -> Result<Reply, Problem> {
    let mut form = call.form();
    let market = form.query("marketId", parse::text);
    let order = form.query("orderId", parse::text);
    let page = Asked::read(&mut form, FILLS_PAGE, EitherPage::read);
    let until = Until::read(&mut form);
    let (((market, order), page), until) = form.finish(market.zip(order).zip(page).zip(until))?;
    let user = call.account;
    let followed = |view: &ReadModel| Ok((Topic::Account(user), view.orders.last_fill_of(user)));
    let tag = match follow(&call, until, followed).await? {
        ControlFlow::Break(reply) => return Ok(reply),
        ControlFlow::Continue(tag) => tag,
    };
    let (sequence, (list, within, order_fills)) = call.look(|view| {
        let market = market.map(|id| view.catalogue.market_no(id));
        let orders = &view.orders;
        let order_fills = order.map(|id| (id, orders.fills_of_order(user, number(id))));
        let list = orders.fills_of(user);
        // An unknown market has no fills.
        let list = if market == Some(None) { list.none() } else { list };
        let within = market.flatten().map(|market| orders.fills_in(user, market));
        Ok((list, within, order_fills.map(|(id, fills)| (id, fills, market))))
    })?;
    let list = match order_fills {
        None => within.map_or(Ok(list), FillsIn::list)?,
        Some((id, fills, market)) => {
            let its = fills.list()?.filter(|(row, _)| row.id() == id);
            let (row, list) = found(its, sequence)?;
            // An order trades in one market only: it has no fills in another.
            let in_market = market.is_none_or(|market| market == Some(row.market));
            if in_market { list } else { list.none() }
        }
    };
    let (rows, paging, next) = page.of(list).await?;
    let (_, fills) =
        call.look(|view| Ok(rows.iter().map(|row| FillJson::of(view, row)).collect()))?;
    let fills = FillsJson { fills, paging, next };
    Ok(Reply::list(sequence, fills, "fills", |all| &mut all.fills)?.with_tag(tag))
}

/// Most orders of a group that are looked at for its exposure.
const GROUP_ORDERS_MAX: usize = 1000;

/// `GET /account/limits`
pub async fn limits(call: Call) -> Result<Reply, Problem> {
    let group = call.read(|form| form.query("group", parse::text))?;
    let user = call.caller.user;
    let Some(group) = group else {
        let (sequence, standing) = call.look(|view| standing(view, user, None))?;
        return show_limits(&call, sequence, standing);
    };
    // Only the exchange knows what each order has set aside.
    let (sender, found) = oneshot::channel();
    call.engine.try_out(move |trying| {
        // The caller may have gone away meanwhile.
        let reserved = trying.exchange.reserved_by_group(user, group, GROUP_ORDERS_MAX);
        sender.send(reserved).unwrap_or_default();
    })?;
    let found = found.await.map_err(|_| call.engine.untried())?;
    let group = GroupExposureJson::of(group, found);
    let (sequence, standing) = call.look(|view| standing(view, user, Some(group)))?;
    show_limits(&call, sequence, standing)
}

type Standing = (ExposureJson, TradingMode, TradingMode);

/// What a user may lose, and what the operator lets the user and anybody do.
fn standing(
    view: &ReadModel,
    user: UserNo,
    group: Option<GroupExposureJson>,
) -> Result<Standing, Problem> {
    let user = view.accounts.user(user).ok_or_else(Problem::lacking_row)?;
    let open = view.exposure(user.no);
    let exposure = ExposureJson::of(open, user.standing.exposure_limit, group);
    Ok((exposure, user.standing.mode, view.accounts.venue_mode()))
}

fn show_limits(
    call: &Call,
    sequence: Sequence,
    (exposure, mode, venue_mode): Standing,
) -> Result<Reply, Problem> {
    let lane = |class| {
        let left = call.shared.keyring.look(&call.caller, class);
        left.map(|(per_second, left)| LimitJson::of(per_second, left))
    };
    let records = call.shared.keyring.daily_left(&call.caller);
    let records = records.map(|(per_day, left)| DailyJson::of(per_day, left));
    Reply::ok(sequence, &LimitsJson::of(lane, records, exposure, mode, venue_mode))
}
