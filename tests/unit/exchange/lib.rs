//! Unit tests of `src/exchange/lib.rs`.

use super::catalogue::{MarketDraft, Outcome};
use super::command::{PlaceOrder, Side, Wording};
use super::units::{Lots, Money};
use super::*;

fn apply(exchange: &mut Exchange, command: Command) -> Vec<Effect> {
    let record = Record {
        sequence: exchange.sequence().next(),
        time: TimeMs::new(1_700_000_000_000).unwrap(),
        once: None,
        act: None,
        command,
    };
    let mut effects = Vec::new();
    exchange.apply(&record, &mut effects).unwrap();
    exchange.check().unwrap();
    effects
}

fn buy(user: u32, outcome: Outcome, ticks: u8, contracts: u64) -> Command {
    Command::PlaceOrder(PlaceOrder::plain(
        UserNo(user),
        MarketNo(0),
        Wording { outcome, side: Side::Buy },
        Tick::new(ticks).unwrap(),
        Lots::contracts(contracts),
    ))
}

fn open_ended() -> MarketDraft {
    MarketDraft::plain(TimeMs::MAX)
}

/// A mere refusal would let a replay continue and refuse every record after it.
#[test]
fn unknown_rules_open_nothing_and_stop_the_replay() {
    let known = Rules::current();
    let beyond = |money: Money| Money::new(money.get() + 1);
    let unknown = [
        Rules { version: 0, ..known.clone() },
        Rules { version: known.version + 1, ..known.clone() },
        Rules { venue_open_orders_max: known.venue_open_orders_max + 1, ..known.clone() },
        Rules { money_supply_max: beyond(known.money_supply_max), ..known.clone() },
        Rules { money_supply_max: Money::ZERO, ..known.clone() },
    ];
    let record = |sequence, rules| Record {
        sequence,
        time: TimeMs::default(),
        once: None,
        act: None,
        command: Command::OpenVenue(rules),
    };
    for rules in unknown {
        let (mut exchange, mut effects) = (Exchange::new(), Vec::new());
        let first = record(exchange.sequence().next(), rules);
        let applied = exchange.apply(&first, &mut effects);
        assert_eq!((applied, &effects[..]), (Err(Broken::UnknownRules), &[][..]), "{first:?}");
        assert!(exchange.rules().is_none());
    }
    let mut exchange = Exchange::new();
    apply(&mut exchange, Command::OpenVenue(known.clone()));
    let again = apply(&mut exchange, Command::OpenVenue(Rules { version: 9, ..known }));
    assert_eq!(again, [Effect::Refused(Reject::VenueAlreadyOpen)]);
}

/// The venue keeps the rules it was opened with, not those of this version.
#[test]
fn the_limits_are_those_of_the_first_record() {
    let mut exchange = Exchange::new();
    let money_supply_max = Money::new(1_000_000_000);
    let rules = Rules { venue_open_orders_max: 1, money_supply_max, ..Rules::current() };
    apply(&mut exchange, Command::OpenVenue(rules));
    let (profile_name, profile_pic) = (String::new(), String::new());
    apply(&mut exchange, Command::CreateUser { profile_name, profile_pic });
    let mut deposit = |units| {
        let amount = Money::new(units);
        apply(&mut exchange, Command::Deposit { user: UserNo(0), amount })
    };
    assert!(!matches!(deposit(999_999_999)[..], [Effect::Refused(_)]));
    assert_eq!(deposit(2), [Effect::Refused(Reject::DepositLimit)]);
    assert!(!matches!(deposit(1)[..], [Effect::Refused(_)]));
    apply(&mut exchange, Command::CreateMarket(Box::new(open_ended())));
    apply(&mut exchange, Command::PublishMarket { market: MarketNo(0) });
    apply(&mut exchange, buy(0, Outcome::Yes, 1, 1));
    assert_eq!(exchange.open_orders_count(), 1);
    let more = apply(&mut exchange, buy(0, Outcome::Yes, 1, 1));
    assert_eq!(more, [Effect::Refused(Reject::OpenOrderLimit)]);
}

/// The exchange in one test: two traders bet against each other, the market resolves and pays,
/// and no money is lost.
#[test]
fn two_bets_meet_and_are_paid() {
    let mut exchange = Exchange::new();
    apply(&mut exchange, Command::OpenVenue(Rules::current()));
    for name in ["ann", "bob"] {
        let (profile_name, profile_pic) = (name.to_owned(), String::new());
        apply(&mut exchange, Command::CreateUser { profile_name, profile_pic });
    }
    for user in [UserNo(0), UserNo(1)] {
        apply(&mut exchange, Command::Deposit { user, amount: Money::new(1_000_000_000) });
    }
    apply(&mut exchange, Command::CreateMarket(Box::new(open_ended())));
    apply(&mut exchange, Command::PublishMarket { market: MarketNo(0) });

    // Ann buys yes at 0.60, Bob buys no at 0.45: together 1.05, so they trade, at Ann's price.
    apply(&mut exchange, buy(0, Outcome::Yes, 60, 10));
    let effects = apply(&mut exchange, buy(1, Outcome::No, 45, 4));
    let trade = effects.iter().find_map(|effect| match effect {
        Effect::TradeMade(trade) => Some(*trade),
        _ => None,
    });
    let trade = trade.unwrap();
    assert_eq!((trade.price.get(), trade.quantity), (60, Lots::contracts(4)));
    assert_eq!(exchange.ledger.account(UserNo(1)).unwrap().available.to_string(), "8.40");

    apply(&mut exchange, Command::ResolveMarket { market: MarketNo(0), winner: Outcome::Yes });
    assert_eq!(exchange.ledger.account(UserNo(0)).unwrap().available.to_string(), "11.60");
    assert_eq!(exchange.open_orders_count(), 0);
}
