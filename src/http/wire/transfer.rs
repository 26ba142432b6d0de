//! The JSON of transfers that users ask for.

use schemars::JsonSchema;
use serde::Serialize;

use super::words::{TransferDirection, TransferState};
use super::{Paging, RecordNo, Text, Timestamp};
use exchange::command::TransferEnd;
use exchange::ids::{Token, UserId};
use exchange::units::Money;
use views::ReadModel;
use views::transfers::TransferRow;

answers! {
    /// Money that a user asked to bring in or take out.
    TransferJson = "TransferDetail" (row: &TransferRow, user: UserId) {
        /// The record that asked for it, by which it is known.
        transfer: RecordNo = RecordNo(row.asked);
        user_id: Text<UserId> = Text(user);
        #[schemars(with = "TransferDirection")]
        direction: &'static str = if row.out { "withdrawal" } else { "deposit" };
        amount: Text<Money> = Text(row.amount);
        /// What the user calls it.
        reference: Option<Text<Token>> = row.reference.map(Text);
        #[schemars(with = "TransferState")]
        state: &'static str = row.ended.map_or("requested", |(how, _)| TransferEnd::name(how));
        requested_at: Timestamp = Timestamp(row.asked_at);
        /// When it was confirmed, refused or cancelled.
        ended_at: Option<Timestamp> = row.ended.map(|(_, at)| Timestamp(at));
    }
}

impl TransferJson {
    /// The transfer of a user who exists.
    pub fn known(view: &ReadModel, row: &TransferRow) -> Option<TransferJson> {
        view.accounts.user(row.user).map(|user| TransferJson::of(row, user.id))
    }
}

/// A user's transfers, the newest first: all that wait, and the last 20 that ended.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "TransferList")]
pub struct TransfersJson {
    pub transfers: Vec<TransferJson>,
}

/// A page of transfers, the newest first.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "TransferPage")]
pub struct TransferPageJson {
    pub transfers: Vec<TransferJson>,
    #[serde(flatten)]
    pub paging: Paging,
}
