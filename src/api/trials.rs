//! Trials: what would come of an order, or of an amend, if it were asked now. Nothing is recorded and
//! no name is used up; `Sequence` is the last record that the answer knows of.

use super::call::Call;
use super::once;
use super::orders::{Placed, placed, placed_before, untold};
use super::problem::Problem;
use super::reply::Reply;
use super::routes::BASE;
use super::wire::account::BalanceJson;
use super::wire::order::{OrderJson, TriedJson, after};
use crate::exchange::command::PlaceOrder;
use crate::exchange::effect::{Applied, Effect};
use crate::exchange::ids::{OrderNo, UserNo};
use crate::exchange::invariant::Broken;
use crate::exchange::trial::Tried;
use crate::exchange::units::{Lots, Tick};
use crate::projection::ReadModel;

/// `POST /trading/orders?dryRun=true`: what an order would come to.
pub async fn place(call: &Call, terms: PlaceOrder) -> Result<Reply, Problem> {
    let user = call.caller.user;
    // The key is held to what the request would be without `dryRun`.
    let target = format!("{BASE}/trading/orders");
    let once =
        call.once.as_ref().map(|once| Box::new(once::once(user, once.key, &target, &call.body)));
    let tell = move |view: &ReadModel, came: Result<&Applied<'_>, Broken>| {
        let sequence = view.watermark();
        let applied = sound(came)?;
        let (sequence, placed, replayed) = match applied.effects {
            [Effect::Refused(reject)] => return Err(Problem::refused(*reject, sequence)),
            [Effect::Repeated { first }] => {
                (*first, view.answers.of(*first).and_then(|kept| placed_before(view, kept)), true)
            }
            _ => (sequence, placed(applied).map(Placed::Now), false),
        };
        let balance = balance_after(view, user, applied.effects)?;
        Ok((sequence, placed.ok_or_else(untold)?, balance, replayed))
    };
    let tried = call.engine.try_out(Tried::Place(terms), once, tell).await?;
    let (sequence, placed, balance, replayed) = tried?;
    let content = TriedJson { came: placed.json()?, dry_run: true, balance };
    Ok(Reply::ok(sequence, &content)?.replayed(replayed))
}

/// `PATCH /trading/orders/{orderId}?dryRun=true`: what an amend would make of an order.
pub async fn amend(
    call: &Call,
    order: OrderNo,
    price: Option<Tick>,
    quantity: Option<Lots>,
) -> Result<Reply, Problem> {
    let user = call.caller.user;
    let tell = move |view: &ReadModel, came: Result<&Applied<'_>, Broken>| {
        let sequence = view.watermark();
        let applied = sound(came)?;
        if let [Effect::Refused(reject)] = applied.effects {
            return Err(Problem::refused(*reject, sequence));
        }
        let before = view.orders.open_order(order).ok_or_else(untold)?;
        let row = after(&before, applied).map_err(|_| untold())?;
        let balance = balance_after(view, user, applied.effects)?;
        Ok((sequence, TriedJson { came: OrderJson::of(view, &row), dry_run: true, balance }))
    };
    let tried = Tried::Amend { user, order, price, quantity };
    let (sequence, content) = call.engine.try_out(tried, None, tell).await??;
    Reply::ok(sequence, &content)
}

/// What a trial came to, unless the state contradicts itself.
fn sound<T>(came: Result<T, Broken>) -> Result<T, Problem> {
    came.map_err(|_| Problem::internal("a trial came to what cannot be"))
}

/// The user's money after these effects.
fn balance_after(
    view: &ReadModel,
    user: UserNo,
    effects: &[Effect],
) -> Result<BalanceJson, Problem> {
    let after = effects.iter().rev().find_map(|effect| match effect {
        Effect::AccountChanged { user: whose, available, reserved } if *whose == user => {
            Some((*available, *reserved))
        }
        _ => None,
    });
    let now = view.accounts.user(user).map(|row| (row.balance.available, row.balance.reserved));
    let (available, reserved) = after.or(now).ok_or_else(untold)?;
    Ok(BalanceJson::new(available, reserved, view.accounts.currency()))
}
