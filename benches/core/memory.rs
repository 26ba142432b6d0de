//! The memory of a resting order and of a quiet market, including everything that a server keeps
//! for them, measured as growth of resident memory. History goes to disk as on a server; the cache
//! of its store counts.

use engine::history::HistoryStore;
use exchange::Exchange;
use exchange::command::Command;
use exchange::effect::Applied;
use exchange::ids::{OrderNo, UserNo};
use exchange::units::Sequence;
use views::ReadModel;

use crate::mix;

/// Orders of the row.
const ORDERS: u32 = 1_000_000;
/// Owners of the orders.
const USERS: u32 = 10_000;
/// Markets of the resting orders.
const MARKETS: u32 = 100;
/// Markets of the quiet row.
const QUIET_MARKETS: u32 = 100_000;

/// A venue and its progress, with or without a read model.
#[derive(Default)]
struct Venue {
    /// Folder of the history.
    folder: Option<tempfile::TempDir>,
    exchange: Exchange,
    read_model: Option<ReadModel>,
    effects: Vec<exchange::effect::Effect>,
    sequence: u64,
}

impl Venue {
    fn new(readers: bool) -> Venue {
        let folder = readers.then(|| tempfile::tempdir_in(".").expect("a folder"));
        let read_model = folder.as_ref().map(|folder| {
            let store = HistoryStore::open(folder.path()).expect("history");
            ReadModel::on(&store.history())
        });
        Venue { folder, read_model, ..Venue::default() }
    }

    fn tell(&mut self, command: Command) {
        self.sequence += 1;
        let mut record = mix::records(vec![command]).pop().expect("a record");
        record.sequence = Sequence::new(self.sequence);
        self.effects.clear();
        self.exchange.apply(&record, &mut self.effects).expect("it applies");
        if let Some(read_model) = &mut self.read_model {
            let (sequence, time) = (record.sequence, record.time);
            read_model.fold(&Applied { sequence, time, effects: &self.effects });
        }
    }
}

impl Venue {
    /// Removes only the folder: freed memory would be reused by the next measurement.
    fn leave(mut self) {
        drop(self.folder.take());
        std::mem::forget(self);
    }
}

/// Resident memory of this process in bytes.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("a status");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.split_whitespace().next()).and_then(|n| n.parse().ok());
    kib.unwrap_or(0_u64) * 1024
}

/// Places an order that rests and never matches: bids below the middle, asks above. Returns its
/// owner.
fn rest(venue: &mut Venue, draw: &mut mix::Draw) -> UserNo {
    let user = u32::try_from(draw.below(u64::from(USERS))).expect("a number");
    let market = u32::try_from(draw.below(u64::from(MARKETS))).expect("a number");
    let up = draw.below(2) == 0;
    let away = u8::try_from(draw.below(30)).expect("a price");
    let yes = if up { 49 - away } else { 51 + away };
    venue.tell(Command::PlaceOrder(mix::order(user, market, up, yes, 1 + draw.below(9))));
    UserNo(user)
}

/// Prints the bytes of a resting order: in the exchange alone, with the read model, and in a venue
/// that had as many orders before, in which history's memory (its cache and each user's newest
/// rows) is already allocated.
pub fn resting() {
    let rows = [
        ("the exchange", false, 0),
        ("exchange and read model", true, 0),
        ("the same after as many that ended", true, ORDERS),
    ];
    for (what, readers, ended) in rows {
        let mut venue = Venue::new(readers);
        for command in mix::opening(USERS, MARKETS) {
            venue.tell(command);
        }
        let (mut draw, empty) = (mix::Draw::new(88_172_645_463_325_252), resident());
        for _ in 0..ended {
            let user = rest(&mut venue, &mut draw);
            let order = OrderNo(Sequence::new(venue.sequence));
            venue.tell(Command::CancelOrder { user, order });
        }
        let before = resident();
        if ended > 0 {
            let mib = before.saturating_sub(empty) >> 20;
            println!("resting  {mib} MiB for {ended} orders that ended");
        }
        for _ in 0..ORDERS {
            rest(&mut venue, &mut draw);
        }
        assert_eq!(venue.exchange.open_orders_count(), ORDERS);
        let each = resident().saturating_sub(before) / u64::from(ORDERS);
        println!("resting  {ORDERS} orders: {each} bytes each, {what}");
        venue.leave();
    }
}

/// Prints the bytes of a market with an empty book, and of one with one order per side.
pub fn quiet() {
    for (what, readers) in [("the exchange", false), ("exchange and read model", true)] {
        let mut venue = Venue::new(readers);
        for command in mix::opening(2, 0) {
            venue.tell(command);
        }
        let empty = resident();
        for market in 0..QUIET_MARKETS {
            for command in mix::market(market) {
                venue.tell(command);
            }
        }
        let thin = resident();
        for market in 0..QUIET_MARKETS {
            venue.tell(Command::PlaceOrder(mix::order(0, market, true, 40, 1)));
            venue.tell(Command::PlaceOrder(mix::order(1, market, false, 60, 1)));
        }
        let (after, count) = (resident(), u64::from(QUIET_MARKETS));
        let (one, two) = (thin.saturating_sub(empty) / count, after.saturating_sub(thin) / count);
        println!("quiet    {count} markets: {one} bytes each, {two} more with two orders, {what}");
        venue.leave();
    }
}
