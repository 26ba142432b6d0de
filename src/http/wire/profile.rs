//! The JSON of a trader's public profile.

use schemars::JsonSchema;
use serde::Serialize;

use super::account::PersonJson;
use super::catalogue::{MarketText, Shared};
use super::words::Period;
use super::{CursorEcho, OutcomeId, RecordNo, Text, Timestamp};
use exchange::ids::{MarketId, TradeId};
use exchange::units::{Lots, LotsSum, MoneySum, Tick};
use views::accounts::UserRow;
use views::catalogue::MarketRow;
use views::fills::FillRow;
use views::performance::Score;

answers! {
    /// What a trader did in a period, as the leaderboard counts it.
    PeriodScoreJson = "PeriodScore" (name: &'static str, score: Score) {
        #[schemars(with = "Period")]
        period: &'static str = name;
        realised_pnl: Text<MoneySum> = Text(score.realised);
        volume: Text<LotsSum> = Text(score.volume);
    }

    /// A trader as everyone sees one, and how it went.
    ProfileJson = "Profile" (user: &UserRow, scores: Vec<PeriodScoreJson>) {
        user: PersonJson = PersonJson::of(user);
        /// When the account was made.
        created_at: Timestamp = Timestamp(user.created_at);
        /// Of today, the week, the month and ever.
        scores: Vec<PeriodScoreJson> = scores;
    }

    /// A trade that an order of the trader's made when it came, told as the market's activity
    /// tells it: as a bet on an outcome.
    ProfileTradeJson = "ProfileTrade" (row: &FillRow, market: &MarketRow) {
        id: Text<TradeId> = Text(row.id());
        market_id: Text<MarketId> = Text(market.id);
        questions: MarketText = Shared::new(&market.draft, |draft| &draft.questions);
        /// The outcome that was bet on.
        outcome_id: OutcomeId = Text(row.wording.direction().gains());
        /// Of that outcome.
        price: Text<Tick> = {
            let wording = row.wording;
            Text(wording.direction().own_price(wording.yes_price(row.price)))
        };
        quantity: Text<Lots> = Text(row.quantity);
        timestamp: Timestamp = Timestamp(row.time);
        sequence: RecordNo = RecordNo(row.sequence);
    }
}

/// A page of a trader's trades, newest first.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ProfileTrades")]
pub struct ProfileTradesJson {
    pub trades: Vec<ProfileTradeJson>,
    #[serde(flatten)]
    pub next: CursorEcho,
}
