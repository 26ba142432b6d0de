//! A market's life cycle: its statuses, and which trigger leads from which status to which. One
//! table (semantics 3); a test covers every cell.

use super::table::choice;

choice! {
    /// A market's status.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum MarketStatus by name {
        /// Not yet public.
        Draft = 1 "DRAFT",
        /// Takes orders.
        Active = 2 "ACTIVE",
        /// Takes no orders for now; resting ones stay.
        Suspended = 3 "SUSPENDED",
        /// Trading is over, or interrupted until a later deadline.
        Closed = 4 "CLOSED",
        /// The outcome is announced and may be disputed.
        Resolved = 5 "RESOLVED",
        /// The announced outcome is in doubt.
        Disputed = 6 "DISPUTED",
        /// Paid out. Final.
        Settled = 7 "SETTLED",
        /// Ended at a stated price. Final.
        Voided = 8 "VOIDED",
    }
}

/// What moves a market from one status to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Trigger {
    /// The operator publishes it.
    Publish,
    /// The operator suspends it.
    Suspend,
    /// The operator reopens it without a later deadline.
    Reopen,
    /// The operator reopens it with a deadline later than the one it had.
    ReopenLater,
    /// The deadline passes, or the operator closes it.
    Close,
    /// The operator announces the outcome.
    Resolve,
    /// The operator disputes the announced outcome.
    Dispute,
    /// The dispute window is over.
    Settle,
    /// The operator voids it.
    Void,
}

impl MarketStatus {
    /// Whether the market is public: from its publication on, for ever.
    pub const fn public(self) -> bool {
        !matches!(self, MarketStatus::Draft)
    }

    /// Whether orders may rest on its book.
    pub const fn keeps_orders(self) -> bool {
        matches!(self, MarketStatus::Active | MarketStatus::Suspended)
    }

    /// The status after a trigger; `None` if the trigger is not allowed.
    pub const fn after(self, trigger: Trigger) -> Option<MarketStatus> {
        use MarketStatus as S;
        use Trigger as T;
        match (self, trigger) {
            (S::Draft, T::Publish)
            | (S::Suspended, T::Reopen | T::ReopenLater)
            | (S::Closed, T::ReopenLater) => Some(S::Active),
            (S::Active, T::Suspend) => Some(S::Suspended),
            (S::Active | S::Suspended, T::Close) => Some(S::Closed),
            (S::Active | S::Suspended | S::Closed | S::Disputed, T::Resolve) => Some(S::Resolved),
            (S::Resolved, T::Dispute) => Some(S::Disputed),
            (S::Resolved, T::Settle) => Some(S::Settled),
            (
                S::Draft | S::Active | S::Suspended | S::Closed | S::Resolved | S::Disputed,
                T::Void,
            ) => Some(S::Voided),
            _ => None,
        }
    }
}

#[cfg(test)]
#[path = "../../tests/unit/exchange/lifecycle.rs"]
mod tests;
