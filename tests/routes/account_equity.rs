//! `GET /account/equity`.

use serde_json::{Value, json};

use exchange::catalogue::Outcome;
use exchange::command::Command;
use exchange::ids::UserNo;
use exchange::units::Money;
use http::keys::ApiKey;

use super::cursors::page;
use super::depth_as_of::{bids, one_block};
use super::shapes;
use super::venue::{PICTURE, Venue};

/// The hours of a block of 2023 are over with the first record of today.
#[test]
fn equity_of_an_hour_is_told_once_it_is_over() {
    let key = ApiKey::draw().unwrap();
    let (profile_name, profile_pic) = ("bob".to_owned(), PICTURE.to_owned());
    let more = vec![
        Command::CreateUser { profile_name, profile_pic },
        Command::Deposit { user: UserNo(1), amount: Money::new(10_000_000_000) },
        bids(0, Outcome::Yes, 40, 2),
        bids(1, Outcome::No, 60, 2),
    ];
    let (journal, _) = one_block(&key, more);
    let venue = Venue::resumed(journal, key.reveal());
    let shape = page("points", shapes::equity_point());
    let points = |query: &str| {
        let json = venue.operator.get(&format!("/account/equity{query}")).ok(&shape);
        json["points"].as_array().unwrap().clone()
    };
    assert_eq!(points(""), Vec::<Value>::new());
    venue.category("first-of-today");
    let all = points("");
    // Paid 0.80 for two contracts, which the last trade says are worth as much.
    let shown = |point: &Value| json!([point["equity"], point["paidIn"]]);
    assert_eq!(all.iter().map(shown).collect::<Vec<_>>(), [json!(["100.00", "100.00"])]);
    assert_eq!(all[0]["timestamp"].as_str().map(|text| &text[..2]), Some("20"));
    venue.category("second-of-today");
    assert_eq!(points(""), all);
    assert_eq!(points("?since=2024-01-01T00:00:00.000Z"), all);
    let sequence = all[0]["sequence"].as_u64().unwrap();
    assert_eq!(points(&format!("?afterSequence={sequence}")), Vec::<Value>::new());
    let other = venue.trader("eve").get("/account/equity").ok(&shape);
    assert_eq!(other["points"], json!([]));
    venue.operator.get("/account/equity?limit=1001").bad_as("limit", "OUT_OF_BOUNDS");
}
