//! Unit tests of `src/exchange/results.rs`.

use super::*;
use crate::command::Command;
use crate::ids::UserNo;
use crate::reject::Reject;
use crate::units::{Money, TimeMs};

fn deposited(units: i64) -> Effect {
    Effect::Deposited { user: UserNo(1), amount: Money::new(units) }
}

fn clock(sequence: u64, ms: i64) -> Record {
    let (sequence, time) = (Sequence::new(sequence), TimeMs::new(ms).unwrap());
    Record { sequence, time, once: None, act: None, command: Command::AdvanceClock }
}

/// The formula of journal-format.md, without the log.
fn by_hand(before: ResultsHash, records: &[(i64, &[Effect])]) -> ResultsHash {
    let mut bytes = before.0.to_vec();
    bytes.extend([1, 0]);
    for (ms, effects) in records {
        bytes.extend(ms.to_le_bytes());
        bytes.extend(u32::try_from(effects.len()).unwrap().to_le_bytes());
        for effect in *effects {
            write_effect(effect, &mut bytes);
        }
    }
    ResultsHash(Sha256::digest(&bytes).into())
}

#[test]
fn blocks_are_chained_as_the_page_says() {
    let refused = [Effect::Refused(Reject::KeyTaken)];
    let two = [deposited(1), deposited(2)];
    let mut log = ResultsLog::default();
    assert_eq!(log.latest(), Results::NONE);
    log.push(&clock(1, 5), &two);
    log.push(&clock(2, 6), &[]);
    let first = log.latest();
    assert_eq!((log.seal(), log.sealed()), (first, first));
    assert_eq!(first.hash, by_hand(ResultsHash::ZERO, &[(5, &two), (6, &[])]));
    log.push(&clock(3, 6), &refused);
    let second = log.seal();
    assert_eq!(second.hash, by_hand(first.hash, &[(6, &refused)]));
    assert_eq!(second.through, Sequence::new(3));
    let mut resumed = ResultsLog::resume(first);
    resumed.push(&clock(3, 6), &refused);
    assert_eq!(resumed.seal(), second);
}

/// The same effects, split into records differently.
#[test]
fn which_record_an_effect_belongs_to_is_hashed() {
    let hash = |records: [&[Effect]; 2]| {
        let mut log = ResultsLog::default();
        log.push(&clock(1, 5), records[0]);
        log.push(&clock(2, 5), records[1]);
        log.seal()
    };
    let two = [deposited(1), deposited(2)];
    assert_ne!(hash([&two, &[]]), hash([&two[..1], &two[1..]]));
    assert_ne!(hash([&two, &[]]), hash([&[], &two]));
}

#[test]
fn a_block_of_many_pieces_is_hashed_whole() {
    let many: Vec<Effect> = (0..10_000).map(deposited).collect();
    let mut log = ResultsLog::default();
    log.push(&clock(1, 5), &many);
    assert!(log.bytes.len() < PIECE_BYTES);
    let latest = log.latest();
    let expected = by_hand(ResultsHash::ZERO, &[(5, &many)]);
    assert_eq!((log.seal(), latest.hash), (latest, expected));
}
