//! Sentences about orders: amounts, backing, queues and reasons.

use exchange::catalogue::Outcome;
use exchange::command::{
    Command, Direction, PlaceOrder, Record, SelfTradePrevention, Side, TimeInForce, Wording,
};
use exchange::effect::CancelReason;
use exchange::fees::{Charge, Fees};
use exchange::invariant::Broken;
use exchange::orders::Backing;
use exchange::units::{Lots, Money, Sequence, Tick};

use super::life::{Life, MoneyFlow, Moved, Other, Queue, QueueSize};
use crate::moment::when;
use crate::register::spoken;

/// Line width of the text.
const COLUMNS: usize = 92;

/// Breaks a paragraph into lines, each after `indent`.
pub fn wrap(paragraph: &str, indent: &str) -> String {
    let mut text = String::new();
    let mut column = 0;
    for word in paragraph.split(' ') {
        let width = word.chars().count();
        if column == 0 || column + 1 + width > COLUMNS {
            if column > 0 {
                text.push('\n');
            }
            text.push_str(indent);
            column = indent.len() + width;
        } else {
            text.push(' ');
            column += 1 + width;
        }
        text.push_str(word);
    }
    text.push('\n');
    text
}

/// `1 contract`, `2.5 contracts`.
pub fn contracts(lots: Lots) -> String {
    if lots == Lots::contracts(1) { "1 contract".to_owned() } else { format!("{lots} contracts") }
}

/// `2.5 contracts of yes`.
pub fn contracts_of(lots: Lots, outcome: Outcome) -> String {
    format!("{} of {}", contracts(lots), outcome.id())
}

/// `changed the price from 0.60 to 0.61 and the total from 4 to 6 contracts`, or one of the two.
pub fn changed(price: (Tick, Tick), total: (Lots, Lots)) -> String {
    let from_to = |(from, to): (Tick, Tick)| format!("the price from {from} to {to}");
    let price = Some(price).filter(|(from, to)| from != to).map(from_to);
    let from_to = |(from, to): (Lots, Lots)| format!("the total from {from} to {}", contracts(to));
    let total = Some(total).filter(|(from, to)| from != to).map(from_to);
    let parts: Vec<String> = price.into_iter().chain(total).collect();
    match parts.as_slice() {
        [] => "asked for what it already was".to_owned(),
        parts => format!("changed {}", parts.join(" and ")),
    }
}

/// `3 orders with 12.5 contracts`.
pub fn queue_size(size: QueueSize) -> String {
    let QueueSize { orders, lots } = size;
    match orders {
        0 => "no order".to_owned(),
        1 => format!("1 order with {}", contracts(lots)),
        _ => format!("{orders} orders with {}", contracts(lots)),
    }
}

/// `2 contracts of it were left`.
pub fn left(lots: Lots) -> String {
    let one = lots == Lots::contracts(1);
    format!("{} of it {} left", contracts(lots), if one { "was" } else { "were" })
}

/// An order's position at its price when it was matched; the queue includes the order itself.
pub fn first_of(there: QueueSize) -> String {
    match there.orders {
        1 => "it was the only order there".to_owned(),
        _ => format!("it was the first of {} there", queue_size(there)),
    }
}

/// The price of a fill, of the stated outcome, and of yes where that differs.
pub fn at_price(wording: Wording, price: Tick) -> String {
    match wording.outcome {
        Outcome::Yes => format!("at {price} each"),
        Outcome::No => {
            format!("at {} each, which is {price} in prices of yes", price.complement())
        }
    }
}

/// `bid` or `ask`.
pub const fn side_of_book(direction: Direction) -> &'static str {
    match direction {
        Direction::Up => "bid",
        Direction::Down => "ask",
    }
}

/// `buy 5 contracts of yes at 0.60 or less`.
pub fn wish(wording: Wording, price: Tick, quantity: Lots) -> String {
    let (verb, bound) = match wording.side {
        Side::Buy => ("buy", "or less"),
        Side::Sell => ("sell", "or more"),
    };
    format!("{verb} {} at {price} {bound}", contracts_of(quantity, wording.outcome))
}

/// The order's side and limit on the book, and the equivalent bet.
pub fn translation(life: &Life) -> String {
    let (side, limit) = (a_side(life.direction()), life.limit);
    let same = match (life.terms.wording.outcome, life.direction()) {
        (Outcome::Yes, _) => {
            return format!(
                "In the market's one book, which is kept in prices of yes, that is {side} at \
                 {limit}."
            );
        }
        (Outcome::No, Direction::Up) => "buying yes",
        (Outcome::No, Direction::Down) => "selling yes",
    };
    format!(
        "That is the same bet as {same} at {limit}: in the market's one book, which is kept in \
         prices of yes, it is {side} at {limit}."
    )
}

/// `a bid` or `an ask`.
pub const fn a_side(direction: Direction) -> &'static str {
    match direction {
        Direction::Up => "a bid",
        Direction::Down => "an ask",
    }
}

/// Outcome, side and limit of an order; also the limit as a price of yes if that differs.
pub fn spoken_limit(wording: Wording, limit: Tick) -> String {
    match wording.outcome {
        Outcome::Yes => format!("{} at {limit}", spoken(wording)),
        Outcome::No => {
            let own = limit.complement();
            format!("{} at {own}, in prices of yes {limit}", spoken(wording))
        }
    }
}

/// Time in force and other conditions.
pub fn conditions(terms: &PlaceOrder) -> String {
    let mut text = match terms.time_in_force {
        TimeInForce::GoodTillCancelled { expires_at: None } => {
            "It was good till cancelled (GTC): to stand until it was filled or cancelled."
                .to_owned()
        }
        TimeInForce::GoodTillCancelled { expires_at: Some(at) } => {
            format!("It was good till cancelled (GTC), but only until {} UTC.", when(at))
        }
        TimeInForce::ImmediateOrCancel => "It was immediate or cancel (IOC): whatever could not \
            be filled at once was to be cancelled."
            .to_owned(),
        TimeInForce::FillOrKill => {
            "It was fill or kill (FOK): to be filled whole at once, or not at all.".to_owned()
        }
    };
    if terms.condition.post_only() {
        text.push_str(" It was post-only: to be refused if it would have traded at once.");
    }
    if terms.condition.reduce_only() {
        text.push_str(" It was reduce-only: to be refused unless contracts backed all of it.");
    }
    match terms.self_trade {
        SelfTradePrevention::CancelTaker => {}
        mode => text.extend([format!(
            " On meeting an order of its owner's own, {}.",
            match mode {
                SelfTradePrevention::CancelBoth => "both were to be cancelled (CANCEL_BOTH)",
                _ => "that one was to be cancelled (CANCEL_MAKER)",
            }
        )]),
    }
    if let Some(until) = terms.valid_until {
        text.extend([format!(" It was to be refused if it came later than {} UTC.", when(until))]);
    }
    text
}

/// Backing of an order or a part of one: `12.00 USD (20 contracts at 0.60 each)`.
pub fn backing(life: &Life, backing: Backing, currency: &str) -> Result<String, Broken> {
    let limit = life.own_limit();
    let cash = limit.times(backing.cash)?;
    let mut money = format!("{cash} {currency} ({} at {limit} each)", contracts(backing.cash));
    if backing.fees > Money::ZERO {
        money.extend([format!(", and {} {currency} for fees", backing.fees)]);
    }
    let held = format!("{} that its owner held", contracts_of(backing.contracts, life.closes()));
    Ok(match (backing.contracts.is_zero(), backing.cash.is_zero()) {
        (true, _) => money,
        (false, true) => held,
        (false, false) => format!("{held}, and {money}"),
    })
}

/// The queues at the order's price and at better prices.
pub fn queue_position(ahead: QueueSize, better: QueueSize, direction: Direction) -> String {
    let behind = match ahead.orders {
        0 => "No order was there before it at that price".to_owned(),
        1 => format!("At that price {} was there before it, to be served first", queue_size(ahead)),
        _ => {
            format!("At that price {} were there before it, to be served first", queue_size(ahead))
        }
    };
    let side = side_of_book(direction);
    let better = match better.orders {
        0 => format!("and no {side} had a better price."),
        1 => format!("and {} stood at a better price.", queue_size(better)),
        _ => format!("and {} stood at better prices.", queue_size(better)),
    };
    format!("{behind}, {better}")
}

/// Why the order was first in the queue: what happened to the orders ahead of it.
pub fn turn_came(ahead_at_rest: QueueSize, ahead: &Queue, reached: bool) -> String {
    if reached {
        return "it was still first in the queue there".to_owned();
    }
    if ahead_at_rest.orders == 0 {
        return "it was first in the queue there: nobody had been ahead of it".to_owned();
    }
    let ways = [
        (ahead.filled, "been filled"),
        (ahead.cancelled, "been cancelled"),
        (ahead.moved, "moved away"),
    ];
    let ways: Vec<_> = ways.into_iter().filter(|(count, _)| *count > 0).collect();
    match (ahead_at_rest.orders, ways.as_slice()) {
        (1, [(_, how)]) => {
            format!("its turn had come there: the one order that had been ahead of it had {how}")
        }
        (all, [(count, how)]) if all == *count => format!(
            "its turn had come there: the {all} orders that had been ahead of it had all {how}"
        ),
        (all, ways) => {
            let parts: Vec<_> =
                ways.iter().map(|(count, how)| format!("{count} had {how}")).collect();
            let parts = parts.join(" and ");
            format!("its turn had come there: of the {all} orders ahead of it, {parts}")
        }
    }
}

/// Money that a fill moved between the owner and the counterparty.
pub fn money(life: &Life, moved: Moved, own: Tick, currency: &str) -> Result<String, Broken> {
    let Moved { part, paid, received, returned, charge } = moved;
    let mut parts = Vec::new();
    if !part.contracts.is_zero() {
        let each = own.complement();
        let handed = contracts_of(part.contracts, life.closes());
        parts.push(format!(
            "Its owner handed over {handed} and received {received} {currency} ({each} each)."
        ));
    }
    if !part.cash.is_zero() {
        let gained = contracts_of(part.cash, life.closes().other());
        parts.push(format!("Its owner paid {paid} {currency} for {gained} ({own} each)."));
    }
    if returned > Money::ZERO {
        parts.push(format!(
            "Because that was better than its limit, {returned} {currency} of what had been set \
             aside came back."
        ));
    }
    parts.extend(fee(charge, currency)?);
    if charge.released > Money::ZERO {
        parts.push(format!(
            "{} {currency} of what had been set aside for fees was not needed and came back.",
            charge.released
        ));
    }
    Ok(parts.join(" "))
}

/// The fee of a fill, and from what it was taken.
fn fee(charge: Charge, currency: &str) -> Result<Option<String>, Broken> {
    let (fee, Charge { from_proceeds, from_reserve, .. }) = (charge.fee()?, charge);
    let (received, reserve) = ("what was received", "what had been set aside for fees");
    let from = match (from_proceeds > Money::ZERO, from_reserve > Money::ZERO) {
        (false, false) => return Ok(None),
        (true, false) => format!("{fee} {currency}, taken from {received}"),
        (false, true) => format!("{fee} {currency}, taken from {reserve}"),
        (true, true) => format!(
            "{fee} {currency}: {from_proceeds} from {received} and {from_reserve} from {reserve}"
        ),
    };
    Ok(Some(format!("The fee was {from}.")))
}

/// What became of all the money that was set aside for an order with fees.
pub fn accounted(life: &Life, currency: &str) -> Result<String, Broken> {
    let MoneyFlow { set_aside, paid, fees, came_back, .. } = life.money;
    if set_aside == Money::ZERO || life.fees == Fees::NONE {
        return Ok(String::new());
    }
    let still = life.still_set_aside()?;
    let mut parts = vec![
        format!("{paid} was paid for contracts"),
        format!("{fees} as fees"),
        format!("{came_back} came back"),
    ];
    if still > Money::ZERO {
        parts.push(format!("{still} is still set aside"));
    }
    let last = parts.pop().unwrap_or_default();
    Ok(format!(" Of {set_aside} {currency} set aside in all, {} and {last}.", parts.join(", ")))
}

/// What its owner did that cancelled an order, by this command of this record.
fn by_owner(command: &Command, by: Sequence) -> String {
    let of = match command {
        Command::CancelOrders { group: Some(group), .. } => format!(" of the group {group}"),
        Command::CancelOrders { key: Some(_), .. } => " that were sent with one key".to_owned(),
        Command::CancelOrders { market: Some(_), .. } => " in this market".to_owned(),
        Command::CancelOrders { .. } => String::new(),
        Command::ReplaceOrder { .. } => {
            return format!("Its owner replaced it by the order of record {by}.");
        }
        _ => return "Its owner cancelled it.".to_owned(),
    };
    format!("Its owner cancelled all open orders{of}, this one among them.")
}

/// Why an order ended, given the record that ended it.
pub fn ending(life: &Life, reason: CancelReason, rested: bool, record: &Record) -> String {
    let by = record.sequence;
    let until = match life.terms.time_in_force {
        TimeInForce::GoodTillCancelled { expires_at: Some(at) } => when(at) + " UTC",
        _ => "no time".to_owned(),
    };
    match (reason, &record.command) {
        (CancelReason::User, command) => by_owner(command, by),
        (CancelReason::IocRemainder, _) => {
            "Nothing more could be had within its limit, and an immediate-or-cancel order does \
             not wait: the rest was cancelled."
                .to_owned()
        }
        (CancelReason::FokNotFillable, _) => {
            "It could not be filled whole at once, so nothing of it was filled and no other order \
             was touched."
                .to_owned()
        }
        (CancelReason::SelfTrade, _) if rested => format!(
            "An incoming order of its owner's own, that of record {by}, met it. Nobody trades with \
             themselves: by the incoming order's self-trade mode this one was cancelled."
        ),
        (CancelReason::SelfTrade, _) => {
            "The next order in line was its owner's own. Nobody trades with themselves: by its \
             self-trade mode what was left of it was cancelled."
                .to_owned()
        }
        (CancelReason::Expired, Command::AdvanceClock) => {
            format!("Its time was over: it was to stand until {until}.")
        }
        (CancelReason::Expired, Command::PlaceOrder(_) | Command::AmendOrder { .. }) => format!(
            "Its time was over at {until}. The incoming order of record {by} came upon it and \
             passed over it, and it was taken off the book."
        ),
        (CancelReason::Expired, Command::CancelOrder { .. } | Command::CancelOrders { .. }) => {
            format!("Its owner's cancel found that its time had been over since {until}.")
        }
        (CancelReason::Expired, _) => {
            format!("Its time had been over since {until}; record {by} found it so.")
        }
        (CancelReason::MarketClosed, Command::CloseMarket { .. }) => {
            "The operator closed the market, which cancels every order in it.".to_owned()
        }
        (CancelReason::MarketClosed, Command::AdvanceClock) => {
            "Trading in the market had ended, which cancels every order in it.".to_owned()
        }
        (CancelReason::MarketClosed, Command::ResolveMarket { .. }) => {
            "The operator announced the outcome, and every order that was left in the market was \
             cancelled."
                .to_owned()
        }
        (CancelReason::MarketClosed, _) => {
            "The market closed, its deadline being past, which cancels every order in it."
                .to_owned()
        }
        (CancelReason::HeartbeatExpired, _) => {
            "Its owner's heartbeat ran out, which cancels all of the owner's orders.".to_owned()
        }
        (CancelReason::MarketVoided, _) => {
            "The operator voided the market, which cancels every order in it.".to_owned()
        }
    }
}

/// What an order that was not filled completely could have traded, and the order of the same owner
/// that it could not pass.
pub fn could_have((found, own): (Lots, Option<Other>)) -> String {
    let behind = own.map_or_else(String::new, |own| {
        format!(
            ", up to its owner's own order of record {}, at {}, which it was not to trade with nor \
             to pass",
            own.no.0, own.price
        )
    });
    format!(" Within its limit it could have traded {}{behind}.", contracts(found))
}

/// The queue still ahead.
pub fn still_ahead(ahead: QueueSize) -> String {
    match ahead.orders {
        0 => "It was then first in the queue at its price.".to_owned(),
        1 => format!("{} was still ahead of it.", queue_size(ahead)),
        _ => format!("{} were still ahead of it.", queue_size(ahead)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_an_amend_changed_is_said_to_have_changed() {
        let [low, high] = ["0.4", "0.45"].map(|price| Tick::parse(price).unwrap());
        let [few, many] = [5, 8].map(Lots::contracts);
        assert_eq!(changed((low, low), (many, few)), "changed the total from 8 to 5 contracts");
        assert_eq!(changed((low, high), (few, few)), "changed the price from 0.40 to 0.45");
        assert_eq!(changed((low, low), (few, few)), "asked for what it already was");
    }
}
