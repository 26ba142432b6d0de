//! The portable form: a journal's blocks one after the other in a plain file, byte for byte as
//! they were journaled. Any journal can be written so, and read without the store.

use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::Path;

use super::block::{self, BLOCK_HEADER_BYTES, Block, Head, RawBlock};
use super::store::{Step, StoreError};
use super::{Damage, Durable, JournalError, recovery};

/// Why an export stopped.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The journal could not be read, or is damaged; the file ends before the damage.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The file could not be written. An existing file is not overwritten.
    #[error("EXPORT_FAILED: {0}")]
    File(#[from] io::Error),
}

/// Writes verified blocks to a new file and returns once it is on disk; the last block's head.
pub fn export(
    blocks: impl Iterator<Item = Result<Durable<Block>, JournalError>>,
    path: &Path,
) -> Result<Head, ExportError> {
    let mut out = BufWriter::new(OpenOptions::new().create_new(true).write(true).open(path)?);
    let mut head = Head::START;
    for block in blocks {
        let block = block?;
        out.write_all(block.bytes())?;
        head = block.head();
    }
    out.flush()?;
    out.get_ref().sync_all()?;
    Ok(head)
}

/// Reads a portable file and verifies each block against the one before it; the first error ends
/// the reading.
#[derive(Debug)]
pub struct PortableFile {
    file: BufReader<File>,
    head: Head,
    offset: u64,
    over: bool,
}

impl PortableFile {
    /// Opens a file; nothing is read yet.
    pub fn open(path: &Path) -> io::Result<PortableFile> {
        let file = BufReader::new(File::open(path)?);
        Ok(PortableFile { file, head: Head::START, offset: 0, over: false })
    }

    /// Where in the file the next block begins, or the one that could not be read.
    pub const fn offset(&self) -> u64 {
        self.offset
    }

    fn next_block(&mut self) -> Result<Option<Block>, JournalError> {
        let block = self.head.sequence.next();
        let reading = |error| JournalError::Read(StoreError::new(Step::Read, error));
        let damaged = |fault| JournalError::Damaged(Damage { block, fault });
        let mut bytes = Vec::new();
        self.fill(&mut bytes, BLOCK_HEADER_BYTES).map_err(reading)?;
        if bytes.is_empty() {
            return Ok(None);
        }
        let length = block::block_bytes(&bytes).map_err(damaged)?;
        self.fill(&mut bytes, length).map_err(reading)?;
        let read = RawBlock::new(bytes).decode();
        // A file has no keys: a block is where it says it is, or there is a gap.
        let key = read.as_ref().map_or(block, Block::first);
        let judged = recovery::judge(key, read, &self.head).map_err(damaged)?;
        self.head = judged.head();
        let taken = u64::try_from(judged.bytes().len()).unwrap_or(u64::MAX);
        self.offset = self.offset.saturating_add(taken);
        Ok(Some(judged))
    }

    /// Reads until `bytes` has `length`, or the file ends.
    fn fill(&mut self, bytes: &mut Vec<u8>, length: usize) -> io::Result<()> {
        let missing = length.saturating_sub(bytes.len());
        let missing = u64::try_from(missing).unwrap_or(u64::MAX);
        self.file.by_ref().take(missing).read_to_end(bytes).map(drop)
    }
}

impl Iterator for PortableFile {
    type Item = Result<Durable<Block>, JournalError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.over {
            return None;
        }
        let read = self.next_block();
        self.over = !matches!(read, Ok(Some(_)));
        read.map(|block| block.map(Durable)).transpose()
    }
}
