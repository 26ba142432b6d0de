//! Full-text search over the markets' questions in all three languages.

use std::hash::BuildHasher;

use icu_casemap::CaseMapper;
use icu_normalizer::DecomposingNormalizer;
use memchr::memmem::Finder;
use rustc_hash::{FxBuildHasher, FxHashMap};

use super::catalogue::Catalogue;
use super::fault::{Fault, View};
use super::table::{self, Numbers, Table};
use exchange::catalogue::Localized;
use exchange::effect::{Applied, Effect};
use exchange::ids::MarketNo;

/// If the remaining markets times this many words are fewer than all words, their own words are
/// checked instead of the whole vocabulary: a question has some dozens of words.
const WORDS_A_MARKET: usize = 32;
/// Words that no question has any more are removed once there are this many and they are half of
/// all.
const UNUSED_MIN: usize = 256;

/// An index of the words of each market's question, in normalised form. A search looks through the
/// vocabulary, which is far smaller than the text, and then only at markets that have the words.
#[derive(Debug, Default)]
pub struct Search {
    vocabulary: Vocabulary,
    /// By word, the markets whose question has it, ascending.
    markets_by_word: Vec<Vec<MarketNo>>,
    questions: Table<MarketNo, Question>,
    /// Number of words that no question has any more.
    unused: usize,
}

/// What is asked of a market's question.
#[derive(Debug, Default)]
struct Question {
    /// Its distinct words, ascending.
    words: Box<[WordNo]>,
    letters: Letters,
}

/// The letters and digits of a text, one bit each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Letters(u64);

/// At most this many words of a search text are used, the longest ones. Bounds the time of a
/// search, since a short part may match most words of most questions.
pub const SEARCHED_WORDS_MAX: usize = 8;

/// A search: every word must match in the question, in any language, as a whole word or a part of
/// one. Case, accents and typography are ignored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Words(Vec<String>);

impl Words {
    /// The words of a text; `None` if it has none.
    pub fn of(text: &str) -> Option<Words> {
        let mut words: Vec<String> = Vec::new();
        let text = plain(text);
        let mut asked: Vec<&str> = text.split_whitespace().collect();
        // The longest word leaves the fewest markets, and a word contained in it adds nothing.
        asked.sort_by_key(|word| std::cmp::Reverse(word.len()));
        for word in asked {
            if words.len() < SEARCHED_WORDS_MAX && !words.iter().any(|longer| longer.contains(word))
            {
                words.push(word.to_owned());
            }
        }
        if words.is_empty() { None } else { Some(Words(words)) }
    }
}

impl Letters {
    fn of(text: &str) -> Letters {
        Letters(text.bytes().filter_map(Letters::bit).fold(0, |all, bit| all | bit))
    }

    /// The bit of a lower-case letter or a digit.
    const fn bit(byte: u8) -> Option<u64> {
        match byte {
            b'a'..=b'z' => Some(1 << (byte - b'a')),
            b'0'..=b'9' => Some(1 << (byte - b'0' + 26)),
            _ => None,
        }
    }
}

impl Search {
    /// Builds the index of this catalogue's questions.
    pub fn of(catalogue: &Catalogue) -> Search {
        let questions = Table::of_empty(catalogue.markets_created().len());
        let mut search = Search { questions, ..Search::default() };
        for row in catalogue.markets_created().rev() {
            search.index(row.no, &all_languages(&row.draft.questions));
        }
        search
    }

    /// The numbers of the markets, including drafts, whose question matches all words.
    pub fn found(&self, words: &Words) -> Numbers {
        let count = self.questions.len();
        let mut found = table::set_of_all(count);
        for word in &words.0 {
            if found.is_clear() {
                break;
            }
            if let [one] = word.as_bytes()
                && let Some(bit) = Letters::bit(*one)
            {
                let has_letter = |market: &usize| {
                    self.questions.rows().get(*market).is_some_and(|own| own.letters.0 & bit != 0)
                };
                found = table::set_of(count, found.ones().filter(has_letter));
                continue;
            }
            let (left, part) = (found.count_ones(..), Part::new(word));
            if left.saturating_mul(WORDS_A_MARKET) < self.vocabulary.len() {
                let has_word = |market: &usize| self.has(*market, &part);
                found = table::set_of(count, found.ones().filter(has_word));
            } else {
                let known = self.vocabulary.with(&part);
                let markets = known.flat_map(|word| self.markets_with(word));
                found.intersect_with(&table::set_of(count, markets.map(|market| market.index())));
            }
        }
        found
    }

    fn has(&self, market: usize, part: &Part<'_>) -> bool {
        let words = self.questions.rows().get(market).map(|question| &question.words);
        let mut words = words.into_iter().flatten();
        words.any(|word| part.is_in(self.vocabulary.word(*word)))
    }

    fn markets_with(&self, word: WordNo) -> &[MarketNo] {
        self.markets_by_word.get(word.index()).map(Vec::as_slice).unwrap_or_default()
    }

    /// Indexes the question of a market that has none.
    fn index(&mut self, market: MarketNo, question: &str) {
        let mut words: Vec<WordNo> =
            question.split_whitespace().map(|word| self.vocabulary.number(word)).collect();
        words.sort_unstable();
        words.dedup();
        let new = self.vocabulary.len().saturating_sub(self.markets_by_word.len());
        self.unused = self.unused.saturating_add(new);
        self.markets_by_word.resize_with(self.vocabulary.len(), Vec::new);
        for word in &words {
            let Some(markets) = self.markets_by_word.get_mut(word.index()) else { continue };
            if let Err(at) = markets.binary_search(&market) {
                if markets.is_empty() {
                    self.unused = self.unused.saturating_sub(1);
                    // Many words occur in one question only.
                    markets.reserve_exact(1);
                }
                markets.insert(at, market);
            }
        }
        if let Ok(own) = self.questions.row(market) {
            *own = Question { words: words.into(), letters: Letters::of(question) };
        }
    }

    /// Removes a market's question.
    fn remove(&mut self, market: MarketNo) {
        let own = self.questions.row(market).map(std::mem::take).unwrap_or_default();
        for word in &own.words {
            let Some(markets) = self.markets_by_word.get_mut(word.index()) else { continue };
            if let Ok(at) = markets.binary_search(&market) {
                markets.remove(at);
                self.unused = self.unused.saturating_add(usize::from(markets.is_empty()));
            }
        }
    }

    /// Rebuilds the index without unused words, if there are many.
    fn tidy(&mut self) {
        if self.unused < UNUSED_MIN || self.unused < self.markets_by_word.len() / 2 {
            return;
        }
        let before = std::mem::take(self);
        self.questions = Table::of_empty(before.questions.len());
        for (market, own) in (0..).map(MarketNo).zip(before.questions.rows()) {
            let words = own.words.iter().map(|word| before.vocabulary.word(*word));
            self.index(market, &words.collect::<Vec<_>>().join(" "));
        }
    }
}

impl View for Search {
    fn see(&mut self, _: &Applied<'_>, effect: &Effect) -> Result<(), Fault> {
        match effect {
            Effect::MarketCreated { market, draft } => {
                self.questions.add(*market, Question::default())?;
                self.index(*market, &all_languages(&draft.questions));
            }
            Effect::MarketRevised { market, revision } => {
                self.questions.row(*market)?;
                if let Some(questions) = &revision.questions {
                    self.remove(*market);
                    self.index(*market, &all_languages(questions));
                    self.tidy();
                }
            }
            _ => {}
        }
        Ok(())
    }
}

/// A text in all its languages, normalised. The line breaks keep words from spanning languages.
fn all_languages(text: &Localized) -> String {
    let Localized { pt, en, es } = text;
    [pt, en, es].map(|text| plain(text)).join("\n")
}

/// A text as it is compared: cases folded in full, compatible forms (`ª`, ligatures) as plain
/// letters, without accents, and with the signs of a keyboard in place of typographic ones.
pub fn plain(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase().replace('`', "'");
    }
    let keyboard: String = text.chars().filter_map(on_keyboard).collect();
    let plain = DecomposingNormalizer::new_nfkd().normalize(&keyboard);
    let folded = CaseMapper::new().fold_string(&plain);
    // The decomposition of a sign may have typographic ones, and that of a letter has its accents.
    folded.chars().filter_map(on_keyboard).filter(|sign| !is_accent(*sign)).collect()
}

/// The sign that a keyboard has for it; `None` for what cannot be seen.
const fn on_keyboard(sign: char) -> Option<char> {
    Some(match sign {
        '´'
        | '`'
        | '\u{2b9}'..='\u{2bf}'
        | '\u{2018}'..='\u{201b}'
        | '\u{2032}'
        | '\u{2035}'
        | '\u{a78c}' => '\'',
        '\u{201c}'..='\u{201f}' | '\u{2033}' => '"',
        '\u{2d7}' | '\u{2010}'..='\u{2015}' | '\u{2043}' | '\u{2212}' => '-',
        '\u{2044}' | '\u{2215}' => '/',
        // Its capital is that of `i`.
        'ı' => 'i',
        '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}' => return None,
        other => other,
    })
}

/// Whether it is an accent on the letter before it.
const fn is_accent(sign: char) -> bool {
    matches!(sign, '\u{300}'..='\u{36f}')
}

// All words of the markets' questions, each stored once, in one string: so a substring search over
// all words is a single scan.

/// Number of a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct WordNo(u32);

impl WordNo {
    /// As an index into a table.
    const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Words, numbered in order of addition.
#[derive(Debug, Default)]
struct Vocabulary {
    /// One word per line.
    lines: String,
    /// The end of each line, including its line break.
    ends: Vec<usize>,
    /// Word numbers by hash, with linear probing on collisions.
    numbers: FxHashMap<u64, WordNo>,
}

/// A search for a word or a part of one.
struct Part<'a>(Finder<'a>);

impl<'a> Part<'a> {
    /// A search for `text`, which must not contain white space.
    fn new(text: &'a str) -> Part<'a> {
        Part(Finder::new(text))
    }

    /// Whether the word contains it.
    fn is_in(&self, word: &str) -> bool {
        self.0.find(word.as_bytes()).is_some()
    }
}

impl Vocabulary {
    /// Number of words.
    const fn len(&self) -> usize {
        self.ends.len()
    }

    /// A word.
    fn word(&self, word: WordNo) -> &str {
        let ends = |number: usize| self.ends.get(number).copied();
        let begins = word.index().checked_sub(1).and_then(ends).unwrap_or(0);
        let line = ends(word.index()).and_then(|end| self.lines.get(begins..end));
        line.unwrap_or_default().trim_end_matches('\n')
    }

    /// The number of a word, which is added if it is new.
    fn number(&mut self, word: &str) -> WordNo {
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
    fn with(&self, part: &Part<'_>) -> impl Iterator<Item = WordNo> {
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

#[cfg(test)]
#[path = "../../tests/unit/views/search.rs"]
mod tests;
