//! The stream over real sockets: who is let in, what is refused by name, order entry, and how
//! connections end.

use std::io::ErrorKind;
use std::net::TcpStream;
use std::time::Duration;

use hyper::Method;
use serde_json::{Value, json};
use tungstenite::client::IntoClientRequest;
use tungstenite::error::Error;
use tungstenite::http::{HeaderName, HeaderValue, Response};
use tungstenite::protocol::CloseFrame;
use tungstenite::{Message, WebSocket};

use exchange::command::{Command, Role};
use exchange::ids::{KeyNo, UserNo};
use exchange::units::TimeMs;
use http::Limits;
use http::keys::ApiKey;

use super::order;
use super::socket::{Served, served};

const WAIT: Duration = Duration::from_secs(20);

/// A client's side of a stream.
struct Client(WebSocket<TcpStream>);

#[allow(clippy::result_large_err, reason = "seldom an error")]
/// Opens a stream with these headers; the answer to the handshake if it was refused.
fn open(served: &Served, headers: &[(&str, &str)]) -> Result<Client, Response<Option<Vec<u8>>>> {
    let stream = TcpStream::connect(served.address).unwrap();
    stream.set_read_timeout(Some(WAIT)).unwrap();
    let mut request =
        format!("ws://{}/api/v1/stream", served.address).into_client_request().unwrap();
    for (name, value) in headers {
        let name: HeaderName = name.parse().unwrap();
        request.headers_mut().insert(name, HeaderValue::from_str(value).unwrap());
    }
    match tungstenite::client(request, stream) {
        Ok((socket, _)) => Ok(Client(socket)),
        Err(tungstenite::HandshakeError::Failure(Error::Http(response))) => Err(*response),
        Err(other) => panic!("{other}"),
    }
}

/// A stream that was let in by its header.
fn keyed(served: &Served, key: &str) -> Client {
    let mut client = open(served, &[("x-api-key", key)]).unwrap();
    assert_eq!(client.next()["kind"], "welcome");
    client
}

impl Client {
    fn send(&mut self, message: &Value) {
        self.0.send(Message::text(message.to_string())).unwrap();
    }

    /// The next message that is no heartbeat.
    fn next(&mut self) -> Value {
        loop {
            let text = self.0.read().unwrap().into_text().unwrap();
            let json: Value = serde_json::from_str(&text).unwrap();
            if json["kind"] != "heartbeat" {
                return json;
            }
        }
    }

    fn ask(&mut self, message: &Value) -> Value {
        self.send(message);
        self.next()
    }

    /// Reads until the connection is closed; the code and the reason.
    fn end(&mut self) -> (u16, Value) {
        loop {
            match self.0.read() {
                Ok(Message::Close(Some(CloseFrame { code, reason }))) => {
                    return (code.into(), serde_json::from_str(&reason).unwrap());
                }
                Ok(_) => {}
                Err(error) => panic!("{error}"),
            }
        }
    }
}

fn code(answer: &Value) -> &str {
    answer["error"]["code"].as_str().unwrap_or_else(|| panic!("{answer}"))
}

fn fields(answer: &Value) -> Vec<String> {
    let errors = answer["error"]["errors"].as_array().cloned().unwrap_or_default();
    let word = |value: &Value| value.as_str().unwrap().to_owned();
    errors
        .iter()
        .map(|error| format!("{} {}", word(&error["field"]), word(&error["code"])))
        .collect()
}

#[allow(clippy::needless_pass_by_value, reason = "orders are made where they are sent")]
fn place(id: &str, order: Value) -> Value {
    json!({"op": "place", "id": id, "body": order})
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_is_shown_in_the_header_or_in_the_first_message() {
    let served = served(Limits::STANDARD).await;
    let key = served.venue.operator.clone();
    let mut client = keyed(&served, &key);
    let pong = client.ask(&json!({"op": "ping", "id": "1"}));
    assert_eq!((&pong["id"], &pong["ok"]), (&json!("1"), &json!(true)), "{pong}");
    assert!(pong["sequence"].as_u64().unwrap() >= 3, "{pong}");

    let mut client = open(&served, &[]).unwrap();
    let welcome = client.next();
    assert_eq!(welcome["limits"]["connections"], 32, "{welcome}");
    let order = client.ask(&json!({"op": "cancelAll", "id": "2"}));
    assert_eq!(code(&order), "MISSING_API_KEY");
    let subscribe = json!({"op": "subscribe", "id": "3", "channels": ["markets"]});
    assert_eq!(code(&client.ask(&subscribe)), "MISSING_API_KEY");
    let bad = json!({"op": "authenticate", "id": "4", "key": "ook_none"});
    assert_eq!(code(&client.ask(&bad)), "INVALID_API_KEY");
    let good = client.ask(&json!({"op": "authenticate", "id": "5", "key": key}));
    assert_eq!(good["ok"], true, "{good}");
    assert_eq!(client.ask(&json!({"op": "cancelAll", "id": "6"}))["status"], 200);
    let (_, other) = served.venue.trader("ann").await;
    let again = client.ask(&json!({"op": "authenticate", "id": "7", "key": other}));
    assert_eq!(fields(&again), ["key INVALID_VALUE"], "{again}");

    let refused = open(&served, &[("x-api-key", "ook_none")]).err().unwrap();
    assert_eq!(refused.status(), 401);
}

#[tokio::test(flavor = "multi_thread")]
async fn another_sites_page_does_not_trade_with_the_readers_cookie() {
    let served = served(Limits::STANDARD).await;
    let own = format!("http://{}", served.address);
    let cookie = ("cookie", "openoutcry_session=x");
    let refused = open(&served, &[cookie, ("origin", "https://evil.example")]).err().unwrap();
    assert_eq!(refused.status(), 403);
    assert_eq!(open(&served, &[cookie]).err().unwrap().status(), 403);
    let unknown = open(&served, &[cookie, ("origin", &own)]).err().unwrap();
    assert_eq!(unknown.status(), 401, "of the venue's own page, but nobody's session");
    // A cookie of somebody else's is nobody's session.
    assert!(open(&served, &[("cookie", "other=x"), ("origin", "https://evil.example")]).is_ok());
    let key = served.venue.operator.as_str();
    assert!(open(&served, &[("origin", "https://evil.example"), ("x-api-key", key)]).is_ok());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_handshake_is_refused_by_name() {
    let served = served(Limits::STANDARD).await;
    let key = served.venue.operator.as_str();
    let plain = served.venue.get(key, "/stream").await;
    assert_eq!((plain.status, plain.code()), (406, "NOT_ACCEPTABLE"));
    let none = served.venue.get("", "/stream").await;
    assert_eq!((none.status, none.code()), (401, "MISSING_API_KEY"));
    let version = open(&served, &[("sec-websocket-version", "8")]).err().unwrap();
    assert_eq!(version.status(), 400);
    let mut asked = open(&served, &[("sec-websocket-protocol", "openoutcry.v1")]).unwrap();
    assert_eq!(asked.next()["kind"], "welcome");
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_messages_are_refused_by_name_and_end_nothing() {
    let served = served(Limits::STANDARD).await;
    let mut client = keyed(&served, &served.venue.operator);
    let unknown = client.ask(&json!({"op": "dance", "id": "1"}));
    assert_eq!(
        (&unknown["id"], fields(&unknown)),
        (&json!("1"), vec!["op INVALID_VALUE".to_owned()])
    );
    let field = client.ask(&json!({"op": "ping", "id": "2", "channels": ["markets"], "x": 1}));
    assert_eq!(fields(&field), ["x UNKNOWN_FIELD"]);
    let field = client.ask(&json!({"op": "ping", "id": "2", "channels": ["markets"]}));
    assert_eq!(fields(&field), ["channels UNKNOWN_FIELD"]);
    let missing = client.ask(&json!({"op": "place"}));
    assert_eq!((&missing["id"], fields(&missing)), (&Value::Null, vec!["id REQUIRED".to_owned()]));
    let missing = client.ask(&json!({"op": "amend", "id": "4"}));
    assert_eq!(fields(&missing), ["body REQUIRED", "orderId REQUIRED"]);
    let both = json!({"op": "cancel", "id": "5"});
    assert_eq!(fields(&client.ask(&both)), ["message INVALID_VALUE"]);
    client.0.send(Message::text("{")).unwrap();
    assert_eq!(fields(&client.next()), ["message MALFORMED"]);
    let channels = json!({"op": "subscribe", "id": "6", "channels": ["books:x", "trades"]});
    let answer = client.ask(&channels);
    assert_eq!(answer["ok"], true, "{answer}");
    for channel in answer["channels"].as_array().unwrap() {
        assert_eq!(channel["error"]["code"], "CHANNEL_NOT_FOUND", "{answer}");
    }
    assert_eq!(client.ask(&json!({"op": "ping", "id": "7"}))["ok"], true);
}

#[tokio::test(flavor = "multi_thread")]
async fn orders_are_entered_as_over_http() {
    let served = served(Limits::STANDARD).await;
    let market = served.venue.market().await;
    let (_, key) = served.venue.trader("ann").await;
    let mut client = keyed(&served, &key);
    let bid = order(&market, "BUY", "yes", "0.40", "10");
    let placed = client.ask(&place("1", bid.clone()));
    assert_eq!((&placed["id"], &placed["status"]), (&json!("1"), &json!(200)), "{placed}");
    let over_http = served.venue.place(&key, bid.clone()).await;
    let members = |json: &Value| json.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(members(&placed["body"]), members(&over_http.json));
    let id = placed["body"]["id"].as_str().or(placed["body"]["orderId"].as_str()).unwrap();
    let amend = json!({"op": "amend", "id": "2", "orderId": id, "body": {"price": "0.41"}});
    let amended = client.ask(&amend);
    assert_eq!((&amended["status"], &amended["body"]["price"]), (&json!(200), &json!("0.41")));
    let cancel = json!({"op": "cancel", "id": "3", "orderId": id});
    assert_eq!(client.ask(&cancel)["body"]["status"], "CANCELLED");
    let again = client.ask(&cancel);
    assert_eq!((code(&again), &again["status"]), ("ORDER_NOT_OPEN", &json!(409)));
    assert_eq!(again["error"]["order"]["status"], "CANCELLED", "{again}");

    let mut bad = bid.clone();
    bad["price"] = json!("1.5");
    let refused = client.ask(&place("4", bad));
    assert_eq!((code(&refused), fields(&refused).len()), ("INVALID_REQUEST", 1), "{refused}");
    let mut named = place("5", bid.clone());
    named["idempotencyKey"] = json!("once");
    let first = client.ask(&named);
    let second = client.ask(&named);
    assert_eq!(first["body"], second["body"]);
    assert_eq!((&first["replayed"], &second["replayed"]), (&Value::Null, &json!(true)));
    let batch = json!({"operations": [{"place": bid}, {"cancel": {"orderId": id}}]});
    let batch = client.ask(&json!({"op": "batch", "id": "6", "body": batch}));
    assert_eq!(batch["body"]["results"].as_array().unwrap().len(), 2, "{batch}");
    let beat = json!({"op": "heartbeat", "id": "7", "body": {"timeoutSeconds": 60}});
    assert_eq!(client.ask(&beat)["status"], 200);
    let all = client.ask(&json!({"op": "cancelAll", "id": "8", "marketId": market}));
    assert_eq!(all["body"]["cancelled"].as_array().unwrap().len(), 3, "{all}");
    let mut dry = place("9", order(&market, "BUY", "yes", "0.40", "10"));
    dry["dryRun"] = json!(true);
    assert_eq!(client.ask(&dry)["body"]["dryRun"], true);
    let open = served.venue.get(&key, "/trading/orders?active=true").await;
    assert_eq!(open.json["orders"].as_array().unwrap().len(), 0);
}

/// Orders by name that are sent together mean what they would one by one.
#[tokio::test(flavor = "multi_thread")]
async fn requests_that_are_sent_together_are_executed_in_their_order() {
    let served = served(Limits::STANDARD).await;
    let market = served.venue.market().await;
    let (_, key) = served.venue.trader("ann").await;
    let mut client = keyed(&served, &key);
    let mut sent = 0;
    for round in 0..40 {
        let name = format!("n-{round}");
        let mut named = order(&market, "BUY", "yes", "0.40", "1");
        named["clientOrderId"] = json!(name);
        let cancel = json!({"op": "cancel", "id": format!("{}", sent + 1), "clientOrderId": name});
        let second = format!("m-{round}");
        let mut other = named.clone();
        other["clientOrderId"] = json!(second);
        let operations = json!([{"place": other}, {"cancel": {"clientOrderId": second}}]);
        let batch = json!({"op": "batch", "id": format!("{}", sent + 2),
            "body": {"operations": operations}});
        let all = json!({"op": "cancelAll", "id": format!("{}", sent + 3)});
        for message in [place(&format!("{sent}"), named), cancel, batch, all] {
            client.0.write(Message::text(message.to_string())).unwrap();
        }
        sent += 4;
    }
    client.0.flush().unwrap();
    let mut last = 0;
    for id in 0..sent {
        let answer = client.next();
        assert_eq!(answer["id"], json!(format!("{id}")), "in their order: {answer}");
        assert_eq!(answer["status"], 200, "{answer}");
        let sequence = answer["sequence"].as_u64().unwrap();
        assert!(sequence > last, "{answer}");
        last = sequence;
        match id % 4 {
            1 => assert_eq!(answer["body"]["status"], "CANCELLED"),
            2 => {
                let results = answer["body"]["results"].as_array().unwrap();
                assert!(results.iter().all(|result| result["error"].is_null()), "{answer}");
            }
            3 => assert_eq!(answer["body"]["cancelled"], json!([]), "nothing is left"),
            _ => {}
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_reads_nothing_is_read_no_further() {
    let served = served(Limits::STANDARD).await;
    let market = served.venue.market().await;
    let (_, key) = served.venue.trader("ann").await;
    let mut client = keyed(&served, &key);
    let one = place("x", order(&market, "BUY", "no", "0.01", "0.01")).to_string();
    client.0.get_mut().set_write_timeout(Some(Duration::from_millis(500))).unwrap();
    let mut sent = 0_u32;
    let blocked = loop {
        match client.0.send(Message::text(one.as_str())) {
            Ok(()) => sent += 1,
            Err(Error::Io(error)) => break error.kind(),
            Err(other) => panic!("{other}"),
        }
        assert!(sent < 1_000_000, "nothing holds the sender back");
    };
    assert_eq!(blocked, ErrorKind::WouldBlock);
    let mut answers = 0;
    while answers < sent {
        assert_eq!(client.next()["id"], "x");
        answers += 1;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_has_so_many_streams_and_so_many_control_messages() {
    let served = served(Limits::STANDARD).await;
    let (_, ann) = served.venue.trader("ann").await;
    let (_, bob) = served.venue.trader("bob").await;
    let mut open_now: Vec<Client> = (0..32).map(|_| keyed(&served, &ann)).collect();
    let refused = open(&served, &[("x-api-key", &ann)]).err().unwrap();
    assert_eq!(refused.status(), 429);
    let text = String::from_utf8(refused.into_body().unwrap()).unwrap();
    assert!(text.contains("STREAM_LIMIT"), "{text}");
    let mut late = open(&served, &[]).unwrap();
    late.next();
    let authenticate = json!({"op": "authenticate", "id": "1", "key": ann});
    assert_eq!(code(&late.ask(&authenticate)), "STREAM_LIMIT");
    drop(keyed(&served, &bob));
    drop(open_now.pop());
    // It is given back once the server has seen the end.
    while code_or_ok(&late.ask(&authenticate)) != "ok" {
        std::thread::sleep(Duration::from_millis(60));
    }

    let client = open_now.first_mut().unwrap();
    for _ in 0..200 {
        client.0.write(Message::text(json!({"op": "ping", "id": "p"}).to_string())).unwrap();
    }
    client.0.flush().unwrap();
    let answers: Vec<Value> = (0..200).map(|_| client.next()).collect();
    let refused = answers.iter().find(|answer| answer["ok"].is_null()).expect("a limit");
    assert_eq!((code(refused), &refused["retryAfter"]), ("RATE_LIMITED", &json!(1)));
    assert_eq!(client.ask(&json!({"op": "cancelAll", "id": "c"}))["status"], 200);
}

fn code_or_ok(answer: &Value) -> &str {
    if answer["ok"] == true { "ok" } else { code(answer) }
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_take_the_tokens_of_http() {
    let limits = Limits {
        rates: http::rates::Rates { writes: "1:2".parse().unwrap(), ..http::rates::Rates::NONE },
        ..Limits::STANDARD
    };
    let served = served(limits).await;
    let market = served.venue.market().await;
    let (_, key) = served.venue.trader("ann").await;
    let mut client = keyed(&served, &key);
    let one = place("1", order(&market, "BUY", "yes", "0.01", "0.01"));
    assert_eq!(client.ask(&one)["status"], 200);
    assert_eq!(client.ask(&one)["status"], 200);
    let refused = client.ask(&one);
    assert_eq!((code(&refused), &refused["status"]), ("RATE_LIMITED", &json!(429)));
    assert_eq!(client.ask(&json!({"op": "cancelAll", "id": "c"}))["status"], 200);
    let reader = json!({"role": "reader", "label": "r"});
    let me = served.venue.get(&key, "/account/keys").await;
    assert_eq!(me.status, 200);
    let made = served.venue.call(&key, hyper::Method::POST, "/account/keys", Some(reader)).await;
    if made.status == 201 {
        let mut client = keyed(&served, &made.text("key"));
        assert_eq!(code(&client.ask(&one)), "FORBIDDEN");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_end_with_a_code_that_says_why() {
    let served = served(Limits::STANDARD).await;
    let key = served.venue.operator.clone();
    let mut large = keyed(&served, &key);
    large.0.send(Message::text("x".repeat(70_000))).unwrap();
    assert_eq!(large.end(), (1009, json!({"code": "CONTENT_TOO_LARGE"})));
    let mut binary = keyed(&served, &key);
    binary.0.send(Message::binary(vec![1])).unwrap();
    assert_eq!(binary.end().0, 1003);
    let mut silent = open(&served, &[]).unwrap();
    assert_eq!(silent.end(), (4002, json!({"code": "MISSING_API_KEY"})));
    let mut revoked = keyed(&served, &key);
    let engine = served.venue.running.engine();
    engine.ask(Command::RevokeKey { user: UserNo(0), key: KeyNo(0) }).unwrap();
    assert_eq!(revoked.end(), (4001, json!({"code": "INVALID_API_KEY"})));
}

/// Adds a key that ends so many seconds from now.
fn ending(served: &Served, seconds: i64) -> ApiKey {
    let (key, user) = (ApiKey::draw().unwrap(), UserNo(0));
    let engine = served.venue.running.engine();
    let (label, hash) = ("short".to_owned(), key.hash());
    let ends = TimeMs::new(engine.now().get() + seconds * 1000);
    engine.ask(Command::AddKey { user, role: Role::Trader, label, hash, ends }).unwrap();
    key
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_ends_opens_nothing_then_and_its_streams_end() {
    let served = served(Limits::STANDARD).await;
    let over = ending(&served, 0);
    assert_eq!(served.venue.get(over.reveal(), "/trading/balance").await.code(), "INVALID_API_KEY");
    let lasts = ending(&served, 3_600);
    assert_eq!(served.venue.get(lasts.reveal(), "/trading/balance").await.status, 200);
    // On a slow machine a key may be over before it is used.
    let mut client = (1..6)
        .find_map(|longer| {
            let key = ending(&served, 1 << longer);
            open(&served, &[("x-api-key", key.reveal())]).ok()
        })
        .unwrap();
    assert_eq!(client.end(), (4001, json!({"code": "INVALID_API_KEY"})));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_answers_what_is_in_flight_and_says_when_to_come_back() {
    let served = served(Limits::STANDARD).await;
    let mut client = keyed(&served, &served.venue.operator);
    served.stop.send(()).unwrap();
    assert_eq!(client.end(), (1001, json!({"code": "STOPPING", "retryAfter": 1})));
    served.ended.await.unwrap().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn orders_end_with_their_connection_if_that_was_asked_for() {
    let served = served(Limits::STANDARD).await;
    let market = served.venue.market().await;
    let (_, key) = served.venue.trader("ann").await;
    let bid = order(&market, "BUY", "yes", "0.40", "0.01");
    served.venue.place(&key, bid.clone()).await;
    for how in ["closed", "cut", "in flight"] {
        let mut client = keyed(&served, &key);
        let ends = json!({"op": "authenticate", "id": "1", "cancelOnDisconnect": true});
        let answer = client.ask(&ends);
        assert_eq!(answer["cancelOnDisconnect"], true, "{answer}");
        for _ in 0..600 {
            client.0.write(Message::text(place("2", bid.clone()).to_string())).unwrap();
        }
        client.0.flush().unwrap();
        if how != "in flight" {
            for _ in 0..600 {
                assert_eq!(client.next()["status"], 200);
            }
        }
        if how == "closed" {
            client.0.close(None).unwrap();
        }
        drop(client);
        let engine = served.venue.running.engine();
        let open = || engine.read().orders.open_count_of(UserNo(1));
        // Until nothing has happened for a while.
        let (mut last, mut quiet) = (engine.watermark(), 0);
        while quiet < 10 {
            std::thread::sleep(Duration::from_millis(100));
            let now = engine.watermark();
            quiet = if now == last { quiet + 1 } else { 0 };
            last = now;
        }
        assert_eq!(open(), 1, "{how}: only that of another way is left");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_replacement_placed_ends_with_its_connection_too() {
    let served = served(Limits::STANDARD).await;
    let market = served.venue.market().await;
    let (_, key) = served.venue.trader("ann").await;
    let bid = order(&market, "BUY", "yes", "0.40", "1");
    let first = served.venue.place(&key, bid.clone()).await.json["orderId"].clone();
    let mut client = keyed(&served, &key);
    client.ask(&json!({"op": "authenticate", "id": "1", "cancelOnDisconnect": true}));
    let replace = json!({"replace": {"cancel": {"orderId": first}, "place": bid}});
    let batch = json!({"op": "batch", "id": "2", "body": {"operations": [replace]}});
    let answer = client.ask(&batch);
    assert_eq!(answer["body"]["results"][0]["order"]["status"], "OPEN", "{answer}");
    drop(client);
    let engine = served.venue.running.engine();
    for _ in 0..100 {
        if engine.read().orders.open_count_of(UserNo(1)) == 0 {
            return;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    panic!("an order is left");
}

/// Whatever is sent without waiting happens in its order, also what is about a name given before.
#[tokio::test(flavor = "multi_thread")]
async fn a_batch_finds_the_orders_that_were_placed_just_before_it() {
    let served = served(Limits::STANDARD).await;
    let market = served.venue.market().await;
    let (_, key) = served.venue.trader("ann").await;
    let mut client = keyed(&served, &key);
    for turn in 0..20 {
        let mut bid = order(&market, "BUY", "yes", "0.40", "1");
        bid["clientOrderId"] = json!(format!("bid-{turn}"));
        let cancel = json!({"cancel": {"clientOrderId": format!("bid-{turn}")}});
        let batch = json!({"op": "batch", "id": "2", "body": {"operations": [cancel]}});
        client.0.write(Message::text(place("1", bid).to_string())).unwrap();
        client.0.write(Message::text(batch.to_string())).unwrap();
        client.0.flush().unwrap();
        assert_eq!(client.next()["status"], 200);
        let cancelled = client.next();
        assert_eq!(cancelled["body"]["results"][0]["order"]["status"], "CANCELLED", "{cancelled}");
    }
    let mut bid = order(&market, "BUY", "yes", "0.40", "1");
    client.ask(&place("3", bid.clone()));
    bid["group"] = json!("one & other");
    let refused = client.ask(&place("4", bid.clone()));
    assert_eq!(refused["status"], 400, "a group has no blanks");
    bid["group"] = json!("one&other");
    let grouped = client.ask(&place("5", bid))["body"]["orderId"].clone();
    let ended = client.ask(&json!({"op": "cancelAll", "id": "6", "group": "one&other"}));
    assert_eq!(ended["body"]["cancelled"], json!([grouped]), "{ended}");
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_is_told_of_a_draft() {
    let served = served(Limits::STANDARD).await;
    let (_, key) = served.venue.trader("ann").await;
    let draft = served.venue.draft().await;
    let mut client = keyed(&served, &key);
    let channels = ["markets", "market:*", "book:*", "book:*:top", "activity:*"];
    client.send(&json!({"op": "subscribe", "id": "1", "channels": channels}));
    let path = format!("/admin/markets/{draft}");
    let body = Some(json!({"highlighted": true}));
    let operator = &served.venue.operator;
    let revised = served.venue.call(operator, Method::PATCH, &path, body).await;
    assert_eq!(revised.status, 200);
    // States are told at most a quarter of a second later.
    std::thread::sleep(Duration::from_secs(1));
    client.send(&json!({"op": "ping", "id": "2"}));
    loop {
        let told = client.next();
        assert!(!told.to_string().contains(&draft), "{told}");
        if told["id"] == "2" {
            return;
        }
    }
}

/// Waits for a message of this kind.
fn of_kind(client: &mut Client, kind: &str) -> Value {
    loop {
        let text = client.0.read().unwrap().into_text().unwrap();
        let json: Value = serde_json::from_str(&text).unwrap();
        if json["kind"] == kind {
            return json;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_happens_is_told_to_those_who_listen() {
    let served = served(Limits::STANDARD).await;
    let market = served.venue.market().await;
    let (_, key) = served.venue.trader("ann").await;
    let mut client = keyed(&served, &key);
    let book = format!("book:{market}");
    let subscribe = json!({"op": "subscribe", "id": "1", "channels": [book, "account", "journal"]});
    let answer = client.ask(&subscribe);
    assert_eq!(answer["channels"][2]["error"]["code"], "FORBIDDEN", "{answer}");
    let snapshot = of_kind(&mut client, "book");
    assert_eq!(snapshot["channel"], json!(book));
    let caught_up = of_kind(&mut client, "heartbeat");
    assert!(caught_up["sequence"].as_u64() >= snapshot["sequence"].as_u64(), "{caught_up}");
    client.send(&place("2", order(&market, "BUY", "yes", "0.40", "10")));
    let levels = of_kind(&mut client, "levels");
    assert_eq!(
        levels["previous"],
        snapshot["sequence"].as_u64().map_or(json!(0), |_| levels["previous"].clone())
    );
    assert_eq!(levels["data"]["levels"][0]["price"], "0.40", "{levels}");
    // No channel twice: each has a snapshot, which is taken while others wait.
    let twice = json!({"op": "subscribe", "id": "4", "channels": ["journal", "journal"]});
    client.send(&twice);
    let other = format!("trades:{market}");
    let end = client.ask(&json!({"op": "unsubscribe", "id": "3", "channels": [book, other]}));
    let (mut end, mut refused) = (end, Value::Null);
    while end["id"] != "3" {
        if end["id"] == "4" {
            refused = end;
        }
        end = client.next();
    }
    assert_eq!(refused["error"]["errors"][0]["code"], "REPEATED", "{refused}");
    assert_eq!(end["channels"][0]["error"], Value::Null, "{end}");
    assert_eq!(end["channels"][1]["error"]["code"], "NOT_SUBSCRIBED", "{end}");
}

/// Sends a request for events and reads until `wanted` stands in what came.
fn events(served: &Served, path: &str, headers: &str, wanted: &str) -> String {
    read_events(&mut open_events(served, path, headers), wanted)
}

fn open_events(served: &Served, path: &str, headers: &str) -> TcpStream {
    use std::io::Write;
    let mut stream = TcpStream::connect(served.address).unwrap();
    stream.set_read_timeout(Some(WAIT)).unwrap();
    let request = format!(
        "GET /api/v1/stream{path} HTTP/1.1\r\nhost: x\r\naccept: text/event-stream\r\n{headers}\r\n"
    );
    stream.write_all(request.as_bytes()).unwrap();
    stream
}

fn read_events(stream: &mut TcpStream, wanted: &str) -> String {
    use std::io::Read;
    let (mut text, mut bytes) = (String::new(), [0; 4096]);
    while !text.contains(wanted) {
        let count = stream.read(&mut bytes).unwrap_or_else(|error| panic!("{error}: {text}"));
        assert!(count > 0, "no {wanted} in {text}");
        text.push_str(std::str::from_utf8(&bytes[..count]).unwrap());
    }
    text
}

#[tokio::test(flavor = "multi_thread")]
async fn events_tell_the_same_and_go_on_from_the_last_id() {
    let served = served(Limits::STANDARD).await;
    let market = served.venue.market().await;
    let (_, key) = served.venue.trader("ann").await;
    let mut listener = keyed(&served, &key);
    listener.ask(&json!({"op": "subscribe", "id": "1", "channels": [format!("orders:{market}")]}));
    let placed = served.venue.place(&key, order(&market, "BUY", "yes", "0.40", "10")).await;
    let sequence: u64 = placed.header("sequence").parse().unwrap();
    let path = format!("?subscribe=book:{market},orders:{market}");
    let keyed = format!("x-api-key: {key}\r\n");
    let text = events(&served, &path, &keyed, "\"heartbeat\"");
    assert!(text.starts_with("HTTP/1.1 200") && text.contains("text/event-stream"), "{text}");
    assert!(text.contains("\nid: ") && text.contains("data: {\"channel\":\"book:"), "{text}");
    let path = format!("?subscribe=orders:{market}&from=1");
    let last = format!("{keyed}last-event-id: {}\r\n", sequence - 1);
    let text = events(&served, &path, &last, "\"heartbeat\"");
    assert!(text.contains(&format!("\nid: {sequence}\ndata: ")), "{text}");
    assert!(text.contains("\"kind\":\"added\""), "what came after it, and no snapshot: {text}");
    let later = events(&served, &path, &format!("{keyed}last-event-id: x\r\n"), "INVALID_REQUEST");
    assert!(later.contains("Last-Event-ID"), "{later}");
    assert!(events(&served, "", &keyed, "INVALID_REQUEST").contains("subscribe"));
    assert!(events(&served, "?subscribe=x", &keyed, "CHANNEL_NOT_FOUND").contains("404"));
    assert!(events(&served, &path, "", "MISSING_API_KEY").contains("401"));
    served.stop.send(()).unwrap();
    served.ended.await.unwrap().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_told_of_what_came_after_a_key_was_revoked() {
    let served = served(Limits::STANDARD).await;
    let market = served.venue.market().await;
    let (_, ann) = served.venue.trader("ann").await;
    let (_, bob) = served.venue.trader("bob").await;
    let path = format!("?subscribe=orders:{market}");
    let mut events = open_events(&served, &path, &format!("x-api-key: {ann}\r\n"));
    read_events(&mut events, "\"heartbeat\"");
    let mut client = keyed(&served, &ann);
    client.ask(&json!({"op": "subscribe", "id": "1", "channels": [format!("orders:{market}")]}));
    of_kind(&mut client, "heartbeat");
    let engine = served.venue.running.engine();
    let placed = served.venue.place(&bob, order(&market, "BUY", "yes", "0.40", "10")).await;
    read_events(&mut events, "\"added\"");
    of_kind(&mut client, "added");
    // Together, so that nobody can look at keys in between.
    let revoke = Command::RevokeKey { user: UserNo(1), key: KeyNo(1) };
    let order: u64 = placed.json["sequence"].as_u64().unwrap();
    let order = exchange::ids::OrderNo(exchange::units::Sequence::new(order));
    let cancel = Command::CancelOrder { user: UserNo(2), order };
    let (revoked, cancelled) = (engine.begin(revoke), engine.begin(cancel));
    drop((revoked.wait().unwrap(), cancelled.wait().unwrap()));
    let rest = read_events(&mut events, "event: close");
    assert!(rest.contains("INVALID_API_KEY"), "{rest}");
    assert!(!rest.contains("removed"), "{rest}");
    loop {
        match client.0.read().unwrap() {
            Message::Close(Some(frame)) => {
                assert_eq!(u16::from(frame.code), 4001);
                break;
            }
            told => assert!(!told.to_string().contains("removed"), "{told}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_order_is_told_with_its_place_in_the_queue() {
    let served = served(Limits::STANDARD).await;
    let market = served.venue.market().await;
    let (_, ann) = served.venue.trader("ann").await;
    let (_, bob) = served.venue.trader("bob").await;
    let mut client = keyed(&served, &ann);
    client.ask(&json!({"op": "subscribe", "id": "1", "channels": ["account"]}));
    of_kind(&mut client, "account");
    let bid = |quantity: &str| order(&market, "BUY", "yes", "0.40", quantity);
    served.venue.place(&ann, bid("10")).await;
    let told = of_kind(&mut client, "order")["data"].clone();
    assert_eq!(told["queue"], json!({"quantityAhead": "0", "ordersAhead": 0}), "{told}");
    served.venue.place(&bob, bid("5")).await;
    served.venue.place(&ann, bid("3")).await;
    let told = of_kind(&mut client, "order")["data"].clone();
    assert_eq!(told["queue"], json!({"quantityAhead": "15", "ordersAhead": 2}), "{told}");
    let path = format!("/trading/orders/{}?queue=true", told["id"].as_str().unwrap());
    assert_eq!(served.venue.get(&ann, &path).await.json, told);
    // What changes an order that stays where it is does not tell its place.
    let sell = json!({"marketId": market, "outcomeId": "no", "side": "BUY",
        "orderType": "LIMIT", "price": "0.60", "quantity": "1"});
    served.venue.place(&bob, sell).await;
    let told = of_kind(&mut client, "order")["data"].clone();
    assert_eq!((&told["remainingQuantity"], &told["queue"]), (&json!("9"), &Value::Null));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_that_is_too_slow_is_told_how_far_it_came() {
    let served = served(Limits::STANDARD).await;
    let market = served.venue.market().await;
    let (_, key) = served.venue.trader("ann").await;
    let mut slow = keyed(&served, &key);
    let answer = slow.ask(&json!({"op": "subscribe", "id": "1", "channels": ["account"]}));
    assert_eq!(answer["ok"], true);
    let bid = order(&market, "BUY", "yes", "0.01", "0.01");
    let operations: Vec<Value> = (0..100).map(|_| json!({"place": bid})).collect();
    let batch = json!({"op": "batch", "id": "b", "body": {"operations": operations}});
    let mut busy = keyed(&served, &key);
    // Enough for what the system itself holds for a reader, and more than the bound.
    for _ in 0..90 {
        assert_eq!(busy.ask(&batch)["status"], 200);
    }
    let (code, reason) = slow.end();
    assert_eq!((code, &reason["code"]), (4008, &json!("SLOW_READER")), "{reason}");
    assert!(reason["sequence"].as_u64().unwrap() > 0, "{reason}");
}
