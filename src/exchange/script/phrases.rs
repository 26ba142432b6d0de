//! Prints effects in words, one short line each.

use super::super::command::Direction;
use super::super::effect::{Effect, Holding, Party};
use super::super::ids::{MarketNo, UserNo};
use super::super::lifecycle::MarketStatus;
use super::super::units::{Lots, Money, MoneySum, Tick, TimeMs};
use super::names::Names;
use super::words::moment;

/// The line of an effect of the record at time `now`; `names` as they are after the record.
pub fn phrase(effect: &Effect, now: TimeMs, names: &Names) -> String {
    match effect {
        Effect::Refused(reject) => format!("refused {}", reject.code()),
        Effect::Repeated { first } => format!("done before, by record {first}"),
        Effect::AnswerKept { until } => format!("kept in mind until {}", moment(*until, now)),
        Effect::VenueOpened(rules) => format!("the venue opens in {}", rules.currency),
        Effect::UserCreated { user, .. } => format!("user {}", names.of_user(*user)),
        Effect::KeyAdded { user, key, role, .. } => {
            let role = role.name();
            format!("key {} for {} as {role}", names.of_key(*key), names.of_user(*user))
        }
        Effect::KeyRevoked { user, key } => {
            format!("key {} of {} revoked", names.of_key(*key), names.of_user(*user))
        }
        Effect::Deposited { user, amount } => {
            format!("{} deposited {amount}", names.of_user(*user))
        }
        Effect::Withdrawn { user, amount } => format!("{} withdrew {amount}", names.of_user(*user)),
        Effect::FeesTaken { user, amount } => {
            format!("{} takes {amount} of the fees", names.of_user(*user))
        }
        Effect::AccountChanged { user, available, reserved } => {
            format!("{} has {available}, reserved {reserved}", names.of_user(*user))
        }
        Effect::HeartbeatSet { .. }
        | Effect::HeartbeatExpired { .. }
        | Effect::VenueModeSet { .. }
        | Effect::UserModeSet { .. }
        | Effect::ExposureLimitSet { .. } => restriction_set(effect, now, names),
        Effect::CategoryCreated { category, .. } => {
            format!("category {}", names.of_category(*category))
        }
        Effect::EventCreated { event, .. } => format!("event {}", names.of_event(*event)),
        Effect::MarketCreated { market, draft } => {
            let until = moment(draft.deadline, now);
            format!("market {} DRAFT until {until}", names.of_market(*market))
        }
        Effect::EventRevised { event, .. } => format!("event {} revised", names.of_event(*event)),
        Effect::MarketRevised { market, revision } => {
            let name = names.of_market(*market);
            let until = revision.deadline.map(|at| format!(" until {}", moment(at, now)));
            format!("market {name} revised{}", until.unwrap_or_default())
        }
        Effect::MarketMoved { .. } => status_changed(effect, now, names),
        Effect::OrderAccepted { .. }
        | Effect::OrderAmended { .. }
        | Effect::TradeMade(_)
        | Effect::OrderRested { .. }
        | Effect::OrderCancelled { .. } => of_order(effect, names),
        Effect::PositionChanged { user, market, yes, no, realised } => {
            let who = holder(*user, *market, names);
            let holdings = match (holding("yes", yes, names), holding("no", no, names)) {
                (Some(yes), Some(no)) => format!("{yes} and {no}"),
                (Some(one), None) | (None, Some(one)) => one,
                (None, None) => "nothing".to_owned(),
            };
            format!("{who} holds {holdings}{}", realised_part(*realised))
        }
        Effect::Converted { .. } | Effect::SetsSettled { .. } => of_sets(effect, names),
        Effect::MarketPays { market, price, .. } => {
            format!("{} pays {price} for yes", names.of_market(*market))
        }
        Effect::PositionSettled { user, market, yes, no, payout, realised } => {
            let who = holder(*user, *market, names);
            let realised = realised_part(*realised);
            format!("{who} is paid {payout} for yes x{yes}, no x{no}{realised}")
        }
    }
}

fn of_sets(effect: &Effect, names: &Names) -> String {
    match effect {
        Effect::Converted { user, event, markets, quantity, cash } => {
            let (user, event) = (names.of_user(*user), names.of_event(*event));
            let given = names.of_markets(markets);
            format!("{user} converts no x{quantity} of {given} in {event} for {cash} and yes")
        }
        Effect::SetsSettled { event, sets, surplus } => {
            let event = names.of_event(*event);
            format!("the sets x{sets} of {event} leave {surplus} to the operator")
        }
        _ => String::new(),
    }
}

fn restriction_set(effect: &Effect, now: TimeMs, names: &Names) -> String {
    match effect {
        Effect::HeartbeatSet { user, until } => {
            let until = until.map_or("off".to_owned(), |at| format!("until {}", moment(at, now)));
            format!("heartbeat of {} {until}", names.of_user(*user))
        }
        Effect::HeartbeatExpired { user } => {
            format!("heartbeat of {} has run out", names.of_user(*user))
        }
        Effect::VenueModeSet { mode } => format!("the venue is {}", mode.name()),
        Effect::UserModeSet { user, mode } => {
            format!("{} is {}", names.of_user(*user), mode.name())
        }
        Effect::ExposureLimitSet { user, limit } => {
            let limit = limit.map_or("none".to_owned(), |limit| limit.to_string());
            format!("exposure limit of {}: {limit}", names.of_user(*user))
        }
        _ => String::new(),
    }
}

fn status_changed(effect: &Effect, now: TimeMs, names: &Names) -> String {
    let Effect::MarketMoved { market, from, to, deadline, winner, settled_at } = effect else {
        return String::new();
    };
    let mut text = format!("{} {} -> {}", names.of_market(*market), from.name(), to.name());
    if *to == MarketStatus::Active {
        text.extend([format!(" until {}", moment(*deadline, now))]);
    }
    if let Some(winner) = winner {
        text.extend([", ", winner.id(), " announced"]);
    }
    if let Some(price) = settled_at {
        text.extend([format!(", yes pays {price}")]);
    }
    text
}

fn of_order(effect: &Effect, names: &Names) -> String {
    match effect {
        Effect::OrderAccepted { order, .. } => format!("{} accepted", names.of_order(*order)),
        Effect::OrderAmended {
            order,
            direction,
            price_before,
            price,
            remaining_before,
            quantity,
            remaining,
            kept_place,
            ..
        } => {
            let name = names.of_order(*order);
            let before = resting(*direction, *price_before, *remaining_before);
            let after = resting(*direction, *price, *remaining);
            let priority = if *kept_place { "keeps its place" } else { "loses its place" };
            format!("{name} amended {before} to {after} of {quantity}, {priority}")
        }
        Effect::TradeMade(trade) => {
            let (taker, maker) = (party(trade.taker, names), party(trade.maker, names));
            format!("trade {} x{}: {taker} takes {maker}", trade.price, trade.quantity)
        }
        Effect::OrderRested { order, direction, price, remaining, .. } => {
            let resting = resting(*direction, *price, *remaining);
            format!("{} rests {resting}", names.of_order(*order))
        }
        Effect::OrderCancelled { order, direction, price, quantity, rested, reason, .. } => {
            let resting = resting(*direction, *price, *quantity);
            let location = if *rested { "off the book" } else { "unrested" };
            format!("{} cancelled {resting} {location}: {}", names.of_order(*order), reason.code())
        }
        _ => String::new(),
    }
}

/// Side, price and quantity on the book: `bid 0.60 x5`.
fn resting(direction: Direction, price: Tick, quantity: Lots) -> String {
    let side = match direction {
        Direction::Up => "bid",
        Direction::Down => "ask",
    };
    format!("{side} {price} x{quantity}")
}

fn party(party: Party, names: &Names) -> String {
    let name = names.of_order(party.order);
    let fee = if party.fee == Money::ZERO { String::new() } else { format!(", fee {}", party.fee) };
    if party.remaining.is_zero() {
        format!("{name} (filled{fee})")
    } else {
        format!("{name} ({} left{fee})", party.remaining)
    }
}

/// A holder's name, with the market's name unless it is the script's current market.
fn holder(user: UserNo, market: MarketNo, names: &Names) -> String {
    let user = names.of_user(user);
    if names.current_market() == Some(market) {
        user
    } else {
        format!("{user} in {}", names.of_market(market))
    }
}

fn holding(outcome: &str, holding: &Holding, names: &Names) -> Option<String> {
    let Holding { held, locked, cost, copy_from } = holding;
    if held.is_zero() && locked.is_zero() && cost.get() == 0 {
        return None;
    }
    let mut text = format!("{outcome} x{held} for {cost}");
    if !locked.is_zero() {
        text.extend([format!(" (x{locked} locked)")]);
    }
    if let Some(copied) = copy_from {
        text.extend([" copying ", &names.of_user(*copied)]);
    }
    Some(text)
}

fn realised_part(realised: MoneySum) -> String {
    if realised == MoneySum::ZERO { String::new() } else { format!(", realised {realised}") }
}
