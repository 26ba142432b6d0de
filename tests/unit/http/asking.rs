//! Unit tests of `src/http/asking.rs`.

use super::*;
use engine::start::{Options, start};
use exchange::command::Command;
use exchange::rules::Rules;
use journal::memory::MemoryJournal;

/// Tells a caller of four commands of these outcomes; what it makes of them.
fn heard(told: Vec<(Range<usize>, Outcome)>) -> Vec<Refusal> {
    let engine = start(MemoryJournal::new(), Options::default()).unwrap().engine();
    let state = SeveralState { parts: Vec::new(), missing: 4, bell: Bell::default() };
    let several = Arc::new(Several { state: Mutex::new(state), mailbox: None });
    let mut asking = AskingSeveral { answers: SeveralAnswers::Alone(Arc::clone(&several)), engine };
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        for (positions, outcome) in told {
            let pending =
                std::future::poll_fn(|cx| Poll::Ready(Pin::new(&mut asking).poll(cx).is_pending()));
            assert!(pending.await, "it waits for all");
            let waker = several.hear(positions, outcome);
            let all = several.state.lock().missing == 0;
            assert_eq!(waker.map(Waker::wake).is_some(), all, "woken once, when all are there");
        }
        asking.await.each().map(Result::unwrap_err).collect()
    })
}

#[test]
fn answers_come_together_whoever_is_last() {
    let (overloaded, too_large) = (Refusal::Overloaded, Refusal::TooLarge);
    let refused = |refusal| Outcome::Refused(refusal);
    let told = vec![(3..4, refused(too_large)), (0..2, refused(overloaded)), (2..3, Outcome::Lost)];
    let came = heard(told);
    assert_eq!((came[0], came[1], came[3]), (overloaded, overloaded, too_large));
    assert!(matches!(came[2], Refusal::OutcomeUnknown(_)), "{:?}", came[2]);
}

#[test]
fn a_look_that_is_asked_for_is_what_the_answer_brings() {
    let running = start(MemoryJournal::new(), Options::default()).unwrap();
    let engine = running.engine();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let opened = ask(&engine, Command::OpenVenue(Rules::current()), |view, applied| {
            (view.watermark(), applied.sequence)
        });
        let (answer, (watermark, sequence)) = opened.await.unwrap();
        assert_eq!((answer.sequence(), watermark), (sequence, sequence));
        running.stop().unwrap();
        let late = ask(&engine, Command::AdvanceClock, |_, _| ());
        assert_eq!(late.await.unwrap_err(), Refusal::Stopping);
    });
}
