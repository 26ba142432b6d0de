//! Unit tests of `src/http/stream/connection.rs`.

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Wake, Waker};

use tokio::io::{AsyncWriteExt, DuplexStream, ReadBuf, duplex};

use super::*;
use crate::auth::Credential;
use crate::connection_slots::ConnectionSlots;
use crate::door::Door;
use crate::keys::ApiKey;
use crate::limits::Limits;
use engine::Engine;
use engine::start::{Options, Running, start};
use exchange::command::{Command, Role};
use exchange::ids::UserNo;
use exchange::rules::Rules;
use journal::memory::MemoryJournal;

/// A connection of an operator, and its client's side.
fn opened() -> (Running, Connection<DuplexStream>, DuplexStream) {
    let running = start(MemoryJournal::new(), Options::default()).unwrap();
    let engine = running.engine();
    let hash = ApiKey::draw().unwrap().hash();
    let (profile_name, profile_pic) = ("op".to_owned(), String::new());
    let (user, role, label) = (UserNo(0), Role::Operator, "k".to_owned());
    for command in [
        Command::OpenVenue(Rules::current()),
        Command::CreateUser { profile_name, profile_pic },
        Command::AddKey { user, role, label, hash, ends: None },
    ] {
        engine.ask(command).unwrap();
    }
    let door = Arc::new(Door::new(running.engine(), Limits::STANDARD).unwrap());
    let slot = ConnectionSlots::new(64).take(None::<&Engine>, false).unwrap().slot;
    let key = Credential { hash, by_cookie: false };
    let session = Some(Session::open(key, &engine, door.shared(), None).unwrap());
    let write_wait = Duration::from_secs(30);
    let (near, far) = duplex(1 << 16);
    let beginning = Beginning { door, engine, slot, session, write_wait };
    (running, Connection::open(beginning, near, &[]), far)
}

/// What came since it was last looked.
fn came(connection: &mut Connection<DuplexStream>, far: &mut DuplexStream) -> String {
    let mut cx = Context::from_waker(Waker::noop());
    assert!(connection.poll(&mut cx).is_pending());
    let mut bytes = [0; 1 << 12];
    let mut bytes = ReadBuf::new(&mut bytes);
    if Pin::new(far).poll_read(&mut cx, &mut bytes).is_pending() {
        return String::new();
    }
    String::from_utf8_lossy(bytes.filled()).into_owned()
}

#[test]
fn one_that_catches_up_is_told_in_time_how_far_it_is_and_at_once_when_it_has_everything() {
    let (running, mut connection, mut far) = opened();
    let head = running.engine().watermark();
    let heartbeat = format!(r#"{{"kind":"heartbeat","sequence":{head}"#);
    // The record up to which it catches up is not there.
    connection.catching_up = Some(head.next());
    assert!(came(&mut connection, &mut far).contains("welcome"));
    for _ in 0..2 {
        assert_eq!(came(&mut connection, &mut far), "");
        connection.beat_at = Instant::now();
        assert!(!connection.look());
        assert!(came(&mut connection, &mut far).contains(&heartbeat));
    }
    connection.catching_up = Some(head);
    assert!(came(&mut connection, &mut far).contains(&heartbeat));
    assert_eq!(came(&mut connection, &mut far), "");
}

#[test]
fn a_reader_is_stuck_that_takes_nearly_nothing_and_not_one_that_is_slow() {
    let wait = Duration::from_secs(30);
    let since = Instant::now();
    let at = |seconds| since + Duration::from_secs(seconds);
    let judge = |bytes_a_second: u64| {
        let mut blocked = Blocked { since, written: 7 };
        (1..200).find(|second| blocked.is_stuck(7 + second * bytes_a_second, at(*second), wait))
    };
    assert_eq!(judge(1000), None, "it never takes all that there is");
    assert_eq!(judge(1), Some(30));
    assert_eq!(judge(0), Some(30));
    // One that stops is noticed in the same time.
    let mut blocked = Blocked { since, written: 0 };
    assert!(!blocked.is_stuck(1 << 20, at(30), wait));
    assert!(blocked.is_stuck(1 << 20, at(60), wait));
}

#[tokio::test]
async fn what_waits_for_a_command_goes_on_when_that_was_refused_at_once() {
    struct Woken(AtomicBool);
    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.store(true, Ordering::SeqCst);
        }
    }
    let (_running, mut connection, mut far) = opened();
    let mut sent = Vec::new();
    for text in [
        r#"{"id":"first","op":"place","body":{"clientOrderId":"a"}}"#,
        r#"{"id":"second","op":"cancel","clientOrderId":"a"}"#,
        r#"{"id":"third","op":"ping"}"#,
    ] {
        sent.extend([0x81, 0x80 | u8::try_from(text.len()).unwrap(), 0, 0, 0, 0]);
        sent.extend(text.as_bytes());
    }
    far.write_all(&sent).await.unwrap();
    let woken = Arc::new(Woken(AtomicBool::new(true)));
    let waker = Waker::from(Arc::clone(&woken));
    let mut cx = Context::from_waker(&waker);
    while woken.0.swap(false, Ordering::SeqCst) {
        assert!(connection.poll(&mut cx).is_pending());
    }
    let mut bytes = vec![0; 1 << 16];
    let mut bytes = ReadBuf::new(&mut bytes);
    assert!(Pin::new(&mut far).poll_read(&mut cx, &mut bytes).is_ready());
    let told = String::from_utf8_lossy(bytes.filled());
    for id in ["first", "second", "third"] {
        assert!(told.contains(&format!(r#""id":"{id}""#)), "{id} is not answered: {told}");
    }
}
