//! A venue in which every operation of the description can succeed, and the requests that do.

use std::sync::LazyLock;

use exchange::command::{
    Act, Command, KeyHash, KeyedCommand, Password, RecoveryCodes, Role, SecondFactor,
};
use exchange::ids::{Token, UserNo};
use exchange::units::{Money, TimeMs};
use http::keys::hash;
use http::passwords::Passwords;
use http::totp::{Secret, code_of};
use serde_json::{Value, json};

use super::client::{Answer, Client, bare};
use super::described::{Operation, text_of};
use super::shapes;
use super::venue::{FAR, Trader, Venue, order, with};

/// The ids that requests can use.
pub struct Scene {
    pub venue: Venue,
    pub ann: Trader,
    ben: String,
    /// A market with orders and a trade.
    pub market: String,
    /// Ann's order, partly filled, with the client order id `own`.
    pub order: String,
    /// Ann's post-only order.
    pub post_only: String,
    /// Ann's reduce-only order, backed by her contracts.
    pub reduce_only: String,
    /// An unused key of Ann's.
    pub key: String,
    /// An event with mutually exclusive markets.
    pub exclusive: String,
    /// Its markets: Ann holds no contracts of the first two.
    pub field: [String; 3],
    /// An event whose markets may all resolve yes; `market` is one of them.
    pub event: String,
    category: String,
    draft: String,
    suspended: String,
    closed: String,
    resolved: String,
    /// A market whose outcome is announced; Ann holds contracts of it.
    pub announced: String,
    /// A deposit that Ann asks for.
    pub transfer: String,
    /// A withdrawal that Ann proposes as an operator.
    proposal: String,
}

/// Has Ann propose something as an operator; the number of the proposal.
pub fn propose(venue: &Venue, command: Command) -> String {
    let above = Some(Money::ZERO);
    venue.ask(Command::SetTwoPersons { above });
    let act = Some(Box::new(Act::of(UserNo(1), None)));
    let number = venue.ask(KeyedCommand { once: None, act, command }).sequence();
    venue.ask(Command::SetTwoPersons { above: None });
    number.to_string()
}

/// The password of all who sign in, and what their browsers carry.
pub const PASSWORD: &str = "correct horse battery staple";
pub const ANN_S: &str = "ook_ann";
pub const BEN_S: &str = "ook_ben";
/// A recovery code of Ben's.
const RECOVERY: &str = "ook_recovery";
/// An invitation of Ann's.
const TICKET: &str = "ook_ticket";

/// The password as it is journaled: hashing takes a while.
static HASHED: LazyLock<Password> = LazyLock::new(|| {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(Passwords::default().hashed(PASSWORD.to_owned())).unwrap()
});

/// The code of now.
pub fn first_code(secret: &str) -> String {
    let secret = data_encoding::BASE32_NOPAD.decode(secret.as_bytes()).unwrap();
    let secret: Secret = secret.try_into().unwrap();
    format!("{:06}", code_of(&secret, engine::clock::now()).unwrap())
}

/// Lets Ann sign in, as `cleo`, and Ben, with a second factor.
fn sign_in(venue: &Venue) {
    let later = |hours: i64| TimeMs::new(engine::clock::now().get() + hours * 3_600_000).unwrap();
    let invite = |user, ticket: &str| {
        let (role, invitation, ends) = (Role::Trader, hash(ticket.as_bytes()), later(70));
        venue.ask(Command::Invite { user, role, invitation, ends });
        Some(invitation)
    };
    for (user, name, session) in [(UserNo(1), "cleo", ANN_S), (UserNo(2), "ben", BEN_S)] {
        let (invitation, name) = (invite(user, name), Token::new(name).unwrap());
        let password = *HASHED;
        let set = venue.ask(Command::SetPassword { user, invitation, name, password });
        let (password_set, session) = (set.time(), hash(session.as_bytes()));
        let (until, ends) = (later(12), later(24));
        venue.ask(Command::SignIn { user, password_set, session, until, ends });
    }
    let (user, password_salt) = (UserNo(2), HASHED.salt);
    let (salt, sealed, used) = (KeyHash([1; 32]), KeyHash([2; 32]), TimeMs::default());
    let recovery = RecoveryCodes::new(vec![hash(RECOVERY.as_bytes())]).unwrap();
    let factor = SecondFactor { salt, sealed, used, recovery };
    venue.ask(Command::SetSecondFactor { user, password_salt, factor });
    invite(UserNo(1), TICKET);
}

impl Scene {
    pub fn new() -> Scene {
        Scene::over(Venue::open())
    }

    pub fn over(venue: Venue) -> Scene {
        let (ann, ben) = (venue.trader("ann"), venue.trader("ben"));
        let category = venue.category("taken");
        let event = venue.event(&json!({"categoryIds": [category]}));
        let about = json!({"eventId": event, "disputeWindowSeconds": 3600});
        let [market, suspended, closed, resolved] = [(); 4].map(|()| venue.market_with(&about));
        let draft = venue.draft(&json!({}));
        venue.act(&suspended, "suspend", &json!({})).ok(&shapes::market_detail());
        venue.act(&closed, "close", &json!({})).ok(&shapes::market_detail());
        let winner = json!({"winningOutcomeId": "yes"});
        venue.act(&resolved, "resolve", &winner).ok(&shapes::market_detail());
        ben.place(&market, "SELL", "yes", "0.40", "4").ok(&shapes::placed());
        ben.place(&market, "SELL", "yes", "0.80", "4").ok(&shapes::placed());
        let placed = |side, price, quantity, more: &Value| {
            let body = with(order(&market, side, "yes", price, quantity), more);
            ann.order(&body).text("orderId")
        };
        let own = placed("BUY", "0.40", "10", &json!({"clientOrderId": "own"}));
        let post_only = placed("BUY", "0.05", "1", &json!({"postOnly": true}));
        let reduce_only = placed("SELL", "0.90", "2", &json!({"reduceOnly": true}));
        let key = ann.client.post("/account/keys", &json!({"scope": "read", "label": "spare"}));
        let key = key.text("keyId");
        let exclusive = venue.event(&json!({"mutuallyExclusive": true}));
        let about = json!({"eventId": exclusive});
        let field = [(); 3].map(|()| venue.market_with(&about));
        for market in &field[..2] {
            venue.trade(market, &ben, &ann, "0.40", "5");
        }
        sign_in(&venue);
        let costly = venue.market_with(&json!({"takerFee": "0.5"}));
        venue.trade(&costly, &ben, &ann, "0.50", "1");
        let announced = venue.market_with(&json!({"disputeWindowSeconds": 3600}));
        venue.trade(&announced, &ben, &ann, "0.50", "1");
        venue.act(&announced, "resolve", &winner).ok(&shapes::market_detail());
        let asked = ann.client.post("/account/deposits", &json!({"amount": "5.00"}));
        let transfer = asked.json["transfer"].to_string();
        let (user, amount) = (UserNo(1), Money::new(1_000_000));
        let proposal = propose(&venue, Command::Withdraw { user, amount });
        Scene {
            venue,
            ann,
            ben: ben.id,
            market,
            order: own,
            post_only,
            reduce_only,
            key,
            exclusive,
            field,
            category,
            event,
            draft,
            suspended,
            closed,
            resolved,
            announced,
            transfer,
            proposal,
        }
    }

    /// A request that succeeds here.
    pub fn request(&self, operation: &Operation) -> Request {
        let operators = operation.content["security"][0].get("operatorKey").is_some();
        let by = if operators { &self.venue.operator } else { &self.ann.client };
        let body = operation.content.pointer("/requestBody/content/application~1json/example");
        let body = body.map(|example| self.with_ids(example.clone()));
        let asked = request(operation, by, &|part| self.part(operation.id(), part), body);
        match operation.id() {
            "endSecondFactor" => {
                asked.without_key().by_browser(BEN_S).and_member("code", json!(RECOVERY))
            }
            "confirmSecondFactor" => {
                let code = self.first_code();
                asked.without_key().by_browser(ANN_S).and_member("code", json!(code))
            }
            "fileDispute" => asked.and_member("marketId", json!(self.announced)),
            _ if operation.is_for_people() => asked.without_key().by_browser(ANN_S),
            _ => asked,
        }
    }

    /// Begins a second factor of Ann's; its first code.
    fn first_code(&self) -> String {
        let begin = super::described::operation("beginSecondFactor");
        first_code(&self.request(&begin).send().text("secret"))
    }

    /// The value of a variable part of the path.
    fn part(&self, id: &str, part: &str) -> String {
        let market = match id {
            "publishMarket" => &self.draft,
            "reopenMarket" => &self.suspended,
            "resolveMarket" => &self.closed,
            "disputeMarket" => &self.resolved,
            _ => &self.market,
        };
        let found = match part {
            "marketId" => market,
            "eventId" if id == "convert" => &self.exclusive,
            "eventId" => &self.event,
            "categoryId" => &self.category,
            "orderId" => &self.order,
            "clientOrderId" => "own",
            "userId" if id == "clearSecondFactorOf" => &self.ben,
            "userId" => &self.ann.id,
            "keyId" => &self.key,
            "transfer" => &self.transfer,
            "proposal" => &self.proposal,
            other => panic!("no {other} is here"),
        };
        found.to_owned()
    }

    /// A described example with the ids of this scene put in.
    fn with_ids(&self, json: Value) -> Value {
        match json {
            Value::Object(members) => {
                let with_ids = |(name, value): (String, Value)| {
                    let value = match name.as_str() {
                        "marketId" | "eventId" | "orderId" => json!(self.part("", &name)),
                        "categoryIds" => json!([self.category]),
                        "marketIds" => json!(self.field[..2]),
                        "deadline" => json!(FAR),
                        "token" => json!(TICKET),
                        _ => self.with_ids(value),
                    };
                    (name, value)
                };
                members.into_iter().map(with_ids).collect()
            }
            Value::Array(elements) => {
                elements.into_iter().map(|element| self.with_ids(element)).collect()
            }
            other => other,
        }
    }
}

/// A request that can be changed before it is sent.
pub struct Request {
    client: Client,
    method: String,
    template: &'static str,
    parts: Vec<(String, String)>,
    query: Vec<String>,
    headers: Vec<(&'static str, String)>,
    body: Option<String>,
}

/// A request by this client with these values in its path and all required query parameters.
pub fn request(
    operation: &Operation,
    by: &Client,
    part: &dyn Fn(&str) -> String,
    body: Option<Value>,
) -> Request {
    let name = |parameter: &Value| parameter["name"].as_str().unwrap().to_owned();
    let parts = operation.parameters().filter(|p| p["in"] == "path").map(name);
    let parts = parts.map(|name| (name.clone(), part(&name))).collect();
    let required = operation.parameters().filter(|p| p["in"] == "query" && p["required"] == true);
    let query = required.map(|p| format!("{}={}", name(p), text_of(&p["example"])));
    Request {
        client: by.clone(),
        method: operation.method.clone(),
        template: operation.path,
        parts,
        query: query.collect(),
        headers: vec![("x-api-key", by.key.clone())],
        body: body.map(|body| body.to_string()),
    }
}

impl Request {
    pub fn by(mut self, client: &Client) -> Request {
        self = self.without_key();
        self.headers.push(("x-api-key", client.key.clone()));
        self
    }

    pub fn without_key(mut self) -> Request {
        self.headers.retain(|(name, _)| !matches!(*name, "x-api-key" | "cookie"));
        self
    }

    /// From a page of the venue's, in which somebody may have signed in.
    pub fn by_browser(mut self, session: &str) -> Request {
        self.headers.push(("cookie", format!("openoutcry_session={session}")));
        self.with_header("origin", "http://x").with_header("x-requested-by", "openoutcry")
    }

    /// From a page of another site's.
    pub fn forged(mut self) -> Request {
        self.headers.retain(|(name, _)| *name != "origin");
        let own = self.without_key().by_browser(ANN_S);
        own.with_origin("http://evil.example")
    }

    fn with_origin(mut self, origin: &str) -> Request {
        self.headers.retain(|(name, _)| *name != "origin");
        self.with_header("origin", origin)
    }

    pub fn with_header(mut self, name: &'static str, value: &str) -> Request {
        self.headers.push((name, value.to_owned()));
        self
    }

    pub fn with_part(mut self, name: &str, value: &str) -> Request {
        for (_, part) in self.parts.iter_mut().filter(|(other, _)| other == name) {
            value.clone_into(part);
        }
        self
    }

    /// With the path's variable parts left empty.
    pub fn without_parts(mut self) -> Request {
        self.parts.iter_mut().for_each(|(_, part)| part.clear());
        self
    }

    pub fn and_query(mut self, pair: &str) -> Request {
        self.query.push(pair.to_owned());
        self
    }

    pub fn with_body(mut self, body: &str) -> Request {
        self.body = Some(body.to_owned());
        self
    }

    pub fn without_body(mut self) -> Request {
        self.body = None;
        self
    }

    /// With this member in its body; null removes it.
    pub fn and_member(mut self, name: &str, value: Value) -> Request {
        let mut body: Value = serde_json::from_str(&self.body.unwrap()).unwrap();
        body[name] = value;
        if body[name].is_null() {
            body.as_object_mut().unwrap().remove(name);
        }
        self.body = Some(body.to_string());
        self
    }

    pub fn target(&self) -> String {
        let mut path = self.template.to_owned();
        for (name, value) in &self.parts {
            path = path.replace(&format!("{{{name}}}"), value);
        }
        if self.query.is_empty() { path } else { format!("{path}?{}", self.query.join("&")) }
    }

    pub fn send(&self) -> Answer {
        let headers: Vec<(&str, &str)> =
            self.headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let body = self.body.as_ref().map(String::as_bytes);
        bare(self.client.address, &self.method, &self.target(), &headers, body)
    }
}
