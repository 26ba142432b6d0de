//! As much of JSON Schema as the description uses. An unknown keyword stops the test, since nothing
//! would check it.

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex};

use regex::Regex;
use serde_json::Value;

/// Keywords without effect on validity.
const ANNOTATIONS: [&str; 6] =
    ["description", "default", "discriminator", "example", "title", "$ref"];

static PATTERNS: LazyLock<Mutex<HashMap<String, Regex>>> = LazyLock::new(Mutex::default);

/// Whether members that a schema allows but does not list count as faults.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Members {
    Listed,
    Any,
}

/// Everything in `json` that violates the schema.
pub fn faults(document: &Value, schema: &Value, json: &Value, members: Members) -> Vec<String> {
    let mut checker = Checker { document, members, faults: Vec::new() };
    checker.check(schema, json, "");
    checker.faults
}

/// The schema that a reference leads to.
pub fn resolved<'a>(document: &'a Value, schema: &'a Value) -> &'a Value {
    match schema["$ref"].as_str() {
        Some(reference) => {
            let target = document.pointer(reference.strip_prefix('#').unwrap());
            resolved(document, target.unwrap_or_else(|| panic!("{reference}")))
        }
        None => schema,
    }
}

struct Checker<'a> {
    document: &'a Value,
    members: Members,
    faults: Vec<String>,
}

impl Checker<'_> {
    fn check(&mut self, schema: &Value, json: &Value, place: &str) {
        let schema = resolved(self.document, schema);
        let keywords = schema.as_object().unwrap();
        for (keyword, rule) in keywords {
            let right = match keyword.as_str() {
                "type" => is_of_type(rule.as_str().unwrap(), json),
                "enum" => rule.as_array().unwrap().contains(json),
                "const" => rule == json,
                "not" => !faults(self.document, rule, json, self.members).is_empty(),
                "pattern" => json.as_str().is_none_or(|text| matches(rule.as_str().unwrap(), text)),
                "format" => has_format(rule.as_str().unwrap(), json),
                "minimum" => json.as_f64().is_none_or(|n| n >= rule.as_f64().unwrap()),
                "maximum" => json.as_f64().is_none_or(|n| n <= rule.as_f64().unwrap()),
                "minLength" => json.as_str().is_none_or(|t| t.chars().count() >= size(rule)),
                "maxLength" => json.as_str().is_none_or(|t| t.chars().count() <= size(rule)),
                "minItems" => json.as_array().is_none_or(|list| list.len() >= size(rule)),
                "maxItems" => json.as_array().is_none_or(|list| list.len() <= size(rule)),
                "minProperties" => json.as_object().is_none_or(|all| all.len() >= size(rule)),
                "uniqueItems" => json.as_array().is_none_or(|list| {
                    list.iter().enumerate().all(|(at, item)| !list[..at].contains(item))
                }),
                "anyOf" | "oneOf" => {
                    let fit = rule.as_array().unwrap().iter().filter(|schema| {
                        faults(self.document, schema, json, self.members).is_empty()
                    });
                    let fit = fit.count();
                    if keyword == "oneOf" { fit == 1 } else { fit > 0 }
                }
                "items" => {
                    for (at, item) in json.as_array().into_iter().flatten().enumerate() {
                        self.check(rule, item, &format!("{place}[{at}]"));
                    }
                    true
                }
                "properties" => {
                    self.check_members(schema, rule, json, place);
                    true
                }
                "if" => {
                    let own = |rule| faults(self.document, rule, json, Members::Any);
                    !own(rule).is_empty() || own(&schema["then"]).is_empty()
                }
                "required" => {
                    let mut names = rule.as_array().unwrap().iter();
                    let there = |name: &Value| json.get(name.as_str().unwrap()).is_some();
                    let listed = keywords.contains_key("properties") || !json.is_object();
                    listed || names.all(there)
                }
                "then" | "additionalProperties" => true,
                keyword => {
                    assert!(ANNOTATIONS.contains(&keyword), "{keyword} is not known");
                    true
                }
            };
            if !right {
                self.faults.push(format!("{place} {json} is not {keyword} {rule}"));
            }
        }
    }

    fn check_members(&mut self, schema: &Value, properties: &Value, json: &Value, place: &str) {
        let Some(found) = json.as_object() else { return };
        for name in schema["required"].as_array().into_iter().flatten() {
            if !found.contains_key(name.as_str().unwrap()) {
                self.faults.push(format!("{place}.{name} is missing"));
            }
        }
        let closed = self.members == Members::Listed || schema["additionalProperties"] == false;
        for (name, value) in found {
            match properties.get(name) {
                Some(schema) => self.check(schema, value, &format!("{place}.{name}")),
                None if closed => self.faults.push(format!("{place}.{name} is not described")),
                None => {}
            }
        }
    }
}

fn size(rule: &Value) -> usize {
    usize::try_from(rule.as_u64().unwrap()).unwrap()
}

fn is_of_type(name: &str, json: &Value) -> bool {
    match name {
        "string" => json.is_string(),
        "integer" => json.is_i64() || json.is_u64() || json.to_string().ends_with(".0"),
        "number" => json.is_number(),
        "boolean" => json.is_boolean(),
        "array" => json.is_array(),
        "object" => json.is_object(),
        "null" => json.is_null(),
        other => panic!("{other} is no type"),
    }
}

pub fn matches(pattern: &str, text: &str) -> bool {
    let mut patterns = PATTERNS.lock().unwrap();
    let compiled =
        patterns.entry(pattern.to_owned()).or_insert_with(|| Regex::new(pattern).unwrap());
    compiled.is_match(text)
}

fn has_format(name: &str, json: &Value) -> bool {
    let Some(text) = json.as_str() else { return true };
    match name {
        "uuid" => matches("^[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$", text),
        "date-time" => chrono::DateTime::parse_from_rfc3339(text).is_ok(),
        other => panic!("{other} is no format"),
    }
}

#[test]
fn every_schema_violation_is_named() {
    use serde_json::json;
    let schema = json!({"type": "object", "properties": {
        "a": {"type": "string", "pattern": "^[a-z]$"}, "b": {"anyOf": [
            {"type": "integer", "minimum": 1, "maximum": 3}, {"type": "null"}]},
        "c": {"type": "array", "maxItems": 1, "items": {"enum": ["x"]}},
    }, "required": ["a"]});
    let count = |json: Value| faults(&Value::Null, &schema, &json, Members::Listed).len();
    assert_eq!(count(json!({"a": "a", "b": 3, "c": ["x"]})), 0);
    assert_eq!(count(json!({"a": "a", "b": null})), 0);
    assert_eq!(count(json!({"b": 1})), 1);
    assert_eq!(count(json!({"a": "A"})), 1);
    assert_eq!(count(json!({"a": "a", "b": 4})), 1);
    assert_eq!(count(json!({"a": "a", "c": ["y", "x"]})), 2);
    assert_eq!(count(json!({"a": "a", "d": 1})), 1);
    assert_eq!(count(json!([])), 1);
    let bound = json!({"if": {"required": ["e"]}, "then": {"properties": {"f": {"const": 1}}}});
    let count = |json: Value| faults(&Value::Null, &bound, &json, Members::Listed).len();
    assert_eq!((count(json!({"f": 2})), count(json!({"e": 2, "f": 1}))), (0, 0));
    assert_eq!((count(json!({"e": 2, "f": 2})), count(json!({"e": 2}))), (1, 0));
    let any = faults(&Value::Null, &schema, &json!({"a": "a", "d": 1}), Members::Any);
    assert!(any.is_empty());
}
