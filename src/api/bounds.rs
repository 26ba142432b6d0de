//! Bounds on the texts of the catalogue, so that every record with such texts fits the journal with
//! room to spare, and on the lengths of lists. They do not affect results: the journal does not
//! store them.

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

/// Revoked keys that a list shows, newest first to be kept: the number of revoked keys is
/// unbounded, while those in force are few (at most 32 created by the user, more only by an
/// operator).
///
/// The other lists are bounded as follows: a page by its `limit`; orders without pages, and the
/// result of a mass cancel, by the open orders a user may have; candles by their range; a batch by
/// its operations. Categories and the markets of an event are created by operators, one per
/// request.
pub const REVOKED_KEYS_SHOWN: usize = 1000;

/// Space for a record with texts; `journal/block.rs` guarantees that the journal has it.
const TEXTS_BYTES_MAX: usize = 48 * 1024;
/// Space for numbers, lengths and the record's header.
const OVERHEAD_BYTES: usize = 1024;
const LANGUAGES: usize = 3;

const MARKET_BYTES: usize = LANGUAGES * (TITLE_BYTES_MAX + DESCRIPTION_BYTES_MAX)
    + LANGUAGES * 2 * OUTCOME_BYTES_MAX
    + URL_BYTES_MAX;
const EVENT_BYTES: usize =
    LANGUAGES * (2 * TITLE_BYTES_MAX + DESCRIPTION_BYTES_MAX) + IMAGES_MAX * URL_BYTES_MAX;

const _: () = assert!(MARKET_BYTES + OVERHEAD_BYTES < TEXTS_BYTES_MAX);
const _: () = assert!(EVENT_BYTES + OVERHEAD_BYTES < TEXTS_BYTES_MAX);
