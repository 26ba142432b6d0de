//! The state after a record: the exchange's books and orders and the read model, both compared with
//! the twin.

use exchange::Exchange;
use exchange::catalogue::Outcome;
use exchange::command::Direction;
use exchange::fees::FeeRate;
use exchange::ids::{MarketNo, UserNo};
use exchange::slugs::Slug;
use exchange::units::{Lots, MoneySum, Sequence, Tick};
use views::ReadModel;

use crate::naive::ledger::{Rates, lots, money};
use crate::naive::trading::{order_no, tick};
use crate::naive::{Addressed, Naive};

/// Price, contracts and number of orders of a level.
type Level = (Tick, Lots, u32);

/// Orders of the read model that are compared each time: the newest, and some of all.
const NEWEST: usize = 12;
const SAMPLE: usize = 3;

const SIDES: [Direction; 2] = [Direction::Up, Direction::Down];

/// The twin's levels of one side, best first.
fn levels(twin: &Naive, market: usize, direction: Direction) -> Vec<Level> {
    let mut levels: Vec<(u8, i128, u32)> = Vec::new();
    for place in twin.markets[market].book.side(direction) {
        let remaining = twin.order(place.order).remaining();
        match levels.last_mut() {
            Some(last) if last.0 == place.price => {
                last.1 += remaining;
                last.2 += 1;
            }
            _ => levels.push((place.price, remaining, 1)),
        }
    }
    levels.into_iter().map(|(price, sum, orders)| (tick(price), lots(sum), orders)).collect()
}

/// Compares every level of the books of `markets`.
pub fn same_depth(
    exchange: &Exchange,
    model: &ReadModel,
    twin: &Naive,
    markets: impl Iterator<Item = usize>,
) -> Result<(), String> {
    for index in markets {
        let number = MarketNo(u32::try_from(index).expect("few markets"));
        let market = exchange.market(number).ok_or("the exchange lacks a market")?;
        for side in SIDES {
            let expected = levels(twin, index, side);
            let book: Vec<Level> = market
                .book
                .levels(side)
                .map(|(at, level)| (at, level.quantity, level.orders))
                .collect();
            let view: Vec<Level> = model
                .depth
                .levels(number, side)
                .map(|level| (level.price, level.quantity, level.orders))
                .collect();
            if book != expected || view != expected {
                return Err(format!(
                    "{number:?} {side:?}: the twin has {expected:?}\n  \
                     the exchange {book:?}\n  the read model {view:?}"
                ));
            }
            let best = expected.first().map(|level| level.0);
            if market.book.best(side) != best || model.depth.best(number, side) != best {
                return Err(format!("{number:?} {side:?}: the best price is not {best:?}"));
            }
        }
    }
    Ok(())
}

/// Compares statuses, orders with their backing, balances and holdings.
#[allow(clippy::too_many_lines, reason = "one comparison a part of the state")]
pub fn same_state(exchange: &Exchange, model: &ReadModel, twin: &Naive) -> Result<(), String> {
    if model.inconsistencies() != 0 {
        return Err("an effect contradicts what the read model knew".to_owned());
    }
    same_depth(exchange, model, twin, 0..twin.markets.len())?;
    for named in twin.named_now() {
        let number = order_no(named.number);
        // The answer to its placement is told from the order, also after an amend.
        let placed = model
            .orders
            .as_placed(named.terms.user, number)
            .read()
            .map_err(|error| error.to_string())?;
        let told = placed.as_ref().map(|(row, _)| (row.client_id.as_ref(), row.quantity));
        let asked = (named.terms.client_order_id.as_deref(), named.terms.quantity);
        if told != Some(asked) {
            return Err(format!("{named:?}, the read model says {told:?}"));
        }
    }
    same_orders(exchange, model, twin)?;
    let fees = MoneySum::new(twin.ledger.fees);
    let shown = model.accounts.fees().less(model.accounts.fees_taken());
    if exchange.fees() != fees || shown != Ok(fees) {
        let kept = exchange.fees();
        return Err(format!("fees are {fees}, not {kept} or, in the read model, {shown:?}"));
    }
    for user in (0..twin.users_count).map(UserNo) {
        let account = twin.ledger.account(user.0);
        let row = model.accounts.user(user).ok_or("the read model lacks a user")?;
        let balance = (row.balance.available, row.balance.reserved);
        if balance != (money(account.available), money(account.reserved)) {
            return Err(format!("{user:?} has {account:?}, the read model says {balance:?}"));
        }
        let expected = twin.standing(user);
        let shown = row.standing;
        let beats: Vec<_> = (model.accounts.heartbeats_of(user))
            .map(|(group, beat)| (Some(group), beat))
            .chain(shown.heartbeat.until.map(|_| (None, shown.heartbeat)))
            .map(|(group, beat)| (group, beat.until, beat.expired))
            .collect();
        let mut expected_beats: Vec<_> = (twin.beats.iter())
            .filter(|((of, _), _)| *of == user.0)
            .map(|((_, group), beat)| (*group, Some(beat.silent_from), beat.ran_out))
            .collect();
        expected_beats.rotate_left(usize::from(shown.heartbeat.until.is_some()));
        if (shown.mode, shown.exposure_limit) != (expected.mode, expected.limit)
            || beats != expected_beats
            || model.exposure(user).get() != Naive::exposure(&twin.ledger, user)
        {
            return Err(format!("{user:?} stands as {expected:?}, the read model says {shown:?}"));
        }
        same_holdings(model, twin, user)?;
    }
    let waiting: Vec<u64> = model.transfers.waiting().map(Sequence::get).collect();
    let expected: Vec<u64> = twin.transfers.iter().map(|waiting| waiting.number).collect();
    if waiting != expected {
        return Err(format!("{expected:?} wait, the read model says {waiting:?}"));
    }
    let told = |user, market, bond, right| (user, market, bond, right);
    let mut shown: Vec<_> = model
        .disputes
        .all()
        .map(|row| told(row.user, row.market, row.bond, row.ended.map(|(right, _)| right)))
        .collect();
    shown.reverse();
    let disputes = twin.disputes.iter();
    let expected: Vec<_> =
        disputes.map(|one| told(one.user, one.market, one.bond, one.right)).collect();
    if shown != expected {
        return Err(format!("{expected:?} are disputed, the read model says {shown:?}"));
    }
    for ((kind, text), owner) in &twin.addresses {
        let slug = Slug::new(text).unwrap();
        let shown = match kind {
            Addressed::Market => model.catalogue.market_called(&slug).map(|row| row.no.0),
            Addressed::Event => model.catalogue.event_called(&slug).map(|row| row.no.0),
        };
        if shown != Some(*owner) {
            return Err(format!("{kind:?} {text} is {owner}, the read model says {shown:?}"));
        }
    }
    for (index, market) in (0..).zip(&twin.markets) {
        let number = MarketNo(index);
        let status = exchange.market(number).map(|market| market.status);
        let row = model.catalogue.market(number);
        let shown = row.map(|row| (row.status, row.winner, row.settled_at));
        let rates = row.map(|row| {
            let rate = |rate: FeeRate| i128::from(rate.get());
            Rates { maker: rate(row.draft.fees.maker), taker: rate(row.draft.fees.taker) }
        });
        if status != Some(market.status)
            || shown != Some((market.status, market.winner, market.settled_at))
            || rates != Some(market.rates)
        {
            return Err(format!("{number:?}: {market:?}, {status:?}, the read model {shown:?}"));
        }
    }
    Ok(())
}

fn same_orders(exchange: &Exchange, model: &ReadModel, twin: &Naive) -> Result<(), String> {
    let mut resting = 0;
    for market in &twin.markets {
        for place in market.book.ups.iter().chain(&market.book.downs) {
            resting += 1;
            let expected = twin.order(place.order);
            let found = exchange.order(order_no(place.order)).ok_or("an order is lost")?;
            let backing = (lots(expected.backing.contracts), lots(expected.backing.cash_lots));
            if (found.user, found.market) != (expected.terms.user, expected.terms.market)
                || (found.price, found.quantity) != (tick(expected.price), lots(expected.original))
                || found.filled != lots(expected.filled)
                || (found.backing.contracts, found.backing.cash) != backing
                || found.backing.fees != money(expected.backing.fees)
            {
                return Err(format!("{found:?}, the twin has {expected:?}"));
            }
        }
    }
    if exchange.open_orders_count() != resting {
        return Err(format!("{} orders stand, not {resting}", exchange.open_orders_count()));
    }
    for user in (0..twin.users_count).map(UserNo) {
        let mut open: Vec<u64> = model.orders.open_of(user).map(|row| row.no.0.get()).collect();
        open.reverse();
        if open != twin.open_orders(user) {
            return Err(format!("open orders of {user:?} in the read model: {open:?}"));
        }
    }
    // Comparing the whole history each time would take too long: the newest orders are those that
    // change; of all others each is looked at once in some records.
    let turn = usize::try_from(twin.sequence).unwrap_or(0);
    let step = twin.orders.len() / SAMPLE + 1;
    let others = twin.orders.values().skip(turn % step).step_by(step);
    for expected in twin.orders.values().rev().take(NEWEST).chain(others) {
        let row = model.orders.order(expected.terms.user, order_no(expected.number)).row();
        let row = row.map_err(|error| error.to_string())?;
        let row = row.ok_or("an order is forgotten")?;
        let remaining = if expected.rests { expected.remaining() } else { 0 };
        let counts = (row.quantity, row.filled, row.remaining, row.cancelled);
        let expected_counts = (
            lots(expected.original),
            lots(expected.filled),
            lots(remaining),
            lots(expected.cancelled),
        );
        if counts != expected_counts || row.filled_cost != money(expected.filled_cost) {
            return Err(format!("{row:?}, the twin has {expected:?}"));
        }
    }
    Ok(())
}

/// Contracts held in markets that have not paid out.
fn same_holdings(model: &ReadModel, twin: &Naive, user: UserNo) -> Result<(), String> {
    let mut shown = Vec::new();
    for row in model.positions.held(user) {
        let yes = row.outcome == Outcome::Yes;
        shown.push((row.market.0, !yes, row.quantity, row.cost, row.realised.get(), row.copy_from));
    }
    let mut expected = Vec::new();
    for ((_, market), position) in twin.ledger.positions.range((user.0, 0)..=(user.0, u32::MAX)) {
        for (no, held) in [(false, &position.yes), (true, &position.no)] {
            if held.held() > 0 {
                let (quantity, cost) = (lots(held.held()), money(held.cost));
                expected.push((*market, no, quantity, cost, position.realised, held.copy_from));
            }
        }
    }
    shown.sort_unstable_by_key(|row| (row.0, row.1));
    if shown == expected {
        Ok(())
    } else {
        Err(format!("{user:?} holds {expected:?}, the read model says {shown:?}"))
    }
}
