//! Unit tests of `src/exchange/ids.rs`.

use super::*;
use proptest::prelude::*;

#[test]
fn a_token_is_1_to_64_visible_characters() {
    let longest = "~".repeat(TOKEN_BYTES_MAX);
    for good in ["!", "a-1", "\"\\", &longest] {
        assert_eq!(Token::new(good).unwrap().as_str(), good);
    }
    let longer = "a".repeat(TOKEN_BYTES_MAX + 1);
    for bad in ["", " ", "a b", "a\n", "\u{7f}", "é", "a\0", &longer] {
        assert_eq!(Token::new(bad), None, "{bad:?}");
    }
}

#[test]
fn an_id_looks_like_a_uuid_v7_of_its_time() {
    let time = TimeMs::new(1_700_000_000_000).unwrap();
    let id = OrderId::derive(time, Sequence::new(5), 0).uuid();
    assert_eq!(id.get_version_num(), 7);
    assert_eq!(id.get_variant(), uuid::Variant::RFC4122);
    let (seconds, nanos) = id.get_timestamp().unwrap().to_unix();
    assert_eq!((seconds, nanos), (1_700_000_000, 0));
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn ids_lead_to_their_record_and_sort_as_it_does(
        ms in 0..TimeMs::MAX.get(), later in 0..1000_i64,
        a in 0..1_u64 << 48, b in 0..1_u64 << 48, i in 0..=INDEX_MAX, j in 0..=INDEX_MAX,
    ) {
        let time = |ms: i64| TimeMs::new(ms.min(TimeMs::MAX.get())).unwrap();
        let (t, u) = (time(ms), time(ms + later));
        let (a, b) = (Sequence::new(a), Sequence::new(b));
        let (x, y) = (TradeId::derive(t, a, i), TradeId::derive(u, b, j));
        prop_assert_eq!(x.sequence(), a);
        prop_assert_eq!(x.cmp(&y), (t, a, i).cmp(&(u, b, j)));
    }
}
