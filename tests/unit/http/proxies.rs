//! Unit tests of `src/http/proxies.rs`.

use super::*;

fn seen(peer: &str, said: &[&'static str]) -> String {
    let mut headers = HeaderMap::new();
    for line in said {
        headers.append(FORWARDED_FOR, HeaderValue::from_static(line));
    }
    let trusted =
        ["10.0.0.0/8", "127.0.0.1/32", "fd00::/8"].map(|network| network.parse().unwrap());
    client(peer.parse().unwrap(), &headers, &trusted).to_string()
}

#[test]
fn only_what_trusted_proxies_say_of_a_clients_address_counts() {
    for (peer, said, client) in [
        ("203.0.113.5", &["198.51.100.7"][..], "203.0.113.5"),
        ("10.0.0.1", &[], "10.0.0.1"),
        ("10.0.0.1", &["198.51.100.7"], "198.51.100.7"),
        ("10.0.0.1", &["1.2.3.4, 198.51.100.7"], "198.51.100.7"),
        ("10.0.0.1", &["1.2.3.4", "198.51.100.7, 10.9.9.9"], "198.51.100.7"),
        ("fd00::1", &["2001:db8::7"], "2001:db8::7"),
        ("::ffff:10.0.0.1", &["198.51.100.7"], "198.51.100.7"),
        ("127.0.0.1", &["198.51.100.7, unknown, 10.0.0.2"], "10.0.0.2"),
        ("127.0.0.1", &["nonsense"], "127.0.0.1"),
        ("127.0.0.1", &["10.0.0.2, 10.0.0.3"], "10.0.0.2"),
    ] {
        assert_eq!(seen(peer, said), client, "{peer} {said:?}");
    }
}
