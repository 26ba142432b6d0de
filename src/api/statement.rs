//! The caller's statement: every change of money with its cause.

use super::call::Call;
use super::cursor::CursorPage;
use super::page::{Above, PageRule};
use super::problem::Problem;
use super::reply::Reply;
use super::wire::statement::{LedgerJson, LedgerLineJson};

/// Pages of a statement.
const LINES_PAGE: PageRule = PageRule { standard: 50, max: 1000, above: Above::Refused };

/// `GET /account/ledger`
pub fn ledger(call: &Call) -> Result<Reply, Problem> {
    let mut form = call.form();
    let page = CursorPage::read(&mut form, LINES_PAGE);
    let page = form.finish(page)?;
    let user = call.caller.user;
    let (sequence, ledger) = call.look(|view| {
        let places = page.places(view.statements.count(user));
        let changes = places.filter_map(|place| {
            view.statements.change(user, place).map(|change| (place as u64, change))
        });
        let (changes, next) = page.cut(changes);
        let lines = changes.iter().map(|change| LedgerLineJson::of(view, change)).collect();
        Ok(LedgerJson { lines, next })
    })?;
    Reply::ok(sequence, &ledger)
}
