//! Unit tests of `src/http/members.rs`.

use super::*;
use crate::form::Form;
use crate::parse;
use proptest::prelude::*;

type Read = (u8, Option<bool>);

fn read(members: &mut impl Members) -> Option<Read> {
    let price = members.text_required("price", parse::tick);
    let flag = members.truth("flag");
    Some((price?.get(), flag?))
}

/// The same read by a form, as other objects are.
fn by_form(body: &str) -> Option<Read> {
    let mut form = Form::with_body(&[], None, body.as_bytes());
    let value = form.body(|faults, fields| read(&mut Noting { faults, fields }));
    form.finish(value).ok()
}

fn plainly(body: &str) -> Option<Read> {
    object(body.as_bytes(), |plain| read(plain))
}

#[test]
fn only_plain_objects_are_read() {
    let flagged = r#"{ "flag" : true , "price" : "0.6" }"#;
    assert_eq!(plainly(flagged), Some((60, Some(true))));
    assert_eq!(plainly(r#"{"price":"0.60"}"#), Some((60, None)));
    let many: Vec<String> = (0..=MEMBERS_MAX).map(|n| format!("\"{n}\":true")).collect();
    for not in [
        "",
        "[]",
        "{}",
        r#"{"price":0.6}"#,
        r#"{"price":null}"#,
        r#"{"price":"60"}"#,
        r#"{"price":true}"#,
        r#"{"price":"0.6","flag":"true"}"#,
        r#"{"price":"0.6","price":"0.6"}"#,
        r#"{"price":"0.6","prise":"0.6"}"#,
        r#"{"price":"0.6"} x"#,
        r#"{"price":"0.6""#,
        r#"{"price":"0.6\}"#,
        "{\"price\":\"0.6\n}",
        "{\"price\":\"0.6\n\"}",
        r#"{"price":"0.6","flag":[true]}"#,
        &format!("{{{}}}", many.join(",")),
    ] {
        assert_eq!((plainly(not), by_form(not)), (None, None), "{not}");
    }
    // Valid, but not plain.
    for left in [r#"{"pr\u0069ce":"0.6"}"#, r#"{"price":"0.\u0036"}"#] {
        assert_eq!((plainly(left), by_form(left)), (None, Some((60, None))), "{left}");
    }
}

#[test]
fn a_list_is_read_whole_or_not_at_all() {
    let all = |body: &str| {
        let kinds = |kind: &str, plain: &mut FlatObject<'_>| Some((kind.to_owned(), read(plain)?));
        list(body.as_bytes(), "operations", 2, kinds)
    };
    let (a, b) = (r#"{"a":{"price":"0.6"}}"#, r#"{"b":{"flag":false,"price":"0.1"}}"#);
    let list = |elements: &[&str]| format!(r#"{{"operations":[{}]}}"#, elements.join(","));
    let read = [("a".to_owned(), (60, None)), ("b".to_owned(), (10, Some(false)))];
    assert_eq!(all(&list(&[a, b])).unwrap(), read);
    for elements in [
        &[][..],
        &[a, b, a],
        &[a, "{}"],
        &[a, "1"],
        &[r#"{"a":{"price":"0.6"},"b":{"price":"0.6"}}"#],
        &[r#"{"a":{"price":"0.6","x":true}}"#],
        &[r#"{"a":1}"#],
    ] {
        assert_eq!(all(&list(elements)), None, "{elements:?}");
    }
    for body in [&list(&[a]).replace("operations", "orders"), &format!("{} x", list(&[a]))] {
        assert_eq!(all(body), None, "{body}");
    }
    assert_eq!(all(&format!(r#"{{"operations":[{a}],"x":1}}"#)), None);
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::default()
    })]
    /// A form reads the same as the plain reader, if that reads it.
    #[test]
    fn a_form_agrees(
        members in proptest::collection::vec(
            (
                prop_oneof!["price", "flag", "pr\\\\u0069ce", "x"],
                prop_oneof!["true", "\"0\\.[0-9]{1,3}\"", "\"\\PC{0,3}\"", "1", "null"],
            ),
            0..4,
        ),
    ) {
        let written = members.iter().map(|(name, value)| format!("\"{name}\":{value}"));
        let body = format!("{{{}}}", written.collect::<Vec<_>>().join(","));
        if let Some(plain) = plainly(&body) {
            prop_assert_eq!(by_form(&body), Some(plain));
        }
    }

    /// An object read by the layout of the one before reads the same as when it is alone.
    #[test]
    fn an_object_like_the_one_before_it_is_read_as_itself(
        written in proptest::collection::vec(
            prop_oneof![
                "\\{\"price\":\"0\\.[0-9]\"\\}",
                "\\{\"price\":\"0\\.[0-9]\\\\?\" ?[,}][}x]?",
                "\\{\"price\":\"0\\.[1-9]\",\"flag\":(true|false)\\}",
                "\\{ \"flag\":true,\"price\" :\"0\\.[1-9]\"\\}",
                "\\{\"(price|prise)\":\"0\\.[1-9]\",\"x\":\"\"\\}",
            ],
            1..6,
        ),
    ) {
        let alone: Option<Vec<Read>> = written.iter().map(|body| plainly(body)).collect();
        let elements: Vec<String> =
            written.iter().map(|body| format!("{{\"a\":{body}}}")).collect();
        let body = format!("{{\"all\":[{}]}}", elements.join(","));
        prop_assert_eq!(list(body.as_bytes(), "all", 6, |_, plain| read(plain)), alone);
    }
}
