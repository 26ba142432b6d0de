//! `GET /events/public/list` and `GET /events/{eventId}` (interface 4.2, semantics 3 and 8).

use serde_json::{Value, json};

use super::paging::List;
use super::shapes;
use super::venue::{NOBODY, PICTURE, Venue, ids, texts};

const LIST: &str = "/events/public/list";

/// The events of the list, each with its markets.
fn listed(venue: &Venue, query: &str) -> Vec<(String, Vec<String>)> {
    let list = venue.operator.get(&format!("{LIST}?{query}"));
    let list = list.ok(&shapes::page("events", shapes::event()));
    let events = list["events"].as_array().unwrap();
    assert_eq!(list["total"], events.len(), "{query}");
    let markets = |event: &Value| ids(&event["markets"]).into_iter().map(str::to_owned).collect();
    let id = |event: &Value| event["id"].as_str().unwrap().to_owned();
    events.iter().map(|event| (id(event), markets(event))).collect()
}

#[test]
fn the_list_is_paged() {
    let venue = Venue::open();
    for _ in 0..3 {
        let event = venue.event(&json!({}));
        venue.market_with(&json!({"eventId": event}));
    }
    venue.event(&json!({}));
    List {
        client: &venue.trader("ann").client,
        path: LIST,
        name: "events",
        shape: shapes::event(),
        standard: 20,
        max: 100,
        capped: false,
    }
    .check();
}

#[test]
fn the_latest_published_comes_first_and_drafts_stay_out() {
    let venue = Venue::open();
    let [a, b, c] = [(); 3].map(|()| venue.event(&json!({})));
    let of_c = venue.market_with(&json!({"eventId": c}));
    let of_a = venue.market_with(&json!({"eventId": a}));
    let draft = venue.draft(&json!({"eventId": a}));
    let hidden = venue.draft(&json!({"eventId": b}));
    let first = (a.clone(), vec![of_a.clone()]);
    let last = (c.clone(), vec![of_c.clone()]);
    assert_eq!(listed(&venue, ""), [first.clone(), last.clone()]);
    let ann = venue.trader("ann");
    ann.get(&format!("/events/{b}")).refused(404, "EVENT_NOT_FOUND");
    venue.act(&hidden, "publish", &json!({}));
    assert_eq!(listed(&venue, ""), [(b.clone(), vec![hidden]), first, last]);
    ann.get(&format!("/events/{b}")).ok(&shapes::event_detail());
    let alone = ann.get(&format!("/events/{a}")).ok(&shapes::event_detail());
    assert_eq!(ids(&alone["markets"]), [of_a.as_str()]);
    let whole = venue.operator.get(&format!("/events/{a}")).ok(&shapes::event_detail());
    assert_eq!(ids(&whole["markets"]), [of_a, draft]);
    // Events that are over stay in the list.
    venue.settle(&of_c, "yes");
    let list = venue.operator.get(LIST).json;
    assert_eq!(list["events"][2]["markets"][0]["status"], "SETTLED");
    assert_eq!(list["events"][2]["markets"][0]["outcomes"][0]["probability"], 1);
}

#[test]
fn filters_select_as_documented() {
    let venue = Venue::open();
    let [rain, snow, none] = ["rain", "snow", "none"].map(|slug| venue.category(slug));
    let plain = venue.event(&json!({}));
    let wet = venue.event(&json!({"categoryIds": [rain], "highlighted": true}));
    let m1 = venue.market_with(&json!({"eventId": plain, "highlighted": true}));
    let m2 = venue.market_with(&json!({"eventId": plain, "categoryIds": [snow]}));
    let m3 = venue.market_with(&json!({"eventId": wet}));
    venue.draft(&json!({"eventId": wet, "categoryIds": [none], "highlighted": true}));
    let pick = |event: &String, markets: &[&String]| {
        (event.clone(), markets.iter().map(|id| (*id).clone()).collect::<Vec<_>>())
    };
    let expect = |query: &str, expected: &[(String, Vec<String>)]| {
        assert_eq!(listed(&venue, query), expected, "{query}");
    };
    let (all_wet, all_plain) = (pick(&wet, &[&m3]), pick(&plain, &[&m1, &m2]));
    expect("", &[all_wet.clone(), all_plain.clone()]);
    expect("highlighted=true", std::slice::from_ref(&all_wet));
    expect("highlighted=false", std::slice::from_ref(&all_plain));
    expect("marketHighlighted=true", &[pick(&plain, &[&m1])]);
    expect("marketHighlighted=false", &[all_wet.clone(), pick(&plain, &[&m2])]);
    expect("highlighted=true&marketHighlighted=true", &[]);
    expect(&format!("categoryIds={rain}"), std::slice::from_ref(&all_wet));
    expect(&format!("categoryIds={snow}"), std::slice::from_ref(&all_plain));
    expect(&format!("categoryIds={rain},{snow}"), &[all_wet, all_plain]);
    // The event matches by a market that is not among those shown.
    expect(&format!("categoryIds={snow}&marketHighlighted=true"), &[pick(&plain, &[&m1])]);
    // The categories of drafts are not known to the public.
    expect(&format!("categoryIds={none}"), &[]);
    expect(&format!("categoryIds={NOBODY}"), &[]);
    let ask = |query: &str| venue.operator.get(&format!("{LIST}?{query}"));
    for name in ["highlighted", "marketHighlighted"] {
        for text in ["", "True", "0", "%FF"] {
            ask(&format!("{name}={text}")).bad_as(name, "INVALID_VALUE");
        }
        ask(&format!("{name}=true&{name}=true")).bad_as(name, "REPEATED");
    }
    for text in ["", "rain", &format!(",{rain}"), &format!("{rain};{snow}")] {
        ask(&format!("categoryIds={text}")).bad_as("categoryIds", "INVALID_VALUE");
    }
    ask("highlighted=x&marketHighlighted=x&categoryIds=x&limit=x&offset=x&q=x").bad(&[
        "highlighted",
        "marketHighlighted",
        "categoryIds",
        "limit",
        "offset",
        "q",
    ]);
}

#[test]
fn an_event_shows_the_fields_it_was_created_with() {
    let venue = Venue::open();
    let event = venue.event(&json!({"images": [PICTURE, "http://h/2.png"], "highlighted": true}));
    let market = venue.market_with(&json!({"eventId": event}));
    let list = venue.operator.get(LIST).json;
    let shown = &list["events"][0];
    let outcome = |id: &str, text: &str| json!({"id": id, "text": texts(text), "probability": 0.5});
    assert_eq!(
        shown["markets"],
        json!([{
            "id": market, "questions": texts("question"),
            "status": "ACTIVE",
            "outcomes": [outcome("yes", "it will"), outcome("no", "not")],
        }])
    );
    assert_eq!(shown["images"], json!([PICTURE, "http://h/2.png"]));
    for (member, text) in [("titles", "title"), ("subTitles", "second"), ("descriptions", "long")] {
        assert_eq!(shown[member], texts(text), "{member}");
    }
    let alone = venue.operator.get(&format!("/events/{event}")).ok(&shapes::event_detail());
    for (member, value) in shown.as_object().unwrap() {
        assert_eq!(alone[member], *value, "{member}");
    }
}

#[test]
fn one_event_is_found_by_its_id() {
    let venue = Venue::open();
    let ann = venue.trader("ann");
    ann.get(&format!("/events/{NOBODY}")).refused(404, "EVENT_NOT_FOUND");
    ann.get("/events/x_").bad_as("eventId", "INVALID_VALUE");
    ann.get("/events/x_?y").bad(&["eventId", "y"]);
    let market = venue.market();
    ann.get(&format!("/events/{market}")).refused(404, "EVENT_NOT_FOUND");
}
