//! The audit after every kill: the journal against every request and answer, the exchange against a
//! second replay, the archive against the journal. What the naive twin says of all this, and of
//! snapshots, the simulator compares.

use std::collections::BTreeMap;
use std::path::Path;

use exchange::Exchange;
use exchange::command::{Command, Record};
use exchange::effect::{Applied, Effect};
use exchange::ids::{OrderNo, TradeId, TradeIndex};
use exchange::results::StateDigest;
use exchange::units::Sequence;
use journal::Journal;
use journal::block::Head;
use journal::directory::LogJournal;
use journal::replay::{Replayer, replay};
use serde_json::Value;
use views::ReadModel;
use views::fills::{FillRow, Liquidity};
use views::orders::OrderRow;

use crate::archive;
use crate::ask::{Asked, Want};
use crate::server::{self, Ground};

/// A command without what the server adds to a request: the key, and a market's slug.
fn as_asked(command: &Command) -> Command {
    let mut command = command.clone();
    match &mut command {
        Command::PlaceOrder(order) => order.key = None,
        Command::CreateMarket(draft) => draft.slug = None,
        _ => {}
    }
    command
}

/// Totals of a run.
#[derive(Debug, Default)]
pub struct Count {
    pub kills: u32,
    pub kills_in_start: u32,
    pub records: u64,
    pub answered: u64,
    pub refused: u64,
    pub reads: u64,
    pub unanswered: u64,
    /// Unanswered requests whose record is in the journal, whole.
    pub unanswered_there: u64,
    pub lost: u64,
    pub duplicated: u64,
    pub half_there: u64,
    pub digest_differences: u64,
    /// Orders found after a restart by the ids in their answers.
    pub looked_up: u64,
    pub archives: archive::Seen,
}

/// One venue through all its kills.
pub struct Auditor {
    pub exchange: Exchange,
    pub model: ReadModel,
    head: Head,
    bootstrap: Vec<&'static str>,
    pub archive: archive::Watch,
    /// The journal's blocks at the last audit.
    pub blocks: Vec<Vec<u8>>,
    pub count: Count,
    /// Everything found wrong.
    pub faults: Vec<String>,
}

/// The requests of one round that no record has accounted for yet.
struct Wishes<'a> {
    answered: BTreeMap<u64, Vec<&'a Asked>>,
    reads: BTreeMap<u64, Vec<&'a Asked>>,
    unanswered: Vec<&'a Asked>,
    /// Requests already accounted for, kept to recognise duplicates.
    found: Vec<(u64, &'a Asked)>,
}

impl<'a> Wishes<'a> {
    fn of(asked: &'a [Asked]) -> Wishes<'a> {
        let (answered, reads, unanswered) = (BTreeMap::new(), BTreeMap::new(), Vec::new());
        let mut wishes = Wishes { answered, reads, unanswered, found: Vec::new() };
        for asked in asked {
            let read = matches!(asked.want, Want::Balance { .. });
            match &asked.reply {
                Some(reply) if read => wishes.reads.entry(reply.sequence).or_default().push(asked),
                Some(reply) => wishes.answered.entry(reply.sequence).or_default().push(asked),
                None if read => {}
                None => wishes.unanswered.push(asked),
            }
        }
        wishes
    }
}

impl Auditor {
    pub fn new(count: Count) -> Auditor {
        Auditor {
            exchange: Exchange::new(),
            model: ReadModel::new(),
            head: Head::START,
            bootstrap: Vec::new(),
            archive: archive::Watch::default(),
            blocks: Vec::new(),
            count,
            faults: Vec::new(),
        }
    }

    /// Audits the journal after a round, with its archive.
    pub fn audit(&mut self, ground: &Ground, asked: &[Asked]) {
        let (venue, log) = (ground.venue(), ground.log());
        if log.contains(" ERROR ") {
            self.judge(Err(log.clone()));
        }
        let mut wishes = Wishes::of(asked);
        self.count.unanswered += u64::try_from(wishes.unanswered.len()).unwrap();
        self.judge_reads(&mut wishes);
        let before = self.head.sequence;
        if server::begun(&venue) {
            self.read_journal(&venue, &mut wishes);
        }
        let seen = &mut self.count.archives;
        let archived = self.archive.judge(&ground.archive(), &self.blocks, &log, seen);
        self.judge(archived);
        self.judge_missing(&wishes);
        self.judge_fills(before);
    }

    /// Adds a fault, if there is one.
    pub fn judge(&mut self, judged: Result<(), String>) {
        if let Err(fault) = judged {
            self.count.digest_differences += 1;
            self.faults.push(fault);
        }
    }

    fn read_journal(&mut self, venue: &Path, wishes: &mut Wishes) {
        let journal = match LogJournal::open_existing(venue) {
            Ok((journal, _)) => journal,
            Err(error) => {
                self.count.lost += 1;
                return self.faults.push(format!("the journal does not open: {error}"));
            }
        };
        if let Err(fault) = self.same_past(&journal) {
            self.count.lost += 1;
            self.faults.push(fault);
        }
        for block in journal.read(self.head.sequence.next()) {
            let block = match block {
                Ok(block) => block,
                Err(error) => return self.faults.push(format!("damage: {error}")),
            };
            for record in block.records() {
                self.take(record, wishes);
            }
            self.head = block.head();
        }
        // Replays from the first record with the product's own loop, independently of the audit's.
        let (mut again, mut blocks) = (Replayer::new(), Vec::new());
        let all = journal
            .read(Sequence::new(1))
            .inspect(|block| blocks.extend(block.iter().map(|block| block.bytes().to_vec())));
        let replayed = replay(all, &mut again, |_, _| {});
        self.blocks = blocks;
        let (ours, theirs) = (self.exchange.digest(), again.exchange().digest());
        if replayed != Ok(self.head) || ours != theirs {
            self.count.digest_differences += 1;
            self.faults.push(format!("a second replay differs: {replayed:?}, {:?}", self.head));
        }
    }

    /// Blocks audited before must still be there, unchanged.
    fn same_past(&self, journal: &LogJournal) -> Result<(), String> {
        if self.head.sequence == Sequence::ZERO {
            return Ok(());
        }
        match journal.read(self.head.sequence).next() {
            Some(Ok(block)) if block.head() == self.head => Ok(()),
            Some(Ok(block)) => Err(format!("{:?} was {:?}", block.head(), self.head)),
            Some(Err(error)) => Err(format!("what was audited is damaged: {error}")),
            None => Err(format!("the journal ends before {:?}", self.head)),
        }
    }

    fn take(&mut self, record: &Record, wishes: &mut Wishes) {
        self.count.records += 1;
        let mut effects = Vec::new();
        let applied = self.exchange.apply(record, &mut effects);
        if let Err(broken) = applied.and_then(|()| self.exchange.check()) {
            self.count.half_there += 1;
            self.faults.push(format!("{record:?}: {broken:?}"));
        }
        let Record { sequence, time, .. } = *record;
        self.model.fold(&Applied { sequence, time, effects: &effects });
        self.explain(record, &effects, wishes);
        self.judge_reads(wishes);
    }

    /// Finds the request that made a record: an answered one that names it, an unanswered one, or
    /// one of the server's own records.
    fn explain(&mut self, record: &Record, effects: &[Effect], wishes: &mut Wishes) {
        let same = |asked: &Asked| {
            let said = as_asked(&record.command);
            asked.want.command(&self.model).is_some_and(|command| command == said)
        };
        let at = record.sequence.get();
        let answered = wishes.answered.entry(at).or_default();
        if let Some(index) = answered.iter().position(|asked| same(asked)) {
            let asked = answered.swap_remove(index);
            wishes.found.push((at, asked));
            return self.compare(record, effects, asked);
        }
        if let Some(index) = wishes.unanswered.iter().position(|asked| same(asked)) {
            wishes.unanswered.swap_remove(index);
            self.count.unanswered_there += 1;
            return;
        }
        if record.command == Command::AdvanceClock
            || is_bootstrap(&mut self.bootstrap, &record.command)
        {
            return;
        }
        self.count.duplicated += 1;
        let twice = wishes.found.iter().find(|(_, asked)| same(asked));
        self.faults.push(match twice {
            Some((first, _)) => format!("{record:?} is there already, as record {first}"),
            None => format!("nobody asked for {record:?}"),
        });
    }

    /// Compares an answer with the state right after its record.
    fn compare(&mut self, record: &Record, effects: &[Effect], asked: &Asked) {
        let refused = matches!(effects, [Effect::Refused(_)]);
        if refused {
            self.count.refused += 1;
        } else {
            self.count.answered += 1;
        }
        let reply = asked.reply.as_ref().unwrap();
        let said = match (&asked.want, refused) {
            _ if asked.done() == refused => Err(format!("refused: {refused}")),
            (_, true) => Ok(()),
            (Want::Place(..), _) => self.same_placed(record, effects, &reply.body),
            (Want::Cancel { order, .. }, _) => {
                self.same_order(OrderNo(order.sequence()), &reply.body, true)
            }
            (Want::Amend { order, .. }, _) => {
                self.same_order(OrderNo(order.sequence()), &reply.body, false)
            }
            (Want::Deposit { .. } | Want::Withdraw { .. } | Want::TakeFees { .. }, _) => {
                same_money(effects, &reply.body)
            }
            _ => Ok(()),
        };
        if let Err(difference) = said {
            self.count.half_there += 1;
            self.faults.push(format!("{difference}: {record:?} was answered {reply:?}"));
        }
    }

    /// An order of any user, from the audited state.
    pub fn order(&self, order: OrderNo) -> Option<OrderRow> {
        let users = self.model.accounts.users_newest_first().map(|user| user.no);
        users.into_iter().find_map(|user| self.model.orders.order(user, order).row().unwrap())
    }

    fn same_placed(&self, record: &Record, effects: &[Effect], body: &Value) -> Result<(), String> {
        let row = self.order(OrderNo(record.sequence)).ok_or("no such order")?;
        let expected = [
            ("orderId", row.id().to_string()),
            ("status", row.status.name().to_owned()),
            ("filledQuantity", row.filled.to_string()),
            ("remainingQuantity", row.remaining.to_string()),
            ("cancelledQuantity", row.cancelled.to_string()),
            ("averageFillPrice", row.average_price().to_string()),
            ("filledCost", row.filled_cost.to_string()),
        ];
        same_fields(body, &expected)?;
        let made = effects.iter().filter(|effect| matches!(effect, Effect::TradeMade(_)));
        let ids = (0..).zip(made).map(|(index, _)| {
            TradeId::of(record.time, record.sequence, TradeIndex(index)).to_string()
        });
        let shown = body["trades"].as_array().ok_or("no trades")?;
        let shown = shown.iter().map(|trade| trade["id"].as_str().unwrap_or_default().to_owned());
        if ids.eq(shown) { Ok(()) } else { Err("other trades".to_owned()) }
    }

    /// An order as its answer showed it. A cancelled order cannot change any more; an amended one
    /// may have traded between its record and the read that made the answer.
    fn same_order(&self, order: OrderNo, body: &Value, last: bool) -> Result<(), String> {
        let row = self.order(order).ok_or("no such order")?;
        let mut expected = vec![("id", row.id().to_string()), ("price", row.price.to_string())];
        expected.push(("originalQuantity", row.quantity.to_string()));
        if last {
            expected.push(("status", row.status.name().to_owned()));
            expected.push(("filledQuantity", row.filled.to_string()));
            expected.push(("remainingQuantity", row.remaining.to_string()));
            expected.push(("cancelledQuantity", row.cancelled.to_string()));
        }
        same_fields(body, &expected)
    }

    /// A read must show the account as of exactly the record that it names.
    fn judge_reads(&mut self, wishes: &mut Wishes) {
        for asked in wishes.reads.remove(&self.model.watermark().get()).unwrap_or_default() {
            let Want::Balance { user } = asked.want else { continue };
            self.count.reads += 1;
            let balance = self.model.accounts.user(user).map(|row| row.balance).unwrap();
            let body = &asked.reply.as_ref().unwrap().body;
            let expected = [
                ("available", balance.available.to_string()),
                ("reserved", balance.reserved.to_string()),
            ];
            if let Err(difference) = same_fields(body, &expected) {
                self.count.half_there += 1;
                self.faults.push(format!("{difference}: {asked:?}"));
            }
        }
    }

    /// Answered requests that are in no record.
    fn judge_missing(&mut self, wishes: &Wishes) {
        for asked in wishes.answered.values().flatten() {
            let reply = asked.reply.as_ref().unwrap();
            // Refused before submission: no record was made, and the sequence is that of a read.
            if matches!(reply.status, 400 | 404 | 503) {
                self.count.refused += 1;
                continue;
            }
            self.count.lost += 1;
            self.faults.push(format!("lost: {asked:?}"));
        }
        for asked in wishes.reads.values().flatten() {
            self.count.lost += 1;
            self.faults.push(format!("a reader saw a record that is not there: {asked:?}"));
        }
    }

    /// Every trade since `before` has two sides that match.
    fn judge_fills(&mut self, before: Sequence) {
        let mut trades: BTreeMap<TradeId, Vec<FillRow>> = BTreeMap::new();
        for user in self.model.accounts.users_newest_first() {
            let fills = self.model.orders.fills_of(user.no);
            let fills = fills.map(Result::unwrap);
            for fill in fills.take_while(|fill| fill.sequence > before) {
                trades.entry(fill.id()).or_default().push(fill);
            }
        }
        for (id, sides) in trades {
            let [one, other] = sides.as_slice() else {
                self.count.half_there += 1;
                self.faults.push(format!("{id} has {} sides", sides.len()));
                continue;
            };
            let yes = |fill: &FillRow| fill.wording.yes_price(fill.price);
            let alike = one.quantity == other.quantity
                && yes(one) == yes(other)
                && one.market == other.market
                && one.wording.direction() != other.wording.direction()
                && (one.liquidity == Liquidity::Maker) != (other.liquidity == Liquidity::Maker);
            if !alike {
                self.count.half_there += 1;
                self.faults.push(format!("{one:?} is not the other side of {other:?}"));
            }
        }
    }

    /// At a venue's end: each order's filled quantity is the sum of its fills.
    pub fn judge_orders(&mut self) {
        let mut filled: BTreeMap<OrderNo, u64> = BTreeMap::new();
        let users: Vec<_> = self.model.accounts.users_newest_first().map(|user| user.no).collect();
        for fill in users.iter().flat_map(|user| self.model.orders.fills_of(*user)) {
            let fill = fill.unwrap();
            *filled.entry(fill.order).or_default() += fill.quantity.get();
        }
        for row in users.iter().flat_map(|user| self.model.orders.of(*user)) {
            let row = row.unwrap();
            let parts = row.filled.get() + row.remaining.get() + row.cancelled.get();
            let fills = filled.get(&row.no).copied().unwrap_or(0);
            if parts != row.quantity.get() || fills != row.filled.get() {
                self.count.half_there += 1;
                self.faults.push(format!("fills of {fills}: {row:?}"));
            }
        }
    }

    /// The digest of the audited state.
    pub fn digest(&self) -> StateDigest {
        self.exchange.digest().unwrap()
    }
}

/// Whether this is one of the records that a server itself writes at first, each accepted once.
fn is_bootstrap(seen: &mut Vec<&'static str>, command: &Command) -> bool {
    let name = match command {
        Command::OpenVenue(_) => "venue",
        Command::CreateUser { profile_name, .. } if profile_name == "operator" => "operator",
        Command::AddKey { user, .. } if user.0 == 0 => "key",
        _ => return false,
    };
    let first = !seen.contains(&name);
    seen.push(name);
    first
}

fn same_fields(body: &Value, expected: &[(&str, String)]) -> Result<(), String> {
    for (name, value) in expected {
        if body[name] != **value {
            return Err(format!("{name} is {value}"));
        }
    }
    Ok(())
}

/// Compares the account in an answer with the one in its record's effects.
fn same_money(effects: &[Effect], body: &Value) -> Result<(), String> {
    let left = effects.iter().rev().find_map(|effect| match effect {
        Effect::AccountChanged { available, reserved, .. } => Some((available, reserved)),
        _ => None,
    });
    let (available, reserved) = left.ok_or("no account changed")?;
    same_fields(body, &[("available", available.to_string()), ("reserved", reserved.to_string())])
}
