//! An event's public markets, counted by what lists of events are filtered by: so that a list goes
//! through events, of which there are few, and not through all their markets.

use crate::exchange::catalogue::MarketDraft;
use crate::exchange::ids::CategoryNo;

/// How many public markets an event has.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PublicMarkets {
    all: u32,
    highlighted: u32,
    /// Of each category that any is in, in order.
    categories: Vec<(CategoryNo, u32)>,
}

impl PublicMarkets {
    /// How many; those only that are highlighted, or are not, where that is asked.
    pub const fn count(&self, highlighted: Option<bool>) -> u32 {
        match highlighted {
            None => self.all,
            Some(true) => self.highlighted,
            Some(false) => self.all.saturating_sub(self.highlighted),
        }
    }

    /// Whether any is in one of these categories.
    pub fn is_in(&self, wanted: &[CategoryNo]) -> bool {
        self.categories.iter().any(|(category, _)| wanted.contains(category))
    }

    /// Counts a market.
    pub(super) fn add(&mut self, draft: &MarketDraft) {
        self.all = self.all.saturating_add(1);
        self.highlighted = self.highlighted.saturating_add(u32::from(draft.highlighted));
        for category in &draft.categories {
            match self.categories.binary_search_by_key(category, |(known, _)| *known) {
                Ok(place) => {
                    if let Some((_, count)) = self.categories.get_mut(place) {
                        *count = count.saturating_add(1);
                    }
                }
                Err(place) => self.categories.insert(place, (*category, 1)),
            }
        }
    }

    /// Counts a market no more that was counted as this.
    pub(super) fn remove(&mut self, draft: &MarketDraft) {
        self.all = self.all.saturating_sub(1);
        self.highlighted = self.highlighted.saturating_sub(u32::from(draft.highlighted));
        for category in &draft.categories {
            if let Some((_, count)) = self.categories.iter_mut().find(|(c, _)| c == category) {
                *count = count.saturating_sub(1);
            }
        }
        self.categories.retain(|(_, count)| *count > 0);
    }
}
