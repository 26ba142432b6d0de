//! Unit tests of `src/engine/batch_reply.rs`.

use super::*;

/// Submits `asked` commands and refuses those at these positions.
fn answers(asked: usize, refused: &[Range<usize>]) -> Vec<Refusal> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let mut batch = BatchReplies::new(Arc::default());
    let sink = (asked > 0).then(|| batch.reserve(asked));
    for positions in refused {
        let (positions, outcome) =
            (positions.clone(), CommandOutcome::Refused(Refusal::Overloaded));
        if let Some((sink, _)) = &sink
            && let Some(delivery) = sink.put(BatchPart { positions, outcome })
        {
            delivery.deliver();
        }
    }
    drop(sink);
    let answers = runtime.block_on(batch.came());
    answers.each().map(|answer| answer.unwrap_err()).collect()
}

#[test]
fn answers_come_together_whoever_is_last() {
    let overloaded = |outcome: &[Refusal]| -> Vec<bool> {
        outcome.iter().map(|outcome| *outcome == Refusal::Overloaded).collect()
    };
    assert!(answers(0, &[]).is_empty());
    assert_eq!(overloaded(&answers(3, &[1..3, 0..1])), [true; 3]);
    // One is never answered: the wait still ends, and the other outcomes are delivered.
    assert_eq!(overloaded(&answers(4, &[3..4, 0..2])), [true, true, false, true]);
}

#[test]
fn what_was_not_taken_in_is_refused_in_its_place() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let mut batch = BatchReplies::new(Arc::default());
    let (sink, first) = batch.reserve(5);
    assert_eq!(first, 0);
    batch.refuse_last(2, Refusal::TooLarge);
    batch.refuse_last(0, Refusal::TooLarge);
    let outcome = CommandOutcome::Refused(Refusal::Overloaded);
    assert!(sink.put(BatchPart { positions: 0..3, outcome }).is_none());
    let answers = runtime.block_on(batch.came());
    let refusals: Vec<Refusal> = answers.each().map(|answer| answer.unwrap_err()).collect();
    let [taken, not] = [Refusal::Overloaded, Refusal::TooLarge];
    assert_eq!(refusals, [taken, taken, taken, not, not]);
}
