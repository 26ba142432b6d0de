//! The parts of a line that a keyword begins, each of which may be left out: one list for reading
//! and writing. What is left out is as in a default, so only what differs from it is written.

use super::super::catalogue::{
    CategoryDraft, EventDraft, EventRevision, Localized, MarketDraft, MarketRevision,
};
use super::super::fees::FeeRate;
use super::super::ids::{CategoryNo, EventNo};
use super::super::rules::Rules;
use super::super::units::{Money, TimeMs};
use super::ScriptError;
use super::print::Writer;
use super::reader::Reader;
use super::words::{moment, quote, span};

/// Keywords of numbers that are written as spans of time.
const SPANS: [&str; 2] = ["repeats", "window"];

/// What has parts.
pub trait Parts: Sized {
    /// Writes the parts that differ from `base`.
    fn write_parts(&self, base: &Self, to: &mut Writer<'_>);

    /// Reads the part that this keyword begins; false if it begins none.
    fn read_part(&mut self, keyword: &str, from: &mut Reader<'_>) -> Result<bool, ScriptError>;

    /// Reads all parts to the line's end, where those left out are as here.
    fn with_parts(mut self, from: &mut Reader<'_>) -> Result<Self, ScriptError> {
        while let Some(keyword) = from.next_if_bare() {
            if !self.read_part(keyword, from)? {
                return Err(ScriptError::Unexpected(keyword.to_owned()));
            }
        }
        Ok(self)
    }
}

macro_rules! parts {
    ($($what:ident { $($keyword:literal $($field:ident).+),* $(,)? })*) => {$(
        impl Parts for $what {
            fn write_parts(&self, base: &Self, to: &mut Writer<'_>) {
                $(
                    if self.$($field).+ != base.$($field).+ {
                        to.word($keyword);
                        self.$($field).+.write($keyword, to);
                    }
                )*
            }

            fn read_part(
                &mut self,
                keyword: &str,
                from: &mut Reader<'_>,
            ) -> Result<bool, ScriptError> {
                match keyword {
                    $( $keyword => self.$($field).+ = Part::read(keyword, from)?, )*
                    _ => return Ok(false),
                }
                Ok(true)
            }
        }
    )*};
}

parts! {
    Rules {
        "version" version, "orders" user_open_orders_max, "venue-orders" venue_open_orders_max,
        "supply" money_supply_max, "repeats" repeat_window_seconds, "names" user_names_max,
    }
    CategoryDraft { "name" name, "slug" slug }
    EventDraft {
        "titles" titles, "subtitles" sub_titles, "descriptions" descriptions, "images" images,
        "highlighted" highlighted, "in" categories,
    }
    EventRevision {
        "titles" titles, "subtitles" sub_titles, "descriptions" descriptions, "images" images,
        "highlighted" highlighted, "in" categories,
    }
    MarketDraft {
        "questions" questions, "descriptions" descriptions, "yes" yes_text, "no" no_text,
        "logo" logo, "until" deadline, "in" categories, "highlighted" highlighted,
        "maker" fees.maker, "taker" fees.taker, "of" event, "window" dispute_window_seconds,
    }
    MarketRevision {
        "questions" questions, "descriptions" descriptions, "yes" yes_text, "no" no_text,
        "logo" logo, "until" deadline, "in" categories, "highlighted" highlighted,
        "maker" maker_fee, "taker" taker_fee,
    }
}

/// What may follow a keyword.
trait Part: Sized {
    fn write(&self, keyword: &str, to: &mut Writer<'_>);

    fn read(keyword: &str, from: &mut Reader<'_>) -> Result<Self, ScriptError>;
}

/// How values follow a keyword: written, and read.
macro_rules! values {
    ($(
        $what:ty: ($it:ident, $keyword:pat_param, $to:ident) => $write:expr,
        $from:ident => $read:expr;
    )*) => {$(
        impl Part for $what {
            fn write(&self, $keyword: &str, $to: &mut Writer<'_>) {
                let $it = self;
                $write;
            }

            fn read($keyword: &str, $from: &mut Reader<'_>) -> Result<Self, ScriptError> {
                $read
            }
        }
    )*};
}

values! {
    u32: (it, keyword, to) => to.word(if SPANS.contains(&keyword) {
        span(u64::from(*it).saturating_mul(1000))
    } else {
        it.to_string()
    }), from => if SPANS.contains(&keyword) { from.seconds() } else { from.number() };
    bool: (it, _, to) => to.word(if *it { "yes" } else { "no" }), from => from.flag();
    String: (it, _, to) => to.word(quote(it)), from => from.quoted();
    Localized: (it, _, to) => for text in [&it.pt, &it.en, &it.es] {
        to.word(quote(text));
    }, from => from.texts();
    Vec<String>: (it, _, to) => for text in it {
        to.word(quote(text));
    }, from => Ok(std::iter::from_fn(|| from.next_if_quoted()).collect());
    TimeMs: (it, _, to) => to.word(moment(*it, to.now)), from => from.moment();
    Money: (it, _, to) => to.word(it.to_string()), from => from.unit("an amount", Money::parse);
    FeeRate: (it, _, to) => to.word(it.to_string()), from => from.unit("a rate", FeeRate::parse);
    EventNo: (it, _, to) => to.word(to.names.of_event(*it)), from => from.event();
    Vec<CategoryNo>: (it, _, to) => {
        let names: Vec<_> = it.iter().map(|no| to.names.of_category(*no)).collect();
        to.word(if names.is_empty() { "none".to_owned() } else { names.join(",") });
    }, from => from.categories();
}

impl<T: Part> Part for Option<T> {
    fn write(&self, keyword: &str, to: &mut Writer<'_>) {
        if let Some(value) = self {
            value.write(keyword, to);
        }
    }

    fn read(keyword: &str, from: &mut Reader<'_>) -> Result<Self, ScriptError> {
        T::read(keyword, from).map(Some)
    }
}
