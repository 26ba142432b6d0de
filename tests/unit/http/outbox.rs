//! Unit tests of `src/http/outbox.rs`.

use super::*;
use engine::start::{Options, start};
use exchange::command::Command;
use exchange::rules::Rules;
use journal::memory::MemoryJournal;

#[test]
fn commands_wait_for_whoever_empties_the_box_and_keep_their_order() {
    let running = start(MemoryJournal::new(), Options::default()).unwrap();
    let engine = running.engine();
    engine.ask(Command::OpenVenue(Rules::current())).unwrap();
    let asked = |count: usize| {
        let answers = (0..count).map(|_| {
            let (sender, answer) = crossbeam_channel::bounded(1);
            submit(&engine, vec![Command::AdvanceClock.into()], Arc::new(sender));
            answer
        });
        answers.collect::<Vec<_>>()
    };
    let at_once = asked(1);
    assert!(at_once[0].recv().is_ok(), "nobody empties this thread's box");
    emptied_by(Waker::noop());
    let before = engine.watermark();
    let waiting = asked(3);
    assert_eq!((engine.intake_waiting(), engine.watermark()), (0, before));
    empty();
    let came: Vec<_> = waiting.iter().map(|one| one.recv().unwrap().unwrap().sequence()).collect();
    assert!(came.is_sorted(), "{came:?}");
    let full = asked(WAITING_MAX);
    assert!(full.iter().all(|one| one.recv().is_ok()), "a full box is emptied");
}
