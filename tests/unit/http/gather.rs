//! Unit tests of `src/http/gather.rs`.

use super::*;
use crate::asking::{ask, ask_only, ask_several};
use engine::start::{Options, start};
use exchange::command::Command;
use exchange::rules::Rules;
use exchange::units::Sequence;
use journal::memory::MemoryJournal;

fn user(number: usize) -> Command {
    let profile_pic = "https://h/p.png".to_owned();
    Command::CreateUser { profile_name: format!("user {number}"), profile_pic }
}

#[test]
fn what_is_asked_in_a_turn_keeps_its_order_and_each_has_its_own_answer() {
    let running = start(MemoryJournal::new(), Options::default()).unwrap();
    let engine = running.engine();
    engine.ask(Command::OpenVenue(Rules::current())).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let holds = Holds::default();
        let before = engine.watermark();
        let (first, looked, several, last) = turn(&engine, &holds, None, || {
            let first = ask_only(&engine, user(1));
            let looked =
                ask(&engine, user(2), |view, applied| (view.watermark(), applied.sequence));
            let several = ask_several(&engine, vec![user(3).into(), user(4).into()]);
            let last = ask_only(&engine, user(5));
            assert_eq!(engine.intake_waiting(), 0, "nothing is submitted before the end");
            (first, looked, several, last)
        });
        // In another order than they were asked in.
        let last = last.await.unwrap().0.sequence();
        let several = several.await;
        let several: Vec<_> = several.each().map(|one| one.unwrap().sequence).collect();
        let (answer, (watermark, seen)) = looked.await.unwrap();
        assert_eq!((watermark, seen), (answer.sequence(), answer.sequence()));
        let all =
            [first.await.unwrap().0.sequence(), answer.sequence(), several[0], several[1], last];
        let expected: Vec<u64> = (1..=5).map(|after| before.get() + after).collect();
        assert_eq!(all.map(Sequence::get).to_vec(), expected);
        let alone = ask_only(&engine, user(6)).await.unwrap().0.sequence();
        assert_eq!(alone.get(), before.get() + 6, "outside of a turn it is submitted at once");
    });
}

#[test]
fn what_was_asked_is_submitted_even_if_the_turn_panics() {
    let running = start(MemoryJournal::new(), Options::default()).unwrap();
    let engine = running.engine();
    engine.ask(Command::OpenVenue(Rules::current())).unwrap();
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        turn(&engine, &Holds::default(), None, || {
            drop(ask_only(&engine, user(1)));
            panic!("a turn");
        })
    }));
    assert!(panicked.is_err());
    let after = engine.ask(user(2)).unwrap();
    assert_eq!(after.sequence().get(), 3, "it came first");
}

#[test]
fn a_hold_lasts_as_long_as_it_is_kept() {
    let running = start(MemoryJournal::new(), Options::default()).unwrap();
    let holds = Holds::default();
    assert!(hold().is_none(), "outside of a turn nobody waits");
    let held = turn(&running.engine(), &holds, None, hold);
    assert!(holds.any());
    drop(held);
    assert!(!holds.any());
}
