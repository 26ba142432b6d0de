//! Answering: a call is passed to its endpoint, and its answer held against what the caller knows.

use std::sync::Arc;

use super::call::Call;
use super::problem::Problem;
use super::reply::Reply;
use super::route::{Endpoint, Route};
use super::unread_rows::UnreadRows;

/// Has a call answered.
///
/// # Errors
/// As the endpoint says, or what the call names is not as the caller wants it.
pub async fn answer(call: Call, route: &Route) -> Result<Reply, Problem> {
    let (shared, caller) = (Arc::clone(&call.shared), call.caller);
    let seen = route.tagged.then(|| call.conditions.clone());
    let mut reply = match &route.endpoint {
        // The result of a write must be sent, however long it is.
        Endpoint::Write(endpoint) | Endpoint::Several(endpoint) => return endpoint(call).await,
        Endpoint::Probe(_) | Endpoint::Stream | Endpoint::Visit(_) => {
            return Err(Problem::no_stream());
        }
        Endpoint::Read(endpoint) => endpoint(&call)?,
        Endpoint::Long(endpoint) | Endpoint::Past(endpoint) => endpoint(call).await?,
    };
    if let (Some(conditions), Some(tag)) = (seen, &reply.tag) {
        conditions.check(tag)?;
        if conditions.is_known(tag) {
            return Ok(reply.not_modified());
        }
    }
    if let Some(rows) = reply.body.uncounted() {
        reply.body.count(UnreadRows::reserve(&shared.unread, &caller, rows)?);
    }
    Ok(reply)
}
