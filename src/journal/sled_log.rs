//! Reads sled's log before sled may write to it. When it opens, sled overwrites everything after
//! the first message that does not verify, including what salvage could still find. So sled is
//! opened only if the last acknowledged block comes before that.
//!
//! The format is sled 0.34.7's: segments with a header, each a sequence of messages.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use memchr::memmem::Finder;

use super::block::{self, MAGIC};
use super::marker::Witness;

/// Bytes of a segment's header: CRC-32, position in the log, position up to which the log was
/// durable.
const SEGMENT_HEADER_BYTES: usize = 20;
/// Bytes at a segment's end in which no message begins.
const MESSAGE_HEADER_BYTES_MAX: usize = 32;
/// sled masks positions, so that zeros are not a valid one.
const POSITION_MASK: u64 = 0x7FFF_FFFF_FFFF_FFFF;
/// Kinds of messages: damage, the segment's end, and the highest there is.
const DAMAGED: u8 = 0;
const CAP: u8 = 2;
const KIND_MAX: u8 = 11;
/// Kinds that hold values: a whole page, and an addition to one.
const WITH_VALUES: [u8; 2] = [8, 10];
/// Hex digits of a position in a snapshot's name.
const POSITION_LETTERS: usize = 16;

/// How a segment's messages end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// With the segment's end, or for lack of space.
    Whole,
    /// With one that does not verify: in the last segment, where the log ends.
    Torn,
}

/// The block to look for in messages.
struct Wanted<'a> {
    magic: Finder<'a>,
    witness: Witness,
}

/// Whether sled will find the acknowledged block in its file, as far as its log verifies.
pub(super) fn reaches(dir: &Path, segment_bytes: usize, witness: Witness) -> io::Result<bool> {
    let file = File::open(dir.join("db"))?;
    let length = wide(segment_bytes);
    let log = Segments::find(&file, length, snapshot_position(dir)?)?;
    let wanted = Wanted { magic: Finder::new(&MAGIC), witness };
    let mut expected = log.tail;
    let mut bytes = vec![0; segment_bytes];
    for (position, offset) in log.offsets.range(log.tail..) {
        if *position != expected {
            break;
        }
        let (found, end) = wanted.search(&file, *position, *offset, &mut bytes)?;
        if found {
            return Ok(true);
        }
        expected = expected.saturating_add(length);
        if end == End::Torn {
            break;
        }
    }
    // Not among the newest segments: it must come before what a torn end can affect. If the tail's
    // first segment is missing, sled accepts nothing beyond its snapshot.
    let before = if expected > log.tail { log.tail } else { log.snapshot };
    for (position, offset) in log.offsets.range(..before).rev() {
        if wanted.search(&file, *position, *offset, &mut bytes)?.0 {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Where the segments are. Positions are in the log, each a segment's first.
struct Segments {
    /// Offsets in the file, by position.
    offsets: BTreeMap<u64, u64>,
    /// sled reads its log from here on; what comes before is in its snapshot.
    snapshot: u64,
    /// The log may be torn from here on: up to here it was durable when a later segment began.
    tail: u64,
}

impl Segments {
    fn find(file: &File, length: u64, snapshot: u64) -> io::Result<Segments> {
        let snapshot = first_of(snapshot, length);
        let (mut offsets, mut on_disk) = (BTreeMap::new(), snapshot);
        let end = file.metadata()?.len();
        let mut offset = 0_u64;
        while offset.saturating_add(wide(SEGMENT_HEADER_BYTES)) <= end {
            let mut header = [0; SEGMENT_HEADER_BYTES];
            file.read_exact_at(&mut header, offset)?;
            if let Some((position, before)) = segment_header(&header) {
                offsets.insert(position, offset);
                if position >= snapshot {
                    on_disk = on_disk.max(before);
                }
            }
            offset = offset.saturating_add(length);
        }
        Ok(Segments { offsets, snapshot, tail: first_of(on_disk, length) })
    }
}

/// The first position of the segment that holds `position`.
fn first_of(position: u64, length: u64) -> u64 {
    position.saturating_sub(position.checked_rem(length).unwrap_or(0))
}

/// A segment's position, and the position up to which the log was durable when it began.
fn segment_header(header: &[u8; SEGMENT_HEADER_BYTES]) -> Option<(u64, u64)> {
    let (crc, rest) = header.split_first_chunk::<4>()?;
    if crc32fast::hash(rest) != !u32::from_le_bytes(*crc) {
        return None;
    }
    let (position, rest) = rest.split_first_chunk::<8>()?;
    let (on_disk, _) = rest.split_first_chunk::<8>()?;
    let position = u64::from_le_bytes(*position) ^ POSITION_MASK;
    let on_disk = u64::from_le_bytes(*on_disk) ^ POSITION_MASK;
    // sled writes minus one where nothing was durable yet.
    let on_disk = if on_disk > POSITION_MASK { 0 } else { on_disk };
    Some((position, on_disk))
}

/// The position up to which sled's newest snapshot goes, from the file's name.
fn snapshot_position(dir: &Path) -> io::Result<u64> {
    let mut newest = 0;
    for entry in fs::read_dir(dir)? {
        let name = entry?.file_name();
        let position = name.to_str().and_then(|name| name.strip_prefix("snap."));
        // An incomplete snapshot has a longer name; it is deleted before sled opens.
        let position = position.filter(|hex| hex.len() == POSITION_LETTERS);
        let position = position.and_then(|hex| u64::from_str_radix(hex, 16).ok());
        newest = newest.max(position.unwrap_or(0));
    }
    Ok(newest)
}

impl Wanted<'_> {
    /// Searches a segment's messages, up to the first that does not verify.
    fn search(
        &self,
        file: &File,
        position: u64,
        offset: u64,
        bytes: &mut [u8],
    ) -> io::Result<(bool, End)> {
        let read = read_up_to(file, bytes, offset)?;
        let number = position / wide(bytes.len()).max(1);
        let room = bytes.len().saturating_sub(MESSAGE_HEADER_BYTES_MAX);
        let segment = bytes.get(..read).unwrap_or_default();
        let mut at = SEGMENT_HEADER_BYTES;
        while at <= room {
            let rest = segment.get(at..).unwrap_or_default();
            let Some(message) = Message::read(rest, number) else { return Ok((false, End::Torn)) };
            if message.kind == CAP {
                break;
            }
            if WITH_VALUES.contains(&message.kind) && self.is_in(message.body) {
                return Ok((true, End::Whole));
            }
            at = at.saturating_add(message.length);
        }
        Ok((false, End::Whole))
    }

    fn is_in(&self, body: &[u8]) -> bool {
        self.magic.find_iter(body).any(|at| {
            let rest = body.get(at..).unwrap_or_default();
            let span = block::span(rest).ok().filter(|(_, last, _)| *last == self.witness.last);
            let whole = span.and_then(|(_, _, length)| rest.get(..length));
            whole.is_some_and(|whole| block::hash(whole) == self.witness.hash)
        })
    }
}

/// A message that verifies.
struct Message<'a> {
    kind: u8,
    body: &'a [u8],
    /// Header included.
    length: usize,
}

impl Message<'_> {
    fn read(bytes: &[u8], segment: u64) -> Option<Message<'_>> {
        let (crc, rest) = bytes.split_first_chunk::<4>()?;
        let (kind, rest) = rest.split_first()?;
        if *kind == DAMAGED || *kind > KIND_MAX {
            return None;
        }
        let (body, rest) = number(rest)?;
        let (of_segment, rest) = number(rest)?;
        let (_page, rest) = number(rest)?;
        let body = rest.get(..usize::try_from(body).ok()?)?;
        let header = bytes.len().saturating_sub(rest.len());
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(body);
        hasher.update(bytes.get(crc.len()..header)?);
        let sound = hasher.finalize() == !u32::from_le_bytes(*crc) && of_segment == segment;
        let length = header.saturating_add(body.len());
        sound.then_some(Message { kind: *kind, body, length })
    }
}

/// A variable-length integer, and the bytes after it.
fn number(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let (first, rest) = bytes.split_first()?;
    match *first {
        small @ 0..=240 => Some((u64::from(small), rest)),
        high @ 241..=248 => {
            let (low, rest) = rest.split_first()?;
            let high = u64::from(high.saturating_sub(241)).saturating_mul(256);
            Some((high.saturating_add(u64::from(*low)).saturating_add(240), rest))
        }
        249 => {
            let ([high, low], rest) = rest.split_first_chunk::<2>()?;
            Some((u64::from(u16::from_be_bytes([*high, *low])).saturating_add(2288), rest))
        }
        wider => {
            let (taken, rest) = rest.split_at_checked(usize::from(wider.saturating_sub(247)))?;
            let mut whole = [0; 8];
            whole.get_mut(..taken.len())?.copy_from_slice(taken);
            Some((u64::from_le_bytes(whole), rest))
        }
    }
}

fn read_up_to(file: &File, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
    let mut read = 0_usize;
    while let Some(rest) = bytes.get_mut(read..).filter(|rest| !rest.is_empty()) {
        let got = file.read_at(rest, offset.saturating_add(wide(read)))?;
        if got == 0 {
            break;
        }
        read = read.saturating_add(got);
    }
    Ok(read)
}

fn wide(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}

#[cfg(test)]
#[path = "../../tests/unit/journal/sled_log.rs"]
mod tests;
