//! All words of the markets' questions, each stored once, in one string: so a substring search over
//! all words is a single scan.

use std::hash::BuildHasher;

use memchr::memmem::Finder;
use rustc_hash::{FxBuildHasher, FxHashMap};

/// Number of a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct WordNo(u32);

impl WordNo {
    /// As an index into a table.
    pub(super) const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Words, numbered in order of addition.
#[derive(Debug, Default)]
pub(super) struct Vocabulary {
    /// One word per line.
    lines: String,
    /// The end of each line, including its line break.
    ends: Vec<usize>,
    /// Word numbers by hash, with linear probing on collisions.
    numbers: FxHashMap<u64, WordNo>,
}

/// A search for a word or a part of one.
pub(super) struct Part<'a>(Finder<'a>);

impl<'a> Part<'a> {
    /// A search for `text`, which must not contain white space.
    pub(super) fn new(text: &'a str) -> Part<'a> {
        Part(Finder::new(text))
    }

    /// Whether the word contains it.
    pub(super) fn is_in(&self, word: &str) -> bool {
        self.0.find(word.as_bytes()).is_some()
    }
}

impl Vocabulary {
    /// Number of words.
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

    /// The number of a word, which is added if it is new.
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

    /// The words that contain this part. O(length of all words).
    pub(super) fn with(&self, part: &Part<'_>) -> impl Iterator<Item = WordNo> {
        let mut from = 0;
        std::iter::from_fn(move || {
            let rest = self.lines.as_bytes().get(from..)?;
            let at = from.saturating_add(part.0.find(rest)?);
            let word = self.ends.partition_point(|end| *end <= at);
            from = *self.ends.get(word)?;
            u32::try_from(word).ok().map(WordNo)
        })
    }
}
