//! The JSON of categories, events, markets, their activity and their depth.

use std::sync::Arc;

use serde::{Serialize, Serializer};

use super::{CursorEcho, Number, OutcomeId, Paging, Text, Timestamp};
use exchange::catalogue::{EventDraft, Localized, MarketDraft, Outcome};
use exchange::fees::FeeRate;
use exchange::ids::{CategoryId, CategoryNo, EventId, MarketId, UserId};
use exchange::lifecycle::MarketStatus;
use exchange::units::{Money, Ratio, SettlementPrice};
use views::ReadModel;
use views::activity::ActivityRow;
use views::catalogue::{CategoryRow, EventRow, MarketRow};
use views::quote::FieldQuote;

/// A text in three languages (interface 2.1).
#[derive(Debug, Serialize)]
pub(super) struct LocalizedJson<'a> {
    pt: &'a str,
    en: &'a str,
    es: &'a str,
}

impl<'a> From<&'a Localized> for LocalizedJson<'a> {
    fn from(text: &'a Localized) -> Self {
        let Localized { pt, en, es } = text;
        LocalizedJson { pt, en, es }
    }
}

/// A part of a draft, shared with the read model: taking it under the lock copies no text, and it
/// is serialised later.
#[derive(Debug)]
struct Shared<D, T: ?Sized> {
    draft: Arc<D>,
    part: fn(&D) -> &T,
}

impl<D, T: ?Sized> Shared<D, T> {
    fn new(draft: &Arc<D>, part: fn(&D) -> &T) -> Shared<D, T> {
        Shared { draft: Arc::clone(draft), part }
    }

    fn get(&self) -> &T {
        (self.part)(&self.draft)
    }
}

impl<D> Serialize for Shared<D, Localized> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        LocalizedJson::from(self.get()).serialize(serializer)
    }
}

impl<D> Serialize for Shared<D, str> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.get())
    }
}

impl<D> Serialize for Shared<D, [String]> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.get().serialize(serializer)
    }
}

/// A text of a market.
type MarketText = Shared<MarketDraft, Localized>;
/// A text of an event.
type EventText = Shared<EventDraft, Localized>;

/// A category (interface 2.4).
#[derive(Debug, Serialize)]
pub struct CategoryJson {
    id: Text<CategoryId>,
    name: Text<Arc<str>>,
    slug: Text<Arc<str>>,
}

impl From<&CategoryRow> for CategoryJson {
    fn from(row: &CategoryRow) -> Self {
        let (name, slug) = (Arc::clone(&row.name), Arc::clone(&row.slug));
        CategoryJson { id: Text(row.id), name: Text(name), slug: Text(slug) }
    }
}

/// All categories.
#[derive(Debug, Serialize)]
pub struct CategoriesJson {
    /// In order of creation.
    pub categories: Vec<CategoryJson>,
}

/// An outcome (interface 2.3); which of the two figures it has depends on the containing object.
#[derive(Debug, Serialize)]
pub struct OutcomeJson {
    id: OutcomeId,
    text: MarketText,
    #[serde(skip_serializing_if = "Option::is_none")]
    odd: Option<Number<Ratio>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    probability: Option<Number<Ratio>>,
}

/// The figures shown for an outcome; the ratio is that of yes.
#[derive(Debug, Clone, Copy)]
enum Figures {
    OddAndProbability(Ratio),
    Probability(Ratio),
    None,
}

fn outcomes(row: &MarketRow, figures: Figures) -> [OutcomeJson; 2] {
    [Outcome::Yes, Outcome::No].map(|outcome| {
        let text: MarketText = match outcome {
            Outcome::Yes => Shared::new(&row.draft, |draft| &draft.yes_text),
            Outcome::No => Shared::new(&row.draft, |draft| &draft.no_text),
        };
        let own = |yes: Ratio| match outcome {
            Outcome::Yes => yes,
            Outcome::No => yes.complement(),
        };
        let (odd, probability) = match figures {
            Figures::OddAndProbability(yes) => (Some(own(yes).odds()), Some(own(yes))),
            Figures::Probability(yes) => (None, Some(own(yes))),
            Figures::None => (None, None),
        };
        let (odd, probability) = (odd.map(Number), probability.map(Number));
        OutcomeJson { id: OutcomeId(outcome), text, odd, probability }
    })
}

fn categories(view: &ReadModel, numbers: &[CategoryNo]) -> Vec<CategoryJson> {
    numbers
        .iter()
        .filter_map(|category| view.catalogue.category(*category))
        .map(CategoryJson::from)
        .collect()
}

fn category_ids(view: &ReadModel, numbers: &[CategoryNo]) -> Vec<Text<CategoryId>> {
    numbers
        .iter()
        .filter_map(|category| view.catalogue.category(*category))
        .map(|row| Text(row.id))
        .collect()
}

/// The winning outcome; `None` for a voided market, even if one had been announced.
fn winning_outcome(row: &MarketRow) -> Option<OutcomeId> {
    row.winner.filter(|_| row.status != MarketStatus::Voided).map(OutcomeId)
}

/// A market in a list (interface 2.2).
#[derive(Debug, Serialize)]
pub struct MarketJson {
    id: Text<MarketId>,
    questions: MarketText,
    outcomes: [OutcomeJson; 2],
    descriptions: MarketText,
    status: &'static str,
    logo: Shared<MarketDraft, str>,
    categories: Vec<CategoryJson>,
}

impl MarketJson {
    /// The current market.
    pub fn of(view: &ReadModel, row: &MarketRow) -> MarketJson {
        MarketJson::at(view, row, view.probability_of_yes(row.no))
    }

    fn at(view: &ReadModel, row: &MarketRow, probability_of_yes: Ratio) -> MarketJson {
        let figures = Figures::OddAndProbability(probability_of_yes);
        MarketJson {
            id: Text(row.id),
            questions: Shared::new(&row.draft, |draft| &draft.questions),
            outcomes: outcomes(row, figures),
            descriptions: Shared::new(&row.draft, |draft| &draft.descriptions),
            status: row.status.name(),
            logo: Shared::new(&row.draft, |draft| &draft.logo),
            categories: categories(view, &row.draft.categories),
        }
    }
}

/// A single market, and a market in the operator's views.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MarketDetailJson {
    #[serde(flatten)]
    market: MarketJson,
    category_ids: Vec<Text<CategoryId>>,
    event_id: Option<Text<EventId>>,
    deadline: Timestamp,
    highlighted: bool,
    dispute_window_seconds: u32,
    maker_fee: Text<FeeRate>,
    taker_fee: Text<FeeRate>,
    winning_outcome_id: Option<OutcomeId>,
    settlement_price: Option<Text<SettlementPrice>>,
    created_at: Timestamp,
    updated_at: Timestamp,
    published_at: Option<Timestamp>,
}

impl MarketDetailJson {
    /// The current market.
    pub fn of(view: &ReadModel, row: &MarketRow) -> MarketDetailJson {
        MarketDetailJson::at(view, row, view.probability_of_yes(row.no))
    }

    /// The market as of an earlier row, with this probability of yes.
    pub fn at(view: &ReadModel, row: &MarketRow, probability_of_yes: Ratio) -> MarketDetailJson {
        let event = row.draft.event.and_then(|event| view.catalogue.event(event));
        MarketDetailJson {
            market: MarketJson::at(view, row, probability_of_yes),
            category_ids: category_ids(view, &row.draft.categories),
            event_id: event.map(|event| Text(event.id)),
            deadline: Timestamp(row.draft.deadline),
            highlighted: row.draft.highlighted,
            dispute_window_seconds: row.draft.dispute_window_seconds,
            maker_fee: Text(row.draft.fees.maker),
            taker_fee: Text(row.draft.fees.taker),
            winning_outcome_id: winning_outcome(row),
            settlement_price: row.settled_at.map(Text),
            created_at: Timestamp(row.created_at),
            updated_at: Timestamp(row.updated_at),
            published_at: row.published_at.map(Timestamp),
        }
    }
}

/// A page of markets: of the public list, or of the operator's.
#[derive(Debug, Serialize)]
pub struct MarketsJson<M> {
    /// The page.
    pub markets: Vec<M>,
    /// Its place.
    #[serde(flatten)]
    pub paging: Paging,
}

/// A market inside an event (interface 2.5).
#[derive(Debug, Serialize)]
pub struct EventMarketJson {
    id: Text<MarketId>,
    questions: MarketText,
    outcomes: [OutcomeJson; 2],
    status: &'static str,
}

impl EventMarketJson {
    fn of(view: &ReadModel, row: &MarketRow) -> EventMarketJson {
        EventMarketJson {
            id: Text(row.id),
            questions: Shared::new(&row.draft, |draft| &draft.questions),
            outcomes: outcomes(row, Figures::Probability(view.probability_of_yes(row.no))),
            status: row.status.name(),
        }
    }
}

/// An event in a list (interface 2.5).
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EventJson {
    id: Text<EventId>,
    titles: EventText,
    sub_titles: EventText,
    descriptions: EventText,
    images: Shared<EventDraft, [String]>,
    highlighted: bool,
    markets: Vec<EventMarketJson>,
    created_at: Timestamp,
    updated_at: Timestamp,
}

impl EventJson {
    /// The event with these of its markets.
    pub fn of(view: &ReadModel, row: &EventRow, markets: &[&MarketRow]) -> EventJson {
        EventJson {
            id: Text(row.id),
            titles: Shared::new(&row.draft, |draft| &draft.titles),
            sub_titles: Shared::new(&row.draft, |draft| &draft.sub_titles),
            descriptions: Shared::new(&row.draft, |draft| &draft.descriptions),
            images: Shared::new(&row.draft, |draft| &draft.images),
            highlighted: row.draft.highlighted,
            markets: markets.iter().map(|market| EventMarketJson::of(view, market)).collect(),
            created_at: Timestamp(row.created_at),
            updated_at: Timestamp(row.updated_at),
        }
    }
}

/// The joint price of one yes contract of each market of a mutually exclusive event.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct FieldJson {
    best_bid: Option<Text<Money>>,
    best_ask: Option<Text<Money>>,
}

impl From<FieldQuote> for FieldJson {
    fn from(quote: FieldQuote) -> Self {
        FieldJson { best_bid: quote.bid.map(Text), best_ask: quote.ask.map(Text) }
    }
}

/// A single event, and an event in the operator's views.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EventDetailJson {
    #[serde(flatten)]
    event: EventJson,
    mutually_exclusive: bool,
    categories: Vec<CategoryJson>,
    category_ids: Vec<Text<CategoryId>>,
    published_at: Option<Timestamp>,
    field: Option<FieldJson>,
}

impl EventDetailJson {
    /// The event with these of its markets.
    pub fn of(view: &ReadModel, row: &EventRow, markets: &[&MarketRow]) -> EventDetailJson {
        EventDetailJson {
            event: EventJson::of(view, row, markets),
            mutually_exclusive: row.draft.mutually_exclusive,
            categories: categories(view, &row.draft.categories),
            category_ids: category_ids(view, &row.draft.categories),
            published_at: row.published_at.map(Timestamp),
            field: view.field(row).map(FieldJson::from),
        }
    }
}

/// A page of events (interface 4.2).
#[derive(Debug, Serialize)]
pub struct EventsJson {
    /// The page.
    pub events: Vec<EventJson>,
    /// Its place.
    #[serde(flatten)]
    pub paging: Paging,
}

/// The market of a position (interface 2.6).
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PositionMarketJson {
    id: Text<MarketId>,
    questions: MarketText,
    status: &'static str,
    deadline: Timestamp,
    winning_outcome_id: Option<OutcomeId>,
    created_at: Timestamp,
    logo: Shared<MarketDraft, str>,
    outcomes: [OutcomeJson; 2],
}

impl From<&MarketRow> for PositionMarketJson {
    fn from(row: &MarketRow) -> Self {
        PositionMarketJson {
            id: Text(row.id),
            questions: Shared::new(&row.draft, |draft| &draft.questions),
            status: row.status.name(),
            deadline: Timestamp(row.draft.deadline),
            winning_outcome_id: winning_outcome(row),
            created_at: Timestamp(row.created_at),
            logo: Shared::new(&row.draft, |draft| &draft.logo),
            outcomes: outcomes(row, Figures::None),
        }
    }
}

/// A trader in the activity (interface 2.10).
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TraderJson {
    id: Text<UserId>,
    profile_name: Text<Arc<str>>,
    profile_pic: Text<Arc<str>>,
}

/// An activity record (interface 2.10, semantics 3).
#[derive(Debug, Serialize)]
#[serde(untagged, rename_all_fields = "camelCase")]
pub enum ActivityJson {
    /// A fill.
    Trade {
        /// `TRADE`.
        r#type: &'static str,
        /// The outcome that the incoming order bets on.
        outcome_id: OutcomeId,
        /// Staked by the incoming order's owner.
        stake: Number<Money>,
        /// 1 over the price paid.
        odd: Number<Ratio>,
        /// The incoming order's owner.
        user: Option<TraderJson>,
        /// When.
        created_at: Timestamp,
    },
    /// A change of status.
    Moved {
        /// `MARKET_PUBLISHED` and so on.
        r#type: &'static str,
        /// Status before.
        status_from: &'static str,
        /// Status since.
        status_to: &'static str,
        /// When.
        created_at: Timestamp,
    },
}

impl ActivityJson {
    /// The record as all callers see it.
    pub fn of(view: &ReadModel, row: &ActivityRow) -> ActivityJson {
        let r#type = row.name();
        match *row {
            ActivityRow::Trade { outcome, stake, price, user, time } => ActivityJson::Trade {
                r#type,
                outcome_id: OutcomeId(outcome),
                stake: Number(stake),
                odd: Number(Ratio::of_price(price.into()).odds()),
                user: view.accounts.user(user).map(|user| TraderJson {
                    id: Text(user.id),
                    profile_name: Text(Arc::clone(&user.profile_name)),
                    profile_pic: Text(Arc::clone(&user.profile_pic)),
                }),
                created_at: Timestamp(time),
            },
            ActivityRow::Moved { from, to, time } => ActivityJson::Moved {
                r#type,
                status_from: from.name(),
                status_to: to.name(),
                created_at: Timestamp(time),
            },
        }
    }
}

/// A page of a market's activity (interface 4.3).
#[derive(Debug, Serialize)]
pub struct ActivitiesJson {
    /// The page.
    pub activities: Vec<ActivityJson>,
    /// Its place.
    #[serde(flatten)]
    pub paging: Paging,
    /// The next page, if a cursor was given.
    #[serde(flatten)]
    pub next: Option<CursorEcho>,
}
