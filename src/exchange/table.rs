//! The tables: macros that declare an enum once, with the number that each of its variants has on
//! disk, its name and its fields. The bytes of the variants, both ways, and the lists of numbers
//! and names follow from the declaration.

use super::decimal::{Decimal, DecimalText};
use super::ids::{
    CategoryNo, EventNo, Group, KeyNo, MarketNo, MarketSet, OrderNo, Token, TradeIndex, UserNo,
};
use super::units::{Lots, Money, MoneySum, Sequence, SettlementPrice, Tick, TimeMs, UnitError};

/// Declares an enum without fields: each variant with its number on disk and its name in the
/// interface. Numbers begin at 1, so that a zero byte is never a value.
macro_rules! choice {
    (
        $(#[$meta:meta])*
        pub enum $name:ident by $word:ident {
            $( $(#[$variant_meta:meta])* $variant:ident = $number:literal $text:literal, )*
        }
    ) => {
        $(#[$meta])*
        pub enum $name {
            $( $(#[$variant_meta])* $variant, )*
        }

        impl $name {
            /// All of them, in this order.
            pub const ALL: [$name; [$($number),*].len()] = [$($name::$variant),*];

            /// The interface's name of it.
            #[must_use]
            pub const fn $word(self) -> &'static str {
                match self {
                    $( $name::$variant => $text, )*
                }
            }
        }

        const _: () = {
            use $crate::table::{Field, Named, Shown, Value};
            use $crate::image::coding::{BadImage, ImageSink, ImageSource, Imaged};
            $crate::image::coding::imaged_choice!($name { $($variant = $number),* });

            impl Field for $name {
                fn show<'a>(&'a self, name: &'static str, to: &mut Vec<Shown<'a>>) {
                    to.push((name, Value::Word(self.$word())));
                }

                fn taken<N: Named>(name: &'static str, named: &N) -> Result<Self, N::Error> {
                    named.word(name, |word| $name::ALL.into_iter().find(|one| one.$word() == word))
                }
            }
        };
    };
}

/// Declares a struct that is a part of commands or effects: its fields in their order on disk, with
/// the names that they have in the journal where those differ; after a semicolon each, fields that
/// only bodies of a later version have (`image/coding.rs`).
macro_rules! part {
    (
        $(#[$meta:meta])*
        pub struct $name:ident {
            $( $(#[$field_meta:meta])* pub $field:ident: $type:ty $(= $called:literal)?, )*
            $( ; $version:literal $(#[$later_meta:meta])* pub $later:ident: $later_type:ty, )*
        }
    ) => {
        $(#[$meta])*
        pub struct $name {
            $( $(#[$field_meta])* pub $field: $type, )*
            $( $(#[$later_meta])* pub $later: Option<$later_type>, )*
        }

        const _: () = {
            use $crate::table::{Field, Named, Shown};
            use $crate::image::coding::{BadImage, ImageSink, ImageSource, Imaged, called};
            $crate::image::coding::imaged!(
                $name { $($field $(= $called)?),* $(; $version $later)* }
            );

            impl Field for $name {
                fn show<'a>(&'a self, _: &'static str, to: &mut Vec<Shown<'a>>) {
                    $( self.$field.show(called!($field $($called)?), to); )*
                    $( self.$later.show(stringify!($later), to); )*
                }

                fn taken<N: Named>(_: &'static str, named: &N) -> Result<Self, N::Error> {
                    Ok($name {
                        $($field: Field::taken(called!($field $($called)?), named)?,)*
                        $($later: Field::taken(stringify!($later), named)?,)*
                    })
                }
            }
        };
    };
}

/// Declares an enum of records: commands or effects. A row has a number on disk, a name, and either
/// nothing, one struct or named fields, in their order on disk; after a semicolon each, fields that
/// only bodies of a later version have (`image/coding.rs`). After `@` stand the later versions of a
/// row with a struct that has some.
macro_rules! table {
    (
        $(#[$meta:meta])*
        pub enum $table:ident numbered $number:ty {
            $(
                $(#[$row_meta:meta])*
                $no:literal $name:ident = $row:ident
                $( ( $inner:ident: $inner_type:ty ) )?
                $( {
                    $( $(#[$field_meta:meta])* $field:ident: $type:ty, )*
                    $( ; $version:literal $(#[$later_meta:meta])* $later:ident: $later_type:ty, )*
                } )?
                $( @ $( $further:literal )+ )?
                $( => $words:literal )?
                ;
            )*
        }
    ) => {
        $(#[$meta])*
        pub enum $table {
            $(
                $(#[$row_meta])*
                $row $( ($inner_type) )? $( {
                    $( $(#[$field_meta])* $field: $type, )*
                    $( $(#[$later_meta])* $later: Option<$later_type>, )*
                } )?,
            )*
        }

        impl $table {
            /// The kinds by number, each with its name. Numbers ascend and are never reused.
            pub const KINDS: [($number, &str); [$($no),*].len()] =
                [$( ($no, stringify!($name)) ),*];

            /// Whether a kind has this number.
            #[must_use]
            #[inline]
            pub const fn has_kind(number: $number) -> bool {
                matches!(number, $($no)|*)
            }

            /// The versions of bodies after the first, each with the number of its kind.
            pub const LATER: &[($number, u8)] =
                &[$( $( $( ($no, $version), )* )? $( $( ($no, $further), )+ )? )*];

            /// The words of the kinds that a pattern says (`script/pattern.rs`).
            pub const WORDS: &[($number, &str)] = &[$( $( ($no, $words), )? )*];

            /// The number of its kind.
            #[must_use]
            #[inline]
            pub const fn number(&self) -> $number {
                match self {
                    $( $table::$row { .. } => $no, )*
                }
            }

            /// The version of its body: the first that can say it, so that a reader of the first
            /// version reads all that it could ever read.
            #[must_use]
            #[inline]
            pub fn version(&self) -> u8 {
                use $crate::image::coding::Imaged;
                match self {
                    $(
                        $table::$row $( ($inner) )? $( { $( $field, )* $( $later, )* } )? => {
                            let version = 1_u8;
                            $( let version = version.max(Imaged::version($inner)); )?
                            $(
                                $( let version = version.max(Imaged::version($field)); )*
                                $( let version = version
                                    .max(if $later.is_some() { $version } else { 1 }); )*
                            )?
                            version
                        }
                    )*
                }
            }

            /// Its fields, those of structs one by one, in the order of the table.
            #[must_use]
            pub fn fields(&self) -> Vec<$crate::table::Shown<'_>> {
                use $crate::table::Field;
                let mut shown = Vec::new();
                match self {
                    $(
                        $table::$row $( ($inner) )? $( { $( $field, )* $( $later, )* } )? => {
                            $( $inner.show(stringify!($inner), &mut shown); )?
                            $(
                                $( $field.show(stringify!($field), &mut shown); )*
                                $( $later.show(stringify!($later), &mut shown); )*
                            )?
                        }
                    )*
                }
                shown
            }

            /// The kind with this number, of the fields that somebody names; `None` if no kind has
            /// it.
            ///
            /// # Errors
            /// A field is missing or has no such value.
            pub fn of_fields<F: $crate::table::Named>(
                number: $number,
                named: &F,
            ) -> Result<Option<$table>, F::Error> {
                use $crate::table::Field;
                Ok(Some(match number {
                    $(
                        $no => $table::$row
                            $( (<$inner_type as Field>::taken(stringify!($inner), named)?) )?
                            $( {
                                $( $field: <$type as Field>::taken(stringify!($field), named)?, )*
                                $(
                                    $later: <Option<$later_type> as Field>::taken(
                                        stringify!($later),
                                        named,
                                    )?,
                                )*
                            } )?,
                    )*
                    _ => return Ok(None),
                }))
            }

            /// Appends its fields' bytes, in the order of the table.
            // Inlined, so that the offsets of small ones are known at compile time.
            #[inline(always)]
            #[allow(clippy::inline_always)]
            pub fn write_fields(&self, sink: &mut impl $crate::image::coding::ImageSink) {
                use $crate::image::coding::Imaged;
                match self {
                    $(
                        $table::$row $( ($inner) )? $( { $( $field, )* $( $later, )* } )? => {
                            $( $inner.write(sink); )?
                            $(
                                $( $field.write(sink); )*
                                $( $crate::image::coding::write_later(
                                    $later.as_ref(), $version, self.version(), sink,
                                ); )*
                            )?
                        }
                    )*
                }
            }

            /// Reads the fields of the kind with this number, in this version of its body.
            ///
            /// # Errors
            /// The bytes are no such fields, or no kind has this number.
            #[inline]
            #[allow(unused_variables, reason = "only some tables have rows with later versions")]
            pub fn read_fields(
                number: $number,
                version: u8,
                source: &mut impl $crate::image::coding::ImageSource,
            ) -> Result<$table, $crate::image::coding::BadImage> {
                use $crate::image::coding::{BadImage, Imaged};
                match number {
                    $(
                        $no => Ok($table::$row
                            $( ({
                                let $inner: $inner_type = Imaged::read_version(version, source)?;
                                $inner
                            }) )?
                            $( {
                                $( $field: <$type>::read_version(version, source)
                                    .map_err(|bad| bad.of_field(stringify!($field)))?, )*
                                $( $later: $crate::image::coding::read_later::<$later_type>(
                                    $version, version, source,
                                )?, )*
                            } )?
                        ),
                    )*
                    _ => Err(BadImage::Value(stringify!($table))),
                }
            }
        }
    };
}

pub(crate) use choice;
pub(crate) use part;
pub(crate) use table;

// The fields of commands and effects as names and values, for those who show them in another form:
// as words, or as JSON. What is shown follows from a field's type, once.

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
    Sequence: it => Value::Count(it.get()),
        name in n => n.word(name, |word| word.parse().ok().map(Sequence::new));
    TradeIndex: it => Value::Count(it.0.into());
    Tick: it => Value::Decimal(it.decimal()), name in n => n.unit(name, Tick::parse);
    SettlementPrice: it => Value::Decimal(it.decimal()),
        name in n => n.unit(name, SettlementPrice::parse);
    Lots: it => Value::Decimal(it.decimal()), name in n => n.unit(name, Lots::parse);
    // A limit may be zero, an amount may not.
    Money: it => Value::Decimal(it.decimal()), name in n => match name {
        "limit" | "above" | "bond" => n.unit(name, Money::parse_limit),
        _ => n.unit(name, Money::parse),
    };
    MoneySum: it => Value::Decimal(it.decimal());
    TimeMs: it => Value::Time(*it), name in n => n.time(name);
    String: it => Value::Text(it), name in n => n.word(name, |word| Some(word.to_owned()));
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
