//! `/account/limits`, and the token buckets that limit a trader's requests.

use http::rates::Rates;
use serde_json::{Value, json};

use super::client::{Answer, Client, bare};
use super::shapes;
use super::venue::{NOBODY, Trader, Venue, order, with};

/// A burst of two, and a refill slower than one per minute, which no test waits for.
const FEW: &str = "1:2";

fn rates(reads: &str, writes: &str, cancels: &str) -> Rates {
    let [reads, writes, cancels] = [reads, writes, cancels].map(|limit| limit.parse().unwrap());
    Rates { reads, writes, cancels, ..Rates::NONE }
}

fn left(answer: &Answer) -> (&str, &str) {
    assert!(!answer.header("ratelimit-reset").is_empty(), "{answer:?}");
    (answer.header("ratelimit-limit"), answer.header("ratelimit-remaining"))
}

#[test]
fn reads_writes_and_cancels_have_their_own_buckets_shown_in_every_answer() {
    let venue = Venue::with_rates(rates("1:1000000", "1:900000", "1:800000"));
    let ann = venue.trader("ann");
    let first = ann.get("/trading/balance");
    assert_eq!(left(&first), ("1000000", "999999"));
    let limits = ann.get("/account/limits").ok(&shapes::limits());
    assert_eq!(limits["reads"]["perSecond"], 1);
    assert_eq!(limits["reads"]["burst"], 1_000_000);
    let remaining = |bucket: &str| limits[bucket]["remaining"].as_u64().unwrap();
    assert!(remaining("reads") < 1_000_000, "asking draws too");
    assert_eq!((remaining("writes"), remaining("cancels")), (900_000, 800_000));
    // Refused requests draw a token too, from the bucket of their kind.
    for (method, path, status, limit) in [
        ("GET", "/nowhere", 404, 1_000_000),
        ("HEAD", "/trading/orders", 200, 1_000_000),
        ("PUT", "/trading/orders", 405, 900_000),
        ("POST", "/trading/orders", 411, 900_000),
        ("POST", "/admin/users", 403, 900_000),
        ("DELETE", "/trading/orders/x", 400, 800_000),
        ("DELETE", "/trading/orders", 200, 800_000),
    ] {
        let answer = ann.client.send(method, path, &[], None);
        assert_eq!((answer.status, left(&answer).0), (status, limit.to_string().as_str()));
        assert!(left(&answer).1.parse::<u32>().unwrap() < limit, "{answer:?}");
    }
}

#[test]
fn requests_beyond_the_rate_get_retry_after_and_are_not_executed() {
    let venue = Venue::with_rates(rates("0", FEW, FEW));
    let (ann, bob) = (venue.trader("ann"), venue.trader("bob"));
    let market = venue.market();
    let place = || ann.place(&market, "BUY", "yes", "0.50", "1");
    // However slow the machine is, a hundred requests come faster than one a second.
    let refused = (0..1000).map(|_| place()).find(|answer| answer.status != 200).unwrap();
    refused.refused(429, "RATE_LIMITED");
    assert_eq!((refused.header("retry-after"), left(&refused)), ("1", ("2", "0")));
    assert!(refused.text("detail").contains("/account/limits"));
    let orders = ann.get("/trading/orders");
    assert_eq!(orders.header("ratelimit-limit"), "", "reads have no limit here");
    let open = orders.ok(&shapes::orders())["orders"].as_array().unwrap().len();
    let sequence = orders.sequence();
    let again = place();
    if again.status == 429 {
        assert_eq!(ann.get("/trading/orders").sequence(), sequence);
        assert_eq!(ann.get("/trading/orders").json["orders"].as_array().unwrap().len(), open);
    }
    // Spent writes leave cancels and other users' buckets untouched.
    assert_eq!(ann.client.delete("/trading/orders").status, 200);
    assert_eq!(bob.place(&market, "BUY", "no", "0.10", "1").status, 200);
    assert_eq!(ann.get("/account/limits").json["reads"], Value::Null);
}

#[test]
fn an_operators_key_has_no_limit() {
    let venue = Venue::with_rates(rates(FEW, FEW, FEW));
    for _ in 0..20 {
        let answer = venue.operator.get("/admin/users");
        assert_eq!((answer.status, answer.header("ratelimit-limit")), (200, ""));
    }
    let limits = venue.operator.get("/account/limits").ok(&shapes::limits());
    let exposure = json!({"open": "0.00", "limit": null, "group": null});
    let none = json!({"reads": null, "writes": null, "cancels": null, "records": null, "exposure": exposure,
        "mode": "normal", "venueMode": "normal"});
    let stream = json!({"stream": limits["stream"]});
    assert_eq!(limits, with(none, &stream));
}

#[test]
fn a_user_reads_the_exposure_and_its_limit() {
    let venue = Venue::open();
    let (ann, bob) = (venue.trader("ann"), venue.trader("bob"));
    let market = venue.market();
    let exposure = || ann.get("/account/limits").ok(&shapes::limits())["exposure"].clone();
    assert_eq!(exposure(), json!({"open": "0.00", "limit": null, "group": null}));
    let path = format!("/admin/users/{}/exposure-limit", ann.id);
    venue.operator.post(&path, &json!({"limit": "10.00"})).ok(&shapes::user());
    // Four contracts held at 0.60, ten more bid for at 0.50; other markets count too.
    venue.trade(&market, &ann, &bob, "0.60", "4");
    ann.place(&venue.market(), "BUY", "no", "0.50", "10").ok(&shapes::placed());
    assert_eq!(exposure(), json!({"open": "7.40", "limit": "10.00", "group": null}));
    let more = |quantity: &str| ann.place(&market, "BUY", "yes", "0.10", quantity);
    more("26.1").refused(422, "EXPOSURE_LIMIT");
    more("26").ok(&shapes::placed());
    // What waits to be withdrawn is at no risk, as no order is refused for it.
    assert_eq!(ann.client.post("/account/withdrawals", &json!({"amount": "5"})).status, 201);
    assert_eq!(exposure()["open"], "10.00");
    venue.operator.delete(&path).ok(&shapes::user());
    assert_eq!(exposure()["limit"], Value::Null);
    // Paid-out contracts are no longer exposure.
    assert_eq!(ann.client.delete("/trading/orders").status, 200);
    venue.settle(&market, "yes");
    assert_eq!(exposure()["open"], "0.00");
}

#[test]
fn a_batch_draws_the_tokens_of_its_operations() {
    let venue = Venue::with_rates(rates("0", "1:100000", "1:50000"));
    let ann = venue.trader("ann");
    let market = venue.market();
    let body = |places: usize, cancels: usize| {
        let place = json!({"place": order(&market, "BUY", "yes", "0.10", "1")});
        let cancel = json!({"cancel": {"clientOrderId": "none"}});
        let operations = [vec![place; places], vec![cancel; cancels]].concat();
        json!({"operations": operations})
    };
    let send = |places, cancels| ann.client.post("/trading/orders/batch", &body(places, cancels));
    let drawn = |places, cancels| {
        let left = || {
            let limits = ann.get("/account/limits").ok(&shapes::limits());
            ["writes", "cancels"].map(|bucket| limits[bucket]["remaining"].as_u64().unwrap())
        };
        // A second may pass in between and add one token to each bucket.
        let before = left();
        let answer = send(places, cancels);
        assert_eq!(answer.status, 200, "{answer:?}");
        // The headers show the bucket that the batch drew from.
        let limit = if places == 0 { "50000" } else { "100000" };
        assert_eq!(answer.header("ratelimit-limit"), limit);
        let [writes, cancels] =
            std::array::from_fn(|bucket| before[bucket].saturating_sub(left()[bucket]));
        (writes, cancels)
    };
    for (places, cancels) in [(30, 20), (1, 0), (40, 0)] {
        let (writes, taken) = drawn(places, cancels);
        let near = |taken: u64, wanted: usize| taken <= wanted as u64 && taken + 5 > wanted as u64;
        assert!(near(writes, places) && near(taken, cancels), "{writes} {taken}");
    }
    let (writes, cancels) = drawn(0, 30);
    assert!(writes <= 1 && (26..=30).contains(&cancels), "{writes} {cancels}");
    let writes: u64 = (0..10).map(|_| drawn(0, 1).0).sum();
    assert_eq!(writes, 0, "drawn by batches that only cancel");
}

#[test]
fn a_batch_larger_than_the_burst_is_refused_whole() {
    let venue = Venue::with_rates(rates("0", "1:20", "1:10"));
    let ann = venue.trader("ann");
    let market = venue.market();
    let place = json!({"place": order(&market, "BUY", "yes", "0.10", "1")});
    let cancel = json!({"cancel": {"clientOrderId": "none"}});
    let send = |places: usize, cancels: usize| {
        let operations = [vec![place.clone(); places], vec![cancel.clone(); cancels]].concat();
        ann.client.post("/trading/orders/batch", &json!({"operations": operations}))
    };
    let before = ann.get("/trading/orders").sequence();
    // Too many cancels: the places beside them draw no writes either.
    let refused = send(5, 11);
    // Waiting would not help, as the batch exceeds the burst.
    refused.bad(&["operations"]);
    assert_eq!(refused.header("retry-after"), "");
    assert_eq!(left(&refused), ("10", "10"));
    let detail = refused.json["errors"][0]["detail"].as_str().unwrap();
    assert!(detail.contains("11 cancels") && detail.contains("more than 10 at"), "{detail}");
    let refused = send(25, 5);
    refused.bad(&["operations"]);
    assert_eq!(left(&refused).0, "20");
    let limits = ann.get("/account/limits").ok(&shapes::limits());
    assert_eq!(limits["cancels"]["remaining"], 10, "given back");
    assert!(limits["writes"]["remaining"].as_u64().unwrap() >= 18, "{limits}");
    assert_eq!(ann.get("/trading/orders").sequence(), before);
    assert_eq!(send(15, 10).status, 200);
    let refused = send(0, 8);
    refused.refused(429, "RATE_LIMITED");
    assert!(!refused.header("retry-after").is_empty());
    let open = ann.get("/trading/orders").json["orders"].as_array().unwrap().len();
    assert_eq!(open, 15);
}

/// A trader without writes left must still be able to cancel.
#[test]
fn cancels_need_no_write_in_a_batch_either() {
    let venue = Venue::with_rates(rates("0", FEW, "1:100"));
    let ann = venue.trader("ann");
    let market = venue.market();
    let place = json!({"place": order(&market, "BUY", "yes", "0.10", "1")});
    let cancel = json!({"cancel": {"clientOrderId": "none"}});
    let send = |operations: &[&Value]| {
        ann.client.post("/trading/orders/batch", &json!({"operations": operations}))
    };
    // However slow the machine is, a hundred requests come faster than one a second.
    let refused = (0..1000).map(|_| send(&[&place])).find(|answer| answer.status != 200).unwrap();
    refused.refused(429, "RATE_LIMITED");
    assert_eq!(left(&refused), ("2", "0"));
    let cancelled = send(&[&cancel; 3]);
    // The remaining cancels are shown, since no write was drawn.
    let (limit, remaining) = left(&cancelled);
    assert_eq!((cancelled.status, limit), (200, "100"));
    assert!((90..100).contains(&remaining.parse::<u32>().unwrap()), "{remaining}");
    // A place in the same batch needs a write as always.
    let both = (0..1000).map(|_| send(&[&cancel, &place])).find(|answer| answer.status != 200);
    let both = both.unwrap();
    both.refused(429, "RATE_LIMITED");
    assert_eq!(left(&both).0, "2", "of writes");
}

/// The remaining writes and cancels.
fn remaining(ann: &Trader) -> [u64; 2] {
    let limits = ann.get("/account/limits").ok(&shapes::limits());
    ["writes", "cancels"].map(|bucket| limits[bucket]["remaining"].as_u64().unwrap())
}

/// Sends a batch of places that need no market, and of cancels that find no order.
fn send_batch(ann: &Trader, places: usize, cancels: usize) -> Answer {
    let place = json!({"place": order(NOBODY, "BUY", "yes", "0.10", "1")});
    let cancel = json!({"cancel": {"clientOrderId": "none"}});
    let operations = [vec![place; places], vec![cancel; cancels]].concat();
    ann.client.post("/trading/orders/batch", &json!({"operations": operations}))
}

/// All or none: also the token that is taken before the body is read is given back.
#[test]
fn refused_batches_are_not_free() {
    let venue = Venue::with_rates(rates("0", "1:20", "1:10"));
    let ann = venue.trader("ann");
    send_batch(&ann, 21, 0).bad(&["operations"]);
    // The server had to read each of them. However slow the machine is, these come faster than one
    // a second.
    let spent = (0..1000).map(|_| send_batch(&ann, 21, 0)).find(|answer| answer.status != 400);
    spent.unwrap().refused(429, "RATE_LIMITED");
    // What the refused batch asked for beyond that was not taken.
    let bob = venue.trader("bob");
    assert_eq!(send_batch(&bob, 5, 0).status, 200);
    send_batch(&bob, 20, 10).refused(429, "RATE_LIMITED");
    let [writes, cancels] = remaining(&bob);
    assert!(writes >= 14 && cancels >= 9, "{writes} {cancels}");
}

#[test]
fn a_refused_batch_tells_what_it_needs_and_what_is_left() {
    let venue = Venue::with_rates(rates("0", "1:20", "1:10"));
    let ann = venue.trader("ann");
    assert_eq!(send_batch(&ann, 0, 7).status, 200);
    let refused = send_batch(&ann, 0, 10);
    refused.refused(429, "RATE_LIMITED");
    let (limit, has) = left(&refused);
    let detail = refused.text("detail");
    let says = format!("10 cancels are needed, and this key's user has {has} of 10 left");
    assert!(limit == "10" && detail.starts_with(&says), "{detail}");
    assert!(["3", "4", "5"].contains(&has), "{detail}");
}

#[test]
fn a_batch_of_too_many_cancels_is_bad_whatever_is_left() {
    let venue = Venue::with_rates(rates("0", FEW, "1:40"));
    let ann = venue.trader("ann");
    let bad = |answer: Answer| {
        answer.bad(&["operations"]);
        assert_eq!(left(&answer).0, "40");
    };
    bad(send_batch(&ann, 0, 41));
    let spent = (0..1000).map(|_| send_batch(&ann, 1, 0)).find(|answer| answer.status != 200);
    spent.unwrap().refused(429, "RATE_LIMITED");
    bad(send_batch(&ann, 0, 41));
    assert_eq!(send_batch(&ann, 0, 7).status, 200);
    bad(send_batch(&ann, 0, 41));
    // Too many places are no better where cancels are lacking as well.
    let refused = send_batch(&ann, 3, 30);
    refused.bad(&["operations"]);
    assert_eq!(left(&refused).0, "2");
    // A batch that cannot be read shows the bucket that it drew on: cancels, once writes are spent.
    let unread = || ann.client.post("/trading/orders/batch", &json!({"operations": {}}));
    let drew_cancels = (0..1000).map(|_| unread()).find(|answer| left(answer).0 == "40");
    drew_cancels.unwrap().bad_as("operations", "WRONG_TYPE");
}

/// Then the body is not read, and neither bucket may be blamed alone.
#[test]
fn a_batch_without_any_token_is_told_that_both_are_spent() {
    let venue = Venue::with_rates(rates("0", "1:50", FEW));
    let ann = venue.trader("ann");
    while remaining(&ann) != [0, 0] {
        ann.place(NOBODY, "BUY", "yes", "0.10", "1");
        ann.client.delete("/trading/orders");
    }
    for (places, cancels) in [(1, 0), (0, 1)] {
        let refused = (0..1000).map(|_| send_batch(&ann, places, cancels));
        let refused = refused.filter(|answer| answer.status == 429);
        let both = refused.map(|answer| answer.text("detail")).find(|detail| {
            detail.starts_with("this key's user has neither writes nor cancels left; wait 1 s")
        });
        assert!(both.is_some());
    }
}

/// A batch of cancels alone shows the cancel bucket, and only if cancels are limited.
#[test]
fn a_batch_of_cancels_shows_the_cancel_bucket_only() {
    let cancels = json!({"operations": [{"cancel": {"clientOrderId": "none"}}]});
    for (writes, limits, shown) in [("0", "1:100", true), ("1:100", "0", false)] {
        let venue = Venue::with_rates(rates("0", writes, limits));
        let ann = venue.trader("ann");
        for path in ["/trading/orders/batch", "/trading/orders/batch?dryRun=true"] {
            let answer = ann.client.post(path, &cancels);
            let tells = answer.headers.iter().any(|(name, _)| name == "ratelimit-remaining");
            assert_eq!((answer.status, tells), (200, shown), "{answer:?}");
        }
    }
}

#[test]
fn a_batch_repeated_after_retry_after_is_accepted() {
    let venue = Venue::with_rates(rates("0", "1:20", "0"));
    let ann = venue.trader("ann");
    let place = json!({"place": order(&venue.market(), "BUY", "yes", "0.10", "1")});
    let send = |places: usize| {
        let operations = vec![place.clone(); places];
        ann.client.post("/trading/orders/batch", &json!({"operations": operations}))
    };
    assert_eq!(send(2).status, 200);
    let refused = send(20);
    if refused.status == 429 {
        let wait = refused.header("retry-after").parse().unwrap();
        std::thread::sleep(std::time::Duration::from_secs(wait));
        assert_eq!(send(20).status, 200, "after {wait} s");
    }
}

#[test]
fn limits_need_a_key_and_take_no_parameters() {
    let venue = Venue::open();
    let ann = venue.trader("ann");
    ann.get("/account/limits?x=1").bad(&["x"]);
    let target = "/api/v1/account/limits";
    bare(venue.operator.address, "GET", target, &[], None).refused(401, "MISSING_API_KEY");
    let wrong = [("x-api-key", NOBODY)];
    bare(venue.operator.address, "GET", target, &wrong, None).refused(401, "INVALID_API_KEY");
}

/// Creating and replacing keys must not give a user more requests than the buckets hold.
#[test]
fn all_keys_of_a_user_draw_on_the_same_buckets() {
    let venue = Venue::with_rates(rates("0", "1:40", "1:10"));
    let (ann, bob) = (venue.trader("ann"), venue.trader("bob"));
    let label = json!({"scope": "trade", "label": "one more"});
    let made: Vec<_> = (0..8)
        .map(|_| venue.client(&ann.client.post("/account/keys", &label).text("key")))
        .collect();
    let list = ann.get("/account/keys");
    let id = list.json["keys"][1]["keyId"].as_str().unwrap();
    let rotated = ann.client.post(&format!("/account/keys/{id}/rotate"), &json!({})).text("key");
    let given = json!({"role": "trader", "label": "given"});
    let given = venue.operator.post(&format!("/admin/users/{}/keys", ann.id), &given).text("key");
    let others = [venue.client(&rotated), venue.client(&given)];
    let limits = |client: &Client| {
        let limits = client.get("/account/limits").ok(&shapes::limits());
        ["writes", "cancels"].map(|bucket| limits[bucket]["remaining"].as_u64().unwrap())
    };
    let [writes, cancels] = limits(&others[1]);
    // A second gives one more, and this takes a few at most.
    assert!((31..=38).contains(&writes) && cancels == 10, "{writes} {cancels}");
    let beat = json!({"timeoutSeconds": 0});
    let keys: Vec<&Client> = made[1..].iter().chain(&others).collect();
    let mut accepted = 0;
    for round in 0..1000 {
        let answer = keys[round % keys.len()].post("/trading/heartbeat", &beat);
        if answer.status == 429 {
            break;
        }
        accepted += 1;
    }
    assert!((writes..writes + 12).contains(&accepted), "{accepted} of {writes}");
    assert_eq!(limits(&bob.client), [40, 10], "another user's are not touched");
}

/// A venue where each user has so many records a day.
fn daily(records: &str) -> Venue {
    Venue::with_rates(Rates { records: records.parse().unwrap(), ..Rates::NONE })
}

/// What is left of a user's records, and of the cancels.
fn records_left(ann: &Trader) -> [u64; 2] {
    let limits = ann.get("/account/limits").ok(&shapes::limits());
    ["remaining", "cancelsRemaining"].map(|left| limits["records"][left].as_u64().unwrap())
}

#[test]
fn a_user_without_records_left_is_refused_and_can_still_leave() {
    let venue = daily("24");
    let (ann, bob) = (venue.trader("ann"), venue.trader("bob"));
    let market = venue.market();
    assert_eq!(records_left(&ann), [24, 24]);
    let key = ann.client.post("/account/keys", &json!({"scope": "trade", "label": "more"}));
    let other = venue.client(&key.text("key"));
    let place = |client: &Client| {
        client.post("/trading/orders", &order(&market, "BUY", "yes", "0.10", "1"))
    };
    let orders: Vec<String> = (0..20).map(|_| place(&other).text("orderId")).collect();
    // What is never journaled costs nothing; what the exchange refuses does.
    let bad = order(&market, "BUY", "yes", "7", "1");
    other.post("/trading/orders", &bad).bad(&["price"]);
    other.post("/trading/orders?dryRun=true", &order(&market, "BUY", "yes", "0.10", "1"));
    other.get("/trading/orders");
    assert_eq!(records_left(&ann), [3, 24]);
    let dear = order(&market, "BUY", "yes", "0.99", "90000");
    other.post("/trading/orders", &dear).refused(422, "INSUFFICIENT_FUNDS");
    // Each operation of a batch is a record, refused on its own.
    let batch = json!({"operations": [
        {"place": order(&market, "BUY", "yes", "0.10", "1")},
        {"cancel": {"orderId": orders[0]}},
        {"place": order(&market, "BUY", "yes", "0.10", "1")},
        {"place": order(&market, "BUY", "yes", "0.10", "1")},
    ]});
    let batch = ann.client.post("/trading/orders/batch", &batch);
    let results = batch.json["results"].as_array().unwrap();
    let codes: Vec<_> = results.iter().map(|one| one["error"]["code"].as_str()).collect();
    assert_eq!(codes, [None, None, None, Some("RECORD_LIMIT")]);
    assert_eq!(records_left(&ann), [0, 23]);
    let before = ann.get("/trading/orders").sequence();
    for client in [&ann.client, &other] {
        let refused = place(client);
        refused.refused(429, "RECORD_LIMIT");
        assert_eq!((refused.header("retry-after"), left(&refused)), ("3600", ("24", "0")));
        client
            .post("/trading/heartbeat", &json!({"timeoutSeconds": 5}))
            .refused(429, "RECORD_LIMIT");
    }
    let path = format!("/trading/orders/{}", orders[1]);
    ann.client.patch(&path, &json!({"price": "0.11"})).refused(429, "RECORD_LIMIT");
    assert_eq!(ann.get("/trading/orders").sequence(), before, "nothing was journaled");
    // All orders can be cancelled one by one, or all at once, and a stolen key revoked.
    for order in &orders[1..] {
        assert_eq!(other.delete(&format!("/trading/orders/{order}")).status, 200);
    }
    assert_eq!(ann.client.delete("/trading/orders").status, 200);
    let revoked = ann.client.delete(&format!("/account/keys/{}", key.text("keyId")));
    assert_eq!(revoked.status, 204);
    // Then these are used up too.
    let answers: Vec<_> = (0..24).map(|_| ann.client.delete("/trading/orders")).collect();
    answers.last().unwrap().refused(429, "RECORD_LIMIT");
    // Others have their own, and an operator has any number.
    assert_eq!(place(&bob.client).status, 200);
    for _ in 0..30 {
        venue.operator.post("/trading/heartbeat", &json!({"timeoutSeconds": 0}));
    }
    let limits = venue.operator.get("/account/limits").ok(&shapes::limits());
    assert_eq!(limits["records"], Value::Null);
}

/// What the groups and the rest set aside is what the account has reserved.
#[test]
fn a_groups_exposure_is_what_its_open_orders_have_set_aside() {
    let venue = Venue::open();
    let (ann, bob) = (venue.trader("ann"), venue.trader("bob"));
    let market = venue.market_with(&json!({"takerFee": "0.07"}));
    let placed = |side: &str, price: &str, quantity: &str, more: &Value| {
        let body = order(&market, side, "yes", price, quantity);
        ann.order(&with(body, more)).ok(&shapes::placed());
    };
    bob.place(&market, "SELL", "yes", "0.50", "2").ok(&shapes::placed());
    placed("BUY", "0.50", "5", &json!({"group": "a"}));
    // Contracts back it: it sets no money aside.
    placed("SELL", "0.90", "2", &json!({"group": "a"}));
    placed("SELL", "0.80", "1", &json!({"group": "b"}));
    placed("BUY", "0.10", "1", &json!({}));
    let of = |group: &str| {
        let limits = ann.get(&format!("/account/limits?group={group}")).ok(&shapes::limits());
        let group = limits["exposure"]["group"].clone();
        (group["openOrders"].as_u64().unwrap(), group["reserved"].as_str().unwrap().to_owned())
    };
    let money = |text: &str| {
        let (whole, part) = text.split_once('.').unwrap();
        format!("{whole}{part:0<8}").parse::<i64>().unwrap()
    };
    let ((orders, a), (one, b), none) = (of("a"), of("b"), of("c"));
    assert_eq!((orders, one, none), (2, 1, (0, "0.00".to_owned())));
    let rest = ann.balance().1;
    let alone = money(&rest) - money(&a) - money(&b);
    ann.client.delete("/trading/orders?group=a");
    ann.client.delete("/trading/orders?group=b");
    assert_eq!(money(&ann.balance().1), alone);
    assert!(money(&a) > money("1.50") && money(&b) > money("0.20"), "fees are set aside too");
    assert_eq!(of("a"), (0, "0.00".to_owned()));
    ann.get("/account/limits?group=a%20b").bad_as("group", "INVALID_VALUE");
}
