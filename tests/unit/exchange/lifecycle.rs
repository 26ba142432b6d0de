//! Unit tests of `src/exchange/market.rs`.

use super::*;

const TRIGGERS: [Trigger; 9] = [
    Trigger::Publish,
    Trigger::Suspend,
    Trigger::Reopen,
    Trigger::ReopenLater,
    Trigger::Close,
    Trigger::Resolve,
    Trigger::Dispute,
    Trigger::Settle,
    Trigger::Void,
];

/// One row per status, one column per trigger, in the order of the two lists; `-` is a refusal.
const TABLE: &str = "
        DRAFT     ACTIVE - - - - - - - VOIDED
        ACTIVE    - SUSPENDED - - CLOSED RESOLVED - - VOIDED
        SUSPENDED - - ACTIVE ACTIVE CLOSED RESOLVED - - VOIDED
        CLOSED    - - - ACTIVE - RESOLVED - - VOIDED
        RESOLVED  - - - - - - DISPUTED SETTLED VOIDED
        DISPUTED  - - - - - RESOLVED - - VOIDED
        SETTLED   - - - - - - - - -
        VOIDED    - - - - - - - - -
    ";

#[test]
fn the_table_of_semantics_3_holds_in_every_cell() {
    let rows: Vec<Vec<&str>> = TABLE
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>())
        .filter(|row| !row.is_empty())
        .collect();
    assert_eq!(rows.len(), MarketStatus::ALL.len());
    for (status, row) in MarketStatus::ALL.into_iter().zip(rows) {
        assert_eq!((row[0], row.len()), (status.name(), TRIGGERS.len() + 1));
        for (trigger, expected) in TRIGGERS.into_iter().zip(&row[1..]) {
            let to = status.after(trigger).map_or("-", MarketStatus::name);
            assert_eq!(to, *expected, "{} {trigger:?}", status.name());
        }
    }
}
