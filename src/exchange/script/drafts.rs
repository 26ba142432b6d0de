//! The default texts that follow from a name.

use sha2::{Digest, Sha256};

use super::super::catalogue::{EventDraft, Localized, MarketDraft};
use super::super::command::KeyHash;
use super::super::fees::Fees;
use super::super::units::TimeMs;

/// How long after its creation a market's trading ends unless its line says otherwise: a day.
const DEADLINE_SECONDS: u32 = 86_400;

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
