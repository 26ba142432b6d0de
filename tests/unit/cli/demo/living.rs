//! Unit tests of `src/cli/demo/living.rs`.

use super::*;

#[test]
fn a_probability_is_read_in_whole_cents() {
    let market = |probability: &str| -> Value {
        let text = format!(r#"{{"outcomes": [{{"id": "yes", "probability": {probability}}}]}}"#);
        serde_json::from_str(&text).unwrap()
    };
    for (text, cents) in [("0.6", 60), ("0.05", 5), ("0.3333", 33), ("0.985", 98)] {
        assert_eq!(price_of_yes(&market(text)), Tick::new(cents), "{text}");
    }
    for text in ["0", "1", "0.001", "null"] {
        assert_eq!(price_of_yes(&market(text)), None, "{text}");
    }
}

#[test]
fn moments_are_read_and_shown() {
    let row = json!({"at": "2026-11-21T12:00:00.250Z"});
    let at = moment(&row, "at").unwrap();
    assert_eq!(shown(at), "2026-11-21T12:00:00.250Z");
    assert_eq!(moment(&row, "else"), None);
}
