//! The JSON of a problem (RFC 9457, semantics 7).

use serde::Serialize;

use crate::api::problem::{FieldError, Problem};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ProblemJson<'a> {
    r#type: String,
    title: &'a str,
    status: u16,
    detail: &'a str,
    code: &'a str,
    request_id: &'a str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    errors: Vec<FieldErrorJson<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    replay: Option<ReplayJson>,
}

/// How far a start is: the sequences of the last record applied and of the journal's last.
#[derive(Serialize)]
struct ReplayJson {
    applied: u64,
    head: u64,
}

#[derive(Serialize)]
struct FieldErrorJson<'a> {
    field: &'a str,
    code: &'static str,
    detail: &'a str,
}

impl<'a> From<&'a FieldError> for FieldErrorJson<'a> {
    fn from(error: &'a FieldError) -> Self {
        FieldErrorJson { field: &error.field, code: error.code.code(), detail: &error.detail }
    }
}

/// The body of the answer that reports this problem to the request of this id.
pub fn print(problem: &Problem, request_id: &str) -> Result<Vec<u8>, serde_json::Error> {
    let (status, code) = (problem.kind.status(), problem.kind.code());
    serde_json::to_vec(&ProblemJson {
        r#type: format!("urn:openoutcry:problem:{code}"),
        title: status.canonical_reason().unwrap_or("Problem"),
        status: status.as_u16(),
        detail: &problem.detail,
        code,
        request_id,
        errors: problem.errors.iter().map(FieldErrorJson::from).collect(),
        replay: problem
            .replay
            .as_ref()
            .map(|done| ReplayJson { applied: done.applied.get(), head: done.head.get() }),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::problem::FieldCode;

    #[test]
    fn a_problem_has_the_members_of_semantics_7() {
        let problem = Problem::invalid(vec![FieldError {
            field: "price".to_owned(),
            code: FieldCode::Required,
            detail: "is missing".into(),
        }]);
        let bytes = print(&problem, "r-1").unwrap();
        let json: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
        assert_eq!(json["status"], 400);
        assert_eq!(json["code"], "INVALID_REQUEST");
        assert_eq!(json["requestId"], "r-1");
        assert_eq!(json["errors"][0]["field"], "price");
        assert_eq!(json["errors"][0]["code"], "REQUIRED");
        for member in ["type", "title", "detail"] {
            assert!(json[member].is_string(), "{member}");
        }
    }
}
