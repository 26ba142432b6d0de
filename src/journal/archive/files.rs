//! The files of an archive: which of their members are whole, the head that they lead to, and
//! whether each file follows the one before it.

use std::collections::VecDeque;
use std::io::{self, BufReader, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use memchr::memmem;

use super::{ArchiveError, Cut, TORN_BYTES_MAX, failed};
use crate::block::{self, BLOCK_HEADER_BYTES, Block, BlockFault, Head, RawBlock};
use crate::disk::{File, OpenOptions};
use crate::member::{
    MEMBER_HEADER_BYTES, MEMBER_START, MemberFault, MemberHeader, Members, UnpackError,
};
use exchange::units::Sequence;

// The members of an archive's file: which of them are whole, and the head that they lead to.

/// Position of a whole member in a file.
pub(super) struct WholeMember {
    pub(super) begin: u64,
    pub(super) end: u64,
}

/// The last whole member, after cutting off a torn one.
pub(super) fn cut_torn(path: &Path) -> Result<(Option<WholeMember>, Option<Cut>), ArchiveError> {
    let (last, fault) = whole_members(path)?;
    let length = last.as_ref().map_or(0, |last| last.end);
    let Some(fault) = fault else { return Ok((last, None)) };
    let failed = |error| failed(path, error);
    let file = OpenOptions::new().write(true).open(path).map_err(failed)?;
    let bytes = file.metadata().map_err(failed)?.len().saturating_sub(length);
    if bytes > TORN_BYTES_MAX || member_follows(path, length).map_err(failed)? {
        let (path, what) = (path.to_owned(), fault.to_string());
        return Err(ArchiveError::Damaged { path, offset: length, what });
    }
    file.set_len(length).and_then(|()| file.sync_all()).map_err(failed)?;
    Ok((last, Some(Cut { path: path.to_owned(), length, bytes })))
}

/// Whether a whole member begins after `from`: then the damage before it is no torn last write.
fn member_follows(path: &Path, from: u64) -> io::Result<bool> {
    let file = File::open(path)?;
    let rest = read_at(&file, from, file.metadata()?.len(), usize::MAX)?;
    let whole = |at: usize| {
        let member = rest.get(at..)?;
        let header = MemberHeader::read(member).ok()?;
        let packed =
            member.get(MEMBER_HEADER_BYTES..usize::try_from(header.member_bytes()).ok()?)?;
        Some(crc32fast::hash(packed) == header.packed_checksum)
    };
    let begins = rest.windows(MEMBER_START.len()).enumerate();
    let mut begins = begins.filter(|(_, window)| *window == MEMBER_START);
    Ok(begins.any(|(at, _)| whole(at) == Some(true)))
}

/// Walks a file's members by their lengths and verifies the checksums of their packed bytes: the
/// last whole member, and the fault of the one after it, if there is one.
pub(super) fn whole_members(
    path: &Path,
) -> Result<(Option<WholeMember>, Option<MemberFault>), ArchiveError> {
    let failed = |error| failed(path, error);
    let file = File::open(path).map_err(failed)?;
    let length = file.metadata().map_err(failed)?.len();
    let (mut last, mut offset) = (None, 0_u64);
    while offset < length {
        let header = read_at(&file, offset, length, MEMBER_HEADER_BYTES).map_err(failed)?;
        let header = match MemberHeader::read(&header) {
            Ok(header) => header,
            Err(fault) => return Ok((last, Some(fault))),
        };
        let end = offset.saturating_add(header.member_bytes());
        if end > length {
            return Ok((last, Some(MemberFault::Truncated)));
        }
        let packed = offset.saturating_add(u64::try_from(MEMBER_HEADER_BYTES).unwrap_or(0));
        let bytes = usize::try_from(end.saturating_sub(packed)).unwrap_or(usize::MAX);
        let bytes = read_at(&file, packed, length, bytes).map_err(failed)?;
        if crc32fast::hash(&bytes) != header.packed_checksum {
            return Ok((last, Some(MemberFault::PackedChecksum)));
        }
        last = Some(WholeMember { begin: offset, end });
        offset = end;
    }
    Ok((last, None))
}

/// Bytes of a file from an offset, up to the file's end.
pub(super) fn read_at(file: &File, offset: u64, length: u64, bytes: usize) -> io::Result<Vec<u8>> {
    let there = usize::try_from(length.saturating_sub(offset)).unwrap_or(usize::MAX);
    let mut read = vec![0; bytes.min(there)];
    file.read_exact_at(&mut read, offset)?;
    Ok(read)
}

/// The head that a file's last member leads to; every block of it is verified.
pub(super) fn head_of(path: &Path, last: &WholeMember) -> Result<Head, ArchiveError> {
    let damaged =
        |what: String| ArchiveError::Damaged { path: path.to_owned(), offset: last.begin, what };
    let file = File::open(path).map_err(|error| failed(path, error))?;
    let length = usize::try_from(last.end.saturating_sub(last.begin)).unwrap_or(usize::MAX);
    let bytes =
        read_at(&file, last.begin, last.end, length).map_err(|error| failed(path, error))?;
    let mut members = Members::new(bytes.as_slice());
    let mut head: Option<Head> = None;
    while let Some(block) = next_block(&mut members, path, last.begin)? {
        let after = head.unwrap_or_else(|| block.built_after());
        block.follows(&after).map_err(|fault| damaged(fault.to_string()))?;
        head = Some(block.head());
    }
    let whole = head.filter(|head| *head != Head::START);
    whole.ok_or_else(|| damaged("a member without a block".to_owned()))
}

/// The next block of a file's members; `offset` is for error messages. `None` at the end of a
/// member or of the file.
pub(super) fn next_block(
    members: &mut Members<impl Read>,
    path: &Path,
    offset: u64,
) -> Result<Option<Block>, ArchiveError> {
    let damaged = |what: String| ArchiveError::Damaged { path: path.to_owned(), offset, what };
    let mut bytes = Vec::new();
    let mut read = |bytes: &mut Vec<u8>, length| {
        members.fill(bytes, length).map_err(|error| match error {
            UnpackError::Io(error) => failed(path, error),
            UnpackError::Fault(fault) => damaged(fault.to_string()),
        })
    };
    read(&mut bytes, BLOCK_HEADER_BYTES)?;
    if bytes.is_empty() {
        return Ok(None);
    }
    let fault = |fault: BlockFault| damaged(fault.to_string());
    let length = block::block_bytes(&bytes).map_err(fault)?;
    read(&mut bytes, length)?;
    RawBlock::new(bytes).decode().map(Some).map_err(fault)
}

// Checks that an archive's files follow each other, reading only the last member and the first
// block of each.

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
