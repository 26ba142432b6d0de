//! Reads the files of expected fills, books and positions, limited to the part of the flow that is
//! played.

use std::collections::BTreeMap;
use std::path::Path;

use rustc_hash::FxHashMap;

use exchange::units::Lots;
use flow::lines::Source;
use flow::rows::{Action, BookRow, FillRow, PositionRow};
use flow::{AccountIndex, Flow, FlowError, LineNo, MarketIndex, Merged, OrderRef};

/// The expectations; `None` where no file was given.
#[derive(Debug, Default)]
pub struct Expectations {
    /// Fills.
    pub fills: Option<ExpectedFills>,
    /// Books of each market in the order of their lines, by [`MarketIndex`].
    pub books: Vec<Vec<BookRow>>,
    /// Contracts and cash.
    pub positions: Option<BTreeMap<(MarketIndex, AccountIndex), Merged>>,
}

/// Why a file of expectations is refused.
#[derive(Debug, thiserror::Error)]
pub enum ExpectationError {
    /// The file cannot be read.
    #[error(transparent)]
    Flow(#[from] FlowError),
    /// The file names a market, account or order that the flow does not have there.
    #[error("line {}: does not belong to this flow: {what}", line.0)]
    Foreign {
        /// Line of the file.
        line: LineNo,
        /// What it names.
        what: String,
    },
}

/// The fills of a flow, by the line of the taker and by order.
#[derive(Debug, Default)]
pub struct ExpectedFills {
    by_line: FxHashMap<LineNo, Vec<FillRow>>,
    filled: FxHashMap<OrderRef, Lots>,
    /// How many.
    pub count: u64,
}

impl ExpectedFills {
    /// Reads expected fills, skipping those of lines that are not played.
    ///
    /// # Errors
    /// Unreadable, or not of this flow.
    pub fn read(source: Source, flow: &Flow) -> Result<ExpectedFills, ExpectationError> {
        let mut fills = ExpectedFills::default();
        for row in source.rows::<FillRow>() {
            let (line, fill) = row?;
            if fill.line > last_line(flow) {
                continue;
            }
            if !belongs(flow, &fill) {
                let what = format!("order {} on line {}", fill.taker.0, fill.line.0);
                return Err(ExpectationError::Foreign { line, what });
            }
            for order in [fill.taker, fill.maker] {
                let filled = fills.filled.entry(order).or_default();
                // Saturated: more than any order of the flow asks for, so the comparison reports
                // it.
                *filled = filled.plus(fill.quantity).unwrap_or(Lots::new(u64::MAX));
            }
            fills.count += 1;
            fills.by_line.entry(fill.line).or_default().push(fill);
        }
        Ok(fills)
    }

    /// The fills of the order on this line, in order.
    pub fn of_line(&self, line: LineNo) -> &[FillRow] {
        self.by_line.get(&line).map_or(&[], Vec::as_slice)
    }

    /// The total quantity of an order that gets filled.
    pub fn filled(&self, order: OrderRef) -> Lots {
        self.filled.get(&order).copied().unwrap_or(Lots::ZERO)
    }
}

impl Expectations {
    /// No expectations: only the answers themselves are checked.
    pub fn none(flow: &Flow) -> Expectations {
        Expectations { books: vec![Vec::new(); flow.markets().len()], ..Expectations::default() }
    }

    /// Reads the given files. Books after lines that are not played are skipped. Positions hold for
    /// a whole flow only: the caller passes none for a part.
    ///
    /// # Errors
    /// The file, and what is wrong with it.
    pub fn read(
        flow: &Flow,
        fills: Option<&Path>,
        books: Option<&Path>,
        positions: Option<&Path>,
    ) -> Result<Expectations, (String, ExpectationError)> {
        let named = |path: &Path, error| (path.display().to_string(), error);
        let mut all = Expectations::none(flow);
        if let Some(path) = fills {
            let fills = Source::open(path)
                .map_err(ExpectationError::from)
                .and_then(|source| ExpectedFills::read(source, flow));
            all.fills = Some(fills.map_err(|e| named(path, e))?);
        }
        if let Some(path) = books {
            Source::open(path)
                .map_err(ExpectationError::from)
                .and_then(|source| all.read_books(source, flow))
                .map_err(|e| named(path, e))?;
        }
        if let Some(path) = positions {
            let positions = Source::open(path)
                .map_err(ExpectationError::from)
                .and_then(|source| read_positions(source, flow));
            all.positions = Some(positions.map_err(|e| named(path, e))?);
        }
        Ok(all)
    }

    fn read_books(&mut self, source: Source, flow: &Flow) -> Result<(), ExpectationError> {
        for row in source.rows::<BookRow>() {
            let (line, book) = row?;
            if book.after_line > last_line(flow) {
                continue;
            }
            let market = flow.market(&book.market).and_then(|m| self.books.get_mut(m.0));
            match market {
                Some(books) => books.push(book),
                None => return Err(ExpectationError::Foreign { line, what: book.market }),
            }
        }
        for books in &mut self.books {
            books.sort_by_key(|book| book.after_line);
        }
        Ok(())
    }
}

fn read_positions(
    source: Source,
    flow: &Flow,
) -> Result<BTreeMap<(MarketIndex, AccountIndex), Merged>, ExpectationError> {
    let unit = flow.position_unit();
    let mut positions = BTreeMap::new();
    for row in source.rows::<PositionRow>() {
        let (line, row) = row?;
        let (Some(market), Some(account)) = (flow.market(&row.market), flow.account(&row.account))
        else {
            let what = format!("account {} in market {}", row.account, row.market);
            return Err(ExpectationError::Foreign { line, what });
        };
        positions.insert((market, account), row.gross(unit).merged());
    }
    Ok(positions)
}

/// Whether the flow has the taker's order on the line that a fill names.
fn belongs(flow: &Flow, fill: &FillRow) -> bool {
    at(flow, fill.line).is_some_and(|command| {
        let Action::Place(order) = command.action else { return false };
        command.order == fill.taker
            && Some(command.market) == flow.market(&fill.market)
            && order.wording.outcome == fill.outcome
    })
}

fn last_line(flow: &Flow) -> LineNo {
    flow.lines().last().map_or(LineNo(0), |command| command.line)
}

fn at(flow: &Flow, line: LineNo) -> Option<&flow::FlowLine> {
    // Lines are dense from 1.
    flow.lines().get(usize::try_from(line.0).ok()?.checked_sub(1)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use flow::sample;

    #[test]
    fn a_part_of_the_flow_has_a_part_of_the_expectations() {
        let whole = Flow::read(sample::flow(), None).unwrap();
        let fills = ExpectedFills::read(sample::fills(), &whole).unwrap();
        assert_eq!(fills.count, 558);
        let mut books = Expectations::none(&whole);
        books.read_books(sample::books(), &whole).unwrap();
        assert_eq!(books.books.iter().map(Vec::len).sum::<usize>(), 74);

        let part = Flow::read(sample::flow(), Some(5_000)).unwrap();
        let some = ExpectedFills::read(sample::fills(), &part).unwrap();
        assert!(some.count > 0 && some.count < fills.count);
        assert!(some.by_line.values().flatten().all(|fill| fill.line <= LineNo(5_000)));
    }

    #[test]
    fn expectations_of_another_flow_are_refused() {
        let flow = Flow::read(sample::flow(), None).unwrap();
        let fill = concat!(
            r#"{"line":1,"market":"k1","taker":2,"maker":1,"outcome":"yes","#,
            r#""price":"0.40","qty":"1"}"#
        );
        let error = ExpectedFills::read(Source::bytes(fill), &flow).unwrap_err();
        assert_eq!(error.to_string(), "line 1: does not belong to this flow: order 2 on line 1");
        let book = r#"{"after_line":1,"market":"zz","yes_bids":[],"yes_asks":[]}"#;
        let mut none = Expectations::none(&flow);
        assert!(none.read_books(Source::bytes(book), &flow).is_err());
    }
}
