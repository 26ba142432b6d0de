//! Reads an object's members by name. Objects as nearly all clients write them (strings and
//! booleans, nothing escaped) are read without building a tree. Anything else, valid or not, yields
//! `None` here and is read by [`Form`](super::form::Form), which reports what is wrong.

use super::form::{Faults, Fields, boolean, text};
use super::parse::{Fault, Read};
use super::wire::plain::Scan;

/// Most members of a plain object: more than any object read this way has.
const MEMBERS_MAX: usize = 16;

/// A source of members. `None` stands for a bad member; each name is requested at most once.
pub trait Members {
    /// An optional string.
    fn text<T>(&mut self, name: &'static str, parse: impl Fn(&str) -> Read<T>)
    -> Option<Option<T>>;

    /// A required string.
    fn text_required<T>(
        &mut self,
        name: &'static str,
        parse: impl Fn(&str) -> Read<T>,
    ) -> Option<T>;

    /// An optional boolean.
    fn truth(&mut self, name: &'static str) -> Option<Option<bool>>;

    /// Records a fault of a member beyond its own syntax.
    fn note(&mut self, name: &'static str, fault: Fault);
}

/// The members of a form, which records every fault.
pub struct Noting<'f, 'a> {
    /// Collects the faults.
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

/// The members of a plain object. It is reused for the next object of a list, which probably has
/// the same layout.
pub struct FlatObject<'a> {
    /// The first `count` are this object's; the rest are left from the object before, whose names
    /// and values are guesses for the next one.
    members: [(&'a str, Value<'a>); MEMBERS_MAX],
    count: usize,
    /// The text between the string values: before each one since the value before it, including its
    /// name and opening quotation mark; `end` is what follows the last one. If the next object has
    /// the same, it is read by comparison instead of byte by byte.
    runs: [&'a str; MEMBERS_MAX],
    end: Option<&'a str>,
    /// Offset of the end of the last member's value.
    value_end: usize,
    /// Whether the object has the layout of the one before: the same members in the same order, all
    /// strings.
    same_layout: bool,
    /// Number of members taken.
    read: usize,
    /// Number of names requested; and for each, its position in the object before.
    asked: usize,
    positions: [(&'static str, usize); MEMBERS_MAX],
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
            value_end: 0,
            same_layout: false,
            read: 0,
            asked: 0,
            positions: std::array::from_fn(|position| ("", position)),
        }
    }

    /// Reads an object and replaces the members read before. `begins` is the offset at which its
    /// list element starts.
    fn fill(&mut self, scan: &mut Scan<'a>, begins: usize) -> Option<()> {
        (self.count, self.read, self.asked) = (0, 0, 0);
        (self.same_layout, self.end) = (false, None);
        self.value_end = begins;
        scan.object(|scan| {
            let member = self.members.get_mut(self.count)?;
            let (name, value) = *member;
            let name = scan.name_like(name)?;
            let likely = if let Value::Text(text) = value { text } else { "" };
            let value = match scan.peek()? {
                b'"' => {
                    scan.sign(b'"')?;
                    *self.runs.get_mut(self.count)? = scan.since(self.value_end)?;
                    Value::Text(scan.begun_string_like(likely)?)
                }
                _ => Value::Truth(scan.truth()?),
            };
            self.value_end = scan.at();
            *member = (name, value);
            self.count = self.count.saturating_add(1);
            Some(())
        })
    }

    /// Reads an object with the layout of the one before; only the string values may differ. `None`
    /// if it has another layout; then nothing is consumed.
    fn fill_same_layout(&mut self, scan: &mut Scan<'a>) -> Option<()> {
        let end = self.end?;
        let begins = scan.at();
        let taken = self.take_same_layout(scan, end);
        if taken.is_none() {
            scan.back_to(begins);
        }
        (self.read, self.asked, self.same_layout) = (0, 0, taken.is_some());
        taken
    }

    fn take_same_layout(&mut self, scan: &mut Scan<'a>, end: &str) -> Option<()> {
        let members = self.members.get_mut(..self.count)?;
        for ((_, value), run) in members.iter_mut().zip(&self.runs) {
            scan.exactly(run)?;
            let Value::Text(text) = value else { return None };
            *text = scan.begun_string_like(text)?;
        }
        scan.exactly(end)
    }

    /// Called at the end of the list element: records what follows the last string value.
    fn record_end(&mut self, scan: &Scan<'a>) {
        let members = self.members.get(..self.count).unwrap_or_default();
        if members.iter().all(|(_, value)| matches!(value, Value::Text(_))) {
            self.end = scan.since(self.value_end);
        }
    }

    #[inline]
    fn take(&mut self, name: &'static str) -> Option<Value<'a>> {
        if self.read < self.count { self.find(name) } else { None }
    }

    /// Finds a member, trying its position in the object before first.
    #[inline]
    fn find(&mut self, name: &'static str) -> Option<Value<'a>> {
        let members = self.members.get(..self.count)?;
        let (asked, position) = self.positions.get_mut(self.asked)?;
        self.asked = self.asked.saturating_add(1);
        if !(self.same_layout && std::ptr::eq(*asked, name)) {
            let is_it =
                |position: usize| members.get(position).is_some_and(|(member, _)| *member == name);
            if !is_it(*position) {
                let found = members.iter().position(|(member, _)| *member == name);
                *position = found.unwrap_or(MEMBERS_MAX);
            }
            *asked = name;
        }
        let (_, value) = members.get(*position)?;
        self.read = self.read.saturating_add(1);
        Some(*value)
    }

    /// `read`, if every member was taken: there is no unknown and no repeated one.
    fn whole<T>(&self, read: Option<T>) -> Option<T> {
        read.filter(|_| self.read == self.count)
    }
}

/// Reads a plain object; `None` if it is not one, or if `read` finds a fault.
pub fn object<T>(bytes: &[u8], read: impl FnOnce(&mut FlatObject<'_>) -> Option<T>) -> Option<T> {
    let mut scan = Scan::new(str::from_utf8(bytes).ok()?);
    let mut plain = FlatObject::new();
    plain.fill(&mut scan, 0)?;
    scan.end()?;
    let read = read(&mut plain);
    plain.whole(read)
}

/// Reads an object whose only member, called `name`, is an array of one to `most` objects. Each of
/// them has one member that is a plain object; `read` gets its name and its members.
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
            if plain.fill_same_layout(scan).is_none() {
                let begins = scan.at();
                only(scan, likely, |scan, kind| {
                    likely = kind;
                    plain.fill(scan, begins)
                })?;
                plain.record_end(scan);
            }
            let element = read(likely, &mut plain);
            elements.push(plain.whole(element)?);
            Some(())
        })
    })?;
    scan.end()?;
    Some(elements).filter(|elements| !elements.is_empty())
}

/// Reads an object with exactly one member, probably called `likely`.
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
#[path = "../../tests/unit/http/members.rs"]
mod tests;
