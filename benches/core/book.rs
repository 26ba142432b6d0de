//! One market's book and its order pool, without ledger, effects or checks: real orders are added,
//! cancelled and matched, with a report for each trade in a reused buffer.

use exchange::book::Book;
use exchange::command::{Command, PlaceOrder, Record, TimeInForce};
use exchange::ids::{MarketNo, OrderNo};
use exchange::orders::{Backing, Order, OrderPool};
use exchange::units::{Lots, Sequence};
use rustc_hash::FxHashMap;

/// An operation on a book.
#[derive(Debug, Clone, Copy)]
pub enum Step {
    /// An order is placed; its rest goes on the book unless it is immediate-or-cancel (the flag).
    Come(Order, bool),
    /// An order is removed, if it is still open.
    Go(OrderNo),
}

/// The report of a trade.
#[derive(Debug, Clone, Copy)]
#[allow(dead_code, reason = "written for a reader that is not measured")]
pub struct Report {
    pub maker: OrderNo,
    pub taker: OrderNo,
    pub quantity: Lots,
}

/// The operations on the busiest market of a flow, with orders numbered by operation.
pub fn steps(records: &[Record]) -> Vec<Step> {
    let mut counts: FxHashMap<MarketNo, usize> = FxHashMap::default();
    for record in records {
        if let Command::PlaceOrder(terms) = &record.command {
            *counts.entry(terms.market).or_default() += 1;
        }
    }
    let busiest = counts.into_iter().max_by_key(|(market, count)| (*count, market.0));
    let busiest = busiest.expect("a market").0;
    let mut numbers = FxHashMap::default();
    let mut steps = Vec::new();
    for record in records {
        match &record.command {
            Command::PlaceOrder(terms) if terms.market == busiest => {
                let no = OrderNo(Sequence::new(u64::try_from(steps.len()).expect("a number") + 1));
                numbers.insert(OrderNo(record.sequence), no);
                steps.push(come(no, terms));
            }
            Command::CancelOrder { order, .. } => {
                if let Some(no) = numbers.get(order) {
                    steps.push(Step::Go(*no));
                }
            }
            _ => {}
        }
    }
    steps
}

fn come(no: OrderNo, terms: &PlaceOrder) -> Step {
    let terms = PlaceOrder { market: MarketNo(0), ..terms.clone() };
    let backing = Backing { cash: terms.quantity, ..Backing::default() };
    let rests = matches!(terms.time_in_force, TimeInForce::GoodTillCancelled { .. });
    Step::Come(Order::new(no, &terms, backing), rests)
}

/// A book with its orders.
#[derive(Debug, Clone)]
pub struct Venue {
    book: Book,
    pool: OrderPool,
    reports: Vec<Report>,
}

impl Default for Venue {
    fn default() -> Venue {
        let mut pool = OrderPool::default();
        // More users than any flow has.
        for _ in 0..4096 {
            pool.add_user();
        }
        Venue { book: Book::default(), pool, reports: Vec::with_capacity(4096) }
    }
}

impl Venue {
    pub fn play(&mut self, steps: &[Step]) {
        for step in steps {
            self.reports.clear();
            match step {
                Step::Come(order, rests) => self.come(order, *rests),
                Step::Go(no) => self.go(*no),
            }
        }
    }

    fn come(&mut self, order: &Order, rests: bool) {
        let mut left = order.quantity;
        let side = order.direction().opposite();
        while !left.is_zero() {
            let best = self.book.best(side).filter(|tick| order.reaches(*tick));
            let Some(best) = best else { break };
            let slot = self.book.front(side, best).expect("an order");
            let mut maker = self.pool.get(slot).expect("an order");
            let quantity = left.min(maker.backing.cash);
            maker.backing.take(quantity).expect("less");
            maker.filled = maker.filled.plus(quantity).expect("not above the order's");
            left = left.minus(quantity).expect("less");
            if maker.backing.cash.is_zero() {
                self.book.unlink(&mut self.pool, slot).expect("linked");
                self.pool.remove(slot).expect("there");
            } else {
                self.book.reduce(best, quantity).expect("a level");
                self.pool.store(slot, &maker).expect("an order");
            }
            self.reports.push(Report { maker: maker.no, taker: order.no, quantity });
        }
        if rests && !left.is_zero() {
            let mut order = *order;
            order.filled = order.quantity.minus(left).expect("less");
            order.backing.cash = left;
            let slot = self.pool.insert(&order).expect("room");
            self.book.push(&mut self.pool, slot).expect("room");
        }
    }

    fn go(&mut self, no: OrderNo) {
        let Some(slot) = self.pool.find(no) else { return };
        self.book.unlink(&mut self.pool, slot).expect("linked");
        self.pool.remove(slot).expect("there");
    }
}
