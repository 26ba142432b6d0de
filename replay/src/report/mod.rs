//! `report`: one market on one page, made while the whole journal is verified.
//!
//! Must not know: where the page is shown.

mod charts;
mod depth;
mod ends;
mod facts;
mod page;
mod proof;
mod series;
mod slug;

use std::path::Path;

use exchange::Exchange;
use exchange::command::Record;
use exchange::effect::Effect;
use exchange::ids::MarketNo;
use exchange::units::{Sequence, TimeMs};
use serde_json::json;

use crate::answer::{Answer, Failure};
use crate::moment::{Moment, rfc3339};
use crate::newfile::NewFile;
use crate::pass::{Listener, Reached, pass};
use crate::reference::MarketName;
use crate::register::Register;
use crate::source::Source;
use depth::{DepthSnapshot, SnapshotTaker};
use facts::{Facts, Fill, Subject};

/// Help text besides the options.
pub const REPORT_HELP: &str = "\
The whole journal is verified first; of a journal at fault there is no page, only the fault, with
exit code 3. The page holds the market's life, price and volume over time, the book at chosen
moments, totals, that its money balances, and its first and last fills. It needs no other file,
has no script, and is made to be printed. Without --depth-at the moments are a quarter, half and
three quarters of the time from the first order to the close, and just before the close.

Examples:
  openoutcry-replay report journal.blocks --market will-it-rain -o report.html
  openoutcry-replay report journal.blocks --market 1203 --depth-at 2026-08-10T21:50:00Z \\
      --depth-at 52000 --all-fills -o report.html";

/// Options of a report.
pub struct Wish {
    /// The market.
    pub market: MarketName,
    /// Moments at which the book is shown; if empty, moments chosen from the trading times.
    pub depth_at: Vec<Moment>,
    /// Whether every fill is listed.
    pub all_fills: bool,
}

/// The verified journal.
pub struct Checked {
    /// Its path.
    pub journal: String,
    /// Last record.
    pub sequence: Sequence,
    /// Its time.
    pub time: TimeMs,
    /// Blocks.
    pub blocks: u64,
    /// Hash of the last block.
    pub head: String,
    /// Digest of the state.
    pub state: String,
    /// Hash of the results of all records.
    pub results: String,
    /// The last record covered by the results stored in a block.
    pub confirmed: Sequence,
}

/// Writes every fill of a market as it occurs.
struct FillWriter<'a> {
    out: &'a mut NewFile,
    market: MarketNo,
    register: Register,
}

impl Listener for FillWriter<'_> {
    fn after(
        &mut self,
        _exchange: &Exchange,
        record: &Record,
        effects: &[Effect],
    ) -> Result<(), Failure> {
        for effect in effects {
            if let Effect::TradeMade(trade) = effect
                && trade.market == self.market
            {
                page::fill(self.out, &Fill::of(&self.register, record, trade)?)?;
            }
            self.register.follow(record, effect);
        }
        Ok(())
    }
}

/// What the first pass, which verifies the whole journal, found.
struct Verified {
    checked: Checked,
    currency: String,
    subject: Subject,
    facts: Facts,
}

/// Makes the page.
pub fn report(path: &Path, wish: &Wish, file: &Path) -> Result<Answer, Failure> {
    let mut source = Source::open(path)?;
    let out = NewFile::create(file)?;
    let verified = verify(&mut source, path, wish)?;
    let answer = answer(&verified, file)?;
    write(&mut source, out, wish, verified)?;
    Ok(answer)
}

/// The first pass.
fn verify(source: &mut Source, path: &Path, wish: &Wish) -> Result<Verified, Failure> {
    let market = match &wish.market {
        MarketName::Of(reference) => *reference,
        MarketName::Slug(slug) => slug::market(source, slug)?,
    };
    let mut facts = Facts::of(market);
    let reached = pass(source, None, false, &mut facts)?;
    let Some(subject) = facts.subject.take() else {
        return Err(Failure::not_found(format!("{market} made no market")));
    };
    if let Some(record) = facts.proof.sums().broken {
        return Err(unbalanced(record));
    }
    let checked = checked(path, &reached)?;
    wish.depth_at.iter().try_for_each(|moment| moment.within(checked.sequence))?;
    let currency = reached.exchange.rules().map_or("", |rules| rules.currency.as_str()).to_owned();
    Ok(Verified { checked, currency, subject, facts })
}

/// Writes the page. An archive may be growing: the later passes read no further than the first.
fn write(
    source: &mut Source,
    mut out: NewFile,
    wish: &Wish,
    verified: Verified,
) -> Result<(), Failure> {
    let Verified { checked, currency, subject, facts } = verified;
    let end = checked.sequence;
    let moments = if wish.depth_at.is_empty() {
        usual_moments(&facts, end)
    } else {
        wish.depth_at.iter().map(|moment| (*moment, chosen(*moment))).collect()
    };
    let snapshots = snapshots(source, (subject.no, end), moments)?;
    write_top(&mut out, &subject, &facts, (&checked, &currency), &snapshots)?;
    page::begin_fills(&mut out, wish.all_fills, &facts)?;
    if wish.all_fills {
        let register = Register::default();
        let mut writer = FillWriter { out: &mut out, market: subject.no, register };
        pass(source, Some(Moment::Sequence(end)), false, &mut writer)?;
    } else {
        page::some_fills(&mut out, &facts)?;
    }
    let market = facts.register.listing(subject.no)?.id.to_string();
    page::end(&mut out, &checked, &market, wish.all_fills)?;
    out.finish()
}

fn answer(verified: &Verified, file: &Path) -> Result<Answer, Failure> {
    let Verified { checked, subject, facts, .. } = verified;
    Ok(Answer::Fields(json!({
        "ok": true,
        "file": file.display().to_string(),
        "market_id": facts.register.listing(subject.no)?.id.to_string(),
        "sequence": checked.sequence.get(),
        "blocks": checked.blocks,
        "hash": checked.head,
        "state": checked.state,
        "results": checked.results,
        "confirmed": checked.confirmed.get(),
        "fills": facts.fills.count(),
        "contracts": facts.totals.volume.to_string(),
    })))
}

fn unbalanced(record: Sequence) -> Failure {
    let error = format!(
        "STATE_BROKEN: after record {record}: what the market's contracts cost and what they are \
         worth are not the same"
    );
    Failure::Damaged(json!({ "ok": false, "error": error, "record": record.get() }))
}

fn checked(path: &Path, reached: &Reached) -> Result<Checked, Failure> {
    Ok(Checked {
        journal: path.display().to_string(),
        sequence: reached.exchange.sequence(),
        time: reached.exchange.time(),
        blocks: reached.blocks,
        head: reached.head.hash.to_string(),
        state: reached.exchange.digest()?.to_string(),
        results: reached.results.hash.to_string(),
        confirmed: reached.confirmed,
    })
}

/// A requested moment as text.
fn chosen(moment: Moment) -> String {
    match moment {
        Moment::Sequence(sequence) => format!("At record {sequence}"),
        Moment::Time(time) => format!("At {}", rfc3339(time)),
    }
}

/// Quarters of the time from the first order to the close, and just before the close.
fn usual_moments(facts: &Facts, end: Sequence) -> Vec<(Moment, String)> {
    let Some((first, last)) = facts.traded else { return Vec::new() };
    let close = facts.closed.unwrap_or(last);
    let (from, to) = (first.time.get(), close.time.get());
    let quarter = |count: i64| {
        let part = to.saturating_sub(from).saturating_mul(count) / 4;
        TimeMs::new(from.saturating_add(part)).map(Moment::Time)
    };
    let names = ["After a quarter of the trading", "Half way", "After three quarters"];
    let mut moments: Vec<(Moment, String)> = (1..)
        .zip(names)
        .filter_map(|(count, name)| Some((quarter(count)?, name.to_owned())))
        .collect();
    moments.push(match facts.closed {
        Some(closed) => {
            let before = Sequence::new(closed.sequence.get().saturating_sub(1));
            (Moment::Sequence(before), "Just before the close".to_owned())
        }
        None => (Moment::Sequence(end), "At the end of the journal".to_owned()),
    });
    moments
}

fn snapshots(
    source: &mut Source,
    (market, end): (MarketNo, Sequence),
    moments: Vec<(Moment, String)>,
) -> Result<Vec<DepthSnapshot>, Failure> {
    let mut taker = SnapshotTaker::new(market, moments);
    let reached = pass(source, Some(Moment::Sequence(end)), false, &mut taker)?;
    taker.finish(&reached.exchange)?;
    Ok(taker.snapshots)
}

/// Writes everything except the fills.
fn write_top(
    out: &mut NewFile,
    subject: &Subject,
    facts: &Facts,
    (checked, currency): (&Checked, &str),
    snapshots: &[DepthSnapshot],
) -> Result<(), Failure> {
    page::head(out, subject, facts, checked)?;
    page::life(out, subject, facts)?;
    page::prices(out, facts, charts::price_and_volume(&facts.series)?.as_deref())?;
    let mut drawn = Vec::new();
    for (index, snapshot) in snapshots.iter().enumerate() {
        drawn.push((snapshot, charts::depth(snapshot, &format!("depth-chart-{index}"))?));
    }
    page::books(out, &drawn)?;
    Ok(page::totals(out, facts, currency)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use exchange::script;
    use journal::Journal;
    use journal::block::BlockBuilder;
    use journal::memory::MemoryJournal;
    use journal::portable;
    use journal::replay::{Replayer, replay};

    const SHORT: &str = "venue USD
user ann
user bob
deposit ann 100.00
deposit bob 100.00
market rain
publish rain
ann buy yes 0.60 x9
bob buy no 0.40 x1
";
    const REST: &str = "+1h bob buy no 0.40 x2
bob buy no 0.40 x3
";

    /// Writes a script's records, one a block.
    fn export(text: &str, file: &Path) {
        drop(std::fs::remove_file(file));
        let (mut journal, mut replayer) = (MemoryJournal::new(), Replayer::new());
        for record in script::parse(text).unwrap() {
            let mut builder = BlockBuilder::new(journal.head());
            builder.push(record).unwrap();
            let block = journal.append(builder.build(replayer.results()).unwrap()).unwrap();
            replay([Ok(block)].into_iter(), &mut replayer, |_, _| {}).unwrap();
        }
        portable::export(journal.read(Sequence::new(1)), file).unwrap();
    }

    #[test]
    fn a_page_of_a_growing_archive_ends_where_the_verified_journal_ended() {
        let dir = tempfile::tempdir().unwrap();
        let [journal, page] = ["journal", "page"].map(|name| dir.path().join(name));
        // After the last record, so the book is the one at the journal's end.
        let later = Moment::parse("2999-01-01T00:00:00Z").unwrap();
        let market = MarketName::parse("6").unwrap();
        let wish = Wish { market, depth_at: vec![later], all_fills: true };
        export(SHORT, &journal);
        let mut source = Source::open(&journal).unwrap();
        let verified = verify(&mut source, &journal, &wish).unwrap();
        export(&format!("{SHORT}{REST}"), &journal);
        write(&mut source, NewFile::create(&page).unwrap(), &wish, verified).unwrap();
        let page = std::fs::read_to_string(page).unwrap();
        assert!(page.contains("After record 9,"), "the book is that of record 9");
        let fills = page.split_once("All 1 fill").unwrap().1;
        assert_eq!(fills.matches("<tr><td").count(), 1, "{fills}");
    }
}
