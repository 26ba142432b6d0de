//! Unit tests of `src/cli/admin/figures.rs`.

use super::*;

const PAGE: &str = r#"# HELP openoutcry_open_orders Orders on the books
openoutcry_open_orders 12
process_open_fds 9
openoutcry_commands_total{kind="PLACE_ORDER",result="ACCEPTED"} 7
openoutcry_commands_total{kind="DEPOSIT",result="ACCEPTED"} 2
openoutcry_commands_total{kind="PLACE_ORDER",result="INSUFFICIENT_FUNDS"} 3
openoutcry_took_bucket{le="0.001",class="reads"} 4
openoutcry_took_bucket{le="0.01",class="reads"} 9
openoutcry_took_bucket{le="+Inf",class="reads"} 10
openoutcry_took_bucket{le="0.001",class="writes"} 1
openoutcry_took_bucket{le="0.01",class="writes"} 1
openoutcry_took_bucket{le="+Inf",class="writes"} 1
"#;

#[test]
fn levels_and_counts_are_summed_by_label() {
    let figures = Figures::read(PAGE);
    assert_eq!(figures.sum("open_orders", ""), Some(12));
    assert_eq!(figures.sum("commands_total", ""), Some(12));
    assert_eq!(figures.sum("commands_total", "result=\"ACCEPTED\""), Some(9));
    assert_eq!((figures.sum("process_open_fds", ""), figures.sum("#", "")), (Some(9), None));
    assert_eq!(figures.sum("open", ""), None);
}

#[test]
fn times_are_those_between_two_looks() {
    let now = Figures::read(PAGE).buckets("took", "class=\"reads\"");
    let [ms, ten] = [1, 10].map(Duration::from_millis);
    assert_eq!(now, Buckets::from([(ms, 4), (ten, 9), (Duration::MAX, 10)]));
    let none = Buckets::new();
    assert_eq!(between(&none, &now), 10);
    assert_eq!(
        [400, 500, 900, 990].map(|part| within(&none, &now, part)),
        [Some(ms), Some(ten), Some(ten), Some(Duration::MAX)]
    );
    // Four of the fast and three others came before.
    let before = Buckets::from([(ms, 4), (ten, 7), (Duration::MAX, 7)]);
    assert_eq!((between(&before, &now), within(&before, &now, 500)), (3, Some(ten)));
    assert_eq!(within(&now, &now, 500), None);
    assert_eq!(Figures::read(PAGE).buckets("took", "")[&ms], 5);
}
