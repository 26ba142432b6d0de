//! What the demo trades, in the exchange's [text form](exchange::script): `catalogue.script` opens
//! the venue and says what becomes of its questions, at times counted from the venue's beginning.

use super::SeedError;
use super::pictures::Pictures;
use exchange::command::Command;
use exchange::ids::CategoryNo;
use exchange::rules::Rules;
use exchange::script;
use exchange::units::TimeMs;

const CATALOGUE: &str = include_str!("catalogue.script");

const DAY_MS: i64 = 24 * 3_600_000;
/// Deadlines within so many days of the script's beginning move with it; later ones are dates that
/// their questions name.
const DAYS_OF_THE_DEMO: i64 = 90;

/// A moment so much later, or earlier; the first or last one where there is none.
pub(crate) fn later(time: TimeMs, ms: i64) -> TimeMs {
    let moment = time.get().saturating_add(ms).clamp(0, TimeMs::MAX.get());
    TimeMs::new(moment).unwrap_or(TimeMs::MAX)
}

/// The commands of a venue that began at this time, each with its own.
///
/// # Errors
/// The script is wrong.
pub(crate) fn commands(
    began: TimeMs,
    pictures: &Pictures,
) -> Result<Vec<(TimeMs, Command)>, SeedError> {
    let records = script::parse(CATALOGUE)?;
    let base = records.first().map(|record| record.time).unwrap_or_default();
    let since = |time: TimeMs| time.get().saturating_sub(base.get());
    let moment = |time: TimeMs| later(began, since(time));
    let (mut slugs, mut markets) = (Vec::new(), 0_u32);
    let mut told = Vec::with_capacity(records.len());
    for record in records {
        let command = match record.command {
            Command::OpenVenue(_) => Command::OpenVenue(Rules::current()),
            Command::CreateUser { profile_name, .. } => {
                let profile_pic = pictures.of_person(&profile_name);
                Command::CreateUser { profile_name, profile_pic }
            }
            Command::CreateCategory(draft) => {
                slugs.push(draft.slug.clone());
                Command::CreateCategory(draft)
            }
            Command::CreateEvent(mut draft) => {
                draft.images =
                    vec![pictures.of(family(&slugs, &draft.categories), &draft.titles.en)];
                Command::CreateEvent(draft)
            }
            Command::CreateMarket(mut draft) => {
                let seed = format!("m{markets}");
                markets = markets.saturating_add(1);
                draft.logo = pictures.of(family(&slugs, &draft.categories), &seed);
                if since(draft.deadline) < DAYS_OF_THE_DEMO * DAY_MS {
                    draft.deadline = moment(draft.deadline);
                } else {
                    draft.deadline =
                        to_come(draft.deadline, later(began, DAYS_OF_THE_DEMO * DAY_MS));
                }
                Command::CreateMarket(draft)
            }
            other => other,
        };
        told.push((moment(record.time), command));
    }
    Ok(told)
}

/// The slug of the first category.
fn family<'a>(slugs: &'a [String], categories: &[CategoryNo]) -> &'a str {
    let first = categories.first().and_then(|category| slugs.get(category.index()));
    first.map_or("venue", String::as_str)
}

/// A date, or one some years later that is not before `first`.
fn to_come(date: TimeMs, first: TimeMs) -> TimeMs {
    let year = 365 * DAY_MS;
    let behind = first.get().saturating_sub(date.get()).max(0);
    let years = behind.saturating_add(year - 1) / year;
    later(date, years.saturating_mul(year))
}

#[cfg(test)]
#[path = "../../../tests/unit/cli/demo/script.rs"]
mod tests;
