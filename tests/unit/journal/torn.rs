//! Unit tests of `src/journal/segment.rs`.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)] // a test may stop

use super::*;
use crate::block::{Block, BlockBuilder, Head};
use exchange::command::{Command, Record};
use exchange::ids::{OrderNo, UserNo};
use exchange::results::Results;
use exchange::units::{Sequence, TimeMs};

/// A block of so many records, each with zeros at its end.
fn block_of(records: u64) -> Block {
    let mut builder = BlockBuilder::new(&Head::START);
    for number in 1..=records {
        let user = UserNo(u32::try_from(number).unwrap() % 7);
        let command = Command::CancelOrder { user, order: OrderNo(Sequence::new(number)) };
        let (sequence, time) = (Sequence::new(number), TimeMs::new(1_700_000_000_000).unwrap());
        builder.push(Record { sequence, time, once: None, act: None, command }).unwrap();
    }
    builder.build(Results::NONE).unwrap()
}

/// What stands where the block should, and zeros after it.
fn judged(block: &[u8], at: usize) -> Rest {
    rest(&[block, &[0; 4_096]].concat(), at)
}

/// Offsets in a segment: at the beginning of a sector, where the block reaches a little into its
/// last one, and where its header reaches from one into the next.
fn offsets(block: &[u8]) -> [usize; 8] {
    let little = |bytes: usize| 512 * 40 + bytes - block.len() % 512;
    let over = |bytes: usize| 512 * 9 - bytes;
    [0, 512 * 7 + 300, little(3), little(40), over(1), over(12), over(60), over(103)]
}

#[test]
fn a_write_of_which_sectors_are_missing_is_torn() {
    for records in [1, 3, 20] {
        let block = block_of(records);
        let block = block.bytes();
        for at in offsets(block) {
            let begins: Vec<usize> =
                (0..block.len()).filter(|b| *b == 0 || (at + b).is_multiple_of(512)).collect();
            for missing in 1_u32..1 << begins.len() {
                let mut bytes = block.to_vec();
                for (index, from) in
                    begins.iter().enumerate().filter(|(i, _)| missing >> i & 1 == 1)
                {
                    let to = begins.get(index + 1).copied().unwrap_or(bytes.len());
                    bytes[*from..to].fill(0);
                }
                let torn = [Rest::Torn, Rest::Nothing];
                let whole = bytes == block;
                assert!(whole || torn.contains(&judged(&bytes, at)), "{records} {at} {missing:b}");
            }
        }
    }
}

#[test]
fn the_beginning_of_a_write_is_torn_unless_only_its_last_bytes_are_missing() {
    let block = block_of(60);
    let block = block.bytes();
    for kept in 0..block.len() {
        let mut bytes = block.to_vec();
        bytes[kept..].fill(0);
        let expected = match kept {
            0 => Rest::Nothing,
            _ if block.len() - kept > 16 => Rest::Torn,
            _ => continue,
        };
        assert_eq!(judged(&bytes, 300), expected, "{kept} of {}", block.len());
    }
}

/// A flipped bit is never taken for a torn write, though the block is the last: nothing would tell
/// that it was acknowledged.
#[test]
fn a_flipped_bit_is_damage_wherever_it_is() {
    for records in [1, 3, 20] {
        let block = block_of(records);
        let block = block.bytes();
        for at in offsets(block) {
            for bit in 0..block.len() * 8 {
                let mut bytes = block.to_vec();
                bytes[bit / 8] ^= 1 << (bit % 8);
                assert_eq!(judged(&bytes, at), Rest::Damaged, "{records} {at} bit {bit}");
            }
        }
    }
}

#[test]
fn a_sound_block_after_damage_is_found_wherever_it_is() {
    let (one, other) = (block_of(2), block_of(3));
    for between in [0, 1, 511, 4_000] {
        let mut bytes = [one.bytes(), &vec![0; between], other.bytes()].concat();
        bytes[60] ^= 1;
        assert_eq!(judged(&bytes, 0), Rest::Others, "{between}");
    }
    assert_eq!(judged(&[], 0), Rest::Nothing);
    assert_eq!(judged(&vec![7; 60_001], 0), Rest::Damaged);
    assert_eq!(judged(&[7; 600], 0), Rest::Damaged);
}

/// Without a sector that has one set bit a block looks like one of which that bit was flipped, so
/// such a sector is written before the others: what is left then is a torn write in any case.
#[test]
fn a_bit_alone_in_its_sector_is_there_before_the_rest() {
    let block = block_of(1);
    let block = block.bytes();
    let at = (0..SECTOR_BYTES).find(|at| lone_bits(block, *at).next().is_some()).unwrap();
    let (from, part) = lone_bits(block, at).next().unwrap();
    let without = [&block[..from], &vec![0; part.len()], &block[from + part.len()..]].concat();
    assert_eq!(judged(&without, at), Rest::Damaged);
    let ahead = [&vec![0; from], part].concat();
    assert_eq!(judged(&ahead, at), Rest::Torn);
    // Enough bits cannot be missed for one.
    assert!((0..SECTOR_BYTES).all(|at| lone_bits(&[3; 2_000], at).next().is_none()));
}
