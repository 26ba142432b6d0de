//! Members of an object, read by name. Objects as nearly all clients write them, of strings and
//! truth values under plain names, are read without a tree being built of them; whatever is
//! written otherwise, or is wrong, is left to the forms, which say what is wrong with it.

use super::form::{Faults, Fields, boolean, text};
use super::parse::{Fault, Read};
use super::wire::plain::Scan;

/// Members of a plain object: more than any that is read so has.
const MEMBERS_MAX: usize = 16;

/// What members are read from. `None` stands for what is wrong; each name is asked for once.
pub trait Members {
    /// A string that may be absent.
    fn text<T>(&mut self, name: &'static str, parse: impl Fn(&str) -> Read<T>)
    -> Option<Option<T>>;

    /// A string that must be there.
    fn text_required<T>(
        &mut self,
        name: &'static str,
        parse: impl Fn(&str) -> Read<T>,
    ) -> Option<T>;

    /// A truth value that may be absent.
    fn truth(&mut self, name: &'static str) -> Option<Option<bool>>;

    /// Notes what is wrong with a member beyond its own form.
    fn note(&mut self, name: &'static str, fault: Fault);
}

/// The members of a form, which notes every fault.
pub struct Noting<'f, 'a> {
    /// Where faults go.
    pub faults: &'f mut Faults,
    /// The members.
    pub fields: &'f mut Fields<'a>,
}

impl Members for Noting<'_, '_> {
    fn text<T>(
        &mut self,
        name: &'static str,
        parse: impl Fn(&str) -> Read<T>,
    ) -> Option<Option<T>> {
        self.fields.optional(self.faults, name, text(parse))
    }

    fn text_required<T>(
        &mut self,
        name: &'static str,
        parse: impl Fn(&str) -> Read<T>,
    ) -> Option<T> {
        self.fields.required(self.faults, name, text(parse))
    }

    fn truth(&mut self, name: &'static str) -> Option<Option<bool>> {
        self.fields.optional(self.faults, name, boolean)
    }

    fn note(&mut self, name: &'static str, fault: Fault) {
        self.faults.note(&self.fields.called(name), fault);
    }
}

/// The members of a plain object as they were written.
pub struct FlatObject<'a> {
    /// The object's, and behind them those of the object before it: the next is likely to have the
    /// same ones.
    members: [(&'a str, Value<'a>); MEMBERS_MAX],
    count: usize,
    /// What stood before each text since the one before it, its name and its first quotation mark
    /// among that; and what stood behind the last. The next object is likely to have the same, and
    /// is then read without a look at each sign.
    runs: [&'a str; MEMBERS_MAX],
    end: Option<&'a str>,
    /// Where the last member's value ends.
    since: usize,
    /// Whether it has: the same members in the same order, all of them texts.
    alike: bool,
    /// So many were read.
    read: usize,
    /// So many were asked for; each of them, and where it stood in the object before.
    asked: usize,
    places: [(&'static str, usize); MEMBERS_MAX],
}

/// A member's value.
#[derive(Clone, Copy)]
enum Value<'a> {
    Text(&'a str),
    Truth(bool),
}

impl Members for FlatObject<'_> {
    fn text<T>(
        &mut self,
        name: &'static str,
        parse: impl Fn(&str) -> Read<T>,
    ) -> Option<Option<T>> {
        match self.take(name) {
            None => Some(None),
            Some(Value::Text(text)) => parse(text).ok().map(Some),
            Some(Value::Truth(_)) => None,
        }
    }

    fn text_required<T>(
        &mut self,
        name: &'static str,
        parse: impl Fn(&str) -> Read<T>,
    ) -> Option<T> {
        self.text(name, parse).flatten()
    }

    fn truth(&mut self, name: &'static str) -> Option<Option<bool>> {
        match self.take(name) {
            None => Some(None),
            Some(Value::Truth(value)) => Some(Some(value)),
            Some(Value::Text(_)) => None,
        }
    }

    fn note(&mut self, _: &'static str, _: Fault) {}
}

impl<'a> FlatObject<'a> {
    fn new() -> FlatObject<'a> {
        FlatObject {
            members: [("", Value::Truth(false)); MEMBERS_MAX],
            count: 0,
            runs: [""; MEMBERS_MAX],
            end: None,
            since: 0,
            alike: false,
            read: 0,
            asked: 0,
            places: std::array::from_fn(|place| ("", place)),
        }
    }

    /// Takes an object's members in the place of those that were there. It is part of what was
    /// scanned from `begins` on.
    fn fill(&mut self, scan: &mut Scan<'a>, begins: usize) -> Option<()> {
        (self.count, self.read, self.asked) = (0, 0, 0);
        (self.alike, self.end) = (false, None);
        self.since = begins;
        scan.object(|scan| {
            let member = self.members.get_mut(self.count)?;
            let (name, value) = *member;
            let name = scan.name_like(name)?;
            let likely = if let Value::Text(text) = value { text } else { "" };
            let value = match scan.peek()? {
                b'"' => {
                    scan.sign(b'"')?;
                    *self.runs.get_mut(self.count)? = scan.since(self.since)?;
                    Value::Text(scan.begun_string_like(likely)?)
                }
                _ => Value::Truth(scan.truth()?),
            };
            self.since = scan.at();
            *member = (name, value);
            self.count = self.count.saturating_add(1);
            Some(())
        })
    }

    /// The same with an object that is written as the one before it was, but for what its texts
    /// are; `None` if it is not, and then nothing is taken.
    fn fill_alike(&mut self, scan: &mut Scan<'a>) -> Option<()> {
        let end = self.end?;
        let begins = scan.at();
        let taken = self.take_alike(scan, end);
        if taken.is_none() {
            scan.back_to(begins);
        }
        (self.read, self.asked, self.alike) = (0, 0, taken.is_some());
        taken
    }

    fn take_alike(&mut self, scan: &mut Scan<'a>, end: &str) -> Option<()> {
        let members = self.members.get_mut(..self.count)?;
        for ((_, value), run) in members.iter_mut().zip(&self.runs) {
            scan.exactly(run)?;
            let Value::Text(text) = value else { return None };
            *text = scan.begun_string_like(text)?;
        }
        scan.exactly(end)
    }

    /// Whatever the object is part of ends here: what stood behind its last text is known.
    fn ends(&mut self, scan: &Scan<'a>) {
        let members = self.members.get(..self.count).unwrap_or_default();
        if members.iter().all(|(_, value)| matches!(value, Value::Text(_))) {
            self.end = scan.since(self.since);
        }
    }

    #[inline]
    fn take(&mut self, name: &'static str) -> Option<Value<'a>> {
        if self.read < self.count { self.find(name) } else { None }
    }

    /// Mostly it stands where it stood in the object before.
    #[inline]
    fn find(&mut self, name: &'static str) -> Option<Value<'a>> {
        let members = self.members.get(..self.count)?;
        let (asked, place) = self.places.get_mut(self.asked)?;
        self.asked = self.asked.saturating_add(1);
        if !(self.alike && std::ptr::eq(*asked, name)) {
            let is_it =
                |place: usize| members.get(place).is_some_and(|(member, _)| *member == name);
            if !is_it(*place) {
                let found = members.iter().position(|(member, _)| *member == name);
                *place = found.unwrap_or(MEMBERS_MAX);
            }
            *asked = name;
        }
        let (_, value) = members.get(*place)?;
        self.read = self.read.saturating_add(1);
        Some(*value)
    }

    /// What was read, if nothing was left over: no unknown member, and none twice.
    fn whole<T>(&self, read: Option<T>) -> Option<T> {
        read.filter(|_| self.read == self.count)
    }
}

/// Reads a plain object; `None` if it is not one, or anything about it is wrong.
pub fn object<T>(bytes: &[u8], read: impl FnOnce(&mut FlatObject<'_>) -> Option<T>) -> Option<T> {
    let mut scan = Scan::new(str::from_utf8(bytes).ok()?);
    let mut plain = FlatObject::new();
    plain.fill(&mut scan, 0)?;
    scan.end()?;
    let read = read(&mut plain);
    plain.whole(read)
}

/// Reads an object whose only member, of this name, is an array of one to `most` objects, each with
/// one member that is a plain object: `read` is given its name and what it holds.
pub fn list<T>(
    bytes: &[u8],
    name: &str,
    most: usize,
    mut read: impl FnMut(&str, &mut FlatObject<'_>) -> Option<T>,
) -> Option<Vec<T>> {
    let mut scan = Scan::new(str::from_utf8(bytes).ok()?);
    let (mut elements, mut plain, mut likely) = (Vec::with_capacity(most), FlatObject::new(), "");
    only(&mut scan, "", |scan, found| {
        if found != name {
            return None;
        }
        scan.array(|scan| {
            if elements.len() >= most {
                return None;
            }
            if plain.fill_alike(scan).is_none() {
                let begins = scan.at();
                only(scan, likely, |scan, kind| {
                    likely = kind;
                    plain.fill(scan, begins)
                })?;
                plain.ends(scan);
            }
            let element = read(likely, &mut plain);
            elements.push(plain.whole(element)?);
            Some(())
        })
    })?;
    scan.end()?;
    Some(elements).filter(|elements| !elements.is_empty())
}

/// Takes an object of exactly one member, which is likely to be called this.
fn only<'a>(
    scan: &mut Scan<'a>,
    likely: &'a str,
    mut member: impl FnMut(&mut Scan<'a>, &'a str) -> Option<()>,
) -> Option<()> {
    let mut members = 0_usize;
    scan.object(|scan| {
        members = members.saturating_add(1);
        let name = scan.name_like(likely)?;
        if members > 1 { None } else { member(scan, name) }
    })?;
    (members == 1).then_some(())
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
            r#"{"price":"0.6\}"#,
            "{\"price\":\"0.6\n}",
            "{\"price\":\"0.6\n\"}",
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
            let kinds =
                |kind: &str, plain: &mut FlatObject<'_>| Some((kind.to_owned(), read(plain)?));
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

        /// What is read as it was before is read as if it came alone.
        #[test]
        fn an_object_like_the_one_before_it_is_read_as_itself(
            written in proptest::collection::vec(
                prop_oneof![
                    "\\{\"price\":\"0\\.[0-9]\"\\}",
                    "\\{\"price\":\"0\\.[0-9]\\\\?\" ?[,}][}x]?",
                    "\\{\"price\":\"0\\.[1-9]\",\"flag\":(true|false)\\}",
                    "\\{ \"flag\":true,\"price\" :\"0\\.[1-9]\"\\}",
                    "\\{\"(price|prise)\":\"0\\.[1-9]\",\"x\":\"\"\\}",
                ],
                1..6,
            ),
        ) {
            let alone: Option<Vec<Read>> = written.iter().map(|body| plainly(body)).collect();
            let elements: Vec<String> =
                written.iter().map(|body| format!("{{\"a\":{body}}}")).collect();
            let body = format!("{{\"all\":[{}]}}", elements.join(","));
            prop_assert_eq!(list(body.as_bytes(), "all", 6, |_, plain| read(plain)), alone);
        }
    }
}
