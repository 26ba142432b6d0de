//! What happens in the demo, in the exchange's [text form](exchange::script), as
//! `openoutcry-replay dump` prints it: `catalogue.script` opens the venue; `books.script.gz` plays
//! recorded order flow into its markets, quotes those whose prices must fit each other, and ends
//! with the traders, each with first orders and a key.

use std::io::Read;

use flate2::read::GzDecoder;

use super::SeedError;
use exchange::command::Record;
use exchange::script;

const CATALOGUE: &str = include_str!("catalogue.script");
const BOOKS: &[u8] = include_bytes!("books.script.gz");

/// The records of a demo, the first ones being those of every start: the venue's opening, its
/// operator and the operator's key.
///
/// # Errors
/// The script is wrong.
pub(crate) fn records() -> Result<Vec<Record>, SeedError> {
    let mut text = CATALOGUE.to_owned();
    GzDecoder::new(BOOKS).read_to_string(&mut text)?;
    Ok(script::parse(&text)?)
}

/// How many records every start writes itself.
pub(crate) const OF_EVERY_START: usize = 3;
