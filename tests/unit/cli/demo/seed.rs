//! Unit tests of `src/cli/demo/seed.rs`.

use super::*;
use crate::cli::demo::venue;
use exchange::catalogue::CategoryDraft;
use exchange::command::Role;
use exchange::units::{MONEY_PER_UNIT, Sequence};

/// Asserts that the read model holds a complete demo.
fn assert_whole(engine: &Engine) {
    let catalogue = Catalogue::embedded().unwrap();
    let model = engine.read();
    assert_eq!(model.catalogue.categories().len(), catalogue.categories.len());
    assert_eq!(model.catalogue.events_created().count(), catalogue.events.len());
    assert_eq!(model.catalogue.events_published().count(), catalogue.events.len());
    let markets = catalogue.markets().count();
    let drafts = catalogue.markets().filter(|(_, market)| market.draft).count();
    assert_eq!(model.catalogue.markets_created().count(), markets);
    assert_eq!(model.catalogue.markets_published().count(), markets - drafts);

    let first = &model.catalogue.markets_published().next().unwrap().draft;
    assert_eq!(first.logo, catalogue.markets().next().unwrap().1.logo());

    let people = Person::all().map(|person| {
        let key = model.accounts.key_by_hash(&person.key_hash()).unwrap();
        assert_eq!(key.role, person.role);
        model.accounts.user(key.user).unwrap()
    });
    for user in people {
        let trader = *user.profile_name != *OPERATOR.name;
        assert!(user.balance.available > Money::ZERO);
        assert_eq!(model.positions.count(user.no), usize::from(trader));
        assert_eq!(model.orders.count(user.no), 2 * usize::from(trader));
        assert_eq!(model.orders.open_of(user.no).count(), usize::from(trader));
    }
    let names: Vec<_> = model.accounts.users_newest_first().map(|u| &u.profile_name).collect();
    assert_eq!(names.iter().collect::<std::collections::BTreeSet<_>>().len(), names.len());
}

fn assert_books_live(engine: &Engine) {
    let model = engine.read();
    for (market, _) in with_flow(&model, &Catalogue::embedded().unwrap()) {
        assert!(model.depth.last_trade(market).is_some(), "{market:?}");
        let bids = model.depth.levels(market, Direction::Up).count();
        let asks = model.depth.levels(market, Direction::Down).count();
        assert!(bids >= 3 && asks >= 3, "{market:?}: {bids} bids, {asks} asks");
    }
    assert_field_quoted(&model);
}

/// Asserts that an event of mutually exclusive markets is quoted consistently: buying no
/// contracts of two of them leaves a user able to convert them.
fn assert_field_quoted(model: &ReadModel) {
    let mut events = model.catalogue.events_published();
    let event = events.find(|row| row.draft.mutually_exclusive).unwrap();
    let field = model.field(event).unwrap();
    let (bid, ask) = (field.bid.unwrap(), field.ask.unwrap());
    let one = Money::new(MONEY_PER_UNIT);
    assert!(event.markets.len() >= 3 && bid < one && ask > one, "{bid} {ask}");
    for market in &event.markets {
        for direction in [Direction::Up, Direction::Down] {
            assert_eq!(model.depth.levels(*market, direction).count(), 3);
        }
    }
}

#[tokio::test]
async fn an_empty_venue_becomes_the_demo_and_is_then_left_alone() {
    let engine = venue().await;
    assert!(!is_a_demo(&engine.read()));
    let Seeded::Made(seeding) = seed(&engine).await.unwrap() else { panic!("not empty") };
    assert!(is_a_demo(&engine.read()));
    assert_eq!(seeding.markets_past, 0);
    assert!(seeding.commands_played > 5_000);
    assert_whole(&engine);
    assert_books_live(&engine);

    let sequence = engine.read().watermark();
    assert_eq!(seed(&engine).await.unwrap(), Seeded::Already);
    assert_eq!(engine.read().watermark(), sequence);
}

#[tokio::test]
async fn a_start_cut_short_anywhere_is_finished_by_the_next() {
    let whole = venue().await;
    seed(&whole).await.unwrap();
    for steps in [0, 3, 5, 6, 7] {
        let engine = venue().await;
        make_some(&engine, steps).await.unwrap();
        let Seeded::Finished(done) = seed(&engine).await.unwrap() else { panic!("{steps}") };
        // All books were played; only the steps after that show that playing had finished.
        let books = with_flow(&engine.read(), &Catalogue::embedded().unwrap()).len();
        assert_eq!(done.books_cut, if steps == 5 { books } else { 0 }, "{steps}");
        assert_whole(&engine);
        assert_books_live(&engine);
        let users = |engine: &Engine| engine.read().accounts.users_count();
        assert_eq!(users(&engine), users(&whole), "{steps}");
    }
}

/// Runs the first `steps` steps of seeding.
async fn make_some(engine: &Engine, steps: u32) -> Result<(), SeedError> {
    let catalogue = Catalogue::embedded()?;
    let operator = people(engine, &[OPERATOR]).await?;
    if steps >= 1 {
        keys(engine, &[OPERATOR], &operator).await?;
    }
    if steps >= 2 {
        categories(engine, &catalogue).await?;
    }
    if steps >= 3 {
        let categories = categories(engine, &catalogue).await?;
        let events = events(engine, &catalogue, &categories).await?;
        markets(engine, &catalogue, &categories, &events).await?;
    }
    if steps >= 4 {
        publish(engine, &catalogue).await?;
    }
    if steps >= 5 {
        play(engine, &catalogue).await?;
    }
    if steps >= 6 {
        let quoter = Wanted { name: quotes::QUOTER.to_owned(), money: BOOKKEEPER_MONEY };
        let quoter = users(engine, &[quoter]).await?;
        let markets = quoted(&engine.read(), &catalogue);
        quotes::place(engine, quoter[0], &markets[..1]).await?;
    }
    if steps >= 7 {
        let traders = people(engine, &TRADERS).await?;
        keys(engine, &TRADERS[..1], &traders).await?;
    }
    Ok(())
}

#[tokio::test]
async fn a_venue_that_is_not_a_demo_is_not_touched() {
    let stranger = Command::CreateUser {
        profile_name: OPERATOR.name.to_owned(),
        profile_pic: "https://example.org/olga.png".to_owned(),
    };
    let draft = CategoryDraft { name: "Rain".to_owned(), slug: "rain".to_owned() };
    for command in [stranger, Command::CreateCategory(draft)] {
        let engine = venue().await;
        submit_sure(&engine, vec![command]).await.unwrap();
        let sequence = engine.read().watermark();
        assert!(matches!(seed(&engine).await, Err(SeedError::NotADemo)));
        assert_eq!(engine.read().watermark(), sequence);
    }
}

#[tokio::test]
async fn a_revoked_key_stays_revoked() {
    let engine = venue().await;
    seed(&engine).await.unwrap();
    let key = engine.read().accounts.key_by_hash(&TRADERS[3].key_hash()).unwrap().no;
    let user = engine.read().accounts.key(key).unwrap().user;
    submit_sure(&engine, vec![Command::RevokeKey { user, key }]).await.unwrap();
    assert_eq!(seed(&engine).await.unwrap(), Seeded::Already);
    assert!(engine.read().accounts.key_by_hash(&TRADERS[3].key_hash()).is_none());
}

#[tokio::test]
async fn a_refused_command_is_an_error() {
    let engine = venue().await;
    let key = Command::AddKey {
        user: UserNo(7),
        role: Role::Trader,
        label: String::new(),
        hash: TRADERS[0].key_hash(),
    };
    let error = submit_sure(&engine, vec![key]).await.unwrap_err();
    let SeedError::Refused { sequence, reject } = error else { panic!("{error}") };
    assert_eq!(reject, Reject::UserNotFound);
    assert!(sequence > Sequence::ZERO);
}
