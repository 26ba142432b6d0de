//! What an operator's act would touch, counted before it is done: users, contracts, orders, keys.

use tokio::task::yield_now;

use super::call::{Call, market_no};
use super::problem::Problem;
use super::reply::Reply;
use super::wire::impact::{InMarket, InVenue, MarketImpactJson, VenueImpactJson};
use exchange::catalogue::Outcome;
use exchange::command::Role;
use exchange::ids::{MarketNo, UserNo};
use exchange::units::{MoneySum, Overflow, Sequence, SettlementPrice};
use views::ReadModel;

/// Rows looked at before the projector gets its turn. All users take several looks, so what is
/// counted is a figure to judge by, not of one moment.
const ROWS_A_LOOK: usize = 4096;

/// `GET /admin/markets/{marketId}/impact`
pub async fn of_market(call: Call) -> Result<Reply, Problem> {
    let id = call.read(|form| form.path("marketId"))?;
    let (_, market) = call.look(|view| market_no(view, id))?;
    let (sequence, counted) = in_market(&call, market, None).await?;
    Reply::ok(sequence, &MarketImpactJson::of(counted))
}

/// Whom it concerns what becomes of a market, and what they would be paid at this price of yes.
///
/// # Errors
/// The read model contradicts itself.
pub async fn in_market(
    call: &Call,
    market: MarketNo,
    price: Option<SettlementPrice>,
) -> Result<(Sequence, InMarket), Problem> {
    let mut counted = InMarket::default();
    let count = |view: &ReadModel, user| count_in_market(&mut counted, view, (market, price), user);
    let sequence = every_user(call, count).await?;
    Ok((sequence, counted))
}

/// `GET /admin/venue/impact`
pub async fn of_venue(call: Call) -> Result<Reply, Problem> {
    call.read(|_| Some(()))?;
    let mut counted = InVenue::default();
    let count = |view: &ReadModel, user| {
        let orders = view.orders.open_count_of(user);
        let concerned = orders > 0 || view.positions.held(user).next().is_some();
        let trades = |role: Role| matches!(role, Role::Trader | Role::Operator);
        let keys = view.accounts.keys_in_force(user).filter(|key| trades(key.role)).count();
        counted.users = counted.users.saturating_add(u64::from(concerned));
        counted.orders = counted.orders.saturating_add(orders as u64);
        counted.keys = counted.keys.saturating_add(keys as u64);
        Ok(keys)
    };
    let sequence = every_user(&call, count).await?;
    Reply::ok(sequence, &VenueImpactJson::of(counted))
}

/// Adds what a user has in a market; returns how many orders were looked at.
fn count_in_market(
    counted: &mut InMarket,
    view: &ReadModel,
    (market, price): (MarketNo, Option<SettlementPrice>),
    user: UserNo,
) -> Result<usize, Overflow> {
    let (mut holds, mut paid) = (false, MoneySum::ZERO);
    for outcome in [Outcome::Yes, Outcome::No] {
        let Some(held) = view.positions.position(user, market, outcome) else { continue };
        holds = true;
        counted.cost = counted.cost.plus(held.cost)?;
        let lots = if outcome == Outcome::Yes { &mut counted.yes } else { &mut counted.no };
        *lots = lots.plus(held.quantity)?;
        let of_yes = price.unwrap_or(SettlementPrice::ZERO);
        let each = if outcome == Outcome::Yes { of_yes } else { of_yes.complement() };
        paid = paid.plus(each.times(held.quantity)?)?;
    }
    let mut orders = 0_u64;
    for order in view.orders.open_of(user) {
        orders = orders.saturating_add(u64::from(order.market == market));
    }
    if price.is_some() && paid > MoneySum::ZERO {
        counted.users_paid = counted.users_paid.saturating_add(1);
        counted.paid = counted.paid.and(paid)?;
    }
    counted.holders = counted.holders.saturating_add(u64::from(holds));
    counted.users = counted.users.saturating_add(u64::from(holds || orders > 0));
    counted.orders = counted.orders.saturating_add(orders);
    Ok(view.orders.open_count_of(user))
}

/// Shows every user to `count`, which returns how many rows it looked at; returns the last record
/// that the last look reflects.
async fn every_user(
    call: &Call,
    mut count: impl FnMut(&ReadModel, UserNo) -> Result<usize, Overflow>,
) -> Result<Sequence, Problem> {
    let mut next = UserNo(0);
    loop {
        let (sequence, all_seen) = call.look(|view| {
            let mut left = ROWS_A_LOOK;
            while left > 0 {
                if view.accounts.user(next).is_none() {
                    return Ok(true);
                }
                let rows =
                    count(view, next).map_err(|_| Problem::internal("too many contracts"))?;
                left = left.saturating_sub(rows.saturating_add(1));
                next = UserNo(next.0.saturating_add(1));
            }
            Ok(false)
        })?;
        if all_seen {
            return Ok(sequence);
        }
        yield_now().await;
    }
}
