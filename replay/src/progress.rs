//! A bar on stderr for work that takes long, where somebody watches.

use std::io::{self, IsTerminal};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::source::Extent;

/// Journals of fewer bytes are read before anybody wonders.
const LONG_BYTES: u64 = 8 << 20;
/// Journals of fewer records are read before anybody wonders.
const LONG_RECORDS: u64 = 100_000;

/// How far a pass has come.
pub struct Progress {
    bar: ProgressBar,
    extent: Extent,
}

impl Progress {
    /// A bar over a journal of this extent; none for a short one, none where stderr is no
    /// terminal, and none where rows scroll over the same terminal.
    pub fn over(extent: Extent, streams: bool) -> Progress {
        let (whole, long) = match extent {
            Extent::Bytes(bytes) => (bytes, bytes >= LONG_BYTES),
            Extent::Records(records) => (records, records >= LONG_RECORDS),
        };
        let seen = long && !(streams && io::stdout().is_terminal());
        let target = if seen { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(Some(whole), target);
        // The template is a constant; a mistake in it would leave the plain bar.
        if let Ok(style) = ProgressStyle::with_template("{wide_bar} {percent:>3} % {eta}") {
            bar.set_style(style);
        }
        Progress { bar, extent }
    }

    /// A block of this size was passed.
    pub fn passed(&self, bytes: u64, records: u64) {
        match self.extent {
            Extent::Bytes(_) => self.bar.inc(bytes),
            Extent::Records(_) => self.bar.inc(records),
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
