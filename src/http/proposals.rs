//! Acts that take two persons: listed, confirmed and rejected; and the answer of those that were
//! only proposed.

use serde::Serialize;

use super::admin_markets::Nothing;
use super::call::{Call, Written};
use super::problem::{Kind, Problem};
use super::reply::Reply;
use super::wire::proposal::{ProposalJson, ProposalsJson};
use exchange::command::{Command, Role};
use exchange::reject::Reject;
use exchange::units::Sequence;
use views::ReadModel;
use views::responses::StoredResponse;

/// What an act came to: it was done, or proposed.
pub type Came<T> = Result<T, ProposalJson>;

/// What a record left of an act, where `show` shows one that was done.
pub fn came<T>(
    view: &ReadModel,
    kept: &StoredResponse,
    show: impl FnOnce(&ReadModel, &StoredResponse) -> Option<T>,
) -> Option<Came<T>> {
    match kept {
        StoredResponse::Proposal(row) => ProposalJson::known(view, row).map(Err),
        _ => show(view, kept).map(Ok),
    }
}

/// 200 with what was done, or 202 with what was proposed.
pub fn answer<T: Serialize>(written: &Written<Came<T>>) -> Result<Reply, Problem> {
    match &written.shown {
        Ok(done) => written.reply(done),
        Err(proposed) => {
            Ok(Reply::accepted(written.sequence, proposed)?.replayed(written.replayed))
        }
    }
}

/// `GET /admin/proposals`
pub fn list(call: &Call) -> Result<Reply, Problem> {
    call.read(|_| Some(()))?;
    let now = call.engine.now();
    let (sequence, proposals) = call.look(|view| {
        let rows = view.proposals.live(now.max(view.time()));
        let proposals = rows.filter_map(|row| ProposalJson::known(view, row)).collect();
        Ok(ProposalsJson { proposals })
    })?;
    Reply::list(sequence, proposals, "proposals", |all| &mut all.proposals)
}

/// `POST /admin/proposals/{proposal}/confirm`
pub async fn confirm(call: Call) -> Result<Reply, Problem> {
    let proposal = read(&call)?;
    let operator = call.caller.user;
    end(call, Command::ConfirmProposal { operator, proposal }).await
}

/// `POST /admin/proposals/{proposal}/reject`
pub async fn reject(call: Call) -> Result<Reply, Problem> {
    let proposal = read(&call)?;
    let operator = call.caller.user;
    end(call, Command::DropProposal { operator, proposal }).await
}

/// The proposal that is meant. Cashiers may answer what they may propose: money that goes out.
fn read(call: &Call) -> Result<Sequence, Problem> {
    let (proposal, Nothing {}) =
        call.read(|form| form.path("proposal").zip(form.body_or_default()))?;
    let (seen, of_money) = call.look(|view| {
        let row = view.proposals.one(proposal);
        Ok(row.map(|row| row.proposed.user.is_some()))
    })?;
    if of_money == Some(false) && call.caller.role == Role::Cashier {
        return Err(Problem::new(Kind::Forbidden, "cashiers answer for money alone"));
    }
    // The answer to a repetition is kept, though the proposal has ended. One that is not here yet
    // has not been looked at.
    if of_money.is_none() && (call.once.is_none() || proposal > seen) {
        return Err(Problem::of(Reject::ProposalNotFound));
    }
    Ok(proposal)
}

async fn end(call: Call, command: Command) -> Result<Reply, Problem> {
    let written = call.submit_and_show(command, |_, _| Some(())).await?;
    Ok(Reply::no_content(written.sequence).replayed(written.replayed))
}
