//! Everything that a report says about its market except depth, collected in one pass that also
//! checks all invariants of the venue after every block. Grows with users and markets.

use std::collections::BTreeMap;

use exchange::Exchange;
use exchange::catalogue::{MarketDraft, MarketRevision};
use exchange::command::{Act, Command, Direction, KeyHash, Record, Wording};
use exchange::effect::{Effect, Party, Trade};
use exchange::ids::{MarketId, MarketNo, OrderNo, UserNo};
use exchange::units::{Lots, Money, MoneySum, Overflow, Sequence, Tick, TimeMs};
use journal::block::Block;

use super::ends::Ends;
use super::proof::{Proof, market_of};
use super::series::Series;
use crate::answer::Failure;
use crate::pass::{Fault, Listener};
use crate::reference::Reference;
use crate::register::Register;
use crate::watch::Watch;

/// Number of life events shown from each end.
const TURNS_SHOWN: usize = 50;
/// Number of fills shown from each end.
pub const FILLS_SHOWN: usize = 25;

/// A record's position.
#[derive(Debug, Clone, Copy)]
pub struct Place {
    /// Sequence.
    pub sequence: Sequence,
    /// Time.
    pub time: TimeMs,
}

impl Place {
    const fn of(record: &Record) -> Place {
        Place { sequence: record.sequence, time: record.time }
    }
}

/// An event in the market's life.
pub struct Turn {
    /// When.
    pub at: Place,
    /// What happened.
    pub what: String,
}

/// One party of a fill.
pub struct Side {
    /// The record that placed the order.
    pub order: OrderNo,
    /// Its owner's name.
    pub name: String,
    /// Outcome and side as the owner stated them.
    pub wording: Wording,
    /// Price of the fill, of the stated outcome.
    pub price: Tick,
    /// Fee paid by the owner.
    pub fee: Money,
}

/// A fill.
pub struct Fill {
    /// When.
    pub at: Place,
    /// Price of yes.
    pub price: Tick,
    /// Contracts.
    pub quantity: Lots,
    /// The taker.
    pub taker: Side,
    /// The maker.
    pub maker: Side,
}

impl Fill {
    /// A trade as the page shows it.
    pub fn of(register: &Register, record: &Record, trade: &Trade) -> Result<Fill, Failure> {
        let side = |party: Party| -> Result<Side, Failure> {
            let wording = register.open_order(party.order)?.wording;
            let (order, name) = (party.order, register.name(party.user));
            let price = wording.yes_price(trade.price);
            Ok(Side { order, name, wording, price, fee: party.fee })
        };
        let (taker, maker) = (side(trade.taker)?, side(trade.maker)?);
        let (price, quantity) = (trade.price, trade.quantity);
        Ok(Fill { at: Place::of(record), price, quantity, taker, maker })
    }
}

/// A user's trading.
#[derive(Debug, Clone, Copy, Default)]
pub struct Share {
    /// Lots traded as taker.
    pub taken: Lots,
    /// Lots traded as maker.
    pub made: Lots,
    /// Fills as either party.
    pub fills: u64,
}

/// Counts and sums.
#[derive(Default)]
pub struct Totals {
    /// Orders accepted.
    pub accepted: u64,
    /// Orders refused.
    pub refused: u64,
    /// Orders cancelled with a remaining quantity.
    pub cancelled: u64,
    /// Volume in lots.
    pub volume: Lots,
    /// The part of it taken by orders that bet on yes.
    pub taken_up: Lots,
    /// Price of yes x quantity.
    pub notional: MoneySum,
    /// Trading by user.
    pub shares: BTreeMap<UserNo, Share>,
}

impl Totals {
    fn trade(&mut self, trade: &Trade) -> Result<(), Overflow> {
        self.volume = self.volume.plus(trade.quantity)?;
        self.notional = self.notional.plus(trade.price.times(trade.quantity)?)?;
        if trade.taker_direction == Direction::Up {
            self.taken_up = self.taken_up.plus(trade.quantity)?;
        }
        let taker = self.shares.entry(trade.taker.user).or_default();
        taker.taken = taker.taken.plus(trade.quantity)?;
        taker.fills = taker.fills.saturating_add(1);
        let maker = self.shares.entry(trade.maker.user).or_default();
        maker.made = maker.made.plus(trade.quantity)?;
        maker.fills = maker.fills.saturating_add(1);
        Ok(())
    }
}

/// The market of the report.
pub struct Subject {
    /// Number.
    pub no: MarketNo,
    /// Its texts as last revised.
    pub draft: MarketDraft,
}

/// Everything collected.
pub struct Facts {
    named: Reference,
    /// The market; `None` until it is created.
    pub subject: Option<Subject>,
    /// Names of users and markets.
    pub register: Register,
    /// Events in the market's life.
    pub turns: Ends<Turn>,
    /// Fills.
    pub fills: Ends<Fill>,
    /// Prices and volume.
    pub series: Series,
    /// Counts and sums.
    pub totals: Totals,
    /// Money and contracts.
    pub proof: Proof,
    /// Positions of the first order and of the last record that changed the book.
    pub traded: Option<(Place, Place)>,
    /// The record that closed the market last.
    pub closed: Option<Place>,
    /// Checks of the states.
    watch: Watch,
    /// Who proposed what may yet be confirmed, and why.
    proposed: BTreeMap<Sequence, String>,
}

impl Facts {
    /// Before the first record.
    pub fn of(named: Reference) -> Facts {
        Facts {
            named,
            subject: None,
            register: Register::default(),
            turns: Ends::of(TURNS_SHOWN),
            fills: Ends::of(FILLS_SHOWN),
            series: Series::new(),
            totals: Totals::default(),
            proof: Proof::default(),
            traded: None,
            closed: None,
            watch: Watch::with(Exchange::check),
            proposed: BTreeMap::new(),
        }
    }

    fn created(&mut self, record: &Record, effects: &[Effect]) {
        for effect in effects {
            if let Effect::MarketCreated { market, draft } = effect
                && self.named.names_market(MarketId::derive(record.time, record.sequence, 0))
            {
                self.subject = Some(Subject { no: *market, draft: (**draft).clone() });
            }
        }
    }

    /// Remembers who proposed something of the market, and why.
    fn propose(&mut self, record: &Record, effect: &Effect) {
        if let Effect::Proposed(proposed) = effect
            && self.subject.as_ref().is_some_and(|subject| proposed.market == Some(subject.no))
        {
            let by = format!("; proposed by {}", self.register.name(proposed.operator));
            let why = record.act.as_deref().map_or(String::new(), grounds);
            self.proposed.insert(proposed.proposal, by + &why);
        }
    }

    fn turned(&mut self, record: &Record, effect: &Effect) {
        let by = match (&record.command, &record.act) {
            (Command::AdvanceClock, _) => "by the clock".to_owned(),
            (Command::FileDispute { user, bond, .. }, _) => {
                format!("by {} for a bond of {bond}", self.register.name(*user))
            }
            (Command::ConfirmProposal { operator, .. }, _) => {
                format!("by {}", self.register.name(*operator))
            }
            (_, Some(act)) => format!("by {}", self.register.name(act.actor)),
            (_, None) => "by the operator".to_owned(),
        };
        let what = match effect {
            Effect::MarketCreated { .. } => format!("created as a DRAFT {by}"),
            Effect::MarketRevised { revision, .. } => {
                let Some(subject) = self.subject.as_mut() else { return };
                subject.draft.revise(revision);
                format!("{} revised {by}", revised(revision))
            }
            Effect::MarketMoved { from, to, deadline, winner, settled_at, .. } => {
                if let Some(subject) = self.subject.as_mut() {
                    subject.draft.deadline = *deadline;
                }
                if from.keeps_orders() && !to.keeps_orders() {
                    self.closed = Some(Place::of(record));
                } else if to.keeps_orders() {
                    self.closed = None;
                }
                let mut what = format!("{} to {} {by}", from.name(), to.name());
                if let Some(price) = settled_at {
                    what.extend([format!(", a yes contract paying {price}")]);
                } else if let Some(winner) = winner {
                    what.extend([format!(", announced outcome: {}", winner.id())]);
                }
                what
            }
            _ => return,
        };
        let why = match &record.command {
            Command::FileDispute { reason, .. } => format!("; reason: {reason}"),
            Command::ConfirmProposal { proposal, .. } => {
                self.proposed.get(proposal).cloned().unwrap_or_default()
            }
            _ => String::new(),
        };
        let what = what + &why + &record.act.as_deref().map_or(String::new(), grounds);
        self.turns.push(Turn { at: Place::of(record), what });
    }

    fn hear(&mut self, record: &Record, effect: &Effect) -> Result<(), Failure> {
        match effect {
            Effect::OrderAccepted { .. } => {
                self.totals.accepted = self.totals.accepted.saturating_add(1);
                let here = Place::of(record);
                self.traded.get_or_insert((here, here));
            }
            Effect::OrderCancelled { .. } => {
                self.totals.cancelled = self.totals.cancelled.saturating_add(1);
            }
            Effect::TradeMade(trade) => {
                self.totals.trade(trade)?;
                self.series.trade(record.time, trade.price, trade.quantity)?;
                self.fills.push(Fill::of(&self.register, record, trade)?);
            }
            _ => self.turned(record, effect),
        }
        Ok(())
    }
}

/// What an operator said beside what was asked for.
fn grounds(act: &Act) -> String {
    let reason = act.reason.as_ref().map(|reason| format!("; reason: {reason}"));
    let evidence = act.evidence.as_ref().map(|url| format!("; evidence: {url}"));
    let hex = |hash: KeyHash| hash.0.map(|byte| format!("{byte:02x}")).concat();
    let hash = act.evidence_hash.map(|hash| format!(", SHA-256 {}", hex(hash)));
    [reason, evidence, hash].into_iter().flatten().collect()
}

/// The parts of the market that a revision names: `texts, deadline`.
fn revised(revision: &MarketRevision) -> String {
    // Complete, so that a new part does not compile without a word.
    let MarketRevision {
        questions,
        descriptions,
        yes_text,
        no_text,
        logo,
        deadline,
        categories,
        highlighted,
        maker_fee,
        taker_fee,
        slug,
    } = revision;
    let texts = [questions, descriptions, yes_text, no_text];
    let parts = [
        (texts.into_iter().any(Option::is_some), "texts"),
        (deadline.is_some(), "deadline"),
        (logo.is_some(), "logo"),
        (categories.is_some(), "categories"),
        (highlighted.is_some(), "highlight"),
        (maker_fee.is_some() || taker_fee.is_some(), "fees"),
        (slug.is_some(), "slug"),
    ];
    let named: Vec<&str> =
        parts.into_iter().filter(|(named, _)| *named).map(|(_, part)| part).collect();
    // The exchange takes a revision that names no part.
    if named.is_empty() { "nothing".to_owned() } else { named.join(", ") }
}

impl Listener for Facts {
    fn after(
        &mut self,
        exchange: &Exchange,
        record: &Record,
        effects: &[Effect],
    ) -> Result<(), Failure> {
        self.watch.follow(exchange, effects);
        self.created(record, effects);
        let Some(market) = self.subject.as_ref().map(|subject| subject.no) else {
            for effect in effects {
                self.register.follow(record, effect);
            }
            return Ok(self.proof.follow(None, record, effects)?);
        };
        let mut touched = false;
        for effect in effects {
            self.propose(record, effect);
            let here = market_of(effect) == Some(market);
            touched |= here;
            if here {
                self.hear(record, effect)?;
            }
            self.register.follow(record, effect);
        }
        match (record.command.placement(), effects) {
            (Some(terms), [Effect::Refused(_)]) if terms.market == market => {
                self.totals.refused = self.totals.refused.saturating_add(1);
            }
            _ => {}
        }
        if touched
            && self.closed.is_none_or(|closed| closed.sequence == record.sequence)
            && let Some((_, last)) = &mut self.traded
        {
            *last = Place::of(record);
            let book = exchange.market(market).map(|market| &market.book);
            let best = |side| book.and_then(|book| book.best(side));
            self.series.quote(record.time, (best(Direction::Up), best(Direction::Down)))?;
        }
        Ok(self.proof.follow(Some(market), record, effects)?)
    }

    fn block_done(&mut self, exchange: &Exchange, _block: &Block) -> Result<(), Fault> {
        self.watch.block_done(exchange).map_err(|broken| Fault::now(exchange, broken))
    }

    fn ended(&mut self, exchange: &Exchange) -> Result<(), Fault> {
        self.watch.end(exchange).map_err(|broken| Fault::now(exchange, broken))
    }
}
