//! Unit tests of `src/http/stream/hub.rs`.

use std::task::{Context, Poll, Waker};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::*;
use crate::auth::Caller;
use crate::auth::Via;
use crate::stream::channel::Channel;
use crate::stream::message::{Message, Slow};
use engine::start::{Options, Running, start};
use exchange::command::{Command, Role};
use exchange::ids::{KeyNo, UserNo};
use exchange::rules::Rules;
use exchange::units::Sequence;
use journal::memory::MemoryJournal;

fn venue() -> (Running, Arc<Hub>) {
    let running = start(MemoryJournal::new(), Options::default()).unwrap();
    running.engine().ask(Command::OpenVenue(Rules::current())).unwrap();
    (running, Arc::default())
}

fn listening(running: &Running, hub: &Arc<Hub>, channel: &str) -> Listening {
    let operator = Caller {
        user: UserNo(0),
        via: Via::Key(KeyNo(0)),
        role: Role::Operator,
        as_of: Sequence::ZERO,
        keys_as_of: Sequence::ZERO,
    };
    let mut listening = hub.listen(&running.engine()).unwrap();
    let asked = listening.subscribe(&operator, &[Channel::parse(channel).unwrap()], None);
    assert!(asked.iter().all(Result::is_ok));
    listening
}

/// Reads until there are so many messages.
fn read(listening: &mut Listening, count: usize) -> Result<Vec<Arc<Message>>, Slow> {
    let (mut into, began) = (Vec::new(), Instant::now());
    let mut cx = Context::from_waker(Waker::noop());
    while into.len() < count {
        if let Poll::Ready(delivered) = listening.poll_messages(&mut cx, &mut into, 1000) {
            delivered?;
        }
        assert!(began.elapsed() < Duration::from_mins(1));
        sleep(Duration::from_millis(1));
    }
    Ok(into)
}

/// What happens when the matcher could not pass on what it saw.
#[test]
fn readers_go_on_anew_after_a_loss() {
    let (running, hub) = venue();
    let mut of_journal = listening(&running, &hub, "journal");
    let mut of_markets = listening(&running, &hub, "markets");
    let began = running.engine().watermark();
    read(&mut of_journal, 1).unwrap();
    read(&mut of_markets, 1).unwrap();
    let lost = running.engine().ask(Command::AdvanceClock).unwrap().sequence();
    hub.shared.sent.store(lost.get(), Ordering::SeqCst);
    hub.shared.lost.store(lost.get(), Ordering::SeqCst);
    // The hub finds it with the next task.
    let mut later = listening(&running, &hub, "journal");
    read(&mut later, 1).unwrap();
    let anew = read(&mut of_markets, 1).unwrap();
    let text = String::from_utf8(anew.first().unwrap().text.to_vec()).unwrap();
    assert!(text.contains("\"conflated\":true"), "{text}");
    let slow = read(&mut of_journal, 9).unwrap_err();
    assert!((began..=lost).contains(&slow.sequence), "{slow:?}");
    // Whoever came after it misses nothing.
    let next = running.engine().ask(Command::AdvanceClock).unwrap().sequence();
    assert_eq!(read(&mut later, 1).unwrap().first().unwrap().sequence, next);
}

#[test]
fn nothing_is_wanted_before_anybody_listens_nor_long_after() {
    let (running, hub) = venue();
    assert!(!hub.shared.watched.any());
    let listening = listening(&running, &hub, "journal");
    assert!(hub.shared.watched.any());
    drop(listening);
    hub.shared.sweep(|ring| ring.lock().readers.is_empty());
    assert!(!hub.shared.watched.any());
}
