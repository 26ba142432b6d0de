//! Unit tests of `src/http/head.rs`.

use super::*;

#[test]
fn a_host_is_a_name_or_an_address_and_perhaps_a_port() {
    for host in ["", "h", "h:", ":1", "h:80", "[::1]", "[::1]:80", "1.2.3.4:9", "a_b.", "%41%2f"] {
        assert!(is_host(host.as_bytes()), "{host}");
    }
    for host in [
        "h h", "h/", "u@h", "h:8a", "h:1:2", "h?", "h#", "::1", "[", "[]", "[::1", "[::1]x", "[h]",
        "[::1]:x", "%4", "%", "%4g", "h\\", "<h>", "\"h\"", "h\t", "é", "{h}", "h|", "h^",
    ] {
        assert!(!is_host(host.as_bytes()), "{host}");
    }
}

#[test]
fn escapes_that_mean_nothing_are_undone_and_others_stay() {
    for (path, plain) in [
        ("/a/b", "/a/b"),
        ("/%61%2D%2e%5F%7e%39", "/a-._~9"),
        ("/a%2Fb%25%3f", "/a%2Fb%25%3f"),
        ("/%2541", "/%2541"),
        // Undoing the second would make the first a whole one.
        ("/%%34%31", "/%%34%31"),
        ("/%41%", "/%41%"),
        ("/%41%4", "/%41%4"),
        ("/%4é", "/%4é"),
    ] {
        assert_eq!(unescaped(path), plain);
    }
}
