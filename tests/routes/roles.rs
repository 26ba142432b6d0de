//! Roles from outside: every operation of the description, asked with a key of every role.

use serde_json::json;

use super::described::operations;
use super::scene::Scene;

/// A key of each role opens what the description says, and nothing else.
#[test]
fn every_operation_is_open_to_the_roles_that_the_description_names() {
    let scene = Scene::new();
    let mut wrong = Vec::new();
    for role in ["reader", "trader", "operator", "auditor", "metrics", "cashier", "catalogue"] {
        let key = json!({"role": role, "label": role});
        let client = scene.venue.key_of(&scene.ann.id, &key);
        for operation in operations().filter(|operation| !operation.is_for_people()) {
            let roles = operation.roles();
            let open = match roles.first() {
                None => true,
                Some(_) if role == "operator" => true,
                Some(&"reader") => role != "metrics",
                Some(_) => roles.contains(&role),
            };
            // What is sent would be refused as well, and do nothing.
            let asked = scene.request(&operation).by(&client).and_query("unheardOf=1");
            let answer = asked.send();
            if (answer.status != 403) != open {
                wrong.push(format!("{} by a {role}: {answer:?}", operation.id()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn an_auditor_sees_drafts_and_the_journal_and_a_cashier_pays() {
    let scene = Scene::new();
    let client =
        |role: &str| scene.venue.key_of(&scene.ann.id, &json!({"role": role, "label": role}));
    let draft = scene.venue.draft(&json!({}));
    let market = format!("/markets/{draft}");
    for (role, status) in [("auditor", 200), ("catalogue", 200), ("cashier", 404), ("trader", 404)]
    {
        assert_eq!(client(role).get(&market).status, status, "{role}");
    }
    let pay = format!("/admin/users/{}/deposits", scene.ann.id);
    let paid = client("cashier").post(&pay, &json!({"amount": "1", "reference": "r"}));
    assert_eq!(paid.status, 200, "{paid:?}");
    client("auditor").post(&pay, &json!({"amount": "1"})).refused(403, "FORBIDDEN");
    let record = format!("/admin/journal?from={}&limit=1", paid.sequence());
    let record = &client("auditor").get(&record).json["records"][0];
    assert_eq!(record["act"]["userId"], scene.ann.id.as_str());
}

#[test]
fn keys_are_given_by_those_who_may_do_as_much() {
    let scene = Scene::new();
    let make = |scope: &str| json!({"scope": scope, "label": scope});
    for scope in ["operator", "auditor", "metrics", "cashier", "catalogue"] {
        scene.ann.client.post("/account/keys", &make(scope)).refused(403, "FORBIDDEN");
        let made = scene.venue.operator.post("/account/keys", &make(scope));
        assert_eq!(made.json["scope"], scope, "{made:?}");
    }
}
