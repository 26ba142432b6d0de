//! Unit tests of `src/http/wire/print.rs`.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

#[derive(Debug, Clone, Serialize)]
struct Beside {
    integer: i64,
    small: u8,
    absent: Option<u32>,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
struct Shape {
    some_text: String,
    named: BTreeMap<String, u64>,
    nothing: (),
    #[serde(flatten)]
    beside: Beside,
    #[serde(flatten)]
    maybe: Option<Pair>,
    letter: char,
    flags: Vec<bool>,
}

#[derive(Debug, Clone, Serialize)]
struct Pair {
    two: (String, i8),
    kind: Kind,
}

#[derive(Debug, Clone, Serialize)]
enum Kind {
    Plain,
    Holding(Vec<u16>),
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "\\PC{0,40}",
        "[a-z]{0,80}",
        proptest::collection::vec(any::<char>(), 0..20)
            .prop_map(|letters| letters.into_iter().collect())
    ]
}

fn pair() -> impl Strategy<Value = Pair> {
    let kind = prop_oneof![
        Just(Kind::Plain),
        proptest::collection::vec(any::<u16>(), 0..3).prop_map(Kind::Holding),
    ];
    (text(), any::<i8>(), kind).prop_map(|(text, n, kind)| Pair { two: (text, n), kind })
}

prop_compose! {
    fn shape()(
        some_text in text(),
        named in proptest::collection::btree_map(text(), any::<u64>(), 0..3),
        (integer, small, absent) in any::<(i64, u8, Option<u32>)>(),
        maybe in proptest::option::of(pair()),
        letter in any::<char>(),
        flags in proptest::collection::vec(any::<bool>(), 0..3),
    ) -> Shape {
        let beside = Beside { integer, small, absent };
        Shape { some_text, named, nothing: (), beside, maybe, letter, flags }
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::default()
    })]
    /// `serde_json` writes the same bytes.
    #[test]
    fn every_shape_is_printed_as_serde_json_prints_it(
        shapes in proptest::collection::vec(shape(), 0..4),
    ) {
        let expected = serde_json::to_string(&shapes).unwrap();
        prop_assert_eq!(String::from_utf8(printed(&shapes, 0).unwrap()).unwrap(), expected);
    }
}

#[test]
fn bytes_stand_as_they_are_and_what_has_no_json_is_refused() {
    struct Ready;
    impl Serialize for Ready {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.serialize_bytes(br#"{"a":0.5}"#)
        }
    }
    let mut bytes = b"0,".to_vec();
    print(&mut bytes, &[Ready, Ready]).unwrap();
    assert_eq!(bytes, br#"0,[{"a":0.5},{"a":0.5}]"#);
    assert!(printed(&0.5, 0).is_err());
    let numbered = BTreeMap::from([(1, 1)]);
    assert!(printed(&numbered, 0).is_err());
}

#[test]
fn every_byte_that_is_escaped_is_seen_wherever_it_stands() {
    for byte in 0..=u8::MAX {
        for beside in [b' ', b'!', b'#', b'[', b']', 0x7f, 0x80, 0xff] {
            for place in 0..19 {
                let mut text = [beside; 19];
                text[place] = byte;
                let escaped = matches!(byte, 0..b' ' | b'"' | b'\\');
                assert_eq!(has_escaped(&text), escaped, "{byte} at {place} in {beside}");
            }
        }
    }
}
