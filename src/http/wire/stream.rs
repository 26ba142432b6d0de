//! The JSON of the stream: what each kind of message carries, and what surrounds it. What REST
//! shows too is of the same types.

use schemars::{Schema, SchemaGenerator};
use serde::{Serialize, Serializer};

use super::account::{BalanceJson, HeartbeatJson, PositionJson};
use super::catalogue::{ActivityJson, MarketDetailJson};
use super::order::{FillJson, OrderJson};
use super::statement::{LedgerLineJson, SettlementJson};
use super::tape::{PublicTradeJson, StatsJson};
use super::words::{Probability, named};
use super::{Number, RecordNo, Text, Timestamp};
use exchange::command::Direction;
use exchange::ids::{MarketId, TradeId};
use exchange::results::ResultsHash;
use exchange::units::{Lots, MoneySum, Ratio, Sequence, Tick, TimeMs};

/// Declares the kinds of messages: each has a name and what it carries.
macro_rules! messages {
    ($($(#[doc = $about:literal])+ $Kind:ident($data:ty) = $name:literal;)+) => {
        /// What a message carries.
        #[derive(Debug, Serialize)]
        #[serde(untagged)]
        pub enum Body {
            $($(#[doc = $about])+ $Kind($data),)+
        }

        impl Body {
            /// The name of its kind.
            pub const fn kind(&self) -> &'static str {
                match self {
                    $(Body::$Kind(_) => $name,)+
                }
            }
        }

        /// Every kind, described.
        pub const KINDS: &[MessageKind] = &[
            $(MessageKind {
                name: $name,
                about: concat!($($about),+),
                schema: |generator| generator.subschema_for::<$data>(),
            },)+
        ];
    };
}

/// A kind of messages, described.
#[derive(Debug)]
pub struct MessageKind {
    /// Its name.
    pub name: &'static str,
    /// What it says.
    pub about: &'static str,
    /// The schema of what it carries.
    pub schema: fn(&mut SchemaGenerator) -> Schema,
}

messages! {
    /// The beginning of a channel that tells of events: what follows is everything after it.
    Begin(BeginJson) = "snapshot";
    /// A market's whole book; it replaces what was known of it.
    Book(BookJson) = "book";
    /// What now stands at the prices that changed.
    Levels(BookJson) = "levels";
    /// The best bid and the best ask.
    Top(TopJson) = "top";
    /// Every order on a market's book, in the order in which they trade at each price.
    Orders(OrdersOnBookJson) = "orders";
    /// An order came on the book, behind all others of its price.
    Added(OrderOnBookJson) = "added";
    /// An order's quantity became less, and it kept its place.
    Reduced(ReducedJson) = "reduced";
    /// An order left the book without a trade.
    Removed(RemovedJson) = "removed";
    /// A resting order traded.
    Traded(TradedJson) = "traded";
    /// A trade.
    Trade(PublicTradeJson) = "trade";
    /// A trade or a change of status.
    Activity(ActivityJson) = "activity";
    /// A market as it is now.
    Market(Box<MarketDetailJson>) = "market";
    /// A market's figures.
    Stats(StreamStatsJson) = "stats";
    /// What the account has: its money, the newest open orders and the positions.
    Account(Box<AccountJson>) = "account";
    /// An order of the account, as the record left it.
    Order(Box<OrderJson>) = "order";
    /// A fill of one of the account's orders.
    Fill(Box<FillJson>) = "fill";
    /// What the account now holds in a market.
    Position(Box<HeldJson>) = "position";
    /// The account's money.
    Balance(BalanceJson) = "balance";
    /// A change of the account's money.
    Ledger(Box<LedgerLineJson>) = "ledger";
    /// What a market paid for the account's contracts.
    Settlement(Box<SettlementJson>) = "settlement";
    /// A dead man's switch of the account's ran out: the orders that it guards are cancelled.
    HeartbeatExpired(HeartbeatJson) = "heartbeatExpired";
    /// A record of the journal.
    Record(RecordText) = "record";
    /// The hash of the results of all records so far, at the end of each block.
    Results(ResultsJson) = "results";
}

answers! {
    /// The beginning of a channel.
    BeginJson = "StreamBeginning" (count: u64) {
        /// How many there were before: trades, rows of activity, markets or records.
        count: u64 = count;
    }

    /// What stands at one price, in terms of yes. A quantity of 0 is nothing.
    BookLevelJson = "BookLevel" (side: Direction, price: Tick, quantity: Lots, orders: u32) {
        #[schemars(extend("enum" = ["bid", "ask"]))]
        side: &'static str = side_name(side);
        price: Text<Tick> = Text(price);
        /// The price of the same in terms of no, where a bid is an ask.
        price_no: Text<Tick> = Text(price.complement());
        quantity: Text<Lots> = Text(quantity);
        orders: u32 = orders;
    }

    /// Levels of a book.
    BookJson = "BookLevels" (levels: Vec<BookLevelJson>) {
        /// In no order, each price of a side once.
        levels: Vec<BookLevelJson> = levels;
    }

    /// The best prices, null on an empty side.
    TopJson = "BookTop" (bid: Option<BookLevelJson>, ask: Option<BookLevelJson>) {
        best_bid: Option<BookLevelJson> = bid;
        best_ask: Option<BookLevelJson> = ask;
    }

    /// An order on a book, without its owner.
    OrderOnBookJson = "OrderOnBook" (
        order: Sequence, side: Direction, price: Tick, quantity: Lots,
    ) {
        /// Its public number: that of the record that placed it.
        order: RecordNo = RecordNo(order);
        #[schemars(extend("enum" = ["bid", "ask"]))]
        side: &'static str = side_name(side);
        price: Text<Tick> = Text(price);
        price_no: Text<Tick> = Text(price.complement());
        quantity: Text<Lots> = Text(quantity);
    }

    /// All orders on a book.
    OrdersOnBookJson = "OrdersOnBook" (orders: Vec<OrderOnBookJson>) {
        orders: Vec<OrderOnBookJson> = orders;
    }

    /// An order that is smaller now.
    ReducedJson = "OrderReduced" (order: Sequence, quantity: Lots) {
        order: RecordNo = RecordNo(order);
        /// What is left of it.
        quantity: Text<Lots> = Text(quantity);
    }

    /// An order that is gone.
    RemovedJson = "OrderRemoved" (order: Sequence) {
        order: RecordNo = RecordNo(order);
    }

    /// A resting order that traded.
    TradedJson = "OrderTraded" (order: Sequence, trade: TradeId, quantity: Lots, left: Lots) {
        order: RecordNo = RecordNo(order);
        trade_id: Text<TradeId> = Text(trade);
        /// What traded.
        quantity: Text<Lots> = Text(quantity);
        /// What is left of it; at 0 it is gone.
        remaining_quantity: Text<Lots> = Text(left);
    }

    /// A market's figures, and its displayed probability.
    StreamStatsJson = "StreamStats" (stats: StatsJson, probability: Ratio) {
        #[serde(flatten)]
        stats: StatsJson = stats;
        /// Of yes.
        #[schemars(with = "Probability")]
        probability: Number<Ratio> = Number(probability);
    }

    /// An account as it is now.
    AccountJson = "StreamAccount" (
        balance: BalanceJson, orders: Vec<OrderJson>, positions: Vec<PositionJson>, cut: bool,
    ) {
        balance: BalanceJson = balance;
        /// Open orders, newest first.
        orders: Vec<OrderJson> = orders;
        /// Open positions.
        positions: Vec<PositionJson> = positions;
        /// Whether there are more orders or positions than these; the lists have them.
        truncated: bool = cut;
    }

    /// What an account holds in one market.
    HeldJson = "StreamPosition" (
        market: MarketId, held: Vec<PositionJson>, realised: MoneySum,
    ) {
        market_id: Text<MarketId> = Text(market);
        /// Empty once nothing is held any more.
        positions: Vec<PositionJson> = held;
        /// Realised in this market so far, after fees.
        realised_pnl: Text<MoneySum> = Text(realised);
    }

    /// What authenticates all results up to a record.
    ResultsJson = "StreamResults" (through: Sequence, hash: ResultsHash) {
        /// The last record that it covers.
        through: RecordNo = RecordNo(through);
        results_hash: Text<ResultsHash> = Text(hash);
    }
}

/// What a message does to the orders on a book.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnBook {
    /// An order came, behind all others of its price.
    Added(Sequence, Direction, Tick, Lots),
    /// So much is left of an order; nothing if it is gone.
    Left(Sequence, Lots),
    /// All are gone.
    Cleared,
}

impl Body {
    /// What it does to the orders on a book, if it tells of them.
    pub fn on_book(&self) -> Option<OnBook> {
        Some(match self {
            Body::Added(it) => {
                let is_bid = it.side == side_name(Direction::Up);
                let side = if is_bid { Direction::Up } else { Direction::Down };
                OnBook::Added(it.order.0, side, it.price.0, it.quantity.0)
            }
            Body::Reduced(it) => OnBook::Left(it.order.0, it.quantity.0),
            Body::Removed(it) => OnBook::Left(it.order.0, Lots::ZERO),
            Body::Traded(it) => OnBook::Left(it.order.0, it.remaining_quantity.0),
            Body::Orders(_) => OnBook::Cleared,
            _ => return None,
        })
    }
}

/// The side of the book that orders of this direction rest on, in terms of yes.
const fn side_name(side: Direction) -> &'static str {
    match side {
        Direction::Up => "bid",
        Direction::Down => "ask",
    }
}

/// A record as `/admin/journal` shows it, printed.
#[derive(Debug)]
pub struct RecordText(pub Vec<u8>);

impl Serialize for RecordText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.0)
    }
}

named! {
    RecordText: "JournalRecord",
}

/// A message: what it carries, and where it belongs.
#[derive(Debug, Serialize)]
pub struct Envelope<'a> {
    /// The channel.
    pub channel: &'a str,
    /// The kind.
    pub kind: &'static str,
    /// The record that it tells of, or as of which it shows a state.
    pub sequence: RecordNo,
    /// The record that changed the channel before.
    pub previous: RecordNo,
    /// When.
    pub time: Timestamp,
    /// It stands for changes that were left out, as the reader was slow.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub conflated: bool,
    /// What it carries.
    pub data: &'a Body,
}

impl<'a> Envelope<'a> {
    /// A message of a channel.
    pub fn of(
        channel: &'a str,
        at: (Sequence, TimeMs),
        previous: Sequence,
        data: &'a Body,
    ) -> Self {
        let (sequence, time) = at;
        Envelope {
            channel,
            kind: data.kind(),
            sequence: RecordNo(sequence),
            previous: RecordNo(previous),
            time: Timestamp(time),
            conflated: false,
            data,
        }
    }
}
