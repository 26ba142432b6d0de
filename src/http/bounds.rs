//! Bounds on the texts of the catalogue, in characters, and on the lengths of lists. A record with
//! such texts fits the journal even if each character takes two bytes; the few that need more are
//! refused with 413. They do not affect results: the journal does not
//! store them.

/// Longest URL: what browsers and proxies agree to carry. All its characters are of one byte.
pub const URL_CHARS_MAX: usize = 2048;
/// Largest slug, in bytes: it is part of a URL that people may type.
pub const SLUG_BYTES_MAX: usize = 64;
/// Longest question or title, per language: a few lines on a card.
pub const TITLE_CHARS_MAX: usize = 1000;
/// Longest description, per language: two pages of rules.
pub const DESCRIPTION_CHARS_MAX: usize = 5000;
/// Longest text of an outcome, per language: a button.
pub const OUTCOME_CHARS_MAX: usize = 200;
/// Longest name of a user or a category, or label of a key.
pub const NAME_CHARS_MAX: usize = 200;
/// Why an operator does something. The journal takes four bytes for each.
pub const REASON_CHARS_MAX: usize = 500;
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
const TEXTS_BYTES_MAX: usize = 59_500;
/// Space for numbers, lengths and the record's header.
const OVERHEAD_BYTES: usize = 1024;
const LANGUAGES: usize = 3;

/// Bytes of a letter of the languages' alphabets, accents included.
const LETTER_BYTES: usize = 2;

const MARKET_BYTES: usize =
    LETTER_BYTES * LANGUAGES * (TITLE_CHARS_MAX + DESCRIPTION_CHARS_MAX + 2 * OUTCOME_CHARS_MAX)
        + URL_CHARS_MAX;
const EVENT_BYTES: usize = LETTER_BYTES * LANGUAGES * (2 * TITLE_CHARS_MAX + DESCRIPTION_CHARS_MAX)
    + IMAGES_MAX * URL_CHARS_MAX;

const _: () = assert!(MARKET_BYTES + OVERHEAD_BYTES < TEXTS_BYTES_MAX);
const _: () = assert!(EVENT_BYTES + OVERHEAD_BYTES < TEXTS_BYTES_MAX);
