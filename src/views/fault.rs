//! Inconsistencies that projections meet: they are counted and never panic.

use super::history::stream::ROWS_MAX;
use super::saved::{Saved, Sink, Source};
use exchange::effect::{Applied, Effect};
use exchange::ids::{CategoryNo, EventNo, KeyNo, MarketNo, OrderNo, UserNo};
use exchange::image::coding::BadImage;
use exchange::units::{Overflow, Sequence, Tick};

/// How an effect contradicts earlier ones. Any of these is a bug in the producer of the effects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// A record that is not the next one.
    #[error("expected record {expected}, found {found}")]
    OutOfSequence {
        /// The next record.
        expected: Sequence,
        /// The one that came.
        found: Sequence,
    },
    /// A new entity whose number is not the next one of its kind.
    #[error("a new entity has a number that is not the next one: {0}")]
    NotNext(u64),
    /// A stream of history that has as many rows as it may have.
    #[error("a stream of history is full: it has {ROWS_MAX} rows")]
    StreamFull,
    /// No such user.
    #[error("no user {0:?}")]
    UnknownUser(UserNo),
    /// No such key.
    #[error("no key {0:?}")]
    UnknownKey(KeyNo),
    /// No such category.
    #[error("no category {0:?}")]
    UnknownCategory(CategoryNo),
    /// No such event.
    #[error("no event {0:?}")]
    UnknownEvent(EventNo),
    /// No such market.
    #[error("no market {0:?}")]
    UnknownMarket(MarketNo),
    /// No such order, or one that is final.
    #[error("no open order {0:?}")]
    UnknownOrder(OrderNo),
    /// No such transfer waits.
    #[error("no transfer was asked for by record {0}")]
    UnknownTransfer(Sequence),
    /// No dispute of the market is known.
    #[error("nobody disputes market {0:?}")]
    UnknownDispute(MarketNo),
    /// An order whose filled, remaining and cancelled parts do not add up to its quantity.
    #[error("the parts of order {0:?} are not its whole")]
    PartsNotWhole(OrderNo),
    /// A price level with less quantity or fewer orders than an effect removed.
    #[error("market {market:?} has not that much at {price:?}")]
    LevelTooSmall {
        /// Market.
        market: MarketNo,
        /// Price of yes.
        price: Tick,
    },
    /// A payout for contracts that were not held.
    #[error("user {user:?} was paid for contracts of market {market:?} that were not held")]
    PaidWithoutContracts {
        /// User.
        user: UserNo,
        /// Market.
        market: MarketNo,
    },
    /// A payout in a market that is not final.
    #[error("market {0:?} paid out before its end")]
    PaidBeforeEnd(MarketNo),
    /// An account change without an effect in the record that explains it.
    #[error("nothing explains the change of the account of {0:?}")]
    UnexplainedMoney(UserNo),
    /// An amount left the range of its type.
    #[error(transparent)]
    Range(#[from] Overflow),
}

/// The inconsistencies met so far.
#[derive(Debug, Clone, Default)]
pub struct Faults {
    count: u64,
    last: Option<Fault>,
}

impl Faults {
    /// Starts with a count, as read from an image.
    pub const fn counted(count: u64) -> Faults {
        Faults { count, last: None }
    }

    /// How many there were.
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// The latest one.
    pub const fn last(&self) -> Option<Fault> {
        self.last
    }

    /// Counts one.
    pub fn note(&mut self, fault: Fault) {
        self.count = self.count.saturating_add(1);
        self.last = Some(fault);
    }

    /// Counts the failure, if it is one.
    pub fn check(&mut self, result: Result<(), Fault>) {
        if let Err(fault) = result {
            self.note(fault);
        }
    }
}

/// Checks that a new entity's number `index` is the next one after `count` entities.
pub fn is_next(index: usize, count: usize) -> Result<(), Fault> {
    if index == count { Ok(()) } else { Err(Fault::NotNext(index as u64)) }
}

impl Saved for Faults {
    fn save(&self, sink: &mut Sink<'_>) {
        self.count().save(sink);
    }

    fn load(source: &mut Source<'_>) -> Result<Self, BadImage> {
        u64::load(source).map(Faults::counted)
    }
}

// What a view does: it folds effects.

/// One view. It depends only on the folded effects, so the same journal always gives the same
/// result.
pub trait Projection {
    /// Applies one record's effects. An effect that contradicts what was folded before is noted in
    /// `faults` and skipped; never panics.
    fn fold(&mut self, applied: &Applied<'_>, faults: &mut Faults);
}

/// A view that takes in one effect after the other.
pub trait View {
    /// Applies the next effect of a record.
    ///
    /// # Errors
    /// The effect contradicts what was seen before.
    fn see(&mut self, at: &Applied<'_>, effect: &Effect) -> Result<(), Fault>;

    /// Follows the last effect of a record.
    ///
    /// # Errors
    /// As for an effect.
    fn conclude(&mut self, _: &Applied<'_>) -> Result<(), Fault> {
        Ok(())
    }
}

impl<V: View> Projection for V {
    fn fold(&mut self, applied: &Applied<'_>, faults: &mut Faults) {
        for effect in applied.effects {
            faults.check(self.see(applied, effect));
        }
        faults.check(self.conclude(applied));
    }
}
