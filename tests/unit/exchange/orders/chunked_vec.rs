//! Unit tests of `src/exchange/orders/chunked_vec.rs`.

use super::*;

/// Also in a clone; and no chunk grows too large.
#[test]
fn elements_keep_their_index_and_chunks_their_bound() {
    let mut chunks = ChunkedVec::default();
    for index in 0..CHUNK * 3 + 7 {
        assert_eq!((chunks.len(), chunks.get(index)), (index, None));
        chunks.push(index);
        if index % 700 == 0 {
            chunks = chunks.clone();
        }
    }
    for changed in [CHUNK, CHUNK + 700] {
        *chunks.get_mut(changed).unwrap() = 0;
    }
    let changed = |index| [CHUNK, CHUNK + 700].contains(&index);
    let expected = (0..CHUNK * 3 + 7).map(|index| if changed(index) { 0 } else { index });
    assert!(chunks.iter().copied().eq(expected.clone()));
    for (index, expected) in expected.enumerate() {
        assert_eq!(chunks.get(index), Some(&expected));
    }
    assert!(chunks.chunks.iter().all(|chunk| chunk.capacity() <= CHUNK));
    assert_eq!((chunks.get(chunks.len()), chunks.get(usize::MAX)), (None, None));
}
