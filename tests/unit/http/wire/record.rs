//! Unit tests of `src/http/wire/record.rs`.

#![allow(clippy::unwrap_used)] // a test may stop

use super::*;
use crate::wire::printed;
use exchange::script;

const SCRIPT: &str = r#"
venue USD
user ann
key k1 for ann
revoke k1 of ann
deposit ann 10.00
withdraw ann 5.00
take-fees ann 5.00
category sport
event cup in sport
market final of cup in sport
revise event cup titles "a" "b" "c" highlighted yes in none
revise market final yes "a" "b" "c" no "a" "b" "c" in sport highlighted no maker 0.01 taker 0.02
revise market final logo "u" until +5s
publish final
suspend final
reopen final until +1d
ann buy yes 0.62 x5 expires +5s valid +5s copy ann client "c"
ann sell no 0.62 x5
ann amend s1 price 0.61 x4 seen 0.62 x5
ann amend s1 x4
ann cancel s1
ann replace s1 buy yes 0.62 x5 on final
ann cancel all final
ann convert cup final x1
ann heartbeat 5s
mode venue normal
mode ann normal
limit ann none
close final
resolve final yes
dispute final
void final
invite ann trader hash1 until +1d
ann password hash1 ann argon2id-19-2-1 hash2 hash3
sign-up eve argon2id-19-2-1 hash4 hash5
ann sign-in +0s hash6 +1h +1d
ann stays hash6 +2h
ann sign-out all
ann factor hash2 hash3 hash4 +0s hash5,hash6
ann sign-in-by-code +0s hash5 +1h +1d +1s
ann sign-in-by-recovery +0s hash6 +1h +1d hash5
ann factor off
ann new-password hash2 hash3 argon2id-19-2-1 hash5 hash6 hash1 hash2 hash4 +1h +1d
ann asks-deposit 1.00 for own
ann asks-withdrawal 1.00
ann transfer 2 refused
two-persons off
ann confirms 2
ann rejects 2
ann disputes final bond 1.00 "why"
rename ann "Ann"
key k2 for ann until +1d
once ann "KEY" clock
once ann "L" by ann with k1 because "why" reference "b-1" evidence "u" sha256 hash1 clock
"#;

/// What readers of the journal have always seen, in its order.
const SHOWN: &str = "\
OPEN_VENUE rulesVersion currency userOpenOrdersMax venueOpenOrdersMax moneySupplyMax \
 repeatWindowSeconds userNamesMax
CREATE_USER userId profileName profilePic
ADD_KEY userId keyId role label keyHash
REVOKE_KEY userId keyId
DEPOSIT userId amount
WITHDRAW userId amount
TAKE_FEES userId amount
CREATE_CATEGORY categoryId name slug
CREATE_EVENT eventId titles subTitles descriptions images highlighted categoryIds mutuallyExclusive
CREATE_MARKET marketId eventId questions descriptions outcomes logo deadline highlighted \
 categoryIds disputeWindowSeconds makerFee takerFee
REVISE_EVENT eventId titles highlighted categoryIds
REVISE_MARKET marketId outcomes highlighted categoryIds makerFee takerFee
REVISE_MARKET marketId logo deadline
PUBLISH_MARKET marketId
SUSPEND_MARKET marketId
REOPEN_MARKET marketId deadline
PLACE_ORDER orderId userId marketId outcomeId side price quantity timeInForce expiresAt \
 selfTradePrevention postOnly reduceOnly validUntil copyFromTraderId clientOrderId
PLACE_ORDER orderId userId marketId outcomeId side price quantity timeInForce expiresAt \
 selfTradePrevention postOnly reduceOnly validUntil copyFromTraderId clientOrderId
AMEND_ORDER orderId userId price quantity seen
AMEND_ORDER orderId userId price quantity
CANCEL_ORDER orderId userId
REPLACE_ORDER orderId userId marketId replacedOrderId outcomeId side price quantity timeInForce \
 expiresAt selfTradePrevention postOnly reduceOnly validUntil copyFromTraderId clientOrderId
CANCEL_ORDERS userId marketId
CONVERT userId eventId marketIds quantity
HEARTBEAT userId timeoutSeconds
SET_VENUE_MODE mode
SET_USER_MODE userId mode
SET_EXPOSURE_LIMIT userId limit
CLOSE_MARKET marketId
RESOLVE_MARKET marketId winningOutcomeId
DISPUTE_MARKET marketId
VOID_MARKET marketId price
INVITE userId role invitation ends
SET_PASSWORD userId invitation name scheme
SIGN_UP name scheme
SIGN_IN userId passwordSet session until ends
EXTEND_SESSION userId session until
SIGN_OUT userId session
SET_SECOND_FACTOR userId used
SIGN_IN_BY_CODE userId passwordSet session until ends used
SIGN_IN_BY_RECOVERY userId passwordSet session until ends
CLEAR_SECOND_FACTOR userId
CHANGE_PASSWORD userId scheme session until ends
ASK_DEPOSIT userId amount reference
ASK_WITHDRAWAL userId amount reference
END_TRANSFER userId transfer how
SET_TWO_PERSONS above
CONFIRM_PROPOSAL operatorId proposal
DROP_PROPOSAL operatorId proposal
FILE_DISPUTE userId marketId bond reason
RENAME_USER userId profileName
ADD_KEY userId keyId role label keyHash ends
ADVANCE_CLOCK idempotencyKey
ADVANCE_CLOCK idempotencyKey act";

fn shown_of(script: &str) -> Vec<RecordJson<'static>> {
    let records: &'static [Record] = script::parse(script).unwrap().leak();
    let view = ReadModel::default();
    let orders = OrdersNamed::of(&view, records);
    records.iter().map(|record| RecordJson::of(&view, &orders, record, None)).collect()
}

#[test]
fn every_kind_has_its_members_in_their_order() {
    let hashes = (1..=6).map(|n: u8| (format!("hash{n}"), n.to_string().repeat(64)));
    let script =
        hashes.fold(SCRIPT.to_owned(), |script, (name, hash)| script.replace(&name, &hash));
    let script = script.replace("s1", "?17");
    let lines: Vec<String> = shown_of(&script)
        .into_iter()
        .map(|RecordJson(members)| {
            let kind = members.iter().find(|(name, _)| name == "kind").unwrap();
            let Json::Text(kind) = &kind.1 else { panic!("{kind:?}") };
            let names = members.iter().skip(4).map(|(name, _)| name.as_ref());
            [kind.as_ref()].into_iter().chain(names).collect::<Vec<_>>().join(" ")
        })
        .collect();
    assert_eq!(lines.join("\n"), SHOWN.replace(" \n", "\n"));
    for (_, name) in Command::KINDS {
        assert!(SHOWN.contains(&name.to_ascii_uppercase()), "{name}");
    }
}

#[test]
fn values_have_the_form_of_the_interface() {
    let script = "@1000 venue\nuser ann\nkey k for ann reader hash 11111111111111111111111111111111\
                  11111111111111111111111111111111\n\
                  ?0 buy no 0.62 x2.5 ioc stp=cancel-maker post-only on ?0\n\
                  ?0 amend ?4 seen 0.62 x2.5 filled x1";
    let shown = shown_of(script);
    let text = |index: usize| String::from_utf8(printed(&shown[index], 0).unwrap()).unwrap();
    assert_eq!(
        text(2),
        r#"{"sequence":3,"time":"1970-01-01T00:00:01.000Z","kind":"ADD_KEY","#.to_owned()
            + r#""result":"ACCEPTED","userId":null,"keyId":null,"role":"reader","label":"k","#
            + r#""keyHash":"#
            + &format!("\"{}\"}}", "1".repeat(64))
    );
    assert_eq!(
        text(3),
        r#"{"sequence":4,"time":"1970-01-01T00:00:01.000Z","kind":"PLACE_ORDER","#.to_owned()
            + r#""result":"ACCEPTED","orderId":null,"userId":null,"marketId":null,"#
            + r#""outcomeId":"no","side":"BUY","price":"0.62","#
            + r#""quantity":"2.5","timeInForce":"IOC","expiresAt":null,"#
            + r#""selfTradePrevention":"CANCEL_MAKER","postOnly":true,"reduceOnly":false,"#
            + r#""validUntil":null,"copyFromTraderId":null,"clientOrderId":null}"#
    );
    assert_eq!(
        text(4),
        r#"{"sequence":5,"time":"1970-01-01T00:00:01.000Z","kind":"AMEND_ORDER","#.to_owned()
            + r#""result":"ACCEPTED","orderId":null,"userId":null,"price":null,"quantity":null,"#
            + r#""seen":{"price":"0.62","quantity":"2.5","filledQuantity":"1"}}"#
    );
}
