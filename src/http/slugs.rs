//! Slugs: what markets and events are called in addresses. A new one gets its slug from its English
//! words, and wherever a path or a query names one by its id, its slug does as well.

use std::borrow::Cow;

use uuid::Uuid;

use super::auth::Caller;
use super::parse::{Fault, Read, Written};
use engine::Engine;
use exchange::ids::{EventId, MarketId};
use exchange::rules::SLUG_BYTES_MAX;
use exchange::slugs::Slug;
use views::ReadModel;
use views::search::plain;

/// Words that stand in paths where a slug may stand.
const RESERVED: [&str; 2] = ["public", "search"];
/// Longest slug that words suggest: there is room for a number that tells it from others.
const SUGGESTED_BYTES_MAX: usize = SLUG_BYTES_MAX - 10;

/// The slug with this text, if a market or an event may have it.
fn offered(text: &str) -> Option<Slug> {
    Slug::new(text).filter(|_| !RESERVED.contains(&text))
}

impl Written for Slug {
    fn read(text: &str) -> Read<Slug> {
        let detail = "must be 1 to 80 small letters and digits, with single hyphens between them; \
                      no id, public or search";
        offered(text).ok_or_else(|| Fault::invalid(detail))
    }
}

/// The slug that a text suggests, or `kind` if it has no words in Latin letters: with a number if
/// that is not free.
pub fn suggested(text: &str, kind: &str, is_free: impl Fn(&Slug) -> bool) -> Option<Slug> {
    let plain = plain(text).replace('\'', "");
    let words = plain.split(|sign: char| !sign.is_ascii_alphanumeric());
    let mut slug = String::new();
    for word in words.filter(|word| !word.is_empty()) {
        let word = word.get(..SUGGESTED_BYTES_MAX).unwrap_or(word);
        if slug.len().saturating_add(word.len()) >= SUGGESTED_BYTES_MAX && !slug.is_empty() {
            break;
        }
        slug = if slug.is_empty() { word.to_owned() } else { format!("{slug}-{word}") };
    }
    let slug = if slug.is_empty() { kind } else { &slug };
    let numbered = (2_u32..).map(|number| Cow::Owned(format!("{slug}-{number}")));
    let texts = std::iter::once(Cow::Borrowed(slug)).chain(numbered);
    texts.filter_map(|text| offered(&text)).find(is_free)
}

/// Puts ids in the place of slugs in a request's path and query. What nothing is called that the
/// caller may see stays as it was written, which is no id.
pub fn replace(
    engine: &Engine,
    caller: &Caller,
    path: &mut [(String, String)],
    query: Option<String>,
) -> Option<String> {
    for (name, text) in path {
        let id = slug_in(name, text).and_then(|slug| id_of(&engine.read(), caller, name, &slug));
        if let Some(id) = id {
            *text = id.to_string();
        }
    }
    let asked = query?;
    if !asked.contains("marketId") {
        return Some(asked);
    }
    let parameters = form_urlencoded::parse(asked.as_bytes());
    let mut named = form_urlencoded::Serializer::new(String::new());
    let mut changed = false;
    for (name, text) in parameters {
        let ids = text
            .split(',')
            .map(|part| id_of(&engine.read(), caller, &name, &slug_in(&name, part)?));
        let ids: Vec<Option<Uuid>> = ids.collect();
        changed |= ids.iter().any(Option::is_some);
        let parts = text.split(',').zip(ids);
        let parts = parts.map(|(part, id)| id.map_or(part.to_owned(), |id| id.to_string()));
        named.append_pair(&name, &parts.collect::<Vec<_>>().join(","));
    }
    Some(if changed { named.finish() } else { asked })
}

/// The slug that stands where an id would.
fn slug_in(name: &str, text: &str) -> Option<Slug> {
    let names = matches!(name, "marketId" | "marketIds" | "eventId");
    if names { offered(text) } else { None }
}

/// The id of what is called like this, if the caller may see it.
fn id_of(view: &ReadModel, caller: &Caller, name: &str, slug: &Slug) -> Option<Uuid> {
    let all = caller.sees_drafts();
    if name == "eventId" {
        let row = view.catalogue.event_called(slug);
        return row
            .filter(|row| all || row.published_at.is_some())
            .map(|row| EventId::uuid(row.id));
    }
    let row = view.catalogue.market_called(slug);
    row.filter(|row| all || row.status.public()).map(|row| MarketId::uuid(row.id))
}

#[cfg(test)]
#[path = "../../tests/unit/http/slugs.rs"]
mod tests;
