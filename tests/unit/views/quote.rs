//! Unit tests of `src/views/depth.rs`.

use super::*;
use crate::catalogue::Catalogue;
use crate::fixture::*;
use exchange::catalogue::EventDraft;
use exchange::effect::Effect;
use exchange::ids::{EventNo, MarketNo};

fn shown(ended: Option<Effect>, bid: u8, ask: u8, last: u8) -> String {
    let mut catalogue: Catalogue = opened();
    let effects: Vec<Effect> = ended.into_iter().collect();
    assert_eq!(fold(&mut catalogue, 2, &effects), 0);
    let row = catalogue.market(RAIN).unwrap();
    let price = Tick::new;
    let quote = Quote::of(row, price(bid), price(ask), price(last));
    quote.probability_of_yes().to_string()
}

#[test]
fn a_close_spread_shows_its_middle() {
    assert_eq!(shown(None, 40, 50, 90), "0.45");
    assert_eq!(shown(None, 40, 41, 90), "0.405");
}

#[test]
fn a_wide_or_one_sided_book_shows_the_last_trade() {
    assert_eq!(shown(None, 40, 51, 90), "0.9");
    assert_eq!(shown(None, 40, 0, 90), "0.9");
    assert_eq!(shown(None, 0, 45, 90), "0.9");
}

#[test]
fn a_market_that_says_nothing_shows_one_half() {
    assert_eq!(shown(None, 0, 0, 0), "0.5");
    assert_eq!(shown(None, 1, 99, 0), "0.5");
}

#[test]
fn the_end_overrules_the_book() {
    assert_eq!(shown(Some(settled(RAIN, Outcome::Yes)), 40, 42, 41), "1");
    assert_eq!(shown(Some(settled(RAIN, Outcome::No)), 40, 42, 41), "0");
    assert_eq!(shown(Some(voided(RAIN, 37)), 40, 42, 41), "0.37");
}

#[test]
fn contracts_are_worth_what_is_displayed() {
    let price = |ticks| Tick::new(ticks).unwrap();
    let value = |quote: Quote, outcome, lots| quote.value(outcome, Lots::new(lots)).map(Money::get);
    let between = Quote::Between(price(40), price(41));
    assert_eq!(value(between, Outcome::Yes, 10), Ok(405));
    assert_eq!(value(between, Outcome::No, 10), Ok(595));
    assert_eq!(value(between, Outcome::Yes, 1), Ok(40));
    assert_eq!(value(Quote::At(SettlementPrice::ONE), Outcome::No, 9), Ok(0));
}

const EVENT: EventNo = EventNo(0);

/// A read model of an event with active markets that have these best bids and asks, in ticks; 0
/// means none.
fn field_of(mutually_exclusive: bool, books: &[(u8, u8)]) -> ReadModel {
    let mut model = ReadModel::new();
    let draft = EventDraft { mutually_exclusive, ..EventDraft::default() };
    let mut effects = vec![Effect::EventCreated { event: EVENT, draft: Box::new(draft) }];
    let mut resting = Vec::new();
    for (number, (bid, ask)) in (0..).zip(books) {
        let market_no = MarketNo(number);
        effects.push(market(market_no, Some(EVENT)));
        effects.push(moved(market_no, MarketStatus::Draft, MarketStatus::Active));
        for (direction, price) in [(Direction::Up, bid), (Direction::Down, ask)] {
            resting.extend(Tick::new(*price).map(|price| Effect::OrderRested {
                order: order(1),
                user: ANN,
                market: market_no,
                direction,
                price,
                remaining: Lots::new(1),
            }));
        }
    }
    assert_eq!(fold(&mut model.catalogue, 1, &effects), 0);
    let mut all = effects;
    all.extend(resting);
    assert_eq!(fold(&mut model.depth, 1, &all), 0);
    model
}

/// The set's bid and ask as text.
fn field(model: &ReadModel) -> Option<[Option<String>; 2]> {
    let quote = model.field(model.catalogue.event(EVENT).unwrap())?;
    Some([quote.bid, quote.ask].map(|price| price.map(|price| price.to_string())))
}

fn quoted(bid: Option<&str>, ask: Option<&str>) -> [Option<String>; 2] {
    [bid, ask].map(|price| price.map(str::to_owned))
}

#[test]
fn the_field_costs_what_a_contract_of_each_market_does() {
    let model = field_of(true, &[(35, 45), (25, 36), (20, 28)]);
    assert_eq!(field(&model), Some(quoted(Some("0.80"), Some("1.09"))));
    assert_eq!(field(&field_of(true, &[(99, 0)])), Some(quoted(Some("0.99"), None)));
    assert_eq!(field(&field_of(true, &[(60, 70), (0, 50)])), Some(quoted(None, Some("1.20"))));
    assert_eq!(field(&field_of(true, &[(60, 0), (50, 0)])), Some(quoted(Some("1.10"), None)));
}

#[test]
fn a_field_of_no_market_has_no_price_and_of_any_one_that_may_win_none() {
    assert_eq!(field(&field_of(true, &[])), Some(quoted(None, None)));
    assert_eq!(field(&field_of(false, &[(35, 45), (25, 36)])), None);
}

#[test]
fn a_final_market_counts_with_what_it_paid_and_one_that_rests_not_at_all() {
    let books = [(35, 45), (25, 36), (20, 28)];
    let after = |effect: Effect| {
        let mut model = field_of(true, &books);
        assert_eq!(fold(&mut model.catalogue, 2, &[effect]), 0);
        field(&model)
    };
    assert_eq!(after(settled(RAIN, Outcome::No)), Some(quoted(Some("0.45"), Some("0.64"))));
    assert_eq!(after(settled(RAIN, Outcome::Yes)), Some(quoted(Some("1.45"), Some("1.64"))));
    assert_eq!(after(voided(RAIN, 30)), Some(quoted(Some("0.75"), Some("0.94"))));
    for status in [MarketStatus::Suspended, MarketStatus::Closed] {
        let stopped = moved(RAIN, MarketStatus::Active, status);
        assert_eq!(after(stopped), Some(quoted(None, None)), "{status:?}");
    }
}
