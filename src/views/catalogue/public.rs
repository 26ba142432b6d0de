//! Counts of an event's public markets for the filters of event lists, so that a list reads one row
//! per event and not all its markets.

use std::collections::BTreeMap;

use exchange::catalogue::MarketDraft;
use exchange::ids::CategoryNo;

/// Counts of an event's public markets.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PublicMarkets {
    all: u32,
    highlighted: u32,
    /// Those in each category; none is zero.
    categories: BTreeMap<CategoryNo, u32>,
}

impl PublicMarkets {
    /// The number of public markets; with a filter, only those that are, or are not, highlighted.
    pub const fn count(&self, highlighted: Option<bool>) -> u32 {
        match highlighted {
            None => self.all,
            Some(true) => self.highlighted,
            Some(false) => self.all.saturating_sub(self.highlighted),
        }
    }

    /// Whether any public market is in one of these categories.
    pub fn is_in(&self, wanted: &[CategoryNo]) -> bool {
        wanted.iter().any(|category| self.categories.contains_key(category))
    }

    /// Adds a market to the counts.
    pub(super) fn add(&mut self, draft: &MarketDraft) {
        self.all = self.all.saturating_add(1);
        self.highlighted = self.highlighted.saturating_add(u32::from(draft.highlighted));
        for category in &draft.categories {
            let count = self.categories.entry(*category).or_default();
            *count = count.saturating_add(1);
        }
    }

    /// Removes a market from the counts; `draft` must be the one it was added with.
    pub(super) fn remove(&mut self, draft: &MarketDraft) {
        self.all = self.all.saturating_sub(1);
        self.highlighted = self.highlighted.saturating_sub(u32::from(draft.highlighted));
        for category in &draft.categories {
            if let Some(count) = self.categories.get_mut(category) {
                *count = count.saturating_sub(1);
            }
        }
        self.categories.retain(|_, count| *count > 0);
    }
}
