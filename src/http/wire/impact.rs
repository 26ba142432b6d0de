//! The JSON of what an operator's act touches.

use super::{Text, Timestamp};
use exchange::market::MarketStatus;
use exchange::units::{LotsSum, MoneySum, TimeMs};

answers! {
    /// Whom it concerns what becomes of a market.
    MarketImpactJson = "MarketImpact" (counted: InMarket) {
        /// Users who hold contracts or have open orders.
        users: u64 = counted.users;
        /// Of them, those who hold contracts.
        holders: u64 = counted.holders;
        /// Yes contracts held: each is paid 1.00 if yes wins.
        yes_held: Text<LotsSum> = Text(counted.yes);
        /// No contracts held by users: each is paid 1.00 if no wins.
        no_held: Text<LotsSum> = Text(counted.no);
        /// What the contracts held cost.
        holdings_cost: Text<MoneySum> = Text(counted.cost);
        /// Orders that a close or a voiding cancels.
        open_orders: u64 = counted.orders;
    }

    /// What an operator's act would do to a market.
    ActPreviewJson = "ActPreview" (seen: Preview) {
        /// Nothing was recorded.
        dry_run: bool = true;
        /// Whether it would only be proposed: the rest is what comes of it if another operator
        /// confirms it.
        only_proposed: bool = seen.only_proposed;
        /// The market's status, and what it would be.
        status_from: Text<MarketStatus> = Text(seen.from);
        status_to: Text<MarketStatus> = Text(seen.to);
        /// When holders would be paid, after which nothing can change it; null if they are not.
        pays_at: Option<Timestamp> = seen.pays_at.map(Timestamp);
        /// Users who would be paid.
        users_paid: u64 = seen.counted.users_paid;
        /// What they would be paid together.
        paid: Text<MoneySum> = Text(seen.counted.paid);
        /// Whom it concerns.
        impact: MarketImpactJson = MarketImpactJson::of(seen.counted);
    }

    /// Whom it concerns what may be asked of the venue.
    VenueImpactJson = "VenueImpact" (counted: InVenue) {
        /// Users who hold contracts or have open orders.
        users: u64 = counted.users;
        /// Orders in all books.
        open_orders: u64 = counted.orders;
        /// Keys in force that may trade, of programs and operators.
        trading_keys: u64 = counted.keys;
    }
}

/// What is counted of a market.
#[derive(Debug, Clone, Copy, Default)]
pub struct InMarket {
    /// Users with contracts or orders.
    pub users: u64,
    /// Users with contracts.
    pub holders: u64,
    /// Yes contracts, in lots.
    pub yes: LotsSum,
    /// No contracts, in lots.
    pub no: LotsSum,
    /// Their cost.
    pub cost: MoneySum,
    /// Open orders.
    pub orders: u64,
    /// Users who are paid at a settlement price.
    pub users_paid: u64,
    /// What they are paid.
    pub paid: MoneySum,
}

/// What an act would do to a market.
#[derive(Debug, Clone, Copy)]
pub struct Preview {
    /// Whether it takes two persons.
    pub only_proposed: bool,
    /// Status now.
    pub from: MarketStatus,
    /// Status then.
    pub to: MarketStatus,
    /// When holders are paid.
    pub pays_at: Option<TimeMs>,
    /// Whom it concerns.
    pub counted: InMarket,
}

/// What is counted of the venue.
#[derive(Debug, Clone, Copy, Default)]
pub struct InVenue {
    /// Users with contracts or orders.
    pub users: u64,
    /// Open orders.
    pub orders: u64,
    /// Keys that may trade.
    pub keys: u64,
}
