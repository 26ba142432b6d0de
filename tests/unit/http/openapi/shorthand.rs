//! Unit tests of `src/http/openapi/shorthand.rs`.

use super::*;

#[test]
fn words_stand_for_schemas() {
    let a = json!({ "$ref": "#/components/schemas/A" });
    assert_eq!(schema_of("A"), a);
    assert_eq!(schema_of("A?"), json!({ "anyOf": [a, { "type": "null" }] }));
    let list = json!({ "type": "array", "items": { "anyOf": [a, { "type": "null" }] } });
    assert_eq!(schema_of("[A?]"), list);
    assert_eq!(screaming("PlaceOrder"), "PLACE_ORDER");
}

#[test]
fn members_of_another_object_are_taken_over_flat() {
    let objects = json!({ "Base": ["A base.", { "a": "A", "b?": "B" }] });
    let objects = objects.as_object().unwrap();
    let wider = object(objects, &json!(["!+", { "+": "Base", "c": ["C", "See."] }])).unwrap();
    assert_eq!(wider["required"], json!(["a", "c"]));
    assert_eq!(wider["properties"]["c"]["description"], "See.");
    assert_eq!(wider["properties"].as_object().unwrap().len(), 3);
    assert_eq!(wider["additionalProperties"], false);
    assert_eq!(wider["minProperties"], 1);
    assert!(object(objects, &json!(["!", { "+": "Nobody" }])).is_err());
}
