//! Effects written by hand, for the projection tests.

use super::fault::{Faults, Projection};
use exchange::catalogue::{MarketDraft, Outcome};
use exchange::command::{PlaceOrder, Side, Wording};
use exchange::effect::{Applied, CancelReason, Effect, Holding, Party, Trade};
use exchange::ids::{EventNo, MarketNo, OrderNo, TradeIndex, UserNo};
use exchange::market::MarketStatus;
use exchange::units::{Lots, Money, MoneySum, Sequence, SettlementPrice, Tick, TimeMs};

pub const ANN: UserNo = UserNo(0);
pub const BOB: UserNo = UserNo(1);
pub const RAIN: MarketNo = MarketNo(0);
pub const BUY_YES: Wording = Wording { outcome: Outcome::Yes, side: Side::Buy };
pub const SELL_YES: Wording = Wording { outcome: Outcome::Yes, side: Side::Sell };
pub const BUY_NO: Wording = Wording { outcome: Outcome::No, side: Side::Buy };
pub const SELL_NO: Wording = Wording { outcome: Outcome::No, side: Side::Sell };

/// The time of a record in these tests: a second after the one before.
pub fn at(sequence: u64) -> TimeMs {
    TimeMs::new(i64::try_from(sequence).unwrap() * 1000).unwrap()
}

pub fn tick(ticks: u8) -> Tick {
    Tick::new(ticks).unwrap()
}

pub fn order(sequence: u64) -> OrderNo {
    OrderNo(Sequence::new(sequence))
}

pub fn applied(sequence: u64, effects: &[Effect]) -> Applied<'_> {
    Applied { sequence: Sequence::new(sequence), time: at(sequence), effects }
}

/// Folds one record and returns the number of faults.
pub fn fold<P: Projection>(projection: &mut P, sequence: u64, effects: &[Effect]) -> u64 {
    let mut faults = Faults::default();
    projection.fold(&applied(sequence, effects), &mut faults);
    faults.count()
}

/// A projection with the users Ann and Bob and the market about rain.
pub fn opened<P: Projection + Default>() -> P {
    let mut projection = P::default();
    let effects = [user(ANN), user(BOB), market(RAIN, None)];
    assert_eq!(fold(&mut projection, 1, &effects), 0);
    projection
}

pub fn user(user: UserNo) -> Effect {
    let profile_name = format!("user {}", user.0);
    Effect::UserCreated { user, profile_name, profile_pic: String::new() }
}

pub fn market(market: MarketNo, event: Option<EventNo>) -> Effect {
    let draft = MarketDraft { event, ..MarketDraft::plain(at(1_000)) };
    Effect::MarketCreated { market, draft: Box::new(draft) }
}

pub fn moved(market: MarketNo, from: MarketStatus, to: MarketStatus) -> Effect {
    let deadline = at(1_000);
    Effect::MarketMoved { market, from, to, deadline, winner: None, settled_at: None }
}

pub fn settled(market: MarketNo, winner: Outcome) -> Effect {
    let paid = if winner == Outcome::Yes { SettlementPrice::ONE } else { SettlementPrice::ZERO };
    Effect::MarketMoved {
        market,
        from: MarketStatus::Resolved,
        to: MarketStatus::Settled,
        deadline: at(1_000),
        winner: Some(winner),
        settled_at: Some(paid),
    }
}

pub fn voided(market: MarketNo, price: u8) -> Effect {
    Effect::MarketMoved {
        market,
        from: MarketStatus::Active,
        to: MarketStatus::Voided,
        deadline: at(1_000),
        winner: None,
        settled_at: SettlementPrice::new(price),
    }
}

/// An order of the market about rain, accepted by `record`; its price is the owner's.
#[derive(Clone, Copy)]
pub struct Placed {
    pub record: u64,
    pub user: UserNo,
    pub wording: Wording,
    pub price: u8,
    pub quantity: u64,
}

impl Placed {
    pub fn accepted(self) -> Effect {
        let terms = PlaceOrder::plain(
            self.user,
            RAIN,
            self.wording,
            tick(self.price),
            Lots::new(self.quantity),
        );
        Effect::OrderAccepted { order: order(self.record), terms }
    }

    pub fn rested(self, remaining: u64) -> Effect {
        Effect::OrderRested {
            order: order(self.record),
            user: self.user,
            market: RAIN,
            direction: self.wording.direction(),
            price: self.yes_price(),
            remaining: Lots::new(remaining),
        }
    }

    pub fn cancelled(self, quantity: u64, rested: bool, reason: CancelReason) -> Effect {
        Effect::OrderCancelled {
            order: order(self.record),
            user: self.user,
            market: RAIN,
            direction: self.wording.direction(),
            price: self.yes_price(),
            quantity: Lots::new(quantity),
            rested,
            reason,
        }
    }

    /// A trade with `self` as the taker; the remaining quantities are those after the trade.
    pub fn took(self, remaining: u64, maker: Placed, maker_remaining: u64, traded: u64) -> Effect {
        let party = |placed: Placed, remaining| Party {
            order: order(placed.record),
            user: placed.user,
            remaining: Lots::new(remaining),
            fee: Money::ZERO,
        };
        Effect::TradeMade(Trade {
            index: TradeIndex(0),
            market: RAIN,
            price: maker.yes_price(),
            quantity: Lots::new(traded),
            taker_direction: self.wording.direction(),
            taker: party(self, remaining),
            maker: party(maker, maker_remaining),
        })
    }

    pub fn yes_price(self) -> Tick {
        self.wording.yes_price(tick(self.price))
    }
}

pub fn holding(held: u64, cost: i64) -> Holding {
    let cost = Money::new(cost);
    Holding { held: Lots::new(held), locked: Lots::ZERO, cost, copy_from: None }
}

/// What a user holds in the market about rain: contracts and cost of yes, then of no.
pub fn holds(user: UserNo, yes: (u64, i64), no: (u64, i64), realised: i128) -> Effect {
    Effect::PositionChanged {
        user,
        market: RAIN,
        yes: holding(yes.0, yes.1),
        no: holding(no.0, no.1),
        realised: MoneySum::new(realised),
    }
}

pub fn paid(user: UserNo, yes: u64, no: u64, realised: i128) -> Effect {
    Effect::PositionSettled {
        user,
        market: RAIN,
        yes: Lots::new(yes),
        no: Lots::new(no),
        payout: Money::ZERO,
        realised: MoneySum::new(realised),
    }
}
