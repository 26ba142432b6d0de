//! The demo's catalogue: parses the embedded data file into drafts for the exchange.

use chrono::{NaiveDate, NaiveTime};
use serde::Deserialize;

use exchange::catalogue::{CategoryDraft, EventDraft, Localized, MarketDraft};
use exchange::fees::Fees;
use exchange::ids::{CategoryNo, EventNo};
use exchange::units::{Tick, TimeMs};

/// Base URL of the demo's pictures. The domain is reserved (RFC 2606): nothing is fetched.
pub const ASSETS: &str = "https://assets.example.org";

/// Trading ends at the last second, UTC, of the day given in the data file.
const LAST_SECOND: (u32, u32, u32) = (23, 59, 59);

/// Why the embedded catalogue cannot be used; only a mistake in the data file can cause it.
#[derive(Debug, thiserror::Error)]
pub enum CatalogueError {
    /// The file does not match the types below.
    #[error("the demo's catalogue cannot be read: {0}")]
    Form(#[from] serde_json::Error),
    /// A category that the file does not list.
    #[error("the demo's catalogue has no category {0:?}")]
    UnknownCategory(String),
}

/// The whole data file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Catalogue {
    answers: Sides,
    /// Categories, in order of creation.
    pub categories: Vec<Category>,
    /// Events with their markets, in display order.
    pub events: Vec<Event>,
}

/// A category.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Category {
    /// Unique short name.
    pub slug: String,
    /// Display name. The interface has one text for it, so it holds all three languages.
    pub name: String,
}

/// An event and its markets.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Event {
    /// Unique short name; part of the picture's URL.
    pub slug: String,
    highlighted: bool,
    /// Whether at most one of its markets resolves yes.
    #[serde(default)]
    mutually_exclusive: bool,
    categories: Vec<String>,
    titles: Words,
    sub_titles: Words,
    descriptions: Words,
    /// Its markets.
    pub markets: Vec<Market>,
}

/// A market.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Market {
    /// Unique short name; part of the logo's URL.
    pub slug: String,
    highlighted: bool,
    /// Whether it stays unpublished.
    #[serde(default)]
    pub draft: bool,
    /// The recorded flow to play into it, as read by [`super::books::market_flow`].
    pub book: Option<String>,
    /// The quotes to place in it.
    pub quotes: Option<Quotes>,
    categories: Vec<String>,
    #[serde(deserialize_with = "end_of_day")]
    deadline: TimeMs,
    dispute_window_seconds: u32,
    outcomes: Option<Sides>,
    questions: Words,
    descriptions: Words,
}

/// The best quoted prices of yes.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Quotes {
    /// Best bid.
    #[serde(deserialize_with = "tick")]
    pub bid: Tick,
    /// Best ask.
    #[serde(deserialize_with = "tick")]
    pub ask: Tick,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Sides {
    yes: Words,
    no: Words,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Words {
    pt: String,
    en: String,
    es: String,
}

impl Words {
    fn localized(&self) -> Localized {
        Localized { pt: self.pt.clone(), en: self.en.clone(), es: self.es.clone() }
    }
}

impl Catalogue {
    /// The catalogue embedded in the binary.
    pub fn embedded() -> Result<Catalogue, CatalogueError> {
        Ok(serde_json::from_str(include_str!("catalogue.json"))?)
    }

    /// Every market, with the index of its event.
    pub fn markets(&self) -> impl DoubleEndedIterator<Item = (usize, &Market)> {
        let events = self.events.iter().enumerate();
        events.flat_map(|(index, event)| event.markets.iter().map(move |market| (index, market)))
    }

    /// The exchange's draft of an event; `categories` are the numbers of the file's, in file order.
    pub fn event_draft(
        &self,
        event: &Event,
        categories: &[CategoryNo],
    ) -> Result<EventDraft, CatalogueError> {
        Ok(EventDraft {
            titles: event.titles.localized(),
            sub_titles: event.sub_titles.localized(),
            descriptions: event.descriptions.localized(),
            images: vec![event.image()],
            highlighted: event.highlighted,
            categories: self.numbers(&event.categories, categories)?,
            mutually_exclusive: event.mutually_exclusive,
        })
    }

    /// The exchange's draft of a market; `categories` are the numbers of the file's, in file order.
    pub fn market_draft(
        &self,
        market: &Market,
        event: EventNo,
        categories: &[CategoryNo],
    ) -> Result<MarketDraft, CatalogueError> {
        let sides = market.outcomes.as_ref().unwrap_or(&self.answers);
        Ok(MarketDraft {
            questions: market.questions.localized(),
            descriptions: market.descriptions.localized(),
            yes_text: sides.yes.localized(),
            no_text: sides.no.localized(),
            logo: market.logo(),
            deadline: market.deadline,
            categories: self.numbers(&market.categories, categories)?,
            event: Some(event),
            highlighted: market.highlighted,
            dispute_window_seconds: market.dispute_window_seconds,
            fees: Fees::NONE,
        })
    }

    fn numbers(
        &self,
        slugs: &[String],
        categories: &[CategoryNo],
    ) -> Result<Vec<CategoryNo>, CatalogueError> {
        let number = |slug: &String| {
            let index = self.categories.iter().position(|category| category.slug == *slug);
            let number = index.and_then(|index| categories.get(index)).copied();
            number.ok_or_else(|| CatalogueError::UnknownCategory(slug.clone()))
        };
        slugs.iter().map(number).collect()
    }
}

impl Category {
    /// The exchange's draft of the category.
    pub fn draft(&self) -> CategoryDraft {
        CategoryDraft { name: self.name.clone(), slug: self.slug.clone() }
    }
}

impl Market {
    /// The logo's URL; unique per market, so it also identifies the market.
    pub fn logo(&self) -> String {
        format!("{ASSETS}/markets/{}.svg", self.slug)
    }
}

impl Event {
    /// The picture's URL; unique per event, so it also identifies the event.
    pub fn image(&self) -> String {
        format!("{ASSETS}/events/{}.jpg", self.slug)
    }
}

/// Reads a price such as `0.52`.
fn tick<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Tick, D::Error> {
    Tick::parse(&String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
}

/// Reads a day such as `2030-07-20` and returns its last second.
fn end_of_day<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<TimeMs, D::Error> {
    let text = String::deserialize(deserializer)?;
    let (hour, minute, second) = LAST_SECOND;
    let day = text.parse::<NaiveDate>().ok();
    day.zip(NaiveTime::from_hms_opt(hour, minute, second))
        .and_then(|(day, time)| TimeMs::new(day.and_time(time).and_utc().timestamp_millis()))
        .ok_or_else(|| serde::de::Error::custom(format!("not a day: {text:?}")))
}

#[cfg(test)]
#[path = "../../../tests/unit/cli/demo/texts.rs"]
mod tests;
