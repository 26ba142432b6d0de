//! The caller's money, fills and limits (semantics 8).

use super::call::Call;
use super::cursor::EitherPage;
use super::page::{Above, PageRule};
use super::parse;
use super::problem::Problem;
use super::reply::Reply;
use super::routes::Lane;
use super::wire::Text;
use super::wire::account::BalanceJson;
use super::wire::limits::{ExposureJson, LimitJson, LimitsJson};
use super::wire::order::{FillJson, FillsJson};
use crate::exchange::reject::Reject;
use crate::exchange::units::MoneySum;
use crate::projection::fills::FillList;

/// Pages of fills.
const FILLS_PAGE: PageRule = PageRule { standard: 50, max: 1000, above: Above::Refused };

/// `GET /trading/balance`
pub fn balance(call: &Call) -> Result<Reply, Problem> {
    call.form().finish(Some(()))?;
    let (sequence, balance) = call.look(|view| {
        let user = view
            .accounts
            .user(call.caller.user)
            .ok_or_else(|| Problem::internal("the read model lacks a row that it must have"))?;
        let (available, reserved) = (user.balance.available, user.balance.reserved);
        Ok(BalanceJson::new(available, reserved, view.accounts.currency()))
    })?;
    Reply::ok(sequence, &balance)
}

/// `GET /trading/fills`
pub fn fills(call: &Call) -> Result<Reply, Problem> {
    let mut form = call.form();
    let market = form.query("marketId", parse::market_id);
    let order = form.query("orderId", parse::order_id);
    let page = EitherPage::read(&mut form, FILLS_PAGE);
    let ((market, order), page) = form.finish(market.zip(order).zip(page))?;
    let user = call.caller.user;
    let (sequence, fills) = call.look(|view| {
        let list = match (order, market) {
            (Some(id), market) => {
                let row = view.orders.order_by_id(id).filter(|row| row.user == user);
                let row = row.ok_or_else(|| Problem::of(Reject::OrderNotFound))?;
                // An order trades in one market: in another it has no fills.
                let there = |id| view.catalogue.market_no(id) == Some(row.market);
                let shown = market.is_none_or(there);
                if shown { view.orders.fills_of_order(row) } else { FillList::default() }
            }
            // A market that nobody has heard of has no fills.
            (None, Some(id)) => view
                .catalogue
                .market_no(id)
                .map_or_else(FillList::default, |market| view.orders.fills_in(user, market)),
            (None, None) => view.orders.fills_of(user),
        };
        let total = list.len();
        let (rows, paging, next) = page.cut_known(list, total);
        let fills = rows.into_iter().map(|row| FillJson::of(view, row)).collect();
        Ok(FillsJson { fills, paging, next })
    })?;
    Reply::list(sequence, fills, "fills", |all| &mut all.fills)
}

/// `GET /account/limits`
pub fn limits(call: &Call) -> Result<Reply, Problem> {
    call.form().finish(Some(()))?;
    let (sequence, exposure) = call.look(|view| {
        let user = view
            .accounts
            .user(call.caller.user)
            .ok_or_else(|| Problem::internal("the read model lacks a row that it must have"))?;
        let costs = view.positions.held(user.no).map(|row| row.cost);
        let open = costs.chain([user.balance.reserved]).try_fold(MoneySum::ZERO, MoneySum::plus);
        let open = open.map_err(|_| Problem::internal("an exposure beyond all money"))?;
        Ok(ExposureJson { open: Text(open), limit: user.standing.exposure_limit.map(Text) })
    })?;
    let of = |lane| {
        let left = call.keyring.look(&call.caller, lane);
        left.map(|(per_second, left)| LimitJson::new(per_second, left))
    };
    let (reads, writes, cancels) = (of(Lane::Reads), of(Lane::Writes), of(Lane::Cancels));
    Reply::ok(sequence, &LimitsJson { reads, writes, cancels, exposure })
}
