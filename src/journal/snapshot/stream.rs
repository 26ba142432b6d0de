//! A snapshot's body as a stream of chunks, each with a checksum: an image of any size passes
//! through one small buffer, and no byte is returned before it is verified.

use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::PathBuf;

use super::{Header, SNAPSHOT_HEADER_BYTES};
use super::{Kind, Point, SnapshotDamage, SnapshotFault};

/// Bytes of the image per chunk; the last one holds the rest. Large enough that system calls cost
/// nothing, small enough that faults are located closely and a buffer is cheap.
pub const CHUNK_BYTES: usize = 1 << 20;
/// Bytes of the checksum after each chunk.
const CHECKSUM_BYTES: usize = 4;

/// CRC-32 of a chunk, the snapshot it belongs to and its offset, so that sound bytes in the wrong
/// place are detected too.
fn checksum(kind: Kind, point: &Point, offset: u64, bytes: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&point.sequence.get().to_le_bytes());
    hasher.update(&kind.number().to_le_bytes());
    hasher.update(&offset.to_le_bytes());
    hasher.update(bytes);
    hasher.finalize()
}

fn wide(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

/// Writes an image as a snapshot. Until [`SnapshotWriter::finish`] the header is zeros, which every
/// reader rejects.
#[derive(Debug)]
pub struct SnapshotWriter<W> {
    out: W,
    kind: Kind,
    point: Point,
    chunk: Vec<u8>,
    /// File offset of the chunk being filled.
    offset: u64,
    body_bytes: u64,
}

impl<W: Write + Seek> SnapshotWriter<W> {
    /// Begins a snapshot at the start of `out`.
    pub fn begin(mut out: W, kind: Kind, point: Point) -> io::Result<SnapshotWriter<W>> {
        out.write_all(&[0; SNAPSHOT_HEADER_BYTES])?;
        let chunk = Vec::with_capacity(CHUNK_BYTES);
        let offset = wide(SNAPSHOT_HEADER_BYTES);
        Ok(SnapshotWriter { out, kind, point, chunk, offset, body_bytes: 0 })
    }

    /// Writes the last chunk and the header; returns `out` and the file's length.
    pub fn finish(mut self) -> io::Result<(W, u64)> {
        self.seal_chunk()?;
        let header = Header { kind: self.kind, point: self.point, body_bytes: self.body_bytes };
        self.out.seek(SeekFrom::Start(0))?;
        self.out.write_all(&header.encode())?;
        self.out.flush()?;
        Ok((self.out, self.offset))
    }

    fn seal_chunk(&mut self) -> io::Result<()> {
        if self.chunk.is_empty() {
            return Ok(());
        }
        let checksum = checksum(self.kind, &self.point, self.offset, &self.chunk);
        self.out.write_all(&self.chunk)?;
        self.out.write_all(&checksum.to_le_bytes())?;
        let written = wide(self.chunk.len());
        self.body_bytes = self.body_bytes.saturating_add(written);
        self.offset = self.offset.saturating_add(written).saturating_add(wide(CHECKSUM_BYTES));
        self.chunk.clear();
        Ok(())
    }
}

impl<W: Write + Seek> Write for SnapshotWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = CHUNK_BYTES.saturating_sub(self.chunk.len());
        let taken = bytes.get(..room.min(bytes.len())).unwrap_or_default();
        self.chunk.extend_from_slice(taken);
        if self.chunk.len() >= CHUNK_BYTES {
            self.seal_chunk()?;
        }
        Ok(taken.len())
    }

    /// Does nothing: only full chunks are written.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Reads a snapshot's image. Every byte returned is verified; after damage every read fails with
/// it.
#[derive(Debug)]
pub struct SnapshotReader<R> {
    input: R,
    file: PathBuf,
    header: Header,
    chunk: Vec<u8>,
    taken: usize,
    /// File offset of the next chunk.
    offset: u64,
    /// Bytes of the image in chunks not read yet.
    missing: u64,
    damage: Option<SnapshotDamage>,
}

impl<R: Read> SnapshotReader<R> {
    /// Reads and verifies the header; `file` is the path for damage reports.
    pub fn open(mut input: R, file: PathBuf) -> Result<SnapshotReader<R>, SnapshotDamage> {
        let mut bytes = Vec::with_capacity(SNAPSHOT_HEADER_BYTES);
        let decoded = fill(&mut input, &mut bytes, SNAPSHOT_HEADER_BYTES)
            .map_err(|fault| (0, fault))
            .and_then(|()| Header::decode(&bytes));
        let header = match decoded {
            Ok(header) => header,
            Err((offset, fault)) => return Err(SnapshotDamage { file, offset, fault }),
        };
        let (offset, missing) = (wide(SNAPSHOT_HEADER_BYTES), header.body_bytes);
        let (chunk, taken, damage) = (Vec::new(), 0, None);
        Ok(SnapshotReader { input, file, header, chunk, taken, offset, missing, damage })
    }

    /// The verified header.
    pub const fn header(&self) -> &Header {
        &self.header
    }

    /// The damage that ended the read, if any.
    pub const fn damage(&self) -> Option<&SnapshotDamage> {
        self.damage.as_ref()
    }

    /// Verifies the rest of the image and that the file ends there; returns how many bytes of the
    /// image were left.
    pub fn drain(&mut self) -> Result<u64, SnapshotDamage> {
        let mut left = 0_u64;
        loop {
            left = left.saturating_add(wide(self.chunk.len().saturating_sub(self.taken)));
            self.next_chunk()?;
            if self.chunk.is_empty() {
                break;
            }
        }
        let mut over = Vec::new();
        match fill(&mut self.input, &mut over, 1) {
            Err(SnapshotFault::Truncated { .. }) => Ok(left),
            Ok(()) => Err(self.found(SnapshotFault::Length)),
            Err(fault) => Err(self.found(fault)),
        }
    }

    /// Reads and verifies the next chunk; an empty one after the last.
    fn next_chunk(&mut self) -> Result<(), SnapshotDamage> {
        if let Some(damage) = &self.damage {
            return Err(damage.clone());
        }
        self.chunk.clear();
        self.taken = 0;
        let length = usize::try_from(self.missing).unwrap_or(usize::MAX).min(CHUNK_BYTES);
        if length == 0 {
            return Ok(());
        }
        let whole = length.saturating_add(CHECKSUM_BYTES);
        if let Err(fault) = fill(&mut self.input, &mut self.chunk, whole) {
            return Err(self.found(fault));
        }
        let (bytes, sum) = self.chunk.split_at(length);
        let found = checksum(self.header.kind, &self.header.point, self.offset, bytes);
        if sum != found.to_le_bytes() {
            return Err(self.found(SnapshotFault::Checksum));
        }
        self.chunk.truncate(length);
        self.missing = self.missing.saturating_sub(wide(length));
        self.offset = self.offset.saturating_add(wide(whole));
        Ok(())
    }

    fn found(&mut self, fault: SnapshotFault) -> SnapshotDamage {
        self.chunk.clear();
        let damage = SnapshotDamage { file: self.file.clone(), offset: self.offset, fault };
        self.damage.insert(damage).clone()
    }
}

impl<R: Read> Read for SnapshotReader<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        if self.taken >= self.chunk.len() {
            self.next_chunk()?;
        }
        let rest = self.chunk.get(self.taken..).unwrap_or_default();
        let count = rest.len().min(bytes.len());
        if let (Some(to), Some(from)) = (bytes.get_mut(..count), rest.get(..count)) {
            to.copy_from_slice(from);
        }
        self.taken = self.taken.saturating_add(count);
        Ok(count)
    }
}

/// Reads exactly `count` bytes into an empty buffer.
fn fill(input: &mut impl Read, bytes: &mut Vec<u8>, count: usize) -> Result<(), SnapshotFault> {
    let read = input.by_ref().take(wide(count)).read_to_end(bytes);
    match read {
        Ok(read) if read == count => Ok(()),
        Ok(_) => Err(SnapshotFault::Truncated { expected: count }),
        Err(error) => Err(SnapshotFault::Read(error.to_string())),
    }
}
