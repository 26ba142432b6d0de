//! One venue in both implementations: every command goes to the exchange and to its twin, and
//! everything that both can be asked for is compared.

use std::num::NonZeroU32;

use exchange::command::{Command, KeyedCommand, Record};
use exchange::effect::{Applied, Effect};
use exchange::invariant::running::Running;
use exchange::rules::SLICE;
use exchange::trial::Step as Part;
use exchange::units::{Sequence, TimeMs};
use exchange::{Exchange, script};
use views::ReadModel;

use crate::commands::{self, Step};
use crate::compare::{Tally, always_true, same_answer};
use crate::naive::Naive;
use crate::state::{same_depth, same_state};

/// Newest markets, whose books are compared after every command.
const RECENT_MARKETS: usize = 8;
/// The digests before and after a trial are compared at each record that is a multiple of this.
const DIGEST_EVERY: usize = 16;

/// The exchange, its read model, the twin, and the records so far.
pub struct Duel {
    pub exchange: Exchange,
    pub model: ReadModel,
    pub twin: Naive,
    tally: Tally,
    running: Running,
    pub records: Vec<Record>,
    now: TimeMs,
}

impl Duel {
    /// A venue before `OpenVenue`.
    pub fn unopened() -> Duel {
        Duel {
            exchange: Exchange::new(),
            model: ReadModel::new(),
            twin: Naive::new(),
            tally: Tally::default(),
            running: Running::default(),
            records: Vec::new(),
            now: commands::START,
        }
    }

    /// A venue with users, money and markets, where a record ends at most this many orders and
    /// positions.
    pub fn in_slices_of(slice: u32) -> Duel {
        let mut duel = Duel::unopened();
        let orders = NonZeroU32::new(slice).expect("a slice of something");
        duel.exchange = duel.exchange.in_slices_of(orders);
        duel.twin.slice = usize::try_from(slice).ok();
        duel.open()
    }

    /// A venue with users, money and markets.
    pub fn opened() -> Duel {
        let mut duel = Duel::unopened();
        duel.twin.slice = usize::try_from(SLICE).ok();
        duel.open()
    }

    fn open(self) -> Duel {
        let mut duel = self;
        for command in commands::opening() {
            duel.ask(0, command).expect("the opening is the same");
        }
        duel
    }

    /// Applies a random step.
    pub fn take(&mut self, step: &Step) -> Result<Vec<Effect>, String> {
        let now = commands::after(self.now, i64::from(step.later_ms));
        let asked = commands::asked(&self.twin, step, now);
        self.ask(step.later_ms, asked)
    }

    /// Applies a command to both and compares; an error says what differs.
    pub fn ask(
        &mut self,
        later_ms: u16,
        asked: impl Into<KeyedCommand>,
    ) -> Result<Vec<Effect>, String> {
        let KeyedCommand { once, act, command } = asked.into();
        self.now = commands::after(self.now, i64::from(later_ms));
        let sequence = Sequence::new(self.twin.sequence + 1);
        let record = Record { sequence, time: self.now, once, act, command };
        self.records.push(record.clone());
        let mut effects = Vec::new();
        let tried = self.tried(&record)?;
        let expected = self.twin.apply(&record);
        self.exchange.apply(&record, &mut effects).map_err(|broken| format!("{broken:?}"))?;
        if let Some(tried) = tried.filter(|tried| *tried != effects) {
            return Err(format!("{record:?}\ntried: {tried:?}\ncame: {effects:?}"));
        }
        same_answer(&effects, &self.twin, &expected)
            .map_err(|difference| format!("{record:?}\n{difference}"))?;
        self.tally.count(&record, &effects)?;
        self.running.follow(&self.exchange, &effects);
        self.running.check(&self.exchange).map_err(|broken| format!("{record:?}\n{broken}"))?;
        let Record { sequence, time, .. } = record;
        self.model.fold(&Applied { sequence, time, effects: &effects });
        // Older markets are final; `check` compares all of them.
        let all = self.twin.markets.len();
        let recent = all.saturating_sub(RECENT_MARKETS)..all;
        same_depth(&self.exchange, &self.model, &self.twin, recent)?;
        Ok(effects)
    }

    /// Goes on with an exchange that is restored from the image of this one.
    pub fn restore(&mut self) -> Result<(), String> {
        let image = self.exchange.image().map_err(|broken| format!("{broken:?}"))?;
        let restored = Exchange::from_image(&image).map_err(|bad| format!("{bad:?}"))?;
        let slice = self.twin.slice.and_then(|slice| u32::try_from(slice).ok());
        self.exchange = restored.in_slices_of(slice.and_then(NonZeroU32::new).ok_or("no slice")?);
        Ok(())
    }

    /// The time of the last record.
    pub const fn now(&self) -> TimeMs {
        self.now
    }

    /// The effects of a trial of the record, before it is applied; `None` for commands that have no
    /// trial.
    fn tried(&self, record: &Record) -> Result<Option<Vec<Effect>>, String> {
        let tried = match &record.command {
            Command::PlaceOrder(terms) => Part::Place(terms.clone()),
            &Command::AmendOrder { user, order, price, quantity, seen: None } => {
                Part::Amend { user, target: order.into(), price, quantity }
            }
            Command::ReplaceOrder { replaced, terms } => {
                Part::Replace { target: (*replaced).into(), terms: terms.clone() }
            }
            _ => return Ok(None),
        };
        let compared = self.records.len().is_multiple_of(DIGEST_EVERY);
        let digest = || compared.then(|| self.exchange.digest());
        let before = digest();
        let steps = [(tried, record.once.clone())];
        let effects = self.exchange.trial(&steps, record.time, usize::MAX);
        if digest() != before {
            return Err("a trial changed the state".to_owned());
        }
        let effects = effects.map_err(|broken| format!("a trial: {broken:?}"))?;
        Ok(effects.and_then(|all| all.into_iter().next()))
    }

    /// Compares the whole state, and checks the invariants.
    pub fn check(&self) -> Result<(), String> {
        always_true(&self.twin)?;
        self.exchange.check().map_err(|broken| format!("{broken:?}"))?;
        if self.exchange.sequence().get() != self.twin.sequence {
            return Err("the sequence differs".to_owned());
        }
        let due = self.twin.dues().first().map(|(at, _)| *at);
        if self.exchange.next_due() != due {
            let got = self.exchange.next_due();
            return Err(format!("next due: {got:?}, the twin says {due:?}"));
        }
        same_state(&self.exchange, &self.model, &self.twin)
    }

    /// The commands so far, as a script for a bug report or a test.
    pub fn script(&self) -> String {
        script::print(&self.records)
    }
}
