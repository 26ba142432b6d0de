//! The JSON of orders, their trades and fills.

use serde::{Serialize, Serializer};

use super::account::BalanceJson;
use super::problem::ProblemJson;
use super::{CursorEcho, OutcomeId, Paging, Text, Timestamp};
use exchange::command::Wording;
use exchange::effect::{Applied, CancelReason, Effect};
use exchange::ids::{MarketId, OrderId, OrderNo, Token, TradeId};
use exchange::units::{AveragePrice, Lots, Money, Overflow, Sequence, Tick, TimeMs};
use views::ReadModel;
use views::fills::{FillRow, Liquidity};
use views::history::HistoryError;
use views::orders::{AsPlaced, OrderRow, OrderStatus};

/// The only type of order.
const LIMIT: &str = "LIMIT";

/// Members of an order beyond those of the interface (semantics 4). Each shape with them lists them
/// by name at its end, because serde's flattening is slower.
struct BesideJson {
    cancelled_quantity: Text<Lots>,
    cancel_reason: Option<&'static str>,
    filled_cost: Text<Money>,
    client_order_id: Option<Text<Token>>,
    sequence: u64,
}

impl BesideJson {
    fn of(row: &OrderRow) -> BesideJson {
        BesideJson {
            cancelled_quantity: Text(row.cancelled),
            cancel_reason: row.cancel_reason.map(CancelReason::code),
            filled_cost: Text(row.filled_cost),
            client_order_id: row.client_id.map(Text),
            sequence: row.no.0.get(),
        }
    }
}

/// An order (interface 2.7).
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OrderJson {
    id: Text<OrderId>,
    market_id: Option<Text<MarketId>>,
    outcome_id: OutcomeId,
    side: &'static str,
    order_type: &'static str,
    price: Text<Tick>,
    original_quantity: Text<Lots>,
    remaining_quantity: Text<Lots>,
    filled_quantity: Text<Lots>,
    average_fill_price: Text<AveragePrice>,
    status: &'static str,
    time_in_force: &'static str,
    created_at: Timestamp,
    updated_at: Timestamp,
    cancelled_quantity: Text<Lots>,
    cancel_reason: Option<&'static str>,
    filled_cost: Text<Money>,
    client_order_id: Option<Text<Token>>,
    sequence: u64,
    expires_at: Option<Timestamp>,
}

impl OrderJson {
    /// The order as of this row.
    pub fn of(view: &ReadModel, row: &OrderRow) -> OrderJson {
        OrderJson::in_market(view.catalogue.market(row.market).map(|market| market.id), row)
    }

    fn in_market(market: Option<MarketId>, row: &OrderRow) -> OrderJson {
        let beside = BesideJson::of(row);
        OrderJson {
            id: Text(row.id()),
            market_id: market.map(Text),
            outcome_id: OutcomeId(row.wording.outcome),
            side: row.wording.side.name(),
            order_type: LIMIT,
            price: Text(row.price),
            original_quantity: Text(row.quantity),
            remaining_quantity: Text(row.remaining),
            filled_quantity: Text(row.filled),
            average_fill_price: Text(row.average_price()),
            status: row.status.name(),
            time_in_force: row.time_in_force.name(),
            created_at: Timestamp(row.created_at),
            updated_at: Timestamp(row.updated_at),
            cancelled_quantity: beside.cancelled_quantity,
            cancel_reason: beside.cancel_reason,
            filled_cost: beside.filled_cost,
            client_order_id: beside.client_order_id,
            sequence: beside.sequence,
            expires_at: row.time_in_force.expires_at().map(Timestamp),
        }
    }
}

/// An order in a list: copied under the lock, converted to JSON when it is serialised.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedOrder {
    row: OrderRow,
    market: Option<MarketId>,
}

impl ListedOrder {
    /// This order.
    pub fn of(view: &ReadModel, row: OrderRow) -> ListedOrder {
        ListedOrder { row, market: view.catalogue.market(row.market).map(|market| market.id) }
    }
}

impl Serialize for ListedOrder {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        OrderJson::in_market(self.market, &self.row).serialize(serializer)
    }
}

/// The caller's orders (interface 4.6).
#[derive(Debug, Serialize)]
pub struct OrdersJson {
    /// Newest first.
    pub orders: Vec<ListedOrder>,
    /// The next page, if a cursor was given: without one the interface has no pages here.
    #[serde(flatten)]
    pub next: Option<CursorEcho>,
    /// Where the list was cut, if it was.
    #[serde(flatten)]
    pub cut: Option<CutJson>,
}

/// What a list says that lacks ended orders.
#[derive(Debug, Serialize)]
pub struct CutJson {
    /// Always true.
    pub truncated: bool,
    /// The cursor of the orders after those that are listed without a gap.
    pub cursor: Text<u64>,
}

/// A trade in the answer to an order (interface 2.8).
#[derive(Debug, Serialize)]
pub(super) struct TradeJson {
    pub(super) id: Text<TradeId>,
    pub(super) price: Text<Tick>,
    pub(super) quantity: Text<Lots>,
    pub(super) timestamp: Timestamp,
}

impl From<FillRow> for TradeJson {
    fn from(fill: FillRow) -> TradeJson {
        TradeJson {
            id: Text(fill.id()),
            price: Text(fill.price),
            quantity: Text(fill.quantity),
            timestamp: Timestamp(fill.time),
        }
    }
}

/// The answer to an order (interface 4.5).
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PlacedJson {
    pub(super) order_id: Text<OrderId>,
    pub(super) status: &'static str,
    pub(super) filled_quantity: Text<Lots>,
    pub(super) remaining_quantity: Text<Lots>,
    pub(super) average_fill_price: Text<AveragePrice>,
    pub(super) trades: Vec<TradeJson>,
    pub(super) cancelled_quantity: Text<Lots>,
    pub(super) cancel_reason: Option<&'static str>,
    pub(super) filled_cost: Text<Money>,
    pub(super) client_order_id: Option<Text<Token>>,
    pub(super) sequence: u64,
}

impl PlacedJson {
    /// The order placed by the record `sequence` at `time`, from its effects alone; `None` if they
    /// do not place one.
    #[inline]
    pub fn of(
        sequence: Sequence,
        time: TimeMs,
        effects: &[Effect],
    ) -> Result<Option<PlacedJson>, Overflow> {
        let accepted = effects.iter().find_map(|effect| match effect {
            Effect::OrderAccepted { order, terms } => Some((*order, terms)),
            _ => None,
        });
        let Some((order, terms)) = accepted else { return Ok(None) };
        let outcome = Outcomes::of(sequence, time, (order, terms.wording), effects)?;
        Ok(Some(PlacedJson {
            order_id: Text(order.id(time)),
            status: outcome.status().name(),
            filled_quantity: Text(outcome.filled),
            remaining_quantity: Text(outcome.resting),
            average_fill_price: Text(AveragePrice {
                notional: outcome.cost,
                quantity: outcome.filled,
            }),
            trades: outcome.trades,
            cancelled_quantity: Text(outcome.cancelled),
            cancel_reason: outcome.reason.map(CancelReason::code),
            filled_cost: Text(outcome.cost),
            client_order_id: terms.client_order_id.as_deref().copied().map(Text),
            sequence: sequence.get(),
        }))
    }
}

impl PlacedJson {
    /// The same answer for a repetition. Later fills as a maker are not part of it. `None` if there
    /// is no such order.
    ///
    /// # Errors
    /// History cannot be read.
    pub fn again(placed: AsPlaced) -> Result<Option<PlacedJson>, HistoryError> {
        let Some((row, fills)) = placed.read()? else { return Ok(None) };
        let trades = fills.into_iter().map(TradeJson::from).collect();
        let beside = BesideJson::of(&row);
        Ok(Some(PlacedJson {
            order_id: Text(row.id()),
            status: row.status.name(),
            filled_quantity: Text(row.filled),
            remaining_quantity: Text(row.remaining),
            average_fill_price: Text(row.average_price()),
            trades,
            cancelled_quantity: beside.cancelled_quantity,
            cancel_reason: beside.cancel_reason,
            filled_cost: beside.filled_cost,
            client_order_id: beside.client_order_id,
            sequence: beside.sequence,
        }))
    }
}

/// The result of a dry run.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TriedJson<T> {
    /// The answer as if it were executed; ids of new objects refer to nothing.
    #[serde(flatten)]
    pub result: T,
    /// Always true, so that it cannot be mistaken for a real answer.
    pub dry_run: bool,
    /// The caller's balance afterwards.
    pub balance: BalanceJson,
}

/// The order in the result of a batch operation.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum BatchOrderJson {
    /// It was placed.
    Placed(PlacedJson),
    /// It was cancelled.
    Cancelled(OrderJson),
}

/// The result of one operation of a batch.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum ResultJson {
    /// It was executed.
    #[serde(rename_all = "camelCase")]
    Order {
        /// The order.
        order: BatchOrderJson,
        /// Whether an earlier request executed it: `Idempotent-Replay` of a single operation.
        #[serde(rename = "idempotentReplay", skip_serializing_if = "std::ops::Not::not")]
        replayed: bool,
    },
    /// It was refused.
    Error {
        /// Why.
        error: ProblemJson,
    },
}

/// The results of a batch (semantics 8).
#[derive(Debug, Serialize)]
pub struct BatchJson {
    /// One per operation, in order.
    pub results: Vec<ResultJson>,
}

/// An open order as a record that amends or cancels it would leave it.
///
/// # Errors
/// A sum leaves the range of its type.
pub fn after(before: &OrderRow, applied: &Applied<'_>) -> Result<OrderRow, Overflow> {
    let Applied { sequence, time, effects } = *applied;
    let result = Outcomes::of(sequence, time, (before.no, before.wording), effects)?;
    let mut row = *before;
    if effects.is_empty() {
        return Ok(row);
    }
    row.updated_at = time;
    row.filled = row.filled.plus(result.filled)?;
    row.filled_cost = row.filled_cost.plus(result.cost)?;
    (row.remaining, row.cancelled, row.cancel_reason) =
        (result.resting, result.cancelled, result.reason);
    for effect in effects {
        if let Effect::OrderAmended { order, price, quantity, remaining, kept_place, .. } = effect
            && *order == before.no
        {
            (row.price, row.quantity) = (before.wording.yes_price(*price), *quantity);
            if *kept_place {
                row.remaining = *remaining;
            }
        }
    }
    row.status = status_of(row.cancel_reason, row.remaining, row.filled);
    Ok(row)
}

/// The order that a record places, as that record leaves it; `None` if it places none.
///
/// # Errors
/// A sum leaves the range of its type.
pub fn placed_row(applied: &Applied<'_>) -> Result<Option<OrderRow>, Overflow> {
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
    };
    after(&fresh, applied).map(Some)
}

/// The result of an incoming order within its record.
#[derive(Debug, Default)]
struct Outcomes {
    trades: Vec<TradeJson>,
    filled: Lots,
    cost: Money,
    resting: Lots,
    cancelled: Lots,
    reason: Option<CancelReason>,
}

impl Outcomes {
    fn of(
        sequence: Sequence,
        time: TimeMs,
        (placed, wording): (OrderNo, Wording),
        effects: &[Effect],
    ) -> Result<Outcomes, Overflow> {
        let mut result = Outcomes::default();
        for effect in effects {
            match effect {
                Effect::TradeMade(trade) if trade.taker.order == placed => {
                    let price = wording.yes_price(trade.price);
                    result.filled = result.filled.plus(trade.quantity)?;
                    result.cost = result.cost.plus(price.times(trade.quantity)?)?;
                    result.trades.push(TradeJson {
                        id: Text(TradeId::of(time, sequence, trade.index)),
                        price: Text(price),
                        quantity: Text(trade.quantity),
                        timestamp: Timestamp(time),
                    });
                }
                Effect::OrderRested { order, remaining, .. } if *order == placed => {
                    result.resting = *remaining;
                }
                Effect::OrderCancelled { order, quantity, reason, .. } if *order == placed => {
                    (result.cancelled, result.reason) = (*quantity, Some(*reason));
                }
                _ => {}
            }
        }
        Ok(result)
    }

    const fn status(&self) -> OrderStatus {
        status_of(self.reason, self.resting, self.filled)
    }
}

const fn status_of(reason: Option<CancelReason>, standing: Lots, filled: Lots) -> OrderStatus {
    match (reason, standing.is_zero(), filled.is_zero()) {
        (Some(_), _, _) => OrderStatus::Cancelled,
        (None, true, _) => OrderStatus::Filled,
        (None, false, true) => OrderStatus::Open,
        (None, false, false) => OrderStatus::PartiallyFilled,
    }
}

/// A fill of the caller (semantics 8).
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FillJson {
    id: Text<TradeId>,
    order_id: Text<OrderId>,
    market_id: Option<Text<MarketId>>,
    outcome_id: OutcomeId,
    side: &'static str,
    price: Text<Tick>,
    quantity: Text<Lots>,
    liquidity: &'static str,
    fee: Text<Money>,
    timestamp: Timestamp,
    sequence: u64,
}

impl FillJson {
    /// The fill as its owner sees it.
    pub fn of(view: &ReadModel, row: &FillRow) -> FillJson {
        FillJson {
            id: Text(row.id()),
            order_id: Text(row.order_id()),
            market_id: view.catalogue.market(row.market).map(|market| Text(market.id)),
            outcome_id: OutcomeId(row.wording.outcome),
            side: row.wording.side.name(),
            price: Text(row.price),
            quantity: Text(row.quantity),
            liquidity: match row.liquidity {
                Liquidity::Maker => "MAKER",
                Liquidity::Taker => "TAKER",
            },
            fee: Text(row.fee),
            timestamp: Timestamp(row.time),
            sequence: row.sequence.get(),
        }
    }
}

/// A page of fills.
#[derive(Debug, Serialize)]
pub struct FillsJson {
    /// Newest first.
    pub fills: Vec<FillJson>,
    /// Its place.
    #[serde(flatten)]
    pub paging: Paging,
    /// The next page, if a cursor was given.
    #[serde(flatten)]
    pub next: Option<CursorEcho>,
}
