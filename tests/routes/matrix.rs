//! Every operation of the description against every answer that it lists: a request that succeeds,
//! and one for each error code. A listed code that nothing here provokes fails the test by name.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::TcpStream;

use exchange::catalogue::Outcome;
use exchange::command::{Command, TransferEnd};
use exchange::ids::{MarketNo, UserNo};
use exchange::rules::Rules;
use exchange::units::{Money, Sequence};
use http::Limits;
use http::rates::Rates;
use journal::memory::MemoryStore;
use journal::store::{Step, StoredJournal};
use serde_json::{Value, json};

use super::client::{Answer, Client, Ending, exchange};
use super::described::{Operation, check, operation, operations};
use super::faults::{Fault, Faulty};
use super::scene::{ANN_S, BEN_S, Request, Scene, propose, request};
use super::venue::{FAR, NOBODY, Opening, Venue, soon, with};

/// Codes that no request here can provoke, and why.
const UNREACHABLE: [(&str, &str); 6] = [
    ("PROPOSAL_LIMIT", "needs a thousand proposals"),
    ("TRIAL_TOO_LARGE", "needs a thousand orders in a book: routes/dry_run.rs"),
    ("INTERNAL_ERROR", "a fault of the software"),
    ("VENUE_FULL", "needs four billion users, keys, categories, events or markets"),
    ("HISTORY_UNREADABLE", "needs a page that the disk has lost: routes/history.rs"),
    ("OUT_OF_REACH", "needs a million records between two snapshots"),
];

/// The codes that were provoked, and the answers that had another code than intended.
#[derive(Default)]
struct Given {
    codes: BTreeSet<(&'static str, String)>,
    wrong: Vec<String>,
}

impl Given {
    /// Records an answer of an operation, which should have this code.
    fn note(&mut self, operation: &Operation, code: &str, answer: &Answer) {
        if answer.code() == code {
            self.codes.insert((operation.id(), code.to_owned()));
        } else {
            self.wrong.push(format!("{} should say {code}: {answer:?}", operation.id()));
        }
    }
}

/// The codes that an operation lists.
fn codes(operation: &Operation) -> Vec<&'static str> {
    let responses = operation.content["responses"].as_object().unwrap().values();
    let listed = responses.filter_map(|response| response["x-codes"].as_array()).flatten();
    listed.map(|code| code.as_str().unwrap()).collect()
}

/// The operations that list this code.
fn listing(code: &str) -> impl Iterator<Item = Operation> {
    operations().filter(move |operation| codes(operation).contains(&code))
}

#[test]
fn every_operation_succeeds() {
    let reads = Scene::new();
    for operation in operations() {
        let own;
        let scene = if operation.method == "GET" {
            &reads
        } else {
            own = Scene::new();
            &own
        };
        let answer = scene.request(&operation).send();
        let listed = operation.content["responses"].get(answer.status.to_string());
        assert!(answer.status < 300 && listed.is_some(), "{} {answer:?}", operation.id());
    }
}

#[test]
fn every_listed_code_is_provoked() {
    let mut given = Given::default();
    door(&mut given);
    strained(&mut given);
    starting(&mut given);
    broken(&mut given);
    unknown_ids(&mut given);
    states(&mut given);
    repeats(&mut given);
    excluded(&mut given);
    refusals(&mut given);
    signing_in(&mut given);
    proposals(&mut given);
    disputes(&mut given);
    let mut missing = Vec::new();
    for operation in operations() {
        for code in codes(&operation) {
            let unreachable = UNREACHABLE.iter().any(|(other, _)| *other == code);
            if !unreachable && !given.codes.contains(&(operation.id(), code.to_owned())) {
                missing.push(format!("{} {code}", operation.id()));
            }
        }
    }
    assert!(given.wrong.is_empty(), "{}", given.wrong.join("\n"));
    assert!(missing.is_empty(), "nothing here provokes\n{}", missing.join("\n"));
}

/// Errors found before the operation itself runs.
fn door(given: &mut Given) {
    let scene = Scene::new();
    let reader = json!({"scope": "read", "label": "screen"});
    let reader = scene.venue.client(&scene.ann.client.post("/account/keys", &reader).text("key"));
    let metrics = json!({"role": "metrics", "label": "scraper"});
    let metrics = scene.venue.key_of(&scene.ann.id, &metrics);
    let long = "a".repeat(20_000);
    let send = |operation: &Operation, change: &dyn Fn(Request) -> Request| {
        change(scene.request(operation)).send()
    };
    let header = |name: &'static str, value: &str| {
        let value = value.to_owned();
        move |request: Request| request.with_header(name, &value)
    };
    for operation in operations() {
        for code in codes(&operation) {
            let answer = match code {
                "MISSING_API_KEY" => send(&operation, &Request::without_key),
                "INVALID_API_KEY" => send(&operation, &|r| r.by(&scene.venue.client(NOBODY))),
                "FORBIDDEN" if operation.takes_session() => send(&operation, &Request::forged),
                "FORBIDDEN" if operation.roles() == ["reader"] => {
                    send(&operation, &|request| request.by(&metrics))
                }
                "FORBIDDEN" => send(&operation, &|request| request.by(&reader)),
                "NOT_FOUND" => send(&operation, &|request| request.without_parts()),
                // Probes ignore the query; a second `Host` is refused everywhere.
                "INVALID_REQUEST" if operation.content["tags"][0] == "Operations" => {
                    send(&operation, &header("host", "y"))
                }
                "INVALID_REQUEST" => send(&operation, &|request| request.and_query("unheardOf=1")),
                "URI_TOO_LONG" => send(&operation, &|request| request.and_query(&long)),
                "HEADERS_TOO_LARGE" => send(&operation, &header("x-long", &long)),
                "NOT_ACCEPTABLE" => send(&operation, &header("accept", "text/html")),
                "UNSUPPORTED_MEDIA_TYPE" => {
                    let plain = header("content-type", "text/plain");
                    send(&operation, &|request| plain(request.with_body("{}")))
                }
                "LENGTH_REQUIRED" => send(&operation, &Request::without_body),
                "PRECONDITION_FAILED" => send(&operation, &header("if-match", "\"x\"")),
                "CONTENT_TOO_LARGE" => {
                    let body = format!("\"{}\"", "a".repeat(70_000));
                    send(&operation, &|request| request.with_body(&body))
                }
                _ => continue,
            };
            given.note(&operation, code, &answer);
        }
    }
}

/// A server with limits so low that they are exceeded.
fn strained(given: &mut Given) {
    let few = || "1:1".parse().unwrap();
    let venue =
        Venue::with_rates(Rates { reads: few(), writes: few(), cancels: few(), ..Rates::NONE });
    let ann = venue.trader("ann").client;
    for operation in listing("RATE_LIMITED") {
        // However slow the machine is, some requests come faster than one a second.
        let ask = |_| request(&operation, &ann, &|_| NOBODY.to_owned(), None).send();
        let refused = (0..1000).map(ask).find(|answer| answer.status == 429).unwrap();
        given.note(&operation, "RATE_LIMITED", &refused);
    }
    for operation in listing("RECORD_LIMIT") {
        let records = "60".parse().unwrap();
        let scene = Scene::over(Venue::with_rates(Rates { records, ..Rates::NONE }));
        let cancel = format!("/trading/orders?marketId={}", scene.field[0]);
        let spend = |_| scene.ann.client.delete(&cancel);
        assert!((0..61).map(spend).any(|answer| answer.status == 429));
        let spend = |_| scene.ann.client.post("/trading/heartbeat", &json!({"timeoutSeconds": 0}));
        assert!((0..61).map(spend).any(|answer| answer.status == 429));
        let mut asked = scene.request(&operation);
        if operation.id() == "endSecondFactor" {
            // The records that are spent are Ann's.
            asked = asked.without_key().by_browser(ANN_S);
        }
        given.note(&operation, "RECORD_LIMIT", &asked.send());
    }
    let limits = Limits { body_wait: std::time::Duration::from_millis(5), ..Limits::STANDARD };
    let venue = Venue::limited(limits);
    for operation in listing("REQUEST_TIMEOUT") {
        let asked = request(&operation, &venue.operator, &|_| NOBODY.to_owned(), None);
        let head = format!(
            "{} {} HTTP/1.1\r\nhost: x\r\nx-api-key: {}\r\norigin: http://x\r\n\
             x-requested-by: openoutcry\r\ncontent-length: 9\r\n\r\n{{",
            operation.method,
            asked.target(),
            venue.operator.key
        );
        let came = exchange(venue.operator.address, head.as_bytes(), Ending::Open).unwrap();
        let answer = Answer::read(&came, head, false).unwrap();
        check(&operation.method, &asked.target(), None, &answer);
        given.note(&operation, "REQUEST_TIMEOUT", &answer);
    }
    let venue = Venue::limited(Limits { connections_max: 1, ..Limits::STANDARD });
    let mut held = TcpStream::connect(venue.operator.address).unwrap();
    // Only a connection that has shown a valid key keeps its slot.
    let key = &venue.operator.key;
    let head = format!("GET /api/v1/account/keys HTTP/1.1\r\nhost: x\r\nx-api-key: {key}\r\n\r\n");
    held.write_all(head.as_bytes()).unwrap();
    held.read_exact(&mut [0; 15]).unwrap();
    for operation in listing("OVERLOADED") {
        let asked = request(&operation, &venue.operator, &|_| NOBODY.to_owned(), None);
        given.note(&operation, "OVERLOADED", &asked.send());
    }
    drop(held);
}

/// A server that still replays its journal.
fn starting(given: &mut Given) {
    let opening = Opening::serve();
    let client = Client { address: opening.address, key: NOBODY.to_owned() };
    for operation in listing("STARTING") {
        let asked = request(&operation, &client, &|_| NOBODY.to_owned(), None);
        given.note(&operation, "STARTING", &asked.send());
    }
}

/// An exchange that takes no more commands.
fn broken(given: &mut Given) {
    let faulty = || {
        let (store, faults) = Faulty::new(MemoryStore::new());
        let (journal, _) = StoredJournal::over(store).unwrap();
        (Scene::over(Venue::over(journal)), faults)
    };
    let fault = |step| Fault { step, arrives: false };
    let (mut scene, faults) = faulty();
    faults.lock().unwrap().push(fault(Step::Sync));
    for operation in listing("JOURNAL_UNAVAILABLE") {
        given.note(&operation, "JOURNAL_UNAVAILABLE", &scene.request(&operation).send());
    }
    for operation in listing("HALTED") {
        given.note(&operation, "HALTED", &scene.request(&operation).send());
    }
    assert!(scene.venue.close());
    for operation in listing("OUTCOME_UNKNOWN") {
        let (mut scene, faults) = faulty();
        faults.lock().unwrap().extend([fault(Step::Sync), fault(Step::Mark)]);
        given.note(&operation, "OUTCOME_UNKNOWN", &scene.request(&operation).send());
        assert!(scene.venue.close());
    }
    let mut scene = Scene::new();
    let serving = scene.venue.stop_engine();
    for operation in listing("STOPPING") {
        given.note(&operation, "STOPPING", &scene.request(&operation).send());
    }
    drop(serving);
}

/// Unknown ids, in the path, in the query and in the body.
fn unknown_ids(given: &mut Given) {
    const PARTS: [(&str, &str); 9] = [
        ("marketId", "MARKET_NOT_FOUND"),
        ("eventId", "EVENT_NOT_FOUND"),
        ("categoryId", "CATEGORY_NOT_FOUND"),
        ("orderId", "ORDER_NOT_FOUND"),
        ("clientOrderId", "ORDER_NOT_FOUND"),
        ("userId", "USER_NOT_FOUND"),
        ("keyId", "KEY_NOT_FOUND"),
        ("transfer", "TRANSFER_NOT_FOUND"),
        ("proposal", "PROPOSAL_NOT_FOUND"),
    ];
    let scene = Scene::new();
    for operation in operations() {
        let listed = codes(&operation);
        let asked = || scene.request(&operation);
        for (part, code) in PARTS.iter().filter(|(_, code)| listed.contains(code)) {
            let named = |place: &str| {
                let mut all = operation.parameters().filter(|p| p["in"] == place);
                all.any(|parameter| parameter["name"] == *part)
            };
            if named("path") {
                // Transfers and proposals are known by numbers.
                let nothing = if matches!(*part, "transfer" | "proposal") { "1" } else { NOBODY };
                given.note(&operation, code, &asked().with_part(part, nothing).send());
            } else if named("query") {
                let answer = asked().and_query(&format!("{part}={NOBODY}")).send();
                given.note(&operation, code, &answer);
            }
        }
        let Some(body) = operation.body_schema() else { continue };
        let members = &super::schema::resolved(&super::described::DOCUMENT, body)["properties"];
        for (member, value, code) in [
            ("marketId", json!(NOBODY), "MARKET_NOT_FOUND"),
            ("marketIds", json!([NOBODY]), "MARKET_NOT_FOUND"),
            ("eventId", json!(NOBODY), "EVENT_NOT_FOUND"),
            ("categoryIds", json!([NOBODY]), "CATEGORY_NOT_FOUND"),
            ("copyFromTraderId", json!(NOBODY), "USER_NOT_FOUND"),
        ] {
            if members.get(member).is_some() {
                given.note(&operation, code, &asked().and_member(member, value).send());
            }
        }
    }
    scene.venue.draft(&json!({"slug": "taken"}));
    for (more, code) in [
        (json!({"eventId": NOBODY, "categoryIds": []}), "EVENT_NOT_FOUND"),
        (json!({"eventId": scene.event, "categoryIds": [NOBODY]}), "CATEGORY_NOT_FOUND"),
        (json!({"eventId": scene.event, "categoryIds": [], "slug": "taken"}), "SLUG_TAKEN"),
    ] {
        let answer = scene.request(&operation("checkCatalogue")).and_member("market", line(&more));
        given.note(&operation("checkCatalogue"), code, &answer.send());
    }
}

/// A market of a catalogue, which is a level deeper in the body than one that is made.
fn line(more: &Value) -> Value {
    let made = operation("createMarket");
    with(made.content["requestBody"]["content"]["application/json"]["example"].clone(), more)
}

/// Refusals by the state of the venue, of a user, of a market or of an order.
fn states(given: &mut Given) {
    for (mode, code) in [("read-only", "TRADING_READ_ONLY"), ("cancel-only", "TRADING_CANCEL_ONLY")]
    {
        let scene = Scene::new();
        scene.venue.operator.post("/admin/venue/mode", &json!({"mode": mode}));
        for operation in listing(code) {
            given.note(&operation, code, &scene.request(&operation).send());
        }
    }
    let scene = Scene::new();
    let settled = scene.venue.market();
    scene.venue.settle(&settled, "yes");
    let elsewhere = ["confirmProposal", "fileDispute"];
    for operation in listing("INVALID_TRANSITION").filter(|one| !elsewhere.contains(&one.id())) {
        let mut asked = scene.request(&operation).with_part("marketId", &settled);
        if operation.id() == "reviseMarket" {
            asked = asked.and_member("deadline", json!(FAR));
        }
        given.note(&operation, "INVALID_TRANSITION", &asked.send());
    }
    let scene = Scene::new();
    scene.venue.act(&scene.market, "suspend", &json!({}));
    for operation in listing("MARKET_NOT_ACTIVE") {
        given.note(&operation, "MARKET_NOT_ACTIVE", &scene.request(&operation).send());
    }
    scene.ann.client.delete("/trading/orders");
    for operation in listing("ORDER_NOT_OPEN") {
        given.note(&operation, "ORDER_NOT_OPEN", &scene.request(&operation).send());
    }
    let scene = Scene::new();
    let limit = format!("/admin/users/{}/exposure-limit", scene.ann.id);
    scene.venue.operator.post(&limit, &json!({"limit": "0"}));
    for operation in listing("EXPOSURE_LIMIT") {
        let asked = scene.request(&operation).and_member("quantity", json!("50"));
        given.note(&operation, "EXPOSURE_LIMIT", &asked.send());
    }
    let scene = Scene::new();
    scene.ann.client.post("/trading/heartbeat", &json!({"timeoutSeconds": 5}));
    for operation in listing("HEARTBEAT_EXPIRED") {
        let ask = |_| {
            std::thread::sleep(std::time::Duration::from_millis(50));
            let own = scene.request(&operation).and_member("clientOrderId", Value::Null);
            own.and_member("timeInForce", json!("IOC")).and_member("price", json!("0.01")).send()
        };
        let refused = (0..400).map(ask).find(|answer| answer.status != 200).unwrap();
        given.note(&operation, "HEARTBEAT_EXPIRED", &refused);
    }
}

/// A name that was used for something else.
fn repeats(given: &mut Given) {
    let scene = Scene::new();
    let named = |client: &Client, path: &str, body: &Value| {
        let body = body.to_string();
        let name = [("idempotency-key", "taken")];
        assert!(client.send("POST", path, &name, Some(body.as_bytes())).status < 300);
    };
    named(&scene.venue.operator, "/admin/categories", &json!({"name": "n", "slug": "n"}));
    named(&scene.ann.client, "/trading/heartbeat", &json!({"timeoutSeconds": 0}));
    for operation in listing("IDEMPOTENCY_KEY_REUSED") {
        let asked = scene.request(&operation).with_header("idempotency-key", "taken");
        given.note(&operation, "IDEMPOTENCY_KEY_REUSED", &asked.send());
    }
    for operation in listing("CLIENT_ORDER_ID_REUSED") {
        let asked = scene.request(&operation).and_member("clientOrderId", json!("own"));
        given.note(&operation, "CLIENT_ORDER_ID_REUSED", &asked.send());
    }
    // At most one name is remembered per user.
    let scene = Scene::over(Venue::with_rules(Rules { user_names_max: 1, ..Rules::current() }));
    named(&scene.venue.operator, "/admin/categories", &json!({"name": "n", "slug": "n"}));
    for operation in listing("TOO_MANY_NAMES") {
        let asked = scene.request(&operation).with_header("idempotency-key", "another");
        given.note(&operation, "TOO_MANY_NAMES", &asked.send());
    }
}

/// Refusals of mutually exclusive markets, and of a conversion of others.
fn excluded(given: &mut Given) {
    let scene = Scene::new();
    let mut note = |id: &str, code: &str, change: &dyn Fn(Request) -> Request| {
        let operation = operation(id);
        given.note(&operation, code, &change(scene.request(&operation)).send());
    };
    let too_many = json!("50");
    note("convert", "INSUFFICIENT_CONTRACTS", &|r| r.and_member("quantity", too_many.clone()));
    note("convert", "EVENT_NOT_EXCLUSIVE", &|request| {
        request.with_part("eventId", &scene.event).and_member("marketIds", json!([scene.market]))
    });
    assert_eq!(scene.request(&operation("convert")).send().status, 200);
    let joining = json!(scene.exclusive);
    note("createMarket", "EVENT_COMPLETE", &|r| r.and_member("eventId", joining.clone()));
    let market = line(&json!({"eventId": joining, "categoryIds": []}));
    note("checkCatalogue", "EVENT_COMPLETE", &|r| r.and_member("market", market.clone()));
    scene.venue.settle(&scene.field[0], "yes");
    note("convert", "EVENT_NOT_CONVERTIBLE", &|request| request);
    for id in ["resolveMarket", "voidMarket"] {
        note(id, "EVENT_ALREADY_WON", &|r| r.with_part("marketId", &scene.field[1]));
    }
}

/// Refusals that only one operation has.
fn refusals(given: &mut Given) {
    let rules = Rules { user_open_orders_max: 6, ..Rules::current() };
    let scene = Scene::over(Venue::with_rules(rules));
    let mut refused = |id: &str, code: &str, changes: Value| {
        let operation = operation(id);
        let mut asked = scene.request(&operation);
        for (member, value) in changes.as_object().unwrap() {
            asked = match member.as_str() {
                "order" => asked.with_part("orderId", value.as_str().unwrap()),
                "transfer" => asked.with_part("transfer", value.as_str().unwrap()),
                _ => asked.and_member(member, value.clone()),
            };
        }
        given.note(&operation, code, &asked.send());
    };
    let past = soon(-60_000);
    refused("placeOrder", "ORDER_TOO_LATE", json!({"validUntil": past}));
    refused("placeOrder", "REDUCE_ONLY_EXCEEDED", json!({"reduceOnly": true}));
    refused("placeOrder", "INSUFFICIENT_FUNDS", json!({"quantity": "1000"}));
    let crossing = json!({"price": "0.85", "quantity": "1", "postOnly": true});
    refused("placeOrder", "POST_ONLY_WOULD_CROSS", crossing);
    let crossing = json!({"price": "0.85", "quantity": "1", "order": scene.post_only});
    refused("amendOrder", "POST_ONLY_WOULD_CROSS", crossing);
    let more = json!({"price": "0.90", "quantity": "50", "order": scene.reduce_only});
    refused("amendOrder", "REDUCE_ONLY_EXCEEDED", more);
    refused("amendOrder", "INSUFFICIENT_FUNDS", json!({"quantity": "1000"}));
    refused("amendOrder", "QUANTITY_FILLED", json!({"quantity": "1"}));
    refused("withdraw", "INSUFFICIENT_FUNDS", json!({"amount": "1000"}));
    refused("takeFees", "INSUFFICIENT_FEES", json!({"amount": "1000"}));
    let pay = format!("/admin/users/{}/deposits", scene.ann.id);
    scene.venue.operator.post(&pay, &json!({"amount": "1", "reference": "b-1"}));
    for id in ["deposit", "withdraw"] {
        refused(id, "REFERENCE_USED", json!({"reference": "b-1"}));
    }
    refused("deposit", "DEPOSIT_LIMIT", json!({"amount": "90000000000"}));
    refused("confirmTransfer", "REFERENCE_USED", json!({"reference": "b-1"}));
    refused("askWithdrawal", "INSUFFICIENT_FUNDS", json!({"amount": "1000"}));
    let ask = |amount: &str| scene.ann.client.post("/account/deposits", &json!({"amount": amount}));
    let large = ask("90000000000").json["transfer"].to_string();
    refused("confirmTransfer", "DEPOSIT_LIMIT", json!({"transfer": large}));
    while ask("1").status == 201 {}
    for id in ["askDeposit", "askWithdrawal"] {
        refused(id, "TRANSFER_LIMIT", json!({"amount": "0.01"}));
    }
    scene.venue.event(&json!({"slug": "taken"}));
    scene.venue.draft(&json!({"slug": "taken"}));
    for id in ["createCategory", "createEvent", "reviseEvent", "createMarket", "reviseMarket"] {
        refused(id, "SLUG_TAKEN", json!({"slug": "taken"}));
    }
    for number in 0..32 {
        let beat = json!({"timeoutSeconds": 300, "group": number.to_string()});
        scene.ann.client.post("/trading/heartbeat", &beat);
    }
    refused("sendHeartbeat", "HEARTBEAT_LIMIT", json!({"group": "one-more"}));
    let more = json!({"marketId": scene.market, "outcomeId": "yes", "side": "BUY",
        "orderType": "LIMIT", "price": "0.01", "quantity": "1"});
    while scene.ann.order(&more).status == 200 {}
    refused("placeOrder", "OPEN_ORDER_LIMIT", json!({"quantity": "1"}));
    let key = json!({"scope": "read", "label": "one more"});
    while scene.ann.client.post("/account/keys", &key).status == 201 {}
    refused("createKey", "KEY_LIMIT", json!({}));
    let rotate = operation("rotateKey");
    let mut key = scene.key.clone();
    let last = loop {
        let answer = scene.request(&rotate).with_part("keyId", &key).send();
        if answer.status != 201 {
            break answer;
        }
        key = answer.text("keyId");
    };
    given.note(&rotate, "KEY_LIMIT", &last);
}

/// Refusals of what takes two operators.
fn proposals(given: &mut Given) {
    let scene = Scene::new();
    let confirm = operation("confirmProposal");
    let mut confirmed = |code: &str, by: &Client, proposal: &str| {
        let answer = scene.request(&confirm).by(by).with_part("proposal", proposal).send();
        given.note(&confirm, code, &answer);
    };
    let operator = &scene.venue.operator;
    let own = json!({"role": "operator", "label": "Ann as an operator"});
    let (user, amount) = (UserNo(1), Money::new(100_000_000));
    let pays = propose(&scene.venue, Command::Withdraw { user, amount });
    confirmed("PROPOSAL_OF_OWN", &scene.venue.key_of(&scene.ann.id, &own), &pays);
    let number = |market: &String| {
        let all = operator.get("/admin/markets?limit=1000").json;
        let all = all["markets"].as_array().unwrap();
        let place = all.iter().rev().position(|one| one["id"] == market.as_str()).unwrap();
        MarketNo(u32::try_from(place).unwrap())
    };
    let resolve = |market: &String| {
        let market = number(market);
        propose(&scene.venue, Command::ResolveMarket { market, winner: Outcome::Yes })
    };
    let (one, other) = (resolve(&scene.field[0]), resolve(&scene.field[1]));
    scene.venue.settle(&scene.field[0], "yes");
    confirmed("INVALID_TRANSITION", operator, &one);
    confirmed("EVENT_ALREADY_WON", operator, &other);
    let asked = scene.ann.client.post("/account/withdrawals", &json!({"amount": "1"}));
    let transfer = Sequence::new(asked.json["transfer"].as_u64().unwrap());
    let how = TransferEnd::Confirmed;
    let answers = propose(&scene.venue, Command::EndTransfer { user, transfer, how });
    scene.ann.client.delete(&format!("/account/transfers/{transfer}"));
    confirmed("TRANSFER_NOT_FOUND", operator, &answers);
    let pay = format!("/admin/users/{}/withdrawals", scene.ann.id);
    scene.venue.ask(Command::SetTwoPersons { above: Some(Money::ZERO) });
    let body = json!({"amount": "1", "reference": "p-1"});
    let ann = scene.venue.key_of(&scene.ann.id, &own);
    let named = ann.post(&pay, &body).json["proposal"].to_string();
    scene.venue.ask(Command::SetTwoPersons { above: None });
    operator.post(&pay, &body);
    confirmed("REFERENCE_USED", operator, &named);
    let available = scene.ann.balance().0;
    operator.post(&pay, &json!({"amount": available}));
    confirmed("INSUFFICIENT_FUNDS", operator, &pays);
}

/// Refusals of what holders dispute.
fn disputes(given: &mut Given) {
    let scene = Scene::new();
    let file = operation("fileDispute");
    let mut refused = |code: &str, by: &Client, market: &str| {
        let answer = scene.request(&file).by(by).and_member("marketId", json!(market)).send();
        given.note(&file, code, &answer);
    };
    let (ann, market) = (&scene.ann.client, &scene.announced);
    refused("INVALID_TRANSITION", ann, &scene.market);
    refused("NO_CONTRACTS", &scene.venue.trader("cat").client, market);
    let pay = format!("/admin/users/{}/withdrawals", scene.ann.id);
    let available = scene.ann.balance().0;
    scene.venue.operator.post(&pay, &json!({"amount": available}));
    refused("INSUFFICIENT_FUNDS", ann, market);
    let pay = format!("/admin/users/{}/deposits", scene.ann.id);
    scene.venue.operator.post(&pay, &json!({"amount": "10"}));
    scene.request(&file).send();
    scene.venue.act(market, "resolve", &json!({"winningOutcomeId": "no"}));
    refused("ALREADY_DISPUTED", ann, market);
}

/// Refusals of people in browsers.
fn signing_in(given: &mut Given) {
    let scene = Scene::new();
    let mut note = |id: &str, code: &str, change: &dyn Fn(Request) -> Request| {
        let operation = operation(id);
        let answer = change(scene.request(&operation)).send();
        given.note(&operation, code, &answer);
    };
    let with = |name: &'static str, value: &'static str| {
        move |request: Request| request.and_member(name, json!(value))
    };
    note("signUp", "NAME_TAKEN", &with("profileName", "ben"));
    note("acceptInvitation", "NAME_TAKEN", &with("profileName", "ben"));
    for id in ["readInvitation", "acceptInvitation"] {
        note(id, "INVITATION_NOT_FOUND", &with("token", "ook_none"));
    }
    note("signIn", "SECOND_FACTOR_REQUIRED", &with("profileName", "ben"));
    note("signIn", "SECOND_FACTOR_REFUSED", &|request| {
        with("code", "no code")(with("profileName", "ben")(request))
    });
    note("confirmSecondFactor", "SECOND_FACTOR_REFUSED", &with("code", "no code"));
    // Ben has begun none.
    note("confirmSecondFactor", "SECOND_FACTOR_NOT_FOUND", &|request| {
        with("code", "000000")(request.without_key().by_browser(BEN_S))
    });
    let anns = |request: Request| request.without_key().by_browser(ANN_S);
    note("endSecondFactor", "SECOND_FACTOR_NOT_FOUND", &anns);
    note("endSecondFactor", "SECOND_FACTOR_REFUSED", &with("code", "no code"));
    note("endSecondFactor", "CREDENTIALS_REFUSED", &with("current", "another one"));
    note("clearSecondFactorOf", "SECOND_FACTOR_NOT_FOUND", &|request| {
        request.with_part("userId", &scene.ann.id)
    });
    note("signOut", "SESSION_NOT_FOUND", &|request| request.by(&scene.ann.client));
    note("changePassword", "CREDENTIALS_REFUSED", &with("current", "another one"));
    note("beginSecondFactor", "CREDENTIALS_REFUSED", &with("current", "another one"));
    note("signIn", "CREDENTIALS_REFUSED", &with("password", "another one"));
    let wrong = |id: &str| with("password", "another one")(scene.request(&operation(id))).send();
    assert!((0..10).any(|_| wrong("signIn").status == 429));
    assert!((0..40).any(|_| scene.request(&operation("signUp")).send().status == 429));
    for id in ["signIn", "signUp", "changePassword", "beginSecondFactor"] {
        note(id, "TOO_MANY_TRIES", &|request| request);
    }
    note("endSecondFactor", "TOO_MANY_TRIES", &anns);
    let rules = Rules { money_supply_max: Money::new(25_000_000_000), ..Rules::current() };
    let poor = Scene::over(Venue::with_rules(rules));
    let fill = operation("fillAccount");
    given.note(&fill, "DEPOSIT_LIMIT", &poor.request(&fill).send());
}
