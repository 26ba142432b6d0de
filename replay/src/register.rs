//! Users, markets and open orders as clients saw them, collected from effects. Grows with users,
//! markets and open orders, not with history.

use std::collections::BTreeMap;

use exchange::catalogue::Outcome;
use exchange::command::{PlaceOrder, Record, Side, Wording};
use exchange::effect::{Effect, Party};
use exchange::ids::{MarketId, MarketNo, OrderId, OrderNo, UserId, UserNo};
use exchange::market::MarketStatus;
use exchange::units::{Sequence, Tick, TimeMs};

use crate::answer::Failure;
use crate::reference::Reference;

/// A user.
#[derive(Debug, Clone)]
pub struct Person {
    /// Id.
    pub id: UserId,
    /// Public name.
    pub name: String,
}

/// A market.
#[derive(Debug, Clone)]
pub struct Listing {
    /// Id.
    pub id: MarketId,
    /// The question in English, as last revised.
    pub question: String,
    /// Status.
    pub status: MarketStatus,
}

/// An order that is open, or was placed by the current record.
#[derive(Debug, Clone, Copy)]
pub struct OpenOrder {
    /// Id.
    pub id: OrderId,
    /// Outcome and side as the owner stated them.
    pub wording: Wording,
    /// Limit price, of yes.
    pub limit: Tick,
    /// Since when it has its place in the queue: record and time.
    pub since: (Sequence, TimeMs),
}

/// All users, markets and open orders by number.
#[derive(Debug, Default)]
pub struct Register {
    people: Vec<Person>,
    names: BTreeMap<String, u32>,
    listings: Vec<Listing>,
    orders: BTreeMap<OrderNo, OpenOrder>,
}

impl Register {
    /// Applies one effect of a record. Removes orders that it ends, so look them up before.
    pub fn follow(&mut self, record: &Record, effect: &Effect) {
        let (at, time) = (record.sequence, record.time);
        match effect {
            Effect::UserCreated { profile_name, .. } => {
                let count = self.names.entry(profile_name.clone()).or_default();
                *count = count.saturating_add(1);
                let (id, name) = (UserId::derive(time, at, 0), profile_name.clone());
                self.people.push(Person { id, name });
            }
            Effect::MarketCreated { draft, .. } => {
                let (id, question) = (MarketId::derive(time, at, 0), draft.questions.en.clone());
                self.listings.push(Listing { id, question, status: MarketStatus::Draft });
            }
            Effect::MarketRevised { market, revision } => {
                let listing = self.listings.get_mut(market.index());
                if let (Some(listing), Some(questions)) = (listing, &revision.questions) {
                    listing.question.clone_from(&questions.en);
                }
            }
            Effect::MarketMoved { market, to, .. } => {
                if let Some(listing) = self.listings.get_mut(market.index()) {
                    listing.status = *to;
                }
            }
            Effect::OrderAccepted { order, terms } => self.enter(*order, terms, record),
            Effect::OrderAmended { order, price, .. } => {
                if let Some(open_order) = self.orders.get_mut(order) {
                    open_order.limit = *price;
                }
            }
            Effect::OrderRested { order, .. } => {
                if let Some(open_order) = self.orders.get_mut(order) {
                    open_order.since = (at, time);
                }
            }
            Effect::OrderCancelled { order, .. } => drop(self.orders.remove(order)),
            Effect::TradeMade(trade) => {
                self.leave_if_filled(trade.taker);
                self.leave_if_filled(trade.maker);
            }
            _ => {}
        }
    }

    fn enter(&mut self, order: OrderNo, terms: &PlaceOrder, record: &Record) {
        let open_order = OpenOrder {
            id: order.id(record.time),
            wording: terms.wording,
            limit: terms.wording.yes_price(terms.price),
            since: (record.sequence, record.time),
        };
        self.orders.insert(order, open_order);
    }

    fn leave_if_filled(&mut self, party: Party) {
        if party.remaining.is_zero() {
            self.orders.remove(&party.order);
        }
    }

    /// The user with this number.
    ///
    /// # Errors
    /// No such user: the effect does not belong to this journal.
    pub fn person(&self, user: UserNo) -> Result<&Person, Failure> {
        let unknown =
            || Failure::Failed(format!("CONTRADICTION: user {} was never created", user.0));
        self.people.get(user.index()).ok_or_else(unknown)
    }

    /// The market with this number.
    ///
    /// # Errors
    /// No such market.
    pub fn listing(&self, market: MarketNo) -> Result<&Listing, Failure> {
        let unknown =
            || Failure::Failed(format!("CONTRADICTION: market {} was never created", market.0));
        self.listings.get(market.index()).ok_or_else(unknown)
    }

    /// The order with this number, if it is open or was just placed.
    ///
    /// # Errors
    /// No such order.
    pub fn open_order(&self, order: OrderNo) -> Result<&OpenOrder, Failure> {
        let unknown = || Failure::Failed(format!("CONTRADICTION: order {} is not open", order.0));
        self.orders.get(&order).ok_or_else(unknown)
    }

    /// The number of the user that is named.
    ///
    /// # Errors
    /// No such user.
    pub fn find_user(&self, named: Reference) -> Result<UserNo, Failure> {
        let index = self.people.iter().position(|person| named.names_user(person.id));
        let user = index.and_then(UserNo::next);
        user.ok_or_else(|| Failure::not_found(format!("{named} made no user by then")))
    }

    /// The number of the market that is named.
    ///
    /// # Errors
    /// No such market.
    pub fn find_market(&self, named: Reference) -> Result<MarketNo, Failure> {
        let index = self.listings.iter().position(|listing| named.names_market(listing.id));
        let market = index.and_then(MarketNo::next);
        market.ok_or_else(|| Failure::not_found(format!("{named} made no market by then")))
    }

    /// A user's name; if it is not unique, with the record that created the user.
    pub fn name(&self, user: UserNo) -> String {
        let Some(person) = self.people.get(user.index()) else { return format!("user {}", user.0) };
        match self.names.get(&person.name) {
            Some(1) if !person.name.is_empty() => person.name.clone(),
            _ => format!("{} (user of record {})", person.name, person.id.sequence()),
        }
    }
}

/// A wording as text: `buy yes`.
pub const fn spoken(wording: Wording) -> &'static str {
    match (wording.side, wording.outcome) {
        (Side::Buy, Outcome::Yes) => "buy yes",
        (Side::Buy, Outcome::No) => "buy no",
        (Side::Sell, Outcome::Yes) => "sell yes",
        (Side::Sell, Outcome::No) => "sell no",
    }
}
