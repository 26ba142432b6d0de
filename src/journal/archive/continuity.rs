//! Checks that an archive's files follow each other, reading only the last member and the first
//! block of each.

use std::collections::VecDeque;
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use memchr::memmem;

use super::members::{WholeMember, head_of, next_block, read_at};
use super::{ArchiveError, TORN_BYTES_MAX, failed};
use crate::block::{Block, BlockFault};
use crate::member::{MEMBER_HEADER_BYTES, MEMBER_START, MemberHeader, Members};
use exchange::units::Sequence;

/// Bytes at a file's end that are searched for its last member: a quiet venue's members are small,
/// and none is larger than the second bound.
const TAIL_BYTES: [u64; 2] = [64 << 10, TORN_BYTES_MAX];

/// Checks that each file's first block follows the last block of the file before it.
pub(super) fn check(files: &VecDeque<PathBuf>) -> Result<(), ArchiveError> {
    for (earlier, later) in files.iter().zip(files.iter().skip(1)) {
        let end = head_of(earlier, &last_member(earlier)?)?;
        let first = first_block(later)?;
        first.follows(&end).map_err(|fault| match fault {
            BlockFault::Gap { expected, found } if found > expected => {
                let (after, to) = (earlier.clone(), Sequence::new(found.get().saturating_sub(1)));
                ArchiveError::Gap { after, from: expected, to }
            }
            fault => damaged(later, 0, &fault.to_string()),
        })?;
    }
    Ok(())
}

/// The last member of a file.
fn last_member(path: &Path) -> Result<WholeMember, ArchiveError> {
    let file = File::open(path).map_err(|error| failed(path, error))?;
    let end = file.metadata().map_err(|error| failed(path, error))?.len();
    for tail in TAIL_BYTES {
        let from = end.saturating_sub(tail);
        let bytes = read_at(&file, from, end, usize::MAX).map_err(|error| failed(path, error))?;
        let is_last = |at: &usize| {
            let member = bytes.get(*at..).unwrap_or_default();
            let packed = member.get(MEMBER_HEADER_BYTES..).unwrap_or_default();
            let header = MemberHeader::read(member).ok();
            let reaches = |header: &MemberHeader| {
                usize::try_from(header.member_bytes()).is_ok_and(|length| length == member.len())
            };
            let header = header.filter(reaches);
            header.is_some_and(|header| crc32fast::hash(packed) == header.packed_checksum)
        };
        if let Some(at) = memmem::rfind_iter(&bytes, &MEMBER_START).find(is_last) {
            let begin = from.saturating_add(u64::try_from(at).unwrap_or(u64::MAX));
            return Ok(WholeMember { begin, end });
        }
    }
    Err(damaged(path, end, "it does not end with a whole member, and another file follows"))
}

fn first_block(path: &Path) -> Result<Block, ArchiveError> {
    let file = File::open(path).map_err(|error| failed(path, error))?;
    let block = next_block(&mut Members::new(BufReader::new(file)), path, 0)?;
    block.ok_or_else(|| damaged(path, 0, "it is empty"))
}

fn damaged(path: &Path, offset: u64, what: &str) -> ArchiveError {
    ArchiveError::Damaged { path: path.to_owned(), offset, what: what.to_owned() }
}
