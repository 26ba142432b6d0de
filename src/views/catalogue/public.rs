//! Counts of an event's public markets for the filters of event lists, so that a list reads one row
//! per event and not all its markets.

use exchange::catalogue::MarketDraft;
use exchange::ids::CategoryNo;

/// Counts of an event's public markets.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PublicMarkets {
    all: u32,
    highlighted: u32,
    /// By category, ascending; none is zero.
    categories: Vec<(CategoryNo, u32)>,
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
        self.categories.iter().any(|(category, _)| wanted.contains(category))
    }

    /// Adds a market to the counts.
    pub(super) fn add(&mut self, draft: &MarketDraft) {
        self.all = self.all.saturating_add(1);
        self.highlighted = self.highlighted.saturating_add(u32::from(draft.highlighted));
        for category in &draft.categories {
            match self.categories.binary_search_by_key(category, |(known, _)| *known) {
                Ok(at) => {
                    if let Some((_, count)) = self.categories.get_mut(at) {
                        *count = count.saturating_add(1);
                    }
                }
                Err(at) => self.categories.insert(at, (*category, 1)),
            }
        }
    }

    /// Removes a market from the counts; `draft` must be the one it was added with.
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
