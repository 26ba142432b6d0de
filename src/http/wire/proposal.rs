//! The JSON of what operators propose.

use schemars::JsonSchema;
use serde::Serialize;

use super::words::ProposalAction;
use super::{OutcomeId, RecordNo, Text, Timestamp};
use exchange::effect::Proposed;
use exchange::ids::{MarketId, UserId};
use exchange::units::{Money, SettlementPrice};
use views::ReadModel;
use views::proposals::ProposalRow;

answers! {
    /// What one operator proposed and another is to confirm.
    ProposalJson = "ProposalDetail" (row: &ProposalRow, ids: Ids) {
        /// The record that proposed it, by which it is known.
        proposal: RecordNo = RecordNo(row.proposed.proposal);
        #[schemars(with = "ProposalAction")]
        action: &'static str = action(&row.proposed);
        /// Who proposed it.
        operator_id: Text<UserId> = Text(ids.operator);
        market_id: Option<Text<MarketId>> = ids.market.map(Text);
        winning_outcome_id: Option<OutcomeId> = row.proposed.winner.map(Text);
        /// What a contract of yes would be worth.
        price: Option<Text<SettlementPrice>> = row.proposed.price.map(Text);
        /// Whose money would go out.
        user_id: Option<Text<UserId>> = ids.user.map(Text);
        amount: Option<Text<Money>> = row.proposed.amount.map(Text);
        /// The transfer that the user asked for.
        transfer: Option<RecordNo> = row.proposed.transfer.map(RecordNo);
        proposed_at: Timestamp = Timestamp(row.proposed_at);
        /// When it ends by itself.
        expires_at: Timestamp = Timestamp(row.proposed.until);
    }
}

/// Public ids of what a proposal is about.
pub struct Ids {
    operator: UserId,
    market: Option<MarketId>,
    user: Option<UserId>,
}

const fn action(proposed: &Proposed) -> &'static str {
    match proposed {
        Proposed { winner: Some(_), .. } => "resolve",
        Proposed { price: Some(_), .. } => "void",
        _ => "withdraw",
    }
}

impl ProposalJson {
    /// The proposal of an operator who exists.
    pub fn known(view: &ReadModel, row: &ProposalRow) -> Option<ProposalJson> {
        let id = |user| view.accounts.user(user).map(|row| row.id);
        let operator = id(row.proposed.operator)?;
        let market = row.proposed.market.and_then(|market| view.catalogue.market(market));
        let (market, user) = (market.map(|row| row.id), row.proposed.user.and_then(id));
        Some(ProposalJson::of(row, Ids { operator, market, user }))
    }
}

/// What waits for another operator, the newest first.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ProposalList")]
pub struct ProposalsJson {
    pub proposals: Vec<ProposalJson>,
}
