//! Unit tests of `src/views/orders/traders.rs`.

use std::sync::Arc;

use super::*;
use crate::history::chain::length;
use crate::history::stream::ROWS_MAX;
use crate::history::{MemoryPages, PageStorage};

#[test]
fn an_index_takes_six_bytes_however_large() {
    let large = vec![(7, 0), (u64::MAX, ROWS_MAX - 1)];
    assert_eq!(entries(&packed(&large)), Ok(large));
    assert_eq!(entries(&[0; ENTRY_BYTES + 1]), Err(BadImage::Truncated));
}

#[test]
fn every_name_leads_to_its_newest_order_at_every_length() {
    let storage = Arc::new(MemoryPages::default());
    let (history, user) = (History::on(Arc::clone(&storage) as _), UserNo(3));
    let name = |n: RowIndex| Token::new(&format!("n{n}")).unwrap();
    // Enough for the last level; each name is used several times.
    let (total, different) = (u64::from(RUN) * FAN * FAN * FAN + 1000, 40_000);
    let (mut names, mut next_check) = (Names::default(), 1);
    for index in 0..total {
        names.add(&history, user, &name(index % different), index);
        let count = index + 1;
        if count < next_check && count < total {
            continue;
        }
        next_check = count * 2;
        for asked in [0, index.min(1), index / 2, index.saturating_sub(130), index] {
            let newest = asked + (index - asked) / different * different;
            let given = |at: RowIndex| Ok((at % different == asked % different).then_some(at));
            let found = names.find(&history, user, &name(asked % different), given);
            assert_eq!(found, Ok(Some(newest)), "{asked} of {count}");
        }
        let found = names.find(&history, user, &name(different), |at| Ok(Some(at)));
        assert_eq!(found, Ok(None));
        let mut bytes = Vec::new();
        names.write(&mut bytes);
        assert_eq!(Names::read(&mut bytes.as_slice()), Ok(names.clone()));
    }
    // The bound on the bytes written holds, including merged runs.
    let bytes = |key| storage.get(key).unwrap().map_or(0, |page| page.len());
    let written: usize = storage.keys().into_iter().map(bytes).sum();
    assert!(written > 0 && written <= length(total) * ENTRY_BYTES * LEVELS as usize);
}
