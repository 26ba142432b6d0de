//! Parses a catalogue file for `admin import`: one category, event or market per line; a line may
//! refer to earlier lines by name. Every line gets a deterministic `Idempotency-Key`.

use std::collections::HashMap;

use data_encoding::HEXLOWER;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::texts;

/// Bytes of the line's SHA-256 used in its `Idempotency-Key`: enough to rule out collisions, and
/// within the 64 characters allowed for a key.
const HASH_BYTES_SHOWN: usize = 24;

/// The kind of object that a line creates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    /// A category.
    Category,
    /// An event.
    Event,
    /// A market.
    Market,
}

impl Kind {
    const ALL: [Kind; 3] = [Kind::Category, Kind::Event, Kind::Market];

    /// The JSON member that marks a line of this kind.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Kind::Category => "category",
            Kind::Event => "event",
            Kind::Market => "market",
        }
    }

    /// The API path that creates it.
    pub(crate) const fn path(self) -> &'static str {
        match self {
            Kind::Category => "/admin/categories",
            Kind::Event => "/admin/events",
            Kind::Market => "/admin/markets",
        }
    }
}

/// One line of the file, parsed.
#[derive(Debug, Clone)]
pub(crate) struct Line {
    /// Line number in the file, from 1.
    pub number: usize,
    /// What the line creates.
    pub kind: Kind,
    /// The name (`ref`) by which later lines refer to it.
    pub reference: Option<String>,
    /// The `Idempotency-Key` sent with it, the same in every run.
    pub idempotency_key: String,
    /// Categories given by reference; `None` if the member is absent.
    categories: Option<Vec<String>>,
    /// The event given by reference.
    event: Option<String>,
    /// The request body, without the members given by reference.
    body: Map<String, Value>,
}

impl Line {
    /// The line as it can be checked before anything is made: without what it refers to.
    pub(crate) fn alone(&self) -> Value {
        let body = Value::Object(self.body.clone());
        Value::Object([(self.kind.name().to_owned(), body)].into_iter().collect())
    }

    /// The slug that it names.
    fn slug(&self) -> Option<&str> {
        self.body.get("slug")?.as_str()
    }

    /// The request body, with references replaced by the ids of what earlier lines created.
    ///
    /// # Errors
    /// A reference to an unknown name. [`read`] rules this out.
    pub(crate) fn body(&self, ids: &HashMap<(Kind, String), String>) -> Result<Value, String> {
        let id = |kind: Kind, name: &String| {
            let found = ids.get(&(kind, name.clone()));
            found.cloned().map(Value::from).ok_or_else(|| unknown(kind, name))
        };
        let mut body = self.body.clone();
        if let Some(names) = &self.categories {
            let named: Result<Vec<Value>, String> =
                names.iter().map(|name| id(Kind::Category, name)).collect();
            body.insert("categoryIds".to_owned(), Value::Array(named?));
        }
        if let Some(name) = &self.event {
            body.insert("eventId".to_owned(), id(Kind::Event, name)?);
        }
        Ok(Value::Object(body))
    }
}

/// A line that cannot be imported.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {number}: {why}")]
pub(crate) struct BadLine {
    number: usize,
    why: String,
}

/// Reads the whole catalogue, so that a bad line is found before the first request is sent. Empty
/// lines are skipped.
///
/// # Errors
/// The first bad line.
pub(crate) fn read(text: &str) -> Result<Vec<Line>, BadLine> {
    let mut lines: Vec<Line> = Vec::new();
    let mut known: HashMap<(Kind, String), usize> = HashMap::new();
    let mut slugs: HashMap<(Kind, String), usize> = HashMap::new();
    let mut seen: HashMap<String, u32> = HashMap::new();
    for (number, text) in (1..).zip(text.lines()) {
        if text.trim().is_empty() {
            continue;
        }
        let bad = |why| BadLine { number, why };
        let json: Value =
            serde_json::from_str(text).map_err(|error| bad(format!("is not JSON: {error}")))?;
        // `to_string` normalises whitespace and member order, which the server ignores as well.
        let copies = seen.entry(json.to_string()).or_insert(0);
        let idempotency_key = key(&json, *copies);
        *copies = copies.saturating_add(1);
        let line = line(number, json, idempotency_key).map_err(bad)?;
        let named = line.categories.iter().flatten().map(|name| (Kind::Category, name));
        let named = named.chain(line.event.iter().map(|name| (Kind::Event, name)));
        for (kind, name) in named {
            if !known.contains_key(&(kind, name.clone())) {
                return Err(bad(unknown(kind, name)));
            }
        }
        if let Some(name) = &line.reference
            && let Some(first) = known.insert((line.kind, name.clone()), number)
        {
            let kind = line.kind.name();
            return Err(bad(format!("the {kind} of line {first} is called `{name}` too")));
        }
        if let Some(slug) = line.slug()
            && let Some(first) = slugs.insert((line.kind, slug.to_owned()), number)
        {
            let kind = line.kind.name();
            return Err(bad(format!("the {kind} of line {first} has the slug `{slug}` too")));
        }
        lines.push(line);
    }
    Ok(lines)
}

fn unknown(kind: Kind, name: &str) -> String {
    format!("no earlier line has the {} with \"ref\": \"{name}\"", kind.name())
}

/// Derives the `Idempotency-Key` from the line's content and from the number of identical lines
/// before it: identical lines are intended repetitions, so each needs its own key.
fn key(json: &Value, copies: u32) -> String {
    let mut hash = Sha256::new();
    hash.update(copies.to_le_bytes());
    hash.update(json.to_string());
    let hash = hash.finalize();
    format!("import-{}", HEXLOWER.encode(hash.get(..HASH_BYTES_SHOWN).unwrap_or_default()))
}

fn line(number: usize, json: Value, idempotency_key: String) -> Result<Line, String> {
    let shape = || {
        r#"must be {"category": {...}}, {"event": {...}} or {"market": {...}}, alone"#.to_owned()
    };
    let Value::Object(members) = json else { return Err(shape()) };
    let mut members = members.into_iter();
    let (Some((name, body)), None) = (members.next(), members.next()) else { return Err(shape()) };
    let kind = Kind::ALL.into_iter().find(|kind| kind.name() == name).ok_or_else(shape)?;
    let Value::Object(mut body) = body else { return Err(shape()) };
    let reference = body.remove("ref").map(|value| name_in("ref", value)).transpose()?;
    texts::fill(&mut body);
    let (mut categories, mut event) = (None, None);
    if kind != Kind::Category {
        categories = named(&mut body, "categories", "categoryIds")?.map(names_in).transpose()?;
    }
    if kind == Kind::Market {
        let value = named(&mut body, "event", "eventId")?;
        event = value.map(|value| name_in("event", value)).transpose()?;
    }
    Ok(Line { number, kind, reference, idempotency_key, categories, event, body })
}

/// Removes the member that holds references; giving ids in the `ids` member as well is an error.
fn named(body: &mut Map<String, Value>, name: &str, ids: &str) -> Result<Option<Value>, String> {
    let value = body.remove(name);
    if value.is_some() && body.contains_key(ids) {
        return Err(format!("\"{name}\" and \"{ids}\" cannot both be there"));
    }
    Ok(value)
}

fn name_in(member: &str, value: Value) -> Result<String, String> {
    match value {
        Value::String(name) if !name.is_empty() => Ok(name),
        _ => Err(format!("\"{member}\" must be a name")),
    }
}

fn names_in(value: Value) -> Result<Vec<String>, String> {
    match value {
        Value::Array(names) => names.into_iter().map(|name| name_in("categories", name)).collect(),
        _ => Err("\"categories\" must be a list of names".to_owned()),
    }
}

#[cfg(test)]
#[path = "../../../tests/unit/cli/admin/catalogue.rs"]
mod tests;
