//! Random commands, drawn as intents that shrink well and are meaningful in any state.
//!
//! An intent names "the third open order" or "the second live market" and becomes a command only
//! when it is applied, so a sequence stays meaningful when proptest drops some of its steps.

pub mod strategies;

use exchange::catalogue::{
    CategoryDraft, EventDraft, EventRevision, MarketDraft, MarketRevision, Outcome,
};
use exchange::command::{
    Act, BodyHash, Command, Condition, Conversion, IdempotencyKey, KeyHash, KeyedCommand, Password,
    PasswordChange, PasswordScheme, PlaceOrder, RecoveryCodes, Role, SecondFactor, SeenTerms,
    SelfTradePrevention, Side, TimeInForce, TradingMode, TransferEnd, Wording,
};
use exchange::fees::{FeeRate, Fees};
use exchange::ids::{
    CategoryNo, EventNo, Group, KeyNo, MarketNo, MarketSet, OrderNo, Token, UserNo,
};
use exchange::rules::Rules;
use exchange::slugs::Slug;
use exchange::units::{Lots, Money, Sequence, SettlementPrice, Tick, TimeMs};

use crate::naive::standing::{Beat, Whose};
use crate::naive::{Naive, Order as NaiveOrder};
use exchange::market::MarketStatus;

/// Users that a venue under test begins with.
pub const USERS_COUNT: u32 = 4;
/// Users that a venue under test may grow to.
const USERS_MAX: u32 = USERS_COUNT + 2;
/// Open orders per user: few, so that the limit is reached.
pub const USER_OPEN_ORDERS_MAX: u32 = 7;
/// Open orders of the venue: fewer than all users' together, so that this limit is reached too.
pub const VENUE_OPEN_ORDERS_MAX: u32 = 20;
/// Names remembered per user: fewer than there are to choose from, so that the limit is reached.
const USER_NAMES_MAX: u32 = 5;

/// A command to draw, not yet tied to ids.
#[derive(Debug, Clone)]
pub enum Intent {
    Place(Place),
    Amend {
        pick: u16,
        price: Option<u8>,
        quantity: Option<Amount>,
    },
    /// Replaces an order by one of its owner's, and now and then of somebody else's.
    Replace {
        pick: u16,
        place: Place,
    },
    Cancel {
        pick: u16,
        by: u8,
    },
    CancelAll {
        user: u8,
        market: Option<u8>,
    },
    Deposit {
        user: u8,
        units: i64,
    },
    Withdraw {
        user: u8,
        share: u8,
    },
    /// Asks for a transfer of a share of what is available.
    AskTransfer {
        user: u8,
        share: u8,
        out: bool,
    },
    /// Answers one of the transfers that wait, now and then for somebody else.
    EndTransfer {
        pick: u8,
        by: u8,
    },
    /// Disputes an outcome with a bond of a share of what is available.
    FileDispute {
        market: u8,
        user: u8,
        share: u8,
    },
    /// Has some acts take two persons, or not.
    TwoPersons {
        units: Option<i64>,
    },
    /// Confirms or rejects one of the proposals that wait.
    Answer {
        pick: u8,
        by: u8,
    },
    TakeFees {
        user: u8,
        share: u8,
    },
    Run {
        market: u8,
        what: Run,
    },
    Clock,
    Catalogue(u8),
    Heartbeat {
        user: u8,
        seconds: u8,
        /// Of one of a few groups.
        group: Option<u8>,
    },
    /// Sets the mode of a user, or of the venue.
    Mode {
        user: Option<u8>,
        mode: TradingMode,
    },
    Limit {
        user: u8,
        units: Option<i64>,
    },
    /// Converts contracts of one of a few events, in the markets that it picks.
    Convert {
        user: u8,
        pick: u16,
        quantity: Amount,
    },
    /// Repeats an earlier named order, word for word.
    Again(u16),
}

/// An order to place.
#[derive(Debug, Clone)]
pub struct Place {
    pub user: u8,
    pub market: u8,
    pub yes: bool,
    pub buy: bool,
    pub price: u8,
    pub quantity: Amount,
    pub life: Life,
    pub self_trade: SelfTradePrevention,
    pub condition: Condition,
    pub valid_for: Option<i8>,
    pub copy_from: Option<u8>,
    /// Which of a few client order ids it gets.
    pub client: Option<u8>,
}

#[derive(Debug, Clone, Copy)]
pub enum Life {
    Standing,
    Expires(i16),
    Immediate,
    Whole,
}

/// A quantity: a number of lots, or relative to what is held or rests.
#[derive(Debug, Clone, Copy)]
pub enum Amount {
    Lots(u64),
    /// The free contracts that the order would close, plus or minus some lots.
    Holding(i8),
    /// The order's own quantity, plus or minus some tenths of it.
    Tenths(i8),
}

/// A step in a market's life.
#[derive(Debug, Clone, Copy)]
pub enum Run {
    Create { deadline_in: i16, window: u8 },
    Publish,
    Suspend,
    Reopen(Option<i16>),
    Close,
    Resolve(bool),
    Dispute,
    Void(u8),
    Revise(Option<i16>),
}

/// One step: the time since the step before, and the intent.
#[derive(Debug, Clone)]
pub struct Step {
    pub later_ms: u16,
    pub once: Option<Key>,
    pub intent: Intent,
}

/// One of a few idempotency keys, for one of a few bodies.
#[derive(Debug, Clone, Copy)]
pub struct Key {
    pub caller: u8,
    pub name: u8,
    pub part: u8,
    pub body: u8,
}

/// The commands that a venue under test begins with.
pub fn opening() -> Vec<Command> {
    let rules = Rules {
        user_open_orders_max: USER_OPEN_ORDERS_MAX,
        venue_open_orders_max: VENUE_OPEN_ORDERS_MAX,
        repeat_window_seconds: 1,
        user_names_max: USER_NAMES_MAX,
        ..Rules::current()
    };
    let mut commands = vec![Command::OpenVenue(rules)];
    for number in 0..USERS_COUNT {
        let (profile_name, profile_pic) = (format!("user {number}"), String::new());
        commands.push(Command::CreateUser { profile_name, profile_pic });
        let amount = Money::new(300_000_000 * i64::from(number) + 500_000_000);
        commands.push(Command::Deposit { user: UserNo(number), amount });
    }
    commands.extend([create_event(true), create_event(false)]);
    for number in 0..4 {
        let draft = MarketDraft {
            event: Some(EventNo(u32::from(number == 0))),
            ..draft(after(START, 20_000), number % 2, fees_of(number))
        };
        commands.push(Command::CreateMarket(Box::new(draft)));
        commands.push(Command::PublishMarket { market: MarketNo(number) });
    }
    commands
}

/// The time of the first record.
pub const START: TimeMs = match TimeMs::new(1_700_000_000_000) {
    Some(start) => start,
    None => TimeMs::MAX,
};

/// A moment plus `ms`, which may be negative.
pub fn after(time: TimeMs, ms: i64) -> TimeMs {
    TimeMs::new(time.get() + ms).unwrap()
}

/// One of several rates: none, small ones, ones that never divide evenly, and the largest.
pub fn fees_of(pick: u32) -> Fees {
    let rate = |rate| FeeRate::new(rate).unwrap();
    let (maker, taker) = match pick % 7 {
        0 | 3 => (0, 0),
        1 => (0, 700),
        2 => (200, 700),
        4 => (1, 1),
        5 => (10_000, 10_000),
        _ => (333, 0),
    };
    Fees { maker: rate(maker), taker: rate(taker) }
}

/// A market without texts.
pub fn draft(deadline: TimeMs, dispute_window_seconds: u32, fees: Fees) -> MarketDraft {
    MarketDraft { dispute_window_seconds, fees, ..MarketDraft::plain(deadline) }
}

/// Picks one of several by a number of any size.
fn nth<T: Clone>(all: &[T], pick: usize) -> Option<T> {
    all.get(pick.checked_rem(all.len())?).cloned()
}

/// Mostly a market that takes orders, sometimes any that is not final yet, and now and then an old
/// one or none at all.
fn market(twin: &Naive, pick: u8, now: TimeMs) -> MarketNo {
    let live: Vec<u32> = live(twin);
    let all = u32::try_from(twin.markets.len()).unwrap();
    let open: Vec<u32> =
        live.iter().copied().filter(|number| is_open(twin, *number, now)).collect();
    let picked = match pick {
        0..=7 => nth(&open, usize::from(pick)),
        8..=10 => nth(&live, usize::from(pick)),
        11 => Some(all - u32::from(all % 5 > 0)),
        _ => Some(all / 2),
    };
    MarketNo(picked.unwrap_or(0))
}

fn is_open(twin: &Naive, number: u32, now: TimeMs) -> bool {
    twin.markets[number as usize].status_at(now) == MarketStatus::Active
}

fn live(twin: &Naive) -> Vec<u32> {
    let last = |status| matches!(status, MarketStatus::Settled | MarketStatus::Voided);
    let markets = (0..).zip(&twin.markets);
    markets.filter(|(_, market)| !last(market.status)).map(|(number, _)| number).collect()
}

/// The command of a step, with its key, in the twin's state at `now`.
pub fn asked(twin: &Naive, step: &Step, now: TimeMs) -> KeyedCommand {
    let once = step.once.map(|key| {
        Box::new(IdempotencyKey {
            caller: UserNo(u32::from(key.caller)),
            key: token('k', key.name),
            part: key.part,
            body: BodyHash([key.body; 32]),
        })
    });
    KeyedCommand { once, act: act(&step.intent), command: command(twin, &step.intent, now) }
}

/// Some transfers have a reference, some of which an earlier one had.
fn act(intent: &Intent) -> Option<Box<Act>> {
    let pick = match intent {
        Intent::Deposit { units, .. } if units % 3 == 0 => (units % 60).unsigned_abs(),
        Intent::Withdraw { share, .. } if share % 3 == 0 => u64::from(*share),
        Intent::EndTransfer { pick, .. } if pick % 3 == 0 => u64::from(*pick),
        // Without a reference.
        Intent::Run { market, .. } if market % 2 == 0 => 1_000,
        _ => return None,
    };
    let reference = u8::try_from(pick).ok().map(|pick| token('r', pick));
    Some(Box::new(Act { reference, ..Act::of(UserNo(0), None) }))
}

fn answer(twin: &Naive, pick: u8, by: u8) -> Command {
    // Those at the end may still be done.
    let count = twin.proposals.len();
    let place = count.checked_sub(1 + usize::from(pick) % count.clamp(1, 4));
    let number = place.map_or(1, |place| twin.proposals[place].number);
    let (operator, proposal) = (UserNo(u32::from(by % 3)), Sequence::new(number));
    if by < 9 {
        Command::ConfirmProposal { operator, proposal }
    } else {
        Command::DropProposal { operator, proposal }
    }
}

fn ask_transfer(twin: &Naive, user: u8, share: u8, out: bool) -> Command {
    let user = UserNo(u32::from(user));
    let available = twin.ledger.account(user.0).available;
    let units = i64::try_from(available * i128::from(share) / 500).unwrap().max(1);
    let too_much = share == 7 && !out;
    let amount = Money::new(if too_much { 9_000_000_000_000_000_000 } else { units });
    let reference = share.is_multiple_of(2).then(|| token('t', share));
    if out {
        Command::AskWithdrawal { user, amount, reference }
    } else {
        Command::AskDeposit { user, amount, reference }
    }
}

fn end_transfer(twin: &Naive, pick: u8, by: u8) -> Command {
    let count = twin.transfers.len().max(1);
    let (user, transfer) = match twin.transfers.get(usize::from(pick) % count) {
        Some(waiting) if by > 0 => (waiting.user, waiting.number),
        Some(waiting) => (UserNo(waiting.user.0 + 1), waiting.number),
        None => (UserNo(u32::from(by)), u64::from(pick)),
    };
    let how = match by % 4 {
        1 => TransferEnd::Refused,
        2 => TransferEnd::Cancelled,
        _ => TransferEnd::Confirmed,
    };
    Command::EndTransfer { user, transfer: Sequence::new(transfer), how }
}

/// One of two groups.
fn group(pick: u8) -> Group {
    Group::new(if pick.is_multiple_of(2) { "even" } else { "odd" }).unwrap()
}

fn token(letter: char, number: u8) -> Token {
    Token::new(&format!("{letter}{number}")).unwrap()
}

fn replace(twin: &Naive, pick: u16, place: &Place, now: TimeMs) -> Command {
    let replaced = some_order(twin, pick);
    let owner = twin.orders.get(&replaced.0.get()).map(|order| order.terms.user);
    let mut terms = order(twin, place, now);
    let meant = owner.filter(|_| !pick.is_multiple_of(11));
    terms.user = meant.unwrap_or(terms.user);
    Command::ReplaceOrder { replaced, terms: Box::new(terms) }
}

fn dispute(twin: &Naive, pick: u8, user: u8, share: u8, now: TimeMs) -> Command {
    let announced =
        |at: MarketNo| twin.markets[at.index()].status_at(now) == MarketStatus::Resolved;
    let markets: Vec<MarketNo> = live(twin).into_iter().map(MarketNo).collect();
    let in_time: Vec<MarketNo> = markets.into_iter().filter(|at| announced(*at)).collect();
    let market = nth(&in_time, usize::from(pick)).unwrap_or_else(|| market(twin, pick, now));
    // Somebody who did so before, now and then, and mostly a holder.
    let before = twin.disputes.iter().find(|one| one.market == market).map(|one| one.user.0);
    let held =
        twin.ledger.positions.keys().filter(|(_, at)| *at == market.0).map(|(user, _)| *user);
    let holder = nth(&held.collect::<Vec<_>>(), usize::from(user));
    let user = before.filter(|_| pick.is_multiple_of(2)).or(holder.filter(|_| pick < 200));
    let user = UserNo(user.unwrap_or(u32::from(share % 10)));
    let available = twin.ledger.account(user.0).available;
    let units = i64::try_from(available * i128::from(share) / 100).unwrap();
    Command::FileDispute { user, market, bond: Money::new(units), reason: "it rained".to_owned() }
}

/// The command of an intent, in the twin's state at `now`.
fn command(twin: &Naive, intent: &Intent, now: TimeMs) -> Command {
    if let Some(command) = revive(twin, now) {
        return command;
    }
    match intent {
        Intent::Place(place) => {
            let placed = || Command::PlaceOrder(order(twin, place, now));
            set_free(twin, UserNo(u32::from(place.user)), now).unwrap_or_else(placed)
        }
        Intent::Amend { pick, price, quantity } => amend(twin, *pick, *price, *quantity),
        Intent::Replace { pick, place } => replace(twin, *pick, place, now),
        Intent::Cancel { pick, by } => {
            let order = some_order(twin, *pick);
            let owner = twin.orders.get(&order.0.get()).map(|order| order.terms.user);
            let user = match (by, owner) {
                (0, _) | (_, None) => UserNo(u32::from(*by)),
                (1, Some(owner)) => UserNo(owner.0 + 1),
                (_, Some(owner)) => owner,
            };
            Command::CancelOrder { user, order }
        }
        Intent::CancelAll { user, market: of } => cancel_all(twin, *user, *of, now),
        Intent::Deposit { user, units } => {
            let too_much = units % 97 == 0 && twin.ledger.supply > 0;
            let units = if too_much { 9_000_000_000_000_000_000 } else { *units };
            Command::Deposit { user: UserNo(u32::from(*user)), amount: Money::new(units) }
        }
        Intent::Withdraw { user, share } => {
            let available = twin.ledger.account(u32::from(*user)).available;
            let units = i64::try_from(available * i128::from(*share) / 100).unwrap().max(1);
            Command::Withdraw { user: UserNo(u32::from(*user)), amount: Money::new(units) }
        }
        Intent::AskTransfer { user, share, out } => ask_transfer(twin, *user, *share, *out),
        Intent::EndTransfer { pick, by } => end_transfer(twin, *pick, *by),
        Intent::FileDispute { market, user, share } => dispute(twin, *market, *user, *share, now),
        Intent::TwoPersons { units } => Command::SetTwoPersons { above: units.map(Money::new) },
        Intent::Answer { pick, by } => answer(twin, *pick, *by),
        Intent::TakeFees { user, share } => {
            let units = i64::try_from(twin.ledger.fees * i128::from(*share) / 100).unwrap().max(1);
            Command::TakeFees { user: UserNo(u32::from(*user)), amount: Money::new(units) }
        }
        Intent::Run { market: pick, what } => {
            run_command(market(twin, *pick, now), *what, twin, now)
        }
        Intent::Clock => Command::AdvanceClock,
        Intent::Catalogue(pick) => catalogue(twin, *pick),
        Intent::Heartbeat { user, seconds, group: of } => Command::Heartbeat {
            user: UserNo(u32::from(*user)),
            timeout_seconds: u32::from(*seconds),
            group: of.map(group).map(Box::new),
        },
        Intent::Mode { user: Some(user), mode } => {
            Command::SetUserMode { user: UserNo(u32::from(*user)), mode: *mode }
        }
        Intent::Mode { user: None, mode } => Command::SetVenueMode { mode: *mode },
        Intent::Limit { user, units } => Command::SetExposureLimit {
            user: UserNo(u32::from(*user)),
            limit: units.map(Money::new),
        },
        Intent::Convert { user, pick, quantity } => {
            convert(twin, UserNo(u32::from(*user)), *pick, *quantity, now)
        }
        Intent::Again(pick) => {
            // The newest names still count; the oldest are past the repeat window and must not.
            let named = twin.newest_named(1 + usize::from(pick % 64));
            nth(&named, usize::from(*pick)).unwrap_or(Command::AdvanceClock)
        }
    }
}

/// Resting orders that are due to be cancelled by `now`, though no clock record has done so yet.
fn overdue(twin: &Naive, now: TimeMs) -> Vec<&PlaceOrder> {
    let places =
        twin.markets.iter().flat_map(|market| market.book.ups.iter().chain(&market.book.downs));
    let late = places.filter(|place| twin.due_reason_at(place.order, now).is_some());
    late.map(|place| &twin.order(place.order).terms).collect()
}

/// Cancels all of a user's orders; half of the time of a user with an overdue order, if there is
/// one.
fn cancel_all(twin: &Naive, user: u8, of: Option<u8>, now: TimeMs) -> Command {
    let late = overdue(twin, now);
    let meant = of.is_none_or(|pick| pick % 2 == 0);
    if let Some(terms) = nth(&late, usize::from(user)).filter(|_| meant) {
        let market = of.map(|_| terms.market);
        return Command::CancelOrders { user: terms.user, market, group: None, key: None };
    }
    let group = of.filter(|pick| pick % 3 == 0).map(group).map(Box::new);
    // Now and then of a group in all markets.
    let market = of.filter(|pick| pick % 6 != 0).map(|pick| market(twin, pick, now));
    let user = UserNo(u32::from(user));
    let key = of.filter(|pick| pick % 4 == 1).and_then(|pick| some_key(twin, user, pick));
    Command::CancelOrders { user, market, group, key }
}

/// If the user may not trade: now and then the command that lifts it, so that long runs are not
/// mostly refusals.
fn set_free(twin: &Naive, user: UserNo, now: TimeMs) -> Option<Command> {
    if !twin.sequence.is_multiple_of(8) {
        return None;
    }
    let mode = TradingMode::Normal;
    let standing = twin.standing(user);
    if twin.venue_mode != mode {
        Some(Command::SetVenueMode { mode })
    } else if standing.mode != mode {
        Some(Command::SetUserMode { user, mode })
    } else {
        let ran_out = |((of, _), beat): &(&Whose, &Beat)| *of == user.0 && beat.silent_from <= now;
        let ((_, group), _) = twin.beats.iter().find(ran_out)?;
        let (timeout_seconds, group) = (u32::from(now.get() % 2 == 0), group.map(Box::new));
        Some(Command::Heartbeat { user, timeout_seconds, group })
    }
}

/// If no market takes orders: a command that leads to one that does, so that long runs stay alive.
fn revive(twin: &Naive, now: TimeMs) -> Option<Command> {
    let live = live(twin);
    if live.iter().any(|number| is_open(twin, *number, now)) {
        return None;
    }
    let draft_of = |number: &&u32| {
        let market = &twin.markets[**number as usize];
        market.status == MarketStatus::Draft && market.deadline > now
    };
    if let Some(number) = live.iter().find(draft_of) {
        return Some(Command::PublishMarket { market: MarketNo(*number) });
    }
    let deadline = after(now, 500 + now.get() % 9_000);
    let window = u32::try_from(now.get() % 4 * 2).unwrap();
    let fees = fees_of(u32::try_from(twin.markets.len()).unwrap());
    Some(Command::CreateMarket(Box::new(draft(deadline, window, fees))))
}

fn order(twin: &Naive, place: &Place, now: TimeMs) -> PlaceOrder {
    let user = UserNo(u32::from(place.user));
    let market = market(twin, place.market, now);
    let wording = Wording {
        outcome: if place.yes { Outcome::Yes } else { Outcome::No },
        side: if place.buy { Side::Buy } else { Side::Sell },
    };
    let closes = wording.direction().closes();
    let free = twin.ledger.position(user.0, market.0).of(closes).free;
    let quantity = match place.quantity {
        Amount::Lots(lots) => i128::from(lots),
        Amount::Holding(more) => free + i128::from(more),
        Amount::Tenths(tenths) => i128::from(tenths.unsigned_abs()) * 100_000,
    };
    PlaceOrder {
        user,
        market,
        wording,
        price: Tick::new(place.price).unwrap(),
        quantity: Lots::new(u64::try_from(quantity.max(1)).unwrap()),
        time_in_force: match place.life {
            Life::Standing => TimeInForce::GoodTillCancelled { expires_at: None },
            Life::Expires(ms) => {
                TimeInForce::GoodTillCancelled { expires_at: Some(after(now, i64::from(ms))) }
            }
            Life::Immediate => TimeInForce::ImmediateOrCancel,
            Life::Whole => TimeInForce::FillOrKill,
        },
        self_trade: place.self_trade,
        condition: place.condition,
        valid_until: place.valid_for.map(|ms| after(now, i64::from(ms))),
        copy_from: place.copy_from.map(|user| UserNo(u32::from(user))),
        client_order_id: place.client.map(|number| token('c', number).into()),
        group: (!place.price.is_multiple_of(3)).then(|| Box::new(group(place.price))),
        key: some_key(twin, user, place.price),
    }
}

/// A key, mostly one of the user's, or none.
fn some_key(twin: &Naive, user: UserNo, pick: u8) -> Option<KeyNo> {
    let count = u32::try_from(twin.keys_count()).unwrap();
    let own = (0..count).map(KeyNo).filter(|key| twin.own_key(user, Some(*key)).is_ok());
    match pick % 8 {
        0 => Some(KeyNo(u32::from(pick) % (count + 1))),
        1..5 => nth(&own.collect::<Vec<_>>(), usize::from(pick / 8)),
        _ => None,
    }
}

/// Mostly an order that rests; now and then one that no longer does, or never existed.
fn some_order(twin: &Naive, pick: u16) -> OrderNo {
    let mut open: Vec<u64> = Vec::new();
    for market in &twin.markets {
        open.extend(market.book.ups.iter().chain(&market.book.downs).map(|place| place.order));
    }
    let last = twin.sequence;
    let number = match pick % 16 {
        0 => last.saturating_sub(u64::from(pick / 16) % 20),
        1 => last + 1,
        _ => nth(&open, usize::from(pick / 16)).unwrap_or(last),
    };
    OrderNo(Sequence::new(number))
}

fn amend(twin: &Naive, pick: u16, price: Option<u8>, quantity: Option<Amount>) -> Command {
    let order = some_order(twin, pick);
    let known = twin.orders.get(&order.0.get());
    let user = known.map_or(UserNo(0), |known| known.terms.user);
    let total = known.map_or(1_000_000, |known| known.original);
    let filled = known.map_or(0, |known| known.filled);
    let quantity = quantity.map(|amount| match amount {
        Amount::Lots(lots) => i128::from(lots),
        Amount::Holding(more) => filled + i128::from(more),
        Amount::Tenths(tenths) => total + total * i128::from(tenths) / 10,
    });
    Command::AmendOrder {
        user,
        order,
        price: price.map(|price| Tick::new(price).unwrap()),
        quantity: quantity.map(|lots| Lots::new(u64::try_from(lots.max(1)).unwrap())),
        seen: known.and_then(|known| seen(known, pick)),
    }
}

/// What the owner of an amended order may have seen of it: mostly nothing, or what it is, or was.
fn seen(known: &NaiveOrder, pick: u16) -> Option<SeenTerms> {
    let lots = |lots: i128| Lots::new(u64::try_from(lots).unwrap());
    let price = known.terms.wording.yes_price(Tick::new(known.price).unwrap());
    let is = SeenTerms { price, quantity: lots(known.original), filled: lots(known.filled) };
    match pick % 8 {
        _ if known.filled >= known.original => None,
        0 => Some(is),
        1 => Some(SeenTerms { price: price.complement(), ..is }),
        2 => Some(SeenTerms { quantity: lots(known.original + 1), ..is }),
        3 if known.filled > 0 => Some(SeenTerms { filled: Lots::ZERO, ..is }),
        _ => None,
    }
}

/// An event without texts.
pub fn create_event(mutually_exclusive: bool) -> Command {
    Command::CreateEvent(Box::new(EventDraft { mutually_exclusive, ..EventDraft::default() }))
}

/// Mostly a possible conversion, by the user with most to convert; now and then any. If nothing can
/// be converted: the next step to an event in which something can.
fn convert(twin: &Naive, user: UserNo, pick: u16, quantity: Amount, now: TimeMs) -> Command {
    let undecided = |market: &MarketNo| {
        let status = twin.markets[market.index()].status_at(now);
        status.keeps_orders() || status == MarketStatus::Closed
    };
    let all: Vec<EventNo> = (0..twin.events_count()).map(EventNo).collect();
    let can = |event: &EventNo| {
        let markets = twin.markets_of(*event);
        let exclusive = twin.events[event.index()].exclusive;
        let enough = 2 + event.index() % 2;
        exclusive && markets.len() >= enough && markets.iter().all(undecided)
    };
    let able: Vec<EventNo> = all.iter().copied().filter(can).collect();
    let any = pick.is_multiple_of(8);
    let Some(event) = nth(if any { &all } else { &able }, usize::from(pick / 8)) else {
        return prepare(twin, now);
    };
    let markets = twin.markets_of(event);
    let free_of = |user: u32, market: &MarketNo| twin.ledger.position(user, market.0).no.free;
    let has = |user: &u32| markets.iter().filter(|market| free_of(*user, market) > 0).count();
    let richest = (0..USERS_COUNT).max_by_key(has).map(UserNo);
    let user = richest.filter(|_| pick % 16 > 3).unwrap_or(user);
    let free = |market: &MarketNo| free_of(user.0, market);
    let chosen = |(place, market): (u32, &MarketNo)| {
        let bits = (pick >> (4 + place % 12)) % 4;
        let meant =
            if pick % 16 > 1 { free(market) > 0 && (pick % 5 < 2 || bits < 3) } else { bits == 0 };
        meant.then_some(*market)
    };
    let mut given: Vec<MarketNo> = (0..).zip(&markets).filter_map(chosen).collect();
    if pick % 64 == 8 || given.is_empty() {
        given = vec![MarketNo(u32::from(pick) % (u32::try_from(twin.markets.len()).unwrap() + 1))];
    }
    let most = given.iter().map(free).min().unwrap_or_default();
    let quantity = match quantity {
        Amount::Lots(lots) => most.min(i128::from(lots)),
        Amount::Holding(more) => most + i128::from(more),
        Amount::Tenths(tenths) => most * i128::from(tenths.unsigned_abs()) / 10,
    };
    Command::Convert(Conversion {
        user,
        event,
        markets: MarketSet::new(given).unwrap(),
        quantity: Lots::new(u64::try_from(quantity.max(1)).unwrap()),
    })
}

/// The next step to an event in which something can be converted.
fn prepare(twin: &Naive, now: TimeMs) -> Command {
    let event = EventNo(twin.events_count() - 1);
    let markets = twin.markets_of(event);
    let status = |market: &MarketNo| twin.markets[market.index()].status_at(now);
    let draft_of = markets.iter().find(|market| status(market) == MarketStatus::Draft);
    let decided = markets.iter().any(|market| {
        let status = status(market);
        status != MarketStatus::Draft && !status.keeps_orders()
    });
    if decided || !twin.events[event.index()].exclusive {
        return create_event(true);
    }
    if let Some(market) = draft_of {
        return Command::PublishMarket { market: *market };
    }
    let window = u32::try_from(now.get() % 3).unwrap();
    let deadline = after(now, 4_000 + now.get() % 9_000);
    let fees = fees_of(window);
    let draft = MarketDraft { event: Some(event), ..draft(deadline, window, fees) };
    Command::CreateMarket(Box::new(draft))
}

fn run_command(market: MarketNo, what: Run, twin: &Naive, now: TimeMs) -> Command {
    let had = twin.markets.get(market.index()).map_or(now, |market| market.deadline);
    let later =
        |ms: Option<i16>| ms.map(|ms| after(if ms % 2 == 0 { now } else { had }, i64::from(ms)));
    match what {
        Run::Create { deadline_in, window } => {
            let deadline = after(now, i64::from(deadline_in));
            let fees = fees_of(u32::from(deadline_in.unsigned_abs()));
            let mut draft = draft(deadline, u32::from(window), fees);
            if deadline_in % 15 == 0 {
                draft.categories = vec![CategoryNo(u32::from(window))];
            }
            if deadline_in % 5 == 0 {
                let last = twin.events_count().saturating_sub(1);
                let early = u32::from(window);
                let full = (0..=last).find(|event| {
                    twin.events.get(*event as usize).is_some_and(|event| event.sets > 0)
                });
                draft.event = Some(EventNo(match deadline_in % 3 {
                    0 => early,
                    1 => last,
                    _ => full.unwrap_or(last),
                }));
            }
            draft.slug = some_slug(deadline_in.unsigned_abs().into());
            Command::CreateMarket(Box::new(draft))
        }
        Run::Publish => Command::PublishMarket { market },
        Run::Suspend => Command::SuspendMarket { market },
        Run::Reopen(ms) => Command::ReopenMarket { market, deadline: later(ms) },
        Run::Close => {
            let late = overdue(twin, now).into_iter().map(|terms| terms.market);
            let mut open = late.filter(|late| is_open(twin, late.0, now));
            // Half of the time a market with overdue orders.
            let market = open.next_back().filter(|_| now.get() % 2 == 0).unwrap_or(market);
            Command::CloseMarket { market }
        }
        Run::Resolve(yes) => {
            let winner = if yes { Outcome::Yes } else { Outcome::No };
            Command::ResolveMarket { market, winner }
        }
        Run::Dispute => Command::DisputeMarket { market },
        Run::Void(price) => {
            Command::VoidMarket { market, price: SettlementPrice::new(price).unwrap() }
        }
        Run::Revise(ms) => {
            let deadline = later(ms);
            let categories = (had.get() % 5 == 0).then(|| vec![CategoryNo(0)]);
            // Revising the fees of a public market is refused; mostly they are left out, but not
            // always.
            let draft = twin.markets.get(market.index());
            let draft = draft.is_some_and(|market| market.status == MarketStatus::Draft);
            let fees = fees_of(u32::try_from(now.get() % 7).unwrap());
            let named = draft || now.get() % 6 == 0;
            let revision = MarketRevision {
                deadline,
                categories,
                maker_fee: named.then_some(fees.maker),
                taker_fee: (named && now.get() % 2 == 0).then_some(fees.taker),
                slug: some_slug(now.get().unsigned_abs()),
                ..MarketRevision::default()
            };
            Command::ReviseMarket { market, revision: Box::new(revision) }
        }
    }
}

/// Now and then a slug, one of a few.
fn some_slug(pick: u64) -> Option<Slug> {
    pick.is_multiple_of(3).then(|| Slug::new(&format!("slug-{}", pick / 3 % 12)).unwrap())
}

/// Users, keys, categories and events: they hardly affect trading, so they are rare.
fn catalogue(twin: &Naive, pick: u8) -> Command {
    let small = u32::from(pick / 8) % 16;
    match pick % 8 {
        0 => Command::OpenVenue(Rules::current()),
        1 => Command::AddKey {
            user: UserNo(small % 6),
            role: Role::Trader,
            label: String::new(),
            hash: KeyHash([pick % 64; 32]),
            ends: pick.is_multiple_of(3).then_some(twin.now),
        },
        2 => {
            let key = KeyNo(small % (u32::try_from(twin.keys_count()).unwrap() + 1));
            Command::RevokeKey { user: UserNo(small % 3), key }
        }
        3 => {
            let slug = format!("slug-{}", small % 5);
            Command::CreateCategory(CategoryDraft { name: String::new(), slug })
        }
        4 | 5 => Command::CreateEvent(Box::new(EventDraft {
            categories: vec![CategoryNo(small % 4)],
            mutually_exclusive: pick % 8 == 4,
            slug: some_slug(small.into()),
            ..EventDraft::default()
        })),
        6 => {
            let categories = (small % 2 == 0).then(|| vec![CategoryNo(small)]);
            let slug = some_slug(small.into());
            let revision = EventRevision { categories, slug, ..EventRevision::default() };
            let event = EventNo(small % (twin.events_count() + 1));
            Command::ReviseEvent { event, revision: Box::new(revision) }
        }
        _ if small % 4 == 3 && twin.users_count < USERS_MAX => {
            let (profile_name, profile_pic) = (String::new(), String::new());
            Command::CreateUser { profile_name, profile_pic }
        }
        _ if small % 16 == 2 => {
            let user = UserNo(u32::try_from(twin.sequence % 5).unwrap());
            Command::RenameUser { user, profile_name: format!("name {small}") }
        }
        _ => sign_in(twin, small),
    }
}

/// Invitations, passwords and sessions, often of what is there.
fn sign_in(twin: &Naive, small: u32) -> Command {
    let turn = u32::try_from(twin.sequence).unwrap();
    let user = UserNo(turn % 3);
    let later = |ms| TimeMs::new(twin.now.get() + i64::from(ms)).unwrap();
    let name = Token::new(&format!("name-{}", turn % 2)).unwrap();
    let hash = |kind: u32| KeyHash([u8::try_from((turn + kind) % 251).unwrap(); 32]);
    let scheme = PasswordScheme::Argon2id19MiB;
    // One account for all, so that it is often taken.
    let password = match turn / 2 % 5 {
        0 => Password::vouched(KeyHash([7; 32])),
        _ => Password { scheme, salt: hash(1), hashed: hash(2) },
    };
    let person = twin.people.iter().find(|row| row.user == user);
    let session = person.and_then(|row| row.sessions.last()).map_or(hash(3), |row| row.0);
    match small {
        0 | 1 => {
            Command::Invite { user, role: Role::Trader, invitation: hash(4), ends: later(20_000) }
        }
        2 if twin.users_count < USERS_MAX => Command::SignUp { name, password },
        // Refused, so that there is no user more.
        3 | 7 | 11 if twin.people.iter().any(|row| row.name == name) => {
            Command::SignUp { name, password }
        }
        4 => {
            let invited = twin.invited.iter().find(|row| row.user == user);
            let invitation = invited.map(|row| row.hash);
            Command::SetPassword { user, invitation, name, password }
        }
        5 | 6 | 8 | 9 | 10 => {
            let password_set = person.map_or(twin.now, |row| row.set);
            let (until, ends) = (later(60_000 + turn % 7_000), later(90_000));
            Command::SignIn { user, password_set, session: hash(5), until, ends }
        }
        12 => Command::ExtendSession { user, session, until: later(80_000) },
        13 => Command::SignOut { user, session: Some(session) },
        14 if turn.is_multiple_of(4) => Command::SignOut { user, session: None },
        14 | 15 => second_factor(twin, turn, user, session),
        _ => Command::AdvanceClock,
    }
}

/// Second factors, some of which are there.
fn second_factor(twin: &Naive, turn: u32, user: UserNo, session: KeyHash) -> Command {
    let person = twin.people.iter().find(|row| row.user == user);
    let hash = |kind: u32| KeyHash([u8::try_from((turn + kind) % 251).unwrap(); 32]);
    let later = |ms| TimeMs::new(twin.now.get() + i64::from(ms)).unwrap();
    let (password_set, until, ends) =
        (person.map_or(twin.now, |row| row.set), later(60_000), later(90_000));
    let session = if turn.is_multiple_of(5) { session } else { hash(5) };
    match turn % 7 {
        0..=2 => {
            let salt =
                person.filter(|_| !turn.is_multiple_of(4)).map_or(hash(1), |row| row.password.salt);
            let recovery = RecoveryCodes::new(vec![hash(2), hash(3)]).unwrap();
            let factor = SecondFactor { salt: hash(4), sealed: hash(5), used: twin.now, recovery };
            Command::SetSecondFactor { user, password_salt: salt, factor }
        }
        3 | 4 => {
            let shown = later(turn % 3);
            Command::SignInByCode { user, password_set, session, until, ends, used: shown }
        }
        5 => {
            let codes = person.and_then(|row| row.factor.as_ref()).map(|row| &row.recovery);
            let last = codes.and_then(|codes| codes.as_slice().last());
            let recovery_code = last.copied().unwrap_or(hash(6));
            Command::SignInByRecovery { user, password_set, session, until, ends, recovery_code }
        }
        _ if turn.is_multiple_of(2) => Command::ClearSecondFactor { user },
        _ => {
            let factor = person.and_then(|row| row.factor.as_ref());
            let password_before = person.map_or(hash(1), |row| row.password.salt);
            let factor_before = factor.map_or(hash(2), |factor| factor.salt);
            let (scheme, salt, hashed) = (PasswordScheme::Argon2id19MiB, hash(3), hash(4));
            let password = Password { scheme, salt, hashed };
            let (factor_salt, sealed) = (hash(6), hash(7));
            Command::ChangePassword(Box::new(PasswordChange {
                user,
                password_before,
                factor_before,
                password,
                factor_salt,
                sealed,
                session,
                until,
                ends,
            }))
        }
    }
}
