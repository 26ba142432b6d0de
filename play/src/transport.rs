//! How commands travel: over the streams of their accounts, or as HTTP requests.

use bytes::Bytes;
use clap::ValueEnum;
use hyper::Method;
use serde::Serialize;
use tokio::sync::Mutex;

use client::stream::Stream;
use client::{ApiKey, Ask, ClientError, Connection, Reply, Target};
use flow::AccountIndex;
use flow::rows::PlacedOrder;

/// Most commands of a stream without an answer; the server takes 256.
const STREAM_DEPTH: usize = 64;

/// Which transport.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Transport {
    /// A WebSocket per account
    Stream,
    /// HTTP requests, one connection per market
    Http,
}

impl Transport {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Transport::Stream => "stream",
            Transport::Http => "http",
        }
    }
}

/// The way to the server.
pub enum Way {
    /// The accounts' streams, opened when they are first needed.
    Streams(Vec<Mutex<Option<Stream>>>),
    /// The market's connection.
    Http,
}

/// A command in the words of the interface.
#[derive(Serialize)]
#[serde(tag = "op", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Command<'a> {
    /// An order.
    Place {
        /// The order.
        body: OrderBody<'a>,
    },
    /// A cancel.
    Cancel {
        /// Of this order.
        order_id: String,
    },
}

/// An order in the words of the interface.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OrderBody<'a> {
    market_id: &'a str,
    outcome_id: &'static str,
    side: &'static str,
    order_type: &'static str,
    price: String,
    quantity: String,
    time_in_force: &'static str,
}

impl OrderBody<'_> {
    /// Words an order.
    pub fn of<'a>(market_id: &'a str, order: &PlacedOrder) -> OrderBody<'a> {
        OrderBody {
            market_id,
            outcome_id: order.wording.outcome.id(),
            side: order.wording.side.name(),
            order_type: "LIMIT",
            price: order.price.to_string(),
            quantity: order.quantity.to_string(),
            time_in_force: order.time_in_force.name(),
        }
    }
}

impl Way {
    /// The way of a transport, for so many accounts.
    pub fn of(transport: Transport, accounts: usize) -> Way {
        match transport {
            Transport::Stream => Way::Streams((0..accounts).map(|_| Mutex::new(None)).collect()),
            Transport::Http => Way::Http,
        }
    }

    /// How many commands may be asked together.
    pub const fn depth(&self) -> usize {
        match self {
            Way::Streams(_) => STREAM_DEPTH,
            Way::Http => 1,
        }
    }

    /// Sends an account's commands and reads their answers.
    ///
    /// # Errors
    /// An answer is missing.
    pub async fn ask(
        &self,
        connection: &mut Connection,
        target: &Target,
        (account, key): (AccountIndex, &ApiKey),
        commands: &[Command<'_>],
    ) -> Result<Vec<Reply>, ClientError> {
        if let Way::Streams(streams) = self
            && let Some(place) = streams.get(account.0)
        {
            let mut place = place.lock().await;
            let mut stream = match place.take() {
                Some(stream) => stream,
                None => Stream::open(target, key).await?,
            };
            let replies = stream.ask(commands).await?;
            // One that failed is not put back.
            *place = Some(stream);
            return Ok(replies);
        }
        let mut replies = Vec::with_capacity(commands.len());
        for command in commands {
            replies.push(request(connection, key, command).await?);
        }
        Ok(replies)
    }
}

async fn request(
    connection: &mut Connection,
    key: &ApiKey,
    command: &Command<'_>,
) -> Result<Reply, ClientError> {
    let (method, path, body) = match command {
        Command::Place { body } => {
            let body = serde_json::to_vec(body).map_err(ClientError::Json)?;
            (Method::POST, "/trading/orders".to_owned(), Some(Bytes::from(body)))
        }
        Command::Cancel { order_id } => {
            (Method::DELETE, format!("/trading/orders/{order_id}"), None)
        }
    };
    connection.ask(&Ask { method, path: &path, key, idempotency_key: None, body }).await
}

#[cfg(test)]
mod tests {
    use super::*;
    use exchange::catalogue::Outcome;
    use exchange::command::{Side, TimeInForce, Wording};
    use exchange::units::{Lots, Tick};

    #[test]
    fn commands_are_written_in_the_interface_s_words() {
        let order = PlacedOrder {
            wording: Wording { outcome: Outcome::No, side: Side::Sell },
            price: Tick::new(5).unwrap(),
            quantity: Lots::new(2_500_000),
            time_in_force: TimeInForce::ImmediateOrCancel,
        };
        let place = Command::Place { body: OrderBody::of("m", &order) };
        assert_eq!(
            serde_json::to_string(&place).unwrap(),
            concat!(
                r#"{"op":"place","body":{"marketId":"m","outcomeId":"no","side":"SELL","#,
                r#""orderType":"LIMIT","price":"0.05","quantity":"2.5","timeInForce":"IOC"}}"#
            )
        );
        let cancel = Command::Cancel { order_id: "o".to_owned() };
        assert_eq!(serde_json::to_string(&cancel).unwrap(), r#"{"op":"cancel","orderId":"o"}"#);
    }
}
