//! The read model beside the exchange whose effects it folds: both must agree on everything, and no
//! effect may contradict an earlier one.

// clippy recognises tests by their attribute, but not the helpers that they share.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use exchange::Exchange;
use exchange::ahead::Ahead;
use exchange::catalogue::{Localized, MarketDraft, Outcome};
use exchange::command::{
    Command, Direction, PlaceOrder, Record, SelfTradePrevention, Side, TimeInForce, Wording,
};
use exchange::effect::{Applied, Effect};
use exchange::ids::{MarketNo, OrderNo, UserNo};
use exchange::market::MarketStatus;
use exchange::orders::Order;
use exchange::rules::Rules;
use exchange::units::{Lots, Money, Sequence, SettlementPrice, Tick, TimeMs};
use proptest::prelude::*;
use views::ReadModel;
use views::activity::ActivityRow;
use views::fills::{FillList, FillRow, Liquidity};
use views::history::onward::{OldestFirst, Onward, Start};
use views::history::{History, HistoryError};
use views::orders::OrderRow;
use views::positions::Resolution;

const USERS: u32 = 3;
const MARKETS: u32 = 2;
/// Short pages, so that orders end before and after theirs is written.
const PAGE_ROWS: NonZeroU32 = NonZeroU32::new(3).unwrap();
/// Time of the first record.
const START_MS: i64 = 1_700_000_000_000;
/// Time between two records.
const STEP_MS: i64 = 1_000;
/// Each user's first deposit: enough to trade, little enough for some refusals.
const DEPOSIT: Money = Money::new(2_000_000_000);

/// An exchange and its read model.
struct Venue {
    exchange: Exchange,
    model: ReadModel,
    /// Each order as its record left it, and the fills that the record made.
    placed: BTreeMap<OrderNo, (OrderRow, Vec<FillRow>)>,
}

impl Venue {
    fn open() -> Venue {
        let history = History::default().paged(PAGE_ROWS);
        let (exchange, model) = (Exchange::new(), ReadModel::on(&history));
        let mut venue = Venue { exchange, model, placed: BTreeMap::new() };
        venue.ask(Command::OpenVenue(Rules::current()));
        for user in 0..USERS {
            let (profile_name, profile_pic) = (format!("user {user}"), String::new());
            venue.ask(Command::CreateUser { profile_name, profile_pic });
            venue.ask(Command::Deposit { user: UserNo(user), amount: DEPOSIT });
        }
        for market in 0..MARKETS {
            venue.ask(Command::CreateMarket(Box::new(draft(market))));
            venue.ask(Command::PublishMarket { market: MarketNo(market) });
        }
        venue
    }

    fn ask(&mut self, command: Command) -> Vec<Effect> {
        let sequence = self.exchange.sequence().next();
        let ms = START_MS + STEP_MS * i64::try_from(sequence.get()).unwrap();
        let record =
            Record { sequence, time: TimeMs::new(ms).unwrap(), once: None, act: None, command };
        let mut effects = Vec::new();
        self.exchange.apply(&record, &mut effects).unwrap();
        self.model.fold(&Applied { sequence, time: record.time, effects: &effects });
        self.compare_fills(sequence, &effects);
        if let Some(Effect::OrderAccepted { order, terms }) =
            effects.iter().find(|effect| matches!(effect, Effect::OrderAccepted { .. }))
        {
            let found = self.model.orders.fills_of_order(terms.user, *order).list();
            let (row, fills) = found.unwrap().unwrap();
            let mut fills = all(fills);
            fills.reverse();
            self.placed.insert(*order, (row, fills));
        }
        effects
    }

    /// The newest fill that a record made for a user says what that user holds after the record,
    /// and each fill by what name its order goes. Where the sweep that filled a maker goes on to
    /// cancel another of the maker's orders, what backed that one merges afterwards.
    fn compare_fills(&self, record: Sequence, effects: &[Effect]) {
        for user in (0..USERS).map(UserNo) {
            let mut fills = self.model.orders.fills_of(user).map(Result::unwrap);
            let Some(fill) = fills.next().filter(|fill| fill.sequence == record) else { continue };
            let position = self.exchange.purse(user, fill.market).unwrap().position;
            let (yes, no) = (position.yes.held, position.no.held);
            let merged = fill.held.yes.get() - yes.get();
            assert_eq!(fill.held.no.get() - no.get(), merged);
            let freed = |effect: &Effect| {
                matches!(effect, Effect::OrderCancelled { user: of, rested: true, .. }
                    if *of == user)
            };
            let maker = fill.liquidity == Liquidity::Maker;
            assert!(merged == 0 || maker && effects.iter().any(freed), "{fill:?}");
            let order = self.model.orders.order(user, fill.order).row().unwrap().unwrap();
            assert_eq!(fill.client_id, order.client_id);
        }
    }

    fn orders(&self) -> impl Iterator<Item = OrderRow> {
        (0..USERS).flat_map(|user| all(self.model.orders.of(UserNo(user))))
    }

    /// Compares everything that the exchange and the read model both hold.
    fn compare(&self) {
        assert_eq!(self.model.inconsistencies(), 0);
        assert_eq!(self.model.watermark(), self.exchange.sequence());
        for market in (0..MARKETS).map(MarketNo) {
            self.compare_market(market);
        }
        for row in self.orders() {
            self.compare_order(&row);
        }
        for user in (0..USERS).map(UserNo) {
            let open: Vec<OrderNo> = self.model.orders.open_of(user).map(|row| row.no).collect();
            let walked = all(self.model.orders.of(user)).into_iter();
            let walked: Vec<OrderNo> =
                walked.filter(|row| row.status.open()).map(|row| row.no).collect();
            assert_eq!(open, walked);
            self.compare_lists(user);
        }
        self.compare_money();
        self.compare_onward();
    }

    /// Read oldest first, page by page, each list shows each row once, from whichever record on.
    fn compare_onward(&self) {
        let records = self.exchange.sequence().get();
        for from in [0, 1, records / 3, records - 1, records].map(Sequence::new) {
            let start = Start::After(from);
            for user in (0..USERS).map(UserNo) {
                let orders = &self.model.orders;
                let fills = all(orders.fills_of(user));
                let paged = |list: &dyn Fn() -> FillList| {
                    walked(start, |start| list().onward(start, 3).unwrap())
                };
                let newer = |kept: &dyn Fn(&FillRow) -> bool| -> Vec<FillRow> {
                    let kept = fills.iter().filter(|row| row.sequence > from && kept(row));
                    kept.rev().copied().collect()
                };
                assert_eq!(paged(&|| orders.fills_of(user)), newer(&|_| true));
                for market in (0..=MARKETS).map(MarketNo) {
                    let list = || orders.fills_in(user, market).list().unwrap();
                    assert_eq!(paged(&list), newer(&|row| row.market == market));
                }
                if let Some(row) = fills.get(fills.len() / 2) {
                    let sought = || orders.fills_of_order(user, row.order).list().unwrap();
                    let list = || sought().unwrap().1;
                    assert_eq!(paged(&list), newer(&|fill| fill.order == row.order));
                }
                for market in (0..=MARKETS).map(|market| Some(MarketNo(market))).chain([None]) {
                    let page = |start| {
                        let after = match start {
                            Start::Place(after) => after,
                            Start::After(after) => after.get(),
                            Start::At(_) => unreachable!(),
                        };
                        let after = OrderNo(Sequence::new(after));
                        orders.after(user, market, after, 3).onward(3).unwrap()
                    };
                    let newer = all(orders.of(user)).into_iter().filter(|row| {
                        row.no.0 > from && market.is_none_or(|market| row.market == market)
                    });
                    let mut newer: Vec<OrderRow> = newer.collect();
                    newer.reverse();
                    assert_eq!(walked(start, page), newer);
                    let open = newer.into_iter().filter(|row| row.status.open());
                    let listed = orders.open_after(user, OrderNo(from));
                    let listed = listed.filter(|row| market.is_none_or(|no| row.market == no));
                    assert!(listed.eq(open));
                }
                let last = fills.first().map_or(Sequence::ZERO, |row| row.sequence);
                assert_eq!(orders.last_fill_of(user), last);
                let lines = || self.model.statements.of(user);
                let mut newer = all(lines());
                let last = newer.first().map_or(Sequence::ZERO, |line| line.sequence);
                assert_eq!(self.model.statements.last(user), last);
                newer.retain(|line| line.sequence > from);
                newer.reverse();
                assert_eq!(walked(start, |start| lines().onward(start, 3).unwrap()), newer);
            }
            for market in (0..MARKETS).map(MarketNo) {
                let trades = || self.model.tape.trades(market);
                let mut newer = all(trades());
                newer.retain(|row| row.sequence > from);
                newer.reverse();
                assert_eq!(walked(start, |start| trades().onward(start, 3).unwrap()), newer);
                let activity = || self.model.activity.of(market);
                let mut newer = all(activity());
                newer.retain(|row| row.sequence() > from);
                newer.reverse();
                assert_eq!(walked(start, |start| activity().onward(start, 3).unwrap()), newer);
            }
        }
    }

    /// The lists by market and by order must equal a filtered walk over all of a user's orders and
    /// fills; lists of fills are read from several offsets.
    fn compare_lists(&self, user: UserNo) {
        let orders = &self.model.orders;
        let (own, fills) = (all(orders.of(user)), all(orders.fills_of(user)));
        let same = |list: FillList, kept: &dyn Fn(&FillRow) -> bool| {
            let walked: Vec<FillRow> = fills.iter().filter(|fill| kept(fill)).copied().collect();
            assert_eq!(list.len(), walked.len());
            for skipped in [0, 1, walked.len() / 2, walked.len(), walked.len() + 1] {
                let read = all(list.clone().skip(skipped));
                assert_eq!(read, walked.get(skipped..).unwrap_or_default());
            }
        };
        assert_eq!(orders.count(user), own.len());
        let of = |market, end: OrderNo| -> Vec<OrderRow> {
            own.iter().filter(|row| row.market == market && row.no < end).copied().collect()
        };
        for market in (0..=MARKETS).map(MarketNo) {
            assert_eq!(
                all(orders.before_in(user, market, LAST, usize::MAX).list().unwrap()),
                of(market, LAST)
            );
            same(orders.fills_in(user, market).list().unwrap(), &|fill| fill.market == market);
        }
        // Checking every row would be quadratic.
        for (place, row) in own.iter().enumerate().step_by(1 + own.len() / 8) {
            for most in [usize::MAX, 1, 3] {
                let older = &own[place + 1..];
                let expected = &older[..older.len().min(most)];
                assert_eq!(all(orders.before(user, row.no, most).take(most)), expected);
                let there = of(row.market, row.no);
                let listed = orders.before_in(user, row.market, row.no, most).list().unwrap();
                assert_eq!(all(listed.take(most)), there[..there.len().min(most)]);
            }
            let earlier = own[place + 1..].iter().filter(|other| other.status.open());
            assert!(orders.open_before(user, row.no).eq(earlier.copied()));
            let (found, list) = orders.fills_of_order(user, row.no).list().unwrap().unwrap();
            assert_eq!(found, *row);
            same(list, &|fill| fill.order == row.no);
            assert_eq!(orders.ids(user).id(row.no), Ok(Some(row.id())));
            let placed = orders.as_placed(user, row.no).read();
            assert_eq!(placed.unwrap().as_ref(), self.placed.get(&row.no));
        }
    }

    fn compare_market(&self, market: MarketNo) {
        let (state, row) = (self.exchange.market(market), self.model.catalogue.market(market));
        let (state, row) = (state.unwrap(), row.unwrap());
        assert_eq!((state.status, state.deadline), (row.status, row.draft.deadline));
        assert_eq!(state.winner, row.winner);
        for side in [Direction::Up, Direction::Down] {
            let book = state.book.levels(side);
            let book: Vec<_> = book.map(|(tick, l)| (tick, l.quantity, l.orders)).collect();
            let depth = self.model.depth.levels(market, side);
            let depth: Vec<_> = depth.map(|l| (l.price, l.quantity, l.orders)).collect();
            assert_eq!(book, depth);
            assert_eq!(state.book.best(side), self.model.depth.best(market, side));
        }
    }

    fn compare_order(&self, row: &OrderRow) {
        assert_eq!(self.model.orders.order(row.user, row.no).row(), Ok(Some(*row)));
        let parts = row.filled.get() + row.remaining.get() + row.cancelled.get();
        assert_eq!(parts, row.quantity.get());
        let standing = self.exchange.order(row.no);
        assert_eq!(standing.is_some(), row.status.open(), "{row:?}");
        if let Some(order) = standing {
            self.compare_queue(&order);
            assert_eq!(order.backing.remaining().unwrap(), row.remaining);
            assert_eq!((order.filled, order.quantity), (row.filled, row.quantity));
            assert_eq!(order.wording, row.wording);
            assert_eq!(order.price, row.wording.yes_price(row.price));
        }
        let fills = all(self.model.orders.fills_of(row.user)).into_iter();
        let fills = fills.filter(|fill| fill.order == row.no && fill.order_id() == row.id());
        let (mut filled, mut cost) = (Lots::ZERO, Money::ZERO);
        for fill in fills {
            filled = filled.plus(fill.quantity).unwrap();
            cost = cost.plus(fill.price.times(fill.quantity).unwrap()).unwrap();
        }
        assert_eq!((filled, cost), (row.filled, row.filled_cost));
    }

    /// What stands before an order is what its queue has before it, told if an end is near enough.
    fn compare_queue(&self, order: &Order) {
        let side = order.direction();
        let queue: Vec<Order> = self.exchange.queue(order.market, side, order.price).collect();
        let place = queue.iter().position(|other| other.no == order.no).unwrap();
        let lots = queue[..place].iter().map(|order| order.backing.remaining().unwrap().get());
        let orders = u32::try_from(place).unwrap();
        let ahead = Ahead { quantity: Lots::new(lots.sum()), orders };
        let live = self.model.catalogue.market(order.market).unwrap().status.keeps_orders();
        let nearest = place.min(queue.len() - 1 - place);
        for most in [0, 1, 2, usize::MAX] {
            let told = Some(ahead).filter(|_| live && nearest <= most);
            assert_eq!(self.exchange.ahead_of(order.no, most), told, "{nearest} {most}");
        }
    }

    /// The money on accounts and in open contracts must equal the deposits, as shown to readers.
    fn compare_money(&self) {
        let users = (0..USERS).map(|user| self.model.accounts.user(UserNo(user)).unwrap());
        let mut total: i64 =
            users.map(|row| row.balance.available.get() + row.balance.reserved.get()).sum();
        for market in (0..MARKETS).map(MarketNo) {
            let mut held = [0_u64; 2];
            let mut stayed = [0_u64; 2];
            for user in (0..USERS).map(UserNo) {
                for row in all(self.model.positions.of(user)) {
                    assert!(!row.quantity.is_zero(), "{row:?}");
                    if row.market == market {
                        let side = usize::from(row.outcome == Outcome::No);
                        let sums = if row.resolution.is_none() { &mut held } else { &mut stayed };
                        sums[side] += row.quantity.get();
                    }
                }
            }
            assert_eq!((held[0], stayed[0]), (held[1], stayed[1]), "yes and no of {market:?}");
            let status = self.model.catalogue.market(market).unwrap().status;
            let ended = matches!(status, MarketStatus::Settled | MarketStatus::Voided);
            assert!(if ended { held[0] == 0 } else { stayed[0] == 0 }, "{status:?}");
            total += SettlementPrice::ONE.times(Lots::new(held[0])).unwrap().get();
        }
        assert_eq!(total, DEPOSIT.get() * i64::from(USERS));
    }
}

/// Greater than any order's number.
const LAST: OrderNo = OrderNo(Sequence::new(u64::MAX));

/// All rows of a list.
fn all<T>(list: impl Iterator<Item = Result<T, HistoryError>>) -> Vec<T> {
    list.map(Result::unwrap).collect()
}

/// All rows from a start on, page by page.
fn walked<L, T>(mut start: Start, page: impl Fn(Start) -> Onward<L>) -> Vec<T>
where
    L: Iterator<Item = Result<T, HistoryError>>,
{
    let mut rows = Vec::new();
    loop {
        let Onward { list, count, newer, next } = page(start);
        let shown = all(list.take(count));
        assert!(shown.len() == count && (newer == 0 || count == 3));
        rows.extend(shown.into_iter().rev());
        start = Start::Place(next);
        if newer == 0 {
            assert_eq!(page(start).count, 0);
            return rows;
        }
    }
}

fn draft(market: u32) -> MarketDraft {
    MarketDraft {
        questions: Localized::default(),
        descriptions: Localized::default(),
        yes_text: Localized::default(),
        no_text: Localized::default(),
        logo: String::new(),
        // The first market's deadline passes in the middle of a long run.
        deadline: TimeMs::new(START_MS + STEP_MS * 150 * (i64::from(market) + 1)).unwrap(),
        categories: Vec::new(),
        event: None,
        highlighted: false,
        dispute_window_seconds: market * 5,
        fees: exchange::fees::Fees::NONE,
        slug: None,
    }
}

fn outcome() -> impl Strategy<Value = Outcome> {
    prop_oneof![Just(Outcome::Yes), Just(Outcome::No)]
}

fn price() -> impl Strategy<Value = Tick> {
    prop_oneof![8 => 45..56_u8, 1 => 1..100_u8].prop_map(|ticks| Tick::new(ticks).unwrap())
}

fn quantity() -> impl Strategy<Value = Lots> {
    prop_oneof![4 => (1..6_u64).prop_map(Lots::contracts), 1 => (1..9_u64).prop_map(Lots::new)]
}

fn placed() -> impl Strategy<Value = Command> {
    let wording = (outcome(), prop_oneof![Just(Side::Buy), Just(Side::Sell)]);
    let time_in_force = prop_oneof![
        4 => Just(TimeInForce::GoodTillCancelled { expires_at: None }),
        1 => (20..200_i64).prop_map(|steps| TimeInForce::GoodTillCancelled {
            expires_at: TimeMs::new(START_MS + STEP_MS * steps),
        }),
        1 => Just(TimeInForce::ImmediateOrCancel),
        1 => Just(TimeInForce::FillOrKill),
    ];
    let self_trade = prop_oneof![
        Just(SelfTradePrevention::CancelTaker),
        Just(SelfTradePrevention::CancelMaker),
        Just(SelfTradePrevention::CancelBoth),
    ];
    let copy_from = prop::option::weighted(0.2, (0..USERS).prop_map(UserNo));
    let who = (0..USERS, 0..MARKETS, copy_from);
    (who, wording, price(), quantity(), time_in_force, self_trade).prop_map(
        |((user, market, copy_from), wording, price, quantity, time_in_force, self_trade)| {
            Command::PlaceOrder(PlaceOrder {
                time_in_force,
                self_trade,
                copy_from,
                ..PlaceOrder::plain(
                    UserNo(user),
                    MarketNo(market),
                    Wording { outcome: wording.0, side: wording.1 },
                    price,
                    quantity,
                )
            })
        },
    )
}

/// A random command. One on an order names it by a sequence number, which may not be an order's.
fn command() -> impl Strategy<Value = Command> {
    let user = || (0..USERS).prop_map(UserNo);
    let market = || (0..MARKETS).prop_map(MarketNo);
    let order = || (12..120_u64).prop_map(|sequence| OrderNo(Sequence::new(sequence)));
    let amend = (user(), order(), prop::option::of(price()), prop::option::of(quantity()));
    prop_oneof![
        200 => placed(),
        40 => amend.prop_map(|(user, order, price, quantity)| {
            Command::AmendOrder { user, order, price, quantity, seen: None }
        }),
        30 => (user(), order()).prop_map(|(user, order)| Command::CancelOrder { user, order }),
        3 => (user(), prop::option::of(market()))
            .prop_map(|(user, market)| {
                let (group, key) = (None, None);
                Command::CancelOrders { user, market, group, key }
            }),
        6 => Just(Command::AdvanceClock),
        2 => market().prop_map(|market| Command::SuspendMarket { market }),
        4 => market().prop_map(|market| Command::ReopenMarket { market, deadline: None }),
        1 => market().prop_map(|market| Command::CloseMarket { market }),
        1 => (market(), outcome())
            .prop_map(|(market, winner)| Command::ResolveMarket { market, winner }),
        1 => market().prop_map(|market| Command::DisputeMarket { market }),
        1 => (market(), 0..=100_u8).prop_map(|(market, ticks)| {
            let price = SettlementPrice::new(ticks).unwrap();
            Command::VoidMarket { market, price }
        }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 16,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn the_read_model_agrees_with_the_exchange(
        commands in prop::collection::vec(command(), 1..200),
        void_ticks in 0..=100_u8,
    ) {
        let mut venue = Venue::open();
        for command in commands {
            // Amends and cancels mostly come from the order's owner; a stranger is refused.
            venue.ask(owned(&venue.model, command));
            venue.compare();
        }
        // The end, with orders and locked contracts outstanding: one market is voided, the other
        // paid out, unless that happened before.
        let price = SettlementPrice::new(void_ticks).unwrap();
        venue.ask(Command::VoidMarket { market: MarketNo(0), price });
        venue.compare();
        venue.ask(Command::ResolveMarket { market: MarketNo(1), winner: Outcome::Yes });
        venue.compare();
        for _ in 0..6 {
            venue.ask(Command::AdvanceClock);
        }
        venue.compare();
        prop_assert_eq!(venue.orders().filter(|row| row.status.open()).count(), 0);
    }
}

/// Most of the time, replaces the user in the command by the order's owner.
fn owned(model: &ReadModel, command: Command) -> Command {
    let owner = |order| {
        (0..USERS).map(UserNo).find(|user| model.orders.ids(*user).id(order).unwrap().is_some())
    };
    match command {
        Command::AmendOrder { user, order, price, quantity, seen } => {
            let user = owner(order).unwrap_or(user);
            Command::AmendOrder { user, order, price, quantity, seen }
        }
        Command::CancelOrder { user, order } => {
            Command::CancelOrder { user: owner(order).unwrap_or(user), order }
        }
        other => other,
    }
}

/// One bet, its end, and what both sides read of it afterwards.
#[test]
fn a_bet_is_read_from_its_order_to_its_end() {
    let mut venue = Venue::open();
    let place = |user, outcome, price, contracts| {
        Command::PlaceOrder(PlaceOrder {
            copy_from: (user == 1).then_some(UserNo(2)),
            ..PlaceOrder::plain(
                UserNo(user),
                MarketNo(0),
                Wording { outcome, side: Side::Buy },
                Tick::new(price).unwrap(),
                Lots::contracts(contracts),
            )
        })
    };
    venue.ask(place(0, Outcome::Yes, 60, 5));
    venue.ask(place(1, Outcome::No, 40, 2));
    venue.ask(Command::ResolveMarket { market: MarketNo(0), winner: Outcome::No });
    venue.compare();

    let lost = all(venue.model.positions.of(UserNo(0)));
    let won = all(venue.model.positions.of(UserNo(1)));
    assert_eq!((lost.len(), won.len()), (1, 1));
    assert_eq!(lost[0].resolution, Some(Resolution::Lost));
    assert_eq!(
        (lost[0].cost.to_string(), lost[0].realised.to_string()),
        ("1.20".to_owned(), "-1.20".to_owned())
    );
    assert_eq!(won[0].resolution, Some(Resolution::Won));
    assert_eq!(
        (won[0].cost.to_string(), won[0].realised.to_string()),
        ("0.80".to_owned(), "1.20".to_owned())
    );
    assert_eq!(won[0].copy_from, Some(UserNo(2)));
    assert_eq!(venue.model.probability_of_yes(MarketNo(0)).to_string(), "0");
    let shown = all(venue.model.activity.of(MarketNo(0)));
    let shown: Vec<&str> = shown.iter().map(ActivityRow::name).collect();
    let expected =
        ["MARKET_SETTLED", "MARKET_RESOLVED", "MARKET_CLOSED", "TRADE", "MARKET_PUBLISHED"];
    assert_eq!(shown, expected);
}

/// A sweep that fills one of a maker's orders and meets another whose time is over: what backed the
/// second merges with what the first bought, after the fill.
#[test]
fn a_fill_says_what_was_held_before_the_sweep_cancelled_another_order() {
    let mut venue = Venue::open();
    let ends = TimeMs::new(START_MS + 16 * STEP_MS);
    let mut place = |user, outcome, side, price, contracts, expires_at| {
        venue.ask(Command::PlaceOrder(PlaceOrder {
            time_in_force: TimeInForce::GoodTillCancelled { expires_at },
            ..PlaceOrder::plain(
                UserNo(user),
                MarketNo(0),
                Wording { outcome, side },
                Tick::new(price).unwrap(),
                Lots::contracts(contracts),
            )
        }))
    };
    place(1, Outcome::Yes, Side::Buy, 50, 2, None);
    place(0, Outcome::No, Side::Buy, 50, 2, None);
    place(0, Outcome::No, Side::Sell, 55, 2, ends);
    place(0, Outcome::Yes, Side::Buy, 50, 2, None);
    place(1, Outcome::Yes, Side::Sell, 45, 3, None);
    let fill = venue.model.orders.fills_of(UserNo(0)).next().unwrap().unwrap();
    assert_eq!(fill.sequence, venue.exchange.sequence());
    assert_eq!((fill.held.yes, fill.held.no), (Lots::contracts(2), Lots::contracts(2)));
    assert_eq!(all(venue.model.positions.of(UserNo(0))), []);
}
