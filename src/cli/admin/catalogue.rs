//! Parses a catalogue file for `admin import`: one category, event or market per line; a line may
//! refer to earlier lines by name. Every line gets a deterministic `Idempotency-Key`.

use std::collections::HashMap;

use data_encoding::HEXLOWER;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

/// Bytes of the line's SHA-256 used in its `Idempotency-Key`: enough to rule out collisions, and
/// within the 64 characters allowed for a key.
const HASH_BYTES_SHOWN: usize = 24;

/// The kind of object that a line creates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
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
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Category => "category",
            Kind::Event => "event",
            Kind::Market => "market",
        }
    }

    /// The API path that creates it.
    pub const fn path(self) -> &'static str {
        match self {
            Kind::Category => "/admin/categories",
            Kind::Event => "/admin/events",
            Kind::Market => "/admin/markets",
        }
    }
}

/// One line of the file, parsed.
#[derive(Debug, Clone)]
pub struct Line {
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
    /// The request body, with references replaced by the ids of what earlier lines created.
    ///
    /// # Errors
    /// A reference to an unknown name. [`read`] rules this out.
    pub fn body(&self, ids: &HashMap<(Kind, String), String>) -> Result<Value, String> {
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
pub struct BadLine {
    number: usize,
    why: String,
}

/// Reads the whole catalogue, so that a bad line is found before the first request is sent. Empty
/// lines are skipped.
///
/// # Errors
/// The first bad line.
pub fn read(text: &str) -> Result<Vec<Line>, BadLine> {
    let mut lines: Vec<Line> = Vec::new();
    let mut known: HashMap<(Kind, String), usize> = HashMap::new();
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
mod tests {
    use super::*;

    const WEATHER: &str = r#"{"category":{"ref":"weather","name":"Weather","slug":"weather"}}"#;

    fn why(text: &str) -> String {
        read(text).unwrap_err().to_string()
    }

    #[test]
    fn names_become_ids_and_leave_the_body() {
        let text = format!(
            "{WEATHER}\n\n{}\n{}\n",
            r#"{"event":{"ref":"rain","categories":["weather"],"images":[]}}"#,
            r#"{"market":{"event":"rain","categories":[],"highlighted":true}}"#
        );
        let lines = read(&text).unwrap();
        assert_eq!(lines.iter().map(|line| line.number).collect::<Vec<_>>(), [1, 3, 4]);
        let mut ids = HashMap::new();
        ids.insert((Kind::Category, "weather".to_owned()), "c1".to_owned());
        assert!(lines[2].body(&ids).is_err());
        ids.insert((Kind::Event, "rain".to_owned()), "e1".to_owned());
        let bodies: Vec<String> =
            lines.iter().map(|line| line.body(&ids).unwrap().to_string()).collect();
        assert_eq!(
            bodies,
            [
                r#"{"name":"Weather","slug":"weather"}"#,
                r#"{"categoryIds":["c1"],"images":[]}"#,
                r#"{"categoryIds":[],"eventId":"e1","highlighted":true}"#,
            ]
        );
    }

    #[test]
    fn a_lines_key_is_by_what_it_says_and_which_copy_it_is() {
        let key = |text: &str, index: usize| read(text).unwrap()[index].idempotency_key.clone();
        let plain = r#"{"category":{"name":"A","slug":"a"}}"#;
        let same = r#" { "category" : {"slug":"a", "name":"A"} }"#;
        assert_eq!(key(plain, 0), key(same, 0));
        assert_eq!(key(plain, 0), key(&format!("{WEATHER}\n\n{plain}"), 1));
        assert_ne!(key(plain, 0), key(&format!("{plain}\n{same}"), 1));
        assert_ne!(key(plain, 0), key(WEATHER, 0));
        assert!(key(plain, 0).len() <= 64);
    }

    #[test]
    fn a_line_that_nobody_could_import_is_named() {
        let alone = r#"must be {"category": {...}}, {"event": {...}} or {"market": {...}}, alone"#;
        let shape = format!("line 1: {alone}");
        for bad in ["[]", "{}", r#"{"user":{}}"#, r#"{"market":[]}"#, r#"{"event":{},"market":{}}"#]
        {
            assert_eq!(why(bad), shape, "{bad}");
        }
        assert!(why("{").starts_with("line 1: is not JSON: "));
        let event = r#"{"event":{"categories":["weather"]}}"#;
        let unknown = r#"no earlier line has the category with "ref": "weather""#;
        assert_eq!(why(&format!("{event}\n{WEATHER}")), format!("line 1: {unknown}"));
        let twice = format!("{WEATHER}\n{WEATHER}");
        assert_eq!(why(&twice), "line 2: the category of line 1 is called `weather` too");
        let both = r#"{"market":{"event":"a","eventId":"b"}}"#;
        assert_eq!(why(both), r#"line 1: "event" and "eventId" cannot both be there"#);
        assert_eq!(why(r#"{"event":{"ref":1}}"#), r#"line 1: "ref" must be a name"#);
        let list = r#"{"event":{"categories":"a"}}"#;
        assert_eq!(why(list), r#"line 1: "categories" must be a list of names"#);
    }
}
