//! `DELETE` and `PATCH` of orders (semantics 4, 5 and 8).

use serde_json::{Value, json};

use super::client::Client;
use super::shapes;
use super::venue::{NOBODY, Trader, Venue, order, with};

fn place(trader: &Trader, market: &str, side: &str, price: &str, quantity: &str) -> String {
    let placed = trader.order(&order(market, side, "yes", price, quantity));
    placed.ok(&shapes::placed());
    placed.text("orderId")
}

fn path(order: &str) -> String {
    format!("/trading/orders/{order}")
}

#[test]
fn a_cancel_answers_the_order_and_gives_back_what_backed_it() {
    let venue = Venue::open();
    let (ann, bob) = (venue.trader("ann"), venue.trader("bob"));
    let market = venue.market();
    let id = place(&ann, &market, "BUY", "0.40", "2.5");
    place(&bob, &market, "SELL", "0.40", "1");
    let before = ann.get("/trading/balance").sequence();
    let answer = ann.client.delete(&path(&id));
    let order = answer.ok(&shapes::order());
    assert_eq!(answer.sequence(), before + 1);
    for (member, value) in [
        ("status", "CANCELLED"),
        ("originalQuantity", "2.5"),
        ("filledQuantity", "1"),
        ("remainingQuantity", "0"),
        ("cancelledQuantity", "1.5"),
        ("cancelReason", "USER"),
        ("averageFillPrice", "0.40"),
        ("filledCost", "0.40"),
    ] {
        assert_eq!(order[member], *value, "{member}");
    }
    assert_eq!(ann.balance(), ("99.60".to_owned(), "0.00".to_owned()));
    assert_eq!(ann.get(&path(&id)).json, order);
    ann.client.delete(&path(&id)).refused(409, "ORDER_NOT_OPEN");
    ann.client.patch(&path(&id), &json!({"quantity": "9"})).refused(409, "ORDER_NOT_OPEN");
    assert_eq!(ann.get(&path(&id)).json, order);
    let filled = bob.get("/trading/orders").json["orders"][0]["id"].as_str().unwrap().to_owned();
    bob.client.delete(&path(&filled)).refused(409, "ORDER_NOT_OPEN");
    ann.client.delete(&path(NOBODY)).refused(404, "ORDER_NOT_FOUND");
    ann.client.delete(&path("x")).bad_as("orderId", "INVALID_VALUE");
    ann.client.delete(&format!("{}?force=true", path(&id))).bad_as("force", "UNKNOWN_FIELD");
}

/// The order may have filled while its cancel was on the way.
#[test]
fn a_change_that_comes_too_late_is_told_how_the_order_ended() {
    let venue = Venue::open();
    let (ann, bob) = (venue.trader("ann"), venue.trader("bob"));
    let market = venue.market();
    let named = with(order(&market, "BUY", "yes", "0.40", "2"), &json!({"clientOrderId": "c"}));
    let id = ann.order(&named).text("orderId");
    place(&bob, &market, "SELL", "0.40", "2");
    let end = ann.get(&path(&id)).json;
    assert_eq!((&end["status"], &end["filledQuantity"]), (&json!("FILLED"), &json!("2")));
    let amend = json!({"quantity": "9"});
    let cancels = json!([{"cancel": {"orderId": id}}, {"cancel": {"clientOrderId": "c"}}]);
    let cancels = json!({"operations": cancels});
    for told in [
        ann.client.delete(&path(&id)),
        ann.client.delete("/trading/orders/by-client-id/c"),
        ann.client.patch(&path(&id), &amend),
        ann.client.patch(&format!("{}?dryRun=true", path(&id)), &amend),
    ] {
        told.refused(409, "ORDER_NOT_OPEN");
        assert_eq!(told.json["order"], end);
    }
    for query in ["", "?dryRun=true"] {
        let batch = ann.client.post(&format!("/trading/orders/batch{query}"), &cancels);
        for result in batch.json["results"].as_array().unwrap() {
            let error = &result["error"];
            assert_eq!((&error["code"], &error["order"]), (&json!("ORDER_NOT_OPEN"), &end));
        }
    }
    // A stranger is told nothing.
    let stranger = bob.client.delete(&path(&id));
    stranger.refused(404, "ORDER_NOT_FOUND");
    assert_eq!(stranger.json["order"], Value::Null);
}

#[test]
fn a_mass_cancel_tells_what_had_traded() {
    let venue = Venue::open();
    let (ann, bob) = (venue.trader("ann"), venue.trader("bob"));
    let market = venue.market();
    let first = place(&ann, &market, "BUY", "0.50", "10");
    let second = place(&ann, &market, "BUY", "0.40", "1.5");
    place(&bob, &market, "SELL", "0.50", "7");
    let all = ann.client.delete("/trading/orders").ok(&shapes::cancelled());
    let expected = json!([
        {"orderId": first, "filledQuantity": "7", "cancelledQuantity": "3"},
        {"orderId": second, "filledQuantity": "0", "cancelledQuantity": "1.5"},
    ]);
    assert_eq!(all, json!({"cancelled": [first, second], "orders": expected}));
}

/// A filter in a DELETE's body would be ignored and every order cancelled, so such a body is
/// refused.
#[test]
fn a_cancel_with_a_body_is_refused() {
    let venue = Venue::open();
    let ann = venue.trader("ann");
    let market = venue.market();
    let id = place(&ann, &market, "BUY", "0.40", "1");
    let send = |path: &str, body: &str| ann.client.send("DELETE", path, &[], Some(body.as_bytes()));
    for path in ["/trading/orders", &path(&id)] {
        for body in [format!("{{\"marketId\":\"{NOBODY}\"}}"), "null".into(), "}{".into()] {
            send(path, &body).bad_as("body", "UNKNOWN_FIELD");
        }
    }
    assert_eq!(ann.get(&path(&id)).json["status"], "OPEN");
    assert_eq!(send(&path(&id), " {\n} ").ok(&shapes::order())["status"], "CANCELLED");
    assert_eq!(send("/trading/orders", "").status, 200);
}

#[test]
fn a_suspended_market_lets_orders_be_cancelled() {
    let venue = Venue::open();
    let ann = venue.trader("ann");
    let market = venue.market();
    let id = place(&ann, &market, "BUY", "0.40", "1");
    venue.act(&market, "suspend", &json!({}));
    ann.client.patch(&path(&id), &json!({"price": "0.41"})).refused(422, "MARKET_NOT_ACTIVE");
    assert_eq!(ann.client.delete(&path(&id)).ok(&shapes::order())["status"], "CANCELLED");
}

#[test]
fn a_mass_cancel_covers_all_orders_or_one_market() {
    let venue = Venue::open();
    let (ann, bob) = (venue.trader("ann"), venue.trader("bob"));
    let (first, second) = (venue.market(), venue.market());
    let shape = shapes::cancelled();
    let a = place(&ann, &first, "BUY", "0.40", "1");
    let b = place(&ann, &second, "BUY", "0.40", "1");
    let c = place(&ann, &first, "BUY", "0.30", "1");
    let kept = place(&bob, &first, "BUY", "0.20", "1");
    let one = ann.client.delete(&format!("/trading/orders?marketId={first}"));
    assert_eq!(one.ok(&shape)["cancelled"], json!([a, c]));
    let rest = ann.client.delete("/trading/orders");
    assert_eq!(rest.ok(&shape)["cancelled"], json!([b]));
    assert!(rest.sequence() > one.sequence());
    let nothing = ann.client.delete("/trading/orders").ok(&shape);
    assert_eq!(nothing, json!({"cancelled": [], "orders": []}));
    assert_eq!(ann.balance(), ("100.00".to_owned(), "0.00".to_owned()));
    assert_eq!(bob.get(&path(&kept)).text("status"), "OPEN");
    let ask = |query: &str| bob.client.delete(&format!("/trading/orders?{query}"));
    // A typo must not cancel everything.
    ask("market=x").bad_as("market", "UNKNOWN_FIELD");
    ask("marketId=").bad_as("marketId", "INVALID_VALUE");
    ask(&format!("marketId={first}&marketId={second}")).bad_as("marketId", "REPEATED");
    ask(&format!("marketId={NOBODY}")).refused(404, "MARKET_NOT_FOUND");
    assert_eq!(bob.get(&path(&kept)).text("status"), "OPEN");
}

#[test]
fn an_amend_keeps_time_priority_unless_it_asks_for_more() {
    let venue = Venue::open();
    let (ann, bob, eve) = (venue.trader("ann"), venue.trader("bob"), venue.trader("eve"));
    for (change, first_served) in [
        (json!({"quantity": "1"}), true),
        (json!({"quantity": "2", "price": "0.4"}), true),
        (json!({"price": "0.40"}), true),
        (json!({"quantity": "2.000001"}), false),
    ] {
        let market = venue.market();
        let early = place(&ann, &market, "BUY", "0.40", "2");
        place(&bob, &market, "BUY", "0.40", "2");
        let amended = ann.client.patch(&path(&early), &change).ok(&shapes::order());
        assert_eq!(amended["status"], "OPEN");
        place(&eve, &market, "SELL", "0.40", "1");
        let filled = ann.get(&path(&early)).text("filledQuantity");
        assert_eq!(filled != "0", first_served, "{change}");
    }
}

/// Ann's four yes back her offer while she holds three no beside them.
#[test]
fn an_amend_leaves_an_order_the_contracts_that_back_it() {
    let venue = Venue::open();
    let bob = venue.trader("bob");
    for (name, reduce_only) in [("ann", false), ("eve", true)] {
        let ann = venue.trader_with(name, "10.00");
        let market = venue.market();
        place(&bob, &market, "SELL", "0.50", "4");
        place(&ann, &market, "BUY", "0.50", "4");
        let mut terms = order(&market, "SELL", "yes", "0.80", "4");
        terms["reduceOnly"] = json!(reduce_only);
        let offer = path(&ann.order(&terms).text("orderId"));
        place(&bob, &market, "BUY", "0.60", "3");
        place(&ann, &market, "SELL", "0.60", "3");
        let before = ann.get(&offer).json;
        let balance = || ann.balance().0;
        let amend =
            |query: &str, change: Value| ann.client.patch(&format!("{offer}{query}"), &change);
        let unchanged = [json!({"quantity": "4"}), json!({"price": "0.8", "quantity": "4.0"})];
        for change in &unchanged {
            let dry = amend("?dryRun=true", change.clone());
            assert_eq!(
                (dry.status, &dry.json["updatedAt"]),
                (200, &before["updatedAt"]),
                "{change}"
            );
            assert_eq!(amend("", change.clone()).ok(&shapes::order()), before, "{change}");
        }
        venue.operator.post(&format!("/admin/markets/{market}/suspend"), &json!({}));
        assert_eq!(amend("", unchanged[0].clone()).ok(&shapes::order()), before);
        amend("", json!({"quantity": "3"})).refused(422, "MARKET_NOT_ACTIVE");
        venue.operator.post(&format!("/admin/markets/{market}/reopen"), &json!({}));
        assert_eq!((ann.get(&offer).json, balance().as_str()), (before, "6.80"));
        amend("", json!({"price": "0.79"})).ok(&shapes::order());
        assert_eq!(balance(), "6.80");
        // The contract that is no longer needed pays 1.00 with one of the three.
        amend("", json!({"quantity": "3"})).ok(&shapes::order());
        assert_eq!(ann.balance(), ("7.80".to_owned(), "0.00".to_owned()));
    }
}

#[test]
fn an_amend_may_trade_and_may_be_refused() {
    let venue = Venue::open();
    let (ann, bob) = (venue.trader_with("ann", "1.00"), venue.trader("bob"));
    let market = venue.market();
    place(&bob, &market, "SELL", "0.60", "1");
    let id = place(&ann, &market, "BUY", "0.40", "2");
    let amend = |change: Value| ann.client.patch(&path(&id), &change);
    amend(json!({"price": "0.51"})).refused(422, "INSUFFICIENT_FUNDS");
    assert_eq!(ann.balance(), ("0.20".to_owned(), "0.80".to_owned()));
    amend(json!({})).bad_as("body", "REQUIRED");
    amend(json!({"price": "1", "quantity": "0", "side": "SELL"}))
        .bad(&["price", "quantity", "side"]);
    amend(json!({"price": null})).bad_as("price", "WRONG_TYPE");
    amend(json!([])).bad_as("body", "WRONG_TYPE");
    let traded = amend(json!({"price": "0.60", "quantity": "1.5"})).ok(&shapes::order());
    for (member, value) in [
        ("status", "PARTIALLY_FILLED"),
        ("price", "0.60"),
        ("originalQuantity", "1.5"),
        ("filledQuantity", "1"),
        ("remainingQuantity", "0.5"),
    ] {
        assert_eq!(traded[member], *value, "{member}");
    }
    assert_eq!(ann.balance(), ("0.10".to_owned(), "0.30".to_owned()));
    amend(json!({"quantity": "1"})).refused(422, "QUANTITY_FILLED");
    let less = amend(json!({"quantity": "1.1"})).ok(&shapes::order());
    assert_eq!(less["remainingQuantity"], "0.1");
    assert_eq!(ann.balance(), ("0.34".to_owned(), "0.06".to_owned()));
}

/// Two programs of one user, each with a group, leave each other's orders alone.
#[test]
fn orders_are_listed_and_cancelled_by_group() {
    let venue = Venue::open();
    let ann = venue.trader("ann");
    let (market, other) = (venue.market(), venue.market());
    let placed = |market: &str, price: &str, group: &Value| {
        let body = order(market, "BUY", "yes", price, "1");
        ann.order(&with(body, &json!({ "group": group }))).text("orderId")
    };
    let first = placed(&market, "0.10", &json!("mm-1"));
    let second = placed(&market, "0.11", &json!("mm-2"));
    let third = placed(&other, "0.12", &json!("mm-1"));
    let alone = place(&ann, &market, "BUY", "0.13", "1");
    let read = |order: &str| ann.get(&path(order)).ok(&shapes::order())["group"].clone();
    assert_eq!([read(&first), read(&alone)], [json!("mm-1"), Value::Null]);
    let listed = |query: &str| -> Vec<String> {
        let all = ann.get(&format!("/trading/orders?active=true&{query}")).ok(&shapes::orders());
        let ids = all["orders"].as_array().unwrap().iter();
        ids.map(|order| order["id"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(listed("group=mm-1"), [third.clone(), first.clone()]);
    assert_eq!(listed(&format!("group=mm-1&marketId={market}")), std::slice::from_ref(&first));
    assert_eq!(listed("group=mm-3"), [""; 0]);
    ann.get("/trading/orders?group=mm-1").bad_as("group", "UNKNOWN_FIELD");
    let cancelled = |query: &str| ann.client.delete(&format!("/trading/orders?{query}")).json;
    let only = cancelled(&format!("group=mm-1&marketId={market}"));
    assert_eq!(only["cancelled"], json!([first]));
    assert_eq!(cancelled("group=mm-3")["cancelled"], json!([]));
    assert_eq!(cancelled("group=mm-1")["cancelled"], json!([third]));
    assert_eq!(listed(&format!("marketId={market}")), [alone, second]);
    // Ended orders keep it.
    assert_eq!(read(&third), json!("mm-1"));
    let long = "g".repeat(33);
    for bad in ["", "a b", &long] {
        let body = with(order(&market, "BUY", "yes", "0.10", "1"), &json!({ "group": bad }));
        ann.order(&body).bad_as("group", "INVALID_VALUE");
    }
}

/// A key that got lost takes the orders with it that were sent with it, and no others.
#[test]
fn orders_are_cancelled_by_the_key_that_they_were_sent_with() {
    let venue = Venue::open();
    let (ann, bob) = (venue.trader("ann"), venue.trader("bob"));
    let (market, other) = (venue.market(), venue.market());
    let body = json!({"scope": "trade", "label": "second"});
    let made = ann.client.post("/account/keys", &body).json;
    let second = venue.client(made["key"].as_str().unwrap());
    let id = made["keyId"].as_str().unwrap();
    let send = |client: &Client, market: &str, more: &Value| {
        let body = with(order(market, "BUY", "yes", "0.10", "1"), more);
        client.post("/trading/orders", &body).text("orderId")
    };
    let first = send(&ann.client, &market, &json!({}));
    let [here, there] = [&market, &other].map(|market| send(&second, market, &json!({})));
    let named = send(&second, &market, &json!({"clientOrderId": "n"}));
    // Sent again with another key it is the same order.
    assert_eq!(send(&ann.client, &market, &json!({"clientOrderId": "n"})), named);
    let place = json!({"place": order(&market, "BUY", "yes", "0.11", "1")});
    let replace = json!({"replace": {"cancel": {"orderId": here}, "place": place["place"]}});
    let batch = json!({"operations": [place, replace]});
    let all = second.post("/trading/orders/batch", &batch).json;
    let ids = [0, 1].map(|at| all["results"][at]["order"]["orderId"].clone());
    let cancelled = |client: &Client, query: &str| {
        client.delete(&format!("/trading/orders?{query}")).json["cancelled"].clone()
    };
    let only = cancelled(&ann.client, &format!("keyId={id}&marketId={other}"));
    assert_eq!(only, json!([there]));
    ann.client.delete(&format!("/account/keys/{id}"));
    let rest = cancelled(&ann.client, &format!("keyId={id}"));
    assert_eq!(rest, json!([named, ids[0], ids[1]]));
    assert_eq!(ann.get(&path(&first)).text("status"), "OPEN");
    bob.client.delete(&format!("/trading/orders?keyId={id}")).refused(404, "KEY_NOT_FOUND");
    ann.client.delete("/trading/orders?keyId=x").bad_as("keyId", "INVALID_VALUE");
}
