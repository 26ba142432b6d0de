//! The description's examples, made by this scene: each request is sent to a venue and its answer
//! written down, with ids, times, keys and hashes replaced by stable ones. The kept examples must
//! equal the actual ones; with `OPENOUTCRY_WRITE_EXAMPLES` set they are rewritten.

use std::collections::HashMap;

use exchange::command::Command;
use exchange::ids::UserNo;
use exchange::units::Money;
use regex::Regex;
use serde_json::{Map, Value, json};

use super::client::{Client, bare};
use super::described::{operation, operations};
use super::scene::{PASSWORD, first_code};
use super::venue::{Trader, Venue};

const KEPT: &str = include_str!("../../src/http/openapi/examples.json");
const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/http/openapi/examples.json");
/// The time shown in every example.
const NOW: &str = "2026-11-21T12:00:00.000Z";
const NOW_MS: u64 = 1_795_262_400_000;
const DEADLINE: &str = "2030-12-25T00:00:00.000Z";
/// Start of the hours whose candles are shown: written as they are.
const FROM: &str = DEADLINE;
const TO: &str = "2030-12-25T02:00:00.000Z";
/// Answers too long to be shown, or not JSON.
const UNSHOWN: [&str; 3] = ["getMetrics", "getDescription", "getStreamDescription"];

struct Scene {
    venue: Venue,
    names: HashMap<String, String>,
    made: Map<String, Value>,
    /// What the last answer gave a browser.
    cookie: String,
}

impl Scene {
    fn new() -> Scene {
        let (names, made) = (HashMap::new(), Map::new());
        Scene { venue: Venue::open(), names, made, cookie: String::new() }
    }

    fn operator(&self) -> Client {
        self.venue.operator.clone()
    }

    /// Sends a request, and records it with its answer. `parts` are the variable parts of the path.
    fn show(&mut self, id: &str, by: &Client, parts: &[&str], query: &str, body: Value) -> Value {
        let operation = operation(id);
        let (mut path, mut named) = (operation.path.to_owned(), Map::new());
        for (parameter, part) in operation.parameters().filter(|p| p["in"] == "path").zip(parts) {
            let name = parameter["name"].as_str().unwrap();
            path = path.replace(&format!("{{{name}}}"), part);
            named.insert(name.to_owned(), json!(part));
        }
        assert!(!path.contains('{'), "{path}");
        let target = if query.is_empty() { path } else { format!("{path}?{query}") };
        let by_cookie = by.key.starts_with("openoutcry_session=");
        let shown = if by_cookie { "cookie" } else { "x-api-key" };
        let key =
            [(shown, by.key.as_str()), ("origin", "http://x"), ("x-requested-by", "openoutcry")];
        let sent = (!body.is_null()).then(|| body.to_string());
        let sent = sent.as_ref().map(String::as_bytes);
        let answer = bare(by.address, &operation.method, &target, &key, sent);
        let done = operation.content["responses"].get(answer.status.to_string()).is_some();
        assert!(done && answer.status < 400, "{id}: {answer:?}");
        if let Some((_, cookie)) = answer.headers.iter().find(|(name, _)| name == "set-cookie") {
            cookie.split(';').next().unwrap().clone_into(&mut self.cookie);
        }
        let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        let typed = |text: &str| serde_json::from_str(text).unwrap_or_else(|_| json!(text));
        let of = |name: &str, text: &str| match name {
            "marketIds" => text.split(',').map(|id| json!(id)).collect(),
            _ => typed(text),
        };
        let query: Map<String, Value> =
            pairs.map(|(name, value)| (name.to_owned(), of(name, value))).collect();
        let mut example = json!({});
        for (member, json) in [("path", json!(named)), ("query", json!(query)), ("body", body)] {
            if !json.is_null() && json != json!({}) || member == "body" && json == json!({}) {
                example[member] = json;
            }
        }
        if !answer.json.is_null() && !UNSHOWN.contains(&id) {
            example["answer"] = answer.json.clone();
        }
        self.made.insert(id.to_owned(), example);
        answer.json.clone()
    }

    /// The examples, with everything that differs between runs replaced by a stable form.
    fn finish(mut self) -> Value {
        let made = Value::Object(std::mem::take(&mut self.made));
        let patterns = [
            "^[0-9a-f]{11}-[0-9a-f]+$",
            "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
            "ook_[0-9a-f]{64}",
            "^[0-9a-f]{64}$",
            r"^20[0-9]{2}-[0-9]{2}-[0-9]{2}T.*Z$",
            "[A-Z2-7]{32}",
            "^(?:[a-z2-7]{4}-){3}[a-z2-7]{4}$",
            "^[0-9]{6}$",
            "^M4 4h[0-9 hvzM-]*$",
            "state=[A-Za-z0-9_-]{43}",
        ];
        let patterns = patterns.map(|pattern| Regex::new(pattern).unwrap());
        self.plain(&made, &patterns)
    }

    fn plain(&mut self, json: &Value, patterns: &[Regex; 10]) -> Value {
        match json {
            Value::String(text) => {
                let mut text = text.clone();
                for (kind, pattern) in patterns.iter().enumerate() {
                    let found: Vec<String> =
                        pattern.find_iter(&text).map(|found| found.as_str().to_owned()).collect();
                    for old in found {
                        text = text.replace(&old, &self.named(kind, &old));
                    }
                    if found_whole(pattern, &text) {
                        break;
                    }
                }
                json!(text)
            }
            Value::Array(parts) => parts.iter().map(|part| self.plain(part, patterns)).collect(),
            Value::Object(members) => {
                let plain = |(name, member): (&String, &Value)| {
                    let now = name == "unixMilliseconds";
                    let member = if now { json!(NOW_MS) } else { self.plain(member, patterns) };
                    (name.clone(), member)
                };
                Value::Object(members.iter().map(plain).collect())
            }
            other => other.clone(),
        }
    }

    fn named(&mut self, kind: usize, old: &str) -> String {
        let number = self.names.len() + 1;
        let new = match kind {
            0 => "19aa2f6c1f3-7".to_owned(),
            1 => format!("0192f0c1-2b3c-7d4e-8f50-{number:012x}"),
            2 => format!("ook_{:064x}", 0),
            3 => format!("{number:064x}"),
            5 => "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ".to_owned(),
            6 => "mfrg-g43f-nrsw-45dp".to_owned(),
            7 => "287082".to_owned(),
            8 => "M4 4h7v1h-7z".to_owned(),
            9 => "state=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM".to_owned(),
            _ if old.starts_with("2030-") => return old.to_owned(),
            _ => return NOW.to_owned(),
        };
        self.names.entry(old.to_owned()).or_insert(new).clone()
    }
}

fn found_whole(pattern: &Regex, text: &str) -> bool {
    pattern.find(text).is_some_and(|found| found.as_str() == text)
}

fn id(json: &Value) -> String {
    json["id"].as_str().unwrap().to_owned()
}

fn words(pt: &str, en: &str, es: &str) -> Value {
    json!({"pt": pt, "en": en, "es": es})
}

fn market(question: &Value, more: &Value) -> Value {
    let outcomes = json!([{"id": "yes", "text": words("Sim", "Yes", "Sí")},
        {"id": "no", "text": words("Não", "No", "No")}]);
    let rules = words("Pelo instituto.", "By the institute.", "Según el instituto.");
    let body = json!({"questions": question, "descriptions": rules, "outcomes": outcomes,
        "logo": "https://assets.example.org/rain.png", "deadline": DEADLINE});
    super::venue::with(body, more)
}

#[test]
fn examples_match_actual_answers() {
    let mut scene = Scene::new();
    let market = catalogue(&mut scene);
    let (ann, ben) = people(&mut scene);
    transfers(&mut scene, &ann);
    trade(&mut scene, &market, &ann, &ben);
    lives(&mut scene);
    dispute(&mut scene, &ann, &ben);
    conversion(&mut scene, &ann, &ben);
    watch(&mut scene, &ann);
    sign_in(&mut scene, &ann);
    let op = scene.operator();
    scene.show("renameUser", &op, &[&ann.id], "", json!({"profileName": "Ann Lee"}));
    let shown = scene.made.len();
    let missing: Vec<&str> =
        operations().map(|o| o.id()).filter(|id| !scene.made.contains_key(*id)).collect();
    assert!(missing.is_empty(), "{shown} shown, not {missing:?}");
    let made = scene.finish();
    if std::env::var_os("OPENOUTCRY_WRITE_EXAMPLES").is_some() {
        std::fs::write(FILE, format!("{made:#}\n")).unwrap();
    }
    let kept: Value = serde_json::from_str(KEPT).unwrap();
    for (id, example) in made.as_object().unwrap() {
        assert_eq!(kept[id], *example, "{id}");
    }
    assert_eq!(kept, made);
}

/// Creates categories, an event and a published market; returns the market's id.
fn catalogue(scene: &mut Scene) -> String {
    let op = scene.operator();
    let weather = json!({"name": "Weather", "slug": "weather"});
    let category = id(&scene.show("createCategory", &op, &[], "", weather));
    let titles = words("O Natal em Lisboa", "Christmas in Lisbon", "Navidad en Lisboa");
    let event = json!({"titles": titles, "subTitles": words("2030", "2030", "2030"),
        "descriptions": words("", "", ""), "images": ["https://assets.example.org/lisbon.png"],
        "categoryIds": [category]});
    let event = id(&scene.show("createEvent", &op, &[], "", event));
    scene.show("reviseEvent", &op, &[&event], "", json!({"highlighted": true}));
    let question = words("Vai chover em Lisboa?", "Will it rain in Lisbon?", "¿Lloverá en Lisboa?");
    let body = market(
        &question,
        &json!({"eventId": event, "categoryIds": [category], "takerFee": "0.0700"}),
    );
    scene.show("checkCatalogue", &op, &[], "", json!({"market": body}));
    let market = id(&scene.show("createMarket", &op, &[], "", body));
    scene.show("reviseMarket", &op, &[&market], "", json!({"highlighted": true}));
    scene.show("publishMarket", &op, &[&market], "", json!({}));
    scene.show("listAllMarkets", &op, &[], "status=ACTIVE&limit=20", Value::Null);
    scene.show("listEvents", &op, &[], "highlighted=true&limit=20&offset=0", Value::Null);
    scene.show("getEvent", &op, &[&event], "", Value::Null);
    scene.show("listCategories", &op, &[], "", Value::Null);
    scene.show("getCategory", &op, &[&category], "", Value::Null);
    market
}

/// Two traders with money.
fn people(scene: &mut Scene) -> (Trader, Trader) {
    let op = scene.operator();
    let body = json!({"profileName": "ann", "profilePic": "https://assets.example.org/ann.png"});
    let user = id(&scene.show("createUser", &op, &[], "", body));
    let key = json!({"role": "trader", "label": "first"});
    let key = scene.show("createUserKey", &op, &[&user], "", key);
    scene.show("deposit", &op, &[&user], "", json!({"amount": "100.00"}));
    scene.show("withdraw", &op, &[&user], "", json!({"amount": "25.50"}));
    scene.show("getUser", &op, &[&user], "", Value::Null);
    scene.show("listUsers", &op, &[], "name=ann&limit=20&offset=0", Value::Null);
    let key_id = key["keyId"].as_str().unwrap();
    scene.show("getUserKey", &op, &[&user, key_id], "", Value::Null);
    let spare = json!({"role": "reader", "label": "spare"});
    let spare = op.post(&format!("/admin/users/{user}/keys"), &spare).text("keyId");
    scene.show("revokeUserKey", &op, &[&user, &spare], "", Value::Null);
    scene.show("setExposureLimit", &op, &[&user], "", json!({"limit": "50.00"}));
    scene.show("liftExposureLimit", &op, &[&user], "", Value::Null);
    scene.show("renameUser", &op, &[&user], "", json!({"profileName": "ann"}));
    scene.show("setUserMode", &op, &[&user], "", json!({"mode": "normal"}));
    scene.show("listUserKeys", &op, &[&user], "", Value::Null);
    let ann = Trader { id: user, client: scene.venue.client(key["key"].as_str().unwrap()) };
    let ben = scene.venue.trader("ben");
    (ann, ben)
}

/// Money that a user asks to bring in and to take out.
fn transfers(scene: &mut Scene, ann: &Trader) {
    let (op, ann) = (scene.operator(), &ann.client);
    let number = |asked: &Value| asked["transfer"].to_string();
    let asked = json!({"amount": "10.00", "reference": "salary"});
    let comes = number(&scene.show("askDeposit", ann, &[], "", asked));
    let goes = number(&scene.show("askWithdrawal", ann, &[], "", json!({"amount": "4.50"})));
    let spare = ann.post("/account/withdrawals", &json!({"amount": "1"}));
    scene.show("cancelTransfer", ann, &[&number(&spare.json)], "", Value::Null);
    scene.show("listTransfers", &op, &[], "state=requested&limit=50&offset=0", Value::Null);
    let bank = json!({"reference": "bank-2030-11-26-7"});
    scene.show("confirmTransfer", &op, &[&comes], "", bank);
    scene.show("refuseTransfer", &op, &[&goes], "", json!({"reason": "no such account"}));
    scene.show("getTransfer", ann, &[&goes], "", Value::Null);
    scene.show("listOwnTransfers", ann, &[], "", Value::Null);
    let propose = |scene: &Scene| {
        let (user, amount) = (UserNo(1), Money::new(100_000_000));
        super::scene::propose(&scene.venue, Command::Withdraw { user, amount })
    };
    let (one, other) = (propose(scene), propose(scene));
    scene.show("listProposals", &op, &[], "", Value::Null);
    scene.show("confirmProposal", &op, &[&one], "", json!({"reason": "the bank has it"}));
    scene.show("rejectProposal", &op, &[&other], "", json!({}));
}

/// An announced outcome that a holder disputes.
fn dispute(scene: &mut Scene, ann: &Trader, ben: &Trader) {
    let market = scene.venue.market_with(&json!({"disputeWindowSeconds": 3600}));
    scene.venue.trade(&market, ann, ben, "0.50", "1");
    scene.venue.act(&market, "resolve", &json!({"winningOutcomeId": "no"}));
    let body = json!({"marketId": market, "reason": "The station measured 4 mm."});
    scene.show("fileDispute", &ann.client, &[], "", body);
    scene.show("listOwnDisputes", &ann.client, &[], "", Value::Null);
    let op = scene.operator();
    scene.show("listDisputes", &op, &[], "", Value::Null);
}

fn trade(scene: &mut Scene, market: &str, ann: &Trader, ben: &Trader) {
    let (owner, ann) = (ann, &ann.client);
    ben.place(market, "SELL", "yes", "0.60", "4");
    let order = json!({"marketId": market, "outcomeId": "yes", "side": "BUY",
        "orderType": "LIMIT", "price": "0.60", "quantity": "10", "clientOrderId": "quote-1"});
    let placed = scene.show("placeOrder", ann, &[], "", order);
    let order = placed["orderId"].as_str().unwrap();
    scene.show("getOrder", ann, &[order], "", Value::Null);
    scene.show("getNamedOrder", ann, &["quote-1"], "", Value::Null);
    scene.show("amendOrder", ann, &[order], "", json!({"price": "0.58", "quantity": "8"}));
    scene.show("listOrders", ann, &[], &format!("active=true&marketId={market}"), Value::Null);
    scene.show("getDepth", ann, &[market], "outcome=yes&levels=10", Value::Null);
    scene.show("listBooks", ann, &[], &format!("marketIds={market}&outcome=yes"), Value::Null);
    scene.show("listFills", ann, &[], "limit=50&offset=0", Value::Null);
    scene.show("listPositions", ann, &[], "limit=20&offset=0", Value::Null);
    scene.show("getBalance", ann, &[], "", Value::Null);
    account(scene, &owner.id);
    scene.show("listMarkets", ann, &[], "highlighted=true&limit=20&offset=0", Value::Null);
    scene.show("getMarket", ann, &[market], "", Value::Null);
    scene.show("listActivity", ann, &[market], "limit=50&offset=0", Value::Null);
    figures(scene, market, ann);
    scene.show("cancelOrder", ann, &[order], "", Value::Null);
    let body = json!({"marketId": market, "outcomeId": "no", "side": "BUY",
        "orderType": "LIMIT", "price": "0.30", "quantity": "5"});
    let named = super::venue::with(body.clone(), &json!({"clientOrderId": "quote-2"}));
    let operations = json!([{"place": named}, {"place": body}, {"cancel": {"orderId": order}}]);
    scene.show("sendBatch", ann, &[], "", json!({"operations": operations}));
    scene.show("cancelNamedOrder", ann, &["quote-2"], "", Value::Null);
    scene.show("cancelOrders", ann, &[], &format!("marketId={market}"), Value::Null);
    ann.post("/trading/orders", &body);
    scene.show("cancelUserOrders", &scene.operator(), &[&owner.id], "", Value::Null);
}

/// What an operator reads of a user's account.
fn account(scene: &mut Scene, user: &str) {
    let op = scene.operator();
    scene.show("listUserOrders", &op, &[user], "active=true", Value::Null);
    scene.show("listUserPositions", &op, &[user], "limit=20&offset=0", Value::Null);
    scene.show("listUserFills", &op, &[user], "limit=50&offset=0", Value::Null);
    scene.show("listUserLedger", &op, &[user], "limit=50", Value::Null);
}

/// Reads about the trade, by the public and by its parties.
fn figures(scene: &mut Scene, market: &str, ann: &Client) {
    scene.show("searchMarkets", ann, &[], "q=rain&limit=20", Value::Null);
    scene.show("listTrades", ann, &[market], "limit=50", Value::Null);
    scene.show("getStats", ann, &[market], "", Value::Null);
    let past = format!("interval=1h&from={FROM}&to={TO}");
    scene.show("listCandles", ann, &[market], &past, Value::Null);
    let user = ann.get("/session").json["user"]["id"].as_str().unwrap().to_owned();
    scene.show("getProfile", ann, &[&user], "", Value::Null);
    scene.show("listProfileTrades", ann, &[&user], "limit=20", Value::Null);
    scene.show("getMarketImpact", &scene.operator(), &[market], "", Value::Null);
    scene.show("getVenueImpact", &scene.operator(), &[], "", Value::Null);
    scene.show("getLeaderboard", ann, &[], "by=volume&period=all&limit=20", Value::Null);
    scene.show("listLedger", ann, &[], "limit=50", Value::Null);
    scene.show("listSettlements", ann, &[], "limit=50", Value::Null);
    scene.show("getPnl", ann, &[], "", Value::Null);
    scene.show("listEquity", ann, &[], "limit=50", Value::Null);
    scene.show("getLimits", ann, &[], "", Value::Null);
}

/// Every transition of a market's life.
fn lives(scene: &mut Scene) {
    let op = scene.operator();
    let one = scene.venue.market_with(&json!({"disputeWindowSeconds": 3600}));
    scene.show("suspendMarket", &op, &[&one], "", json!({}));
    scene.show("reopenMarket", &op, &[&one], "", json!({"deadline": DEADLINE}));
    scene.show("closeMarket", &op, &[&one], "", json!({}));
    scene.show("resolveMarket", &op, &[&one], "", json!({"winningOutcomeId": "yes"}));
    scene.show("disputeMarket", &op, &[&one], "", json!({}));
    scene.show("voidMarket", &op, &[&one], "", json!({"price": "0.50"}));
}

/// Converts no contracts of two of three markets to cash and a yes contract of the third.
fn conversion(scene: &mut Scene, ann: &Trader, ben: &Trader) {
    let event = scene.venue.event(&json!({"mutuallyExclusive": true}));
    let of_event = json!({"eventId": event});
    let [rain, snow, _] = [(); 3].map(|()| scene.venue.market_with(&of_event));
    scene.venue.trade(&rain, ben, ann, "0.40", "5");
    scene.venue.trade(&snow, ben, ann, "0.30", "5");
    let body = json!({"marketIds": [rain, snow], "quantity": "2.5"});
    scene.show("convert", &ann.client, &[&event], "", body);
}

/// Keys, limits, the journal, the process.
fn watch(scene: &mut Scene, ann: &Trader) {
    let (op, ann) = (scene.operator(), &ann.client);
    let body = json!({"scope": "read", "label": "screen"});
    let key = scene.show("createKey", ann, &[], "", body);
    let key = scene.show("rotateKey", ann, &[key["keyId"].as_str().unwrap()], "", Value::Null);
    scene.show("revokeKey", ann, &[key["keyId"].as_str().unwrap()], "", Value::Null);
    scene.show("listKeys", ann, &[], "", Value::Null);
    scene.show("getKey", ann, &[key["keyId"].as_str().unwrap()], "", Value::Null);
    scene.show("sendHeartbeat", ann, &[], "", json!({"timeoutSeconds": 30}));
    scene.show("getHeartbeat", ann, &[], "", Value::Null);
    scene.show("setVenueMode", &op, &[], "", json!({"mode": "normal"}));
    scene.show("getVenueMode", &op, &[], "", Value::Null);
    scene.show("takeFees", &op, &[], "", json!({"amount": "0.01"}));
    scene.show("getFees", &op, &[], "", Value::Null);
    scene.show("getAuditHead", &op, &[], "", Value::Null);
    scene.show("listRecords", &op, &[], "from=1&limit=3", Value::Null);
    scene.show("getTime", ann, &[], "", Value::Null);
    for probe in ["getHealth", "getReadiness"].iter().chain(&UNSHOWN) {
        scene.show(probe, &op, &[], "", Value::Null);
    }
}

/// A person in a browser, from invitation to signing out.
fn sign_in(scene: &mut Scene, ann: &Trader) {
    let op = scene.operator();
    let cleo = scene.venue.trader("cleo").id;
    let token = scene.show("invite", &op, &[&cleo], "", json!({"role": "trader"}));
    let token = token["token"].as_str().unwrap();
    scene.show("getSite", &op, &[], "", Value::Null);
    scene.show("readInvitation", &op, &[], "", json!({"token": token}));
    let accepts = json!({"token": token, "profileName": "cleo", "password": PASSWORD});
    scene.show("acceptInvitation", &op, &[], "", accepts);
    scene.show("leaveForProvider", &op, &[], "", json!({"token": token}));
    let credentials = json!({"profileName": "cleo", "password": PASSWORD});
    scene.show("signIn", &op, &[], "", credentials);
    let cleos = scene.venue.client(&scene.cookie);
    scene.show("getSession", &cleos, &[], "", Value::Null);
    let code = second_factor(scene, &cleos);
    let ends = json!({"current": PASSWORD, "code": code});
    scene.show("endSecondFactor", &cleos, &[], "", ends);
    scene.show("getSecondFactor", &cleos, &[], "", Value::Null);
    second_factor(scene, &cleos);
    scene.show("clearSecondFactorOf", &op, &[&cleo], "", Value::Null);
    let change = json!({"current": PASSWORD, "password": "a newer one of some length"});
    scene.show("changePassword", &cleos, &[], "", change);
    let cleos = scene.venue.client(&scene.cookie);
    scene.show("signOut", &cleos, &[], "", Value::Null);
    let newcomer = json!({"profileName": "eve", "password": PASSWORD});
    scene.show("signUp", &op, &[], "", newcomer);
    scene.show("fillAccount", &ann.client, &[], "", json!({}));
}

/// Turns a second factor on; returns a recovery code.
fn second_factor(scene: &mut Scene, by: &Client) -> String {
    let begun = scene.show("beginSecondFactor", by, &[], "", json!({"current": PASSWORD}));
    let code = first_code(begun["secret"].as_str().unwrap());
    let confirmed = scene.show("confirmSecondFactor", by, &[], "", json!({"code": code}));
    confirmed["recoveryCodes"][0].as_str().unwrap().to_owned()
}
