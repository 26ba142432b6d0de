//! What an operator reads of a user's account as its owner does, and cancels for the user.

use super::call::Call;
use super::problem::Problem;
use super::reply::Reply;
use super::{account, order_list, orders, positions, statement};

/// `GET /admin/users/{userId}/orders`
pub async fn orders(call: Call) -> Result<Reply, Problem> {
    order_list::list(call.about_user()?).await
}

/// `GET /admin/users/{userId}/positions`
pub async fn positions(call: Call) -> Result<Reply, Problem> {
    positions::list(call.about_user()?).await
}

/// `GET /admin/users/{userId}/fills`
pub async fn fills(call: Call) -> Result<Reply, Problem> {
    account::fills(call.about_user()?).await
}

/// `GET /admin/users/{userId}/ledger`
pub async fn ledger(call: Call) -> Result<Reply, Problem> {
    statement::ledger(call.about_user()?).await
}

/// `DELETE /admin/users/{userId}/orders`
pub async fn cancel_orders(call: Call) -> Result<Reply, Problem> {
    orders::cancel_all(call.about_user()?).await
}
