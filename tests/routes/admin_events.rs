//! `POST /admin/events` and `PATCH /admin/events/{eventId}` (semantics 8).

use serde_json::{Value, json};

use super::shapes;
use super::venue::{NOBODY, PICTURE, Venue, event_body, texts, with, without};

#[test]
fn an_event_is_created_with_its_defaults() {
    let venue = Venue::open();
    let answer = venue.operator.post("/admin/events", &event_body());
    let made = answer.created(&shapes::event_detail());
    for (member, value) in event_body().as_object().unwrap() {
        assert_eq!(made[member], *value, "{member}");
    }
    let rest = (&made["highlighted"], &made["markets"], &made["categoryIds"]);
    assert_eq!(rest, (&json!(false), &json!([]), &json!([])));
    assert_eq!(made["createdAt"], made["updatedAt"]);
    let place = answer.header("location").strip_prefix("/api/v1").unwrap().to_owned();
    assert_eq!(venue.operator.get(&place).ok(&shapes::event_detail()), made);
    let category = venue.category("rain");
    let more = json!({"categoryIds": [category], "highlighted": true, "images": []});
    let made = venue.operator.post("/admin/events", &with(event_body(), &more));
    let made = made.created(&shapes::event_detail());
    for (member, value) in more.as_object().unwrap() {
        assert_eq!(made[member], *value, "{member}");
    }
}

#[test]
fn every_bad_field_is_named() {
    let venue = Venue::open();
    let post = |body: &Value| venue.operator.post("/admin/events", body);
    let whole = event_body();
    post(&json!({})).bad(&["titles", "subTitles", "descriptions", "images"]);
    for name in ["titles", "subTitles", "descriptions", "images"] {
        post(&without(whole.clone(), name)).bad_as(name, "REQUIRED");
        for wrong in [json!(null), json!("x"), json!(1)] {
            post(&with(whole.clone(), &json!({name: wrong}))).bad_as(name, "WRONG_TYPE");
        }
    }
    for name in ["titles", "subTitles", "descriptions"] {
        let text = json!({"pt": "a", "en": 1, "fr": "c"});
        let fields = ["en", "es", "fr"].map(|language| format!("{name}.{language}"));
        let answer = post(&with(whole.clone(), &json!({name: text})));
        answer.bad(&fields.each_ref().map(String::as_str));
        let long = json!({"pt": "a".repeat(5001), "en": "a", "es": "\u{1}"});
        let fields = ["pt", "es"].map(|language| format!("{name}.{language}"));
        let answer = post(&with(whole.clone(), &json!({name: long})));
        answer.bad(&fields.each_ref().map(String::as_str));
    }
    let images = json!({"images": [PICTURE, "ftp://h/x", 1, PICTURE]});
    post(&with(whole.clone(), &images)).bad(&["images[1]", "images[2]", "images[3]"]);
    let many: Vec<String> = (0..9).map(|n| format!("https://h/{n}")).collect();
    post(&with(whole.clone(), &json!({"images": many}))).bad_as("images", "OUT_OF_BOUNDS");
    let more = json!({"highlighted": "true", "categoryIds": ["x"], "markets": [], "id": NOBODY});
    post(&with(whole.clone(), &more)).bad(&["highlighted", "categoryIds[0]", "markets", "id"]);
    let unknown = with(whole, &json!({"categoryIds": [NOBODY]}));
    post(&unknown).refused(404, "CATEGORY_NOT_FOUND");
}

#[test]
fn an_event_is_revised_field_by_field() {
    let venue = Venue::open();
    let category = venue.category("rain");
    let id = venue.event(&json!({"categoryIds": [category]}));
    let path = format!("/admin/events/{id}");
    let mut expected = venue.operator.get(&format!("/events/{id}")).json;
    for change in [
        json!({"titles": texts("new")}),
        json!({"subTitles": texts("newer"), "descriptions": texts("newest")}),
        json!({"images": ["https://h/1.png", "https://h/2.png"]}),
        json!({"highlighted": true}),
    ] {
        let answer = venue.operator.patch(&path, &change);
        let revised = answer.ok(&shapes::event_detail());
        expected = with(expected, &change);
        expected["updatedAt"] = revised["updatedAt"].clone();
        assert_eq!(revised, expected);
        let read = venue.operator.get(&format!("/events/{id}"));
        assert_eq!((read.json.clone(), read.sequence()), (revised, answer.sequence()));
    }
    let none = venue.operator.patch(&path, &json!({"categoryIds": []})).ok(&shapes::event_detail());
    assert_eq!((&none["categories"], &none["categoryIds"]), (&json!([]), &json!([])));
    let patch = |body: Value| venue.operator.patch(&path, &body);
    patch(json!({})).bad_as("body", "REQUIRED");
    patch(json!({"titles": null, "image": []})).bad(&["titles", "image"]);
    patch(json!({"categoryIds": [NOBODY]})).refused(404, "CATEGORY_NOT_FOUND");
    let change = json!({"highlighted": false});
    let nobody = format!("/admin/events/{NOBODY}");
    venue.operator.patch(&nobody, &change).refused(404, "EVENT_NOT_FOUND");
    venue.operator.patch("/admin/events/x_", &json!({"a": 1})).bad(&["eventId", "body", "a"]);
}
