//! Switches: the trader's heartbeats (dead man's switches), and the trading modes and exposure
//! limits that the operator sets.

use super::call::{Call, user_no};
use super::form::Form;
use super::json::Json;
use super::members::{Faults, Given, bodies, integer};
use super::parse::{Fault, MoneyLimit};
use super::problem::{FieldCode, Problem};
use super::reply::Reply;
use super::wire::account::{HeartbeatJson, HeartbeatsJson, UserJson, VenueModeJson};
use exchange::command::{Command, TradingMode};
use exchange::ids::Group;
use exchange::restrictions::{Guarded, Heartbeat};
use views::ReadModel;
use views::responses::StoredResponse;

/// Shortest timeout: a bot that restarts should not lose its orders.
const TIMEOUT_SECONDS_MIN: u32 = 5;
/// Longest timeout: a longer one would not protect orders that nobody watches.
const TIMEOUT_SECONDS_MAX: u32 = 300;

/// Seconds until a heartbeat runs out: 0 for never, or within the bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeout(u32);

bodies! {
    /// A heartbeat.
    struct Beat {
        required { "timeoutSeconds" => timeout: Timeout }
        optional { "group" => group: Box<Group> }
    }

    /// A trading mode.
    struct Mode {
        required { "mode" => mode: TradingMode }
    }

    /// A limit on what a user may lose.
    struct Exposure {
        required { "limit" => limit: MoneyLimit }
    }
}

/// `GET /trading/heartbeat`
pub fn heartbeat(call: &Call) -> Result<Reply, Problem> {
    call.read(|_| Some(()))?;
    let user = call.caller.user;
    let (sequence, all) = call.look(|view| {
        let shown = |group: Option<Group>, heartbeat: Heartbeat| {
            let promised = call.engine.heartbeat_promised((user, group));
            // What is off or has run out is so, whatever was promised before.
            let until =
                heartbeat.until.map(|until| promised.map_or(until, |later| later.max(until)));
            HeartbeatJson::of(Heartbeat { until, ..heartbeat }, group)
        };
        let groups = view.accounts.heartbeats_of(user);
        let groups = groups.map(|(group, heartbeat)| shown(Some(group), heartbeat)).collect();
        Ok(HeartbeatsJson::of(shown(None, view.accounts.heartbeat((user, None))), groups))
    })?;
    Reply::ok(sequence, &all)
}

/// `POST /trading/heartbeat`
pub async fn beat(call: Call) -> Result<Reply, Problem> {
    let Beat { timeout: Timeout(timeout_seconds), group } = call.read(Form::body)?;
    let user = call.caller.user;
    let again = |_: &ReadModel, kept: &StoredResponse| match kept {
        StoredResponse::Heartbeat(heartbeat) => Some(HeartbeatJson::of(**heartbeat, None)),
        StoredResponse::GroupHeartbeat(kept) => Some(HeartbeatJson::of(kept.1, Some(kept.0))),
        _ => None,
    };
    if call.once.is_none()
        && let Some(renewed) = renewed(&call, (user, group.as_deref().copied()), timeout_seconds)
    {
        return renewed;
    }
    let command = Command::Heartbeat { user, timeout_seconds, group };
    let written = call.submit_and_show(command, again).await?;
    written.reply(&written.shown)
}

/// Renews a heartbeat without a record, if that is possible.
fn renewed(call: &Call, whose: Guarded, timeout_seconds: u32) -> Option<Result<Reply, Problem>> {
    let view = call.engine.read();
    let heartbeat = view.accounts.heartbeat(whose);
    let shown = heartbeat.until.filter(|_| !heartbeat.expired)?;
    let until = Some(call.engine.renew_heartbeat(whose, timeout_seconds, shown)?);
    let sequence = view.watermark();
    drop(view);
    let renewed = HeartbeatJson::of(Heartbeat { until, expired: false }, whose.1);
    Some(Reply::ok(sequence, &renewed))
}

impl Given for Timeout {
    fn noted(json: Json, at: &str, faults: &mut Faults) -> Option<Timeout> {
        let seconds = integer(&json, at, faults)?;
        let fits = |seconds: &u32| {
            *seconds == 0 || (TIMEOUT_SECONDS_MIN..=TIMEOUT_SECONDS_MAX).contains(seconds)
        };
        let timeout = u32::try_from(seconds).ok().filter(fits);
        if timeout.is_none() {
            let detail = format!(
                "must be {TIMEOUT_SECONDS_MIN} to {TIMEOUT_SECONDS_MAX}, or 0 to switch it off"
            );
            faults.note(at, Fault::new(FieldCode::OutOfBounds, detail));
        }
        timeout.map(Timeout)
    }
}

/// `GET /admin/venue/mode`
pub fn venue_mode(call: &Call) -> Result<Reply, Problem> {
    call.read(|_| Some(()))?;
    let (sequence, mode) = call.look(|view| Ok(VenueModeJson::of(view.accounts.venue_mode())))?;
    Reply::ok(sequence, &mode)
}

/// `POST /admin/venue/mode`
pub async fn set_venue_mode(call: Call) -> Result<Reply, Problem> {
    let Mode { mode } = call.read(Form::body)?;
    let again = |_: &ReadModel, kept: &StoredResponse| match kept {
        StoredResponse::VenueMode(mode) => Some(VenueModeJson::of(*mode)),
        _ => None,
    };
    let written = call.submit_and_show(Command::SetVenueMode { mode }, again).await?;
    written.reply(&written.shown)
}

/// `POST /admin/users/{userId}/mode`
pub async fn set_user_mode(call: Call) -> Result<Reply, Problem> {
    let (id, Mode { mode }) = call.read(|form| form.path("userId").zip(form.body()))?;
    let (_, user) = call.look(|view| user_no(view, id))?;
    show_user(&call, Command::SetUserMode { user, mode }).await
}

/// `POST /admin/users/{userId}/exposure-limit`
pub async fn set_exposure_limit(call: Call) -> Result<Reply, Problem> {
    let (id, Exposure { limit: MoneyLimit(limit) }) =
        call.read(|form| form.path("userId").zip(form.body()))?;
    let (_, user) = call.look(|view| user_no(view, id))?;
    show_user(&call, Command::SetExposureLimit { user, limit: Some(limit) }).await
}

/// `DELETE /admin/users/{userId}/exposure-limit`
pub async fn lift_exposure_limit(call: Call) -> Result<Reply, Problem> {
    let id = call.read(|form| form.path("userId"))?;
    let (_, user) = call.look(|view| user_no(view, id))?;
    show_user(&call, Command::SetExposureLimit { user, limit: None }).await
}

/// Executes a command that changes a user's settings, and answers the user.
pub async fn show_user(call: &Call, command: Command) -> Result<Reply, Problem> {
    let again = |_: &ReadModel, kept: &StoredResponse| match kept {
        StoredResponse::User(row) => Some(UserJson::of(row)),
        _ => None,
    };
    let written = call.submit_and_show(command, again).await?;
    written.reply(&written.shown)
}
