//! Recorded order flow through the exchange and the read model, no server: every fill with its
//! maker, every book and every position must be what the recordings' own expectations say.

// clippy knows tests by their attribute, and not the parts that they share.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::collections::HashMap;
use std::path::Path;

use openoutcry::exchange::Exchange;
use openoutcry::exchange::catalogue::Outcome;
use openoutcry::exchange::command::{Direction, Record, Side};
use openoutcry::exchange::effect::{Applied, Effect, Trade};
use openoutcry::exchange::ids::{MarketNo, UserNo};
use openoutcry::exchange::units::Lots;
use openoutcry::flow::lines::Source;
use openoutcry::flow::records::FlowRecords;
use openoutcry::flow::rows::{Action, BookLevel, BookRow, FillRow, PlacedOrder, PositionRow, Row};
use openoutcry::flow::{Flow, FlowLine, Gross, OrderRef, sample};
use openoutcry::projection::ReadModel;

/// Lines between two looks at what must always be true.
const CHECK_EVERY: u32 = 10_000;

/// The expectations beside a flow.
struct Expected {
    fills: Vec<FillRow>,
    books: Vec<BookRow>,
    positions: Option<Vec<PositionRow>>,
}

struct Play {
    flow: Flow,
    exchange: Exchange,
    model: ReadModel,
    /// Orders by the sequence number of their record.
    orders: HashMap<u64, (OrderRef, PlacedOrder)>,
    fills: std::vec::IntoIter<FillRow>,
    gross: HashMap<(usize, usize), Gross>,
}

impl Play {
    fn run(flow: Flow, expected: Expected) {
        let records = FlowRecords::of(&flow);
        let (opening, lines) = records.records.split_at(records.opening_count);
        let mut play = Play {
            flow,
            exchange: Exchange::new(),
            model: ReadModel::new(),
            orders: HashMap::new(),
            fills: expected.fills.into_iter(),
            gross: HashMap::new(),
        };
        for record in opening {
            play.apply(record);
        }
        let commands = play.flow.lines().to_vec();
        let mut books = expected.books.into_iter().peekable();
        for (command, record) in commands.iter().zip(lines) {
            if let Action::Place(order) = command.action {
                play.orders.insert(record.sequence.get(), (command.order, order));
            }
            let effects = play.apply(record);
            play.line(command, &effects);
            while let Some(book) = books.next_if(|book| book.after_line <= command.line) {
                play.book(&book);
            }
            if command.line.0.is_multiple_of(CHECK_EVERY) {
                play.exchange.check().unwrap();
            }
        }
        play.exchange.check().unwrap();
        assert_eq!(books.next(), None, "a book after the last line");
        assert_eq!(play.fills.next(), None, "an expected fill that did not happen");
        if let Some(positions) = expected.positions {
            play.positions(&positions);
        }
    }

    fn apply(&mut self, record: &Record) -> Vec<Effect> {
        let mut effects = Vec::new();
        self.exchange.apply(record, &mut effects).unwrap();
        let (sequence, time) = (record.sequence, record.time);
        self.model.fold(&Applied { sequence, time, effects: &effects });
        effects
    }

    fn line(&mut self, command: &FlowLine, effects: &[Effect]) {
        for effect in effects {
            match effect {
                Effect::Refused(reject) => panic!("line {}: {reject:?}", command.line.0),
                Effect::TradeMade(trade) => self.trade(command, trade),
                _ => {}
            }
        }
    }

    fn trade(&mut self, command: &FlowLine, trade: &Trade) {
        let (taker, incoming) = self.orders[&trade.taker.order.0.get()];
        let (maker, resting) = self.orders[&trade.maker.order.0.get()];
        let got = FillRow {
            line: command.line,
            market: self.flow.markets()[trade.market.0 as usize].to_string(),
            taker,
            maker,
            outcome: incoming.wording.outcome,
            price: incoming.wording.yes_price(trade.price),
            quantity: trade.quantity,
        };
        assert_eq!(self.fills.next(), Some(got));
        for (party, order) in [(trade.taker, incoming), (trade.maker, resting)] {
            let key = (trade.market.0 as usize, party.user.0 as usize);
            add(self.gross.entry(key).or_default(), &order, trade);
        }
    }

    fn book(&self, book: &BookRow) {
        let market = MarketNo(self.flow.market(&book.market).unwrap().0.try_into().unwrap());
        for (direction, expected) in [(Direction::Up, &book.bids), (Direction::Down, &book.asks)] {
            let levels = self.model.depth.levels(market, direction);
            let got: Vec<BookLevel> = levels
                .map(|level| BookLevel { price: level.price, quantity: level.quantity })
                .collect();
            assert_eq!(&got, expected, "{} after line {}", book.market, book.after_line.0);
        }
    }

    fn positions(&self, expected: &[PositionRow]) {
        let unit = self.flow.position_unit();
        for row in expected {
            let market = self.flow.market(&row.market).unwrap();
            let account = self.flow.account(&row.account).unwrap();
            let merged = row.gross(unit).merged();
            let got = self.gross[&(market.0, account.0)].merged();
            assert_eq!(got, merged, "{} in {}", row.account, row.market);
            let user = UserNo(account.0.try_into().unwrap());
            let mut net = 0;
            for held in self.model.positions.of(user) {
                let lots = i128::from(held.quantity.get());
                match held.outcome {
                    _ if held.market.0 as usize != market.0 => {}
                    Outcome::Yes => net += lots,
                    Outcome::No => net -= lots,
                }
            }
            assert_eq!(net, merged.net_lots, "{} holds in {}", row.account, row.market);
        }
        assert_eq!(self.gross.len(), expected.len());
    }
}

/// Adds one fill to its owner's gross figures, in the owner's words.
fn add(gross: &mut Gross, order: &PlacedOrder, trade: &Trade) {
    let quantity = i128::from(trade.quantity.get());
    let price = order.wording.yes_price(trade.price);
    let sign = match order.wording.side {
        Side::Buy => 1,
        Side::Sell => -1,
    };
    gross.cash_units -= sign * quantity * i128::from(price.get());
    match order.wording.outcome {
        Outcome::Yes => gross.yes_lots += sign * quantity,
        Outcome::No => gross.no_lots += sign * quantity,
    }
}

fn rows<T: Row>(source: Source) -> Vec<T> {
    source.rows().map(|row| row.unwrap().1).collect()
}

#[test]
fn the_sample_comes_out_as_expected() {
    let flow = Flow::read(sample::flow(), None).unwrap();
    let (fills, books) = (rows(sample::fills()), rows(sample::books()));
    Play::run(flow, Expected { fills, books, positions: None });
}

/// The whole recordings, which are not part of the repository: point `OPENOUTCRY_FLOW` at their
/// directory and run with `--ignored`, optimised.
#[test]
#[ignore = "needs the recordings"]
fn the_recordings_come_out_as_expected() {
    let directory = std::env::var("OPENOUTCRY_FLOW").unwrap();
    for name in ["polymarket-nhl-0130", "kalshi-gold-1800-2045"] {
        let open = |kind: &str| {
            let file = format!("{name}.{kind}.jsonl.gz");
            Source::open(&Path::new(&directory).join(file)).unwrap()
        };
        let flow = Flow::read(open("flow"), None).unwrap();
        let mut books: Vec<BookRow> = rows(open("books"));
        books.sort_by_key(|book| book.after_line);
        let (fills, positions) = (rows(open("fills")), Some(rows(open("positions"))));
        Play::run(flow, Expected { fills, books, positions });
    }
}

#[test]
#[should_panic(expected = "left == right")]
fn a_wrong_expectation_is_seen() {
    let flow = Flow::read(sample::flow(), None).unwrap();
    let mut fills: Vec<FillRow> = rows(sample::fills());
    fills[500].quantity = fills[500].quantity.plus(Lots::new(1)).unwrap();
    Play::run(flow, Expected { fills, books: rows(sample::books()), positions: None });
}
