//! The image of the read model: a restored model answers and folds on exactly like the original,
//! and invalid bytes are refused.

// clippy recognises tests by their attribute, but not the helpers that they share.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "model/commands/mod.rs"]
mod commands;
#[path = "model/naive/mod.rs"]
mod naive;
#[path = "model/recorded.rs"]
mod recorded;

use std::fs;
use std::io::{self, Read, Write};
use std::num::NonZeroU32;
use std::path::Path;

use proptest::prelude::*;

use exchange::Exchange;
use exchange::catalogue::Outcome;
use exchange::command::{Direction, Record};
use exchange::effect::Applied;
use exchange::ids::{CategoryNo, EventNo, KeyNo, MarketNo, OrderNo, UserNo};
use exchange::image::coding::BadImage;
use exchange::units::Sequence;
use flow::records::FlowRecords;
use flow::{Flow, sample};
use journal::portable::PortableFile;
use views::catalogue::Wanted;
use views::history::{History, HistoryError};
use views::performance::Day;
use views::search::Words;
use views::statements::Cause;
use views::tape::Interval;
use views::{IMAGE_VERSION, ReadModel};

use commands::strategies;
use recorded::records;

/// Lines of the recorded flow that are folded.
const FLOW_LINES: u32 = 3_000;
/// Rows per page: few, so that almost all of history is on pages.
const ROWS: NonZeroU32 = NonZeroU32::new(3).unwrap();

fn image(model: &ReadModel) -> Vec<u8> {
    let mut bytes = Vec::new();
    model.write_image(&mut bytes).unwrap();
    bytes
}

/// In-memory history with pages of this many rows.
fn pages_of(rows: NonZeroU32) -> History {
    History::default().paged(rows)
}

fn restored_on(history: &History, bytes: &[u8]) -> Result<ReadModel, BadImage> {
    ReadModel::read_image(&mut &*bytes, history)
}

/// Restores a model whose history is never read.
fn restored(bytes: &[u8]) -> Result<ReadModel, BadImage> {
    restored_on(&History::discarding().paged(ROWS), bytes)
}

/// All rows of a list.
fn all<T>(list: impl Iterator<Item = Result<T, HistoryError>>) -> Vec<T> {
    list.map(Result::unwrap).collect()
}

/// Every query with its answer, as text.
fn shown(model: &ReadModel) -> Vec<String> {
    let mut answers = vec![format!(
        "{:?} {:?} {} {}",
        model.watermark(),
        model.time(),
        model.inconsistencies(),
        model.accounts.currency()
    )];
    let (accounts, catalogue) = (&model.accounts, &model.catalogue);
    for key in (0..).map(KeyNo).map_while(|key| accounts.key(key)) {
        let by_hash = accounts.key_by_hash(&key.hash).map(|key| key.no);
        answers.push(format!("{key:?} {by_hash:?} {:?}", accounts.key_no(key.id)));
    }
    answers.push(format!("{:?}", catalogue.categories()));
    for row in catalogue.categories() {
        answers.push(format!("{:?}", catalogue.category_no(row.id)));
    }
    let transfers = &model.transfers;
    answers.extend(transfers.all().map(|row| format!("{row:?}")));
    answers.push(format!("{:?}", transfers.waiting().collect::<Vec<_>>()));
    for row in (0..).map(EventNo).map_while(|event| catalogue.event(event)) {
        let public = catalogue.public_markets(row.no);
        answers.push(format!("{row:?} {public:?} {:?}", catalogue.event_no(row.id)));
    }
    let published: Vec<MarketNo> = catalogue.markets_published().map(|row| row.no).collect();
    let events: Vec<EventNo> = catalogue.events_published().map(|row| row.no).collect();
    answers.push(format!("{published:?} {events:?}"));
    for highlighted in [None, Some(true), Some(false)] {
        for no in 0..=catalogue.categories().len() {
            let category = [CategoryNo(u32::try_from(no).unwrap())];
            for categories in [None, Some(&category[..])] {
                let (count, rows) =
                    catalogue.markets_wanted(Wanted { highlighted, categories, found: None });
                let rows: Vec<MarketNo> = rows.map(|row| row.no).collect();
                answers.push(format!("{count} {rows:?}"));
            }
        }
    }
    let markets: Vec<MarketNo> = catalogue.markets_created().map(|row| row.no).collect();
    for market in &markets {
        let row = catalogue.market(*market).unwrap();
        let (up, down) = (Direction::Up, Direction::Down);
        let bids: Vec<_> = model.depth.levels(*market, up).collect();
        let asks: Vec<_> = model.depth.levels(*market, down).collect();
        answers.push(format!("{row:?} {:?} {bids:?} {asks:?}", catalogue.market_no(row.id)));
        let last = model.depth.last_trade(*market);
        answers.push(format!("{last:?} {:?}", model.probability_of_yes(*market)));
        answers.push(format!("{:?}", all(model.activity.of(*market))));
        answers.extend(shown_of_tape(model, *market));
    }
    for row in accounts.users_newest_first() {
        let keys = accounts.keys_in_force(row.no).chain(accounts.revoked_keys(row.no));
        let keys: Vec<KeyNo> = keys.map(|key| key.no).collect();
        answers.push(format!("{row:?} {keys:?} {:?}", accounts.user_no(row.id)));
        answers.extend(shown_of(model, row.no, &markets));
    }
    answers
}

/// The public queries on a market's trades.
fn shown_of_tape(model: &ReadModel, market: MarketNo) -> Vec<String> {
    let trades = all(model.tape.trades(market));
    let (interest, holders) =
        (model.positions.open_interest(market), model.positions.holders(market));
    let mut answers = vec![format!("{trades:?} {interest:?} {holders}")];
    let first = trades.last().map(|row| row.time).unwrap_or_default();
    for interval in [Interval::Minute, Interval::FiveMinutes, Interval::Hour, Interval::Day] {
        let chart = model.tape.chart(market, interval, interval.start(first), 40);
        answers.push(format!("{:?}", chart.bars().unwrap().collect::<Vec<_>>()));
    }
    answers.push(format!(
        "{:?} {:?}",
        model.tape.volume(market),
        model.tape.minutes(market).volume_after(first)
    ));
    for words in ["a", "e o", "will"] {
        let words = Words::of(words).unwrap();
        answers.push(format!("{}", model.search.found(&words).contains(market.index())));
    }
    answers
}

/// The queries of a user.
fn shown_of(model: &ReadModel, user: UserNo, markets: &[MarketNo]) -> Vec<String> {
    let (orders, mut answers) = (&model.orders, Vec::new());
    for row in all(orders.of(user)) {
        let again = (orders.order(user, row.no).row(), orders.ids(user).id(row.no));
        let named = row.client_id.map(|name| orders.named(user, name).row());
        let fills = orders.fills_of_order(user, row.no).list().unwrap().map(|(_, list)| all(list));
        let placed = orders.as_placed(user, row.no).read();
        answers.push(format!("{again:?} {named:?} {fills:?} {placed:?}"));
    }
    answers.push(format!("{:?}", orders.open_of(user).collect::<Vec<_>>()));
    answers.push(format!("{:?}", all(orders.fills_of(user))));
    for market in markets {
        let own = all(orders
            .before_in(user, *market, OrderNo(Sequence::new(u64::MAX)), usize::MAX)
            .list()
            .unwrap());
        let fills = all(orders.fills_in(user, *market).list().unwrap());
        answers.push(format!("{own:?} {fills:?}"));
    }
    answers.push(format!("{:?}", all(model.statements.of(user))));
    answers.push(format!("{:?} {:?}", all(model.settlements.of(user)), model.pnl(user)));
    answers.push(format!("{:?}", all(model.equity.of(user))));
    let before = |days| model.performance.before(Day::of(model.time()).earlier(days));
    let since = |days| model.performance.since(&before(days)).collect::<Vec<_>>();
    for days in [0, 1, 6, 29, u32::MAX] {
        let score = since(days).into_iter().find(|(other, _)| *other == user);
        answers.push(format!("{score:?}"));
    }
    let positions = all(model.positions.of(user));
    for passed in 0..=positions.len() {
        let rest = all(model.positions.of(user).skip(passed));
        assert_eq!(rest, positions[passed..]);
        // Pages ask for a bounded number of rows.
        let newest = model.positions.newest(user, passed);
        assert_eq!((newest.len(), all(newest)), (passed, positions[..passed].to_vec()));
        let last = model.positions.newest(user, passed).skip(passed / 2);
        assert_eq!(all(last), positions[passed / 2..passed]);
    }
    for row in &positions {
        let again = model.positions.position(user, row.market, row.outcome);
        assert_eq!(again, Some(row).filter(|row| row.resolution.is_none()));
    }
    answers.push(format!("{positions:?}"));
    let closed: Vec<_> = model.closed.live(user).collect();
    answers.push(format!("{closed:?} {:?}", all(model.closed.ended(user))));
    for row in closed {
        assert_eq!(row.realised, model.performance.realised_in(user, row.market));
        let held = |outcome| model.positions.position(user, row.market, outcome);
        assert!(held(Outcome::Yes).is_none() && held(Outcome::No).is_none(), "{row:?}");
    }
    answers
}

/// Compares line by line, since a difference of the whole would print pages.
fn assert_same(model: &ReadModel, other: &ReadModel) {
    let (one, two) = (shown(model), shown(other));
    assert_eq!(one.len(), two.len());
    for (one, two) in one.iter().zip(&two) {
        assert_eq!(one, two);
    }
}

/// Folds the records into a model that is restored from its image at `cut`, into one that is not,
/// and into one that moves no rows to pages; all three must agree.
fn restores_and_folds_alike(records: &[Record], cut: usize) -> (ReadModel, Exchange) {
    let history = pages_of(ROWS);
    let (mut exchange, mut model) = (Exchange::new(), ReadModel::on(&history));
    let mut whole = ReadModel::on(&pages_of(NonZeroU32::MAX));
    let mut effects = Vec::new();
    let mut other = ReadModel::on(&history);
    for (index, record) in records.iter().enumerate() {
        if index == cut {
            other = restored_on(&history, &image(&model)).unwrap();
            assert_eq!(image(&other), image(&model));
            assert_same(&other, &model);
        }
        effects.clear();
        exchange.apply(record, &mut effects).unwrap();
        let applied = Applied { sequence: record.sequence, time: record.time, effects: &effects };
        model.fold(&applied);
        whole.fold(&applied);
        if index >= cut {
            other.fold(&applied);
        }
    }
    if cut >= records.len() {
        other = restored_on(&history, &image(&model)).unwrap();
    }
    assert!(image(&other) == image(&model), "folded on to another model");
    assert_same(&other, &model);
    assert_same(&model, &whole);
    assert_statements_add_up(&model, &exchange);
    assert_market_figures(&model, &exchange);
    (model, exchange)
}

/// All changes of an account add up to its balance in the exchange, and each change starts from the
/// balance after the one before.
fn assert_statements_add_up(model: &ReadModel, exchange: &Exchange) {
    assert_eq!(model.inconsistencies(), 0);
    for row in model.accounts.users_newest_first() {
        let (mut available, mut reserved) = (0, 0);
        for (number, change) in (1..).zip(all(model.statements.of(row.no)).into_iter().rev()) {
            assert_eq!(change.number, number);
            available += change.available.get();
            reserved += change.reserved.get();
            let after = (change.after.available.get(), change.after.reserved.get());
            assert_eq!(after, (available, reserved), "{change:?}");
            if let Cause::Reserved(_)
            | Cause::Released(_)
            | Cause::Amended(_)
            | Cause::WithdrawalHeld
            | Cause::WithdrawalFreed
            | Cause::BondHeld(_)
            | Cause::BondFreed(_) = change.cause
            {
                assert_eq!(change.available.get(), -change.reserved.get(), "{change:?}");
            } else if !matches!(
                change.cause,
                Cause::Traded(_) | Cause::Withdrawn | Cause::BondLost(_)
            ) {
                assert_eq!(change.reserved.get(), 0, "{change:?}");
            }
        }
        let stands = exchange.purse(row.no, MarketNo(0)).map(|purse| purse.account);
        let stands = stands.map(|account| (account.available.get(), account.reserved.get()));
        assert_eq!((available, reserved), stands.unwrap_or((available, reserved)), "{row:?}");
        assert_pnl_ties_out(model, row.no, available + reserved);
        let balance = (row.balance.available.get(), row.balance.reserved.get());
        assert_eq!((available, reserved), balance);
    }
}

/// Deposits less withdrawals, plus fees taken and realised results, equal the balance plus the cost
/// of the contracts held; deposits, withdrawals and pay-outs equal those of the statement.
fn assert_pnl_ties_out(model: &ReadModel, user: UserNo, balance: i64) {
    let pnl = model.pnl(user).unwrap();
    let (mut deposits, mut withdrawals, mut payouts, mut taken) = (0, 0, 0, 0);
    for change in all(model.statements.of(user)) {
        let amount = i128::from(change.available.get());
        match change.cause {
            Cause::Deposited => deposits += amount,
            // Of money that was asked for, it is the reserved that goes.
            Cause::Withdrawn => withdrawals -= amount + i128::from(change.reserved.get()),
            Cause::FeesTaken => taken += amount,
            Cause::Settled(_) | Cause::Voided(_) => payouts += amount,
            _ => {}
        }
    }
    assert_eq!((pnl.deposited.get(), pnl.withdrawn.get()), (deposits, withdrawals));
    assert_eq!(pnl.fees_taken.get(), taken);
    let settlements = all(model.settlements.of(user)).into_iter();
    assert_eq!(settlements.map(|row| i128::from(row.payout.get())).sum::<i128>(), payouts);
    let kept = deposits - withdrawals + taken + pnl.realised.get();
    assert_eq!(kept, i128::from(balance) + pnl.cost.get(), "{pnl:?}");
    let held = model.positions.held(user);
    assert_eq!(held.map(|row| i128::from(row.cost.get())).sum::<i128>(), pnl.cost.get());
}

/// Open interest is the sum of all holdings, including the venue's no contracts of converted sets;
/// volume is that of the trades and of the candles.
fn assert_market_figures(model: &ReadModel, exchange: &Exchange) {
    let users: Vec<UserNo> = model.accounts.users_newest_first().map(|row| row.no).collect();
    for row in model.catalogue.markets_created() {
        let held = |outcome| -> u64 {
            let position = |user: &UserNo| model.positions.position(*user, row.no, outcome);
            users.iter().filter_map(position).map(|row| row.quantity.get()).sum()
        };
        let market = exchange.market(row.no).filter(|market| !market.is_final());
        let event = market.and_then(|market| exchange.event(market.event?));
        let sets = event.map_or(0, |event| event.sets.get());
        let interest = model.positions.open_interest(row.no).get();
        assert_eq!((interest, interest), (held(Outcome::Yes), held(Outcome::No) + sets));
        let trades = all(model.tape.trades(row.no));
        let volume: u128 = trades.iter().map(|trade| u128::from(trade.quantity.get())).sum();
        assert_eq!(model.tape.volume(row.no).get(), volume);
        let activity_rows = all(model.activity.of(row.no));
        let activity_rows = activity_rows.iter().filter(|row| row.name() == "TRADE").count();
        assert_eq!(trades.len(), activity_rows);
        let Some(first) = trades.last() else { continue };
        let last = Interval::Day.start(model.time()).get();
        let from = Interval::Day.start(first.time);
        let days = usize::try_from((last - from.get()) / Interval::Day.ms() + 1).unwrap();
        let chart = model.tape.chart(row.no, Interval::Day, from, days);
        let bars: Vec<_> = chart.bars().unwrap().collect::<Result<_, _>>().unwrap();
        assert_eq!(bars.iter().map(|bar| bar.volume.get()).sum::<u128>(), volume);
        let count: u64 = bars.iter().map(|bar| bar.trades).sum();
        assert_eq!(usize::try_from(count).unwrap(), trades.len());
    }
}

/// The golden journals, with scripts and texts of every kind among them.
fn golden() -> Vec<Vec<Record>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/v1");
    let mut journals = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|kind| kind == "journal") {
            let blocks = PortableFile::open(&path).unwrap();
            journals.push(blocks.flat_map(|block| block.unwrap().records().to_vec()).collect());
        }
    }
    assert!(journals.len() > 10);
    journals
}

/// The image of a small model with rows of every kind.
fn small() -> Vec<u8> {
    let mut smallest: Option<Vec<u8>> = None;
    for records in golden() {
        let cut = records.len();
        let (model, _) = restores_and_folds_alike(&records, cut);
        let activity_rows = (0..).map(MarketNo).map(|market| model.activity.count(market));
        let users: Vec<UserNo> = model.accounts.users_newest_first().map(|row| row.no).collect();
        let whole = activity_rows.take(1).all(|count| count > 3)
            && users.iter().any(|user| model.positions.count(*user) > 0)
            && users.iter().any(|user| model.orders.open_of(*user).next().is_some());
        let bytes = image(&model);
        if whole && smallest.as_ref().is_none_or(|smallest| bytes.len() < smallest.len()) {
            smallest = Some(bytes);
        }
    }
    smallest.unwrap()
}

/// Asserts that the bytes are refused, or are exactly the image of what they restored to; true if
/// refused.
fn refused_or_the_same(bytes: &[u8]) -> bool {
    match restored(bytes) {
        Ok(model) => {
            assert!(image(&model) == bytes, "became another model");
            false
        }
        Err(_) => true,
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 60,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn a_restored_model_answers_and_folds_like_the_original(
        steps in prop::collection::vec(strategies::step(), 1..150),
        cut in any::<prop::sample::Index>(),
    ) {
        let records = records(&steps);
        let (model, _) = restores_and_folds_alike(&records, cut.index(records.len()));
        prop_assert_eq!(model.inconsistencies(), 0);
    }

    #[test]
    fn randomly_changed_bytes_are_refused_or_canonical(
        steps in prop::collection::vec(strategies::step(), 0..60),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let records = records(&steps);
        let (model, _) = restores_and_folds_alike(&records, records.len());
        let mut image = image(&model);
        for (place, byte) in changes {
            let place = place.index(image.len());
            image[place] = byte;
        }
        refused_or_the_same(&image);
    }
}

#[test]
fn golden_journals_fold_alike_after_a_restore_at_any_record() {
    for records in golden() {
        for part in 0..5 {
            restores_and_folds_alike(&records, records.len() * part / 4);
        }
    }
}

#[test]
fn recorded_flow_folds_alike_after_a_restore() {
    let flow = Flow::read(sample::flow(), Some(FLOW_LINES)).unwrap();
    let records = FlowRecords::of(&flow).records;
    let (model, exchange) = restores_and_folds_alike(&records, records.len() / 2);
    let state = exchange.image().unwrap();
    assert_eq!(Exchange::from_image(&state).unwrap().image().unwrap(), state);
    assert_eq!(model.watermark(), exchange.sequence());
}

#[test]
fn an_image_truncated_or_extended_is_refused() {
    let image = small();
    for end in 0..image.len() {
        assert_eq!(restored(&image[..end]).unwrap_err(), BadImage::Truncated, "{end}");
    }
    assert_eq!(restored(&[&image[..], &[0]].concat()).unwrap_err(), BadImage::Trailing);
    let mut later = image;
    later[0] += 1;
    assert_eq!(restored(&later).unwrap_err(), BadImage::Version(IMAGE_VERSION + 1));
}

/// Every bit of an image matters: flipped, it is refused or restores to another model.
#[test]
fn every_bit_of_an_image_counts() {
    let image = small();
    for place in 0..image.len() {
        for bit in 0..8 {
            let mut turned = image.clone();
            turned[place] ^= 1 << bit;
            refused_or_the_same(&turned);
        }
    }
}

/// A reader that returns small pieces, and then fails or ends.
struct Drip<'a> {
    bytes: &'a [u8],
    fails: bool,
}

impl Read for Drip<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.bytes.is_empty() && self.fails {
            return Err(io::Error::other("the disk is gone"));
        }
        let count = self.bytes.len().min(into.len()).min(7);
        into[..count].copy_from_slice(&self.bytes[..count]);
        self.bytes = &self.bytes[count..];
        Ok(count)
    }
}

/// A writer with room for this many bytes.
struct Full(usize);

impl Write for Full {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0 == 0 {
            return Err(io::Error::other("no space"));
        }
        let count = bytes.len().min(self.0);
        self.0 -= count;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn readers_and_writers_may_be_slow_and_may_fail() {
    let bytes = small();
    let history = History::discarding().paged(ROWS);
    let read = |mut drip: Drip<'_>| ReadModel::read_image(&mut drip, &history);
    let model = read(Drip { bytes: &bytes, fails: false }).unwrap();
    assert_eq!(image(&model), bytes);
    for end in [0, 1, bytes.len() / 2, bytes.len()] {
        let failed = read(Drip { bytes: &bytes[..end], fails: true });
        assert!(matches!(failed, Err(BadImage::Unreadable(why)) if why == "the disk is gone"));
        let written = model.write_image(&mut Full(end));
        assert_eq!(written.is_ok(), end == bytes.len(), "{end}");
    }
}
