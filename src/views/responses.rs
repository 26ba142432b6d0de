//! Stored responses: the first response to each request that may be repeated, kept for as long as
//! the exchange keeps its idempotency key (semantics 8). Answers about orders are looked up.

use std::borrow::Cow;
use std::collections::VecDeque;

use super::ReadModel;
use super::accounts::{Balance, UserRow};
use super::catalogue::{EventRow, MarketRow};
use super::disputes::DisputeRow;
use super::orders::{OrderRow, OrderStatus};
use super::proposals::ProposalRow;
use super::saved::{Sizes, hold, saved, saved_enum};
use super::transfers::TransferRow;
use exchange::command::{PlaceOrder, TradingMode};
use exchange::effect::{Applied, CancelReason, Effect};
use exchange::ids::{CategoryNo, EventNo, Group, KeyNo, MarketSet, OrderNo, UserNo};
use exchange::image::coding::BadImage;
use exchange::restrictions::Heartbeat;
use exchange::units::{Lots, Money, Ratio, Sequence, Tick, TimeMs};

/// Expired responses removed per record: more than the one that a record can add.
const REMOVED_PER_RECORD: usize = 64;

/// The data of a response as its record left it. Boxed: there may be millions of the smaller kinds.
#[derive(Debug, Clone)]
pub enum StoredResponse {
    /// An order that was placed: its row as it was then can be looked up.
    Placed(UserNo, OrderNo),
    /// An order that was cancelled, and so never changes.
    Cancelled(UserNo, OrderNo),
    /// An order that was amended, as it was then.
    Amended(Box<Amended>),
    /// An account's money after a deposit, a withdrawal or a payout of fees.
    Balance(Box<Balance>),
    /// A user that was created, or whose mode or limit was set.
    User(Box<UserRow>),
    /// The venue's trading mode.
    VenueMode(TradingMode),
    /// A heartbeat.
    Heartbeat(Box<Heartbeat>),
    /// That of a group.
    GroupHeartbeat(Box<(Group, Heartbeat)>),
    /// A new key; not yet revoked.
    Key(KeyNo),
    /// A new category; categories never change.
    Category(CategoryNo),
    /// A new event.
    Event(Box<EventRow>),
    /// A market that was created or moved, and the displayed probability of yes.
    Market(Box<(MarketRow, Ratio)>),
    /// A conversion.
    Converted(Box<Converted>),
    /// A transfer that was asked for or answered.
    Transfer(Box<TransferRow>),
    /// What was proposed.
    Proposal(Box<ProposalRow>),
    /// A dispute that was filed.
    Dispute(Box<DisputeRow>),
    /// No data beyond the fact that the request succeeded.
    Done,
}

saved_enum!(StoredResponse {
    1 = Cancelled(user, order),
    2 = Balance(balance),
    3 = User(row),
    4 = VenueMode(mode),
    5 = Heartbeat(heartbeat),
    6 = Key(key),
    7 = Category(category),
    8 = Event(row),
    9 = Market(market),
    10 = Done,
    11 = Converted(converted),
    12 = Placed(user, order),
    13 = Amended(amended),
    14 = GroupHeartbeat(heartbeat),
    15 = Transfer(row),
    16 = Proposal(row),
    17 = Dispute(row),
});

saved_enum!(OrderStatus { 1 = Open, 2 = PartiallyFilled, 3 = Filled, 4 = Cancelled });

/// What an amend left of an order: all of its row that may change later.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Amended {
    /// Owner.
    pub user: UserNo,
    /// Order.
    pub order: OrderNo,
    price: Tick,
    quantity: Lots,
    filled: Lots,
    remaining: Lots,
    cancelled: Lots,
    filled_cost: Money,
    status: OrderStatus,
    cancel_reason: Option<CancelReason>,
    updated_at: TimeMs,
}

saved!(Amended {
    user,
    order,
    price,
    quantity,
    filled,
    remaining,
    cancelled,
    filled_cost,
    status,
    cancel_reason,
    updated_at,
});

impl Amended {
    fn of(row: &OrderRow) -> Amended {
        Amended {
            user: row.user,
            order: row.no,
            price: row.price,
            quantity: row.quantity,
            filled: row.filled,
            remaining: row.remaining,
            cancelled: row.cancelled,
            filled_cost: row.filled_cost,
            status: row.status,
            cancel_reason: row.cancel_reason,
            updated_at: row.updated_at,
        }
    }

    /// The order's row as the amend left it, given its row of any later moment.
    pub fn over(&self, row: OrderRow) -> OrderRow {
        OrderRow {
            price: self.price,
            quantity: self.quantity,
            filled: self.filled,
            remaining: self.remaining,
            cancelled: self.cancelled,
            filled_cost: self.filled_cost,
            status: self.status,
            cancel_reason: self.cancel_reason,
            updated_at: self.updated_at,
            ..row
        }
    }
}

/// What a conversion took and gave. Positions and balance after it are in other responses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Converted {
    /// The record that did it.
    pub sequence: Sequence,
    /// Event.
    pub event: EventNo,
    /// The markets whose no contracts were given.
    pub markets: MarketSet,
    /// Contracts given of each of these markets, and received of each other market of the event.
    pub quantity: Lots,
    /// Money received.
    pub cash: Money,
}

saved!(Converted { sequence, event, markets, quantity, cash });

impl Converted {
    /// The conversion that a record made.
    pub fn of(applied: &Applied<'_>) -> Option<Converted> {
        applied.effects.iter().find_map(|effect| match effect {
            Effect::Converted { user: _, event, markets, quantity, cash } => Some(Converted {
                sequence: applied.sequence,
                event: *event,
                markets: markets.clone(),
                quantity: *quantity,
                cash: *cash,
            }),
            _ => None,
        })
    }
}

impl StoredResponse {
    /// The data for the response to this record.
    pub fn of(applied: &Applied<'_>, view: &ReadModel) -> StoredResponse {
        let of_effect = |effect| StoredResponse::of_effect(effect, view);
        // Cancellations are considered last: a record may first cancel orders that were due, for
        // example after an expired heartbeat, before it does what was requested.
        let taken_back = |effect: &&Effect| matches!(effect, Effect::OrderCancelled { .. });
        (applied.effects.iter().filter(|effect| !taken_back(effect)).find_map(of_effect))
            .or_else(|| Converted::of(applied).map(Box::new).map(StoredResponse::Converted))
            .or_else(|| applied.effects.iter().filter(taken_back).find_map(of_effect))
            .unwrap_or(StoredResponse::Done)
    }

    fn of_effect(effect: &Effect, view: &ReadModel) -> Option<StoredResponse> {
        Some(match effect {
            Effect::OrderAccepted { order, terms: PlaceOrder { user, .. } } => {
                StoredResponse::Placed(*user, *order)
            }
            Effect::OrderAmended { order, user, .. } => {
                // The order was open until this record, so its row is in memory.
                let row = view.orders.order(*user, *order).row().ok()??;
                StoredResponse::Amended(Box::new(Amended::of(&row)))
            }
            Effect::OrderCancelled { order, user, .. } => StoredResponse::Cancelled(*user, *order),
            Effect::Proposed(proposed) => {
                StoredResponse::Proposal(Box::new(view.proposals.one(proposed.proposal)?.clone()))
            }
            Effect::DisputeFiled { market, user, .. } => {
                StoredResponse::Dispute(Box::new(view.disputes.one(*market, *user)?.clone()))
            }
            Effect::TransferAsked { transfer, .. } | Effect::TransferEnded { transfer, .. } => {
                StoredResponse::Transfer(Box::new(view.transfers.one(*transfer)?.clone()))
            }
            Effect::Deposited { user, .. }
            | Effect::Withdrawn { user, .. }
            | Effect::FeesTaken { user, .. } => {
                StoredResponse::Balance(Box::new(view.accounts.user(*user)?.balance))
            }
            Effect::UserCreated { user, .. }
            | Effect::UserRenamed { user, .. }
            | Effect::UserModeSet { user, .. }
            | Effect::ExposureLimitSet { user, .. } => {
                StoredResponse::User(Box::new(view.accounts.user(*user)?.clone()))
            }
            Effect::VenueModeSet { mode } => StoredResponse::VenueMode(*mode),
            Effect::HeartbeatSet { until, .. } => {
                StoredResponse::Heartbeat(Box::new(Heartbeat { until: *until, expired: false }))
            }
            Effect::GroupHeartbeatSet { group, until, .. } => {
                let heartbeat = Heartbeat { until: *until, expired: false };
                StoredResponse::GroupHeartbeat(Box::new((**group, heartbeat)))
            }
            Effect::KeyAdded { key, .. } => StoredResponse::Key(*key),
            Effect::CategoryCreated { category, .. } => StoredResponse::Category(*category),
            Effect::EventCreated { event, .. } => {
                StoredResponse::Event(Box::new(view.catalogue.event(*event)?.clone()))
            }
            Effect::MarketCreated { market, .. } | Effect::MarketMoved { market, .. } => {
                let row = view.catalogue.market(*market)?.clone();
                StoredResponse::Market(Box::new((row, view.probability_of_yes(*market))))
            }
            _ => return None,
        })
    }
}

/// The stored response to a record.
#[derive(Debug)]
struct Row {
    record: Sequence,
    until: TimeMs,
    kept: StoredResponse,
}

saved!(Row { record, until, kept });

// There may be millions.
const _: () = assert!(size_of::<Row>() == 32);

/// All stored responses, in the order of their records, and so of their expiry.
#[derive(Debug, Default)]
pub struct StoredResponses {
    rows: VecDeque<Row>,
}

saved!(StoredResponses { rows } made {} by sorted);

impl StoredResponses {
    fn sorted(self, _: Sizes) -> Result<StoredResponses, BadImage> {
        let rising = |a: &Row, b: &Row| a.record < b.record && a.until <= b.until;
        hold(self.rows.iter().is_sorted_by(|a, b| rising(a, b)), "answers out of order")?;
        Ok(self)
    }

    /// The stored response to this record, if it is still kept. O(log n).
    pub fn of(&self, record: Sequence) -> Option<&StoredResponse> {
        let row = self.rows.binary_search_by_key(&record, |row| row.record).ok()?;
        self.rows.get(row).map(|row| &row.kept)
    }

    /// Number of stored responses.
    pub fn count(&self) -> usize {
        self.rows.len()
    }

    /// The stored response to this record, or, if there is none, to the placing of the user's order
    /// of that number.
    pub fn or_placed(&self, record: Sequence, user: UserNo) -> Cow<'_, StoredResponse> {
        let placed = || Cow::Owned(StoredResponse::Placed(user, OrderNo(record)));
        self.of(record).map_or_else(placed, Cow::Borrowed)
    }

    /// Stores a response, unless it is that to the placing of an order: the orders have it.
    pub(super) fn keep(&mut self, record: Sequence, until: TimeMs, kept: StoredResponse) {
        if matches!(kept, StoredResponse::Placed(..)) {
            return;
        }
        if self.rows.len() == self.rows.capacity() {
            self.rows.reserve_exact((self.rows.len() / 8).max(4));
        }
        let until = self.rows.back().map_or(until, |last| until.max(last.until));
        self.rows.push_back(Row { record, until, kept });
    }

    /// Removes expired responses.
    pub(super) fn forget(&mut self, now: TimeMs) {
        for _ in 0..REMOVED_PER_RECORD {
            if self.rows.pop_front_if(|row| row.until <= now).is_none() {
                return;
            }
        }
    }
}

#[cfg(test)]
#[path = "../../tests/unit/views/responses.rs"]
mod tests;
