//! A journal of any number of closed orders: ten thousand users who place orders in a hundred
//! markets at a time, each of which ends and makes room for the next; a few thousand orders stand.

use std::collections::VecDeque;
use std::path::Path;
use std::time::Instant;

use openoutcry::exchange::catalogue::Outcome;
use openoutcry::exchange::command::{Command, Record, TimeInForce};
use openoutcry::exchange::ids::{MarketNo, OrderNo, UserNo};
use openoutcry::exchange::units::{Sequence, TimeMs};
use openoutcry::journal::Journal;

use crate::mix::{self, Draw};
use crate::venue::Writer;

/// Users of the venue.
const USERS: u32 = 10_000;
/// Users that trade in one market.
const REGULARS: u64 = 200;
/// Markets that trade at a time.
const MARKETS: u32 = 100;
/// Orders of a market; then it ends.
const ORDERS_OF_MARKET: u32 = 20_000;
/// Orders of a market that stand, before the oldest is cancelled.
const STANDING: usize = 50;
/// Records in a block, nearly a full one, so that filling the journal takes minutes.
const BLOCK_RECORDS: usize = 250;
/// Of a hundred orders, those that take.
const TAKES_OF_100: u64 = 50;
/// Between two records: some four weeks for thirty millions.
const STEP_MS: u64 = 80;

/// A market that trades.
struct Market {
    number: u32,
    orders: u32,
    /// Those that were left to stand, by their owners; some have traded since.
    standing: VecDeque<(UserNo, OrderNo)>,
}

/// The venue's traders, all of them.
struct Busy {
    writer: Writer,
    draw: Draw,
    sequence: u64,
    markets: Vec<Market>,
    opened: u32,
}

/// Fills the data directory's journal with that many orders, unless something is there.
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
        self.writer.push(Record { sequence, time, once: None, command });
    }

    fn open(&mut self) -> Market {
        let number = self.opened;
        for command in mix::market(number) {
            self.tell(command);
        }
        self.opened += 1;
        Market { number, orders: 0, standing: VecDeque::new() }
    }

    /// Places one order, and cancels one if enough stand.
    fn order(&mut self) {
        let place = self.draw.below(u64::from(MARKETS));
        let place = usize::try_from(place).expect("a place");
        let number = self.markets[place].number;
        let regular = u64::from(number) * 37 + self.draw.below(REGULARS) * 50;
        let user = u32::try_from(regular % u64::from(USERS)).expect("a number");
        let takes = self.draw.below(100) < TAKES_OF_100;
        let (up, away) = (self.draw.below(2) == 0, self.draw.below(8));
        // Takers reach over the middle, the others stay on their side of it.
        let yes = if up == takes { 51 + away } else { 50 - away };
        let yes = u8::try_from(yes).expect("a price");
        let mut terms = mix::order(user, number, up, yes, 1 + self.draw.below(50));
        if takes {
            terms.time_in_force = TimeInForce::ImmediateOrCancel;
        }
        self.tell(Command::PlaceOrder(terms));
        let placed = (UserNo(user), OrderNo(Sequence::new(self.sequence)));
        let market = &mut self.markets[place];
        market.orders += 1;
        if !takes {
            market.standing.push_back(placed);
        }
        if market.orders == ORDERS_OF_MARKET {
            let winner = if self.draw.below(2) == 0 { Outcome::Yes } else { Outcome::No };
            self.tell(Command::ResolveMarket { market: MarketNo(number), winner });
            self.markets[place] = self.open();
        } else if market.standing.len() > STANDING
            && let Some((user, order)) = market.standing.pop_front()
        {
            self.tell(Command::CancelOrder { user, order });
        }
    }
}
