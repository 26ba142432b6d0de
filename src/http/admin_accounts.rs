//! What an operator reads of a user's account as its owner does, and cancels for the user.

use super::call::Call;
use super::problem::{Kind, Problem};
use super::reply::Reply;
use super::{account, order_list, orders, positions, statement};

/// `GET /admin/users/{userId}/orders`
pub async fn orders(call: Call) -> Result<Reply, Problem> {
    of_user(call, order_list::list).await
}

/// `GET /admin/users/{userId}/positions`
pub async fn positions(call: Call) -> Result<Reply, Problem> {
    of_user(call, positions::list).await
}

/// `GET /admin/users/{userId}/fills`
pub async fn fills(call: Call) -> Result<Reply, Problem> {
    of_user(call, account::fills).await
}

/// `GET /admin/users/{userId}/ledger`
pub async fn ledger(call: Call) -> Result<Reply, Problem> {
    of_user(call, statement::ledger).await
}

/// `DELETE /admin/users/{userId}/orders`
pub async fn cancel_orders(call: Call) -> Result<Reply, Problem> {
    match call.clone().about_user() {
        Ok(call) => orders::cancel_all(call).await,
        Err(nobody) => Err(orders::which(&call).err().unwrap_or(nobody)),
    }
}

/// Reads a user's account. What is wrong with the parameters is told also where there is no user.
async fn of_user<F>(call: Call, list: impl Fn(Call) -> F) -> Result<Reply, Problem>
where
    F: Future<Output = Result<Reply, Problem>>,
{
    match call.clone().about_user() {
        Ok(call) => list(call).await,
        Err(nobody) => match list(call).await {
            Err(wrong) if wrong.kind == Kind::InvalidRequest => Err(wrong),
            Err(_) | Ok(_) => Err(nobody),
        },
    }
}
