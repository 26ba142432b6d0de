//! A venue behind a real socket, with an operator and helpers to set up scenes.

use std::net::SocketAddr;
use std::sync::Arc;

use chrono::DateTime;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use engine::clock;
use engine::history::HistoryStore;
use engine::meter::{Gauges, Meter};
use engine::start::{Options, Running, Storage, start};
use exchange::command::{Command, KeyedCommand, Role};
use exchange::effect::Effect;
use exchange::ids::UserNo;
use exchange::rules::Rules;
use exchange::units::Money;
use http::identity::OpenId;
use http::keys::ApiKey;
use http::past::{Past, Questions};
use http::rates::Rates;
use http::site::{SignUp, Site};
use http::{Limits, serve, serve_site};
use journal::Journal;
use journal::memory::MemoryJournal;

use super::client::{Answer, Client};
use super::openid::Friendly;
use super::shapes;

/// A well-formed id that names nothing.
pub const NOBODY: &str = "0192f0c1-2b3c-7d4e-8f50-617283940516";
/// A time far in the future.
pub const FAR: &str = "2999-01-01T00:00:00.000Z";
pub const PICTURE: &str = "https://assets.example.org/p.png";

/// Everybody may sign up, and has 1,000.00 of play money. A dispute takes a bond of 5.00.
fn site() -> Site {
    let faucet = Some(Money::new(100_000_000_000));
    let public_url = Some("http://x".to_owned());
    let openid = OpenId::of(Arc::new(Friendly)).ok();
    let dispute_bond = Some(Money::new(500_000_000));
    Site { public_url, sign_up: SignUp::Open, faucet, openid, dispute_bond, ..Site::default() }
}

/// A venue, served until dropped.
pub struct Venue {
    pub operator: Client,
    runtime: Runtime,
    questions: Arc<Questions>,
    served: Option<(oneshot::Sender<()>, JoinHandle<std::io::Result<()>>, Running)>,
}

/// A server whose venue is not open yet, until dropped.
pub struct Opening {
    pub address: SocketAddr,
    pub meter: Arc<Meter>,
    venue: http::venue::Venue,
    _runtime: Runtime,
}

impl Opening {
    pub fn serve() -> Opening {
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        let meter = Arc::new(Meter::default());
        let venue = http::venue::Venue::opening(Arc::clone(&meter));
        runtime.spawn(serve(listener, venue.clone(), Limits::STANDARD, std::future::pending()));
        Opening { address, meter, venue, _runtime: runtime }
    }

    /// Opens the venue on an empty journal.
    pub fn open(&self) -> Running {
        let running = start(MemoryJournal::new(), Options::default()).unwrap();
        self.venue.open(running.engine());
        running
    }
}

/// A user with a key.
pub struct Trader {
    pub id: String,
    pub client: Client,
}

impl Venue {
    pub fn open() -> Venue {
        Venue::over(MemoryJournal::new())
    }

    /// A new venue on this empty journal.
    pub fn over(journal: impl Journal + 'static) -> Venue {
        Venue::within(journal, Limits::STANDARD)
    }

    /// A venue with these rate limits for traders.
    pub fn with_rates(rates: Rates) -> Venue {
        Venue::limited(Limits { rates, ..Limits::STANDARD })
    }

    /// A venue whose server has these limits.
    pub fn limited(limits: Limits) -> Venue {
        Venue::within(MemoryJournal::new(), limits)
    }

    /// A venue where nobody signs up who is not invited, and only operators dispute.
    pub fn by_invitation() -> Venue {
        let running = start(MemoryJournal::new(), Options::default()).unwrap();
        let site = Site { sign_up: SignUp::Invite, dispute_bond: None, ..site() };
        Venue::opened(running, Limits::STANDARD, Rules::current(), site)
    }

    /// A venue with these rules.
    pub fn with_rules(rules: Rules) -> Venue {
        Venue::ruled(MemoryJournal::new(), Limits::STANDARD, rules)
    }

    fn within(journal: impl Journal + 'static, limits: Limits) -> Venue {
        Venue::ruled(journal, limits, Rules::current())
    }

    /// A venue with its history there; the journal is empty, or is that of a venue whose operator
    /// has this key.
    pub fn with_history(
        journal: impl Journal + 'static,
        history: HistoryStore,
        key: Option<&str>,
    ) -> Venue {
        let running = start(
            journal,
            Options { storage: Some(Storage { history, snapshots: None }), ..Options::default() },
        )
        .unwrap();
        match key {
            Some(key) => {
                let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build();
                Venue::serving(running, runtime.unwrap(), key, Limits::STANDARD, site())
            }
            None => Venue::opened(running, Limits::STANDARD, Rules::current(), site()),
        }
    }

    fn ruled(journal: impl Journal + 'static, limits: Limits, rules: Rules) -> Venue {
        Venue::opened(start(journal, Options::default()).unwrap(), limits, rules, site())
    }

    fn opened(running: Running, limits: Limits, rules: Rules, site: Site) -> Venue {
        let engine = running.engine();
        let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let key = ApiKey::draw().unwrap();
        let (role, label, hash) = (Role::Operator, "first".to_owned(), key.hash());
        let (profile_name, profile_pic) = ("op".to_owned(), PICTURE.to_owned());
        for command in [
            Command::OpenVenue(rules),
            Command::CreateUser { profile_name, profile_pic },
            Command::AddKey { user: UserNo(0), role, label, hash, ends: None },
        ] {
            let answer = engine.ask(command).unwrap();
            assert!(!matches!(answer.effects(), [Effect::Refused(_)]));
        }
        Venue::serving(running, runtime, key.reveal(), limits, site)
    }

    /// The venue of this journal, with the operator who has this key.
    pub fn resumed(journal: impl Journal + 'static, key: &str) -> Venue {
        let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let running = start(journal, Options::default()).unwrap();
        Venue::serving(running, runtime, key, Limits::STANDARD, site())
    }

    fn serving(running: Running, runtime: Runtime, key: &str, limits: Limits, site: Site) -> Venue {
        let engine = running.engine();
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        let venue = http::venue::Venue::from(engine);
        let questions = Arc::clone(venue.questions());
        let serving = serve_site(listener, venue, limits, site, async { drop(stopped.await) });
        let ended = runtime.spawn(serving);
        let operator = Client { address, key: key.to_owned() };
        Venue { operator, runtime, questions, served: Some((stop, ended, running)) }
    }

    /// What answers questions about the past.
    pub fn past(&self) -> Past {
        let (.., running) = self.served.as_ref().unwrap();
        Past::new(Arc::clone(running.engine().past()), Arc::clone(&self.questions))
    }

    /// Stops the venue in order; returns whether it had halted before.
    pub fn close(&mut self) -> bool {
        let (stop, ended, running) = self.served.take().unwrap();
        stop.send(()).unwrap();
        self.runtime.block_on(ended).unwrap().unwrap();
        running.stop().unwrap().halted.is_some()
    }

    /// Stops the engine while the server goes on, for as long as the returned value is kept.
    pub fn stop_engine(&mut self) -> impl Sized + use<> {
        let (stop, ended, running) = self.served.take().unwrap();
        running.stop().unwrap();
        (stop, ended)
    }

    /// Gives access to the gauges that the process adds to the engine's.
    pub fn gauges(&self, look: impl FnOnce(&Gauges)) {
        let (_, _, running) = self.served.as_ref().unwrap();
        look(&running.engine().meter().gauges);
    }

    /// Executes a command.
    pub fn ask(&self, command: impl Into<KeyedCommand>) -> engine::pending::Answer {
        let (_, _, running) = self.served.as_ref().unwrap();
        let answer = running.engine().ask(command).unwrap();
        assert!(!matches!(answer.effects(), [Effect::Refused(_)]), "{answer:?}");
        answer
    }

    pub fn client(&self, key: &str) -> Client {
        Client { address: self.operator.address, key: key.to_owned() }
    }

    /// A client with a new key of a user's.
    pub fn key_of(&self, user: &str, key: &Value) -> Client {
        self.client(&self.operator.post(&format!("/admin/users/{user}/keys"), key).text("key"))
    }

    /// A trader with this much money.
    pub fn trader_with(&self, name: &str, amount: &str) -> Trader {
        let user = json!({"profileName": name, "profilePic": PICTURE});
        let id = self.operator.post("/admin/users", &user).text("id");
        let key = json!({"role": "trader", "label": "first"});
        let key = self.operator.post(&format!("/admin/users/{id}/keys"), &key).text("key");
        let deposits = format!("/admin/users/{id}/deposits");
        self.operator.post(&deposits, &json!({"amount": amount})).ok(&shapes::balance());
        Trader { id, client: self.client(&key) }
    }

    /// A trader with 100.00.
    pub fn trader(&self, name: &str) -> Trader {
        self.trader_with(name, "100")
    }

    pub fn category(&self, slug: &str) -> String {
        let body = json!({"name": slug, "slug": slug});
        self.operator.post("/admin/categories", &body).text("id")
    }

    /// An event with these members besides the required ones.
    pub fn event(&self, more: &Value) -> String {
        self.operator.post("/admin/events", &with(event_body(), more)).text("id")
    }

    /// A draft with these members besides the required ones.
    pub fn draft(&self, more: &Value) -> String {
        self.operator.post("/admin/markets", &with(market_body(), more)).text("id")
    }

    /// A published market.
    pub fn market_with(&self, more: &Value) -> String {
        let id = self.draft(more);
        self.act(&id, "publish", &json!({})).ok(&shapes::market_detail());
        id
    }

    pub fn market(&self) -> String {
        self.market_with(&json!({}))
    }

    /// Applies an action to a market.
    pub fn act(&self, market: &str, action: &str, body: &Value) -> Answer {
        self.operator.post(&format!("/admin/markets/{market}/{action}"), body)
    }

    pub fn settle(&self, market: &str, winner: &str) {
        let settled = self.act(market, "resolve", &json!({"winningOutcomeId": winner}));
        assert_eq!(settled.json["status"], "SETTLED", "{settled:?}");
    }

    /// A trade of `quantity` contracts: `up` gets yes at `price`, `down` gets no.
    pub fn trade(&self, market: &str, up: &Trader, down: &Trader, price: &str, quantity: &str) {
        up.place(market, "BUY", "yes", price, quantity).ok(&shapes::placed());
        let filled = down.place(market, "SELL", "yes", price, quantity).ok(&shapes::placed());
        assert_eq!(filled["status"], "FILLED", "{filled}");
    }
}

impl Drop for Venue {
    fn drop(&mut self) {
        if self.served.is_some() && !std::thread::panicking() {
            assert!(!self.close(), "the engine halted");
        }
    }
}

impl Trader {
    pub fn get(&self, path: &str) -> Answer {
        self.client.get(path)
    }

    pub fn place(
        &self,
        market: &str,
        side: &str,
        outcome: &str,
        price: &str,
        quantity: &str,
    ) -> Answer {
        self.order(&order(market, side, outcome, price, quantity))
    }

    pub fn order(&self, body: &Value) -> Answer {
        self.client.post("/trading/orders", body)
    }

    /// `available` and `reserved`.
    pub fn balance(&self) -> (String, String) {
        let balance = self.get("/trading/balance");
        balance.ok(&shapes::balance());
        (balance.text("available"), balance.text("reserved"))
    }
}

pub fn order(market: &str, side: &str, outcome: &str, price: &str, quantity: &str) -> Value {
    json!({"marketId": market, "outcomeId": outcome, "side": side, "orderType": "LIMIT",
        "price": price, "quantity": quantity})
}

/// A JSON object with the members of another merged in.
pub fn with(mut json: Value, more: &Value) -> Value {
    for (name, value) in more.as_object().unwrap() {
        json[name] = value.clone();
    }
    json
}

/// A JSON object without a member.
pub fn without(mut json: Value, member: &str) -> Value {
    json.as_object_mut().unwrap().remove(member).unwrap();
    json
}

/// The moment so many milliseconds from now.
pub fn soon(milliseconds: i64) -> String {
    let moment = DateTime::from_timestamp_millis(clock::now().get() + milliseconds);
    moment.unwrap().to_rfc3339()
}

/// A text in three languages.
pub fn texts(text: &str) -> Value {
    json!({"pt": format!("{text} pt"), "en": format!("{text} en"), "es": format!("{text} es")})
}

pub fn market_body() -> Value {
    json!({
        "questions": texts("question"), "descriptions": texts("rules"), "logo": PICTURE,
        "outcomes": [{"id": "yes", "text": texts("it will")}, {"id": "no", "text": texts("not")}],
        "deadline": FAR,
    })
}

pub fn event_body() -> Value {
    json!({"titles": texts("title"), "subTitles": texts("second"), "descriptions": texts("long"),
        "images": [PICTURE]})
}

/// The ids of the rows in a list.
pub fn ids(things: &Value) -> Vec<&str> {
    things.as_array().unwrap().iter().map(|thing| thing["id"].as_str().unwrap()).collect()
}
