//! Follows a connection's bytes from request to request before hyper reads them, and refuses what
//! hyper lets pass: a line that ends without CR, many empty lines before a request, two transfer
//! codings, a chunk announced beyond the largest body. Two parsers, such as a proxy's and ours,
//! may read such bytes differently.
//!
//! A refused byte is replaced by NUL, which hyper answers with 400 in its turn, after the requests
//! before it; nothing that follows is read.

use std::mem;

use memchr::memchr;

/// Empty lines that may precede a request; RFC 9112, 2.2 asks for one.
const EMPTY_LINES_MAX: u8 = 4;
/// Bytes kept of a line that arrives in parts: those of a length or a coding are shorter.
const LINE_KEPT_MAX: usize = 256;
/// The request line of HTTP/2, which hyper would close without an answer.
const HTTP_2: &[u8] = b"PRI * HTTP/2.0\r\n";
/// What the next bytes belong to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// A request line, or an empty line before it.
    Begin,
    Headers,
    /// A body of known length, or a chunk with its line end: the bytes left.
    Sized(u64, After),
    ChunkSize(u64),
    /// What follows the size on its line.
    ChunkExtension(u64),
    Trailers,
}

/// What follows a run of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum After {
    Request,
    Chunk,
}

/// How the body is announced.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Announced {
    length: Option<u64>,
    chunked: bool,
}

/// Why the bytes may not be read on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// A head is not as it must be.
    BadHead,
    /// There is nothing more to be read.
    Refused,
    /// A chunk's size exceeds the largest body.
    TooLarge,
}

impl Fault {
    /// What hyper is given last, so that it answers: the end of the head, without which it would
    /// not look at it, or digits by which its count of any chunk's size overflows.
    pub const fn ending(self) -> &'static [u8] {
        match self {
            Fault::BadHead => b"\r\n\r\n",
            Fault::TooLarge => &[b'f'; 17],
            Fault::Refused => &[],
        }
    }
}

/// The state between two reads.
#[derive(Debug)]
pub struct Framing {
    place: Place,
    /// The line's bytes of earlier reads, at most [`LINE_KEPT_MAX`], and the last of them.
    kept: Vec<u8>,
    last: u8,
    empty_lines: u8,
    announced: Announced,
    /// Bytes announced by the chunks of this body.
    chunks: u64,
    body_max: u64,
}

impl Framing {
    /// The beginning of a connection; chunks may announce a body of at most `body_max` bytes.
    pub const fn new(body_max: u64) -> Framing {
        let announced = Announced { length: None, chunked: false };
        Framing {
            place: Place::Begin,
            kept: Vec::new(),
            last: 0,
            empty_lines: 0,
            announced,
            chunks: 0,
            body_max,
        }
    }

    /// Follows these bytes. If they may not be read to their end: how many may, and why.
    pub fn follow(&mut self, bytes: &mut [u8]) -> Result<(), (usize, Fault)> {
        let mut done = 0_usize;
        while let Some(rest) = bytes.get_mut(done..).filter(|rest| !rest.is_empty()) {
            let step = match self.place {
                Place::Sized(left, after) => Ok(self.pass(left, after, rest.len())),
                Place::ChunkSize(size) => self.digit(size, rest),
                _ => match memchr(b'\n', rest).and_then(|end| rest.get_mut(..=end)) {
                    None => Ok(self.keep(rest)),
                    Some(line) => {
                        let in_head = matches!(self.place, Place::Begin | Place::Headers);
                        let fault = if in_head { Fault::BadHead } else { Fault::Refused };
                        match self.line(line) {
                            Some(()) => Ok(line.len()),
                            None => Err((refuse(line), fault)),
                        }
                    }
                },
            };
            done = done.saturating_add(match step {
                Ok(step) => step,
                Err((step, fault)) => return Err((done.saturating_add(step), fault)),
            });
        }
        Ok(())
    }

    /// Whether the last request has arrived whole, and no other has begun.
    pub fn is_between_requests(&self) -> bool {
        self.place == Place::Begin && self.kept.is_empty()
    }

    /// Passes over bytes of known number; returns how many.
    fn pass(&mut self, left: u64, after: After, there: usize) -> usize {
        let step = usize::try_from(left).unwrap_or(usize::MAX).min(there);
        self.place = match (left.saturating_sub(step as u64), after) {
            (0, After::Request) => Place::Begin,
            (0, After::Chunk) => Place::ChunkSize(0),
            (left, after) => Place::Sized(left, after),
        };
        step
    }

    /// Keeps the beginning of a line; returns its length.
    fn keep(&mut self, part: &[u8]) -> usize {
        let room = LINE_KEPT_MAX.saturating_sub(self.kept.len()).min(part.len());
        self.kept.extend_from_slice(part.get(..room).unwrap_or_default());
        self.last = part.last().copied().unwrap_or(self.last);
        part.len()
    }

    /// One byte of a chunk's size. hyper checks whether there is a size at all.
    fn digit(&mut self, size: u64, rest: &[u8]) -> Result<usize, (usize, Fault)> {
        let digit = rest.first().and_then(|byte| char::from(*byte).to_digit(16));
        let Some(digit) = digit else {
            self.place = Place::ChunkExtension(size);
            return Ok(0);
        };
        let size = size.saturating_mul(16).saturating_add(digit.into());
        self.place = Place::ChunkSize(size);
        let fits = self.chunks.saturating_add(size) <= self.body_max;
        if fits { Ok(1) } else { Err((1, Fault::TooLarge)) }
    }

    /// A line that ends with these bytes, the LF included; `None` if it is refused.
    fn line(&mut self, end: &mut [u8]) -> Option<()> {
        let (mut line, last) = (mem::take(&mut self.kept), mem::take(&mut self.last));
        let before_lf = end.len().checked_sub(2).map_or(Some(&last), |at| end.get(at));
        if before_lf != Some(&b'\r') {
            return None;
        }
        let line: &[u8] = if line.is_empty() {
            end
        } else {
            line.extend_from_slice(end);
            &line
        };
        match self.place {
            Place::Begin if line == b"\r\n" => {
                self.empty_lines = self.empty_lines.saturating_add(1);
                if self.empty_lines > EMPTY_LINES_MAX {
                    return None;
                }
            }
            Place::Begin if line == HTTP_2 => return None,
            Place::Begin => {
                (self.place, self.empty_lines) = (Place::Headers, 0);
                (self.announced, self.chunks) = (Announced::default(), 0);
                lower_version(end);
            }
            Place::Headers if line == b"\r\n" => self.place = self.announced.body(),
            Place::Headers => self.announced.note(line)?,
            Place::ChunkExtension(0) => self.place = Place::Trailers,
            Place::ChunkExtension(size) => {
                self.chunks = self.chunks.saturating_add(size);
                self.place = Place::Sized(size.saturating_add(2), After::Chunk);
            }
            Place::Trailers if line == b"\r\n" => self.place = Place::Begin,
            Place::Trailers | Place::Sized(..) | Place::ChunkSize(_) => {}
        }
        Some(())
    }
}

impl Announced {
    /// Where the body begins.
    const fn body(self) -> Place {
        match self {
            Announced { chunked: true, .. } => Place::ChunkSize(0),
            Announced { length: None | Some(0), .. } => Place::Begin,
            Announced { length: Some(length), .. } => Place::Sized(length, After::Request),
        }
    }

    /// Notes what a header says of the body, as hyper will read it; `None` if it is refused.
    fn note(&mut self, line: &[u8]) -> Option<()> {
        let value = |name: &[u8]| {
            let (begin, value) = line.split_at_checked(name.len())?;
            begin.eq_ignore_ascii_case(name).then(|| value.trim_ascii())
        };
        // One that did not fit what is kept of a line is not read: it could say anything.
        let whole = line.len() <= LINE_KEPT_MAX;
        if let Some(length) = value(b"content-length:") {
            let digits = whole && !length.is_empty() && length.iter().all(u8::is_ascii_digit);
            let length = str::from_utf8(length).ok().filter(|_| digits);
            let length = length.and_then(|digits| digits.parse().ok())?;
            if self.length.is_some_and(|other| other != length) {
                return None;
            }
            self.length = Some(length);
        } else if let Some(codings) = value(b"transfer-encoding:") {
            let chunked = |coding: &[u8]| coding.trim_ascii().eq_ignore_ascii_case(b"chunked");
            let mut last_first = codings.rsplit(|byte| *byte == b',');
            let ends = last_first.next().is_some_and(chunked);
            if !whole || self.chunked || !ends || last_first.any(chunked) {
                return None;
            }
            self.chunked = true;
        }
        Some(())
    }
}

/// Makes the end of a line one that hyper refuses; returns the line's length.
const fn refuse(line: &mut [u8]) -> usize {
    if let Some(lf) = line.last_mut() {
        *lf = 0;
    }
    line.len()
}

/// Reads a higher minor version of HTTP/1 as the highest that we know (RFC 9110, 2.5). Does nothing
/// if the version arrived before its line's end.
fn lower_version(end: &mut [u8]) {
    if let Some([b'H', b'T', b'T', b'P', b'/', b'1', b'.', minor @ b'2'..=b'9', b'\r', b'\n']) =
        end.last_chunk_mut::<10>()
    {
        *minor = b'1';
    }
}

#[cfg(test)]
#[path = "../../tests/unit/http/framing.rs"]
mod tests;
