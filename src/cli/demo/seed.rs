//! Seeds a new venue with the demo. Nothing else is journaled meanwhile, so the journal itself says
//! how far an interrupted seeding came, and the next start goes on there.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use engine::{Coming, Engine};
use exchange::command::{Command, KeyHash, Record};
use exchange::effect::Effect;
use exchange::ids::{KeyNo, MarketNo, OrderNo, UserNo};
use exchange::units::{Sequence, TimeMs};
use views::ReadModel;

use super::SeedError;
use super::people::{OPERATOR, TRADERS};
use super::script::{self, OF_EVERY_START};

/// Most commands that wait for an answer: below the engine's bound, and they fill blocks.
const WAITING_MAX: usize = 512;
/// Records read at once, and the bytes of their blocks.
const READ_AT_ONCE: (usize, usize) = (1000, 1 << 20);

/// What seeding found or did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Seeded {
    /// The demo was already complete.
    Already,
    /// The demo was created, or an interrupted seeding completed.
    Made {
        /// Commands submitted now.
        commands_played: usize,
        /// Markets left out because their deadline has passed.
        markets_past: usize,
    },
}

/// How much of the demo a venue contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Empty,
    Begun,
    Whole,
    Foreign,
}

/// Creates the demo in an empty venue, completes an interrupted one, leaves a complete one alone.
///
/// # Errors
/// The venue is not a demo, or the engine stopped.
pub(crate) fn seed(engine: &Engine) -> Result<Seeded, SeedError> {
    let stage = stage(&engine.read());
    match stage {
        Stage::Whole => return Ok(Seeded::Already),
        Stage::Foreign => return Err(SeedError::NotADemo),
        Stage::Empty | Stage::Begun => {}
    }
    let records = script::records()?;
    let mut demo = records.get(OF_EVERY_START..).unwrap_or_default();
    let (mut played, mut seeding) = (0, Seeding::default());
    skip_journaled(engine, &mut demo, &mut seeding)?;
    let mut waiting: VecDeque<(&Record, Coming)> = VecDeque::new();
    for record in demo {
        while waiting.len() >= WAITING_MAX || seeding.must_wait(record, &waiting) {
            settle_oldest(&mut waiting, &mut seeding)?;
        }
        if let Some(command) = seeding.numbered(&record.command) {
            waiting.push_back((record, engine.begin(command)));
            played += 1;
        }
    }
    while !waiting.is_empty() {
        settle_oldest(&mut waiting, &mut seeding)?;
    }
    let markets_past = seeding.markets.iter().filter(|market| market.is_none()).count();
    Ok(Seeded::Made { commands_played: played, markets_past })
}

/// Takes the oldest answer.
fn settle_oldest(
    waiting: &mut VecDeque<(&Record, Coming)>,
    seeding: &mut Seeding,
) -> Result<(), SeedError> {
    let Some((record, coming)) = waiting.pop_front() else { return Ok(()) };
    let answer = coming.wait()?;
    let made = seeding.note(record, answer.sequence(), answer.time());
    match answer.effects() {
        [Effect::Refused(reject)] if made => {
            Err(SeedError::Refused { sequence: answer.sequence(), reject: *reject })
        }
        _ => Ok(()),
    }
}

/// Passes over what an interrupted seeding journaled.
fn skip_journaled(
    engine: &Engine,
    demo: &mut &[Record],
    seeding: &mut Seeding,
) -> Result<(), SeedError> {
    let (count, bytes) = READ_AT_ONCE;
    let (mut from, head) = (Sequence::ZERO.next(), engine.watermark());
    while from <= head {
        for record in engine.past().records(from, count, bytes)? {
            from = record.sequence.next();
            if of_any_start(&record.command) {
                continue;
            }
            loop {
                let Some((next, rest)) = demo.split_first() else { return Ok(()) };
                *demo = rest;
                match seeding.numbered(&next.command) {
                    // Of a market that was left out.
                    None => {}
                    Some(command) if command == record.command => {
                        seeding.note(next, record.sequence, record.time);
                        break;
                    }
                    Some(_) => return Err(SeedError::OfAnother(record.sequence)),
                }
            }
        }
    }
    Ok(())
}

/// Whether a command is a start's own, or the clock's.
fn of_any_start(command: &Command) -> bool {
    match command {
        Command::OpenVenue(_) | Command::AdvanceClock => true,
        Command::CreateUser { profile_name, .. } => profile_name == "operator",
        Command::AddKey { user, .. } | Command::RevokeKey { user, .. } => *user == UserNo(0),
        _ => false,
    }
}

/// The numbers that this venue gives what the script creates: those of markets differ once one is
/// left out, and those of orders are their records'.
#[derive(Debug, Default)]
struct Seeding {
    /// By the script's number; `None` where a deadline had passed.
    markets: Vec<Option<MarketNo>>,
    orders: FxHashMap<OrderNo, OrderNo>,
}

impl Seeding {
    /// Notes that a record of the script was journaled; whether it must not have been refused.
    fn note(&mut self, of: &Record, sequence: Sequence, time: TimeMs) -> bool {
        match &of.command {
            Command::CreateMarket(draft) => {
                let before = self.markets.iter().flatten().count();
                let number = u32::try_from(before).map(MarketNo).ok();
                let made = draft.deadline > time;
                self.markets.push(number.filter(|_| made));
                return made;
            }
            Command::PlaceOrder(_) => {
                self.orders.insert(OrderNo(of.sequence), OrderNo(sequence));
            }
            _ => {}
        }
        true
    }

    /// Whether a command depends on one that is not answered yet.
    fn must_wait(&self, record: &Record, waiting: &VecDeque<(&Record, Coming)>) -> bool {
        let Some((oldest, _)) = waiting.front() else { return false };
        match &record.command {
            Command::PublishMarket { market } => {
                usize::try_from(market.0).is_ok_and(|number| number >= self.markets.len())
            }
            Command::CancelOrder { order, .. } => oldest.sequence <= order.0,
            _ => false,
        }
    }

    fn market(&self, market: MarketNo) -> Option<MarketNo> {
        *self.markets.get(usize::try_from(market.0).ok()?)?
    }

    /// A command of the script in this venue's numbers; `None` if it is about a market that was
    /// left out.
    fn numbered(&self, command: &Command) -> Option<Command> {
        let market = |market: MarketNo| self.market(market);
        Some(match command {
            Command::PublishMarket { market: of } => {
                Command::PublishMarket { market: market(*of)? }
            }
            Command::PlaceOrder(terms) => {
                let mut terms = terms.clone();
                terms.market = market(terms.market)?;
                Command::PlaceOrder(terms)
            }
            Command::CancelOrder { user, order } => {
                Command::CancelOrder { user: *user, order: *self.orders.get(order)? }
            }
            other => other.clone(),
        })
    }
}

/// Classifies a venue. The demo creates its operator first and the last trader's key last. A venue
/// that holds only the regular operator, as every start creates it, still counts as empty.
fn stage(model: &ReadModel) -> Stage {
    if TRADERS.last().is_some_and(|last| has_key(model, last.key_hash())) {
        return Stage::Whole;
    }
    let operator = OPERATOR.picture();
    let mut users = model.accounts.users_newest_first();
    if users.any(|user| *user.profile_pic == *operator) {
        return Stage::Begun;
    }
    let nothing_listed = model.catalogue.categories().is_empty()
        && model.catalogue.events_created().next().is_none()
        && model.catalogue.markets_created().next().is_none();
    if nothing_listed && model.accounts.users_count() <= 1 { Stage::Empty } else { Stage::Foreign }
}

/// Whether the journal holds a venue that is not a demo and has more in it than a start creates.
pub(crate) fn is_foreign(model: &ReadModel) -> bool {
    stage(model) == Stage::Foreign
}

/// Whether the journal holds the demo's public keys: then the server must listen on loopback only,
/// even without `--demo`.
pub(crate) fn is_a_demo(model: &ReadModel) -> bool {
    matches!(stage(model), Stage::Whole | Stage::Begun)
}

/// Whether a key with this hash was ever added; revoked ones count.
fn has_key(model: &ReadModel, hash: KeyHash) -> bool {
    let mut keys = (0..).map_while(|number| model.accounts.key(KeyNo(number)));
    keys.any(|key| key.hash == hash)
}

#[cfg(test)]
#[path = "../../../tests/unit/cli/demo/seed.rs"]
mod tests;
