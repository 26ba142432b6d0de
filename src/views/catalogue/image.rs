//! Categories, events and markets in the read model's image, in order of their numbers, and the
//! orders of publication.

use super::{Catalogue, CategoryRow, EventRow, MarketRow, PublicMarkets};
use crate::image::{hold, numbered};
use exchange::ids::{CategoryNo, EventNo, MarketNo};
use exchange::image::coding::{
    BadImage, ImageSink, ImageSource, Imaged, read_count, write_count, write_list,
};

numbered!(CategoryRow(CategoryNo) { id, name, slug });
numbered!(MarketRow(MarketNo) {
    id,
    draft,
    status,
    winner,
    settled_at,
    created_at,
    updated_at,
    published_at,
});

impl Imaged for Catalogue {
    fn write(&self, sink: &mut impl ImageSink) {
        let Catalogue {
            categories,
            events,
            markets,
            // Recounted while reading.
            public: _,
            events_published,
            markets_published,
        } = self;
        write_count(categories.len(), sink);
        for row in categories {
            row.write_in_table(sink);
        }
        write_count(events.len(), sink);
        for row in events {
            // Rebuilt from the markets, which name their event.
            let EventRow { no: _, id, draft, markets: _, created_at, updated_at, published_at } =
                row;
            id.write(sink);
            draft.write(sink);
            created_at.write(sink);
            updated_at.write(sink);
            published_at.write(sink);
        }
        write_count(markets.len(), sink);
        for row in markets {
            row.write_in_table(sink);
        }
        events_published.write(sink);
        write_list(markets_published.published().iter(), sink);
    }

    fn read(source: &mut impl ImageSource) -> Result<Self, BadImage> {
        let mut catalogue = Catalogue::default();
        for index in 0..read_count(source)? {
            catalogue.read_category(index, source)?;
        }
        for index in 0..read_count(source)? {
            catalogue.read_event(index, source)?;
        }
        for index in 0..read_count(source)? {
            catalogue.read_market(index, source)?;
        }
        catalogue.events_published = Imaged::read(source)?;
        let published: Vec<MarketNo> = Imaged::read(source)?;
        let events = catalogue.events.iter().map(|row| row.published_at.is_some());
        let markets = catalogue.markets.iter().map(|row| row.published_at.is_some());
        check_published(events, catalogue.events_published.iter().map(|event| event.index()))?;
        check_published(markets, published.iter().map(|market| market.index()))?;
        for market in published {
            if let Some(row) = catalogue.markets.get(market.index()) {
                catalogue.markets_published.add(market, &row.draft);
            }
        }
        Ok(catalogue)
    }
}

/// Checks that the list has exactly the published ones, each once.
fn check_published(
    published: impl Iterator<Item = bool>,
    list: impl Iterator<Item = usize>,
) -> Result<(), BadImage> {
    let mut awaited: Vec<bool> = published.collect();
    for index in list {
        let listed = awaited.get_mut(index).is_some_and(std::mem::take);
        hold(listed, "listed and not published, or listed twice")?;
    }
    hold(!awaited.contains(&true), "published and not listed")
}

impl Catalogue {
    fn read_category(
        &mut self,
        index: usize,
        source: &mut impl ImageSource,
    ) -> Result<(), BadImage> {
        let row = CategoryRow::read_in_table(index, source)?;
        let ascends = self.categories.last().is_none_or(|last| last.id < row.id);
        hold(ascends, "category ids out of order")?;
        self.categories.push(row);
        Ok(())
    }

    fn read_event(&mut self, index: usize, source: &mut impl ImageSource) -> Result<(), BadImage> {
        let row = EventRow {
            no: EventNo::next(index).ok_or(BadImage::Value("EventNo"))?,
            id: Imaged::read(source)?,
            draft: Imaged::read(source)?,
            markets: Vec::new(),
            created_at: Imaged::read(source)?,
            updated_at: Imaged::read(source)?,
            published_at: Imaged::read(source)?,
        };
        hold(self.events.last().is_none_or(|last| last.id < row.id), "event ids out of order")?;
        self.check_categories(&row.draft.categories)?;
        self.events.push(row);
        self.public.push(PublicMarkets::default());
        Ok(())
    }

    fn read_market(&mut self, index: usize, source: &mut impl ImageSource) -> Result<(), BadImage> {
        let row = MarketRow::read_in_table(index, source)?;
        hold(self.markets.last().is_none_or(|last| last.id < row.id), "market ids out of order")?;
        self.check_categories(&row.draft.categories)?;
        if let Some(event) = row.draft.event {
            let public = self.public.get_mut(event.index());
            if let (Some(public), Some(_)) = (public, row.published_at) {
                public.add(&row.draft);
            }
            let event = self.events.get_mut(event.index());
            event.ok_or(BadImage::Contradiction("a market of no event"))?.markets.push(row.no);
        }
        self.markets.push(row);
        Ok(())
    }

    fn check_categories(&self, categories: &[CategoryNo]) -> Result<(), BadImage> {
        let known = |category: &CategoryNo| category.index() < self.categories.len();
        hold(categories.iter().all(known), "a category that does not exist")
    }
}
