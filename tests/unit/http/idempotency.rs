//! Unit tests of `src/http/idempotency.rs`.

#![allow(clippy::unwrap_used)] // a test may stop

use super::*;

#[test]
fn the_header_is_one_name_on_a_post() {
    let read = |method: &Method, values: &[&str]| {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(KEY_HEADER, value.parse().unwrap());
        }
        key(method, &headers).map_err(|problem| problem.errors[0].code)
    };
    assert_eq!(read(&Method::GET, &[]), Ok(None));
    assert_eq!(read(&Method::POST, &["a-1"]), Ok(Token::new("a-1")));
    assert_eq!(read(&Method::POST, &["a", "a"]), Err(FieldCode::Repeated));
    assert_eq!(read(&Method::PATCH, &["a"]), Err(FieldCode::UnknownField));
    for method in [Method::GET, Method::HEAD, Method::DELETE] {
        assert_eq!(read(&method, &["a", "a b"]), Ok(None));
    }
    for bad in ["", "a b", "\u{e9}", &"a".repeat(65)] {
        assert_eq!(read(&Method::POST, &[bad]), Err(FieldCode::InvalidValue), "{bad:?}");
    }
}

#[test]
fn what_a_transfer_is_called_elsewhere_is_a_part_of_what_is_asked_for() {
    let token = |text: &str| Token::new(text).unwrap();
    let once = once(UserNo(1), token("a"), ["POST", "/deposits", ""]);
    let act = Act::of(UserNo(1), None);
    let meant = |act: &Act| grounded(once, Some(act)).body;
    let referred = |text: &str| Act { reference: Some(token(text)), ..act.clone() };
    let evident = Act { evidence: Some("4711".into()), ..act.clone() };
    assert_ne!(meant(&referred("4711")), meant(&referred("4712")));
    assert_ne!(meant(&referred("4711")), meant(&evident), "it is another thing that is called so");
    let why = Act { reason: Some("again".into()), ..act.clone() };
    for same in [&act, &why] {
        assert_eq!(meant(same), once.body, "keys without grounds are what they were");
    }
}
