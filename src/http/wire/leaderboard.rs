//! The JSON of the leaderboard.

use std::sync::Arc;

use serde::Serialize;

use super::{Paging, Text};
use exchange::ids::UserId;
use exchange::units::{LotsSum, MoneySum};
use views::accounts::UserRow;
use views::performance::Score;

/// A user as in the activity.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct PublicUserJson {
    id: Text<UserId>,
    profile_name: Text<Arc<str>>,
    profile_pic: Text<Arc<str>>,
}

/// An entry of the leaderboard.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PlaceJson {
    rank: u64,
    user: PublicUserJson,
    realised_pnl: Text<MoneySum>,
    volume: Text<LotsSum>,
}

impl PlaceJson {
    /// The entry of a user; `rank` counts from 1.
    pub fn of(rank: u64, user: &UserRow, score: &Score) -> PlaceJson {
        PlaceJson {
            rank,
            user: PublicUserJson {
                id: Text(user.id),
                profile_name: Text(Arc::clone(&user.profile_name)),
                profile_pic: Text(Arc::clone(&user.profile_pic)),
            },
            realised_pnl: Text(score.realised),
            volume: Text(score.volume),
        }
    }
}

/// A page of the leaderboard, with its parameters.
#[derive(Debug, Serialize)]
pub struct LeaderboardJson {
    /// The ranking criterion.
    pub by: &'static str,
    /// The period.
    pub period: &'static str,
    /// The best first.
    pub places: Vec<PlaceJson>,
    /// The paging echo.
    #[serde(flatten)]
    pub paging: Paging,
}
