//! Reads that wait: `?waitAfter=SEQUENCE&timeoutSeconds=20` is answered at once if what it shows
//! has changed after that record, else when it changes, or at the end of the time. Nothing is asked
//! again and again meanwhile: the stream's hub wakes who waits.

use std::future::poll_fn;
use std::ops::ControlFlow;
use std::time::Duration;

use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use tokio::sync::watch;
use tokio::time::timeout;

use super::call::Call;
use super::form::Form;
use super::parse::{self, Fault};
use super::preconditions::weak_tag;
use super::problem::{FieldCode, Kind, Problem};
use super::reply::Reply;
use super::stream::channel::Topic;
use super::stream::waiting::Waiting;
use exchange::ids::UserNo;
use exchange::units::Sequence;
use views::ReadModel;

/// Seconds waited if none are given.
const SECONDS_STANDARD: u64 = 20;
/// Most seconds.
const SECONDS_MAX: u64 = 60;
/// Reads of one user that wait at the same time.
const OF_USER_MAX: usize = 16;
/// The same of all users: a quarter of the connections that there may be.
const ALL_MAX: usize = 1024;

/// Until what a read waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Until {
    /// A change after this record.
    after: Sequence,
    /// Or the end of this time.
    timeout: Duration,
}

impl Until {
    /// Reads `waitAfter` and `timeoutSeconds`; `None` inside if the read does not wait.
    pub fn read(form: &mut Form<'_>) -> Option<Option<Until>> {
        let (watermark, waits) = (form.watermark(), form.asks("waitAfter"));
        let after = form.query("waitAfter", |text| match parse::digits(text)? {
            after if watermark.is_some_and(|last| after > last.get()) => {
                let detail = "must not be after the venue's last record";
                Err(Fault::new(FieldCode::OutOfBounds, detail))
            }
            after => Ok(Sequence::new(after)),
        });
        let seconds = form.query("timeoutSeconds", |text| match parse::digits(text)? {
            _ if !waits => Err(Fault::new(FieldCode::UnknownField, "is taken only with waitAfter")),
            seconds if (1..=SECONDS_MAX).contains(&seconds) => Ok(Duration::from_secs(seconds)),
            _ => {
                let detail = format!("must be 1 to {SECONDS_MAX}");
                Err(Fault::new(FieldCode::OutOfBounds, detail))
            }
        });
        let (after, timeout) = after.zip(seconds)?;
        let timeout = timeout.unwrap_or(Duration::from_secs(SECONDS_STANDARD));
        Some(after.map(|after| Until { after, timeout }))
    }
}

/// What a read follows: the topic that tells of its changes, and the record of the last one.
pub type Followed = (Topic, Sequence);

/// Waits, if that is asked. Breaks with the whole answer where the client has it already; else
/// goes on with the tag of what is there, which may be older than what is read after it, but not
/// newer.
///
/// # Errors
/// Those of `followed`; too many reads wait.
pub async fn follow(
    call: &Call,
    until: Option<Until>,
    followed: impl Fn(&ReadModel) -> Result<Followed, Problem>,
) -> Result<ControlFlow<Reply, String>, Problem> {
    wait(call, until, &followed).await?;
    let (sequence, (_, last)) = call.look(&followed)?;
    let tag = weak_tag(last);
    if call.conditions.is_known(&tag) {
        let reply = Reply { tag: Some(tag), ..Reply::no_content(sequence) };
        return Ok(ControlFlow::Break(reply.not_modified()));
    }
    Ok(ControlFlow::Continue(tag))
}

/// Waits, if that is asked.
///
/// # Errors
/// As [`follow`].
pub async fn wait(
    call: &Call,
    until: Option<Until>,
    followed: impl Fn(&ReadModel) -> Result<Followed, Problem>,
) -> Result<(), Problem> {
    let Some(Until { after, timeout: time }) = until else { return Ok(()) };
    // Most have something to read: they take nothing that only a wait needs.
    if call.look(&followed)?.1.1 > after {
        return Ok(());
    }
    let shared = &call.shared;
    let _counted = WaitingReads::count(&shared.waiting, call.caller.user)?;
    shared.hub.run(&call.engine)?;
    let (_, waiting) = call.look(|view| {
        let (topic, last) = followed(view)?;
        Ok((last <= after).then(|| shared.hub.wait(topic, view.watermark())))
    })?;
    let Some(waiting) = waiting else { return Ok(()) };
    let changed = changes(call, waiting, after, followed);
    let mut stopping = shared.waiting.stopping.subscribe();
    tokio::select! {
        changed = timeout(time, changed) => changed.unwrap_or(Ok(())),
        // A stop does not wait for those who wait for something else.
        _ = stopping.wait_for(|stopping| *stopping) => Ok(()),
        // Nor for one that has closed its side: it may read on, and gets what there is.
        () = gone(call) => Ok(()),
    }
}

/// Ends when the client of a connection has closed its side.
async fn gone(call: &Call) {
    match &call.origin.presence {
        Some(presence) => presence.ended().await,
        None => std::future::pending().await,
    }
}

/// Ends when what is followed has changed after a record.
async fn changes(
    call: &Call,
    mut waiting: Waiting,
    after: Sequence,
    followed: impl Fn(&ReadModel) -> Result<Followed, Problem>,
) -> Result<(), Problem> {
    loop {
        poll_fn(|cx| waiting.poll(cx)).await;
        if call.look(&followed)?.1.1 > after {
            return Ok(());
        }
    }
}

/// Counts reads that wait.
#[derive(Debug)]
pub struct WaitingReads {
    /// By user; only users with some.
    users: Mutex<FxHashMap<UserNo, usize>>,
    /// Whether the server stops.
    stopping: watch::Sender<bool>,
}

impl Default for WaitingReads {
    fn default() -> WaitingReads {
        WaitingReads { users: Mutex::default(), stopping: watch::Sender::new(false) }
    }
}

impl WaitingReads {
    /// Has all that wait answered, now and from now on.
    pub fn stop(&self) {
        self.stopping.send_replace(true);
    }

    /// Counts a read until what is returned is dropped.
    fn count(this: &WaitingReads, user: UserNo) -> Result<Counted<'_>, Problem> {
        let mut users = this.users.lock();
        let all: usize = users.values().sum();
        let own = users.get(&user).copied().unwrap_or_default();
        if own >= OF_USER_MAX || all >= ALL_MAX {
            let detail = format!(
                "at most {OF_USER_MAX} reads of a user and {ALL_MAX} of all wait at a time"
            );
            return Err(Problem::new(Kind::Overloaded, detail));
        }
        users.insert(user, own.saturating_add(1));
        Ok(Counted { reads: this, user })
    }
}

/// A read that waits.
struct Counted<'a> {
    reads: &'a WaitingReads,
    user: UserNo,
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        let mut users = self.reads.users.lock();
        let left = users.get(&self.user).map_or(0, |own| own.saturating_sub(1));
        if left == 0 {
            users.remove(&self.user);
        } else {
            users.insert(self.user, left);
        }
    }
}

#[cfg(test)]
#[path = "../../tests/unit/http/waiting.rs"]
mod tests;
