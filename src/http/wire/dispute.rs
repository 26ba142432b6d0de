//! The JSON of disputes.

use schemars::JsonSchema;
use serde::Serialize;

use super::words::DisputeState;
use super::{RecordNo, Text, Timestamp};
use exchange::ids::{MarketId, UserId};
use exchange::units::Money;
use views::ReadModel;
use views::disputes::DisputeRow;

answers! {
    /// A holder's dispute of an announced outcome.
    DisputeJson = "Dispute" (row: &DisputeRow, market: MarketId, user: UserId) {
        market_id: Text<MarketId> = Text(market);
        user_id: Text<UserId> = Text(user);
        /// What was set aside for it.
        bond: Text<Money> = Text(row.bond);
        reason: String = row.reason.clone();
        #[schemars(with = "DisputeState")]
        state: &'static str = match row.ended {
            None => "open",
            Some((true, _)) => "right",
            Some((false, _)) => "wrong",
        };
        filed_at: Timestamp = Timestamp(row.filed_at);
        /// When the outcome was announced again or the market voided.
        ended_at: Option<Timestamp> = row.ended.map(|(_, at)| Timestamp(at));
        /// The record that filed it.
        sequence: RecordNo = RecordNo(row.filed);
    }
}

impl DisputeJson {
    /// The dispute of a user and a market that exist.
    pub fn known(view: &ReadModel, row: &DisputeRow) -> Option<DisputeJson> {
        let (market, user) = (view.catalogue.market(row.market)?, view.accounts.user(row.user)?);
        Some(DisputeJson::of(row, market.id, user.id))
    }
}

/// Disputes of markets that are not final, the newest first.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "DisputeList")]
pub struct DisputesJson {
    pub disputes: Vec<DisputeJson>,
}
