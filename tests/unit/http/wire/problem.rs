//! Unit tests of `src/http/wire/problem.rs`.

use super::*;
use crate::problem::FieldCode;

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
