//! Unit tests of `src/http/listed.rs`.

use std::task::Waker;

use proptest::prelude::*;

use super::*;
use crate::wire::printed;

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
    std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(&*packed), &mut plain).unwrap();
    assert_eq!(plain, whole);
}

fn left_of(content: &Content) -> usize {
    match content {
        Content::Packed(packed) => packed.list().lists.iter().map(|(rows, _)| rows.left()).sum(),
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
