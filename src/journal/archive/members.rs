//! The members of an archive's file: which of them are whole, and the head that they lead to.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::{ArchiveError, Cut, TORN_BYTES_MAX, failed};
use crate::block::{self, BLOCK_HEADER_BYTES, Block, BlockFault, Head, RawBlock};
use crate::member::{
    MEMBER_HEADER_BYTES, MEMBER_START, MemberFault, MemberHeader, Members, UnpackError,
};

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
