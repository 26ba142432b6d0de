//! A venue to test the API on: a real engine with an in-memory journal.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop where it stands")]

mod door;
mod lists;
mod socket;
mod stream;
mod waiting;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::{Method, Request, Response};
use serde_json::{Value, json};

use engine::start::{Options, Running, start};
use exchange::command::{Command, Role};
use exchange::effect::Effect;
use exchange::ids::UserNo;
use exchange::rules::Rules;
use http::Limits;
use http::door::Door;
use http::keys::ApiKey;
use journal::memory::MemoryJournal;

/// A well-formed id that names nothing.
const NOBODY: &str = "0192f0c1-2b3c-7d4e-8f50-617283940516";

/// A venue with an operator; tests send requests straight to its request handler.
struct Venue {
    door: Door,
    operator: String,
    running: Running,
}

/// An answer.
#[derive(Debug)]
struct Came {
    status: u16,
    head: Response<()>,
    json: Value,
}

impl Came {
    fn header(&self, name: &str) -> &str {
        self.head.headers().get(name).map_or("", |value| value.to_str().unwrap())
    }

    fn code(&self) -> &str {
        self.json["code"].as_str().unwrap_or("")
    }

    /// The refused fields, as `field CODE`.
    fn errors(&self) -> Vec<String> {
        let errors = self.json["errors"].as_array().cloned().unwrap_or_default();
        let text = |value: &Value| value.as_str().unwrap_or("?").to_owned();
        errors.iter().map(|e| format!("{} {}", text(&e["field"]), text(&e["code"]))).collect()
    }

    fn text(&self, member: &str) -> String {
        self.json[member].as_str().unwrap_or_else(|| panic!("{member} in {}", self.json)).to_owned()
    }
}

impl Venue {
    async fn open() -> Venue {
        Venue::limited(Limits::STANDARD).await
    }

    #[allow(clippy::unused_async, reason = "as the other ways to open a venue")]
    async fn limited(limits: Limits) -> Venue {
        let running = start(MemoryJournal::new(), Options::default()).unwrap();
        let engine = running.engine();
        let (profile_name, profile_pic) = ("op".to_owned(), "https://h/p.png".to_owned());
        let key = ApiKey::draw().unwrap();
        let (role, label, hash) = (Role::Operator, "first".to_owned(), key.hash());
        for command in [
            Command::OpenVenue(Rules::current()),
            Command::CreateUser { profile_name, profile_pic },
            Command::AddKey { user: UserNo(0), role, label, hash, ends: None },
        ] {
            let answer = engine.ask(command).unwrap();
            assert!(!matches!(answer.effects(), [Effect::Refused(_)]));
        }
        let door = Door::new(engine, limits).unwrap();
        Venue { door, operator: key.reveal().to_owned(), running }
    }

    async fn send(&self, request: Request<Full<Bytes>>) -> Came {
        let (parts, body) = self.door.answer(request).await.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        let json = serde_json::from_slice(&body).unwrap_or(Value::Null);
        Came { status: parts.status.as_u16(), head: Response::from_parts(parts, ()), json }
    }

    async fn call(&self, key: &str, method: Method, path: &str, body: Option<Value>) -> Came {
        self.send(request(key, method, path, body)).await
    }

    async fn get(&self, key: &str, path: &str) -> Came {
        self.call(key, Method::GET, path, None).await
    }

    async fn post(&self, path: &str, body: Value) -> Came {
        self.call(&self.operator, Method::POST, path, Some(body)).await
    }

    /// Creates a trader with 100.00: the user's id and the key.
    async fn trader(&self, name: &str) -> (String, String) {
        let user = json!({"profileName": name, "profilePic": "https://h/p.png"});
        let user = self.post("/admin/users", user).await.text("id");
        let keys = format!("/admin/users/{user}/keys");
        let key = self.post(&keys, json!({"role": "trader", "label": "k"})).await.text("key");
        let deposits = format!("/admin/users/{user}/deposits");
        assert_eq!(self.post(&deposits, json!({"amount": "100"})).await.status, 200);
        (user, key)
    }

    async fn draft(&self) -> String {
        let text = json!({"pt": "p", "en": "e", "es": "s"});
        let market = json!({
            "questions": text, "descriptions": text, "logo": "https://h/l.png",
            "outcomes": [{"id": "yes", "text": text}, {"id": "no", "text": text}],
            "deadline": "2999-01-01T00:00:00+01:00",
        });
        let created = self.post("/admin/markets", market).await;
        assert_eq!(created.status, 201, "{}", created.json);
        assert_eq!(created.json["status"], "DRAFT");
        assert_eq!(created.json["deadline"], "2998-12-31T23:00:00.000Z");
        let location = created.header("location").strip_prefix("/api/v1").unwrap();
        assert_eq!(self.get(&self.operator, location).await.status, 200);
        created.text("id")
    }

    async fn market(&self) -> String {
        let id = self.draft().await;
        let published = self.post(&format!("/admin/markets/{id}/publish"), json!({})).await;
        assert_eq!((published.status, &published.json["status"]), (200, &json!("ACTIVE")));
        id
    }

    async fn place(&self, key: &str, order: Value) -> Came {
        self.call(key, Method::POST, "/trading/orders", Some(order)).await
    }
}

fn request(key: &str, method: Method, path: &str, body: Option<Value>) -> Request<Full<Bytes>> {
    let body = body.map(|body| body.to_string()).unwrap_or_default();
    let request = Request::builder()
        .method(method)
        .uri(format!("/api/v1{path}"))
        .header("host", "x")
        .header("x-api-key", key)
        .header("content-length", body.len());
    request.body(Full::new(Bytes::from(body))).unwrap()
}

fn order(market: &str, side: &str, outcome: &str, price: &str, quantity: &str) -> Value {
    json!({"marketId": market, "outcomeId": outcome, "side": side, "orderType": "LIMIT",
        "price": price, "quantity": quantity})
}

fn keys(json: &Value) -> Vec<&str> {
    let mut keys: Vec<&str> = json.as_object().unwrap().keys().map(String::as_str).collect();
    keys.sort_unstable();
    keys
}
