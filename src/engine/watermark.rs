//! How far readers are shown what happened: numbers that anybody may look at without waiting for
//! whoever folds.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::exchange::units::Sequence;
use crate::projection::ReadModel;

/// Written by the projector before it answers anybody; read by everybody.
#[derive(Debug, Default)]
pub struct PublishedWatermark {
    watermark: AtomicU64,
    keys: AtomicU64,
}

impl PublishedWatermark {
    /// Says how far the read model is.
    pub fn publish(&self, read_model: &ReadModel) {
        // In this order: whoever sees the watermark sees what changed up to it.
        self.keys.store(read_model.changes.of_keys().get(), Ordering::Release);
        self.watermark.store(read_model.watermark().get(), Ordering::Release);
    }

    /// The last record that every read shows, and the record up to it, or after it, that last gave
    /// or took away a key.
    pub fn load(&self) -> (Sequence, Sequence) {
        let watermark = self.watermark.load(Ordering::Acquire);
        (Sequence::new(watermark), Sequence::new(self.keys.load(Ordering::Acquire)))
    }
}
