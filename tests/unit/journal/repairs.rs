//! Unit tests of `src/journal/repairs.rs`.

use super::*;
use crate::Journal;
use crate::sled::{SledJournal, WAL_FILE, WITNESS_FILE};
use crate::wal::tests::block_of;

type Damage = (fn(&Path), Repairs);

fn open(data: &Path) -> Repairs {
    SledJournal::open(data).unwrap().1.repairs
}

/// A journal that was closed in order, with some blocks.
fn closed(data: &Path) {
    let (mut journal, recovered) = SledJournal::open(data).unwrap();
    assert_eq!(recovered.repairs, Repairs::default());
    for _ in 0..3 {
        let block = block_of(1, journal.head(), 10);
        journal.append(block).unwrap();
    }
}

fn over(file: &Path, offset: u64, bytes: &[u8]) {
    let file = OpenOptions::new().write(true).open(file).unwrap();
    file.write_all_at(bytes, offset).unwrap();
}

fn of_log(fault: LogFault) -> Repairs {
    Repairs { log: Some(fault), witness: false }
}

#[test]
fn what_a_start_repairs_is_reported_once() {
    let one_copy = Repairs { log: None, witness: true };
    let damages: [Damage; 5] = [
        (|data| fs::remove_file(data.join(WAL_FILE)).unwrap(), of_log(LogFault::Gone)),
        (
            |data| {
                let length = fs::metadata(data.join(WAL_FILE)).unwrap().len();
                fs::write(data.join(WAL_FILE), vec![0; usize::try_from(length).unwrap()]).unwrap();
            },
            of_log(LogFault::Zeroed),
        ),
        (|data| over(&data.join(WAL_FILE), 0, &[0xA5; 512]), of_log(LogFault::Overwritten)),
        (|data| over(&data.join(WITNESS_FILE), 0, &[0xA5; 64]), one_copy),
        (|data| over(&data.join(WITNESS_FILE), WITNESS_SLOT_OFFSET, &[0; 64]), one_copy),
    ];
    for (damage, repairs) in damages {
        let dir = tempfile::tempdir().unwrap();
        // Neither a first start nor one after it, in order, has anything to repair.
        closed(dir.path());
        closed(dir.path());
        damage(dir.path());
        assert_eq!(open(dir.path()), repairs);
        assert_eq!(repairs.described().count(), 1);
        assert_eq!(open(dir.path()), Repairs::default());
    }
}
