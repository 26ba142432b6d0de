//! What is one user's stays hidden from the others: whatever the description lets a trader ask,
//! asked by somebody else, with the owner's own ids in hand.

use serde_json::{Value, json};

use super::described::{Operation, operation, operations};
use super::scene::Scene;
use super::shapes;
use super::venue::{Trader, order};

/// Reads of what is the caller's alone, in which nobody else's answer can be the same here.
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

/// Where everybody is told who traded.
const NAMING: [&str; 2] = ["listActivity", "getLeaderboard"];

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
fn nobody_reads_what_is_anothers() {
    let scene = scene();
    let carol = scene.venue.trader_with("carol", "77");
    let secrets = [&scene.order, &scene.post_only, &scene.reduce_only, &scene.key];
    let reads = operations().filter(|o| o.method == "GET" && is_for_traders(o));
    let (mut told, mut own) = (String::new(), 0);
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
            // The buckets of all keys are as full; they are told by their own test.
            assert!(anns != carols || operation.id() == "getLimits", "{} {anns}", operation.id());
        }
        told += &anns.to_string();
    }
    assert_eq!(own, OWN.len());
    for secret in secrets {
        assert!(told.contains(secret.as_str()), "Ann herself is not told {secret}");
    }
    let fills = format!("/trading/fills?orderId={}", scene.order);
    carol.get(&fills).refused(404, "ORDER_NOT_FOUND");
}

#[test]
fn nobody_changes_what_is_anothers() {
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
            // The event and its markets are everybody's; the contracts are Ann's.
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

/// What would trade with Ann's order says no more of her than the trade would.
#[test]
fn a_trial_tells_nothing_of_others() {
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
