//! Every command, run on one small journal; expected answers are in `tests/answers`.

#![allow(clippy::unwrap_used, clippy::panic)] // a test may stop at once

mod venue;

use std::fs;
use std::fs::File;
use std::path::Path;

use exchange::script;
use exchange::units::{Lots, Money, Tick};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use serde_json::Value;
use uuid::Uuid;
use venue::{as_written, ask, journal, run_on};

/// A day at the venue: every way in which an order can be placed, changed, traded and ended.
const DAY: &str = r#"venue USD
user ann
user bob
user cat "Cat"
deposit ann 100.00
deposit bob 100.00
+1s deposit cat 50.00
withdraw cat 10.00
market rain questions "Chove?" "Will it rain?" "Lloverá?" until +1h
publish rain
+1s ann buy yes 0.60 x10
+1s cat buy yes 0.60 x4
+1s bob sell yes 0.62 x3
ann buy yes 0.58 x2 expires +10s
+1s bob buy no 0.41 x12
+1s cat amend ?12 x1
+1s bob cancel ?12
cat amend ?12 price 0.61 x6
suspend rain
+1s reopen rain
bob sell no 0.37 x2
bob sell yes 0.58 x9 ioc stp=cancel-maker
+1s ann buy yes 0.99 x500
ann sell yes 0.70 x4
ann sell yes 0.70 x8
bob buy yes 0.70 x6
cat buy yes 0.30 x1 post-only
bob sell yes 0.20 x100 fok
+20s clock
ann amend ?11 price 0.50
cat cancel ?12
bob sell yes 0.45 x3 stp=cancel-both
cat cancel all rain
+1s ann cancel ?11
+1s market snow until +30s window 5s
publish snow
cat sell yes 0.50 x2
ann buy yes 0.50 x1
+1m clock
resolve snow no
+10s clock
void rain 0.40
"#;

fn day(folder: &Path) -> std::path::PathBuf {
    journal(folder, "day", DAY)
}

/// Runs a command on the day's journal and compares the answer with its file.
fn holds(name: &str, question: &str, rest: &str) {
    let dir = tempfile::tempdir().unwrap();
    let (code, text) = run_on(question, &day(dir.path()), rest);
    as_written(name, &format!("{text}exit code {code}\n"));
}

#[test]
fn verify_counts_what_is_whole() {
    holds("verify.txt", "verify", "");
    holds("verify-bytes.txt", "verify", "--no-state");
}

#[test]
fn rebuild_stands_at_any_moment() {
    holds("rebuild.txt", "rebuild", "");
    holds("rebuild-15.txt", "rebuild", "--at 15");
    // Both markets have open positions.
    holds("rebuild-38.txt", "rebuild", "--at 38");
    holds("rebuild-0.txt", "rebuild", "--at 0");
    holds("rebuild.json", "rebuild", "--json --at 2023-11-14T22:13:24.999Z");
}

/// Fees that an operator took are on the account and must not be counted twice.
#[test]
fn fees_are_counted_until_they_are_taken_and_then_on_the_account() {
    let dir = tempfile::tempdir().unwrap();
    let script = "venue USD
user ann
user bob
deposit ann 100.00
deposit bob 100.00
market rain maker 0.0200 taker 0.0700
publish rain
ann buy yes 0.60 x10
bob buy no 0.40 x10
take-fees bob 0.20
take-fees bob 0.20
";
    let file = journal(dir.path(), "fees", script);
    let money = |moment: &str| {
        let (code, text) = run_on("rebuild", &file, &format!("--json {moment}"));
        assert_eq!(code, 0, "{text}");
        let value: Value = serde_json::from_str(&text).unwrap();
        ["fees", "available", "accounted"].map(|name| value["money"][name].clone())
    };
    assert_eq!(money("--at 9"), ["0.216", "189.784", "200.00"]);
    assert_eq!(money(""), ["0.016", "189.984", "200.00"]);
    let (_, account) = run_on("account", &file, "3 --json");
    let account: Value = serde_json::from_str(&account).unwrap();
    assert_eq!((&account["available"], &account["fees_paid"]), (&"96.032".into(), &"0.168".into()));
    let (_, dump) = run_on("dump", &file, "--from 10");
    assert!(dump.contains("take-fees bob 0.20"), "{dump}");
}

/// A record past the end is no valid moment; any time after the last record means the end.
#[test]
fn a_state_is_asked_for_at_a_record_that_is_there() {
    let dir = tempfile::tempdir().unwrap();
    let file = day(dir.path());
    let report = |moment: &str| {
        let page = dir.path().join("page.html");
        let answer = run_on("report", &file, &format!("--market 9 {moment} -o {}", page.display()));
        drop(fs::remove_file(page));
        answer
    };
    let asked = [("rebuild", ""), ("book", "9 "), ("account", "2 "), ("explain", "11 ")];
    for (question, about) in asked {
        let at = |moment: &str| run_on(question, &file, &format!("{about}{moment} --json"));
        let (code, text) = at("--at 43");
        assert_eq!(code, 1, "{question}: {text}");
        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value["code"], "AT_BEYOND_END", "{text}");
        assert!(value["error"].as_str().unwrap().contains("ends with record 42"), "{text}");
        let end = at("");
        assert_eq!(end.0, 0, "{question}");
        assert_eq!(at("--at 42"), end, "{question}");
        assert_eq!(at("--at 9999-01-01T00:00:00Z"), end, "{question}");
    }
    assert_eq!(report("--depth-at 43").0, 1);
    assert_eq!(report("--depth-at 42 --depth-at 9999-01-01T00:00:00Z").0, 0);
    // A range may end after the journal.
    for question in ["fills", "dump"] {
        let whole = run_on(question, &file, "");
        assert_eq!(run_on(question, &file, "--to 43"), whole);
    }
}

#[test]
fn fills_are_listed_in_every_format() {
    holds("fills.txt", "fills", "");
    holds("fills.csv", "fills", "--format csv");
    holds("fills.ndjson", "fills", "--json");
    holds("fills-user.csv", "fills", "--format csv --user 4");
    holds("fills-order.csv", "fills", "--format csv --order 12");
    holds("fills-from.csv", "fills", "--format csv --from 2023-11-14T22:13:26Z");
    holds("fills-to.csv", "fills", "--format csv --to 22");
    holds("fills-market.csv", "fills", "--format csv --market 35");
}

/// A cell in the CSV form.
fn cell(field: &Field) -> String {
    match field {
        Field::Long(number) => number.to_string(),
        Field::Str(word) => word.clone(),
        Field::Bytes(id) => Uuid::from_slice(id.data()).unwrap().to_string(),
        Field::TimestampMillis(ms) => {
            let time = chrono::DateTime::from_timestamp_millis(*ms).unwrap();
            time.to_rfc3339_opts(chrono::SecondsFormat::Millis, true)
        }
        Field::Decimal(decimal) => {
            let unscaled =
                decimal.data().iter().fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte));
            match decimal.scale() {
                2 => Tick::new(u8::try_from(unscaled).unwrap()).unwrap().to_string(),
                6 => Lots::new(unscaled).to_string(),
                8 => Money::new(i64::try_from(unscaled).unwrap()).to_string(),
                other => panic!("a decimal of {other} places"),
            }
        }
        other => panic!("a column of another type: {other:?}"),
    }
}

/// Compares the Parquet columns of a journal's fills with the CSV ones.
fn columns_hold(path: &Path) {
    let file = path.with_extension("parquet");
    let csv = run_on("fills", path, "--format csv").1;
    let rest = format!("--format parquet -o {} --json", file.display());
    let (code, answer) = run_on("fills", path, &rest);
    let answer: Value = serde_json::from_str(&answer).unwrap();
    assert_eq!((code, &answer["fills"]), (0, &(csv.lines().count() - 1).into()));
    let reader = SerializedFileReader::new(File::open(&file).unwrap()).unwrap();
    let mut lines = csv.lines();
    let schema = reader.metadata().file_metadata().schema();
    let names: Vec<&str> = schema.get_fields().iter().map(|field| field.name()).collect();
    assert_eq!(lines.next().unwrap(), names.join(","));
    for row in reader.get_row_iter(None).unwrap() {
        let row = row.unwrap();
        let cells: Vec<String> = row.get_column_iter().map(|(_, field)| cell(field)).collect();
        assert_eq!(lines.next().unwrap(), cells.join(","));
    }
    assert_eq!(lines.next(), None);
}

#[test]
fn typed_columns_say_what_the_text_says() {
    let dir = tempfile::tempdir().unwrap();
    columns_hold(&day(dir.path()));
    // In this journal a buyer of no is the maker.
    columns_hold(&journal(dir.path(), "pairs", PAIRS));
}

#[test]
fn files_are_made_whole_or_not_at_all() {
    let dir = tempfile::tempdir().unwrap();
    let (path, out) = (day(dir.path()), dir.path().join("fills.csv"));
    let written = format!("--format csv -o {}", out.display());
    assert_eq!(run_on("fills", &path, &format!("{written} --user 99")).0, 1);
    assert_eq!(run_on("fills", &path, "--format parquet").0, 2);
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    assert_eq!(run_on("fills", &path, &written).0, 0);
    assert_eq!(fs::read_to_string(&out).unwrap(), run_on("fills", &path, "--format csv").1);
    assert_eq!(run_on("fills", &path, &written).0, 1, "an existing file is left alone");
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
}

#[test]
fn a_book_stands_at_any_moment() {
    holds("book.txt", "book", "9 --at 14");
    holds("book-1.json", "book", "9 --at 18 --levels 1 --json");
    holds("book-end.txt", "book", "9");
}

#[test]
fn an_account_stands_at_any_moment() {
    holds("account.txt", "account", "2 --at 24");
    holds("account.json", "account", "3 --json");
}

#[test]
fn an_order_is_explained() {
    // Partly filled as the resting order, amended, refused, crossed, cancelled.
    for order in [11, 12, 13, 14, 15, 21, 22, 23, 24, 25, 26, 28, 32, 37] {
        holds(&format!("explain-{order}.txt"), "explain", &order.to_string());
    }
    holds("explain-11-then.txt", "explain", "11 --at 14");
    holds("explain.json", "explain", "12 --json");
}

/// Ann bets both ways with cash; contracts she receives of one outcome pair with those she holds of
/// the other.
const PAIRS: &str = "venue USD
user ann
user bob
deposit ann 100.00
deposit bob 100.00
market rain
publish rain
ann buy yes 0.50 x5
ann buy no 0.45 x3
+1s bob sell yes 0.50 x5
+1s bob buy yes 0.55 x2
ann sell yes 0.90 x3
bob buy yes 0.55 x1
+1s ann cancel ?12
";

#[test]
fn pairs_that_merge_are_explained() {
    let dir = tempfile::tempdir().unwrap();
    let file = journal(dir.path(), "pairs", PAIRS);
    for order in ["8", "9", "12"] {
        let (code, text) = run_on("explain", &file, order);
        assert_eq!(code, 0);
        as_written(&format!("explain-pairs-{order}.txt"), &text);
    }
}

/// Orders whose time, or whose owner's heartbeat, was over before any clock record said so.
const OVERDUE: &str = "venue USD
user ann
user bob
deposit ann 100.00
deposit bob 100.00
market rain
publish rain
ann buy yes 0.40 x1 expires +10s
ann buy yes 0.40 x2 expires +10s
+20s ann cancel ?8
ann heartbeat 30s
ann buy yes 0.40 x3 expires +10s
+40s ann heartbeat 5s
ann buy yes 0.40 x4
ann buy yes 0.40 x5
+10s bob buy no 0.60 x1 ioc
ann heartbeat off
ann buy yes 0.50 x6 expires +10s
ann buy yes 0.50 x7 expires +10s
+20s close rain
";

#[test]
fn who_found_an_overdue_order_is_said() {
    let dir = tempfile::tempdir().unwrap();
    let file = journal(dir.path(), "overdue", OVERDUE);
    let says = |order: &str| run_on("explain", &file, order).1.replace("\n    ", " ");
    let first = "It was then first in the queue at its price.";
    for (order, how, ahead) in [
        ("8", "Its owner's cancel found that its time had been over since", first),
        // By the owner's heartbeat.
        ("9", "13:30.000 UTC; record 13 found it so.", first),
        ("12", "13:50.000 UTC; record 13 found it so.", "1 order with 2 contracts was still"),
        // By an incoming order, which took them off one by one.
        ("14", "Its owner's heartbeat ran out", first),
        ("15", "Its owner's heartbeat ran out", first),
        // By the close, which cancelled them together.
        ("18", "; record 20 found it so.", first),
        ("19", "; record 20 found it so.", "1 order with 6 contracts was still ahead of it."),
    ] {
        let said = says(order);
        assert!(said.contains(how) && said.contains(ahead), "{said}");
    }
}

/// Three orders at one price cancelled by one record, and a fill-or-kill order blocked by an order
/// of its own owner.
const TOGETHER: &str = "venue USD
user ann
user bob
deposit ann 100.00
deposit bob 100.00
market rain
publish rain
ann buy yes 0.40 x1
bob buy yes 0.40 x2
ann buy yes 0.40 x4
bob sell yes 0.60 x3
ann sell yes 0.70 x2
bob sell yes 0.80 x5
ann buy yes 0.80 x8 fok
ann buy yes 0.30 x1
bob buy yes 0.30 x1
ann cancel ?15
ann buy yes 0.50 x1
ann buy yes 0.50 x2
ann sell yes 0.50 x1 stp=cancel-maker
close rain
";

#[test]
fn orders_that_end_together_had_each_other_ahead() {
    let dir = tempfile::tempdir().unwrap();
    let file = journal(dir.path(), "together", TOGETHER);
    // Line breaks of the text may be anywhere.
    let says = |order: &str| run_on("explain", &file, order).1.replace("\n    ", " ");
    let (first, last, whole) = (says("8"), says("10"), says("14"));
    assert!(first.contains("It was then first in the queue at its price."), "{first}");
    assert!(last.contains("2 orders with 3 contracts were still ahead of it."), "{last}");
    // The orders ahead were cancelled before.
    assert!(says("16").contains("It was then first in the queue at its price."));
    // An order matched after those ahead of it were gone was first.
    let met = says("19");
    assert!(met.contains("It was then first in the queue at its price."), "{met}");
    let stopped = "it could have traded 3 contracts, up to its owner's own order of record 12, at \
                   0.70, which it was not to trade with nor to pass.";
    assert!(whole.contains(stopped), "{whole}");
}

#[test]
fn a_repeated_request_is_no_order() {
    let dir = tempfile::tempdir().unwrap();
    let script = "venue USD\nuser ann\ndeposit ann 100.00\nmarket rain\npublish rain\n\
                  ann buy yes 0.60 x5 client \"mm-1\"\nann buy yes 0.60 x5 client \"mm-1\"\n";
    let file = journal(dir.path(), "repeated", script);
    let (code, text) = run_on("explain", &file, "6");
    assert!(code == 0 && text.contains("OPEN"), "{text}");
    let (code, text) = run_on("explain", &file, "7 --json");
    assert_eq!(code, 1);
    assert!(text.contains("record 6 did it"), "{text}");
}

#[test]
fn a_dump_reads_back() {
    holds("dump.txt", "dump", "");
    holds("dump-part.txt", "dump", "--from 15 --to 16");
    holds("dump.ndjson", "dump", "--from 21 --to 22 --json");
    let dir = tempfile::tempdir().unwrap();
    let (_, text) = run_on("dump", &day(dir.path()), "");
    assert_eq!(script::parse(&text).unwrap(), script::parse(DAY).unwrap());
}

/// Runs `diff` on two journals.
fn parted(first: &str, second: &str, rest: &str) -> (i32, String) {
    let dir = tempfile::tempdir().unwrap();
    let one = journal(dir.path(), "one", first);
    let other = journal(dir.path(), "other", second);
    run_on("diff", &one, &format!("{} {rest}", other.display()))
}

#[test]
fn journals_part_where_they_part() {
    assert_eq!(parted(DAY, DAY, "").0, 0);
    let (code, text) = parted(DAY, &DAY.replace("amend ?12 x1", "amend ?12 x2"), "");
    as_written("diff.txt", &format!("{text}exit code {code}\n"));
    let (head, _) = DAY.split_once("suspend").unwrap();
    let (code, text) = parted(head, DAY, "");
    as_written("diff-prefix.txt", &format!("{text}exit code {code}\n"));
    let (code, text) = parted(DAY, head, "--json");
    assert_eq!(code, 3);
    let value: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((&value["result"], &value["shared"]), (&"second_is_prefix".into(), &18.into()));
    assert_eq!((&value["first"]["sequence"], &value["second"]), (&19.into(), &Value::Null));
}

#[test]
fn who_was_never_there_is_an_error_and_not_silence() {
    let dir = tempfile::tempdir().unwrap();
    let file = day(dir.path());
    let wrong = "0190a1b2-0000-7000-8000-000000000000";
    for rest in [
        format!("fills {wrong} --market"),
        format!("fills {wrong} --user"),
        format!("fills {wrong} --order"),
        format!("book {wrong}"),
        format!("account {wrong}"),
        format!("explain {wrong}"),
        "explain 10".to_owned(),
        "account 9".to_owned(),
        "book 9 --at 8".to_owned(),
    ] {
        let mut words: Vec<&str> = rest.split(' ').collect();
        let question = words.remove(0);
        if words.len() == 2 {
            words.swap(0, 1);
        }
        let rest = if question == "book" && words[0] == "--at" {
            "9 --at 8".into()
        } else {
            words.join(" ")
        };
        assert_eq!(run_on(question, &file, &rest).0, 1, "{question} {rest}");
    }
    for rest in ["--at yesterday", "--at 1969-12-31T23:59:59Z", "--at -1"] {
        assert_eq!(run_on("rebuild", &file, rest).0, 2, "{rest}");
    }
    assert_eq!(run_on("fills", &file, "--json --format csv").0, 2);
    assert_eq!(run_on("explain", &file, "ann").0, 2);
}

#[test]
fn damage_ends_a_stream_with_code_3_on_stderr() {
    let dir = tempfile::tempdir().unwrap();
    let file = day(dir.path());
    let mut bytes = fs::read(&file).unwrap();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    fs::write(&file, &bytes).unwrap();
    let path = file.to_str().unwrap();
    for question in ["fills", "dump"] {
        let output = ask(&[question, path, "--json"]);
        assert_eq!(output.status.code(), Some(3));
        let fault: Value = serde_json::from_slice(&output.stderr).unwrap();
        assert_eq!((&fault["block"], &fault["sound_until"]), (&41.into(), &40.into()), "{fault}");
        for line in String::from_utf8(output.stdout).unwrap().lines() {
            assert!(serde_json::from_str::<Value>(line).is_ok(), "{line}");
        }
    }
    let output = ask(&["diff", path, path, "--json"]);
    assert_eq!(output.status.code(), Some(3));
}

#[test]
fn help_teaches() {
    let output = ask(&["--help"]);
    assert_eq!(output.status.code(), Some(0));
    let help = String::from_utf8(output.stdout).unwrap();
    for taught in ["explain journal.blocks", "lock", "Exit codes", "2026-08-10T18:00:00Z"] {
        assert!(help.contains(taught), "{taught}");
    }
}
