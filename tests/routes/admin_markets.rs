//! `POST` and `GET /admin/markets` and `PATCH /admin/markets/{marketId}` (semantics 8).

use serde_json::{Value, json};

use super::paging::List;
use super::shapes;
use super::venue::{FAR, NOBODY, PICTURE, Venue, ids, market_body, texts, with, without};

#[test]
fn a_market_is_created_with_its_defaults() {
    let venue = Venue::open();
    let answer = venue.operator.post("/admin/markets", &market_body());
    let made = answer.created(&shapes::market_detail());
    for (member, value) in without(market_body(), "outcomes").as_object().unwrap() {
        assert_eq!(made[member], *value, "{member}");
    }
    assert_eq!(made["outcomes"][0]["text"], texts("it will"));
    for (member, value) in [
        ("status", json!("DRAFT")),
        ("categoryIds", json!([])),
        ("eventId", Value::Null),
        ("highlighted", json!(false)),
        ("disputeWindowSeconds", json!(0)),
        ("makerFee", json!("0.0000")),
        ("takerFee", json!("0.0000")),
        ("winningOutcomeId", Value::Null),
        ("publishedAt", Value::Null),
    ] {
        assert_eq!(made[member], value, "{member}");
    }
    let place = answer.header("location").strip_prefix("/api/v1").unwrap().to_owned();
    assert_eq!(venue.operator.get(&place).ok(&shapes::market_detail()), made);

    let (category, event) = (venue.category("rain"), venue.event(&json!({})));
    let more = json!({"categoryIds": [category], "eventId": event, "highlighted": true,
        "disputeWindowSeconds": 86400, "makerFee": "0.0200", "takerFee": "0.0700"});
    let made = venue.operator.post("/admin/markets", &with(market_body(), &more));
    let made = made.created(&shapes::market_detail());
    for (member, value) in more.as_object().unwrap() {
        assert_eq!(made[member], *value, "{member}");
    }
    assert_eq!(made["categories"][0]["slug"], "rain");
}

#[test]
fn every_bad_field_is_named() {
    let venue = Venue::open();
    let post = |body: &Value| venue.operator.post("/admin/markets", body);
    let whole = market_body();
    let names = ["questions", "descriptions", "outcomes", "logo", "deadline"];
    post(&json!({})).bad(&names);
    for name in names {
        post(&without(whole.clone(), name)).bad_as(name, "REQUIRED");
        for wrong in [json!(null), json!(true), json!(1)] {
            post(&with(whole.clone(), &json!({name: wrong}))).bad_as(name, "WRONG_TYPE");
        }
    }
    let yes = json!({"id": "yes", "text": texts("a")});
    for (outcomes, fields) in [
        (json!([]), &["outcomes"][..]),
        (json!([yes]), &["outcomes"]),
        (json!([yes, yes]), &["outcomes[1].id"]),
        (json!([yes, yes, yes]), &["outcomes"]),
        (json!([yes, {"id": "maybe", "text": texts("b")}]), &["outcomes[1].id"]),
        (json!([yes, {"id": "no"}]), &["outcomes[1].text"]),
        (
            json!([yes, {"id": "no", "text": {}, "odd": 2}]),
            &[
                "outcomes[1].text.pt",
                "outcomes[1].text.en",
                "outcomes[1].text.es",
                "outcomes[1].odd",
            ],
        ),
        (json!([yes, "no"]), &["outcomes[1]"]),
    ] {
        post(&with(whole.clone(), &json!({"outcomes": outcomes}))).bad(fields);
    }
    for deadline in ["2001-01-01T00:00:00Z", "1970-01-01T00:00:00Z"] {
        let past = with(whole.clone(), &json!({"deadline": deadline}));
        post(&past).bad_as("deadline", "NOT_IN_FUTURE");
        // The deadline is reported together with the other errors.
        post(&with(past, &json!({"logo": "x", "extra": 1}))).bad(&["logo", "extra", "deadline"]);
    }
    for (member, wrong, code) in [
        ("deadline", json!("2999-01-01"), "INVALID_VALUE"),
        ("deadline", json!("1960-01-01T00:00:00Z"), "OUT_OF_BOUNDS"),
        ("logo", json!("not a url"), "INVALID_VALUE"),
        ("logo", json!(format!("https://{}", "h".repeat(2048))), "OUT_OF_BOUNDS"),
        ("eventId", json!("x"), "INVALID_VALUE"),
        ("eventId", json!(null), "WRONG_TYPE"),
        ("highlighted", json!(0), "WRONG_TYPE"),
        ("disputeWindowSeconds", json!("0"), "WRONG_TYPE"),
        ("disputeWindowSeconds", json!(-1), "WRONG_TYPE"),
        ("disputeWindowSeconds", json!(1.5), "WRONG_TYPE"),
        ("disputeWindowSeconds", json!(u64::MAX), "OUT_OF_BOUNDS"),
        ("categoryIds", json!("x"), "WRONG_TYPE"),
        ("status", json!("ACTIVE"), "UNKNOWN_FIELD"),
    ] {
        post(&with(whole.clone(), &json!({member: wrong}))).bad_as(member, code);
    }
    for (member, wrong, code) in [
        ("eventId", json!(NOBODY), "EVENT_NOT_FOUND"),
        ("categoryIds", json!([NOBODY]), "CATEGORY_NOT_FOUND"),
    ] {
        post(&with(whole.clone(), &json!({member: wrong}))).refused(404, code);
    }
    assert_eq!(venue.operator.get("/admin/markets").json["total"], 0);
}

#[test]
fn a_market_is_revised_field_by_field() {
    let venue = Venue::open();
    let category = venue.category("rain");
    let id = venue.market();
    let path = format!("/admin/markets/{id}");
    let mut expected = venue.operator.get(&format!("/markets/{id}")).json;
    for change in [
        json!({"questions": texts("new")}),
        json!({"descriptions": texts("newer"), "logo": "http://h/1.png"}),
        json!({"highlighted": true, "deadline": "2998-12-31T23:59:59.999Z"}),
    ] {
        let answer = venue.operator.patch(&path, &change);
        let revised = answer.ok(&shapes::market_detail());
        expected = with(expected, &change);
        expected["updatedAt"] = revised["updatedAt"].clone();
        assert_eq!(revised, expected);
        let read = venue.operator.get(&format!("/markets/{id}"));
        assert_eq!((read.json.clone(), read.sequence()), (revised, answer.sequence()));
    }
    let tagged = venue.operator.patch(&path, &json!({"categoryIds": [category]}));
    assert_eq!(tagged.ok(&shapes::market_detail())["categories"][0]["slug"], "rain");
    let patch = |body: Value| venue.operator.patch(&path, &body);
    patch(json!({})).bad_as("body", "REQUIRED");
    patch(
        json!({"logo": PICTURE, "status": "SETTLED", "eventId": NOBODY, "disputeWindowSeconds": 1}),
    )
    .bad(&["status", "eventId", "disputeWindowSeconds"]);
    patch(json!({"deadline": "2001-01-01T00:00:00Z"})).bad_as("deadline", "NOT_IN_FUTURE");
    patch(json!({"deadline": "2001-01-01T00:00:00Z", "logo": "x"})).bad(&["deadline", "logo"]);
    patch(json!({"deadline": "2999-01-01T00:00:00Z", "logo": "x"})).bad(&["logo"]);
    patch(json!({"categoryIds": [NOBODY]})).refused(404, "CATEGORY_NOT_FOUND");
    let nobody = format!("/admin/markets/{NOBODY}");
    let change = json!({"logo": PICTURE});
    venue.operator.patch(&nobody, &change).refused(404, "MARKET_NOT_FOUND");
    venue.operator.patch("/admin/markets/x_", &json!({"a": 1})).bad(&["marketId", "body", "a"]);
    venue.act(&id, "close", &json!({}));
    patch(json!({"deadline": FAR})).refused(409, "INVALID_TRANSITION");
}

#[test]
fn the_operators_list_includes_drafts_newest_first() {
    let venue = Venue::open();
    let category = venue.category("rain");
    let a = venue.draft(&json!({"highlighted": true}));
    let b = venue.draft(&json!({"categoryIds": [category]}));
    let c = venue.market();
    venue.act(&a, "publish", &json!({}));
    let listed = |query: &str| -> Vec<String> {
        let list = venue.operator.get(&format!("/admin/markets?{query}"));
        let list = list.ok(&shapes::page("markets", shapes::market_detail()));
        ids(&list["markets"]).into_iter().map(str::to_owned).collect()
    };
    assert_eq!(listed(""), [c.as_str(), &b, &a]);
    assert_eq!(listed("status=DRAFT"), [b.as_str()]);
    assert_eq!(listed("status=ACTIVE"), [c.as_str(), &a]);
    assert_eq!(listed("highlighted=true"), [a.as_str()]);
    assert_eq!(listed(&format!("categoryIds={category}")), [b.as_str()]);
    let ask = |query: &str| venue.operator.get(&format!("/admin/markets?{query}"));
    ask("status=open&highlighted=&x=").bad(&["status", "highlighted", "x"]);
    List {
        client: &venue.operator,
        path: "/admin/markets",
        name: "markets",
        shape: shapes::market_detail(),
        standard: 20,
        max: 1000,
        capped: true,
    }
    .check();
}
