//! The binary as an operator uses it: started, traded on, killed, started again.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on stops")]

mod chunks;
mod clock;
mod lost;
mod starting;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use exchange::Exchange;
use exchange::command::Record;
use exchange::units::Sequence;
use journal::Journal;
use journal::block::Block;
use journal::directory::LogJournal;
use journal::import::import;
use journal::portable::PortableFile;
use journal::store::Prefix;
use serde_json::{Value, json};

const BINARY: &str = env!("CARGO_BIN_EXE_openoutcry");
const KEY: &str = "test-operator-key-of-enough-characters";

/// A running server; killed when dropped.
struct Server {
    process: Child,
    address: String,
    _stdout: BufReader<std::process::ChildStdout>,
    /// The lines printed before it was listening.
    said: Vec<String>,
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

impl Server {
    fn start(data: &Path) -> Server {
        Server::from(serve(data))
    }

    #[allow(clippy::zombie_processes, reason = "waited for when dropped")]
    fn from(mut command: Command) -> Server {
        let mut process = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut stdout = BufReader::new(process.stdout.take().unwrap());
        let mut said = Vec::new();
        loop {
            let mut line = String::new();
            assert!(stdout.read_line(&mut line).unwrap() > 0, "it ended: {said:?}");
            if let Some(address) = line.trim_end().strip_prefix("listening on http://") {
                let address = address.to_owned();
                return Server { process, address, _stdout: stdout, said };
            }
            said.push(line.trim_end().to_owned());
        }
    }

    fn ask(&self, method: &str, path: &str, key: &str, body: Option<&Value>) -> (u16, String) {
        self.ask_at(method, &format!("/api/v1{path}"), key, body)
    }

    fn ask_at(&self, method: &str, path: &str, key: &str, body: Option<&Value>) -> (u16, String) {
        let (status, _, body) = self.send(method, path, key, "", body);
        (status, body)
    }

    /// Sends a request; returns status, head and body. `more` holds further header lines.
    fn send(
        &self,
        method: &str,
        path: &str,
        key: &str,
        more: &str,
        body: Option<&Value>,
    ) -> (u16, String, String) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let body = body.map_or_else(String::new, Value::to_string);
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: test\r\nX-API-Key: {key}\r\n\
             Content-Type: application/json\r\nConnection: close\r\n{more}\
             Content-Length: {}\r\n\r\n{body}",
            body.len()
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let body = if head.contains("transfer-encoding: chunked") {
            String::from_utf8(chunks::joined(body.as_bytes()).unwrap()).unwrap()
        } else {
            body.to_owned()
        };
        (status, head.to_owned(), body)
    }

    fn get(&self, path: &str, key: &str) -> String {
        let (status, body) = self.ask("GET", path, key, None);
        assert_eq!(status, 200, "{path}: {body}");
        body
    }

    fn post(&self, path: &str, key: &str, body: &Value) -> Value {
        let (status, answer) = self.ask("POST", path, key, Some(body));
        assert!(status == 200 || status == 201, "{path}: {status} {answer}");
        serde_json::from_str(&answer).unwrap()
    }

    fn signal(&self, name: &str) {
        let id = self.process.id().to_string();
        assert!(Command::new("kill").args(["-s", name, &id]).status().unwrap().success());
    }

    /// Stops it in order; returns the exit status and the log.
    fn stop(mut self) -> (ExitStatus, String) {
        self.signal("TERM");
        let mut log = String::new();
        self.process.stderr.take().unwrap().read_to_string(&mut log).unwrap();
        (self.process.wait().unwrap(), log)
    }
}

fn serve(data: &Path) -> Command {
    let mut command = starting::serve(data);
    command.env("OPENOUTCRY_OPERATOR_KEY", KEY);
    command
}

/// Makes a venue with a market and two traders who have traded: their keys and the market's id.
fn traded(server: &Server) -> (Vec<String>, String) {
    let texts = json!({"pt": "Vai chover?", "en": "Will it rain?", "es": "¿Va a llover?"});
    let category = json!({"name": "Weather", "slug": "weather"});
    let category = server.post("/admin/categories", KEY, &category)["id"].clone();
    let event = server.post(
        "/admin/events",
        KEY,
        &json!({"titles": texts, "subTitles": texts, "descriptions": texts,
                "images": ["https://assets.example.org/rain.png"], "categoryIds": [category]}),
    );
    let market = server.post(
        "/admin/markets",
        KEY,
        &json!({"questions": texts, "descriptions": texts, "eventId": event["id"],
                "logo": "https://assets.example.org/rain.png", "categoryIds": [category],
                "outcomes": [{"id": "yes", "text": texts}, {"id": "no", "text": texts}],
                "deadline": "2099-01-01T00:00:00.000Z"}),
    );
    let market = market["id"].as_str().unwrap().to_owned();
    server.post(&format!("/admin/markets/{market}/publish"), KEY, &json!({}));
    let mut keys = Vec::new();
    for name in ["ann", "bob"] {
        let profile = json!({"profileName": name, "profilePic": "https://assets.example.org/p"});
        let user = server.post("/admin/users", KEY, &profile)["id"].clone();
        let user = user.as_str().unwrap();
        let amount = json!({"amount": "1000"});
        server.post(&format!("/admin/users/{user}/deposits"), KEY, &amount);
        let key = json!({"role": "trader", "label": "first"});
        let key = server.post(&format!("/admin/users/{user}/keys"), KEY, &key);
        keys.push(key["key"].as_str().unwrap().to_owned());
    }
    for (key, outcome, price, quantity) in [
        (0, "yes", "0.60", "10"),
        (1, "no", "0.45", "4.5"),
        (1, "no", "0.30", "7"),
        (0, "yes", "0.55", "1"),
    ] {
        server.post("/trading/orders", &keys[key], &order(&market, outcome, price, quantity));
    }
    let orders: Value = serde_json::from_str(&server.get("/trading/orders", &keys[0])).unwrap();
    let id = orders["orders"][0]["id"].as_str().unwrap();
    assert_eq!(server.ask("DELETE", &format!("/trading/orders/{id}"), &keys[0], None).0, 200);
    (keys, market)
}

fn order(market: &str, outcome: &str, price: &str, quantity: &str) -> Value {
    json!({"marketId": market, "outcomeId": outcome, "side": "BUY", "orderType": "LIMIT",
           "price": price, "quantity": quantity})
}

/// The answer of every GET, without the timestamps of snapshots of the book.
fn every_read(server: &Server, keys: &[String], market: &str) -> Vec<String> {
    let mut seen = Vec::new();
    for key in keys {
        for path in ["/trading/orders", "/trading/positions", "/trading/fills", "/trading/balance"]
        {
            seen.push(server.get(path, key));
        }
    }
    for path in ["/markets/public/list", "/events/public/list", "/categories/public/list"] {
        seen.push(server.get(path, &keys[0]));
    }
    for path in [format!("/markets/{market}"), format!("/markets/{market}/activity")] {
        seen.push(server.get(&path, &keys[0]));
    }
    for path in ["/admin/users", "/admin/markets"] {
        seen.push(server.get(path, KEY));
    }
    for outcome in ["yes", "no"] {
        let path = format!("/trading/books/{market}/depth?outcome={outcome}&levels=50");
        let mut depth: Value = serde_json::from_str(&server.get(&path, &keys[0])).unwrap();
        assert!(depth.as_object_mut().unwrap().remove("timestamp").is_some());
        seen.push(depth.to_string());
    }
    seen
}

#[test]
fn a_killed_server_shows_the_same_bytes_after_its_restart() {
    let data = tempfile::tempdir().unwrap();
    let mut server = Server::start(data.path());
    let (keys, market) = traded(&server);
    let before = every_read(&server, &keys, &market);
    for _ in 0..3 {
        server.signal("KILL");
        server.process.wait().unwrap();
        server = Server::start(data.path());
        assert_eq!(every_read(&server, &keys, &market), before);
    }
    server.post("/trading/orders", &keys[1], &order(&market, "no", "0.50", "1"));
    assert_ne!(every_read(&server, &keys, &market), before, "the comparison sees an order");
}

/// A client whose connection broke repeats its request, and the server may have been killed in
/// between.
#[test]
fn requests_repeated_after_a_kill_are_replayed_and_not_executed_again() {
    let data = tempfile::tempdir().unwrap();
    let mut server = Server::start(data.path());
    let (keys, market) = traded(&server);
    let users = server.get("/admin/users", KEY);
    let users: Value = serde_json::from_str(&users).unwrap();
    let user = users["users"][0]["id"].as_str().unwrap().to_owned();
    let mut named = order(&market, "yes", "0.95", "12");
    named["clientOrderId"] = json!("mm-1");
    let profile = json!({"profileName": "eve", "profilePic": "https://assets.example.org/p"});
    let asked = [
        (&keys[0], "/trading/orders".to_owned(), "", named),
        (&keys[0], "/trading/orders".to_owned(), "a", order(&market, "yes", "0.95", "1")),
        (&KEY.to_owned(), "/admin/users".to_owned(), "b", profile),
        (&KEY.to_owned(), format!("/admin/users/{user}/deposits"), "c", json!({"amount": "7"})),
        (&KEY.to_owned(), format!("/admin/markets/{market}/suspend"), "d", json!({})),
    ];
    let ask = |server: &Server, repeat: bool| -> Vec<(u16, String)> {
        let answers = asked.iter().map(|(key, path, once, body)| {
            let once = if once.is_empty() {
                String::new()
            } else {
                format!("Idempotency-Key: {once}\r\n")
            };
            let at = format!("/api/v1{path}");
            let (status, head, answer) = server.send("POST", &at, key, &once, Some(body));
            assert_eq!(head.contains("idempotent-replay: true"), repeat, "{path}: {head}");
            assert!(status == 200 || status == 201, "{path}: {answer}");
            (status, answer)
        });
        answers.collect()
    };
    let first = ask(&server, false);
    let before = every_read(&server, &keys, &market);
    for _ in 0..2 {
        server.signal("KILL");
        server.process.wait().unwrap();
        server = Server::start(data.path());
        assert_eq!(ask(&server, true), first);
        assert_eq!(every_read(&server, &keys, &market), before);
    }
}

#[test]
fn a_start_from_a_snapshot_shows_the_same_bytes_as_one_without() {
    let data = tempfile::tempdir().unwrap();
    let snapshots = data.path().join("snapshots");
    let often = || {
        let mut command = serve(data.path());
        command.args(["--snapshot-every", "1"]);
        Server::from(command)
    };
    let mut server = often();
    let (keys, market) = traded(&server);
    let before = every_read(&server, &keys, &market);
    let views = |entry: std::io::Result<std::fs::DirEntry>| {
        entry.unwrap().path().extension().is_some_and(|extension| extension == "views")
    };
    while !std::fs::read_dir(&snapshots).unwrap().any(views) {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    // A kill may leave an unfinished snapshot.
    std::fs::write(snapshots.join("00000000000000000099.state.part"), "half").unwrap();
    server.signal("KILL");
    server.process.wait().unwrap();

    let server = Server::start(data.path());
    assert_eq!(every_read(&server, &keys, &market), before);
    assert!(!snapshots.join("00000000000000000099.state.part").exists());
    let (status, log) = server.stop();
    assert_eq!(status.code(), Some(0));
    assert!(log.contains("a snapshot was restored"), "{log}");

    // States without views are normal, as the views of all but the newest two are removed.
    for old in ["01", "02", "03"] {
        std::fs::write(snapshots.join(format!("000000000000000000{old}.state")), "old").unwrap();
        drop(std::fs::remove_file(snapshots.join(format!("000000000000000000{old}.views"))));
    }
    for path in std::fs::read_dir(&snapshots).unwrap().map(|entry| entry.unwrap().path()) {
        if path.extension().is_some_and(|extension| extension == "views") {
            std::fs::write(path, "damaged").unwrap();
        }
    }
    let (_, log) = Server::start(data.path()).stop();
    // A kill may leave one pair more than are kept.
    let passed_over = log.matches("snapshot not used").count();
    assert!((2..=3).contains(&passed_over), "{log}");

    std::fs::remove_dir_all(&snapshots).unwrap();
    let server = Server::start(data.path());
    assert_eq!(every_read(&server, &keys, &market), before);
    let (_, log) = server.stop();
    assert!(!log.contains("a snapshot was restored"), "{log}");
}

/// The state digest of a journal, by a plain replay without a server.
fn replayed(data: &Path) -> (Sequence, String) {
    let (journal, _) = LogJournal::open_existing(data).unwrap();
    let mut exchange = Exchange::new();
    for block in journal.read(Sequence::ZERO.next()) {
        for record in block.unwrap().records() {
            exchange.apply(record, &mut Vec::new()).unwrap();
            exchange.check().unwrap();
        }
    }
    (exchange.sequence(), exchange.digest().unwrap().to_string())
}

#[test]
fn a_stopped_server_exits_0_and_its_journal_replays_to_the_digest_it_logged() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path());
    traded(&server);
    let (status, log) = server.stop();
    assert_eq!(status.code(), Some(0), "{log}");
    let (sequence, digest) = replayed(data.path());
    assert!(sequence > Sequence::new(10));
    let message = format!("stopped sequence={sequence} state_digest={digest}");
    assert!(log.contains(&message), "{message}\n{log}");
}

/// What `openoutcry-replay import --to` makes is a venue of that moment, which trades on.
#[test]
fn a_server_starts_on_a_journal_restored_to_an_earlier_moment() {
    let data = tempfile::tempdir().unwrap();
    let restored = tempfile::tempdir().unwrap();
    let server = Server::start(data.path());
    traded(&server);
    server.stop();
    let (journal, _) = LogJournal::open(data.path()).unwrap();
    let to = Sequence::new(journal.head().sequence.get() - 3);
    let keep = Box::new(move |record: &Record| record.sequence <= to);
    let blocks = Prefix::of(journal.read(Sequence::new(1)), keep);
    let head = import(restored.path(), blocks, |_| ()).unwrap();
    assert_eq!(head.sequence, to, "a server's blocks had a record each");
    drop(journal);
    let server = Server::start(restored.path());
    let sequence = format!("\"sequence\":{to},");
    let said = server.get("/admin/audit/head", KEY);
    assert!(said.replace(' ', "").contains(&sequence), "{sequence} {said}");
    server.post(
        "/admin/users",
        KEY,
        &json!({"profileName": "new", "profilePic": "https://assets.example.org/n.png"}),
    );
    assert_eq!(server.stop().0.code(), Some(0));
}

#[test]
fn a_second_server_on_the_same_folder_is_refused_with_the_reason() {
    let data = tempfile::tempdir().unwrap();
    let first = Server::start(data.path());
    let second = serve(data.path()).output().unwrap();
    assert_eq!(second.status.code(), Some(1));
    let message = String::from_utf8(second.stderr).unwrap();
    assert!(message.contains(&data.path().display().to_string()), "{message}");
    assert!(message.to_lowercase().contains("another process"), "{message}");
    assert_eq!(first.ask("GET", "/trading/balance", KEY, None).0, 200, "the first goes on");
}

/// A server that was just killed may hold its address for a moment longer.
#[test]
fn an_address_in_use_is_tried_again_for_a_while() {
    let data = tempfile::tempdir().unwrap();
    let held = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = held.local_addr().unwrap().to_string();
    let on = |folder: &str| {
        let mut command = starting::plain();
        command.args(["--init", "--listen", &address, "--data"]).arg(data.path().join(folder));
        command.env("OPENOUTCRY_OPERATOR_KEY", KEY);
        command
    };
    let began = std::time::Instant::now();
    let refused = on("one").output().unwrap();
    let message = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(refused.status.code(), Some(1), "{message}");
    assert!(message.contains(&format!("cannot listen on {address}: ")), "{message}");
    assert!(began.elapsed() >= Duration::from_secs(2) && !data.path().join("one").exists());
    let frees = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(500));
        drop(held);
    });
    let server = Server::from(on("two"));
    frees.join().unwrap();
    assert_eq!(server.address, address);
}

#[test]
fn an_operator_key_is_generated_and_printed_once() {
    let data = tempfile::tempdir().unwrap();
    let keyless = || {
        let mut command = serve(data.path());
        command.env_remove("OPENOUTCRY_OPERATOR_KEY");
        command
    };
    let first = Server::from(keyless());
    let [line] = first.said.as_slice() else { panic!("{:?}", first.said) };
    let key = line.strip_prefix("operator key: ").unwrap().to_owned();
    assert_eq!(first.ask("GET", "/admin/users", &key, None).0, 200);
    assert_eq!(first.ask("GET", "/admin/users", KEY, None).0, 401);
    first.stop();

    let second = Server::from(keyless());
    assert_eq!(second.said, Vec::<String>::new());
    assert_eq!(second.ask("GET", "/admin/users", &key, None).0, 200);
    second.stop();

    // A key from the environment replaces the generated one.
    let third = Server::start(data.path());
    assert_eq!(third.ask("GET", "/admin/users", KEY, None).0, 200);
    assert_eq!(third.ask("GET", "/admin/users", &key, None).0, 401, "the new key replaced it");
}

#[test]
fn an_operator_may_go_back_to_an_earlier_key() {
    let data = tempfile::tempdir().unwrap();
    let other = "another-operator-key-of-enough-characters";
    for (key, old) in [(KEY, None), (other, Some(KEY)), (KEY, Some(other))] {
        let mut command = serve(data.path());
        command.env("OPENOUTCRY_OPERATOR_KEY", key);
        let server = Server::from(command);
        assert_eq!(server.ask("GET", "/admin/users", key, None).0, 200);
        if let Some(old) = old {
            assert_eq!(server.ask("GET", "/admin/users", old, None).0, 401);
        }
        server.stop();
    }
}

fn run(arguments: &[&str], key: Option<&str>) -> Output {
    let mut command = Command::new(BINARY);
    starting::without_settings(&mut command);
    command.args(arguments);
    if let Some(key) = key {
        command.env("OPENOUTCRY_OPERATOR_KEY", key);
    }
    command.output().unwrap()
}

#[test]
fn wrong_usage_exits_2_and_says_what_is_wrong() {
    let data = tempfile::tempdir().unwrap();
    let folder = data.path().join("untouched");
    let folder = folder.to_str().unwrap();
    let cases: [(&[&str], Option<&str>, &str); 7] = [
        (&["serve", "--no-such-flag"], None, "--no-such-flag"),
        (&["serve", "--listen", "nowhere", "--data", folder], None, "must be an IP address"),
        (&["serve", "--rate-reads", "many", "--data", folder], None, "0 for no limit"),
        (&["serve", "--data", folder], Some("short"), "OPENOUTCRY_OPERATOR_KEY"),
        (
            // Nobody has this address, so that no server stays if the key is not refused.
            &["serve", "--listen", "192.0.2.1:1", "--data", folder],
            Some("choose-a-long-secret-of-your-own-here"),
            "a key of the demo or of an example",
        ),
        (
            &["serve", "--listen", "192.0.2.1:1", "--data", folder],
            Some("00000000000000000000000000000000"),
            "OPENOUTCRY_OPERATOR_KEY has too little variety",
        ),
        (&["serve", "--demo", "--listen", "0.0.0.0:0", "--data", folder], None, "loopback"),
    ];
    for (arguments, key, message) in cases {
        let output = run(arguments, key);
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {stderr}");
        assert!(stderr.contains(message), "{arguments:?}: {stderr}");
    }
    assert!(!Path::new(folder).exists(), "wrong usage touches nothing");
}

#[test]
fn a_start_that_removes_what_was_never_acknowledged_warns() {
    use std::os::unix::fs::FileExt;
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path());
    server.get("/trading/balance", KEY);
    server.stop();
    let quiet = |log: &str| assert!(!log.contains("WARN"), "{log}");
    quiet(&Server::start(data.path()).stop().1);
    let segment = data.path().join("journal/log/00000000000000000001.blocks");
    let end = std::fs::read(&segment).unwrap().iter().rposition(|byte| *byte != 0).unwrap() as u64;
    let segment = std::fs::File::options().write(true).open(segment).unwrap();
    segment.write_all_at(b"OPOUTCRY\x01\0\0\0\x01", end + 20).unwrap();
    let (status, log) = Server::start(data.path()).stop();
    assert_eq!(status.code(), Some(0));
    let warned = |line: &str| line.contains("WARN") && line.contains("never acknowledged");
    assert_eq!(log.lines().filter(|line| warned(line)).count(), 1, "{log}");
    quiet(&Server::start(data.path()).stop().1);
}

#[test]
fn a_traders_key_is_not_the_operators_and_the_message_names_the_variable() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path());
    let (keys, _) = traded(&server);
    server.stop();
    let said = refused(data.path(), &[], &keys[0], 2);
    assert!(said.contains("the key in OPENOUTCRY_OPERATOR_KEY is another user's"), "{said}");
}

/// Nothing of a copy would be left where the original is lost, and the next start would take the
/// directory for an archive.
#[test]
fn an_archive_in_the_data_directory_is_wrong_usage() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    std::fs::create_dir(path("there")).unwrap();
    std::os::unix::fs::symlink(path("there"), path("link")).unwrap();
    let equal = "is the data directory";
    let inside = "is inside the data directory";
    for (data, archive, why) in [
        ("new", "new", equal),
        ("new", "new/.", equal),
        ("new", "new/archive", inside),
        ("there", "link", equal),
        ("link", "there/a/b", inside),
    ] {
        // Nobody has this address, so that no server stays if this is not refused.
        let (data, archive) = (path(data), path(archive));
        let output = run(
            &["serve", "--listen", "192.0.2.1:1", "--data", &data, "--archive", &archive],
            None,
        );
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{archive}: {stderr}");
        assert!(stderr.contains(why), "{archive}: {stderr}");
    }
    // Beside it, only the address is refused.
    let listen = ["serve", "--listen", "192.0.2.1:1", "--init", "--data", &path("there")];
    for archive in ["therefore", "other"] {
        let output = run(&[&listen[..], &["--archive", &path(archive)]].concat(), None);
        assert_eq!(output.status.code(), Some(1), "{archive}");
    }
}

/// Starts a server that must refuse this folder; returns its error output.
fn refused(data: &Path, more: &[&str], key: &str, code: i32) -> String {
    let folder = data.to_str().unwrap();
    let serve = ["serve", "--init", "--listen", "127.0.0.1:0", "--data", folder];
    let output = run(&[&serve, more].concat(), Some(key));
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(code), "{stderr}");
    stderr
}

#[test]
fn a_demo_and_a_venue_do_not_mix() {
    let data = tempfile::tempdir().unwrap();
    let public = ["demo-olga-operator-of-a-local-venue-5", "demo-davi-trader-on-a-local-venue-4"];
    for (key, more) in public.into_iter().flat_map(|key| [(key, &[][..]), (key, &["--demo"])]) {
        assert!(refused(data.path(), more, key, 2).contains("a key of the demo"));
    }
    assert_eq!(std::fs::read_dir(data.path()).unwrap().count(), 0, "nothing was begun");
    let first = Server::start(data.path());
    let rain = json!({"name": "Rain", "slug": "rain"});
    assert_eq!(first.ask("POST", "/admin/categories", KEY, Some(&rain)).0, 201);
    first.stop();
    let other = "another-operator-key-of-enough-characters";
    assert!(refused(data.path(), &["--demo"], other, 1).contains("not a demo"));
    for (key, more) in public.into_iter().flat_map(|key| [(key, &[][..]), (key, &["--demo"])]) {
        assert!(refused(data.path(), more, key, 2).contains("a key of the demo"));
    }
    // Nothing was written: the operator's key still works, and the demo's keys do not.
    let mut command = serve(data.path());
    command.env_remove("OPENOUTCRY_OPERATOR_KEY");
    let second = Server::from(command);
    assert_eq!(second.ask("GET", "/admin/users", KEY, None).0, 200);
    for key in public {
        assert_eq!(second.ask("GET", "/admin/users", key, None).0, 401);
    }
}

/// A demo's server; its key for the operator is that of the other tests.
fn demo(data: &Path, flow: &str) -> Server {
    let mut command = serve(data);
    command.args(["--demo", "--demo-flow", flow]);
    Server::from(command)
}

/// The last record that an answer shows.
fn sequence(server: &Server) -> u64 {
    let (status, head, _) = server.send("GET", "/api/v1/time", KEY, "", None);
    assert_eq!(status, 200);
    let line = head.lines().find_map(|line| line.strip_prefix("sequence: ")).unwrap();
    line.trim().parse().unwrap()
}

#[test]
fn a_demo_has_sixty_days_behind_it_and_its_people_trade_unless_told_not_to() {
    let data = tempfile::tempdir().unwrap();
    let server = demo(data.path(), "off");
    let read = |path: &str| -> Value { serde_json::from_str(&server.get(path, KEY)).unwrap() };
    let markets = read("/markets/public/list?highlighted=true&limit=20");
    let market = markets["markets"].as_array().unwrap().last().unwrap();
    let id = market["id"].as_str().unwrap();
    let to = chrono::DateTime::parse_from_rfc3339(read("/time")["time"].as_str().unwrap()).unwrap();
    let from = (to - chrono::TimeDelta::days(60)).format("%Y-%m-%dT%H:%M:%SZ");
    let candles = read(&format!("/markets/{id}/candles?interval=1d&from={from}"));
    let candles = candles["candles"].as_array().unwrap();
    let traded = candles.iter().filter(|candle| !candle["close"].is_null()).count();
    assert!(candles.len() >= 60 && traded >= 45, "{traded} of {}", candles.len());
    assert_ne!(read(&format!("/markets/{id}/stats"))["volume24h"], "0");
    let places = read("/leaderboard?by=pnl&period=week&limit=20");
    assert_eq!(places["places"].as_array().unwrap().len(), 20);
    // Pictures are the server's own.
    let logo = market["logo"].as_str().unwrap().strip_prefix(&format!("http://{}", server.address));
    let (status, head, picture) = server.send("GET", logo.unwrap(), KEY, "", None);
    assert!(status == 200 && head.contains("image/svg+xml"), "{head}");
    assert!(picture.starts_with("<svg "), "{picture}");
    let before = sequence(&server);
    std::thread::sleep(Duration::from_secs(2));
    assert_eq!(sequence(&server), before, "nobody trades");
    assert!(server.stop().0.success());

    let server = demo(data.path(), "on");
    while sequence(&server) < before + 20 {
        std::thread::sleep(Duration::from_millis(20));
    }
    let (status, log) = server.stop();
    assert!(status.success(), "{log}");
    assert!(!log.contains("the demo's past is written"), "{log}");
}

#[test]
fn help_of_serve_names_its_flags_and_variables() {
    let output = run(&["serve", "--help"], None);
    assert_eq!(output.status.code(), Some(0));
    let help = String::from_utf8(output.stdout).unwrap();
    for word in [
        "--data",
        "OPENOUTCRY_DATA",
        "--listen",
        "OPENOUTCRY_LISTEN",
        "--init",
        "OPENOUTCRY_INIT",
        "--demo",
        "--demo-flow",
        "OPENOUTCRY_OPERATOR_KEY",
        "OPENOUTCRY_LOG",
        "--log-format",
        "--archive",
        "OPENOUTCRY_ARCHIVE",
        "--snapshot-every",
        "--accept-clock",
        "OPENOUTCRY_ACCEPT_CLOCK",
        "OPENOUTCRY_SNAPSHOT_EVERY",
        "SIGTERM",
        "3 the journal is refused",
    ] {
        assert!(help.contains(word), "{word} in\n{help}");
    }
}

#[test]
fn completions_name_the_commands_and_their_flags() {
    for shell in ["bash", "zsh", "fish"] {
        let output = run(&["completions", shell], None);
        assert_eq!(output.status.code(), Some(0));
        let script = String::from_utf8(output.stdout).unwrap();
        for word in ["openoutcry", "serve", "admin", "completions", "log-format", "rate-writes"] {
            assert!(script.contains(word), "{word} for {shell}");
        }
    }
    assert_eq!(run(&["completions", "dos"], None).status.code(), Some(2));
    // Closing the pipe early, as `head` does, is not a failure.
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut unread = Command::new(BINARY);
    unread.args(["completions", "bash"]).stdout(writer);
    assert_eq!(unread.status().unwrap().code(), Some(0));
}

#[test]
fn a_command_whose_answer_nobody_takes_has_an_exit_code_of_its_own() {
    let full = || std::fs::File::options().write(true).open("/dev/full").unwrap();
    for (arguments, no_room, unheard) in [
        (&["--help"][..], 1, 0),
        (&["--version"], 1, 0),
        (&["serve", "--help"], 1, 0),
        (&["completions", "zsh"], 1, 0),
        (&["nonsense"], 2, 2),
        (&["admin", "--url", "nowhere", "users", "list"], 2, 2),
        (&["play", "--url", "http://127.0.0.1:1", "/nonexistent"], 2, 2),
    ] {
        let code = |stdout: Stdio, stderr: Stdio| {
            let mut command = Command::new(BINARY);
            command.args(arguments).stdout(stdout).stderr(stderr);
            command.env("OPENOUTCRY_OPERATOR_KEY", KEY).status().unwrap().code()
        };
        assert_eq!(code(full().into(), Stdio::null()), Some(no_room), "{arguments:?}");
        assert_eq!(code(full().into(), full().into()), Some(no_room), "{arguments:?}");
        let [out, err] = [(); 2].map(|()| std::io::pipe().unwrap().1.into());
        assert_eq!(code(out, err), Some(unheard), "{arguments:?}");
    }
}

#[test]
fn what_an_operator_did_is_in_the_log() {
    let data = tempfile::tempdir().unwrap();
    let mut command = serve(data.path());
    command.args(["--log-format", "json", "--log", "debug"]);
    let server = Server::from(command);
    let (keys, _) = traded(&server);
    server.get("/trading/balance", KEY);
    server.get("/trading/balance", &keys[0]);
    server.post("/account/keys", KEY, &json!({"scope": "operator", "label": "spare"}));
    cancel_all_by_stream(&server, &keys[0]);
    let (_, log) = server.stop();
    let lines = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let (acts, others): (Vec<Value>, Vec<Value>) = lines
        .filter(|line| line["us"].is_u64())
        .partition(|line| line["message"] == "an operator acted");
    // What comes by a stream has its line, too.
    let by_stream =
        |line: &&Value| line["route"] == "/trading/orders" && line["method"] == "DELETE";
    let cancelled = others.iter().find(by_stream).unwrap();
    assert!(cancelled["sequence"].is_u64() && cancelled["user"].is_string(), "{cancelled}");
    let deposit = acts.iter().find(|act| act["route"] == "/admin/users/{userId}/deposits").unwrap();
    assert_eq!(
        (&deposit["method"], &deposit["status"]),
        (&"POST".into(), &200.into()),
        "{deposit}"
    );
    assert!(deposit["sequence"].is_u64() && deposit["us"].is_u64(), "{deposit}");
    assert!(["user", "request_id"].iter().all(|name| deposit[name].is_string()), "{deposit}");
    // Reads and what others do are not acts of operators.
    let (own, admin): (Vec<_>, Vec<_>) = acts
        .iter()
        .map(|act| act["route"].as_str().unwrap())
        .partition(|at| *at == "/account/keys");
    assert!(own.len() == 1 && admin.iter().all(|at| at.starts_with("/admin/")), "{log}");
    assert!(keys.iter().all(|key| !log.contains(key.as_str())) && !log.contains(KEY), "{log}");
}

/// Cancels a user's orders by a command on a WebSocket.
fn cancel_all_by_stream(server: &Server, key: &str) {
    let request = tungstenite::http::Request::builder()
        .uri("ws://localhost/api/v1/stream")
        .header("Host", "localhost")
        .header("Connection", "Upgrade")
        .header("Upgrade", "websocket")
        .header("Sec-WebSocket-Version", "13")
        .header("Sec-WebSocket-Key", tungstenite::handshake::client::generate_key())
        .header("X-API-Key", key)
        .body(())
        .unwrap();
    let stream = TcpStream::connect(&server.address).unwrap();
    let (mut socket, _) = tungstenite::client(request, stream).unwrap();
    socket.send(tungstenite::Message::text(r#"{"id":"all","op":"cancelAll"}"#)).unwrap();
    while !socket.read().unwrap().into_text().unwrap().contains("\"all\"") {}
}

/// A collector of traces: its address, and the spans that come. It answers, or never does.
fn collector(answers: bool) -> (String, Receiver<Value>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (sender, spans) = channel();
    thread::spawn(move || {
        let mut kept = Vec::new();
        for stream in listener.incoming() {
            let mut stream = BufReader::new(stream.unwrap());
            let mut head = String::new();
            while !head.ends_with("\r\n\r\n") && stream.read_line(&mut head).unwrap() > 0 {}
            assert!(head.starts_with("POST /v1/traces "), "{head}");
            let head = head.to_lowercase();
            let length = head.split("content-length: ").nth(1).unwrap();
            let length: usize = length.split("\r\n").next().unwrap().parse().unwrap();
            let mut body = vec![0; length];
            stream.read_exact(&mut body).unwrap();
            let told: Value = serde_json::from_slice(&body).unwrap();
            for span in told["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap() {
                drop(sender.send(span.clone()));
            }
            if answers {
                let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}";
                stream.get_mut().write_all(answer).unwrap();
            } else {
                kept.push(stream);
            }
        }
    });
    (url, spans)
}

/// The value of a span's attribute.
fn attribute<'a>(span: &'a Value, key: &str) -> &'a Value {
    let all = span["attributes"].as_array().unwrap();
    let found = all.iter().find(|attribute| attribute["key"] == key).unwrap();
    found["value"].as_object().unwrap().values().next().unwrap()
}

#[test]
fn a_collector_is_told_a_span_of_each_request() {
    let data = tempfile::tempdir().unwrap();
    let (url, spans) = collector(true);
    let mut command = serve(data.path());
    command.env("OTEL_EXPORTER_OTLP_ENDPOINT", &url);
    let server = Server::from(command);
    let (keys, _) = traded(&server);
    let parent = "traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\r\n";
    server.send("GET", "/api/v1/trading/balance", &keys[0], parent, None);
    let mut placed = None;
    let last = loop {
        let span = spans.recv_timeout(Duration::from_mins(1)).unwrap();
        if span["name"] == "POST /trading/orders" {
            placed = Some(span);
        } else if span["name"] == "GET /trading/balance" {
            break span;
        }
    };
    assert_eq!(last["traceId"], "0af7651916cd43dd8448eb211c80319c");
    assert_eq!(last["parentSpanId"], "b7ad6b7169203331");
    let placed = placed.unwrap();
    assert_eq!(attribute(&placed, "http.response.status_code"), "200");
    assert_eq!(attribute(&placed, "http.route"), "/trading/orders");
    assert!(attribute(&placed, "openoutcry.sequence").as_str().unwrap().parse::<u64>().is_ok());
    assert_eq!(attribute(&placed, "user.id").as_str().unwrap().len(), 36);
    let time = |member: &str| placed[member].as_str().unwrap().parse::<u64>().unwrap();
    assert!(time("startTimeUnixNano") < time("endTimeUnixNano"), "{placed}");
}

#[test]
fn a_collector_that_hangs_changes_nothing_but_a_count() {
    let data = tempfile::tempdir().unwrap();
    let (url, spans) = collector(false);
    let mut command = serve(data.path());
    command.args(["--otlp-endpoint", &url]);
    let server = Server::from(command);
    let (keys, _) = traded(&server);
    // It hangs from the first spans on.
    spans.recv_timeout(Duration::from_mins(1)).unwrap();
    // More than wait for it.
    let mut stream = TcpStream::connect(&server.address).unwrap();
    let ask = format!("GET /api/v1/time HTTP/1.1\r\nHost: x\r\nX-API-Key: {}\r\n\r\n", keys[0]);
    let mut answers = BufReader::new(stream.try_clone().unwrap());
    let reader = thread::spawn(move || {
        let mut line = String::new();
        let mut good = 0;
        while good < 9_000 {
            line.clear();
            assert!(answers.read_line(&mut line).unwrap() > 0);
            good += line.matches("HTTP/1.1 ").count();
        }
    });
    stream.write_all(ask.repeat(9_000).as_bytes()).unwrap();
    reader.join().unwrap();
    let (_, page) = server.ask_at("GET", "/metrics", KEY, None);
    let lost = page.lines().find_map(|line| line.strip_prefix("openoutcry_spans_lost "));
    assert!(lost.unwrap().parse::<u64>().unwrap() > 0, "{page}");
    assert!(server.stop().0.success());
}

#[test]
fn limits_set_by_flags_are_reported_by_the_server() {
    let data = tempfile::tempdir().unwrap();
    let mut command = serve(data.path());
    command.args(["--rate-reads", "7:9", "--rate-cancels", "0"]);
    let server = Server::from(command);
    let (keys, _) = traded(&server);
    let limits: Value = serde_json::from_str(&server.get("/account/limits", &keys[0])).unwrap();
    assert_eq!((&limits["reads"]["perSecond"], &limits["reads"]["burst"]), (&json!(7), &json!(9)));
    assert_eq!((&limits["writes"]["perSecond"], &limits["cancels"]), (&json!(2000), &Value::Null));
    let ready = server.ask_at("GET", "/readyz", KEY, None);
    assert_eq!(ready, (200, "{\"status\":\"ready\"}".to_owned()));
    let (status, page) = server.ask_at("GET", "/metrics", KEY, None);
    assert!(status == 200 && page.contains("\nprocess_resident_memory_bytes "), "{page}");
}

/// The number of connections is bounded by the descriptor limit, so that clients holding every
/// connection leave descriptors for the journal.
#[test]
fn clients_holding_every_connection_cannot_stop_the_journal() {
    let data = tempfile::tempdir().unwrap();
    let limited = format!(
        "ulimit -n 200; exec {BINARY} serve --init --listen 127.0.0.1:0 --data {}",
        data.path().display()
    );
    let mut command = Command::new("sh");
    starting::without_settings(&mut command);
    command.args(["-c", &limited]).env("OPENOUTCRY_OPERATOR_KEY", KEY);
    let server = Server::from(command);
    let (keys, market) = traded(&server);
    let bet = order(&market, "yes", "0.10", "1").to_string();
    let mut trader = TcpStream::connect(&server.address).unwrap();
    let mut place = || {
        write!(
            trader,
            "POST /api/v1/trading/orders HTTP/1.1\r\nHost: test\r\nX-API-Key: {}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{bet}",
            keys[0],
            bet.len()
        )
        .unwrap();
        let mut status = [0; 15];
        trader.read_exact(&mut status).unwrap();
        let status = String::from_utf8(status.to_vec()).unwrap();
        while !trader_answer_ended(&mut trader) {}
        status
    };
    assert_eq!(place(), "HTTP/1.1 200 OK");
    let greedy: Vec<_> =
        (0..300).filter_map(|_| TcpStream::connect(&server.address).ok()).collect();
    assert!(greedy.len() > 200, "only {} connections were made", greedy.len());
    for _ in 0..20 {
        assert_eq!(place(), "HTTP/1.1 200 OK");
    }
    drop(greedy);
    let (status, log) = server.stop();
    assert_eq!(status.code(), Some(0), "{log}");
}

/// Reads one byte; true if it ended the answer's JSON.
fn trader_answer_ended(stream: &mut TcpStream) -> bool {
    let mut byte = [0; 1];
    stream.read_exact(&mut byte).unwrap();
    byte == *b"}"
}

/// A limit on file size stands for a full disk: a write past it fails the same way.
#[test]
fn a_full_disk_refuses_orders_serves_reads_and_loses_nothing_answered() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path());
    let (keys, market) = traded(&server);
    server.stop();
    let (before, _) = replayed(data.path());

    let limited = format!(
        "ulimit -f 8000; exec {BINARY} serve --init --listen 127.0.0.1:0 --data {}",
        data.path().display()
    );
    let mut command = Command::new("sh");
    starting::without_settings(&mut command);
    command.args(["-c", &limited]).env("OPENOUTCRY_OPERATOR_KEY", KEY);
    let server = Server::from(command);
    let filler = "x".repeat(4000);
    let texts = json!({"pt": filler, "en": filler, "es": filler});
    let short = json!({"pt": "a", "en": "a", "es": "a"});
    let event = json!({"titles": short, "subTitles": short, "descriptions": texts, "images": []});
    let mut answered = 0_u32;
    let (status, problem) = loop {
        match server.ask("POST", "/admin/events", KEY, Some(&event)) {
            (201, _) => answered += 1,
            refused => break refused,
        }
        assert!(answered < 20_000, "the disk never filled");
    };
    let problem: Value = serde_json::from_str(&problem).unwrap();
    assert_eq!((status, &problem["code"]), (503, &json!("JOURNAL_UNAVAILABLE")));
    let bet = order(&market, "yes", "0.10", "1");
    let again = server.ask("POST", "/trading/orders", &keys[0], Some(&bet));
    assert_eq!(again.0, 503, "closed until a restart: {}", again.1);
    let seen = every_read(&server, &keys, &market);
    server.signal("KILL");
    drop(server);

    let server = Server::start(data.path());
    assert_eq!(every_read(&server, &keys, &market), seen);
    let (ended, logged) = server.stop();
    assert_eq!(ended.code(), Some(0), "{logged}");
    let (sequence, _) = replayed(data.path());
    let all_answered = before.advanced(u64::from(answered));
    assert_eq!(sequence, all_answered, "all that was answered, nothing refused");
}

fn serve_archived(data: &Path, archive: &Path) -> Command {
    let mut command = serve(data);
    command.arg("--archive").arg(archive);
    command
}

/// The blocks of a journal and of its archive, which must be the same.
fn same_blocks(data: &Path, archive: &Path) -> Vec<Block> {
    let (journal, _) = LogJournal::open_existing(data).unwrap();
    let blocks = |read: &mut dyn Iterator<Item = _>| -> Vec<Block> {
        read.map(|block: Result<journal::Durable<Block>, _>| (*block.unwrap()).clone()).collect()
    };
    let journaled = blocks(&mut journal.read(Sequence::ZERO.next()));
    let archived = blocks(&mut PortableFile::open(archive).unwrap());
    assert_eq!(archived, journaled);
    journaled
}

#[test]
fn an_archive_is_the_journal_and_refused_for_another() {
    let dir = tempfile::tempdir().unwrap();
    let (data, archive) = (dir.path().join("data"), dir.path().join("deep/archive"));
    let server = Server::from(serve_archived(&data, &archive));
    traded(&server);
    let (status, log) = server.stop();
    assert_eq!(status.code(), Some(0), "{log}");
    assert!(log.contains("the archive is complete"), "{log}");
    assert!(same_blocks(&data, &archive).len() > 10);

    let elsewhere = dir.path().join("elsewhere");
    let server = Server::start(&elsewhere);
    traded(&server);
    server.stop();
    let other = serve_archived(&elsewhere, &archive).output().unwrap();
    let message = String::from_utf8(other.stderr).unwrap();
    assert_eq!(other.status.code(), Some(1), "{message}");
    assert!(message.contains("ARCHIVE_OTHER_JOURNAL"), "{message}");
    same_blocks(&data, &archive);
}

/// `/dev/full` stands for the archive's disk: every write to it fails as on a full disk.
#[test]
fn trading_goes_on_with_a_full_archive_disk_and_the_archive_catches_up() {
    let dir = tempfile::tempdir().unwrap();
    let (data, archive) = (dir.path().join("data"), dir.path().join("archive"));
    std::fs::create_dir(&archive).unwrap();
    let segment = archive.join("00000000000000000001.blocks.gz");
    std::os::unix::fs::symlink("/dev/full", &segment).unwrap();

    let server = Server::from(serve_archived(&data, &archive));
    let (keys, market) = traded(&server);
    std::thread::sleep(Duration::from_millis(1_500));
    let bet = order(&market, "yes", "0.10", "1");
    assert_eq!(server.ask("POST", "/trading/orders", &keys[0], Some(&bet)).0, 200);
    let (status, log) = server.stop();
    assert_eq!(status.code(), Some(1), "{log}");
    for message in
        ["not archived; trading goes on", "the archive ends before the journal", "behind="]
    {
        assert!(log.contains(message), "{message} in\n{log}");
    }
    assert!(log.contains("stopped sequence="), "the venue ended in order: {log}");

    std::fs::remove_file(&segment).unwrap();
    let server = Server::from(serve_archived(&data, &archive));
    // Long enough for the archiver to see the file missing.
    std::thread::sleep(Duration::from_millis(400));
    assert_eq!(server.ask("POST", "/trading/orders", &keys[0], Some(&bet)).0, 200);
    let (status, log) = server.stop();
    assert_eq!(status.code(), Some(0), "{log}");
    assert!(same_blocks(&data, &archive).len() > 10);
}
