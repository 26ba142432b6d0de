//! A body's JSON as written, for the list of all that is wrong with it: every member is kept, so
//! that repeated and unknown ones are found, and no number becomes a float.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};

/// A JSON value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Json {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A non-negative integer of at most 64 bits, however it is written: `30.0` and `3e1` too.
    Integer(u64),
    /// Any other number. No field of the interface takes one, so its value is dropped.
    OtherNumber,
    /// A string.
    Text(String),
    /// An array.
    Array(Vec<Json>),
    /// An object, its members in order, repeated ones too.
    Object(Vec<(String, Json)>),
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Json, D::Error> {
        deserializer.deserialize_any(AnyValue)
    }
}

struct AnyValue;

impl<'de> Visitor<'de> for AnyValue {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E: Error>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Json, E> {
        Ok(Json::Bool(value))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Json, E> {
        Ok(Json::Integer(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Json, E> {
        Ok(u64::try_from(value).map_or(Json::OtherNumber, Json::Integer))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Json, E> {
        // Its digits, without exponent; those of minus zero have a sign.
        let digits = value.to_string();
        let digits = if digits == "-0" { "0" } else { &digits };
        Ok(digits.parse().map_or(Json::OtherNumber, Json::Integer))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Json, E> {
        Ok(Json::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Json, A::Error> {
        let mut elements = Vec::new();
        while let Some(element) = seq.next_element()? {
            elements.push(element);
        }
        Ok(Json::Array(elements))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Json, A::Error> {
        let mut members = Vec::new();
        while let Some(member) = map.next_entry()? {
            members.push(member);
        }
        Ok(Json::Object(members))
    }
}

#[cfg(test)]
#[path = "../../tests/unit/http/json.rs"]
mod tests;
