//! A sealed segment: the blocks of a full one, packed into the gzip members of the portable form.
//! It replaces the open form under the same name, so that whoever lists the folder finds each
//! segment once, in either form.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::ops::Range;
use std::path::Path;

use super::block::{self, BLOCK_HEADER_BYTES};
use super::member::{
    self, MEMBER_HEADER_BYTES, MEMBER_TRAILER_BYTES, MemberFault, MemberHeader, Members,
    UnpackError,
};
use super::portable::sync_folder_of;
use super::run::Run;
use exchange::units::Sequence;

/// Bytes of blocks in a member, at most; a larger block is a member alone. A read of one block
/// unpacks a member.
pub(super) const MEMBER_BYTES: usize = 128 << 10;
/// Unpacked bytes that a member of a segment may claim.
const UNPACKED_MAX: usize = 2 << 20;
/// Suffix of a file's name while it is being written.
pub(super) const PARTIAL: &str = "partial";

/// A member and its first record.
pub(super) type Packed = (Sequence, Vec<u8>);

/// Packs blocks; the same blocks give the same bytes.
pub(super) fn pack(run: &Run) -> io::Result<Vec<Packed>> {
    let (mut members, mut open): (Vec<Packed>, Option<(Sequence, Vec<u8>)>) = (Vec::new(), None);
    for (first, block) in run.blocks() {
        match &mut open {
            Some((_, bytes)) if bytes.len().saturating_add(block.len()) <= MEMBER_BYTES => {
                bytes.extend_from_slice(block);
            }
            _ => {
                if let Some((first, bytes)) = open.replace((first, block.to_vec())) {
                    members.push((first, member::pack(&bytes)?));
                }
            }
        }
    }
    if let Some((first, bytes)) = open {
        members.push((first, member::pack(&bytes)?));
    }
    Ok(members)
}

/// The blocks of one member, which begin with record `first`.
pub(super) fn unpack(packed: &[u8], first: Sequence) -> Result<Run, String> {
    let length = packed.last_chunk::<4>().map_or(0, |length| u32::from_le_bytes(*length));
    let length = usize::try_from(length).unwrap_or(usize::MAX).min(UNPACKED_MAX);
    let (mut members, mut bytes) = (Members::new(packed), Vec::new());
    // One byte more than it claims: so its end is reached and verified.
    members.fill(&mut bytes, length.saturating_add(1)).map_err(told)?;
    let (run, rest) = Run::read(bytes, first);
    if rest.is_empty() && !run.bytes().is_empty() {
        return Ok(run);
    }
    Err(format!("the block of record {} is not sound", run.next()))
}

/// Where the members of a sealed segment stand in its bytes, each with its first record.
pub(super) fn places(bytes: &[u8]) -> Result<Vec<(Sequence, Range<usize>)>, String> {
    let (mut places, mut offset) = (Vec::new(), 0_usize);
    while let Some(rest) = bytes.get(offset..).filter(|rest| !rest.is_empty()) {
        let faulty = |fault: MemberFault| format!("at byte {offset}: {fault}");
        let header = MemberHeader::read(rest).map_err(faulty)?;
        let length = usize::try_from(header.member_bytes()).unwrap_or(usize::MAX);
        let whole = rest.get(..length).ok_or_else(|| faulty(MemberFault::Truncated))?;
        let end = offset.saturating_add(length);
        places.push((begins(whole)?, offset..end));
        offset = end;
    }
    Ok(places)
}

/// The first record of a member.
pub(super) fn begins(member: &[u8]) -> Result<Sequence, String> {
    let mut header = Vec::new();
    Members::new(member).fill(&mut header, BLOCK_HEADER_BYTES).map_err(told)?;
    let (first, ..) = block::span(&header).map_err(|fault| fault.to_string())?;
    Ok(first)
}

const _: () = assert!(MEMBER_BYTES + MEMBER_HEADER_BYTES + MEMBER_TRAILER_BYTES < UNPACKED_MAX);

fn told(error: UnpackError) -> String {
    match error {
        UnpackError::Io(error) => error.to_string(),
        UnpackError::Fault(fault) => fault.to_string(),
    }
}

/// Writes a file under another name, and gives it its own once it is on disk; the folder too.
pub(super) fn place<'a>(
    path: &Path,
    parts: impl IntoIterator<Item = &'a [u8]>,
) -> io::Result<File> {
    let partial = path.with_extension(PARTIAL);
    let mut file =
        OpenOptions::new().create(true).truncate(true).read(true).write(true).open(&partial)?;
    let written = parts.into_iter().try_for_each(|part| file.write_all(part));
    let placed = written.and_then(|()| file.sync_all()).and_then(|()| fs::rename(&partial, path));
    if let Err(error) = placed {
        // What cannot be removed has a name that no reader takes.
        drop(fs::remove_file(&partial));
        return Err(error);
    }
    sync_folder_of(path)?;
    Ok(file)
}
