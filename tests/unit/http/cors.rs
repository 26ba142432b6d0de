//! Unit tests of `src/http/cors.rs`.

use super::*;

fn asks(origin: &'static str, listed: &[&str]) -> bool {
    let mut headers = HeaderMap::new();
    headers.insert(header::ORIGIN, HeaderValue::from_static(origin));
    let origins = listed.iter().map(|one| (*one).to_owned()).collect();
    allowed(&headers, &Site { origins, ..Site::default() }).is_some()
}

#[test]
fn an_origin_counts_as_it_is_listed_and_not_otherwise() {
    let listed = ["https://app.example", "http://localhost:3000"];
    assert!(asks("https://app.example", &listed) && asks("http://localhost:3000", &listed));
    for other in
        ["https://app.example.evil", "http://app.example", "null", "https://app.example:8443"]
    {
        assert!(!asks(other, &listed), "{other}");
    }
    assert!(!asks("https://app.example", &[]));
    assert_eq!(allowed(&HeaderMap::new(), &Site::default()), None);
}
