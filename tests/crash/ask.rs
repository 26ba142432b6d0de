//! A client's request in the load, and the command that its record must hold.

use exchange::catalogue::{Localized, MarketDraft, Outcome};
use exchange::command::{Command, Condition, PlaceOrder, SelfTradePrevention, Side, TimeInForce};
use exchange::fees::{FeeRate, Fees};
use exchange::ids::{MarketId, OrderId, OrderNo, UserId, UserNo};
use exchange::units::{Lots, Money, SettlementPrice, Tick, TimeMs};
use serde_json::{Map, Value, json};
use views::ReadModel;

use crate::wire::Reply;

/// The venue's first user.
const OPERATOR: UserNo = UserNo(0);

/// Picture address of the users and markets created.
pub const PICTURE: &str = "https://assets.example.org/crash.png";

/// A step in a market's life.
#[derive(Debug, Clone, Copy)]
pub enum Move {
    Publish,
    Suspend,
    Reopen,
    Close,
    Resolve(Outcome),
    Dispute,
    Void(SettlementPrice),
}

/// A request that a client can make.
#[derive(Debug, Clone)]
pub enum Want {
    Place(PlaceOrder, MarketId),
    Amend {
        user: UserNo,
        order: OrderId,
        price: Option<Tick>,
        quantity: Option<Lots>,
    },
    Cancel {
        user: UserNo,
        order: OrderId,
    },
    CancelAll {
        user: UserNo,
        market: Option<MarketId>,
    },
    Deposit {
        user: UserNo,
        id: UserId,
        amount: Money,
    },
    Withdraw {
        user: UserNo,
        id: UserId,
        amount: Money,
    },
    /// Withdraws fees to the operator's own account.
    TakeFees {
        amount: Money,
    },
    CreateUser {
        name: String,
    },
    CreateMarket {
        name: String,
        deadline: TimeMs,
        window_seconds: u32,
    },
    Run {
        market: MarketId,
        step: Move,
    },
    /// The command is filled in from the answer, which alone has the key.
    AddKey {
        id: UserId,
        command: Option<Box<Command>>,
    },
    /// Not a command: a read of an account, which must show the state of the sequence it names.
    Balance {
        user: UserNo,
    },
}

/// A request and its answer; `None` if no whole answer arrived.
#[derive(Debug, Clone)]
pub struct Asked {
    pub want: Want,
    pub reply: Option<Reply>,
}

impl Asked {
    /// Whether the answer was a success.
    pub fn done(&self) -> bool {
        self.reply.as_ref().is_some_and(|reply| reply.status < 300)
    }
}

fn same(text: &str) -> Value {
    json!({"pt": text, "en": text, "es": text})
}

fn localized(text: &str) -> Localized {
    Localized { pt: text.to_owned(), en: text.to_owned(), es: text.to_owned() }
}

fn moment(time: TimeMs) -> String {
    let time = chrono::DateTime::from_timestamp_millis(time.get()).unwrap();
    time.format("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}

const fn word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Yes => "yes",
        Outcome::No => "no",
    }
}

fn order_body(terms: &PlaceOrder, market: MarketId) -> Value {
    let mut body = Map::new();
    let mut say = |name: &str, value: Value| drop(body.insert(name.to_owned(), value));
    say("marketId", market.to_string().into());
    say("outcomeId", word(terms.wording.outcome).into());
    say("side", if terms.wording.side == Side::Buy { "BUY" } else { "SELL" }.into());
    say("orderType", "LIMIT".into());
    say("price", terms.price.to_string().into());
    say("quantity", terms.quantity.to_string().into());
    let force = match terms.time_in_force {
        TimeInForce::GoodTillCancelled { expires_at } => {
            if let Some(at) = expires_at {
                say("expiresAt", moment(at).into());
            }
            "GTC"
        }
        TimeInForce::ImmediateOrCancel => "IOC",
        TimeInForce::FillOrKill => "FOK",
    };
    say("timeInForce", force.into());
    let self_trade = match terms.self_trade {
        SelfTradePrevention::CancelTaker => "CANCEL_TAKER",
        SelfTradePrevention::CancelMaker => "CANCEL_MAKER",
        SelfTradePrevention::CancelBoth => "CANCEL_BOTH",
    };
    say("selfTradePrevention", self_trade.into());
    say("postOnly", (terms.condition == Condition::PostOnly).into());
    Value::Object(body)
}

fn market_body(name: &str, deadline: TimeMs, window_seconds: u32) -> Value {
    json!({"questions": same(name), "descriptions": same("d"), "logo": PICTURE,
           "outcomes": [{"id": "yes", "text": same("y")}, {"id": "no", "text": same("n")}],
           "deadline": moment(deadline), "disputeWindowSeconds": window_seconds,
           "takerFee": "0.07"})
}

fn market_draft(name: &str, deadline: TimeMs, window_seconds: u32) -> MarketDraft {
    MarketDraft {
        questions: localized(name),
        descriptions: localized("d"),
        yes_text: localized("y"),
        no_text: localized("n"),
        logo: PICTURE.to_owned(),
        dispute_window_seconds: window_seconds,
        fees: Fees { maker: FeeRate::default(), taker: FeeRate::new(700).unwrap() },
        ..MarketDraft::plain(deadline)
    }
}

impl Want {
    /// Method, path and body.
    pub fn request(&self) -> (&'static str, String, Option<Value>) {
        let post = |path: String, body| ("POST", path, Some(body));
        match self {
            Want::Place(terms, market) => {
                post("/trading/orders".to_owned(), order_body(terms, *market))
            }
            Want::Amend { order, price, quantity, .. } => {
                let mut body = Map::new();
                if let Some(price) = price {
                    body.insert("price".to_owned(), price.to_string().into());
                }
                if let Some(quantity) = quantity {
                    body.insert("quantity".to_owned(), quantity.to_string().into());
                }
                ("PATCH", format!("/trading/orders/{order}"), Some(Value::Object(body)))
            }
            Want::Cancel { order, .. } => ("DELETE", format!("/trading/orders/{order}"), None),
            Want::CancelAll { market: None, .. } => ("DELETE", "/trading/orders".to_owned(), None),
            Want::CancelAll { market: Some(market), .. } => {
                ("DELETE", format!("/trading/orders?marketId={market}"), None)
            }
            Want::Deposit { id, amount, .. } => {
                post(format!("/admin/users/{id}/deposits"), json!({"amount": amount.to_string()}))
            }
            Want::Withdraw { id, amount, .. } => post(
                format!("/admin/users/{id}/withdrawals"),
                json!({"amount": amount.to_string()}),
            ),
            Want::TakeFees { amount } => {
                post("/admin/fees/withdrawals".to_owned(), json!({"amount": amount.to_string()}))
            }
            Want::CreateUser { name } => {
                post("/admin/users".to_owned(), json!({"profileName": name, "profilePic": PICTURE}))
            }
            Want::CreateMarket { name, deadline, window_seconds } => {
                post("/admin/markets".to_owned(), market_body(name, *deadline, *window_seconds))
            }
            Want::Run { market, step } => {
                let (verb, body) = match step {
                    Move::Publish => ("publish", json!({})),
                    Move::Suspend => ("suspend", json!({})),
                    Move::Reopen => ("reopen", json!({})),
                    Move::Close => ("close", json!({})),
                    Move::Resolve(winner) => {
                        ("resolve", json!({"winningOutcomeId": word(*winner)}))
                    }
                    Move::Dispute => ("dispute", json!({})),
                    Move::Void(price) => ("void", json!({"price": price.to_string()})),
                };
                post(format!("/admin/markets/{market}/{verb}"), body)
            }
            Want::AddKey { id, .. } => {
                post(format!("/admin/users/{id}/keys"), json!({"role": "trader", "label": "key"}))
            }
            Want::Balance { .. } => ("GET", "/trading/balance".to_owned(), None),
        }
    }

    /// The command of the record that the request makes; `None` if it makes none, or names a market
    /// that does not exist.
    pub fn command(&self, model: &ReadModel) -> Option<Command> {
        let number = |order: &OrderId| OrderNo(order.sequence());
        Some(match self {
            Want::Place(terms, _) => Command::PlaceOrder(terms.clone()),
            Want::Amend { user, order, price, quantity } => Command::AmendOrder {
                user: *user,
                order: number(order),
                price: *price,
                quantity: *quantity,
                seen: None,
            },
            Want::Cancel { user, order } => {
                Command::CancelOrder { user: *user, order: number(order) }
            }
            Want::CancelAll { user, market } => {
                let market = match market {
                    Some(id) => Some(model.catalogue.market_no(*id)?),
                    None => None,
                };
                Command::CancelOrders { user: *user, market, group: None, key: None }
            }
            Want::Deposit { user, amount, .. } => Command::Deposit { user: *user, amount: *amount },
            Want::Withdraw { user, amount, .. } => {
                Command::Withdraw { user: *user, amount: *amount }
            }
            Want::TakeFees { amount } => Command::TakeFees { user: OPERATOR, amount: *amount },
            Want::CreateUser { name } => {
                let (profile_name, profile_pic) = (name.clone(), PICTURE.to_owned());
                Command::CreateUser { profile_name, profile_pic }
            }
            Want::CreateMarket { name, deadline, window_seconds } => {
                Command::CreateMarket(Box::new(market_draft(name, *deadline, *window_seconds)))
            }
            Want::Run { market, step } => {
                let market = model.catalogue.market_no(*market)?;
                match *step {
                    Move::Publish => Command::PublishMarket { market },
                    Move::Suspend => Command::SuspendMarket { market },
                    Move::Reopen => Command::ReopenMarket { market, deadline: None },
                    Move::Close => Command::CloseMarket { market },
                    Move::Resolve(winner) => Command::ResolveMarket { market, winner },
                    Move::Dispute => Command::DisputeMarket { market },
                    Move::Void(price) => Command::VoidMarket { market, price },
                }
            }
            Want::AddKey { command, .. } => return command.as_deref().cloned(),
            Want::Balance { .. } => return None,
        })
    }
}
