//! Orders for 100,000 markets by Zipf's law, in which the k-th market gets 1/k of the orders of the
//! first; and the batches of the batch row of `benches/http`.

use exchange::catalogue::{MarketDraft, Outcome};
use exchange::command::{Command, PlaceOrder, Record, Side, TimeInForce, Wording};
use exchange::ids::{MarketNo, OrderNo, UserNo};
use exchange::rules::Rules;
use exchange::units::{Lots, Money, Sequence, Tick, TimeMs};

/// Markets of the row.
const MARKETS: u32 = 100_000;
/// Users of the row.
const USERS: u32 = 10_000;
/// Commands of the row.
const COMMANDS: usize = 1_000_000;
/// Commands of a hundred that index a resting order, as in the recorded flows.
const PLACES_OF_100: u64 = 51;
/// Commands of a hundred that take; the others cancel.
const TAKES_OF_100: u64 = 3;

/// Traders of the row of batches.
const BATCHERS: u32 = 16;
/// Orders of a batch.
const BATCH_ORDERS: u32 = 100;
/// Batches of the row.
const BATCHES: u32 = 4_000;

/// The records of a row.
#[derive(Debug, Clone)]
pub struct Script {
    /// All records, from sequence 1.
    pub records: Vec<Record>,
    /// How many of them open the venue; those are not measured.
    pub opening_count: usize,
}

/// A pseudo-random generator with a fixed sequence.
pub struct Draw(u64);

impl Draw {
    pub const fn new(seed: u64) -> Draw {
        Draw(seed)
    }

    /// A number below `bound`.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % bound
    }
}

/// A venue's first records: users with money, markets that trade.
pub fn opening(users: u32, markets: u32) -> Vec<Command> {
    let mut commands = vec![Command::OpenVenue(Rules::current())];
    for user in (0..users).map(UserNo) {
        let (profile_name, profile_pic) = (String::from("a"), String::new());
        commands.push(Command::CreateUser { profile_name, profile_pic });
        commands.push(Command::Deposit { user, amount: Money::new(100_000_000_000_000) });
    }
    commands.extend((0..markets).flat_map(market));
    commands
}

/// A market that trades.
pub fn market(number: u32) -> [Command; 2] {
    let draft = Box::new(MarketDraft::plain(TimeMs::MAX));
    [Command::CreateMarket(draft), Command::PublishMarket { market: MarketNo(number) }]
}

/// An order to buy; yes if `up`, else no; `yes` is its price of yes.
pub fn order(user: u32, market: u32, up: bool, yes: u8, contracts: u64) -> PlaceOrder {
    let yes = Tick::new(yes).expect("a price");
    let outcome = if up { Outcome::Yes } else { Outcome::No };
    let wording = Wording { outcome, side: Side::Buy };
    let quantity = Lots::contracts(contracts);
    PlaceOrder::plain(UserNo(user), MarketNo(market), wording, wording.yes_price(yes), quantity)
}

/// Commands as records, ten per millisecond.
pub fn records(commands: Vec<Command>) -> Vec<Record> {
    let record = |(number, command): (u64, Command)| Record {
        sequence: Sequence::new(number),
        time: TimeMs::new(i64::try_from(number / 10).expect("a time")).expect("a time"),
        once: None,
        act: None,
        command,
    };
    (1..).zip(commands).map(record).collect()
}

/// Draws markets by Zipf's law.
struct Zipf {
    /// Sums of the weights up to each market.
    sums: Vec<u64>,
}

impl Zipf {
    fn new(markets: u32) -> Zipf {
        let mut sum = 0;
        let weight = |market: u32| u64::from(MARKETS) * 1_000 / u64::from(market + 1);
        let sums = (0..markets).map(|market| {
            sum += weight(market);
            sum
        });
        Zipf { sums: sums.collect() }
    }

    fn draw(&self, draw: &mut Draw) -> u32 {
        let at = draw.below(*self.sums.last().expect("markets"));
        u32::try_from(self.sums.partition_point(|sum| *sum <= at)).expect("a number")
    }
}

/// Orders near each market's own price, cancels of random open orders, and some takers.
pub fn zipf() -> Script {
    let mut commands = opening(USERS, MARKETS);
    let opening_count = commands.len();
    let (zipf, mut draw) = (Zipf::new(MARKETS), Draw::new(88_172_645_463_325_252));
    let mut open_orders: Vec<(UserNo, OrderNo)> = Vec::new();
    for _ in 0..COMMANDS {
        let kind = draw.below(100);
        if kind >= PLACES_OF_100 + TAKES_OF_100 && !open_orders.is_empty() {
            let index = draw.below(u64::try_from(open_orders.len()).expect("a count"));
            let (user, order) = open_orders.swap_remove(usize::try_from(index).expect("an index"));
            commands.push(Command::CancelOrder { user, order });
            continue;
        }
        let user = u32::try_from(draw.below(u64::from(USERS))).expect("a number");
        let market = zipf.draw(&mut draw);
        let (up, away) = (draw.below(2) == 0, draw.below(8));
        let middle = 20 + u64::from(market) * 7 % 60;
        let takes = kind >= PLACES_OF_100;
        // Takers cross the middle, the others stay on their side of it.
        let over = up == takes;
        let yes = if over { middle + 1 + away } else { middle - away };
        let yes = u8::try_from(yes).expect("a price");
        let mut terms = order(user, market, up, yes, 1 + draw.below(50));
        if takes {
            terms.time_in_force = TimeInForce::ImmediateOrCancel;
        } else {
            let number = u64::try_from(commands.len()).expect("a number") + 1;
            open_orders.push((UserNo(user), OrderNo(Sequence::new(number))));
        }
        commands.push(Command::PlaceOrder(terms));
    }
    Script { records: records(commands), opening_count }
}

/// Batches of traders in random order: bids at twenty prices that rest, and every fourth order
/// takes somewhat more than was offered. Every second trader buys no.
pub fn batches() -> Script {
    let mut commands = opening(BATCHERS, 1);
    let opening_count = commands.len();
    let mut draw = Draw::new(88_172_645_463_325_252);
    for _ in 0..BATCHES {
        let user = u32::try_from(draw.below(u64::from(BATCHERS))).expect("a number");
        let outcome = if user.is_multiple_of(2) { Outcome::Yes } else { Outcome::No };
        let wording = Wording { outcome, side: Side::Buy };
        for k in 0..BATCH_ORDERS {
            let takes = k % 4 == 3;
            let price = if takes { 70 } else { 30 + (user / 2 + k) % 20 };
            let price = Tick::new(u8::try_from(price).expect("a price")).expect("a price");
            let quantity = Lots::contracts(if takes { 36 } else { 10 });
            let mut terms = PlaceOrder::plain(UserNo(user), MarketNo(0), wording, price, quantity);
            if takes {
                terms.time_in_force = TimeInForce::ImmediateOrCancel;
            }
            commands.push(Command::PlaceOrder(terms));
        }
    }
    Script { records: records(commands), opening_count }
}
