//! Prints effects in words, one short line each: by the patterns of their table, and here those
//! that a pattern cannot say.

use super::super::effect::{Effect, Holding, Party, Trade};
use super::super::ids::{MarketNo, UserNo};
use super::super::lifecycle::MarketStatus;
use super::super::units::{Money, MoneySum, TimeMs};
use super::names::Names;
use super::pattern;
use super::words::moment;

/// The line of an effect of the record at time `now`; `names` as they are after the record.
pub fn phrase(effect: &Effect, now: TimeMs, names: &Names) -> String {
    match effect {
        Effect::MarketMoved { market, from, to, deadline, winner, settled_at } => {
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
        Effect::TradeMade(Trade { price, quantity, taker, maker, .. }) => {
            let (taker, maker) = (party(*taker, names), party(*maker, names));
            format!("trade {price} x{quantity}: {taker} takes {maker}")
        }
        Effect::PositionChanged { user, market, yes, no, realised } => {
            let who = holder(*user, *market, names);
            let holdings = match (holding("yes", yes, names), holding("no", no, names)) {
                (Some(yes), Some(no)) => format!("{yes} and {no}"),
                (Some(one), None) | (None, Some(one)) => one,
                (None, None) => "nothing".to_owned(),
            };
            format!("{who} holds {holdings}{}", realised_part(*realised))
        }
        Effect::PositionSettled { user, market, yes, no, payout, realised } => {
            let who = holder(*user, *market, names);
            let realised = realised_part(*realised);
            format!("{who} is paid {payout} for yes x{yes}, no x{no}{realised}")
        }
        said => {
            let row = Effect::WORDS.iter().find(|(number, _)| *number == said.number());
            pattern::say(row.map_or("", |(_, pattern)| pattern), &said.fields(), now, names)
        }
    }
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
