//! Unit tests of `src/cli/demo/flow.rs`.

use super::*;
use crate::cli::demo::people::{CROWD, MAKERS};
use crate::cli::demo::walk::Walk;
use exchange::Exchange;
use exchange::catalogue::MarketDraft;
use exchange::command::{Command, PlaceOrder, Record, TimeInForce};
use exchange::effect::Effect;
use exchange::ids::{MarketNo, UserNo};
use exchange::reject::Reject;
use exchange::rules::Rules;
use exchange::units::{MONEY_PER_UNIT, Money, Sequence, TimeMs};

#[test]
fn makers_quote_both_sides_and_never_cross_themselves() {
    let mut chance = Chance::seeded(5);
    for cents in 1..=99 {
        let fair = Tick::new(cents).unwrap();
        for place in 0..MAKERS.len() {
            let wishes = quotes(place, fair, &mut chance);
            assert!(!wishes.is_empty());
            for wish in wishes {
                match wish.direction {
                    Direction::Up => assert!(wish.price < fair),
                    Direction::Down => assert!(wish.price > fair),
                }
            }
        }
    }
}

#[test]
fn the_skilled_are_right_more_often_and_nobody_holds_without_end() {
    let mut chance = Chance::seeded(6);
    let fair = Tick::new(40).unwrap();
    let falcon = CROWD.into_iter().find(|bird| bird.name == "Falcon").unwrap();
    let mut right = 0_u64;
    for underrated in [true, false].repeat(1_000) {
        let wish = taking(falcon, fair, underrated, 0, &mut chance);
        right += u64::from(underrated == (wish.direction == Direction::Up));
    }
    assert!((falcon.skill * 18..falcon.skill * 22).contains(&right), "{right}");
    for held in [-100_000, 100_000] {
        let wish = taking(falcon, fair, held > 0, held, &mut chance);
        assert_eq!(wish.direction == Direction::Up, held < 0);
    }
}

#[test]
fn an_order_is_worded_so_that_it_bets_as_wished() {
    let mut chance = Chance::seeded(8);
    for direction in [Direction::Up, Direction::Down].repeat(50) {
        assert_eq!(worded(direction, &mut chance).direction(), direction);
    }
    let others = [60, 30].map(|cents| Tick::new(cents).unwrap());
    assert_eq!(rest_of_one(others.into_iter()).get(), 10);
    assert_eq!(rest_of_one(others.repeat(2).into_iter()), Tick::MIN);
}

/// Steps of the simulated people; a week of a running demo is about 1,300,000.
fn steps() -> u64 {
    let asked = std::env::var("OPENOUTCRY_DEMO_STEPS").ok();
    asked.map_or(20_000, |steps| steps.parse().unwrap())
}

/// A venue with these markets, and its people: makers with much money, the crowd with a thousand.
fn traded_on(markets: u32) -> (Exchange, impl FnMut(&mut Exchange, Command) -> Option<Reject>) {
    let mut sequence = Sequence::ZERO;
    let mut effects = Vec::new();
    let mut tell = move |exchange: &mut Exchange, command: Command| {
        sequence = sequence.next();
        let time = TimeMs::new(i64::try_from(sequence.get()).unwrap() * 200).unwrap();
        effects.clear();
        exchange
            .apply(&Record { sequence, time, once: None, act: None, command }, &mut effects)
            .unwrap();
        match effects.first() {
            Some(Effect::Refused(reject)) => Some(*reject),
            _ => None,
        }
    };
    let mut exchange = Exchange::new();
    tell(&mut exchange, Command::OpenVenue(Rules::current()));
    for (user, bird) in (0..).map(UserNo).zip(Bird::all()) {
        let (profile_name, profile_pic) = (bird.name.to_owned(), String::new());
        tell(&mut exchange, Command::CreateUser { profile_name, profile_pic });
        let units = if user.index() < MAKERS.len() { 2_000_000 } else { 1_000 };
        let amount = Money::new(units * MONEY_PER_UNIT);
        tell(&mut exchange, Command::Deposit { user, amount });
    }
    for market in (0..markets).map(MarketNo) {
        let draft = Box::new(MarketDraft::plain(TimeMs::MAX));
        tell(&mut exchange, Command::CreateMarket(draft));
        tell(&mut exchange, Command::PublishMarket { market });
    }
    (exchange, tell)
}

#[test]
fn nobody_runs_out_of_money_or_fills_the_books_however_long_they_trade() {
    const MARKETS: u32 = 12;
    let (mut exchange, mut tell) = traded_on(MARKETS);
    let mut chance = Chance::seeded(11);
    let walks = (0..MARKETS).map(|n| {
        let opening = Tick::new(u8::try_from(n * 7 + 8).unwrap()).unwrap();
        (Walk::from(opening, 70, &mut Chance::seeded(n.into())), [None; MAKERS.len()])
    });
    let mut walks: Vec<(Walk, [Option<Tick>; MAKERS.len()])> = walks.collect();
    let (mut taken, mut broke) = (0_u64, 0_u64);
    for _ in 0..steps() {
        let market = MarketNo(u32::try_from(chance.below(MARKETS.into())).unwrap());
        let (walk, quoted) = &mut walks[market.index()];
        walk.pass(4_000, &mut chance);
        let (fair, underrated) = (walk.fair(), walk.is_underrated());
        for (place, quoted) in quoted.iter_mut().enumerate() {
            if *quoted == Some(fair) && !chance.percent(8) {
                continue;
            }
            *quoted = Some(fair);
            let user = UserNo(u32::try_from(place).unwrap());
            tell(
                &mut exchange,
                Command::CancelOrders { user, market: Some(market), group: None, key: None },
            );
            for wish in quotes(place, fair, &mut chance) {
                let wording = worded(wish.direction, &mut chance);
                let price = wording.yes_price(wish.price);
                let order = PlaceOrder::plain(user, market, wording, price, wish.quantity);
                let refused = tell(&mut exchange, Command::PlaceOrder(order));
                assert_eq!(refused, None, "a maker");
            }
        }
        let place = usize::try_from(chance.below(CROWD.len() as u64)).unwrap();
        let user = UserNo(u32::try_from(place + MAKERS.len()).unwrap());
        let position = exchange.purse(user, market).unwrap().position;
        let held = net(position.yes.held, position.no.held);
        let wish = taking(CROWD[place], fair, underrated, held, &mut chance);
        let wording = worded(wish.direction, &mut chance);
        let price = wording.yes_price(wish.price);
        let mut order = PlaceOrder::plain(user, market, wording, price, wish.quantity);
        order.time_in_force = if wish.rests {
            let expires_at = TimeMs::new(exchange.time().get() + 600_000);
            TimeInForce::GoodTillCancelled { expires_at }
        } else {
            TimeInForce::ImmediateOrCancel
        };
        taken += 1;
        if tell(&mut exchange, Command::PlaceOrder(order)).is_some() {
            broke += 1;
            // As the faucet does: up to a thousand, what is at stake included.
            let money = exchange.purse(user, market).unwrap().account;
            let whole = money.available.get() + money.reserved.get();
            let lacking = 1_000 * MONEY_PER_UNIT - whole;
            if lacking > 0 {
                tell(&mut exchange, Command::Deposit { user, amount: Money::new(lacking) });
            }
        }
        if exchange.next_due().is_some_and(|due| due <= exchange.time()) {
            tell(&mut exchange, Command::AdvanceClock);
        }
        assert!(exchange.open_orders_count() < 2_000, "{}", exchange.open_orders_count());
    }
    assert!(broke * 4 < taken, "{broke} of {taken} could not pay");
    for maker in [0, 1].map(UserNo) {
        let left = exchange.purse(maker, MarketNo(0)).unwrap().account;
        assert!(left.available > Money::new(1_000_000 * MONEY_PER_UNIT), "{left:?}");
    }
    exchange.check().unwrap();
}
