//! A journal with any number of closed orders: ten thousand users index orders in a hundred markets
//! at a time, each of which ends and is replaced by a new one; a few thousand orders are open.

use std::collections::VecDeque;
use std::path::Path;
use std::time::Instant;

use exchange::catalogue::Outcome;
use exchange::command::{Command, Record, TimeInForce};
use exchange::ids::{MarketNo, OrderNo, UserNo};
use exchange::units::{Sequence, TimeMs};
use journal::Journal;

use crate::mix::{self, Draw};
use crate::venue::Writer;

/// Users of the venue.
const USERS: u32 = 10_000;
/// Users that trade in one market.
const REGULARS: u64 = 200;
/// Markets that trade at the same time.
const MARKETS: u32 = 100;
/// Orders of a market before it ends.
const ORDERS_OF_MARKET: u32 = 20_000;
/// Open orders of a market before the oldest is cancelled.
const STANDING: usize = 50;
/// Records per block; nearly full blocks, so that filling the journal takes only minutes.
const BLOCK_RECORDS: usize = 250;
/// Orders of a hundred that take.
const TAKES_OF_100: u64 = 50;
/// Time between records: about four weeks for thirty million.
const STEP_MS: u64 = 80;

/// A market that trades.
struct Market {
    number: u32,
    orders: u32,
    /// Orders left open, with their owners; some may have traded since.
    open_orders: VecDeque<(UserNo, OrderNo)>,
}

/// The busy venue.
struct Busy {
    writer: Writer,
    draw: Draw,
    sequence: u64,
    markets: Vec<Market>,
    opened: u32,
}

/// Fills the data directory's journal with this many orders, unless it has records already.
pub fn make(data: &Path, orders: u64) {
    let writer = Writer::open(data, BLOCK_RECORDS);
    if writer.journal.head().sequence > Sequence::ZERO {
        return;
    }
    let began = Instant::now();
    let draw = Draw::new(88_172_645_463_325_252);
    let mut busy = Busy { writer, draw, sequence: 0, markets: Vec::new(), opened: 0 };
    for command in mix::opening(USERS, 0) {
        busy.tell(command);
    }
    for _ in 0..MARKETS {
        let market = busy.open();
        busy.markets.push(market);
    }
    for _ in 0..orders {
        busy.order();
    }
    let head = busy.writer.finish();
    println!("made    {:>6} ms, {head} records, {orders} orders", began.elapsed().as_millis());
}

impl Busy {
    fn tell(&mut self, command: Command) {
        self.sequence += 1;
        let time = i64::try_from(self.sequence * STEP_MS).expect("a time");
        let (sequence, time) = (Sequence::new(self.sequence), TimeMs::new(time).expect("a time"));
        self.writer.push(Record { sequence, time, once: None, act: None, command });
    }

    fn open(&mut self) -> Market {
        let number = self.opened;
        for command in mix::market(number) {
            self.tell(command);
        }
        self.opened += 1;
        Market { number, orders: 0, open_orders: VecDeque::new() }
    }

    /// Places one order, and cancels one if enough are open.
    fn order(&mut self) {
        let index = self.draw.below(u64::from(MARKETS));
        let index = usize::try_from(index).expect("an index");
        let number = self.markets[index].number;
        let regular = u64::from(number) * 37 + self.draw.below(REGULARS) * 50;
        let user = u32::try_from(regular % u64::from(USERS)).expect("a number");
        let takes = self.draw.below(100) < TAKES_OF_100;
        let (up, away) = (self.draw.below(2) == 0, self.draw.below(8));
        // Takers cross the middle, the others stay on their side of it.
        let yes = if up == takes { 51 + away } else { 50 - away };
        let yes = u8::try_from(yes).expect("a price");
        let mut terms = mix::order(user, number, up, yes, 1 + self.draw.below(50));
        if takes {
            terms.time_in_force = TimeInForce::ImmediateOrCancel;
        }
        self.tell(Command::PlaceOrder(terms));
        let placed = (UserNo(user), OrderNo(Sequence::new(self.sequence)));
        let market = &mut self.markets[index];
        market.orders += 1;
        if !takes {
            market.open_orders.push_back(placed);
        }
        if market.orders == ORDERS_OF_MARKET {
            let winner = if self.draw.below(2) == 0 { Outcome::Yes } else { Outcome::No };
            self.tell(Command::ResolveMarket { market: MarketNo(number), winner });
            self.markets[index] = self.open();
        } else if market.open_orders.len() > STANDING
            && let Some((user, order)) = market.open_orders.pop_front()
        {
            self.tell(Command::CancelOrder { user, order });
        }
    }
}
