//! The default texts that follow from a name, and the difference of a creation from them.

use sha2::{Digest, Sha256};

use super::super::catalogue::{EventDraft, EventRevision, Localized, MarketDraft, MarketRevision};
use super::super::command::KeyHash;
use super::super::fees::Fees;
use super::super::ids::EventNo;
use super::super::units::TimeMs;

/// How long after its creation a market's trading ends unless its line says otherwise: a day.
const DEADLINE_SECONDS: u32 = 86_400;

/// The parts of a market's line: what a revision can change, and what only a creation can set.
#[derive(Debug, Default)]
pub struct MarketParts {
    /// Texts, flags, deadline.
    pub revision: MarketRevision,
    /// The event that groups it.
    pub event: Option<EventNo>,
    /// Its dispute window.
    pub window_seconds: Option<u32>,
}

/// The same text in every language.
fn everywhere(text: &str) -> Localized {
    Localized { pt: text.to_owned(), en: text.to_owned(), es: text.to_owned() }
}

/// Default picture URL of a name.
pub fn picture(name: &str) -> String {
    format!("https://example.org/{name}.png")
}

/// Default key hash of a name.
pub fn key_hash(name: &str) -> KeyHash {
    KeyHash(Sha256::digest(name.as_bytes()).into())
}

/// Default event of a name.
pub fn event_draft(name: &str) -> EventDraft {
    EventDraft {
        titles: everywhere(name),
        sub_titles: everywhere(name),
        descriptions: everywhere(name),
        images: vec![picture(name)],
        highlighted: false,
        categories: Vec::new(),
        mutually_exclusive: false,
    }
}

/// Default market of a name, created at `now`.
pub fn market_draft(name: &str, now: TimeMs) -> MarketDraft {
    let words = |pt: &str, en: &str, es: &str| Localized {
        pt: pt.to_owned(),
        en: en.to_owned(),
        es: es.to_owned(),
    };
    MarketDraft {
        questions: everywhere(&format!("{name}?")),
        descriptions: everywhere(name),
        yes_text: words("Sim", "Yes", "S\u{ed}"),
        no_text: words("N\u{e3}o", "No", "No"),
        logo: picture(name),
        deadline: now.after_seconds(DEADLINE_SECONDS),
        categories: Vec::new(),
        event: None,
        highlighted: false,
        dispute_window_seconds: 0,
        fees: Fees::NONE,
    }
}

/// The revision that turns `base` into `draft`.
pub fn event_difference(base: &EventDraft, draft: &EventDraft) -> EventRevision {
    EventRevision {
        titles: changed(&base.titles, &draft.titles),
        sub_titles: changed(&base.sub_titles, &draft.sub_titles),
        descriptions: changed(&base.descriptions, &draft.descriptions),
        images: changed(&base.images, &draft.images),
        highlighted: changed(&base.highlighted, &draft.highlighted),
        categories: changed(&base.categories, &draft.categories),
    }
}

/// The parts that turn `base` into `draft`.
pub fn market_difference(base: &MarketDraft, draft: &MarketDraft) -> MarketParts {
    let revision = MarketRevision {
        questions: changed(&base.questions, &draft.questions),
        descriptions: changed(&base.descriptions, &draft.descriptions),
        yes_text: changed(&base.yes_text, &draft.yes_text),
        no_text: changed(&base.no_text, &draft.no_text),
        logo: changed(&base.logo, &draft.logo),
        deadline: changed(&base.deadline, &draft.deadline),
        categories: changed(&base.categories, &draft.categories),
        highlighted: changed(&base.highlighted, &draft.highlighted),
        maker_fee: changed(&base.fees.maker, &draft.fees.maker),
        taker_fee: changed(&base.fees.taker, &draft.fees.taker),
    };
    let window_seconds = changed(&base.dispute_window_seconds, &draft.dispute_window_seconds);
    MarketParts { revision, event: draft.event, window_seconds }
}

fn changed<T: Clone + PartialEq>(base: &T, value: &T) -> Option<T> {
    (base != value).then(|| value.clone())
}
