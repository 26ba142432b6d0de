//! Unit tests of `src/cli/demo/banner.rs`.

use super::*;
use crate::cli::demo::venue;

const ADDRESS: &str = "127.0.0.1:8137";

#[test]
fn the_lines_name_the_address_the_keys_and_a_living_market() {
    let engine = venue();
    let model = engine.read();
    let text = banner(&model, &format!("http://{ADDRESS}"));
    for person in Person::all() {
        let key = model.accounts.key_by_hash(&person.key_hash()).unwrap();
        let available = model.accounts.user(key.user).unwrap().balance.available.to_string();
        let row = text.lines().find(|line| line.ends_with(person.key)).unwrap();
        assert!(row.contains(person.name) && row.contains(&available), "{row}");
    }
    let example = example(&model).unwrap();
    let id = example.market.to_string();
    let lines: Vec<&str> = text.lines().filter(|line| line.starts_with("curl ")).collect();
    assert_eq!(lines.len(), 7);
    for line in &lines {
        assert!(line.contains("'http://127.0.0.1:8137/api/v1/"), "{line}");
        assert!(line.contains(TRADERS[0].key) || line.contains(OPERATOR.key), "{line}");
        assert_eq!(line.matches('\'').count() % 2, 0, "{line}");
    }
    for part in ["/trading/books/", "\"marketId\":", "/trading/orders?marketId="] {
        assert!(
            lines.iter().any(|line| line.contains(&format!("{part}{id}"))
                || line.contains(&format!("{part}\"{id}\""))),
            "{part}"
        );
    }
}

#[test]
fn the_printed_order_would_fill_whole_at_once() {
    let engine = venue();
    let model = engine.read();
    let example = example(&model).unwrap();
    let market = model.catalogue.market_no(example.market).unwrap();
    let reachable: u64 = model
        .depth
        .levels(market, Direction::Down)
        .filter(|level| level.price <= example.price)
        .map(|level| level.quantity.get())
        .sum();
    assert!(reachable >= Lots::contracts(BOUGHT).get());
    assert!(model.depth.best(market, Direction::Up).unwrap() < example.price);
}

#[test]
fn a_venue_without_markets_says_so() {
    let text = banner(&ReadModel::new(), &format!("http://{ADDRESS}"));
    assert!(text.contains("No market takes orders"));
    assert!(!text.contains("curl"));
}
