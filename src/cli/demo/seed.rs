//! Seeds a new venue with the demo. Each step checks what exists and creates only what is missing,
//! so the next start completes an interrupted one.

use rustc_hash::FxHashMap;

use engine::Engine;
use exchange::command::{Command, Direction, KeyHash};
use exchange::effect::Effect;
use exchange::ids::{CategoryNo, EventNo, KeyNo, MarketNo, UserNo};
use exchange::lifecycle::MarketStatus;
use exchange::reject::Reject;
use exchange::units::Money;
use views::ReadModel;

use super::people::{BOOKKEEPER_MONEY, OPERATOR, Person, TRADERS, bookkeeper_name, picture};
use super::pipeline::{expect_done, submit_all, submit_sure};
use super::texts::{Catalogue, Market, Quotes};
use super::{SeedError, bets, books, quotes};

/// What seeding found or did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seeded {
    /// The demo was already complete.
    Already,
    /// The demo was created.
    Made(Seeding),
    /// An interrupted seeding was completed.
    Finished(Seeding),
}

/// What seeding did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seeding {
    /// Recorded commands played into books.
    pub commands_played: usize,
    /// Markets left out because their deadline has passed.
    pub markets_past: usize,
    /// Books that an interrupted start was still filling; they stay as they are.
    pub books_cut: usize,
}

/// How much of the demo a venue contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Empty,
    Begun,
    Whole,
    Foreign,
}

/// Creates the demo in an empty venue, completes an interrupted one, leaves a complete one alone.
///
/// # Errors
/// The venue is not a demo, or the engine stopped.
pub async fn seed(engine: &Engine) -> Result<Seeded, SeedError> {
    let stage = stage(&engine.read());
    match stage {
        Stage::Whole => Ok(Seeded::Already),
        Stage::Foreign => Err(SeedError::NotADemo),
        Stage::Empty => Ok(Seeded::Made(make(engine).await?)),
        Stage::Begun => Ok(Seeded::Finished(make(engine).await?)),
    }
}

/// Classifies a venue. The demo creates its operator first and the last trader's key last. A venue
/// that holds only the regular operator, as every start creates it, still counts as empty.
fn stage(model: &ReadModel) -> Stage {
    if TRADERS.last().is_some_and(|last| has_key(model, last.key_hash())) {
        return Stage::Whole;
    }
    let operator = picture(OPERATOR.name);
    let mut users = model.accounts.users_newest_first();
    if has_key(model, OPERATOR.key_hash()) || users.any(|user| *user.profile_pic == *operator) {
        return Stage::Begun;
    }
    let nothing_listed = model.catalogue.categories().is_empty()
        && model.catalogue.events_created().next().is_none()
        && model.catalogue.markets_created().next().is_none();
    if nothing_listed && model.accounts.users_count() <= 1 { Stage::Empty } else { Stage::Foreign }
}

/// Whether the journal holds a venue that is not a demo and has more in it than a start creates.
pub fn is_foreign(model: &ReadModel) -> bool {
    stage(model) == Stage::Foreign
}

/// Whether the journal holds the demo's public keys: then the server must listen on loopback only,
/// even without `--demo`.
pub fn is_a_demo(model: &ReadModel) -> bool {
    matches!(stage(model), Stage::Whole | Stage::Begun)
}

/// Whether a key with this hash was ever added; revoked ones count.
fn has_key(model: &ReadModel, hash: KeyHash) -> bool {
    let mut keys = (0..).map_while(|number| model.accounts.key(KeyNo(number)));
    keys.any(|key| key.hash == hash)
}

async fn make(engine: &Engine) -> Result<Seeding, SeedError> {
    let catalogue = Catalogue::embedded()?;
    let operator = people(engine, &[OPERATOR]).await?;
    keys(engine, &[OPERATOR], &operator).await?;
    let categories = categories(engine, &catalogue).await?;
    let events = events(engine, &catalogue, &categories).await?;
    let markets_past = markets(engine, &catalogue, &categories, &events).await?;
    publish(engine, &catalogue).await?;
    let (commands_played, books_cut) = play(engine, &catalogue).await?;
    quote(engine, &catalogue).await?;
    let traders = people(engine, &TRADERS).await?;
    // Bind first: a read guard in the call below would block the projector that the call waits for.
    let markets = with_flow(&engine.read(), &catalogue);
    let markets: Vec<MarketNo> = markets.into_iter().map(|(market, _)| market).collect();
    bets::place(engine, &traders, &markets).await?;
    keys(engine, &TRADERS, &traders).await?;
    Ok(Seeding { commands_played, markets_past, books_cut })
}

/// A user that must exist, with a deposit.
struct Wanted {
    name: String,
    money: Money,
}

async fn people(engine: &Engine, people: &[Person]) -> Result<Vec<UserNo>, SeedError> {
    let wanted = |person: &Person| Wanted { name: person.name.to_owned(), money: person.money() };
    users(engine, &people.iter().map(wanted).collect::<Vec<_>>()).await
}

/// Creates the missing users, and deposits for those without money or positions.
async fn users(engine: &Engine, wanted: &[Wanted]) -> Result<Vec<UserNo>, SeedError> {
    let existing = users_by_picture(&engine.read());
    let missing = wanted.iter().filter(|user| !existing.contains_key(&picture(&user.name)));
    let create = |user: &Wanted| Command::CreateUser {
        profile_name: user.name.clone(),
        profile_pic: picture(&user.name),
    };
    submit_sure(engine, missing.map(create).collect()).await?;
    let existing = users_by_picture(&engine.read());
    let number = |user: &Wanted| {
        let number = existing.get(&picture(&user.name)).copied();
        number.ok_or_else(|| SeedError::Vanished(format!("user {}", user.name)))
    };
    let numbers = wanted.iter().map(number).collect::<Result<Vec<_>, _>>()?;
    let deposits = deposits(&engine.read(), wanted, &numbers);
    submit_sure(engine, deposits).await?;
    Ok(numbers)
}

/// Users by picture URL, which identifies each demo user.
fn users_by_picture(model: &ReadModel) -> FxHashMap<String, UserNo> {
    let users = model.accounts.users_newest_first();
    users.map(|user| (user.profile_pic.to_string(), user.no)).collect()
}

fn deposits(model: &ReadModel, wanted: &[Wanted], numbers: &[UserNo]) -> Vec<Command> {
    let untouched = |user: UserNo| {
        let row = model.accounts.user(user);
        row.is_some_and(|row| {
            row.balance.available == Money::ZERO && row.balance.reserved == Money::ZERO
        }) && model.positions.count(user) == 0
    };
    let users = wanted.iter().zip(numbers).filter(|(_, user)| untouched(**user));
    users.map(|(wanted, user)| Command::Deposit { user: *user, amount: wanted.money }).collect()
}

/// Adds the keys that are missing.
async fn keys(engine: &Engine, people: &[Person], users: &[UserNo]) -> Result<(), SeedError> {
    let commands = {
        let model = engine.read();
        let both = people.iter().zip(users);
        let missing = both.filter(|(person, _)| !has_key(&model, person.key_hash()));
        let add = |(person, user): (&Person, &UserNo)| Command::AddKey {
            user: *user,
            role: person.role,
            label: "demo".to_owned(),
            hash: person.key_hash(),
        };
        missing.map(add).collect()
    };
    submit_sure(engine, commands).await?;
    Ok(())
}

/// Creates the missing categories and returns the numbers of all, in file order.
async fn categories(engine: &Engine, catalogue: &Catalogue) -> Result<Vec<CategoryNo>, SeedError> {
    let find = |model: &ReadModel, slug: &str| {
        let mut rows = model.catalogue.categories().iter();
        rows.find(|row| *row.slug == *slug).map(|row| row.no)
    };
    let commands = {
        let model = engine.read();
        let missing = catalogue.categories.iter().filter(|own| find(&model, &own.slug).is_none());
        missing.map(|category| Command::CreateCategory(category.draft())).collect()
    };
    submit_sure(engine, commands).await?;
    let model = engine.read();
    let number = |slug: &String| {
        find(&model, slug).ok_or_else(|| SeedError::Vanished(format!("category {slug}")))
    };
    catalogue.categories.iter().map(|category| number(&category.slug)).collect()
}

/// Creates the missing events and returns the numbers of all, in file order.
async fn events(
    engine: &Engine,
    catalogue: &Catalogue,
    categories: &[CategoryNo],
) -> Result<Vec<EventNo>, SeedError> {
    let find = |model: &ReadModel, image: &String| {
        let mut rows = model.catalogue.events_created();
        rows.find(|row| row.draft.images.first() == Some(image)).map(|row| row.no)
    };
    let mut commands = Vec::new();
    for event in &catalogue.events {
        if find(&engine.read(), &event.image()).is_none() {
            let draft = catalogue.event_draft(event, categories)?;
            commands.push(Command::CreateEvent(Box::new(draft)));
        }
    }
    submit_sure(engine, commands).await?;
    let model = engine.read();
    let number = |image: String| {
        find(&model, &image).ok_or_else(|| SeedError::Vanished(format!("event {image}")))
    };
    catalogue.events.iter().map(|event| number(event.image())).collect()
}

/// Creates the missing markets and returns how many were refused because their deadline has passed.
async fn markets(
    engine: &Engine,
    catalogue: &Catalogue,
    categories: &[CategoryNo],
    events: &[EventNo],
) -> Result<usize, SeedError> {
    let existing = markets_by_logo(&engine.read());
    let mut commands = Vec::new();
    for (index, market) in catalogue.markets() {
        if !existing.contains_key(&market.logo()) {
            let event = events.get(index).copied();
            let event = event.ok_or_else(|| SeedError::Vanished(format!("event {index}")))?;
            let draft = catalogue.market_draft(market, event, categories)?;
            commands.push(Command::CreateMarket(Box::new(draft)));
        }
    }
    let mut past: usize = 0;
    for answer in submit_all(engine, commands).await? {
        match answer.effects().first() {
            Some(Effect::Refused(Reject::DeadlineNotInFuture)) => past = past.saturating_add(1),
            _ => expect_done(&answer)?,
        }
    }
    Ok(past)
}

/// Publishes all markets that are not drafts, the file's first market last: lists show the newest
/// first.
async fn publish(engine: &Engine, catalogue: &Catalogue) -> Result<(), SeedError> {
    let commands = {
        let existing = markets_by_logo(&engine.read());
        let public = catalogue.markets().rev().filter(|(_, market)| !market.draft);
        let found = public.filter_map(|(_, market)| existing.get(&market.logo()));
        let hidden = found.filter(|(_, status)| *status == MarketStatus::Draft);
        hidden.map(|(market, _)| Command::PublishMarket { market: *market }).collect()
    };
    submit_sure(engine, commands).await?;
    Ok(())
}

/// Plays recorded flow into the markets that need a book and have none. Returns the number of
/// commands played, and of books that an interrupted start may have left incomplete.
async fn play(engine: &Engine, catalogue: &Catalogue) -> Result<(usize, usize), SeedError> {
    let (untouched, begun) = {
        let model = engine.read();
        let empty = |market: MarketNo| {
            let side = |direction| model.depth.best(market, direction).is_none();
            let traded = model.depth.last_trade(market).is_some();
            side(Direction::Up) && side(Direction::Down) && !traded
        };
        let (untouched, begun): (Vec<_>, Vec<_>) =
            with_flow(&model, catalogue).into_iter().partition(|(market, _)| empty(*market));
        // The quoter is created only after all flow has been played.
        let played = users_by_picture(&model).contains_key(&picture(quotes::QUOTER));
        (untouched, if played { 0 } else { begun.len() })
    };
    if begun > 0 {
        // Warn now: after another interruption this can no longer be detected.
        tracing::warn!(
            books = begun,
            "an earlier start was cut off while it played orders into these books, which may lack \
             some; delete the data directory for a whole demo"
        );
    }
    let recording = books::recording()?;
    let market_flow =
        |(market, book): (MarketNo, &str)| books::market_flow(&recording, market, book);
    let flows = untouched.into_iter().map(market_flow).collect::<Result<Vec<_>, _>>()?;
    let mut accounts: Vec<_> = flows.iter().flat_map(books::MarketFlow::accounts).collect();
    accounts.sort_unstable();
    accounts.dedup();
    let wanted: Vec<Wanted> = accounts
        .iter()
        .map(|account| Wanted { name: bookkeeper_name(account.0), money: BOOKKEEPER_MONEY })
        .collect();
    let numbers = users(engine, &wanted).await?;
    let played = books::play(engine, flows, accounts.into_iter().zip(numbers)).await?;
    Ok((played, begun))
}

/// Places the quotes of the markets that have some.
async fn quote(engine: &Engine, catalogue: &Catalogue) -> Result<(), SeedError> {
    let quoter = Wanted { name: quotes::QUOTER.to_owned(), money: BOOKKEEPER_MONEY };
    let markets = quoted(&engine.read(), catalogue);
    for user in users(engine, &[quoter]).await? {
        quotes::place(engine, user, &markets).await?;
    }
    Ok(())
}

/// The active markets with recorded flow, in file order, each with the name of its flow.
fn with_flow<'a>(model: &ReadModel, catalogue: &'a Catalogue) -> Vec<(MarketNo, &'a str)> {
    active(model, catalogue, |market| market.book.as_deref())
}

/// The active markets with quotes, in file order.
fn quoted<'a>(model: &ReadModel, catalogue: &'a Catalogue) -> Vec<(MarketNo, &'a Quotes)> {
    active(model, catalogue, |market| market.quotes.as_ref())
}

/// The active markets for which `of` returns a value, in file order.
fn active<'a, T>(
    model: &ReadModel,
    catalogue: &'a Catalogue,
    of: impl Fn(&'a Market) -> Option<T>,
) -> Vec<(MarketNo, T)> {
    let existing = markets_by_logo(model);
    let found = catalogue.markets().filter_map(|(_, market)| {
        let (number, status) = existing.get(&market.logo())?;
        (*status == MarketStatus::Active).then_some((*number, of(market)?))
    });
    found.collect()
}

fn markets_by_logo(model: &ReadModel) -> FxHashMap<String, (MarketNo, MarketStatus)> {
    let markets = model.catalogue.markets_created();
    markets.map(|row| (row.draft.logo.clone(), (row.no, row.status))).collect()
}

#[cfg(test)]
#[path = "../../../tests/unit/cli/demo/seed.rs"]
mod tests;
