//! `explain` accounts for all money of an order: what was set aside was paid, went for fees, came
//! back, or is still set aside; and all orders of a user together give the user's account.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)] // a test may stop

mod venue;

use std::path::Path;

use serde_json::Value;
use venue::{as_written, journal, run_on};

/// Random venues.
const CASES: u64 = 40;
/// Records of a script before its orders.
const BEFORE: usize = 7;

/// Numbers that look random and are the same in each run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888);
        (self.0 >> 33) % bound
    }

    fn one_of<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        let count = u64::try_from(choices.len()).unwrap();
        choices[usize::try_from(self.below(count)).unwrap()]
    }
}

/// Money in its smallest unit.
fn money(value: &Value) -> i128 {
    let text = value.as_str().unwrap();
    let (whole, part) = text.split_once('.').unwrap();
    format!("{whole}{part:0<8}").parse().unwrap()
}

fn asked(question: &str, file: &Path, rest: &str) -> Value {
    let (code, text) = run_on(question, file, &format!("{rest} --json"));
    assert_eq!(code, 0, "{text}");
    serde_json::from_str(&text).unwrap()
}

/// A script in which ann and bob trade with each other in a market with fees, and amend and cancel;
/// and the records that are ann's orders.
fn script(numbers: &mut Numbers) -> (String, Vec<usize>) {
    let rates = [numbers.below(10_001), numbers.below(10_001)];
    let [maker, taker] = rates.map(|rate| format!("{}.{:04}", rate / 10_000, rate % 10_000));
    let mut lines = vec![
        "venue USD".to_owned(),
        "user ann".to_owned(),
        "user bob".to_owned(),
        "deposit ann 1000.00".to_owned(),
        "deposit bob 1000.00".to_owned(),
        format!("market rain maker {maker} taker {taker}"),
        "publish rain".to_owned(),
    ];
    assert_eq!(lines.len(), BEFORE);
    let mut orders = Vec::new();
    for _ in 0..14 {
        let user = numbers.one_of(&["ann", "bob"]);
        let price = format!("0.{:02}", 1 + numbers.below(99));
        let lots = format!("{}.{:02}", numbers.below(9), 1 + numbers.below(99));
        let line = match (numbers.below(8), orders.last()) {
            (0, Some(order)) => format!("ann amend ?{order} price {price}"),
            (1, Some(order)) => format!("ann cancel ?{order}"),
            (kind, _) => {
                let verb = numbers.one_of(&["buy", "buy", "sell"]);
                let outcome = numbers.one_of(&["yes", "no"]);
                let how = numbers.one_of(&["", "", "", " ioc", " fok"]);
                if user == "ann" {
                    orders.push(lines.len() + 1);
                }
                let how = if kind == 2 { " post-only" } else { how };
                format!("{user} {verb} {outcome} {price} x{lots}{how} stp=cancel-maker")
            }
        };
        lines.push(format!("+1s {line}"));
    }
    (lines.join("\n") + "\n", orders)
}

#[test]
fn all_money_of_an_order_is_accounted_for() {
    let dir = tempfile::tempdir().unwrap();
    let mut numbers = Numbers(1);
    let (mut fees_returned, mut both_ways, mut amended, mut cancelled) = (0, 0, 0, 0);
    for case in 0..CASES {
        let (script, orders) = script(&mut numbers);
        let file = journal(dir.path(), &format!("case{case}"), &script);
        let (mut available, mut reserved, mut fees) = (1000_i128 * 100_000_000, 0, 0);
        for order in orders {
            let told = asked("explain", &file, &order.to_string());
            let about = format!("case {case}, order {order}:\n{script}{told}");
            let flow = |name: &str| money(&told["order"]["money"][name]);
            let gone = flow("paid") + flow("fees") + flow("came_back");
            assert_eq!(flow("set_aside"), gone + flow("still_set_aside"), "{about}");
            // The same from the events alone.
            let mut left = 0;
            for event in told["events"].as_array().unwrap() {
                let figures = &event["figures"];
                let figure = |name: &str| figures.get(name).map_or(0, money);
                left += figure("set_aside") - figure("released");
                left -= figure("paid") + figure("returned");
                left -= figure("fee_from_set_aside") + figure("fee_returned");
                let parts = figure("fee_from_set_aside") + figure("fee_from_received");
                assert_eq!(figure("fee"), parts, "{about}");
                fees += figure("fee");
                let text = event["text"].as_str().unwrap();
                if figure("fee_returned") > 0 {
                    assert!(text.contains("set aside for fees was not needed"), "{about}");
                    fees_returned += 1;
                }
                let [reserve, received] = ["fee_from_set_aside", "fee_from_received"].map(figure);
                both_ways += u32::from(reserve > 0 && received > 0);
                amended += u32::from(event["kind"] == "AMENDED");
                cancelled += u32::from(event["kind"] == "CANCELLED" && figure("released") > 0);
                if event["kind"] == "PAIRS MERGED" {
                    available += figure("received");
                }
            }
            assert_eq!(left, flow("still_set_aside"), "{about}");
            available += flow("came_back") - flow("set_aside");
            available += flow("received") - flow("fees_from_received");
            reserved += flow("still_set_aside");
        }
        let account = asked("account", &file, "2");
        let about = format!("case {case}:\n{script}{account}");
        assert_eq!(money(&account["available"]), available, "{about}");
        assert_eq!(money(&account["reserved"]), reserved, "{about}");
        assert_eq!(money(&account["fees_paid"]), fees, "{about}");
    }
    let seen = [fees_returned, both_ways, amended, cancelled];
    assert!(seen.iter().all(|count| *count > 0), "{seen:?}");
}

#[test]
fn the_reserve_for_fees_is_explained() {
    let dir = tempfile::tempdir().unwrap();
    let script = "venue USD
user ann
user bob
deposit ann 100.00
deposit bob 100.00
market rain maker 0.0200 taker 0.0700
publish rain
bob buy no 0.45 x4
ann buy yes 0.60 x10
bob sell yes 0.50 x2
ann cancel ?9
";
    let file = journal(dir.path(), "fees", script);
    let (code, text) = run_on("explain", &file, "9");
    as_written("explain-fees.txt", &format!("{text}exit code {code}\n"));
}
