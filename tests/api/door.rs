//! The whole API through its request handler: what every endpoint answers.

use std::io::Read;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Body;
use hyper::{Method, Request};
use serde_json::{Value, json};

use super::{NOBODY, Venue, keys, order};

#[tokio::test]
async fn without_a_key_every_path_answers_that_a_key_is_needed() {
    let venue = Venue::open().await;
    for path in ["/trading/orders", "/no/such/path", "/admin/users", "/markets/x"] {
        let request = Request::get(format!("/api/v1{path}")).header("host", "x");
        let request = request.body(Full::default()).unwrap();
        let came = venue.send(request).await;
        assert_eq!((came.status, came.code()), (401, "MISSING_API_KEY"), "{path}");
        assert_eq!(came.header("content-type"), "application/problem+json");
        assert_eq!(came.header("x-request-id"), came.json["requestId"].as_str().unwrap());
        assert_eq!(came.header("sequence"), "");
        let came = venue.get("ook_wrong", path).await;
        assert_eq!((came.status, came.code()), (401, "INVALID_API_KEY"), "{path}");
    }
    let twice = Request::get("/api/v1/x").header("host", "x");
    let twice = twice.header("x-api-key", "a").header("x-api-key", "b");
    let came = venue.send(twice.body(Full::default()).unwrap()).await;
    assert_eq!((came.status, came.errors()), (400, vec!["X-API-Key REPEATED".to_owned()]));
}

#[tokio::test]
async fn request_errors_are_checked_in_a_fixed_order() {
    let venue = Venue::open().await;
    let (_, trader) = venue.trader("ann").await;
    let request = |method: &str, path: &str, headers: &[(&str, &str)], body: &str| {
        let mut request = Request::builder().method(method).uri(path).header("host", "x");
        request = request.header("x-api-key", &trader);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.body(Full::new(Bytes::from(body.to_owned()))).unwrap()
    };
    let long = format!("/api/v1/x?{}", "a".repeat(8192));
    let large = "x".repeat(17_000);
    let much = "x".repeat(65 * 1024);
    let orders = "/api/v1/trading/orders";
    let html = ("accept", "text/html");
    let plain = ("content-type", "text/plain");
    let length = ("content-length", "1");
    for (request, status, code) in [
        (request("GET", &long, &[], ""), 414, "URI_TOO_LONG"),
        (request("GET", orders, &[("x-a", &large)], ""), 431, "HEADERS_TOO_LARGE"),
        (request("PUT", "/api/v1/none", &[html], ""), 404, "NOT_FOUND"),
        (request("PUT", orders, &[html], ""), 405, "METHOD_NOT_ALLOWED"),
        (request("POST", "/api/v1/admin/users", &[html], ""), 403, "FORBIDDEN"),
        (request("POST", orders, &[html, plain], ""), 406, "NOT_ACCEPTABLE"),
        (request("POST", orders, &[plain], ""), 415, "UNSUPPORTED_MEDIA_TYPE"),
        (request("POST", orders, &[], ""), 411, "LENGTH_REQUIRED"),
        (request("POST", orders, &[length], &much), 413, "CONTENT_TOO_LARGE"),
        (request("POST", orders, &[length], "{"), 400, "INVALID_REQUEST"),
    ] {
        let came = venue.send(request).await;
        assert_eq!((came.status, came.code()), (status, code));
    }
    let came = venue.send(request("PUT", orders, &[], "")).await;
    assert_eq!(came.header("allow"), "GET, POST, DELETE, HEAD");
}

#[tokio::test]
async fn each_party_of_a_trade_sees_its_own_side_and_outcome() {
    let venue = Venue::open().await;
    let market = venue.market().await;
    let (ann_id, ann) = venue.trader("ann").await;
    let (_, bob) = venue.trader("bob").await;

    let rests = venue.place(&ann, order(&market, "BUY", "yes", "0.6", "10")).await;
    assert_eq!((rests.status, &rests.json["status"]), (200, &json!("OPEN")));
    assert_eq!(rests.json["remainingQuantity"], "10");
    assert_eq!(rests.json["averageFillPrice"], "0.00");

    let taker = venue.place(&bob, order(&market, "BUY", "no", "0.45", "4")).await;
    assert_eq!(taker.json["status"], "FILLED");
    assert_eq!(taker.json["averageFillPrice"], "0.40");
    assert_eq!(taker.json["filledCost"], "1.60");
    assert_eq!(keys(&taker.json["trades"][0]), ["id", "price", "quantity", "timestamp"]);
    assert_eq!(taker.json["trades"][0]["price"], "0.40");
    assert_eq!(taker.header("sequence"), taker.json["sequence"].to_string());

    let depth = venue.get(&bob, &format!("/trading/books/{market}/depth?outcome=no")).await;
    assert_eq!(depth.json["asks"], json!([{"price": "0.40", "quantity": "6", "orders": 1}]));
    assert_eq!(depth.json["bestBid"], "0.00");
    assert_eq!((&depth.json["bestAsk"], &depth.json["spread"]), (&json!("0.40"), &json!("0.40")));

    let orders = venue.get(&ann, "/trading/orders?active=true").await;
    let own = &orders.json["orders"][0];
    assert_eq!(own["status"], "PARTIALLY_FILLED");
    assert_eq!((&own["filledQuantity"], &own["averageFillPrice"]), (&json!("4"), &json!("0.60")));

    let positions = venue.get(&ann, "/trading/positions").await;
    let position = &positions.json["positions"][0];
    assert_eq!(position["totalStake"].to_string(), "2.4");
    assert_eq!(position["oddLocked"].to_string(), "1.6667");
    assert_eq!(position["userId"], json!(ann_id));
    assert_eq!(position["market"]["winningOutcomeId"], Value::Null);

    let activity = venue.get(&ann, &format!("/markets/{market}/activity")).await;
    assert_eq!(activity.json["total"], 2);
    let trade = &activity.json["activities"][0];
    assert_eq!((&trade["type"], &trade["outcomeId"]), (&json!("TRADE"), &json!("no")));
    assert_eq!(
        (trade["stake"].to_string(), trade["odd"].to_string()),
        ("1.6".into(), "2.5".into())
    );
    assert_eq!(activity.json["activities"][1]["type"], "MARKET_PUBLISHED");

    let fills = venue.get(&bob, &format!("/trading/fills?marketId={market}")).await;
    assert_eq!((&fills.json["total"], &fills.json["limit"]), (&json!(1), &json!(50)));
    assert_eq!(fills.json["fills"][0]["liquidity"], "TAKER");
    let balance = venue.get(&bob, "/trading/balance").await;
    assert_eq!(balance.json, json!({"available": "98.40", "reserved": "0.00", "currency": "USD"}));
}

#[tokio::test]
async fn orders_are_amended_and_cancelled_by_their_owner_only() {
    let venue = Venue::open().await;
    let market = venue.market().await;
    let (_, ann) = venue.trader("ann").await;
    let (_, bob) = venue.trader("bob").await;
    let placed = venue.place(&ann, order(&market, "BUY", "yes", "0.10", "10")).await;
    let path = format!("/trading/orders/{}", placed.text("orderId"));

    for method in [Method::GET, Method::DELETE] {
        let came = venue.call(&bob, method, &path, None).await;
        assert_eq!((came.status, came.code()), (404, "ORDER_NOT_FOUND"));
    }
    let nothing = venue.call(&ann, Method::PATCH, &path, Some(json!({}))).await;
    assert_eq!(nothing.errors(), ["body REQUIRED"]);
    let amended = venue.call(&ann, Method::PATCH, &path, Some(json!({"quantity": "4"}))).await;
    assert_eq!((amended.status, &amended.json["originalQuantity"]), (200, &json!("4")));
    let cancelled = venue.call(&ann, Method::DELETE, &path, None).await;
    assert_eq!((cancelled.status, &cancelled.json["status"]), (200, &json!("CANCELLED")));
    assert_eq!(cancelled.json["cancelReason"], "USER");
    assert_eq!(cancelled.json["cancelledQuantity"], "4");
    let again = venue.call(&ann, Method::DELETE, &path, None).await;
    assert_eq!((again.status, again.code()), (409, "ORDER_NOT_OPEN"));

    let second = venue.place(&ann, order(&market, "SELL", "yes", "0.90", "1")).await;
    let path = format!("/trading/orders?marketId={market}");
    let all = venue.call(&ann, Method::DELETE, &path, None).await;
    assert_eq!(all.json["cancelled"], json!([second.text("orderId")]));
}

#[tokio::test]
async fn every_bad_field_of_an_order_is_named() {
    let venue = Venue::open().await;
    let (_, ann) = venue.trader("ann").await;
    let came = venue
        .place(
            &ann,
            json!({"marketId": "x", "outcomeId": "maybe", "side": "buy",
        "orderType": "MARKET", "price": 0.6, "quantity": "0", "timeInForce": "IOC",
        "expiresAt": "2999-01-01T00:00:00Z", "postOnly": "yes", "clientId": "1"}),
        )
        .await;
    assert_eq!((came.status, came.code()), (400, "INVALID_REQUEST"));
    let mut errors = came.errors();
    errors.sort_unstable();
    assert_eq!(
        errors,
        [
            "clientId UNKNOWN_FIELD",
            "expiresAt INVALID_VALUE",
            "marketId INVALID_VALUE",
            "orderType INVALID_VALUE",
            "outcomeId INVALID_VALUE",
            "postOnly WRONG_TYPE",
            "price WRONG_TYPE",
            "quantity OUT_OF_BOUNDS",
            "side INVALID_VALUE",
        ]
    );
    let copied = {
        let market = venue.market().await;
        let mut order = order(&market, "BUY", "yes", "0.60", "1");
        order["copyFromTraderId"] = json!(NOBODY);
        venue.place(&ann, order).await
    };
    assert_eq!((copied.status, copied.code()), (404, "USER_NOT_FOUND"));
}

#[tokio::test]
async fn a_draft_is_hidden_from_traders() {
    let venue = Venue::open().await;
    let draft = venue.draft().await;
    let (_, ann) = venue.trader("ann").await;
    let unknown = NOBODY.to_owned();
    for market in [&draft, &unknown] {
        for path in [
            format!("/markets/{market}"),
            format!("/markets/{market}/activity"),
            format!("/trading/books/{market}/depth?outcome=yes"),
        ] {
            let came = venue.get(&ann, &path).await;
            assert_eq!((came.status, came.code()), (404, "MARKET_NOT_FOUND"), "{path}");
        }
        let placed = venue.place(&ann, order(market, "BUY", "yes", "0.60", "1")).await;
        assert_eq!((placed.status, placed.code()), (404, "MARKET_NOT_FOUND"));
        let listed = venue.get(&ann, &format!("/trading/orders?marketId={market}")).await;
        assert_eq!(listed.json, json!({"orders": []}));
    }
    assert_eq!(venue.get(&ann, "/markets/public/list").await.json["total"], 0);
    assert_eq!(venue.get(&venue.operator, "/admin/markets").await.json["total"], 1);
}

#[tokio::test]
async fn lists_have_the_shapes_of_the_interface() {
    let venue = Venue::open().await;
    let (_, ann) = venue.trader("ann").await;
    let text = json!({"pt": "p", "en": "e", "es": "s"});
    let slug = json!({"name": "Rain", "slug": "rain"});
    let category = venue.post("/admin/categories", slug.clone()).await;
    assert_eq!(category.status, 201);
    assert_eq!(venue.post("/admin/categories", slug).await.code(), "SLUG_TAKEN");
    let category = category.text("id");
    let event = venue
        .post(
            "/admin/events",
            json!({"titles": text, "subTitles": text, "descriptions": text,
            "images": ["https://h/1.png"], "categoryIds": [category]}),
        )
        .await;
    assert_eq!(event.status, 201, "{}", event.json);
    let event = event.text("id");
    let path = format!("/events/{event}");
    assert_eq!(venue.get(&ann, &path).await.code(), "EVENT_NOT_FOUND");

    let market = json!({"questions": text, "descriptions": text, "logo": "https://h/l.png",
        "outcomes": [{"id": "no", "text": text}, {"id": "yes", "text": text}],
        "deadline": "2999-01-01T00:00:00Z", "eventId": event, "highlighted": true});
    let draft = venue.post("/admin/markets", market.clone()).await;
    assert_eq!((&draft.json["eventId"], &draft.json["status"]), (&json!(event), &json!("DRAFT")));
    assert_eq!(venue.get(&ann, "/events/public/list").await.json["total"], 0);
    let market = venue.post("/admin/markets", market).await.text("id");
    venue.post(&format!("/admin/markets/{market}/publish"), json!({})).await;

    let markets = venue.get(&ann, "/markets/public/list?highlighted=true&limit=5000").await;
    assert_eq!(keys(&markets.json), ["limit", "markets", "offset", "total"]);
    assert_eq!((&markets.json["limit"], &markets.json["total"]), (&json!(1000), &json!(1)));
    let shape = ["categories", "descriptions", "id", "logo", "outcomes", "questions", "status"];
    assert_eq!(keys(&markets.json["markets"][0]), shape);
    let outcome = &markets.json["markets"][0]["outcomes"][0];
    assert_eq!(*outcome, json!({"id": "yes", "text": text, "odd": 2, "probability": 0.5}));

    let query = format!("/events/public/list?marketHighlighted=true&categoryIds={category}");
    let events = venue.get(&ann, &query).await;
    assert_eq!(events.json["total"], 1, "{}", events.json);
    let shape = [
        "createdAt",
        "descriptions",
        "highlighted",
        "id",
        "images",
        "markets",
        "subTitles",
        "titles",
        "updatedAt",
    ];
    assert_eq!(keys(&events.json["events"][0]), shape);
    assert_eq!(events.json["events"][0]["markets"].as_array().map(Vec::len), Some(1));
    let inside = &events.json["events"][0]["markets"][0];
    assert_eq!(keys(inside), ["id", "outcomes", "questions", "status"]);
    assert_eq!(keys(&inside["outcomes"][0]), ["id", "probability", "text"]);
    let query = format!("/events/public/list?categoryIds={NOBODY}");
    assert_eq!(venue.get(&ann, &query).await.json["total"], 0);
    assert_eq!(venue.get(&ann, "/events/public/list?limit=101").await.status, 400);
    assert_eq!(venue.get(&ann, &path).await.status, 200);
}

#[tokio::test]
async fn a_market_goes_through_its_life_and_shows_each_status() {
    let venue = Venue::open().await;
    let market = venue.market().await;
    let act = |action: &str| format!("/admin/markets/{market}/{action}");
    let empty = venue.call(&venue.operator, Method::POST, &act("suspend"), None).await;
    assert_eq!(empty.json["status"], "SUSPENDED");
    let again = venue.post(&act("suspend"), json!({})).await;
    assert_eq!((again.status, again.code()), (409, "INVALID_TRANSITION"));
    assert_eq!(venue.post(&act("reopen"), json!({})).await.json["status"], "ACTIVE");
    let past = json!({"deadline": "2001-01-01T00:00:00Z"});
    let path = format!("/admin/markets/{market}");
    let revised = venue.call(&venue.operator, Method::PATCH, &path, Some(past)).await;
    assert_eq!((revised.status, revised.code()), (400, "INVALID_REQUEST"));
    assert_eq!(revised.errors(), ["deadline NOT_IN_FUTURE"]);
    let typo = venue.post(&act("resolve"), json!({"winner": "yes"})).await;
    assert_eq!(typo.errors(), ["winningOutcomeId REQUIRED", "winner UNKNOWN_FIELD"]);
    let resolved = venue.post(&act("resolve"), json!({"winningOutcomeId": "yes"})).await;
    assert_eq!(resolved.json["status"], "SETTLED");
    assert_eq!(resolved.json["winningOutcomeId"], "yes");
    assert_eq!(resolved.json["outcomes"][1]["odd"], 0);
    let other = venue.market().await;
    let voided = venue.post(&format!("/admin/markets/{other}/void"), json!({"price": "0.3"})).await;
    assert_eq!(
        (&voided.json["status"], &voided.json["settlementPrice"]),
        (&json!("VOIDED"), &json!("0.30"))
    );
}

#[tokio::test]
async fn a_revoked_key_is_refused() {
    let venue = Venue::open().await;
    let (user, key) = venue.trader("ann").await;
    let keys = format!("/admin/users/{user}/keys");
    let listed = venue.get(&venue.operator, &keys).await;
    assert!(!listed.json.to_string().contains(&key));
    let id = listed.json["keys"][0]["keyId"].as_str().unwrap().to_owned();
    let path = format!("{keys}/{id}");
    let revoked = venue.call(&venue.operator, Method::DELETE, &path, None).await;
    assert_eq!(revoked.status, 204);
    assert_eq!(venue.get(&key, "/trading/balance").await.code(), "INVALID_API_KEY");
    let again = venue.call(&venue.operator, Method::DELETE, &path, None).await;
    assert_eq!((again.status, again.code()), (404, "KEY_NOT_FOUND"));
    let too_much = format!("/admin/users/{user}/withdrawals");
    let refused = venue.post(&too_much, json!({"amount": "100.01"})).await;
    assert_eq!((refused.status, refused.code()), (422, "INSUFFICIENT_FUNDS"));
}

#[tokio::test]
async fn an_order_shows_its_remaining_and_cancelled_quantities() {
    let venue = Venue::open().await;
    let market = venue.market().await;
    let (_, ann) = venue.trader("ann").await;
    let (_, bob) = venue.trader("bob").await;
    venue.place(&ann, order(&market, "SELL", "yes", "0.60", "5")).await;
    let with = |quantity: &str, member: &str, value: &str| {
        let mut order = order(&market, "BUY", "yes", "0.60", quantity);
        order[member] = json!(value);
        order
    };
    for (key, order, status, filled, remaining, cancelled, reason) in [
        (
            &bob,
            with("6", "timeInForce", "FOK"),
            "CANCELLED",
            "0",
            "0",
            "6",
            json!("FOK_NOT_FILLABLE"),
        ),
        (
            &ann,
            with("1", "selfTradePrevention", "CANCEL_TAKER"),
            "CANCELLED",
            "0",
            "0",
            "1",
            json!("SELF_TRADE"),
        ),
        (&bob, with("2", "timeInForce", "FOK"), "FILLED", "2", "0", "0", Value::Null),
        (&bob, with("4", "timeInForce", "IOC"), "CANCELLED", "3", "0", "1", json!("IOC_REMAINDER")),
        (&bob, with("4", "timeInForce", "GTC"), "OPEN", "0", "4", "0", Value::Null),
        (
            &ann,
            order(&market, "BUY", "no", "0.40", "7"),
            "PARTIALLY_FILLED",
            "4",
            "3",
            "0",
            Value::Null,
        ),
    ] {
        let came = venue.place(key, order).await;
        assert_eq!(came.status, 200, "{}", came.json);
        let text = |member: &str| came.text(member);
        let quantities =
            (text("filledQuantity"), text("remainingQuantity"), text("cancelledQuantity"));
        assert_eq!(text("status"), status);
        assert_eq!(quantities, (filled.into(), remaining.into(), cancelled.into()));
        assert_eq!(came.json["cancelReason"], reason);
        let read = venue.get(key, &format!("/trading/orders/{}", text("orderId"))).await;
        for member in
            ["status", "filledQuantity", "remainingQuantity", "averageFillPrice", "filledCost"]
        {
            assert_eq!(read.json[member], came.json[member], "{member}");
        }
    }
}

/// The members listed in interface 2.6, 2.7, 2.10, 4.4 and 4.5; after the bar, those that semantics
/// 4 and 6 add.
const SHAPES: [(&str, &str); 6] = [
    (
        "placed",
        "orderId status filledQuantity remainingQuantity averageFillPrice trades \
         | cancelledQuantity cancelReason filledCost clientOrderId sequence",
    ),
    (
        "order",
        "id marketId outcomeId side orderType price originalQuantity remainingQuantity \
         filledQuantity averageFillPrice status timeInForce createdAt updatedAt \
         | cancelledQuantity cancelReason filledCost clientOrderId sequence expiresAt group",
    ),
    (
        "position",
        "id userId marketId outcomeId totalStake oddLocked potentialPayout resolution updatedAt \
         copyFromTraderId market | quantity averagePrice realisedPnl",
    ),
    (
        "position's market",
        "id questions status deadline winningOutcomeId createdAt logo outcomes |",
    ),
    ("depth", "marketId outcomeId bids asks bestBid bestAsk spread timestamp | sequence"),
    ("activity", "type outcomeId stake odd user createdAt | sequence"),
];

#[tokio::test]
async fn answers_have_the_members_of_the_interface_and_no_others() {
    let venue = Venue::open().await;
    let market = venue.market().await;
    let (ann_id, ann) = venue.trader("ann").await;
    let (_, bob) = venue.trader("bob").await;
    let (_, cid) = venue.trader("cid").await;
    venue.place(&cid, order(&market, "BUY", "no", "0.40", "1")).await;
    // Only one who has traded can be copied.
    venue.place(&ann, order(&market, "BUY", "yes", "0.60", "1")).await;
    let mut copied = order(&market, "SELL", "no", "0.40", "5");
    copied["copyFromTraderId"] = json!(ann_id);
    let placed = venue.place(&bob, copied).await;
    venue.place(&ann, order(&market, "SELL", "yes", "0.60", "5")).await;
    let order = venue.get(&bob, "/trading/orders").await.json["orders"][0].clone();
    let position = venue.get(&bob, "/trading/positions").await.json["positions"][0].clone();
    let depth = venue.get(&bob, &format!("/trading/books/{market}/depth?outcome=yes")).await;
    let activity = venue.get(&bob, &format!("/markets/{market}/activity?limit=1")).await;
    assert_eq!(order["status"], "FILLED");
    assert_eq!(
        (&position["outcomeId"], &position["copyFromTraderId"]),
        (&json!("yes"), &json!(ann_id))
    );
    let trade = &activity.json["activities"][0];
    assert_eq!((&trade["outcomeId"], &trade["user"]["id"]), (&json!("no"), &json!(ann_id)));
    assert_eq!(keys(&trade["user"]), ["id", "profileName", "profilePic"]);
    let answers = [&placed.json, &order, &position, &position["market"], &depth.json, trade];
    for ((name, members), answer) in SHAPES.into_iter().zip(answers) {
        let mut members: Vec<&str> = members.split_whitespace().filter(|m| *m != "|").collect();
        members.sort_unstable();
        assert_eq!(keys(answer), members, "{name}");
    }
}

/// Documentation pages need no key, so anyone can request them at any rate: each is built and
/// compressed once, and every answer shares the same bytes.
#[tokio::test]
async fn pages_are_neither_copied_nor_compressed_for_each_request() {
    let venue = Venue::open().await;
    let ask = async |path: &str, coding: &str| {
        let request = Request::get(path).header("host", "x").header("accept-encoding", coding);
        let request = request.body(Full::<Bytes>::default()).unwrap();
        let (head, mut body) = venue.door.answer(request).await.into_parts();
        let frame = body.frame().await.unwrap().unwrap().into_data().unwrap();
        assert!(head.status == 200 && body.is_end_stream(), "{path}");
        (head.headers.get("content-encoding").cloned(), frame)
    };
    for path in ["/docs", "/api/v1/openapi.json"] {
        let (none, plain) = ask(path, "identity").await;
        let (coding, packed) = ask(path, "br, gzip").await;
        assert_eq!((none, coding.unwrap()), (None, "gzip".parse().unwrap()), "{path}");
        let mut unpacked = Vec::new();
        flate2::read::GzDecoder::new(&packed[..]).read_to_end(&mut unpacked).unwrap();
        assert_eq!(unpacked, plain, "{path}");
        assert_eq!(ask(path, "identity").await.1.as_ptr(), plain.as_ptr(), "{path}");
        assert_eq!(ask(path, "br, gzip").await.1.as_ptr(), packed.as_ptr(), "{path}");
    }
}
