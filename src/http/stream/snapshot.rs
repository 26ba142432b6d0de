//! What a channel shows to who begins to listen.

use super::build::{Fact, Told};
use super::channel::{Channel, MarketChannel, Markets, Topic};
use crate::problem::{Kind, Problem};
use crate::wire::account::{BalanceJson, PositionJson};
use crate::wire::catalogue::MarketDetailJson;
use crate::wire::order::OrderJson;
use crate::wire::stream::{AccountJson, BeginJson, Body, BookJson, BookLevelJson, TopJson};
use crate::wire::tape::Figures;
use exchange::command::Direction;
use exchange::ids::{MarketNo, UserNo};
use exchange::units::{Sequence, TimeMs};
use views::ReadModel;
use views::catalogue::MarketRow;
use views::depth::Level;

/// Most orders, and most positions, that an account begins with; lists have the others.
const ROWS_MAX: usize = 1000;
const SIDES: [Direction; 2] = [Direction::Up, Direction::Down];

/// Most orders of a snapshot of books.
const ORDERS_MAX: usize = 1 << 16;

/// Levels of books shown at once, but for the rest of a book, and markets looked at meanwhile.
const SLICE_LEVELS: usize = 1024;
const SLICE_MARKETS: u32 = 4096;
/// Most markets whose states are told at once to those who missed them.
const MISSED_MAX: usize = 1000;

/// The snapshot of a topic as of the read model's last record, without orders (see `draft.rs`), and
/// without the books of all markets.
pub fn of(view: &ReadModel, (topic, channel): (Topic, Channel), now: TimeMs) -> Vec<Fact> {
    let at = (view.watermark(), view.time());
    // Of many markets together the read model does not say what changed them.
    let latest = at.0;
    let fact = |channel, previous, told| Fact { topic, channel, at, previous, told };
    let body = |previous, body| vec![fact(channel, previous, Told::Body(body))];
    let begin = |previous, count| body(previous, Body::Begin(BeginJson::of(count)));
    match topic {
        Topic::Market(kind, market) => {
            let Some(row) = view.catalogue.market(market) else { return Vec::new() };
            let changes = view.changes.of_market(market);
            match kind {
                MarketChannel::Market => state(view, row, now)
                    .map(|told| fact(channel, changes.all.last, told))
                    .into_iter()
                    .collect(),
                MarketChannel::Book => body(changes.book.last, book(view, market)),
                MarketChannel::Top => body(changes.top.last, top(view, market)),
                MarketChannel::Orders => Vec::new(),
                MarketChannel::Trades => {
                    begin(changes.trades.last, view.tape.trades_count(market) as u64)
                }
                MarketChannel::Activity => {
                    begin(changes.activity.last, view.activity.count(market) as u64)
                }
            }
        }
        Topic::EveryMarket(_) => begin(latest, view.catalogue.markets_published().count() as u64),
        Topic::Catalogue => {
            let count = view.catalogue.markets_published().count();
            begin(view.changes.of_catalogue().last, count as u64)
        }
        Topic::Account(user) => match account(view, user) {
            Some(account) => {
                body(view.changes.of_account(user).last, Body::Account(Box::new(account)))
            }
            None => Vec::new(),
        },
        Topic::Journal => begin(at.0, at.0.get()),
    }
}

/// Checks that those who were told the states of all markets up to a record missed few enough.
///
/// # Errors
/// They are too many; a list has them.
pub fn check_missed(view: &ReadModel, topic: Topic, since: Sequence) -> Result<(), Problem> {
    let count = changed(view, topic, since).count();
    if count <= MISSED_MAX {
        return Ok(());
    }
    let detail = format!("{count} markets changed since; {MISSED_MAX} can be sent at most");
    Err(Problem::new(Kind::ChannelLimit, detail))
}

/// The markets that changed since a record, if a topic tells the states of all.
fn changed(view: &ReadModel, topic: Topic, since: Sequence) -> impl Iterator<Item = &MarketRow> {
    let every = Topic::EveryMarket(MarketChannel::Market);
    let is_of_all = topic == Topic::Catalogue || topic == every;
    let all = is_of_all.then(|| view.catalogue.markets_published());
    let has_changed = move |row: &&MarketRow| view.changes.of_market(row.no).all.last > since;
    all.into_iter().flatten().filter(has_changed)
}

/// What they missed: the states of the markets that changed since.
pub fn missed(view: &ReadModel, topic: Topic, since: Sequence, now: TimeMs) -> Vec<Fact> {
    let at = (view.watermark(), view.time());
    let each = |row: &MarketRow| {
        let [market, stats] = state(view, row, now);
        let (channel, previous, told) = if topic == Topic::Catalogue {
            (Channel::Markets, view.changes.of_catalogue().last, vec![market])
        } else {
            let channel = Channel::Of(MarketChannel::Market, Markets::One(row.id));
            (channel, view.changes.of_market(row.no).all.last, vec![market, stats])
        };
        told.into_iter().map(move |told| Fact { topic, channel, at, previous, told })
    };
    changed(view, topic, since).flat_map(each).collect()
}

/// Adds the next books that a topic of all markets' books begins with, or of their best prices,
/// from a market on: so many while others wait for the read model. Where the client has what was
/// there up to the record `seen`, those that changed since. Returns the market after them.
pub fn books_from(
    view: &ReadModel,
    topic: Topic,
    from: MarketNo,
    seen: Option<Sequence>,
    facts: &mut Vec<Fact>,
) -> MarketNo {
    let Topic::EveryMarket(kind) = topic else { return from };
    let (at, mut levels) = ((view.watermark(), view.time()), 0_usize);
    let last = MarketNo(from.0.saturating_add(SLICE_MARKETS));
    let mut next = from;
    while next < last
        && levels < SLICE_LEVELS
        && let Some(row) = view.catalogue.market(next)
    {
        next = MarketNo(next.0.saturating_add(1));
        let changes = view.changes.of_market(row.no);
        let last = if kind == MarketChannel::Top { changes.top.last } else { changes.book.last };
        let is_shown = seen.map_or_else(|| has_book(view, row), |seen| last > seen);
        if !is_shown || !row.status.public() {
            continue;
        }
        let count = |side| view.book(row.no, side).count();
        levels = SIDES.into_iter().map(count).fold(levels, usize::saturating_add);
        let book = if kind == MarketChannel::Top { top(view, row.no) } else { book(view, row.no) };
        let (channel, told) = (Channel::Of(kind, Markets::One(row.id)), Told::Body(book));
        facts.push(Fact { topic, channel, at, previous: last, told });
    }
    next
}

/// Whether anything rests on a market's book.
pub fn has_book(view: &ReadModel, row: &MarketRow) -> bool {
    SIDES.into_iter().any(|side| view.book(row.no, side).next().is_some())
}

/// A market as it is now, and its figures.
pub fn state(view: &ReadModel, row: &MarketRow, now: TimeMs) -> [Told; 2] {
    let market = Box::new(MarketDetailJson::now(view, row));
    let figures = Box::new(Figures::of(view, row, now));
    let probability = view.quote(row).probability_of_yes();
    [Told::Body(Body::Market(market)), Told::Stats(figures, probability)]
}

/// The best prices of a market.
pub fn top(view: &ReadModel, market: MarketNo) -> Body {
    let best = |side| view.book(market, side).next().map(|best| level(side, best));
    Body::Top(TopJson::of(best(Direction::Up), best(Direction::Down)))
}

fn book(view: &ReadModel, market: MarketNo) -> Body {
    let levels = SIDES
        .into_iter()
        .flat_map(|side| view.book(market, side).map(move |standing| level(side, standing)));
    Body::Book(BookJson::of(levels.collect()))
}

fn level(side: Direction, Level { price, quantity, orders }: Level) -> BookLevelJson {
    BookLevelJson::of(side, price, quantity, orders)
}

fn account(view: &ReadModel, user: UserNo) -> Option<AccountJson> {
    let row = view.accounts.user(user)?;
    let balance = BalanceJson::of(row.balance, view.accounts.currency());
    let open = view.orders.open_of(user).take(ROWS_MAX);
    let orders: Vec<OrderJson> = open.map(|order| OrderJson::seen(view, &order)).collect();
    let held = view.positions.held(user).take(ROWS_MAX);
    let positions: Vec<PositionJson> = held
        .filter_map(|row| PositionJson::in_market(view, row, view.catalogue.market(row.market)?))
        .collect();
    let cut = view.orders.open_count_of(user) > ROWS_MAX
        || view.positions.held(user).nth(ROWS_MAX).is_some();
    Some(AccountJson::of(balance, orders, positions, cut))
}

/// The books that a topic of orders is about, each with its own topic, its channel, and the record
/// that changed it last.
pub fn books(view: &ReadModel, topic: Topic) -> Vec<(Topic, Channel, Sequence)> {
    let one = |row: &MarketRow| {
        let kind = MarketChannel::Orders;
        let channel = Channel::Of(kind, Markets::One(row.id));
        (Topic::Market(kind, row.no), channel, view.changes.of_market(row.no).book.last)
    };
    match topic {
        Topic::Market(MarketChannel::Orders, market) => {
            view.catalogue.market(market).map(one).into_iter().collect()
        }
        Topic::EveryMarket(MarketChannel::Orders) => {
            let all = view.catalogue.markets_published();
            all.filter(|row| has_book(view, row)).map(one).collect()
        }
        _ => Vec::new(),
    }
}

/// Checks that a topic of orders has few enough of them to begin with.
///
/// # Errors
/// It has more.
pub fn check_orders(view: &ReadModel, topic: Topic) -> Result<(), Problem> {
    let levels = books(view, topic).into_iter().flat_map(|(topic, _, _)| {
        let market = topic.market();
        let side = move |side| market.into_iter().flat_map(move |market| view.book(market, side));
        SIDES.into_iter().flat_map(side)
    });
    let orders = levels.fold(0_usize, |sum, level| sum.saturating_add(level.orders as usize));
    if orders <= ORDERS_MAX {
        return Ok(());
    }
    let detail = format!("{orders} orders rest there; {ORDERS_MAX} can be sent at most");
    Err(Problem::new(Kind::ChannelLimit, detail))
}
