//! What a record made of an order, told by its effects: so an answer need not wait for the read
//! model.

use super::order::{PlacedJson, TradeJson};
use exchange::effect::{Applied, Effect};
use exchange::ids::TradeId;
use exchange::units::{Lots, Money, Overflow};
use views::history::HistoryError;
use views::orders::{AsPlaced, OrderRow, OrderStatus};

/// The order that a record places, as that record leaves it, with the trades that it made at once;
/// `None` if it places none.
///
/// # Errors
/// A sum leaves the range of its type.
#[inline]
pub fn placed(applied: &Applied<'_>) -> Result<Option<(OrderRow, Vec<TradeJson>)>, Overflow> {
    let accepted = applied.effects.iter().find_map(|effect| match effect {
        Effect::OrderAccepted { order, terms } => Some((*order, terms)),
        _ => None,
    });
    let Some((no, terms)) = accepted else { return Ok(None) };
    let fresh = OrderRow {
        no,
        user: terms.user,
        market: terms.market,
        wording: terms.wording,
        price: terms.price,
        quantity: terms.quantity,
        filled: Lots::ZERO,
        remaining: terms.quantity,
        cancelled: Lots::ZERO,
        filled_cost: Money::ZERO,
        status: OrderStatus::Open,
        cancel_reason: None,
        time_in_force: terms.time_in_force,
        created_at: applied.time,
        updated_at: applied.time,
        client_id: terms.client_order_id.as_deref().copied(),
        group: terms.group.as_deref().copied(),
    };
    after(fresh, applied).map(Some)
}

/// An open order as a record that amends or cancels it would leave it, and the trades that it
/// would make as the incoming order.
///
/// # Errors
/// A sum leaves the range of its type.
pub fn after(
    mut row: OrderRow,
    applied: &Applied<'_>,
) -> Result<(OrderRow, Vec<TradeJson>), Overflow> {
    let (Applied { sequence, time, effects }, mut trades) = (*applied, Vec::new());
    if effects.is_empty() {
        return Ok((row, trades));
    }
    (row.updated_at, row.remaining) = (time, Lots::ZERO);
    (row.cancelled, row.cancel_reason) = (Lots::ZERO, None);
    for effect in effects {
        match effect {
            Effect::TradeMade(trade) if trade.taker.order == row.no => {
                let price = row.wording.yes_price(trade.price);
                row.filled = row.filled.plus(trade.quantity)?;
                row.filled_cost = row.filled_cost.plus(price.times(trade.quantity)?)?;
                let id = TradeId::of(time, sequence, trade.index);
                trades.push(TradeJson::of(id, price, trade.quantity, time));
            }
            Effect::OrderRested { order, remaining, .. } if *order == row.no => {
                row.remaining = *remaining;
            }
            Effect::OrderCancelled { order, quantity, reason, .. } if *order == row.no => {
                (row.cancelled, row.cancel_reason) = (*quantity, Some(*reason));
            }
            Effect::OrderAmended { order, price, quantity, remaining, kept_place, .. }
                if *order == row.no =>
            {
                (row.price, row.quantity) = (row.wording.yes_price(*price), *quantity);
                if *kept_place {
                    row.remaining = *remaining;
                }
            }
            _ => {}
        }
    }
    row.status = match (row.cancel_reason, row.remaining.is_zero(), row.filled.is_zero()) {
        (Some(_), _, _) => OrderStatus::Cancelled,
        (None, true, _) => OrderStatus::Filled,
        (None, false, true) => OrderStatus::Open,
        (None, false, false) => OrderStatus::PartiallyFilled,
    };
    Ok((row, trades))
}

/// The answer to a placement for a repetition. Later fills as a maker are not part of it. `None`
/// if there is no such order.
///
/// # Errors
/// History cannot be read.
pub fn again(placed: AsPlaced) -> Result<Option<PlacedJson>, HistoryError> {
    let Some((row, fills)) = placed.read()? else { return Ok(None) };
    Ok(Some(PlacedJson::of(&row, fills.into_iter().map(TradeJson::from).collect())))
}
