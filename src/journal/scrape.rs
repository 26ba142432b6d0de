//! Sound blocks out of bytes of which nothing is known: what a damaged file still gives. A block
//! counts if its checksum and every field of it are right; whether it belongs is for others.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use memchr::memmem::Finder;

use super::block::{self, BLOCK_BYTES_MAX, Block, MAGIC, RawBlock};
use super::member::{
    MEMBER_HEADER_BYTES, MEMBER_START, MemberFault, MemberHeader, Members, UnpackError,
};
use super::unreadable::read_around;

/// Bytes looked through at a time.
const WINDOW_BYTES: usize = 4 << 20;
/// Packed bytes of a member that are taken at its word: several times what is ever written.
const PACKED_BYTES_MAX: u64 = 8 << 20;
/// Unpacked bytes of a member that are looked through: several times what is ever written.
const UNPACKED_BYTES_MAX: usize = 16 << 20;

/// A sound block and where it begins.
pub struct Scraped {
    /// The block.
    pub block: Block,
    /// Byte in what was looked through.
    pub offset: usize,
}

/// Every sound block in `bytes`, and the byte up to which nothing more can begin that would end
/// inside: what follows is to be looked through again with what comes after it.
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

/// Tells of every sound block in a file, wherever it begins. Gives how many bytes could not be
/// read.
pub fn scrape_file(path: &Path, mut found: impl FnMut(u64, Block)) -> io::Result<usize> {
    let file = File::open(path)?;
    let (mut window, mut begin, mut lost) = (Vec::new(), 0_u64, 0_usize);
    loop {
        let held = window.len();
        window.resize(held.saturating_add(WINDOW_BYTES), 0);
        let offset = begin.saturating_add(wide(held));
        let (read, zeros) = read_around(&file, window.get_mut(held..).unwrap_or_default(), offset);
        lost = lost.saturating_add(zeros);
        window.truncate(held.saturating_add(read));
        let (blocks, done) = sound_blocks(&window, read == 0);
        for Scraped { block, offset } in blocks {
            found(begin.saturating_add(wide(offset)), block);
        }
        if read == 0 {
            return Ok(lost);
        }
        window.drain(..done.min(window.len()));
        begin = begin.saturating_add(wide(done));
    }
}

/// Every sound block of portable files, in the order in which they stand there, whatever lies
/// between them; and what was wrong on the way.
pub struct SoundBlocks {
    left: VecDeque<PathBuf>,
    open: Option<Damaged>,
    waiting: VecDeque<Block>,
    faults: Vec<String>,
}

/// A file being looked through.
struct Damaged {
    path: PathBuf,
    file: File,
    length: u64,
    offset: u64,
    /// Whether it holds blocks, and not members.
    plain: bool,
}

impl SoundBlocks {
    /// Of these files.
    pub fn of(files: VecDeque<PathBuf>) -> SoundBlocks {
        let (waiting, faults) = (VecDeque::new(), Vec::new());
        SoundBlocks { left: files, open: None, waiting, faults }
    }

    /// What was wrong so far, in words.
    pub fn faults(&self) -> &[String] {
        &self.faults
    }

    /// Looks through some more; `false` when there is no more.
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
        let file = File::open(path)?;
        let length = file.metadata()?.len();
        let mut open = Damaged { path: path.to_owned(), file, length, offset: 0, plain: false };
        let start = open.bytes(0, MAGIC.len())?;
        // A file in which no member begins anywhere holds blocks, or nothing.
        open.plain = start == MAGIC || open.next_member(0)?.is_none();
        Ok(open)
    }

    fn bytes(&self, offset: u64, count: usize) -> io::Result<Vec<u8>> {
        let there = usize::try_from(self.length.saturating_sub(offset)).unwrap_or(usize::MAX);
        let mut bytes = vec![0; count.min(there)];
        // What cannot be read is of no sound block or member, and told of as such.
        let (filled, _) = read_around(&self.file, &mut bytes, offset);
        if filled < bytes.len() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(bytes)
    }

    /// Where the next member begins, from an offset on.
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

    /// Looks through the next member, or through a plain file's next part; what is wrong with it.
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

/// What a member unpacks to, as far as it does.
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
            // Bytes in memory are always read.
            Err(UnpackError::Io(_)) => return (bytes, Some(MemberFault::Truncated)),
        }
    }
}

fn wide(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}
