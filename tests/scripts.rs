//! Conversations with the exchange: command lines, `----`, the answers, a blank line. Each file of
//! `tests/scripts/` begins with an empty venue. `UPDATE=1 cargo test --test scripts` rewrites the
//! answers; review the difference before committing it.
//!
//! Besides the lines of `exchange::script` a block may hold
//! - `given ann 100.00, bob 50.00, market rain window 1h`: an open venue, users with money, public
//!   markets; none of it may be refused, and no answers are printed;
//! - `slices of 2`: a record ends two orders or positions at most, not as many as in a venue;
//! - `book rain` and `book rain no`: the book as seen by traders of yes and of no.

#![allow(clippy::unwrap_used)] // a test may stop at once

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use exchange::Exchange;
use exchange::catalogue::Outcome;
use exchange::command::Direction;
use exchange::effect::Effect;
use exchange::ids::MarketNo;
use exchange::reject::Reject;
use exchange::script::names::Names;
use exchange::script::parse::Ladders;
use exchange::script::{Verdict, parse, reader};
use exchange::units::Sequence;

/// Refusals that no script can reach, and why.
const UNREACHABLE: [(Reject, &str); 2] = [
    (Reject::VenueFull, "needs four billion users, keys, categories, events or markets"),
    (Reject::TooManyProposals, "needs a thousand proposals: tests/unit/exchange/proposals.rs"),
];

/// A script being run.
struct Conversation {
    exchange: Exchange,
    names: Names,
    ladders: Ladders,
    effects: Vec<Effect>,
}

impl Conversation {
    fn new() -> Conversation {
        Conversation {
            exchange: Exchange::new(),
            names: Names::starting_at(Sequence::new(1)),
            ladders: Ladders::new(),
            effects: Vec::new(),
        }
    }

    /// Applies one line of the script; returns the answer.
    fn apply_line(&mut self, text: &str) -> Result<String, String> {
        if let Some(given) = text.strip_prefix("given ") {
            return self.given(given).map(|()| String::new());
        }
        if let Some(orders) = text.strip_prefix("slices of ") {
            let orders = orders.parse().map_err(|error| format!("{text}: {error}"))?;
            self.exchange = std::mem::take(&mut self.exchange).in_slices_of(orders);
            return Ok(String::new());
        }
        if let Some(market) = text.strip_prefix("book ") {
            return self.book(market);
        }
        let line = parse::line(text, &self.names).map_err(|error| format!("{text}: {error}"))?;
        let mut effects = Vec::new();
        self.exchange
            .apply(&line.record, &mut effects)
            .and_then(|()| self.exchange.check())
            .map_err(|broken| format!("{text}: the exchange broke: {broken}"))?;
        self.names.follow(&line, Verdict::of(&effects));
        let mut answer = String::new();
        for effect in &effects {
            self.ladders.fold(effect);
            answer.push_str(&reader::phrase(effect, line.record.time, &self.names));
            answer.push('\n');
        }
        if effects.is_empty() {
            answer.push_str("nothing\n");
        }
        self.effects.extend(effects);
        self.compare_books()?;
        Ok(answer)
    }

    fn given(&mut self, given: &str) -> Result<(), String> {
        let mut lines = Vec::new();
        if self.exchange.rules().is_none() {
            lines.push("venue USD".to_owned());
        }
        for item in given.split(',').map(str::trim) {
            let words: Vec<_> = item.split_whitespace().collect();
            match *words.as_slice() {
                ["market", name, ..] => {
                    lines.extend([item.to_owned(), format!("publish {name}")]);
                }
                [name, amount] => {
                    lines.extend([format!("user {name}"), format!("deposit {name} {amount}")]);
                }
                _ => return Err(format!("`given` knows no `{item}`")),
            }
        }
        for line in lines {
            let answer = self.apply_line(&line)?;
            if answer.starts_with("refused") {
                return Err(format!("{line}: {answer}"));
            }
        }
        Ok(())
    }

    fn book(&self, words: &str) -> Result<String, String> {
        let (name, outcome) = match words.trim().split_once(' ') {
            Some((name, "no")) => (name, Outcome::No),
            Some((_, other)) => return Err(format!("`book` knows no `{other}`")),
            None => (words.trim(), Outcome::Yes),
        };
        let market = self.names.market(name).map_err(|error| error.to_string())?;
        Ok(self.ladders.draw(market, outcome, &self.names))
    }

    /// The book folded from the effects must equal the book that the exchange matches against, at
    /// every level.
    fn compare_books(&self) -> Result<(), String> {
        for market in (0..).map(MarketNo) {
            let Some(state) = self.exchange.market(market) else { return Ok(()) };
            for side in [Direction::Up, Direction::Down] {
                let mut folded: Vec<_> = self.ladders.levels(market, side).collect();
                if side == Direction::Up {
                    folded.reverse();
                }
                let held: Vec<_> = state
                    .book
                    .levels(side)
                    .map(|(tick, level)| (tick, level.quantity, level.orders as usize))
                    .collect();
                if folded != held {
                    return Err(format!("{side:?} side: effects {folded:?}, book {held:?}"));
                }
            }
        }
        Ok(())
    }
}

/// Runs a script; returns it with the actual answers in place.
fn answered(script: &str) -> Result<(String, Vec<Effect>), String> {
    let mut conversation = Conversation::new();
    let mut blocks = Vec::new();
    for block in script.split("\n\n").map(str::trim).filter(|block| !block.is_empty()) {
        let asked = block.split("\n----").next().unwrap_or_default();
        let mut answers = String::new();
        let mut silent = true;
        for line in asked.lines().map(str::trim).filter(|line| !line.starts_with('#')) {
            answers.push_str(&conversation.apply_line(line)?);
            silent &= line.starts_with("given ") || line.starts_with("slices of ");
        }
        blocks.push(if silent {
            asked.to_owned()
        } else {
            format!("{asked}\n----\n{}", answers.trim_end())
        });
    }
    Ok((blocks.join("\n\n") + "\n", conversation.effects))
}

fn scripts() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts");
    let entries = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<_> =
        entries.filter(|path| path.extension().is_some_and(|e| e == "txt")).collect();
    paths.sort();
    assert!(!paths.is_empty(), "no scripts in {}", folder.display());
    paths
}

/// Whether the answers are being rewritten; other tests then leave the files alone.
fn updating() -> bool {
    std::env::var_os("UPDATE").is_some()
}

/// The first line at which two texts differ, with the lines before it.
fn difference(expected: &str, got: &str) -> Option<String> {
    let mut lines = got.lines();
    for (index, expected) in expected.lines().enumerate() {
        let got = lines.next().unwrap_or("(end)");
        if got != expected {
            return Some(format!("line {}\n  expected: {expected}\n  got:      {got}", index + 1));
        }
    }
    lines.next().map(|extra| format!("at the end\n  got:      {extra}"))
}

#[test]
fn every_script_is_answered_as_written() {
    let update = updating();
    let mut failures = Vec::new();
    for path in scripts() {
        let script = fs::read_to_string(&path).unwrap();
        match answered(&script) {
            Ok((got, _)) if update => fs::write(&path, got).unwrap(),
            Ok((got, _)) => {
                if let Some(difference) = difference(&script, &got) {
                    failures.push(format!("{}: {difference}", path.display()));
                }
            }
            Err(error) => failures.push(format!("{}: {error}", path.display())),
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn scripts_show_every_refusal_and_every_effect() {
    if updating() {
        return;
    }
    let mut codes = BTreeSet::new();
    let mut kinds = BTreeSet::new();
    for path in scripts() {
        let (_, folded) = answered(&fs::read_to_string(&path).unwrap()).unwrap();
        for effect in &folded {
            kinds.insert(effect.number());
            if let Effect::Refused(reject) = effect {
                codes.insert(reject.code());
            }
        }
    }
    for reject in Reject::ALL {
        let unreachable = UNREACHABLE.iter().any(|(one, _)| *one == reject);
        assert_ne!(codes.contains(reject.code()), unreachable, "{}", reject.code());
    }
    let missing: Vec<_> = Effect::KINDS.iter().filter(|(no, _)| !kinds.contains(no)).collect();
    assert!(missing.is_empty(), "no script shows {missing:?}");
}

/// The line that prevents a pitfall names its script, so that nobody removes it unknowingly.
#[test]
fn every_pitfall_is_named_where_it_is_prevented() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/exchange");
    let (mut folders, mut source) = (vec![folder], String::new());
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                source.push_str(&fs::read_to_string(path).unwrap());
            }
        }
    }
    let stems = scripts().into_iter().map(|path| path.file_stem().unwrap().to_owned());
    let stems = stems.map(|stem| stem.to_string_lossy().into_owned());
    let pitfalls: Vec<_> = stems.filter(|stem| stem.starts_with("pitfall_")).collect();
    assert!(pitfalls.len() > 15, "{pitfalls:?}");
    for pitfall in pitfalls {
        assert!(source.contains(&pitfall), "{pitfall}");
    }
}

#[test]
fn a_wrong_answer_fails() {
    let script = "given ann 1.00\n\nann cancel all\n----\nnothing\n";
    let (got, _) = answered(script).unwrap();
    assert_eq!(difference(script, &got), None);
    let wrong = script.replace("nothing", "something");
    let (got, _) = answered(&wrong).unwrap();
    assert!(difference(&wrong, &got).is_some_and(|text| text.starts_with("line 5")));
    let short = script.replace("\nnothing", "");
    assert!(difference(&short, &answered(&short).unwrap().0).is_some());
}
