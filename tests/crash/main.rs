//! The real server on a real folder, killed with `SIGKILL` at random moments under load and
//! restarted: every answered command is in the journal exactly once, every unanswered one is there
//! whole or not at all.
//!
//! `OPENOUTCRY_CRASH_KILLS=1000 cargo test --release --test crash -- --nocapture` for a long run,
//! `OPENOUTCRY_CRASH_SEED` for other moments.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod archive;
mod ask;
mod audit;
#[allow(dead_code)]
#[path = "../routes/dice.rs"]
mod dice;
mod load;
mod server;
#[path = "../starting/mod.rs"]
mod starting;
mod wire;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use exchange::command::{PlaceOrder, TimeInForce};
use exchange::ids::{OrderId, OrderNo};

use ask::{Asked, Want};
use audit::{Auditor, Count};
use dice::Dice;
use load::{Round, Trader, Unlike};
use server::{Ground, Server};
use wire::Connection;

/// Kills in a plain `cargo test`.
const KILLS_SHORT: u32 = 14;
/// Kills per folder: the journal grows, and every start replays it.
const KILLS_A_VENUE: u32 = 100;
/// Longest load before a kill.
const LOAD_US_MAX: usize = 60_000;
/// One load in this many lasts up to this long, so that snapshots and the archive are being
/// written.
const LOADS_LONG_ONE_IN: usize = 25;
const LOAD_LONG_US_MAX: usize = 2_000_000;
/// One kill in this many is followed by tearing the archive's tail.
const TORN_ONE_IN: usize = 5;
/// One kill in this many comes before the server listens.
const IN_START_ONE_IN: usize = 6;

fn setting(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).map_or(otherwise, |text| text.parse().unwrap())
}

fn micros(dice: &mut Dice, bound: usize) -> Duration {
    Duration::from_micros(u64::try_from(dice.below(bound.max(1))).unwrap())
}

/// One folder, killed repeatedly.
struct Venue<'a> {
    ground: Ground,
    auditor: Auditor,
    traders: Vec<Trader>,
    unlike: &'a Unlike,
    dice: &'a mut Dice,
    /// Duration of the last start.
    start: Duration,
    /// Answered placements, with their trader and order id, not looked up yet.
    placed: Vec<(Trader, OrderId)>,
}

impl Venue<'_> {
    /// Starts a server and waits until it listens; records a fault if it does not.
    fn server(&mut self) -> Option<Server> {
        let begun = Instant::now();
        match Server::spawn(&self.ground).listening(&self.ground) {
            Ok(server) => {
                self.start = begun.elapsed();
                let cut = self.auditor.archive.judge_start(&self.ground.log());
                self.auditor.judge(cut);
                self.compare_served(&server);
                self.look_up(&server);
                Some(server)
            }
            Err(log) => {
                self.auditor.count.lost += 1;
                self.auditor.faults.push(log);
                None
            }
        }
    }

    /// Kills a server before it listens: while it opens, replays or writes its first records.
    fn kill_in_start(&mut self) {
        let longest = self.start.as_micros().max(20_000) * 11 / 10;
        let wait = micros(self.dice, usize::try_from(longest).unwrap());
        let mut server = Server::spawn(&self.ground);
        std::thread::sleep(wait);
        server.kill();
        self.auditor.count.kills_in_start += 1;
        self.auditor.audit(&self.ground, &[]);
        self.tear();
    }

    /// Loads a server for a while, then `end` kills or stops it.
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
        let long = self.dice.below(LOADS_LONG_ONE_IN) == 0;
        let wait = micros(self.dice, if long { LOAD_LONG_US_MAX } else { LOAD_US_MAX });
        let seed = self.dice.roll();
        asked.extend(round.run(seed, || {
            std::thread::sleep(wait);
            ending.store(true, Ordering::SeqCst);
            end(server);
        }));
        for asked in asked.iter().filter(|asked| asked.done()) {
            let Want::Place(PlaceOrder { user, .. }, _) = asked.want else { continue };
            let id = &asked.reply.as_ref().unwrap().body["orderId"];
            let id = OrderId::from_uuid(load::uuid(id));
            let trader = self.traders.iter().find(|trader| trader.no == user).unwrap();
            self.placed.push((trader.clone(), id));
        }
        asked
    }

    /// Looks every order up by the id in its answer, and compares it with the audited one.
    fn look_up(&mut self, server: &Server) {
        let Ok(mut wire) = Connection::open(&server.address) else { return };
        let count = &mut self.auditor.count;
        for (trader, id) in self.placed.drain(..) {
            let path = format!("/trading/orders/{id}");
            let reply = wire.ask(("GET", &path), &trader.key, None).unwrap();
            let row = self.auditor.model.orders.order(trader.no, OrderNo(id.sequence()));
            let row = row.row().unwrap().filter(|row| row.id() == id);
            let there = row.is_some_and(|row| {
                let words = [row.status.name(), &row.filled.to_string()];
                let same = words == ["status", "filledQuantity"].map(|name| &reply.body[name]);
                // Something fell due at the start, such as the order's expiry.
                let later = reply.sequence != self.auditor.model.watermark().get();
                row.user == trader.no && (same || later)
            });
            if reply.status == 200 && reply.body["id"] == id.to_string() && there {
                count.looked_up += 1;
            } else {
                count.lost += 1;
                self.auditor.faults.push(format!("{id} of {trader:?}: {row:?}, shown {reply:?}"));
            }
        }
    }

    /// The journal is locked while a server runs, and a round needs the venue's markets: a venue's
    /// first server is killed between its set-up and its load.
    fn auditor_catches_up(&mut self, server: &mut Server, asked: &mut Vec<Asked>) {
        server.kill();
        self.auditor.audit(&self.ground, &std::mem::take(asked));
        let started = Server::spawn(&self.ground).listening(&self.ground);
        *server = started.unwrap_or_else(|log| panic!("{log}"));
    }

    fn kill_under_load(&mut self) {
        let Some(mut server) = self.server() else { return };
        let asked = self.load(&mut server, Server::kill);
        self.auditor.audit(&self.ground, &asked);
        self.tear();
    }

    /// Tears the archive's tail now and then, as kills alone hardly ever do.
    fn tear(&mut self) {
        if self.dice.below(TORN_ONE_IN) == 0 && self.auditor.faults.is_empty() {
            let Auditor { archive, blocks, count, .. } = &mut self.auditor;
            archive.tear(&self.ground.archive(), blocks, self.dice, &mut count.archives);
        }
    }

    /// Stops the last server in order: the digest that it logs must be the audited one.
    fn end(&mut self) {
        let Some(mut server) = self.server() else { return };
        let mut code = None;
        let asked = self.load(&mut server, |server| code = server.terminate());
        self.auditor.audit(&self.ground, &asked);
        let Auditor { archive, blocks, count, .. } = &mut self.auditor;
        let archived = archive.judge_end(blocks, &mut count.archives);
        self.auditor.judge(archived);
        self.auditor.judge_orders();
        let log = self.ground.log();
        let ours = self.auditor.digest().to_string();
        if code != Some(0) || server::logged_digest(&log) != Some(&ours) {
            self.auditor.count.digest_differences += 1;
            self.auditor.faults.push(format!("ended with {code:?} and not {ours}: {log}"));
        }
    }

    /// Compares what a started server shows with the audited state. Users with an expiring order
    /// are skipped: theirs may have expired since.
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
                continue; // Something fell due at the start.
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
                (row.id().to_string(), [status, price, quantity, filled, remaining])
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
        looked_up,
        archives,
    } = count;
    let archive::Seen { blocks, behind, torn_by_kill, torn_by_hand, cut } = archives;
    format!(
        "seed {seed}: {kills} kills ({kills_in_start} during the start), {records} records, \
         {answered} commands answered, {refused} refused, {reads} reads, {unanswered} unanswered \
         ({unanswered_there} of them there), lost {lost}, duplicated {duplicated}, \
         half there {half_there}, digest differences {digest_differences}; {looked_up} answered \
         orders looked up; archives: {blocks} blocks at the ends, behind at {behind} kills, \
         tails torn by {torn_by_kill} kills and {torn_by_hand} times by hand, {cut} cut off"
    )
}

#[test]
fn every_answered_command_survives_every_kill_once_and_whole() {
    let kills = u32::try_from(setting("OPENOUTCRY_CRASH_KILLS", KILLS_SHORT.into())).unwrap();
    let seed = setting("OPENOUTCRY_CRASH_SEED", 1);
    let mut dice = Dice::new(seed);
    let unlike = Unlike::default();
    let mut count = Count::default();
    let mut faults = Vec::new();
    while count.kills < kills && faults.is_empty() {
        let ground = Ground::new();
        let mut venue = Venue {
            auditor: Auditor::new(count),
            ground,
            traders: Vec::new(),
            unlike: &unlike,
            dice: &mut dice,
            start: Duration::ZERO,
            placed: Vec::new(),
        };
        for round in 0..KILLS_A_VENUE.min(kills - venue.auditor.count.kills) {
            // The first two servers of every venue are killed before they have written the venue's
            // first records.
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
        if !faults.is_empty() {
            println!("left in {}", venue.ground.kept().display());
        }
        if kills > KILLS_A_VENUE {
            println!("{}", summary(&count, seed));
        }
    }
    println!("{}", summary(&count, seed));
    faults.truncate(20);
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
    assert!(count.answered > 0, "no load, no test");
    assert!(count.archives.blocks > 0, "nothing beside the journal");
    assert!(kills < KILLS_SHORT || count.unanswered > 0, "no kill met a command");
}
