//! Unit tests of `src/journal/replay/hasher_thread.rs`.

use super::*;
use exchange::results::ResultsHash;

/// Blocks of any number of pieces, none and empty ones included, singly and many at a time,
/// have the same hashes as inline.
#[test]
fn what_is_hashed_beside_is_what_is_hashed_here() {
    let large = vec![7; BATCH_BYTES];
    let blocks: [&[&[u8]]; 7] = [
        &[b"a"],
        &[b"b", b"c", b"d"],
        &[],
        &[b""],
        &[b"e", &large, b"f"],
        &[&large],
        &[b"g", b"", b"h"],
    ];
    let began = Results { through: Sequence::new(7), hash: ResultsHash([1; 32]) };
    for together in [1, 3, 2 * BATCH_BLOCKS] {
        let mut inline = ResultsChain::resume(began);
        let mut threaded = HasherThread::start(began).unwrap();
        let (mut bytes, mut expected) = (Buffer::default(), Vec::new());
        for (through, block) in (8..).map(Sequence::new).zip(blocks.iter().cycle()).take(1_000) {
            for piece in *block {
                inline.update(piece);
                bytes.append(piece);
                threaded.take(&mut bytes);
                assert!(bytes.len() < BATCH_BYTES);
            }
            threaded.end(&mut bytes, through);
            expected.push(inline.end(through));
            if expected.len() == together {
                for expected in expected.drain(..) {
                    assert_eq!(threaded.next(&mut bytes, true), Some(expected));
                }
            }
        }
        for expected in expected {
            assert_eq!(threaded.next(&mut bytes, true), Some(expected));
        }
        assert_eq!(threaded.next(&mut bytes, false), None);
    }
}
