//! Unit tests of `src/http/idempotency.rs`.

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
