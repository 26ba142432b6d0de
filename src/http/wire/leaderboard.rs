//! The JSON of the leaderboard.

use schemars::JsonSchema;
use serde::Serialize;

use super::account::PersonJson;
use super::words::{Period, Ranking};
use super::{Paging, Text};
use exchange::units::{LotsSum, MoneySum};
use views::accounts::UserRow;
use views::performance::Score;

answers! {
    /// A place on the leaderboard.
    PlaceJson = "Place" (rank: u64, user: &UserRow, score: &Score) {
        /// From 1.
        rank: u64 = rank;
        user: PersonJson = PersonJson::of(user);
        realised_pnl: Text<MoneySum> = Text(score.realised);
        volume: Text<LotsSum> = Text(score.volume);
    }
}

/// A page of the leaderboard, the best first.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Leaderboard")]
pub struct LeaderboardJson {
    #[schemars(with = "Ranking")]
    pub by: &'static str,
    #[schemars(with = "Period")]
    pub period: &'static str,
    pub places: Vec<PlaceJson>,
    #[serde(flatten)]
    pub paging: Paging,
}
