//! The demo's present: the crowd goes on trading through the server's public interface, as programs
//! of other people would, and the operator ends short markets and asks their questions anew.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use bytes::Bytes;
use chrono::{DateTime, SecondsFormat};
use client::{ApiKey, Ask, ClientError, Connection, Problem, Target};
use hyper::Method;
use serde_json::{Value, json};
use tokio::time::sleep;

use super::chance::Chance;
use super::flow::{self, Wish};
use super::people::{Bird, MAKERS, OPERATOR};
use super::pictures::Pictures;
use super::script::later;
use super::walk::Walk;
use engine::clock;
use exchange::units::{LOTS_PER_CONTRACT, Lots, Tick, TimeMs};

/// Between two looks of somebody at a market, about.
const PACE: Duration = Duration::from_secs(1);
/// After refusals or a lost connection the pace halves, at most so often.
const SLOWER_MOST: u32 = 6;
/// Between two looks at which markets there are.
const LOOK_EVERY: Duration = Duration::from_mins(1);
/// Markets that most look at, and in how many of a hundred cases.
const HOT: (usize, u64) = (7, 65);
/// How beliefs shake in an hour, in thousandths of log-odds.
const SHAKE: i64 = 45;
const MINUTE_MS: i64 = 60_000;
const HOUR_MS: i64 = 60 * MINUTE_MS;
/// A market that has been closed for so long is decided.
const DECIDED_AFTER_MS: i64 = 6 * HOUR_MS;
/// Markets that were open for less than this are asked anew, for at least a quarter of it.
const SHORT_MS: i64 = 30 * 24 * HOUR_MS;

/// A market that takes orders.
struct Question {
    id: String,
    walk: Walk,
    /// Whether it excludes others, so that its price must not wander by itself.
    tied: bool,
    seen: Instant,
    quoted: [Option<Tick>; MAKERS.len()],
}

/// The people, and the one connection on which they take turns.
struct Living {
    connection: Connection,
    operator: ApiKey,
    /// Makers first.
    birds: Vec<(Bird, ApiKey)>,
    chance: Chance,
    questions: Vec<Question>,
    /// How often in a row something was refused.
    refused: u32,
}

/// Why the people pause.
#[derive(Debug, thiserror::Error)]
enum Pause {
    #[error(transparent)]
    Lost(#[from] ClientError),
    #[error("refused: {0}")]
    Refused(String),
}

/// Trades on the demo at this address until it is dropped; the same seed chooses alike.
pub(crate) async fn trade(address: SocketAddr, seed: u64) {
    let mut slower = 0;
    loop {
        match Living::begin(address, seed).await {
            Ok(mut living) => {
                slower = 0;
                let why = living.go_on().await;
                tracing::debug!(%why, "the demo's people pause");
            }
            Err(why) => tracing::debug!(%why, "the demo's people do not reach their venue"),
        }
        slower = SLOWER_MOST.min(slower + 1);
        sleep(PACE.saturating_mul(1 << slower)).await;
    }
}

impl Living {
    async fn begin(address: SocketAddr, seed: u64) -> Result<Living, ClientError> {
        let target = Target::parse(&format!("http://{address}"))?;
        let keyed = |bird: Bird| Ok((bird, ApiKey::new(&bird.key())?));
        let birds = Bird::all().map(keyed).collect::<Result<_, ClientError>>()?;
        let (operator, chance) = (ApiKey::new(OPERATOR.key)?, Chance::seeded(seed));
        let connection = Connection::open(&target).await?;
        let (questions, refused) = (Vec::new(), 0);
        Ok(Living { connection, operator, birds, chance, questions, refused })
    }

    /// Goes on until the connection is lost.
    async fn go_on(&mut self) -> ClientError {
        let mut looked: Option<Instant> = None;
        loop {
            let due = looked.is_none_or(|looked| looked.elapsed() >= LOOK_EVERY);
            let went = if due { self.look().await } else { self.visit().await };
            match went {
                Ok(()) => {
                    self.refused = 0;
                    looked = looked.filter(|_| !due).or_else(|| Some(Instant::now()));
                }
                Err(Pause::Lost(why)) => return why,
                Err(Pause::Refused(why)) => {
                    self.refused = SLOWER_MOST.min(self.refused + 1);
                    tracing::debug!(why, "somebody of the demo was refused");
                }
            }
            let about = self.chance.below(200);
            let pace = PACE.saturating_mul(1 << self.refused);
            sleep(pace.saturating_mul(u32::try_from(about).unwrap_or(0)) / 100).await;
        }
    }

    async fn ask(
        &mut self,
        key: &ApiKey,
        method: Method,
        path: &str,
        body: Option<Value>,
    ) -> Result<Value, Pause> {
        let body = body.map(|body| Bytes::from(body.to_string()));
        let ask = Ask { method, path, key, idempotency_key: None, body };
        let reply = self.connection.ask(&ask).await?;
        if reply.is_success() {
            return Ok(serde_json::from_slice(&reply.body).unwrap_or_default());
        }
        Err(Pause::Refused(Problem::of(&reply).code))
    }

    /// Sees which markets there are, and has the operator tend those that are over.
    async fn look(&mut self) -> Result<(), Pause> {
        let key = self.operator.clone();
        let path = "/admin/markets?status=ACTIVE&limit=1000";
        let active = self.ask(&key, Method::GET, path, None).await?;
        let path = "/admin/markets?status=CLOSED&limit=1000";
        let closed = self.ask(&key, Method::GET, path, None).await?;
        let mut known = std::mem::take(&mut self.questions);
        for market in rows(&active, "markets") {
            let Some(id) = market["id"].as_str() else { continue };
            if let Some(place) = known.iter().position(|question| question.id == id) {
                self.questions.push(known.swap_remove(place));
            } else if let Some(price) = price_of_yes(market) {
                let walk = Walk::from(price, SHAKE, &mut self.chance);
                let (tied, seen) = (self.is_tied(market).await?, Instant::now());
                let id = id.to_owned();
                self.questions.push(Question {
                    id,
                    walk,
                    tied,
                    seen,
                    quoted: [None; MAKERS.len()],
                });
            }
        }
        for market in rows(&closed, "markets") {
            self.tend(market, &active).await?;
        }
        Ok(())
    }

    /// Whether a market excludes others.
    async fn is_tied(&mut self, market: &Value) -> Result<bool, Pause> {
        let Some(event) = market["eventId"].as_str() else { return Ok(false) };
        let (key, path) = (self.operator.clone(), format!("/events/{event}"));
        let event = self.ask(&key, Method::GET, &path, None).await?;
        Ok(event["mutuallyExclusive"] == true)
    }

    /// Decides a market that is over, and asks a short one's question anew.
    async fn tend(&mut self, market: &Value, active: &Value) -> Result<(), Pause> {
        let (key, now) = (self.operator.clone(), clock::now());
        let Some(id) = market["id"].as_str() else { return Ok(()) };
        let (Some(deadline), Some(created)) =
            (moment(market, "deadline"), moment(market, "createdAt"))
        else {
            return Ok(());
        };
        // Others' questions, which have other pictures, are for others to decide.
        let theirs = market["logo"].as_str().and_then(Pictures::beside).is_none();
        if theirs || now < later(deadline, DECIDED_AFTER_MS) || self.is_tied(market).await? {
            return Ok(());
        }
        let yes = u64::from(price_of_yes(market).map_or(50, Tick::get));
        let winner = if self.chance.percent(yes) { "yes" } else { "no" };
        let path = format!("/admin/markets/{id}/resolve");
        let body = json!({"winningOutcomeId": winner});
        self.ask(&key, Method::POST, &path, Some(body)).await?;
        let open_ms = deadline.get().saturating_sub(created.get());
        let asked = |other: &Value| other["questions"] == market["questions"];
        if open_ms > SHORT_MS || rows(active, "markets").any(asked) {
            return Ok(());
        }
        let days = SHORT_MS / 4 + self.chance.within(SHORT_MS / 4);
        let mut body = json!({"deadline": shown(later(now, days))});
        for member in [
            "questions",
            "descriptions",
            "logo",
            "categoryIds",
            "eventId",
            "highlighted",
            "disputeWindowSeconds",
            "makerFee",
            "takerFee",
        ] {
            if !market[member].is_null() {
                body[member] = market[member].clone();
            }
        }
        let outcomes = rows(market, "outcomes");
        body["outcomes"] = outcomes.map(|o| json!({"id": o["id"], "text": o["text"]})).collect();
        let made = self.ask(&key, Method::POST, "/admin/markets", Some(body)).await?;
        let path = format!("/admin/markets/{}/publish", made["id"].as_str().unwrap_or_default());
        self.ask(&key, Method::POST, &path, Some(json!({}))).await.map(drop)
    }

    /// Somebody looks at a market: makers quote anew if its price has moved or a side of the
    /// book is empty, and some take.
    async fn visit(&mut self) -> Result<(), Pause> {
        let (hot, most) = HOT;
        let among = if self.chance.percent(most) { hot } else { self.questions.len() };
        let end = u64::try_from(among.min(self.questions.len())).unwrap_or(0);
        let place = usize::try_from(self.chance.below(end)).unwrap_or(0);
        let Some(question) = self.questions.get_mut(place) else { return Ok(()) };
        let passed = i64::try_from(question.seen.elapsed().as_millis()).unwrap_or(0);
        question.seen = Instant::now();
        if !question.tied {
            question.walk.pass(passed, &mut self.chance);
        }
        let (id, fair) = (question.id.clone(), question.walk.fair());
        let underrated = question.walk.is_underrated();
        let key = self.operator.clone();
        let path = format!("/trading/books/{id}/depth?outcome=yes&levels=1");
        let book = self.ask(&key, Method::GET, &path, None).await?;
        let thin = ["bids", "asks"].iter().any(|side| rows(&book, side).next().is_none());
        for maker in 0..MAKERS.len() {
            self.quote(place, maker, &id, fair, thin).await?;
        }
        for _ in 0..self.chance.below(4) {
            self.take(&id, fair, underrated).await?;
        }
        Ok(())
    }

    async fn quote(
        &mut self,
        place: usize,
        maker: usize,
        market: &str,
        fair: Tick,
        thin: bool,
    ) -> Result<(), Pause> {
        let Some((_, key)) = self.birds.get(maker).cloned() else { return Ok(()) };
        let question = self.questions.get_mut(place);
        let Some(quoted) = question.and_then(|q| q.quoted.get_mut(maker)) else { return Ok(()) };
        let moved = quoted.map(|quoted| usize::from(quoted.get().abs_diff(fair.get())));
        let near = moved.is_some_and(|moved| moved <= maker);
        if near && !thin && !self.chance.percent(8) {
            return Ok(());
        }
        *quoted = Some(fair);
        // Also what it quoted before a restart, so that it never has more than these.
        let path = format!("/trading/orders?marketId={market}");
        self.ask(&key, Method::DELETE, &path, None).await?;
        let wishes = flow::quotes(maker, fair, &mut self.chance);
        let orders =
            wishes.into_iter().map(|wish| json!({"place": self.order(market, wish, None)}));
        let body = json!({"operations": orders.collect::<Vec<Value>>()});
        self.ask(&key, Method::POST, "/trading/orders/batch", Some(body)).await.map(drop)
    }

    async fn take(&mut self, market: &str, fair: Tick, underrated: bool) -> Result<(), Pause> {
        let takers = self.birds.get(MAKERS.len()..).unwrap_or_default();
        let Some((bird, key)) = self.chance.pick(takers).cloned() else { return Ok(()) };
        let path = "/trading/positions?limit=100";
        let positions = self.ask(&key, Method::GET, path, None).await?;
        let of = |outcome: &str| {
            let mut held = rows(&positions, "positions")
                .filter(|row| row["marketId"] == *market && row["outcomeId"] == *outcome);
            let quantity = held.find_map(|row| row["quantity"].as_str());
            quantity.and_then(|text| Lots::parse(text).ok()).unwrap_or(Lots::new(0))
        };
        let held = flow::net(of("yes"), of("no"));
        let wish = flow::taking(bird, fair, underrated, held, &mut self.chance);
        let rest = self.chance.within(50 * MINUTE_MS).saturating_add(10 * MINUTE_MS);
        let order = self.order(market, wish, wish.rests.then(|| later(clock::now(), rest)));
        match self.ask(&key, Method::POST, "/trading/orders", Some(order)).await {
            Err(Pause::Refused(code)) if code == "INSUFFICIENT_FUNDS" => {
                // Refused as well where the money is in positions.
                match self.ask(&key, Method::POST, "/account/faucet", Some(json!({}))).await {
                    Err(Pause::Lost(why)) => Err(why.into()),
                    Err(Pause::Refused(_)) | Ok(_) => Ok(()),
                }
            }
            other => other.map(drop),
        }
    }

    /// An order as a body has it.
    fn order(&mut self, market: &str, wish: Wish, expires_at: Option<TimeMs>) -> Value {
        let wording = flow::worded(wish.direction, &mut self.chance);
        let mut order = json!({
            "marketId": market, "outcomeId": wording.outcome.id(), "side": wording.side.name(),
            "orderType": "LIMIT", "price": wording.yes_price(wish.price).to_string(),
            "quantity": (wish.quantity.get() / LOTS_PER_CONTRACT).to_string(),
            "timeInForce": if wish.rests { "GTC" } else { "IOC" },
        });
        if let Some(expires_at) = expires_at {
            order["expiresAt"] = shown(expires_at).into();
        }
        order
    }
}

/// The rows of a list.
fn rows<'a>(answer: &'a Value, member: &str) -> impl Iterator<Item = &'a Value> + use<'a> {
    answer[member].as_array().into_iter().flatten()
}

/// The price at which a market believes in yes, in whole cents.
fn price_of_yes(market: &Value) -> Option<Tick> {
    let mut outcomes = rows(market, "outcomes");
    let probability = outcomes.find(|outcome| outcome["id"] == "yes")?["probability"].to_string();
    Tick::parse(probability.get(..4).unwrap_or(&probability)).ok()
}

fn moment(row: &Value, member: &str) -> Option<TimeMs> {
    let time = DateTime::parse_from_rfc3339(row[member].as_str()?).ok()?;
    TimeMs::new(time.timestamp_millis())
}

fn shown(time: TimeMs) -> String {
    let time = DateTime::from_timestamp_millis(time.get()).unwrap_or_default();
    time.to_rfc3339_opts(SecondsFormat::Millis, true)
}

#[cfg(test)]
#[path = "../../../tests/unit/cli/demo/living.rs"]
mod tests;
