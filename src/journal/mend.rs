//! Mends the sealed log from its copy, as far as the chain says that the copy has what was there.

use std::path::Path;

use super::block::{Block, ChainHash, Head, RawBlock};
use super::copy::CopyFolder;
use super::sealed::{Packed, place, unpack};
use super::store::{Step, StoreError};
use exchange::units::Sequence;

/// What a segment must fit between.
#[derive(Debug)]
pub(super) struct Neighbours {
    /// Where the segments before it end.
    pub(super) before: Head,
    /// Its first record.
    pub(super) first: Sequence,
    /// The first record of the next segment, and the hash that its first block carries, if there is
    /// one that can be read.
    pub(super) next: (Sequence, Option<ChainHash>),
}

/// Makes a segment of the copy's members.
pub(super) fn mend(path: &Path, between: &Neighbours, copy: &CopyFolder) -> Result<(), StoreError> {
    let (next, hash) = between.next;
    if !copy.exists() {
        return Err(lacks("there is no copy"));
    }
    let members = copy.with(|copy| copy.range(between.first, next))?;
    let end = chained(&members, between.before)?;
    if end.sequence.next() != next || hash.is_some_and(|hash| hash != end.hash) {
        return Err(lacks("the copy does not lead to what follows"));
    }
    let placed = place(path, members.iter().map(|(_, member)| member.as_slice()));
    placed.map(drop).map_err(|error| StoreError::of(Step::Put, &error, &error))
}

/// Verifies that members continue a chain; returns where they lead.
pub(super) fn chained(members: &[Packed], before: Head) -> Result<Head, StoreError> {
    let mut head = before;
    for (first, member) in members {
        let run = unpack(member, *first).map_err(|what| lacks(&what))?;
        for (_, block) in run.blocks() {
            let block: Block = RawBlock::new(block.to_vec())
                .decode()
                .and_then(|block| block.follows(&head).map(|()| block))
                .map_err(|fault| lacks(&fault.to_string()))?;
            head = block.head();
        }
    }
    Ok(head)
}

fn lacks(what: &str) -> StoreError {
    StoreError::damage(Step::Read, what)
}
