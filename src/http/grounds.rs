//! What operators say beside what they ask for: a reason, a reference, evidence. It is recorded
//! with their commands as their act.

use bytes::Bytes;
use data_encoding::HEXLOWER;
use serde::Deserialize;

use super::bounds::REASON_CHARS_MAX;
use super::json::Json;
use super::members::{Faults, Members, bodies};
use super::parse::{Fault, Read, WebUrl, Words, Written};
use exchange::command::{Act, KeyHash};
use exchange::ids::{KeyNo, Token, UserNo};

/// The member of a body, or the parameter where there is no body, that says why.
pub const REASON: &str = "reason";

/// Why an operator does something.
pub type Reason = Words<REASON_CHARS_MAX>;

/// SHA-256 of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Digest(KeyHash);

impl Written for Digest {
    fn read(text: &str) -> Read<Digest> {
        let bytes = HEXLOWER.decode(text.as_bytes()).ok().and_then(|bytes| bytes.try_into().ok());
        let bytes = bytes.ok_or_else(|| Fault::invalid("must be 64 small hexadecimal digits"))?;
        Ok(Digest(KeyHash(bytes)))
    }
}

bodies! {
    /// What shows that an outcome is right.
    struct Evidence {
        required { "url" => url: WebUrl }
        optional { "sha256" => sha256: Digest }
    }
}

/// The reason alone; what is wrong with it, and all else, is told by whoever reads the whole body.
#[derive(Debug, Default, Deserialize)]
struct Reasoned {
    reason: Option<String>,
}

/// The act of an operator who sends this.
pub fn act(by: (UserNo, Option<KeyNo>), body: &Bytes, query: Option<&str>) -> Box<Act> {
    let reason = if body.is_empty() {
        let mut parameters = form_urlencoded::parse(query.unwrap_or_default().as_bytes());
        parameters.find(|(name, _)| name == REASON).map(|(_, reason)| reason.into_owned())
    } else {
        serde_json::from_slice::<Reasoned>(body).unwrap_or_default().reason
    };
    Box::new(Act { reason, ..Act::of(by.0, by.1) })
}

/// Takes the reason out of a body, and notes what is wrong with it.
pub fn check_reason(json: &mut Json, faults: &mut Faults) {
    let Json::Object(members) = json else { return };
    let reason = members.extract_if(.., |(name, _)| name == REASON).collect();
    if let Some(mut reason) = Members::open(Json::Object(reason), "", faults) {
        reason.optional::<Reason>(REASON, faults);
    }
}

/// Adds what a deposit or withdrawal is called elsewhere.
pub fn refer(act: &mut Option<Box<Act>>, reference: Option<Token>) {
    if let Some(act) = act {
        act.reference = reference;
    }
}

/// Adds what shows that an outcome is right.
pub fn show(act: &mut Option<Box<Act>>, evidence: Option<Evidence>) {
    if let (Some(act), Some(Evidence { url: WebUrl(url), sha256 })) = (act, evidence) {
        act.evidence = Some(url);
        act.evidence_hash = sha256.map(|Digest(hash)| hash);
    }
}
