//! The JSON of the journal: its records in the terms of the interface, and its head.

mod orders;
mod reading;

use serde::Serialize;

pub use self::orders::OrdersNamed;
use self::reading::Reading;
use super::catalogue::LocalizedJson;
use super::{OutcomeId, Text, Timestamp};
use exchange::command::{Record, SeenTerms};
use exchange::digest::StateDigest;
use exchange::fees::FeeRate;
use exchange::ids::{CategoryId, EventId, KeyId, MarketId, OrderId, Token, UserId};
use exchange::results::ResultsHash;
use exchange::units::{Lots, Money, SettlementPrice, Tick};
use views::ReadModel;

/// The journal's head and the hashes that authenticate everything up to it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AuditHeadJson {
    /// The last record.
    pub sequence: u64,
    /// Its time.
    pub time: Timestamp,
    /// Chain hash of the block that ends with it; covers all blocks before.
    pub chain_hash: String,
    /// Hash of the results of all records up to it.
    pub results_hash: Text<ResultsHash>,
    /// Digest of the state after it.
    pub state_digest: Text<StateDigest>,
}

/// A page of the journal.
#[derive(Debug, Serialize)]
pub struct JournalJson<R> {
    /// The first sequence number requested.
    pub from: u64,
    /// Most records on a page.
    pub limit: u64,
    /// First sequence number of the next page; `null` at the journal's end.
    pub next: Option<u64>,
    /// In order.
    pub records: Vec<R>,
}

/// A record.
#[derive(Debug, Serialize)]
pub struct RecordJson<'a> {
    sequence: u64,
    time: Timestamp,
    #[serde(flatten)]
    command: CommandJson<'a>,
    #[serde(rename = "idempotencyKey", skip_serializing_if = "Option::is_none")]
    once: Option<IdempotencyKeyJson>,
}

/// The command. An id is `null` for an object that a refused command would have created, and for
/// one that the command names but that does not exist.
#[derive(Debug, Serialize)]
#[serde(tag = "kind", rename_all = "SCREAMING_SNAKE_CASE", rename_all_fields = "camelCase")]
enum CommandJson<'a> {
    OpenVenue {
        rules_version: u32,
        currency: &'a str,
        user_open_orders_max: u32,
        venue_open_orders_max: u32,
        money_supply_max: Text<Money>,
        repeat_window_seconds: u32,
        user_names_max: u32,
    },
    CreateUser {
        user_id: Id<UserId>,
        profile_name: &'a str,
        profile_pic: &'a str,
    },
    AddKey {
        user_id: Id<UserId>,
        key_id: Id<KeyId>,
        role: &'static str,
        label: &'a str,
        key_hash: String,
    },
    RevokeKey {
        user_id: Id<UserId>,
        key_id: Id<KeyId>,
    },
    Deposit {
        user_id: Id<UserId>,
        amount: Text<Money>,
    },
    Withdraw {
        user_id: Id<UserId>,
        amount: Text<Money>,
    },
    TakeFees {
        user_id: Id<UserId>,
        amount: Text<Money>,
    },
    CreateCategory {
        category_id: Id<CategoryId>,
        name: &'a str,
        slug: &'a str,
    },
    CreateEvent {
        event_id: Id<EventId>,
        titles: LocalizedJson<'a>,
        sub_titles: LocalizedJson<'a>,
        descriptions: LocalizedJson<'a>,
        images: &'a [String],
        highlighted: bool,
        category_ids: Vec<Id<CategoryId>>,
        mutually_exclusive: bool,
    },
    CreateMarket {
        market_id: Id<MarketId>,
        event_id: Id<EventId>,
        questions: LocalizedJson<'a>,
        descriptions: LocalizedJson<'a>,
        outcomes: [OutcomeTextJson<'a>; 2],
        logo: &'a str,
        deadline: Timestamp,
        highlighted: bool,
        category_ids: Vec<Id<CategoryId>>,
        dispute_window_seconds: u32,
        maker_fee: Text<FeeRate>,
        taker_fee: Text<FeeRate>,
    },
    ReviseEvent {
        event_id: Id<EventId>,
        #[serde(flatten)]
        revision: EventRevisionJson<'a>,
    },
    ReviseMarket {
        market_id: Id<MarketId>,
        #[serde(flatten)]
        revision: MarketRevisionJson<'a>,
    },
    PublishMarket {
        market_id: Id<MarketId>,
    },
    SuspendMarket {
        market_id: Id<MarketId>,
    },
    ReopenMarket {
        market_id: Id<MarketId>,
        deadline: Option<Timestamp>,
    },
    CloseMarket {
        market_id: Id<MarketId>,
    },
    ResolveMarket {
        market_id: Id<MarketId>,
        winning_outcome_id: OutcomeId,
    },
    DisputeMarket {
        market_id: Id<MarketId>,
    },
    VoidMarket {
        market_id: Id<MarketId>,
        price: Text<SettlementPrice>,
    },
    PlaceOrder(Box<PlaceOrderJson>),
    AmendOrder {
        order_id: Id<OrderId>,
        user_id: Id<UserId>,
        price: Option<Text<Tick>>,
        quantity: Option<Text<Lots>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        seen: Option<SeenJson>,
    },
    CancelOrder {
        order_id: Id<OrderId>,
        user_id: Id<UserId>,
    },
    CancelOrders {
        user_id: Id<UserId>,
        market_id: Id<MarketId>,
    },
    Convert {
        user_id: Id<UserId>,
        event_id: Id<EventId>,
        market_ids: Vec<Id<MarketId>>,
        quantity: Text<Lots>,
    },
    AdvanceClock {},
    Heartbeat {
        user_id: Id<UserId>,
        timeout_seconds: u32,
    },
    SetVenueMode {
        mode: &'static str,
    },
    SetUserMode {
        user_id: Id<UserId>,
        mode: &'static str,
    },
    SetExposureLimit {
        user_id: Id<UserId>,
        limit: Option<Text<Money>>,
    },
}

/// The caller's idempotency key.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct IdempotencyKeyJson {
    caller_id: Id<UserId>,
    key: Text<Token>,
    part: u8,
}

/// What the owner of an amended order saw of it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct SeenJson {
    price: Text<Tick>,
    quantity: Text<Lots>,
    filled_quantity: Text<Lots>,
}

impl From<SeenTerms> for SeenJson {
    fn from(seen: SeenTerms) -> SeenJson {
        let (price, quantity) = (Text(seen.price), Text(seen.quantity));
        SeenJson { price, quantity, filled_quantity: Text(seen.filled) }
    }
}

/// An id, if the object exists.
type Id<T> = Option<Text<T>>;

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct PlaceOrderJson {
    order_id: Id<OrderId>,
    user_id: Id<UserId>,
    market_id: Id<MarketId>,
    outcome_id: OutcomeId,
    side: &'static str,
    price: Text<Tick>,
    quantity: Text<Lots>,
    time_in_force: &'static str,
    expires_at: Option<Timestamp>,
    self_trade_prevention: &'static str,
    post_only: bool,
    reduce_only: bool,
    valid_until: Option<Timestamp>,
    copy_from_trader_id: Id<UserId>,
    client_order_id: Option<Text<Token>>,
}

/// An outcome and its text.
#[derive(Debug, Serialize)]
struct OutcomeTextJson<'a> {
    id: OutcomeId,
    text: LocalizedJson<'a>,
}

/// The changes to an event; unchanged members are left out.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct EventRevisionJson<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    titles: Option<LocalizedJson<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sub_titles: Option<LocalizedJson<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    descriptions: Option<LocalizedJson<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    images: Option<&'a [String]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    highlighted: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    category_ids: Option<Vec<Id<CategoryId>>>,
}

/// The changes to a market; unchanged members are left out.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct MarketRevisionJson<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    questions: Option<LocalizedJson<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    descriptions: Option<LocalizedJson<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    outcomes: Vec<OutcomeTextJson<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    logo: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    deadline: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    highlighted: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    category_ids: Option<Vec<Id<CategoryId>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    maker_fee: Option<Text<FeeRate>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    taker_fee: Option<Text<FeeRate>>,
}

impl<'a> RecordJson<'a> {
    /// The record, with the ids of what it names. Texts are borrowed.
    pub fn of(view: &ReadModel, orders: &OrdersNamed, record: &'a Record) -> RecordJson<'a> {
        let reading = Reading { view, orders, record };
        RecordJson {
            sequence: record.sequence.get(),
            time: Timestamp(record.time),
            command: reading.command(),
            once: reading.once(),
        }
    }
}
