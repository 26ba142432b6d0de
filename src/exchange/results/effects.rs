//! The canonical bytes of effects: flat, little-endian, every field of every effect, in the order
//! of journal-format.md. A new effect or field does not compile until it is added here.

use super::sink::{Buffer, Sink};
use crate::catalogue::{
    CategoryDraft, EventDraft, EventRevision, Localized, MarketDraft, MarketRevision, Outcome,
};
use crate::command::{
    Condition, Direction, KeyHash, PlaceOrder, Role, SelfTradePrevention, Side, TimeInForce,
    TradingMode, Wording,
};
use crate::effect::{CancelReason, Effect, Holding, Party, Trade};
use crate::fees::{FeeRate, Fees};
use crate::ids::{
    CategoryNo, EventNo, KeyNo, MarketNo, MarketSet, OrderNo, Token, TradeIndex, UserNo,
};
use crate::lifecycle::MarketStatus;
use crate::reject::Reject;
use crate::rules::Rules;
use crate::units::{Lots, Money, MoneySum, Sequence, SettlementPrice, Tick, TimeMs};

/// A value with canonical bytes.
pub trait Canonical {
    /// Appends the value's bytes.
    fn write(&self, out: &mut impl Sink);
}

/// Appends the canonical bytes of one effect.
pub fn write_effect(effect: &Effect, out: &mut Vec<u8>) {
    effect.write(out);
}

/// The same, with a fast path for the most frequent effects.
pub fn append_effect(effect: &Effect, out: &mut Buffer) {
    use Effect as E;
    let appended = match effect {
        E::AccountChanged { .. }
        | E::OrderAccepted { .. }
        | E::OrderAmended { .. }
        | E::TradeMade(_)
        | E::OrderRested { .. }
        | E::OrderCancelled { .. }
        | E::PositionChanged { .. }
        | E::PositionSettled { .. } => out.append_small(|small| effect.write(small)),
        _ => false,
    };
    if !appended {
        effect.write(out);
    }
}

/// Writes fields one after the other.
macro_rules! put {
    ($out:expr; $($field:expr),+ $(,)?) => {{ $($field.write($out);)+ }};
}

macro_rules! integers {
    ($($kind:ty),+) => { $(
        impl Canonical for $kind {
            #[inline]
            fn write(&self, out: &mut impl Sink) {
                out.integer(self.to_le_bytes());
            }
        }
    )+ };
}

integers!(u8, u16, u32, u64, i64, i128);

macro_rules! wrapped {
    ($($kind:ty: $as:ident => $value:expr;)+) => { $(
        impl Canonical for $kind {
            #[inline]
            fn write(&self, out: &mut impl Sink) {
                let $as = self;
                $value.write(out);
            }
        }
    )+ };
}

wrapped! {
    bool: it => u8::from(*it);
    Tick: it => it.get();
    SettlementPrice: it => it.get();
    FeeRate: it => it.get();
    Lots: it => it.get();
    Money: it => it.get();
    MoneySum: it => it.get();
    TimeMs: it => it.get();
    UserNo: it => it.0;
    KeyNo: it => it.0;
    CategoryNo: it => it.0;
    EventNo: it => it.0;
    MarketNo: it => it.0;
    OrderNo: it => it.0.get();
    TradeIndex: it => it.0;
    KeyHash: it => it.0;
    Sequence: it => it.get();
    Token: it => it.as_str();
    // By its stable code, not by its place in a list that grows.
    Reject: it => it.code();
    String: it => it.as_str();
    Outcome: it => match it {
        Outcome::Yes => 1_u8,
        Outcome::No => 2,
    };
    Side: it => if matches!(it, Side::Buy) { 1_u8 } else { 2 };
    Direction: it => match it {
        Direction::Up => 1_u8,
        Direction::Down => 2,
    };
    Role: it => match it {
        Role::Trader => 1_u8,
        Role::Operator => 2,
        Role::Reader => 3,
    };
    SelfTradePrevention: it => match it {
        SelfTradePrevention::CancelTaker => 1_u8,
        SelfTradePrevention::CancelMaker => 2,
        SelfTradePrevention::CancelBoth => 3,
    };
    Condition: it => match it {
        Condition::Unconditional => 1_u8,
        Condition::PostOnly => 2,
        Condition::ReduceOnly => 3,
        Condition::PostOnlyReduceOnly => 4,
    };
    CancelReason: it => match it {
        CancelReason::User => 1_u8,
        CancelReason::IocRemainder => 2,
        CancelReason::FokNotFillable => 3,
        CancelReason::SelfTrade => 4,
        CancelReason::Expired => 5,
        CancelReason::MarketClosed => 6,
        CancelReason::MarketVoided => 7,
        CancelReason::HeartbeatExpired => 8,
    };
    TradingMode: it => match it {
        TradingMode::Normal => 1_u8,
        TradingMode::CancelOnly => 2,
        TradingMode::ReadOnly => 3,
    };
    MarketStatus: it => match it {
        MarketStatus::Draft => 1_u8,
        MarketStatus::Active => 2,
        MarketStatus::Suspended => 3,
        MarketStatus::Closed => 4,
        MarketStatus::Resolved => 5,
        MarketStatus::Disputed => 6,
        MarketStatus::Settled => 7,
        MarketStatus::Voided => 8,
    };
}

impl Canonical for [u8; 32] {
    #[inline]
    fn write(&self, out: &mut impl Sink) {
        out.integer(*self);
    }
}

impl Canonical for str {
    #[inline]
    fn write(&self, out: &mut impl Sink) {
        count(self.len()).write(out);
        out.bytes(self.as_bytes());
    }
}

impl<T: Canonical> Canonical for Vec<T> {
    #[inline]
    fn write(&self, out: &mut impl Sink) {
        count(self.len()).write(out);
        for item in self {
            item.write(out);
        }
    }
}

impl Canonical for MarketSet {
    #[inline]
    fn write(&self, out: &mut impl Sink) {
        count(self.as_slice().len()).write(out);
        for market in self.as_slice() {
            market.write(out);
        }
    }
}

impl<T: Canonical> Canonical for Box<T> {
    #[inline]
    fn write(&self, out: &mut impl Sink) {
        T::write(self, out);
    }
}

impl<T: Canonical> Canonical for Option<T> {
    #[inline]
    fn write(&self, out: &mut impl Sink) {
        self.is_some().write(out);
        if let Some(value) = self {
            value.write(out);
        }
    }
}

fn count(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}

impl Canonical for TimeInForce {
    #[inline]
    fn write(&self, out: &mut impl Sink) {
        let (number, expires_at): (u8, Option<TimeMs>) = match self {
            TimeInForce::GoodTillCancelled { expires_at } => (1, *expires_at),
            TimeInForce::ImmediateOrCancel => (2, None),
            TimeInForce::FillOrKill => (3, None),
        };
        put!(out; number, expires_at);
    }
}

/// Types that are written field by field, in this order.
macro_rules! in_order {
    ($($kind:ident { $($field:ident),+ $(,)? })+) => { $(
        impl Canonical for $kind {
            #[inline]
            fn write(&self, out: &mut impl Sink) {
                let $kind { $($field),+ } = self;
                put!(out; $($field),+);
            }
        }
    )+ };
}

in_order! {
    Localized { pt, en, es }
    Rules {
        version, currency, user_open_orders_max, venue_open_orders_max, money_supply_max,
        repeat_window_seconds, user_names_max,
    }
    CategoryDraft { name, slug }
    EventDraft {
        titles, sub_titles, descriptions, images, highlighted, categories, mutually_exclusive,
    }
    Fees { maker, taker }
    MarketDraft {
        questions, descriptions, yes_text, no_text, logo, deadline, categories, event, highlighted,
        dispute_window_seconds, fees,
    }
    EventRevision { titles, sub_titles, descriptions, images, highlighted, categories }
    MarketRevision {
        questions, descriptions, yes_text, no_text, logo, deadline, categories, highlighted,
        maker_fee, taker_fee,
    }
    Wording { outcome, side }
    PlaceOrder {
        user, market, wording, price, quantity, time_in_force, self_trade, condition, valid_until,
        copy_from, client_order_id,
    }
    Party { order, user, remaining, fee }
    Trade { index, market, price, quantity, taker_direction, taker, maker }
    Holding { held, locked, cost, copy_from }
}

impl Canonical for Effect {
    #[rustfmt::skip] // a line an effect, its number first
                     // Inlined, so that offsets in a small effect are known at compile time.
    #[inline(always)]
    #[allow(clippy::inline_always)]
    fn write(&self, out: &mut impl Sink) {
        use Effect as E;
        match self {
            E::Refused(reject) => put!(out; 1_u8, reject),
            E::VenueOpened(rules) => put!(out; 2_u8, rules),
            E::UserCreated { user, profile_name, profile_pic } => {
                put!(out; 3_u8, user, profile_name, profile_pic);
            }
            E::KeyAdded { user, key, role, label, hash } => {
                put!(out; 4_u8, user, key, role, label, hash);
            }
            E::KeyRevoked { user, key } => put!(out; 5_u8, user, key),
            E::Deposited { user, amount } => put!(out; 6_u8, user, amount),
            E::Withdrawn { user, amount } => put!(out; 7_u8, user, amount),
            E::AccountChanged { user, available, reserved } => {
                put!(out; 8_u8, user, available, reserved);
            }
            E::CategoryCreated { category, draft } => put!(out; 9_u8, category, draft),
            E::EventCreated { event, draft } => put!(out; 10_u8, event, draft),
            E::MarketCreated { market, draft } => put!(out; 11_u8, market, draft),
            E::EventRevised { event, revision } => put!(out; 12_u8, event, revision),
            E::MarketRevised { market, revision } => put!(out; 13_u8, market, revision),
            E::MarketMoved { market, from, to, deadline, winner, settled_at } => {
                put!(out; 14_u8, market, from, to, deadline, winner, settled_at);
            }
            E::OrderAccepted { order, terms } => put!(out; 15_u8, order, terms),
            E::OrderAmended {
                order, user, market, direction, price_before, price, remaining_before, quantity,
                remaining, kept_place,
            } => {
                put!(out; 16_u8, order, user, market, direction, price_before, price);
                put!(out; remaining_before, quantity, remaining, kept_place);
            }
            E::TradeMade(trade) => put!(out; 17_u8, trade),
            E::OrderRested { order, user, market, direction, price, remaining } => {
                put!(out; 18_u8, order, user, market, direction, price, remaining);
            }
            E::OrderCancelled {
                order, user, market, direction, price, quantity, rested, reason,
            } => {
                put!(out; 19_u8, order, user, market, direction, price, quantity, rested, reason);
            }
            E::PositionChanged { user, market, yes, no, realised } => {
                put!(out; 20_u8, user, market, yes, no, realised);
            }
            E::PositionSettled { user, market, yes, no, payout, realised } => {
                put!(out; 21_u8, user, market, yes, no, payout, realised);
            }
            E::Repeated { first } => put!(out; 22_u8, first),
            E::AnswerKept { until } => put!(out; 23_u8, until),
            E::HeartbeatSet { user, until } => put!(out; 24_u8, user, until),
            E::HeartbeatExpired { user } => put!(out; 25_u8, user),
            E::VenueModeSet { mode } => put!(out; 26_u8, mode),
            E::UserModeSet { user, mode } => put!(out; 27_u8, user, mode),
            E::ExposureLimitSet { user, limit } => put!(out; 28_u8, user, limit),
            E::Converted { user, event, markets, quantity, cash } => {
                put!(out; 29_u8, user, event, markets, quantity, cash);
            }
            E::FeesTaken { user, amount } => put!(out; 31_u8, user, amount),
            E::SetsSettled { event, sets, surplus } => put!(out; 30_u8, event, sets, surplus),
            E::MarketPays { market, price, voided } => put!(out; 32_u8, market, price, voided),
        }
    }
}
