//! Unit tests of `src/http/stream/turn.rs`.

use bytes::Bytes;
use crossbeam_channel::unbounded;

use super::*;
use engine::start::{Options, Running, start};
use exchange::ids::UserNo;
use journal::memory::MemoryJournal;

fn turns(shared: &Arc<Shared>) -> (Turns, Running) {
    let running = start(MemoryJournal::new(), Options::default()).unwrap();
    (Turns::new(Arc::clone(shared), unbounded(), running.engine()), running)
}

#[test]
fn all_rings_together_have_a_bound_and_the_oldest_message_goes_first() {
    let shared = Arc::new(Shared::default());
    let (mut turns, _running) = turns(&shared);
    let bell = Arc::new(Bell::default());
    let text = Bytes::from(vec![b' '; 1 << 20]);
    let rings: Vec<Arc<Ring>> = (0..100)
        .map(|user| {
            let topic = Topic::Account(UserNo(user));
            let (ring, _) = shared.register(topic, &bell, Sequence::ZERO, None);
            let (order, sequence) = (u64::from(user) + 1, Sequence::new(u64::from(user) + 1));
            let message = Message { sequence, order, market: None, text: text.clone() };
            turns.append(topic, Arc::clone(&ring), Arc::new(message));
            ring
        })
        .collect();
    let held = |ring: &Arc<Ring>| ring.lock().held() > 0;
    let full = usize::try_from(ALL_RINGS_BYTES_MAX >> 20).unwrap();
    assert_eq!(rings.iter().filter(|ring| held(ring)).count(), full);
    assert!(rings.iter().skip(rings.len() - full).all(held));
    assert_eq!(turns.bytes, ALL_RINGS_BYTES_MAX);
}
