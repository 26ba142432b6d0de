//! journal-format.md and data-directory.md, tested: their tables against the code, the example
//! decoded and encoded, and the Python reader that was written from it. `UPDATE=1` rewrites the
//! example.

#![allow(clippy::unwrap_used, clippy::panic)] // a test may stop

mod records;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command as Process;
use std::{env, fs};

use exchange::Exchange;
use exchange::catalogue::{Localized, Outcome};
use exchange::command::{
    Act, BodyHash, Command, Condition, Conversion, IdempotencyKey, KeyHash, KeyedCommand, Password,
    PasswordScheme, PlaceOrder, Record, Role, SeenTerms, SelfTradePrevention, Side, TimeInForce,
    TradingMode, TransferEnd, Wording,
};
use exchange::effect::{Effect, Party};
use exchange::fees::FeeRate;
use exchange::ids::{CategoryNo, Group, KeyNo, MarketNo, Token, UserNo};
use exchange::results::{EFFECTS_VERSION, Results, ResultsHash, ResultsLog, write_effect};
use exchange::rules::Rules;
use exchange::slugs::Slug;
use exchange::units::{Lots, Money, Sequence, SettlementPrice, Tick, TimeMs};
use journal::block::{Block, Head, RawBlock};
use journal::memory::MemoryJournal;
use journal::portable::PortableFile;
use journal::record::kind_name;
use journal::recovery::Marker;
use journal::replay::{Replayer, replay};
use journal::{Journal, member, portable, record};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use records::{asked, block_after, block_with, time};
use serde_json::{Value, json};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn page() -> String {
    fs::read_to_string(root().join("journal-format.md")).unwrap()
}

#[derive(Debug, Clone)]
struct Row {
    offset: String,
    size: String,
    kind: String,
    field: String,
}

/// The rows of the first field table below a heading.
fn table(page: &str, heading: &str) -> Vec<Row> {
    let (_, below) = page.split_once(&format!("\n{heading}\n")).unwrap_or_else(|| {
        panic!("no heading {heading}");
    });
    let section = below.split("\n#").next().unwrap();
    let rows = section.lines().skip_while(|line| !line.starts_with("| offset")).skip(2);
    rows.take_while(|line| line.starts_with('|'))
        .map(|line| {
            let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
            assert_eq!(cells.len(), 5, "{line}");
            let [offset, size, kind, field] = [0, 1, 2, 3].map(|index| cells[index].to_owned());
            Row { offset, size, kind, field }
        })
        .collect()
}

/// The record kinds on the page: number, name, version, fields.
fn kinds(page: &str) -> Vec<(u16, String, u16, Vec<Row>)> {
    let headings = page.lines().filter(|line| line.starts_with("### "));
    headings
        .map(|line| {
            let rest = line.trim_start_matches("### ");
            let (number, rest) = rest.split_once(" `").unwrap();
            let (name, version) = rest.split_once("`, version ").unwrap();
            let (number, version) = (number.parse().unwrap(), version.parse().unwrap());
            (number, name.to_owned(), version, table(page, line))
        })
        .collect()
}

fn fixed_size(kind: &str) -> Option<usize> {
    match kind {
        "u8" | "bool" => Some(1),
        "u16" => Some(2),
        "u32" => Some(4),
        "u64" | "i64" | "bytes8" => Some(8),
        "bytes12" => Some(12),
        "bytes32" => Some(32),
        _ => None,
    }
}

fn size_shown(kind: &str) -> String {
    match (fixed_size(kind), kind) {
        (Some(size), _) => size.to_string(),
        (None, "texts") => "24+n".to_owned(),
        (None, kind) if kind.starts_with("opt<") => "1+n".to_owned(),
        (None, _) => "8+n".to_owned(),
    }
}

/// Checks that offsets follow on without gaps and sizes are those of the types; returns the total
/// size if it is fixed.
fn measured(rows: &[Row]) -> Option<usize> {
    let mut at = Some(0);
    for row in rows {
        assert_eq!(row.size, size_shown(&row.kind), "{row:?}");
        assert_eq!(row.offset, at.map_or("-".to_owned(), |at: usize| at.to_string()), "{row:?}");
        at = at.and_then(|at| Some(at + fixed_size(&row.kind)?));
    }
    at
}

/// Decodes a value by its type's name on the page.
fn by_type(kind: &str, bytes: &mut &[u8]) -> Value {
    let mut take = |count: usize| {
        let (taken, rest) = bytes.split_at(count);
        *bytes = rest;
        taken.to_vec()
    };
    match kind {
        "u8" => json!(take(1)[0]),
        "bytes8" => json!(String::from_utf8(take(8)).unwrap()),
        "u16" => json!(u16::from_le_bytes(take(2).try_into().unwrap())),
        "u32" => json!(u32::from_le_bytes(take(4).try_into().unwrap())),
        "u64" => json!(u64::from_le_bytes(take(8).try_into().unwrap())),
        "i64" => json!(i64::from_le_bytes(take(8).try_into().unwrap())),
        // A JSON number here holds 64 bits at most.
        "i128" => json!(i128::from_le_bytes(take(16).try_into().unwrap()).to_string()),
        "bool" => json!(take(1)[0] == 1),
        "bytes32" => json!(data_encoding::HEXLOWER.encode(&take(32))),
        "text" => {
            let length = u64::from_le_bytes(take(8).try_into().unwrap());
            json!(String::from_utf8(take(usize::try_from(length).unwrap())).unwrap())
        }
        "texts" => {
            let [pt, en, es] = [(); 3].map(|()| by_type("text", bytes));
            json!({ "pt": pt, "en": en, "es": es })
        }
        _ => {
            let (outer, inner) = kind.trim_end_matches('>').split_once('<').unwrap();
            let inner = &format!("{inner}{}", if inner.contains('<') { ">" } else { "" });
            if outer == "opt" {
                return match take(1)[0] {
                    0 => Value::Null,
                    _ => by_type(inner, bytes),
                };
            }
            let count = u64::from_le_bytes(take(8).try_into().unwrap());
            (0..count).map(|_| by_type(inner, bytes)).collect()
        }
    }
}

/// Decodes the fields of a table from the front of `body`.
fn by_table(rows: &[Row], body: &mut &[u8]) -> Value {
    let mut fields = BTreeMap::new();
    for row in rows {
        fields.insert(row.field.clone(), by_type(&row.kind, body));
    }
    json!(fields)
}

/// A record's idempotency key, under the page's names.
fn once_fields(once: Option<&IdempotencyKey>) -> Value {
    once.map_or(Value::Null, |once| {
        json!({ "caller": once.caller.0, "key": once.key.to_string(), "part": once.part,
            "body": data_encoding::HEXLOWER.encode(&once.body.0) })
    })
}

/// An operator's act, under the page's names.
fn act_fields(act: Option<&Act>) -> Value {
    let hex = |bytes: &[u8]| data_encoding::HEXLOWER.encode(bytes);
    act.map_or(Value::Null, |act| {
        json!({ "actor": act.actor.0, "key": act.key.map(|key| key.0), "reason": act.reason,
            "reference": act.reference.map(|reference| reference.to_string()),
            "evidence": act.evidence,
            "evidence_hash": act.evidence_hash.map(|hash| hex(&hash.0)) })
    })
}

fn texts(texts: &Localized) -> Value {
    json!({ "pt": texts.pt, "en": texts.en, "es": texts.es })
}
fn texts_option(given: Option<&Localized>) -> Value {
    given.map_or(Value::Null, texts)
}
fn numbers(categories: &[CategoryNo]) -> Vec<u32> {
    categories.iter().map(|category| category.0).collect()
}
fn outcome(outcome: Outcome) -> u8 {
    if outcome == Outcome::Yes { 1 } else { 2 }
}

fn role_number(role: Role) -> u8 {
    match role {
        Role::Trader => 1,
        Role::Operator => 2,
        Role::Reader => 3,
        Role::Auditor => 4,
        Role::Metrics => 5,
        Role::Cashier => 6,
        Role::Catalogue => 7,
    }
}

fn mode_number(mode: TradingMode) -> u8 {
    match mode {
        TradingMode::Normal => 1,
        TradingMode::CancelOnly => 2,
        TradingMode::ReadOnly => 3,
    }
}

/// A command's fields under the page's names, written by hand, independently of the codec.
fn fields(command: &Command) -> Value {
    match command {
        Command::OpenVenue(rules) => json!({ "rules_version": rules.version,
            "currency": rules.currency, "user_open_orders_max": rules.user_open_orders_max,
            "venue_open_orders_max": rules.venue_open_orders_max,
            "money_supply_max": rules.money_supply_max.get(),
            "repeat_window_seconds": rules.repeat_window_seconds,
            "user_names_max": rules.user_names_max }),
        Command::CreateUser { profile_name, profile_pic } => {
            json!({ "profile_name": profile_name, "profile_pic": profile_pic })
        }
        Command::AddKey { user, role, label, hash, ends } => {
            let mut fields = json!({ "user": user.0, "label": label,
                "role": role_number(*role),
                "hash": data_encoding::HEXLOWER.encode(&hash.0) });
            if let Some(ends) = ends {
                fields["ends"] = json!(ends.get());
            }
            fields
        }
        Command::RevokeKey { user, key } => json!({ "user": user.0, "key": key.0 }),
        Command::Deposit { user, amount }
        | Command::Withdraw { user, amount }
        | Command::TakeFees { user, amount } => {
            json!({ "user": user.0, "amount": amount.get() })
        }
        Command::CreateCategory(draft) => json!({ "name": draft.name, "slug": draft.slug }),
        Command::PublishMarket { market }
        | Command::SuspendMarket { market }
        | Command::CloseMarket { market }
        | Command::DisputeMarket { market } => json!({ "market": market.0 }),
        Command::ReopenMarket { market, deadline } => {
            json!({ "market": market.0, "deadline": deadline.map(TimeMs::get) })
        }
        Command::ResolveMarket { market, winner } => {
            json!({ "market": market.0, "winner": outcome(*winner) })
        }
        Command::VoidMarket { market, price } => {
            json!({ "market": market.0, "price": price.get() })
        }
        Command::PlaceOrder(order) => order_fields(order),
        Command::AmendOrder { user, order, price, quantity, seen } => {
            let fields = json!({ "user": user.0, "order": order.0.get(),
                "price": price.map(Tick::get), "quantity": quantity.map(Lots::get) });
            with_seen(fields, *seen)
        }
        Command::ReplaceOrder { replaced, terms } => {
            let mut fields = order_fields(terms);
            fields["replaced"] = json!(replaced.0.get());
            fields
        }
        Command::CancelOrder { user, order } => json!({ "user": user.0, "order": order.0.get() }),
        Command::CancelOrders { user, market, group, key } => {
            let fields = json!({ "user": user.0, "market": market.map(|market| market.0) });
            with_key(with_group(fields, group.as_deref()), *key)
        }
        Command::AdvanceClock => json!({}),
        Command::Convert(asked) => conversion_fields(asked),
        Command::AskDeposit { .. }
        | Command::AskWithdrawal { .. }
        | Command::EndTransfer { .. }
        | Command::SetTwoPersons { .. }
        | Command::ConfirmProposal { .. }
        | Command::DropProposal { .. }
        | Command::FileDispute { .. } => waiting_fields(command),
        other => draft_fields(other),
    }
}

fn with_seen(mut fields: Value, seen: Option<SeenTerms>) -> Value {
    if let Some(seen) = seen {
        fields["seen_price"] = json!(seen.price.get());
        fields["seen_quantity"] = json!(seen.quantity.get());
        fields["seen_filled"] = json!(seen.filled.get());
    }
    fields
}

fn conversion_fields(asked: &Conversion) -> Value {
    json!({ "user": asked.user.0, "event": asked.event.0,
            "markets": asked.markets.as_slice().iter().map(|no| no.0).collect::<Vec<u32>>(),
            "quantity": asked.quantity.get() })
}

/// Of commands about what waits for an answer.
fn waiting_fields(command: &Command) -> Value {
    match command {
        Command::AskDeposit { user, amount, reference }
        | Command::AskWithdrawal { user, amount, reference } => {
            let reference = reference.as_ref().map(Token::as_str);
            json!({ "user": user.0, "amount": amount.get(), "reference": reference })
        }
        Command::EndTransfer { user, transfer, how } => {
            let how = match how {
                TransferEnd::Confirmed => 1,
                TransferEnd::Refused => 2,
                TransferEnd::Cancelled => 3,
            };
            json!({ "user": user.0, "transfer": transfer.get(), "how": how })
        }
        Command::FileDispute { user, market, bond, reason } => {
            json!({ "user": user.0, "market": market.0, "bond": bond.get(), "reason": reason })
        }
        Command::SetTwoPersons { above } => json!({ "above": above.map(Money::get) }),
        Command::ConfirmProposal { operator, proposal }
        | Command::DropProposal { operator, proposal } => {
            json!({ "operator": operator.0, "proposal": proposal.get() })
        }
        other => panic!("{other:?} waits for nobody"),
    }
}

fn draft_fields(command: &Command) -> Value {
    match command {
        Command::CreateEvent(event) => with_slug(
            json!({ "titles": texts(&event.titles),
            "sub_titles": texts(&event.sub_titles), "images": event.images,
            "descriptions": texts(&event.descriptions), "highlighted": event.highlighted,
            "categories": numbers(&event.categories),
            "mutually_exclusive": event.mutually_exclusive }),
            event.slug.as_ref(),
        ),
        Command::CreateMarket(market) => with_slug(
            json!({ "questions": texts(&market.questions),
            "descriptions": texts(&market.descriptions), "yes_text": texts(&market.yes_text),
            "no_text": texts(&market.no_text), "logo": market.logo,
            "deadline": market.deadline.get(), "categories": numbers(&market.categories),
            "event": market.event.map(|event| event.0), "highlighted": market.highlighted,
            "dispute_window_seconds": market.dispute_window_seconds,
            "maker_fee": market.fees.maker.get(), "taker_fee": market.fees.taker.get() }),
            market.slug.as_ref(),
        ),
        Command::ReviseEvent { event, revision } => with_slug(
            json!({ "event": event.0,
            "titles": texts_option(revision.titles.as_ref()),
            "sub_titles": texts_option(revision.sub_titles.as_ref()),
            "descriptions": texts_option(revision.descriptions.as_ref()),
            "images": revision.images, "highlighted": revision.highlighted,
            "categories": revision.categories.as_deref().map(numbers) }),
            revision.slug.as_ref(),
        ),
        Command::ReviseMarket { market, revision } => with_slug(
            json!({ "market": market.0,
            "questions": texts_option(revision.questions.as_ref()),
            "descriptions": texts_option(revision.descriptions.as_ref()),
            "yes_text": texts_option(revision.yes_text.as_ref()),
            "no_text": texts_option(revision.no_text.as_ref()), "logo": revision.logo,
            "deadline": revision.deadline.map(TimeMs::get),
            "categories": revision.categories.as_deref().map(numbers),
            "highlighted": revision.highlighted,
            "maker_fee": revision.maker_fee.map(FeeRate::get),
            "taker_fee": revision.taker_fee.map(FeeRate::get) }),
            revision.slug.as_ref(),
        ),
        switch => switch_fields(switch),
    }
}

fn switch_fields(command: &Command) -> Value {
    match command {
        Command::Heartbeat { user, timeout_seconds, group } => {
            let fields = json!({ "user": user.0, "timeout_seconds": timeout_seconds });
            with_group(fields, group.as_deref())
        }
        Command::SetVenueMode { mode } => json!({ "mode": mode_number(*mode) }),
        Command::RenameUser { user, profile_name } => {
            json!({ "user": user.0, "profile_name": profile_name })
        }
        Command::SetUserMode { user, mode } => {
            json!({ "user": user.0, "mode": mode_number(*mode) })
        }
        Command::SetExposureLimit { user, limit } => {
            json!({ "user": user.0, "limit": limit.map(Money::get) })
        }
        sign_in => sign_in_fields(sign_in),
    }
}

fn sign_in_fields(command: &Command) -> Value {
    let hex = |hash: &KeyHash| data_encoding::HEXLOWER.encode(&hash.0);
    let role = role_number;
    let of_password = |mut fields: Value, password: &Password| {
        fields["scheme"] = json!(match password.scheme {
            PasswordScheme::Argon2id19MiB => 1,
            PasswordScheme::OpenId => 2,
        });
        fields["salt"] = json!(hex(&password.salt));
        fields["hashed"] = json!(hex(&password.hashed));
        fields
    };
    match command {
        Command::Invite { user, role: what, invitation, ends } => json!({ "user": user.0,
            "role": role(*what), "invitation": hex(invitation), "ends": ends.get() }),
        Command::SignUp { name, password } => {
            of_password(json!({ "name": name.as_str() }), password)
        }
        Command::SetPassword { user, invitation, name, password } => of_password(
            json!({ "user": user.0, "invitation": invitation.as_ref().map(hex),
                "name": name.as_str() }),
            password,
        ),
        Command::SignIn { user, password_set, session, until, ends } => json!({ "user": user.0,
            "password_set": password_set.get(), "session": hex(session), "until": until.get(),
            "ends": ends.get() }),
        Command::ExtendSession { user, session, until } => json!({ "user": user.0,
            "session": hex(session), "until": until.get() }),
        Command::SignOut { user, session } => json!({ "user": user.0,
            "session": session.as_ref().map(hex) }),
        Command::SetSecondFactor { user, password_salt, factor } => json!({ "user": user.0,
            "password_salt": hex(password_salt), "factor_salt": hex(&factor.salt),
            "sealed": hex(&factor.sealed), "used": factor.used.get(),
            "recovery": factor.recovery.as_slice().iter().map(hex).collect::<Vec<_>>() }),
        Command::SignInByCode { user, password_set, session, until, ends, used } => json!({
            "user": user.0, "password_set": password_set.get(), "session": hex(session),
            "until": until.get(), "ends": ends.get(), "used": used.get() }),
        Command::SignInByRecovery { user, password_set, session, until, ends, recovery_code } => {
            json!({ "user": user.0, "password_set": password_set.get(), "session": hex(session),
                "until": until.get(), "ends": ends.get(), "recovery_code": hex(recovery_code) })
        }
        Command::ClearSecondFactor { user } => json!({ "user": user.0 }),
        Command::ChangePassword(change) => {
            let fields = json!({ "user": change.user.0,
                "password_before": hex(&change.password_before),
                "factor_before": hex(&change.factor_before),
                "factor_salt": hex(&change.factor_salt), "sealed": hex(&change.sealed),
                "session": hex(&change.session), "until": change.until.get(),
                "ends": change.ends.get() });
            of_password(fields, &change.password)
        }
        other => panic!("{other:?} is not about signing in"),
    }
}

fn order_fields(order: &PlaceOrder) -> Value {
    let (time_in_force, expires_at) = match order.time_in_force {
        TimeInForce::GoodTillCancelled { expires_at } => (1, expires_at.map(TimeMs::get)),
        TimeInForce::ImmediateOrCancel => (2, None),
        TimeInForce::FillOrKill => (3, None),
    };
    let self_trade = match order.self_trade {
        SelfTradePrevention::CancelTaker => 1,
        SelfTradePrevention::CancelMaker => 2,
        SelfTradePrevention::CancelBoth => 3,
    };
    let condition = match order.condition {
        Condition::Unconditional => 1,
        Condition::PostOnly => 2,
        Condition::ReduceOnly => 3,
        Condition::PostOnlyReduceOnly => 4,
    };
    let fields = json!({ "user": order.user.0, "market": order.market.0,
        "outcome": outcome(order.wording.outcome),
        "side": match order.wording.side { Side::Buy => 1, Side::Sell => 2 },
        "price": order.price.get(), "quantity": order.quantity.get(),
        "time_in_force": time_in_force, "expires_at": expires_at, "self_trade": self_trade,
        "condition": condition, "valid_until": order.valid_until.map(TimeMs::get),
        "copy_from": order.copy_from.map(|user| user.0),
        "client_order_id": order.client_order_id.as_ref().map(ToString::to_string) });
    with_key(with_group(fields, order.group.as_deref()), order.key)
}

fn with_group(mut fields: Value, group: Option<&Group>) -> Value {
    if let Some(group) = group {
        fields["group"] = json!(group.to_string());
    }
    fields
}

fn with_slug(mut fields: Value, slug: Option<&Slug>) -> Value {
    if let Some(slug) = slug {
        fields["slug"] = json!(slug.as_str());
    }
    fields
}

/// In a version that has keys, a group may be missing.
fn with_key(mut fields: Value, key: Option<KeyNo>) -> Value {
    if let Some(key) = key {
        fields["key"] = json!(key.0);
        let group = fields.get("group").cloned().unwrap_or_default();
        fields["group"] = group;
    }
    fields
}

#[test]
fn headers_match_the_page() {
    let page = page();
    let header = table(&page, "## Block header");
    assert_eq!(measured(&header), Some(journal::block::BLOCK_HEADER_BYTES));
    assert_eq!(measured(&table(&page, "## Record header")), Some(record::RECORD_HEADER_BYTES));
    assert!(page.contains("60,000 bytes at most") && page.contains("59,896 bytes at most"));
    assert_eq!(journal::block::BLOCK_BYTES_MAX, 60_000);
    assert_eq!(record::RECORD_BYTES_MAX, 59_896);
    let directory = fs::read_to_string(root().join("data-directory.md")).unwrap();
    let side_files = table(&directory, "## Marker");
    assert_eq!(measured(&side_files), Some(journal::recovery::SLOT_BYTES));

    let members = table(&page, "## Compressed form");
    assert_eq!(measured(&members), Some(member::MEMBER_HEADER_BYTES));
    let packed = member::pack(b"OPOUTCRY").unwrap();
    let rest = &packed[member::MEMBER_HEADER_BYTES..];
    assert!(packed.starts_with(&[0x1f, 0x8b, 8, 4, 0, 0, 0, 0, 0, 0xff, 12, 0, b'O', b'P', 8, 0]));
    assert!(
        page.contains("`1f 8b 08 04 00 00 00 00`") && page.contains("`00 ff 0c 00 4f 50 08 00`")
    );
    let length = u32::try_from(rest.len() - member::MEMBER_TRAILER_BYTES).unwrap();
    assert_eq!(packed[16..20], length.to_le_bytes());
    assert_eq!(packed[20..24], crc32fast::hash(rest).to_le_bytes());
    let snapshot = table(&directory, "## Snapshots");
    assert_eq!(measured(&snapshot), Some(journal::snapshot::SNAPSHOT_HEADER_BYTES));
    assert_eq!(journal::snapshot::stream::CHUNK_BYTES, 1_048_576);

    let block = &example()[1];
    assert!(block.recorded().through == Sequence::new(2), "the example shows results");
    let at = |field: &str| {
        let row = header.iter().find(|row| row.field == field).unwrap();
        &block.bytes()[row.offset.parse().unwrap()..]
    };
    assert!(at("magic").starts_with(b"OPOUTCRY"));
    assert!(at("first").starts_with(&block.first().get().to_le_bytes()));
    assert!(at("count").starts_with(&[2, 0, 0, 0]));
    assert!(at("previous").starts_with(&example()[0].hash().0));
    assert!(at("results_through").starts_with(&block.recorded().through.get().to_le_bytes()));
    assert!(at("results").starts_with(&block.recorded().hash.0));
    let (first, previous) = (Sequence::new(258), block.hash());
    assert!(Marker::Refused { first, previous }.encode()[8..].starts_with(&[2, 1, 0]));
    assert!(Marker::Refused { first, previous }.encode()[16..].starts_with(&previous.0));
}

#[test]
fn record_kinds_match_the_page() {
    let page = page();
    let shown: Vec<(u16, u16, String)> = kinds(&page)
        .into_iter()
        .map(|(number, name, version, _)| (number, version, name))
        .collect();
    let first = Command::KINDS.iter().map(|(number, _)| (*number, 1));
    let all = first.chain(Command::LATER.iter().copied());
    let mut ours: Vec<(u16, u16, String)> = all
        .map(|(number, version)| (number, version.into(), kind_name(number).to_owned()))
        .collect();
    ours.sort_unstable();
    assert_eq!(shown, ours);
}

#[test]
fn every_record_decodes_by_the_pages_tables() {
    let page = page();
    let tables: BTreeMap<(u16, u16), Vec<Row>> = kinds(&page)
        .into_iter()
        .map(|(number, _, version, rows)| ((number, version), rows))
        .collect();
    let (key, acts) = (table(&page, "## Idempotency key"), table(&page, "## Operator's act"));
    for rows in tables.values().chain([&key, &acts]) {
        measured(rows);
    }
    let mut met = BTreeMap::new();
    let mut runner = TestRunner::deterministic();
    for _ in 0..9_000 {
        let KeyedCommand { once, act, command } = asked().new_tree(&mut runner).unwrap().current();
        let (mut bytes, time) = (Vec::new(), TimeMs::default());
        let max = record::RECORD_BYTES_MAX;
        let beside = (once.as_deref(), act.as_deref());
        record::encode(&command, beside, time, &mut bytes, max).unwrap();
        let kind = (command.number(), u16::from(bytes[6]));
        let mut body = &bytes[16..];
        let mut there = |flag: u8, rows: &[Row]| match bytes[7] & flag {
            0 => Value::Null,
            _ => by_table(rows, &mut body),
        };
        assert_eq!(there(1, &key), once_fields(once.as_deref()));
        assert_eq!(there(2, &acts), act_fields(act.as_deref()));
        assert_eq!(by_table(&tables[&kind], &mut body), fields(&command), "{command:?}");
        assert!(body.is_empty(), "the table ends before the body");
        *met.entry(kind).or_insert(0) += 1;
    }
    assert_eq!(
        met.len(),
        Command::KINDS.len() + Command::LATER.len(),
        "kinds never drawn: {met:?}"
    );
}

/// The recovery table on the page lists every reason for which recovery refuses a journal.
#[test]
fn the_recovery_table_names_every_reason() {
    use journal::recovery::Reason;
    let page = fs::read_to_string(root().join("data-directory.md")).unwrap();
    for reason in
        [Reason::TailDamaged, Reason::MarkerUnreadable, Reason::MarkerElsewhere, Reason::Beyond]
    {
        let text = reason.to_string();
        let code = text.split(':').next().unwrap();
        assert!(page.contains(&format!("| refuse: `{code}` |")), "{code}");
    }
}

/// The tests named in the last column of the table with this heading row.
fn tests_named(page: &str, heading: &str) -> Vec<String> {
    let (_, below) = page.split_once(heading).unwrap();
    let rows = below.lines().skip(2).take_while(|line| line.starts_with('|'));
    rows.flat_map(|row| {
        let tests_named = row.trim_matches('|').rsplit('|').next().unwrap();
        tests_named.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>()
    })
    .collect()
}

#[test]
fn the_tests_that_the_page_names_exist() {
    let files = [
        "tests/recovery.rs",
        "tests/results.rs",
        "replay/src/verify/changed.rs",
        "tests/log.rs",
        "tests/unit/journal/torn.rs",
        "tests/unit/journal/tree.rs",
        "tests/unit/simulator/disk.rs",
    ];
    let tests = files.map(|file| fs::read_to_string(root().join(file)).unwrap()).concat();
    let page = page() + &fs::read_to_string(root().join("data-directory.md")).unwrap();
    let promises = [("| damage | what happens |", 5), ("| what was changed |", 6)];
    for (heading, named_min) in promises {
        let named = tests_named(&page, heading);
        assert!(named.len() >= named_min, "{named:?}");
        for name in named {
            let there = if name.contains('/') {
                root().join(&name).exists()
            } else {
                tests.contains(&format!("fn {name}("))
            };
            assert!(there, "{name}");
        }
    }
}

/// A block's checksum, computed as the page describes it.
fn crc_of(block: &[u8]) -> u32 {
    let mut crc = crc32fast::Hasher::new();
    crc.update(&block[..28]);
    crc.update(&block[32..]);
    crc.finalize()
}

/// The page's table of effects: number, name and fields.
fn effects_table(page: &str) -> BTreeMap<u8, (String, Vec<Row>)> {
    let kinds = kinds(page);
    let (_, below) = page.split_once("| number | effect | fields |\n|---|---|---|\n").unwrap();
    let field = |text: &str| {
        if let Some(kind) = text.strip_prefix("fields of `") {
            let kind = kind.trim_end_matches('`');
            return kinds.iter().find(|(_, name, ..)| name == kind).unwrap().3.clone();
        }
        let (name, kind) = text.strip_prefix('`').unwrap().split_once("` ").unwrap();
        let (field, kind) = (name.to_owned(), kind.to_owned());
        vec![Row { offset: String::new(), size: String::new(), kind, field }]
    };
    let rows = below.lines().take_while(|line| line.starts_with('|'));
    rows.map(|line| {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let fields = cells[2].split(", ").flat_map(field).collect();
        (cells[0].parse().unwrap(), (cells[1].trim_matches('`').to_owned(), fields))
    })
    .collect()
}

/// An effect's name in the page's spelling.
fn page_name(effect: &Effect) -> String {
    let debug = format!("{effect:?}");
    let name = debug.chars().take_while(char::is_ascii_alphanumeric);
    let snake = name.flat_map(|c| [c.is_uppercase().then_some('_'), Some(c.to_ascii_lowercase())]);
    snake.flatten().collect::<String>().trim_start_matches('_').to_owned()
}

/// Every effect of every golden journal is encoded as the page describes, to the last byte.
#[test]
#[allow(clippy::too_many_lines, reason = "one table")]
fn effects_match_the_page() {
    let effects = effects_table(&page());
    assert!(page().contains("| 2 | u16 | version | 1, the"));
    assert_eq!(EFFECTS_VERSION, 1);
    let mut seen = BTreeMap::new();
    let mut compare = |effect: &Effect| {
        let mut bytes = Vec::new();
        write_effect(effect, &mut bytes);
        let (name, rows) = &effects[&bytes[0]];
        assert_eq!(*name, page_name(effect));
        let mut fields = &bytes[1..];
        let mut value = by_table(rows, &mut fields);
        let slug = match effect {
            Effect::EventCreated { draft, .. } => draft.slug.is_some(),
            Effect::MarketCreated { draft, .. } => draft.slug.is_some(),
            Effect::EventRevised { revision, .. } => revision.slug.is_some(),
            Effect::MarketRevised { revision, .. } => revision.slug.is_some(),
            _ => false,
        };
        if slug {
            value["slug"] = by_type("text", &mut fields);
        }
        if let Effect::OrderAccepted { terms, .. } = effect {
            match (&terms.group, terms.key) {
                (None, None) => {}
                (Some(_), None) => value["group"] = by_type("text", &mut fields),
                (_, Some(_)) => {
                    value["group"] = by_type("opt<text>", &mut fields);
                    value["key"] = by_type("u32", &mut fields);
                }
            }
        }
        if let Effect::KeyAdded { ends: Some(_), .. } = effect {
            value["ends"] = by_type("i64", &mut fields);
        }
        assert!(fields.is_empty(), "the table ends before {name}");
        seen.insert(name.clone(), (value, effect.clone()));
    };
    for entry in fs::read_dir(root().join("tests/golden/v1")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "journal") {
            continue;
        }
        let blocks = PortableFile::open(&path).unwrap();
        replay(blocks, &mut Replayer::new(), |_, effects_made| {
            effects_made.iter().for_each(&mut compare);
        })
        .unwrap();
    }
    // Only a market with hundreds of holders pays in parts.
    let price = SettlementPrice::new(30).unwrap();
    compare(&Effect::MarketPays { market: MarketNo(7), price, voided: true });
    let missing: Vec<_> = effects.values().filter(|(name, _)| !seen.contains_key(name)).collect();
    assert!(missing.is_empty(), "no golden journal has {missing:?}");
    let (value, Effect::TradeMade(trade)) = &seen["trade_made"] else { panic!("no trade") };
    let party = |who: &str, party: Party| {
        assert_eq!(value[format!("{who}_order")], party.order.0.get());
        assert_eq!(value[format!("{who}_user")], party.user.0);
        assert_eq!(value[format!("{who}_remaining")], party.remaining.get());
    };
    party("taker", trade.taker);
    party("maker", trade.maker);
    assert_eq!(
        (&value["price"], &value["quantity"]),
        (&json!(trade.price.get()), &json!(trade.quantity.get()),)
    );
    let (value, Effect::PositionChanged { yes, no, realised, .. }) = &seen["position_changed"]
    else {
        panic!("no position")
    };
    for (side, holding) in [("yes", yes), ("no", no)] {
        assert_eq!(value[format!("{side}_held")], holding.held.get());
        assert_eq!(value[format!("{side}_locked")], holding.locked.get());
        assert_eq!(value[format!("{side}_cost")], holding.cost.get());
        assert_eq!(value[format!("{side}_copy_from")], json!(holding.copy_from.map(|user| user.0)));
    }
    assert_eq!(value["realised"], realised.get().to_string());
    let (value, Effect::Refused(reject)) = &seen["refused"] else { panic!("no refusal") };
    assert_eq!(value["code"], reject.code());
}

/// The page's example: a venue opens and takes an order.
fn example() -> Vec<Block> {
    let time = |ms| TimeMs::new(ms).unwrap();
    let ann = Command::CreateUser { profile_name: "ann".to_owned(), profile_pic: String::new() };
    let opening = vec![Command::OpenVenue(Rules::current()), ann];
    let first = block_after(&Head::START, time(1_700_000_000_000), opening);
    let (mut exchange, mut log) = (Exchange::new(), ResultsLog::default());
    for record in first.records() {
        let mut effects = Vec::new();
        exchange.apply(record, &mut effects).unwrap();
        log.push(record, &effects);
    }
    let order = Command::PlaceOrder(PlaceOrder {
        user: UserNo(0),
        market: MarketNo(7),
        wording: Wording { outcome: Outcome::Yes, side: Side::Sell },
        price: Tick::new(62).unwrap(),
        quantity: Lots::new(2_500_000),
        time_in_force: TimeInForce::GoodTillCancelled { expires_at: Some(time(1_700_000_600_000)) },
        self_trade: SelfTradePrevention::CancelTaker,
        condition: Condition::Unconditional,
        valid_until: None,
        copy_from: None,
        client_order_id: Token::new("s-1").map(Box::new),
        group: None,
        key: None,
    });
    let (caller, key) = (UserNo(0), Token::new("2f1c").unwrap());
    let once = Some(Box::new(IdempotencyKey { caller, key, part: 0, body: BodyHash([7; 32]) }));
    let order = KeyedCommand { once, act: None, command: order };
    let orders = vec![order, Command::AdvanceClock.into()];
    let second = block_with(&first.head(), time(1_700_000_000_250), orders, log.seal());
    vec![first, second]
}

/// Writes lines of 16 bytes in hex, with the meaning beside the first.
fn write_line(out: &mut String, bytes: &[u8], meaning: &str) {
    for (index, chunk) in bytes.chunks(16).enumerate() {
        let hex = data_encoding::HEXLOWER.encode(chunk);
        let meaning = if index == 0 { meaning } else { "" };
        writeln!(out, "{}", format!("{hex:<32}  {meaning}").trim_end()).unwrap();
    }
}

/// Writes each field's bytes, name and value; returns the bytes after the last field.
fn write_fields<'a>(out: &mut String, rows: &[Row], prefix: &str, mut rest: &'a [u8]) -> &'a [u8] {
    for row in rows {
        let mut after = rest;
        let value = by_type(&row.kind, &mut after);
        // The value of a hash would only repeat the hex.
        let shown = if row.kind == "bytes32" { String::new() } else { format!(" {value}") };
        let taken = rest.len() - after.len();
        write_line(out, &rest[..taken], &format!("{prefix}{}{shown}", row.field));
        rest = after;
    }
    rest
}

fn listing(blocks: &[Block]) -> String {
    let page = page();
    let tables = kinds(&page);
    let (block_header, record_header) =
        (table(&page, "## Block header"), table(&page, "## Record header"));
    let (key, acts) = (table(&page, "## Idempotency key"), table(&page, "## Operator's act"));
    let mut out = String::new();
    for block in blocks {
        let mut rest = write_fields(&mut out, &block_header, "block.", block.bytes());
        for record in block.records() {
            rest = write_fields(&mut out, &record_header, "  record.", rest);
            if record.once.is_some() {
                rest = write_fields(&mut out, &key, "    once.", rest);
            }
            if record.act.is_some() {
                rest = write_fields(&mut out, &acts, "    act.", rest);
            }
            let kind = record.command.number();
            let (_, name, _, rows) = tables.iter().find(|(number, ..)| *number == kind).unwrap();
            rest = write_fields(&mut out, rows, &format!("    {name}."), rest);
        }
        writeln!(out, "{:34}sha-256 of the block: {}", "", block.hash()).unwrap();
    }
    out
}

#[test]
fn the_example_is_decoded_and_encoded_to_the_same_bytes() {
    let page = page();
    let (before, rest) = page.split_once("<!-- example -->\n").unwrap();
    let (shown, after) = rest.split_once("<!-- end of example -->").unwrap();
    let fresh = format!("```\n{}```\n", listing(&example()));
    if env::var_os("UPDATE").is_some() {
        let whole = format!("{before}<!-- example -->\n{fresh}<!-- end of example -->{after}");
        fs::write(root().join("journal-format.md"), whole).unwrap();
        return;
    }
    assert_eq!(shown, fresh, "UPDATE=1 rewrites it, if the format was meant to change");
    // Decode from the page's hex alone, compare, and encode again.
    let hex: String = shown
        .lines()
        .filter_map(|line| line.split(' ').next())
        .filter(|word| !word.is_empty() && word.bytes().all(|b| b.is_ascii_hexdigit()))
        .collect();
    let bytes = data_encoding::HEXLOWER.decode(hex.as_bytes()).unwrap();
    let length = journal::block::block_bytes(&bytes).unwrap();
    let (first, second) = bytes.split_at(length);
    let mut head = Head::START;
    for (bytes, expected) in [first, second].into_iter().zip(example()) {
        let block = RawBlock::new(bytes.to_vec()).decode().unwrap();
        assert_eq!(block, expected);
        block.follows(&head).unwrap();
        let asked = |record: &Record| KeyedCommand {
            once: record.once.clone(),
            act: record.act.clone(),
            command: record.command.clone(),
        };
        let commands = block.records().iter().map(asked).collect();
        let again = block_with(&head, block.records()[0].time, commands, block.recorded());
        assert_eq!(again.bytes(), bytes);
        head = block.head();
    }
}

/// The line that the Python reader prints for a record.
fn line(record: &Record, block: &Block) -> Value {
    let kind = record.command.number();
    let (_, name) = Command::KINDS.iter().find(|(number, _)| *number == kind).unwrap();
    json!({ "sequence": record.sequence.get(), "time_ms": record.time.get(), "kind": name,
        "once": once_fields(record.once.as_deref()), "act": act_fields(record.act.as_deref()),
        "fields": fields(&record.command),
        "block": block.first().get(),
        "hash": block.hash().to_string(), "results_through": block.recorded().through.get(),
        "results": block.recorded().hash.to_string() })
}

fn run_reader(file: &Path) -> Option<std::process::Output> {
    let reader = root().join("examples/journal_reader.py");
    Process::new("python3").arg(reader).arg(file).output().ok()
}

#[test]
fn the_python_reader_says_what_is_no_journal() {
    let dir = tempfile::tempdir().unwrap();
    let empty = dir.path().join("empty");
    fs::write(&empty, b"").unwrap();
    let cases = [
        (empty.as_path(), 3, "JOURNAL_EMPTY: "),
        (dir.path(), 2, "is a folder; of an archive or a data directory, make a file first"),
        (Path::new("/no/such/file"), 1, "cannot read /no/such/file: "),
        (Path::new(""), 1, "cannot read "),
    ];
    for (file, code, why) in cases {
        let Some(output) = run_reader(file) else {
            eprintln!("SKIPPED: no python3 on this machine");
            return;
        };
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{said}");
        assert!(said.contains(why) && !said.contains("Traceback"), "{said}");
    }
    let reader = root().join("examples/journal_reader.py");
    let output = Process::new("python3").arg(reader).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(2) && said.starts_with("usage: "), "{said}");
}

#[test]
fn the_python_reader_agrees() {
    let mut runner = TestRunner::deterministic();
    let mut journal = MemoryJournal::new();
    let mut expected = Vec::new();
    let mut stamp = TimeMs::default();
    for _ in 0..40 {
        let draw = (prop::collection::vec(asked(), 1..12), time());
        let (commands, drawn) = draw.new_tree(&mut runner).unwrap().current();
        stamp = stamp.max(TimeMs::new(drawn.get() / 2).unwrap());
        // The Python reader does not replay commands, so any hash will do.
        let hash = ResultsHash(journal.head().hash.0);
        let recorded = Results { through: journal.head().sequence, hash };
        let block = block_with(journal.head(), stamp, commands, recorded);
        expected.extend(block.records().iter().map(|record| line(record, &block)));
        journal.append(block).unwrap();
    }
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("journal.blocks");
    portable::export(journal.read(Sequence::new(1)), &file).unwrap();
    let Some(output) = run_reader(&file) else {
        eprintln!("SKIPPED: no python3 on this machine");
        return;
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let read: Vec<Value> = String::from_utf8(output.stdout)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(read, expected);

    let sound = fs::read(&file).unwrap();
    let packed = dir.path().join("journal.blocks.gz");
    let blocks = journal.read(Sequence::new(1));
    portable::export_as(portable::Form::Compressed, blocks, &packed, |_| ()).unwrap();
    let again = run_reader(&packed).unwrap();
    assert!(again.status.success() && again.stdout == run_reader(&file).unwrap().stdout);
    let bytes = fs::read(&packed).unwrap();
    fs::write(&packed, &bytes[..bytes.len() - 1]).unwrap();
    assert_eq!(run_reader(&packed).unwrap().status.code(), Some(3), "cut off");
    for part in 1..12 {
        let mut flipped = sound.clone();
        flipped[sound.len() * part / 12] ^= 1;
        fs::write(&file, flipped).unwrap();
        let output = run_reader(&file).unwrap();
        assert_eq!(output.status.code(), Some(3), "byte {}", sound.len() * part / 12);
    }
    // Well-formed blocks that record other results, of fewer records than before, or up to no
    // block's end.
    let other = |through| Results { through: Sequence::new(through), hash: ResultsHash([7; 32]) };
    let first = block_after(&Head::START, stamp, vec![Command::AdvanceClock; 2]);
    let clock =
        |head: &Head, recorded| block_with(head, stamp, vec![Command::AdvanceClock], recorded);
    let second = clock(&first.head(), other(2));
    for (through, sound) in [(2, true), (3, true), (1, false), (0, false), (4, false)] {
        let recorded = if through == 0 { Results::NONE } else { other(through.min(3)) };
        let third = clock(&Head { results_through: Sequence::ZERO, ..second.head() }, recorded);
        let mut third = third.bytes().to_vec();
        third[64] = u8::try_from(through).unwrap();
        let crc = crc_of(&third);
        third[28..32].copy_from_slice(&crc.to_le_bytes());
        fs::write(&file, [first.bytes(), second.bytes(), &third].concat()).unwrap();
        let output = run_reader(&file).unwrap();
        assert_eq!(output.status.success(), sound, "results through {through}");
    }
    // The first block left out, the first two in the wrong order, and the last byte cut off.
    let length = |bytes| journal::block::block_bytes(bytes).unwrap();
    let (first, rest) = sound.split_at(length(&sound));
    fs::write(&file, rest).unwrap();
    assert_eq!(run_reader(&file).unwrap().status.code(), Some(3));
    let (second, rest) = rest.split_at(length(rest));
    fs::write(&file, [second, first, rest].concat()).unwrap();
    assert_eq!(run_reader(&file).unwrap().status.code(), Some(3));
    fs::write(&file, &sound[..sound.len() - 1]).unwrap();
    assert_eq!(run_reader(&file).unwrap().status.code(), Some(3));
}
