//! The read side: projections of the exchange's effects into the read models that queries use.
//!
//! Must not know: the rules of trade, the exchange's own state, the journal, the clock, JSON,
//! HTTP, who is reading.

pub mod accounts;
pub mod sign_ins;
pub mod catalogue;
pub mod changes;
pub mod depth;
pub mod orders;
pub mod fills;
pub mod positions;
pub mod closed;
pub mod activity;
pub mod statements;
mod causes;
pub mod settlements;
pub mod transfers;
pub mod proposals;
pub mod disputes;
pub mod performance;
pub mod equity;
pub mod tape;
pub mod search;
pub mod responses;
pub mod verdicts;
pub mod history;
pub mod fault;
pub mod table;
mod saved;

use std::io::{self, BufReader, BufWriter, Read, Write};

use self::accounts::Accounts;
use self::activity::Activity;
use self::catalogue::{Catalogue, MarketRow};
use self::changes::Changes;
use self::closed::Closed;
use self::depth::{Depth, Level, Quote};
use self::disputes::Disputes;
use self::equity::{Equity, EquityPoint};
use self::fault::{Fault, Faults, Projection, View};
use self::history::History;
use self::orders::Orders;
use self::performance::{MarketPnl, Performance, Pnl};
use self::positions::Positions;
use self::proposals::Proposals;
use self::responses::{StoredResponse, StoredResponses};
use self::saved::{Saved, Sink, Sizes, Source, hold, saved};
use self::search::Search;
use self::settlements::Settlements;
use self::sign_ins::SignIns;
use self::statements::Statements;
use self::tape::Tape;
use self::transfers::Transfers;
use self::verdicts::Verdicts;
use exchange::catalogue::Outcome;
use exchange::command::Direction;
use exchange::effect::{Applied, Effect};
use exchange::ids::{MarketNo, UserNo};
use exchange::image::coding::{BadImage, read_end};
use exchange::units::{Money, MoneySum, Overflow, Ratio, Sequence, SettlementPrice, TimeMs};

/// Users and positions looked at with a record to tell users' equity.
const EQUITY_ROWS_A_RECORD: usize = 64;

/// All projections as of one record. A reader who holds a reference sees one consistent moment.
#[derive(Debug, Default)]
pub struct ReadModel {
    /// Users, their keys and their money.
    pub accounts: Accounts,
    /// Invitations, passwords and sessions.
    pub sign_ins: SignIns,
    /// Categories, events and markets.
    pub catalogue: Catalogue,
    /// Price levels and last trades.
    pub depth: Depth,
    /// Orders and fills.
    pub orders: Orders,
    /// Current positions, and those held at a market's end.
    pub positions: Positions,
    /// What was realised where nothing is held any more.
    pub closed: Closed,
    /// Trades and status changes of each market.
    pub activity: Activity,
    /// Every change of every account, with its cause.
    pub statements: Statements,
    /// Payments of settled and voided markets.
    pub settlements: Settlements,
    /// Transfers that users asked for.
    pub transfers: Transfers,
    /// What takes two operators, and waits for the second.
    pub proposals: Proposals,
    /// Disputes of markets that are not final.
    pub disputes: Disputes,
    /// Profit and loss of each user.
    pub performance: Performance,
    /// Equity as time passes.
    pub equity: Equity,
    /// Public trades, and candles.
    pub tape: Tape,
    /// Index of the words of market questions.
    pub search: Search,
    /// What became of records that did not do what they asked for.
    pub verdicts: Verdicts,
    /// Stored responses of requests that may be repeated.
    pub answers: StoredResponses,
    /// When often-read data last changed.
    pub changes: Changes,
    watermark: Sequence,
    time: TimeMs,
    faults: Faults,
}

impl ReadModel {
    /// The model before the first record.
    pub fn new() -> ReadModel {
        ReadModel::default()
    }

    /// The model before the first record; pages of history go to `history`.
    pub fn on(history: &History) -> ReadModel {
        ReadModel {
            orders: Orders::on(history.clone()),
            positions: Positions::on(history.clone()),
            closed: Closed::on(history.clone()),
            activity: Activity::on(history.clone()),
            statements: Statements::on(history.clone()),
            settlements: Settlements::on(history.clone()),
            equity: Equity::on(history.clone()),
            tape: Tape::on(history.clone()),
            verdicts: Verdicts::on(history.clone()),
            ..ReadModel::default()
        }
    }

    /// Folds the next record's effects. Each record must come once, in order.
    ///
    /// A record that was folded already is skipped, and one after a gap is folded: both count as
    /// inconsistencies, as does every effect that contradicts an earlier one. Debug builds panic on
    /// an inconsistency.
    pub fn fold(&mut self, applied: &Applied<'_>) {
        let noted = self.faults.count();
        self.take_in(applied);
        debug_assert_eq!(self.faults.count(), noted, "{:?}", self.faults.last());
    }

    /// Where its pages of history are.
    pub const fn history(&self) -> &History {
        self.orders.history()
    }

    /// The last record folded; [`Sequence::ZERO`] before the first.
    pub const fn watermark(&self) -> Sequence {
        self.watermark
    }

    /// The time of the last record folded: the moment that this model shows.
    pub const fn time(&self) -> TimeMs {
        self.time
    }

    /// The number of effects so far that contradicted earlier ones. Anything but zero is a bug in
    /// the producer of the effects.
    pub const fn inconsistencies(&self) -> u64 {
        self.faults.count()
    }

    /// The displayed probability of yes (semantics 3); one half for a market that does not exist.
    pub fn probability_of_yes(&self, market: MarketNo) -> Ratio {
        self.quote_of(market).probability_of_yes()
    }

    /// A user's profit and loss, with positions valued at the displayed probabilities.
    /// O(positions).
    ///
    /// # Errors
    /// An amount leaves the range of its type, which no real venue reaches.
    pub fn pnl(&self, user: UserNo) -> Result<Pnl, Overflow> {
        let balance = self.accounts.user(user).map(|row| row.balance).unwrap_or_default();
        let (mut cost, mut value) = (MoneySum::ZERO, MoneySum::ZERO);
        for row in self.positions.held(user) {
            cost = cost.plus(row.cost)?;
            value = value.plus(self.quote_of(row.market).value(row.outcome, row.quantity)?)?;
        }
        Ok(Pnl {
            deposited: self.performance.deposited(user),
            withdrawn: self.performance.withdrawn(user),
            fees_taken: self.performance.fees_taken(user),
            realised: self.performance.total(user).realised,
            cost,
            value,
            available: balance.available,
            reserved: balance.reserved,
        })
    }

    /// A user's profit and loss in one market; what was realised is zero once it has ended.
    ///
    /// # Errors
    /// An amount leaves the range of its type.
    pub fn pnl_in(&self, user: UserNo, row: &MarketRow) -> Result<MarketPnl, Overflow> {
        let realised = self.performance.realised_in(user, row.no);
        let mut pnl = MarketPnl { realised, ..MarketPnl::default() };
        for outcome in [Outcome::Yes, Outcome::No] {
            if let Some(held) = self.positions.position(user, row.no, outcome) {
                pnl.cost = pnl.cost.plus(held.cost)?;
                pnl.value = pnl.value.plus(self.quote(row).value(outcome, held.quantity)?)?;
            }
        }
        Ok(pnl)
    }

    /// The displayed value of a market's yes contract.
    pub fn quote(&self, row: &MarketRow) -> Quote {
        use exchange::command::Direction::{Down, Up};
        let best = |side| self.book(row.no, side).next().map(|level| level.price);
        Quote::of(row, best(Up), best(Down), self.depth.last_trade(row.no))
    }

    /// The occupied levels of a side of a market's book, best first. A market that has ended has no
    /// book, even while the orders that stood there are still being cancelled.
    pub fn book(&self, market: MarketNo, side: Direction) -> impl Iterator<Item = Level> {
        let row = self.catalogue.market(market);
        let ended = row.is_none_or(|row| !row.status.keeps_orders());
        self.depth.levels(market, side).take(if ended { 0 } else { usize::MAX })
    }

    fn quote_of(&self, market: MarketNo) -> Quote {
        let row = self.catalogue.market(market);
        row.map_or(Quote::At(SettlementPrice::HALF), |row| self.quote(row))
    }

    /// A user's exposure: money reserved for orders plus the cost of open positions. O(positions).
    pub fn exposure(&self, user: UserNo) -> MoneySum {
        let reserved = self.accounts.user(user).map_or(Money::ZERO, |row| row.balance.reserved);
        let costs = self.positions.held(user).map(|row| i128::from(row.cost.get()));
        let aside = self.transfers.held(user).get().saturating_add(self.disputes.held(user));
        let of_orders = i128::from(reserved.get()).saturating_sub(aside);
        MoneySum::new(costs.sum::<i128>().saturating_add(of_orders))
    }

    fn take_in(&mut self, applied: &Applied<'_>) {
        let expected = self.watermark.next();
        if applied.sequence != expected {
            self.faults.note(Fault::OutOfSequence { expected, found: applied.sequence });
        }
        if applied.sequence < expected {
            return;
        }
        self.answers.forget(applied.time);
        let ReadModel { orders, positions, closed, statements, verdicts, faults, .. } = self;
        faults.check(verdicts.fold(applied));
        orders.fold(applied, faults);
        statements.fold(applied, orders.placed(), faults);
        closed.fold(applied, positions, faults);
        self.see_all(applied);
        self.take_equity(applied);
        if let Some(Effect::AnswerKept { until }) = applied.effects.last() {
            let kept = StoredResponse::of(applied, self);
            self.answers.keep(applied.sequence, *until, kept);
        }
        self.watermark = applied.sequence;
        self.time = applied.time;
    }

    /// Shows each effect to each view: the one walk over a record's effects. What a listener is to
    /// be told of an effect is known here, when all views have seen it.
    fn see_all(&mut self, applied: &Applied<'_>) {
        let ReadModel { accounts, catalogue, depth, positions, activity, settlements, .. } = self;
        let ReadModel { performance, equity, tape, search, changes, sign_ins, .. } = self;
        let ReadModel { transfers, proposals, disputes, faults, .. } = self;
        let mut traded = None;
        for effect in applied.effects {
            faults.check(accounts.see(applied, effect));
            faults.check(depth.see(applied, effect));
            faults.check(positions.see(applied, effect));
            faults.check(activity.see(applied, effect));
            faults.check(performance.see(applied, effect));
            faults.check(equity.see(applied, effect));
            faults.check(tape.see(applied, effect));
            faults.check(changes.see(applied, effect));
            if !of_trading(effect) {
                faults.check(catalogue.see(applied, effect));
                faults.check(settlements.see(applied, effect));
                faults.check(search.see(applied, effect));
                faults.check(sign_ins.see(applied, effect));
                faults.check(transfers.see(applied, effect));
                faults.check(proposals.see(applied, effect));
                faults.check(disputes.see(applied, effect));
                if let Effect::MarketMoved { market, .. } | Effect::MarketRevised { market, .. } =
                    effect
                    && catalogue.market(*market).is_some_and(|row| row.status.public())
                {
                    changes.catalogue_at(applied.sequence);
                }
            }
            if let Effect::TradeMade(trade) = effect {
                traded = Some(trade.market);
            }
        }
        let concluded = depth.conclude(|market, is_quoted| {
            if changes.top_at(market, applied.sequence)? && is_quoted {
                changes.catalogue_at(applied.sequence);
            }
            Ok(())
        });
        faults.check(concluded);
        faults.check(positions.conclude(applied));
        faults.check(performance.conclude(applied));
        // All trades of a record are in one market; its open interest is known only after the last
        // of them.
        if let Some(market) = traded {
            tape.note_interest(market, positions.open_interest(market));
        }
    }

    /// Takes the equity of users whose hour or day is over.
    fn take_equity(&mut self, applied: &Applied<'_>) {
        self.equity.turn(applied.time);
        let mut left = EQUITY_ROWS_A_RECORD;
        while left > 0
            && let Some(user) = self.equity.next()
        {
            let held = self.positions.held(user).take(EQUITY_ROWS_A_RECORD).count();
            left = left.saturating_sub(1);
            if self.equity.wants(user, held > 0) {
                left = left.saturating_sub(held);
                let point = self.equity_point(user, applied).map_err(Fault::from);
                let added = point.and_then(|point| self.equity.add(user, &point));
                self.faults.check(added);
            }
        }
    }

    fn equity_point(&self, user: UserNo, at: &Applied<'_>) -> Result<EquityPoint, Overflow> {
        let pnl = self.pnl(user)?;
        let paid_in = pnl.deposited.and(pnl.fees_taken)?.less(pnl.withdrawn)?;
        let (sequence, time) = (at.sequence, at.time);
        Ok(EquityPoint { sequence, time, equity: pnl.equity()?, paid_in })
    }

    fn sizes(&self) -> Sizes {
        Sizes {
            users: self.accounts.users_count(),
            keys: self.accounts.keys_count(),
            rows_per_page: self.orders.rows_per_page(),
            ..self.catalogue.sizes()
        }
    }
}

/// Whether an effect is one of trading, as nearly all are: they never change the catalogue,
/// settlements or search, which are not asked then.
const fn of_trading(effect: &Effect) -> bool {
    matches!(
        effect,
        Effect::OrderAccepted { .. }
            | Effect::TradeMade(_)
            | Effect::OrderRested { .. }
            | Effect::OrderCancelled { .. }
            | Effect::OrderAmended { .. }
            | Effect::PositionChanged { .. }
            | Effect::AccountChanged { .. }
            | Effect::AnswerKept { .. }
            | Effect::Refused(_)
            | Effect::Repeated { .. }
    )
}

// The image of the read model: its state as flat bytes, so that a start need not fold the whole
// journal.

/// Version of the image format, and of the pages that an image refers to; must change with their
/// content or field order.
pub const IMAGE_VERSION: u32 = 14;
/// Bytes written or read at once.
const BLOCK_BYTES: usize = 64 << 10;

saved!(ReadModel {
    watermark,
    time,
    faults,
    accounts,
    sign_ins,
    catalogue,
    depth,
    orders,
    positions,
    closed,
    activity,
    statements,
    settlements,
    transfers,
    proposals,
    disputes,
    performance,
    equity,
    tape,
    verdicts,
    answers,
    changes,
} made { search });

impl Saved for Orders {
    fn save(&self, sink: &mut Sink<'_>) {
        self.write(sink);
    }

    fn load(source: &mut Source<'_>) -> Result<Self, BadImage> {
        Orders::read(source.history.clone(), source.sizes, source)
    }
}

impl ReadModel {
    /// Writes the whole model except for the pages in history. Writes in blocks, so `out` needs no
    /// buffer.
    ///
    /// # Errors
    /// The error of `out`.
    pub fn write_image(&self, out: &mut impl Write) -> io::Result<()> {
        let out = BufWriter::with_capacity(BLOCK_BYTES, out as &mut dyn Write);
        let mut sink = Sink { out, failed: Ok(()) };
        IMAGE_VERSION.save(&mut sink);
        self.sizes().save(&mut sink);
        self.save(&mut sink);
        let Sink { mut out, failed } = sink;
        failed.and_then(|()| out.flush())
    }

    /// Reads a model written by [`write_image`](ReadModel::write_image), up to the end of `from`.
    /// The model behaves like the one written, provided `history` holds that one's pages with the
    /// same page length. Reads in blocks, so `from` needs no buffer.
    ///
    /// # Errors
    /// [`BadImage`] if the bytes are not a valid image, or `from` cannot be read.
    pub fn read_image(from: &mut impl Read, history: &History) -> Result<ReadModel, BadImage> {
        let from = BufReader::with_capacity(BLOCK_BYTES, from as &mut dyn Read);
        let (sizes, history) = (Sizes::default(), history.clone());
        let mut source = Source { from, sizes, history };
        let version = u32::load(&mut source)?;
        if version != IMAGE_VERSION {
            return Err(BadImage::Version(version));
        }
        source.sizes = Sizes::load(&mut source)?;
        let rows = source.history.rows_per_page();
        hold(source.sizes.rows_per_page == rows, "pages of another length")?;
        let model = ReadModel::load(&mut source)?;
        read_end(&mut source)?;
        let search = Search::of(&model.catalogue);
        Ok(ReadModel { search, ..model })
    }
}

#[cfg(test)]
#[path = "../../tests/unit/views/fixture.rs"]
mod fixture;

#[cfg(test)]
#[path = "../../tests/unit/views/lib.rs"]
mod tests;
