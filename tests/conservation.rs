//! Money is conserved to the unit through random lives of a mutually exclusive event, with fees,
//! disputes, voiding and conversions together. It is counted from the effects, not from the
//! exchange's own sums. And a conversion leaves every user's final worth as it would have been,
//! however the event ends.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test may stop

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;

use proptest::prelude::*;
use proptest::test_runner::TestRunner;

use exchange::Exchange;
use exchange::catalogue::{EventDraft, MarketDraft, Outcome};
use exchange::command::{
    Command, Conversion, PlaceOrder, Record, SelfTradePrevention, Side, Wording,
};
use exchange::effect::Effect;
use exchange::fees::{FeeRate, Fees};
use exchange::ids::{EventNo, MarketNo, MarketSet, UserNo};
use exchange::market::MarketStatus;
use exchange::rules::{Rules, SLICE};
use exchange::units::{Lots, Money, SettlementPrice, Tick, TimeMs};

const USERS_COUNT: u32 = 3;
const EVENT: EventNo = EventNo(0);
/// Each user's first deposit, in units: 30.00.
const DEPOSIT: Money = Money::new(3_000_000_000);
/// Ticks in 1.00. One tick times one lot is one unit of money.
const WHOLE: i128 = 100;
/// Longer than any market's dispute window.
const WINDOWS_OVER_MS: i64 = 3_000;

/// A market's fees, in ten-thousandths, and dispute window.
#[derive(Debug, Clone, Copy)]
struct Terms {
    maker: u16,
    taker: u16,
    window_seconds: u32,
}

#[derive(Debug, Clone, Copy)]
enum Move {
    Buy {
        user: u32,
        market: u32,
        outcome: Outcome,
        ticks: u8,
        lots: u64,
    },
    /// Converts some tenths of the sets that the user holds of the picked markets.
    Convert {
        user: u32,
        picked: u8,
        tenths: u64,
    },
    CancelAll {
        user: u32,
    },
    TakeFees {
        user: u32,
        tenths: u64,
    },
    Suspend {
        market: u32,
    },
    Reopen {
        market: u32,
    },
    Close {
        market: u32,
    },
    End {
        market: u32,
        end: End,
    },
    Dispute {
        market: u32,
    },
    Later {
        ms: i64,
    },
}

/// How a market ends.
#[derive(Debug, Clone, Copy)]
enum End {
    Resolved(Outcome),
    Voided(u8),
}

impl End {
    /// The pay-out of a yes contract, in ticks.
    fn ticks(self) -> i128 {
        match self {
            End::Resolved(winner) => i128::from(winner.price_of_yes().get()),
            End::Voided(price) => i128::from(price),
        }
    }

    fn command(self, market: MarketNo) -> Command {
        match self {
            End::Resolved(winner) => Command::ResolveMarket { market, winner },
            End::Voided(price) => {
                let price = SettlementPrice::new(price).unwrap();
                Command::VoidMarket { market, price }
            }
        }
    }
}

/// Totals counted from the effects so far.
#[derive(Clone, Default)]
struct Totals {
    deposits: i128,
    accounts: BTreeMap<UserNo, i128>,
    /// Lots of yes and of no held.
    held: BTreeMap<(MarketNo, UserNo), (i128, i128)>,
    /// Trading fees and what converted sets left over, less the fees withdrawn.
    kept: i128,
    sets: i128,
    /// Pay-out of yes in the markets that pay or have paid, in ticks.
    prices: BTreeMap<MarketNo, i128>,
    /// Those that have paid.
    paid: BTreeSet<MarketNo>,
    seen: BTreeSet<&'static str>,
}

fn lots(lots: Lots) -> i128 {
    i128::from(lots.get())
}

fn money(money: Money) -> i128 {
    i128::from(money.get())
}

impl Totals {
    fn add(&mut self, effect: &Effect) {
        match effect {
            Effect::Deposited { amount, .. } => self.deposits += money(*amount),
            Effect::FeesTaken { amount, .. } => {
                self.kept -= money(*amount);
                self.see("fees taken", true);
            }
            Effect::AccountChanged { user, available, reserved } => {
                self.accounts.insert(*user, money(*available) + money(*reserved));
            }
            Effect::PositionChanged { user, market, yes, no, .. } => {
                self.held.insert((*market, *user), (lots(yes.held), lots(no.held)));
            }
            Effect::PositionSettled { user, market, .. } => {
                self.held.remove(&(*market, *user));
            }
            Effect::TradeMade(trade) => {
                let fees = money(trade.maker.fee) + money(trade.taker.fee);
                self.kept += fees;
                self.see("a fee", fees > 0);
            }
            Effect::Converted { quantity, markets, .. } => {
                self.sets += lots(*quantity);
                self.see("a conversion of one", markets.as_slice().len() == 1);
                self.see("a conversion of several", markets.as_slice().len() > 1);
            }
            Effect::SetsSettled { surplus, .. } => {
                self.kept += money(*surplus);
                self.see("sets that left something", *surplus > Money::ZERO);
                self.see("sets that left nothing", *surplus == Money::ZERO);
            }
            Effect::MarketPays { market, price, voided } => {
                self.prices.insert(*market, i128::from(price.get()));
                self.see("a part of a settlement", !voided);
                self.see("a part of a void", *voided);
            }
            Effect::MarketMoved { market, from, to, settled_at, .. } => {
                if let Some(price) = settled_at {
                    self.prices.insert(*market, i128::from(price.get()));
                    self.paid.insert(*market);
                }
                self.see("a dispute", *to == MarketStatus::Disputed);
                let again = *from == MarketStatus::Disputed;
                self.see("a dispute that changed nothing", again && *to == MarketStatus::Resolved);
                let voided = *to == MarketStatus::Voided;
                self.see("a voided market", voided);
                self.see("a void after conversions", voided && self.sets > 0);
                self.see("a void of a disputed market", voided && again);
            }
            _ => {}
        }
    }

    fn see(&mut self, what: &'static str, is_so: bool) {
        if is_so {
            self.seen.insert(what);
        }
    }

    /// All users' yes and no contracts in a market.
    fn held_in(&self, market: MarketNo) -> (i128, i128) {
        let held = self.held.range((market, UserNo(0))..=(market, UserNo(u32::MAX)));
        held.fold((0, 0), |sum, (_, (yes, no))| (sum.0 + yes, sum.1 + no))
    }

    /// Every unit deposited is in an account, behind a pair of contracts, behind a converted set,
    /// or belongs to the venue.
    fn conserved(&self, markets_count: u32) -> Result<(), String> {
        let mut total = self.accounts.values().sum::<i128>() + self.kept;
        for market in (0..markets_count).map(MarketNo) {
            let (yes, no) = self.held_in(market);
            if let Some(price) = self.prices.get(&market) {
                total += yes * price + no * (WHOLE - price);
                continue;
            }
            let sets = self.sets;
            if yes != no + sets {
                return Err(format!("{market:?}: {yes} yes, {no} no and {sets} sets"));
            }
            total += no * WHOLE;
        }
        if self.paid.len() < markets_count as usize {
            total += self.sets * (WHOLE - self.prices.values().sum::<i128>());
        }
        let deposits = self.deposits;
        if total == deposits { Ok(()) } else { Err(format!("{total} of {deposits} units")) }
    }
}

/// A venue with one event, and the totals counted from its effects.
#[derive(Clone)]
struct Venue {
    exchange: Exchange,
    now: TimeMs,
    totals: Totals,
    markets_count: u32,
}

impl Venue {
    /// A venue where a record ends at most `slice` orders and positions.
    fn open(terms: &[Terms], slice: NonZeroU32) -> Venue {
        let mut venue = Venue {
            exchange: Exchange::new().in_slices_of(slice),
            now: TimeMs::new(1_700_000_000_000).unwrap(),
            totals: Totals::default(),
            markets_count: u32::try_from(terms.len()).unwrap(),
        };
        venue.ask(Command::OpenVenue(Rules::current()));
        for user in (0..USERS_COUNT).map(UserNo) {
            let (profile_name, profile_pic) = (String::new(), String::new());
            venue.ask(Command::CreateUser { profile_name, profile_pic });
            venue.ask(Command::Deposit { user, amount: DEPOSIT });
        }
        let event = EventDraft { mutually_exclusive: true, ..EventDraft::default() };
        venue.ask(Command::CreateEvent(Box::new(event)));
        for (number, terms) in (0..).zip(terms) {
            let rate = |rate| FeeRate::new(rate).unwrap();
            let draft = MarketDraft {
                event: Some(EVENT),
                dispute_window_seconds: terms.window_seconds,
                fees: Fees { maker: rate(terms.maker), taker: rate(terms.taker) },
                ..MarketDraft::plain(venue.now.after_seconds(1_000_000))
            };
            venue.ask(Command::CreateMarket(Box::new(draft)));
            venue.ask(Command::PublishMarket { market: MarketNo(number) });
        }
        venue
    }

    /// Applies a command and checks conservation after it; false if it was refused.
    fn ask(&mut self, command: Command) -> bool {
        let sequence = self.exchange.sequence().next();
        let record = Record { sequence, time: self.now, once: None, act: None, command };
        let mut effects = Vec::new();
        self.exchange.apply(&record, &mut effects).unwrap();
        for effect in &effects {
            self.totals.add(effect);
        }
        let conserved = self.totals.conserved(self.markets_count);
        assert_eq!(conserved, Ok(()), "{record:?}: {effects:?}");
        assert_eq!(self.exchange.fees().get(), self.totals.kept, "{record:?}: {effects:?}");
        !matches!(effects[..], [Effect::Refused(_)])
    }

    fn later(&mut self, ms: i64) {
        self.now = TimeMs::new(self.now.get() + ms).unwrap();
        self.ask(Command::AdvanceClock);
    }

    /// Lets the clock do whatever is due.
    fn finish(&mut self) {
        while self.exchange.next_due().is_some_and(|due| due <= self.now) {
            self.ask(Command::AdvanceClock);
        }
    }

    fn markets(&self) -> impl Iterator<Item = MarketNo> + use<> {
        (0..self.markets_count).map(MarketNo)
    }

    fn status(&self, market: MarketNo) -> MarketStatus {
        self.exchange.market(market).unwrap().status
    }

    fn free_no(&self, user: UserNo, market: MarketNo) -> Lots {
        self.exchange.purse(user, market).unwrap().position.no.free().unwrap()
    }

    /// Some tenths of all sets that the user can make of the picked markets; `None` if there are
    /// none.
    fn conversion(&self, user: UserNo, picked: u8, tenths: u64) -> Option<Conversion> {
        let picked = self.markets().filter(|market| picked >> market.0 & 1 == 1);
        let has = |market: &MarketNo| !self.free_no(user, *market).is_zero();
        let markets: Vec<MarketNo> = picked.filter(has).collect();
        let most = markets.iter().map(|market| self.free_no(user, *market)).min()?;
        let quantity = Lots::new((most.get() * tenths / 10).max(1));
        Some(Conversion { user, event: EVENT, markets: MarketSet::new(markets)?, quantity })
    }

    fn make(&mut self, a_move: Move) {
        let of = |market: u32| MarketNo(market % self.markets_count);
        match a_move {
            Move::Buy { user, market, outcome, ticks, lots } => {
                let wording = Wording { outcome, side: Side::Buy };
                let price = Tick::new(ticks).unwrap();
                let lots = Lots::new(lots);
                self.ask(Command::PlaceOrder(PlaceOrder {
                    self_trade: SelfTradePrevention::CancelMaker,
                    ..PlaceOrder::plain(UserNo(user), of(market), wording, price, lots)
                }));
            }
            Move::Convert { user, picked, tenths } => {
                if let Some(asked) = self.conversion(UserNo(user), picked, tenths) {
                    self.ask(Command::Convert(asked));
                }
            }
            Move::CancelAll { user } => {
                self.ask(Command::CancelOrders {
                    user: UserNo(user),
                    market: None,
                    group: None,
                    key: None,
                });
            }
            Move::TakeFees { user, tenths } => {
                let before = self.totals.kept;
                let units = i64::try_from(before * i128::from(tenths) / 10).unwrap();
                let amount = Money::new(units.max(1));
                let taken = self.ask(Command::TakeFees { user: UserNo(user), amount });
                let there = i128::from(amount.get()) <= before;
                assert_eq!(taken, there, "{amount} of {before}");
                self.totals.see("fees refused", !taken);
            }
            Move::Suspend { market } => {
                self.ask(Command::SuspendMarket { market: of(market) });
            }
            Move::Reopen { market } => {
                self.ask(Command::ReopenMarket { market: of(market), deadline: None });
            }
            Move::Close { market } => {
                self.ask(Command::CloseMarket { market: of(market) });
            }
            Move::End { market, end } => {
                self.ask(end.command(of(market)));
            }
            Move::Dispute { market } => {
                self.ask(Command::DisputeMarket { market: of(market) });
            }
            Move::Later { ms } => self.later(ms),
        }
    }

    /// Resolves every market to no that is not resolved yet, so that all become final.
    fn wind_up(&mut self) {
        for market in self.markets() {
            if !matches!(self.status(market), MarketStatus::Resolved) {
                self.ask(End::Resolved(Outcome::No).command(market));
            }
        }
        self.later(WINDOWS_OVER_MS);
        self.finish();
    }

    /// The final balances of the users, and of the venue, after the markets have ended this way.
    fn ended(mut self, ends: &[End]) -> (BTreeMap<UserNo, i128>, i128) {
        for (market, end) in self.markets().zip(ends) {
            assert!(self.ask(end.command(market)), "{market:?} does not end at {end:?}");
        }
        self.later(WINDOWS_OVER_MS);
        self.finish();
        assert_eq!(self.totals.paid.len(), self.markets_count as usize);
        (self.totals.accounts, self.totals.kept)
    }
}

fn terms() -> impl Strategy<Value = Vec<Terms>> {
    let rate = || prop_oneof![Just(0_u16), Just(1), Just(333), Just(700), Just(10_000)];
    let one = (rate(), rate(), 0_u32..3);
    let one = one.prop_map(|(maker, taker, window_seconds)| Terms { maker, taker, window_seconds });
    prop::collection::vec(one, 2..=4)
}

/// Often so few that an end takes several records.
fn slice() -> impl Strategy<Value = NonZeroU32> {
    let slices = prop_oneof![1 => 1..4_u32, 1 => Just(SLICE)];
    slices.prop_map(|slice| NonZeroU32::new(slice).unwrap())
}

fn outcome() -> impl Strategy<Value = Outcome> {
    prop_oneof![Just(Outcome::Yes), Just(Outcome::No)]
}

/// Moves while the markets trade; they leave conversions possible.
fn trading() -> impl Strategy<Value = Move> {
    let (user, market) = (|| 0..USERS_COUNT, || 0_u32..12);
    let quantity = prop_oneof![(1_u64..4).prop_map(|whole| whole * 1_000_000), 1_u64..3_000_000];
    prop_oneof![
        30 => (user(), market(), outcome(), 35_u8..=65, quantity).prop_map(
            |(user, market, outcome, ticks, lots)| Move::Buy { user, market, outcome, ticks, lots },
        ),
        5 => (user(), 1_u8..16, 1_u64..=10)
            .prop_map(|(user, picked, tenths)| Move::Convert { user, picked, tenths }),
        2 => user().prop_map(|user| Move::CancelAll { user }),
        1 => (user(), 1_u64..=11).prop_map(|(user, tenths)| Move::TakeFees { user, tenths }),
        1 => market().prop_map(|market| Move::Suspend { market }),
        2 => market().prop_map(|market| Move::Reopen { market }),
        1 => (0_i64..500).prop_map(|ms| Move::Later { ms }),
    ]
}

fn end() -> impl Strategy<Value = End> {
    prop_oneof![2 => outcome().prop_map(End::Resolved), 1 => (0_u8..=100).prop_map(End::Voided)]
}

/// Moves around the markets' ends.
fn ending() -> impl Strategy<Value = Move> {
    let market = || 0_u32..12;
    prop_oneof![
        3 => trading(),
        4 => (market(), end()).prop_map(|(market, end)| Move::End { market, end }),
        4 => market().prop_map(|market| Move::Dispute { market }),
        1 => market().prop_map(|market| Move::Close { market }),
        1 => (0_i64..1_500).prop_map(|ms| Move::Later { ms }),
    ]
}

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

#[test]
fn money_is_conserved_through_any_life_of_an_event() {
    let seen = RefCell::new(BTreeSet::new());
    let days = prop::collection::vec(trading(), 1..60);
    let life = (terms(), slice(), days, prop::collection::vec(ending(), 0..24));
    let lived = TestRunner::new(config(256)).run(&life, |(terms, slice, days, last_days)| {
        let mut venue = Venue::open(&terms, slice);
        for a_move in days.into_iter().chain(last_days) {
            venue.make(a_move);
            prop_assert_eq!(venue.exchange.check(), Ok(()));
        }
        venue.wind_up();
        prop_assert_eq!(venue.totals.paid.len(), terms.len());
        let Totals { accounts, kept, deposits, seen: new, .. } = venue.totals;
        prop_assert_eq!(accounts.values().sum::<i128>() + kept, deposits);
        seen.borrow_mut().extend(new);
        Ok(())
    });
    lived.unwrap();
    let expected = BTreeSet::from([
        "a fee",
        "fees taken",
        "fees refused",
        "a conversion of one",
        "a conversion of several",
        "sets that left something",
        "sets that left nothing",
        "a part of a settlement",
        "a part of a void",
        "a dispute",
        "a dispute that changed nothing",
        "a voided market",
        "a void after conversions",
        "a void of a disputed market",
    ]);
    assert_eq!(seen.into_inner(), expected);
}

/// Ways in which that many markets can end: one of them wins, none wins, or all are voided at
/// prices that add up to at most 1.00, drawn from `cuts`.
fn endings(markets_count: usize, cuts: &[[u8; 4]]) -> Vec<Vec<End>> {
    let resolved = |wins| End::Resolved(if wins { Outcome::Yes } else { Outcome::No });
    let winners = (0..=markets_count).map(|winner| {
        (0..markets_count).map(|market| resolved(market == winner)).collect::<Vec<End>>()
    });
    let voided = cuts.iter().map(|cuts| {
        let mut left = 100_u8;
        let prices = cuts[..markets_count].iter().map(|cut| {
            let price = cut % (left + 1);
            left -= price;
            // A price of 0 is the same as resolving to no.
            if price == 0 { resolved(false) } else { End::Voided(price) }
        });
        prices.collect()
    });
    winners.chain(voided).collect()
}

#[test]
fn a_conversion_changes_no_users_final_worth_however_the_event_ends() {
    let converted = RefCell::new(0_u32);
    let days = prop::collection::vec(trading(), 20..80);
    let life = (terms(), slice(), days, 0..USERS_COUNT, 1_u64..=10);
    let cuts = prop::array::uniform3(any::<[u8; 4]>());
    let lived = TestRunner::new(config(48)).run(&(life, cuts), |(life, cuts)| {
        let (terms, slice, days, user, tenths) = life;
        let mut venue = Venue::open(&terms, slice);
        for a_move in days {
            venue.make(a_move);
        }
        let user = UserNo(user);
        let picks = 1_u8..1 << terms.len();
        let asked = picks.filter_map(|picked| venue.conversion(user, picked, tenths));
        for asked in asked.collect::<Vec<_>>() {
            let quantity = lots(asked.quantity);
            let mut after = venue.clone();
            prop_assert!(after.ask(Command::Convert(asked.clone())), "{:?}", asked);
            *converted.borrow_mut() += 1;
            for ends in endings(terms.len(), &cuts) {
                let (mut expected, kept) = venue.clone().ended(&ends);
                let (got, kept_after) = after.clone().ended(&ends);
                // The share of a set that no winner takes goes to the venue, since it now holds the
                // no contracts of all the set's markets.
                let left = WHOLE - ends.iter().map(|end| end.ticks()).sum::<i128>();
                *expected.get_mut(&user).unwrap() -= left * quantity;
                prop_assert_eq!(&got, &expected, "{:?} ended as {:?}", asked, ends);
                prop_assert_eq!(kept_after, kept + left * quantity, "{:?}", ends);
            }
        }
        Ok(())
    });
    lived.unwrap();
    assert!(converted.into_inner() > 48, "most lives should have something to convert");
}
