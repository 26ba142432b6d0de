//! The depth of an outcome's book (interface 4.4).

use super::call::{Call, public_market};
use super::parse::{self, Fault};
use super::problem::{FieldCode, Problem};
use super::reply::Reply;
use super::wire::order::DepthJson;
use crate::engine::clock;

/// Levels of each side where none are asked (interface 4.4).
const LEVELS_STANDARD: usize = 10;
/// Most levels of each side (interface 4.4).
const LEVELS_MAX: usize = 50;

/// `GET /trading/books/{marketId}/depth`
pub fn depth(call: &Call) -> Result<Reply, Problem> {
    let mut form = call.form();
    let id = form.path("marketId", parse::market_id);
    let outcome = form.query_required("outcome", parse::outcome);
    let levels = form.query("levels", |text| {
        let levels = usize::try_from(parse::digits(text)?).unwrap_or(usize::MAX);
        let fault = || Fault::new(FieldCode::OutOfBounds, format!("must be 1 to {LEVELS_MAX}"));
        Some(levels).filter(|levels| (1..=LEVELS_MAX).contains(levels)).ok_or_else(fault)
    });
    let ((id, outcome), levels) = form.finish(id.zip(outcome).zip(levels))?;
    let levels = levels.unwrap_or(LEVELS_STANDARD);
    let (sequence, depth) = call.look(|view| {
        let market = public_market(view, id)?.no;
        // The snapshot is taken now, and never before the last thing it shows.
        let time = clock::now().max(view.time());
        Ok(DepthJson::of(view, (market, id), outcome, levels, time))
    })?;
    Reply::ok(sequence, &depth)
}
