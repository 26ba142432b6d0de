//! The demo's past: sixty days in which people come, trade and are paid, at times of their own. The
//! same beginning has the same past, so that one that was interrupted goes on where it ended.

use super::SeedError;
use super::chance::Chance;
use super::flow::{self, Wish};
use super::people::{Bird, MAKERS, TRADERS};
use super::pictures::Pictures;
use super::scribe::Scribe;
use super::script::{self, later};
use super::walk::Walk;
use exchange::catalogue::Outcome;
use exchange::command::{Command, PlaceOrder, Role, Side, TimeInForce, Wording};
use exchange::ids::{MarketNo, UserNo};
use exchange::units::{Lots, MONEY_PER_UNIT, Money, Sequence, Tick, TimeMs};
use journal::Journal;

const HOUR_MS: i64 = 3_600_000;
const DAY_MS: i64 = 24 * HOUR_MS;
/// How far back the past goes.
pub(crate) const SPAN_MS: i64 = 60 * DAY_MS;
/// Of everything here.
const SEED: u64 = 2027;

/// Prices, in cents, at which the markets of the catalogue open, by their number.
const OPENINGS: [u8; 66] = [
    14, 11, 62, 31, 24, 47, 52, 49, 71, 48, 44, 58, 22, 66, 35, 54, 43, 38, 29, 33, 41, 9, 37, 63,
    55, 27, 12, 18, 46, 7, 72, 57, 21, 34, 19, 45, 16, 13, 30, 61, 28, 64, 29, 6, 55, 60, 48, 35,
    52, 40, 70, 45, 66, 50, 38, 57, 25, 42, 54, 63, 47, 58, 50, 31, 44, 56,
];
/// Those of one event, of which one at most resolves yes.
const EXCLUSIVE: std::ops::Range<usize> = 41..44;
/// Of a hundred tries to trade in an hour of the day, by UTC, so many succeed.
const BUSY: [u64; 24] = [
    55, 45, 35, 25, 18, 15, 15, 20, 28, 38, 48, 58, 70, 80, 86, 90, 94, 98, 100, 100, 96, 88, 78,
    66,
];
/// Each printed trader trades on one market of so many.
const THEIRS: usize = 6;
/// Contracts of the order that each trader leaves on a book.
const LEFT: u64 = 25;
/// Before the end nobody trades for so long, so that makers leave both sides of each book.
const CALM_MS: i64 = HOUR_MS / 12;
/// Money with which a maker begins, in units of the currency.
const MAKERS_MONEY: u64 = 2_000_000;

/// A market's life, and what is believed of it.
struct Life {
    from: TimeMs,
    deadline: TimeMs,
    outcome: Option<Outcome>,
    highlighted: bool,
    walk: Walk,
    seen: TimeMs,
    /// Around which price each maker quotes.
    quoted: [Option<Tick>; MAKERS.len()],
}

/// Something that happens.
enum Act {
    /// A line of the catalogue's script.
    Told(Command),
    /// Somebody comes.
    Joins(Bird, Money),
    /// People look at a market.
    Visited(usize),
    /// Makers quote anew on a market, so that its book is whole.
    Quoted(usize),
    /// A trader leaves an order, and gets a key.
    Leaves(usize),
}

struct History<'a> {
    scribe: Scribe<'a>,
    pictures: Pictures,
    chance: Chance,
    lives: Vec<Life>,
    /// Those who came, makers first.
    people: Vec<(Bird, UserNo)>,
    /// The number of the next user.
    users: u32,
    now: TimeMs,
    end: TimeMs,
}

/// Writes the past of a demo into a journal that is empty, or in which this was interrupted;
/// returns its last record, or `None` if there is nothing to do.
///
/// # Errors
/// The journal does not take it, or another version began it.
pub(crate) fn write(
    journal: &mut dyn Journal,
    now: TimeMs,
    pictures: Pictures,
) -> Result<Option<Sequence>, SeedError> {
    let there = journal.head().time;
    let block = journal.read(Sequence::ZERO.next()).next().transpose()?;
    let first = block.as_ref().and_then(|block| Some((block.records().first()?.time, block)));
    let (began, hash, pictures) = match first {
        None => (later(now, -SPAN_MS), None, pictures),
        Some((began, block)) => {
            let Some(pictures) = block.records().iter().find_map(|record| match &record.command {
                Command::CreateUser { profile_pic, .. } => Pictures::beside(profile_pic),
                _ => None,
            }) else {
                return Ok(None);
            };
            (began, Some(block.hash()), pictures)
        }
    };
    let end = later(began, SPAN_MS);
    if there >= end {
        return Ok(None);
    }
    let told = script::commands(began, &pictures)?;
    let mut chance = Chance::seeded(SEED);
    let lives = lives(&told, &mut chance);
    let acts = acts(told, &lives, began, &mut chance);
    let (scribe, people) = (Scribe::begin(journal, hash), Vec::new());
    let (users, now) = (0, began);
    let mut past = History { scribe, pictures, chance, lives, people, users, now, end };
    match acts.into_iter().try_for_each(|(time, act)| past.happen(time, act)) {
        // Whose it is shows once it is open.
        Err(SeedError::NotADemo) => return Ok(None),
        other => other?,
    }
    past.scribe.end().map(Some)
}

/// The markets of the catalogue, by number.
fn lives(told: &[(TimeMs, Command)], chance: &mut Chance) -> Vec<Life> {
    let mut lives: Vec<Life> = Vec::new();
    for (time, command) in told {
        match command {
            Command::CreateMarket(draft) => {
                let opening = OPENINGS.get(lives.len()).and_then(|price| Tick::new(*price));
                let shake =
                    if EXCLUSIVE.contains(&lives.len()) { 8 } else { chance.within(30) + 22 };
                let walk = Walk::from(opening.unwrap_or(Tick::MIN), shake, chance);
                let (from, deadline) = (TimeMs::MAX, draft.deadline);
                let (outcome, quoted, seen) = (None, [None; MAKERS.len()], *time);
                let highlighted = draft.highlighted;
                lives.push(Life { from, deadline, outcome, highlighted, walk, seen, quoted });
            }
            Command::PublishMarket { market } => {
                if let Some(life) = lives.get_mut(market.index()) {
                    (life.from, life.seen) = (*time, *time);
                }
            }
            // The last one counts.
            Command::ResolveMarket { market, winner } => {
                if let Some(life) = lives.get_mut(market.index()) {
                    life.outcome = Some(*winner);
                }
            }
            _ => {}
        }
    }
    lives
}

/// All that happens, in the order in which it does.
fn acts(
    told: Vec<(TimeMs, Command)>,
    lives: &[Life],
    began: TimeMs,
    chance: &mut Chance,
) -> Vec<(TimeMs, Act)> {
    let end = later(began, SPAN_MS);
    let mut acts: Vec<(TimeMs, Act)> =
        told.into_iter().map(|(time, command)| (time, Act::Told(command))).collect();
    let units =
        |units: u64| Money::new(i64::try_from(units).unwrap_or(0).saturating_mul(MONEY_PER_UNIT));
    for (place, bird) in Bird::all().enumerate() {
        let (soon, money) = if place < MAKERS.len() {
            (1, MAKERS_MONEY)
        } else {
            // Some come at once, so that the first days have trades.
            let hours = if place < 12 { 2 } else { 18 * 24 };
            (chance.within(hours * HOUR_MS), bird.size.saturating_mul(120))
        };
        let money = units(money);
        acts.push((later(began, soon), Act::Joins(bird, money)));
    }
    for ((place, trader), money) in TRADERS.iter().enumerate().zip([10_000, 5_000, 2_500, 1_000]) {
        let bird = Bird { name: trader.name, skill: 56, size: money / 50 };
        let days = i64::try_from(place).unwrap_or(0).saturating_mul(4).saturating_add(2);
        acts.push((later(began, days * DAY_MS), Act::Joins(bird, units(money))));
        // The last record is one of these, at the very end.
        let left = i64::try_from(TRADERS.len().saturating_sub(place + 1)).unwrap_or(0) * 60_000;
        acts.push((later(end, -left), Act::Leaves(place)));
    }
    for (market, life) in lives.iter().enumerate().filter(|(_, life)| life.from < end) {
        let ends = life.deadline.min(later(end, -CALM_MS));
        let short = life.deadline < later(end, 10 * DAY_MS);
        let visits = match (short, life.highlighted) {
            (true, _) => 110 + chance.below(60),
            (false, true) => 240 + chance.below(60),
            (false, false) => 70 + chance.below(110),
        };
        for _ in 0..visits {
            acts.push((moment(life.from, ends, chance), Act::Visited(market)));
        }
        acts.push((later(end, -CALM_MS), Act::Quoted(market)));
    }
    acts.sort_by_key(|(time, _)| *time);
    acts
}

/// A moment at which people trade: more often near the end, and at the busy hours of the day.
fn moment(from: TimeMs, to: TimeMs, chance: &mut Chance) -> TimeMs {
    let life = to.get().saturating_sub(from.get());
    let recent = life.min(3 * DAY_MS);
    let mut time = from;
    for _ in 0..4 {
        time = if chance.percent(25) {
            later(to, -chance.within(recent))
        } else {
            later(from, chance.within(life))
        };
        let hour = usize::try_from(time.get() / HOUR_MS % 24).unwrap_or(0);
        if BUSY.get(hour).is_some_and(|busy| chance.percent(*busy)) {
            break;
        }
    }
    time
}

impl History<'_> {
    fn happen(&mut self, time: TimeMs, act: Act) -> Result<(), SeedError> {
        self.now = self.now.max(time);
        match act {
            Act::Told(command) => {
                if matches!(command, Command::CreateUser { .. }) {
                    self.users += 1;
                }
                self.tell(command)
            }
            Act::Joins(bird, money) => self.join(bird, money),
            Act::Quoted(market) => self.look_at(market, true).map(drop),
            Act::Visited(market) if EXCLUSIVE.contains(&market) => {
                EXCLUSIVE.rev().try_for_each(|market| self.visit(market))
            }
            Act::Visited(market) => self.visit(market),
            Act::Leaves(place) => self.leave(place),
        }
    }

    fn tell(&mut self, command: Command) -> Result<(), SeedError> {
        self.scribe.tell(self.now, command).map(drop)
    }

    /// A moment passes until the next order.
    fn breathe(&mut self, ms: i64) {
        self.now = later(self.now, self.chance.within(ms)).min(self.end);
    }

    fn join(&mut self, bird: Bird, money: Money) -> Result<(), SeedError> {
        let user = UserNo(self.users);
        self.users += 1;
        let profile_pic = self.pictures.of_person(bird.name);
        self.tell(Command::CreateUser { profile_name: bird.name.to_owned(), profile_pic })?;
        self.tell(Command::Deposit { user, amount: money })?;
        if !TRADERS.iter().any(|trader| trader.name == bird.name) {
            let (role, label) = (Role::Trader, "flow".to_owned());
            let hash = bird.key_hash();
            self.tell(Command::AddKey { user, role, label, hash, ends: None })?;
        }
        self.people.push((bird, user));
        Ok(())
    }

    /// What is believed of a market now.
    fn believe(&mut self, market: usize) -> Option<Tick> {
        let (now, chance) = (self.now, &mut self.chance);
        let life = self.lives.get_mut(market)?;
        let passed = now.get().saturating_sub(life.seen.get());
        let left = life.deadline.get().saturating_sub(life.seen.get());
        let whole = life.deadline.get().saturating_sub(life.from.get());
        life.seen = now;
        match life.outcome {
            Some(outcome) if left < whole / 3 => life.walk.learn(outcome, passed, left),
            _ => life.walk.pass(passed, chance),
        }
        if market != EXCLUSIVE.start {
            return Some(life.walk.fair());
        }
        let others = self.lives.get(EXCLUSIVE)?.iter().skip(1);
        Some(flow::rest_of_one(others.map(|life| life.walk.fair())))
    }

    /// Makers quote around what is believed of a market, which is returned: anew if that has moved,
    /// or they `must`. `None` if it takes no orders.
    fn look_at(&mut self, market: usize, must: bool) -> Result<Option<Tick>, SeedError> {
        let fair = self.believe(market);
        let open = self.lives.get(market).is_some_and(|life| self.now < life.deadline);
        let Some(fair) = fair.filter(|_| open) else { return Ok(None) };
        for place in 0..MAKERS.len() {
            self.quote(market, place, fair, must)?;
        }
        Ok(Some(fair))
    }

    /// Makers look at a market, and some people trade.
    fn visit(&mut self, market: usize) -> Result<(), SeedError> {
        let Some(fair) = self.look_at(market, false)? else { return Ok(()) };
        for _ in 0..=self.chance.below(3) {
            self.breathe(9_000);
            self.take(market, fair)?;
        }
        Ok(())
    }

    fn quote(
        &mut self,
        market: usize,
        place: usize,
        fair: Tick,
        must: bool,
    ) -> Result<(), SeedError> {
        let Some((_, user)) = self.people.get(place).copied() else { return Ok(()) };
        let Some(number) = MarketNo::next(market) else { return Ok(()) };
        let Some(quoted) = self.lives.get_mut(market).and_then(|l| l.quoted.get_mut(place)) else {
            return Ok(());
        };
        let moved = quoted.map(|quoted| usize::from(quoted.get().abs_diff(fair.get())));
        let near = moved.is_some_and(|moved| moved <= place);
        if near && !must && !self.chance.percent(12) {
            return Ok(());
        }
        if quoted.replace(fair).is_some() {
            self.tell(Command::CancelOrders {
                user,
                market: Some(number),
                group: None,
                key: None,
            })?;
        }
        for wish in flow::quotes(place, fair, &mut self.chance) {
            self.breathe(20);
            self.place(user, number, wish)?;
        }
        Ok(())
    }

    fn take(&mut self, market: usize, fair: Tick) -> Result<(), SeedError> {
        let takers = self.people.get(MAKERS.len()..).unwrap_or_default();
        let Some((bird, user)) = self.chance.pick(takers).copied() else { return Ok(()) };
        let Some(number) = MarketNo::next(market) else { return Ok(()) };
        // Those whose keys are printed know some questions only: a newcomer reads their portfolios.
        let place = TRADERS.iter().position(|trader| trader.name == bird.name);
        let theirs = |place| market % THEIRS == place && !EXCLUSIVE.contains(&market);
        if place.is_some_and(|place| !theirs(place)) {
            return Ok(());
        }
        let position = self.scribe.exchange().purse(user, number)?.position;
        let held = flow::net(position.yes.held, position.no.held);
        let underrated = self.lives.get(market).is_some_and(|life| life.walk.is_underrated());
        let wish = flow::taking(bird, fair, underrated, held, &mut self.chance);
        self.place(user, number, wish)
    }

    fn place(&mut self, user: UserNo, market: MarketNo, wish: Wish) -> Result<(), SeedError> {
        let Wish { direction, price, quantity, rests } = wish;
        let wording = flow::worded(direction, &mut self.chance);
        let price = wording.yes_price(price);
        let mut order = PlaceOrder::plain(user, market, wording, price, quantity);
        let maker = self.people.iter().take(MAKERS.len()).any(|(_, maker)| *maker == user);
        if !rests {
            order.time_in_force = TimeInForce::ImmediateOrCancel;
        } else if !maker {
            let expires_at = Some(later(self.now, self.chance.within(3 * DAY_MS) + HOUR_MS));
            order.time_in_force = TimeInForce::GoodTillCancelled { expires_at };
        }
        self.tell(Command::PlaceOrder(order))
    }

    /// A trader leaves an order well below a market's price, and gets the key that the demo prints.
    fn leave(&mut self, place: usize) -> Result<(), SeedError> {
        let Some(trader) = TRADERS.get(place) else { return Ok(()) };
        let known = self.people.iter().find(|(bird, _)| bird.name == trader.name);
        let Some((_, user)) = known.copied() else { return Ok(()) };
        let market = place.saturating_add(THEIRS);
        if let (Some(fair), Some(number)) = (self.believe(market), MarketNo::next(market)) {
            let price = Tick::new(fair.get().saturating_sub(8)).unwrap_or(Tick::MIN);
            let wording = Wording { outcome: Outcome::Yes, side: Side::Buy };
            let order = PlaceOrder::plain(user, number, wording, price, Lots::contracts(LEFT));
            self.tell(Command::PlaceOrder(order))?;
        }
        let (role, label, hash) = (trader.role, "demo".to_owned(), trader.key_hash());
        self.tell(Command::AddKey { user, role, label, hash, ends: None })
    }
}

#[cfg(test)]
#[path = "../../../tests/unit/cli/demo/history.rs"]
mod tests;
