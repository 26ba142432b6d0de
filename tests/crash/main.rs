//! The real server on a real folder, killed with `SIGKILL` at random moments under load and
//! started again: what was answered is there once, what was not is there whole or not at all.
//!
//! `OPENOUTCRY_CRASH_KILLS=1000 cargo test --release --test crash -- --nocapture` for a long run,
//! `OPENOUTCRY_CRASH_SEED` for other moments.

#![cfg(feature = "server")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod ask;
mod audit;
#[allow(dead_code)]
#[path = "../model/compare.rs"]
mod compare;
#[allow(dead_code)]
#[path = "../routes/dice.rs"]
mod dice;
mod load;
#[path = "../model/naive/mod.rs"]
mod naive;
mod server;
#[path = "../model/state.rs"]
mod state;
mod wire;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use openoutcry::exchange::command::TimeInForce;

use ask::Asked;
use audit::{Auditor, Count};
use dice::Dice;
use load::{Round, Trader, Unlike};
use server::{Ground, Server};
use wire::Connection;

/// Kills of a plain `cargo test`.
const KILLS_SHORT: u32 = 14;
/// Kills of one folder: journals grow, and every start replays all of it.
const KILLS_A_VENUE: u32 = 100;
/// Longest time from the load's begin to the kill.
const LOAD_US_MAX: usize = 60_000;
/// One kill in so many comes before the server listens.
const IN_START_ONE_IN: usize = 6;

fn setting(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).map_or(otherwise, |text| text.parse().unwrap())
}

fn micros(dice: &mut Dice, bound: usize) -> Duration {
    Duration::from_micros(u64::try_from(dice.below(bound.max(1))).unwrap())
}

/// One folder, killed again and again.
struct Venue<'a> {
    ground: Ground,
    auditor: Auditor,
    traders: Vec<Trader>,
    unlike: &'a Unlike,
    dice: &'a mut Dice,
    /// How long the last start took.
    start: Duration,
}

impl Venue<'_> {
    /// A server that listens, or a fault.
    fn server(&mut self) -> Option<Server> {
        let begun = Instant::now();
        match Server::spawn(&self.ground).listening(&self.ground) {
            Ok(server) => {
                self.start = begun.elapsed();
                self.compare_served(&server);
                Some(server)
            }
            Err(told) => {
                self.auditor.count.lost += 1;
                self.auditor.faults.push(told);
                None
            }
        }
    }

    /// Killed before it listens: somewhere in opening, replaying or writing its first records.
    fn kill_in_start(&mut self) {
        let longest = self.start.as_micros().max(20_000) * 11 / 10;
        let wait = micros(self.dice, usize::try_from(longest).unwrap());
        let mut server = Server::spawn(&self.ground);
        std::thread::sleep(wait);
        server.kill();
        self.auditor.count.kills_in_start += 1;
        self.auditor.audit(&self.ground.venue(), &[]);
    }

    /// Loads a server for a while; `end` ends it.
    fn load(&mut self, server: &mut Server, end: impl FnOnce(&mut Server)) -> Vec<Asked> {
        let mut asked = Vec::new();
        if self.traders.is_empty() {
            (self.traders, asked) = load::set_up(&server.address, self.unlike);
            self.auditor_catches_up(server, &mut asked);
        }
        let ending = AtomicBool::new(false);
        let address = server.address.clone();
        let among = (address.as_str(), self.traders.as_slice());
        let round = Round::new(among, &self.auditor.model, self.unlike, &ending);
        let wait = micros(self.dice, LOAD_US_MAX);
        let seed = self.dice.roll();
        asked.extend(round.run(seed, || {
            std::thread::sleep(wait);
            ending.store(true, Ordering::SeqCst);
            end(server);
        }));
        asked
    }

    /// The journal is locked while a server runs, and a round needs to know the markets: the
    /// first server of a venue is killed between its set-up and its load.
    fn auditor_catches_up(&mut self, server: &mut Server, asked: &mut Vec<Asked>) {
        server.kill();
        self.auditor.audit(&self.ground.venue(), &std::mem::take(asked));
        let started = Server::spawn(&self.ground).listening(&self.ground);
        *server = started.unwrap_or_else(|told| panic!("{told}"));
    }

    fn kill_under_load(&mut self) {
        let Some(mut server) = self.server() else { return };
        let asked = self.load(&mut server, Server::kill);
        self.auditor.audit(&self.ground.venue(), &asked);
    }

    /// The last server is ended in order: what it says it was must be what was audited.
    fn end(&mut self) {
        let Some(mut server) = self.server() else { return };
        let mut code = None;
        let asked = self.load(&mut server, |server| code = server.terminate());
        self.auditor.audit(&self.ground.venue(), &asked);
        self.auditor.judge_orders();
        let log = self.ground.log();
        let ours = self.auditor.digest().to_string();
        if code != Some(0) || server::logged_digest(&log) != Some(&ours) {
            self.auditor.count.digest_differences += 1;
            self.auditor.faults.push(format!("ended with {code:?} and not {ours}: {log}"));
        }
    }

    /// What a started server shows against what was audited. A user with an order that expires
    /// may be shown later than audited.
    fn compare_served(&mut self, server: &Server) {
        let mut differences = Vec::new();
        for trader in &self.traders {
            let expires = |force: TimeInForce| {
                matches!(force, TimeInForce::GoodTillCancelled { expires_at: Some(_) })
            };
            let model = &self.auditor.model;
            if model.orders.open_of(trader.no).any(|row| expires(row.time_in_force)) {
                continue;
            }
            let mut wire = Connection::open(&server.address).unwrap();
            let path = ("GET", "/trading/orders?active=true");
            let reply = wire.ask(path, &trader.key, None).unwrap();
            if reply.sequence != model.watermark().get() {
                continue; // Something was due at the start.
            }
            let shown: BTreeMap<String, [String; 5]> = reply.body["orders"]
                .as_array()
                .unwrap()
                .iter()
                .map(|order| {
                    let word = |name: &str| order[name].as_str().unwrap_or_default().to_owned();
                    let fields = ["status", "price", "originalQuantity", "filledQuantity"];
                    let [a, b, c, d] = fields.map(word);
                    (word("id"), [a, b, c, d, word("remainingQuantity")])
                })
                .collect();
            let expected = model.orders.open_of(trader.no).map(|row| {
                let status = row.status.name().to_owned();
                let (price, quantity) = (row.price.to_string(), row.quantity.to_string());
                let (filled, remaining) = (row.filled.to_string(), row.remaining.to_string());
                (row.id.to_string(), [status, price, quantity, filled, remaining])
            });
            let expected: BTreeMap<String, [String; 5]> = expected.collect();
            if shown != expected {
                differences.push(format!("{trader:?} is shown {shown:?}, not {expected:?}"));
            }
        }
        self.auditor.count.half_there += u64::try_from(differences.len()).unwrap();
        self.auditor.faults.extend(differences);
    }
}

fn summary(count: &Count, seed: u64) -> String {
    let Count {
        kills,
        kills_in_start,
        records,
        answered,
        refused,
        reads,
        unanswered,
        unanswered_there,
        lost,
        duplicated,
        half_there,
        digest_differences,
    } = count;
    format!(
        "seed {seed}: {kills} kills ({kills_in_start} during the start), {records} records, \
         {answered} commands answered, {refused} refused, {reads} reads, {unanswered} unanswered \
         ({unanswered_there} of them there), lost {lost}, duplicated {duplicated}, \
         half there {half_there}, digest differences {digest_differences}"
    )
}

#[test]
fn what_was_answered_survives_every_kill_once_and_whole() {
    let kills = u32::try_from(setting("OPENOUTCRY_CRASH_KILLS", KILLS_SHORT.into())).unwrap();
    let seed = setting("OPENOUTCRY_CRASH_SEED", 1);
    let mut dice = Dice::new(seed);
    let unlike = Unlike::default();
    let mut count = Count::default();
    let mut faults = Vec::new();
    while count.kills < kills && faults.is_empty() {
        let mut venue = Venue {
            ground: Ground::new(),
            auditor: Auditor::new(count),
            traders: Vec::new(),
            unlike: &unlike,
            dice: &mut dice,
            start: Duration::ZERO,
        };
        for round in 0..KILLS_A_VENUE.min(kills - venue.auditor.count.kills) {
            // Every venue's first servers do not live to finish its first records.
            if round < 2 || venue.dice.below(IN_START_ONE_IN) == 0 {
                venue.kill_in_start();
            } else {
                venue.kill_under_load();
            }
            venue.auditor.count.kills += 1;
            if !venue.auditor.faults.is_empty() {
                break;
            }
        }
        venue.end();
        faults.append(&mut venue.auditor.faults);
        count = std::mem::take(&mut venue.auditor.count);
        if kills > KILLS_A_VENUE {
            println!("{}", summary(&count, seed));
        }
    }
    println!("{}", summary(&count, seed));
    faults.truncate(20);
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
    assert!(count.answered > 0, "no load, no test");
    assert!(kills < KILLS_SHORT || count.unanswered > 0, "no kill met a command");
}
