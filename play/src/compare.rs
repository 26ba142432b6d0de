//! Compares answers with expectations: pure functions that describe each difference in words.

use crate::answers::{DepthAnswer, LevelAnswer, PlacedAnswer, TradeAnswer, bound, lots, tick};
use exchange::catalogue::Outcome;
use exchange::command::TimeInForce;
use exchange::units::{AveragePrice, Lots, Money, SettlementPrice, Tick};
use flow::rows::{BookLevel, BookRow, FillRow, PlacedOrder};
use flow::{LineNo, Merged};

/// Levels per side that the depth endpoint shows at most (interface 4.4). A market has 99 prices,
/// so levels beyond these cannot be compared.
pub const LEVELS_SHOWN_MAX: usize = 50;

/// What a difference is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    /// A command was refused, or its answer contradicts itself or the flow.
    Answer,
    /// A fill is missing, extra, or at another price, quantity or maker.
    Fill,
    /// A book.
    Book,
    /// An account's contracts or cash in a market.
    Position,
    /// An account's balance.
    Balance,
}

impl Subject {
    /// All of them, in the order of the summary.
    pub const ALL: [Subject; 5] =
        [Subject::Answer, Subject::Fill, Subject::Book, Subject::Position, Subject::Balance];

    /// Its name in the summary.
    pub const fn name(self) -> &'static str {
        match self {
            Subject::Answer => "answers",
            Subject::Fill => "fills",
            Subject::Book => "books",
            Subject::Position => "positions",
            Subject::Balance => "balances",
        }
    }
}

/// One difference.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Difference {
    /// The line of the flow that it belongs to, if any.
    pub line: Option<LineNo>,
    /// What it is about.
    pub subject: Subject,
    /// What was expected and what was found.
    pub says: String,
}

/// Differences kept for display; further ones are only counted.
pub const SHOWN_MAX: usize = 20;

/// All differences: every one counted, the first ones kept.
#[derive(Debug, Default)]
pub struct Differences {
    counts: [u64; Subject::ALL.len()],
    shown: Vec<Difference>,
}

impl Differences {
    /// Adds one.
    pub fn add(&mut self, subject: Subject, line: Option<LineNo>, says: String) {
        if let Some(count) = self.counts.get_mut(subject as usize) {
            *count += 1;
        }
        if self.shown.len() < SHOWN_MAX {
            self.shown.push(Difference { line, subject, says });
        }
    }

    /// Adds another market's differences; the first ones by line are kept.
    pub fn absorb(&mut self, other: Differences) {
        for (count, more) in self.counts.iter_mut().zip(other.counts) {
            *count += more;
        }
        self.shown.extend(other.shown);
        self.shown.sort_by_key(|d| (d.line.is_none(), d.line));
        self.shown.truncate(SHOWN_MAX);
    }

    /// Counts by subject.
    pub fn counts(&self) -> impl Iterator<Item = (Subject, u64)> {
        Subject::ALL.into_iter().zip(self.counts)
    }

    /// Count of all differences.
    pub fn total(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The first differences, at most [`SHOWN_MAX`].
    pub fn shown(&self) -> &[Difference] {
        &self.shown
    }
}

/// A trade reported in an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Traded {
    /// Price of the order's own outcome.
    pub price: Tick,
    /// Contracts.
    pub quantity: Lots,
}

/// Reads a trade.
///
/// # Errors
/// What is wrong with it.
pub fn traded(trade: &TradeAnswer) -> Result<Traded, String> {
    Ok(Traded { price: tick(&trade.price)?, quantity: lots(&trade.quantity)? })
}

/// Compares the fills of one order with those expected, in order.
///
/// # Errors
/// What differs.
pub fn fills(expected: &[FillRow], got: &[Traded]) -> Result<(), String> {
    let same = |(want, have): (&FillRow, &Traded)| {
        want.price == have.price && want.quantity == have.quantity
    };
    if expected.len() == got.len() && expected.iter().zip(got).all(same) {
        return Ok(());
    }
    let wanted: Vec<_> =
        expected.iter().map(|f| Traded { price: f.price, quantity: f.quantity }).collect();
    Err(format!("fills: expected {}, got {}", list(&wanted), list(got)))
}

fn list(trades: &[Traded]) -> String {
    let each: Vec<_> = trades.iter().map(|t| format!("{} x{}", t.price, t.quantity)).collect();
    if each.is_empty() { "none".to_owned() } else { each.join(", ") }
}

/// Checks that the figures in the answer to a placed order follow from its trades.
///
/// # Errors
/// What differs.
pub fn placed(order: &PlacedOrder, answer: &PlacedAnswer, trades: &[Traded]) -> Result<(), String> {
    let overflow = |_| "the trades sum up beyond any account".to_owned();
    let (mut filled, mut notional) = (Lots::ZERO, Money::ZERO);
    for trade in trades {
        filled = filled.plus(trade.quantity).map_err(overflow)?;
        notional =
            trade.price.times(trade.quantity).and_then(|m| notional.plus(m)).map_err(overflow)?;
    }
    let left = order
        .quantity
        .minus(filled)
        .map_err(|_| format!("filled {filled}, more than the {} ordered", order.quantity))?;
    let rests = matches!(order.time_in_force, TimeInForce::GoodTillCancelled { .. });
    let (status, remaining) = match (left.is_zero(), rests, filled.is_zero()) {
        (true, _, _) => ("FILLED", Lots::ZERO),
        (false, false, _) => ("CANCELLED", Lots::ZERO),
        (false, true, true) => ("OPEN", left),
        (false, true, false) => ("PARTIALLY_FILLED", left),
    };
    let average = AveragePrice { notional, quantity: filled }.to_string();
    let expected = (status, filled, remaining, average.as_str());
    let got = (
        answer.status.as_str(),
        lots(&answer.filled_quantity)?,
        lots(&answer.remaining_quantity)?,
        answer.average_fill_price.as_str(),
    );
    if expected == got {
        return Ok(());
    }
    let say = |(status, filled, remaining, average): (&str, Lots, Lots, &str)| {
        format!("{status}, filled {filled} at {average}, remaining {remaining}")
    };
    Err(format!("the answer says {}; its trades make {}", say(got), say(expected)))
}

/// Compares one outcome's view of a book with the expected book, up to the levels shown.
///
/// # Errors
/// The first level that differs, or the best prices.
pub fn book(expected: &BookRow, outcome: Outcome, got: &DepthAnswer) -> Result<(), String> {
    let view = |levels: &[BookLevel]| -> Vec<BookLevel> {
        let mirrored = |level: &BookLevel| match outcome {
            Outcome::Yes => *level,
            Outcome::No => BookLevel { price: level.price.complement(), ..*level },
        };
        levels.iter().take(LEVELS_SHOWN_MAX).map(mirrored).collect()
    };
    // The bids of one outcome are the asks of the other.
    let (bids, asks) = match outcome {
        Outcome::Yes => (view(&expected.bids), view(&expected.asks)),
        Outcome::No => (view(&expected.asks), view(&expected.bids)),
    };
    side(outcome, "bid", &bids, &got.bids)?;
    side(outcome, "ask", &asks, &got.asks)?;
    let best = |levels: &[BookLevel], none| levels.first().map_or(none, |l| l.price.into());
    let bid: SettlementPrice = best(&bids, SettlementPrice::ZERO);
    let ask: SettlementPrice = best(&asks, SettlementPrice::ONE);
    let spread = SettlementPrice::new(ask.get().saturating_sub(bid.get()));
    let says = (bound(&got.best_bid)?, bound(&got.best_ask)?, Some(bound(&got.spread)?));
    if says == (bid, ask, spread) {
        return Ok(());
    }
    Err(format!(
        "{} view: best prices: expected {bid} and {ask}, got {} and {}, spread {}",
        outcome.id(),
        got.best_bid,
        got.best_ask,
        got.spread
    ))
}

fn side(
    outcome: Outcome,
    name: &str,
    expected: &[BookLevel],
    got: &[LevelAnswer],
) -> Result<(), String> {
    let levels = expected.len().max(got.len());
    for depth in 0..levels {
        let want = expected.get(depth).copied();
        let have = match got.get(depth) {
            Some(level) if level.orders == 0 => {
                return Err(format!("{} view: a {name} level without orders", outcome.id()));
            }
            Some(level) => {
                Some(BookLevel { price: tick(&level.price)?, quantity: lots(&level.quantity)? })
            }
            None => None,
        };
        if want != have {
            let say = |level: Option<BookLevel>| {
                level.map_or("none".to_owned(), |l| format!("{} x{}", l.price, l.quantity))
            };
            return Err(format!(
                "{} view, {name} {} of {levels}: expected {}, got {}",
                outcome.id(),
                depth + 1,
                say(want),
                say(have)
            ));
        }
    }
    Ok(())
}

/// Compares an account's contracts and cash in a market with those expected.
///
/// # Errors
/// What differs.
pub fn position(expected: Merged, got: Merged) -> Result<(), String> {
    if expected == got {
        return Ok(());
    }
    Err(format!(
        "expected {} and cash {}, got {} and cash {}",
        net(expected.net_lots),
        expected.cash,
        net(got.net_lots),
        got.cash
    ))
}

/// A net number of contracts as text, such as `2 yes`.
pub fn net(lots: i128) -> String {
    let outcome = if lots < 0 { Outcome::No } else { Outcome::Yes };
    let count = u64::try_from(lots.unsigned_abs()).map_or(Lots::new(u64::MAX), Lots::new);
    format!("{count} {}", outcome.id())
}

#[cfg(test)]
mod tests {
    use super::*;
    use exchange::command::{Side, Wording};
    use flow::OrderRef;

    fn trade(price: u8, contracts: u64) -> Traded {
        Traded { price: Tick::new(price).unwrap(), quantity: Lots::contracts(contracts) }
    }

    fn fill(price: u8, contracts: u64) -> FillRow {
        let Traded { price, quantity } = trade(price, contracts);
        let (taker, maker) = (OrderRef(2), OrderRef(1));
        let market = "m".to_owned();
        FillRow { line: LineNo(1), market, taker, maker, outcome: Outcome::No, price, quantity }
    }

    #[test]
    fn fills_must_come_whole_and_in_order() {
        let expected = [fill(40, 2), fill(41, 3)];
        assert_eq!(fills(&expected, &[trade(40, 2), trade(41, 3)]), Ok(()));
        for wrong in [
            vec![trade(41, 3), trade(40, 2)],
            vec![trade(40, 2)],
            vec![trade(40, 2), trade(41, 2)],
            vec![trade(40, 2), trade(42, 3)],
            vec![trade(40, 2), trade(41, 3), trade(41, 1)],
        ] {
            assert!(fills(&expected, &wrong).is_err(), "{wrong:?}");
        }
        let says = fills(&expected, &[]).unwrap_err();
        assert_eq!(says, "fills: expected 0.40 x2, 0.41 x3, got none");
    }

    fn answer(status: &str, filled: &str, remaining: &str, average: &str) -> PlacedAnswer {
        PlacedAnswer {
            order_id: uuid::Uuid::nil(),
            status: status.to_owned(),
            filled_quantity: filled.to_owned(),
            remaining_quantity: remaining.to_owned(),
            average_fill_price: average.to_owned(),
            trades: Vec::new(),
        }
    }

    #[test]
    fn an_answer_must_follow_from_its_trades() {
        let wording = Wording { outcome: Outcome::Yes, side: Side::Buy };
        let price = Tick::new(45).unwrap();
        let gtc = TimeInForce::GoodTillCancelled { expires_at: None };
        let quantity = Lots::contracts(5);
        let order = PlacedOrder { wording, price, quantity, time_in_force: gtc };
        let ioc = PlacedOrder { time_in_force: TimeInForce::ImmediateOrCancel, ..order };
        let some = [trade(40, 2), trade(41, 2)];
        for (order, trades, right) in [
            (order, &some[..], answer("PARTIALLY_FILLED", "4", "1", "0.405")),
            (order, &[], answer("OPEN", "0", "5", "0.00")),
            (ioc, &[], answer("CANCELLED", "0", "0", "0.00")),
            (ioc, &some, answer("CANCELLED", "4", "0", "0.405")),
            (ioc, &[trade(40, 5)], answer("FILLED", "5", "0", "0.40")),
        ] {
            assert_eq!(placed(&order, &right, trades), Ok(()));
            let wrongs = [
                answer("REJECTED", &right.filled_quantity, &right.remaining_quantity, "0.00"),
                PlacedAnswer { filled_quantity: "3".into(), ..answer("OPEN", "", "5", "0.00") },
                answer(&right.status, &right.filled_quantity, "2", &right.average_fill_price),
                answer(&right.status, &right.filled_quantity, &right.remaining_quantity, "0.41"),
            ];
            for wrong in wrongs {
                assert!(placed(&order, &wrong, trades).is_err(), "{wrong:?}");
            }
        }
        assert!(placed(&order, &answer("FILLED", "6", "0", "0.40"), &[trade(40, 6)]).is_err());
    }

    fn level(price: u8, contracts: u64) -> BookLevel {
        let Traded { price, quantity } = trade(price, contracts);
        BookLevel { price, quantity }
    }

    fn shown(levels: &[(&str, &str)]) -> Vec<LevelAnswer> {
        let own = |(price, quantity): &(&str, &str)| LevelAnswer {
            price: (*price).to_owned(),
            quantity: (*quantity).to_owned(),
            orders: 1,
        };
        levels.iter().map(own).collect()
    }

    fn depth(bids: &[(&str, &str)], asks: &[(&str, &str)], best: [&str; 3]) -> DepthAnswer {
        let [best_bid, best_ask, spread] = best.map(str::to_owned);
        DepthAnswer { bids: shown(bids), asks: shown(asks), best_bid, best_ask, spread }
    }

    #[test]
    fn both_views_of_a_book_are_compared() {
        let bids = vec![level(40, 1), level(39, 2)];
        let row =
            BookRow { after_line: LineNo(1), market: "m".into(), bids, asks: vec![level(43, 3)] };
        let yes =
            depth(&[("0.40", "1"), ("0.39", "2")], &[("0.43", "3")], ["0.40", "0.43", "0.03"]);
        let no = depth(&[("0.57", "3")], &[("0.60", "1"), ("0.61", "2")], ["0.57", "0.60", "0.03"]);
        assert_eq!(book(&row, Outcome::Yes, &yes), Ok(()));
        assert_eq!(book(&row, Outcome::No, &no), Ok(()));
        assert!(book(&row, Outcome::No, &yes).is_err());
        assert!(book(&row, Outcome::Yes, &no).is_err());
        let missing = depth(&[("0.40", "1")], &[("0.43", "3")], ["0.40", "0.43", "0.03"]);
        let says = book(&row, Outcome::Yes, &missing).unwrap_err();
        assert_eq!(says, "yes view, bid 2 of 2: expected 0.39 x2, got none");
        let spread = DepthAnswer { spread: "0.02".into(), ..yes };
        assert!(book(&row, Outcome::Yes, &spread).unwrap_err().contains("best prices"));
    }

    #[test]
    fn an_empty_book_shows_the_bounds() {
        let row = BookRow { after_line: LineNo(1), market: "m".into(), bids: vec![], asks: vec![] };
        let empty = depth(&[], &[], ["0.00", "1.00", "1.00"]);
        assert_eq!(book(&row, Outcome::Yes, &empty), Ok(()));
        assert!(
            book(&row, Outcome::Yes, &depth(&[("0.01", "1")], &[], ["0.01", "1.00", "0.99"]))
                .is_err()
        );
    }

    #[test]
    fn a_side_is_compared_as_deep_as_it_is_shown() {
        let bids: Vec<_> = (1..=60).rev().map(|price| level(price, 1)).collect();
        let row = BookRow { after_line: LineNo(1), market: "m".into(), bids, asks: vec![] };
        let text: Vec<_> = (11..=60).rev().map(|price| format!("0.{price:02}")).collect();
        let top: Vec<_> = text.iter().map(|price| (price.as_str(), "1")).collect();
        let got = depth(&top, &[], ["0.60", "1.00", "0.40"]);
        assert_eq!(book(&row, Outcome::Yes, &got), Ok(()));
        let short = depth(&top[..49], &[], ["0.60", "1.00", "0.40"]);
        assert!(book(&row, Outcome::Yes, &short).is_err());
    }

    #[test]
    fn the_first_differences_by_line_are_shown_and_all_are_counted() {
        let mut all = Differences::default();
        for line in 0..30 {
            all.add(Subject::Fill, Some(LineNo(100 + line)), String::new());
        }
        let mut other = Differences::default();
        other.add(Subject::Book, Some(LineNo(7)), "early".into());
        other.add(Subject::Balance, None, "last".into());
        all.absorb(other);
        assert_eq!(all.total(), 32);
        assert_eq!(all.shown().len(), SHOWN_MAX);
        assert_eq!(all.shown()[0].says, "early");
    }
}
