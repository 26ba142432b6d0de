//! Texts in the venue's three languages. An operator may give one: the others fall back on it, and
//! say in which language it is.

use clap::ValueEnum;
use serde_json::{Map, Value};

/// The languages, in the order in which one stands in for another.
const LANGUAGES: [&str; 3] = ["en", "pt", "es"];
/// The members of catalogue objects that are texts.
const TEXTS: [&str; 5] = ["titles", "subTitles", "descriptions", "questions", "text"];

/// A language.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Language {
    /// English
    En,
    /// Portuguese
    Pt,
    /// Spanish
    Es,
}

impl Language {
    const fn name(self) -> &'static str {
        match self {
            Language::En => "en",
            Language::Pt => "pt",
            Language::Es => "es",
        }
    }
}

/// A text in one language, and marked in the others, or as they are in `before`.
pub(crate) fn in_all(text: &str, language: Language, before: Option<&Value>) -> Value {
    let mut texts = before.and_then(Value::as_object).cloned().unwrap_or_default();
    texts.insert(language.name().to_owned(), text.into());
    Value::Object(filled(texts))
}

/// Adds the languages that the texts in an object of a catalogue lack. A text that is given as it
/// is counts as English.
pub(crate) fn fill(object: &mut Map<String, Value>) {
    for (name, value) in object.iter_mut() {
        match value {
            Value::String(text) if TEXTS.contains(&name.as_str()) => {
                *value = in_all(text, Language::En, None);
            }
            Value::Object(texts) if TEXTS.contains(&name.as_str()) => {
                *texts = filled(std::mem::take(texts));
            }
            Value::Array(elements) if name == "outcomes" => {
                elements.iter_mut().filter_map(Value::as_object_mut).for_each(fill);
            }
            _ => {}
        }
    }
}

/// Puts the members of one object into another.
pub(crate) fn merge(into: &mut Value, from: Value) {
    if let (Some(into), Value::Object(from)) = (into.as_object_mut(), from) {
        into.extend(from);
    }
}

/// Texts by language, all of them; as they are where none is known.
fn filled(mut texts: Map<String, Value>) -> Map<String, Value> {
    let known = LANGUAGES.iter().find_map(|language| {
        texts.get(*language).and_then(Value::as_str).map(|text| (*language, text.to_owned()))
    });
    if let Some((known, text)) = known {
        let marked = if text.is_empty() { text } else { format!("[{known}] {text}") };
        for language in LANGUAGES {
            texts.entry(language).or_insert_with(|| marked.clone().into());
        }
    }
    texts
}

#[cfg(test)]
#[path = "../../../tests/unit/cli/admin/texts.rs"]
mod tests;
