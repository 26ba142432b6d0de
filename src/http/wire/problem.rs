//! The JSON of a problem (RFC 9457, semantics 7).

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::Serialize;

use super::order::{ListedOrder, OrderJson};
use super::words::{ErrorCode, FieldCode};
use super::{RecordNo, printed};
use crate::problem::{FieldError, Problem, Told};

/// Initial buffer capacity for a problem.
const BODY_BYTES_USUAL: usize = 256;

/// Why a request did not succeed (RFC 9457).
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Problem")]
pub struct ProblemJson {
    r#type: String,
    title: &'static str,
    status: u16,
    detail: Cow<'static, str>,
    #[schemars(with = "ErrorCode")]
    code: &'static str,
    /// As in the header X-Request-Id: name it when you report a fault.
    request_id: String,
    /// Every bad field of a bad form.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    errors: Vec<FieldErrorJson>,
    /// How far the start is, of a venue that is not open yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "ReplayJson")]
    replay: Option<ReplayJson>,
    /// How the order ended, where it is `ORDER_NOT_OPEN`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "OrderJson")]
    order: Option<ListedOrder>,
}

/// How far a start is.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Replay")]
struct ReplayJson {
    /// The last record applied.
    applied: RecordNo,
    /// The last record there is; 0 while the journal is being opened.
    head: RecordNo,
}

answers! {
    /// One bad field of a request.
    FieldErrorJson = "FieldError" (error: &FieldError) {
        /// Its name; members of members as questions.pt, elements as images[0], the body as a
        /// whole as body.
        field: String = error.field.clone();
        #[schemars(with = "FieldCode")]
        code: &'static str = error.code.code();
        detail: Cow<'static, str> = error.detail.clone();
    }
}

impl ProblemJson {
    /// The JSON of this problem for a request.
    pub fn of(problem: &Problem, request_id: &str) -> ProblemJson {
        let (status, code) = (problem.kind.status(), problem.kind.code());
        let (replay, order) = match problem.told.as_deref() {
            Some(Told::Replay(done)) => {
                let (applied, head) = (RecordNo(done.applied), RecordNo(done.head));
                (Some(ReplayJson { applied, head }), None)
            }
            Some(Told::Order(order)) => (None, Some(order.clone())),
            None => (None, None),
        };
        ProblemJson {
            r#type: format!("urn:openoutcry:problem:{code}"),
            title: status.canonical_reason().unwrap_or("Problem"),
            status: status.as_u16(),
            detail: problem.detail.clone(),
            code,
            request_id: request_id.to_owned(),
            errors: problem.errors.iter().map(FieldErrorJson::of).collect(),
            replay,
            order,
        }
    }
}

/// The body of the answer with this problem.
pub fn print(problem: &Problem, request_id: &str) -> Result<Vec<u8>, serde_json::Error> {
    printed(&ProblemJson::of(problem, request_id), BODY_BYTES_USUAL)
}

#[cfg(test)]
#[path = "../../../tests/unit/http/wire/problem.rs"]
mod tests;
