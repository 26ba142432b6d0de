//! `explain`: the life of one order as a story, for readers who did not follow it.

mod endings;
mod life;
mod pairs;
mod story;
mod trades;
mod words;

use std::path::Path;

use exchange::units::{AveragePrice, Lots, Money};
use serde_json::{Value, json};

use crate::answer::{Answer, Failure};
use crate::moment::{Moment, rfc3339, when};
use crate::pass::pass_to;
use crate::reference::Reference;
use crate::register::spoken;
use crate::source::Source;
use life::{Life, MoneyFlow};
use story::Story;
use words::{accounted, contracts, wrap};

/// Explains an order, up to a moment or to the journal's end.
pub fn explain(path: &Path, order: Reference, at: Option<Moment>) -> Result<Answer, Failure> {
    let mut source = Source::open(path)?;
    let mut story = Story::of(order);
    let exchange = pass_to(&mut source, at, &mut story)?.exchange;
    let unknown = || {
        Failure::not_found(match story.done_before {
            Some(first) => format!(
                "{order} placed no order: the same had been asked before, and record {first} did \
                 it; explain that one"
            ),
            None => format!("{order} placed no order by record {}", exchange.sequence()),
        })
    };
    let life = story.life.as_ref().ok_or_else(unknown)?;
    let end = format!("record {}, {} UTC", exchange.sequence(), when(exchange.time()));
    let market = story.register.listing(life.terms.market)?;
    let owner = story.register.person(life.terms.user)?;
    let status = status(life, story.accepted);
    let mut text = String::new();
    let shown = story.id.map_or_else(|| "(none given)".to_owned(), |id| id.to_string());
    let terms = &life.terms;
    text.extend([format!("ORDER   {shown}, record {}\n", story.no.0)]);
    text.extend([format!("OWNER   {}, {}\n", owner.name, owner.id)]);
    text.extend([format!("MARKET  {}, {}\n", market.question, market.id)]);
    let (words, quantity) = (spoken(terms.wording), contracts(terms.quantity));
    text.extend([format!("TERMS   {words} at {}, {quantity}\n", terms.price)]);
    text.extend([format!("STATUS  {status}, as of {end}\n\n")]);
    for event in &story.events {
        text.extend([format!(
            "{} UTC, record {}: {}\n",
            when(event.time),
            event.sequence,
            event.kind
        )]);
        text.push_str(&wrap(&event.text, "    "));
        text.push('\n');
    }
    text.push_str(&wrap(&(sum(&story, life, &end) + &accounted(life, &story.currency)?), ""));
    if story.parties.len() > 1 {
        text.push_str("\nPARTIES\n");
        for user in &story.parties {
            let id = story.register.person(*user)?.id;
            text.extend([format!("    {}: user {id}\n", story.register.name(*user))]);
        }
    }
    let value = json!({
        "ok": true,
        "sequence": exchange.sequence().get(),
        "time": rfc3339(exchange.time()),
        "order": {
            "id": story.id.map(|id| id.to_string()),
            "record": story.no.0.get(),
            "user_id": owner.id.to_string(),
            "market_id": market.id.to_string(),
            "outcome": life.terms.wording.outcome.id(),
            "side": life.terms.wording.side.name(),
            "price": life.terms.wording.yes_price(life.limit).to_string(),
            "quantity": life.quantity.to_string(),
            "filled": life.filled.to_string(),
            "cancelled": life.cancelled.to_string(),
            "filled_cost": life.cost.to_string(),
            "fills": life.fills,
            "status": status,
            "money": money_fields(life)?,
        },
        "events": story.events.iter().map(event_fields).collect::<Vec<_>>(),
    });
    Ok(Answer::Text { value, text, sound: true })
}

/// `set_aside` is `paid`, `fees`, `came_back` and `still_set_aside` together.
fn money_fields(life: &Life) -> Result<Value, Failure> {
    let MoneyFlow { set_aside, paid, fees, came_back, received, fees_from_received } = life.money;
    // What a refused order would have needed was never set aside.
    let none = set_aside == Money::ZERO;
    let still = if none { Money::ZERO } else { life.still_set_aside()? };
    Ok(json!({
        "set_aside": set_aside.to_string(),
        "paid": paid.to_string(),
        "fees": fees.to_string(),
        "came_back": came_back.to_string(),
        "still_set_aside": still.to_string(),
        "received": received.to_string(),
        "fees_from_received": fees_from_received.to_string(),
    }))
}

fn event_fields(event: &story::Event) -> Value {
    json!({
        "sequence": event.sequence.get(),
        "time": rfc3339(event.time),
        "kind": event.kind,
        "text": event.text,
        "figures": event.figures,
    })
}

/// The interface's status of an order, or REFUSED for one that was never accepted.
fn status(life: &Life, accepted: bool) -> &'static str {
    match (accepted, life.ended, life.filled.is_zero(), life.cancelled.is_zero()) {
        (false, ..) => "REFUSED",
        (_, false, true, _) => "OPEN",
        (_, false, false, _) => "PARTIALLY_FILLED",
        (_, true, _, true) => "FILLED",
        (_, true, _, false) => "CANCELLED",
    }
}

/// The last paragraph: the overall result.
fn sum(story: &Story, life: &Life, end: &str) -> String {
    if !story.accepted {
        return "In all: the order was refused; it never stood on the book and nothing was set \
                aside for it."
            .to_owned();
    }
    let price = AveragePrice { notional: life.cost, quantity: life.filled };
    let currency = &story.currency;
    let were = |lots: Lots| if lots == Lots::contracts(1) { "was" } else { "were" };
    let filled = match life.fills {
        0 => "none were filled".to_owned(),
        fills => format!(
            "{} {} filled, in {fills} {}, at {price} each on average ({} {currency} in all)",
            life.filled,
            were(life.filled),
            if fills == 1 { "fill" } else { "fills" },
            life.cost
        ),
    };
    let left = life.quantity.saturating_minus(life.filled).saturating_minus(life.cancelled);
    let mut parts = vec![filled];
    if !life.cancelled.is_zero() {
        parts.push(format!("{} {} cancelled", life.cancelled, were(life.cancelled)));
    }
    if !left.is_zero() {
        parts.push(format!("{left} still stood on the book as of {end}"));
    }
    let counts = [life.filled, life.cancelled, left];
    let counts: Vec<String> =
        counts.iter().filter(|lots| !lots.is_zero()).map(ToString::to_string).collect();
    let check = match counts.as_slice() {
        [_] => "That is all of it.".to_owned(),
        _ => format!("{} make {}: all of it.", counts.join(" and "), life.quantity),
    };
    format!("In all: of {} wanted, {}. {check}", contracts(life.quantity), parts.join(", and "))
}
