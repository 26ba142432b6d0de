//! `account`: a user's money, positions and open orders at a moment.
//!
//! Keeps only what concerns this user: the names of users and markets, the user's positions, and
//! the user's open orders. Nothing grows with history.

use std::collections::BTreeMap;
use std::path::Path;

use exchange::Exchange;
use exchange::command::Record;
use exchange::effect::{Applied, Effect, Party};
use exchange::ids::{MarketNo, OrderId, OrderNo, UserId, UserNo};
use exchange::orders::Order;
use exchange::units::{MoneySum, Overflow, Sequence, TimeMs};
use serde_json::{Value, json};
use views::accounts::{Accounts, UserRow};
use views::catalogue::Catalogue;
use views::fault::{Faults, Projection};
use views::positions::{PositionRow, Positions, Resolution};

use crate::answer::{Answer, Failure};
use crate::moment::{Moment, rfc3339};
use crate::pass::{Listener, pass_to};
use crate::reference::Reference;
use crate::register::spoken;
use crate::source::Source;

/// The server's projections that show a user's account.
#[derive(Default)]
struct Views {
    accounts: Accounts,
    catalogue: Catalogue,
    positions: Positions,
    /// The last record folded, and its time.
    sequence: Sequence,
    time: TimeMs,
}

impl Views {
    fn fold(&mut self, applied: &Applied<'_>) {
        let mut faults = Faults::default();
        self.accounts.fold(applied, &mut faults);
        self.catalogue.fold(applied, &mut faults);
        self.positions.fold(applied, &mut faults);
        (self.sequence, self.time) = (applied.sequence, applied.time);
    }
}

/// What a server showed one user at the moment.
struct Reader {
    named: Reference,
    user: Option<UserNo>,
    views: Views,
    /// The user's open orders, with the time each was placed.
    open: BTreeMap<OrderNo, TimeMs>,
    /// Sum of the fees of the user's fills.
    fees: MoneySum,
    /// The effects of the current record that concern the user.
    kept: Vec<Effect>,
}

impl Reader {
    fn of(named: Reference) -> Reader {
        let (views, open, kept) = (Views::default(), BTreeMap::new(), Vec::new());
        Reader { named, user: None, views, open, fees: MoneySum::ZERO, kept }
    }

    /// Whether an effect is the user's own, or defines a user or market that the user's effects
    /// refer to. Effects that grow with history are left out.
    fn concerns(&self, effect: &Effect) -> bool {
        match effect {
            Effect::VenueOpened(_)
            | Effect::UserCreated { .. }
            | Effect::CategoryCreated { .. }
            | Effect::EventCreated { .. }
            | Effect::EventRevised { .. }
            | Effect::MarketCreated { .. }
            | Effect::MarketRevised { .. }
            | Effect::MarketMoved { .. }
            | Effect::MarketPays { .. } => true,
            Effect::AccountChanged { user, .. }
            | Effect::PositionChanged { user, .. }
            | Effect::PositionSettled { user, .. } => self.user == Some(*user),
            _ => false,
        }
    }

    /// Updates the user's open orders and the sum of fees.
    fn follow_orders(&mut self, record: &Record, effect: &Effect) -> Result<(), Overflow> {
        match effect {
            Effect::UserCreated { user, .. }
                if self.named.names_user(UserId::derive(record.time, record.sequence, 0)) =>
            {
                self.user = Some(*user);
            }
            Effect::OrderAccepted { order, terms } if self.user == Some(terms.user) => {
                self.open.insert(*order, record.time);
            }
            Effect::OrderCancelled { order, user, .. } if self.user == Some(*user) => {
                self.open.remove(order);
            }
            Effect::TradeMade(trade) => {
                for Party { order, user, remaining, fee } in [trade.taker, trade.maker] {
                    if self.user == Some(user) {
                        self.fees = self.fees.plus(fee)?;
                    }
                    if remaining.is_zero() {
                        self.open.remove(&order);
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }
}

impl Listener for Reader {
    fn after(
        &mut self,
        _exchange: &Exchange,
        record: &Record,
        effects: &[Effect],
    ) -> Result<(), Failure> {
        self.kept.clear();
        for effect in effects {
            self.follow_orders(record, effect)?;
            if self.concerns(effect) {
                self.kept.push(effect.clone());
            }
        }
        let (sequence, time) = (record.sequence, record.time);
        self.views.fold(&Applied { sequence, time, effects: &self.kept });
        Ok(())
    }
}

/// An open order.
struct OpenOrder {
    id: OrderId,
    order: Order,
    placed: TimeMs,
}

/// Shows a user's account at a moment.
pub fn account(path: &Path, user: Reference, at: Option<Moment>) -> Result<Answer, Failure> {
    let mut source = Source::open(path)?;
    let mut reader = Reader::of(user);
    let exchange = pass_to(&mut source, at, &mut reader)?.exchange;
    let views = reader.views;
    let row = reader.user.and_then(|user| views.accounts.user(user));
    let row = row.ok_or_else(|| Failure::not_found(format!("{user} made no user by then")))?;
    let positions = views.positions.of(row.no).collect::<Result<Vec<_>, _>>();
    let positions = positions.map_err(Failure::failed)?;
    let newest_first = reader.open.iter().rev();
    let open_orders = newest_first.filter_map(|(no, placed)| {
        let order = exchange.order(*no)?;
        Some(OpenOrder { id: no.id(*placed), order, placed: *placed })
    });
    let orders: Vec<OpenOrder> = open_orders.collect();
    let text = text(&views, row, reader.fees, &positions, &orders);
    let value = json!({
        "ok": true,
        "sequence": views.sequence.get(),
        "time": rfc3339(views.time),
        "user_id": row.id.to_string(),
        "profile_name": &*row.profile_name,
        "currency": views.accounts.currency(),
        "available": row.balance.available.to_string(),
        "reserved": row.balance.reserved.to_string(),
        "fees_paid": reader.fees.to_string(),
        "positions": positions.iter().map(|row| position(&views, row)).collect::<Vec<_>>(),
        "open_orders": orders.iter().map(|row| order(&views, row)).collect::<Vec<_>>(),
    });
    Ok(Answer::Text { value, text, sound: true })
}

fn position(views: &Views, row: &PositionRow) -> Value {
    json!({
        "market_id": views.catalogue.market(row.market).map(|market| market.id.to_string()),
        "outcome": row.outcome.id(),
        "quantity": row.quantity.to_string(),
        "cost": row.cost.to_string(),
        "realised": row.realised.to_string(),
        "resolution": row.resolution.map(Resolution::name),
        "updated_at": rfc3339(row.updated_at),
    })
}

fn order(views: &Views, row: &OpenOrder) -> Value {
    let OpenOrder { id, order, placed } = row;
    json!({
        "order_id": id.to_string(),
        "sequence": order.no.0.get(),
        "market_id": views.catalogue.market(order.market).map(|market| market.id.to_string()),
        "outcome": order.wording.outcome.id(),
        "side": order.wording.side.name(),
        "price": order.wording.yes_price(order.price).to_string(),
        "quantity": order.quantity.to_string(),
        "filled": order.filled.to_string(),
        "remaining": order.quantity.saturating_minus(order.filled).to_string(),
        "placed": rfc3339(*placed),
    })
}

fn text(
    views: &Views,
    user: &UserRow,
    fees: MoneySum,
    positions: &[PositionRow],
    orders: &[OpenOrder],
) -> String {
    let question = |market: MarketNo| {
        let row = views.catalogue.market(market);
        row.map_or_else(String::new, |row| format!("{} ({})", row.draft.questions.en, row.id))
    };
    let currency = views.accounts.currency();
    let mut text = format!(
        "{} ({})\nafter record {}, of {}\navailable  {} {currency}\nreserved   {} {currency}\n\
         fees paid  {fees} {currency}\n",
        user.profile_name,
        user.id,
        views.sequence,
        rfc3339(views.time),
        user.balance.available,
        user.balance.reserved,
    );
    text.extend([format!("\npositions: {}\n", positions.len())]);
    for row in positions {
        let ended = row.resolution.map(|resolution| format!(", {}", resolution.name()));
        text.extend([format!(
            "  {} {} for {}, realised {}{}\n      {}\n",
            row.quantity,
            row.outcome.id(),
            row.cost,
            row.realised,
            ended.unwrap_or_default(),
            question(row.market)
        )]);
    }
    text.extend([format!("\nopen orders: {}\n", orders.len())]);
    for OpenOrder { id, order, placed } in orders {
        text.extend([format!(
            "  {id} {} x{} at {}, {} filled, {} on the book, placed {}\n      {}\n",
            spoken(order.wording),
            order.quantity,
            order.wording.yes_price(order.price),
            order.filled,
            order.quantity.saturating_minus(order.filled),
            rfc3339(*placed),
            question(order.market)
        )]);
    }
    text
}
