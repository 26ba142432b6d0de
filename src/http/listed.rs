//! The body of an answer: sent whole, or, for a long list, serialised piece by piece as its reader
//! takes it. The rows of a list are copies from one state, so that they agree with the answer's
//! `Sequence`, and a slow reader holds no lock.

use std::fmt;
use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use serde::Serialize;
use tokio::sync::mpsc::Receiver;
use tokio::task::yield_now;

use super::packing::PackedList;
use super::unread_rows::RowReservation;
use super::wire::print::print;

/// Size of a piece, and most bytes serialised ahead of a list's reader: about twenty rows. What
/// fits one piece is sent whole, with its length.
pub const PIECE_BYTES_MAX: usize = 16 * 1024;
/// Pieces serialised before other tasks of the worker get a turn, however fast the reader is.
const PIECES_A_TURN: usize = 2;
/// The same of pieces that are compressed, which takes several times as long.
const PACKED_PIECES_A_TURN: usize = 1;

/// The body of an answer.
#[derive(Debug)]
pub enum Content {
    /// The whole body; empty if the status has no content.
    Whole(Bytes),
    /// A list longer than one piece.
    Listed(Box<Listed>),
    /// The same, gzipped.
    Packed(Box<PackedList>),
    /// Pieces that are sent as they come.
    Events(Receiver<Bytes>),
}

/// A partly serialised list, or several in one object.
pub struct Listed {
    printed: Vec<u8>,
    /// The lists that are not complete, the next one last: their rows, and the text after them.
    lists: Vec<(Box<dyn Rows>, Vec<u8>)>,
    /// Whether the next list has rows already.
    has_rows: bool,
    /// Pieces sent in this turn.
    sent: usize,
    /// The reservation of its waiting rows.
    reserved: Option<RowReservation>,
}

/// Rows still to be serialised.
pub trait Rows: Send {
    /// Writes the next row; false if there is none.
    fn print_next(&mut self, to: &mut Vec<u8>) -> serde_json::Result<bool>;

    /// Number of rows left.
    fn left(&self) -> usize;
}

impl<T: Serialize + Send> Rows for std::vec::IntoIter<T> {
    fn print_next(&mut self, to: &mut Vec<u8>) -> serde_json::Result<bool> {
        self.next().map_or(Ok(false), |row| print(to, &row).map(|()| true))
    }

    fn left(&self) -> usize {
        self.len()
    }
}

/// Why a list cannot be serialised.
#[derive(Debug, thiserror::Error)]
pub enum Unprinted {
    /// The surrounding object lacks the rows' member.
    #[error("the list has no member of this name that is empty")]
    NoPlace,
    /// A row or the surrounding object cannot be serialised.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
}

impl Content {
    /// Rows as the member `member` of `around`, which is serialised with that member empty.
    pub fn list<T: Serialize + Send + 'static>(
        around: &impl Serialize,
        member: &str,
        rows: Vec<T>,
    ) -> Result<Content, Unprinted> {
        Content::lists(around, vec![(member, Box::new(rows.into_iter()))])
    }

    /// Several lists as members of `around`, in the order of its members.
    pub fn lists(
        around: &impl Serialize,
        members: Vec<(&str, Box<dyn Rows>)>,
    ) -> Result<Content, Unprinted> {
        let mut printed = Vec::with_capacity(PIECE_BYTES_MAX);
        print(&mut printed, around)?;
        let mut lists = Vec::with_capacity(members.len());
        for (member, rows) in members.into_iter().rev() {
            // In a string value the quotes would be escaped: only a member's name can look like
            // this.
            let name = format!("\"{member}\":[");
            let empty = format!("{name}]");
            let mut places = printed.windows(empty.len());
            let place = places.position(|bytes| bytes == empty.as_bytes());
            let place = place.ok_or(Unprinted::NoPlace)?;
            lists.push((rows, printed.split_off(place.saturating_add(name.len()))));
        }
        let mut list = Listed { printed, lists, has_rows: false, sent: 0, reserved: None };
        list.print()?;
        if list.lists.is_empty() && list.printed.len() <= PIECE_BYTES_MAX {
            return Ok(Content::Whole(Bytes::from(list.printed)));
        }
        Ok(Content::Listed(Box::new(list)))
    }

    /// The number of waiting rows without a reservation; `None` if there are none.
    pub(super) fn uncounted(&self) -> Option<usize> {
        match self {
            Content::Listed(list) if list.reserved.is_none() => {
                Some(list.lists.iter().fold(0, |all, (rows, _)| rows.left().saturating_add(all)))
            }
            _ => None,
        }
    }

    /// Attaches the reservation of its rows; a body sent whole has no waiting rows.
    pub(super) fn count(&mut self, reserved: RowReservation) {
        if let Content::Listed(list) = self {
            list.reserved = Some(reserved);
        }
    }

    /// Whether the body is empty.
    pub fn is_empty(&self) -> bool {
        matches!(self, Content::Whole(bytes) if bytes.is_empty())
    }
}

impl Listed {
    /// Serialises rows until there is more than a piece, or all.
    fn print(&mut self) -> serde_json::Result<()> {
        while self.printed.len() <= PIECE_BYTES_MAX {
            let Some((rows, tail)) = self.lists.last_mut() else { break };
            let begins = self.printed.len();
            if self.has_rows {
                self.printed.push(b',');
            }
            self.has_rows = rows.print_next(&mut self.printed)?;
            if !self.has_rows {
                self.printed.truncate(begins);
                self.printed.extend_from_slice(tail);
                self.lists.pop();
            }
        }
        Ok(())
    }

    /// The next piece; `None` after the last. An error ends the connection.
    pub(super) fn piece(&mut self) -> io::Result<Option<Bytes>> {
        if self.reserved.as_ref().is_some_and(RowReservation::is_over) {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.print().map_err(io::Error::other)?;
        self.sent = self.sent.saturating_add(1);
        let rest = self.printed.split_off(self.printed.len().min(PIECE_BYTES_MAX));
        let piece = Bytes::from(std::mem::replace(&mut self.printed, rest));
        Ok(Some(piece).filter(|piece| !piece.is_empty()))
    }

    /// Whether other tasks should get a turn now; resets the count, so that the next call goes on.
    const fn turn_is_over(&mut self, most: usize) -> bool {
        let over = self.sent >= most;
        if over {
            self.sent = 0;
        }
        over
    }
}

impl fmt::Debug for Listed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Listed").field("printed", &self.printed).finish_non_exhaustive()
    }
}

/// Lets other tasks of the worker have their turns before this one goes on.
fn later<T>(cx: &mut Context<'_>) -> Poll<T> {
    // The runtime wakes it once it has looked at its sockets.
    let (Poll::Ready(()) | Poll::Pending) = pin!(yield_now()).poll(cx);
    Poll::Pending
}

impl Body for Content {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let over = match &mut *self {
            Content::Whole(_) => false,
            Content::Events(pieces) => {
                return pieces.poll_recv(cx).map(|piece| piece.map(|piece| Ok(Frame::data(piece))));
            }
            Content::Listed(list) => list.turn_is_over(PIECES_A_TURN),
            Content::Packed(packed) => packed.list_mut().turn_is_over(PACKED_PIECES_A_TURN),
        };
        if over {
            return later(cx);
        }
        let piece = match &mut *self {
            Content::Whole(bytes) => Ok(Some(std::mem::take(bytes)).filter(|all| !all.is_empty())),
            Content::Listed(list) => list.piece(),
            Content::Packed(list) => list.piece(),
            Content::Events(_) => Ok(None),
        };
        match piece {
            // Nothing came of compressing it yet, which is the end of a turn too.
            Ok(Some(piece)) if piece.is_empty() => later(cx),
            piece => Poll::Ready(piece.map(|piece| piece.map(Frame::data)).transpose()),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Content::Whole(bytes) => bytes.is_empty(),
            Content::Listed(list) => list.lists.is_empty() && list.printed.is_empty(),
            Content::Packed(list) => list.is_at_end(),
            Content::Events(_) => false,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Content::Whole(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Content::Listed(_) | Content::Packed(_) | Content::Events(_) => SizeHint::default(),
        }
    }
}

#[cfg(test)]
#[path = "../../tests/unit/http/listed.rs"]
mod tests;
