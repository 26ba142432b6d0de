//! Finds sound blocks in damaged files, by searching for their magic bytes. Only a block's checksum
//! and fields are checked; whether it belongs to a chain is up to the caller.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use memchr::memmem::Finder;

use super::block::{self, BLOCK_BYTES_MAX, Block, MAGIC, RawBlock};
use super::member::{
    MEMBER_HEADER_BYTES, MEMBER_START, MemberFault, MemberHeader, Members, UnpackError,
};
use super::unreadable::{ReadAt, open_regular, read_around};

/// Bytes searched at a time.
const WINDOW_BYTES: usize = 4 << 20;
/// Largest member length that is believed: several times what is ever written.
const PACKED_BYTES_MAX: u64 = 8 << 20;
/// Most unpacked bytes of a member that are searched: several times what is ever written.
const UNPACKED_BYTES_MAX: usize = 16 << 20;

/// A sound block and where it begins.
pub struct Scraped {
    /// The block.
    pub block: Block,
    /// Offset in the bytes searched.
    pub offset: usize,
}

/// Every sound block in `bytes`, and the offset from which a block might continue after their end:
/// search from there again once more bytes are read. `last`: there are no more.
pub fn sound_blocks(bytes: &[u8], last: bool) -> (Vec<Scraped>, usize) {
    let magic = Finder::new(&MAGIC);
    let (mut found, mut at) = (Vec::new(), 0_usize);
    loop {
        let rest = bytes.get(at..).unwrap_or_default();
        let Some(next) = magic.find(rest) else {
            let tail = bytes.len().saturating_sub(MAGIC.len());
            return (found, at.max(tail));
        };
        at = at.saturating_add(next);
        let rest = bytes.get(at..).unwrap_or_default();
        if !last && rest.len() < BLOCK_BYTES_MAX {
            return (found, at);
        }
        let whole = block::block_bytes(rest).ok().and_then(|length| rest.get(..length));
        match whole.map(|whole| RawBlock::new(whole.to_vec()).decode()) {
            Some(Ok(block)) => {
                let length = block.bytes().len();
                found.push(Scraped { block, offset: at });
                at = at.saturating_add(length);
            }
            _ => at = at.saturating_add(1),
        }
    }
}

/// Calls `found` for every sound block in a file, at any offset. Returns how many bytes could not
/// be read.
///
/// # Errors
/// The system's, or that it is no regular file.
pub fn scrape_file(path: &Path, found: impl FnMut(u64, Block)) -> io::Result<usize> {
    let (file, length) = open_regular(path)?;
    Ok(scrape(&file, length, found))
}

/// The same for the first `length` bytes of an open file.
fn scrape(file: &impl ReadAt, length: u64, mut found: impl FnMut(u64, Block)) -> usize {
    let (mut window, mut begin, mut lost) = (Vec::new(), 0_u64, 0_usize);
    loop {
        let held = window.len();
        let offset = begin.saturating_add(wide(held));
        // Bounded by the length: where every read fails, none reports the end.
        let left = usize::try_from(length.saturating_sub(offset)).unwrap_or(usize::MAX);
        window.resize(held.saturating_add(WINDOW_BYTES.min(left)), 0);
        let (read, zeros) = read_around(file, window.get_mut(held..).unwrap_or_default(), offset);
        lost = lost.saturating_add(zeros);
        window.truncate(held.saturating_add(read));
        let (blocks, done) = sound_blocks(&window, read == 0);
        for Scraped { block, offset } in blocks {
            found(begin.saturating_add(wide(offset)), block);
        }
        if read == 0 {
            return lost;
        }
        window.drain(..done.min(window.len()));
        begin = begin.saturating_add(wide(done));
    }
}

/// Iterates over the sound blocks of portable files, in file order, skipping everything else; and
/// collects the faults.
pub struct SoundBlocks {
    left: VecDeque<PathBuf>,
    open: Option<Damaged>,
    waiting: VecDeque<Block>,
    faults: Vec<String>,
}

/// A file being searched.
struct Damaged {
    path: PathBuf,
    file: File,
    length: u64,
    offset: u64,
    /// Whether it is a plain file of blocks, not of gzip members.
    plain: bool,
}

impl SoundBlocks {
    /// Over these files.
    pub fn of(files: VecDeque<PathBuf>) -> SoundBlocks {
        let (waiting, faults) = (VecDeque::new(), Vec::new());
        SoundBlocks { left: files, open: None, waiting, faults }
    }

    /// The faults so far, in words.
    pub fn faults(&self) -> &[String] {
        &self.faults
    }

    /// Searches the next part; `false` at the end.
    fn advance(&mut self) -> bool {
        let Some(mut open) = self.open.take() else {
            let Some(path) = self.left.pop_front() else { return false };
            match Damaged::open(&path) {
                Ok(open) => self.open = Some(open),
                Err(error) => self.faults.push(format!("{}: {error}", path.display())),
            }
            return true;
        };
        let at = open.offset;
        match open.advance(&mut self.waiting) {
            Ok(fault) => {
                let path = open.path.display();
                self.faults.extend(fault.map(|fault| format!("{path}: at byte {at}: {fault}")));
                self.open = (open.offset < open.length).then_some(open);
            }
            Err(error) => self.faults.push(format!("{}: {error}", open.path.display())),
        }
        true
    }
}

impl Iterator for SoundBlocks {
    type Item = Block;

    fn next(&mut self) -> Option<Block> {
        loop {
            if let Some(block) = self.waiting.pop_front() {
                return Some(block);
            }
            if !self.advance() {
                return None;
            }
        }
    }
}

impl Damaged {
    fn open(path: &Path) -> io::Result<Damaged> {
        let (file, length) = open_regular(path)?;
        let mut open = Damaged { path: path.to_owned(), file, length, offset: 0, plain: false };
        let start = open.bytes(0, MAGIC.len())?;
        // A file without any member is plain, or holds nothing.
        open.plain = start == MAGIC || open.next_member(0)?.is_none();
        Ok(open)
    }

    fn bytes(&self, offset: u64, count: usize) -> io::Result<Vec<u8>> {
        let there = usize::try_from(self.length.saturating_sub(offset)).unwrap_or(usize::MAX);
        let mut bytes = vec![0; count.min(there)];
        // Unreadable bytes become zeros, which belong to no block or member, and are reported as
        // such.
        let (filled, _) = read_around(&self.file, &mut bytes, offset);
        if filled < bytes.len() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(bytes)
    }

    /// Offset of the next member at or after `from`.
    fn next_member(&self, from: u64) -> io::Result<Option<u64>> {
        let mut offset = from;
        while offset < self.length {
            let bytes = self.bytes(offset, WINDOW_BYTES)?;
            let mut windows = bytes.windows(MEMBER_START.len());
            if let Some(at) = windows.position(|window| window == MEMBER_START) {
                return Ok(Some(offset.saturating_add(wide(at))));
            }
            let overlap = MEMBER_START.len().saturating_sub(1);
            offset = offset.saturating_add(wide(bytes.len().saturating_sub(overlap).max(1)));
        }
        Ok(None)
    }

    /// Searches the next member, or a plain file's next part; returns its fault.
    fn advance(&mut self, found: &mut VecDeque<Block>) -> io::Result<Option<String>> {
        if self.plain {
            return self.advance_plain(found);
        }
        let header = MemberHeader::read(&self.bytes(self.offset, MEMBER_HEADER_BYTES)?);
        let sound_length = |header: &MemberHeader| header.member_bytes() <= PACKED_BYTES_MAX;
        let header = header.and_then(|header| {
            if sound_length(&header) { Ok(header) } else { Err(MemberFault::Length) }
        });
        let fault = match header {
            Ok(header) => {
                let length = header.member_bytes();
                let bytes = self.bytes(self.offset, usize::try_from(length).unwrap_or(0))?;
                let (unpacked, fault) = unpacked(&bytes);
                let (blocks, _) = sound_blocks(&unpacked, true);
                found.extend(blocks.into_iter().map(|scraped| scraped.block));
                if fault.is_none() {
                    self.offset = self.offset.saturating_add(length);
                    return Ok(None);
                }
                fault
            }
            Err(fault) => Some(fault),
        };
        self.offset = self.next_member(self.offset.saturating_add(1))?.unwrap_or(self.length);
        Ok(fault.map(|fault| fault.to_string()))
    }

    fn advance_plain(&mut self, found: &mut VecDeque<Block>) -> io::Result<Option<String>> {
        let bytes = self.bytes(self.offset, WINDOW_BYTES)?;
        let last = self.offset.saturating_add(wide(bytes.len())) >= self.length;
        let (blocks, done) = sound_blocks(&bytes, last);
        let sound: usize = blocks.iter().map(|scraped| scraped.block.bytes().len()).sum();
        let done = if last { bytes.len() } else { done };
        let unsound = done.saturating_sub(sound);
        found.extend(blocks.into_iter().map(|scraped| scraped.block));
        self.offset = self.offset.saturating_add(wide(done.max(1)));
        Ok((unsound > 0).then(|| format!("{unsound} bytes from here on are of no sound block")))
    }
}

/// A member's unpacked bytes, up to a fault.
fn unpacked(member: &[u8]) -> (Vec<u8>, Option<MemberFault>) {
    let (mut members, mut bytes) = (Members::new(member), Vec::new());
    loop {
        let wanted = bytes.len().saturating_add(BLOCK_BYTES_MAX);
        match members.fill(&mut bytes, wanted) {
            Ok(()) if members.over() => return (bytes, None),
            Ok(()) if bytes.len() > UNPACKED_BYTES_MAX => {
                return (bytes, Some(MemberFault::Length));
            }
            Ok(()) => {}
            Err(UnpackError::Fault(fault)) => return (bytes, Some(fault)),
            // Reading from memory cannot fail.
            Err(UnpackError::Io(_)) => return (bytes, Some(MemberFault::Truncated)),
        }
    }
}

fn wide(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}

#[cfg(test)]
#[path = "../../tests/unit/journal/scrape.rs"]
mod tests;
