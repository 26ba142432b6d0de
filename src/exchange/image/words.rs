//! The canonical bytes of the exchange's units, numbers and structs, and how those are shown that
//! no table declares.

use super::coding::{
    BadImage, ImageSink, ImageSource, Imaged, imaged, imaged_choice, write_list, write_text,
};
use crate::catalogue::Localized;
use crate::command::{
    BodyHash, Condition, IdempotencyKey, KeyHash, RecoveryCodes, SeenTerms, TimeInForce,
};
use crate::decimal::Decimal;
use crate::effect::{Holding, Party};
use crate::ending::Ending;
use crate::fees::FeeRate;
use crate::ids::{
    CategoryId, CategoryNo, EventId, EventNo, Group, KeyId, KeyNo, MarketId, MarketNo, MarketSet,
    OrderNo, Token, TradeIndex, UserId, UserNo,
};
use crate::ledger::{Account, Position};
use crate::orders::Backing;
use crate::reject::Reject;
use crate::restrictions::{Heartbeat, Restrictions, UserRestrictions};
use crate::sign_in::{Invitation, Person, Session};
use crate::table::{Field, Named, Shown, Value, shown};
use crate::units::{
    Lots, LotsSum, Money, MoneySum, Ratio, Sequence, SettlementPrice, Tick, TimeMs,
};
use crate::venue::Key;

/// Types that wrap an integer: how they give it and how they take it. Some have a value that stands
/// for none in an image, in a type or range that is wider.
macro_rules! integers {
    ($(
        $name:ident($number:ty): $give:expr, $take:expr $(, or $nothing:literal as $wide:ty)?;
    )*) => {$(
        impl Imaged for $name {
            #[inline]
            fn write(&self, sink: &mut impl ImageSink) {
                let number: $number = $give(*self);
                number.write(sink);
            }

            #[inline]
            fn read(source: &mut impl ImageSource) -> Result<Self, BadImage> {
                $take(<$number>::read(source)?).ok_or(BadImage::Value(stringify!($name)))
            }

            $(
                #[inline]
                fn write_optional(value: Option<&Self>, sink: &mut impl ImageSink) {
                    let wide: $wide = value.map_or($nothing, |value| $give(*value).into());
                    wide.write(sink);
                }

                #[inline]
                fn read_optional(source: &mut impl ImageSource) -> Result<Option<Self>, BadImage> {
                    let wide = match <$wide>::read(source)? {
                        $nothing => return Ok(None),
                        wide => u64::try_from(wide).ok(),
                    };
                    let number = wide.and_then(|wide| <$number>::try_from(wide).ok());
                    let bad = BadImage::Value(stringify!($name));
                    number.and_then($take).map(Some).ok_or(bad)
                }
            )?
        }
    )*};
}

integers! {
    Lots(u64): Lots::get, |n| Some(Lots::new(n));
    LotsSum(u128): LotsSum::get, |n| Some(LotsSum::new(n));
    Money(i64): Money::get, |n| Some(Money::new(n)), or -1 as i64;
    MoneySum(i128): MoneySum::get, |n| Some(MoneySum::new(n));
    Sequence(u64): Sequence::get, |n| Some(Sequence::new(n));
    Tick(u8): Tick::get, Tick::new, or 255 as u8;
    SettlementPrice(u8): SettlementPrice::get, SettlementPrice::new, or 255 as u8;
    FeeRate(u16): FeeRate::get, FeeRate::new;
    TimeMs(i64): TimeMs::get, TimeMs::new, or -1 as i64;
    UserNo(u32): |user: UserNo| user.0, |n| Some(UserNo(n)), or -1 as i64;
    EventNo(u32): |event: EventNo| event.0, |n| Some(EventNo(n)), or -1 as i64;
    KeyNo(u32): |key: KeyNo| key.0, |n| Some(KeyNo(n));
    CategoryNo(u32): |category: CategoryNo| category.0, |n| Some(CategoryNo(n));
    MarketNo(u32): |market: MarketNo| market.0, |n| Some(MarketNo(n));
    TradeIndex(u32): |index: TradeIndex| index.0, |n| Some(TradeIndex(n));
    OrderNo(Sequence): |order: OrderNo| order.0, |n| Some(OrderNo(n));
    KeyHash([u8; 32]): |hash: KeyHash| hash.0, |bytes| Some(KeyHash(bytes));
    BodyHash([u8; 32]): |hash: BodyHash| hash.0, |bytes| Some(BodyHash(bytes));
}

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

impl Imaged for RecoveryCodes {
    fn write(&self, sink: &mut impl ImageSink) {
        write_list(self.as_slice().iter(), sink);
    }

    fn read(source: &mut impl ImageSource) -> Result<Self, BadImage> {
        let codes = RecoveryCodes::new(Imaged::read(source)?);
        codes.ok_or(BadImage::Value("RecoveryCodes"))
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

imaged_choice!(Condition {
    Unconditional = 1,
    PostOnly = 2,
    ReduceOnly = 3,
    PostOnlyReduceOnly = 4,
});

imaged!(Localized { pt, en, es });
imaged!(Ending { since, by_void, void_at, paid_below });
imaged!(Backing { contracts, cash, fees });
imaged!(Holding { held, locked, cost, copy_from });
imaged!(Account { available, reserved });
imaged!(Position { yes, no, realised });
imaged!(Key { user, role, hash, revoked });
imaged!(Invitation { role, hash, ends });
imaged!(Session { hash, until, ends });
imaged!(Person { name, role, password, set, sessions });
imaged!(Heartbeat { until, expired });
imaged!(UserRestrictions { mode, exposure_limit, heartbeat });

/// The switches of groups stand at the image's end.
impl Imaged for Restrictions {
    fn write(&self, sink: &mut impl ImageSink) {
        let Restrictions { venue, users, groups: _ } = self;
        venue.write(sink);
        users.write(sink);
    }

    fn read(source: &mut impl ImageSource) -> Result<Self, BadImage> {
        let (venue, users) = (Imaged::read(source)?, Imaged::read(source)?);
        Ok(Restrictions { venue, users, ..Restrictions::default() })
    }
}

/// Labels, as texts.
macro_rules! labels {
    ($($name:ident),*) => {$(
        impl Imaged for $name {
            fn write(&self, sink: &mut impl ImageSink) {
                write_text(self.as_str(), sink);
            }

            fn read(source: &mut impl ImageSource) -> Result<Self, BadImage> {
                let text = String::read(source)?;
                $name::new(&text).ok_or(BadImage::Value(stringify!($name)))
            }
        }
    )*};
}

labels!(Token, Group);

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
        let kind = match self {
            TimeInForce::GoodTillCancelled { .. } => 1_u8,
            TimeInForce::ImmediateOrCancel => 2,
            TimeInForce::FillOrKill => 3,
        };
        kind.write(sink);
        self.expires_at().write(sink);
    }

    #[inline]
    fn read(source: &mut impl ImageSource) -> Result<Self, BadImage> {
        let kind = u8::read(source)?;
        let expires_at = Option::read(source).map_err(|bad| bad.of_field("expires_at"))?;
        match (kind, expires_at) {
            (1, expires_at) => Ok(TimeInForce::GoodTillCancelled { expires_at }),
            (2, None) => Ok(TimeInForce::ImmediateOrCancel),
            (3, None) => Ok(TimeInForce::FillOrKill),
            (2 | 3, Some(_)) => Err(BadImage::Field("expires_at")),
            _ => Err(BadImage::Value("TimeInForce")),
        }
    }
}

/// By its stable code, not by its place in a list that grows.
impl Imaged for Reject {
    fn write(&self, sink: &mut impl ImageSink) {
        write_text(self.code(), sink);
    }

    fn read(source: &mut impl ImageSource) -> Result<Self, BadImage> {
        let code = String::read(source)?;
        let found = Reject::ALL.into_iter().find(|reject| reject.code() == code);
        found.ok_or(BadImage::Value("Reject"))
    }
}

imaged!(SeenTerms { price = "seen_price", quantity = "seen_quantity", filled = "seen_filled" });
imaged!(IdempotencyKey { caller, key = "once.key", part, body });
imaged!(Party { order, user, remaining, fee });

/// A hash in hexadecimal digits.
fn hash_of(word: &str) -> Option<KeyHash> {
    let bytes = data_encoding::HEXLOWER.decode(word.as_bytes()).ok()?;
    bytes.try_into().ok().map(KeyHash)
}

shown! {
    FeeRate: it => Value::Decimal(it.decimal());
    Localized: it => Value::Group(vec![
        ("pt", Value::Text(&it.pt)),
        ("en", Value::Text(&it.en)),
        ("es", Value::Text(&it.es)),
    ]);
    KeyHash: it => Value::Hash(&it.0), name in n => n.word(name, hash_of);
    RecoveryCodes: it => Value::List(it.as_slice().iter().map(|it| Value::Hash(&it.0)).collect()),
        name in n => n.word(name, |list| {
            let words = list.split(',').filter(|word| !word.is_empty());
            RecoveryCodes::new(words.map(hash_of).collect::<Option<_>>()?)
        });
    Reject: it => Value::Word(it.code());
    SeenTerms: it => Value::Group(vec![
        ("price", Value::Decimal(it.price.decimal())),
        ("quantity", Value::Decimal(it.quantity.decimal())),
        ("filled_quantity", Value::Decimal(it.filled.decimal())),
    ]);
    Party: it => Value::Order(it.order);
    Holding: it => Value::Decimal(it.held.decimal());
}

impl Field for TimeInForce {
    fn show<'a>(&'a self, name: &'static str, to: &mut Vec<Shown<'a>>) {
        to.push((name, Value::Word(self.name())));
        let expires_at = self.expires_at();
        to.push(("expires_at", expires_at.map_or(Value::None, Value::Time)));
    }
}

impl Field for Condition {
    fn show<'a>(&'a self, _: &'static str, to: &mut Vec<Shown<'a>>) {
        to.push(("post_only", Value::Flag(self.post_only())));
        to.push(("reduce_only", Value::Flag(self.reduce_only())));
    }
}

// Bytes in which every optional value follows a tag byte, as in the journal and the results hash.

/// A buffer, or bytes to read.
#[derive(Debug)]
pub struct Tagged<T>(pub T);

impl ImageSink for Tagged<&mut Vec<u8>> {
    #[inline]
    fn put(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    #[inline]
    fn tags(&self) -> bool {
        true
    }
}

impl ImageSource for Tagged<&[u8]> {
    #[inline]
    fn fill(&mut self, into: &mut [u8]) -> Result<(), BadImage> {
        self.0.fill(into)
    }

    #[inline]
    fn left(&self) -> Option<usize> {
        Some(self.0.len())
    }

    #[inline]
    fn tags(&self) -> bool {
        true
    }
}

impl ImageSource for &[u8] {
    #[inline]
    fn fill(&mut self, into: &mut [u8]) -> Result<(), BadImage> {
        let (next, rest) = self.split_at_checked(into.len()).ok_or(BadImage::Truncated)?;
        into.copy_from_slice(next);
        *self = rest;
        Ok(())
    }

    #[inline]
    fn ahead(&self) -> Option<[u8; 8]> {
        Some(self.first_chunk().copied().unwrap_or_else(|| {
            let mut last = [0xFF; 8];
            last.iter_mut().zip(*self).for_each(|(to, from)| *to = *from);
            last
        }))
    }

    #[inline]
    fn pass(&mut self, count: usize) {
        *self = self.get(count..).unwrap_or_default();
    }

    fn left(&self) -> Option<usize> {
        Some(self.len())
    }
}

/// Fixed space for something small with tags, so that the compiler knows the offset of each field
/// and no append checks a capacity.
#[derive(Debug)]
pub struct Fixed<'a, const BYTES: usize> {
    bytes: &'a mut [u8; BYTES],
    /// More than there is space for if it does not fit.
    length: usize,
}

impl<'a, const BYTES: usize> Fixed<'a, BYTES> {
    /// Fills this space from its beginning.
    pub const fn over(bytes: &'a mut [u8; BYTES]) -> Fixed<'a, BYTES> {
        Fixed { bytes, length: 0 }
    }

    /// What was written; `None` if it did not fit.
    #[inline]
    pub fn written(&self) -> Option<&[u8]> {
        self.bytes.get(..self.length)
    }
}

impl<const BYTES: usize> ImageSink for Fixed<'_, BYTES> {
    fn put(&mut self, bytes: &[u8]) {
        let end = self.length.saturating_add(bytes.len());
        if let Some(target) = self.bytes.get_mut(self.length..end) {
            target.copy_from_slice(bytes);
        }
        self.length = end;
    }

    #[inline]
    fn put_array<const N: usize>(&mut self, bytes: [u8; N]) {
        let target = self.bytes.get_mut(self.length..).and_then(<[u8]>::first_chunk_mut::<N>);
        if let Some(target) = target {
            *target = bytes;
        }
        self.length = self.length.saturating_add(N);
    }

    #[inline]
    fn tags(&self) -> bool {
        true
    }
}
