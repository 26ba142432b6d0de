//! Unit tests of `src/http/wrong_keys.rs`.

use super::*;

#[test]
fn after_twenty_wrong_keys_an_address_is_answered_late_and_no_other_is() {
    let wrong = WrongKeys::default();
    let [home, away, here] = [[192, 0, 2, 1], [192, 0, 2, 2], [127, 0, 0, 1]].map(IpAddr::from);
    for _ in 0..FREE {
        assert!(!wrong.is_late(Some(home)));
    }
    assert!(wrong.is_late(Some(home)));
    for _ in 0..=FREE {
        assert!(!wrong.is_late(Some(here)), "a proxy, perhaps");
        assert!(!wrong.is_late(None));
    }
    assert!(!wrong.is_late(Some(away)));
    assert_eq!(wrong.total(), u64::from(FREE) * 3 + 4);
}
