//! Wrong keys, counted by where they come from: whoever tries many is named in the log and answered
//! late. Who shows a right one waits for nobody.

use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::time::sleep;

use super::tries::{Tries, network};

/// Wrong keys from one address that are answered at once: keys that were just revoked, or mistyped.
const FREE: u32 = 20;
/// How long the answer to each further one waits.
const LATE: Duration = Duration::from_secs(1);

/// The counts.
#[derive(Debug, Default)]
pub struct WrongKeys {
    lately: Tries<IpAddr>,
    total: AtomicU64,
}

impl WrongKeys {
    /// Counts one, and waits if there were too many from its address.
    pub async fn came(&self, address: Option<IpAddr>) {
        if self.is_late(address) {
            sleep(LATE).await;
        }
    }

    /// Counts one; whether it is answered late.
    pub fn is_late(&self, address: Option<IpAddr>) -> bool {
        self.total.fetch_add(1, Ordering::Relaxed);
        // On this machine there may be a proxy, from behind which everybody comes.
        let Some(address) = address.filter(|it| !it.to_canonical().is_loopback()) else {
            return false;
        };
        let count = self.lately.count(network(address));
        // Not a line a try: that would be a way to fill the log.
        if count > FREE && (count - FREE).is_power_of_two() {
            tracing::warn!(%address, count, "wrong keys are shown: their answers are slowed");
        }
        count > FREE
    }

    /// All that ever came.
    pub fn total(&self) -> u64 {
        self.total.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
#[path = "../../tests/unit/http/wrong_keys.rs"]
mod tests;
