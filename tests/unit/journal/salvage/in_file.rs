//! Unit tests of `src/journal/salvage/in_file.rs`.

#![allow(clippy::unwrap_used)] // a test may stop

use super::*;

fn found(offset: u64, hash: u8) -> InFile {
    let (hash, previous) = (ChainHash([hash; 32]), ChainHash::ZERO);
    InFile { file: 0, offset, bytes: 200, last: Sequence::new(offset), hash, previous }
}

#[test]
fn copies_count_once_and_others_come_in_the_order_found() {
    let mut blocks = FoundBlocks::default();
    for (first, offset, hash) in [(2, 1, 1), (2, 2, 2), (1, 3, 1), (2, 4, 1), (2, 5, 2), (2, 6, 3)]
    {
        blocks.insert(Sequence::new(first), found(offset, hash));
    }
    let beginning = |first| {
        blocks.beginning(Sequence::new(first)).map(|found| found.offset).collect::<Vec<_>>()
    };
    assert_eq!([beginning(0), beginning(1), beginning(2)], [vec![], vec![3], vec![1, 2, 6]]);
    let from = |first| {
        let range = blocks.range(Sequence::new(first)..);
        range.map(|(first, found)| (first.get(), found.offset)).collect::<Vec<_>>()
    };
    assert_eq!([from(1), from(2), from(3)], [vec![(1, 3), (2, 1)], vec![(2, 1)], vec![]]);
}

/// The figure in OPERATING.md. Measured in a process of its own, where no other test allocates.
#[test]
#[cfg(target_os = "linux")]
fn a_block_takes_a_fifth_of_a_kilobyte() {
    const ALONE: &str = "OPENOUTCRY_TEST_ALONE";
    const NAME: &str = "salvage::in_file::tests::a_block_takes_a_fifth_of_a_kilobyte";
    const BLOCKS: u64 = 300_000;
    if std::env::var_os(ALONE).is_none() {
        let mut child = std::process::Command::new(std::env::current_exe().unwrap());
        let child = child.args(["--exact", NAME, "--nocapture"]).env(ALONE, "").output();
        let child = child.unwrap();
        let said = String::from_utf8_lossy(&child.stdout);
        assert!(child.status.success() && said.contains("bytes a block"), "{said}");
        return;
    }
    let resident = || {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
    };
    let (before, mut blocks) = (resident(), FoundBlocks::default());
    for number in 1..=BLOCKS {
        blocks.insert(Sequence::new(number), found(number, 1));
    }
    let each = (resident() - before) / BLOCKS;
    println!("{each} bytes a block");
    assert_eq!(blocks.one.len() as u64, BLOCKS);
    assert!((100..300).contains(&each), "{each}");
}
