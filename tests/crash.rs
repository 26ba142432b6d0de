//! The real server on a real disk, killed with `SIGKILL` under load and during starts: every
//! answered command is in the journal once and gets its answer again, every other one is there
//! whole or not at all. What a disk may do to it beside, `simulator/` shows.
//!
//! `OPENOUTCRY_CRASH_KILLS=1000 cargo test --release --test crash -- --nocapture` for a long run,
//! `OPENOUTCRY_CRASH_SEED` for other moments.

#![allow(clippy::unwrap_used, clippy::panic)] // a test may unwrap

#[allow(dead_code)]
#[path = "routes/dice.rs"]
mod dice;
mod starting;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, ChildStdout, Command as Process, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{scope, sleep};
use std::time::Duration;

use exchange::command::{Command, IdempotencyKey};
use exchange::effect::Effect;
use exchange::ids::{OrderId, OrderNo};
use exchange::units::Sequence;
use journal::block::Block;
use journal::directory::read_only;
use journal::portable::PortableFile;
use journal::replay::{Replayer, replay};
use serde_json::{Value, json};
use uuid::Uuid;

use dice::Dice;

const KEY: &str = "crash-operator-key-of-enough-characters";
/// Kills in a plain `cargo test`.
const KILLS_SHORT: u64 = 14;
/// Kills per folder: the journal grows, and every audit replays it.
const KILLS_A_VENUE: u64 = 100;
/// Longest load before a kill, and that of one in eight, which meets snapshots and the archive.
const LOADS_US_MAX: [u64; 2] = [60_000, 1_500_000];
/// About as long as a start takes.
const START_US_MAX: u64 = 250_000;
/// One kill in so many comes before the server listens.
const IN_START_ONE_IN: usize = 5;
const TRADERS: usize = 3;
const CONNECTIONS_EACH: usize = 2;
/// Operations of a batch.
const BATCH: usize = 3;

/// A request, and what was answered.
#[derive(Debug, Clone)]
struct Asked {
    key: String,
    method: &'static str,
    path: String,
    /// Its idempotency key; cancels have none.
    once: String,
    /// Records that it makes.
    records: usize,
    body: Value,
    answer: Option<Answer>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Answer {
    status: u64,
    /// The header `Sequence`.
    sequence: u64,
    replayed: bool,
    body: String,
}

impl Asked {
    fn post(key: &str, path: String, once: u64, body: Value) -> Asked {
        let (key, once, answer) = (key.to_owned(), format!("once-{once}"), None);
        Asked { key, method: "POST", path, once, records: 1, body, answer }
    }

    fn done(&self) -> Option<&Answer> {
        self.answer.as_ref().filter(|answer| matches!(answer.status, 200 | 201))
    }

    fn value(&self) -> Value {
        let answer = self.done().unwrap_or_else(|| panic!("refused: {self:?}"));
        serde_json::from_str(&answer.body).unwrap()
    }
}

/// A kept connection.
struct Wire(BufReader<TcpStream>);

impl Wire {
    fn open(address: &str) -> io::Result<Wire> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        // A server that is silent for so long hangs.
        stream.set_read_timeout(Some(Duration::from_mins(1)))?;
        Ok(Wire(BufReader::new(stream)))
    }

    /// Asks and waits; after an error nobody knows what became of it.
    fn ask(&mut self, asked: &Asked) -> io::Result<Answer> {
        let Asked { key, method, path, once, body, .. } = asked;
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let once =
            if once.is_empty() { String::new() } else { format!("Idempotency-Key: {once}\r\n") };
        let request = format!(
            "{method} /api/v1{path} HTTP/1.1\r\nHost: test\r\nX-API-Key: {key}\r\n{once}\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        self.0.get_mut().write_all(request.as_bytes())?;
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if self.0.read_line(&mut head)? == 0 {
                return Err(ErrorKind::UnexpectedEof.into());
            }
        }
        let number = |before: &str| {
            let text = head.split_once(before)?.1.split([' ', '\r']).next()?;
            text.parse::<u64>().ok()
        };
        let (status, length) = (number("HTTP/1.1 "), number("\r\ncontent-length: "));
        let length = length.and_then(|length| usize::try_from(length).ok());
        let mut body = vec![0; length.ok_or(ErrorKind::InvalidData)?];
        self.0.read_exact(&mut body)?;
        // The parts of a batch say beside what they said at first that they are repeated.
        let body = String::from_utf8(body).map_err(|_| ErrorKind::InvalidData)?;
        let body = body.replace(",\"idempotentReplay\":true", "");
        let sequence = number("\r\nsequence: ").unwrap_or(0);
        let replayed = head.contains("\r\nidempotent-replay: true");
        Ok(Answer { status: status.ok_or(ErrorKind::InvalidData)?, sequence, replayed, body })
    }
}

/// A server; killed when dropped.
struct Server {
    process: Child,
    stdout: BufReader<ChildStdout>,
    address: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

impl Server {
    /// Starts it without waiting.
    #[allow(clippy::zombie_processes, reason = "waited for when dropped")]
    fn spawn(folder: &Path) -> Server {
        let mut process = starting::serve(&folder.join("data"))
            .args(["--rate-reads", "0", "--rate-writes", "0", "--rate-cancels", "0"])
            // Snapshots are so frequent that kills hit their writing and starts begin with them.
            .args(["--snapshot-every", "50", "--archive"])
            .arg(folder.join("archive"))
            .env("OPENOUTCRY_OPERATOR_KEY", KEY)
            .stdout(Stdio::piped())
            .stderr(File::create(folder.join("log")).unwrap())
            .spawn()
            .unwrap();
        let stdout = BufReader::new(process.stdout.take().unwrap());
        Server { process, stdout, address: String::new() }
    }

    fn listening(mut self, folder: &Path) -> Server {
        while self.address.is_empty() {
            let mut line = String::new();
            let read = self.stdout.read_line(&mut line).unwrap();
            assert!(read > 0, "no start: {}", logged(folder));
            if let Some(address) = line.trim_end().strip_prefix("listening on http://") {
                address.clone_into(&mut self.address);
            }
        }
        self
    }

    fn kill(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

fn logged(folder: &Path) -> String {
    fs::read_to_string(folder.join("log")).unwrap()
}

/// One folder, killed again and again.
struct Venue<'a> {
    folder: &'a Path,
    dice: &'a mut Dice,
    /// Makes each request unlike all others.
    unlike: AtomicU64,
    /// Keys of the traders, their ids, and the market.
    traders: Vec<(String, String)>,
    market: String,
    /// All that was asked for and answered, or must be asked for again.
    asked: Vec<Asked>,
    /// Records of the set-up.
    set_up: u64,
    /// The journal at the last audit.
    blocks: Vec<Block>,
}

impl Venue<'_> {
    /// The traders and the market of a new venue.
    fn set_up(&mut self) {
        let mut server = Server::spawn(self.folder).listening(self.folder);
        let mut wire = Wire::open(&server.address).unwrap();
        let (unlike, mut last) = (&self.unlike, 0);
        let mut made = |path: String, body: Value| {
            let once = unlike.fetch_add(1, Ordering::Relaxed);
            let mut asked = Asked::post(KEY, path, once, body);
            if asked.path.ends_with("/keys") {
                // A key is shown once, so it takes no idempotency key.
                asked.once.clear();
            }
            asked.answer = Some(wire.ask(&asked).unwrap());
            let value = asked.value();
            last = asked.answer.map_or(0, |answer| answer.sequence);
            value
        };
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let (words, logo) = (json!({"pt": "a", "en": "a", "es": "a"}), "https://example.org/a.png");
        let outcomes = json!([{"id": "yes", "text": words}, {"id": "no", "text": words}]);
        let market = json!({"questions": words, "descriptions": words, "logo": logo,
            "outcomes": outcomes, "deadline": "2099-01-01T00:00:00.000Z"});
        self.market = text(&made("/admin/markets".into(), market)["id"]);
        made(format!("/admin/markets/{}/publish", self.market), json!({}));
        for number in 0..TRADERS {
            let name = json!({"profileName": format!("trader {number}"), "profilePic": logo});
            let user = text(&made("/admin/users".into(), name)["id"]);
            made(format!("/admin/users/{user}/deposits"), json!({"amount": "1000000"}));
            let key = json!({"role": "trader", "label": "key"});
            let key = text(&made(format!("/admin/users/{user}/keys"), key)["key"]);
            self.traders.push((key, user));
        }
        self.set_up = last;
        server.kill();
        self.audit();
    }

    fn order(&self, dice: &mut Dice) -> Value {
        let outcome = dice.one_of(&["yes", "no"]);
        let price = format!("0.{}", 45 + dice.below(11));
        json!({"marketId": self.market, "outcomeId": outcome, "side": "BUY", "orderType": "LIMIT",
            "price": price, "quantity": "1"})
    }

    /// Asks until the server is gone: a trader's orders, batches and cancels, or deposits.
    fn load(&self, address: &str, who: usize, mut dice: Dice, ending: &AtomicBool) -> Vec<Asked> {
        let (mut all, mut own) = (Vec::new(), Vec::new());
        let Ok(mut wire) = Wire::open(address) else { return all };
        loop {
            let once = self.unlike.fetch_add(1, Ordering::Relaxed);
            let mut asked = match (self.traders.get(who), dice.below(10)) {
                (None, _) => {
                    let (_, user) = dice.one_of(&self.traders);
                    let path = format!("/admin/users/{user}/deposits");
                    Asked::post(KEY, path, once, json!({"amount": format!("1.{:02}", once % 99)}))
                }
                (Some((key, _)), 0..=2) if !own.is_empty() => {
                    let order: String = own.swap_remove(dice.below(own.len()));
                    let path = format!("/trading/orders/{order}");
                    let mut cancel = Asked::post(key, path, once, Value::Null);
                    cancel.once.clear();
                    Asked { method: "DELETE", ..cancel }
                }
                (Some((key, _)), 3) => {
                    let some = [(); BATCH].map(|()| json!({"place": self.order(&mut dice)}));
                    let (path, body) =
                        ("/trading/orders/batch".into(), json!({"operations": some}));
                    Asked { records: BATCH, ..Asked::post(key, path, once, body) }
                }
                (Some((key, _)), _) => {
                    Asked::post(key, "/trading/orders".into(), once, self.order(&mut dice))
                }
            };
            match wire.ask(&asked) {
                Ok(answer) => asked.answer = Some(answer),
                Err(error) => {
                    assert!(ending.load(Ordering::SeqCst), "broke before the end: {error}");
                    // What is not named cannot be asked for again.
                    all.extend(Some(asked).filter(|asked| !asked.once.is_empty()));
                    return all;
                }
            }
            if asked.done().is_some() && asked.path == "/trading/orders" {
                let placed = asked.value();
                own.extend(placed["orderId"].as_str().map(str::to_owned));
            }
            all.push(asked);
        }
    }

    /// Asks again for what was not answered, and for some of what was.
    fn ask_again(&mut self, server: &Server) {
        let mut wire = Wire::open(&server.address).unwrap();
        let late = self.asked.len().saturating_sub(40);
        for (place, asked) in self.asked.iter_mut().enumerate() {
            if asked.once.is_empty() || (asked.answer.is_some() && place < late) {
                continue;
            }
            let answer = wire.ask(asked).unwrap();
            if let Some(first) = asked.done() {
                let same = (first.status, &first.body) == (answer.status, &answer.body);
                // A part of a batch that was refused is tried again.
                let whole = answer.replayed && same || first.body.contains("\"error\"");
                assert!(whole, "{asked:?} was answered {answer:?}");
            } else if asked.answer.is_none() {
                // Its sequence is that of the first time, if there was one.
                asked.answer = Some(Answer { sequence: 0, ..answer });
            }
        }
    }

    fn kill_under_load(&mut self) {
        let mut server = Server::spawn(self.folder).listening(self.folder);
        self.ask_again(&server);
        let most = LOADS_US_MAX[usize::from(self.dice.below(8) == 0)];
        let wait = Duration::from_micros(self.dice.roll() % most);
        let (address, ending) = (server.address.clone(), AtomicBool::new(false));
        let seeds: Vec<u64> = (0..=TRADERS * CONNECTIONS_EACH).map(|_| self.dice.roll()).collect();
        let (venue, ending) = (&*self, &ending);
        let asked: Vec<Asked> = scope(|scope| {
            let clients: Vec<_> = seeds
                .iter()
                .enumerate()
                .map(|(number, seed)| {
                    let (address, dice) = (&address, Dice::new(*seed));
                    scope
                        .spawn(move || venue.load(address, number / CONNECTIONS_EACH, dice, ending))
                })
                .collect();
            sleep(wait);
            ending.store(true, Ordering::SeqCst);
            server.kill();
            clients.into_iter().flat_map(|client| client.join().unwrap()).collect()
        });
        self.asked.extend(asked);
    }

    /// Kills a server while it opens, repairs, replays or begins to listen.
    fn kill_in_start(&mut self) {
        let mut server = Server::spawn(self.folder);
        sleep(Duration::from_micros(self.dice.roll() % START_US_MAX));
        server.kill();
    }

    /// Reads the journal and compares it with what was answered; returns its state's digest.
    fn audit(&mut self) -> String {
        assert!(!logged(self.folder).contains(" ERROR "), "{}", logged(self.folder));
        let (journal, _) = read_only(&self.folder.join("data")).unwrap();
        let mut blocks = Vec::new();
        let (mut named, mut cancels) = (BTreeMap::new(), BTreeMap::new());
        let mut replayer = Replayer::new();
        let all = journal
            .read(Sequence::new(1))
            .inspect(|block| blocks.extend(block.iter().map(|block| (**block).clone())));
        replay(all, &mut replayer, |record, effects| {
            let sequence = record.sequence.get();
            match (&record.command, record.once.as_deref()) {
                // A repetition does nothing, and what was refused may be tried again.
                (_, Some(IdempotencyKey { key, part, .. })) => {
                    let parts: &mut BTreeMap<_, _> = named.entry(key.to_string()).or_default();
                    let did = !matches!(effects, [Effect::Repeated { .. } | Effect::Refused(_)]);
                    let before = parts.insert(*part, (sequence, did)).filter(|(_, did)| *did);
                    assert!(!did || before.is_none(), "twice: {record:?} and {before:?}");
                    before.map(|first| parts.insert(*part, first));
                }
                (Command::CancelOrder { order, .. }, None) => {
                    cancels.insert(sequence, *order);
                }
                (Command::AdvanceClock, None) => {}
                _ => assert!(sequence <= self.set_up, "nobody asked for {record:?}"),
            }
        })
        .unwrap();
        replayer.exchange().check().unwrap();
        assert!(blocks.starts_with(&self.blocks), "what was audited is another");
        self.blocks = blocks;
        for asked in &self.asked {
            if let (true, Some(answer)) = (asked.once.is_empty(), asked.done()) {
                let id = asked.path.rsplit('/').next().unwrap();
                let id = OrderId::from_uuid(Uuid::parse_str(id).unwrap());
                let there = cancels.get(&answer.sequence) == Some(&OrderNo(id.sequence()));
                assert!(there, "lost: {asked:?}");
            }
            let Some(there) = named.remove(&asked.once) else {
                assert!(asked.once.is_empty() || asked.done().is_none(), "lost: {asked:?}");
                continue;
            };
            let Some(Answer { sequence, .. }) = asked.done() else { continue };
            assert_eq!(there.len(), asked.records, "half there: {asked:?}");
            let last = there.last_key_value().map(|(_, (sequence, _))| sequence);
            assert!(*sequence == 0 || last == Some(sequence), "{asked:?} is {there:?}");
        }
        named.retain(|_, parts| parts.values().any(|(sequence, _)| *sequence > self.set_up));
        assert!(named.is_empty(), "nobody asked for {named:?}");
        replayer.exchange().digest().unwrap().to_string()
    }

    /// Stops the last server in order: it has the audited state, and its archive is the journal.
    fn end(&mut self) {
        let mut server = Server::spawn(self.folder).listening(self.folder);
        self.ask_again(&server);
        let id = server.process.id().to_string();
        assert!(Process::new("kill").args(["-s", "TERM", &id]).status().unwrap().success());
        assert_eq!(server.process.wait().unwrap().code(), Some(0), "{}", logged(self.folder));
        let digest = self.audit();
        assert!(logged(self.folder).contains(&format!("state_digest={digest}")), "not {digest}");
        let archived = PortableFile::open(&self.folder.join("archive")).unwrap();
        let archived: Vec<_> = archived.map(|block| (*block.unwrap()).clone()).collect();
        assert!(archived == self.blocks, "the archive is not the journal");
        let there = self.asked.iter().all(|asked| asked.once.is_empty() || asked.answer.is_some());
        assert!(there, "something was never answered");
    }
}

fn setting(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).map_or(otherwise, |text| text.parse().unwrap())
}

#[test]
fn every_answered_command_survives_every_kill_once_and_whole() {
    let kills = setting("OPENOUTCRY_CRASH_KILLS", KILLS_SHORT);
    let mut dice = Dice::new(setting("OPENOUTCRY_CRASH_SEED", 1));
    let (mut answered, mut unanswered, mut done) = (0, 0, 0);
    while done < kills {
        let dir = tempfile::tempdir().unwrap();
        let mut venue = Venue {
            folder: dir.path(),
            dice: &mut dice,
            unlike: AtomicU64::new(1),
            traders: Vec::new(),
            market: String::new(),
            asked: Vec::new(),
            set_up: 0,
            blocks: Vec::new(),
        };
        // Before there is a venue.
        venue.kill_in_start();
        venue.set_up();
        for _ in 0..KILLS_A_VENUE.min(kills - done) {
            if venue.dice.below(IN_START_ONE_IN) == 0 {
                venue.kill_in_start();
            } else {
                venue.kill_under_load();
                unanswered += venue.asked.iter().filter(|asked| asked.answer.is_none()).count();
            }
            venue.audit();
            done += 1;
        }
        venue.end();
        answered += venue.asked.len();
        println!("{done} kills, {answered} commands, {unanswered} of them first unanswered");
    }
    assert!(unanswered > 0, "no kill met a command");
}
