//! Writes a journal of random orders to a file: the one by which the time of
//! `openoutcry-replay verify` was measured. Of a hundred commands 20 more place an order than end
//! one, so five million leave a million open.
//!
//!     cargo run --release --example large_journal -- FILE COMMANDS

use std::env;
use std::error::Error;
use std::fs::File;
use std::io::{BufWriter, Write};

use exchange::Exchange;
use exchange::catalogue::{MarketDraft, Outcome};
use exchange::command::{Command, PlaceOrder, Record, Side, TimeInForce, Wording};
use exchange::ids::{MarketNo, OrderNo, UserNo};
use exchange::results::{Results, ResultsLog};
use exchange::rules::Rules;
use exchange::units::{Lots, Money, Tick, TimeMs};
use journal::block::{BlockBuilder, Head};

const USERS: u32 = 1_000;
const MARKETS: u32 = 100;
const BLOCK_RECORDS: usize = 100;

/// A number below `bound`, from a fixed sequence.
fn draw(state: &mut u64, bound: u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    (*state >> 11) % bound
}

fn opening() -> Vec<Command> {
    let mut commands = vec![Command::OpenVenue(Rules::current())];
    for user in (0..USERS).map(UserNo) {
        let (profile_name, profile_pic) = (String::new(), String::new());
        commands.push(Command::CreateUser { profile_name, profile_pic });
        commands.push(Command::Deposit { user, amount: Money::new(100_000_000_000_000) });
    }
    for market in (0..MARKETS).map(MarketNo) {
        commands.push(Command::CreateMarket(Box::new(MarketDraft::plain(TimeMs::MAX))));
        commands.push(Command::PublishMarket { market });
    }
    commands
}

/// The record's command: of a hundred 58 rest, 4 take, 38 cancel.
fn order(seed: &mut u64, resting: &mut Vec<(UserNo, OrderNo)>, no: OrderNo) -> Option<Command> {
    let (kind, user) = (draw(seed, 100), UserNo(u32::try_from(draw(seed, USERS.into())).ok()?));
    let market = MarketNo(u32::try_from(draw(seed, MARKETS.into())).ok()?);
    if kind >= 62 && !resting.is_empty() {
        let index = usize::try_from(draw(seed, u64::try_from(resting.len()).ok()?)).ok()?;
        let (user, order) = resting.swap_remove(index);
        return Some(Command::CancelOrder { user, order });
    }
    let side = if draw(seed, 2) == 0 { Side::Buy } else { Side::Sell };
    let takes = kind < 4;
    // Bids rest below 0.50 and offers above; what takes names the best price there is.
    let depth = u8::try_from(draw(seed, 30)).ok()?;
    let ticks = match (side, takes) {
        (Side::Buy, true) => 99,
        (Side::Sell, true) => 1,
        (Side::Buy, false) => 49_u8.checked_sub(depth)?,
        (Side::Sell, false) => 51_u8.checked_add(depth)?,
    };
    let wording = Wording { outcome: Outcome::Yes, side };
    let (price, quantity) = (Tick::new(ticks)?, Lots::contracts(1 + draw(seed, 5)));
    let mut terms = PlaceOrder::plain(user, market, wording, price, quantity);
    if takes {
        terms.time_in_force = TimeInForce::ImmediateOrCancel;
    } else {
        resting.push((user, no));
    }
    Some(Command::PlaceOrder(terms))
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args().skip(1);
    let mut file = BufWriter::new(File::create_new(arguments.next().ok_or("which file?")?)?);
    let count: u64 = arguments.next().ok_or("how many commands?")?.parse()?;
    let (mut exchange, mut log) = (Exchange::new(), ResultsLog::default());
    let (mut head, mut recorded, mut effects) = (Head::START, Results::NONE, Vec::new());
    let (mut seed, mut resting) = (88_172_645_463_325_252, Vec::new());
    let mut opening = opening().into_iter();
    let time = TimeMs::new(1_700_000_000_000).ok_or("a time")?;
    while head.sequence.get() < count {
        let mut builder = BlockBuilder::new(&head);
        let mut sequence = head.sequence;
        for _ in 0..BLOCK_RECORDS {
            sequence = sequence.next();
            let random = || order(&mut seed, &mut resting, OrderNo(sequence));
            let command = opening.next().or_else(random).ok_or("a command")?;
            let record = Record { sequence, time, once: None, act: None, command };
            builder.push(record).map_err(|_| "a block has room")?;
        }
        let block = builder.build(recorded)?;
        head = block.head();
        // As on a busy server: the results as of the block before the last.
        recorded = log.sealed();
        for record in block.records() {
            effects.clear();
            exchange.apply(record, &mut effects)?;
            log.push(record, &effects);
        }
        log.seal();
        file.write_all(block.bytes())?;
    }
    file.flush()?;
    writeln!(std::io::stdout(), "{} open orders", exchange.open_orders_count())?;
    Ok(())
}
