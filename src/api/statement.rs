//! The caller's statement: every change of money with its cause, settlements of final markets, and
//! profit and loss.

use super::call::Call;
use super::cursor::CursorPage;
use super::page::{Above, PageRule};
use super::problem::Problem;
use super::reply::Reply;
use super::wire::statement::{
    LedgerJson, LedgerLineJson, PnlJson, SettlementJson, SettlementsJson,
};

/// Pages of the ledger and of settlements.
const LINES_PAGE: PageRule = PageRule { standard: 50, max: 1000, above: Above::Refused };

/// `GET /account/ledger`
pub fn ledger(call: &Call) -> Result<Reply, Problem> {
    let mut form = call.form();
    let page = CursorPage::read(&mut form, LINES_PAGE);
    let page = form.finish(page)?;
    let user = call.caller.user;
    let (sequence, changes) = call.look(|view| Ok(view.statements.of(user)))?;
    let (changes, next) = page.cut_stored(changes)?;
    let (_, lines) = call
        .look(|view| Ok(changes.iter().map(|change| LedgerLineJson::of(view, change)).collect()))?;
    let ledger = LedgerJson { lines, next };
    Reply::list(sequence, ledger, "lines", |all| &mut all.lines)
}

/// `GET /account/settlements`
pub fn settlements(call: &Call) -> Result<Reply, Problem> {
    let mut form = call.form();
    let page = CursorPage::read(&mut form, LINES_PAGE);
    let page = form.finish(page)?;
    let (sequence, rows) = call.look(|view| Ok(view.settlements.of(call.caller.user)))?;
    let (rows, next) = page.cut_stored(rows)?;
    let (_, settlements) =
        call.look(|view| Ok(rows.iter().map(|row| SettlementJson::of(view, row)).collect()))?;
    let settlements = SettlementsJson { settlements, next };
    Reply::list(sequence, settlements, "settlements", |all| &mut all.settlements)
}

/// `GET /account/pnl`
pub fn pnl(call: &Call) -> Result<Reply, Problem> {
    call.form().finish(Some(()))?;
    let (sequence, pnl) = call.look(|view| {
        let pnl = view.pnl(call.caller.user);
        pnl.and_then(|pnl| PnlJson::of(&pnl, view.accounts.currency()))
            .map_err(|_| Problem::internal("an amount left its range"))
    })?;
    Reply::ok(sequence, &pnl)
}
