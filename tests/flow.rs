//! Recorded order flow of real venues, replayed through the exchange: fills, books, positions and
//! pay-outs must equal those that the recordings' authors computed independently.
//!
//! The committed sample is always replayed; the larger sets only if present in
//! `../shared/data/flow` or in the folder named by `OPENOUTCRY_FLOW_DIR`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use exchange::Exchange;
use exchange::catalogue::{MarketDraft, Outcome};
use exchange::command::{Command, Direction, PlaceOrder, Record};
use exchange::effect::{Effect, Trade};
use exchange::ids::{MarketNo, OrderNo, UserNo};
use exchange::rules::Rules;
use exchange::units::{Money, TimeMs};
use flow::lines::Source;
use flow::rows::{Action, BookLevel, BookRow, FillRow, PositionRow, Row};
use flow::{Flow, FlowError, FlowLine, Gross, LineNo, Merged, OrderRef, sample};

/// Lines between two checks of the exchange's invariants.
const CHECK_EVERY: usize = 20_000;

/// A fill: line, taker, maker, the taker's outcome, price in it, lots.
type Fill = (u32, u64, u64, Outcome, u8, u64);

/// A venue that replays a flow.
struct FlowVenue<'a> {
    flow: &'a Flow,
    exchange: Exchange,
    effects: Vec<Effect>,
    time: TimeMs,
    orders: BTreeMap<OrderRef, OrderNo>,
    refs: BTreeMap<OrderNo, OrderRef>,
    fills: Vec<Fill>,
    /// Net holdings and cash of each market and account.
    made: BTreeMap<(usize, usize), Merged>,
    /// Profit and loss of each market and account.
    realised: BTreeMap<(usize, usize), i128>,
}

impl<'a> FlowVenue<'a> {
    /// Opens a venue with the flow's markets, and its accounts with enough money each.
    fn open(flow: &'a Flow) -> FlowVenue<'a> {
        let mut venue = FlowVenue {
            flow,
            exchange: Exchange::new(),
            effects: Vec::new(),
            time: TimeMs::default(),
            orders: BTreeMap::new(),
            refs: BTreeMap::new(),
            fills: Vec::new(),
            made: BTreeMap::new(),
            realised: BTreeMap::new(),
        };
        venue.ask(Command::OpenVenue(Rules::current()));
        let amount = flow.need_max().unwrap().plus(Money::new(1)).unwrap();
        for (number, name) in (0..).zip(flow.accounts()) {
            let (profile_name, profile_pic) = (name.to_string(), String::new());
            venue.ask(Command::CreateUser { profile_name, profile_pic });
            venue.ask(Command::Deposit { user: UserNo(number), amount });
        }
        for (number, _) in (0..).zip(flow.markets()) {
            venue.ask(Command::CreateMarket(Box::new(draft())));
            venue.ask(Command::PublishMarket { market: MarketNo(number) });
        }
        venue
    }

    /// Applies a command, which must not be refused, and keeps the positions from its effects.
    fn ask(&mut self, command: Command) {
        let sequence = self.exchange.sequence().next();
        let record = Record { sequence, time: self.time, once: None, act: None, command };
        self.effects.clear();
        self.exchange.apply(&record, &mut self.effects).unwrap();
        for effect in &self.effects {
            match effect {
                Effect::Refused(reject) => panic!("{record:?} was refused: {reject}"),
                Effect::PositionChanged { user, market, yes, no, realised } => {
                    let cost = i128::from(yes.cost.get()) + i128::from(no.cost.get());
                    let gross = Gross {
                        yes_lots: i128::from(yes.held.get()),
                        no_lots: i128::from(no.held.get()),
                        // Realised result less the cost of what is still held is the net cash flow.
                        cash_units: realised.get() - cost,
                    };
                    let key = (market.index(), user.index());
                    self.made.insert(key, gross.merged());
                    self.realised.insert(key, realised.get());
                }
                Effect::PositionSettled { user, market, realised, .. } => {
                    self.realised.insert((market.index(), user.index()), realised.get());
                }
                _ => {}
            }
        }
    }

    fn play(&mut self, line: &FlowLine) {
        self.time = self.time.max(TimeMs::new(line.t_ms).unwrap());
        let user = UserNo(u32::try_from(line.account.0).unwrap());
        match line.action {
            Action::Cancel => {
                self.ask(Command::CancelOrder { user, order: self.orders[&line.order] });
            }
            Action::Place(order) => {
                let number = OrderNo(self.exchange.sequence().next());
                self.orders.insert(line.order, number);
                self.refs.insert(number, line.order);
                self.ask(Command::PlaceOrder(PlaceOrder {
                    time_in_force: order.time_in_force,
                    ..PlaceOrder::plain(
                        user,
                        MarketNo(u32::try_from(line.market.0).unwrap()),
                        order.wording,
                        order.price,
                        order.quantity,
                    )
                }));
                for effect in &self.effects {
                    if let Effect::TradeMade(trade) = effect {
                        let maker = self.refs[&trade.maker.order];
                        let Trade { price, quantity, .. } = trade;
                        let worded = order.wording.yes_price(*price).get();
                        let outcome = order.wording.outcome;
                        let (line_no, taker) = (line.line.0, line.order.0);
                        self.fills.push((line_no, taker, maker.0, outcome, worded, quantity.get()));
                    }
                }
            }
        }
    }

    fn levels(&self, market: usize, side: Direction) -> Vec<BookLevel> {
        let market = self.exchange.market(MarketNo(u32::try_from(market).unwrap())).unwrap();
        let level = |(price, level): (_, exchange::book::Level)| BookLevel {
            price,
            quantity: level.quantity,
        };
        market.book.levels(side).map(level).collect()
    }

    /// Replays the whole flow; every book recorded on the way must equal the exchange's. Returns
    /// the number of books compared.
    fn play_all(&mut self, books: &[BookRow]) -> usize {
        let mut stated: BTreeMap<LineNo, Vec<&BookRow>> = BTreeMap::new();
        for book in books {
            stated.entry(book.after_line).or_default().push(book);
        }
        let mut compared = 0;
        for (count, line) in self.flow.lines().iter().enumerate() {
            self.play(line);
            for book in stated.get(&line.line).into_iter().flatten() {
                let market = self.flow.market(&book.market).unwrap().0;
                assert_eq!(self.levels(market, Direction::Up), book.bids, "after {line:?}");
                assert_eq!(self.levels(market, Direction::Down), book.asks, "after {line:?}");
                compared += 1;
            }
            if count % CHECK_EVERY == 0 {
                self.exchange.check().unwrap();
            }
        }
        self.exchange.check().unwrap();
        compared
    }
}

fn draft() -> MarketDraft {
    MarketDraft::plain(TimeMs::MAX)
}

fn rows<T: Row>(source: Source) -> Vec<T> {
    source.rows().map(|row| row.unwrap().1).collect()
}

/// Replays a flow and compares its fills and books; returns the venue as of the end.
fn compare<'a>(flow: &'a Flow, fills: &[FillRow], books: &[BookRow]) -> FlowVenue<'a> {
    let mut venue = FlowVenue::open(flow);
    assert_eq!(venue.play_all(books), books.len(), "books compared");
    let expected: Vec<Fill> = fills
        .iter()
        .map(|fill| {
            let FillRow { line, taker, maker, outcome, price, quantity, .. } = fill;
            (line.0, taker.0, maker.0, *outcome, price.get(), quantity.get())
        })
        .collect();
    for (ours, theirs) in venue.fills.iter().zip(&expected) {
        assert_eq!(ours, theirs);
    }
    assert_eq!(venue.fills.len(), expected.len(), "fills made");
    println!("{} lines, {} fills, {} books", flow.lines().len(), expected.len(), books.len());
    venue
}

/// Compares each account's net holdings and cash in each market.
fn compare_positions(venue: &FlowVenue, positions: &[PositionRow]) {
    let unit = venue.flow.position_unit();
    let mut others = venue.made.clone();
    for row in positions {
        let market = venue.flow.market(&row.market).unwrap().0;
        let account = venue.flow.account(&row.account).unwrap().0;
        let ours = others.remove(&(market, account)).unwrap_or_default();
        assert_eq!(ours, row.gross(unit).merged(), "{row:?}");
    }
    // Accounts that are not listed must end flat.
    others.retain(|_, made| *made != Merged::default());
    assert!(others.is_empty(), "not expected: {others:?}");
    assert!(!positions.is_empty());
}

/// The result of a market and the profit or loss of an account in it.
struct Won {
    market: String,
    account: String,
    result: Option<Outcome>,
    pnl: i128,
}

impl Row for Won {
    fn read(_line: LineNo, text: &[u8]) -> Result<Self, FlowError> {
        let row: serde_json::Value = serde_json::from_slice(text).unwrap();
        Ok(Won {
            market: row["market"].as_str().unwrap().to_owned(),
            account: row["acct"].as_str().unwrap().to_owned(),
            result: match row["result"].as_str() {
                Some("yes") => Some(Outcome::Yes),
                Some("no") => Some(Outcome::No),
                _ => None,
            },
            pnl: i128::from(row["pnl_cents"].as_i64().unwrap_or_default()),
        })
    }
}

/// Settles every market that has a result; profit and loss must equal the expected, to the unit.
fn compare_winnings(venue: &mut FlowVenue, rows: &[Won]) {
    let unit = venue.flow.position_unit().lots();
    let results: BTreeMap<&str, Outcome> =
        rows.iter().filter_map(|row| Some((row.market.as_str(), row.result?))).collect();
    for (name, winner) in &results {
        let market = MarketNo(u32::try_from(venue.flow.market(name).unwrap().0).unwrap());
        venue.ask(Command::ResolveMarket { market, winner: *winner });
        // Those whom the first slice did not pay are paid by the clock.
        while venue.exchange.next_due().is_some_and(|due| due <= venue.time) {
            venue.ask(Command::AdvanceClock);
        }
    }
    venue.exchange.check().unwrap();
    let mut sum = 0;
    for row in rows.iter().filter(|row| row.result.is_some()) {
        let market = venue.flow.market(&row.market).unwrap().0;
        let account = venue.flow.account(&row.account).unwrap().0;
        let ours = venue.realised.get(&(market, account)).copied().unwrap_or_default();
        assert_eq!(ours, row.pnl * unit, "{} of {}", row.account, row.market);
        sum += ours;
    }
    assert_eq!(sum, 0, "what one wins another loses");
}

#[test]
fn the_sample_replays_as_recorded() {
    let flow = Flow::read(sample::flow(), None).unwrap();
    compare(&flow, &rows(sample::fills()), &rows(sample::books()));
}

#[test]
fn the_smoke_set_replays_as_recorded() {
    play_set("smoke", "jsonl");
}

#[test]
fn the_gold_windows_replay_as_recorded() {
    play_set("kalshi-gold-1800-2045", "jsonl.gz");
}

#[test]
fn the_hockey_game_replays_as_recorded() {
    play_set("polymarket-nhl-0130", "jsonl.gz");
}

/// Replays a set from the folder of large sets, if it is present.
fn play_set(name: &str, suffix: &str) {
    let folder = std::env::var_os("OPENOUTCRY_FLOW_DIR").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data/flow"),
        PathBuf::from,
    );
    let path = |kind: &str| folder.join(format!("{name}.{kind}.{suffix}"));
    if !path("flow").exists() {
        println!("skipped: {} is not here", path("flow").display());
        return;
    }
    let open = |kind: &str| Source::open(&path(kind)).unwrap();
    let flow = Flow::read(open("flow"), None).unwrap();
    let mut venue = compare(&flow, &rows(open("fills")), &rows(open("books")));
    if path("positions").exists() {
        compare_positions(&venue, &rows(open("positions")));
        compare_winnings(&mut venue, &rows(open("positions")));
    }
}
