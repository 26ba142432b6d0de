//! Forms: parse a request's path, query and body into typed values, and collect every bad field
//! before answering (semantics 7).
//!
//! A field is read by its name and a reader; `None` means that it was bad and the fault is
//! recorded.
//! [`Form::finish`] refuses what was never read, so that a typo does not become a default.

use std::borrow::Cow;

use super::parse::{Fault, Read};
use super::problem::{FieldCode, FieldError, Problem};
use super::wire::json::Json;
use exchange::catalogue::Localized;

/// Most bad fields reported: a body can have thousands of unknown fields, and nobody corrects more
/// than this at a time.
const ERRORS_MAX: usize = 100;
/// Most bytes of an unknown field's name repeated in the answer.
const NAME_BYTES_MAX: usize = 64;

/// The bad fields found so far.
#[derive(Debug, Default)]
pub struct Faults(Vec<FieldError>);

impl Faults {
    /// Records a bad field.
    pub fn note(&mut self, field: &str, fault: Fault) {
        if self.0.len() < ERRORS_MAX {
            let Fault { code, detail } = fault;
            self.0.push(FieldError { field: shortened(field).to_owned(), code, detail });
        }
    }

    /// Returns the value, or records its fault.
    pub fn sift<T>(&mut self, field: &str, read: Read<T>) -> Option<T> {
        read.map_err(|fault| self.note(field, fault)).ok()
    }

    fn wrong_type(&mut self, field: &str, expected: &'static str) {
        self.note(field, Fault::new(FieldCode::WrongType, expected));
    }
}

/// The longest prefix of `name` that is repeated to the client.
fn shortened(name: &str) -> &str {
    let end = (0..=NAME_BYTES_MAX.min(name.len())).rev().find(|end| name.is_char_boundary(*end));
    end.and_then(|end| name.get(..end)).unwrap_or_default()
}

/// A JSON object of a body; each member is taken at most once.
#[derive(Debug)]
pub struct Fields<'a> {
    prefix: String,
    members: Vec<(Cow<'a, str>, Json<'a>)>,
    /// The body was not an object. This is recorded already, so its members are not reported
    /// missing.
    broken: bool,
}

impl<'a> Fields<'a> {
    /// The members of an object called `field`.
    pub fn open(faults: &mut Faults, field: &str, json: Json<'a>) -> Option<Fields<'a>> {
        if let Json::Object(members) = json {
            Some(Fields { prefix: format!("{field}."), members, broken: false })
        } else {
            faults.wrong_type(field, "must be an object");
            None
        }
    }

    /// The members of a whole body.
    fn of_body(faults: &mut Faults, bytes: &'a [u8]) -> Fields<'a> {
        match Json::parse(bytes) {
            Ok(json) => Fields::of_json(faults, json),
            Err(error) => {
                let detail = format!("is not JSON: {error}");
                faults.note("body", Fault::new(FieldCode::Malformed, detail));
                Fields { broken: true, ..Fields::none() }
            }
        }
    }

    fn of_json(faults: &mut Faults, json: Json<'a>) -> Fields<'a> {
        if let Json::Object(members) = json {
            Fields { members, ..Fields::none() }
        } else {
            faults.wrong_type("body", "must be a JSON object");
            Fields { broken: true, ..Fields::none() }
        }
    }

    /// A member's full name, as errors show it.
    pub fn called<'n>(&self, name: &'n str) -> Cow<'n, str> {
        if self.prefix.is_empty() {
            return Cow::Borrowed(name);
        }
        Cow::Owned([self.prefix.as_str(), name].concat())
    }

    fn none() -> Fields<'a> {
        Fields { prefix: String::new(), members: Vec::new(), broken: false }
    }

    /// Reads an optional member.
    pub fn optional<T>(
        &mut self,
        faults: &mut Faults,
        name: &str,
        reader: impl FnOnce(&mut Faults, &str, Json<'a>) -> Option<T>,
    ) -> Option<Option<T>> {
        let Some(place) = self.members.iter().position(|(member, _)| member == name) else {
            return Some(None);
        };
        let (_, value) = self.members.remove(place);
        let field = self.called(name);
        if self.members.iter().skip(place).any(|(member, _)| member == name) {
            self.members.retain(|(member, _)| member != name);
            faults.note(&field, Fault::new(FieldCode::Repeated, "is given more than once"));
            return None;
        }
        reader(faults, &field, value).map(Some)
    }

    /// Reads a required member.
    pub fn required<T>(
        &mut self,
        faults: &mut Faults,
        name: &str,
        reader: impl FnOnce(&mut Faults, &str, Json<'a>) -> Option<T>,
    ) -> Option<T> {
        let read = self.optional(faults, name, reader)?;
        if read.is_none() && !self.broken {
            faults.note(&self.called(name), Fault::new(FieldCode::Required, "is missing"));
        }
        read
    }

    /// Records every member that was not read as unknown.
    pub fn close(self, faults: &mut Faults) {
        for (name, _) in &self.members {
            let field = format!("{}{}", self.prefix, shortened(name));
            faults.note(&field, Fault::new(FieldCode::UnknownField, "is not a field of this body"));
        }
    }
}

/// The values of a request that are still to be parsed.
#[derive(Debug)]
pub struct Form<'a> {
    /// The bad fields found so far.
    pub faults: Faults,
    path: &'a [(String, String)],
    query: Vec<(Cow<'a, str>, Cow<'a, str>)>,
    body: Fields<'a>,
    /// Faults that the exchange would find; reported only together with others.
    exchange_faults: Vec<(&'static str, Fault)>,
}

impl<'a> Form<'a> {
    /// The form of a request without a body.
    pub fn new(path: &'a [(String, String)], query: Option<&'a str>) -> Form<'a> {
        let query = parameters(query.unwrap_or_default());
        let (faults, body, exchange_faults) = (Faults::default(), Fields::none(), Vec::new());
        Form { faults, path, query, body, exchange_faults }
    }

    /// The form of a request whose body must be a JSON object.
    pub fn with_body(
        path: &'a [(String, String)],
        query: Option<&'a str>,
        body: &'a [u8],
    ) -> Form<'a> {
        let mut form = Form::new(path, query);
        form.body = Fields::of_body(&mut form.faults, body);
        form
    }

    /// The form of one object inside a body; errors use the names of its members, and `body` for
    /// the object itself.
    pub fn of_json(json: Json<'a>) -> Form<'a> {
        let mut form = Form::new(&[], None);
        form.body = Fields::of_json(&mut form.faults, json);
        form
    }

    /// Reads several fields of the body.
    pub fn body<T>(
        &mut self,
        reader: impl FnOnce(&mut Faults, &mut Fields<'a>) -> Option<T>,
    ) -> Option<T> {
        reader(&mut self.faults, &mut self.body)
    }

    /// Reads a path parameter.
    pub fn path<T>(&mut self, name: &str, parse: impl FnOnce(&str) -> Read<T>) -> Option<T> {
        let text = self.path.iter().find(|(part, _)| part == name).map(|(_, text)| text.as_str());
        self.faults.sift(name, parse(text.unwrap_or_default()))
    }

    /// Reads an optional query parameter.
    pub fn query<T>(
        &mut self,
        name: &str,
        parse: impl FnOnce(&str) -> Read<T>,
    ) -> Option<Option<T>> {
        let mut found = self.query.extract_if(.., |(parameter, _)| parameter == name);
        let first = found.next();
        let repeated = found.next().is_some();
        found.for_each(drop);
        let Some((_, text)) = first else { return Some(None) };
        if repeated {
            self.faults.note(name, Fault::new(FieldCode::Repeated, "is given more than once"));
            return None;
        }
        // Decoding replaces bytes that are not UTF-8 by this character.
        let undecodable = text.contains(char::REPLACEMENT_CHARACTER);
        let read = if undecodable { Err(Fault::invalid("must be UTF-8")) } else { parse(&text) };
        self.faults.sift(name, read).map(Some)
    }

    /// Whether a query parameter was given and not read yet.
    pub fn asks(&self, name: &str) -> bool {
        self.query.iter().any(|(parameter, _)| parameter == name)
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

    /// Reads a required field of the body.
    pub fn field<T>(
        &mut self,
        name: &str,
        reader: impl FnOnce(&mut Faults, &str, Json<'a>) -> Option<T>,
    ) -> Option<T> {
        self.body.required(&mut self.faults, name, reader)
    }

    /// Reads an optional field of the body.
    pub fn field_optional<T>(
        &mut self,
        name: &str,
        reader: impl FnOnce(&mut Faults, &str, Json<'a>) -> Option<T>,
    ) -> Option<Option<T>> {
        self.body.optional(&mut self.faults, name, reader)
    }

    /// Records a fault that concerns several fields.
    pub fn note(&mut self, field: &str, fault: Fault) {
        self.faults.note(field, fault);
    }

    /// Records a fault that the exchange would find. It is reported together with other faults, so
    /// that the client can correct all at a time; alone it is left to the exchange.
    pub fn note_beside(&mut self, field: &'static str, fault: Fault) {
        self.exchange_faults.push((field, fault));
    }

    /// Records that the body has none of several members of which at least one is required.
    pub fn note_nothing(&mut self, detail: &'static str) {
        if !self.body.broken {
            self.faults.note("body", Fault::new(FieldCode::Required, detail));
        }
    }

    /// The value, if no field was bad and none is left over.
    pub fn finish<T>(mut self, value: Option<T>) -> Result<T, Problem> {
        let mut seen: Vec<Cow<'_, str>> = Vec::new();
        for (name, _) in self.query {
            // Report each name once: a repeated unknown parameter is one typo.
            if seen.len() < ERRORS_MAX && !seen.contains(&name) {
                let fault = Fault::new(FieldCode::UnknownField, "is not a parameter of this path");
                self.faults.note(&name, fault);
                seen.push(name);
            }
        }
        self.body.close(&mut self.faults);
        match value {
            Some(value) if self.faults.0.is_empty() => Ok(value),
            _ => {
                for (field, fault) in self.exchange_faults {
                    self.faults.note(field, fault);
                }
                Err(Problem::invalid(self.faults.0))
            }
        }
    }
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

/// A reader of JSON strings.
pub fn text<'a, T>(
    parse: impl FnOnce(&str) -> Read<T>,
) -> impl FnOnce(&mut Faults, &str, Json<'a>) -> Option<T> {
    move |faults, field, json| {
        if let Json::Text(text) = json {
            faults.sift(field, parse(&text))
        } else {
            let null = matches!(json, Json::Null);
            let unset = "must be a string; what is not set is left out, and is not null";
            faults.wrong_type(field, if null { unset } else { "must be a string" });
            None
        }
    }
}

/// Reads `true` or `false`.
#[expect(clippy::needless_pass_by_value, reason = "every reader takes its value")]
pub fn boolean(faults: &mut Faults, field: &str, json: Json<'_>) -> Option<bool> {
    if let Json::Bool(value) = json {
        Some(value)
    } else {
        faults.wrong_type(field, "must be true or false");
        None
    }
}

/// Reads an integer of zero or more.
pub fn integer(faults: &mut Faults, field: &str, json: &Json<'_>) -> Option<u64> {
    let Json::Integer(value) = *json else {
        faults.wrong_type(field, "must be an integer of zero or more");
        return None;
    };
    Some(value)
}

/// A reader of integers up to `max`.
pub fn integer_up_to<'a>(max: u32) -> impl FnOnce(&mut Faults, &str, Json<'a>) -> Option<u32> {
    move |faults, field, json| {
        let value = integer(faults, field, &json)?;
        let inside = u32::try_from(value).ok().filter(|value| *value <= max);
        if inside.is_none() {
            let detail = format!("must be at most {max}");
            faults.note(field, Fault::new(FieldCode::OutOfBounds, detail));
        }
        inside
    }
}

/// A reader of arrays of at most `count_max` strings without repetitions.
pub fn texts<'a, T: PartialEq>(
    parse: impl Fn(&str) -> Read<T>,
    count_max: usize,
) -> impl FnOnce(&mut Faults, &str, Json<'a>) -> Option<Vec<T>> {
    move |faults, field, json| {
        let elements = array(faults, field, json, count_max)?;
        let mut values: Vec<T> = Vec::new();
        let mut whole = true;
        for (index, element) in elements.into_iter().enumerate() {
            let place = format!("{field}[{index}]");
            match text(&parse)(faults, &place, element) {
                Some(value) if values.contains(&value) => {
                    faults.note(&place, Fault::new(FieldCode::Repeated, "is there already"));
                    whole = false;
                }
                Some(value) => values.push(value),
                None => whole = false,
            }
        }
        whole.then_some(values)
    }
}

/// The elements of an array of at most `count_max`.
pub fn array<'a>(
    faults: &mut Faults,
    field: &str,
    json: Json<'a>,
    count_max: usize,
) -> Option<Vec<Json<'a>>> {
    match json {
        Json::Array(elements) if elements.len() <= count_max => Some(elements),
        Json::Array(_) => {
            let detail = format!("must have at most {count_max} elements");
            faults.note(field, Fault::new(FieldCode::OutOfBounds, detail));
            None
        }
        _ => {
            faults.wrong_type(field, "must be an array");
            None
        }
    }
}

/// A reader of texts in all three languages, each read by `parse`.
pub fn localized<'a>(
    parse: impl Fn(&str) -> Read<String>,
) -> impl FnOnce(&mut Faults, &str, Json<'a>) -> Option<Localized> {
    move |faults, field, json| {
        let mut fields = Fields::open(faults, field, json)?;
        let pt = fields.required(faults, "pt", text(&parse));
        let en = fields.required(faults, "en", text(&parse));
        let es = fields.required(faults, "es", text(&parse));
        fields.close(faults);
        Some(Localized { pt: pt?, en: en?, es: es? })
    }
}

#[cfg(test)]
#[path = "../../tests/unit/http/form.rs"]
mod tests;
