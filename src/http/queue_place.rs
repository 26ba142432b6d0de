//! The place of an order in the queue of its price. Only the exchange has queues, so it is looked
//! up between two blocks, by the thread that has the exchange, with the order of that moment.

use tokio::sync::oneshot;

use super::call::Call;
use super::problem::Problem;
use super::reply::Reply;
use super::wire::order::OrderJson;
use exchange::ids::{OrderId, OrderNo};
use exchange::units::Sequence;

/// Most orders passed in looking for an end of the queue.
const PASSED_MAX: usize = 1000;

/// An open order of the caller, with its place; `None` if it is not open.
///
/// # Errors
/// Too many ask at once, or the engine takes no commands.
pub async fn find(call: &Call, id: OrderId) -> Result<Option<Reply>, Problem> {
    let (user, (sender, found)) = (call.caller.user, oneshot::channel());
    call.engine.try_out(move |trying| {
        let order = OrderNo(id.sequence());
        let view = trying.read();
        let row = view.orders.open_order_of(user, order).filter(|row| row.id() == id);
        let json = row.map(|row| {
            let ahead = trying.exchange.ahead_of(order, PASSED_MAX);
            OrderJson::seen(&view, &row).queued(ahead)
        });
        let found: (Sequence, Option<OrderJson>) = (view.watermark(), json);
        // The caller may have gone away meanwhile.
        drop(sender.send(found));
    })?;
    let (sequence, json) = found.await.map_err(|_| call.engine.untried())?;
    json.map(|json| Reply::ok(sequence, &json)).transpose()
}
