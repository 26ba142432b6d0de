//! The JSON of the journal: its records in the terms of the interface, and its head. A record's
//! members follow from the fields of its command: numbers become public ids, and names get the
//! spelling of the interface.

mod orders;

use std::borrow::Cow;

use data_encoding::HEXLOWER;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

pub use self::orders::OrdersNamed;
use super::{Text, Timestamp};
use exchange::command::{Act, Command, Record};
use exchange::ids::{CategoryId, EventId, KeyId, MarketId, OrderNo, UserId, UserNo};
use exchange::results::{ResultsHash, StateDigest};
use exchange::table::{Shown, Value};
use exchange::units::{Sequence, TimeMs};
use views::ReadModel;
use views::verdicts::Came;

/// The journal's head and the hashes that authenticate everything up to it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AuditHeadJson {
    /// The last record.
    pub sequence: u64,
    /// Its time.
    pub time: Timestamp,
    /// Chain hash of the block that ends with it; covers all blocks before.
    pub chain_hash: String,
    /// Hash of the results of all records up to it.
    pub results_hash: Text<ResultsHash>,
    /// Digest of the state after it.
    pub state_digest: Text<StateDigest>,
}

/// A page of the journal.
#[derive(Debug, Serialize)]
pub struct JournalJson<R> {
    /// The first sequence number requested.
    pub from: u64,
    /// Most records on a page.
    pub limit: u64,
    /// First sequence number of the next page; `null` at the journal's end.
    pub next: Option<u64>,
    /// In order.
    pub records: Vec<R>,
}

/// Fields with another name in the interface than in the table of commands.
const RENAMED: [(&str, &str); 14] = [
    ("categories", "category_ids"),
    ("copy_from", "copy_from_trader_id"),
    ("event", "event_id"),
    ("hash", "key_hash"),
    ("key", "key_id"),
    ("market", "market_id"),
    ("markets", "market_ids"),
    ("operator", "operator_id"),
    ("order", "order_id"),
    ("outcome", "outcome_id"),
    ("replaced", "replaced_order_id"),
    ("self_trade", "self_trade_prevention"),
    ("user", "user_id"),
    ("winner", "winning_outcome_id"),
];

/// Fields that are not told: who reads the journal need not be able to try passwords and codes.
const UNSAID: [&str; 9] = [
    "salt",
    "hashed",
    "password_salt",
    "password_before",
    "factor_before",
    "factor_salt",
    "sealed",
    "recovery",
    "recovery_code",
];

/// Members that come before all others, and those that come after, in this order.
const FIRST: [&str; 6] = ["orderId", "userId", "keyId", "marketId", "eventId", "categoryId"];
const LAST: [&str; 5] =
    ["categoryIds", "disputeWindowSeconds", "makerFee", "takerFee", "mutuallyExclusive"];

/// A record. An id is `null` for an object that a refused command would have created, and for one
/// that the command names but that does not exist.
#[derive(Debug)]
pub struct RecordJson<'a>(Vec<Member<'a>>);

/// A member's name and value.
type Member<'a> = (Cow<'static, str>, Json<'a>);

/// A value.
#[derive(Debug)]
enum Json<'a> {
    Null,
    Flag(bool),
    Number(u64),
    Text(Cow<'a, str>),
    Time(Timestamp),
    List(Vec<Json<'a>>),
    Members(Vec<Member<'a>>),
}

impl<'a> RecordJson<'a> {
    /// The record, with the ids of what it names, and what became of it. Texts are borrowed.
    pub fn of(
        view: &ReadModel,
        orders: &OrdersNamed,
        record: &'a Record,
        came: Option<Came>,
    ) -> RecordJson<'a> {
        let Record { sequence, time, once, act, command } = record;
        let kinds = Command::KINDS.iter().find(|(number, _)| *number == command.number());
        let kind = kinds.map_or(String::new(), |(_, name)| name.to_ascii_uppercase());
        let reading = Reading { view, orders, record };
        let mut members = vec![
            (Cow::Borrowed("sequence"), Json::Number(sequence.get())),
            ("time".into(), Json::Time(Timestamp(*time))),
            ("kind".into(), Json::Text(kind.into())),
            ("result".into(), Json::Text(came.map_or("ACCEPTED", Came::word).into())),
        ];
        members.extend(reading.members());
        if let Some(once) = once {
            let key = vec![
                ("callerId".into(), reading.json(Value::User(once.caller))),
                ("key".into(), Json::Text(once.key.as_str().into())),
                ("part".into(), Json::Number(once.part.into())),
            ];
            members.push(("idempotencyKey".into(), Json::Members(key)));
        }
        members.extend(act.as_deref().map(|act| ("act".into(), reading.act(act))));
        RecordJson(members)
    }
}

impl Serialize for RecordJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        members(&self.0, serializer)
    }
}

impl Serialize for Json<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Json::Null => serializer.serialize_none(),
            Json::Flag(flag) => flag.serialize(serializer),
            Json::Number(number) => number.serialize(serializer),
            Json::Text(text) => text.serialize(serializer),
            Json::Time(time) => time.serialize(serializer),
            Json::List(list) => list.serialize(serializer),
            Json::Members(all) => members(all, serializer),
        }
    }
}

fn members<S: Serializer>(all: &[Member<'_>], serializer: S) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(Some(all.len()))?;
    for (name, value) in all {
        map.serialize_entry(name, value)?;
    }
    map.end()
}

/// A record and what is needed to look up ids.
struct Reading<'v, 'a> {
    view: &'v ReadModel,
    orders: &'v OrdersNamed,
    record: &'a Record,
}

impl<'a> Reading<'_, 'a> {
    /// The command's members.
    fn members(&self) -> Vec<Member<'a>> {
        let command = &self.record.command;
        // What a revision leaves as it is is left out.
        let revises = matches!(command, Command::ReviseEvent { .. } | Command::ReviseMarket { .. });
        let mut members: Vec<Member<'a>> = self.made().into_iter().collect();
        let mut outcomes = Vec::new();
        for (name, value) in command.fields() {
            match (name, value) {
                ("seen" | "group" | "key" | "slug" | "ends", Value::None) => {}
                (name, _) if UNSAID.contains(&name) => {}
                (_, Value::None) if revises => {}
                ("yes_text" | "no_text", texts) => {
                    let id = if name == "yes_text" { "yes" } else { "no" };
                    let (id, text) = (Json::Text(id.into()), self.json(texts));
                    let outcome = vec![("id".into(), id), ("text".into(), text)];
                    if outcomes.is_empty() {
                        members.push(("outcomes".into(), Json::Null));
                    }
                    outcomes.push(Json::Members(outcome));
                }
                field => members.push(self.member(field)),
            }
        }
        if let Some((_, place)) = members.iter_mut().find(|(name, _)| name == "outcomes") {
            *place = Json::List(outcomes);
        }
        members.sort_by_key(|(name, _)| rank(name));
        members
    }

    /// An operator's act: who asked, and what was said beside.
    fn act(&self, act: &'a Act) -> Json<'a> {
        let Act { actor, key, reason, reference, evidence, evidence_hash } = act;
        let text = |text: &'a str| Json::Text(text.into());
        let key = key.map_or(Json::Null, |key| self.json(Value::Key(key)));
        let mut members =
            vec![("userId".into(), self.json(Value::User(*actor))), ("keyId".into(), key)];
        let reference = reference.as_ref().map(exchange::ids::Token::as_str);
        let said = [("reason", reason.as_deref()), ("reference", reference)];
        members
            .extend(said.into_iter().filter_map(|(name, said)| Some((name.into(), text(said?)))));
        let hash =
            evidence_hash.as_ref().map(|hash| ("sha256".into(), self.json(Value::Hash(&hash.0))));
        let url = evidence.as_deref().map(|url| ("url".into(), text(url)));
        let evidence: Vec<Member<'a>> = url.into_iter().chain(hash).collect();
        if !evidence.is_empty() {
            members.push(("evidence".into(), Json::Members(evidence)));
        }
        Json::Members(members)
    }

    /// The id of the object that the record created; `null` if it was refused.
    fn made(&self) -> Option<Member<'a>> {
        let (accounts, catalogue) = (&self.view.accounts, &self.view.catalogue);
        let (name, id) = match &self.record.command {
            Command::CreateUser { .. } => {
                ("userId", self.id(UserId::derive, |id| accounts.user_no(id).is_some()))
            }
            Command::AddKey { .. } => {
                ("keyId", self.id(KeyId::derive, |id| accounts.key_no(id).is_some()))
            }
            Command::CreateCategory(_) => {
                let made = |id| catalogue.category_no(id).is_some();
                ("categoryId", self.id(CategoryId::derive, made))
            }
            Command::CreateEvent(_) => {
                ("eventId", self.id(EventId::derive, |id| catalogue.event_no(id).is_some()))
            }
            Command::CreateMarket(_) => {
                ("marketId", self.id(MarketId::derive, |id| catalogue.market_no(id).is_some()))
            }
            Command::PlaceOrder(_) | Command::ReplaceOrder { .. } => {
                let order = self.record.command.placement()?;
                ("orderId", self.order(order.user, OrderNo(self.record.sequence)))
            }
            _ => return None,
        };
        Some((name.into(), id))
    }

    fn id<T: Copy + std::fmt::Display>(
        &self,
        derive: fn(TimeMs, Sequence, u32) -> T,
        made: impl FnOnce(T) -> bool,
    ) -> Json<'a> {
        let id = derive(self.record.time, self.record.sequence, 0);
        shown(made(id).then_some(id))
    }

    fn order(&self, user: UserNo, order: OrderNo) -> Json<'a> {
        shown(self.orders.id(user, order))
    }

    fn member(&self, (name, value): Shown<'a>) -> Member<'a> {
        let renamed = RENAMED.iter().find(|(ours, _)| *ours == name);
        (camel(renamed.map_or(name, |(_, theirs)| theirs)).into(), self.json(value))
    }

    fn json(&self, value: Value<'a>) -> Json<'a> {
        let (accounts, catalogue) = (&self.view.accounts, &self.view.catalogue);
        match value {
            Value::None => Json::Null,
            Value::Flag(flag) => Json::Flag(flag),
            Value::Count(count) => Json::Number(count),
            Value::Decimal(text) => Json::Text(text.as_str().to_owned().into()),
            Value::Time(time) => Json::Time(Timestamp(time)),
            Value::Text(text) => Json::Text(text.into()),
            Value::Word(word) => Json::Text(word.into()),
            Value::Hash(hash) => Json::Text(HEXLOWER.encode(hash).into()),
            Value::User(no) => shown(accounts.user(no).map(|row| row.id)),
            Value::Key(no) => shown(accounts.key(no).map(|row| row.id)),
            Value::Category(no) => shown(catalogue.category(no).map(|row| row.id)),
            Value::Event(no) => shown(catalogue.event(no).map(|row| row.id)),
            Value::Market(no) => shown(catalogue.market(no).map(|row| row.id)),
            Value::Order(no) => match &self.record.command {
                Command::AmendOrder { user, .. } | Command::CancelOrder { user, .. } => {
                    self.order(*user, no)
                }
                Command::ReplaceOrder { terms, .. } => self.order(terms.user, no),
                _ => Json::Null,
            },
            Value::List(list) => Json::List(list.into_iter().map(|one| self.json(one)).collect()),
            Value::Group(all) => {
                Json::Members(all.into_iter().map(|field| self.member(field)).collect())
            }
        }
    }
}

/// An id, if the object exists.
fn shown<'a>(id: Option<impl std::fmt::Display>) -> Json<'a> {
    id.map_or(Json::Null, |id| Json::Text(id.to_string().into()))
}

/// A member's place among the others.
fn rank(name: &str) -> usize {
    let place = |list: &[&str]| list.iter().position(|listed| *listed == name);
    let last = || place(&LAST).map(|place| place.saturating_add(FIRST.len()).saturating_add(1));
    place(&FIRST).or_else(last).unwrap_or(FIRST.len())
}

/// `time_in_force` as `timeInForce`.
fn camel(name: &str) -> String {
    let mut camel = String::with_capacity(name.len());
    for (index, part) in name.split('_').enumerate() {
        let mut chars = part.chars();
        match chars.next() {
            Some(first) if index > 0 => camel.push(first.to_ascii_uppercase()),
            first => camel.extend(first),
        }
        camel.push_str(chars.as_str());
    }
    camel
}

#[cfg(test)]
#[path = "../../../tests/unit/http/wire/record.rs"]
mod tests;
