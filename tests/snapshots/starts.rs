//! Starts: a start from a snapshot equals one from the first record; a snapshot that cannot be
//! trusted is replaced by the next older one, or by a full replay.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read, Write};
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, Once, PoisonError};

use exchange::Exchange;
use exchange::command::{Command, Record};
use exchange::results::{Results, ResultsHash, StateDigest};
use exchange::units::{Money, Sequence};
use journal::Journal;
use journal::block::{BlockBuilder, ChainHash};
use journal::directory::LogJournal;
use journal::pages::PageStore;
use journal::snapshot::{Kind, Point, SnapshotFolder};
use journal::store::StoredJournal;

use super::faults::Disk;
use super::venue::{
    self, Seen, beside, commands, play, start, start_from_the_first_record, stop,
    wait_for_snapshot_of,
};

/// Commands of the small venue whose snapshot is damaged at every byte: accounts, markets and some
/// trades.
const COMMANDS_OF_SMALL: usize = 160;
/// One damage in this many is also tried by a start.
const STARTS_ONE_IN: usize = 61;

/// A venue with two snapshots and more journal after them.
struct Kept {
    data: tempfile::TempDir,
    older: Sequence,
    newer: Sequence,
    truth: Seen,
}

impl Kept {
    fn new() -> Kept {
        let data = tempfile::tempdir().unwrap();
        let mut taken = Vec::new();
        let third = commands().len() / 3;
        for part in commands().chunks(third).take(2) {
            let running = start(data.path(), 0);
            play(&running.engine(), part);
            let end = stop(running).sequence;
            let running = start(data.path(), 1);
            wait_for_snapshot_of(&running.engine(), end);
            stop(running);
            taken.push(end);
        }
        let running = start(data.path(), 0);
        play(&running.engine(), &commands()[2 * third..]);
        stop(running);
        let truth = stop(start_from_the_first_record(data.path()));
        Kept { data, older: taken[0], newer: taken[1], truth }
    }

    fn folder(&self) -> SnapshotFolder {
        SnapshotFolder::of(self.data.path())
    }

    fn path(&self, kind: Kind, sequence: Sequence) -> PathBuf {
        self.folder().path(kind, sequence)
    }

    /// Starts: the record that the start began from, the whole visible state, and the log.
    fn started(&self) -> (Sequence, Seen, String) {
        let (running, log) = logged(|| start(self.data.path(), 0));
        let began = running.engine().snapshots().sequence;
        (began, stop(running), log)
    }

    /// Breaks something, starts, checks the result, and restores the files.
    fn broken(&self, expected: Sequence, codes: &[&str], break_it: impl FnOnce(&Kept)) {
        let copies: Vec<(PathBuf, Vec<u8>)> = files(self.data.path());
        break_it(self);
        let (began, seen, log) = self.started();
        assert_eq!(began, expected, "{log}");
        assert_eq!(seen, self.truth);
        for code in codes {
            assert!(log.contains(code), "{code} is not in {log}");
        }
        for (path, _) in files(self.data.path()) {
            fs::remove_file(path).unwrap();
        }
        for (path, bytes) in copies {
            fs::write(path, bytes).unwrap();
        }
    }

    /// Rewrites a snapshot with another point or body.
    fn forge(&self, kind: Kind, of: Sequence, forge: impl FnOnce(&mut Point, &mut Vec<u8>)) {
        let folder = self.folder();
        let mut reader = folder.read(kind, of).unwrap();
        let mut point = reader.header().point;
        let mut body = Vec::new();
        reader.read_to_end(&mut body).unwrap();
        forge(&mut point, &mut body);
        folder.write(kind, &point, |out| out.write_all(&body)).unwrap();
    }
}

fn files(data: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let entries = fs::read_dir(data.join("snapshots")).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    paths.map(|path| (path.clone(), fs::read(path).unwrap())).collect()
}

/// A buffer for the log.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()).unwrap()
    }
}

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl tracing_subscriber::fmt::MakeWriter<'_> for Log {
    type Writer = Log;

    fn make_writer(&self) -> Log {
        self.clone()
    }
}

/// Runs a start and returns its log. tracing caches that nobody listens if the first log line has
/// no subscriber; therefore one is installed here for good.
fn logged<T>(run: impl FnOnce() -> T) -> (T, String) {
    static LISTENING: Once = Once::new();
    LISTENING.call_once(|| {
        let nowhere = tracing_subscriber::fmt().with_writer(io::sink).finish();
        tracing::subscriber::set_global_default(nowhere).unwrap();
    });
    let log = Log::default();
    let subscriber = tracing_subscriber::fmt().with_writer(log.clone()).with_ansi(false);
    let ran = tracing::subscriber::with_default(subscriber.finish(), run);
    (ran, log.text())
}

fn flip(path: &Path, at: usize) {
    let mut bytes = fs::read(path).unwrap();
    bytes[at] ^= 4;
    fs::write(path, bytes).unwrap();
}

/// A snapshot is useless without its pages of history: everything is rebuilt by replay, without an
/// operator.
#[test]
fn missing_or_unreadable_history_is_rebuilt() {
    let kept = Kept::new();
    let folder = PageStore::folder(kept.data.path());
    kept.broken(Sequence::ZERO, &["SNAPSHOT_HISTORY"], |_| fs::remove_dir_all(&folder).unwrap());
    // The rebuilt history is complete.
    kept.broken(kept.newer, &[], |_| ());
    kept.broken(Sequence::ZERO, &["history cannot be opened", "SNAPSHOT_HISTORY"], |_| {
        fs::write(folder.join("conf"), "no settings of sled's").unwrap();
    });
}

/// The files of history, by name, with their contents.
fn history_files(data: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let entries = fs::read_dir(PageStore::folder(data)).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_file());
    paths.map(|path| (path.clone(), fs::read(path).unwrap())).collect()
}

#[test]
fn a_start_that_adds_no_record_writes_nothing_to_history() {
    let data = tempfile::tempdir().unwrap();
    let running = start(data.path(), 0);
    play(&running.engine(), &commands()[..2_000]);
    let seen = stop(running);
    // The first start knows that it made all that the replay would make.
    assert_eq!(seen, stop(start_from_the_first_record(data.path())));
    let pages = PageStore::folder(data.path()).join("pages");
    // sled notes each opening in the space that it has.
    let index = || fs::metadata(pages.with_file_name("db")).unwrap().len();
    let (before, index_before) = (fs::read(&pages).unwrap(), index());
    for _ in 0..20 {
        assert_eq!(seen, stop(start_from_the_first_record(data.path())));
        assert!(fs::read(&pages).unwrap() == before);
        assert_eq!(index(), index_before);
    }
    // Pages of another journal are not taken for those of this one.
    let other = tempfile::tempdir().unwrap();
    let running = start(other.path(), 0);
    play(&running.engine(), &commands()[..1_500]);
    let seen = stop(running);
    fs::remove_dir_all(PageStore::folder(other.path())).unwrap();
    fs::create_dir(PageStore::folder(other.path())).unwrap();
    for (path, bytes) in history_files(data.path()) {
        fs::write(PageStore::folder(other.path()).join(path.file_name().unwrap()), bytes).unwrap();
    }
    assert_eq!(seen, stop(start_from_the_first_record(other.path())));
}

/// sled as used for pages of history, with segments of this many bytes.
fn sled_of(folder: &Path, segment_bytes: usize) -> sled::Db {
    sled::Config::new().path(folder).segment_size(segment_bytes).open().unwrap()
}

/// Whatever form the folder has, and whatever it claims to cover: what this version does not know
/// is rebuilt.
#[test]
fn history_in_another_format_is_rebuilt() {
    let kept = Kept::new();
    let folder = PageStore::folder(kept.data.path());
    let mine: Vec<(PathBuf, Vec<u8>)> = fs::read_dir(&folder)
        .unwrap()
        .map(Result::unwrap)
        .filter(|entry| entry.file_type().unwrap().is_file())
        .map(|entry| (entry.path(), fs::read(entry.path()).unwrap()))
        .collect();
    let rebuilds_from_the_start = |change: &dyn Fn()| {
        kept.broken(Sequence::ZERO, &["history cannot be opened", "SNAPSHOT_HISTORY"], |_| {
            PageStore::remove(kept.data.path()).unwrap();
            fs::create_dir(&folder).unwrap();
            change();
        });
        // The next start must open what was rebuilt.
        let (began, seen, log) = kept.started();
        assert_eq!((began, &seen), (kept.newer, &kept.truth));
        assert!(!log.contains("history cannot be opened"), "{log}");
    };
    let copy_mine = || {
        for (path, bytes) in &mine {
            fs::write(path, bytes).unwrap();
        }
    };
    let claim = |tree: &sled::Tree, key: &[u8]| {
        tree.insert(key, b"all of it").unwrap();
        tree.flush().unwrap();
    };

    // An older form: pages with their checksums in sled itself, beside the coverage.
    rebuilds_from_the_start(&|| {
        let sled = sled_of(&folder, 4 << 20);
        let pages = sled.open_tree("pages").unwrap();
        let page = [&b"a page"[..], &[1, 2, 3, 4]].concat();
        pages.insert([1, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 1], page).unwrap();
        claim(&pages, &[0]);
    });
    // The current form, which claims coverage but has no pages.
    rebuilds_from_the_start(&|| {
        claim(&sled_of(&folder, 512 << 10).open_tree("known").unwrap(), b"complete through");
    });
    // The current form without its page file, and with a page file of another version.
    rebuilds_from_the_start(&|| {
        copy_mine();
        fs::remove_file(folder.join("pages")).unwrap();
    });
    rebuilds_from_the_start(&|| {
        copy_mine();
        let mut pages = fs::read(folder.join("pages")).unwrap();
        pages[7] += 1;
        fs::write(folder.join("pages"), pages).unwrap();
    });
    // Only the page file, without anything that refers to it.
    kept.broken(Sequence::ZERO, &["SNAPSHOT_HISTORY"], |_| {
        PageStore::remove(kept.data.path()).unwrap();
        fs::create_dir(&folder).unwrap();
        copy_mine();
        for (path, _) in mine.iter().filter(|(path, _)| !path.ends_with("pages")) {
            fs::remove_file(path).unwrap();
        }
    });
    // Restored unchanged, all of it is used.
    kept.broken(kept.newer, &[], |_| {
        PageStore::remove(kept.data.path()).unwrap();
        fs::create_dir(&folder).unwrap();
        copy_mine();
    });
}

/// A read of a page that the disk lost fails, and the next start rebuilds the page.
#[test]
fn damaged_history_is_rebuilt_by_the_next_start() {
    let kept = Kept::new();
    let sled = sled_of(&PageStore::folder(kept.data.path()), 512 << 10);
    let places = sled.open_tree("places").unwrap();
    // A page of a user's orders.
    let (lost, _) = places.range([1]..[2]).next().unwrap().unwrap();
    places.remove(lost).unwrap().unwrap();
    places.flush().unwrap();
    drop((places, sled));

    let running = start(kept.data.path(), 0);
    assert_eq!(running.engine().snapshots().sequence, kept.newer);
    let errors = {
        let engine = running.engine();
        let view = engine.read();
        let users = view.accounts.users_newest_first();
        users.filter(|user| view.orders.of(user.no).any(|row| row.is_err())).count()
    };
    assert_eq!(errors, 1);
    running.stop().unwrap();
    let (began, seen, log) = kept.started();
    assert_eq!((began, seen), (Sequence::ZERO, kept.truth));
    assert!(log.contains("history was found damaged"), "{log}");
}

fn middle(path: &Path) -> usize {
    fs::read(path).unwrap().len() / 2
}

#[test]
fn a_start_from_a_snapshot_equals_a_start_from_the_first_record() {
    let kept = Kept::new();
    let (began, seen, log) = kept.started();
    assert_eq!(began, kept.newer);
    assert_eq!(seen, kept.truth);
    assert!(log.contains("a snapshot was restored") && !log.contains("WARN"), "{log}");

    // And both continue alike.
    let running = start(kept.data.path(), 0);
    play(&running.engine(), &commands()[1..2_000]);
    let continued = stop(running);
    assert_ne!(continued, kept.truth);
    assert_eq!(continued, stop(start_from_the_first_record(kept.data.path())));
    assert_eq!(continued, kept.started().1);
}

#[test]
fn a_snapshot_of_the_journals_very_end_needs_no_replay() {
    let data = tempfile::tempdir().unwrap();
    let running = start(data.path(), 1);
    play(&running.engine(), &commands()[..1_500]);
    wait_for_snapshot_of(&running.engine(), Sequence::new(1_500));
    let seen = stop(running);
    let running = start(data.path(), 0);
    assert_eq!(running.engine().snapshots().sequence, seen.sequence);
    play(&running.engine(), &commands()[1_500..1_600]);
    let seen = stop(running);
    assert_eq!(seen.sequence, Sequence::new(1_600));
    assert_eq!(seen, stop(start_from_the_first_record(data.path())));
}

#[test]
fn an_untrusted_snapshot_is_named_and_the_next_older_one_used() {
    let kept = Kept::new();
    let (newer, older) = (kept.newer, kept.older);
    let name = format!("{newer:0>20}.state", newer = newer.get());
    for kind in Kind::ALL {
        kept.broken(older, &[&name, "SNAPSHOT_CHECKSUM"], |kept| {
            let path = kept.path(kind, newer);
            flip(&path, middle(&path));
        });
        kept.broken(older, &[&name, "SNAPSHOT_TRUNCATED"], |kept| {
            let path = kept.path(kind, newer);
            let bytes = fs::read(&path).unwrap();
            fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
        });
        kept.broken(older, &["SNAPSHOT_IMAGE"], |kept| {
            kept.forge(kind, newer, |_, body| body.truncate(body.len() / 2));
        });
        kept.broken(older, &["SNAPSHOT_IMAGE"], |kept| {
            kept.forge(kind, newer, |_, body| body.push(0));
        });
        kept.broken(older, &["SNAPSHOT_IMAGE", "has version 9999"], |kept| {
            kept.forge(kind, newer, |_, body| body[..4].copy_from_slice(&9999_u32.to_le_bytes()));
        });
        kept.broken(older, &["SNAPSHOT_PAIR"], |kept| {
            kept.forge(kind, newer, |point, _| point.results = ResultsHash([1; 32]));
        });
        kept.broken(older, &["SNAPSHOT_PLACE"], |kept| {
            let mut other = Vec::new();
            kept.folder().read(kind, older).unwrap().read_to_end(&mut other).unwrap();
            kept.forge(kind, newer, |_, body| *body = other);
        });
    }
    kept.broken(older, &["SNAPSHOT_READ"], |kept| {
        fs::remove_file(kept.path(Kind::Views, newer)).unwrap();
    });
    // Without its state file the snapshot is not even listed, so nothing is logged.
    kept.broken(older, &[], |kept| fs::remove_file(kept.path(Kind::State, newer)).unwrap());
    kept.broken(older, &["SNAPSHOT_DIGEST"], |kept| {
        for kind in Kind::ALL {
            kept.forge(kind, newer, |point, _| point.state = StateDigest([1; 32]));
        }
    });
}

/// A small snapshot is cut at every byte, and one bit of every byte is flipped: each read fails
/// with the snapshot's name, and a start logs it and reaches the same state without it.
#[test]
fn a_snapshot_cut_or_changed_anywhere_is_named_and_not_used() {
    let (data, disk) = (tempfile::tempdir().unwrap(), Disk::new());
    let folder = SnapshotFolder::open(data.path()).unwrap();
    let started = |every: Option<u64>| {
        let (journal, _) = StoredJournal::over(disk.clone()).unwrap();
        let every = every.and_then(NonZeroU64::new);
        venue::started(journal, beside(data.path(), folder.clone(), every)).unwrap()
    };
    let running = started(Some(1));
    play(&running.engine(), &commands()[..COMMANDS_OF_SMALL]);
    let end = running.engine().read().watermark();
    wait_for_snapshot_of(&running.engine(), end);
    let truth = stop(running);
    for older in folder.list(Kind::State).unwrap().into_iter().filter(|older| *older != end) {
        fs::remove_file(folder.path(Kind::State, older)).unwrap();
    }
    let mut starts = 0;
    for kind in Kind::ALL {
        let path = folder.path(kind, end);
        let whole = fs::read(&path).unwrap();
        for at in 0..whole.len() {
            let mut flipped = whole.clone();
            flipped[at] ^= 1 << (at % 8);
            for damaged in [&flipped, &whole[..at]] {
                fs::write(&path, damaged).unwrap();
                let named = match folder.read(kind, end) {
                    Ok(mut file) => {
                        let read = file.read_to_end(&mut Vec::new());
                        read.map(drop).map_err(|error| error.to_string())
                    }
                    Err(damage) => Err(damage.to_string()),
                };
                let named = named.unwrap_err();
                assert!(named.contains(path.to_str().unwrap()), "{named}");
                // Starts are slow, and use the same read: only some damages are tried with one.
                if at % STARTS_ONE_IN != 0 {
                    continue;
                }
                let (running, log) = logged(|| started(None));
                assert_eq!(running.engine().snapshots().sequence, Sequence::ZERO);
                assert_eq!(stop(running), truth);
                assert!(log.contains("SNAPSHOT_"), "byte {at}: {log}");
                starts += 1;
            }
        }
        fs::write(&path, &whole).unwrap();
    }
    assert!(starts > 100, "{starts}");
    let running = started(None);
    assert_eq!(running.engine().snapshots().sequence, end);
    assert_eq!(stop(running), truth);
}

#[test]
fn a_snapshot_of_another_journal_or_of_a_later_one_is_not_used() {
    let kept = Kept::new();
    let (newer, older) = (kept.newer, kept.older);
    kept.broken(older, &["SNAPSHOT_ELSEWHERE"], |kept| {
        for kind in Kind::ALL {
            kept.forge(kind, newer, |point, _| point.chain = ChainHash([1; 32]));
        }
    });
    // The point is not at the end of any block of this journal.
    kept.broken(newer, &["SNAPSHOT_ELSEWHERE"], |kept| {
        for kind in Kind::ALL {
            kept.forge(kind, newer, |point, _| point.sequence = newer.next());
        }
    });
    kept.broken(newer, &["SNAPSHOT_AHEAD"], |kept| {
        for kind in Kind::ALL {
            kept.forge(kind, newer, |point, _| point.sequence = newer.advanced(1 << 40));
        }
    });
}

#[test]
fn without_a_trusted_snapshot_everything_is_replayed() {
    let kept = Kept::new();
    kept.broken(Sequence::ZERO, &["SNAPSHOT_HEADER", "SNAPSHOT_CHECKSUM"], |kept| {
        flip(&kept.path(Kind::State, kept.newer), 40);
        let path = kept.path(Kind::Views, kept.older);
        flip(&path, middle(&path));
    });
    kept.broken(Sequence::ZERO, &[], |kept| {
        fs::remove_dir_all(kept.data.path().join("snapshots")).unwrap();
    });
}

/// Recorded results are compared after a snapshot just as from the first record.
#[test]
fn a_block_after_a_snapshot_that_records_other_results_stops_the_start() {
    let kept = Kept::new();
    let running = start(kept.data.path(), 1);
    let end = running.engine().read().watermark();
    wait_for_snapshot_of(&running.engine(), end);
    stop(running);
    let (mut journal, recovered) = LogJournal::open(kept.data.path()).unwrap();
    let head = recovered.head;
    let mut block = BlockBuilder::new(&head);
    let record = Record {
        sequence: head.sequence.next(),
        time: head.time,
        once: None,
        act: None,
        command: Command::AdvanceClock,
    };
    block.push(record).unwrap();
    let other = Results { through: head.sequence, hash: ResultsHash([1; 32]) };
    journal.append(block.build(other).unwrap()).unwrap();
    drop(journal);

    let (journal, _) = LogJournal::open(kept.data.path()).unwrap();
    let beside = beside(kept.data.path(), kept.folder(), None);
    let (refused, log) = logged(|| venue::started(journal, beside).unwrap_err());
    assert!(refused.to_string().contains("RESULTS_DIFFER"), "{refused}");
    assert!(log.contains(&format!("snapshot={end}")), "{log}");
    assert!(kept.path(Kind::State, end).exists(), "nothing has proved it wrong");
}

/// A snapshot that is valid in itself, but from which the journal's records produce other results.
#[test]
fn a_start_from_a_snapshot_that_the_journal_contradicts_replays_everything() {
    let mut kept = Kept::new();
    // One more block, which records the results of everything before it.
    let running = start(kept.data.path(), 0);
    play(&running.engine(), &commands()[1..2]);
    kept.truth = stop(running);
    let (newer, older) = (kept.newer, kept.older);
    let name = format!("snapshot={newer}");
    kept.broken(Sequence::ZERO, &[&name, "RESULTS_DIFFER", "set aside"], |kept| {
        for kind in Kind::ALL {
            kept.forge(kind, newer, |point, _| point.results = ResultsHash([1; 32]));
        }
    });
    // The state that other commands would have produced, with its matching digest.
    let mut state = Vec::new();
    let other = forked(&kept, newer, &mut state);
    let forge = |kept: &Kept| {
        kept.forge(Kind::State, newer, |point, body| {
            point.state = other;
            body.clone_from(&state);
        });
        kept.forge(Kind::Views, newer, |point, _| point.state = other);
    };
    kept.broken(Sequence::ZERO, &[&name, "everything is replayed"], forge);
    // The next start uses the older snapshot, and no longer sees the wrong one.
    forge(&kept);
    assert_eq!(kept.started().0, Sequence::ZERO);
    for kind in Kind::ALL {
        assert!(!kept.path(kind, newer).exists());
        let wrong = format!("{}.wrong", kept.path(kind, newer).display());
        assert!(Path::new(&wrong).exists(), "{wrong}");
    }
    let (began, seen, log) = kept.started();
    assert_eq!((began, &seen), (older, &kept.truth), "{log}");
    assert!(!log.contains("WARN") && !log.contains("ERROR"), "{log}");
}

/// Image and digest of a different state at the same record.
fn forked(kept: &Kept, sequence: Sequence, image: &mut Vec<u8>) -> StateDigest {
    let (journal, _) = LogJournal::open(kept.data.path()).unwrap();
    let (mut exchange, mut effects) = (Exchange::new(), Vec::new());
    let blocks = journal.read(Sequence::new(1)).map(Result::unwrap);
    let records: Vec<Record> = blocks.flat_map(|block| block.records().to_vec()).collect();
    for mut record in records.into_iter().take_while(|record| record.sequence <= sequence) {
        if let Command::Deposit { amount, .. } = &mut record.command {
            *amount = Money::new(amount.get() + 1);
        }
        exchange.apply(&record, &mut effects).unwrap();
    }
    *image = exchange.image().unwrap();
    exchange.digest().unwrap()
}
