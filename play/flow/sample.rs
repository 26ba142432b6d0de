//! The sample of recorded flow that is part of the binary: eight markets, 34,152 commands
//! (origin: `tests/flow/README.md`).

use super::lines::Source;

const FLOW: &[u8] = include_bytes!("../../tests/flow/sample.flow.jsonl.gz");
const FILLS: &[u8] = include_bytes!("../../tests/flow/sample.fills.jsonl.gz");
const BOOKS: &[u8] = include_bytes!("../../tests/flow/sample.books.jsonl.gz");

/// The commands.
pub fn flow() -> Source {
    Source::bytes(FLOW)
}

/// Every fill expected from them.
pub fn fills() -> Source {
    Source::bytes(FILLS)
}

/// Expected books at some lines, and the last one of each market.
pub fn books() -> Source {
    Source::bytes(BOOKS)
}

#[cfg(test)]
#[path = "../../tests/unit/flow/sample.rs"]
mod tests;
