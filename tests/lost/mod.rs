//! What is done to the files of a running server: it stops taking commands, names the file, and
//! says how to keep what was answered; for what can be made anew it goes on and says so.

use std::fs::{self, OpenOptions};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::ChildStderr;
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::{KEY, Server, order, serve_archived, traded};

/// Long for anything that is to come.
const LONG: Duration = Duration::from_mins(1);

fn truncate(file: &Path) {
    OpenOptions::new().write(true).open(file).unwrap().set_len(100).unwrap();
}

/// Asks until `wanted` is in the answer.
fn wait_for(server: &Server, path: &str, wanted: &str) -> String {
    let began = Instant::now();
    loop {
        let (_, said) = server.ask_at("GET", path, KEY, None);
        if said.contains(wanted) {
            return said;
        }
        assert!(began.elapsed() < LONG, "{wanted} in {said}");
        sleep(Duration::from_millis(20));
    }
}

/// Reads the server's log up to the line that says what to do; returns the rest too, which must
/// stay open for the server to write to.
fn advice(server: &mut Server) -> (String, BufReader<ChildStderr>) {
    let mut log = BufReader::new(server.process.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains("while the server runs") {
        line.clear();
        assert!(log.read_line(&mut line).unwrap() > 0, "no advice");
    }
    (line, log)
}

/// What is lost, how, and which file is named first.
type Case = (&'static str, fn(&Path), &'static str);

const SEGMENT: &str = "journal/log/00000000000000000001.blocks";

const KEPT: [Case; 6] = [
    ("deleted", |data| fs::remove_file(data.join(SEGMENT)).unwrap(), "journal/log"),
    ("deleted", |data| fs::remove_file(data.join("refused")).unwrap(), "refused"),
    ("deleted", |data| fs::remove_dir_all(data).unwrap(), "journal/log"),
    ("truncated", |data| truncate(&data.join(SEGMENT)), "journal/log"),
    (
        "replaced",
        |data| {
            fs::copy(data.join(SEGMENT), data.join("other")).unwrap();
            fs::rename(data.join("other"), data.join(SEGMENT)).unwrap();
        },
        "journal/log",
    ),
    ("moved", |data| fs::rename(data, data.with_extension("away")).unwrap(), "journal/log"),
];

#[test]
fn a_file_lost_under_a_server_halts_it_and_the_advice_in_its_log_keeps_all_answers() {
    for (fate, happens, file) in KEPT {
        let dir = tempfile::tempdir().unwrap();
        let data = dir.path().join("data");
        let mut server = Server::start(&data);
        let (keys, market) = traded(&server);
        happens(&data);
        // Answers until the halt count too.
        let bet = order(&market, "yes", "0.01", "1");
        let mut placed = 0;
        let began = Instant::now();
        while server.ask("POST", "/trading/orders", &keys[0], Some(&bet)).0 == 200 {
            placed += 1;
            assert!(began.elapsed() < LONG, "{file} {fate}: nobody noticed");
            sleep(Duration::from_millis(20));
        }
        wait_for(&server, "/readyz", "FILES_CHANGED");
        let orders = server.get("/trading/orders", &keys[0]);
        let (advice, _log) = advice(&mut server);
        assert!(advice.contains(&format!("{file} was {fate}")), "{advice}");
        assert!(advice.contains("is lost"), "{advice}");
        server.signal("TERM");
        assert_eq!(server.process.wait().unwrap().code(), Some(1), "{file} {fate}");
        if fate == "moved" {
            fs::rename(data.with_extension("away"), &data).unwrap();
        }
        let server = Server::start(&data);
        assert_eq!(server.get("/trading/orders", &keys[0]), orders, "{file} {fate} after {placed}");
        assert_eq!(server.ask("POST", "/trading/orders", &keys[0], Some(&bet)).0, 200);
    }
}

#[test]
fn a_lost_archive_is_behind_and_named_while_trading_goes_on_and_counts_again_once_it_is_back() {
    let dir = tempfile::tempdir().unwrap();
    let (data, archive) = (dir.path().join("data"), dir.path().join("archive"));
    let server = Server::from(serve_archived(&data, &archive));
    let (keys, market) = traded(&server);
    wait_for(&server, "/metrics", "openoutcry_archive_behind_records 0\n");
    assert!(!server.ask_at("GET", "/readyz", "", None).1.contains("warnings"));
    let away = archive.with_extension("away");
    fs::rename(&archive, &away).unwrap();
    // Without any traffic.
    wait_for(&server, "/metrics", "openoutcry_archive_sequence 0\n");
    wait_for(&server, "/metrics", "openoutcry_archive_failing 1\n");
    let ready = wait_for(&server, "/readyz", "ARCHIVE_FAILING");
    assert!(ready.contains("\"status\":\"ready\""), "{ready}");
    let bet = order(&market, "yes", "0.01", "1");
    assert_eq!(server.ask("POST", "/trading/orders", &keys[0], Some(&bet)).0, 200);
    fs::rename(&away, &archive).unwrap();
    wait_for(&server, "/metrics", "openoutcry_archive_behind_records 0\n");
    assert!(!wait_for(&server, "/readyz", "ready").contains("warnings"));
    let (status, log) = server.stop();
    assert_eq!(status.code(), Some(0), "{log}");
    assert!(log.contains("ARCHIVE_CHANGED"), "{log}");
}

#[test]
fn lost_pages_of_history_are_named_and_made_anew_by_the_next_start() {
    let dir = tempfile::tempdir().unwrap();
    for lost in ["pages", "db"] {
        let data = dir.path().join(lost);
        let server = Server::start(&data);
        let (keys, market) = traded(&server);
        fs::remove_file(data.join("history").join(lost)).unwrap();
        wait_for(&server, "/readyz", "HISTORY_DAMAGED");
        let bet = order(&market, "yes", "0.01", "1");
        assert_eq!(server.ask("POST", "/trading/orders", &keys[0], Some(&bet)).0, 200);
        let orders = server.get("/trading/orders", &keys[0]);
        assert_eq!(server.stop().0.code(), Some(0));
        let server = Server::start(&data);
        assert_eq!(server.get("/trading/orders", &keys[0]), orders);
        assert!(!server.ask_at("GET", "/readyz", "", None).1.contains("warnings"));
    }
}
