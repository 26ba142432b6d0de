//! A running engine, what it is asked, and what its readers see.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use engine::Engine;
use engine::clock::{Clock, Timepiece};
use engine::start::{Options, Running, start};
use exchange::command::Direction;
use exchange::ids::{MarketId, MarketNo, UserNo};
use exchange::units::{Sequence, TimeMs};
use http::stream::hub::Hub;
use journal::memory::MemoryJournal;

use crate::commands::{self, Step, USERS_COUNT};
use crate::naive::Naive;

/// A clock that the test sets.
#[derive(Debug, Clone)]
struct Hands(Arc<AtomicI64>);

impl Timepiece for Hands {
    fn calendar(&self) -> (TimeMs, bool) {
        (TimeMs::new(self.0.load(Ordering::SeqCst)).unwrap(), true)
    }

    fn monotonic(&self) -> Duration {
        Duration::from_millis(self.0.load(Ordering::SeqCst).unsigned_abs())
    }
}

pub struct Venue {
    pub engine: Engine,
    pub hub: Arc<Hub>,
    _running: Running,
    hands: Hands,
    /// Draws commands that mean something.
    twin: Naive,
    twin_at: Sequence,
}

/// A level of a book: its price in ticks, lots and orders.
pub type Level = (u8, u64, u32);

/// What readers see after one record.
#[derive(Debug)]
pub struct Shown {
    pub sequence: Sequence,
    /// Both sides of each public market's book, bids first, best first.
    pub books: BTreeMap<String, [Vec<Level>; 2]>,
    /// How many trades and rows of activity each has.
    pub trades: BTreeMap<String, usize>,
    pub activity: BTreeMap<String, usize>,
    pub status: BTreeMap<String, String>,
    pub accounts: BTreeMap<UserNo, Account>,
}

/// An account, in the words of the interface.
#[derive(Debug, PartialEq, Eq, Default, Clone)]
pub struct Account {
    pub available: String,
    pub reserved: String,
    /// Open orders: their ids, with what is left of them.
    pub open: BTreeMap<String, String>,
    /// Positions: market and outcome, with contracts.
    pub held: BTreeMap<(String, String), String>,
    pub fills: usize,
    pub ledger: usize,
}

impl Venue {
    pub fn open() -> Venue {
        let hands = Hands(Arc::new(AtomicI64::new(commands::START.get())));
        let clock = Clock::reading(Box::new(hands.clone()), commands::START);
        let options = Options { clock: Some(clock), ..Options::default() };
        let running = start(MemoryJournal::new(), options).unwrap();
        let engine = running.engine();
        let hub = Arc::default();
        let twin = Naive::new();
        let mut venue =
            Venue { engine, hub, _running: running, hands, twin, twin_at: Sequence::ZERO };
        for command in commands::opening() {
            venue.engine.ask(command).unwrap();
        }
        venue.keep_twin();
        venue
    }

    /// Has the twin follow all that was journaled.
    fn keep_twin(&mut self) {
        let records = self.engine.past().records(self.twin_at.next(), usize::MAX, usize::MAX);
        for record in records.unwrap() {
            self.twin_at = record.sequence;
            self.twin.apply(&record);
        }
    }

    pub fn take(&mut self, step: &Step) {
        self.hands.0.fetch_add(i64::from(step.later_ms), Ordering::SeqCst);
        self.keep_twin();
        let asked = commands::asked(&self.twin, step, self.engine.now());
        self.engine.ask(asked).unwrap();
        self.keep_twin();
    }

    /// Lets time pass.
    pub fn wait(&self, ms: i64) {
        self.hands.0.fetch_add(ms, Ordering::SeqCst);
    }

    pub fn market_id(&self, market: MarketNo) -> MarketId {
        self.engine.read().catalogue.market(market).unwrap().id
    }

    pub fn shown(&self) -> Shown {
        let view = self.engine.read();
        let mut shown = Shown {
            sequence: view.watermark(),
            books: BTreeMap::new(),
            trades: BTreeMap::new(),
            activity: BTreeMap::new(),
            status: BTreeMap::new(),
            accounts: BTreeMap::new(),
        };
        for row in view.catalogue.markets_published() {
            let side = |side| {
                let levels = view.book(row.no, side);
                levels
                    .map(|level| (level.price.get(), level.quantity.get(), level.orders))
                    .collect::<Vec<Level>>()
            };
            let id = row.id.to_string();
            shown.books.insert(id.clone(), [side(Direction::Up), side(Direction::Down)]);
            shown.trades.insert(id.clone(), view.tape.trades_count(row.no));
            shown.activity.insert(id.clone(), view.activity.count(row.no));
            shown.status.insert(id, row.status.name().to_owned());
        }
        for user in (0..USERS_COUNT).map(UserNo) {
            let Some(row) = view.accounts.user(user) else { continue };
            let market = |no| view.catalogue.market(no).unwrap().id.to_string();
            let open = view.orders.open_of(user);
            let held = view.positions.held(user);
            let account = Account {
                available: row.balance.available.to_string(),
                reserved: row.balance.reserved.to_string(),
                open: open.map(|row| (row.id().to_string(), row.remaining.to_string())).collect(),
                held: held
                    .map(|row| {
                        let key = (market(row.market), row.outcome.id().to_owned());
                        (key, row.quantity.to_string())
                    })
                    .collect(),
                fills: view.orders.fills_of(user).len(),
                ledger: view.statements.count(user),
            };
            shown.accounts.insert(user, account);
        }
        shown
    }
}
