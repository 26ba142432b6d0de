//! The published watermark: how far the read model is, readable without its lock. Never ahead of
//! the read model.

use std::sync::atomic::{AtomicU64, Ordering};

use exchange::units::Sequence;
use views::ReadModel;

/// Written by the projector before it answers a block's callers; read by any thread.
#[derive(Debug, Default)]
pub struct PublishedWatermark {
    watermark: AtomicU64,
    keys: AtomicU64,
}

impl PublishedWatermark {
    /// Publishes the read model's watermark.
    pub fn publish(&self, read_model: &ReadModel) {
        // In this order: a reader that sees the watermark sees every key change up to it.
        self.keys.store(read_model.changes.of_keys().get(), Ordering::Release);
        self.watermark.store(read_model.watermark().get(), Ordering::Release);
    }

    /// The last record that every read shows, and the last record that added or revoked an API key,
    /// which may be later.
    pub fn load(&self) -> (Sequence, Sequence) {
        let watermark = self.watermark.load(Ordering::Acquire);
        (Sequence::new(watermark), Sequence::new(self.keys.load(Ordering::Acquire)))
    }
}
