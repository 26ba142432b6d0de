//! Forms: parse a request's path, query and body into typed values, and collect every bad field
//! before answering (semantics 7).
//!
//! A value is asked for by its name; `None` means that it was bad and the fault is recorded.
//! [`Form::finish`] refuses what was never asked for, so that a typo does not become a default.

use std::borrow::Cow;

use super::grounds::{self, REASON, Reason};
use super::json::Json;
use super::members::{Faults, Given};
use super::parse::{self, Fault, Read, Written};
use super::problem::{FieldCode, NOT_IN_FUTURE, Problem};
use engine::Engine;
use exchange::units::Sequence;

/// Most unknown parameters that are told apart.
const UNKNOWN_MAX: usize = 100;

/// The values of a request that are still to be parsed.
pub struct Form<'a> {
    /// The bad fields found so far.
    pub faults: Faults,
    path: &'a [(String, String)],
    query: Vec<(Cow<'a, str>, Cow<'a, str>)>,
    body: &'a [u8],
    engine: Option<&'a Engine>,
    /// Whether a reason may be given.
    of_operator: bool,
}

impl<'a> Form<'a> {
    /// The form of a request without a body.
    pub fn new(path: &'a [(String, String)], query: Option<&'a str>) -> Form<'a> {
        let query = parameters(query.unwrap_or_default());
        Form { faults: Faults::default(), path, query, body: &[], engine: None, of_operator: false }
    }

    /// Adds a body.
    #[must_use]
    pub fn with_body(self, body: &'a [u8]) -> Form<'a> {
        Form { body, ..self }
    }

    /// Takes a reason, too, in the body or, where there is none, in the query: what operators do is
    /// recorded with it (`grounds.rs`).
    #[must_use]
    pub fn of_operator(self) -> Form<'a> {
        let mut form = Form { of_operator: true, ..self };
        if form.body.is_empty() {
            form.query(REASON, Reason::read);
        }
        form
    }

    /// Adds the engine by whose clock a deadline has passed.
    #[must_use]
    pub fn with_clock(self, engine: &'a Engine) -> Form<'a> {
        Form { engine: Some(engine), ..self }
    }

    /// Reads a path parameter.
    pub fn path<T: Written>(&mut self, name: &str) -> Option<T> {
        let text = self.path.iter().find(|(part, _)| part == name).map(|(_, text)| text.as_str());
        let read = T::read(text.unwrap_or_default());
        self.faults.sift(name, read.map_err(|fault| parse::or_slug(name, fault)))
    }

    /// Reads an optional query parameter.
    pub fn query<T>(
        &mut self,
        name: &str,
        parse: impl FnOnce(&str) -> Read<T>,
    ) -> Option<Option<T>> {
        let mut found = self.query.extract_if(.., |(parameter, _)| parameter == name);
        let (first, repeated) = (found.next(), found.next().is_some());
        found.for_each(drop);
        let Some((_, text)) = first else { return Some(None) };
        let read = if repeated {
            Err(Fault::new(FieldCode::Repeated, "is given more than once"))
        } else if text.contains(char::REPLACEMENT_CHARACTER) {
            // Decoding replaces bytes that are not UTF-8 by this character.
            Err(Fault::invalid("must be UTF-8"))
        } else {
            parse(&text).map_err(|fault| parse::or_slug(name, fault))
        };
        self.faults.sift(name, read).map(Some)
    }

    /// Whether a query parameter was given and not read yet.
    pub fn asks(&self, name: &str) -> bool {
        self.query.iter().any(|(parameter, _)| parameter == name)
    }

    /// The text of a query parameter that was given and not read yet.
    pub fn given(&self, name: &str) -> Option<&str> {
        let given = self.query.iter().find(|(parameter, _)| parameter == name);
        given.map(|(_, text)| &**text)
    }

    /// The venue's last record.
    pub fn watermark(&self) -> Option<Sequence> {
        self.engine.map(Engine::watermark)
    }

    /// Reads a required query parameter.
    pub fn query_required<T>(
        &mut self,
        name: &str,
        parse: impl FnOnce(&str) -> Read<T>,
    ) -> Option<T> {
        let read = self.query(name, parse)?;
        if read.is_none() {
            self.faults.note(name, Fault::new(FieldCode::Required, "is missing"));
        }
        read
    }

    /// Reads the body.
    pub fn body<T: Given>(&mut self) -> Option<T> {
        if !self.of_operator
            && let Ok(body) = plain(self.body)
        {
            return Some(body);
        }
        match serde_json::from_slice::<Json>(self.body) {
            Ok(mut json) => {
                if self.of_operator {
                    grounds::check_reason(&mut json, &mut self.faults);
                }
                T::noted(json, "", &mut self.faults)
            }
            Err(error) => {
                let detail = format!("is not JSON: {error}");
                self.faults.note("body", Fault::new(FieldCode::Malformed, detail));
                None
            }
        }
    }

    /// Reads a body that may be left out.
    pub fn body_or_default<T: Given + Default>(&mut self) -> Option<T> {
        if self.body.is_empty() { Some(T::default()) } else { self.body() }
    }

    /// The value, if no field was bad and none is left over.
    pub fn finish<T>(mut self, value: Option<T>) -> Result<T, Problem> {
        let mut seen: Vec<Cow<'_, str>> = Vec::new();
        for (name, _) in self.query {
            // Report each name once: a repeated unknown parameter is one typo.
            if seen.len() < UNKNOWN_MAX && !seen.contains(&name) {
                let fault = Fault::new(FieldCode::UnknownField, "is not a parameter of this path");
                self.faults.note(&name, fault);
                seen.push(name);
            }
        }
        match value {
            Some(value) if self.faults.is_empty() => Ok(value),
            _ => {
                for (field, deadline) in std::mem::take(&mut self.faults.deadlines) {
                    if self.engine.is_some_and(|engine| deadline <= engine.now()) {
                        let fault = Fault::new(FieldCode::NotInFuture, NOT_IN_FUTURE);
                        self.faults.note(&field, fault);
                    }
                }
                Err(Problem::invalid(self.faults.into_errors()))
            }
        }
    }
}

/// Reads a whole body in one pass.
fn plain<T: Given>(body: &[u8]) -> Result<T, serde_json::Error> {
    // One check of UTF-8 for the whole text instead of one for each string.
    let text = str::from_utf8(body).map_err(serde::de::Error::custom)?;
    let mut json = serde_json::Deserializer::from_str(text);
    let body = T::plain(&mut json)?;
    json.end()?;
    Ok(body)
}

/// The parameters of a query. Nearly all are plain text and only need splitting; others are decoded
/// as forms are.
fn parameters(query: &str) -> Vec<(Cow<'_, str>, Cow<'_, str>)> {
    if query.contains(['%', '+']) {
        return form_urlencoded::parse(query.as_bytes()).collect();
    }
    let written = query.split('&').filter(|parameter| !parameter.is_empty());
    let cut = written.map(|parameter| parameter.split_once('=').unwrap_or((parameter, "")));
    cut.map(|(name, text)| (Cow::Borrowed(name), Cow::Borrowed(text))).collect()
}

#[cfg(test)]
#[path = "../../tests/unit/http/form.rs"]
mod tests;
