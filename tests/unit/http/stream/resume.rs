//! Unit tests of `src/http/stream/resume.rs`.

use super::*;
use engine::start::{self, Options, Running};
use exchange::command::Command;
use exchange::ids::UserNo;
use exchange::rules::Rules;
use exchange::units::Money;
use journal::memory::MemoryJournal;

/// Deposits of a venue: what is told of them is more than an outbox has room for.
const DEPOSITS: usize = 600;
/// More than one record tells here.
const RECORD_BYTES: usize = 2 << 10;

fn venue() -> Running {
    let running = start::start(MemoryJournal::new(), Options::default()).unwrap();
    let engine = running.engine();
    engine.ask(Command::OpenVenue(Rules::current())).unwrap();
    let (profile_name, profile_pic) = ("Ann".to_owned(), String::new());
    engine.ask(Command::CreateUser { profile_name, profile_pic }).unwrap();
    let deposit = Command::Deposit { user: UserNo(0), amount: Money::new(7) };
    let coming: Vec<_> = (0..DEPOSITS).map(|_| engine.begin(deposit.clone())).collect();
    for coming in coming {
        drop(coming.wait().unwrap());
    }
    running
}

/// Who comes back, and what was taken.
struct Back {
    from: Sequence,
    resuming: Resuming,
    taken: Vec<Arc<Message>>,
}

impl Back {
    fn from(resumers: &Resumers, engine: &Engine, from: Sequence) -> Result<Back, Problem> {
        let bell = Arc::new(Bell::here());
        let topics = vec![Topic::Journal, Topic::Account(UserNo(0))];
        let resuming = resumers.resume(engine, topics, from, &bell)?;
        Ok(Back { from, resuming, taken: Vec::new() })
    }

    /// Whether everything up to this record was taken.
    fn read(&mut self, head: Sequence) -> bool {
        let bytes = self.resuming.resumer.outbox.lock().bytes;
        assert!(bytes < OUTBOX_BYTES_MAX + RECORD_BYTES, "{bytes} bytes wait");
        match self.resuming.take(&mut self.taken, 10_000, None) {
            Taken::Messages(bytes) => assert!(bytes > 0),
            Taken::All(position) => return position >= head,
            Taken::Failed => panic!("the journal cannot be replayed"),
        }
        false
    }
}

fn read_all<'a>(all: impl Iterator<Item = &'a mut Back>, head: Sequence) {
    let mut left: Vec<&mut Back> = all.collect();
    while !left.is_empty() {
        left.retain_mut(|back| !back.read(head));
        std::thread::yield_now();
    }
}

#[test]
fn a_crowd_that_comes_back_at_once_is_served_in_bounded_memory() {
    let running = venue();
    let (engine, resumers) = (running.engine(), Resumers::default());
    let head = engine.watermark();
    let mut whole = Back::from(&resumers, &engine, Sequence::ZERO).unwrap();
    read_all(std::iter::once(&mut whole), head);
    let told = |back: &Back| -> Vec<_> {
        back.taken.iter().map(|message| (message.sequence, message.text.clone())).collect()
    };
    let expected = told(&whole);
    assert!(expected.len() > 2 * DEPOSITS);
    drop(whole);

    // Each from another record, as many as there is room for.
    let from = |place: usize| Sequence::new((place * 7 % DEPOSITS) as u64);
    let crowd = (0..RESUMERS_MAX).map(|place| Back::from(&resumers, &engine, from(place)).unwrap());
    let mut crowd: Vec<Back> = crowd.collect();
    let refused = Back::from(&resumers, &engine, Sequence::new(17)).err().unwrap();
    assert_eq!((refused.kind, refused.sequence), (Kind::ReplayBusy, Some(Sequence::new(17))));
    // Some do not read until the others are done.
    read_all(crowd.iter_mut().step_by(3), head);
    for (place, back) in crowd.iter().enumerate().filter(|(place, _)| place % 3 != 0) {
        let outbox = back.resuming.resumer.outbox.lock();
        assert!(outbox.bytes < OUTBOX_BYTES_MAX + RECORD_BYTES, "{place}: {}", outbox.bytes);
    }
    read_all(crowd.iter_mut(), head);
    for back in &crowd {
        let missed = expected.iter().filter(|(sequence, _)| *sequence > back.from);
        assert!(told(back).iter().eq(missed), "after {}", back.from);
    }
    drop(crowd);
    assert!(resumers.shared.waiting.lock().resumers.is_empty());
    drop(Back::from(&resumers, &engine, Sequence::ZERO).unwrap());
    running.stop().unwrap();
}

/// What was handed out counts as taken only with all of its record.
#[test]
fn one_that_goes_on_with_fewer_topics_goes_on_after_what_it_took() {
    let running = venue();
    let (engine, resumers) = (running.engine(), Resumers::default());
    let head = engine.watermark();
    let mut back = Back::from(&resumers, &engine, Sequence::new(3)).unwrap();
    while back.taken.is_empty() {
        back.read(head);
    }
    let (at, last) = (back.resuming.taken(), back.taken.last().unwrap().sequence);
    assert_eq!(at, last);
    let fewer = resumers.instead(&back.resuming, vec![Topic::Account(UserNo(0))]);
    let mut back = Back { from: at, resuming: fewer, taken: Vec::new() };
    read_all(std::iter::once(&mut back), head);
    assert_eq!(back.taken.first().unwrap().sequence, at.next());
    let ofs = |message: &Arc<Message>| message.text.starts_with(b"{\"channel\":\"account\"");
    assert!(back.taken.iter().all(ofs));
    running.stop().unwrap();
}
