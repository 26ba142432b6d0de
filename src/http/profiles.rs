//! A trader's profile, as everyone sees it: how it went, and the trades whose taker is public
//! anyway.

use super::call::{Call, user_no};
use super::cursor::CursorPage;
use super::leaderboard::Period;
use super::page::{Above, PageRule};
use super::problem::Problem;
use super::reply::Reply;
use super::unread_rows::read_in_turns;
use super::wire::profile::{PeriodScoreJson, ProfileJson, ProfileTradeJson, ProfileTradesJson};
use super::wire::{Cursor, CursorEcho, Text};
use views::fills::{FillRow, Liquidity};
use views::history::HistoryError;

/// Pages of a profile's trades.
const TRADES_PAGE: PageRule = PageRule { standard: 20, max: 100, above: Above::Refused };
/// Most fills looked at for a page: who mostly makes prices has few trades among many fills. Such
/// a page may be short, and the next one goes on after the last fill looked at.
const FILLS_MAX: usize = 1000;

/// `GET /profiles/{userId}`
pub fn one(call: &Call) -> Result<Reply, Problem> {
    let id = call.read(|form| form.path("userId"))?;
    let (sequence, profile) = call.look(|view| {
        let now = call.engine.now().max(view.time());
        let user = view.accounts.user(user_no(view, id)?).ok_or_else(Problem::lacking_row)?;
        let score = |(name, period): (_, Period)| {
            PeriodScoreJson::of(name, view.performance.of(user.no, period.first(now)))
        };
        Ok(ProfileJson::of(user, Period::ALL.into_iter().map(score).collect()))
    })?;
    Reply::ok(sequence, &profile)
}

/// `GET /profiles/{userId}/trades`: as the markets' activity names takers, and never makers, so do
/// these.
pub async fn trades(call: Call) -> Result<Reply, Problem> {
    let mut form = call.form();
    let (id, page) = (form.path("userId"), CursorPage::read(&mut form, TRADES_PAGE));
    let (id, page) = form.finish(id.zip(page))?;
    let (sequence, fills) = call.look(|view| Ok(view.orders.fills_of(user_no(view, id)?)))?;
    let older = usize::try_from(page.before()).unwrap_or(usize::MAX).min(fills.len());
    let newer = fills.len().saturating_sub(older);
    let mut wanted = page.limit;
    let page = (0..older as u64).rev().zip(fills.skip(newer)).take_while(move |(_, fill)| {
        let goes_on = wanted > 0;
        wanted = wanted.saturating_sub(u64::from(fill.as_ref().is_ok_and(is_public)));
        goes_on
    });
    let numbered =
        |(number, fill): (u64, Result<FillRow, HistoryError>)| fill.map(|fill| (number, fill));
    let rows = read_in_turns(page.map(numbered), FILLS_MAX).await?;
    let left = rows.last().map(|(number, _)| *number).filter(|number| *number > 0);
    let next_cursor = left.map(|number| Text(Cursor::Before(number)));
    let next = CursorEcho { has_more: left.is_some(), next_cursor };
    let (_, trades) = call.look(|view| {
        let public = rows.iter().map(|(_, fill)| fill).filter(|fill| is_public(fill));
        let shown = |fill: &FillRow| {
            view.catalogue.market(fill.market).map(|market| ProfileTradeJson::of(fill, market))
        };
        Ok(public.filter_map(shown).collect())
    })?;
    let trades = ProfileTradesJson { trades, next };
    Reply::list(sequence, trades, "trades", |all| &mut all.trades)
}

/// Whether all may know whose fill it is.
fn is_public(fill: &FillRow) -> bool {
    fill.liquidity == Liquidity::Taker
}
