//! The caller's positions (interface 4.7).

use rustc_hash::FxHashMap;

use super::call::Call;
use super::page::{Above, Page, PageRule};
use super::problem::Problem;
use super::reply::Reply;
use super::wire::account::{PositionJson, PositionsJson};
use crate::projection::positions::PositionRow;

/// Pages of positions (interface 4.7).
const POSITIONS_PAGE: PageRule = PageRule { standard: 20, max: 100, above: Above::Refused };

/// `GET /trading/positions`
pub fn list(call: &Call) -> Result<Reply, Problem> {
    let mut form = call.form();
    let page = Page::read(&mut form, POSITIONS_PAGE);
    let page = form.finish(page)?;
    let user = call.caller.user;
    let (sequence, (rows, count, markets)) = call.look(|view| {
        let rows = view.positions.newest(user, page.indexes().end);
        // A market may end while rows of ended positions are fetched: open positions are shown with
        // their market as of this state.
        let shown = rows.held_within(page.indexes());
        let markets = shown.filter_map(|row| view.catalogue.market(row.market).cloned());
        let markets: FxHashMap<_, _> = markets.map(|market| (market.no, market)).collect();
        Ok((rows, view.positions.count(user), markets))
    })?;
    let (rows, paging) = page.cut_known(rows, count);
    let rows = rows.into_iter().collect::<Result<Vec<_>, _>>()?;
    let (_, positions) = call.look(|view| {
        let market = |no| markets.get(&no).or_else(|| view.catalogue.market(no));
        let position = |row: &PositionRow| PositionJson::of(view, row, market(row.market)?);
        let position = |row| position(row).ok_or_else(Problem::lacking_row);
        rows.iter().map(position).collect::<Result<_, _>>()
    })?;
    let positions = PositionsJson { positions, paging };
    Reply::list(sequence, positions, "positions", |all| &mut all.positions)
}
