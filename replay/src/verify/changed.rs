//! Tampering tests: a small journal with every kind of record is changed at every byte, with more
//! and more of its checks repaired; `verify` must name the block.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::iter;
use std::path::Path;

use exchange::command::{Command, Record};
use exchange::effect::Effect;
use exchange::results::Results;
use exchange::script;
use exchange::units::TimeMs;
use journal::Journal;
use journal::block::{BLOCK_HEADER_BYTES, Block, BlockBuilder, RawBlock};
use journal::memory::MemoryJournal;
use journal::portable::PortableFile;
use journal::replay::{Replayer, replay};
use serde_json::Value;

use crate::answer::Failure;

/// A venue with every kind of command, most of them accepted.
const VENUE: &str = r#"venue USD
user ann "Ann" pic "a.png"
user bob
key k1 for ann operator label "desk" hash 6ab9f1eb8f7d3388f4f9d586f66e99fd54080df2c446f0e58668b09c08a16dd0
revoke k1 of ann
deposit ann 100.00
by ann with k1 because "paid" reference "b-7" deposit bob 100.00
withdraw bob 1.00
category weather name "Weather" slug "weather"
event storms titles "T" "S" "S" in weather
market rain questions "Q" "Will it?" "L" until +1h window 5s of storms
revise event storms highlighted yes slug "storms"
revise market rain logo "r.png" slug "rain"
publish rain
+1s ann buy yes 0.60 x10
+1s bob buy no 0.45 x4
ann amend ?14 x8
bob buy no 0.10 x3
bob cancel ?17
suspend rain
reopen rain
ann buy yes 0.30 x1
ann cancel all rain
bob buy yes 0.99 x900
close rain
resolve rain yes
+1s dispute rain
resolve rain no
bob disputes rain bond 0.10 "dry"
resolve rain no
+10s clock
market snow until +2h
publish snow
bob buy yes 0.50 x2
ann buy no 0.50 x2
void snow 0.40
event sky exclusive
market sun until +2h taker 0.07 of sky
market fog until +2h of sky
publish sun
publish fog
ann buy yes 0.50 x2 on sun
bob buy no 0.50 x2 on sun
bob convert sky sun x1
ann buy yes 0.10 x1 on sun as early
ann replace early buy yes 0.11 x1 on sun
take-fees ann 0.03
mode venue cancel-only
mode bob read-only
limit ann 5.00
ann heartbeat 30s
bob heartbeat 30s group "g"
invite ann trader hash1 until +1d
ann password hash1 ann argon2id-19-2-1 hash2 hash3
sign-up eve argon2id-19-2-1 hash4 hash5
ann sign-in +0s hash6 +1h +1d
ann stays hash6 +2h
ann sign-out all
ann factor hash2 hash3 hash4 +0s hash5,hash6
ann sign-in-by-code +0s hash5 +1h +1d +1s
ann sign-in-by-recovery +0s hash6 +1h +1d hash5
ann new-password hash2 hash3 argon2id-19-2-1 hash5 hash6 hash1 hash2 hash4 +1h +1d
ann factor off
ann asks-deposit 2.00 for own-1
ann asks-withdrawal 1.00
ann transfer 64 confirmed
ann transfer 65 cancelled
two-persons above 1.00
by ann withdraw bob 2.00
by ann withdraw bob 3.00
bob confirms 69
bob rejects 70
two-persons off
rename bob "Bob B."
"#;

/// Records per block.
const EACH: usize = 3;
/// Position of the checksum in a block.
const CHECKSUM: std::ops::Range<usize> = 28..32;

/// Blocks of these records. `recorded` gives the results that a block stores, from its index and
/// the correct ones.
pub(super) fn blocks_of(
    cut: &[Vec<Record>],
    recorded: impl Fn(usize, Results) -> Results,
) -> Vec<Block> {
    let (mut journal, mut replayer, mut blocks) =
        (MemoryJournal::new(), Replayer::new(), Vec::new());
    let mut right = Results::NONE;
    for (index, records) in cut.iter().enumerate() {
        let mut builder = BlockBuilder::new(journal.head());
        for record in records {
            assert!(builder.push(record.clone()).is_ok());
        }
        let block = builder.build(recorded(index, right)).unwrap();
        blocks.push(block.clone());
        let durable = journal.append(block).unwrap();
        // Each block stores the results of all blocks before the previous one.
        right = replayer.results();
        drop(replay(iter::once(Ok(durable)), &mut replayer, |_, _| {}));
    }
    blocks
}

/// The records of a text like [`VENUE`].
fn records_of(text: &str) -> Vec<Record> {
    let hashes = (1..=6).map(|n: u8| (format!("hash{n}"), n.to_string().repeat(64)));
    let text = hashes.fold(text.to_owned(), |text, (name, hash)| text.replace(&name, &hash));
    script::parse(&text).unwrap()
}

fn venue() -> Vec<Block> {
    let records = records_of(VENUE);
    let kinds: BTreeSet<u16> = records.iter().map(|record| record.command.number()).collect();
    assert_eq!(kinds.len(), Command::KINDS.len(), "{kinds:?}");
    let cut: Vec<Vec<Record>> = records.chunks(EACH).map(<[Record]>::to_vec).collect();
    blocks_of(&cut, |_, results| results)
}

/// The answer of `verify`.
#[derive(Debug)]
enum Said {
    Sound(Value),
    /// Damage in the block with this first sequence number, and the error's code.
    Block(u64, String),
}

fn verify<'a>(file: &Path, blocks: impl IntoIterator<Item = &'a [u8]>) -> Said {
    let bytes: Vec<u8> = blocks.into_iter().flatten().copied().collect();
    fs::write(file, bytes).unwrap();
    match super::verify(file, true) {
        Ok(value) => Said::Sound(value),
        Err(Failure::Damaged(value)) => {
            let error = value["error"].as_str().unwrap();
            let code = error.split([' ', ':']).find(|word| word.contains('_'));
            Said::Block(value["block"].as_u64().unwrap(), code.unwrap().to_owned())
        }
        _ => panic!("neither sound nor damaged"),
    }
}

/// The journal with one block's bytes replaced.
fn with<'a>(
    blocks: &'a [Block],
    index: usize,
    changed: &'a [u8],
) -> impl Iterator<Item = &'a [u8]> {
    let at = move |(place, block): (usize, &'a Block)| {
        if place == index { changed } else { block.bytes() }
    };
    blocks.iter().enumerate().map(at)
}

/// Copies of the block, each with one bit flipped in another byte.
fn changes(block: &Block) -> impl Iterator<Item = (usize, Vec<u8>)> {
    (0..block.bytes().len()).map(|at| {
        let mut bytes = block.bytes().to_vec();
        bytes[at] ^= 1 << (at % 8);
        (at, bytes)
    })
}

fn first(block: Option<&Block>) -> Option<u64> {
    block.map(|block| block.first().get())
}

/// CRC-32 of a block without its checksum field, bit by bit, as the format specification defines
/// it.
fn repair(bytes: &mut [u8]) {
    let mut crc = u32::MAX;
    let covered = bytes[..CHECKSUM.start].iter().chain(&bytes[CHECKSUM.end..]);
    for byte in covered {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 { (crc >> 1) ^ 0xEDB8_8320 } else { crc >> 1 };
        }
    }
    bytes[CHECKSUM].copy_from_slice(&(!crc).to_le_bytes());
}

#[test]
fn the_venue_is_sound_and_its_verification_says_all_that_is_to_be_kept() {
    let dir = tempfile::tempdir().unwrap();
    let blocks = venue();
    let said = verify(&dir.path().join("blocks"), blocks.iter().map(Block::bytes));
    let Said::Sound(value) = said else { panic!("{said:?}") };
    let last = &blocks[blocks.len() - 1];
    assert_eq!(value["blocks"], blocks.len());
    assert_eq!(value["records"], last.last().get());
    assert_eq!(value["head"]["hash"], last.hash().to_string());
    assert_eq!(value["results_confirmed"], last.recorded().through.get());
    assert_eq!(value["results"].as_str().map(str::len), Some(64));
    assert_eq!(value["state"].as_str().map(str::len), Some(64));
}

#[test]
fn every_changed_byte_names_its_block() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("blocks");
    let blocks = venue();
    for (index, block) in blocks.iter().enumerate() {
        for (at, bytes) in changes(block) {
            match verify(&file, with(&blocks, index, &bytes)) {
                Said::Block(named, _) => assert_eq!(named, block.first().get(), "byte {at}"),
                Said::Sound(_) => panic!("byte {at} of block {index} went unnoticed"),
            }
        }
    }
}

/// With a repaired checksum the change is found in the block itself or by the hash chain in the
/// next one; in the last block only by a head hash kept elsewhere.
#[test]
fn a_changed_byte_with_a_repaired_checksum_names_its_block_or_the_next() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("blocks");
    let blocks = venue();
    let mut codes: BTreeMap<String, u32> = BTreeMap::new();
    for (index, block) in blocks.iter().enumerate() {
        let (own, next) = (first(Some(block)), first(blocks.get(index + 1)));
        for (at, mut bytes) in changes(block).filter(|(at, _)| !CHECKSUM.contains(at)) {
            repair(&mut bytes);
            match verify(&file, with(&blocks, index, &bytes)) {
                Said::Block(named, code) => {
                    let named = Some(named);
                    assert!(named == own || named == next, "byte {at} of {index}: {code}");
                    // Changed results fields are reported in their own block.
                    let results = (64..BLOCK_HEADER_BYTES).contains(&at);
                    assert!(!results || named == own, "byte {at} of {index}: {code}");
                    *codes.entry(code).or_default() += 1;
                }
                Said::Sound(value) => {
                    assert_eq!(next, None, "byte {at} of block {index} went unnoticed");
                    assert_ne!(value["head"]["hash"], block.hash().to_string());
                }
            }
        }
    }
    for code in ["BLOCK_CHAIN", "BLOCK_MAGIC", "RESULTS_DIFFER", "RESULTS_PLACE", "RECORD_FIELD"] {
        assert!(codes.contains_key(code), "{codes:?}");
    }
}

/// The chain shows at the next block that a block was changed together with its checksum. Then the
/// changed block must not count as sound.
#[test]
fn nothing_from_a_changed_block_on_is_said_to_be_sound() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("blocks");
    let blocks = venue();
    let mut found = 0;
    for (index, block) in blocks.iter().enumerate() {
        for (at, mut bytes) in changes(block).filter(|(at, _)| !CHECKSUM.contains(at)) {
            repair(&mut bytes);
            fs::write(&file, with(&blocks, index, &bytes).collect::<Vec<_>>().concat()).unwrap();
            for state in [true, false] {
                let Err(Failure::Damaged(value)) = super::verify(&file, state) else { continue };
                let error = value["error"].as_str().unwrap();
                let sound = value["sound_until"].as_u64().unwrap();
                assert!(sound < block.first().get(), "byte {at} of {index}: {value}");
                if error.contains("BLOCK_CHAIN") {
                    let both = "this block or the one before it was changed";
                    assert!(error.ends_with(both), "{error}");
                    found += 1;
                }
            }
        }
    }
    assert!(found > 1000, "{found}");
}

/// Every record's time and effects.
fn replayed(file: &Path) -> Vec<(TimeMs, Vec<Effect>)> {
    let mut replayed = Vec::new();
    let collect =
        |record: &Record, effects: &[Effect]| replayed.push((record.time, effects.to_vec()));
    replay(PortableFile::open(file).unwrap(), &mut Replayer::new(), collect).unwrap();
    replayed
}

/// If the whole chain is rebuilt after the change, the block that stores the results of the changed
/// record finds it, unless the results are the same: another command with the same effects. A
/// change in the last blocks, whose results no block stores yet, is found only by the head hash.
#[test]
fn a_changed_record_in_a_chain_made_anew_names_the_block_that_records_its_results() {
    let dir = tempfile::tempdir().unwrap();
    let (file, sound) = (dir.path().join("blocks"), dir.path().join("sound"));
    let blocks = venue();
    assert!(matches!(verify(&sound, blocks.iter().map(Block::bytes)), Said::Sound(_)));
    let (answered, last) = (replayed(&sound), &blocks[blocks.len() - 1]);
    let confirmed = usize::try_from(last.recorded().through.get()).unwrap();
    let (mut found, mut alike) = (0, 0);
    for (index, block) in blocks.iter().enumerate() {
        for (at, mut bytes) in changes(block).filter(|(at, _)| *at >= BLOCK_HEADER_BYTES) {
            repair(&mut bytes);
            // Bytes that are not a valid block are covered by the tests above.
            let Ok(changed) = RawBlock::new(bytes).decode() else { continue };
            let cut: Vec<Vec<Record>> = (blocks[..index].iter())
                .chain([&changed])
                .chain(&blocks[index + 1..])
                .map(|block| block.records().to_vec())
                .collect();
            let later = blocks.get(index + 1).and_then(|next| next.records().first());
            if changed.head().time < block.records()[0].time
                || later.is_some_and(|later| later.time < changed.head().time)
                || block.built_after() != changed.built_after()
                || index > 0 && changed.records()[0].time < blocks[index - 1].head().time
            {
                continue; // Nor is this a journal: its times run backwards.
            }
            let record = (changed.records().iter().zip(block.records()))
                .find_map(|(now, then)| (now != then).then_some(now.sequence))
                .unwrap();
            let anew = blocks_of(&cut, |index, _| blocks[index].recorded());
            let commits = anew.iter().find(|block| block.recorded().through >= record);
            match verify(&file, anew.iter().map(Block::bytes)) {
                Said::Block(named, code) if code == "RESULTS_DIFFER" => {
                    assert_eq!(Some(named), first(commits), "byte {at} of {index}");
                    found += 1;
                }
                Said::Block(named, code) => {
                    assert_eq!(code, "REPLAY_BROKEN");
                    assert_eq!(named, block.first().get(), "byte {at} of {index}");
                }
                Said::Sound(value) => {
                    assert_eq!(replayed(&file)[..confirmed], answered[..confirmed]);
                    assert_ne!(value["head"]["hash"], last.hash().to_string());
                    alike += usize::from(commits.is_some());
                }
            }
        }
    }
    assert!(found > 400 && found > 10 * alike, "{found} found out, {alike} with the same answer");
}

/// The limit of internal proof: if the results are rebuilt too, only the head hash differs.
#[test]
fn a_journal_made_anew_with_its_results_is_another_journal() {
    let dir = tempfile::tempdir().unwrap();
    let blocks = venue();
    let other = records_of(&VENUE.replace("deposit bob 100.00", "deposit bob 90.00"));
    let cut: Vec<Vec<Record>> = other.chunks(EACH).map(<[Record]>::to_vec).collect();
    let anew = blocks_of(&cut, |_, results| results);
    let said = verify(&dir.path().join("blocks"), anew.iter().map(Block::bytes));
    let Said::Sound(value) = said else { panic!("{said:?}") };
    assert_ne!(value["head"]["hash"], blocks[blocks.len() - 1].hash().to_string());
    assert_eq!(anew.last().map(Block::last), blocks.last().map(Block::last));
}
