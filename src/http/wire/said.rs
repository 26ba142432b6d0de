//! The JSON of what the server says on a stream beside the messages of its channels.

use super::problem::ProblemJson;
use super::{RecordNo, Timestamp};
use crate::stream::limits as most;
use crate::stream::listening::CHANNELS_MAX;
use exchange::units::{Sequence, TimeMs};

answers! {
    /// The limits of streams.
    StreamLimitsJson = "StreamLimits" () {
        /// Of one user.
        connections: u32 = most::CONNECTIONS_MAX;
        /// Of one connection.
        channels: u64 = CHANNELS_MAX as u64;
        /// Largest message that a client may send.
        message_bytes: u64 = most::MESSAGE_BYTES_MAX as u64;
        /// Of one connection; commands are limited as they are over HTTP.
        control_messages_per_second: u32 = most::CONTROLS_PER_SECOND;
        /// Commands of a connection without an answer, beyond which it is not read.
        commands_in_flight: u64 = most::IN_FLIGHT_MAX as u64;
        /// How often a connection is told that it has everything.
        heartbeat_seconds: u64 = most::HEARTBEAT_EVERY.as_secs();
    }

    /// The first message of a stream.
    WelcomeJson = "Welcome" (now: TimeMs) {
        kind: &'static str = "welcome";
        time: Timestamp = Timestamp(now);
        limits: StreamLimitsJson = StreamLimitsJson::of();
    }

    /// Everything up to the record that concerns the connection was sent.
    HeartbeatMessageJson = "StreamHeartbeat" (head: Sequence, now: TimeMs) {
        kind: &'static str = "heartbeat";
        sequence: RecordNo = RecordNo(head);
        time: Timestamp = Timestamp(now);
    }
}

/// What came of asking for a channel.
#[derive(Debug, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ChannelAnswer")]
pub struct ChannelJson {
    channel: String,
    /// The record as of which it begins; with `REPLAY_BUSY` that from which to go on.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "RecordNo")]
    sequence: Option<RecordNo>,
    /// Seconds after which it may be asked for again.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64")]
    retry_after: Option<u64>,
    /// Why it does not begin.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "ProblemJson")]
    error: Option<ProblemJson>,
}

impl ChannelJson {
    /// The answer that shows this.
    pub fn of(
        channel: &str,
        sequence: Option<Sequence>,
        retry_after: Option<u64>,
        error: Option<ProblemJson>,
    ) -> ChannelJson {
        let sequence = sequence.map(RecordNo);
        ChannelJson { channel: channel.to_owned(), sequence, retry_after, error }
    }
}

/// The answer to a control message.
#[derive(Debug, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Accepted")]
pub struct AcceptedJson<'a> {
    id: Option<&'a str>,
    ok: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "RecordNo")]
    sequence: Option<RecordNo>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Timestamp")]
    time: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "bool")]
    cancel_on_disconnect: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<ChannelJson>")]
    channels: Option<Vec<ChannelJson>>,
}

impl<'a> AcceptedJson<'a> {
    /// The answer that shows this.
    pub fn of(
        id: Option<&'a str>,
        sequence: Option<Sequence>,
        time: Option<TimeMs>,
        cancel_on_disconnect: Option<bool>,
        channels: Option<Vec<ChannelJson>>,
    ) -> AcceptedJson<'a> {
        let (sequence, time) = (sequence.map(RecordNo), time.map(Timestamp));
        AcceptedJson { id, ok: true, sequence, time, cancel_on_disconnect, channels }
    }
}

/// The answer to a message that was refused.
#[derive(Debug, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "RefusedMessage")]
pub struct RefusedMessageJson<'a> {
    id: Option<&'a str>,
    status: u16,
    /// The record that refused, or that the check looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "RecordNo")]
    sequence: Option<RecordNo>,
    /// Seconds after which it may be sent again.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64")]
    retry_after: Option<u64>,
    error: ProblemJson,
}

impl<'a> RefusedMessageJson<'a> {
    /// The answer that shows this.
    pub fn of(
        id: Option<&'a str>,
        status: u16,
        sequence: Option<Sequence>,
        retry_after: Option<u64>,
        error: ProblemJson,
    ) -> RefusedMessageJson<'a> {
        RefusedMessageJson { id, status, sequence: sequence.map(RecordNo), retry_after, error }
    }
}
