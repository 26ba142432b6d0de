//! Unit tests of `src/cli/demo/mod.rs`.

use super::*;

#[test]
fn only_loopback_addresses_are_accepted() {
    for own in ["127.0.0.1:80", "127.1.2.3:0", "[::1]:8080", "[::ffff:127.0.0.1]:1"] {
        assert_eq!(loopback_only(own.parse().unwrap()), Ok(()), "{own}");
    }
    for open in ["0.0.0.0:80", "10.0.0.1:80", "[::]:80", "[::ffff:10.0.0.1]:1"] {
        let open = open.parse().unwrap();
        assert_eq!(loopback_only(open), Err(NotLoopback(open)));
    }
}
