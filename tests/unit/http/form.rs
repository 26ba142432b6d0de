//! Unit tests of `src/http/form.rs`.

use super::*;
use crate::members::{Translated, bodies};
use crate::parse::{self, Words};
use exchange::ids::MarketId;
use exchange::units::Tick;
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::default()
    })]
    #[test]
    fn every_query_is_cut_as_forms_are_encoded(query in "[a-c=&;%+é/?]{0,16}") {
        let expected: Vec<_> = form_urlencoded::parse(query.as_bytes()).collect();
        prop_assert_eq!(parameters(&query), expected);
    }
}

bodies! {
    /// A small body.
    struct Small {
        required { "price" => price: Tick }
        optional { "title" => title: Translated<Words<5>> }
    }
}

/// Reads a small form; returns the value, or the bad fields as `field CODE`.
fn read(path: &str, query: &str, body: &str) -> Result<(u8, Option<bool>), Vec<String>> {
    let path = [("marketId".to_owned(), path.to_owned())];
    let mut form = Form::new(&path, Some(query)).with_body(body.as_bytes());
    let market = form.path::<MarketId>("marketId");
    let flag = form.query("flag", parse::boolean);
    let body = form.body::<Small>();
    let told = |problem: Problem| -> Vec<String> {
        problem.errors.iter().map(|e| format!("{} {}", e.field, e.code.code())).collect()
    };
    let ((_, flag), Small { price, title: _ }) =
        form.finish(market.zip(flag).zip(body)).map_err(told)?;
    Ok((price.get(), flag))
}

const ID: &str = "0192f0c1-2b3c-7d4e-8f50-617283940516";

#[test]
fn a_good_form_is_read() {
    assert_eq!(read(ID, "flag=true", r#"{"price":"0.6"}"#), Ok((60, Some(true))));
    assert_eq!(read(ID, "", r#"{"pr\u0069ce":"0.60"}"#), Ok((60, None)));
}

#[test]
fn every_bad_field_is_named_at_once() {
    let body = r#"{"price":0.6,"title":{"pt":"","en":"toolong","xx":1},"prise":"0.6"}"#;
    let errors = read("nope", "flag=1&offset=0&offset=0", body).unwrap_err();
    assert_eq!(
        errors,
        [
            "marketId INVALID_VALUE",
            "flag INVALID_VALUE",
            "price WRONG_TYPE",
            "title.pt INVALID_VALUE",
            "title.en OUT_OF_BOUNDS",
            "title.es REQUIRED",
            "title.xx UNKNOWN_FIELD",
            "prise UNKNOWN_FIELD",
            "offset UNKNOWN_FIELD",
        ]
    );
}

#[test]
fn repetition_is_refused_even_of_equal_values() {
    let errors = read(ID, "flag=true&flag=true", r#"{"price":"0.6","price":"0.6"}"#);
    assert_eq!(errors.unwrap_err(), ["flag REPEATED", "price REPEATED"]);
}

#[test]
fn a_body_that_is_no_object_is_one_error() {
    for (body, code) in [
        ("", "MALFORMED"),
        ("{", "MALFORMED"),
        ("[]", "WRONG_TYPE"),
        ("null", "WRONG_TYPE"),
        (r#"{"price":"0.6"} x"#, "MALFORMED"),
    ] {
        assert_eq!(read(ID, "", body).unwrap_err(), [format!("body {code}")], "{body}");
    }
}

#[test]
fn null_is_a_wrong_type_and_absence_is_missing() {
    assert_eq!(read(ID, "", r#"{"price":null}"#).unwrap_err(), ["price WRONG_TYPE"]);
    assert_eq!(read(ID, "", "{}").unwrap_err(), ["price REQUIRED"]);
}

#[test]
fn reports_are_bounded() {
    let members: Vec<String> = (0..5000).map(|n| format!("\"é{n:0100}\":0")).collect();
    let errors = read(ID, "", &format!("{{{}}}", members.join(","))).unwrap_err();
    assert_eq!(errors.len(), 100);
    assert!(errors.iter().all(|error| error.len() < 64 + 20));
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::default()
    })]
    #[test]
    fn no_request_panics(path in "\\PC{0,40}", query in "\\PC{0,40}", body in "\\PC{0,60}") {
        let errors = read(&path, &query, &body);
        prop_assert!(errors.is_err());
    }
}
