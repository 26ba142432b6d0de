//! The cost of the read side: effects are folded into a read model on this thread, and history is
//! packed and stored by the server's background threads. The exchange's own work is not included.

use std::fs;
use std::path::Path;
use std::time::Duration;

use engine::history::HistoryStore;
use exchange::Exchange;
use exchange::command::Record;
use exchange::effect::{Applied, Effect};
use journal::block::Head;
use views::ReadModel;

use crate::mix::Script;
use crate::{BLOCK_RECORDS, on_processor};

/// The result of one run.
#[derive(Debug, Default)]
struct Took {
    folding: Duration,
    behind: Duration,
    /// Bytes of the store's files at the end.
    stored: u64,
}

/// Effects of several records, and where each record's effects end.
#[derive(Default)]
struct Block {
    effects: Vec<Effect>,
    ends: Vec<usize>,
}

/// Folds a script's effects `runs` times, each time into a fresh read model, and prints the median
/// time per command.
pub fn fold(row: &str, runs: usize, script: &Script) {
    let count = u32::try_from(script.records.len() - script.opening_count).expect("a count");
    let mut took: Vec<Took> = (0..runs).map(|_| play(script)).collect();
    took.sort_unstable_by_key(|took| took.folding);
    let folding = took[runs / 2].folding / count;
    took.sort_unstable_by_key(|took| took.behind);
    let behind = took[runs / 2].behind / count;
    let stored = took[0].stored / u64::from(count);
    println!(
        "{row:<8} {count:>8} commands  fold {:>5} ns  behind {:>5} ns  stored {stored:>4} bytes",
        folding.as_nanos(),
        behind.as_nanos()
    );
}

fn play(script: &Script) -> Took {
    let folder = tempfile::tempdir_in(".").expect("a folder");
    let store = HistoryStore::open(folder.path()).expect("history");
    store.caught_up(&Head::START);
    let mut read_model = ReadModel::on(&store.history());
    let mut exchange = Exchange::new();
    let (opening, commands) = script.records.split_at(script.opening_count);
    let mut block = Block::default();
    block.apply(&mut exchange, opening);
    block.fold(opening, &mut read_model);
    let mut took = Took::default();
    let (all, mine) = (process(), on_processor());
    for records in commands.chunks(BLOCK_RECORDS) {
        block.apply(&mut exchange, records);
        let before = on_processor();
        block.fold(records, &mut read_model);
        took.folding += since(before, on_processor());
    }
    store.close();
    let mine = since(mine, on_processor());
    took.behind = since(all, process()).saturating_sub(mine);
    took.stored = bytes_in(folder.path());
    took
}

fn since(before: Option<Duration>, after: Option<Duration>) -> Duration {
    after.zip(before).map_or(Duration::ZERO, |(after, before)| after.saturating_sub(before))
}

impl Block {
    fn apply(&mut self, exchange: &mut Exchange, records: &[Record]) {
        self.effects.clear();
        self.ends.clear();
        for record in records {
            exchange.apply(record, &mut self.effects).expect("it applies");
            self.ends.push(self.effects.len());
        }
    }

    #[inline(never)]
    fn fold(&self, records: &[Record], read_model: &mut ReadModel) {
        let mut from = 0;
        for (record, to) in records.iter().zip(&self.ends) {
            let effects = self.effects.get(from..*to).expect("effects");
            read_model.fold(&Applied { sequence: record.sequence, time: record.time, effects });
            from = *to;
        }
    }
}

/// Processor time of all threads of this process so far, including those that have ended.
fn process() -> Option<Duration> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    // The second field is the command in parentheses; times are fields 14 and 15, in hundredths
    // of a second.
    let (_, after) = stat.rsplit_once(')')?;
    let ticks = after.split_whitespace().skip(11).take(2).filter_map(|t| t.parse::<u64>().ok());
    Some(Duration::from_millis(ticks.sum::<u64>() * 10))
}

fn bytes_in(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let sizes = entries.map(|entry| match entry.metadata() {
        Ok(found) if found.is_dir() => bytes_in(&entry.path()),
        Ok(found) => found.len(),
        Err(_) => 0,
    });
    sizes.sum()
}
