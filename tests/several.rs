//! Batches that one caller submits together: their order, their answers and their bound.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on stops")]

use engine::pending::Refusal;
use engine::start::{Options, Running, start};
use engine::{Engine, INTAKE_MAX};
use exchange::command::{Command, KeyedCommand};
use exchange::effect::Effect;
use exchange::ids::UserNo;
use exchange::rules::Rules;
use exchange::units::{Money, Sequence};
use http::asking::{Outcomes, ask_several};
use journal::memory::MemoryJournal;
use journal::record::RECORD_BYTES_MAX;

fn create_user(name: &str) -> Command {
    let (profile_name, profile_pic) = (name.to_owned(), "https://h/p.png".to_owned());
    Command::CreateUser { profile_name, profile_pic }
}

fn deposit(units: usize) -> KeyedCommand {
    let amount = Money::new(i64::try_from(units).unwrap());
    Command::Deposit { user: UserNo(0), amount }.into()
}

fn opened() -> (Running, Engine) {
    let running = start(MemoryJournal::new(), Options::default()).unwrap();
    let engine = running.engine();
    engine.ask(Command::OpenVenue(Rules::current())).unwrap();
    engine.ask(create_user("ann")).unwrap();
    (running, engine)
}

fn available(engine: &Engine) -> usize {
    let user = UserNo(0);
    usize::try_from(engine.read().accounts.user(user).unwrap().balance.available.get()).unwrap()
}

/// Commands keep their order across several blocks, and each has its own answer.
#[tokio::test]
async fn each_command_of_a_batch_is_answered_in_order() {
    const EACH: usize = 2000;
    let (running, engine) = opened();
    let too_large = create_user(&"x".repeat(RECORD_BYTES_MAX));
    let too_much = Command::Withdraw { user: UserNo(0), amount: Money::new(i64::MAX) };
    let asked = [too_large, too_much].map(|last| {
        let all = (1..=EACH).map(deposit).chain([last.into()]);
        ask_several(&engine, all.collect())
    });
    assert_eq!(ask_several(&engine, Vec::new()).await.each().count(), 0);
    let mut answers = Vec::new();
    for asked in asked {
        answers.push(asked.await);
    }
    let came: Vec<_> = answers.iter().flat_map(Outcomes::each).collect();
    assert_eq!(came.len(), 2 * (EACH + 1));
    let mut sequence = Sequence::new(2);
    for (place, came) in came.into_iter().enumerate() {
        if place == EACH {
            assert_eq!(came.unwrap_err(), Refusal::TooLarge);
            continue;
        }
        let applied = came.unwrap();
        sequence = sequence.next();
        assert_eq!(applied.sequence, sequence, "{place}");
        let refused = matches!(applied.effects, [Effect::Refused(_)]);
        assert_eq!(refused, place == 2 * EACH + 1, "{place}");
    }
    assert_eq!(available(&engine), EACH * (EACH + 1));
    running.stop().unwrap();
}

#[tokio::test]
async fn each_command_of_a_batch_counts_against_the_intake() {
    const TOGETHER: usize = 128;
    let (running, engine) = opened();
    let (asked, mut asking) = (16 * INTAKE_MAX, Vec::new());
    {
        // A reader holds up the projector, and so the sequencer.
        let _reading = engine.read();
        for _ in 0..asked / TOGETHER {
            asking.push(ask_several(&engine, (0..TOGETHER).map(|_| deposit(1)).collect()));
            assert!(engine.intake_waiting() <= INTAKE_MAX, "the intake has no bound");
        }
        let alone = (0..=INTAKE_MAX).find_map(|_| {
            let one = engine.begin(deposit(1)).now();
            assert!(engine.intake_waiting() <= INTAKE_MAX, "the intake has no bound");
            one.map(Result::unwrap_err)
        });
        assert_eq!(alone, Some(Refusal::Overloaded));
    }
    let mut refused = Vec::new();
    for asking in asking {
        refused.extend(asking.await.each().filter_map(Result::err));
    }
    assert!(!refused.is_empty() && refused.iter().all(|refusal| *refusal == Refusal::Overloaded));
    let taken = available(&engine);
    assert!((asked - refused.len()..=asked - refused.len() + INTAKE_MAX).contains(&taken));
    assert_eq!((engine.intake_waiting(), running.stop().unwrap().halted), (0, None));
}
