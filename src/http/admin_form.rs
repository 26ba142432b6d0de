//! The bodies of the operator's events and markets, new and revised.

use super::bounds::{
    CATEGORIES_MAX, DESCRIPTION_CHARS_MAX, DISPUTE_WINDOW_SECONDS_MAX, IMAGES_MAX,
    OUTCOME_CHARS_MAX, TITLE_CHARS_MAX,
};
use super::json::Json;
use super::members::{
    Checked, Deadline, Faults, Given, Members, Several, Translated, UpTo, bodies, called, elements,
    lacking,
};
use super::parse::{Fault, Prose, WebUrl, Words};
use super::problem::FieldCode;
use exchange::catalogue::{
    EventDraft, EventRevision, Localized, MarketDraft, MarketRevision, Outcome,
};
use exchange::fees::{FeeRate, Fees};
use exchange::ids::{CategoryId, EventId};
use exchange::slugs::Slug;

/// Titles or questions.
type Titles = Translated<Words<TITLE_CHARS_MAX>>;
/// Subtitles, which may be empty.
type SubTitles = Translated<Prose<TITLE_CHARS_MAX>>;
/// Descriptions, which may be empty.
type Descriptions = Translated<Prose<DESCRIPTION_CHARS_MAX>>;
/// URLs of pictures.
type Images = Several<WebUrl, 0, IMAGES_MAX>;
/// Ids of categories.
type Categories = Several<CategoryId, 0, CATEGORIES_MAX>;

bodies! {
    /// A new event.
    struct NewEvent {
        required {
            "titles" => titles: Titles,
            "subTitles" => sub_titles: SubTitles,
            "descriptions" => descriptions: Descriptions,
            "images" => images: Images,
        }
        optional {
            "highlighted" => highlighted: bool,
            "categoryIds" => categories: Categories,
            "mutuallyExclusive" => exclusive: bool,
            "slug" => slug: Slug,
        }
    }

    /// What of an event is revised.
    struct RevisedEvent {
        optional {
            "titles" => titles: Titles,
            "subTitles" => sub_titles: SubTitles,
            "descriptions" => descriptions: Descriptions,
            "images" => images: Images,
            "highlighted" => highlighted: bool,
            "categoryIds" => categories: Categories,
            "slug" => slug: Slug,
        }
    }
    check an_event_is_revised;

    /// A new market.
    struct NewMarket {
        required {
            "questions" => questions: Titles,
            "descriptions" => descriptions: Descriptions,
            "outcomes" => outcomes: OutcomeTexts,
            "logo" => logo: WebUrl,
            "deadline" => deadline: Deadline,
        }
        optional {
            "categoryIds" => categories: Categories,
            "eventId" => event: EventId,
            "highlighted" => highlighted: bool,
            "disputeWindowSeconds" => window: UpTo<DISPUTE_WINDOW_SECONDS_MAX>,
            "makerFee" => maker_fee: FeeRate,
            "takerFee" => taker_fee: FeeRate,
            "slug" => slug: Slug,
        }
    }

    /// What of a market is revised.
    struct RevisedMarket {
        optional {
            "questions" => questions: Titles,
            "descriptions" => descriptions: Descriptions,
            "outcomes" => outcomes: OutcomeTexts,
            "logo" => logo: WebUrl,
            "deadline" => deadline: Deadline,
            "categoryIds" => categories: Categories,
            "highlighted" => highlighted: bool,
            "makerFee" => maker_fee: FeeRate,
            "takerFee" => taker_fee: FeeRate,
            "slug" => slug: Slug,
        }
    }
    check a_market_is_revised;
}

fn an_event_is_revised(event: &RevisedEvent) -> Checked {
    let (revision, categories) = event.clone().revision();
    revised(revision != EventRevision::default() || categories.is_some())
}

fn a_market_is_revised(market: &RevisedMarket) -> Checked {
    let (revision, categories) = market.clone().revision();
    revised(revision != MarketRevision::default() || categories.is_some())
}

fn revised(something: bool) -> Checked {
    if something { Ok(()) } else { lacking("at least one field is needed") }
}

fn ids(categories: Categories) -> Vec<CategoryId> {
    categories.0
}

fn urls(Several(images): Images) -> Vec<String> {
    images.into_iter().map(|WebUrl(url)| url).collect()
}

impl NewEvent {
    /// The draft, and the categories that it is to have.
    pub fn draft(self) -> (EventDraft, Vec<CategoryId>) {
        let draft = EventDraft {
            titles: self.titles.text,
            sub_titles: self.sub_titles.text,
            descriptions: self.descriptions.text,
            images: urls(self.images),
            highlighted: self.highlighted.unwrap_or(false),
            categories: Vec::new(),
            mutually_exclusive: self.exclusive.unwrap_or(false),
            slug: self.slug,
        };
        (draft, self.categories.map(ids).unwrap_or_default())
    }
}

impl RevisedEvent {
    /// The revision, and the categories that the event is to have.
    pub fn revision(self) -> (EventRevision, Option<Vec<CategoryId>>) {
        let revision = EventRevision {
            titles: self.titles.map(|titles| titles.text),
            sub_titles: self.sub_titles.map(|titles| titles.text),
            descriptions: self.descriptions.map(|descriptions| descriptions.text),
            images: self.images.map(urls),
            highlighted: self.highlighted,
            categories: None,
            slug: self.slug,
        };
        (revision, self.categories.map(ids))
    }
}

impl NewMarket {
    /// The draft, and the event and the categories that it is to have; with this dispute window, in
    /// seconds, if it names none.
    pub fn draft(self, window: u32) -> (MarketDraft, Option<EventId>, Vec<CategoryId>) {
        let draft = MarketDraft {
            questions: self.questions.text,
            descriptions: self.descriptions.text,
            yes_text: self.outcomes.yes,
            no_text: self.outcomes.no,
            logo: self.logo.0,
            deadline: self.deadline.0,
            categories: Vec::new(),
            event: None,
            highlighted: self.highlighted.unwrap_or(false),
            dispute_window_seconds: self.window.map_or(window, |UpTo(seconds)| seconds),
            fees: Fees {
                maker: self.maker_fee.unwrap_or_default(),
                taker: self.taker_fee.unwrap_or_default(),
            },
            slug: self.slug,
        };
        (draft, self.event, self.categories.map(ids).unwrap_or_default())
    }
}

impl RevisedMarket {
    /// The revision, and the categories that the market is to have.
    pub fn revision(self) -> (MarketRevision, Option<Vec<CategoryId>>) {
        let outcomes = self.outcomes.map(|OutcomeTexts { yes, no }| (yes, no));
        let (yes_text, no_text) = outcomes.unzip();
        let revision = MarketRevision {
            questions: self.questions.map(|questions| questions.text),
            descriptions: self.descriptions.map(|descriptions| descriptions.text),
            yes_text,
            no_text,
            logo: self.logo.map(|WebUrl(logo)| logo),
            deadline: self.deadline.map(|Deadline(deadline)| deadline),
            categories: None,
            highlighted: self.highlighted,
            maker_fee: self.maker_fee,
            taker_fee: self.taker_fee,
            slug: self.slug,
        };
        (revision, self.categories.map(ids))
    }
}

/// The texts of a market's two outcomes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutcomeTexts {
    yes: Localized,
    no: Localized,
}

impl Given for OutcomeTexts {
    /// Exactly the outcomes yes and no, in any order.
    fn noted(json: Json, at: &str, faults: &mut Faults) -> Option<OutcomeTexts> {
        let elements = elements(json, at, (0, 2), faults)?;
        let count = elements.len();
        // `Some` if the outcome was there, with its text if that is valid.
        let (mut yes, mut no) = (None, None);
        for (index, element) in elements.into_iter().enumerate() {
            let at = format!("{at}[{index}]");
            let Some(mut members) = Members::open(element, &at, faults) else { continue };
            let id = members.required("id", faults);
            let text: Option<Translated<Words<OUTCOME_CHARS_MAX>>> =
                members.required("text", faults);
            members.close(faults);
            let slot = match id {
                Some(Outcome::Yes) => &mut yes,
                Some(Outcome::No) => &mut no,
                None => continue,
            };
            if slot.is_some() {
                let fault = Fault::new(FieldCode::Repeated, "is there already");
                faults.note(&called(&at, "id"), fault);
            } else {
                *slot = Some(text.map(|text| text.text));
            }
        }
        if count < 2 {
            let fault = Fault::new(FieldCode::OutOfBounds, "must be the outcomes yes and no");
            faults.note(at, fault);
        }
        Some(OutcomeTexts { yes: yes??, no: no?? })
    }
}

#[cfg(test)]
#[path = "../../tests/unit/http/admin_form.rs"]
mod tests;
