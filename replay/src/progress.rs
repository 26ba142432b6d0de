//! A progress bar on stderr for long work.

use std::io::{self, IsTerminal};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::source::Extent;

/// Shorter journals get no bar.
const LONG_BYTES: u64 = 8 << 20;
/// Shorter journals get no bar.
const LONG_RECORDS: u64 = 100_000;

/// How far a pass has come.
pub struct Progress {
    bar: ProgressBar,
    extent: Extent,
}

impl Progress {
    /// A bar for a journal of this extent. None for a short journal, none if stderr is no terminal,
    /// and none if rows scroll over the same terminal.
    pub fn over(extent: Extent, streams: bool) -> Progress {
        let (whole, long) = match extent {
            Extent::Bytes(bytes) => (bytes, bytes >= LONG_BYTES),
            Extent::Records(records) => (records, records >= LONG_RECORDS),
        };
        let seen = long && !(streams && io::stdout().is_terminal());
        let target = if seen { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(Some(whole), target);
        // The template is a constant; an error in it would leave the default bar.
        if let Ok(style) = ProgressStyle::with_template("{wide_bar} {percent:>3} % {eta}") {
            bar.set_style(style);
        }
        Progress { bar, extent }
    }

    /// Advances by a block of this size.
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
