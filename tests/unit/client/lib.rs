//! Unit tests of `src/client/lib.rs`.

use super::*;

#[test]
fn the_base_url_may_leave_out_the_version() {
    for url in ["http://127.0.0.1:8080", "http://127.0.0.1:8080/", "http://127.0.0.1:8080/api/v1/"]
    {
        let target = Target::parse(url).unwrap();
        assert_eq!((target.base_path.as_str(), target.port), ("/api/v1", 8080), "{url}");
    }
    assert_eq!(Target::parse("http://[::1]:9/x").unwrap().host, "::1");
    for bad in ["127.0.0.1:8080", "https://host/api/v1", "/api/v1", "http://h/?q=1", ""] {
        assert!(Target::parse(bad).is_err(), "{bad}");
    }
    let https = Target::parse("https://venue.example").unwrap_err().to_string();
    assert!(https.contains("https is not supported") && https.contains("tunnel"), "{https}");
}
