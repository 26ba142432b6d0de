//! What those who run the process ask: whether it lives, and whether it is ready (no key needed, so
//! nothing is told that every answer's headers do not tell).

use hyper::http::request::Parts;

use super::door::Door;
use super::problem::Problem;
use super::reply::Reply;
use super::wire::operations::StatusJson;

/// `GET /healthz`: the process can answer. Restarting one that cannot is right.
pub fn health(door: &Door, _: &Parts) -> Result<Reply, Problem> {
    Reply::ok(door.venue().sequence(), &StatusJson { status: "ok" })
}

/// `GET /readyz`: the venue takes requests. While the journal is replayed, and after the intake has
/// closed, traffic belongs elsewhere and a restart does not help.
pub fn readiness(door: &Door, _: &Parts) -> Result<Reply, Problem> {
    let engine = door.venue().engine()?;
    match engine.halted() {
        Some(reason) => Err(Problem::halted(reason)),
        None => Reply::ok(engine.watermark(), &StatusJson { status: "ready" }),
    }
}
