//! The JSON of a problem (RFC 9457, semantics 7).

use std::borrow::Cow;

use serde::Serialize;

use super::order::ListedOrder;
use super::print::{Unprintable, printed};
use crate::problem::{FieldError, Problem, Told};

/// Initial buffer capacity for a problem.
const BODY_BYTES_USUAL: usize = 256;

/// A problem as its client reads it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ProblemJson {
    r#type: String,
    title: &'static str,
    status: u16,
    detail: Cow<'static, str>,
    code: &'static str,
    request_id: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    errors: Vec<FieldErrorJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    replay: Option<ReplayJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    order: Option<ListedOrder>,
}

/// Replay progress: the sequence numbers of the last record applied and of the journal's last.
#[derive(Debug, Serialize)]
struct ReplayJson {
    applied: u64,
    head: u64,
}

#[derive(Debug, Serialize)]
struct FieldErrorJson {
    field: String,
    code: &'static str,
    detail: Cow<'static, str>,
}

impl From<&FieldError> for FieldErrorJson {
    fn from(error: &FieldError) -> Self {
        let (field, detail) = (error.field.clone(), error.detail.clone());
        FieldErrorJson { field, code: error.code.code(), detail }
    }
}

impl ProblemJson {
    /// The JSON of this problem for a request.
    pub fn of(problem: &Problem, request_id: &str) -> ProblemJson {
        let (status, code) = (problem.kind.status(), problem.kind.code());
        let (replay, order) = match problem.told.as_deref() {
            Some(Told::Replay(done)) => {
                let (applied, head) = (done.applied.get(), done.head.get());
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
            errors: problem.errors.iter().map(FieldErrorJson::from).collect(),
            replay,
            order,
        }
    }
}

/// The body of the answer with this problem.
pub fn print(problem: &Problem, request_id: &str) -> Result<Vec<u8>, Unprintable> {
    printed(&ProblemJson::of(problem, request_id), BODY_BYTES_USUAL)
}

#[cfg(test)]
#[path = "../../../tests/unit/http/wire/problem.rs"]
mod tests;
