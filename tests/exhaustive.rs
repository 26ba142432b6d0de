//! Every sequence of a few commands from a small alphabet, against the naive twin. A rare
//! combination that random commands may never hit is covered here for certain, if it is short.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "model/compare.rs"]
#[allow(dead_code)]
mod compare;
#[path = "model/naive/mod.rs"]
mod naive;

use std::rc::Rc;

use exchange::catalogue::{MarketDraft, Outcome};
use exchange::command::{
    Command, Condition, PlaceOrder, Record, SelfTradePrevention, Side, TimeInForce, Wording,
};
use exchange::effect::Effect;
use exchange::ids::{MarketNo, OrderNo, UserNo};
use exchange::rules::Rules;
use exchange::units::{Lots, Money, Sequence, Tick, TimeMs};
use exchange::{Exchange, script};

use naive::Naive;

/// The one market.
const MARKET: MarketNo = MarketNo(0);
const GTC: TimeInForce = TimeInForce::GoodTillCancelled { expires_at: None };
const MODES: [SelfTradePrevention; 3] = [
    SelfTradePrevention::CancelTaker,
    SelfTradePrevention::CancelMaker,
    SelfTradePrevention::CancelBoth,
];

/// The same venue in the exchange and in its twin, with the records so far.
#[derive(Clone)]
struct Pair {
    exchange: Exchange,
    twin: Naive,
    /// The records that every sequence begins with, shared between copies; then those of this
    /// sequence.
    opening: Rc<Vec<Record>>,
    records: Vec<Record>,
}

impl Pair {
    /// Opens a venue with one market, and users with money for `balances` contracts at 1.00.
    fn open(balances: &[i64]) -> Pair {
        let mut pair = Pair {
            exchange: Exchange::new(),
            twin: Naive::new(),
            opening: Rc::default(),
            records: Vec::new(),
        };
        pair.ask(Command::OpenVenue(Rules::current()));
        for (number, balance) in (0..).zip(balances) {
            let (profile_name, profile_pic) = (format!("user {number}"), String::new());
            pair.ask(Command::CreateUser { profile_name, profile_pic });
            let amount = Money::new(balance * 1_000_000);
            pair.ask(Command::Deposit { user: UserNo(number), amount });
        }
        pair.ask(Command::CreateMarket(Box::new(draft())));
        pair.ask(Command::PublishMarket { market: MARKET });
        pair.opened()
    }

    /// Makes all records so far the common opening of every sequence.
    fn opened(mut self) -> Pair {
        let mut opening = self.opening.to_vec();
        opening.append(&mut self.records);
        self.opening = Rc::new(opening);
        self
    }

    fn script(&self) -> String {
        script::print(&[&self.opening[..], &self.records[..]].concat())
    }

    /// Applies a command to both, and panics with a script where they differ.
    fn ask(&mut self, command: Command) -> Vec<Effect> {
        let sequence = Sequence::new(self.twin.sequence + 1);
        let record = Record { sequence, time: TimeMs::default(), once: None, act: None, command };
        let expected = self.twin.apply(&record);
        self.records.push(record);
        let mut effects = Vec::new();
        let applied = self.exchange.apply(self.records.last().unwrap(), &mut effects);
        let same = applied
            .map_err(|broken| broken.to_string())
            .and_then(|()| compare::same_answer(&effects, &self.twin, &expected));
        if let Err(difference) = same {
            panic!("{difference}\n{}", self.script());
        }
        effects
    }

    /// Checks the invariants, then resolves the market: the pay-outs show what everyone holds.
    fn settle(&mut self, winner: Outcome) {
        let holds = |pair: &Pair| {
            let checked = pair.exchange.check().map_err(|broken| broken.to_string());
            if let Err(broken) = checked.and_then(|()| compare::always_true(&pair.twin)) {
                panic!("{broken}\n{}", pair.script());
            }
        };
        holds(self);
        self.ask(Command::ResolveMarket { market: MARKET, winner });
        holds(self);
    }
}

fn draft() -> MarketDraft {
    MarketDraft::plain(TimeMs::MAX)
}

/// A letter of an alphabet. What changes an order names it by its index in the sequence.
#[derive(Debug, Clone, Copy)]
enum Letter {
    Order { user: u32, up: bool, price: u8, lots: u64, life: TimeInForce },
    Cancel { nth: usize },
    Replace { nth: usize, price: u8, lots: u64 },
    Amend { nth: usize, price: u8, lots: u64 },
}

impl Letter {
    /// The command; the sequence's first record has number `first`.
    fn command(self, first: u64, mode: SelfTradePrevention, twin: &Naive) -> Command {
        let tick = |price| Tick::new(price).unwrap();
        let named = |nth: usize| {
            let number = first + nth as u64;
            let owner = twin.orders.get(&number).map_or(UserNo(0), |order| order.terms.user);
            (owner, OrderNo(Sequence::new(number)))
        };
        match self {
            Letter::Order { user, up, price, lots, life } => Command::PlaceOrder(PlaceOrder {
                user: UserNo(user),
                market: MARKET,
                // One user states orders on yes, the other on no, so that both views of the book
                // are tested.
                wording: if user == 0 {
                    Wording { outcome: Outcome::Yes, side: if up { Side::Buy } else { Side::Sell } }
                } else {
                    Wording { outcome: Outcome::No, side: if up { Side::Sell } else { Side::Buy } }
                },
                price: if user == 0 { tick(price) } else { tick(price).complement() },
                quantity: Lots::new(lots),
                time_in_force: life,
                self_trade: mode,
                condition: Condition::Unconditional,
                valid_until: None,
                copy_from: None,
                client_order_id: None,
                group: None,
                key: None,
            }),
            Letter::Cancel { nth } => {
                let (user, order) = named(nth);
                Command::CancelOrder { user, order }
            }
            Letter::Replace { nth, price, lots } => {
                let (UserNo(user), replaced) = named(nth);
                let up = user == 0;
                let order = Letter::Order { user, up, price, lots, life: GTC };
                let Command::PlaceOrder(terms) = order.command(first, mode, twin) else {
                    unreachable!("an order is placed");
                };
                Command::ReplaceOrder { replaced, terms: Box::new(terms) }
            }
            Letter::Amend { nth, price, lots } => {
                let (user, order) = named(nth);
                let yes = user.0 == 0;
                let price = if yes { tick(price) } else { tick(price).complement() };
                let quantity = Some(Lots::new(lots));
                Command::AmendOrder { user, order, price: Some(price), quantity, seen: None }
            }
        }
    }
}

/// Every order of two users at these prices, of two quantities, with these times in force.
fn orders(prices: &[u8], lives: &[TimeInForce]) -> Vec<Letter> {
    let mut letters = Vec::new();
    for user in [0, 1] {
        for up in [true, false] {
            for price in prices.iter().copied() {
                for lots in [1_000_000, 2_000_001] {
                    for life in lives.iter().copied() {
                        letters.push(Letter::Order { user, up, price, lots, life });
                    }
                }
            }
        }
    }
    letters
}

/// The alphabets of three orders. Debug builds are slow, so there only the last order takes all
/// letters.
fn three_orders() -> [Vec<Letter>; 3] {
    let all =
        orders(&[40, 50, 60], &[GTC, TimeInForce::ImmediateOrCancel, TimeInForce::FillOrKill]);
    let few = if cfg!(debug_assertions) { orders(&[50, 60], &[GTC]) } else { all.clone() };
    [few.clone(), few, all]
}

/// Letters that work on one queue: orders that join it, sweep it, leave it and move in it.
fn queue() -> Vec<Letter> {
    let order = |user, up, price, lots| Letter::Order { user, up, price, lots, life: GTC };
    let mut letters = vec![
        order(0, true, 50, 2),
        order(0, true, 51, 1),
        order(1, false, 50, 1),
        order(1, false, 50, 3),
    ];
    letters.extend((0..3).map(|nth| Letter::Cancel { nth }));
    letters.extend([
        Letter::Amend { nth: 0, price: 50, lots: 1 },
        Letter::Amend { nth: 0, price: 50, lots: 3 },
        Letter::Amend { nth: 1, price: 51, lots: 2 },
        Letter::Replace { nth: 0, price: 50, lots: 2 },
    ]);
    letters
}

/// Applies every sequence of one letter from each alphabet; returns the number of sequences.
fn walk(pair: &Pair, alphabets: &[Vec<Letter>], mode: SelfTradePrevention, first: u64) -> u64 {
    let Some((letters, rest)) = alphabets.split_first() else {
        let winner =
            if pair.twin.orders.len().is_multiple_of(2) { Outcome::Yes } else { Outcome::No };
        pair.clone().settle(winner);
        return 1;
    };
    let mut sequences = 0;
    for letter in letters {
        let mut next = pair.clone();
        let command = letter.command(first, mode, &next.twin);
        next.ask(command);
        sequences += walk(&next, rest, mode, first);
    }
    sequences
}

/// Applies all sequences, prints their number, and checks that none was left out.
fn walk_all(pair: &Pair, alphabets: &[Vec<Letter>], modes: &[SelfTradePrevention]) {
    let first = pair.twin.sequence + 1;
    let walked: u64 = modes.iter().map(|mode| walk(pair, alphabets, *mode, first)).sum();
    println!("{walked} sequences");
    let of_one_mode: u64 = alphabets.iter().map(|letters| letters.len() as u64).product();
    assert_eq!(walked, of_one_mode * modes.len() as u64);
}

#[test]
fn all_short_sequences_of_orders() {
    // The first user cannot afford every order.
    walk_all(&Pair::open(&[120, 1_000]), &three_orders(), &MODES);
}

#[test]
fn all_short_sequences_of_orders_of_holders() {
    let mut pair = Pair::open(&[200, 200]);
    for up in [true, false] {
        let user = u32::from(!up);
        let order = Letter::Order { user, up, price: 47, lots: 1_500_001, life: GTC };
        let command = order.command(0, MODES[0], &pair.twin);
        pair.ask(command);
    }
    walk_all(&pair.opened(), &three_orders(), &MODES);
}

#[test]
fn all_short_sequences_within_one_price_level() {
    let depth = if cfg!(debug_assertions) { 4 } else { 6 };
    walk_all(&Pair::open(&[1_000, 1_000]), &vec![queue(); depth], &MODES[..1]);
}
