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
use tokio::task::yield_now;

use super::packing::PackedList;
use super::unread_rows::RowReservation;
use super::wire::print::{Unprintable, print};

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
    fn print_next(&mut self, to: &mut Vec<u8>) -> Result<bool, Unprintable>;

    /// Number of rows left.
    fn left(&self) -> usize;
}

impl<T: Serialize + Send> Rows for std::vec::IntoIter<T> {
    fn print_next(&mut self, to: &mut Vec<u8>) -> Result<bool, Unprintable> {
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
    Json(#[from] Unprintable),
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
    fn print(&mut self) -> Result<(), Unprintable> {
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
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Content::Whole(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Content::Listed(_) | Content::Packed(_) => SizeHint::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use proptest::prelude::*;

    use super::*;
    use crate::wire::print::printed;

    #[derive(Serialize)]
    struct Page {
        by: &'static str,
        rows: Vec<String>,
        total: usize,
    }

    /// Strings that look like the empty member.
    const BY: &str = r#"\"rows\":[]"#;

    fn page(rows: Vec<String>) -> Page {
        Page { by: BY, total: rows.len(), rows }
    }

    fn listed(mut page: Page) -> Content {
        let rows = std::mem::take(&mut page.rows);
        Content::list(&page, "rows", rows).unwrap()
    }

    /// The pieces of an answer, and whether its length was known before.
    fn pieces(mut content: Content) -> (Vec<Bytes>, bool) {
        let exact = content.size_hint().exact().is_some();
        let (mut pieces, mut cx) = (Vec::new(), Context::from_waker(std::task::Waker::noop()));
        let mut in_a_row = 0;
        loop {
            match Pin::new(&mut content).poll_frame(&mut cx) {
                Poll::Ready(Some(frame)) => {
                    pieces.push(frame.unwrap().into_data().unwrap());
                    in_a_row += 1;
                    assert!(in_a_row <= PIECES_A_TURN, "nobody else has a turn");
                }
                Poll::Ready(None) => break,
                Poll::Pending => {
                    assert!(in_a_row > 0, "nothing goes on");
                    in_a_row = 0;
                }
            }
        }
        assert!(content.is_end_stream());
        (pieces, exact)
    }

    proptest! {
        #[test]
        fn pieces_are_bounded_and_together_the_whole(
            sizes in prop::collection::vec(
                prop_oneof![8 => 0..400_usize, 1 => 0..40_000_usize],
                0..90,
            )
        ) {
            let rows: Vec<String> = sizes.iter().map(|size| "\"".repeat(*size / 2)).collect();
            let whole = printed(&page(rows.clone()), 0).unwrap();
            let (pieces, exact) = pieces(listed(page(rows)));
            prop_assert_eq!(exact, whole.len() <= PIECE_BYTES_MAX);
            prop_assert!(pieces.iter().all(|piece| piece.len() <= PIECE_BYTES_MAX));
            prop_assert!(pieces.iter().rev().skip(1).all(|piece| piece.len() == PIECE_BYTES_MAX));
            prop_assert_eq!(pieces.concat(), whole);
        }
    }

    /// Rows that compress to almost nothing, so that few bytes come of much work.
    #[test]
    fn compressing_is_counted_by_what_goes_in() {
        let whole = printed(&page(vec!["x".repeat(1000); 2000]), 0).unwrap();
        let Content::Listed(list) = listed(page(vec!["x".repeat(1000); 2000])) else {
            panic!("it is long")
        };
        let mut content = Content::Packed(Box::new(PackedList::new(*list)));
        let (mut packed, mut turns, mut cx) = (Vec::new(), 0, Context::from_waker(Waker::noop()));
        loop {
            let before = left_of(&content);
            match Pin::new(&mut content).poll_frame(&mut cx) {
                Poll::Ready(Some(frame)) => {
                    packed.push(frame.unwrap().into_data().unwrap());
                    assert!(!packed.last().unwrap().is_empty(), "an empty chunk would end it");
                }
                Poll::Ready(None) => break,
                Poll::Pending => turns += 1,
            }
            let worked = before - left_of(&content);
            assert!(worked <= 1 + PIECE_BYTES_MAX / 1000, "{worked} rows in one turn");
        }
        assert!(turns >= whole.len() / PIECE_BYTES_MAX / PACKED_PIECES_A_TURN, "{turns}");
        let mut plain = Vec::new();
        let packed = packed.concat();
        std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(&*packed), &mut plain)
            .unwrap();
        assert_eq!(plain, whole);
    }

    fn left_of(content: &Content) -> usize {
        match content {
            Content::Packed(packed) => {
                packed.list().lists.iter().map(|(rows, _)| rows.left()).sum()
            }
            _ => 0,
        }
    }

    #[test]
    fn several_lists_follow_each_other_in_one_object() {
        #[derive(Serialize)]
        struct Two {
            few: Vec<u32>,
            many: Vec<String>,
            none: Vec<u32>,
        }
        for count in [0, 1, 5000] {
            let many: Vec<String> = (0..count).map(|row| row.to_string()).collect();
            let two = Two { few: vec![1, 2], many, none: vec![] };
            let whole = printed(&two, 0).unwrap();
            let Two { few, many, none } = two;
            let around = Two { few: vec![], many: vec![], none: vec![] };
            let lists: Vec<(&str, Box<dyn Rows>)> = vec![
                ("few", Box::new(few.into_iter())),
                ("many", Box::new(many.into_iter())),
                ("none", Box::new(none.into_iter())),
            ];
            let content = Content::lists(&around, lists).unwrap();
            assert_eq!(pieces(content).0.concat(), whole);
        }
    }

    #[test]
    fn what_fits_one_piece_is_sent_whole_and_nothing_is_beside_it() {
        let spare = PIECE_BYTES_MAX - printed(&page(vec![String::new()]), 0).unwrap().len();
        for (size, whole) in [(spare - 1, true), (spare, true), (spare + 1, false)] {
            let (pieces, exact) = pieces(listed(page(vec!["x".repeat(size)])));
            assert_eq!((exact, pieces.len()), (whole, if whole { 1 } else { 2 }));
        }
        assert_eq!(pieces(listed(page(vec![]))).0.len(), 1);
    }

    #[test]
    fn no_more_is_printed_than_its_reader_takes() {
        let rows = vec!["x".repeat(1000); 1000];
        let Content::Listed(mut list) = listed(page(rows)) else { panic!("it is long") };
        while list.piece().unwrap().is_some() {
            assert!(list.printed.len() <= 1003, "{}", list.printed.len());
        }
    }

    #[test]
    fn a_list_without_a_place_for_its_rows_is_refused() {
        let around = page(vec!["one".to_owned()]);
        let refused = Content::list(&around, "rows", vec![0]);
        assert!(matches!(refused, Err(Unprinted::NoPlace)));
    }
}
