//! Unit tests of `src/http/request_id.rs`.

use super::*;

#[test]
fn a_fit_id_is_kept_and_any_other_is_replaced() {
    let ids = RequestIds::from_now();
    let of = |chosen: &str| {
        let value = HeaderValue::from_str(chosen).unwrap();
        ids.of(&HeaderMap::from_iter([(REQUEST_ID, value)])).as_str().to_owned()
    };
    let longest = "a".repeat(BYTES_MAX);
    for fit in ["x", "a-B_0.9:z", &longest] {
        assert_eq!(of(fit), fit);
    }
    // An unacceptable id is ignored as a whole, not truncated.
    for unfit in ["", "a b", "a\"", &"a".repeat(BYTES_MAX + 1)] {
        assert!(of(unfit).starts_with(ids.opened.as_str()), "{unfit}");
    }
}

#[test]
fn new_ids_count_in_hex() {
    let ids = RequestIds::from_now();
    let opened = format!(
        "{:x}-",
        i64::from_str_radix(ids.next().as_str().split_once('-').unwrap().0, 16).unwrap()
    );
    for count in 1_u64..300 {
        assert_eq!(ids.next().as_str(), format!("{opened}{count:x}"));
    }
    assert_eq!(RequestId::EMPTY.with(u64::MAX).as_str(), format!("{:x}", u64::MAX));
}
