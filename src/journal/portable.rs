//! The portable format: a journal's blocks in order, byte for byte as journaled, in a plain file or
//! in gzip members. Every journal can be exported to it and read without the store. An archive is a
//! folder of such files.

use std::collections::VecDeque;
use std::fs::{self, OpenOptions};
use std::io::{self, BufRead, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::block::{self, BLOCK_HEADER_BYTES, Block, BlockFault, Head, RawBlock};
use super::disk::{self, File};
use super::member::{
    self, GZIP_MAGIC, MEMBER_BLOCKS_BYTES, MEMBER_HEADER_BYTES, MemberHeader, Members, UnpackError,
};
use super::store::{Step, StoreError};
use super::{Damage, Durable, JournalError, recovery};

/// Suffix of an archive's file names, after the first record's number.
pub const SEGMENT_SUFFIX: &str = ".blocks.gz";
/// Suffix of a file's name while it is being written.
const PARTIAL_SUFFIX: &str = ".partial";

/// Why an export stopped.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The journal could not be read, or is damaged; no file was created.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The file could not be written. An existing file is not overwritten.
    #[error("EXPORT_FAILED: {0}")]
    File(#[from] io::Error),
}

/// The two variants of the portable format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// The blocks only.
    Plain,
    /// The blocks in gzip members, whole blocks in each.
    Compressed,
}

/// Writes verified blocks to a new plain file and returns the last head once the file is durable.
pub fn export(
    blocks: impl Iterator<Item = Result<Durable<Block>, JournalError>>,
    path: &Path,
) -> Result<Head, ExportError> {
    export_as(Form::Plain, blocks, path, |_| ())
}

/// Writes verified blocks to a new file and returns the last head once the file and its name are
/// durable. Calls `on_block` after each block. The file gets its name only once it is complete:
/// part of a journal would look like a shorter journal. An existing file is never overwritten, even
/// one that is made meanwhile, except where the file system has no hard links.
pub fn export_as(
    form: Form,
    blocks: impl Iterator<Item = Result<Durable<Block>, JournalError>>,
    path: &Path,
    on_block: impl FnMut(&Block),
) -> Result<Head, ExportError> {
    if path.symlink_metadata().is_ok() {
        return Err(io::Error::from(io::ErrorKind::AlreadyExists).into());
    }
    let mut partial = path.as_os_str().to_owned();
    partial.push(PARTIAL_SUFFIX);
    let partial = PathBuf::from(partial);
    let written = write_blocks(form, blocks, &partial, on_block).and_then(|(file, head)| {
        name_new(&file, &partial, path)?;
        sync_folder_of(path)?;
        Ok(head)
    });
    if written.is_err() {
        // A remainder that cannot be removed keeps its partial name, which no reader looks for.
        drop(fs::remove_file(&partial));
    }
    written
}

/// Renames a file, unless the new name is taken: a rename alone would replace what has it.
fn name_new(file: &fs::File, partial: &Path, path: &Path) -> io::Result<()> {
    let (ours, there) = (file.metadata()?, partial.symlink_metadata()?);
    if (ours.dev(), ours.ino()) != (there.dev(), there.ino()) {
        return Err(io::Error::other("another export writes the same file"));
    }
    match fs::hard_link(partial, path) {
        Ok(()) => {
            // If it stays, the file has two names, and the next export removes the other.
            drop(fs::remove_file(partial));
            Ok(())
        }
        // The file system may have no links.
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            if path.symlink_metadata().is_ok() {
                return Err(io::ErrorKind::AlreadyExists.into());
            }
            fs::rename(partial, path)
        }
        Err(error) => Err(error),
    }
}

fn write_blocks(
    form: Form,
    blocks: impl Iterator<Item = Result<Durable<Block>, JournalError>>,
    path: &Path,
    mut on_block: impl FnMut(&Block),
) -> Result<(fs::File, Head), ExportError> {
    // A remainder is removed, not truncated: it may be another name of a finished file.
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
        _ => {}
    }
    let file = OpenOptions::new().create_new(true).write(true).open(path)?;
    let mut out = BufWriter::new(file);
    let (mut head, mut member) = (Head::START, Vec::new());
    for block in blocks {
        let block = block?;
        match form {
            Form::Plain => out.write_all(block.bytes())?,
            Form::Compressed => {
                let full = member.len().saturating_add(block.bytes().len()) > MEMBER_BLOCKS_BYTES;
                if full {
                    out.write_all(&member::pack(&member)?)?;
                    member.clear();
                }
                member.extend_from_slice(block.bytes());
            }
        }
        head = block.head();
        on_block(&block);
    }
    if !member.is_empty() {
        out.write_all(&member::pack(&member)?)?;
    }
    let file = out.into_inner().map_err(io::IntoInnerError::into_error)?;
    file.sync_all()?;
    Ok((file, head))
}

/// Makes a file's name durable.
pub fn sync_folder_of(path: &Path) -> io::Result<()> {
    let whole = disk::canonicalize(path)?;
    whole.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
}

/// The files of an archive, in order; `None` if the folder holds none.
pub fn segments(folder: &Path) -> io::Result<Option<VecDeque<PathBuf>>> {
    let mut found = Vec::new();
    for entry in disk::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str());
        let number = name.and_then(|name| name.strip_suffix(SEGMENT_SUFFIX));
        if number.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit())) {
            found.push(path);
        }
    }
    found.sort();
    Ok(if found.is_empty() { None } else { Some(found.into()) })
}

/// The files of an archive, or the one that was exported.
pub fn files(path: &Path) -> io::Result<VecDeque<PathBuf>> {
    let folder = disk::metadata(path)?.is_dir();
    if folder { segments(path).map(Option::unwrap_or_default) } else { Ok([path.into()].into()) }
}

/// Bytes of blocks in a portable file or an archive, per the members' own trailers: for progress
/// display, not verified.
pub fn extent(path: &Path) -> io::Result<u64> {
    let mut sum = 0_u64;
    for path in files(path)? {
        let mut file = BufReader::new(File::open(path)?);
        if file.fill_buf()?.starts_with(&GZIP_MAGIC) {
            sum = sum.saturating_add(unpacked_bytes(file.get_mut())?);
        } else {
            sum = sum.saturating_add(file.get_ref().metadata()?.len());
        }
    }
    Ok(sum)
}

/// Unpacked bytes per a file's member trailers, up to the first invalid header.
fn unpacked_bytes(file: &mut File) -> io::Result<u64> {
    let (mut sum, mut offset) = (0_u64, 0_u64);
    loop {
        let mut header = [0; MEMBER_HEADER_BYTES];
        file.seek(SeekFrom::Start(offset))?;
        let read = file.read_exact(&mut header);
        let Ok(header) = read.map(|()| MemberHeader::read(&header)) else { return Ok(sum) };
        let Ok(header) = header else { return Ok(sum) };
        offset = offset.saturating_add(header.member_bytes());
        let mut length = [0; 4];
        file.seek(SeekFrom::Start(offset.saturating_sub(4)))?;
        if file.read_exact(&mut length).is_err() {
            return Ok(sum);
        }
        sum = sum.saturating_add(u64::from(u32::from_le_bytes(length)));
    }
}

/// Where in a portable file a block begins, or should.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The file: in an archive, the segment.
    pub file: PathBuf,
    /// Byte at which the block begins, counted in the unpacked blocks of all files read.
    pub offset: u64,
    /// In a compressed file, the gzip member.
    pub member: Option<MemberPlace>,
}

/// A gzip member of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemberPlace {
    /// Counted from 1.
    pub number: u64,
    /// Byte at which it begins in the file.
    pub offset: u64,
}

/// Reads a plain or compressed portable file, or the files of an archive, and verifies each block
/// against the one before it; the first error ends the reading. One block is in memory at a time,
/// whatever the file claims.
#[derive(Debug)]
pub struct PortableFile {
    left: VecDeque<PathBuf>,
    open: Option<Bytes>,
    head: Head,
    place: Place,
    over: bool,
}

/// A file's bytes, by its format.
#[derive(Debug)]
enum Bytes {
    Plain(BufReader<File>),
    Packed(Members<BufReader<File>>),
}

impl Bytes {
    fn open(path: &Path) -> io::Result<Bytes> {
        let mut file = BufReader::new(File::open(path)?);
        let packed = file.fill_buf()?.starts_with(&GZIP_MAGIC);
        Ok(if packed { Bytes::Packed(Members::new(file)) } else { Bytes::Plain(file) })
    }

    /// Appends until `bytes` has `length`, or the file or the member ends.
    fn fill(&mut self, bytes: &mut Vec<u8>, length: usize) -> Result<(), UnpackError> {
        match self {
            Bytes::Plain(file) => {
                let missing = length.saturating_sub(bytes.len());
                let missing = u64::try_from(missing).unwrap_or(u64::MAX);
                file.take(missing).read_to_end(bytes)?;
                Ok(())
            }
            Bytes::Packed(members) => members.fill(bytes, length),
        }
    }

    /// Whether the file has ended; only valid after `fill` appended nothing.
    const fn over(&self) -> bool {
        match self {
            Bytes::Plain(_) => true,
            Bytes::Packed(members) => members.over(),
        }
    }

    const fn member(&self) -> Option<MemberPlace> {
        match self {
            Bytes::Plain(_) => None,
            Bytes::Packed(members) => {
                Some(MemberPlace { number: members.number(), offset: members.offset() })
            }
        }
    }
}

impl PortableFile {
    /// Opens a file, or the folder of an archive; no block is read yet.
    pub fn open(path: &Path) -> io::Result<PortableFile> {
        let none = || io::Error::new(io::ErrorKind::NotFound, "the folder holds no archive");
        let left = if disk::is_dir(path) {
            segments(path)?.ok_or_else(none)?
        } else {
            VecDeque::from([path.to_owned()])
        };
        let place = Place { file: path.to_owned(), offset: 0, member: None };
        let mut file = PortableFile { left, open: None, head: Head::START, place, over: false };
        file.next_file()?;
        Ok(file)
    }

    /// Where the next block begins, or the one that could not be read.
    pub const fn place(&self) -> &Place {
        &self.place
    }

    /// [`Place::offset`] of [`PortableFile::place`].
    pub const fn offset(&self) -> u64 {
        self.place.offset
    }

    /// Opens the next file; `false` if there is none.
    fn next_file(&mut self) -> io::Result<bool> {
        let Some(path) = self.left.pop_front() else { return Ok(false) };
        self.open = Some(Bytes::open(&path)?);
        (self.place.file, self.place.member) = (path, None);
        Ok(true)
    }

    fn next_block(&mut self) -> Result<Option<Block>, JournalError> {
        let block = self.head.sequence.next();
        let damaged = |fault| JournalError::Damaged(Damage { block, fault });
        let mut bytes = Vec::new();
        loop {
            self.fill(&mut bytes, BLOCK_HEADER_BYTES)?;
            if !bytes.is_empty() {
                break;
            }
            // The member has ended, or the file.
            let over = self.open.as_ref().is_none_or(Bytes::over);
            if over && !self.next_file().map_err(reading)? {
                return Ok(None);
            }
        }
        let length = block::block_bytes(&bytes).map_err(damaged)?;
        self.fill(&mut bytes, length)?;
        let read = RawBlock::new(bytes).decode();
        // A file has no keys, so the block's own first record serves; a wrong one shows as a gap.
        let key = read.as_ref().map_or(block, Block::first);
        let judged = recovery::judge(key, read, &self.head).map_err(damaged)?;
        self.head = judged.head();
        let taken = u64::try_from(judged.bytes().len()).unwrap_or(u64::MAX);
        self.place.offset = self.place.offset.saturating_add(taken);
        Ok(Some(judged))
    }

    fn fill(&mut self, bytes: &mut Vec<u8>, length: usize) -> Result<(), JournalError> {
        let Some(open) = &mut self.open else { return Ok(()) };
        let filled = open.fill(bytes, length);
        self.place.member = open.member();
        filled.map_err(|error| match error {
            UnpackError::Io(error) => reading(error),
            UnpackError::Fault(fault) => {
                let (block, fault) = (self.head.sequence.next(), BlockFault::Member(fault));
                JournalError::Damaged(Damage { block, fault })
            }
        })
    }
}

#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
fn reading(error: io::Error) -> JournalError {
    JournalError::Read(StoreError::of(Step::Read, &error, &error))
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

#[cfg(test)]
#[path = "../../tests/unit/journal/portable.rs"]
mod tests;
