//! Unit tests of `src/http/admin_form.rs`.

use super::*;
use crate::form::Form;

const TEXT: &str = r#"{"pt":"a","en":"b","es":"c"}"#;

bodies! {
    /// The outcomes alone.
    struct Outcomes {
        required { "outcomes" => outcomes: OutcomeTexts }
    }
}

fn read(body: &str) -> Result<OutcomeTexts, Vec<String>> {
    let mut form = Form::new(&[], None).with_body(body.as_bytes());
    let body = form.body::<Outcomes>();
    form.finish(body).map(|body| body.outcomes).map_err(|problem| {
        problem.errors.iter().map(|e| format!("{} {}", e.field, e.code.code())).collect()
    })
}

fn body(ids: &[&str]) -> String {
    let outcomes: Vec<String> =
        ids.iter().map(|id| format!(r#"{{"id":"{id}","text":{TEXT}}}"#)).collect();
    format!(r#"{{"outcomes":[{}]}}"#, outcomes.join(","))
}

#[test]
fn both_outcomes_are_needed_once_each() {
    assert!(read(&body(&["yes", "no"])).is_ok());
    assert!(read(&body(&["no", "yes"])).is_ok());
    assert_eq!(read(&body(&["yes", "yes"])).unwrap_err(), ["outcomes[1].id REPEATED"]);
    assert_eq!(read(&body(&["yes"])).unwrap_err(), ["outcomes OUT_OF_BOUNDS"]);
    assert_eq!(read(&body(&[])).unwrap_err(), ["outcomes OUT_OF_BOUNDS"]);
    assert_eq!(read(&body(&["yes", "no", "no"])).unwrap_err(), ["outcomes OUT_OF_BOUNDS"]);
    let both = ["outcomes[0].id INVALID_VALUE", "outcomes OUT_OF_BOUNDS"];
    assert_eq!(read(&body(&["maybe"])).unwrap_err(), both);
}

#[test]
fn a_missing_language_is_named() {
    let body = r#"{"outcomes":[{"id":"yes","text":{"pt":"a","en":"b"}},{"id":"no"}]}"#;
    let errors = read(body).unwrap_err();
    assert_eq!(errors, ["outcomes[0].text.es REQUIRED", "outcomes[1].text REQUIRED"]);
    // Other faults are still reported.
    let half = r#"{"outcomes":[{"id":"yes","text":{"pt":"a","en":"b"}}]}"#;
    let named = ["outcomes[0].text.es REQUIRED", "outcomes OUT_OF_BOUNDS"];
    assert_eq!(read(half).unwrap_err(), named);
    let twice = r#"{"outcomes":[{"id":"yes","text":{"pt":"a","en":"b"}},{"id":"yes"}]}"#;
    let errors = read(twice).unwrap_err();
    assert!(errors.contains(&"outcomes[1].id REPEATED".to_owned()), "{errors:?}");
}
