//! The JSON of a user's limits.

use super::Text;
use super::said::StreamLimitsJson;
use super::words::Count;
use crate::keyring::DailyLeft;
use crate::rates::{Allowance, RequestClass};
use exchange::command::TradingMode;
use exchange::ids::Group;
use exchange::units::{Money, MoneySum};

answers! {
    /// What a user may lose, over all keys.
    ExposureJson = "Exposure" (
        open: MoneySum, limit: Option<Money>, group: Option<GroupExposureJson>,
    ) {
        /// What is reserved, and what the contracts held cost.
        open: Text<MoneySum> = Text(open);
        /// Set by the operator: an order that would bring it beyond is refused; null where there
        /// is none.
        limit: Option<Text<Money>> = limit.map(Text);
        /// That of the group that was asked for; null where none was.
        group: Option<GroupExposureJson> = group;
    }

    /// What the open orders of a group may lose. Contracts held belong to no group.
    GroupExposureJson = "GroupExposure" (group: Group, found: Option<(usize, Money)>) {
        group: Text<Group> = Text(group);
        /// Null where they are more than 1,000.
        #[schemars(with = "Option<Count>")]
        open_orders: Option<u64> = found.and_then(|found| u64::try_from(found.0).ok());
        /// Of the account's reserved money, what is set aside for them; null likewise.
        reserved: Option<Text<Money>> = found.map(|found| Text(found.1));
    }

    /// A daily allowance of records: the commands that the journal keeps. It comes back steadily.
    DailyJson = "DailyLimit" (per_day: u32, left: DailyLeft) {
        per_day: u32 = per_day;
        remaining: u32 = left.records.remaining;
        /// Of as many cancels, which do not count as records.
        cancels_remaining: u32 = left.endings.remaining;
        /// Until all of it is back.
        reset_seconds: u64 = left.records.reset_seconds.max(left.endings.reset_seconds);
    }

    /// A token bucket.
    LimitJson = "Limit" (per_second: u32, left: Allowance) {
        /// Requests a second that it is filled with.
        per_second: u32 = per_second;
        /// Requests at once, after a pause.
        burst: u32 = left.limit;
        remaining: u32 = left.remaining;
        /// Until it is full again.
        reset_seconds: u64 = left.reset_seconds;
    }

    /// What a user may ask with all keys together, lane by lane, null where there is no limit; and
    /// what the user may lose and do.
    LimitsJson = "Limits" (
        lane: impl Fn(RequestClass) -> Option<LimitJson>,
        records: Option<DailyJson>,
        exposure: ExposureJson,
        mode: TradingMode,
        venue_mode: TradingMode,
    ) {
        reads: Option<LimitJson> = lane(RequestClass::Reads);
        writes: Option<LimitJson> = lane(RequestClass::Writes);
        cancels: Option<LimitJson> = lane(RequestClass::Cancels);
        records: Option<DailyJson> = records;
        exposure: ExposureJson = exposure;
        /// What the operator lets the user do.
        mode: Text<TradingMode> = Text(mode);
        /// What the operator lets anybody do: the stricter of the two holds.
        venue_mode: Text<TradingMode> = Text(venue_mode);
        /// Of streams.
        stream: StreamLimitsJson = StreamLimitsJson::of();
    }
}
