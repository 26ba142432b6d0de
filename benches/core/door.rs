//! The time a worker thread spends on a request between hyper and the engine, without sockets:
//! authentication and limits in the door, the endpoint, and serialising the response. The engine
//! runs on its own threads over a journal in memory; their time is not counted.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use bytes::Bytes;
use engine::start::{Options, start};
use exchange::command::{Command, Role};
use exchange::ids::UserNo;
use exchange::rules::Rules;
use http::Limits;
use http::door::Door;
use http::keys::ApiKey;
use http::mailbox;
use http::rates::{Limit, Rates};
use http_body_util::{BodyExt, Full};
use hyper::{Method, Request};
use journal::memory::MemoryJournal;
use serde_json::{Value, json};
use tokio::runtime;
use tokio::task::JoinSet;

use super::bodies::{self, MARKETS, OPEN_ORDERS};

/// Requests of a run.
const REQUESTS: usize = 1024;
/// Concurrent callers, as on the connections of a worker: keeps the venue's threads from sleeping.
/// A batch is concurrent by itself.
const CALLERS: usize = 32;
/// Orders of a batch, each an operation.
const BATCH_ORDERS: usize = 100;

/// The request of a row, sent by two traders in turn.
struct Asked {
    method: Method,
    path: String,
    /// Request bodies of each trader.
    bodies: [Vec<Bytes>; 2],
    /// Commands, or reads, per request.
    unit: usize,
    /// Concurrent callers.
    callers: usize,
}

/// A venue whose two traders match each other in its last market.
struct Venue {
    door: Door,
    operator: ApiKey,
    keys: Vec<String>,
    market: String,
}

/// Measures the row with this name suffix; returns the number of commands per run, and the time of
/// each run.
pub fn answered(row: &str, runs: usize) -> (usize, Vec<Duration>) {
    let runtime = runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(async {
        let running = start(MemoryJournal::new(), Options::default()).expect("an engine");
        let engine = running.engine();
        let operator = ApiKey::draw().expect("a key");
        let name = "the house".to_owned();
        for command in [
            Command::OpenVenue(Rules::current()),
            Command::CreateUser { profile_name: name, profile_pic: String::new() },
            Command::AddKey {
                user: UserNo(0),
                role: Role::Operator,
                label: "first".to_owned(),
                hash: operator.hash(),
                ends: None,
            },
        ] {
            engine.ask(command).expect("an answer");
        }
        // The highest possible limits: checked, but never reached.
        let most: Limit = "1000000".parse().expect("a rate");
        let rates = Rates { reads: most, writes: most, ..Rates::NONE };
        let door = Door::new(engine, Limits { rates, ..Limits::STANDARD }).expect("a door");
        let mail = tokio::spawn(mailbox::open());
        let venue = Arc::new(Venue::fill(door, operator).await);
        let asked = Arc::new(venue.asked(row));
        let mut took = Vec::with_capacity(runs);
        // One extra run first, for warming up.
        for run in 0..=runs {
            let send = |one| Arc::clone(&venue).send(Arc::clone(&asked), one, run > 0);
            let callers: JoinSet<Duration> = (0..asked.callers).map(send).collect();
            let spent: Duration = callers.join_all().await.into_iter().sum();
            took.extend((run > 0).then_some(spent));
        }
        mail.abort();
        drop(venue);
        running.stop().expect("a journal closed in order");
        (REQUESTS * asked.unit, took)
    })
}

impl Venue {
    async fn fill(door: Door, operator: ApiKey) -> Venue {
        let mut venue = Venue { door, operator, keys: Vec::new(), market: String::new() };
        for _ in 0..MARKETS {
            venue.market = venue.post_for_text("/admin/markets", &bodies::market(), "id").await;
            let publish = format!("/admin/markets/{}/publish", venue.market);
            venue.post_for_text(&publish, &json!({}), "id").await;
        }
        for trader in 0..2 {
            let user = venue.post_for_text("/admin/users", &bodies::trader(trader), "id").await;
            let path = format!("/admin/users/{user}");
            venue.post(&format!("{path}/deposits"), &bodies::deposit()).await;
            let key = venue.post_for_text(&format!("{path}/keys"), &bodies::key(), "key").await;
            let resting = (0..OPEN_ORDERS).map(|k| bodies::resting(&venue.market, trader, k));
            let body = Bytes::from(bodies::batch(resting).to_string());
            let request = request(&key, &Method::POST, "/trading/orders/batch", &body);
            assert!(venue.door.answer(request).await.status().is_success());
            venue.keys.push(key);
        }
        venue
    }

    /// Sends a request as the operator.
    async fn post(&self, path: &str, body: &Value) -> Value {
        let body = Bytes::from(body.to_string());
        let request = request(self.operator.reveal(), &Method::POST, path, &body);
        let answer = self.door.answer(request).await;
        assert!(answer.status().is_success(), "{path}: {}", answer.status());
        let body = answer.into_body().collect().await.expect("a body").to_bytes();
        serde_json::from_slice(&body).expect("JSON")
    }

    /// The same; returns one text member of the response.
    async fn post_for_text(&self, path: &str, body: &Value, member: &str) -> String {
        let response = self.post(path, body).await;
        response[member].as_str().expect("a text").to_owned()
    }

    fn asked(&self, row: &str) -> Asked {
        let read = |path: &str| Asked {
            method: Method::GET,
            path: path.to_owned(),
            bodies: [0, 1].map(|_| vec![Bytes::new()]),
            unit: 1,
            callers: CALLERS,
        };
        match row {
            "place" => Asked {
                method: Method::POST,
                path: "/trading/orders".to_owned(),
                bodies: [0, 1].map(|trader| {
                    (0..4)
                        .map(|k| Bytes::from(bodies::order(&self.market, trader, k).to_string()))
                        .collect()
                }),
                unit: 1,
                callers: CALLERS,
            },
            "batch" => Asked {
                method: Method::POST,
                path: "/trading/orders/batch".to_owned(),
                bodies: [0, 1].map(|trader| {
                    let all = (0..BATCH_ORDERS).map(|k| bodies::order(&self.market, trader, k));
                    vec![Bytes::from(bodies::batch(all).to_string())]
                }),
                unit: BATCH_ORDERS,
                callers: 1,
            },
            "depth" => read(&format!("/trading/books/{}/depth?outcome=yes&levels=20", self.market)),
            "markets" => read("/markets/public/list"),
            "orders" => read("/trading/orders?active=true"),
            unknown => panic!("no row is called door-{unknown}"),
        }
    }

    /// One caller sends its share of the requests; returns the time spent on this thread.
    async fn send(self: Arc<Self>, asked: Arc<Asked>, one: usize, counted: bool) -> Duration {
        let mut took = Duration::ZERO;
        for number in (one..REQUESTS).step_by(asked.callers) {
            // The traders alternate every four orders.
            let trader = number / 4 % 2;
            let bodies = &asked.bodies[trader];
            let body = &bodies[number % bodies.len()];
            let request = request(&self.keys[trader], &asked.method, &asked.path, body);
            let mut answer = pin!(self.door.answer(request));
            let answer = poll_fn(|cx| {
                let began = Instant::now();
                let answer =
                    if counted { measured(answer.as_mut(), cx) } else { answer.as_mut().poll(cx) };
                took += began.elapsed();
                answer
            });
            let answer = answer.await;
            assert!(answer.status().is_success(), "{}: {}", asked.path, answer.status());
            if asked.unit > 1 {
                // Each operation of a batch has a status of its own.
                let body = answer.into_body().collect().await.expect("a body").to_bytes();
                let refused = body.windows(8).any(|bytes| bytes == b"\"error\":");
                assert!(!refused, "{}", String::from_utf8_lossy(&body));
            }
        }
        took
    }
}

fn request(key: &str, method: &Method, path: &str, body: &Bytes) -> Request<Full<Bytes>> {
    let mut request = Request::builder().method(method).uri(format!("/api/v1{path}"));
    request = request.header("host", "localhost").header("x-api-key", key);
    if method == Method::POST {
        request = request.header("content-type", "application/json");
        request = request.header("content-length", body.len());
    }
    request.body(Full::new(body.clone())).expect("a request")
}

/// `benches/count.sh` counts the instructions of this function.
#[inline(never)]
fn measured<F: Future>(answer: Pin<&mut F>, cx: &mut Context<'_>) -> Poll<F::Output> {
    answer.poll(cx)
}
