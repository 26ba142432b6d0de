//! Bodies: structs whose members are typed values. serde reads one in a single pass; only a body
//! that is not as it must be is read again, as a tree, for the list of all that is wrong with it.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};

use super::json::Json;
use super::parse::{Fault, Read, Written};
use super::problem::{FieldCode, FieldError};
use exchange::catalogue::Localized;
use exchange::units::TimeMs;

/// Most bad fields reported: a body can have thousands of unknown fields, and nobody corrects more
/// than this at a time.
const ERRORS_MAX: usize = 100;
/// Most bytes of an unknown field's name repeated in the answer.
const NAME_BYTES_MAX: usize = 64;

/// The bad fields found so far.
#[derive(Debug, Default)]
pub struct Faults {
    found: Vec<FieldError>,
    /// Moments that the exchange refuses if they have passed.
    pub deadlines: Vec<(String, TimeMs)>,
}

impl Faults {
    /// Records a bad field.
    pub fn note(&mut self, field: &str, fault: Fault) {
        if self.found.len() < ERRORS_MAX {
            let Fault { code, detail } = fault;
            self.found.push(FieldError { field: shortened(field).to_owned(), code, detail });
        }
    }

    /// Records a field of another type than is expected.
    pub fn wrong_type(&mut self, field: &str, expected: &'static str) {
        self.note(field, Fault::new(FieldCode::WrongType, expected));
    }

    /// Returns the value, or records its fault.
    pub fn sift<T>(&mut self, field: &str, read: Read<T>) -> Option<T> {
        read.map_err(|fault| self.note(field, fault)).ok()
    }

    /// Whether no field was bad.
    pub const fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// All of them.
    pub fn into_errors(self) -> Vec<FieldError> {
        self.found
    }
}

/// The longest prefix of `name` that is repeated to the client.
fn shortened(name: &str) -> &str {
    name.get(..name.floor_char_boundary(NAME_BYTES_MAX)).unwrap_or(name)
}

/// A value that a member of a body may have.
pub trait Given: Sized {
    /// Reads it in one pass. What an error says is not told: the body is then read as a tree.
    fn plain<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut faults = Faults::default();
        let read = Self::noted(Json::deserialize(deserializer)?, "", &mut faults);
        read.filter(|_| faults.is_empty()).ok_or_else(|| D::Error::custom("is not plain"))
    }

    /// Reads it from a tree, and notes what is wrong. `at` is its name, empty for a whole body.
    fn noted(json: Json, at: &str, faults: &mut Faults) -> Option<Self>;
}

/// [`Given::plain`] of an optional member, which is left out if it is not set, and never null.
pub fn plain_some<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Given,
{
    T::plain(deserializer).map(Some)
}

struct ObjectOf<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for ObjectOf<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map))
    }
}

/// Reads a struct from an object; serde alone would take an array for one too.
pub fn object<'de, D: Deserializer<'de>, T: Deserialize<'de>>(d: D) -> Result<T, D::Error> {
    d.deserialize_map(ObjectOf(PhantomData))
}

/// Declares bodies. Of each member are given its name in JSON, its name here, and its type; `check`
/// names a function for what members must be together, which returns the member at fault; that of
/// `judge` looks at some members alone, whatever is wrong with the others.
macro_rules! bodies {
    ($(
        $(#[$about:meta])*
        struct $Body:ident {
            $(required { $($name:literal => $field:ident: $Type:ty),* $(,)? })?
            $(optional { $($maybe:literal => $option:ident: $Kind:ty),* $(,)? })?
        }
        $(check $check:path;)?
        $(judge $judge:path, by $($part:ident)+;)?
    )*) => {$(
        $(#[$about])*
        #[derive(Debug, Clone, PartialEq, serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct $Body {
            $($(
                #[serde(rename = $name, deserialize_with = "crate::members::Given::plain")]
                $field: $Type,
            )*)?
            $($(
                #[serde(rename = $maybe, default, deserialize_with = "crate::members::plain_some")]
                $option: Option<$Kind>,
            )*)?
        }

        impl $crate::members::Given for $Body {
            fn plain<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let body: $Body = $crate::members::object(deserializer)?;
                $($check(&body).map_err(|(name, _)| serde::de::Error::custom(name))?;)?
                $($judge($(body.$part.as_ref()),+)
                    .map_err(|(name, _)| serde::de::Error::custom(name))?;)?
                Ok(body)
            }

            fn noted(
                json: $crate::json::Json,
                at: &str,
                faults: &mut $crate::members::Faults,
            ) -> Option<Self> {
                #[allow(unused_mut, reason = "a body may have no members")]
                let mut members = $crate::members::Members::open(json, at, faults)?;
                $($(let $field = members.required($name, faults);)*)?
                $($(let $option = members.optional($maybe, faults);)*)?
                $(if let ($(Some($part)),+) = ($(&$part),+)
                    && let Err((name, fault)) = $judge($($part.as_ref()),+)
                {
                    faults.note(&$crate::members::called(at, name), fault);
                })?
                members.close(faults);
                let body = $Body { $($($field: $field?,)*)? $($($option: $option?,)*)? };
                $(if let Err((name, fault)) = $check(&body) {
                    faults.note(&$crate::members::called(at, name), fault);
                    return None;
                })?
                Some(body)
            }
        }
    )*};
}
pub(crate) use bodies;

/// What is wrong with a body whose members are each good: the member at fault, or `body`.
pub type Checked = Result<(), (&'static str, Fault)>;

/// The fault of a body that has none of the members of which at least one is needed.
pub fn lacking(detail: &'static str) -> Checked {
    Err(("body", Fault::new(FieldCode::Required, detail)))
}

/// A member's full name, as errors show it; that of the object itself if the member has none.
pub fn called<'n>(at: &str, name: &'n str) -> Cow<'n, str> {
    match (at, name) {
        ("", name) => Cow::Borrowed(name),
        (at, "") => Cow::Owned(at.to_owned()),
        (at, name) => Cow::Owned(format!("{at}.{name}")),
    }
}

/// The members of a JSON object; each is taken at most once.
#[derive(Debug)]
pub struct Members<'n> {
    at: &'n str,
    left: Vec<(String, Json)>,
}

impl<'n> Members<'n> {
    /// The members of an object called `at`, or of a whole body.
    pub fn open(json: Json, at: &'n str, faults: &mut Faults) -> Option<Members<'n>> {
        match json {
            Json::Object(left) => return Some(Members { at, left }),
            _ if at.is_empty() => faults.wrong_type("body", "must be a JSON object"),
            _ => faults.wrong_type(at, "must be an object"),
        }
        None
    }

    /// Reads an optional member.
    pub fn optional<T: Given>(&mut self, name: &str, faults: &mut Faults) -> Option<Option<T>> {
        let mut found = self.left.extract_if(.., |(member, _)| member == name);
        let (first, repeated) = (found.next(), found.next().is_some());
        found.for_each(drop);
        let Some((_, value)) = first else { return Some(None) };
        let field = called(self.at, name);
        if repeated {
            faults.note(&field, Fault::new(FieldCode::Repeated, "is given more than once"));
            return None;
        }
        T::noted(value, &field, faults).map(Some)
    }

    /// Reads a required member.
    pub fn required<T: Given>(&mut self, name: &str, faults: &mut Faults) -> Option<T> {
        let read = self.optional(name, faults)?;
        if read.is_none() {
            let fault = Fault::new(FieldCode::Required, "is missing");
            faults.note(&called(self.at, name), fault);
        }
        read
    }

    /// Records every member that was not read as unknown.
    pub fn close(self, faults: &mut Faults) {
        for (name, _) in &self.left {
            let field = called(self.at, shortened(name));
            faults.note(&field, Fault::new(FieldCode::UnknownField, "is not a field of this body"));
        }
    }
}

/// The elements of an array of so many.
pub fn elements(
    json: Json,
    at: &str,
    (min, max): (usize, usize),
    faults: &mut Faults,
) -> Option<Vec<Json>> {
    let Json::Array(elements) = json else {
        faults.wrong_type(at, "must be an array");
        return None;
    };
    let detail = match elements.len() {
        count if count > max => format!("must have at most {max} elements"),
        count if count < min => "must have at least one element".to_owned(),
        _ => return Some(elements),
    };
    faults.note(at, Fault::new(FieldCode::OutOfBounds, detail));
    None
}

/// An integer of zero or more.
pub fn integer(json: &Json, at: &str, faults: &mut Faults) -> Option<u64> {
    let Json::Integer(value) = *json else {
        faults.wrong_type(at, "must be an integer of zero or more");
        return None;
    };
    Some(value)
}

struct WrittenText<T>(PhantomData<T>);

impl<T: Written> Visitor<'_> for WrittenText<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        T::read(text).map_err(|fault| E::custom(fault.detail))
    }
}

impl<T: Written> Given for T {
    fn plain<'de, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
        deserializer.deserialize_str(WrittenText(PhantomData))
    }

    fn noted(json: Json, at: &str, faults: &mut Faults) -> Option<T> {
        match json {
            Json::Text(text) => return faults.sift(at, T::read(&text)),
            Json::Null => {
                let unset = "must be a string; what is not set is left out, and is not null";
                faults.wrong_type(at, unset);
            }
            _ => faults.wrong_type(at, "must be a string"),
        }
        None
    }
}

impl Given for bool {
    fn plain<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
        bool::deserialize(deserializer)
    }

    fn noted(json: Json, at: &str, faults: &mut Faults) -> Option<bool> {
        let Json::Bool(value) = json else {
            faults.wrong_type(at, "must be true or false");
            return None;
        };
        Some(value)
    }
}

/// An integer up to a bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UpTo<const MAX: u32>(pub u32);

impl<const MAX: u32> Given for UpTo<MAX> {
    fn noted(json: Json, at: &str, faults: &mut Faults) -> Option<Self> {
        let value = integer(&json, at, faults)?;
        let inside = u32::try_from(value).ok().filter(|value| *value <= MAX);
        if inside.is_none() {
            faults.note(at, Fault::new(FieldCode::OutOfBounds, format!("must be at most {MAX}")));
        }
        inside.map(UpTo)
    }
}

/// A list of different values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Several<T, const MIN: usize, const MAX: usize>(pub Vec<T>);

impl<T: Given + PartialEq, const MIN: usize, const MAX: usize> Given for Several<T, MIN, MAX> {
    fn noted(json: Json, at: &str, faults: &mut Faults) -> Option<Self> {
        let elements = elements(json, at, (MIN, MAX), faults)?;
        let (count, mut values) = (elements.len(), Vec::new());
        for (index, element) in elements.into_iter().enumerate() {
            let at = format!("{at}[{index}]");
            match T::noted(element, &at, faults) {
                Some(value) if values.contains(&value) => {
                    faults.note(&at, Fault::new(FieldCode::Repeated, "is there already"));
                }
                read => values.extend(read),
            }
        }
        (values.len() == count).then_some(Several(values))
    }
}

/// A text in all three languages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Translated<T> {
    /// The texts.
    pub text: Localized,
    rule: PhantomData<T>,
}

impl<T: Written + Into<String>> Given for Translated<T> {
    fn noted(json: Json, at: &str, faults: &mut Faults) -> Option<Self> {
        let mut members = Members::open(json, at, faults)?;
        let [pt, en, es] =
            ["pt", "en", "es"].map(|language| members.required::<T>(language, faults));
        members.close(faults);
        let (pt, en, es) = (pt?.into(), en?.into(), es?.into());
        Some(Translated { text: Localized { pt, en, es }, rule: PhantomData })
    }
}

/// A moment that must be in the future. If it has passed, that is told beside other faults; alone
/// it is left to the exchange, which refuses it in the order of its records, and not again for a
/// repetition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deadline(pub TimeMs);

impl Given for Deadline {
    fn noted(json: Json, at: &str, faults: &mut Faults) -> Option<Deadline> {
        let deadline = TimeMs::noted(json, at, faults)?;
        faults.deadlines.push((at.to_owned(), deadline));
        Some(Deadline(deadline))
    }
}

#[cfg(test)]
#[path = "../../tests/unit/http/members.rs"]
mod tests;
