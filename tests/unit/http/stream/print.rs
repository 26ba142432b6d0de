//! Unit tests of `src/http/stream/print.rs`.

use serde_json::{Value, json};

use super::*;
use crate::problem::Kind;

#[test]
fn a_channel_that_is_refused_says_when_and_from_where_to_ask_again() {
    let busy = Problem::new(Kind::ReplayBusy, "x");
    let busy = Problem { sequence: Some(Sequence::new(7)), ..busy };
    let answer = |came| ChannelAnswer { channel: "account".to_owned(), came };
    let channels = vec![
        answer(Err(busy)),
        answer(Ok(Some(Sequence::new(9)))),
        answer(Err(Problem::keyless())),
    ];
    let text = done(None, &Done::Channels(channels));
    let told: Value = serde_json::from_slice(&text).unwrap();
    let seen = |channel: &Value| {
        let code = channel["error"]["code"].clone();
        (channel["sequence"].clone(), channel["retryAfter"].clone(), code)
    };
    let seen: Vec<_> = told["channels"].as_array().unwrap().iter().map(seen).collect();
    let expected = [
        (json!(7), json!(1), json!("REPLAY_BUSY")),
        (json!(9), Value::Null, Value::Null),
        (Value::Null, Value::Null, json!("MISSING_API_KEY")),
    ];
    assert_eq!(seen, expected);
}
