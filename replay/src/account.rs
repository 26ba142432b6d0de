//! `account`: a user's money, positions and open orders at a moment.

use std::fmt::Write as _;
use std::path::Path;

use openoutcry::exchange::Exchange;
use openoutcry::exchange::command::Record;
use openoutcry::exchange::effect::{Applied, Effect};
use openoutcry::projection::ReadModel;
use openoutcry::projection::accounts::UserRow;
use openoutcry::projection::orders::OrderRow;
use openoutcry::projection::positions::{PositionRow, Resolution};
use serde_json::{Value, json};

use crate::answer::{Answer, Failure};
use crate::moment::{Moment, rfc3339};
use crate::pass::{Listener, pass};
use crate::reference::Reference;
use crate::register::{side_name, spoken};
use crate::source::Source;

/// The read model that a server had at the moment.
struct Reader(ReadModel);

impl Listener for Reader {
    fn after(
        &mut self,
        _exchange: &Exchange,
        record: &Record,
        effects: &[Effect],
    ) -> Result<(), Failure> {
        self.0.fold(&Applied { sequence: record.sequence, time: record.time, effects });
        Ok(())
    }
}

/// Says how a user stood at a moment.
pub fn account(path: &Path, user: Reference, at: Option<Moment>) -> Result<Answer, Failure> {
    let mut source = Source::open(path)?;
    let mut reader = Reader(ReadModel::new());
    pass(&mut source, at, false, &mut reader)?;
    let model = reader.0;
    let row = model.accounts.users_newest_first().find(|row| user.names_user(row.id));
    let row = row.ok_or_else(|| Failure::Failed(format!("{user} made no user by then")))?;
    let positions = model.positions.of(row.no);
    let orders: Vec<&OrderRow> = model.orders.open_of(row.no).collect();
    let text = text(&model, row, &positions, &orders);
    let value = json!({
        "ok": true,
        "sequence": model.watermark().get(),
        "time": rfc3339(model.time()),
        "user_id": row.id.to_string(),
        "profile_name": &*row.profile_name,
        "currency": model.accounts.currency(),
        "available": row.balance.available.to_string(),
        "reserved": row.balance.reserved.to_string(),
        "positions": positions.iter().map(|row| position(&model, row)).collect::<Vec<_>>(),
        "open_orders": orders.iter().map(|row| order(&model, row)).collect::<Vec<_>>(),
    });
    Ok(Answer::Told { value, text, sound: true })
}

fn position(model: &ReadModel, row: &PositionRow) -> Value {
    json!({
        "market_id": model.catalogue.market(row.market).map(|market| market.id.to_string()),
        "outcome": row.outcome.id(),
        "quantity": row.quantity.to_string(),
        "cost": row.cost.to_string(),
        "realised": row.realised.to_string(),
        "resolution": row.resolution.map(Resolution::name),
        "updated_at": rfc3339(row.updated_at),
    })
}

fn order(model: &ReadModel, row: &OrderRow) -> Value {
    json!({
        "order_id": row.id.to_string(),
        "sequence": row.no.0.get(),
        "market_id": model.catalogue.market(row.market).map(|market| market.id.to_string()),
        "outcome": row.wording.outcome.id(),
        "side": side_name(row.wording.side),
        "price": row.price.to_string(),
        "quantity": row.quantity.to_string(),
        "filled": row.filled.to_string(),
        "remaining": row.remaining.to_string(),
        "placed": rfc3339(row.created_at),
    })
}

fn text(
    model: &ReadModel,
    user: &UserRow,
    positions: &[&PositionRow],
    orders: &[&OrderRow],
) -> String {
    let question = |market| {
        let row = model.catalogue.market(market);
        row.map_or_else(String::new, |row| format!("{} ({})", row.draft.questions.en, row.id))
    };
    let currency = model.accounts.currency();
    let mut text = format!(
        "{} ({})\nafter record {}, of {}\navailable  {} {currency}\nreserved   {} {currency}\n",
        user.profile_name,
        user.id,
        model.watermark(),
        rfc3339(model.time()),
        user.balance.available,
        user.balance.reserved,
    );
    // Writing to a text cannot fail.
    let _ = writeln!(text, "\npositions: {}", positions.len());
    for row in positions {
        let ended = row.resolution.map(|resolution| format!(", {}", resolution.name()));
        let _ = writeln!(
            text,
            "  {} {} for {}, realised {}{}\n      {}",
            row.quantity,
            row.outcome.id(),
            row.cost,
            row.realised,
            ended.unwrap_or_default(),
            question(row.market)
        );
    }
    let _ = writeln!(text, "\nopen orders: {}", orders.len());
    for row in orders {
        let _ = writeln!(
            text,
            "  {} {} x{} at {}, {} filled, {} on the book, placed {}\n      {}",
            row.id,
            spoken(row.wording),
            row.quantity,
            row.price,
            row.filled,
            row.remaining,
            rfc3339(row.created_at),
            question(row.market)
        );
    }
    text
}
