//! Unit tests of `src/http/stream/control.rs`.

use super::*;

fn faults(text: &str) -> Vec<String> {
    let problem = read(text).1.unwrap_err();
    problem.errors.iter().map(|error| format!("{} {}", error.field, error.code.code())).collect()
}

#[test]
fn a_bodys_text_is_kept_as_it_was_written() {
    let (id, asked) = read(r#"{"op":"place","id":"c-1","body": {"a" : 1.0, "b":["\u0061"]} }"#);
    assert_eq!(id, Token::new("c-1"));
    let Ok(Asked::Order(order)) = asked else { panic!("no order") };
    assert_eq!(order.body, &br#"{"a" : 1.0, "b":["\u0061"]}"#[..]);
}

#[test]
fn what_an_operation_does_not_have_is_refused_by_name() {
    assert_eq!(faults(r#"{"op":"ping","id":"1","from":2}"#), ["from UNKNOWN_FIELD"]);
    assert_eq!(faults(r#"{"op":"ping","id":"1","id":"2"}"#), ["id REPEATED"]);
    assert_eq!(faults(r#"{"op":"subscribe","id":"1"}"#), ["channels REQUIRED"]);
    assert_eq!(faults(r#"{"op":"subscribe","id":"1","channels":[]}"#), ["channels OUT_OF_BOUNDS"]);
    let channels = r#"{"op":"subscribe","id":"1","channels":["a",1],"from":-1}"#;
    assert_eq!(faults(channels), ["channels[1] WRONG_TYPE", "from WRONG_TYPE"]);
    assert_eq!(faults(r#"{"op":"cancel","id":"1"}"#), ["message INVALID_VALUE"]);
    assert_eq!(faults("[]"), ["body WRONG_TYPE"]);
    assert_eq!(faults("{} {}"), ["message MALFORMED"]);
}

#[test]
fn the_id_of_a_bad_message_is_known_if_it_has_one() {
    assert_eq!(read(r#"{"op":"x","id":"7"}"#).0, Token::new("7"));
    for bad in [r#"{"op":"ping","id":7}"#, r#"{"op":"ping","id":""}"#, "7", "{"] {
        assert_eq!(read(bad).0, None, "{bad}");
    }
}

#[test]
fn a_stream_goes_on_from_any_record() {
    let asked = read(r#"{"op":"subscribe","id":"1","channels":["account"],"from":12}"#).1;
    let channels = vec!["account".to_owned()];
    assert_eq!(asked, Ok(Asked::Subscribe(channels, Some(Sequence::new(12)))));
}
