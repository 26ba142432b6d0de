//! Disputes of announced outcomes by those who hold contracts: filed against a bond, and listed.

use super::call::{Call, market_no};
use super::form::Form;
use super::grounds::Reason;
use super::members::bodies;
use super::parse::Words;
use super::problem::{Kind, Problem};
use super::reply::Reply;
use super::route::BASE;
use super::wire::dispute::{DisputeJson, DisputesJson};
use exchange::command::Command;
use exchange::ids::{MarketId, UserNo};
use views::responses::StoredResponse;

bodies! {
    /// A dispute.
    struct Filed {
        required { "marketId" => market: MarketId, "reason" => reason: Reason }
    }
}

/// `POST /account/disputes`
pub async fn file(call: Call) -> Result<Reply, Problem> {
    let Filed { market, reason: Words(reason) } = call.read(Form::body)?;
    let none = || Problem::new(Kind::Forbidden, "at this venue only operators dispute an outcome");
    let bond = call.shared.site.dispute_bond.ok_or_else(none)?;
    let (_, market) = call.look(|view| market_no(view, market))?;
    let command = Command::FileDispute { user: call.caller.user, market, bond, reason };
    let shown = call.submit_and_show(command, |view, kept| {
        let StoredResponse::Dispute(row) = kept else { return None };
        DisputeJson::known(view, row)
    });
    let written = shown.await?;
    written.created(format!("{BASE}/account/disputes"), &written.shown)
}

/// `GET /account/disputes`
pub fn list(call: &Call) -> Result<Reply, Problem> {
    call.read(|_| Some(()))?;
    listed(call, Some(call.account))
}

/// `GET /admin/disputes`
pub fn list_all(call: &Call) -> Result<Reply, Problem> {
    call.read(|_| Some(()))?;
    listed(call, None)
}

fn listed(call: &Call, of: Option<UserNo>) -> Result<Reply, Problem> {
    let (sequence, disputes) = call.look(|view| {
        let rows = view.disputes.all().filter(|row| of.is_none_or(|user| user == row.user));
        let disputes = rows.filter_map(|row| DisputeJson::known(view, row)).collect();
        Ok(DisputesJson { disputes })
    })?;
    Reply::ok(sequence, &disputes)
}
