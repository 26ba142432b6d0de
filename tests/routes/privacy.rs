//! A user's data stays hidden from others: every operation that the description offers a trader,
//! called by another trader with the owner's own ids.

use serde_json::{Value, json};

use super::described::{Operation, operation, operations};
use super::scene::Scene;
use super::shapes;
use super::venue::{Trader, order};

/// Reads of the caller's own data, whose answers must differ between the users of this scene.
const OWN: [&str; 12] = [
    "listOrders",
    "getOrder",
    "getNamedOrder",
    "listFills",
    "listPositions",
    "getBalance",
    "listLedger",
    "listSettlements",
    "getPnl",
    "listKeys",
    "getHeartbeat",
    "getLimits",
];

/// Public reads that name the parties of trades.
const NAMING: [&str; 3] = ["listActivity", "getLeaderboard", "getProfile"];

/// A scene in which Ann has something of everything.
fn scene() -> Scene {
    let scene = Scene::new();
    let (ben, settled) = (scene.venue.trader("ben the other"), scene.venue.market());
    scene.venue.trade(&settled, &scene.ann, &ben, "0.50", "3");
    scene.venue.settle(&settled, "yes");
    scene.ann.client.post("/trading/heartbeat", &json!({"timeoutSeconds": 300}));
    scene
}

fn is_for_traders(operation: &Operation) -> bool {
    let security = &operation.content["security"][0];
    security.is_object() && security.get("operatorKey").is_none()
}

fn asked(scene: &Scene, operation: &Operation, by: &Trader) -> Value {
    let answer = scene.request(operation).by(&by.client).send();
    assert!(answer.status == 200 || answer.status == 404, "{answer:?}");
    answer.json
}

#[test]
fn no_user_reads_anothers_data() {
    let scene = scene();
    let carol = scene.venue.trader_with("carol", "77");
    let secrets = [&scene.order, &scene.post_only, &scene.reduce_only, &scene.key];
    let reads = operations().filter(|o| o.method == "GET" && is_for_traders(o));
    let (mut shown, mut own) = (String::new(), 0);
    for operation in reads {
        let anns = asked(&scene, &operation, &scene.ann);
        let carols = asked(&scene, &operation, &carol);
        for secret in secrets {
            let shown = carols.to_string().contains(secret.as_str());
            assert!(!shown, "{} {carols}", operation.id());
        }
        let named = carols.to_string().contains(&scene.ann.id);
        assert!(!named || NAMING.contains(&operation.id()), "{} {carols}", operation.id());
        if OWN.contains(&operation.id()) {
            own += 1;
            // Fresh buckets look alike for all keys; their own test covers them.
            assert!(anns != carols || operation.id() == "getLimits", "{} {anns}", operation.id());
        }
        shown += &anns.to_string();
    }
    assert_eq!(own, OWN.len());
    for secret in secrets {
        assert!(shown.contains(secret.as_str()), "Ann herself is not shown {secret}");
    }
    let fills = format!("/trading/fills?orderId={}", scene.order);
    carol.get(&fills).refused(404, "ORDER_NOT_FOUND");
}

#[test]
fn no_user_changes_anothers_data() {
    let scene = scene();
    let carol = scene.venue.trader("carol");
    let state = || {
        let reads = operations().filter(|o| OWN.contains(&o.id()) && o.id() != "getLimits");
        reads.map(|operation| asked(&scene, &operation, &scene.ann)).collect::<Vec<_>>()
    };
    let (before, mut refused) = (state(), 0);
    for operation in operations().filter(|o| o.method != "GET" && is_for_traders(o)) {
        let answer = scene.request(&operation).by(&carol.client).send();
        if operation.id() == "convert" {
            // The event and its markets are public; only the contracts are Ann's.
            answer.refused(422, "INSUFFICIENT_CONTRACTS");
        } else if operation.path.contains('{') {
            assert_eq!(answer.status, 404, "{answer:?}");
            refused += 1;
        }
        if operation.id() != "placeOrder" && operation.id() != "sendBatch" {
            assert_eq!(state(), before, "{}", operation.id());
        }
        carol.client.delete("/trading/orders");
    }
    assert!(refused >= 5, "{refused}");
    let cancel = json!({"operations": [
        {"cancel": {"orderId": scene.order}}, {"cancel": {"clientOrderId": "own"}}]});
    let results = carol.client.post("/trading/orders/batch", &cancel).json["results"].clone();
    for result in results.as_array().unwrap() {
        assert_eq!(result["error"]["code"], "ORDER_NOT_FOUND", "{results}");
    }
    assert_eq!(asked(&scene, &operation("getOrder"), &scene.ann)["status"], "PARTIALLY_FILLED");
}

/// A trial that would trade with Ann's order must reveal no more of her than the trade would.
#[test]
fn a_trial_reveals_nothing_of_other_users() {
    let scene = scene();
    let carol = scene.venue.trader("carol");
    let meeting = order(&scene.market, "SELL", "yes", "0.05", "7");
    let dry = carol.client.post("/trading/orders?dryRun=true", &meeting);
    let dry = dry.ok(&shapes::tried());
    assert!(!dry["trades"].as_array().unwrap().is_empty(), "{dry}");
    let real = carol.order(&meeting);
    for (answer, kind) in [(dry, "trial"), (real.ok(&shapes::placed()), "order")] {
        for secret in [&scene.ann.id, &scene.order, &scene.post_only, &scene.reduce_only] {
            assert!(!answer.to_string().contains(secret.as_str()), "{kind}: {answer}");
        }
    }
}
