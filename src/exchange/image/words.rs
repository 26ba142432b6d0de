//! The images of the exchange's units, numbers, enums and small structs. Optional numbers have a
//! fixed width: `None` is a number that no value has.

use super::coding::{
    BadImage, ImageSink, ImageSource, Imaged, imaged, imaged_choice, write_list, write_text,
};
use crate::catalogue::{EventDraft, Localized, MarketDraft, Outcome};
use crate::command::{
    Condition, Direction, KeyHash, Role, SelfTradePrevention, Side, TimeInForce, TradingMode,
    Wording,
};
use crate::effect::{CancelReason, Holding};
use crate::ending::Ending;
use crate::fees::{FeeRate, Fees};
use crate::ids::{
    CategoryId, CategoryNo, EventId, EventNo, KeyId, KeyNo, MarketId, MarketNo, MarketSet, OrderNo,
    Token, TradeIndex, UserId, UserNo,
};
use crate::ledger::{Account, Position};
use crate::lifecycle::MarketStatus;
use crate::orders::Backing;
use crate::restrictions::{Heartbeat, Restrictions, UserRestrictions};
use crate::rules::Rules;
use crate::units::{
    Lots, LotsSum, Money, MoneySum, Ratio, Sequence, SettlementPrice, Tick, TimeMs,
};
use crate::venue::Key;

/// Types that wrap an integer, every value of which is valid.
macro_rules! wrapped {
    ($($name:ident($number:ty)),* $(,)?) => {$(
        impl Imaged for $name {
            #[inline]
            fn write(&self, sink: &mut impl ImageSink) {
                self.get().write(sink);
            }

            #[inline]
            fn read(source: &mut impl ImageSource) -> Result<Self, BadImage> {
                <$number>::read(source).map($name::new)
            }
        }
    )*};
}

wrapped!(Lots(u64), LotsSum(u128), Money(i64), MoneySum(i128), Sequence(u64));

/// Types that wrap an integer of a narrower range.
macro_rules! bounded {
    ($($name:ident($number:ty)),* $(,)?) => {$(
        impl Imaged for $name {
            #[inline]
            fn write(&self, sink: &mut impl ImageSink) {
                self.get().write(sink);
            }

            #[inline]
            fn read(source: &mut impl ImageSource) -> Result<Self, BadImage> {
                $name::new(<$number>::read(source)?).ok_or(BadImage::Value(stringify!($name)))
            }
        }
    )*};
}

bounded!(Tick(u8), SettlementPrice(u8), FeeRate(u16), TimeMs(i64));

/// Dense numbers.
macro_rules! numbers {
    ($($name:ident),* $(,)?) => {$(
        impl Imaged for $name {
            #[inline]
            fn write(&self, sink: &mut impl ImageSink) {
                self.0.write(sink);
            }

            #[inline]
            fn read(source: &mut impl ImageSource) -> Result<Self, BadImage> {
                Imaged::read(source).map($name)
            }
        }
    )*};
}

numbers!(UserNo, KeyNo, CategoryNo, EventNo, MarketNo, OrderNo, TradeIndex, KeyHash);

/// The markets by ascending number.
impl Imaged for MarketSet {
    fn write(&self, sink: &mut impl ImageSink) {
        write_list(self.as_slice().iter(), sink);
    }

    fn read(source: &mut impl ImageSource) -> Result<Self, BadImage> {
        let markets: Vec<MarketNo> = Imaged::read(source)?;
        let ascending = markets.is_sorted();
        MarketSet::new(markets).filter(|_| ascending).ok_or(BadImage::Value("MarketSet"))
    }
}

/// Public ids, as the 16 bytes of their UUID.
macro_rules! outside_ids {
    ($($name:ident),* $(,)?) => {$(
        impl Imaged for $name {
            fn write(&self, sink: &mut impl ImageSink) {
                self.uuid().into_bytes().write(sink);
            }

            fn read(source: &mut impl ImageSource) -> Result<Self, BadImage> {
                Imaged::read(source).map(|bytes| $name::from_uuid(uuid::Uuid::from_bytes(bytes)))
            }
        }
    )*};
}

outside_ids!(UserId, KeyId, CategoryId, EventId, MarketId);

/// Optional values, as their number in a wider type or range; `None` is -1 or 255.
macro_rules! missing {
    ($($name:ident as $wide:ty: $nothing:literal, $out:expr, $in:expr);* $(;)?) => {$(
        impl Imaged for Option<$name> {
            #[inline]
            fn write(&self, sink: &mut impl ImageSink) {
                let wide: $wide = self.map_or($nothing, $out);
                wide.write(sink);
            }

            #[inline]
            fn read(source: &mut impl ImageSource) -> Result<Self, BadImage> {
                match <$wide>::read(source)? {
                    $nothing => Ok(None),
                    wide => $in(wide).map(Some).ok_or(BadImage::Value(stringify!($name))),
                }
            }
        }
    )*};
}

missing!(
    TimeMs as i64: -1, TimeMs::get, TimeMs::new;
    UserNo as i64: -1, |user| i64::from(user.0), |n| u32::try_from(n).ok().map(UserNo);
    EventNo as i64: -1, |event| i64::from(event.0), |n| u32::try_from(n).ok().map(EventNo);
    Money as i64: -1, Money::get, |units| Some(Money::new(units)).filter(|m| !m.is_negative());
    Tick as u8: 255, Tick::get, Tick::new;
    SettlementPrice as u8: 255, SettlementPrice::get, SettlementPrice::new;
);

impl Imaged for Option<Token> {
    fn write(&self, sink: &mut impl ImageSink) {
        self.is_some().write(sink);
        if let Some(name) = self {
            name.write(sink);
        }
    }

    fn read(source: &mut impl ImageSource) -> Result<Self, BadImage> {
        bool::read(source)?.then(|| Token::read(source)).transpose()
    }
}

imaged_choice!(Outcome { Yes = 1, No = 2 });
imaged_choice!(Direction { Up = 1, Down = 2 });
imaged_choice!(Side { Buy = 1, Sell = 2 });
imaged_choice!(Role { Trader = 1, Operator = 2, Reader = 3 });
imaged_choice!(SelfTradePrevention { CancelTaker = 1, CancelMaker = 2, CancelBoth = 3 });
imaged_choice!(Condition {
    Unconditional = 1,
    PostOnly = 2,
    ReduceOnly = 3,
    PostOnlyReduceOnly = 4,
});
imaged_choice!(TradingMode { Normal = 1, CancelOnly = 2, ReadOnly = 3 });
imaged_choice!(MarketStatus {
    Draft = 1,
    Active = 2,
    Suspended = 3,
    Closed = 4,
    Resolved = 5,
    Disputed = 6,
    Settled = 7,
    Voided = 8,
});
imaged_choice!(CancelReason {
    User = 1,
    IocRemainder = 2,
    FokNotFillable = 3,
    SelfTrade = 4,
    Expired = 5,
    MarketClosed = 6,
    MarketVoided = 7,
    HeartbeatExpired = 8,
});

imaged!(Localized { pt, en, es });
imaged!(EventDraft {
    titles,
    sub_titles,
    descriptions,
    images,
    highlighted,
    categories,
    mutually_exclusive,
});
imaged!(MarketDraft {
    questions,
    descriptions,
    yes_text,
    no_text,
    logo,
    deadline,
    categories,
    event,
    highlighted,
    dispute_window_seconds,
    fees,
});
imaged!(Ending { since, by_void, void_at, paid_below });
imaged!(Wording { outcome, side });
imaged!(Backing { contracts, cash, fees });
imaged!(Fees { maker, taker });
imaged!(Holding { held, locked, cost, copy_from });
imaged!(Account { available, reserved });
imaged!(Position { yes, no, realised });
imaged!(Key { user, role, hash, revoked });
imaged!(Rules {
    version,
    currency,
    user_open_orders_max,
    venue_open_orders_max,
    money_supply_max,
    repeat_window_seconds,
    user_names_max,
});
imaged!(Heartbeat { until, expired });
imaged!(UserRestrictions { mode, exposure_limit, heartbeat });
imaged!(Restrictions { venue, users });

impl Imaged for Token {
    fn write(&self, sink: &mut impl ImageSink) {
        write_text(self.as_str(), sink);
    }

    fn read(source: &mut impl ImageSource) -> Result<Self, BadImage> {
        Token::new(&String::read(source)?).ok_or(BadImage::Value("Token"))
    }
}

impl Imaged for Ratio {
    fn write(&self, sink: &mut impl ImageSink) {
        self.to_bytes().write(sink);
    }

    fn read(source: &mut impl ImageSource) -> Result<Self, BadImage> {
        Imaged::read(source).map(Ratio::from_bytes)
    }
}

/// A number for the kind, then the optional time of its expiry.
impl Imaged for TimeInForce {
    #[inline]
    fn write(&self, sink: &mut impl ImageSink) {
        let (kind, expires_at) = match self {
            TimeInForce::GoodTillCancelled { expires_at } => (1_u8, *expires_at),
            TimeInForce::ImmediateOrCancel => (2, None),
            TimeInForce::FillOrKill => (3, None),
        };
        kind.write(sink);
        expires_at.write(sink);
    }

    #[inline]
    fn read(source: &mut impl ImageSource) -> Result<Self, BadImage> {
        match (u8::read(source)?, Imaged::read(source)?) {
            (1, expires_at) => Ok(TimeInForce::GoodTillCancelled { expires_at }),
            (2, None) => Ok(TimeInForce::ImmediateOrCancel),
            (3, None) => Ok(TimeInForce::FillOrKill),
            _ => Err(BadImage::Value("TimeInForce")),
        }
    }
}
