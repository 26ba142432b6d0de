//! The JSON of categories, events, markets and their activity.

use std::borrow::Cow;
use std::sync::Arc;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Serialize, Serializer};

use super::account::PersonJson;
use super::words::{AddressSlug, DisputeWindow, MoveName, Odds, Probability, Url};
use super::{CursorEcho, Number, OutcomeId, Paging, RecordNo, Text, Timestamp};
use exchange::catalogue::{EventDraft, Localized, MarketDraft, Outcome};
use exchange::fees::FeeRate;
use exchange::ids::{CategoryId, CategoryNo, EventId, MarketId};
use exchange::market::MarketStatus;
use exchange::slugs::Slug;
use exchange::units::{Money, Ratio, Sequence, SettlementPrice, Tick, TimeMs};
use views::ReadModel;
use views::activity::ActivityRow;
use views::catalogue::{CategoryRow, EventRow, MarketRow};
use views::depth::FieldQuote;

/// A text in Portuguese, English and Spanish.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Localized")]
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
pub(super) struct Shared<D, T: ?Sized> {
    draft: Arc<D>,
    part: fn(&D) -> &T,
}

impl<D, T: ?Sized> Shared<D, T> {
    pub(super) fn new(draft: &Arc<D>, part: fn(&D) -> &T) -> Shared<D, T> {
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

impl<D> Serialize for Shared<D, Option<Slug>> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.get().as_ref().map(Slug::as_str).serialize(serializer)
    }
}

impl<D> JsonSchema for Shared<D, Localized> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        LocalizedJson::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        generator.subschema_for::<LocalizedJson<'_>>()
    }
}

/// A text of a market.
pub(super) type MarketText = Shared<MarketDraft, Localized>;
/// A text of an event.
type EventText = Shared<EventDraft, Localized>;

answers! {
    /// A category.
    CategoryJson = "Category" (row: &CategoryRow) {
        id: Text<CategoryId> = Text(row.id);
        name: Text<Arc<str>> = Text(Arc::clone(&row.name));
        slug: Text<Arc<str>> = Text(Arc::clone(&row.slug));
    }

    /// One of a market's two outcomes.
    OutcomeJson = "Outcome" (row: &MarketRow, outcome: Outcome) {
        id: OutcomeId = Text(outcome);
        text: MarketText = outcome_text(row, outcome);
    }

    /// An outcome and how likely it is held to be.
    LikelyOutcomeJson = "LikelyOutcome" (row: &MarketRow, outcome: Outcome, own: Ratio) {
        id: OutcomeId = Text(outcome);
        text: MarketText = outcome_text(row, outcome);
        #[schemars(with = "Probability")]
        probability: Number<Ratio> = Number(own);
    }

    /// An outcome with its odds and its probability.
    QuotedOutcomeJson = "QuotedOutcome" (row: &MarketRow, outcome: Outcome, own: Ratio) {
        id: OutcomeId = Text(outcome);
        text: MarketText = outcome_text(row, outcome);
        #[schemars(with = "Odds")]
        odd: Number<Ratio> = Number(own.odds());
        #[schemars(with = "Probability")]
        probability: Number<Ratio> = Number(own);
    }
}

/// All categories, in order of creation.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "CategoryList")]
pub struct CategoriesJson {
    pub categories: Vec<CategoryJson>,
}

const OUTCOMES: [Outcome; 2] = [Outcome::Yes, Outcome::No];

fn outcome_text(row: &MarketRow, outcome: Outcome) -> MarketText {
    match outcome {
        Outcome::Yes => Shared::new(&row.draft, |draft| &draft.yes_text),
        Outcome::No => Shared::new(&row.draft, |draft| &draft.no_text),
    }
}

/// Both outcomes, each with its own of the ratio, which is that of yes.
fn quoted<T>(row: &MarketRow, yes: Ratio, of: fn(&MarketRow, Outcome, Ratio) -> T) -> Vec<T> {
    let own = |outcome| if outcome == Outcome::Yes { yes } else { yes.complement() };
    OUTCOMES.into_iter().map(|outcome| of(row, outcome, own(outcome))).collect()
}

fn categories<T>(view: &ReadModel, numbers: &[CategoryNo], of: fn(&CategoryRow) -> T) -> Vec<T> {
    numbers.iter().filter_map(|category| view.catalogue.category(*category)).map(of).collect()
}

fn id_of(row: &CategoryRow) -> Text<CategoryId> {
    Text(row.id)
}

/// The winning outcome; `None` for a voided market, even if one had been announced.
fn winning_outcome(row: &MarketRow) -> Option<OutcomeId> {
    row.winner.filter(|_| row.status != MarketStatus::Voided).map(Text)
}

answers! {
    /// A market in a list.
    MarketJson = "Market" (view: &ReadModel, row: &MarketRow, probability_of_yes: Ratio) {
        id: Text<MarketId> = Text(row.id);
        questions: MarketText = Shared::new(&row.draft, |draft| &draft.questions);
        outcomes: Vec<QuotedOutcomeJson> = quoted(row, probability_of_yes, QuotedOutcomeJson::of);
        descriptions: MarketText = Shared::new(&row.draft, |draft| &draft.descriptions);
        status: Text<MarketStatus> = Text(row.status);
        #[schemars(with = "Url")]
        logo: Shared<MarketDraft, str> = Shared::new(&row.draft, |draft| &draft.logo);
        categories: Vec<CategoryJson> =
            categories(view, &row.draft.categories, CategoryJson::of);
    }

    /// A market on its own.
    MarketDetailJson = "MarketDetail" (view: &ReadModel, row: &MarketRow, yes: Ratio) {
        #[serde(flatten)]
        market: MarketJson = MarketJson::of(view, row, yes);
        /// Its name in addresses; null if it was made before there were slugs.
        #[schemars(with = "Option<AddressSlug>")]
        slug: Shared<MarketDraft, Option<Slug>> = Shared::new(&row.draft, |draft| &draft.slug);
        category_ids: Vec<Text<CategoryId>> = categories(view, &row.draft.categories, id_of);
        event_id: Option<Text<EventId>> = row.draft.event
            .and_then(|event| view.catalogue.event(event)).map(|event| Text(event.id));
        deadline: Timestamp = Timestamp(row.draft.deadline);
        highlighted: bool = row.draft.highlighted;
        #[schemars(with = "DisputeWindow")]
        dispute_window_seconds: u32 = row.draft.dispute_window_seconds;
        /// What a resting order pays.
        maker_fee: Text<FeeRate> = Text(row.draft.fees.maker);
        /// What an incoming order pays.
        taker_fee: Text<FeeRate> = Text(row.draft.fees.taker);
        /// The outcome announced; null before, and of a voided market.
        winning_outcome_id: Option<OutcomeId> = winning_outcome(row);
        /// What a yes contract was worth in the end.
        settlement_price: Option<Text<SettlementPrice>> = row.settled_at.map(Text);
        created_at: Timestamp = Timestamp(row.created_at);
        updated_at: Timestamp = Timestamp(row.updated_at);
        published_at: Option<Timestamp> = row.published_at.map(Timestamp);
    }

    /// A market inside an event.
    EventMarketJson = "EventMarket" (view: &ReadModel, row: &MarketRow) {
        id: Text<MarketId> = Text(row.id);
        questions: MarketText = Shared::new(&row.draft, |draft| &draft.questions);
        outcomes: Vec<LikelyOutcomeJson> =
            quoted(row, view.probability_of_yes(row.no), LikelyOutcomeJson::of);
        status: Text<MarketStatus> = Text(row.status);
    }

    /// An event in a list.
    EventJson = "Event" (view: &ReadModel, row: &EventRow, markets: &[&MarketRow]) {
        id: Text<EventId> = Text(row.id);
        titles: EventText = Shared::new(&row.draft, |draft| &draft.titles);
        sub_titles: EventText = Shared::new(&row.draft, |draft| &draft.sub_titles);
        descriptions: EventText = Shared::new(&row.draft, |draft| &draft.descriptions);
        #[schemars(with = "Vec<Url>")]
        images: Shared<EventDraft, [String]> = Shared::new(&row.draft, |draft| &draft.images);
        highlighted: bool = row.draft.highlighted;
        markets: Vec<EventMarketJson> =
            markets.iter().map(|market| EventMarketJson::of(view, market)).collect();
        created_at: Timestamp = Timestamp(row.created_at);
        updated_at: Timestamp = Timestamp(row.updated_at);
    }

    /// What a yes contract of each market of a mutually exclusive event costs together. One of
    /// each pays 1.00 if one of them wins: below that they are cheap, above it dear. A market that
    /// has paid out counts with what it paid.
    FieldJson = "Field" (quote: FieldQuote) {
        /// What they can be sold for together; null where one of the markets has no bid, or takes
        /// no orders.
        best_bid: Option<Text<Money>> = quote.bid.map(Text);
        /// What they can be bought for together; null where one of the markets has no ask, or
        /// takes no orders.
        best_ask: Option<Text<Money>> = quote.ask.map(Text);
    }

    /// An event on its own.
    EventDetailJson = "EventDetail" (view: &ReadModel, row: &EventRow, markets: &[&MarketRow]) {
        #[serde(flatten)]
        event: EventJson = EventJson::of(view, row, markets);
        /// Its name in addresses; null if it was made before there were slugs.
        #[schemars(with = "Option<AddressSlug>")]
        slug: Shared<EventDraft, Option<Slug>> = Shared::new(&row.draft, |draft| &draft.slug);
        /// At most one of its markets resolves yes.
        mutually_exclusive: bool = row.draft.mutually_exclusive;
        categories: Vec<CategoryJson> =
            categories(view, &row.draft.categories, CategoryJson::of);
        category_ids: Vec<Text<CategoryId>> = categories(view, &row.draft.categories, id_of);
        published_at: Option<Timestamp> = row.published_at.map(Timestamp);
        /// Only of a mutually exclusive event.
        field: Option<FieldJson> = view.field(row).map(FieldJson::of);
    }

    /// The market of a position.
    PositionMarketJson = "PositionMarket" (row: &MarketRow) {
        id: Text<MarketId> = Text(row.id);
        questions: MarketText = Shared::new(&row.draft, |draft| &draft.questions);
        status: Text<MarketStatus> = Text(row.status);
        deadline: Timestamp = Timestamp(row.draft.deadline);
        winning_outcome_id: Option<OutcomeId> = winning_outcome(row);
        created_at: Timestamp = Timestamp(row.created_at);
        #[schemars(with = "Url")]
        logo: Shared<MarketDraft, str> = Shared::new(&row.draft, |draft| &draft.logo);
        outcomes: Vec<OutcomeJson> =
            OUTCOMES.into_iter().map(|outcome| OutcomeJson::of(row, outcome)).collect();
    }
}

impl MarketJson {
    /// The current market.
    pub fn now(view: &ReadModel, row: &MarketRow) -> MarketJson {
        MarketJson::of(view, row, view.probability_of_yes(row.no))
    }
}

impl MarketDetailJson {
    /// The current market.
    pub fn now(view: &ReadModel, row: &MarketRow) -> MarketDetailJson {
        MarketDetailJson::of(view, row, view.probability_of_yes(row.no))
    }
}

/// A page of markets, newest first.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "{M}Page")]
pub struct MarketsJson<M> {
    pub markets: Vec<M>,
    #[serde(flatten)]
    pub paging: Paging,
}

/// A page of a market's activity, newest first.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ActivityPage")]
pub struct ActivitiesJson {
    pub activities: Vec<ActivityJson>,
    #[serde(flatten)]
    pub paging: Paging,
    /// The next page, if a cursor was given.
    #[serde(flatten)]
    pub next: Option<CursorEcho>,
}

answers! {
    /// A trade, told from the side of the incoming order.
    TradeActivityJson = "TradeActivity" (
        bet: (Outcome, Money, Tick), user: Option<PersonJson>, at: (Sequence, TimeMs),
        name: &'static str,
    ) {
        #[schemars(extend("const" = "TRADE"))]
        r#type: &'static str = name;
        outcome_id: OutcomeId = Text(bet.0);
        stake: Number<Money> = Number(bet.1);
        #[schemars(with = "Odds")]
        odd: Number<Ratio> = Number(Ratio::of_price(bet.2.into()).odds());
        #[schemars(with = "PersonJson")]
        user: Option<PersonJson> = user;
        created_at: Timestamp = Timestamp(at.1);
        sequence: RecordNo = RecordNo(at.0);
    }

    /// A market moved from one status to the next.
    MoveActivityJson = "MoveActivity" (
        moved: (MarketStatus, MarketStatus), at: (Sequence, TimeMs), name: &'static str,
    ) {
        #[schemars(with = "MoveName")]
        r#type: &'static str = name;
        status_from: Text<MarketStatus> = Text(moved.0);
        status_to: Text<MarketStatus> = Text(moved.1);
        created_at: Timestamp = Timestamp(at.1);
        sequence: RecordNo = RecordNo(at.0);
    }
}

/// Something that happened in a market.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "Activity")]
pub enum ActivityJson {
    Trade(TradeActivityJson),
    Moved(MoveActivityJson),
}

impl ActivityJson {
    /// The record as all callers see it.
    pub fn of(view: &ReadModel, row: &ActivityRow) -> ActivityJson {
        let name = row.name();
        match *row {
            ActivityRow::Trade { outcome, stake, price, user, sequence, time } => {
                let user = view.accounts.user(user).map(PersonJson::of);
                let bet = (outcome, stake, price);
                ActivityJson::Trade(TradeActivityJson::of(bet, user, (sequence, time), name))
            }
            ActivityRow::Moved { from, to, sequence, time } => {
                ActivityJson::Moved(MoveActivityJson::of((from, to), (sequence, time), name))
            }
        }
    }
}

/// A page of events, newest publication first.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "EventPage")]
pub struct EventsJson {
    pub events: Vec<EventJson>,
    #[serde(flatten)]
    pub paging: Paging,
}
