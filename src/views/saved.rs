//! How the parts of the read model are written to its image and read again. What the image has of a
//! part is declared beside that part with [`saved!`], once for both directions. Secondary indexes
//! are not saved but made again from what was loaded.

use std::collections::{BTreeMap, VecDeque};
use std::hash::Hash;
use std::io::{self, BufReader, BufWriter, ErrorKind, Read, Write};
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::history::History;
use exchange::catalogue::{EventDraft, Localized, MarketDraft, Outcome};
use exchange::command::{KeyHash, Password, Role, SecondFactor, TradingMode, TransferEnd};
use exchange::effect::{CancelReason, Proposed};
use exchange::fees::Fees;
use exchange::ids::{
    CategoryId, EventId, Group, KeyId, MarketId, MarketNo, MarketSet, OrderNo, Token, UserId,
    UserNo,
};
use exchange::image::coding::{
    BadImage, ImageSink, ImageSource, Imaged, read_count, room, write_count,
};
use exchange::market::MarketStatus;
use exchange::restrictions::{Heartbeat, UserRestrictions};
use exchange::sign_in::Invitation;
use exchange::slugs::Slug;
use exchange::units::{
    Lots, LotsSum, Money, MoneySum, Ratio, Sequence, SettlementPrice, Tick, TimeMs,
};

/// A part of the read model that its image holds. It has exactly one form there.
pub(crate) trait Saved: Sized {
    /// Appends its bytes.
    fn save(&self, sink: &mut Sink<'_>);

    /// Reads what `save` wrote. Memory is allocated as bytes arrive, never for a claimed length.
    fn load(source: &mut Source<'_>) -> Result<Self, BadImage>;
}

/// Implements [`Saved`] for a struct: these fields, in this order. Fields after `made` are not in
/// the image: they are empty in a loaded value until `by` makes them. A field missing in both does
/// not compile.
macro_rules! saved {
    ($name:ident { $($field:ident),* $(,)? }) => {
        $crate::saved::saved!($name { $($field),* } made {});
    };
    ($name:ident { $($field:ident),* $(,)? } made { $($made:ident),* } $(by $make:ident)?) => {
        const _: () = {
            use $crate::saved::{Saved, Sink, Source};
            impl Saved for $name {
                fn save(&self, sink: &mut Sink<'_>) {
                    let $name { $($field,)* $($made: _,)* } = self;
                    $(Saved::save($field, sink);)*
                }

                fn load(
                    source: &mut Source<'_>,
                ) -> Result<Self, exchange::image::coding::BadImage> {
                    let loaded = $name {
                        $($field: Saved::load(source)?,)*
                        $($made: Default::default(),)*
                    };
                    $(let loaded = $name::$make(loaded, source.sizes)?;)?
                    Ok(loaded)
                }
            }
        };
    };
}
pub(crate) use saved;

/// Implements [`Saved`] for an enum: a number for each variant, then its fields.
macro_rules! saved_enum {
    ($name:ident { $($number:literal = $variant:ident $(($($field:ident),+))?),* $(,)? }) => {
        const _: () = {
            use $crate::saved::{Saved, Sink, Source};
            use exchange::image::coding::BadImage;
            impl Saved for $name {
                fn save(&self, sink: &mut Sink<'_>) {
                    match self {$(
                        $name::$variant $(($($field),+))? => {
                            <u8 as Saved>::save(&$number, sink);
                            $($(Saved::save($field, sink);)+)?
                        }
                    )*}
                }

                fn load(source: &mut Source<'_>) -> Result<Self, BadImage> {
                    Ok(match <u8 as Saved>::load(source)? {
                        $($number => {
                            $($(let $field = Saved::load(source)?;)+)?
                            $name::$variant $(($($field),+))?
                        })*
                        _ => return Err(BadImage::Value(stringify!($name))),
                    })
                }
            }
        };
    };
}
pub(crate) use saved_enum;

/// The exchange's values, saved as in its own image.
macro_rules! carried {
    ($($name:ty),* $(,)?) => {$(
        impl Saved for $name {
            #[inline]
            fn save(&self, sink: &mut Sink<'_>) {
                Imaged::write(self, sink);
            }

            #[inline]
            fn load(source: &mut Source<'_>) -> Result<Self, BadImage> {
                Imaged::read(source)
            }
        }
    )*};
}

carried!(bool, u8, u32, u64, String, Arc<str>);
carried!(Lots, LotsSum, Money, MoneySum, Ratio, Sequence, SettlementPrice, Tick, TimeMs);
carried!(UserId, KeyId, CategoryId, EventId, MarketId, OrderNo, MarketSet);
carried!(
    CancelReason,
    KeyHash,
    Role,
    TradingMode,
    Outcome,
    MarketStatus,
    UserRestrictions,
    Heartbeat,
    TransferEnd,
    Proposed
);
carried!(Fees, Group, Localized, Slug, Token, Password, Invitation, SecondFactor);

saved!(EventDraft {
    titles,
    sub_titles,
    descriptions,
    images,
    highlighted,
    categories,
    mutually_exclusive,
    slug,
});
saved!(MarketDraft {
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
    slug,
});

saved!(Sizes { users, keys, categories, events, markets, rows_per_page });
/// What the tables of a model have, against which references are checked. Tables with a row for
/// each take their length from here and do not save it.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Sizes {
    /// Users.
    pub users: usize,
    /// API keys.
    pub keys: usize,
    /// Categories.
    pub categories: usize,
    /// Events.
    pub events: usize,
    /// Markets, including drafts.
    pub markets: usize,
    /// Rows of a page of history.
    pub rows_per_page: u64,
}

/// A row refers to a user that does not exist.
pub(crate) const NO_USER: BadImage = BadImage::Contradiction("a user that does not exist");

impl Sizes {
    /// All users.
    pub(crate) fn users(self) -> impl Iterator<Item = UserNo> {
        (0..).map(UserNo).take(self.users)
    }

    /// Checks that the user exists.
    pub(crate) fn has_user(self, user: UserNo) -> Result<(), BadImage> {
        if user.index() < self.users { Ok(()) } else { Err(NO_USER) }
    }

    /// Checks that the market exists.
    pub(crate) fn has_market(self, market: MarketNo) -> Result<(), BadImage> {
        hold(market.index() < self.markets, "a market that does not exist")
    }
}

/// Fails with `contradiction` unless `holds`.
pub(crate) const fn hold(holds: bool, contradiction: &'static str) -> Result<(), BadImage> {
    if holds { Ok(()) } else { Err(BadImage::Contradiction(contradiction)) }
}

impl Saved for usize {
    fn save(&self, sink: &mut Sink<'_>) {
        write_count(*self, sink);
    }

    fn load(source: &mut Source<'_>) -> Result<Self, BadImage> {
        read_count(source)
    }
}

/// Nothing: a restored model has the history that it is given.
impl Saved for History {
    fn save(&self, _: &mut Sink<'_>) {}

    fn load(source: &mut Source<'_>) -> Result<Self, BadImage> {
        Ok(source.history.clone())
    }
}

impl<T: Saved> Saved for Option<T> {
    fn save(&self, sink: &mut Sink<'_>) {
        self.is_some().save(sink);
        if let Some(value) = self {
            value.save(sink);
        }
    }

    fn load(source: &mut Source<'_>) -> Result<Self, BadImage> {
        bool::load(source)?.then(|| T::load(source)).transpose()
    }
}

/// Values behind a pointer.
macro_rules! pointers {
    ($($pointer:ident),*) => {$(
        impl<T: Saved> Saved for $pointer<T> {
            fn save(&self, sink: &mut Sink<'_>) {
                T::save(self, sink);
            }

            fn load(source: &mut Source<'_>) -> Result<Self, BadImage> {
                T::load(source).map($pointer::new)
            }
        }
    )*};
}

pointers!(Box, Arc);

/// Values one after the other.
macro_rules! tuples {
    ($(($($name:ident: $part:tt),+)),*) => {$(
        impl<$($name: Saved),+> Saved for ($($name,)+) {
            fn save(&self, sink: &mut Sink<'_>) {
                $(self.$part.save(sink);)+
            }

            fn load(source: &mut Source<'_>) -> Result<Self, BadImage> {
                Ok(($($name::load(source)?,)+))
            }
        }
    )*};
}

tuples!((A: 0, B: 1), (A: 0, B: 1, C: 2));

impl<T: Saved> Saved for Vec<T> {
    fn save(&self, sink: &mut Sink<'_>) {
        self.len().save(sink);
        save_rows(self, sink);
    }

    fn load(source: &mut Source<'_>) -> Result<Self, BadImage> {
        let count = usize::load(source)?;
        load_rows(count, source)
    }
}

impl<T: Saved> Saved for VecDeque<T> {
    fn save(&self, sink: &mut Sink<'_>) {
        self.len().save(sink);
        save_rows(self, sink);
    }

    fn load(source: &mut Source<'_>) -> Result<Self, BadImage> {
        Vec::load(source).map(VecDeque::from)
    }
}

impl<K: Saved + Ord, T: Saved> Saved for BTreeMap<K, T> {
    fn save(&self, sink: &mut Sink<'_>) {
        save_sorted(self.iter(), self.len(), sink);
    }

    fn load(source: &mut Source<'_>) -> Result<Self, BadImage> {
        load_sorted(source)
    }
}

/// By ascending key.
impl<K: Saved + Ord + Hash + Copy, T: Saved> Saved for FxHashMap<K, T> {
    fn save(&self, sink: &mut Sink<'_>) {
        let mut sorted: Vec<(&K, &T)> = self.iter().collect();
        sorted.sort_unstable_by_key(|(key, _)| **key);
        save_sorted(sorted.into_iter(), self.len(), sink);
    }

    fn load(source: &mut Source<'_>) -> Result<Self, BadImage> {
        Ok(load_sorted(source)?.into_iter().collect())
    }
}

fn save_sorted<'a, K: Saved + 'a, T: Saved + 'a>(
    entries: impl Iterator<Item = (&'a K, &'a T)>,
    count: usize,
    sink: &mut Sink<'_>,
) {
    count.save(sink);
    for (key, value) in entries {
        key.save(sink);
        value.save(sink);
    }
}

fn load_sorted<K: Saved + Ord, T: Saved>(
    source: &mut Source<'_>,
) -> Result<BTreeMap<K, T>, BadImage> {
    let entries: Vec<(K, T)> = Vec::load(source)?;
    let rising = entries.is_sorted_by(|(one, _), (next, _)| one < next);
    hold(rising, "keys of a map out of order")?;
    Ok(entries.into_iter().collect())
}

/// Saves rows without their number.
pub(crate) fn save_rows<'a, T: Saved + 'a>(
    rows: impl IntoIterator<Item = &'a T>,
    sink: &mut Sink<'_>,
) {
    for row in rows {
        row.save(sink);
    }
}

/// Loads this many rows.
pub(crate) fn load_rows<T: Saved>(
    count: usize,
    source: &mut Source<'_>,
) -> Result<Vec<T>, BadImage> {
    let mut rows = Vec::with_capacity(room::<T>(count, source));
    for _ in 0..count {
        rows.push(T::load(source)?);
    }
    Ok(rows)
}

/// Where an image goes. After a failure nothing more is written.
pub(crate) struct Sink<'a> {
    pub out: BufWriter<&'a mut dyn Write>,
    pub failed: io::Result<()>,
}

impl ImageSink for Sink<'_> {
    #[inline]
    fn put(&mut self, bytes: &[u8]) {
        if self.failed.is_ok() {
            self.failed = self.out.write_all(bytes);
        }
    }
}

/// Where an image comes from, and what it is checked against.
pub(crate) struct Source<'a> {
    pub from: BufReader<&'a mut dyn Read>,
    /// What the tables of the model have.
    pub sizes: Sizes,
    pub history: History,
}

impl ImageSource for Source<'_> {
    #[inline]
    fn fill(&mut self, into: &mut [u8]) -> Result<(), BadImage> {
        self.from.read_exact(into).map_err(|error| match error.kind() {
            ErrorKind::UnexpectedEof => BadImage::Truncated,
            _ => BadImage::Unreadable(error.to_string()),
        })
    }
}

#[cfg(test)]
#[path = "../../tests/unit/views/saved.rs"]
mod tests;
