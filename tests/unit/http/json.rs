//! Unit tests of `src/http/json.rs`.

use super::*;
use proptest::prelude::*;

fn parse(bytes: &[u8]) -> Result<Json, serde_json::Error> {
    serde_json::from_slice(bytes)
}

#[test]
fn repeated_members_and_numbers_are_kept_apart() {
    let json = parse(br#"{"a":1,"a":-1,"b":1.5,"c":"\u0041"}"#).unwrap();
    let Json::Object(members) = json else { panic!("an object") };
    let expected = [
        ("a", Json::Integer(1)),
        ("a", Json::OtherNumber),
        ("b", Json::OtherNumber),
        ("c", Json::Text("A".into())),
    ];
    assert_eq!(members.len(), expected.len());
    for ((name, value), (expected_name, expected_value)) in members.into_iter().zip(expected) {
        assert_eq!((name.as_str(), value), (expected_name, expected_value));
    }
}

#[test]
fn an_integer_is_one_however_it_is_written() {
    for (text, value) in [
        ("30", Some(30)),
        ("30.0", Some(30)),
        ("3e1", Some(30)),
        ("3E+1", Some(30)),
        ("300e-1", Some(30)),
        ("0.0", Some(0)),
        ("-0", Some(0)),
        ("-0.0", Some(0)),
        ("1e15", Some(1_000_000_000_000_000)),
        ("30.5", None),
        ("3e-1", None),
        ("-30.0", None),
        ("1e300", None),
    ] {
        let expected = value.map_or(Json::OtherNumber, Json::Integer);
        assert_eq!(parse(text.as_bytes()).unwrap(), expected, "{text}");
    }
}

#[test]
fn what_is_no_json_is_an_error() {
    let deep = "[".repeat(1_000_000);
    let texts: [&[u8]; 8] =
        [b"", b"{", b"{} {}", b"{'a':1}", b"\"\xff\"", b"nul", b"\"\\ud800\"", deep.as_bytes()];
    for bad in texts {
        assert!(parse(bad).is_err(), "{:?}", &bad[..bad.len().min(10)]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::default()
    })]
    #[test]
    fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
        let parsed = parse(&bytes);
        prop_assert!(parsed.is_err() || std::str::from_utf8(&bytes).is_ok());
    }
}
