//! Shapes of JSON: every required member with its form; an extra member is as wrong as a missing
//! one.

use serde_json::Value;

/// What a JSON value must look like.
#[derive(Clone)]
pub enum Shape {
    /// A UUID of 36 characters in lower case.
    Uuid,
    /// 32 bytes in lower-case hexadecimal.
    Hash,
    /// Any string.
    Text,
    /// `http` or `https`.
    Url,
    /// `YYYY-MM-DDTHH:MM:SS.mmmZ`.
    Moment,
    Bool,
    /// A non-negative integer.
    Integer,
    /// A non-negative number with at most this many decimals.
    Number(usize),
    /// A decimal as a string, possibly negative, with at least and at most these decimals, and no
    /// trailing zeros beyond the minimum.
    Decimal(usize, usize),
    /// One of these strings.
    OneOf(&'static [&'static str]),
    /// `null`, or this.
    Nullable(Box<Shape>),
    /// Any number of these.
    List(Box<Shape>),
    /// Exactly these members.
    Object(Vec<(&'static str, Shape)>),
    /// These members, and possibly others.
    WithMore(Vec<(&'static str, Shape)>),
}

/// An object of these members.
pub fn object<const N: usize>(members: [(&'static str, Shape); N]) -> Shape {
    Shape::Object(members.into())
}

/// An object with these members, and possibly others.
pub fn with_more<const N: usize>(members: [(&'static str, Shape); N]) -> Shape {
    Shape::WithMore(members.into())
}

/// An object with members added.
pub fn wider<const N: usize>(shape: Shape, members: [(&'static str, Shape); N]) -> Shape {
    let Shape::Object(mut all) = shape else { panic!("only objects can be made wider") };
    all.extend(members);
    Shape::Object(all)
}

pub fn list(shape: Shape) -> Shape {
    Shape::List(Box::new(shape))
}

pub fn nullable(shape: Shape) -> Shape {
    Shape::Nullable(Box::new(shape))
}

/// Fails with everything in `json` that does not match.
#[track_caller]
pub fn check(shape: &Shape, json: &Value, asked: &str) {
    let mut faults = Vec::new();
    compare(shape, "", json, &mut faults);
    assert!(faults.is_empty(), "{asked}\n{}\n{json:#}", faults.join("\n"));
}

fn compare(shape: &Shape, place: &str, json: &Value, faults: &mut Vec<String>) {
    match (shape, json) {
        (Shape::Nullable(_), Value::Null) => {}
        (Shape::Nullable(shape), _) => compare(shape, place, json, faults),
        (Shape::List(shape), Value::Array(elements)) => {
            for (index, element) in elements.iter().enumerate() {
                compare(shape, &format!("{place}[{index}]"), element, faults);
            }
        }
        (Shape::Object(members) | Shape::WithMore(members), Value::Object(found)) => {
            for (name, shape) in members {
                match found.get(*name) {
                    Some(value) => compare(shape, &format!("{place}.{name}"), value, faults),
                    None => faults.push(format!("{place}.{name} is missing")),
                }
            }
            if matches!(shape, Shape::WithMore(_)) {
                return;
            }
            let unexpected = found.keys().filter(|name| !members.iter().any(|(m, _)| m == name));
            faults.extend(unexpected.map(|name| format!("{place}.{name} is unexpected")));
        }
        _ if is_scalar(shape, json) => {}
        _ => faults.push(format!("{place} is {json}")),
    }
}

fn is_scalar(shape: &Shape, json: &Value) -> bool {
    match (shape, json) {
        (Shape::Bool, Value::Bool(_)) | (Shape::Text, Value::String(_)) => true,
        (Shape::Integer, Value::Number(number)) => number.is_u64(),
        (Shape::Number(decimals), Value::Number(number)) => {
            is_number(&number.to_string(), *decimals)
        }
        (Shape::Uuid, Value::String(text)) => is_uuid(text),
        (Shape::Hash, Value::String(text)) => is_like(text, &"f".repeat(64)),
        (Shape::Url, Value::String(text)) => text.to_lowercase().starts_with("http"),
        (Shape::Moment, Value::String(text)) => is_moment(text),
        (Shape::Decimal(least, most), Value::String(text)) => is_decimal(text, *least, *most),
        (Shape::OneOf(words), Value::String(text)) => words.contains(&text.as_str()),
        _ => false,
    }
}

fn is_number(text: &str, decimals: usize) -> bool {
    let (whole, rest) = text.split_once('.').unwrap_or((text, "0"));
    all_digits(whole) && all_digits(rest) && (rest.len() <= decimals || rest == "0")
}

fn all_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether `text` has this form: `9` stands for a digit, `f` for a lower-case hexadecimal one.
fn is_like(text: &str, form: &str) -> bool {
    text.len() == form.len()
        && text.bytes().zip(form.bytes()).all(|(byte, form)| match form {
            b'9' => byte.is_ascii_digit(),
            b'f' => byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte),
            _ => byte == form,
        })
}

fn is_uuid(text: &str) -> bool {
    is_like(text, "ffffffff-ffff-ffff-ffff-ffffffffffff")
}

fn is_moment(text: &str) -> bool {
    is_like(text, "9999-99-99T99:99:99.999Z")
}

fn is_decimal(text: &str, least: usize, most: usize) -> bool {
    let text = text.strip_prefix('-').unwrap_or(text);
    let (whole, rest) = text.split_once('.').unwrap_or((text, ""));
    let point = text.contains('.');
    let padded = rest.len() > least && rest.ends_with('0');
    let leading = whole.len() > 1 && whole.starts_with('0');
    all_digits(whole)
        && !leading
        && point != rest.is_empty()
        && (rest.is_empty() || all_digits(rest))
        && (least..=most).contains(&rest.len())
        && !padded
}

#[test]
fn shapes_tell_right_from_wrong() {
    for (text, least, most, right) in [
        ("0.60", 2, 2, true),
        ("0.6", 2, 2, false),
        ("10", 0, 6, true),
        ("10.0", 0, 6, false),
        ("10.", 0, 6, false),
        ("2.5", 0, 6, true),
        ("2.50", 0, 6, false),
        ("05", 0, 6, false),
        ("-0.0123", 2, 8, true),
        ("0.123456789", 2, 8, false),
    ] {
        assert_eq!(is_decimal(text, least, most), right, "{text}");
    }
    assert!(is_moment("2026-01-01T00:00:00.000Z") && !is_moment("2026-01-01T00:00:00Z"));
    let shape = object([("a", Shape::Bool)]);
    for (json, count) in [("{}", 1), (r#"{"a":1}"#, 1), (r#"{"b":1}"#, 2), (r#"{"a":true}"#, 0)] {
        let mut faults = Vec::new();
        compare(&shape, "", &serde_json::from_str(json).unwrap(), &mut faults);
        assert_eq!(faults.len(), count, "{json}");
    }
}
