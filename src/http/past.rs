//! Questions about the past: each runs on a blocking thread, few at once, and traders wait for
//! their turn.

use std::collections::BTreeSet;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::spawn_blocking;

use engine::past::{Moment, PastError, Rebuilt};
use exchange::command::Record;
use exchange::ids::UserNo;
use exchange::units::Sequence;

/// Most questions at once: each takes a core and a copy of the state. Traders together get one
/// fewer, and each has one at a time.
pub const ASKERS_MAX: usize = 2;
/// Most traders with a question that runs or waits; the next one's is refused. A question takes a
/// second at most, so nobody waits longer than clients do.
const TRADERS_MAX: usize = 8;

/// A slot for a question, held until it is dropped.
#[derive(Debug)]
#[allow(dead_code, reason = "holding it is what it is for")]
pub struct QuerySlot {
    slot: OwnedSemaphorePermit,
    public: Option<(OwnedSemaphorePermit, TraderPlace)>,
}

/// A trader's place in the queue for a slot, and then in the slot: each has one.
#[derive(Debug)]
struct TraderPlace {
    questions: Arc<Questions>,
    user: UserNo,
}

impl Drop for TraderPlace {
    fn drop(&mut self) {
        self.questions.traders.lock().remove(&self.user);
    }
}

/// The slots of a venue.
#[derive(Debug)]
pub struct Questions {
    askers: usize,
    slots: Arc<Semaphore>,
    /// All slots but one: the traders' share. They wait for it in turn, so that one who asks again
    /// and again does not hold the others out.
    public: Arc<Semaphore>,
    /// Traders with a question that runs or waits.
    traders: Mutex<BTreeSet<UserNo>>,
}

impl Questions {
    /// So many slots.
    pub fn at_once(askers: usize) -> Questions {
        let slots = Arc::new(Semaphore::new(askers));
        let public = Arc::new(Semaphore::new(askers.saturating_sub(1)));
        Questions { askers, slots, public, traders: Mutex::default() }
    }
}

/// Answers questions about the past. Clones share their slots.
#[derive(Debug, Clone)]
pub struct Past {
    states: Arc<engine::past::Past>,
    questions: Arc<Questions>,
    /// The trader who asks, if it is one: traders leave one slot to the operator.
    trader: Option<UserNo>,
}

impl Past {
    /// For the operator.
    pub const fn new(states: Arc<engine::past::Past>, questions: Arc<Questions>) -> Past {
        Past { states, questions, trader: None }
    }

    /// A handle for a trader. Traders together leave one slot to the operator, so that an audit
    /// does not wait for them.
    #[must_use]
    pub fn for_trader(&self, trader: UserNo) -> Past {
        Past { trader: Some(trader), ..self.clone() }
    }

    /// Takes a slot, as every question does. A trader waits for one.
    ///
    /// # Errors
    /// [`PastError::Busy`] if all slots are taken, or as many traders wait as may;
    /// [`PastError::Another`] if the trader has a question already.
    pub async fn enter(&self) -> Result<QuerySlot, PastError> {
        let Questions { slots, public, .. } = &*self.questions;
        let Some(user) = self.trader else {
            let free = Arc::clone(slots).try_acquire_owned();
            return free.map(|slot| QuerySlot { slot, public: None }).map_err(|_| PastError::Busy);
        };
        let place = self.place(user)?;
        let next = async |slots: &Arc<Semaphore>| {
            Arc::clone(slots).acquire_owned().await.map_err(|_| PastError::Lost)
        };
        let public = next(public).await?;
        Ok(QuerySlot { slot: next(slots).await?, public: Some((public, place)) })
    }

    /// Takes the trader's place.
    fn place(&self, user: UserNo) -> Result<TraderPlace, PastError> {
        let mut traders = self.questions.traders.lock();
        if traders.contains(&user) {
            return Err(PastError::Another);
        }
        if traders.len() >= TRADERS_MAX || self.questions.askers < 2 {
            return Err(PastError::Busy);
        }
        traders.insert(user);
        Ok(TraderPlace { questions: Arc::clone(&self.questions), user })
    }

    /// Rebuilds the state at a moment and calls `look` on it.
    ///
    /// # Errors
    /// [`PastError`].
    pub async fn ask<T: Send + 'static>(
        &self,
        moment: Moment,
        look: impl FnOnce(&Rebuilt) -> T + Send + 'static,
    ) -> Result<T, PastError> {
        self.run(move |past| past.ask(moment, look)).await
    }

    /// Reads records, as [`engine::past::Past::records`] does.
    ///
    /// # Errors
    /// [`PastError::Busy`], or the journal's.
    pub async fn records(
        &self,
        from: Sequence,
        count_max: usize,
        bytes_max: usize,
    ) -> Result<Vec<Record>, PastError> {
        self.run(move |past| past.records(from, count_max, bytes_max)).await
    }

    /// Runs a question on a blocking thread, within a slot.
    async fn run<T: Send + 'static>(
        &self,
        answer: impl FnOnce(&engine::past::Past) -> Result<T, PastError> + Send + 'static,
    ) -> Result<T, PastError> {
        let (slot, past) = (self.enter().await?, Arc::clone(&self.states));
        // The caller may go away, but the slot stays taken until the work is done.
        let asked = spawn_blocking(move || {
            let answered = answer(&past);
            if let Err(error @ (PastError::Journal(_) | PastError::Fault(_))) = &answered {
                tracing::error!(%error, "the past cannot be read");
            }
            drop(slot);
            answered
        });
        asked.await.unwrap_or(Err(PastError::Lost))
    }
}
