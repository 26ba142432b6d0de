//! Images of a venue after five million commands: written and read, in memory.

#![allow(clippy::expect_used, reason = "a bench that cannot measure stops")]

use criterion::{Criterion, SamplingMode, Throughput, criterion_group, criterion_main};
use exchange::Exchange;
use exchange::catalogue::{MarketDraft, Outcome};
use exchange::command::{Command, PlaceOrder, Record, Side, Wording};
use exchange::effect::Applied;
use exchange::ids::{MarketNo, OrderNo, UserNo};
use exchange::rules::Rules;
use exchange::units::{Lots, Money, Sequence, Tick, TimeMs};
use views::ReadModel;
use views::history::History;

const USERS: u32 = 2_000;
const MARKETS: u32 = 50;
/// Orders placed; as many commands cancel an earlier one, if it is still open.
const ORDERS: u64 = 2_500_000;
/// An order is cancelled this many records after it was placed.
const CANCEL_AFTER: u64 = 8_001;

struct Venue {
    exchange: Exchange,
    model: ReadModel,
    drawn: u64,
}

impl Venue {
    fn ask(&mut self, command: Command) {
        let sequence = self.exchange.sequence().next();
        let ms = 1_700_000_000_000 + i64::try_from(sequence.get()).expect("a time");
        let record = Record {
            sequence,
            time: TimeMs::new(ms).expect("a time"),
            once: None,
            act: None,
            command,
        };
        let mut effects = Vec::new();
        self.exchange.apply(&record, &mut effects).expect("it applies");
        self.model.fold(&Applied { sequence, time: record.time, effects: &effects });
    }

    /// The next pseudo-random number below a bound; the same sequence in every run.
    fn draw(&mut self, below: u32) -> u32 {
        self.drawn ^= self.drawn << 13;
        self.drawn ^= self.drawn >> 7;
        self.drawn ^= self.drawn << 17;
        u32::try_from(self.drawn % u64::from(below)).expect("a small number")
    }

    fn order(&mut self) -> PlaceOrder {
        let outcome = if self.draw(2) == 0 { Outcome::Yes } else { Outcome::No };
        PlaceOrder::plain(
            UserNo(self.draw(USERS)),
            MarketNo(self.draw(MARKETS)),
            Wording { outcome, side: Side::Buy },
            Tick::new(u8::try_from(40 + self.draw(15)).expect("a price")).expect("a price"),
            Lots::contracts(1 + u64::from(self.draw(20))),
        )
    }
}

fn market() -> MarketDraft {
    MarketDraft::plain(TimeMs::MAX)
}

fn venue() -> Venue {
    let (exchange, model) = (Exchange::new(), ReadModel::on(&History::discarding()));
    let mut venue = Venue { exchange, model, drawn: 0x9E37_79B9_7F4A_7C15 };
    venue.ask(Command::OpenVenue(Rules::current()));
    for user in 0..USERS {
        let (profile_name, profile_pic) = (format!("user {user}"), String::new());
        venue.ask(Command::CreateUser { profile_name, profile_pic });
        let amount = Money::new(1_000_000_000_000_000);
        venue.ask(Command::Deposit { user: UserNo(user), amount });
    }
    for number in 0..MARKETS {
        venue.ask(Command::CreateMarket(Box::new(market())));
        venue.ask(Command::PublishMarket { market: MarketNo(number) });
    }
    for _ in 0..ORDERS {
        let order = venue.order();
        venue.ask(Command::PlaceOrder(order));
        let earlier = venue.exchange.sequence().get().saturating_sub(CANCEL_AFTER);
        let order = OrderNo(Sequence::new(earlier));
        let owner = venue.exchange.order(order).map_or(UserNo(0), |order| order.user);
        venue.ask(Command::CancelOrder { user: owner, order });
    }
    venue
}

fn images(c: &mut Criterion) {
    let Venue { exchange, model, .. } = venue();
    let users = || (0..USERS).map(UserNo);
    let orders: usize = users().map(|user| model.orders.count(user)).sum();
    let fills: usize = users().map(|user| model.orders.fills_of(user).len()).sum();
    let activity: usize = (0..MARKETS).map(|market| model.activity.count(MarketNo(market))).sum();
    let mut image = Vec::new();
    model.write_image(&mut image).expect("memory takes it");
    let bytes = image.len();
    println!("read model: {orders} orders, {fills} fills, {activity} told, {bytes} bytes");

    let mut group = c.benchmark_group("read model image");
    group.sample_size(10).sampling_mode(SamplingMode::Flat);
    group.throughput(Throughput::Elements((orders + fills + activity) as u64));
    group.bench_function("write", |b| {
        let mut written = Vec::with_capacity(bytes);
        b.iter(|| {
            written.clear();
            model.write_image(&mut written)
        });
    });
    let history = History::discarding();
    group.bench_function("read", |b| {
        b.iter_with_large_drop(|| {
            ReadModel::read_image(&mut &image[..], &history).expect("an image")
        });
    });
    group.finish();

    let image = exchange.image().expect("an image");
    println!("state: {} open orders, {} bytes", exchange.open_orders_count(), image.len());
    let mut group = c.benchmark_group("state image");
    group.throughput(Throughput::Bytes(image.len() as u64));
    group.bench_function("write", |b| b.iter(|| exchange.image().expect("an image")));
    group.bench_function("hash", |b| b.iter(|| exchange.digest().expect("a digest")));
    group.bench_function("read, check", |b| {
        b.iter_with_large_drop(|| Exchange::from_image(&image).expect("an image"));
    });
    group.finish();
}

criterion_group!(benches, images);
criterion_main!(benches);
