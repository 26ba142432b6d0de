//! What can be traded: categories, events (groups of markets) and markets, with their texts.
//!
//! The texts never shape an outcome, so the exchange keeps only what its rules need (which things
//! exist, which slugs are taken, events' markets and sets) and passes the rest on in its effects.

use rustc_hash::FxHashSet;

use super::exclusive::Event;
use super::fees::{FeeRate, Fees};
use super::ids::{CategoryNo, EventNo, MarketNo};
use super::image::coding::{
    BadImage, ImageSink, ImageSource, Imaged, read_count, room, write_count, write_text,
};
use super::slugs::{Slug, Slugs};
use super::table::{choice, part};
use super::units::{Lots, SettlementPrice, TimeMs};

/// A text in the interface's three languages (interface 2.1).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Localized {
    /// Portuguese.
    pub pt: String,
    /// English.
    pub en: String,
    /// Spanish.
    pub es: String,
}

choice! {
    /// One of a market's two outcomes.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Outcome by id {
        /// The outcome happens.
        Yes = 1 "yes",
        /// It does not.
        No = 2 "no",
    }
}

impl Outcome {
    /// The other outcome.
    #[must_use]
    pub const fn other(self) -> Outcome {
        match self {
            Outcome::Yes => Outcome::No,
            Outcome::No => Outcome::Yes,
        }
    }

    /// What a yes contract pays where this outcome wins.
    pub const fn price_of_yes(self) -> SettlementPrice {
        match self {
            Outcome::Yes => SettlementPrice::ONE,
            Outcome::No => SettlementPrice::ZERO,
        }
    }
}

part! {
    /// The fields of a new category.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct CategoryDraft {
        /// Shown name.
        pub name: String,
        /// Unique short name for URLs.
        pub slug: String,
    }
}

part! {
    /// The fields of a new event; by default without texts, and its markets independent.
    #[derive(Debug, Clone, PartialEq, Eq, Default)]
    pub struct EventDraft {
        /// Titles.
        pub titles: Localized,
        /// Second lines.
        pub sub_titles: Localized,
        /// Descriptions.
        pub descriptions: Localized,
        /// Picture URLs.
        pub images: Vec<String>,
        /// Whether the event is shown first.
        pub highlighted: bool,
        /// The event's own categories.
        pub categories: Vec<CategoryNo>,
        /// Whether at most one of its markets resolves yes. Never changes.
        pub mutually_exclusive: bool,
        ; 2
        /// Its name in addresses.
        pub slug: Slug,
    }
}

part! {
    /// The fields of a new market.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct MarketDraft {
        /// The question asked.
        pub questions: Localized,
        /// How it will be decided.
        pub descriptions: Localized,
        /// Text of the outcome yes.
        pub yes_text: Localized,
        /// Text of the outcome no.
        pub no_text: Localized,
        /// Picture URL.
        pub logo: String,
        /// When trading ends; after the moment of creation.
        pub deadline: TimeMs,
        /// Categories.
        pub categories: Vec<CategoryNo>,
        /// The event that groups it.
        pub event: Option<EventNo>,
        /// Whether the market is shown first.
        pub highlighted: bool,
        /// Seconds between the announced outcome and the pay-out in which it may be disputed.
        pub dispute_window_seconds: u32,
        /// What trading costs.
        pub fees: Fees,
        ; 2
        /// Its name in addresses.
        pub slug: Slug,
    }
}

impl MarketDraft {
    /// A market without texts or fees, in no event, that pays out as soon as its outcome is
    /// announced.
    pub fn plain(deadline: TimeMs) -> Self {
        MarketDraft {
            questions: Localized::default(),
            descriptions: Localized::default(),
            yes_text: Localized::default(),
            no_text: Localized::default(),
            logo: String::new(),
            deadline,
            categories: Vec::new(),
            event: None,
            highlighted: false,
            dispute_window_seconds: 0,
            fees: Fees::NONE,
            slug: None,
        }
    }
}

part! {
    /// A change of an event's texts and flags; `None` leaves a field as it is.
    #[derive(Debug, Clone, PartialEq, Eq, Default)]
    pub struct EventRevision {
        /// Titles.
        pub titles: Option<Localized>,
        /// Second lines.
        pub sub_titles: Option<Localized>,
        /// Descriptions.
        pub descriptions: Option<Localized>,
        /// Picture URLs.
        pub images: Option<Vec<String>>,
        /// Whether the event is shown first.
        pub highlighted: Option<bool>,
        /// The event's own categories.
        pub categories: Option<Vec<CategoryNo>>,
        ; 2
        /// Its name in addresses; former ones stay its own.
        pub slug: Slug,
    }
}

part! {
    /// A change of a market's texts, flags, deadline and fees; `None` leaves a field as it is.
    #[derive(Debug, Clone, PartialEq, Eq, Default)]
    pub struct MarketRevision {
        /// The question asked.
        pub questions: Option<Localized>,
        /// How it will be decided.
        pub descriptions: Option<Localized>,
        /// Text of the outcome yes.
        pub yes_text: Option<Localized>,
        /// Text of the outcome no.
        pub no_text: Option<Localized>,
        /// Picture URL.
        pub logo: Option<String>,
        /// When trading ends; must be in the future. Only before the market is closed.
        pub deadline: Option<TimeMs>,
        /// Categories.
        pub categories: Option<Vec<CategoryNo>>,
        /// Whether the market is shown first.
        pub highlighted: Option<bool>,
        /// What a resting order pays. Only while the market is a DRAFT.
        pub maker_fee: Option<FeeRate>,
        /// What an incoming order pays. Only while the market is a DRAFT.
        pub taker_fee: Option<FeeRate>,
        ; 2
        /// Its name in addresses; former ones stay its own.
        pub slug: Slug,
    }
}

impl EventDraft {
    /// Applies a revision.
    pub fn revise(&mut self, revision: &EventRevision) {
        let EventRevision {
            titles,
            sub_titles,
            descriptions,
            images,
            highlighted,
            categories,
            slug,
        } = revision;
        take_over(&mut self.titles, titles.as_ref());
        take_over(&mut self.sub_titles, sub_titles.as_ref());
        take_over(&mut self.descriptions, descriptions.as_ref());
        take_over(&mut self.images, images.as_ref());
        take_over(&mut self.highlighted, highlighted.as_ref());
        take_over(&mut self.categories, categories.as_ref());
        self.slug = slug.clone().or_else(|| self.slug.take());
    }
}

impl MarketDraft {
    /// Applies a revision.
    pub fn revise(&mut self, revision: &MarketRevision) {
        let MarketRevision {
            questions,
            descriptions,
            yes_text,
            no_text,
            logo,
            deadline,
            categories,
            highlighted,
            maker_fee,
            taker_fee,
            slug,
        } = revision;
        take_over(&mut self.questions, questions.as_ref());
        take_over(&mut self.descriptions, descriptions.as_ref());
        take_over(&mut self.yes_text, yes_text.as_ref());
        take_over(&mut self.no_text, no_text.as_ref());
        take_over(&mut self.logo, logo.as_ref());
        take_over(&mut self.deadline, deadline.as_ref());
        take_over(&mut self.categories, categories.as_ref());
        take_over(&mut self.highlighted, highlighted.as_ref());
        take_over(&mut self.fees.maker, maker_fee.as_ref());
        take_over(&mut self.fees.taker, taker_fee.as_ref());
        self.slug = slug.clone().or_else(|| self.slug.take());
    }
}

/// Replaces a value if there is a new one.
fn take_over<T: Clone>(value: &mut T, revised: Option<&T>) {
    if let Some(revised) = revised {
        value.clone_from(revised);
    }
}

/// What the exchange keeps of categories and events, and all slugs.
#[derive(Debug, Clone, Default)]
pub struct Catalogue {
    slugs: FxHashSet<String>,
    categories_count: usize,
    events: Vec<Event>,
    /// Whose slugs of markets are.
    pub market_slugs: Slugs<MarketNo>,
    /// Whose slugs of events are.
    pub event_slugs: Slugs<EventNo>,
}

impl Catalogue {
    /// Categories made so far.
    pub const fn categories_count(&self) -> usize {
        self.categories_count
    }

    /// Events made so far.
    pub const fn events_count(&self) -> usize {
        self.events.len()
    }

    /// All events.
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// An event.
    pub fn event(&self, event: EventNo) -> Option<&Event> {
        self.events.get(event.index())
    }

    /// An event, to be changed.
    pub fn event_mut(&mut self, event: EventNo) -> Option<&mut Event> {
        self.events.get_mut(event.index())
    }

    /// Whether a category has this slug.
    pub fn slug_taken(&self, slug: &str) -> bool {
        self.slugs.contains(slug)
    }

    /// Whether all these categories exist.
    pub fn has_categories(&self, categories: &[CategoryNo]) -> bool {
        categories.iter().all(|category| category.index() < self.categories_count)
    }

    /// Whether the event exists.
    pub const fn has_event(&self, event: EventNo) -> bool {
        event.index() < self.events.len()
    }

    /// Numbers a new category and takes its slug; `None` when there are no more numbers.
    pub fn add_category(&mut self, slug: &str) -> Option<CategoryNo> {
        let category = CategoryNo::next(self.categories_count)?;
        self.categories_count = self.categories_count.saturating_add(1);
        self.slugs.insert(slug.to_owned());
        Some(category)
    }

    /// Numbers a new event; `None` when there are no more numbers.
    pub fn add_event(&mut self, mutually_exclusive: bool) -> Option<EventNo> {
        let event = EventNo::next(self.events.len())?;
        self.events.push(Event { mutually_exclusive, ..Event::default() });
        Some(event)
    }

    /// Adds a market to its event. Markets are added in the order of their numbers.
    pub fn join(&mut self, market: MarketNo, event: EventNo) -> Option<()> {
        self.event_mut(event)?.markets.push(market);
        Some(())
    }

    /// The slugs in order, for the state image.
    pub fn slugs_sorted(&self) -> Vec<&str> {
        let mut slugs: Vec<&str> = self.slugs.iter().map(String::as_str).collect();
        slugs.sort_unstable();
        slugs
    }
}

/// The slugs, one per category, and the events. The markets of an event are not written: each
/// market's image names its event.
impl Imaged for Catalogue {
    fn write(&self, sink: &mut impl ImageSink) {
        // Slugs of markets and events stand at the image's end.
        let Catalogue { slugs: _, categories_count, events, market_slugs: _, event_slugs: _ } =
            self;
        write_count(*categories_count, sink);
        for slug in self.slugs_sorted() {
            write_text(slug, sink);
        }
        write_count(events.len(), sink);
        for Event { mutually_exclusive, markets: _, sets } in events {
            mutually_exclusive.write(sink);
            sets.write(sink);
        }
    }

    fn read(source: &mut impl ImageSource) -> Result<Self, BadImage> {
        let categories_count = read_count(source)?;
        let mut slugs = FxHashSet::default();
        let mut before: Option<String> = None;
        for _ in 0..categories_count {
            let slug = String::read(source)?;
            if before.is_some_and(|before| before >= slug) {
                return Err(BadImage::Contradiction("slugs out of order"));
            }
            slugs.insert(slug.clone());
            before = Some(slug);
        }
        let events_count = read_count(source)?;
        // The last event must have a number that fits its type.
        if events_count > 0 && EventNo::next(events_count.saturating_sub(1)).is_none() {
            return Err(BadImage::Value("EventNo"));
        }
        let mut events = Vec::with_capacity(room::<Event>(events_count, source));
        for _ in 0..events_count {
            let (mutually_exclusive, sets) = (bool::read(source)?, Lots::read(source)?);
            events.push(Event { mutually_exclusive, markets: Vec::new(), sets });
        }
        Ok(Catalogue { slugs, categories_count, events, ..Catalogue::default() })
    }
}
