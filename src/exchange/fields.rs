//! The fields of commands and effects as names and values, for those who show them in another form:
//! as words, or as JSON. What is shown follows from a field's type, here, once.

use super::catalogue::{Localized, Outcome};
use super::command::{
    Condition, Direction, KeyHash, Role, SeenTerms, SelfTradePrevention, Side, TimeInForce,
    TradingMode,
};
use super::decimal::{Decimal, DecimalText};
use super::effect::{CancelReason, Holding, Party};
use super::fees::FeeRate;
use super::ids::{
    CategoryNo, EventNo, KeyNo, MarketNo, MarketSet, OrderNo, Token, TradeIndex, UserNo,
};
use super::lifecycle::MarketStatus;
use super::reject::Reject;
use super::units::{Lots, Money, MoneySum, Sequence, SettlementPrice, Tick, TimeMs};

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
    /// A text in three languages.
    Texts(&'a Localized),
    /// A name of the interface's.
    Word(&'static str),
    /// One of a market's outcomes.
    Outcome(Outcome),
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
    /// A group of fields that is there or is not.
    Group(Vec<Shown<'a>>),
}

/// A field's name and what it holds.
pub type Shown<'a> = (&'static str, Value<'a>);

/// What can be a field of a command or an effect.
pub trait Field {
    /// Appends the fields that it is: one of this name, or those of a struct with their own.
    fn show<'a>(&'a self, name: &'static str, to: &mut Vec<Shown<'a>>);
}

macro_rules! fields {
    ($($field:ty: $it:ident => $value:expr;)*) => {$(
        impl Field for $field {
            fn show<'a>(&'a self, name: &'static str, to: &mut Vec<Shown<'a>>) {
                let $it = self;
                to.push((name, $value));
            }
        }
    )*};
}

fields! {
    bool: it => Value::Flag(*it);
    u32: it => Value::Count((*it).into());
    Sequence: it => Value::Count(it.get());
    TradeIndex: it => Value::Count(it.0.into());
    Tick: it => Value::Decimal(it.decimal());
    SettlementPrice: it => Value::Decimal(it.decimal());
    Lots: it => Value::Decimal(it.decimal());
    Money: it => Value::Decimal(it.decimal());
    MoneySum: it => Value::Decimal(it.decimal());
    FeeRate: it => Value::Decimal(it.decimal());
    TimeMs: it => Value::Time(*it);
    String: it => Value::Text(it);
    Token: it => Value::Text(it.as_str());
    Localized: it => Value::Texts(it);
    Outcome: it => Value::Outcome(*it);
    KeyHash: it => Value::Hash(&it.0);
    Side: it => Value::Word(it.name());
    Direction: it => Value::Word(it.name());
    Role: it => Value::Word(it.name());
    SelfTradePrevention: it => Value::Word(it.name());
    TradingMode: it => Value::Word(it.name());
    MarketStatus: it => Value::Word(it.name());
    CancelReason: it => Value::Word(it.code());
    Reject: it => Value::Word(it.code());
    UserNo: it => Value::User(*it);
    KeyNo: it => Value::Key(*it);
    CategoryNo: it => Value::Category(*it);
    EventNo: it => Value::Event(*it);
    MarketNo: it => Value::Market(*it);
    OrderNo: it => Value::Order(*it);
    MarketSet: it => Value::List(it.as_slice().iter().copied().map(Value::Market).collect());
    Vec<CategoryNo>: it => Value::List(it.iter().copied().map(Value::Category).collect());
    Vec<String>: it => Value::List(it.iter().map(|text| Value::Text(text)).collect());
    SeenTerms: it => Value::Group(vec![
        ("price", Value::Decimal(it.price.decimal())),
        ("quantity", Value::Decimal(it.quantity.decimal())),
        ("filled_quantity", Value::Decimal(it.filled.decimal())),
    ]);
    Party: it => Value::Order(it.order);
    Holding: it => Value::Decimal(it.held.decimal());
}

impl<T: Field> Field for Option<T> {
    fn show<'a>(&'a self, name: &'static str, to: &mut Vec<Shown<'a>>) {
        match self {
            Some(value) => value.show(name, to),
            None => to.push((name, Value::None)),
        }
    }
}

impl<T: Field> Field for Box<T> {
    fn show<'a>(&'a self, name: &'static str, to: &mut Vec<Shown<'a>>) {
        T::show(self, name, to);
    }
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
