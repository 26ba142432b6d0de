//! `POST /admin/categories` (semantics 8).

use serde_json::json;

use super::shapes;
use super::venue::Venue;

#[test]
fn a_category_is_made_once() {
    let venue = Venue::open();
    let operator = &venue.operator;
    let rain = json!({"name": "Chuva é água", "slug": "rain-2_b"});
    let answer = operator.post("/admin/categories", &rain);
    let made = answer.created(&shapes::category());
    assert_eq!((&made["name"], &made["slug"]), (&rain["name"], &rain["slug"]));
    let place = answer.header("location").strip_prefix("/api/v1").unwrap().to_owned();
    assert_eq!(operator.get(&place).ok(&shapes::category()), made);
    operator.post("/admin/categories", &rain).refused(409, "SLUG_TAKEN");
    let list = operator.get("/categories/public/list");
    assert_eq!(list.json["categories"], json!([made]));
}

#[test]
fn every_bad_field_is_named() {
    let venue = Venue::open();
    let post = |body| venue.operator.post("/admin/categories", &body);
    post(json!({})).bad(&["name", "slug"]);
    post(json!({"name": 1, "slug": null, "id": "x"})).bad(&["name", "slug", "id"]);
    for slug in ["", "Rain", "a b", "ä", "a/b", "a\u{0}", &"a".repeat(65)] {
        post(json!({"name": "n", "slug": slug})).bad_as("slug", "INVALID_VALUE");
    }
    for name in ["", " ", "a\u{0}b", "\u{7f}"] {
        post(json!({"name": name, "slug": "s"})).bad_as("name", "INVALID_VALUE");
    }
    post(json!({"name": "n".repeat(201), "slug": "s"})).bad_as("name", "OUT_OF_BOUNDS");
    post(json!({"name": "n".repeat(200), "slug": "s".repeat(64)})).created(&shapes::category());
}
