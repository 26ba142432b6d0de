//! The fields of commands and effects as names and values, for those who show them in another form:
//! as words, or as JSON. What is shown follows from a field's type, once.

use super::decimal::{Decimal, DecimalText};
use super::ids::{
    CategoryNo, EventNo, Group, KeyNo, MarketNo, MarketSet, OrderNo, Token, TradeIndex, UserNo,
};
use super::units::{Lots, Money, MoneySum, Sequence, SettlementPrice, Tick, TimeMs, UnitError};

/// What a field holds.
#[derive(Debug, Clone)]
pub enum Value<'a> {
    /// Nothing, where there may be something.
    None,
    /// A condition.
    Flag(bool),
    /// A count, or a span in seconds.
    Count(u64),
    /// A price, quantity, amount or rate.
    Decimal(DecimalText),
    /// A time.
    Time(TimeMs),
    /// A text.
    Text(&'a str),
    /// A name of the interface's.
    Word(&'static str),
    /// A hash.
    Hash(&'a [u8; 32]),
    /// A user.
    User(UserNo),
    /// An API key.
    Key(KeyNo),
    /// A category.
    Category(CategoryNo),
    /// An event.
    Event(EventNo),
    /// A market.
    Market(MarketNo),
    /// An order.
    Order(OrderNo),
    /// Several of a kind.
    List(Vec<Value<'a>>),
    /// Fields that belong together, such as a text in three languages.
    Group(Vec<Shown<'a>>),
}

/// A field's name and what it holds.
pub type Shown<'a> = (&'static str, Value<'a>);

/// Fields that somebody names in words.
pub trait Named {
    /// Why words name no field.
    type Error;

    /// Whether a field is named at all.
    fn has(&self, field: &'static str) -> bool;

    /// The number of the thing of this kind that a field names.
    ///
    /// # Errors
    /// There is no such thing.
    fn number(&self, field: &'static str, kind: Kind) -> Result<u64, Self::Error>;

    /// The markets that a field names.
    ///
    /// # Errors
    /// There is no such market, or one is named twice.
    fn markets(&self, field: &'static str) -> Result<MarketSet, Self::Error>;

    /// A field in this form.
    ///
    /// # Errors
    /// It is not in this form.
    fn unit<T>(
        &self,
        field: &'static str,
        parse: fn(&str) -> Result<T, UnitError>,
    ) -> Result<T, Self::Error>;

    /// A field that is a word.
    ///
    /// # Errors
    /// It is no such word.
    fn word<T>(
        &self,
        field: &'static str,
        find: impl Fn(&str) -> Option<T>,
    ) -> Result<T, Self::Error>;

    /// A time.
    ///
    /// # Errors
    /// It is none.
    fn time(&self, field: &'static str) -> Result<TimeMs, Self::Error>;

    /// A span of whole seconds.
    ///
    /// # Errors
    /// It is none.
    fn seconds(&self, field: &'static str) -> Result<u32, Self::Error>;
}

/// A kind of thing with a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Users.
    User,
    /// API keys.
    Key,
    /// Categories.
    Category,
    /// Events.
    Event,
    /// Markets.
    Market,
    /// Orders.
    Order,
}

/// What can be a field of a command or an effect.
pub trait Field: Sized {
    /// Appends the fields that it is: one of this name, or those of a struct with their own.
    fn show<'a>(&'a self, name: &'static str, to: &mut Vec<Shown<'a>>);

    /// The field that somebody names. Types that no pattern of a command has are never named.
    ///
    /// # Errors
    /// It is missing, or no value of this type.
    fn taken<N: Named>(name: &'static str, named: &N) -> Result<Self, N::Error> {
        named.word(name, |_| None)
    }
}

/// How types are shown, and how those are taken that patterns of commands have.
macro_rules! shown {
    ($(
        $field:ty: $it:ident => $value:expr $(, $name:ident in $named:ident => $take:expr)?;
    )*) => {$(
        impl Field for $field {
            fn show<'a>(&'a self, name: &'static str, to: &mut Vec<Shown<'a>>) {
                let $it = self;
                to.push((name, $value));
            }

            $(
                fn taken<N: Named>($name: &'static str, $named: &N) -> Result<Self, N::Error> {
                    $take
                }
            )?
        }
    )*};
}

pub(crate) use shown;

/// A number of 32 bits.
fn short<T>(number: u64, of: fn(u32) -> T) -> T {
    of(u32::try_from(number).unwrap_or(u32::MAX))
}

shown! {
    bool: it => Value::Flag(*it);
    u32: it => Value::Count((*it).into()), name in n => n.seconds(name);
    Sequence: it => Value::Count(it.get());
    TradeIndex: it => Value::Count(it.0.into());
    Tick: it => Value::Decimal(it.decimal()), name in n => n.unit(name, Tick::parse);
    SettlementPrice: it => Value::Decimal(it.decimal()),
        name in n => n.unit(name, SettlementPrice::parse);
    Lots: it => Value::Decimal(it.decimal()), name in n => n.unit(name, Lots::parse);
    // A limit may be zero, an amount may not.
    Money: it => Value::Decimal(it.decimal()), name in n => match name {
        "limit" => n.unit(name, Money::parse_limit),
        _ => n.unit(name, Money::parse),
    };
    MoneySum: it => Value::Decimal(it.decimal());
    TimeMs: it => Value::Time(*it), name in n => n.time(name);
    String: it => Value::Text(it);
    Token: it => Value::Text(it.as_str()), name in n => n.word(name, Token::new);
    Group: it => Value::Text(it.as_str()), name in n => n.word(name, Group::new);
    UserNo: it => Value::User(*it), name in n => Ok(short(n.number(name, Kind::User)?, UserNo));
    KeyNo: it => Value::Key(*it), name in n => Ok(short(n.number(name, Kind::Key)?, KeyNo));
    CategoryNo: it => Value::Category(*it);
    EventNo: it => Value::Event(*it), name in n => {
        Ok(short(n.number(name, Kind::Event)?, EventNo))
    };
    MarketNo: it => Value::Market(*it), name in n => {
        Ok(short(n.number(name, Kind::Market)?, MarketNo))
    };
    OrderNo: it => Value::Order(*it), name in n => {
        Ok(OrderNo(Sequence::new(n.number(name, Kind::Order)?)))
    };
    MarketSet: it => Value::List(it.as_slice().iter().copied().map(Value::Market).collect()),
        name in n => n.markets(name);
    Vec<CategoryNo>: it => Value::List(it.iter().copied().map(Value::Category).collect());
    Vec<String>: it => Value::List(it.iter().map(|text| Value::Text(text)).collect());
}

impl<T: Field> Field for Option<T> {
    fn show<'a>(&'a self, name: &'static str, to: &mut Vec<Shown<'a>>) {
        match self {
            Some(value) => value.show(name, to),
            None => to.push((name, Value::None)),
        }
    }

    fn taken<N: Named>(name: &'static str, named: &N) -> Result<Self, N::Error> {
        if named.has(name) { T::taken(name, named).map(Some) } else { Ok(None) }
    }
}

impl<T: Field> Field for Box<T> {
    fn show<'a>(&'a self, name: &'static str, to: &mut Vec<Shown<'a>>) {
        T::show(self, name, to);
    }

    fn taken<N: Named>(name: &'static str, named: &N) -> Result<Self, N::Error> {
        T::taken(name, named).map(Box::new)
    }
}
