//! What a lane's thread does for a request between hyper and the engine, without sockets: the door,
//! the endpoint, and printing the answer. The engine runs on threads of its own, as ever, over a
//! journal in memory; what it does is not counted.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::{Method, Request};
use openoutcry::api::Limits;
use openoutcry::api::door::Door;
use openoutcry::api::keys::ApiKey;
use openoutcry::api::rates::{Limit, Rates};
use openoutcry::engine::mailbox;
use openoutcry::engine::start::start;
use openoutcry::exchange::command::{Command, Role};
use openoutcry::exchange::ids::UserNo;
use openoutcry::exchange::rules::Rules;
use openoutcry::journal::memory::MemoryJournal;
use serde_json::{Value, json};
use tokio::runtime;
use tokio::task::JoinSet;

/// Requests of a run.
const REQUESTS: usize = 1024;
/// Who ask at once, as connections of a lane do: the venue's threads do not sleep meanwhile. A
/// batch is a crowd by itself.
const CROWD: usize = 32;
/// Orders of a batch, each an operation.
const BATCH_ORDERS: usize = 100;
/// Orders that each trader has open before anything is measured.
const OPEN: usize = 24;
/// Markets in the public list, more than a page of it.
const MARKETS: usize = 24;

/// What is asked over and over, by two traders in turn.
struct Asked {
    method: Method,
    path: String,
    /// Bodies of each trader's.
    bodies: [Vec<Bytes>; 2],
    /// Commands, or reads, in a request.
    unit: usize,
    /// Who ask at once.
    crowd: usize,
}

/// A venue whose two traders meet each other in its last market.
struct Venue {
    door: Door,
    operator: ApiKey,
    keys: Vec<String>,
    market: String,
}

/// Measures a row, whose name ends so; how many commands a run has, and what each run took.
pub fn answered(row: &str, runs: usize) -> (usize, Vec<Duration>) {
    let runtime = runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(async {
        let running = start(MemoryJournal::new()).expect("an engine");
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
            },
        ] {
            engine.submit(command).await.expect("an answer");
        }
        // As high as they go: limits are looked at, and never met.
        let most: Limit = "1000000".parse().expect("a rate");
        let rates = Rates { reads: most, writes: most, ..Rates::NONE };
        let door = Door::new(engine, Limits { rates, ..Limits::STANDARD }).expect("a door");
        let mail = tokio::spawn(mailbox::open());
        let venue = Arc::new(Venue::fill(door, operator).await);
        let asked = Arc::new(venue.asked(row));
        let mut took = Vec::with_capacity(runs);
        // Once more than asked: the first only warms.
        for run in 0..=runs {
            let ask = |one| Arc::clone(&venue).ask(Arc::clone(&asked), one, run > 0);
            let crowd: JoinSet<Duration> = (0..asked.crowd).map(ask).collect();
            let spent: Duration = crowd.join_all().await.into_iter().sum();
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
        let texts = json!({ "pt": "Vai chover?", "en": "Will it rain?", "es": "¿Va a llover?" });
        let market = json!({
            "questions": texts, "descriptions": texts, "logo": "https://assets.example.org/a.png",
            "outcomes": [{ "id": "yes", "text": texts }, { "id": "no", "text": texts }],
            "deadline": "2099-01-01T00:00:00.000Z",
        });
        for _ in 0..MARKETS {
            venue.market = venue.tell("/admin/markets", &market, "id").await;
            let publish = format!("/admin/markets/{}/publish", venue.market);
            venue.tell(&publish, &json!({}), "id").await;
        }
        for name in ["ann", "bob"] {
            let user = json!({ "profileName": name, "profilePic": "https://example.org/p.png" });
            let user = venue.tell("/admin/users", &user, "id").await;
            let path = format!("/admin/users/{user}");
            let amount = json!({ "amount": "100000000" });
            venue.post(&format!("{path}/deposits"), &amount).await;
            let key = json!({ "role": "trader", "label": "bench" });
            let key = venue.tell(&format!("{path}/keys"), &key, "key").await;
            venue.keys.push(key);
        }
        for trader in 0..venue.keys.len() {
            let resting = (0..).map(|k| (k, venue.order(trader, k)));
            let resting = resting.filter(|(k, _)| !takes(*k)).take(OPEN);
            for (_, order) in resting {
                let body = Bytes::from(order.to_string());
                let path = "/trading/orders";
                let request = request(&venue.keys[trader], &Method::POST, path, &body);
                assert!(venue.door.answer(request).await.status().is_success(), "{order}");
            }
        }
        venue
    }

    /// What the operator is told.
    async fn post(&self, path: &str, body: &Value) -> Value {
        let body = Bytes::from(body.to_string());
        let request = request(self.operator.reveal(), &Method::POST, path, &body);
        let answer = self.door.answer(request).await;
        assert!(answer.status().is_success(), "{path}: {}", answer.status());
        let body = answer.into_body().collect().await.expect("a body").to_bytes();
        serde_json::from_slice(&body).expect("JSON")
    }

    /// The same: one member of it, a text.
    async fn tell(&self, path: &str, body: &Value, member: &str) -> String {
        let told = self.post(path, body).await;
        told[member].as_str().expect("a text").to_owned()
    }

    /// A trader's order: the two want opposite outcomes, and every fourth order takes what three of
    /// the other's have left.
    fn order(&self, trader: usize, k: usize) -> Value {
        let outcome = if trader == 0 { "yes" } else { "no" };
        let (price, quantity, time_in_force) = if takes(k) {
            ("0.7".to_owned(), "36", "IOC")
        } else {
            (format!("0.{}", 30 + k % 20), "10", "GTC")
        };
        json!({
            "marketId": self.market, "outcomeId": outcome, "side": "BUY", "orderType": "LIMIT",
            "price": price, "quantity": quantity, "timeInForce": time_in_force,
        })
    }

    fn asked(&self, row: &str) -> Asked {
        let read = |path: &str| Asked {
            method: Method::GET,
            path: path.to_owned(),
            bodies: [0, 1].map(|_| vec![Bytes::new()]),
            unit: 1,
            crowd: CROWD,
        };
        match row {
            "place" => Asked {
                method: Method::POST,
                path: "/trading/orders".to_owned(),
                bodies: [0, 1].map(|trader| {
                    (0..4).map(|k| Bytes::from(self.order(trader, k).to_string())).collect()
                }),
                unit: 1,
                crowd: CROWD,
            },
            "batch" => Asked {
                method: Method::POST,
                path: "/trading/orders/batch".to_owned(),
                bodies: [0, 1].map(|trader| {
                    let all = (0..BATCH_ORDERS).map(|k| json!({ "place": self.order(trader, k) }));
                    let all: Vec<Value> = all.collect();
                    vec![Bytes::from(json!({ "operations": all }).to_string())]
                }),
                unit: BATCH_ORDERS,
                crowd: 1,
            },
            "depth" => read(&format!("/trading/books/{}/depth?outcome=yes&levels=20", self.market)),
            "markets" => read("/markets/public/list"),
            "orders" => read("/trading/orders?active=true"),
            unknown => panic!("no row is called door-{unknown}"),
        }
    }

    /// One of a crowd asks its part, and gives the time that this took the thread.
    async fn ask(self: Arc<Self>, asked: Arc<Asked>, one: usize, counted: bool) -> Duration {
        let mut took = Duration::ZERO;
        for number in (one..REQUESTS).step_by(asked.crowd) {
            // Four orders of one, four of the other.
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

/// Whether a trader's order of this number takes.
const fn takes(k: usize) -> bool {
    k % 4 == 3
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

/// What `benches/count.sh` counts the instructions of.
#[inline(never)]
fn measured<F: Future>(answer: Pin<&mut F>, cx: &mut Context<'_>) -> Poll<F::Output> {
    answer.poll(cx)
}
