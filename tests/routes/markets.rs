//! `GET /markets/public/list` and `GET /markets/{marketId}` (interface 4.1, semantics 3 and 8).

use serde_json::{Value, json};

use super::client::Answer;
use super::paging::List;
use super::shapes;
use super::venue::{FAR, NOBODY, PICTURE, Venue, ids, texts};

const LIST: &str = "/markets/public/list";

/// The ids of the markets in the list.
fn listed(venue: &Venue, query: &str) -> Vec<String> {
    let list = venue.operator.get(&format!("{LIST}?{query}"));
    let list = list.ok(&shapes::page("markets", shapes::market()));
    let found: Vec<String> = ids(&list["markets"]).into_iter().map(str::to_owned).collect();
    assert_eq!(list["total"], found.len());
    found
}

/// The odds and probabilities of yes and no, as shown by the list, by the market alone and by its
/// event.
fn figures(venue: &Venue, market: &str) -> Vec<f64> {
    let alone = venue.operator.get(&format!("/markets/{market}")).ok(&shapes::market_detail());
    let list = venue.operator.get(LIST).json;
    let markets = list["markets"].as_array().unwrap();
    let in_list = markets.iter().find(|other| other["id"] == *market).unwrap();
    assert_eq!(in_list["outcomes"], alone["outcomes"]);
    let outcomes = alone["outcomes"].as_array().unwrap();
    assert_eq!(ids(&alone["outcomes"]), ["yes", "no"]);
    let figures = |outcome: &Value| [&outcome["odd"], &outcome["probability"]].map(Value::as_f64);
    outcomes.iter().flat_map(figures).map(Option::unwrap).collect()
}

#[test]
fn the_list_is_paged() {
    let venue = Venue::open();
    for _ in 0..4 {
        venue.market();
    }
    venue.draft(&json!({}));
    List {
        client: &venue.trader("ann").client,
        path: LIST,
        name: "markets",
        shape: shapes::market(),
        standard: 20,
        max: 1000,
        capped: true,
    }
    .check();
}

#[test]
fn a_long_list_is_compressed_on_request() {
    let venue = Venue::open();
    (0..20).for_each(|_| drop(venue.market()));
    let ask = |headers: &[(&str, &str)]| venue.operator.send("GET", LIST, headers, None);
    let (plain, packed) = (ask(&[]), ask(&[("Accept-Encoding", "br, gzip;q=0.8")]));
    assert_eq!((plain.header("content-encoding"), packed.header("content-encoding")), ("", "gzip"));
    assert_eq!(plain.body, packed.body);
    let length = |answer: &Answer| answer.header("content-length").parse::<usize>().unwrap();
    assert!(length(&packed) * 4 < length(&plain), "{} {}", length(&packed), length(&plain));
    assert_eq!(ask(&[("Accept-Encoding", "gzip;q=0")]).header("content-encoding"), "");
    // A short answer is not compressed.
    let short =
        venue.operator.send("GET", "/categories/public/list", &[("Accept-Encoding", "gzip")], None);
    assert_eq!(short.header("content-encoding"), "");
}

/// Lists are cached: what they show of a market must still be current.
#[test]
fn a_cached_list_shows_later_changes() {
    let venue = Venue::open();
    let market = venue.market();
    let first = || venue.operator.get(LIST).json["markets"][0].clone();
    let shown = first();
    assert_eq!((&shown, &shown["id"]), (&first(), &json!(market)));
    venue.act(&market, "suspend", &json!({}));
    assert_eq!(first()["status"], "SUSPENDED");
    venue.act(&market, "reopen", &json!({}));
    assert_eq!(first(), shown);
    let path = format!("/admin/markets/{market}");
    let revised = venue.operator.patch(&path, &json!({ "logo": "https://example.org/new.png" }));
    assert_eq!(revised.status, 200, "{revised:?}");
    assert_eq!(first()["logo"], "https://example.org/new.png");
}

#[test]
fn the_latest_published_market_comes_first() {
    let venue = Venue::open();
    let [a, b, c] = [(); 3].map(|()| venue.draft(&json!({})));
    for market in [&c, &a, &b] {
        assert_eq!(venue.act(market, "publish", &json!({})).status, 200);
    }
    assert_eq!(listed(&venue, ""), [b.as_str(), &a, &c]);
    // Later status changes do not affect the order.
    venue.act(&c, "suspend", &json!({}));
    venue.act(&c, "reopen", &json!({}));
    venue.settle(&a, "no");
    assert_eq!(listed(&venue, ""), [b, a, c]);
}

#[test]
fn filters_select_as_documented() {
    let venue = Venue::open();
    let [rain, snow, none] = ["rain", "snow", "none"].map(|slug| venue.category(slug));
    let plain = venue.market();
    let wet = venue.market_with(&json!({"categoryIds": [rain], "highlighted": true}));
    let both = venue.market_with(&json!({"categoryIds": [rain, snow]}));
    let cold = venue.market_with(&json!({"categoryIds": [snow], "highlighted": true}));
    let expect = |query: &str, expected: &[&String]| {
        assert_eq!(
            listed(&venue, query),
            expected.iter().map(|id| id.as_str()).collect::<Vec<_>>()
        );
    };
    expect("", &[&cold, &both, &wet, &plain]);
    expect("highlighted=true", &[&cold, &wet]);
    expect("highlighted=false", &[&both, &plain]);
    expect(&format!("categoryIds={rain}"), &[&both, &wet]);
    expect(&format!("categoryIds={rain},{snow}"), &[&cold, &both, &wet]);
    expect(&format!("categoryIds={rain}%2C{snow}&highlighted=true"), &[&cold, &wet]);
    expect(&format!("categoryIds={rain},{rain}"), &[&both, &wet]);
    expect(&format!("categoryIds={none}"), &[]);
    expect(&format!("categoryIds={NOBODY}"), &[]);
    expect(&format!("categoryIds={NOBODY},{snow}"), &[&cold, &both]);
    expect(&format!("categoryIds={}", rain.to_uppercase()), &[&both, &wet]);
    let path = format!("/admin/markets/{plain}");
    let revised = json!({"highlighted": true, "categoryIds": [none]});
    venue.operator.patch(&path, &revised).ok(&shapes::market_detail());
    expect(&format!("highlighted=true&categoryIds={none}"), &[&plain]);
    let page = venue.operator.get(&format!("{LIST}?highlighted=true&limit=1&offset=1"));
    assert_eq!((&page.json["total"], ids(&page.json["markets"])), (&json!(3), vec![wet.as_str()]));
}

#[test]
fn bad_filters_are_named() {
    let venue = Venue::open();
    let ask = |query: &str| venue.operator.get(&format!("{LIST}?{query}"));
    for text in ["", "TRUE", "1", "yes", "true%20", "null"] {
        ask(&format!("highlighted={text}")).bad_as("highlighted", "INVALID_VALUE");
    }
    for text in ["", ",", "rain", "%00", "%FF%FE", &format!("{NOBODY},"), &NOBODY.replace('-', "")]
    {
        ask(&format!("categoryIds={text}")).bad_as("categoryIds", "INVALID_VALUE");
    }
    ask(&format!("categoryIds={NOBODY}&categoryIds={NOBODY}")).bad_as("categoryIds", "REPEATED");
    ask("highlighted=true&highlighted=false").bad_as("highlighted", "REPEATED");
    ask("marketHighlighted=true").bad_as("marketHighlighted", "UNKNOWN_FIELD");
    ask("highlighted=x&categoryIds=y&limit=0&offset=-1&z=1").bad(&[
        "highlighted",
        "categoryIds",
        "limit",
        "offset",
        "z",
    ]);
}

#[test]
fn a_market_shows_the_fields_it_was_created_with() {
    let venue = Venue::open();
    let category = venue.category("rain");
    let market = venue.market_with(&json!({"categoryIds": [category], "logo": "http://h/l.png"}));
    let list = venue.operator.get(LIST).json;
    let shown = &list["markets"][0];
    let outcome =
        |id: &str, text: &str| json!({"id": id, "text": texts(text), "odd": 2, "probability": 0.5});
    assert_eq!(
        *shown,
        json!({
            "id": market, "questions": texts("question"), "descriptions": texts("rules"),
            "outcomes": [outcome("yes", "it will"), outcome("no", "not")], "status": "ACTIVE",
            "logo": "http://h/l.png",
            "categories": [{"id": category, "name": "rain", "slug": "rain"}],
        })
    );
    let alone = venue.operator.get(&format!("/markets/{market}")).ok(&shapes::market_detail());
    assert_eq!((&alone["deadline"], &alone["eventId"]), (&json!(FAR), &Value::Null));
    for (member, value) in shown.as_object().unwrap() {
        assert_eq!(alone[member], *value, "{member}");
    }
}

#[test]
fn one_market_is_found_by_its_id() {
    let venue = Venue::open();
    let ann = venue.trader("ann");
    let market = venue.market();
    let path = format!("/markets/{market}");
    ann.get(&path).ok(&shapes::market_detail());
    ann.get(&format!("/markets/{}", market.to_uppercase())).ok(&shapes::market_detail());
    ann.get(&format!("/markets/{NOBODY}")).refused(404, "MARKET_NOT_FOUND");
    for bad in ["x_", "%00", "%ff", &market.replace('-', ""), &format!("{market}_"), "public"] {
        ann.get(&format!("/markets/{bad}")).bad_as("marketId", "INVALID_VALUE");
    }
    ann.get(&format!("{path}?x=1")).bad_as("x", "UNKNOWN_FIELD");
    ann.get("/markets/x_?y=1").bad(&["marketId", "y"]);
    let draft = venue.draft(&json!({}));
    ann.get(&format!("/markets/{draft}")).refused(404, "MARKET_NOT_FOUND");
    for nowhere in ["/markets", "/markets/", "/markets/public", "/markets/public/list/"] {
        let answer = ann.get(nowhere);
        assert!(matches!(answer.status, 400 | 404), "{answer:?}");
    }
}

#[test]
fn the_probability_shown_follows_the_book_and_then_the_last_trade() {
    let venue = Venue::open();
    let (ann, bob) = (venue.trader("ann"), venue.trader("bob"));
    let market = venue.market();
    let expect = |expected: [f64; 4]| assert_eq!(figures(&venue, &market), expected);
    expect([2.0, 0.5, 2.0, 0.5]);
    // One side alone gives no probability.
    ann.place(&market, "BUY", "yes", "0.20", "1");
    expect([2.0, 0.5, 2.0, 0.5]);
    // 0.20 and 0.31: too wide a spread.
    let wide = bob.place(&market, "SELL", "yes", "0.31", "1").text("orderId");
    expect([2.0, 0.5, 2.0, 0.5]);
    // 0.20 and 0.30: just close enough; the ask is a bid in the book of no.
    bob.place(&market, "BUY", "no", "0.70", "1");
    expect([4.0, 0.25, 1.3333, 0.75]);
    // 0.25 and 0.30: an odd number of ticks.
    ann.place(&market, "SELL", "no", "0.75", "1");
    expect([3.6364, 0.275, 1.3793, 0.725]);
    // A trade at 0.30 leaves 0.25 and 0.31.
    ann.place(&market, "BUY", "yes", "0.30", "1");
    expect([3.5714, 0.28, 1.3889, 0.72]);
    // Without the ask, the last trade counts.
    bob.client.delete(&format!("/trading/orders/{wide}"));
    expect([3.3333, 0.3, 1.4286, 0.7]);
    venue.act(&market, "suspend", &json!({}));
    expect([3.3333, 0.3, 1.4286, 0.7]);
    venue.act(&market, "close", &json!({}));
    expect([3.3333, 0.3, 1.4286, 0.7]);
    venue.settle(&market, "no");
    expect([0.0, 0.0, 1.0, 1.0]);
}

#[test]
fn a_market_that_is_over_shows_what_was_paid() {
    let venue = Venue::open();
    for (action, body, expected) in [
        ("resolve", json!({"winningOutcomeId": "yes"}), [1.0, 1.0, 0.0, 0.0]),
        ("void", json!({}), [2.0, 0.5, 2.0, 0.5]),
        ("void", json!({"price": "0.30"}), [3.3333, 0.3, 1.4286, 0.7]),
        ("void", json!({"price": "0.00"}), [0.0, 0.0, 1.0, 1.0]),
        ("void", json!({"price": "1.00"}), [1.0, 1.0, 0.0, 0.0]),
    ] {
        let market = venue.market_with(&json!({"logo": PICTURE}));
        venue.act(&market, action, &body).ok(&shapes::market_detail());
        assert_eq!(figures(&venue, &market), expected, "{action} {body}");
    }
    // An announced result is not paid yet.
    let market = venue.market_with(&json!({"disputeWindowSeconds": 3600}));
    venue.act(&market, "resolve", &json!({"winningOutcomeId": "yes"}));
    assert_eq!(figures(&venue, &market), [2.0, 0.5, 2.0, 0.5]);
}

#[test]
fn figures_are_written_as_short_numbers() {
    let venue = Venue::open();
    let (ann, bob) = (venue.trader("ann"), venue.trader("bob"));
    let market = venue.market();
    venue.trade(&market, &ann, &bob, "0.60", "1");
    let written = venue.operator.get(LIST).written();
    for figure in ["\"odd\":1.6667", "\"probability\":0.6", "\"odd\":2.5", "\"probability\":0.4"] {
        let found = written.split_once(figure).map(|(_, rest)| rest.starts_with([',', '}']));
        assert_eq!(found, Some(true), "{figure} in {written}");
    }
}
