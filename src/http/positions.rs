//! The caller's positions (interface 4.7).

use std::cmp::Reverse;
use std::ops::Range;

use rustc_hash::FxHashMap;

use super::call::Call;
use super::page::{Above, Page, PageRule};
use super::parse;
use super::problem::Problem;
use super::reply::Reply;
use super::stream::channel::Topic;
use super::waiting::{Until, wait};
use super::wire::account::{PositionJson, PositionsJson};
use views::ReadModel;
use views::closed::ClosedRow;
use views::positions::{PositionRow, Resolution};

/// Pages of positions (interface 4.7).
const POSITIONS_PAGE: PageRule = PageRule { standard: 20, max: 100, above: Above::Refused };

/// `GET /trading/positions`
pub async fn list(call: Call) -> Result<Reply, Problem> {
    let mut form = call.form();
    let page = Page::read(&mut form, POSITIONS_PAGE);
    let closed = form.query("includeClosed", parse::boolean);
    let until = Until::read(&mut form);
    let ((page, closed), until) = form.finish(page.zip(closed).zip(until))?;
    let user = call.account;
    // Without a tag: positions show their markets, too, which change by themselves.
    let followed = |view: &ReadModel| Ok((Topic::Account(user), view.changes.of_positions(user)));
    wait(&call, until, followed).await?;
    let (sequence, (rows, count, markets, closed)) = call.look(|view| {
        let rows = view.positions.newest(user, page.indexes().end);
        // A market may end while rows of ended positions are fetched: open positions are shown with
        // their market as of this state.
        let shown = rows.held_within(page.indexes());
        let markets = shown.filter_map(|row| view.catalogue.market(row.market).cloned());
        let markets: FxHashMap<_, _> = markets.map(|market| (market.no, market)).collect();
        let closed = (closed == Some(true)).then(|| {
            let live: Vec<ClosedRow> = view.closed.live(user).copied().collect();
            (live, view.closed.ended(user))
        });
        Ok((rows, view.positions.count(user), markets, closed))
    })?;
    let (rows, mut paging) = page.cut_known(rows, count);
    let rows = rows.into_iter().collect::<Result<Vec<_>, _>>()?;
    let mut closed_rows = Vec::new();
    if let Some((mut live, ended)) = closed {
        // They follow the others, those in markets that have not ended first.
        live.sort_unstable_by_key(|row| (Reverse(row.updated_at), row.market));
        let total = count.saturating_add(live.len()).saturating_add(ended.len());
        paging = page.echo(total);
        let Range { start, end } = page.place(total);
        let (start, end) = (start.saturating_sub(count), end.saturating_sub(count));
        let all = live.into_iter().map(Ok).chain(ended);
        let shown = all.skip(start).take(end.saturating_sub(start));
        closed_rows = shown.collect::<Result<_, _>>()?;
    }
    let (_, positions) = call.look(|view| {
        let market = |no| markets.get(&no).or_else(|| view.catalogue.market(no));
        let position = |row: &PositionRow| PositionJson::in_market(view, row, market(row.market)?);
        let closed = |row: ClosedRow| {
            let market = view.catalogue.market(row.market);
            let result = market.and_then(|market| Resolution::of(market, row.outcome));
            PositionRow::closed(user, row, result)
        };
        let all = rows.into_iter().chain(closed_rows.into_iter().map(closed));
        let position = |row| position(&row).ok_or_else(Problem::lacking_row);
        all.map(position).collect::<Result<_, _>>()
    })?;
    let positions = PositionsJson { positions, paging };
    Reply::list(sequence, positions, "positions", |all| &mut all.positions)
}
