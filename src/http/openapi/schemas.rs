//! The document's schemas: of answers as their types in `wire` describe themselves, of requests,
//! words and records as written in a file.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::Value;

use super::Members;
use crate::wire::words::reference;
use crate::wire::{
    account, catalogue, conversion, depth, dispute, impact, leaderboard, limits, operations,
};
use crate::wire::{order, problem, profile, proposal, quotes, site, statement, tape, transfer};

/// Requests, words and records.
const WRITTEN: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/schemas.json.gz"));

/// All schemas by name.
///
/// # Errors
/// The file is no JSON.
pub fn all() -> Result<Members, serde_json::Error> {
    all_with(describe).map(|(all, ())| all)
}

/// The written schemas, those of the types that `describe` collects, and what that returns.
///
/// # Errors
/// The file is no JSON.
pub fn all_with<T>(
    describe: impl FnOnce(&mut SchemaGenerator) -> T,
) -> Result<(Members, T), serde_json::Error> {
    let mut all: Members = super::unpacked(WRITTEN)?;
    let settings = SchemaSettings::draft2020_12().for_serialize().with(|settings| {
        settings.definitions_path = "/components/schemas".into();
        settings.meta_schema = None;
    });
    let mut generator = settings.into_generator();
    let described = describe(&mut generator);
    for (name, mut schema) in generator.take_definitions(true) {
        use_words(&mut schema);
        all.insert(name, schema);
    }
    Ok((all, described))
}

/// Collects what answers consist of.
fn describe(generator: &mut SchemaGenerator) {
    fn one<T: JsonSchema>(generator: &mut SchemaGenerator) {
        generator.subschema_for::<T>();
    }
    let answers = [
        one::<account::BalanceJson>,
        one::<account::FeesJson>,
        one::<account::HeartbeatJson>,
        one::<account::HeartbeatsJson>,
        one::<account::KeysJson<account::KeyJson>>,
        one::<account::KeysJson<account::OwnKeyJson>>,
        one::<account::NewKeyJson<'_, account::KeyJson>>,
        one::<account::NewKeyJson<'_, account::OwnKeyJson>>,
        one::<account::PositionsJson>,
        one::<account::UsersJson>,
        one::<account::VenueModeJson>,
        one::<transfer::TransfersJson>,
        one::<transfer::TransferPageJson>,
        one::<proposal::ProposalsJson>,
        one::<dispute::DisputesJson>,
        one::<catalogue::ActivitiesJson>,
        one::<catalogue::CategoriesJson>,
        one::<catalogue::EventDetailJson>,
        one::<catalogue::EventsJson>,
        one::<catalogue::MarketsJson<catalogue::MarketDetailJson>>,
        one::<catalogue::MarketsJson<catalogue::MarketJson>>,
        one::<catalogue::MarketsJson<quotes::QuotedMarketJson>>,
        one::<conversion::ConversionJson>,
        one::<depth::DepthJson>,
        one::<depth::BooksJson>,
        one::<impact::ActPreviewJson>,
        one::<impact::MarketImpactJson>,
        one::<impact::VenueImpactJson>,
        one::<leaderboard::LeaderboardJson>,
        one::<limits::LimitsJson>,
        one::<operations::StatusJson>,
        one::<operations::TimeJson>,
        one::<order::AmendedJson>,
        one::<order::BatchJson>,
        one::<order::CancelledJson>,
        one::<order::FillsJson>,
        one::<order::OrdersJson>,
        one::<problem::ProblemJson>,
        one::<profile::ProfileJson>,
        one::<profile::ProfileTradesJson>,
        one::<site::BegunFactorJson>,
        one::<site::FactorJson>,
        one::<site::InvitationJson>,
        one::<site::InvitedJson>,
        one::<site::OpenIdAddressJson>,
        one::<site::RecoveryCodesJson>,
        one::<site::SessionJson>,
        one::<site::SiteJson>,
        one::<statement::EquityJson>,
        one::<statement::LedgerJson>,
        one::<statement::MarketPnlJson>,
        one::<statement::PnlJson>,
        one::<statement::SettlementsJson>,
        one::<tape::CandlesJson>,
        one::<tape::PublicTradesJson>,
        one::<tape::StatsJson>,
    ];
    for one in answers {
        one(generator);
    }
}

/// Puts the venue's words for a type's plain ones, and says that alternatives exclude each other.
fn use_words(schema: &mut Value) {
    if let Some(members) = schema.as_object_mut() {
        let word = match members.get("type").and_then(Value::as_str) {
            _ if members.contains_key("const") => None,
            Some("boolean") => Some("Flag"),
            Some("string") => Some("Text"),
            Some("integer") => Some("Count"),
            _ => None,
        };
        if let Some(word) = word {
            members.retain(|keyword, _| keyword == "description");
            members.extend(reference(word).as_object().cloned().unwrap_or_default());
        }
        let all_named = |schemas: &Value| {
            let mut schemas = schemas.as_array().into_iter().flatten();
            schemas.all(|schema| schema.get("$ref").is_some())
        };
        if members.get("anyOf").is_some_and(all_named)
            && let Some(schemas) = members.remove("anyOf")
        {
            members.insert("oneOf".to_owned(), schemas);
        }
        if let Some(Value::String(text)) = members.get_mut("description") {
            *text = text.replace('\n', " ");
        }
        members.values_mut().for_each(use_words);
    } else if let Some(parts) = schema.as_array_mut() {
        parts.iter_mut().for_each(use_words);
    }
}
