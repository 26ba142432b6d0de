//! Health checks: whether the process is alive and whether it is ready. They need no key, since
//! they reveal nothing else. And the time, for holders of keys.

use hyper::http::request::Parts;

use super::call::{Call, SharedState};
use super::problem::Problem;
use super::reply::Reply;
use super::wire::operations::{StatusJson, TimeJson};

/// `GET /healthz`: the process can answer. If it cannot, a restart is right.
pub fn health(shared: &SharedState, _: &Parts) -> Result<Reply, Problem> {
    Reply::ok(shared.venue.sequence(), &StatusJson { status: "ok", warnings: Vec::new() })
}

/// `GET /readyz`: the venue takes requests. During replay and after the intake has closed,
/// traffic should go elsewhere; a restart helps only in the second case.
pub fn readiness(shared: &SharedState, _: &Parts) -> Result<Reply, Problem> {
    let engine = shared.venue.engine()?;
    if let Some(reason) = engine.halted() {
        return Err(Problem::halted(reason));
    }
    let warnings = engine.meter().gauges.warnings();
    Reply::ok(engine.watermark(), &StatusJson { status: "ready", warnings })
}

/// `GET /time`: by the clock that stamps records, with which `validUntil` and `expiresAt` are
/// compared.
pub fn time(call: &Call) -> Result<Reply, Problem> {
    call.read(|_| Some(()))?;
    Reply::ok(call.engine.watermark(), &TimeJson::of(call.engine.now()))
}
