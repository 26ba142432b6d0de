//! Unit tests of `src/journal/recovery.rs`.

use super::super::block::{BlockBuilder, ChainHash, RawBlock};
use super::*;
use exchange::command::{Command, Record};
use exchange::results::Results;
use exchange::units::TimeMs;

/// The table of data-directory.md: the first row that matches decides.
type Row = (Option<Tail>, Option<Refusal>, Option<Beyond>, Verdict);
const ROWS: [Row; 11] = [
    (Some(Tail::Damaged), None, None, Verdict::Refuse(Reason::TailDamaged)),
    (None, Some(Refusal::Unreadable), None, Verdict::Refuse(Reason::MarkerUnreadable)),
    (None, Some(Refusal::Elsewhere), None, Verdict::Refuse(Reason::MarkerElsewhere)),
    (None, None, Some(Beyond::Others), Verdict::Refuse(Reason::Beyond)),
    (None, Some(Refusal::AfterTail), Some(Beyond::Nothing), Verdict::Clear),
    (None, Some(Refusal::AfterTail), None, Verdict::Cut),
    (None, Some(Refusal::Clear), Some(Beyond::Nothing), Verdict::Accept),
    (None, Some(Refusal::Clear), Some(Beyond::Torn), Verdict::Cut),
    (None, Some(Refusal::Clear), Some(Beyond::TheRefused), Verdict::Refuse(Reason::Beyond)),
    (None, Some(Refusal::Clear), Some(Beyond::Damaged), Verdict::Refuse(Reason::Beyond)),
    (None, None, None, Verdict::Accept),
];

fn every_combination() -> Vec<(Tail, Refusal, Beyond)> {
    use Beyond::{Damaged, Nothing, Others, TheRefused, Torn};
    let mut all = Vec::new();
    for tail in [Tail::Empty, Tail::Sound, Tail::Damaged] {
        for refusal in [Refusal::Clear, Refusal::AfterTail, Refusal::Elsewhere, Refusal::Unreadable]
        {
            let beyond = [Nothing, TheRefused, Torn, Damaged, Others];
            all.extend(beyond.map(|beyond| (tail, refusal, beyond)));
        }
    }
    all
}

#[test]
fn every_combination_is_decided_by_the_row_that_says_so() {
    let mut met = [0; ROWS.len()];
    let all = every_combination();
    assert_eq!(all.len(), 60);
    for (tail, refusal, beyond) in all {
        let row = ROWS.iter().position(|(t, r, b, _)| {
            t.is_none_or(|t| t == tail)
                && r.is_none_or(|r| r == refusal)
                && b.is_none_or(|b| b == beyond)
        });
        let row = row.expect("a row for every combination");
        met[row] += 1;
        assert_eq!(decide(tail, refusal, beyond), ROWS[row].3, "row {row}");
    }
    let (none, rows) = met.split_last().unwrap();
    assert_eq!(*none, 0, "a combination is in no row");
    assert!(rows.iter().all(|count| *count > 0), "a row decides nothing: {met:?}");
}

#[test]
fn nothing_is_cut_but_what_was_refused_or_interrupted_after_a_sound_tail() {
    for (tail, refusal, beyond) in every_combination() {
        if decide(tail, refusal, beyond) == Verdict::Cut {
            assert_ne!(tail, Tail::Damaged);
            assert!(refusal == Refusal::AfterTail || beyond == Beyond::Torn);
            assert_ne!(beyond, Beyond::Others);
        }
    }
}

fn block(after: &Head, ms: i64) -> Block {
    let mut builder = BlockBuilder::new(after);
    let (sequence, time) = (after.sequence.next(), TimeMs::new(ms).unwrap());
    assert!(
        builder
            .push(Record { sequence, time, once: None, act: None, command: Command::AdvanceClock })
            .is_ok()
    );
    builder.build(Results::NONE).unwrap()
}

/// A block may have five faults, in any combination; the first in order is reported.
#[test]
fn every_combination_of_faults_is_named_by_the_first() {
    for wrong in 0..32_u32 {
        let has = |bit: u32| wrong & (1 << bit) != 0;
        let mut before = block(&Head::START, 50).head();
        let sound = block(&before, 50);
        let mut bytes = sound.bytes().to_vec();
        if has(0) {
            bytes[70] ^= 1;
        }
        let key = if has(1) { Sequence::new(77) } else { sound.first() };
        if has(2) {
            before.sequence = Sequence::new(40);
        }
        if has(3) {
            before.hash = ChainHash([9; 32]);
        }
        if has(4) {
            before.time = TimeMs::new(51).unwrap();
        }
        let judged = judge(key, RawBlock::new(bytes).decode(), &before);
        let expected = [
            judged == Err(BlockFault::Checksum),
            matches!(judged, Err(BlockFault::Key { .. })),
            matches!(judged, Err(BlockFault::Gap { .. })),
            matches!(judged, Err(BlockFault::Chain { .. })),
            matches!(judged, Err(BlockFault::Time(_))),
            judged == Ok(sound),
        ];
        let first = (0..5).find(|bit| has(*bit)).unwrap_or(5);
        assert!(expected[first as usize], "{wrong:05b}: {judged:?}");
    }
}

#[test]
fn a_journal_begins_with_record_one() {
    let second = block(&block(&Head::START, 1).head(), 1);
    let judged = judge(second.first(), Ok(second), &Head::START);
    let (expected, found) = (Sequence::new(1), Sequence::new(2));
    assert_eq!(judged, Err(BlockFault::Gap { expected, found }));
}

#[test]
fn a_marker_speaks_of_the_block_after_the_head_or_of_another() {
    let head = block(&Head::START, 1).head();
    let marker = |first, previous| Marker::Refused { first: Sequence::new(first), previous };
    assert_eq!(refusal(Marker::Clear, &head), Refusal::Clear);
    assert_eq!(refusal(Marker::Unreadable, &head), Refusal::Unreadable);
    assert_eq!(refusal(marker(2, head.hash), &head), Refusal::AfterTail);
    assert_eq!(refusal(marker(3, head.hash), &head), Refusal::Elsewhere);
    assert_eq!(refusal(marker(2, ChainHash::ZERO), &head), Refusal::Elsewhere);
    assert_eq!(refusal(marker(1, ChainHash::ZERO), &Head::START), Refusal::AfterTail);
}
