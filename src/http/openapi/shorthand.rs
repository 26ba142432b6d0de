//! The shorthand for the document's schemas, and its expansion.
//!
//! A word names a schema: `Name`, `Name?` (or null), `[Name]` (a list), `=WORD` (this constant). An
//! object is a description and its members, each a word, or a word with a description; a member
//! called `name?` is optional, and `+` includes the members of another object. Request bodies are
//! marked `!`: members that are not listed are refused; `!+` needs at least one member. `|` is one
//! of several objects. A third part is merged into the schema as it is.

use serde_json::{Map, Value, json};

use crate::wire::print::Unprintable;

/// Why the document cannot be built. Its parts are compiled in, so this cannot happen in a tested
/// build.
#[derive(Debug, thiserror::Error)]
pub enum Unfit {
    /// A part is not valid JSON of its form.
    #[error("a part of the description cannot be read: {0}")]
    Json(#[from] serde_json::Error),
    /// An example cannot be serialised.
    #[error(transparent)]
    Example(#[from] Unprintable),
    /// An entry is not in the shorthand.
    #[error("an entry of the description is not in its shorthand")]
    Entry,
    /// An undefined name.
    #[error("the description uses {0}, which it does not explain")]
    Word(String),
    /// A route has no operation, or an operation no route.
    #[error("{0} is not both in the table of routes and in the description")]
    Stray(String),
}

impl Unfit {
    /// An undefined word.
    pub fn word(word: &str) -> Unfit {
        Unfit::Word(word.to_owned())
    }
}

/// JSON members by name.
pub type Members = Map<String, Value>;

/// A reference to the schema of this name.
pub fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{name}") })
}

/// All schemas: those written in full, those in shorthand, and one per kind of record.
pub fn schemas(scalars: Members, objects: &Members, records: &Members) -> Result<Members, Unfit> {
    let mut all = scalars;
    for (name, entry) in objects {
        all.insert(name.clone(), object(objects, entry)?);
    }
    let mut mapping = Members::new();
    let mut alternatives = Vec::new();
    for (name, own) in records {
        let own = own.as_object().ok_or(Unfit::Entry)?;
        let kind = screaming(name);
        let mut members = own.clone();
        members.insert("+".to_owned(), json!("RecordHead"));
        members.insert("kind".to_owned(), json!(format!("={kind}")));
        let title = format!("{name}Record");
        mapping.insert(kind, json!(format!("#/components/schemas/{title}")));
        alternatives.push(reference(&title));
        all.insert(title, members_schema(objects, &members, None)?);
    }
    let record = json!({
        "description": "A record of the journal: what was asked. The id of a thing that a record \
            made is null where the command was refused.",
        "oneOf": alternatives,
        "discriminator": { "propertyName": "kind", "mapping": mapping },
    });
    all.insert("JournalRecord".to_owned(), record);
    Ok(all)
}

/// Expands an entry of the shorthand.
fn object(objects: &Members, entry: &Value) -> Result<Value, Unfit> {
    let parts: Vec<&Value> = entry.as_array().ok_or(Unfit::Entry)?.iter().collect();
    match parts.as_slice() {
        [Value::String(mark), Value::String(about), Value::Array(names)] if mark == "|" => {
            let names = names.iter().filter_map(Value::as_str);
            let alternatives: Vec<Value> = names.map(reference).collect();
            Ok(json!({ "description": about, "oneOf": alternatives }))
        }
        [Value::String(mark), Value::Object(members)] if mark.starts_with('!') => {
            let mut schema = members_schema(objects, members, None)?;
            schema["additionalProperties"] = json!(false);
            if mark == "!+" {
                schema["minProperties"] = json!(1);
            }
            Ok(schema)
        }
        [mark, members, Value::Object(further)] => {
            let mut schema = object(objects, &json!([mark, members]))?;
            for (keyword, rule) in further {
                schema[keyword] = rule.clone();
            }
            Ok(schema)
        }
        [Value::String(about), Value::Object(members)] => {
            members_schema(objects, members, Some(about))
        }
        _ => Err(Unfit::Entry),
    }
}

fn members_schema(
    objects: &Members,
    members: &Members,
    about: Option<&str>,
) -> Result<Value, Unfit> {
    let (mut properties, mut required) = (Members::new(), Vec::new());
    gather(objects, members, &mut properties, &mut required)?;
    let mut schema = json!({ "type": "object", "properties": properties });
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    if let Some(about) = about {
        schema["description"] = json!(about);
    }
    Ok(schema)
}

fn gather(
    objects: &Members,
    members: &Members,
    properties: &mut Members,
    required: &mut Vec<String>,
) -> Result<(), Unfit> {
    for (name, entry) in members {
        if name == "+" {
            let base = entry.as_str().and_then(|base| objects.get(base));
            let base = base.and_then(|base| base.get(1)).and_then(Value::as_object);
            gather(objects, base.ok_or(Unfit::Entry)?, properties, required)?;
            continue;
        }
        let schema = match entry {
            Value::String(word) => schema_of(word),
            Value::Array(parts) => match parts.as_slice() {
                [Value::String(word), Value::String(about)] => {
                    let mut schema = schema_of(word);
                    schema["description"] = json!(about);
                    schema
                }
                _ => return Err(Unfit::Entry),
            },
            _ => return Err(Unfit::Entry),
        };
        let plain = name.strip_suffix('?');
        if plain.is_none() {
            required.push(name.clone());
        }
        properties.insert(plain.unwrap_or(name).to_owned(), schema);
    }
    Ok(())
}

/// Expands a word.
pub fn schema_of(word: &str) -> Value {
    if let Some(element) = word.strip_prefix('[').and_then(|word| word.strip_suffix(']')) {
        json!({ "type": "array", "items": schema_of(element) })
    } else if let Some(there) = word.strip_suffix('?') {
        json!({ "anyOf": [schema_of(there), { "type": "null" }] })
    } else if let Some(only) = word.strip_prefix('=') {
        json!({ "type": "string", "const": only })
    } else {
        reference(word)
    }
}

/// `PlaceOrder` to `PLACE_ORDER`.
fn screaming(name: &str) -> String {
    let mut screamed = String::new();
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && !screamed.is_empty() {
            screamed.push('_');
        }
        screamed.push(letter.to_ascii_uppercase());
    }
    screamed
}

#[cfg(test)]
#[path = "../../../tests/unit/http/openapi/shorthand.rs"]
mod tests;
