//! Unit tests of `src/cli/demo/stage.rs`.

use super::*;
use crate::cli::bootstrap::bootstrap;
use crate::cli::demo::people::Person;
use crate::cli::demo::venue;
use exchange::command::Command;
use exchange::ids::UserNo;
use journal::memory::MemoryJournal;

fn plain() -> engine::Engine {
    let options = engine::start::Options::default();
    let engine = engine::start::start(MemoryJournal::new(), options).unwrap().engine();
    bootstrap(&engine, None, |_| true).unwrap();
    engine
}

#[test]
fn a_demo_is_known_by_its_keys_also_once_they_are_revoked() {
    let engine = venue();
    assert!(is_a_demo(&engine.read()) && check(&engine.read()).is_ok());
    assert!(has_a_crowd(&engine.read()) && !has_a_crowd(&plain().read()));
    for person in Person::all() {
        let key = engine.read().accounts.key_by_hash(&person.key_hash()).unwrap().no;
        let user = engine.read().accounts.key(key).unwrap().user;
        engine.ask(Command::RevokeKey { user, key }).unwrap();
    }
    assert!(is_a_demo(&engine.read()) && check(&engine.read()).is_ok());
}

#[test]
fn a_venue_and_the_beginning_of_another_demo_are_told_apart() {
    let engine = plain();
    assert!(!is_a_demo(&engine.read()));
    assert!(matches!(check(&engine.read()), Err(SeedError::NotADemo)));
    let (role, label, hash) = (OPERATOR.role, "demo".to_owned(), OPERATOR.key_hash());
    engine.ask(Command::AddKey { user: UserNo(0), role, label, hash, ends: None }).unwrap();
    assert!(is_a_demo(&engine.read()));
    assert!(matches!(check(&engine.read()), Err(SeedError::OfAnother(_))));
}
