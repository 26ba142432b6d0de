//! Members of an object, read by name. Objects as nearly all clients write them, of strings and
//! truth values under plain names, are read without a tree being built of them; whatever is
//! written otherwise, or is wrong, is left to the forms, which say what is wrong with it.

use std::fmt;

use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor,
};
use serde_json::de::StrRead;

use super::form::{Faults, Fields, boolean, text};
use super::parse::{Fault, Read};

/// Members of a plain object: more than any that is read so has.
const MEMBERS_MAX: usize = 16;

/// What members are read from. `None` stands for what is wrong; each name is asked for once.
pub trait Members {
    /// A string that may be absent.
    fn text<T>(&mut self, name: &str, parse: impl Fn(&str) -> Read<T>) -> Option<Option<T>>;

    /// A string that must be there.
    fn text_required<T>(&mut self, name: &str, parse: impl Fn(&str) -> Read<T>) -> Option<T>;

    /// A truth value that may be absent.
    fn truth(&mut self, name: &str) -> Option<Option<bool>>;

    /// Notes what is wrong with a member beyond its own form.
    fn note(&mut self, name: &str, fault: Fault);
}

/// The members of a form, which notes every fault.
pub struct Noting<'f, 'a> {
    /// Where faults go.
    pub faults: &'f mut Faults,
    /// The members.
    pub fields: &'f mut Fields<'a>,
}

impl Members for Noting<'_, '_> {
    fn text<T>(&mut self, name: &str, parse: impl Fn(&str) -> Read<T>) -> Option<Option<T>> {
        self.fields.optional(self.faults, name, text(parse))
    }

    fn text_required<T>(&mut self, name: &str, parse: impl Fn(&str) -> Read<T>) -> Option<T> {
        self.fields.required(self.faults, name, text(parse))
    }

    fn truth(&mut self, name: &str) -> Option<Option<bool>> {
        self.fields.optional(self.faults, name, boolean)
    }

    fn note(&mut self, name: &str, fault: Fault) {
        self.faults.note(&self.fields.called(name), fault);
    }
}

/// The members of a plain object as they were written.
pub struct Plain<'a> {
    members: [(&'a str, Value<'a>); MEMBERS_MAX],
    count: usize,
    /// So many were read.
    read: usize,
}

/// A member's value.
#[derive(Clone, Copy)]
enum Value<'a> {
    Text(&'a str),
    Truth(bool),
}

impl Members for Plain<'_> {
    fn text<T>(&mut self, name: &str, parse: impl Fn(&str) -> Read<T>) -> Option<Option<T>> {
        match self.take(name) {
            None => Some(None),
            Some(Value::Text(text)) => parse(text).ok().map(Some),
            Some(Value::Truth(_)) => None,
        }
    }

    fn text_required<T>(&mut self, name: &str, parse: impl Fn(&str) -> Read<T>) -> Option<T> {
        self.text(name, parse).flatten()
    }

    fn truth(&mut self, name: &str) -> Option<Option<bool>> {
        match self.take(name) {
            None => Some(None),
            Some(Value::Truth(value)) => Some(Some(value)),
            Some(Value::Text(_)) => None,
        }
    }

    fn note(&mut self, _: &str, _: Fault) {}
}

impl<'a> Plain<'a> {
    const fn new() -> Plain<'a> {
        Plain { members: [("", Value::Truth(false)); MEMBERS_MAX], count: 0, read: 0 }
    }

    fn take(&mut self, name: &str) -> Option<Value<'a>> {
        let members = self.members.get(..self.count).unwrap_or_default();
        let (_, value) = members.iter().find(|(member, _)| *member == name)?;
        self.read += 1;
        Some(*value)
    }

    /// What was read, if nothing was left over: no unknown member, and none twice.
    fn whole<T>(&self, read: Option<T>) -> Option<T> {
        read.filter(|_| self.read == self.count)
    }
}

/// Reads a plain object; `None` if it is not one, or anything about it is wrong.
pub fn object<T>(bytes: &[u8], read: impl FnOnce(&mut Plain<'_>) -> Option<T>) -> Option<T> {
    let mut json = serde_json::Deserializer::new(StrRead::new(str::from_utf8(bytes).ok()?));
    let mut plain = Plain::new();
    Filling(&mut plain).deserialize(&mut json).ok()?;
    json.end().ok()?;
    let read = read(&mut plain);
    plain.whole(read)
}

/// Reads an object whose only member, of this name, is an array of one to `most` objects, each with
/// one member that is a plain object: `read` is given its name and what it holds.
pub fn list<T>(
    bytes: &[u8],
    name: &str,
    most: usize,
    mut read: impl FnMut(&str, &mut Plain<'_>) -> Option<T>,
) -> Option<Vec<T>> {
    let mut json = serde_json::Deserializer::new(StrRead::new(str::from_utf8(bytes).ok()?));
    let mut read = |kind: &str, plain: &mut Plain<'_>| {
        let read = read(kind, plain);
        plain.whole(read)
    };
    let elements = Elements { most, read: &mut read };
    let elements = Only(|found: &str| (found == name).then_some(elements));
    let elements = elements.deserialize(&mut json).ok()?;
    json.end().ok()?;
    Some(elements)
}

/// Fills in a plain object.
struct Filling<'f, 'a>(&'f mut Plain<'a>);

impl<'de> DeserializeSeed<'de> for Filling<'_, 'de> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Filling<'_, 'de> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a plain object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Filling(plain) = self;
        (plain.count, plain.read) = (0, 0);
        while let Some(name) = map.next_key::<&'de str>()? {
            let place = plain.members.get_mut(plain.count);
            *place.ok_or_else(not_plain)? = (name, map.next_value()?);
            plain.count += 1;
        }
        Ok(())
    }
}

impl<'de> Deserialize<'de> for Value<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct AnyPlain;
        impl<'de> Visitor<'de> for AnyPlain {
            type Value = Value<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string or a truth value")
            }

            fn visit_bool<E: Error>(self, value: bool) -> Result<Value<'de>, E> {
                Ok(Value::Truth(value))
            }

            fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Value<'de>, E> {
                Ok(Value::Text(text))
            }
        }
        deserializer.deserialize_any(AnyPlain)
    }
}

/// An object of one member; given its name, says how to read its value, if that is its name.
struct Only<F>(F);

impl<'de, S, F> DeserializeSeed<'de> for Only<F>
where
    S: DeserializeSeed<'de>,
    F: FnOnce(&'de str) -> Option<S>,
{
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<S::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de, S, F> Visitor<'de> for Only<F>
where
    S: DeserializeSeed<'de>,
    F: FnOnce(&'de str) -> Option<S>,
{
    type Value = S::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of one member")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<S::Value, A::Error> {
        let name = map.next_key::<&'de str>()?;
        let seed = name.and_then(self.0).ok_or_else(not_plain::<A::Error>)?;
        let value = map.next_value_seed(seed)?;
        match map.next_key::<IgnoredAny>()? {
            None => Ok(value),
            Some(_) => Err(not_plain()),
        }
    }
}

/// An array of objects of one member each.
struct Elements<'r, R> {
    most: usize,
    read: &'r mut R,
}

impl<'de, T, R: FnMut(&str, &mut Plain<'_>) -> Option<T>> DeserializeSeed<'de> for Elements<'_, R> {
    type Value = Vec<T>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Vec<T>, D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de, T, R: FnMut(&str, &mut Plain<'_>) -> Option<T>> Visitor<'de> for Elements<'_, R> {
    type Value = Vec<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of objects of one member each")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Vec<T>, A::Error> {
        let (mut elements, mut plain) = (Vec::new(), Plain::new());
        loop {
            let mut kind = "";
            let (told, filling) = (&mut kind, Filling(&mut plain));
            let element = Only(move |found: &'de str| {
                *told = found;
                Some(filling)
            });
            if seq.next_element_seed(element)?.is_none() {
                return if elements.is_empty() { Err(not_plain()) } else { Ok(elements) };
            }
            let room = elements.len() < self.most;
            let element = (self.read)(kind, &mut plain).filter(|_| room);
            elements.push(element.ok_or_else(not_plain)?);
        }
    }
}

fn not_plain<E: Error>() -> E {
    E::custom("not plain")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::form::Form;
    use crate::api::parse;
    use proptest::prelude::*;

    type Read = (u8, Option<bool>);

    fn read(members: &mut impl Members) -> Option<Read> {
        let price = members.text_required("price", parse::tick);
        let flag = members.truth("flag");
        Some((price?.get(), flag?))
    }

    /// The same by a form, which is what is not plain is left to.
    fn by_form(body: &str) -> Option<Read> {
        let mut form = Form::with_body(&[], None, body.as_bytes());
        let value = form.body(|faults, fields| read(&mut Noting { faults, fields }));
        form.finish(value).ok()
    }

    fn plainly(body: &str) -> Option<Read> {
        object(body.as_bytes(), |plain| read(plain))
    }

    #[test]
    fn what_is_plain_is_read_and_nothing_else_is() {
        let flagged = r#"{ "flag" : true , "price" : "0.6" }"#;
        assert_eq!(plainly(flagged), Some((60, Some(true))));
        assert_eq!(plainly(r#"{"price":"0.60"}"#), Some((60, None)));
        let many: Vec<String> = (0..=MEMBERS_MAX).map(|n| format!("\"{n}\":true")).collect();
        for not in [
            "",
            "[]",
            "{}",
            r#"{"price":0.6}"#,
            r#"{"price":null}"#,
            r#"{"price":"60"}"#,
            r#"{"price":true}"#,
            r#"{"price":"0.6","flag":"true"}"#,
            r#"{"price":"0.6","price":"0.6"}"#,
            r#"{"price":"0.6","prise":"0.6"}"#,
            r#"{"price":"0.6"} x"#,
            r#"{"price":"0.6""#,
            r#"{"price":"0.6","flag":[true]}"#,
            &format!("{{{}}}", many.join(",")),
        ] {
            assert_eq!((plainly(not), by_form(not)), (None, None), "{not}");
        }
        // Right, and not plain.
        for left in [r#"{"pr\u0069ce":"0.6"}"#, r#"{"price":"0.\u0036"}"#] {
            assert_eq!((plainly(left), by_form(left)), (None, Some((60, None))), "{left}");
        }
    }

    #[test]
    fn a_list_is_read_whole_or_not_at_all() {
        let all = |body: &str| {
            let kinds = |kind: &str, plain: &mut Plain<'_>| Some((kind.to_owned(), read(plain)?));
            list(body.as_bytes(), "operations", 2, kinds)
        };
        let (a, b) = (r#"{"a":{"price":"0.6"}}"#, r#"{"b":{"flag":false,"price":"0.1"}}"#);
        let list = |elements: &[&str]| format!(r#"{{"operations":[{}]}}"#, elements.join(","));
        let read = [("a".to_owned(), (60, None)), ("b".to_owned(), (10, Some(false)))];
        assert_eq!(all(&list(&[a, b])).unwrap(), read);
        for elements in [
            &[][..],
            &[a, b, a],
            &[a, "{}"],
            &[a, "1"],
            &[r#"{"a":{"price":"0.6"},"b":{"price":"0.6"}}"#],
            &[r#"{"a":{"price":"0.6","x":true}}"#],
            &[r#"{"a":1}"#],
        ] {
            assert_eq!(all(&list(elements)), None, "{elements:?}");
        }
        for body in [&list(&[a]).replace("operations", "orders"), &format!("{} x", list(&[a]))] {
            assert_eq!(all(body), None, "{body}");
        }
        assert_eq!(all(&format!(r#"{{"operations":[{a}],"x":1}}"#)), None);
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            failure_persistence: None,
            ..ProptestConfig::default()
        })]
        /// Whatever is read plainly, a form reads the same.
        #[test]
        fn a_form_agrees(
            members in proptest::collection::vec(
                (
                    prop_oneof!["price", "flag", "pr\\\\u0069ce", "x"],
                    prop_oneof!["true", "\"0\\.[0-9]{1,3}\"", "\"\\PC{0,3}\"", "1", "null"],
                ),
                0..4,
            ),
        ) {
            let written = members.iter().map(|(name, value)| format!("\"{name}\":{value}"));
            let body = format!("{{{}}}", written.collect::<Vec<_>>().join(","));
            if let Some(plain) = plainly(&body) {
                prop_assert_eq!(by_form(&body), Some(plain));
            }
        }
    }
}
