//! All words of the markets' questions, each written once, one after the other: so a part of a word
//! is looked for in one go.

use std::hash::BuildHasher;

use memchr::memmem::Finder;
use rustc_hash::{FxBuildHasher, FxHashMap};

/// Which of the words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct WordNo(u32);

impl WordNo {
    /// As a place in a table.
    pub(super) const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Words, numbered as they came.
#[derive(Debug, Default)]
pub(super) struct Vocabulary {
    /// A line each.
    lines: String,
    /// Where each ends, with its line break.
    ends: Vec<usize>,
    /// Their numbers, by their hashes or, where that one is taken, the next that is not.
    numbers: FxHashMap<u64, WordNo>,
}

/// A word or a part of one, to be looked for.
pub(super) struct Part<'a>(Finder<'a>);

impl<'a> Part<'a> {
    /// This one, which has no blanks in it.
    pub(super) fn new(text: &'a str) -> Part<'a> {
        Part(Finder::new(text))
    }

    /// Whether it is a part of a word, or all of it.
    pub(super) fn stands_in(&self, word: &str) -> bool {
        self.0.find(word.as_bytes()).is_some()
    }
}

impl Vocabulary {
    /// How many words there are.
    pub(super) const fn len(&self) -> usize {
        self.ends.len()
    }

    /// A word.
    pub(super) fn word(&self, word: WordNo) -> &str {
        let ends = |number: usize| self.ends.get(number).copied();
        let begins = word.index().checked_sub(1).and_then(ends).unwrap_or(0);
        let line = ends(word.index()).and_then(|end| self.lines.get(begins..end));
        line.unwrap_or_default().trim_end_matches('\n')
    }

    /// The number of a word, which is added if it is not there.
    pub(super) fn number(&mut self, word: &str) -> WordNo {
        let mut hash = FxBuildHasher.hash_one(word);
        while let Some(known) = self.numbers.get(&hash) {
            if self.word(*known) == word {
                return *known;
            }
            hash = hash.wrapping_add(1);
        }
        let number = WordNo(u32::try_from(self.ends.len()).unwrap_or(u32::MAX));
        self.numbers.insert(hash, number);
        self.lines.push_str(word);
        self.lines.push('\n');
        self.ends.push(self.lines.len());
        number
    }

    /// The words that have this part. O(letters of all).
    pub(super) fn with(&self, part: &Part<'_>) -> impl Iterator<Item = WordNo> {
        let mut from = 0;
        std::iter::from_fn(move || {
            let rest = self.lines.as_bytes().get(from..)?;
            let place = from.saturating_add(part.0.find(rest)?);
            let word = self.ends.partition_point(|end| *end <= place);
            from = *self.ends.get(word)?;
            u32::try_from(word).ok().map(WordNo)
        })
    }
}
