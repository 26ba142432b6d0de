//! The caller's positions (interface 4.7).

use super::call::Call;
use super::page::{Above, Page, PageRule};
use super::problem::Problem;
use super::reply::Reply;
use super::wire::account::{PositionJson, PositionsJson};

/// Pages of positions (interface 4.7).
const POSITIONS_PAGE: PageRule = PageRule { standard: 20, max: 100, above: Above::Refused };

/// `GET /trading/positions`
pub fn list(call: &Call) -> Result<Reply, Problem> {
    let mut form = call.form();
    let page = Page::read(&mut form, POSITIONS_PAGE);
    let page = form.finish(page)?;
    let (sequence, positions) = call.look(|view| {
        let rows = view.positions.of(call.caller.user);
        let count = rows.len();
        let (rows, paging) = page.cut_known(rows.into_iter(), count);
        let position = |row| {
            PositionJson::of(view, row)
                .ok_or_else(|| Problem::internal("the read model lacks a row that it must have"))
        };
        let positions = rows.into_iter().map(position).collect::<Result<_, _>>()?;
        Ok(PositionsJson { positions, paging })
    })?;
    Reply::list(sequence, positions, "positions", |all| &mut all.positions)
}
