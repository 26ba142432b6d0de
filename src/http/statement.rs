//! The caller's statement: every change of money with its cause, settlements of final markets, and
//! profit and loss.

use std::ops::ControlFlow;

use super::account::money;
use super::call::{Call, public_market};
use super::cursor::CursorPage;
use super::onward::Asked;
use super::page::{Above, PageRule};
use super::parse;
use super::problem::Problem;
use super::reply::Reply;
use super::waiting::{Until, follow};
use super::wire::statement::{
    EquityJson, EquityPointJson, LedgerJson, LedgerLineJson, MarketPnlJson, PnlJson,
    SettlementJson, SettlementsJson,
};
use exchange::ids::MarketId;
use exchange::units::TimeMs;
use views::activity::ActivityRow;
use views::performance::Pnl;

/// Pages of the ledger and of settlements.
const LINES_PAGE: PageRule = PageRule { standard: 50, max: 1000, above: Above::Refused };

/// How long before trading ended or after a market's end its payments may be found.
const PAID_WITHIN_MS: i64 = 60 * 60 * 1000;

/// `GET /account/ledger`
pub async fn ledger(call: Call) -> Result<Reply, Problem> {
    let (page, until) =
        call.read(|form| Asked::read(form, LINES_PAGE, CursorPage::read).zip(Until::read(form)))?;
    let tag = match follow(&call, until, |view| Ok(money(&call, view))).await? {
        ControlFlow::Break(reply) => return Ok(reply),
        ControlFlow::Continue(tag) => tag,
    };
    let user = call.account;
    let (sequence, changes) = call.look(|view| Ok(view.statements.of(user)))?;
    let (changes, next) = page.of(changes).await?;
    let (_, lines) = call
        .look(|view| Ok(changes.iter().map(|change| LedgerLineJson::of(view, change)).collect()))?;
    let ledger = LedgerJson { lines, next };
    Ok(Reply::list(sequence, ledger, "lines", |all| &mut all.lines)?.with_tag(tag))
}

/// `GET /account/settlements`
pub fn settlements(call: &Call) -> Result<Reply, Problem> {
    let page = call.read(|form| CursorPage::read(form, LINES_PAGE))?;
    let (sequence, rows) = call.look(|view| Ok(view.settlements.of(call.account)))?;
    let (rows, next) = page.cut_stored(rows)?;
    let (_, settlements) =
        call.look(|view| Ok(rows.iter().map(|row| SettlementJson::of(view, row)).collect()))?;
    let settlements = SettlementsJson { settlements, next };
    Reply::list(sequence, settlements, "settlements", |all| &mut all.settlements)
}

/// `GET /account/equity`
pub async fn equity(call: Call) -> Result<Reply, Problem> {
    let page = call.read(|form| Asked::read(form, LINES_PAGE, CursorPage::read))?;
    let (sequence, points) = call.look(|view| Ok(view.equity.of(call.account)))?;
    let (points, next) = page.of(points).await?;
    let points = points.iter().map(EquityPointJson::of).collect();
    Reply::list(sequence, EquityJson { points, next }, "points", |all| &mut all.points)
}

/// `GET /account/pnl`
pub fn pnl(call: &Call) -> Result<Reply, Problem> {
    let mut form = call.form();
    let market = form.query("marketId", parse::text);
    if let Some(market) = form.finish(market)? {
        return pnl_in(call, market);
    }
    let (sequence, pnl) = call.look(|view| {
        let pnl = view.pnl(call.account);
        let shown = |pnl: Pnl| {
            Ok(PnlJson::of(&pnl, pnl.unrealised()?, pnl.equity()?, view.accounts.currency()))
        };
        pnl.and_then(shown).map_err(|_| overflow())
    })?;
    Reply::ok(sequence, &pnl)
}

/// The same in one market, whether anything is held there or was.
fn pnl_in(call: &Call, id: MarketId) -> Result<Reply, Problem> {
    let user = call.account;
    let (sequence, (market, mut pnl, ended)) = call.look(|view| {
        let row = public_market(view, id)?;
        let pnl = view.pnl_in(user, row).map_err(|_| overflow())?;
        let ended = row.settled_at.map(|_| {
            (view.activity.of(row.no), view.settlements.of(user), view.closed.ended(user))
        });
        Ok((row.no, pnl, ended))
    })?;
    if let Some((mut activity, settlements, closed)) = ended {
        // Nothing happens in a market after its end, and payments begin once trading is over.
        let end = activity.next().transpose()?.map(|row| row.time()).unwrap_or_default();
        let mut over = end;
        for row in activity {
            let row = row?;
            if matches!(row, ActivityRow::Trade { .. }) {
                break;
            }
            over = row.time();
        }
        let moment = |at: TimeMs, ms: i64| TimeMs::new(at.get().saturating_add(ms)).unwrap_or(at);
        let times = || moment(over, -PAID_WITHIN_MS)..=moment(end, PAID_WITHIN_MS);
        let paid = settlements.find_within(times(), |row| row.time, |row| row.market == market)?;
        let closed =
            closed.find_within(times(), |row| row.updated_at, |row| row.market == market)?;
        let realised = paid.map(|row| row.realised).or(closed.map(|row| row.realised));
        pnl.realised = realised.unwrap_or_default();
    }
    let (_, pnl) = call.look(|view| {
        let unrealised = pnl.value.less(pnl.cost).map_err(|_| overflow())?;
        Ok(MarketPnlJson::of(id, &pnl, unrealised, view.accounts.currency()))
    })?;
    Reply::ok(sequence, &pnl)
}

fn overflow() -> Problem {
    Problem::internal("an amount left its range")
}
