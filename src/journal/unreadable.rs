//! Reads files with unreadable sectors, for salvage: such sectors become zeros. Other readers must
//! treat a read error as an error.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;

/// The unit that a drive loses, or a multiple of it.
const SECTOR_BYTES: u64 = 4096;
/// Bytes copied at a time.
const COPIED_BYTES: usize = 1 << 20;

/// Something readable at an offset.
pub(super) trait ReadAt {
    /// Reads some bytes; zero at the end.
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize>;
}

impl ReadAt for File {
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        FileExt::read_at(self, bytes, offset)
    }
}

/// Opens a regular file, and returns its length too. Everything else is refused: a folder fails at
/// every read, and a pipe may wait for a writer or never end.
///
/// # Errors
/// The system's, or that it is no regular file.
pub(super) fn open_regular(path: &Path) -> io::Result<(File, u64)> {
    // Before it is opened, because opening a pipe waits for its writer.
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::new(ErrorKind::InvalidInput, "not a regular file"));
    }
    let file = File::open(path)?;
    let length = file.metadata()?.len();
    Ok((file, length))
}

/// Fills `bytes` from `offset` on, up to the file's end. Returns how many were filled, and how many
/// of those could not be read and are zeros. An unreadable file shows no end, so the caller must
/// not ask for more than its length.
pub(super) fn read_around(file: &impl ReadAt, bytes: &mut [u8], offset: u64) -> (usize, usize) {
    let (mut filled, mut lost) = (0, 0);
    while let Some(rest) = bytes.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        let at = offset.saturating_add(filled as u64);
        match file.read_at(rest, at) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => {
                // The error may be this sector's, or that of a later one in a long read.
                let left = SECTOR_BYTES - at % SECTOR_BYTES;
                let sector = rest.len().min(usize::try_from(left).unwrap_or(usize::MAX));
                let Some(sector) = rest.get_mut(..sector) else { break };
                match file.read_at(sector, at) {
                    Ok(0) => break,
                    Ok(count) => filled += count,
                    Err(_) => {
                        sector.fill(0);
                        filled += sector.len();
                        lost += sector.len();
                    }
                }
            }
        }
    }
    (filled, lost)
}

/// Copies a file. Returns how many bytes could not be read and are zeros in the copy.
///
/// # Errors
/// The copy cannot be written.
pub(super) fn copy_around(from: &File, to: &mut impl Write) -> io::Result<u64> {
    let length = from.metadata()?.len();
    let (mut piece, mut offset, mut lost) = (vec![0; COPIED_BYTES], 0, 0);
    while offset < length {
        // Bounded by the length, as unreadable sectors at the file's end do not report it.
        let wanted = usize::try_from(length - offset).unwrap_or(COPIED_BYTES).min(COPIED_BYTES);
        let Some(piece) = piece.get_mut(..wanted) else { break };
        let (filled, zeros) = read_around(from, piece, offset);
        if filled == 0 {
            break;
        }
        to.write_all(piece.get(..filled).unwrap_or_default())?;
        offset += filled as u64;
        lost += zeros as u64;
    }
    Ok(lost)
}

#[cfg(test)]
#[path = "../../tests/unit/journal/unreadable.rs"]
mod tests;
