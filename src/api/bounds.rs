//! How large the texts of the catalogue may be, so that every record that carries them fits the
//! journal with room to spare, and how long lists are. These bounds shape no outcome: the journal
//! does not hold them.

use super::parse::URL_BYTES_MAX;

/// Largest question or title, in bytes per language: a few lines on a card.
pub const TITLE_BYTES_MAX: usize = 1000;
/// Largest description, in bytes per language: two pages of rules.
pub const DESCRIPTION_BYTES_MAX: usize = 5000;
/// Largest text of an outcome, in bytes per language: a button.
pub const OUTCOME_BYTES_MAX: usize = 200;
/// Largest name of a user or a category, or label of a key, in bytes.
pub const NAME_BYTES_MAX: usize = 200;
/// Most pictures of an event.
pub const IMAGES_MAX: usize = 8;
/// Most categories of a market or an event.
pub const CATEGORIES_MAX: usize = 16;
/// Longest dispute window: a year.
pub const DISPUTE_WINDOW_SECONDS_MAX: u32 = 365 * 24 * 60 * 60;

/// Revoked keys that a list shows, the newest of them: keys come and go without end, those in force
/// are few (a user makes 32 at most, and who gives more is an operator).
///
/// What bounds the other lists: a page has its `limit`; orders without pages, and what a mass
/// cancel cancelled, the orders that a user may have open; candles their range; a batch its
/// operations. Categories and the markets of one event are made by operators, one request each.
pub const REVOKED_KEYS_SHOWN: usize = 1000;

/// Room for a record of texts; `journal/block.rs` sees to it that the journal has it.
const TEXTS_BYTES_MAX: usize = 48 * 1024;
/// Room left for numbers, lengths and the record's head.
const OVERHEAD_BYTES: usize = 1024;
const LANGUAGES: usize = 3;

const MARKET_BYTES: usize = LANGUAGES * (TITLE_BYTES_MAX + DESCRIPTION_BYTES_MAX)
    + LANGUAGES * 2 * OUTCOME_BYTES_MAX
    + URL_BYTES_MAX;
const EVENT_BYTES: usize =
    LANGUAGES * (2 * TITLE_BYTES_MAX + DESCRIPTION_BYTES_MAX) + IMAGES_MAX * URL_BYTES_MAX;

const _: () = assert!(MARKET_BYTES + OVERHEAD_BYTES < TEXTS_BYTES_MAX);
const _: () = assert!(EVENT_BYTES + OVERHEAD_BYTES < TEXTS_BYTES_MAX);
