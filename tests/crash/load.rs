//! The load: traders, an operator and a cashier, each on its own connection, until the server is
//! gone.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use exchange::catalogue::Outcome;
use exchange::command::{
    Command, Condition, PlaceOrder, Role, SelfTradePrevention, Side, TimeInForce, Wording,
};
use exchange::ids::{MarketId, MarketNo, OrderId, UserId, UserNo};
use exchange::market::MarketStatus;
use exchange::units::{Lots, Money, SettlementPrice, Tick, TimeMs};
use http::keys;
use serde_json::Value;
use uuid::Uuid;
use views::ReadModel;

use crate::ask::{Asked, Move, Want};
use crate::dice::Dice;
use crate::server::KEY;
use crate::wire::{Connection, Reply};

/// Number of users that trade.
const TRADERS: u32 = 3;
/// Connections that each trader uses at once.
const CONNECTIONS_EACH: usize = 2;
/// Open orders beyond which a connection cancels.
const OWN_ORDERS_MAX: usize = 12;
/// Markets that are kept open.
const MARKETS_MIN: usize = 4;
/// First deposit of every trader: enough not to run short soon.
const START_MONEY: Money = Money::new(200_000 * 100_000_000);

/// What the load knows of a trader.
#[derive(Debug, Clone)]
pub struct Trader {
    pub no: UserNo,
    pub id: UserId,
    pub key: String,
}

/// A counter that makes each request of a run unique, so that the audit can match records to
/// requests.
#[derive(Default)]
pub struct Unlike(AtomicU64);

impl Unlike {
    fn next(&self) -> u64 {
        self.0.fetch_add(1, Ordering::Relaxed) + 1
    }
}

/// A market as it was when the round began.
type Known = (MarketNo, MarketId, MarketStatus);

/// State shared by all connections of a round.
pub struct Round<'a> {
    pub address: &'a str,
    pub traders: &'a [Trader],
    pub unlike: &'a Unlike,
    /// Set before the server is killed or stopped: a connection that breaks earlier is a fault.
    pub ending: &'a AtomicBool,
    /// Markets not yet final.
    markets: Vec<Known>,
    /// Orders open when the round began, by trader.
    open: Vec<Vec<OrderId>>,
}

/// One connection and every request sent on it.
struct Client<'a> {
    round: &'a Round<'a>,
    wire: Option<Connection>,
    dice: Dice,
    asked: Vec<Asked>,
}

pub fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    i64::try_from(since.as_millis()).unwrap()
}

pub fn uuid(value: &Value) -> Uuid {
    Uuid::parse_str(value.as_str().unwrap()).unwrap()
}

fn at(ms: i64) -> TimeMs {
    TimeMs::new(ms).unwrap()
}

impl Client<'_> {
    /// Sends a request; `None` once the connection is gone.
    fn ask(&mut self, key: &str, want: Want) -> Option<Reply> {
        let (method, path, body) = want.request();
        let wire = self.wire.as_mut()?;
        let reply = wire.ask((method, &path), key, body.as_ref());
        if let Err(error) = &reply {
            assert!(self.round.ending.load(Ordering::SeqCst), "broke before the end: {error}");
        }
        let reply = reply.ok();
        self.asked.push(Asked { want, reply: reply.clone() });
        reply
    }

    fn chance(&mut self, one_in: usize) -> bool {
        self.dice.below(one_in) == 0
    }

    fn order(&mut self, user: UserNo) -> (PlaceOrder, MarketId) {
        let mut markets = self.round.of_status(&[MarketStatus::Active]);
        if markets.is_empty() || self.chance(20) {
            markets = self.round.markets.iter().collect();
        }
        let (market, id, _) = **self.dice.one_of(&markets);
        let outcome = *self.dice.one_of(&[Outcome::Yes, Outcome::No]);
        let side = *self.dice.one_of(&[Side::Buy, Side::Sell]);
        let wording = Wording { outcome, side };
        let ticks = u8::try_from(45 + self.dice.below(11)).unwrap();
        let expires_at = self.chance(30).then(|| at(now() + 50 + i64::from(self.dice.byte())));
        let resting = TimeInForce::GoodTillCancelled { expires_at };
        let time_in_force = match self.dice.below(10) {
            0 => TimeInForce::ImmediateOrCancel,
            1 => TimeInForce::FillOrKill,
            _ => resting,
        };
        let modes = [
            SelfTradePrevention::CancelTaker,
            SelfTradePrevention::CancelMaker,
            SelfTradePrevention::CancelBoth,
        ];
        let post_only = time_in_force == resting && self.chance(12);
        let terms = PlaceOrder {
            time_in_force,
            self_trade: *self.dice.one_of(&modes),
            condition: if post_only { Condition::PostOnly } else { Condition::Unconditional },
            ..PlaceOrder::plain(user, market, wording, Tick::new(ticks).unwrap(), self.quantity())
        };
        (terms, id)
    }

    /// Some contracts plus a fraction that no other request of the run has.
    fn quantity(&mut self) -> Lots {
        let contracts = 1 + u64::try_from(self.dice.below(20)).unwrap();
        Lots::new(contracts * 1_000_000 + self.round.unlike.next())
    }

    fn trade(&mut self, trader: &Trader, mut own: Vec<OrderId>) -> Option<()> {
        let user = trader.no;
        loop {
            let pick = self.dice.below(own.len().max(1));
            let roll = if own.len() > OWN_ORDERS_MAX { 70 } else { self.dice.below(100) };
            match (roll, own.get(pick).copied()) {
                (60..=79, Some(order)) => {
                    own.swap_remove(pick);
                    self.ask(&trader.key, Want::Cancel { user, order })?;
                }
                (80..=91, Some(order)) => {
                    let price = self.chance(2).then(|| Tick::new(50).unwrap());
                    let quantity = Some(self.quantity());
                    let want = Want::Amend { user, order, price, quantity };
                    if self.ask(&trader.key, want)?.status != 200 {
                        own.swap_remove(pick);
                    }
                }
                (92, _) => {
                    let all = self.chance(2);
                    let market = self.round.markets.first().map(|(_, id, _)| *id);
                    let market = market.filter(|_| !all);
                    self.ask(&trader.key, Want::CancelAll { user, market })?;
                }
                (93..=99, _) => drop(self.ask(&trader.key, Want::Balance { user })?),
                _ => {
                    let (terms, market) = self.order(user);
                    let reply = self.ask(&trader.key, Want::Place(terms, market))?;
                    if ["OPEN", "PARTIALLY_FILLED"].iter().any(|s| reply.body["status"] == *s) {
                        own.push(OrderId::from_uuid(uuid(&reply.body["orderId"])));
                    }
                }
            }
        }
    }

    fn operate(&mut self) -> Option<()> {
        let ids = |found: Vec<&Known>| found.into_iter().map(|known| known.1).collect();
        let mut asleep: Vec<MarketId> = ids(self.round.of_status(&[MarketStatus::Suspended]));
        let mut active: Vec<MarketId> = ids(self.round.of_status(&[MarketStatus::Active]));
        let ending = [MarketStatus::Closed, MarketStatus::Resolved, MarketStatus::Disputed];
        let mut ending: Vec<MarketId> = ids(self.round.of_status(&ending));
        loop {
            if active.len() + asleep.len() < MARKETS_MIN || self.chance(25) {
                let market = self.create_market()?;
                self.ask(KEY, Want::Run { market, step: Move::Publish })?;
                active.push(market);
            } else if let Some(market) = asleep.pop() {
                self.ask(KEY, Want::Run { market, step: Move::Reopen })?;
                active.push(market);
            } else if !ending.is_empty() && self.chance(3) {
                let pick = self.dice.below(ending.len());
                let (step, last) = self.ending_step();
                self.ask(KEY, Want::Run { market: ending[pick], step })?;
                if last {
                    ending.swap_remove(pick);
                }
            } else {
                let pick = self.dice.below(active.len());
                let market = active.swap_remove(pick);
                let step = match self.dice.below(12) {
                    0..=8 => Move::Suspend,
                    9 => Move::Close,
                    _ => self.ending_step().0,
                };
                self.ask(KEY, Want::Run { market, step })?;
                if matches!(step, Move::Suspend) { &mut asleep } else { &mut ending }.push(market);
            }
        }
    }

    /// A step towards the end of a market, and whether it is the last.
    fn ending_step(&mut self) -> (Move, bool) {
        let winner = *self.dice.one_of(&[Outcome::Yes, Outcome::No]);
        match self.dice.below(5) {
            0 => (Move::Dispute, false),
            1 => (Move::Void(SettlementPrice::new(30).unwrap()), true),
            _ => (Move::Resolve(winner), false),
        }
    }

    /// Some markets close soon by their deadline; some settle a second after their resolution.
    fn create_market(&mut self) -> Option<MarketId> {
        let name = format!("market {}", self.round.unlike.next());
        let soon = if self.chance(3) { 400 } else { 3_600_000 };
        let deadline = at(now() + 1_000 + soon);
        let window_seconds = u32::from(self.chance(2));
        let reply = self.ask(KEY, Want::CreateMarket { name, deadline, window_seconds })?;
        Some(MarketId::from_uuid(uuid(&reply.body["id"])))
    }

    fn move_money(&mut self) -> Option<()> {
        loop {
            let trader = self.dice.one_of(self.round.traders).clone();
            let (user, id) = (trader.no, trader.id);
            let unlike = i64::try_from(self.round.unlike.next()).unwrap();
            let amount = Money::new(100_000_000 + unlike);
            let want = match self.dice.below(8) {
                // Sometimes more than the fees earned so far.
                0 => Want::TakeFees { amount: Money::new(unlike) },
                1 | 2 => Want::Withdraw { user, id, amount },
                _ => Want::Deposit { user, id, amount },
            };
            self.ask(KEY, want)?;
        }
    }
}

/// Creates the traders of a new venue and their first markets; no kill happens during this.
pub fn set_up(address: &str, unlike: &Unlike) -> (Vec<Trader>, Vec<Asked>) {
    let ending = AtomicBool::new(false);
    let round = Round {
        address,
        traders: &[],
        unlike,
        ending: &ending,
        markets: Vec::new(),
        open: Vec::new(),
    };
    let mut client = Client::connect(&round, Dice::new(0));
    let mut traders = Vec::new();
    for no in (1..=TRADERS).map(UserNo) {
        let name = format!("trader {}", no.0);
        let user = client.ask(KEY, Want::CreateUser { name }).unwrap();
        let id = UserId::from_uuid(uuid(&user.body["id"]));
        client.ask(KEY, Want::Deposit { user: no, id, amount: START_MONEY }).unwrap();
        let answer = client.ask(KEY, Want::AddKey { id, command: None }).unwrap();
        let key = answer.body["key"].as_str().unwrap().to_owned();
        let (role, label, hash) = (Role::Trader, "key".to_owned(), keys::hash(key.as_bytes()));
        let command = Some(Box::new(Command::AddKey { user: no, role, label, hash, ends: None }));
        client.asked.last_mut().unwrap().want = Want::AddKey { id, command };
        traders.push(Trader { no, id, key });
    }
    for _ in 0..MARKETS_MIN {
        let market = client.create_market().unwrap();
        client.ask(KEY, Want::Run { market, step: Move::Publish }).unwrap();
    }
    let asked = std::mem::take(&mut client.asked);
    assert!(asked.iter().all(Asked::done), "a venue without its traders: {asked:?}");
    (traders, asked)
}

impl<'a> Client<'a> {
    fn connect(round: &'a Round<'a>, dice: Dice) -> Client<'a> {
        // A server that was killed at once refuses connections.
        let wire = Connection::open(round.address).ok();
        Client { round, wire, dice, asked: Vec::new() }
    }
}

impl<'a> Round<'a> {
    /// A round that begins with the markets and orders of the venue's audited state.
    pub fn new(
        (address, traders): (&'a str, &'a [Trader]),
        model: &ReadModel,
        unlike: &'a Unlike,
        ending: &'a AtomicBool,
    ) -> Round<'a> {
        let live = |status: MarketStatus| {
            !matches!(status, MarketStatus::Settled | MarketStatus::Voided | MarketStatus::Draft)
        };
        let markets = model.catalogue.markets_published();
        let markets =
            markets.filter(|row| live(row.status)).map(|row| (row.no, row.id, row.status));
        let open = |trader: &Trader| model.orders.open_of(trader.no).map(|row| row.id()).collect();
        let open = traders.iter().map(open).collect();
        Round { address, traders, unlike, ending, markets: markets.take(12).collect(), open }
    }

    fn of_status(&self, wanted: &[MarketStatus]) -> Vec<&Known> {
        self.markets.iter().filter(|known| wanted.contains(&known.2)).collect()
    }

    /// Runs every connection until it breaks, and `end` beside them; returns all requests sent.
    pub fn run(&self, seed: u64, end: impl FnOnce()) -> Vec<Asked> {
        std::thread::scope(|scope| {
            let mut threads = Vec::new();
            let mut dice = Dice::new(seed);
            for (trader, open) in self.traders.iter().zip(&self.open) {
                for number in 0..CONNECTIONS_EACH {
                    let own = open.iter().skip(number).step_by(CONNECTIONS_EACH).copied().collect();
                    let mut client = Client::connect(self, Dice::new(dice.roll()));
                    threads.push(scope.spawn(move || {
                        if !self.markets.is_empty() {
                            let _: Option<()> = client.trade(trader, own);
                        }
                        client.asked
                    }));
                }
            }
            for operator in [true, false] {
                let mut client = Client::connect(self, Dice::new(dice.roll()));
                threads.push(scope.spawn(move || {
                    let _: Option<()> =
                        if operator { client.operate() } else { client.move_money() };
                    client.asked
                }));
            }
            end();
            threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
        })
    }
}
