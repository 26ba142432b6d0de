//! A market's life cycle: its statuses, and which trigger leads from which status to which. One
//! table (semantics 3); a test covers every cell.

/// A market's status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MarketStatus {
    /// Not yet public.
    Draft,
    /// Takes orders.
    Active,
    /// Takes no orders for now; resting ones stay.
    Suspended,
    /// Trading is over, or interrupted until a later deadline.
    Closed,
    /// The outcome is announced and may be disputed.
    Resolved,
    /// The announced outcome is in doubt.
    Disputed,
    /// Paid out. Final.
    Settled,
    /// Ended at a stated price. Final.
    Voided,
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
    /// Every status.
    pub const ALL: [MarketStatus; 8] = [
        MarketStatus::Draft,
        MarketStatus::Active,
        MarketStatus::Suspended,
        MarketStatus::Closed,
        MarketStatus::Resolved,
        MarketStatus::Disputed,
        MarketStatus::Settled,
        MarketStatus::Voided,
    ];

    /// The interface's name of the status.
    pub const fn name(self) -> &'static str {
        match self {
            MarketStatus::Draft => "DRAFT",
            MarketStatus::Active => "ACTIVE",
            MarketStatus::Suspended => "SUSPENDED",
            MarketStatus::Closed => "CLOSED",
            MarketStatus::Resolved => "RESOLVED",
            MarketStatus::Disputed => "DISPUTED",
            MarketStatus::Settled => "SETTLED",
            MarketStatus::Voided => "VOIDED",
        }
    }

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
