//! Stored responses: the first response to each request that may be repeated, kept for as long as
//! the exchange keeps its idempotency key (semantics 8).

use std::borrow::Cow;
use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use super::ReadModel;
use super::accounts::{Balance, UserRow};
use super::catalogue::{EventRow, MarketRow};
use super::image::{saved, saved_enum};
use super::orders::{OrderRow, Orders};
use exchange::command::{PlaceOrder, TimeInForce, TradingMode};
use exchange::effect::{Applied, Effect};
use exchange::ids::{CategoryNo, EventNo, KeyNo, MarketSet, OrderNo, UserNo};
use exchange::restrictions::Heartbeat;
use exchange::rules::Rules;
use exchange::units::{Lots, Money, Ratio, Sequence, TimeMs};

/// Expiry entries checked per record: more than the one that a record can add.
const LOOKED_AT_PER_RECORD: usize = 64;

/// The data of a response as its record left it. Rows are boxed: there may be millions of
/// responses, and most are of the smaller kinds.
#[derive(Debug, Clone)]
pub enum StoredResponse {
    /// An order that was placed or cancelled.
    Order(Box<OrderRow>),
    /// An order that ended in the record that placed it: its row never changes, so history has it.
    Ended(UserNo, OrderNo),
    /// An order of which no answer is stored, since its row tells what it was: see
    /// [`StoredResponses::keep`].
    Placed(UserNo, OrderNo),
    /// An account's money after a deposit, a withdrawal or a payout of fees.
    Balance(Balance),
    /// A user that was created, or whose mode or limit was set.
    User(Box<UserRow>),
    /// The venue's trading mode.
    VenueMode(TradingMode),
    /// A heartbeat.
    Heartbeat(Heartbeat),
    /// A new key; not yet revoked.
    Key(KeyNo),
    /// A new category; categories never change.
    Category(CategoryNo),
    /// A new event.
    Event(Box<EventRow>),
    /// A market that was created or moved, and the displayed probability of yes.
    Market(Box<MarketRow>, Ratio),
    /// A conversion.
    Converted(Box<Converted>),
    /// No data beyond the fact that the request succeeded.
    Done,
}

saved_enum!(StoredResponse {
    1 = Order(row),
    2 = Balance(balance),
    3 = User(row),
    4 = VenueMode(mode),
    5 = Heartbeat(heartbeat),
    6 = Key(key),
    7 = Category(category),
    8 = Event(row),
    9 = Market(row, probability),
    10 = Done,
    11 = Converted(converted),
    12 = Ended(user, order),
    13 = Placed(user, order),
});

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
                // Found in memory: it is open or ended by this record.
                let row = view.orders.order(*user, *order).row().ok()??;
                if row.status.open() {
                    StoredResponse::Order(Box::new(row))
                } else {
                    StoredResponse::Ended(*user, *order)
                }
            }
            Effect::OrderCancelled { order, user, .. } => {
                StoredResponse::Order(Box::new(view.orders.order(*user, *order).row().ok()??))
            }
            Effect::Deposited { user, .. }
            | Effect::Withdrawn { user, .. }
            | Effect::FeesTaken { user, .. } => {
                StoredResponse::Balance(view.accounts.user(*user)?.balance)
            }
            Effect::UserCreated { user, .. }
            | Effect::UserModeSet { user, .. }
            | Effect::ExposureLimitSet { user, .. } => {
                StoredResponse::User(Box::new(view.accounts.user(*user)?.clone()))
            }
            Effect::VenueModeSet { mode } => StoredResponse::VenueMode(*mode),
            Effect::HeartbeatSet { until, .. } => {
                StoredResponse::Heartbeat(Heartbeat { until: *until, expired: false })
            }
            Effect::KeyAdded { key, .. } => StoredResponse::Key(*key),
            Effect::CategoryCreated { category, .. } => StoredResponse::Category(*category),
            Effect::EventCreated { event, .. } => {
                StoredResponse::Event(Box::new(view.catalogue.event(*event)?.clone()))
            }
            Effect::MarketCreated { market, .. } | Effect::MarketMoved { market, .. } => {
                let row = view.catalogue.market(*market)?.clone();
                StoredResponse::Market(Box::new(row), view.probability_of_yes(*market))
            }
            _ => return None,
        })
    }
}

/// A stored response with its time and expiry.
#[derive(Debug)]
struct Row {
    kept: StoredResponse,
    given: TimeMs,
    until: TimeMs,
}

saved!(Row { kept, given, until });

/// All stored responses, by the record they answer.
#[derive(Debug, Default)]
pub struct StoredResponses {
    rows: FxHashMap<Sequence, Row>,
    /// When each response is checked for expiry, in order of time.
    ends: VecDeque<(TimeMs, Sequence)>,
}

saved!(StoredResponses { rows, ends });

impl StoredResponses {
    /// The stored response to this record, if it is still kept. O(1).
    pub fn of(&self, record: Sequence) -> Option<&StoredResponse> {
        self.rows.get(&record).map(|row| &row.kept)
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

    /// Stores a response, unless an order's row will always tell what it was: that of an order that
    /// could not rest stays as its record left it, and that of a named one that rests untouched can
    /// be told from its later states, until an amend (see [`Self::keep_before_amend`]). There are
    /// millions of these.
    pub(super) fn keep(&mut self, applied: &Applied<'_>, until: TimeMs, kept: StoredResponse) {
        let told = match &kept {
            StoredResponse::Order(row) => {
                row.no.0 == applied.sequence
                    && row.client_id.is_some()
                    && row.filled == Lots::ZERO
                    && row.status.open()
            }
            StoredResponse::Ended(..) => applied.effects.iter().any(|effect| match effect {
                Effect::OrderAccepted { terms, .. } => {
                    !matches!(terms.time_in_force, TimeInForce::GoodTillCancelled { .. })
                }
                _ => false,
            }),
            _ => false,
        };
        if !told {
            self.store(applied.sequence, Row { kept, given: applied.time, until });
        }
    }

    /// Stores the response to an order's placing before it is amended for the first time, if it may
    /// be asked for.
    pub(super) fn keep_before_amend(&mut self, row: &OrderRow, now: TimeMs) {
        if row.client_id.is_some() && !self.rows.contains_key(&row.no.0) {
            let kept = StoredResponse::Order(Box::new(row.as_placed()));
            let until = now.after_seconds(Rules::current().repeat_window_seconds);
            self.store(row.no.0, Row { kept, given: row.created_at, until });
        }
    }

    fn store(&mut self, record: Sequence, row: Row) {
        self.look_again(row.until, record);
        self.rows.insert(record, row);
    }

    /// Notes when a response is checked, not before those that were noted earlier.
    fn look_again(&mut self, at: TimeMs, record: Sequence) {
        let at = self.ends.back().map_or(at, |(last, _)| at.max(*last));
        self.ends.push_back((at, record));
    }

    /// Removes expired responses. One whose order is still open is kept for another window.
    pub(super) fn forget(&mut self, now: TimeMs, orders: &Orders) {
        for _ in 0..LOOKED_AT_PER_RECORD {
            let Some((at, record)) = self.ends.front().copied().filter(|(at, _)| *at <= now) else {
                return;
            };
            self.ends.pop_front();
            let stands = self.rows.get(&record).is_some_and(|row| match &row.kept {
                StoredResponse::Order(placed) => orders.stands(placed.user, placed.no),
                _ => false,
            });
            match self.rows.get(&record).filter(|_| stands) {
                Some(row) => {
                    let window = row.until.get().saturating_sub(row.given.get());
                    let next = TimeMs::new(at.max(now).get().saturating_add(window));
                    self.look_again(next.unwrap_or(TimeMs::MAX), record);
                }
                None => drop(self.rows.remove(&record)),
            }
        }
    }
}

#[cfg(test)]
#[path = "../../tests/unit/views/responses.rs"]
mod tests;
