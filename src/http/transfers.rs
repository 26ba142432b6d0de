//! Transfers that users ask for: listed, answered by the venue, taken back.

use super::admin_markets::Nothing;
use super::call::Call;
use super::form::Form;
use super::grounds;
use super::members::bodies;
use super::page::{Above, PAGE_CAP, Page, PageRule};
use super::parse::{Fault, Read};
use super::problem::Problem;
use super::proposals::{self, came};
use super::reply::Reply;
use super::route::BASE;
use super::wire::transfer::{TransferJson, TransferPageJson, TransfersJson};
use exchange::command::{Command, TransferEnd};
use exchange::ids::{Token, UserNo};
use exchange::reject::Reject;
use exchange::units::{Money, Sequence};
use views::ReadModel;
use views::responses::StoredResponse;
use views::transfers::TransferRow;

/// Pages of transfers.
const TRANSFERS_PAGE: PageRule = PageRule { standard: 50, max: PAGE_CAP, above: Above::Capped };

bodies! {
    /// Money that is to come or go.
    struct Asked {
        required { "amount" => amount: Money }
        optional { "reference" => reference: Token }
    }

    /// What the transfer is called elsewhere.
    #[derive(Default)]
    struct Confirmed {
        optional { "reference" => reference: Token }
    }
}

/// `POST /account/deposits`
pub async fn ask_deposit(call: Call) -> Result<Reply, Problem> {
    let (user, Asked { amount, reference }) = (call.caller.user, call.read(Form::body)?);
    asked(call, Command::AskDeposit { user, amount, reference }).await
}

/// `POST /account/withdrawals`
pub async fn ask_withdrawal(call: Call) -> Result<Reply, Problem> {
    let (user, Asked { amount, reference }) = (call.caller.user, call.read(Form::body)?);
    asked(call, Command::AskWithdrawal { user, amount, reference }).await
}

async fn asked(call: Call, command: Command) -> Result<Reply, Problem> {
    let written = call.submit_and_show(command, shown).await?;
    written.created(format!("{BASE}/account/transfers/{}", written.sequence), &written.shown)
}

fn shown(view: &ReadModel, kept: &StoredResponse) -> Option<TransferJson> {
    let StoredResponse::Transfer(row) = kept else { return None };
    TransferJson::known(view, row)
}

/// `GET /account/transfers`
pub fn list(call: &Call) -> Result<Reply, Problem> {
    call.read(|_| Some(()))?;
    let (sequence, transfers) = call.look(|view| {
        let rows = view.transfers.of(call.account);
        Ok(TransfersJson {
            transfers: rows.filter_map(|row| TransferJson::known(view, row)).collect(),
        })
    })?;
    Reply::ok(sequence, &transfers)
}

/// `GET /account/transfers/{transfer}`
pub fn one(call: &Call) -> Result<Reply, Problem> {
    let asked = call.read(|form| form.path("transfer"))?;
    let (sequence, transfer) = call.look(|view| {
        let row = Some(known(view, asked)?).filter(|row| row.user == call.account);
        let row = row.ok_or_else(missing)?;
        TransferJson::known(view, row).ok_or_else(Problem::lacking_row)
    })?;
    Reply::ok(sequence, &transfer)
}

/// `DELETE /account/transfers/{transfer}`
pub async fn cancel(call: Call) -> Result<Reply, Problem> {
    let transfer = call.read(|form| form.path("transfer"))?;
    let (user, how) = (call.caller.user, TransferEnd::Cancelled);
    let answer = call.submit(Command::EndTransfer { user, transfer, how }).await?;
    Ok(Reply::no_content(answer.sequence()))
}

/// `GET /admin/transfers`
pub fn list_all(call: &Call) -> Result<Reply, Problem> {
    let (page, waiting) = call.read(|form| {
        let waiting = form.query("state", only_waiting);
        Page::read(form, TRANSFERS_PAGE).zip(waiting)
    })?;
    let (sequence, transfers) = call.look(|view| {
        let all = &view.transfers;
        let (rows, paging) = if waiting.is_some() {
            let waiting = all.waiting().rev();
            let total = waiting.len();
            page.cut_known(waiting.filter_map(|asked| all.one(asked)), total)
        } else {
            page.cut_known(all.all(), all.all().len())
        };
        let transfers = rows.into_iter().filter_map(|row| TransferJson::known(view, row));
        Ok(TransferPageJson { transfers: transfers.collect(), paging })
    })?;
    Reply::list(sequence, transfers, "transfers", |all| &mut all.transfers)
}

/// The state by which a list may be narrowed.
fn only_waiting(text: &str) -> Read<()> {
    if text == "requested" { Ok(()) } else { Err(Fault::invalid("must be requested")) }
}

/// `POST /admin/transfers/{transfer}/confirm`
pub async fn confirm(mut call: Call) -> Result<Reply, Problem> {
    let (asked, Confirmed { reference }) =
        call.read(|form| form.path("transfer").zip(form.body_or_default()))?;
    grounds::refer(&mut call.act, reference);
    answer(call, asked, TransferEnd::Confirmed).await
}

/// `POST /admin/transfers/{transfer}/refuse`
pub async fn refuse(call: Call) -> Result<Reply, Problem> {
    let (asked, Nothing {}) =
        call.read(|form| form.path("transfer").zip(form.body_or_default()))?;
    answer(call, asked, TransferEnd::Refused).await
}

async fn answer(call: Call, transfer: Sequence, how: TransferEnd) -> Result<Reply, Problem> {
    let user = asker(&call, transfer).await?;
    let command = Command::EndTransfer { user, transfer, how };
    let shown = |view: &ReadModel, kept: &StoredResponse| came(view, kept, shown);
    let written = call.submit_and_show(command, shown).await?;
    proposals::answer(&written)
}

/// Who asked for a transfer. Of those answered only the last of each user are in view, but the
/// answer to a repetition is kept for longer: who asked then, the journal says.
async fn asker(call: &Call, asked: Sequence) -> Result<UserNo, Problem> {
    let (seen, user) = call.look(|view| Ok(view.transfers.one(asked).map(|row| row.user)))?;
    if let Some(user) = user {
        return Ok(user);
    }
    if call.once.is_none() || asked == Sequence::ZERO || asked > seen {
        return Err(missing());
    }
    let records = call.past().records(asked, 1, usize::MAX).await?;
    match records.first().map(|record| (record.sequence, &record.command)) {
        Some((record, Command::AskDeposit { user, .. } | Command::AskWithdrawal { user, .. }))
            if record == asked =>
        {
            Ok(*user)
        }
        _ => Err(missing()),
    }
}

fn known(view: &ReadModel, asked: Sequence) -> Result<&TransferRow, Problem> {
    view.transfers.one(asked).ok_or_else(missing)
}

fn missing() -> Problem {
    Problem::of(Reject::TransferNotFound)
}
