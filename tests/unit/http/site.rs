//! Unit tests of `src/http/site.rs`.

use super::*;

#[test]
fn only_the_venues_names_are_hosts() {
    let local = Site::default();
    for host in ["localhost", "LOCALHOST:8080", "127.0.0.1:1", "[::1]", "[::1]:8080"] {
        assert!(local.is_host(host), "{host}");
    }
    for host in ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "", "[::2]"] {
        assert!(!local.is_host(host), "{host}");
    }
    let url = Some("https://venue.example:8443".to_owned());
    let public = Site { public_url: url, ..Site::default() };
    assert!(public.secure() && public.is_host("Venue.example:8443"));
    for host in ["venue.example", "localhost", "venue.example:8443.evil.example"] {
        assert!(!public.is_host(host), "{host}");
    }
}
