//! What "the same answer" means between the exchange and its twin, and the invariants that must
//! hold in both (semantics 5).

use std::collections::BTreeMap;

use exchange::command::{Direction, Record};
use exchange::effect::{Effect, Holding};
use exchange::ids::{EventNo, MarketNo};
use exchange::units::{Lots, Money, MoneySum};

use crate::naive::Naive;
use crate::naive::ledger::{Account, PAIR, Position, money};

type Holdings = (Holding, Holding, MoneySum);

/// The final state of each account and position in a record's effects.
#[derive(Default)]
pub struct FinalStates {
    pub accounts: BTreeMap<u32, (Money, Money)>,
    pub positions: BTreeMap<(u32, u32), Holdings>,
}

impl FinalStates {
    pub fn of(effects: &[Effect]) -> FinalStates {
        let mut last = FinalStates::default();
        for effect in effects {
            match effect {
                Effect::AccountChanged { user, available, reserved } => {
                    last.accounts.insert(user.0, (*available, *reserved));
                }
                Effect::PositionChanged { user, market, yes, no, realised } => {
                    last.positions.insert((user.0, market.0), (*yes, *no, *realised));
                }
                Effect::PositionSettled { user, market, realised, .. } => {
                    let none = Holding::default();
                    last.positions.insert((user.0, market.0), (none, none, *realised));
                }
                _ => {}
            }
        }
        last
    }
}

/// The effects compared one by one, in order: all but the states of accounts and positions.
pub fn comparable(effects: &[Effect]) -> impl Iterator<Item = &Effect> {
    let states = |effect: &&Effect| {
        matches!(effect, Effect::AccountChanged { .. } | Effect::PositionChanged { .. })
    };
    effects.iter().filter(move |effect| !states(effect))
}

fn account_words(account: Account) -> (Money, Money) {
    (money(account.available), money(account.reserved))
}

fn position_words(position: &Position) -> Holdings {
    let realised = MoneySum::new(position.realised);
    (position.yes.as_holding(), position.no.as_holding(), realised)
}

/// Compares the exchange's effects with the twin's, which has applied the record already; an error
/// says what differs.
pub fn same_answer(
    effects: &[Effect],
    twin: &Naive,
    twin_effects: &[Effect],
) -> Result<(), String> {
    if !comparable(effects).eq(comparable(twin_effects)) {
        return Err(differ("effects", comparable(effects), comparable(twin_effects)));
    }
    let last = FinalStates::of(effects);
    for (user, got) in &last.accounts {
        let expected = account_words(twin.ledger.account(*user));
        if *got != expected {
            return Err(format!("account of user {user}: {got:?}, the twin has {expected:?}"));
        }
    }
    for ((user, market), got) in &last.positions {
        let expected = position_words(&twin.ledger.position(*user, *market));
        if *got != expected {
            return Err(format!(
                "position of user {user} in market {market}: {got:?}, the twin has {expected:?}"
            ));
        }
    }
    check_none_left_out(&last, twin)
}

/// Fails if the exchange left out a changed account or position.
fn check_none_left_out(last: &FinalStates, twin: &Naive) -> Result<(), String> {
    for (user, before) in &twin.ledger.accounts_before {
        if twin.ledger.account(*user) != *before && !last.accounts.contains_key(user) {
            return Err(format!("no AccountChanged of user {user}"));
        }
    }
    for ((user, market), before) in &twin.ledger.positions_before {
        let changed = twin.ledger.position(*user, *market) != *before;
        if changed && !last.positions.contains_key(&(*user, *market)) {
            return Err(format!("no PositionChanged of user {user} in market {market}"));
        }
    }
    Ok(())
}

fn differ<'a>(
    what: &str,
    got: impl Iterator<Item = &'a Effect>,
    expected: impl Iterator<Item = &'a Effect>,
) -> String {
    use std::fmt::Write;
    let mut text = format!("{what} differ\n  the exchange:\n");
    for effect in got {
        let _ = writeln!(text, "    {effect:?}");
    }
    text.push_str("  the twin:\n");
    for effect in expected {
        let _ = writeln!(text, "    {effect:?}");
    }
    text
}

/// Semantics 5, "always true", recomputed from the twin's own figures.
pub fn always_true(twin: &Naive) -> Result<(), String> {
    let mut cash = 0;
    let mut reserved: BTreeMap<u32, i128> = BTreeMap::new();
    let mut locked: BTreeMap<(u32, u32, bool), i128> = BTreeMap::new();
    for (user, account) in &twin.ledger.accounts {
        if account.available < 0 || account.reserved < 0 {
            return Err(format!("user {user} has less than nothing: {account:?}"));
        }
        cash += account.available + account.reserved;
    }
    let mut yes_no: BTreeMap<u32, (i128, i128)> = BTreeMap::new();
    for ((_, market), position) in &twin.ledger.positions {
        for side in [&position.yes, &position.no] {
            if side.free < 0 || side.locked < 0 || side.cost < 0 {
                return Err(format!("less than nothing in market {market}: {position:?}"));
            }
            if side.held() == 0 && side.cost != 0 {
                return Err(format!("a cost without contracts in market {market}: {position:?}"));
            }
        }
        if position.yes.free > 0 && position.no.free > 0 {
            return Err(format!("a free pair is left in market {market}: {position:?}"));
        }
        let sums = yes_no.entry(*market).or_default();
        sums.0 += position.yes.held();
        sums.1 += position.no.held();
    }
    let mut pairs = 0;
    let mut owed = 0;
    for (market, (yes, no)) in yes_no {
        let unfinished = twin.markets.get(market as usize).and_then(|found| found.unfinished);
        if let Some((price, _)) = unfinished.and_then(|unfinished| unfinished.pays) {
            let price = i128::from(price.get());
            // The venue is paid first.
            owed += yes * price + no * (PAIR - price);
            continue;
        }
        let no = no + twin.venue_sets(MarketNo(market));
        if yes != no {
            return Err(format!("market {market}: {yes} yes lots, {no} no lots"));
        }
        pairs += yes;
    }
    venue_is_never_short(twin)?;
    let events = (0..twin.events_count()).map(EventNo);
    let venue = twin.ledger.fees + events.map(|event| twin.venue_purse(event)).sum::<i128>();
    if cash + pairs * PAIR + owed + venue != twin.ledger.supply {
        let supply = twin.ledger.supply;
        return Err(format!("money: {cash} + {pairs} pairs + {owed} + {venue} is not {supply}"));
    }
    for (number, market) in (0_u32..).zip(&twin.markets) {
        let best = |direction: Direction| market.book.side(direction).first().map(|p| p.price);
        if let (Some(bid), Some(ask)) = (best(Direction::Up), best(Direction::Down))
            && bid >= ask
        {
            return Err(format!("market {number} is crossed: {bid} over {ask}"));
        }
        for place in market.book.ups.iter().chain(&market.book.downs) {
            let order = twin.order(place.order);
            let (backing, terms) = (order.backing, &order.terms);
            if order.remaining() <= 0 || backing.contracts + backing.cash_lots != order.remaining()
            {
                return Err(format!("order {} is not backed in full: {order:?}", place.order));
            }
            let up = terms.wording.direction() == Direction::Up;
            let own = if up { i128::from(order.price) } else { PAIR - i128::from(order.price) };
            *reserved.entry(terms.user.0).or_default() += backing.cash_lots * own + backing.fees;
            *locked.entry((terms.user.0, number, up)).or_default() += backing.contracts;
        }
    }
    backed_exactly(twin, &reserved, &locked)
}

/// The venue can pay however the markets end: its debt is never more than the least that its no
/// contracts can be worth.
fn venue_is_never_short(twin: &Naive) -> Result<(), String> {
    for event in (0..twin.events_count()).map(EventNo) {
        let (least, debt) = (twin.venue_sets_worth(event), -twin.venue_purse(event));
        if debt > least {
            return Err(format!("{event:?}: the venue owes {debt} and is sure of {least}"));
        }
    }
    let fees = twin.ledger.fees;
    if fees < 0 { Err("the operator has less than nothing".to_owned()) } else { Ok(()) }
}

/// Reserved money and locked contracts are exactly what the resting orders need, and the
/// withdrawals and disputes that wait.
fn backed_exactly(
    twin: &Naive,
    reserved: &BTreeMap<u32, i128>,
    locked: &BTreeMap<(u32, u32, bool), i128>,
) -> Result<(), String> {
    for (user, account) in &twin.ledger.accounts {
        let asked = twin.transfers.iter().filter(|it| it.out && it.user.0 == *user);
        let asked: i128 = asked.map(|waiting| i128::from(waiting.amount.get())).sum();
        let waits = twin.disputes.iter().filter(|it| it.right.is_none() && it.user.0 == *user);
        let bonds: i128 = waits.map(|dispute| i128::from(dispute.bond.get())).sum();
        let named = reserved.get(user).copied().unwrap_or_default() + asked + bonds;
        if account.reserved != named {
            return Err(format!("user {user} reserves {}, orders name {named}", account.reserved));
        }
    }
    for ((user, market), position) in &twin.ledger.positions {
        for (up, contracts) in [(true, &position.no), (false, &position.yes)] {
            let named = locked.get(&(*user, *market, up)).copied().unwrap_or_default();
            if contracts.locked != named {
                let locked = contracts.locked;
                return Err(format!("user {user} locks {locked} lots, orders name {named}"));
            }
        }
    }
    Ok(())
}

/// For every order ever, original = filled + remaining + cancelled, counted from the exchange's
/// effects alone.
#[derive(Default)]
pub struct Tally {
    orders: BTreeMap<u64, Counted>,
}

#[derive(Default, Debug, Clone, Copy)]
struct Counted {
    original: Lots,
    filled: Lots,
    cancelled: Lots,
    resting: Lots,
}

impl Tally {
    /// Counts one record's effects and checks the orders that it touched.
    pub fn count(&mut self, record: &Record, effects: &[Effect]) -> Result<(), String> {
        let mut touched = Vec::new();
        for effect in effects {
            touched.extend(self.count_one(effect)?);
        }
        for number in touched {
            let order = self.orders[&number];
            let sum = order.filled.get() + order.cancelled.get() + order.resting.get();
            if sum != order.original.get() {
                let sequence = record.sequence;
                return Err(format!(
                    "record {sequence}: order {number} does not add up: {order:?}"
                ));
            }
        }
        Ok(())
    }

    fn count_one(&mut self, effect: &Effect) -> Result<Vec<u64>, String> {
        match effect {
            Effect::OrderAccepted { order, terms } => {
                let number = order.0.get();
                let counted = Counted { original: terms.quantity, ..Counted::default() };
                if self.orders.insert(number, counted).is_some() {
                    return Err(format!("order {number} was accepted twice"));
                }
                Ok(vec![number])
            }
            Effect::TradeMade(trade) => {
                let maker = self.known(trade.maker.order.0.get())?;
                maker.filled = plus(maker.filled, trade.quantity);
                maker.resting = minus(maker.resting, trade.quantity)?;
                if maker.resting != trade.maker.remaining {
                    return Err(format!("the maker's remaining is wrong: {trade:?}"));
                }
                let taker = self.known(trade.taker.order.0.get())?;
                taker.filled = plus(taker.filled, trade.quantity);
                Ok(vec![trade.maker.order.0.get(), trade.taker.order.0.get()])
            }
            Effect::OrderRested { order, remaining, .. } => {
                self.known(order.0.get())?.resting = *remaining;
                Ok(vec![order.0.get()])
            }
            Effect::OrderCancelled { order, quantity, rested, .. } => {
                let counted = self.known(order.0.get())?;
                counted.cancelled = plus(counted.cancelled, *quantity);
                if *rested {
                    counted.resting = minus(counted.resting, *quantity)?;
                }
                Ok(vec![order.0.get()])
            }
            Effect::OrderAmended {
                order,
                remaining_before,
                quantity,
                remaining,
                kept_place,
                ..
            } => {
                let counted = self.known(order.0.get())?;
                if counted.resting != *remaining_before {
                    return Err(format!("{effect:?} of an order that had {counted:?}"));
                }
                counted.original = *quantity;
                counted.resting = if *kept_place { *remaining } else { Lots::ZERO };
                Ok(vec![order.0.get()])
            }
            _ => Ok(Vec::new()),
        }
    }

    fn known(&mut self, number: u64) -> Result<&mut Counted, String> {
        self.orders.get_mut(&number).ok_or_else(|| format!("order {number} was never accepted"))
    }
}

fn plus(a: Lots, b: Lots) -> Lots {
    Lots::new(a.get() + b.get())
}

fn minus(a: Lots, b: Lots) -> Result<Lots, String> {
    let left = a.get().checked_sub(b.get());
    left.map(Lots::new).ok_or_else(|| format!("{b} taken from {a}"))
}
