//! The exchange: a pure state machine. A record goes in, effects come out, nothing else. The
//! engine's matcher and every replay call [`Exchange::apply`]; the same records give the same state
//! and effects on every machine.
//!
//! Must not know: the clock, the disk, threads, randomness, floats, JSON, who is waiting.

#![deny(clippy::arithmetic_side_effects, clippy::indexing_slicing)]
#![cfg_attr(
    test,
    allow(clippy::arithmetic_side_effects, clippy::indexing_slicing, reason = "a test may stop")
)]

#[cfg(not(target_pointer_width = "64"))]
compile_error!("sequence numbers index tables: a 64-bit target is needed");

pub mod table;
pub mod rules;
pub mod script;
pub mod units;
pub mod decimal;
pub mod ids;
pub mod credentials;
pub mod order_terms;
pub mod command;
pub mod effect;
pub mod reject;
pub mod slugs;
pub mod catalogue;
pub mod fees;
pub mod orders;
pub mod book;
pub mod ahead;
pub mod ledger;
pub mod market;
pub mod ending;
mod plan;
mod admission;
mod matching;
pub mod venue;
pub mod sign_in;
mod second_factor;
pub mod idempotency;
pub mod references;
pub mod waiting;
mod transfers;
mod proposals;
mod disputes;
pub mod restrictions;
pub mod trial;
pub mod exclusive;
pub mod conversion;
pub mod invariant;
pub mod image;
pub mod results;

use self::ending::{Schedule, Slice};
use self::market::{Market, Trigger};
use self::references::References;
use self::waiting::{Disputes, Proposals, Transfers};
use catalogue::Catalogue;
use command::{Command, Direction, Record, TransferEnd};
use effect::Effect;
use ids::{MarketNo, OrderNo, UserNo};
use invariant::Broken;
use ledger::{Ledger, Purse};
use orders::{Order, OrderPool};
use reject::Reject;
use restrictions::Restrictions;
use rules::Rules;
use sign_in::SignIns;
use units::{MoneySum, Sequence, Tick, TimeMs};
use venue::KeyRing;

/// The whole state of a venue, and the only way to change it.
#[derive(Debug, Clone, Default)]
pub struct Exchange {
    rules: Option<Rules>,
    sequence: Sequence,
    time: TimeMs,
    catalogue: Catalogue,
    keys: KeyRing,
    ledger: Ledger,
    markets: Vec<Market>,
    orders: OrderPool,
    schedule: Schedule,
    idempotency: idempotency::table::IdempotencyTable,
    restrictions: Restrictions,
    sign_ins: SignIns,
    references: References,
    transfers: Transfers,
    proposals: Proposals<Command>,
    disputes: Disputes,
    slice: Slice,
    /// The buffer of plans.
    plan: plan::Plan,
}

/// The sequence number and time of the record being applied.
#[derive(Debug, Clone, Copy)]
struct Stamp {
    sequence: Sequence,
    time: TimeMs,
}

/// Why applying a command stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stop {
    /// Refused before anything changed.
    Refused(Reject),
    /// More resting orders are met than a trial may.
    OutOfReach,
    /// An invariant is broken; the state cannot be trusted.
    Broken(Broken),
}

impl From<Reject> for Stop {
    fn from(reject: Reject) -> Stop {
        Stop::Refused(reject)
    }
}

impl<E: Into<Broken>> From<E> for Stop {
    fn from(broken: E) -> Stop {
        Stop::Broken(broken.into())
    }
}

impl Exchange {
    /// A venue before its first record.
    pub fn new() -> Exchange {
        Exchange::default()
    }

    /// The last record applied.
    pub const fn sequence(&self) -> Sequence {
        self.sequence
    }

    /// The time of the last record applied.
    pub const fn time(&self) -> TimeMs {
        self.time
    }

    /// The rules of the venue, once it is open.
    pub const fn rules(&self) -> Option<&Rules> {
        self.rules.as_ref()
    }

    /// A market.
    pub fn market(&self, market: MarketNo) -> Option<&Market> {
        self.markets.get(market.index())
    }

    /// A resting order; `None` if it does not rest.
    pub fn order(&self, order: OrderNo) -> Option<Order> {
        self.orders.get(self.orders.find(order)?).ok()
    }

    /// The orders resting at a yes-price, in time priority.
    pub fn queue(
        &self,
        market: MarketNo,
        side: Direction,
        price: Tick,
    ) -> impl Iterator<Item = Order> {
        let book = self.market(market).map(|market| &market.book);
        let slots = book.map(|book| book.queue(&self.orders, side, price));
        slots.into_iter().flatten().filter_map(|slot| self.orders.get(slot).ok())
    }

    /// A copy of a user's money and contracts in a market.
    ///
    /// # Errors
    /// No such user or market.
    pub fn purse(&self, user: UserNo, market: MarketNo) -> Result<Purse, Broken> {
        self.ledger.purse(user, market)
    }

    /// Resting orders on all books together.
    pub const fn open_orders_count(&self) -> u32 {
        self.orders.count()
    }

    /// The operator's money that was not taken yet: trading fees, and surplus of converted sets.
    pub const fn fees(&self) -> MoneySum {
        self.ledger.fees()
    }

    /// All markets with their numbers.
    fn markets_numbered(&self) -> impl Iterator<Item = (MarketNo, &Market)> {
        (0..).map(MarketNo).zip(&self.markets)
    }

    /// The rules that the venue was opened with.
    fn rules_in_force(&self) -> Result<&Rules, Reject> {
        self.rules.as_ref().ok_or(Reject::VenueNotOpen)
    }

    /// Applies the next record and appends what happened to `effects`: at least one effect, unless
    /// a clock found nothing due, a mass cancel nothing to cancel or an amend nothing to change. A
    /// refused command changes nothing and has the one effect [`Effect::Refused`]; a repeated one
    /// changes nothing and has the one effect [`Effect::Repeated`].
    ///
    /// # Errors
    /// [`Broken`] if the record is not the next one, if it opens a venue under rules that this
    /// version does not know, or if the state contradicts itself. Do not use the state after that.
    pub fn apply(&mut self, record: &Record, effects: &mut Vec<Effect>) -> Result<(), Broken> {
        if record.sequence != self.sequence.next() || record.time < self.time {
            return Err(Broken::OutOfOrder);
        }
        self.sequence = record.sequence;
        self.time = record.time;
        let at = Stamp { sequence: record.sequence, time: record.time };
        let effects_before = effects.len();
        let outcome = idempotency::execute(self, record, at, effects);
        // After the command, so that a trial of it, which forgets nothing, sees the same names.
        self.forget_expired_names(at.time);
        match outcome {
            Ok(()) => Ok(()),
            Err(Stop::Refused(_)) if effects.len() != effects_before => Err(Broken::RefusedLate),
            Err(Stop::Refused(reject)) => {
                effects.push(Effect::Refused(reject));
                Ok(())
            }
            // Only a trial has a bound.
            Err(Stop::OutOfReach) => Err(Broken::Capacity),
            Err(Stop::Broken(broken)) => Err(broken),
        }
    }

    /// Executes the command of a record that was not executed before.
    fn dispatch_record(
        &mut self,
        record: &Record,
        at: Stamp,
        effects: &mut Vec<Effect>,
    ) -> Result<(), Stop> {
        let transfers = matches!(
            record.command,
            Command::Deposit { .. }
                | Command::Withdraw { .. }
                | Command::EndTransfer { how: TransferEnd::Confirmed, .. }
        );
        let act = record.act.as_deref().filter(|_| transfers);
        let reference = act.and_then(|act| act.reference.as_ref());
        if reference.is_some_and(|reference| self.references.has(reference)) {
            return Err(Stop::Refused(Reject::ReferenceUsed));
        }
        if let Some(act) = record.act.as_deref()
            && self.takes_two(&record.command)
        {
            return self.propose(act, &record.command, at, effects);
        }
        self.dispatch_any(&record.command, at, effects)?;
        if let Some(reference) = reference {
            self.references.keep(reference);
        }
        Ok(())
    }

    /// Executes a command that was not executed before.
    fn dispatch_any(
        &mut self,
        command: &Command,
        at: Stamp,
        effects: &mut Vec<Effect>,
    ) -> Result<(), Stop> {
        use Command as C;
        if !matches!(command, C::OpenVenue(_)) {
            self.rules_in_force()?;
        }
        match command {
            C::OpenVenue(rules) => self.open_venue(rules, effects),
            C::PlaceOrder(terms) => matching::place_order(self, terms, at, effects),
            C::AmendOrder { user, order, price, quantity, seen } => {
                admission::admit_seen(self, (*user, *order), *seen)?;
                matching::amend_order(self, (*user, *order), *price, *quantity, at, effects)
            }
            C::CancelOrder { user, order } => {
                matching::cancel_order(self, *user, *order, at, effects)
            }
            C::ReplaceOrder { replaced, terms } => {
                matching::replace_order(self, *replaced, terms, at, effects)
            }
            C::CancelOrders { user, market, group, key } => {
                let of = (group.as_deref().copied(), *key);
                self.cancel_orders(*user, *market, of, at, effects)
            }
            C::Convert(asked) => self.convert(asked, at, effects),
            C::AdvanceClock => Ok(self.advance_clock(at, effects)?),
            C::CreateUser { profile_name, profile_pic } => {
                self.create_user(profile_name, profile_pic, effects)
            }
            C::RenameUser { user, profile_name } => self.rename_user(*user, profile_name, effects),
            C::AddKey { user, role, label, hash, ends } => {
                self.add_key(*user, *role, label, (*hash, *ends), effects)
            }
            C::RevokeKey { user, key } => self.revoke_key(*user, *key, effects),
            C::Deposit { user, amount } => self.deposit(*user, *amount, effects),
            C::Withdraw { user, amount } => self.withdraw_money(*user, *amount, effects),
            C::TakeFees { user, amount } => self.take_fees(*user, *amount, effects),
            C::CreateCategory(draft) => self.create_category(draft, effects),
            C::CreateEvent(draft) => self.create_event(draft, effects),
            C::CreateMarket(draft) => self.create_market(draft, at, effects),
            C::ReviseEvent { event, revision } => self.revise_event(*event, revision, effects),
            C::ReviseMarket { market, revision } => {
                self.revise_market(*market, revision, at, effects)
            }
            C::PublishMarket { market } => self.move_market(*market, Trigger::Publish, at, effects),
            C::SuspendMarket { market } => self.move_market(*market, Trigger::Suspend, at, effects),
            C::ReopenMarket { market, deadline } => {
                self.reopen_market(*market, *deadline, at, effects)
            }
            C::CloseMarket { market } => self.move_market(*market, Trigger::Close, at, effects),
            C::ResolveMarket { market, winner } => {
                self.resolve_market(*market, *winner, at, effects)
            }
            C::DisputeMarket { market } => self.move_market(*market, Trigger::Dispute, at, effects),
            C::VoidMarket { market, price } => self.void_market(*market, *price, at, effects),
            C::Heartbeat { user, timeout_seconds, group } => {
                let whose = (*user, group.as_deref().copied());
                self.heartbeat(whose, *timeout_seconds, at, effects)
            }
            C::SetVenueMode { mode } => self.set_venue_mode(*mode, effects),
            C::SetUserMode { user, mode } => self.set_user_mode(*user, *mode, effects),
            C::SetExposureLimit { user, limit } => self.set_exposure_limit(*user, *limit, effects),
            others => self.dispatch_waiting(others, at, effects),
        }
    }
}

#[cfg(test)]
#[path = "../../tests/unit/exchange/lib.rs"]
mod tests;
