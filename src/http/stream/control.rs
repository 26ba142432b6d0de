//! What a client sends over a WebSocket: read in one pass, and once more for the list of all that
//! is wrong with it.

use bytes::Bytes;
use serde::Deserialize as _;
use serde::de::Deserializer;
use serde_json::value::RawValue;

use super::listening::CHANNELS_MAX;
use crate::json::Json;
use crate::members::{Faults, Given, bodies, elements, integer};
use crate::parse::{Fault, Written};
use crate::problem::{FieldCode, Problem};
use exchange::ids::{EventId, Group, KeyId, MarketId, OrderId, Token};
use exchange::units::Sequence;

/// Longest name of a channel that is read.
const CHANNEL_BYTES_MAX: usize = 128;

/// What a message asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Op {
    /// To listen.
    Subscribe,
    /// To listen no longer.
    Unsubscribe,
    /// To be let in.
    Authenticate,
    /// A sign of life.
    Ping,
    /// A command.
    Order(OrderOp),
}

/// What a command does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OrderOp {
    /// Places an order.
    Place,
    /// Cancels one.
    Cancel,
    /// Amends one.
    Amend,
    /// Does several.
    Batch,
    /// Cancels all.
    CancelAll,
    /// Renews the dead man's switch.
    Heartbeat,
    /// Converts contracts.
    Convert,
}

impl Written for Op {
    fn read(text: &str) -> Result<Op, Fault> {
        Ok(match text {
            "subscribe" => Op::Subscribe,
            "unsubscribe" => Op::Unsubscribe,
            "authenticate" => Op::Authenticate,
            "ping" => Op::Ping,
            "place" => Op::Order(OrderOp::Place),
            "cancel" => Op::Order(OrderOp::Cancel),
            "amend" => Op::Order(OrderOp::Amend),
            "batch" => Op::Order(OrderOp::Batch),
            "cancelAll" => Op::Order(OrderOp::CancelAll),
            "heartbeat" => Op::Order(OrderOp::Heartbeat),
            "convert" => Op::Order(OrderOp::Convert),
            _ => {
                return Err(Fault::invalid(
                    "must be subscribe, unsubscribe, authenticate, ping, place, cancel, amend, \
                     batch, cancelAll, heartbeat or convert",
                ));
            }
        })
    }
}

/// A body as it was written.
#[derive(Debug, Clone, PartialEq, Default)]
struct Raw(Bytes);

impl Given for Raw {
    fn plain<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Raw, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        Ok(Raw(Bytes::from(String::from(Box::<str>::from(raw)))))
    }

    fn noted(_: Json, _: &str, _: &mut Faults) -> Option<Raw> {
        // Whoever reads the body says what is wrong in it.
        Some(Raw::default())
    }
}

/// The number of a record.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Record(Sequence);

impl Given for Record {
    fn noted(json: Json, at: &str, faults: &mut Faults) -> Option<Record> {
        integer(&json, at, faults).map(|number| Record(Sequence::new(number)))
    }
}

/// Names of channels.
#[derive(Debug, Clone, PartialEq)]
struct Names(Vec<String>);

impl Given for Names {
    fn noted(json: Json, at: &str, faults: &mut Faults) -> Option<Names> {
        let elements = elements(json, at, (1, CHANNELS_MAX), faults)?;
        let (count, mut names) = (elements.len(), Vec::new());
        for (index, element) in elements.into_iter().enumerate() {
            match element {
                Json::Text(name) if names.contains(&name) => {
                    let fault = Fault::new(FieldCode::Repeated, "is named twice");
                    faults.note(&format!("{at}[{index}]"), fault);
                }
                Json::Text(name) if name.len() <= CHANNEL_BYTES_MAX => names.push(name),
                Json::Text(_) => {
                    let fault = Fault::new(FieldCode::OutOfBounds, "is longer than any channel");
                    faults.note(&format!("{at}[{index}]"), fault);
                }
                _ => faults.wrong_type(&format!("{at}[{index}]"), "must be a string"),
            }
        }
        (names.len() == count).then_some(Names(names))
    }
}

/// A text that is compared, or read elsewhere.
#[derive(Debug, Clone, PartialEq)]
struct Plain(String);

impl Written for Plain {
    fn read(text: &str) -> Result<Plain, Fault> {
        Ok(Plain(text.to_owned()))
    }
}

bodies! {
    /// A message. Which members it may have depends on what it asks for.
    struct ClientMessage {
        required { "op" => op: Op, "id" => id: Token }
        optional {
            "channels" => channels: Names,
            "from" => from: Record,
            "key" => key: Plain,
            "cancelOnDisconnect" => cancel_on_disconnect: bool,
            "body" => body: Raw,
            "orderId" => order: OrderId,
            "clientOrderId" => name: Box<Token>,
            "eventId" => event: EventId,
            "marketId" => market: MarketId,
            "group" => group: Group,
            "keyId" => key_id: KeyId,
            "dryRun" => dry_run: bool,
            "idempotencyKey" => once: Box<Token>,
            "ifMatch" => if_match: Plain,
        }
    }
}

/// What a client asks for.
#[derive(Debug, PartialEq)]
pub enum Asked {
    /// To listen to channels, from a record on or from now.
    Subscribe(Vec<String>, Option<Sequence>),
    /// To listen to channels no longer.
    Unsubscribe(Vec<String>),
    /// To be let in with a key, and whether the orders placed on the connection end with it.
    Authenticate(Option<String>, bool),
    /// A sign of life.
    Ping,
    /// A command.
    Order(Box<Order>),
}

/// A command: what it is about stands beside its body, as it stands in the path, the query and the
/// headers of HTTP.
#[derive(Debug, PartialEq)]
pub struct Order {
    /// What it does.
    pub op: OrderOp,
    /// The order that is amended or cancelled.
    pub order: Option<OrderId>,
    /// The same by its client's name.
    pub name: Option<Box<Token>>,
    /// The event of a conversion.
    pub event: Option<EventId>,
    /// The market whose orders are cancelled.
    pub market: Option<MarketId>,
    /// The group whose orders are cancelled.
    pub group: Option<Group>,
    /// The key with which the orders were sent that are cancelled.
    pub key_id: Option<KeyId>,
    /// Whether nothing is to happen.
    pub dry_run: Option<bool>,
    /// The idempotency key.
    pub once: Option<Box<Token>>,
    /// The tag of what is amended.
    pub if_match: Option<String>,
    /// The body; empty where there is none.
    pub body: Bytes,
}

/// Reads a message: its id, as far as it has one, and what it asks for.
///
/// # Errors
/// Everything that is bad in it.
pub fn read(text: &str) -> (Option<Token>, Result<Asked, Problem>) {
    let mut json = serde_json::Deserializer::from_str(text);
    if let Ok(message) = ClientMessage::plain(&mut json)
        && json.end().is_ok()
    {
        return (Some(message.id), message.sorted());
    }
    let mut faults = Faults::default();
    let mut id = None;
    match serde_json::from_str::<Json>(text) {
        Ok(json) => {
            id = id_of(&json);
            ClientMessage::noted(json, "", &mut faults);
        }
        Err(error) => {
            let detail = format!("is not JSON: {error}");
            faults.note("message", Fault::new(FieldCode::Malformed, detail));
        }
    }
    (id, Err(Problem::invalid(faults.into_errors())))
}

/// The id of a message that is otherwise bad.
fn id_of(json: &Json) -> Option<Token> {
    let Json::Object(members) = json else { return None };
    let id = members.iter().find(|(name, _)| name == "id").map(|(_, value)| value);
    match id {
        Some(Json::Text(text)) => Token::new(text),
        _ => None,
    }
}

impl ClientMessage {
    /// By what it asks for; members that it may not have are refused, and those that it lacks.
    fn sorted(self) -> Result<Asked, Problem> {
        let given = [
            ("channels", self.channels.is_some()),
            ("from", self.from.is_some()),
            ("key", self.key.is_some()),
            ("cancelOnDisconnect", self.cancel_on_disconnect.is_some()),
            ("body", self.body.is_some()),
            ("orderId", self.order.is_some()),
            ("clientOrderId", self.name.is_some()),
            ("eventId", self.event.is_some()),
            ("marketId", self.market.is_some()),
            ("group", self.group.is_some()),
            ("keyId", self.key_id.is_some()),
            ("dryRun", self.dry_run.is_some()),
            ("idempotencyKey", self.once.is_some()),
            ("ifMatch", self.if_match.is_some()),
        ];
        let (needs, takes) = self.op.members();
        let mut faults = Faults::default();
        for (name, is_given) in given {
            if is_given && !needs.contains(&name) && !takes.contains(&name) {
                let fault = Fault::new(FieldCode::UnknownField, "is not a field of this operation");
                faults.note(name, fault);
            }
            if !is_given && needs.contains(&name) {
                faults.note(name, Fault::new(FieldCode::Required, "is missing"));
            }
        }
        if self.op == Op::Order(OrderOp::Cancel) && self.order.is_some() == self.name.is_some() {
            faults.note("message", Fault::invalid("must have either orderId or clientOrderId"));
        }
        if !faults.is_empty() {
            return Err(Problem::invalid(faults.into_errors()));
        }
        let channels = self.channels.map_or_else(Vec::new, |Names(names)| names);
        Ok(match self.op {
            Op::Subscribe => Asked::Subscribe(channels, self.from.map(|Record(from)| from)),
            Op::Unsubscribe => Asked::Unsubscribe(channels),
            Op::Authenticate => {
                let key = self.key.map(|Plain(key)| key);
                Asked::Authenticate(key, self.cancel_on_disconnect.unwrap_or(false))
            }
            Op::Ping => Asked::Ping,
            Op::Order(op) => Asked::Order(Box::new(Order {
                op,
                order: self.order,
                name: self.name,
                event: self.event,
                market: self.market,
                group: self.group,
                key_id: self.key_id,
                dry_run: self.dry_run,
                once: self.once,
                if_match: self.if_match.map(|Plain(tag)| tag),
                body: self.body.map_or_else(Bytes::new, |Raw(body)| body),
            })),
        })
    }
}

impl Op {
    /// The members that it needs, and those that it may have.
    const fn members(self) -> (&'static [&'static str], &'static [&'static str]) {
        match self {
            Op::Subscribe => (&["channels"], &["from"]),
            Op::Unsubscribe => (&["channels"], &[]),
            Op::Authenticate => (&[], &["key", "cancelOnDisconnect"]),
            Op::Ping => (&[], &[]),
            Op::Order(OrderOp::Place | OrderOp::Batch) => {
                (&["body"], &["dryRun", "idempotencyKey"])
            }
            Op::Order(OrderOp::Cancel) => (&[], &["orderId", "clientOrderId"]),
            Op::Order(OrderOp::Amend) => (&["orderId", "body"], &["dryRun", "ifMatch"]),
            Op::Order(OrderOp::CancelAll) => (&[], &["marketId", "group", "keyId"]),
            Op::Order(OrderOp::Heartbeat) => (&["body"], &["idempotencyKey"]),
            Op::Order(OrderOp::Convert) => (&["eventId", "body"], &["idempotencyKey"]),
        }
    }
}

#[cfg(test)]
#[path = "../../../tests/unit/http/stream/control.rs"]
mod tests;
