//! Set-up of a play: creates the flow's markets and accounts on the server and funds the accounts.

use std::time::{SystemTime, UNIX_EPOCH};

use std::sync::Arc;

use bytes::Bytes;
use chrono::{DateTime, SecondsFormat};
use hyper::Method;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::answers::{Created, CreatedKey, read};
use client::{ApiKey, Ask, ClientError, Connection, Problem, Target};
use exchange::units::{MONEY_PER_UNIT, Money};
use flow::Flow;

/// Connections that create the accounts. The server commits concurrent requests in one write; more
/// connections would not be faster.
const SETUP_CONNECTIONS: usize = 8;
/// Time to the markets' deadline: a year, longer than any play.
const DEADLINE_AFTER_MS: i64 = 365 * 24 * 3600 * 1000;

/// The flow's markets and accounts on the server.
pub struct Stage {
    /// Markets' ids, by `MarketIndex`.
    pub markets: Vec<String>,
    /// Accounts' keys, by `AccountIndex`.
    pub keys: Vec<ApiKey>,
    /// Deposit of each account.
    pub deposit: Money,
}

/// Why the set-up failed.
#[derive(Debug, thiserror::Error)]
pub enum StageError {
    /// No answer.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// The server refused.
    #[error("POST {path}: {status} {code} {detail}")]
    Refused {
        /// What was asked.
        path: String,
        /// HTTP status.
        status: u16,
        /// The server's code.
        code: String,
        /// The server's explanation.
        detail: String,
    },
    /// An answer that cannot be read.
    #[error("POST {path}: {says}")]
    Unreadable {
        /// What was asked.
        path: String,
        /// What is wrong.
        says: String,
    },
    /// The flow needs more money than an account can hold.
    #[error("the flow's orders cost more than an account can hold")]
    Need,
    /// A set-up task panicked or was cancelled.
    #[error("the set-up stopped: {0}")]
    Stopped(#[from] tokio::task::JoinError),
}

/// Deposit of each account: the smallest power of ten, in whole currency units, above the cost of
/// all orders of any account.
///
/// # Errors
/// [`StageError::Need`].
pub fn deposit_of(flow: &Flow) -> Result<Money, StageError> {
    let need = flow.need_max().map_err(|_| StageError::Need)?;
    let mut deposit = MONEY_PER_UNIT;
    while deposit <= need.get() {
        deposit = deposit.checked_mul(10).ok_or(StageError::Need)?;
    }
    Ok(Money::new(deposit))
}

/// Creates everything. Names include the current time, so that a flow can be played on one server
/// again.
///
/// # Errors
/// The first failure.
pub async fn build(target: &Target, operator: &ApiKey, flow: &Flow) -> Result<Stage, StageError> {
    let deposit = deposit_of(flow)?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let now_ms = i64::try_from(now.as_millis()).unwrap_or(i64::MAX);
    let run = format!("{now_ms:x}");

    let mut client = OperatorClient::open(target, operator).await?;
    let mut markets = Vec::with_capacity(flow.markets().len());
    for (number, name) in flow.markets().iter().enumerate() {
        markets.push(client.market(name, &format!("play-{run}-{number}"), now_ms).await?);
    }

    let mut makers = JoinSet::new();
    let share = flow.accounts().len().div_ceil(SETUP_CONNECTIONS).max(1);
    for (part, names) in flow.accounts().chunks(share).enumerate() {
        let names: Vec<Arc<str>> = names.to_vec();
        let (target, operator, run) = (target.clone(), operator.clone(), run.clone());
        makers.spawn(async move {
            let mut client = OperatorClient::open(&target, &operator).await?;
            let mut keys = Vec::with_capacity(names.len());
            for name in names {
                keys.push(client.account(&format!("{name}-{run}"), deposit).await?);
            }
            Ok::<_, StageError>((part, keys))
        });
    }
    let mut parts = Vec::new();
    while let Some(made) = makers.join_next().await {
        parts.push(made??);
    }
    parts.sort_by_key(|(part, _)| *part);
    let keys = parts.into_iter().flat_map(|(_, keys)| keys).collect();
    Ok(Stage { markets, keys, deposit })
}

/// One connection with the operator's key.
struct OperatorClient<'a> {
    connection: Connection,
    operator: &'a ApiKey,
}

impl<'a> OperatorClient<'a> {
    async fn open(target: &Target, operator: &'a ApiKey) -> Result<OperatorClient<'a>, StageError> {
        Ok(OperatorClient { connection: Connection::open(target).await?, operator })
    }

    /// Creates a category, an event and a market, and publishes the market.
    async fn market(&mut self, name: &str, slug: &str, now_ms: i64) -> Result<String, StageError> {
        let category = json!({"name": format!("Flow {name}"), "slug": slug});
        let category: Created = self.post("/admin/categories", &category).await?;
        let title = json!({
            "pt": format!("Fluxo {name}"),
            "en": format!("Flow {name}"),
            "es": format!("Flujo {name}"),
        });
        let about = json!({
            "pt": format!("Ordens gravadas, reproduzidas como {slug}."),
            "en": format!("Recorded orders, played as {slug}."),
            "es": format!("Órdenes grabadas, reproducidas como {slug}."),
        });
        let event = json!({
            "titles": title, "subTitles": title, "descriptions": about,
            "images": ["https://openoutcry.example/flow.png"], "categoryIds": [category.id],
        });
        let event: Created = self.post("/admin/events", &event).await?;
        let deadline = DateTime::from_timestamp_millis(now_ms.saturating_add(DEADLINE_AFTER_MS))
            .unwrap_or_default()
            .to_rfc3339_opts(SecondsFormat::Millis, true);
        let market = json!({
            "questions": title,
            "descriptions": about,
            "outcomes": [
                {"id": "yes", "text": {"pt": "Sim", "en": "Yes", "es": "Sí"}},
                {"id": "no", "text": {"pt": "Não", "en": "No", "es": "No"}},
            ],
            "logo": "https://openoutcry.example/flow.png",
            "deadline": deadline,
            "categoryIds": [category.id],
            "eventId": event.id,
        });
        let market: Created = self.post("/admin/markets", &market).await?;
        let publish = format!("/admin/markets/{}/publish", market.id);
        let _published: Value = self.post(&publish, &json!({})).await?;
        Ok(market.id)
    }

    /// Creates a user with a trader's key and a deposit.
    async fn account(&mut self, name: &str, deposit: Money) -> Result<ApiKey, StageError> {
        let picture = format!("https://openoutcry.example/{name}.png");
        let user = json!({"profileName": name, "profilePic": picture});
        let user: Created = self.post("/admin/users", &user).await?;
        let key = json!({"role": "trader", "label": "flow player"});
        let key: CreatedKey = self.post(&format!("/admin/users/{}/keys", user.id), &key).await?;
        let amount = json!({"amount": deposit.to_string()});
        let _balance: Value =
            self.post(&format!("/admin/users/{}/deposits", user.id), &amount).await?;
        Ok(ApiKey::new(&key.key)?)
    }

    async fn post<T: DeserializeOwned>(
        &mut self,
        path: &str,
        body: &Value,
    ) -> Result<T, StageError> {
        let body = Some(Bytes::from(body.to_string()));
        let ask =
            Ask { method: Method::POST, path, key: self.operator, idempotency_key: None, body };
        let reply = self.connection.ask(&ask).await?;
        let path = path.to_owned();
        if !reply.status.is_success() {
            let problem: Problem = Problem::of(&reply);
            let (code, detail) = (problem.code, problem.detail);
            return Err(StageError::Refused { path, status: reply.status.as_u16(), code, detail });
        }
        read(&reply.body).map_err(|says| StageError::Unreadable { path, says })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flow::lines::Source;

    #[test]
    fn the_deposit_is_more_than_the_need_and_a_power_of_ten() {
        let flow = Flow::read(flow::sample::flow(), None).unwrap();
        assert_eq!(deposit_of(&flow).unwrap().to_string(), "1000000.00");
        let huge = concat!(
            r#"{"t_ms":1,"market":"m","op":"place","ref":1,"acct":"a","outcome":"no","#,
            r#""side":"BUY","price":"0.99","qty":"100000000","tif":"GTC"}"#
        );
        let deposit = |source| deposit_of(&Flow::read(source, None).unwrap());
        assert_eq!(deposit(Source::bytes(huge)).unwrap().to_string(), "100000000.00");
        assert_eq!(deposit(Source::bytes("")).unwrap().to_string(), "1.00");
    }
}
