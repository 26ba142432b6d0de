//! The tool's command line: answers and exit codes.

#![allow(clippy::unwrap_used)] // a test may unwrap

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command as Process;
use std::sync::{Mutex, MutexGuard, PoisonError};

use exchange::command::{Command, Record};
use exchange::ids::UserNo;
use exchange::results::{Results, ResultsHash};
use exchange::rules::Rules;
use exchange::units::{Money, Sequence, TimeMs};
use journal::Journal;
use journal::archive::Archive;
use journal::block::BlockBuilder;
use journal::directory::LogJournal;
use journal::portable;
use journal::store::OpenError;
use serde_json::Value;

/// A child process started by one test inherits, until it executes its program, the files that
/// another test has open, including a directory's lock. So these tests run one at a time.
fn my_turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

fn ask<A: AsRef<OsStr>>(arguments: &[A]) -> (i32, Value) {
    let tool = env!("CARGO_BIN_EXE_openoutcry-replay");
    let output = Process::new(tool).arg("--json").args(arguments).output().unwrap();
    let answer = serde_json::from_slice(&output.stdout).unwrap_or(Value::Null);
    (output.status.code().unwrap(), answer)
}

/// A venue with one user, four blocks of one deposit each.
fn venue(data: &Path) {
    let (mut journal, _) = LogJournal::open(data).unwrap();
    let user = UserNo(0);
    let ann = Command::CreateUser { profile_name: "ann".into(), profile_pic: String::new() };
    let deposit = Command::Deposit { user, amount: Money::new(500) };
    let blocks = [vec![Command::OpenVenue(Rules::current()), ann]];
    for commands in blocks.into_iter().chain((0..4).map(|_| vec![deposit.clone()])) {
        let mut builder = BlockBuilder::new(journal.head());
        let mut sequence = journal.head().sequence;
        for command in commands {
            sequence = sequence.next();
            assert!(
                builder
                    .push(Record {
                        sequence,
                        time: TimeMs::default(),
                        once: None,
                        act: None,
                        command
                    })
                    .is_ok()
            );
        }
        journal.append(builder.build(Results::NONE).unwrap()).unwrap();
    }
}

#[test]
fn a_directory_and_its_export_give_the_same_answers() {
    let _turn = my_turn();
    let dir = tempfile::tempdir().unwrap();
    let (data, file) = (dir.path().join("venue"), dir.path().join("venue.blocks"));
    venue(&data);
    let (code, verified) = ask(&[OsStr::new("verify"), data.as_os_str()]);
    assert_eq!(code, 0, "{verified}");
    assert_eq!((&verified["blocks"], &verified["records"]), (&5.into(), &6.into()));
    let (code, exported) = ask(&[OsStr::new("export"), data.as_os_str(), file.as_os_str()]);
    assert_eq!((code, &exported["head"]), (0, &verified["head"]));
    assert_eq!(ask(&[OsStr::new("verify"), file.as_os_str()]), (0, verified.clone()));
    let (code, rebuilt) = ask(&[OsStr::new("rebuild"), data.as_os_str()]);
    assert_eq!((code, &rebuilt["head"]), (0, &verified["head"]));
    assert_eq!(rebuilt["state"].as_str().unwrap().len(), 64);
    assert_eq!(ask(&[OsStr::new("rebuild"), file.as_os_str()]), (0, rebuilt));
    // An export never overwrites.
    assert_eq!(ask(&[OsStr::new("export"), data.as_os_str(), file.as_os_str()]).0, 1);
}

#[test]
fn damage_is_code_3_and_says_where() {
    let _turn = my_turn();
    let dir = tempfile::tempdir().unwrap();
    let (data, file) = (dir.path().join("venue"), dir.path().join("venue.blocks"));
    venue(&data);
    assert_eq!(ask(&[OsStr::new("export"), data.as_os_str(), file.as_os_str()]).0, 0);
    let mut bytes = fs::read(&file).unwrap();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    fs::write(&file, &bytes).unwrap();
    for question in ["verify", "rebuild"] {
        let (code, answer) = ask(&[OsStr::new(question), file.as_os_str()]);
        assert_eq!(code, 3);
        assert_eq!(answer["block"], 6);
        assert_eq!(answer["offset"], last + 1 - 104 - 16 - 12);
        assert!(answer["error"].as_str().unwrap().contains("BLOCK_CHECKSUM"), "{answer}");
        assert_eq!(answer["ok"], false);
    }
    fs::write(data.join("refused"), [0; 64]).unwrap();
    let (code, answer) = ask(&[OsStr::new("verify"), data.as_os_str()]);
    assert_eq!(code, 3);
    assert!(answer["error"].as_str().unwrap().starts_with("RECOVERY_MARKER"), "{answer}");
}

/// The tool under a shell's limits, such as `umask 000`.
fn limited(limits: &str, arguments: &[&OsStr]) -> Process {
    let mut process = Process::new("sh");
    let run = format!("{limits}; exec \"$0\" \"$@\"");
    process.args(["-c", &run, env!("CARGO_BIN_EXE_openoutcry-replay")]).args(arguments);
    process
}

/// What is known of the journal counts more than whether it could be said.
#[test]
fn an_answer_that_nobody_takes_is_code_1_unless_the_journal_is_damaged() {
    let _turn = my_turn();
    let dir = tempfile::tempdir().unwrap();
    let (data, file) = (dir.path().join("venue"), dir.path().join("venue.blocks"));
    venue(&data);
    assert_eq!(ask(&[OsStr::new("export"), data.as_os_str(), file.as_os_str()]).0, 0);
    let full = || fs::File::options().write(true).open("/dev/full").unwrap();
    let code = |arguments: &[&OsStr], said: bool| {
        let mut process = limited(":", arguments);
        process.stdout(full());
        let output = if said {
            process.output()
        } else {
            process.stderr(full()).spawn().unwrap().wait_with_output()
        };
        let output = output.unwrap();
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(!text.contains("panicked"), "{text}");
        assert_eq!(
            text.contains("CANNOT_WRITE"),
            said && output.status.code() == Some(1),
            "{text}"
        );
        output.status.code().unwrap()
    };
    for said in [true, false] {
        for arguments in [
            &["--help"][..],
            &["--version"],
            &["verify", "--help"],
            &["verify", file.to_str().unwrap()],
            &["--json", "rebuild", file.to_str().unwrap()],
            &["dump", file.to_str().unwrap()],
            &["fills", file.to_str().unwrap()],
        ] {
            let arguments: Vec<_> = arguments.iter().map(OsStr::new).collect();
            assert_eq!(code(&arguments, said), 1, "{arguments:?}");
        }
        assert_eq!(code(&[OsStr::new("nonsense")], said), 2);
    }
    let mut bytes = fs::read(&file).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&file, &bytes).unwrap();
    for said in [true, false] {
        assert_eq!(code(&[OsStr::new("verify"), file.as_os_str()], said), 3);
    }
}

fn assert_private(path: &Path) {
    let mode = fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, if path.is_dir() { 0o700 } else { 0o600 }, "{}: {mode:o}", path.display());
    if path.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            assert_private(&entry.unwrap().path());
        }
    }
}

#[test]
fn what_the_tool_writes_is_its_owners_alone_whatever_the_mask() {
    let _turn = my_turn();
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).into_os_string();
    venue(&dir.path().join("venue"));
    let [venue, plain, packed, fills] = ["venue", "a.blocks", "a.blocks.gz", "a.csv"].map(path);
    let [imported, salvaged] = ["imported", "salvaged"].map(path);
    let word = OsStr::new;
    for arguments in [
        &[word("export"), &venue, &plain][..],
        &[word("export"), &venue, &packed],
        &[word("fills"), &plain, word("--format"), word("csv"), word("-o"), &fills],
        &[word("import"), &plain, &imported],
        &[word("salvage"), &venue, word("--out"), &salvaged],
    ] {
        let output = limited("umask 000", arguments).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    for made in [plain, packed, fills, imported, salvaged] {
        assert_private(Path::new(&made));
    }
}

#[test]
fn a_limit_on_the_size_of_files_is_a_full_disk() {
    let _turn = my_turn();
    let dir = tempfile::tempdir().unwrap();
    let (data, file) = (dir.path().join("venue"), dir.path().join("venue.blocks"));
    venue(&data);
    assert_eq!(ask(&[OsStr::new("export"), data.as_os_str(), file.as_os_str()]).0, 0);
    let again = dir.path().join("again.blocks");
    let copy = [OsStr::new("export"), file.as_os_str(), again.as_os_str()];
    let output = limited("ulimit -f 0", &copy).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("CANNOT_WRITE") && !again.exists(), "{said}");
}

const SEGMENT: &str = "journal/log/00000000000000000001.blocks";

/// The code of the refusal, and what is done to a directory before it.
type Damage = (&'static str, fn(&Path));

fn overwrite(file: &Path) {
    fs::write(file, vec![0xA5; fs::read(file).unwrap().len()]).unwrap();
}

/// A script that reads the exit code must see damage, and not take it for a mistyped path.
#[test]
fn a_damaged_directory_is_code_3_and_one_that_is_not_there_is_code_1() {
    let _turn = my_turn();
    let damages: [Damage; 4] = [
        ("OPEN_LOST", |data| fs::remove_dir_all(data.join("journal")).unwrap()),
        ("OPEN_LOST", |data| fs::remove_file(data.join(SEGMENT)).unwrap()),
        ("RECOVERY_BEYOND", |data| overwrite(&data.join(SEGMENT))),
        ("RECOVERY_MARKER", |data| overwrite(&data.join("refused"))),
    ];
    for (code, damage) in damages {
        let dir = tempfile::tempdir().unwrap();
        venue(dir.path());
        drop(LogJournal::open(dir.path()).unwrap());
        damage(dir.path());
        let (exit, answer) = ask(&[OsStr::new("verify"), dir.path().as_os_str()]);
        assert_eq!((exit, &answer["code"]), (3, &code.into()), "{answer}");
    }
    let dir = tempfile::tempdir().unwrap();
    let (exit, answer) = ask(&[OsStr::new("verify"), dir.path().as_os_str()]);
    assert_eq!((exit, &answer["code"]), (1, &"OPEN_MISSING".into()), "{answer}");
    let (journal, _) = LogJournal::open(&dir.path().join("open")).unwrap();
    let (exit, answer) = ask(&[OsStr::new("verify"), dir.path().join("open").as_os_str()]);
    assert_eq!((exit, &answer["records"]), (0, &0.into()), "beside a server: {answer}");
    drop(journal);
}

/// A copy of a journal's records in blocks that store no results.
fn same_records(data: &Path, other: &Path) {
    let (journal, _) = LogJournal::open(data).unwrap();
    let (mut copy, _) = LogJournal::open(other).unwrap();
    for block in journal.read(Sequence::new(1)).map(Result::unwrap) {
        let mut builder = BlockBuilder::new(copy.head());
        for record in block.records() {
            assert!(builder.push(record.clone()).is_ok());
        }
        copy.append(builder.build(Results::NONE).unwrap()).unwrap();
    }
}

/// As if the journal had been written under other matching rules than those of this version.
#[test]
fn other_results_are_code_3_and_say_which_block_and_records() {
    let _turn = my_turn();
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("venue");
    venue(&data);
    let (mut journal, _) = LogJournal::open(&data).unwrap();
    let mut builder = BlockBuilder::new(journal.head());
    let (sequence, command) = (journal.head().sequence.next(), Command::AdvanceClock);
    assert!(
        builder
            .push(Record { sequence, time: TimeMs::default(), once: None, act: None, command })
            .is_ok()
    );
    let recorded = Results { through: Sequence::new(5), hash: ResultsHash([1; 32]) };
    journal.append(builder.build(recorded).unwrap()).unwrap();
    drop(journal);
    for question in ["verify", "rebuild"] {
        let (code, answer) = ask(&[OsStr::new(question), data.as_os_str()]);
        assert_eq!(code, 3, "{answer}");
        assert!(answer["error"].as_str().unwrap().starts_with("RESULTS_DIFFER"), "{answer}");
        let said = ["block", "record", "last_record", "sound_until"].map(|field| &answer[field]);
        assert_eq!(said, [&7, &1, &5, &0].map(|number: &i32| Value::from(*number)).each_ref());
    }
    // `diff` with a journal of the same records, in both orders of arguments.
    let other = dir.path().join("other");
    same_records(&data, &other);
    for pair in [[&data, &other], [&other, &data]] {
        let [first, second] = pair.map(|path| path.as_os_str());
        let (code, answer) = ask(&[OsStr::new("diff"), first, second]);
        assert_eq!((code, &answer["code"]), (3, &"RESULTS_DIFFER".into()), "{answer}");
        assert_eq!(answer["journal"], data.to_str().unwrap());
        assert_eq!(answer["block"], 7, "{answer}");
    }
    let no_state = [OsStr::new("verify"), data.as_os_str(), OsStr::new("--no-state")];
    assert_eq!(ask(&no_state).0, 0, "the bytes are sound");
}

#[test]
fn what_is_not_there_is_code_1_and_wrong_usage_code_2() {
    let _turn = my_turn();
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(ask(&[OsStr::new("verify"), dir.path().as_os_str()]).0, 1);
    assert_eq!(ask(&[OsStr::new("verify"), dir.path().join("none").as_os_str()]).0, 1);
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0, "looking makes nothing");
    let (code, answer) = ask(&["verify"]);
    assert_eq!((code, &answer["ok"], &answer["code"]), (2, &false.into(), &"USAGE".into()));
    assert_eq!(ask(&["mend", "x"]).0, 2);
    let data = dir.path().join("venue");
    venue(&data);
    let (_journal, _) = LogJournal::open(&data).unwrap();
    let salvaged = dir.path().join("salvaged");
    let out = [OsStr::new("salvage"), data.as_os_str(), OsStr::new("--out"), salvaged.as_os_str()];
    let (code, answer) = ask(&out);
    assert_eq!(code, 1);
    assert!(answer["error"].as_str().unwrap().starts_with("OPEN_LOCKED"), "{answer}");
    assert_eq!((&answer["ok"], &answer["code"]), (&false.into(), &"OPEN_LOCKED".into()));
}

#[test]
fn an_export_of_either_form_is_imported_to_the_same_journal() {
    let _turn = my_turn();
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    let run = |question: &str, from: &str, to: &str, rest: &[&str]| {
        let mut arguments = vec![question.into(), path(from).into_os_string(), path(to).into()];
        arguments.extend(rest.iter().map(OsStr::new).map(OsStr::to_owned));
        ask(&arguments)
    };
    venue(&path("venue"));
    let (_, rebuilt) = ask(&[OsStr::new("rebuild"), path("venue").as_os_str()]);
    assert_eq!(run("export", "venue", "a.gz", &[]).0, 0);
    assert_eq!(run("export", "venue", "a.blocks", &[]).0, 0);
    // An exported file can be exported again; `--compress` is the same as a `.gz` name.
    assert_eq!(run("export", "a.blocks", "b", &["--compress"]).0, 0);
    let bytes = |name: &str| fs::read(path(name)).unwrap();
    assert_eq!(bytes("a.gz"), bytes("b"));
    assert!(bytes("a.gz").len() < bytes("a.blocks").len());
    for (from, to) in [("a.gz", "one"), ("a.blocks", "two"), ("venue", "three")] {
        let (code, imported) = run("import", from, to, &[]);
        assert_eq!((code, &imported["head"]), (0, &rebuilt["head"]), "{imported}");
        assert_eq!(imported["blocks"], 5);
        let again = ask(&[OsStr::new("rebuild"), path(to).as_os_str()]);
        assert_eq!(again, (0, rebuilt.clone()));
        let (code, refused) = run("import", from, to, &[]);
        assert_eq!((code, refused["code"].as_str()), (1, Some("IMPORT_NOT_EMPTY")), "{refused}");
    }
    assert_eq!(run("export", "one", "c.gz", &[]).0, 0);
    assert_eq!(bytes("a.gz"), bytes("c.gz"));
}

#[test]
fn damage_to_a_compressed_file_names_the_member_and_the_byte_of_both() {
    let _turn = my_turn();
    let dir = tempfile::tempdir().unwrap();
    let (data, file) = (dir.path().join("venue"), dir.path().join("a.gz"));
    venue(&data);
    assert_eq!(ask(&[OsStr::new("export"), data.as_os_str(), file.as_os_str()]).0, 0);
    let whole = fs::read(&file).unwrap();
    let end = whole.len();
    // The second member is cut off, then a byte of its trailer changed.
    let (mut changed, cut) = ([&whole[..], &whole].concat(), end + 30);
    changed[end + 20] ^= 1;
    for (bytes, code) in [(&changed[..], "BLOCK_GAP"), (&changed[..cut], "MEMBER_TRUNCATED")] {
        fs::write(&file, bytes).unwrap();
        for question in ["verify", "rebuild"] {
            let (exit, answer) = ask(&[OsStr::new(question), file.as_os_str()]);
            assert_eq!(exit, 3, "{answer}");
            assert!(answer["error"].as_str().unwrap().contains(code), "{answer}");
            assert_eq!(answer["code"], code, "{answer}");
            assert_eq!(answer["member"], 2, "{answer}");
            assert_eq!(answer["member_offset"], end, "{answer}");
            assert!(answer["offset"].as_u64().unwrap() > 0, "{answer}");
            assert_eq!(answer["sound_until"], 6, "{answer}");
        }
    }
}

#[test]
fn salvage_is_code_0_only_if_everything_acknowledged_is_covered() {
    let _turn = my_turn();
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    venue(&path("venue"));
    let (_, rebuilt) = ask(&[OsStr::new("rebuild"), path("venue").as_os_str()]);
    let export = [OsStr::new("export").to_owned(), path("venue").into(), path("a.gz").into()];
    assert_eq!(ask(&export).0, 0);
    let log = fs::read(path("venue").join(SEGMENT)).unwrap();
    fs::remove_dir_all(path("venue").join("journal")).unwrap();
    let salvage = |archive: Option<&str>, out: &str| {
        let mut arguments = vec![OsStr::new("salvage").to_owned(), path("venue").into()];
        arguments.extend([OsStr::new("--out").to_owned(), path(out).into()]);
        if let Some(archive) = archive {
            arguments.extend([OsStr::new("--archive").to_owned(), path(archive).into()]);
        }
        ask(&arguments)
    };
    let (code, answer) = salvage(None, "nothing");
    assert_eq!((code, &answer["made"]), (3, &false.into()), "{answer}");
    let opened = LogJournal::open(&path("nothing"));
    assert!(matches!(opened, Err(OpenError::Unfinished(_))), "{opened:?}");
    let (code, answer) = salvage(Some("mistyped"), "without");
    assert_eq!((code, &answer["code"]), (1, &"SALVAGE_FAILED".into()), "{answer}");
    assert!(answer["error"].as_str().unwrap().contains("mistyped"), "{answer}");
    assert!(!path("without").exists());
    // The archive has all there was, but without the log nobody can say so.
    let (code, answer) = salvage(Some("a.gz"), "doubtful");
    assert_eq!((code, &answer["made"]), (3, &true.into()), "{answer}");
    fs::create_dir_all(path("venue").join("journal/log")).unwrap();
    fs::write(path("venue").join(SEGMENT), log).unwrap();
    // A directory name with a trailing slash, as a shell completes it.
    fs::create_dir(path("whole")).unwrap();
    let (code, answer) = salvage(Some("a.gz"), "whole/");
    assert_eq!((code, &answer["ok"], &answer["made"]), (0, &true.into(), &true.into()), "{answer}");
    assert_eq!(answer["covered"][0]["from"], "archive");
    assert_eq!(answer["head"], rebuilt["head"]);
    let again = ask(&[OsStr::new("rebuild"), path("whole").as_os_str()]);
    assert_eq!(again, (0, rebuilt));
    let names = fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name());
    assert!(names.into_iter().all(|name| !name.to_string_lossy().contains("scratch")));
}

/// A restore to an earlier moment: whole blocks only, of which the first has two records.
#[test]
fn a_copy_to_a_moment_ends_with_the_last_whole_block_before_it() {
    let _turn = my_turn();
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    venue(Path::new(&path("venue")));
    assert_eq!(ask(&["export", &path("venue"), &path("whole.gz")]).0, 0);
    let year_9999 = "9999-01-01T00:00:00Z";
    for (to, last, left_out) in [
        ("2", 2, Some(3)),
        ("3", 3, Some(4)),
        ("5", 5, Some(6)),
        ("6", 6, None),
        ("7", 6, None),
        (year_9999, 6, None),
    ] {
        for source in ["venue", "whole.gz"] {
            let [made, file] =
                [&path(&format!("{to} {source}")), &path(&format!("{to} {source}.gz"))];
            let (_, rebuilt) = ask(&["rebuild", &path(source), "--at", &last.to_string()]);
            for (question, out) in [("import", made), ("export", file)] {
                let (code, answer) = ask(&[question, &path(source), out, "--to", to]);
                assert_eq!((code, &answer["head"]), (0, &rebuilt["head"]), "{to}: {answer}");
                assert_eq!(answer["left_out_from"], serde_json::json!(left_out), "{to}");
                let (code, verified) = ask(&["verify", out]);
                assert_eq!((code, &verified["head"]), (0, &rebuilt["head"]), "{to}: {verified}");
                assert_eq!(verified["state"], rebuilt["state"], "{to}");
            }
        }
    }
    // Within the first block, and before it, nothing is made.
    for (question, to) in [("import", "1"), ("export", "0"), ("import", "0"), ("export", "1")] {
        let (code, answer) = ask(&[question, &path("venue"), &path("nothing"), "--to", to]);
        assert_eq!((code, &answer["code"]), (1, &"NOTHING_LEFT".into()), "{answer}");
        assert!(!Path::new(&path("nothing")).exists());
    }
    // A block of two records is taken whole or not at all.
    let (long, short) = (path("long"), path("short"));
    same_records_in_pairs(Path::new(&path("venue")), Path::new(&long));
    let (code, answer) = ask(&["import", &long, &short, "--to", "5"]);
    assert_eq!((code, &answer["head"]["sequence"]), (0, &4.into()), "{answer}");
    assert_eq!(answer["left_out_from"], 5);
    assert_eq!(ask(&["rebuild", &short]), ask(&["rebuild", &long, "--at", "4"]));
    // Damage behind the moment does no harm.
    let plain = path("plain");
    assert_eq!(ask(&["export", &path("venue"), &plain]).0, 0);
    let mut bytes = fs::read(&plain).unwrap();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    fs::write(&plain, bytes).unwrap();
    assert_eq!(ask(&["import", &plain, &path("damaged")]).0, 3);
    assert_eq!(ask(&["import", &plain, &path("before"), "--to", "4"]).0, 0);
}

/// A copy of a journal's records in blocks of two.
fn same_records_in_pairs(data: &Path, other: &Path) {
    let (journal, _) = LogJournal::open(data).unwrap();
    let (mut copy, _) = LogJournal::open(other).unwrap();
    let blocks = journal.read(Sequence::new(1)).map(Result::unwrap);
    let records: Vec<Record> = blocks.flat_map(|block| block.records().to_vec()).collect();
    for pair in records.chunks(2) {
        let mut builder = BlockBuilder::new(copy.head());
        for record in pair {
            assert!(builder.push(record.clone()).is_ok());
        }
        copy.append(builder.build(Results::NONE).unwrap()).unwrap();
    }
}

#[test]
fn an_empty_file_is_no_journal_and_a_file_that_is_there_is_not_written_over() {
    let _turn = my_turn();
    let dir = tempfile::tempdir().unwrap();
    let (data, empty) = (dir.path().join("data"), dir.path().join("empty"));
    venue(&data);
    fs::write(&empty, b"").unwrap();
    let empty = empty.to_str().unwrap();
    for question in ["verify", "rebuild"] {
        let (code, answer) = ask(&[question, empty]);
        assert_eq!((code, &answer["code"]), (3, &"JOURNAL_EMPTY".into()), "{answer}");
    }
    let (code, answer) = ask(&["export", data.to_str().unwrap(), empty]);
    assert_eq!((code, &answer["code"]), (1, &"CANNOT_WRITE".into()), "{answer}");
    let error = answer["error"].as_str().unwrap();
    assert!(error.ends_with("it is there already and is left alone"), "{error}");
    assert_eq!(fs::read(empty).unwrap(), b"");
}

/// A journal of a venue, then deposits, one a block, of which the second records these results.
fn recording(data: &Path, deposits: usize, second: Results) {
    venue(data);
    let (mut journal, _) = LogJournal::open(data).unwrap();
    for number in 1..=deposits {
        let mut builder = BlockBuilder::new(journal.head());
        let command = Command::Deposit { user: UserNo(0), amount: Money::new(500) };
        let sequence = journal.head().sequence.next();
        let record = Record { sequence, time: TimeMs::default(), once: None, act: None, command };
        assert!(builder.push(record).is_ok());
        let results = if number == 2 { second } else { Results::NONE };
        journal.append(builder.build(results).unwrap()).unwrap();
    }
}

/// Whose bytes are whole, but which no server could start from.
#[test]
fn what_does_not_replay_is_imported_only_unchecked_and_then_says_so() {
    let _turn = my_turn();
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let other = ResultsHash([7; 32]);
    for (name, deposits, second) in [
        ("RESULTS_DIFFER", 2, Results { through: Sequence::new(2), hash: other }),
        ("RESULTS_PLACE", 2, Results { through: Sequence::new(1), hash: other }),
        ("RESULTS_LAG", 9, Results::NONE),
    ] {
        recording(Path::new(&path(name)), deposits, second);
        let packed = path(&format!("{name}.gz"));
        assert_eq!(ask(&["export", &path(name), &packed]).0, 0);
        for (source, kind) in [(path(name), "directory"), (packed, "file")] {
            let (code, verified) = ask(&["verify", &source]);
            assert_eq!((code, &verified["code"]), (3, &name.into()), "{verified}");
            let made = path(&format!("{name} {kind}"));
            let (code, answer) = ask(&["import", &source, &made]);
            assert_eq!((code, &answer["code"]), (3, &name.into()), "{answer}");
            assert_eq!(answer["block"], verified["block"], "{answer}");
            assert!(!Path::new(&made).exists(), "nothing was made");
            let (code, answer) = ask(&["import", &source, &made, "--unchecked"]);
            assert_eq!((code, &answer["replayed"]), (0, &false.into()), "{answer}");
            assert_eq!(answer["head"]["sequence"], deposits + 6, "{answer}");
        }
    }
    // Up to a moment before what does not replay, all is well.
    let to = ["import", &path("RESULTS_DIFFER"), &path("before"), "--to", "3"];
    let (code, answer) = ask(&to);
    assert_eq!((code, &answer["replayed"]), (0, &true.into()), "{answer}");
}

/// A server's archive of this journal, in files of these numbers of blocks.
fn archive_of(data: &Path, folder: &Path, files: &[usize]) {
    fs::create_dir(folder).unwrap();
    let (journal, _) = LogJournal::open(data).unwrap();
    let mut blocks = journal.read(Sequence::new(1)).map(Result::unwrap);
    for count in files {
        let part: Vec<_> = blocks.by_ref().take(*count).collect();
        let file = folder.join(format!("{:020}.blocks.gz", part[0].first().get()));
        let part = part.into_iter().map(Ok);
        portable::export_as(portable::Form::Compressed, part, &file, |_| ()).unwrap();
    }
}

/// A change to an archive's files, given a file's name by its first record.
type Change = fn(&Path, &dyn Fn(u64) -> String);

#[test]
fn an_archive_that_no_server_would_go_on_with_is_neither_verified_nor_imported() {
    let _turn = my_turn();
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    venue(&path("venue"));
    let file = |first: u64| format!("{first:020}.blocks.gz");
    let cases: [(&str, &str, Change); 9] = [
        ("", "untouched", |_, _| ()),
        ("", "a next file without a block yet", |a, file| fs::write(a.join(file(7)), "").unwrap()),
        ("", "a file of another name", |a, _| fs::write(a.join("notes"), "").unwrap()),
        ("ARCHIVE_DAMAGED", "an empty file more", |a, file| {
            fs::write(a.join(file(99)), "").unwrap();
        }),
        ("ARCHIVE_DAMAGED", "an empty file between", |a, file| {
            fs::write(a.join(file(3)), "").unwrap();
        }),
        ("ARCHIVE_DAMAGED", "an empty first file", |a, file| {
            fs::write(a.join(file(0)), "").unwrap();
        }),
        ("ARCHIVE_BEGINNING", "the first file renamed", |a, file| {
            fs::rename(a.join(file(1)), a.join(file(2))).unwrap();
        }),
        ("ARCHIVE_BEGINNING", "the first file gone", |a, file| {
            fs::remove_file(a.join(file(1))).unwrap();
        }),
        ("ARCHIVE_GAP", "a file gone", |a, file| fs::remove_file(a.join(file(4))).unwrap()),
    ];
    for (number, (code, what, change)) in cases.into_iter().enumerate() {
        let archive = path(&format!("archive {number}"));
        archive_of(&path("venue"), &archive, &[2, 2, 1]);
        change(&archive, &file);
        let taken = Archive::open(&archive).and_then(|(archive, _)| {
            let (journal, _) = LogJournal::open(&path("venue")).unwrap();
            archive.belongs_to(&journal.reader())
        });
        assert_eq!(taken.is_ok(), code.is_empty(), "{what}: {taken:?}");
        let exit = if code.is_empty() { 0 } else { 3 };
        for more in [&[][..], &["--no-state"]] {
            let asked = [OsStr::new("verify"), archive.as_os_str()];
            let (came, answer) =
                ask(&[&asked, &more.iter().map(OsStr::new).collect::<Vec<_>>()[..]].concat());
            assert_eq!((came, answer["code"].as_str().unwrap_or_default()), (exit, code), "{what}");
        }
        let made = path(&format!("made {number}"));
        let (came, answer) = ask(&[OsStr::new("import"), archive.as_os_str(), made.as_os_str()]);
        assert_eq!((came, answer["code"].as_str().unwrap_or_default()), (exit, code), "{what}");
    }
}

#[test]
fn a_drill_restores_an_archive_and_holds_it_against_the_venue() {
    let _turn = my_turn();
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).into_os_string().into_string().unwrap();
    venue(Path::new(&path("venue")));
    fs::create_dir(path("room")).unwrap();
    // The last of five blocks is not archived yet.
    archive_of(Path::new(&path("venue")), Path::new(&path("archive")), &[2, 2]);
    let figures = path("venue.prom");
    let drill = |archive: &str, data: &str| {
        let words = ["drill", archive, "--data", data, "--room", &path("room")];
        let answer = ask(&[&words[..], &["--metric-file", &figures]].concat());
        assert_eq!(fs::read_dir(path("room")).unwrap().count(), 0, "something is left");
        answer
    };
    let (code, answer) = drill(&path("archive"), &path("venue"));
    assert_eq!(
        (code, &answer["records"], &answer["behind"]),
        (0, &5.into(), &1.into()),
        "{answer}"
    );
    let posted = fs::read_to_string(&figures).unwrap();
    assert!(posted.contains("\nopenoutcry_drill_last_success_sequence 5\n"), "{posted}");
    let stamp = "\nopenoutcry_drill_last_success_timestamp_seconds ";
    let (_, after) = posted.split_once(stamp).unwrap();
    assert!(after.lines().next().unwrap().parse::<u64>().is_ok_and(|at| at > 1_700_000_000));
    // Its reader is another user.
    assert_eq!(fs::metadata(&figures).unwrap().permissions().mode() & 0o777, 0o644);
    let (code, answer) = ask(&["drill", &path("archive")]);
    assert_eq!((code, &answer["behind"]), (0, &Value::Null), "{answer}");
    let (code, answer) = ask(&["drill", &path("venue")]);
    assert_eq!((code, &answer["code"]), (1, &"NO_ARCHIVE".into()), "{answer}");
    // A venue that went another way, and one that has less than its archive.
    for (name, last) in [("other", 7), ("shorter", 4)] {
        let (made, _) = ask(&["import", &path("venue"), &path(name), "--to", "4"]);
        assert_eq!(made, 0);
        if last > 4 {
            let (mut journal, _) = LogJournal::open(Path::new(&path(name))).unwrap();
            let mut builder = BlockBuilder::new(journal.head());
            for sequence in 5..=last {
                let command = Command::AdvanceClock;
                let sequence = Sequence::new(sequence);
                let record =
                    Record { sequence, time: TimeMs::default(), once: None, act: None, command };
                assert!(builder.push(record).is_ok());
            }
            journal.append(builder.build(Results::NONE).unwrap()).unwrap();
        }
        let (code, answer) = drill(&path("archive"), &path(name));
        assert_eq!((code, &answer["code"]), (3, &"RESTORED_DIFFERS".into()), "{name}: {answer}");
    }
    // What fails leaves the figures of the last success.
    fs::remove_file(dir.path().join("archive").join(format!("{:020}.blocks.gz", 1))).unwrap();
    let (code, answer) = drill(&path("archive"), &path("venue"));
    assert_eq!((code, &answer["code"]), (3, &"ARCHIVE_BEGINNING".into()), "{answer}");
    assert_eq!(fs::read_to_string(&figures).unwrap(), posted);
}
