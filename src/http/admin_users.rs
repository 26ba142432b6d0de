//! The operator creates users, deposits and withdraws their money, and withdraws fees (semantics
//! 8).

use tokio::task::yield_now;

use super::admin_markets::dry_run;
use super::call::{Call, user_no};
use super::form::Form;
use super::grounds;
use super::members::bodies;
use super::page::{Above, PAGE_CAP, Page, PageRule};
use super::parse::{self, Name, WebUrl};
use super::previews;
use super::problem::Problem;
use super::proposals::{self, came};
use super::reply::Reply;
use super::route::BASE;
use super::switches::show_user;
use super::wire::account::{BalanceJson, FeesJson, UserJson, UsersJson};
use exchange::command::Command;
use exchange::ids::{Token, UserNo};
use exchange::units::Money;
use views::ReadModel;
use views::accounts::Balance;
use views::responses::StoredResponse;
use views::search::plain;

/// Pages of users.
const USERS_PAGE: PageRule = PageRule { standard: 20, max: PAGE_CAP, above: Above::Capped };

/// Users whose names are looked at before the projector gets its turn.
const USERS_A_LOOK: usize = 1024;

bodies! {
    /// A new user.
    struct NewUser {
        required { "profileName" => name: Name, "profilePic" => picture: WebUrl }
    }

    /// What a user becomes.
    struct ChangedUser {
        required { "profileName" => name: Name }
    }

    /// Money that comes or goes.
    struct Transfer {
        required { "amount" => amount: Money }
        optional { "reference" => reference: Token }
    }

    /// Money that was earned.
    struct Taking {
        required { "amount" => amount: Money }
    }
}

/// `GET /admin/users`
pub async fn list(call: Call) -> Result<Reply, Problem> {
    let mut form = call.form();
    let (page, name) = (Page::read(&mut form, USERS_PAGE), form.query("name", parse::text));
    let (page, name) = form.finish(page.zip(name))?;
    if let Some(Name(name)) = name {
        return named(&call, page, &name).await;
    }
    let (sequence, users) = call.look(|view| {
        let accounts = &view.accounts;
        let (rows, paging) = page.cut_known(accounts.users_newest_first(), accounts.users_count());
        Ok(UsersJson { users: rows.into_iter().map(UserJson::of).collect(), paging })
    })?;
    Reply::list(sequence, users, "users", |all| &mut all.users)
}

/// Those whose names have this text, whatever the case and accents of either. All users are looked
/// through, some at a time: those who come meanwhile may be missing.
async fn named(call: &Call, page: Page, text: &str) -> Result<Reply, Problem> {
    let sought = plain(text);
    let (_, count) = call.look(|view| Ok(view.accounts.users_count()))?;
    let (mut seen, mut found) = (0, Vec::new());
    while seen < count {
        call.look(|view| {
            let since = view.accounts.users_count().saturating_sub(count);
            let rows = view.accounts.users_newest_first().skip(since.saturating_add(seen));
            let rows = rows.take(USERS_A_LOOK);
            let rows = rows.filter(|row| plain(&row.profile_name).contains(&sought));
            found.extend(rows.map(|row| row.no));
            Ok(())
        })?;
        seen = seen.saturating_add(USERS_A_LOOK);
        yield_now().await;
    }
    let (found, paging) = page.cut(found.into_iter());
    let (sequence, users) = call.look(|view| {
        let rows = found.into_iter().filter_map(|user| view.accounts.user(user));
        Ok(UsersJson { users: rows.map(UserJson::of).collect(), paging })
    })?;
    Reply::list(sequence, users, "users", |all| &mut all.users)
}

/// `GET /admin/fees`
pub fn fees(call: &Call) -> Result<Reply, Problem> {
    call.read(|_| Some(()))?;
    let (sequence, fees) = call.look(|view| {
        let (collected, taken) = (view.accounts.fees(), view.accounts.fees_taken());
        let left = collected.less(taken).map_err(|_| Problem::internal("fees out of range"))?;
        Ok(FeesJson::of(collected, taken, left, view.accounts.currency()))
    })?;
    Reply::ok(sequence, &fees)
}

/// `GET /admin/users/{userId}`
pub fn one(call: &Call) -> Result<Reply, Problem> {
    let id = call.read(|form| form.path("userId"))?;
    let (sequence, user) = call.look(|view| {
        let row = view.accounts.user(user_no(view, id)?);
        row.map(UserJson::of).ok_or_else(Problem::lacking_row)
    })?;
    Reply::ok(sequence, &user)
}

/// `POST /admin/users`
pub async fn create(call: Call) -> Result<Reply, Problem> {
    let NewUser { name: Name(profile_name), picture: WebUrl(profile_pic) } =
        call.read(Form::body)?;
    let command = Command::CreateUser { profile_name, profile_pic };
    let again = |_: &ReadModel, kept: &StoredResponse| {
        let StoredResponse::User(row) = kept else { return None };
        Some((row.id, UserJson::of(row)))
    };
    let written = call.submit_and_show(command, again).await?;
    let (id, user) = &written.shown;
    written.created(format!("{BASE}/admin/users/{id}"), user)
}

/// `PATCH /admin/users/{userId}`
pub async fn rename(call: Call) -> Result<Reply, Problem> {
    let (id, ChangedUser { name: Name(profile_name) }) =
        call.read(|form| form.path("userId").zip(form.body()))?;
    let (_, user) = call.look(|view| user_no(view, id))?;
    show_user(&call, Command::RenameUser { user, profile_name }).await
}

/// `POST /admin/users/{userId}/deposits`
pub async fn deposit(call: Call) -> Result<Reply, Problem> {
    transfer(call, |user, amount| Command::Deposit { user, amount }).await
}

/// `POST /admin/users/{userId}/withdrawals`
pub async fn withdraw(call: Call) -> Result<Reply, Problem> {
    transfer(call, |user, amount| Command::Withdraw { user, amount }).await
}

/// Moves money into a user's account or out of it.
async fn transfer(mut call: Call, command: fn(UserNo, Money) -> Command) -> Result<Reply, Problem> {
    let (id, Transfer { amount, reference }) =
        call.read(|form| form.path("userId").zip(form.body()))?;
    grounds::refer(&mut call.act, reference);
    let (_, user) = call.look(|view| user_no(view, id))?;
    moved(call, command(user, amount)).await
}

/// `POST /admin/fees/withdrawals`
pub async fn take_fees(call: Call) -> Result<Reply, Problem> {
    let (Taking { amount }, dry_run) = call.read(|form| form.body().zip(dry_run(form)))?;
    let user = call.caller.user;
    let command = Command::TakeFees { user, amount };
    if !dry_run {
        return moved(call, command).await;
    }
    previews::admitted(&call, command).await?;
    let (sequence, balance) = call.look(|view| {
        let row = view.accounts.user(user).ok_or_else(Problem::lacking_row)?;
        let overflow = |_| Problem::internal("more money than there can be");
        let available = row.balance.available.plus(amount).map_err(overflow)?;
        let balance = Balance { available, ..row.balance };
        Ok(BalanceJson::of(balance, view.accounts.currency()))
    })?;
    Reply::ok(sequence, &balance)
}

/// Executes a command that moves money and answers the account's new balance.
async fn moved(call: Call, command: Command) -> Result<Reply, Problem> {
    let again = |view: &ReadModel, kept: &StoredResponse| match kept {
        StoredResponse::Balance(balance) => {
            Some(BalanceJson::of(**balance, view.accounts.currency()))
        }
        _ => None,
    };
    let again = move |view: &ReadModel, kept: &StoredResponse| came(view, kept, again);
    let written = call.submit_and_show(command, again).await?;
    proposals::answer(&written)
}
