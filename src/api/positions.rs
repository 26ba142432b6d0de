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
    let user = call.caller.user;
    let (sequence, rows) = call.look(|view| Ok(view.positions.of(user)))?;
    let count = rows.len();
    let (rows, paging) = page.cut_known(rows, count);
    let rows = rows.into_iter().collect::<Result<Vec<_>, _>>()?;
    let (_, positions) = call.look(|view| {
        let position = |row| PositionJson::of(view, row).ok_or_else(Problem::lacking_row);
        rows.iter().map(position).collect::<Result<_, _>>()
    })?;
    let positions = PositionsJson { positions, paging };
    Reply::list(sequence, positions, "positions", |all| &mut all.positions)
}
