//! The JSON of orders, their trades and fills.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Serialize, Serializer};

use super::account::BalanceJson;
use super::problem::ProblemJson;
use super::words::OrderType;
use super::{CursorEcho, OutcomeId, Paging, RecordNo, Text, Timestamp};
use exchange::ahead::Ahead;
use exchange::command::{Side, TimeInForce};
use exchange::effect::CancelReason;
use exchange::ids::{Group, MarketId, OrderId, Token, TradeId};
use exchange::units::{AveragePrice, Lots, Money, Tick, TimeMs};
use views::ReadModel;
use views::fills::{FillRow, Held, Liquidity};
use views::orders::{OrderRow, OrderStatus};

answers! {
    /// An order. originalQuantity = filled + remaining + cancelled.
    OrderJson = "Order" (market: Option<MarketId>, row: &OrderRow) {
        id: Text<OrderId> = Text(row.id());
        #[schemars(with = "Text<MarketId>")]
        market_id: Option<Text<MarketId>> = market.map(Text);
        outcome_id: OutcomeId = Text(row.wording.outcome);
        side: Text<Side> = Text(row.wording.side);
        #[schemars(with = "OrderType")]
        order_type: &'static str = "LIMIT";
        price: Text<Tick> = Text(row.price);
        original_quantity: Text<Lots> = Text(row.quantity);
        /// On the book; 0 once the order is final.
        remaining_quantity: Text<Lots> = Text(row.remaining);
        filled_quantity: Text<Lots> = Text(row.filled);
        average_fill_price: Text<AveragePrice> = Text(row.average_price());
        status: Text<OrderStatus> = Text(row.status);
        time_in_force: Text<TimeInForce> = Text(row.time_in_force);
        created_at: Timestamp = Timestamp(row.created_at);
        updated_at: Timestamp = Timestamp(row.updated_at);
        cancelled_quantity: Text<Lots> = Text(row.cancelled);
        cancel_reason: Option<Text<CancelReason>> = row.cancel_reason.map(Text);
        /// Price times quantity over what was filled, in the owner's own words: what a purchase
        /// cost, or what a sale is for. What it moved in money is in the ledger.
        filled_cost: Text<Money> = Text(row.filled_cost);
        /// The owner's own name for it.
        client_order_id: Option<Text<Token>> = row.client_id.map(Text);
        /// The group to which its owner counts it.
        group: Option<Text<Group>> = row.group.map(Text);
        /// The record that placed it.
        sequence: RecordNo = RecordNo(row.no.0);
        /// When what rests of it is cancelled; null for never.
        expires_at: Option<Timestamp> = row.time_in_force.expires_at().map(Timestamp);
        /// Its place in the queue of its price; only with queue=true, and on a stream where the
        /// record put it there. null where it does not rest, or more than 1000 orders stand before
        /// it and as many behind it.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schemars(with = "Option<QueueJson>")]
        queue: Option<Option<QueueJson>> = None;
    }

    /// What is filled before an order, if nothing of it is cancelled.
    QueueJson = "QueuePlace" (ahead: Ahead) {
        quantity_ahead: Text<Lots> = Text(ahead.quantity);
        orders_ahead: u32 = ahead.orders;
    }

    /// An order as an amend left it, or would leave it.
    AmendedJson = "AmendedOrder" (order: OrderJson, after: Option<BalanceJson>) {
        #[serde(flatten)]
        order: OrderJson = order;
        /// True where nothing was changed.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schemars(with = "bool")]
        dry_run: Option<bool> = after.as_ref().map(|_| true);
        /// The caller's money after it; only with dryRun.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schemars(with = "BalanceJson")]
        balance: Option<BalanceJson> = after;
    }

    /// A trade that the order made at once.
    TradeJson = "Trade" (id: TradeId, price: Tick, quantity: Lots, time: TimeMs) {
        id: Text<TradeId> = Text(id);
        price: Text<Tick> = Text(price);
        quantity: Text<Lots> = Text(quantity);
        timestamp: Timestamp = Timestamp(time);
    }

    /// What came of an order within its record.
    PlacedJson = "PlacedOrder" (row: &OrderRow, trades: Vec<TradeJson>) {
        order_id: Text<OrderId> = Text(row.id());
        status: Text<OrderStatus> = Text(row.status);
        filled_quantity: Text<Lots> = Text(row.filled);
        remaining_quantity: Text<Lots> = Text(row.remaining);
        average_fill_price: Text<AveragePrice> = Text(row.average_price());
        trades: Vec<TradeJson> = trades;
        cancelled_quantity: Text<Lots> = Text(row.cancelled);
        cancel_reason: Option<Text<CancelReason>> = row.cancel_reason.map(Text);
        /// Price times quantity over what was filled, in the owner's own words: what a purchase
        /// cost, or what a sale is for. What it moved in money is in the ledger.
        filled_cost: Text<Money> = Text(row.filled_cost);
        /// The owner's own name for it.
        client_order_id: Option<Text<Token>> = row.client_id.map(Text);
        /// The record that placed it.
        sequence: RecordNo = RecordNo(row.no.0);
        /// True where nothing was recorded; the ids then name nothing.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schemars(with = "bool")]
        dry_run: Option<bool> = None;
        /// The caller's money after it; only with dryRun.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schemars(with = "BalanceJson")]
        balance: Option<BalanceJson> = None;
    }

    /// An order that was taken off the book.
    CancelledOrderJson = "CancelledOrder" (row: OrderRow) {
        order_id: Text<OrderId> = Text(row.id());
        /// What it had traded before.
        filled_quantity: Text<Lots> = Text(row.filled);
        cancelled_quantity: Text<Lots> = Text(row.cancelled);
    }

    /// Contracts of a market, those that back open orders among them.
    HeldJson = "Held" (held: Held) {
        yes: Text<Lots> = Text(held.yes);
        no: Text<Lots> = Text(held.no);
    }

    /// A fill of one of the caller's orders.
    FillJson = "Fill" (view: &ReadModel, row: &FillRow) {
        /// The trade's id; the other side's fill has the same.
        id: Text<TradeId> = Text(row.id());
        order_id: Text<OrderId> = Text(row.order_id());
        #[schemars(with = "Text<MarketId>")]
        market_id: Option<Text<MarketId>> =
            view.catalogue.market(row.market).map(|market| Text(market.id));
        outcome_id: OutcomeId = Text(row.wording.outcome);
        side: Text<Side> = Text(row.wording.side);
        price: Text<Tick> = Text(row.price);
        quantity: Text<Lots> = Text(row.quantity);
        liquidity: Text<Liquidity> = Text(row.liquidity);
        /// What it cost the caller besides: the market's rate x price x (1 - price) x quantity,
        /// rounded up.
        fee: Text<Money> = Text(row.fee);
        /// The owner's own name for the order.
        client_order_id: Option<Text<Token>> = row.client_id.map(Text);
        /// What the caller holds in this market after it. Of several fills that an order made at
        /// once, each has what was held after the last.
        held_after: HeldJson = HeldJson::of(row.held);
        timestamp: Timestamp = Timestamp(row.time);
        sequence: RecordNo = RecordNo(row.sequence);
    }
}

impl OrderJson {
    /// The order as of this row.
    pub fn seen(view: &ReadModel, row: &OrderRow) -> OrderJson {
        OrderJson::of(view.catalogue.market(row.market).map(|market| market.id), row)
    }
}

impl OrderJson {
    /// The order with its place in the queue, if that is known.
    #[must_use]
    pub fn queued(self, ahead: Option<Ahead>) -> OrderJson {
        OrderJson { queue: Some(ahead.map(QueueJson::of)), ..self }
    }
}

impl PlacedJson {
    /// The answer to a dry run, after which the caller would have this money.
    #[must_use]
    pub fn tried(self, balance: BalanceJson) -> PlacedJson {
        PlacedJson { dry_run: Some(true), balance: Some(balance), ..self }
    }
}

impl CancelledOrderJson {
    /// The id of the order.
    pub const fn id(&self) -> Text<OrderId> {
        self.order_id
    }
}

impl From<FillRow> for TradeJson {
    fn from(fill: FillRow) -> TradeJson {
        TradeJson::of(fill.id(), fill.price, fill.quantity, fill.time)
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
        OrderJson::of(self.market, &self.row).serialize(serializer)
    }
}

impl JsonSchema for ListedOrder {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        OrderJson::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        generator.subschema_for::<OrderJson>()
    }
}

/// The caller's orders, newest first.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "OrderList")]
pub struct OrdersJson {
    pub orders: Vec<ListedOrder>,
    // Without a cursor the interface has no pages here.
    #[serde(flatten)]
    pub next: Option<CursorEcho>,
    #[serde(flatten)]
    pub cut: Option<CutJson>,
}

/// What a list says that lacks ended orders.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CutJson {
    /// True where ended orders are left out; only where no cursor was sent.
    pub truncated: bool,
    /// The cursor with which to go on; only where the list is truncated.
    pub cursor: Text<u64>,
}

/// The orders taken off the book, oldest first.
#[derive(Debug, Default, Serialize, JsonSchema)]
#[schemars(rename = "CancelledOrders")]
pub struct CancelledJson {
    pub cancelled: Vec<Text<OrderId>>,
    /// What came of each, in the same order.
    pub orders: Vec<CancelledOrderJson>,
}

/// A page of fills, newest first.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "FillPage")]
pub struct FillsJson {
    pub fills: Vec<FillJson>,
    #[serde(flatten)]
    pub paging: Paging,
    #[serde(flatten)]
    pub next: Option<CursorEcho>,
}

/// What came of a place or a replacement, or of a cancel or an amend.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "OrderOfResult")]
pub enum BatchOrderJson {
    Placed(PlacedJson),
    Changed(OrderJson),
}

/// An operation that was done.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "OrderResult")]
pub struct DoneJson {
    pub order: BatchOrderJson,
    /// The order that gave way, as cancelled; only of a replacement.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "OrderJson")]
    pub replaced: Option<OrderJson>,
    /// True where it was done before, under the same Idempotency-Key or clientOrderId.
    #[serde(rename = "idempotentReplay", skip_serializing_if = "std::ops::Not::not")]
    pub replayed: bool,
}

/// An operation that was refused.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ErrorResult")]
pub struct RefusedJson {
    pub error: ProblemJson,
}

/// What came of one operation.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "Result")]
pub enum ResultJson {
    Done(DoneJson),
    Refused(RefusedJson),
}

/// One result an operation, in their order.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ResultList")]
pub struct BatchJson {
    pub results: Vec<ResultJson>,
    /// True where nothing was recorded; ids of what would be made name nothing.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub dry_run: bool,
    /// The caller's money after all; only with dryRun.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "BalanceJson")]
    pub balance: Option<BalanceJson>,
}
