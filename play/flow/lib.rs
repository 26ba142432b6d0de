//! Recorded order flow: the commands to send to a venue line by line, and the results to expect.
//!
//! Read by the player, the demo, the benches and the tests. A flow file has one JSON object per
//! line, plain or gzip; the files of expected fills, books and positions refer to its lines,
//! orders, markets and accounts.
//!
//! Must not know: the venue that plays it, HTTP, threads, any rule of matching.

pub mod lines;
pub mod rows;
pub mod records;
pub mod sample;

use std::io;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use exchange::units::{LOTS_PER_CONTRACT, Lots, Money, MoneySum, Overflow, UnitError};
use lines::Source;
use rows::{Action, CommandRow};

/// Most lines of one flow. A whole flow is held in memory (64 bytes a line, so a quarter of a
/// gigabyte), because markets that were recorded one after the other are played side by side.
pub const FLOW_LINES_MAX: u32 = 4_000_000;

/// A line of a flow file, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LineNo(pub u32);

/// The number that a flow file gives an order; unique in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OrderRef(pub u64);

/// A market of a flow, numbered from 0 in the order of first mention.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MarketIndex(pub usize);

/// An account of a flow, numbered from 0 in the order of first mention.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AccountIndex(pub usize);

/// One command of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlowLine {
    /// Its line in the file.
    pub line: LineNo,
    /// When it was recorded: milliseconds, since 1970 or since the start of the flow.
    pub t_ms: i64,
    /// Market.
    pub market: MarketIndex,
    /// Owner of the order.
    pub account: AccountIndex,
    /// The order placed, or the one to cancel.
    pub order: OrderRef,
    /// Whether it places or cancels the order.
    pub action: Action,
}

/// The unit of the integers in a positions file: of contracts, and of cash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PositionUnit {
    /// 0.01 contract, and 0.01 contract times 0.01.
    Hundredths,
    /// 0.000001 contract, and 0.000001 contract times 0.01.
    Millionths,
}

impl PositionUnit {
    /// Lots in one unit of contracts; also money units in one unit of cash, because a tick times a
    /// lot is one money unit.
    pub const fn lots(self) -> i128 {
        match self {
            PositionUnit::Hundredths => LOTS_PER_HUNDREDTH as i128,
            PositionUnit::Millionths => 1,
        }
    }
}

/// Lots in 0.01 contract.
const LOTS_PER_HUNDREDTH: u64 = LOTS_PER_CONTRACT / 100;

/// A whole flow: every cancel names an order placed before it, in the same market by the same
/// account.
#[derive(Debug, Clone, Default)]
pub struct Flow {
    markets: Names,
    accounts: Names,
    lines: Vec<FlowLine>,
}

impl Flow {
    /// Reads a flow, at most `limit` lines of it.
    ///
    /// # Errors
    /// The first line that cannot be read, or that contradicts the lines before it.
    pub fn read(source: Source, limit: Option<u32>) -> Result<Flow, FlowError> {
        let mut flow = Flow::default();
        let mut placed = FxHashMap::default();
        let limit = limit.unwrap_or(u32::MAX);
        for row in source.rows::<CommandRow>().take(usize::try_from(limit).unwrap_or(usize::MAX)) {
            let (line, row) = row?;
            if line.0 > FLOW_LINES_MAX {
                return Err(FlowError::TooLong { line });
            }
            let market = MarketIndex(flow.markets.number(&row.market));
            let account = AccountIndex(flow.accounts.number(&row.account));
            let parties = (market, account);
            match row.action {
                Action::Place(_) => {
                    if placed.insert(row.order, parties).is_some() {
                        return Err(FlowError::RepeatedOrder { line, order: row.order });
                    }
                }
                Action::Cancel => {
                    if placed.get(&row.order) != Some(&parties) {
                        return Err(FlowError::UnknownOrder { line, order: row.order });
                    }
                }
            }
            let (t_ms, order, action) = (row.t_ms, row.order, row.action);
            flow.lines.push(FlowLine { line, t_ms, market, account, order, action });
        }
        Ok(flow)
    }

    /// The commands, in the order of the file.
    pub fn lines(&self) -> &[FlowLine] {
        &self.lines
    }

    /// Names of the markets, by [`MarketIndex`].
    pub fn markets(&self) -> &[Arc<str>] {
        &self.markets.names
    }

    /// Names of the accounts, by [`AccountIndex`].
    pub fn accounts(&self) -> &[Arc<str>] {
        &self.accounts.names
    }

    /// The market of that name.
    pub fn market(&self, name: &str) -> Option<MarketIndex> {
        self.markets.numbers.get(name).copied().map(MarketIndex)
    }

    /// The account of that name.
    pub fn account(&self, name: &str) -> Option<AccountIndex> {
        self.accounts.numbers.get(name).copied().map(AccountIndex)
    }

    /// The commands of each market, by [`MarketIndex`], each in the order of the file.
    pub fn by_market(&self) -> Vec<Vec<FlowLine>> {
        let mut scripts = vec![Vec::new(); self.markets.names.len()];
        for line in &self.lines {
            if let Some(script) = scripts.get_mut(line.market.0) {
                script.push(*line);
            }
        }
        scripts
    }

    /// The largest sum of money that one account may need: the cost of all its orders if every one
    /// filled at its limit and nothing was ever paid back.
    ///
    /// # Errors
    /// More than an account can hold.
    pub fn need_max(&self) -> Result<Money, Overflow> {
        let mut needs = vec![Money::ZERO; self.accounts.names.len()];
        for line in &self.lines {
            if let (Action::Place(order), Some(need)) = (line.action, needs.get_mut(line.account.0))
            {
                *need = need.plus(order.cost()?)?;
            }
        }
        Ok(needs.into_iter().max().unwrap_or(Money::ZERO))
    }

    /// The unit of this flow's positions file: 0.01 contract if every order is a multiple of that,
    /// else a lot.
    pub fn position_unit(&self) -> PositionUnit {
        let coarse = |lots: Lots| lots.get().is_multiple_of(LOTS_PER_HUNDREDTH);
        let hundredths = self.lines.iter().all(|line| match line.action {
            Action::Place(order) => coarse(order.quantity),
            Action::Cancel => true,
        });
        if hundredths { PositionUnit::Hundredths } else { PositionUnit::Millionths }
    }
}

/// Contracts and cash after every pair of yes and no is merged at 1.00.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Merged {
    /// Yes contracts less no contracts, in lots.
    pub net_lots: i128,
    /// Cash received less cash paid, each pair counted as 1.00.
    pub cash: MoneySum,
}

/// Contracts bought less contracts sold, per outcome, and the cash paid or received for them: the
/// gross figures of a positions file, or of a list of fills as their owner worded them. A sale
/// without holdings makes a negative count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Gross {
    /// Yes contracts, in lots.
    pub yes_lots: i128,
    /// No contracts, in lots.
    pub no_lots: i128,
    /// Money units.
    pub cash_units: i128,
}

impl Gross {
    /// Merges the pairs. The result does not depend on how many pairs a venue merged or minted on
    /// the way: one pair more is 1.00 less in cash.
    pub fn merged(self) -> Merged {
        let pairs = self.yes_lots.min(self.no_lots);
        let cash_units = self.cash_units.saturating_add(pairs.saturating_mul(PAIR_UNITS_PER_LOT));
        Merged {
            net_lots: self.yes_lots.saturating_sub(self.no_lots),
            cash: MoneySum::new(cash_units),
        }
    }
}

/// What a pair of one lot of yes and one of no is worth: 100 ticks.
const PAIR_UNITS_PER_LOT: i128 = 100;

/// Names in the order of first mention.
#[derive(Debug, Clone, Default)]
struct Names {
    names: Vec<Arc<str>>,
    numbers: FxHashMap<Arc<str>, usize>,
}

impl Names {
    fn number(&mut self, name: &str) -> usize {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        let (name, number): (Arc<str>, usize) = (name.into(), self.names.len());
        self.names.push(Arc::clone(&name));
        self.numbers.insert(name, number);
        number
    }
}

/// Why a file of recorded flow cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FlowError {
    /// The file cannot be opened, or its first bytes cannot be read.
    #[error("cannot open {path}: {cause}")]
    Open {
        /// As it was given.
        path: String,
        /// What the system said.
        cause: io::Error,
    },
    /// A line could not be read: the disk, or damaged gzip.
    #[error("line {}: cannot be read: {cause}", line.0)]
    Read {
        /// The line.
        line: LineNo,
        /// What the system said.
        cause: io::Error,
    },
    /// A line is longer than any of its kind can be ([`lines::LINE_BYTES_MAX`]).
    #[error("line {}: longer than {} bytes", line.0, lines::LINE_BYTES_MAX)]
    LongLine {
        /// The line.
        line: LineNo,
    },
    /// The file has more lines than [`FLOW_LINES_MAX`].
    #[error("line {}: more lines than {FLOW_LINES_MAX}", line.0)]
    TooLong {
        /// The first one too many.
        line: LineNo,
    },
    /// Not a JSON object with the required members.
    #[error("line {}: {cause}", line.0)]
    Json {
        /// The line.
        line: LineNo,
        /// What is wrong, and in which column.
        cause: serde_json::Error,
    },
    /// A price or a quantity is invalid.
    #[error("line {}: `{field}` {cause}", line.0)]
    Unit {
        /// The line.
        line: LineNo,
        /// The member.
        field: &'static str,
        /// What is wrong with it.
        cause: UnitError,
    },
    /// A required member is missing.
    #[error("line {}: `{field}` is missing", line.0)]
    Missing {
        /// The line.
        line: LineNo,
        /// The member.
        field: &'static str,
    },
    /// Two orders with one number.
    #[error("line {}: order {} is placed a second time", line.0, order.0)]
    RepeatedOrder {
        /// The second of them.
        line: LineNo,
        /// The number.
        order: OrderRef,
    },
    /// A cancel of an order that its account did not place in its market on a line before.
    #[error("line {}: order {} was not placed before by this account here", line.0, order.0)]
    UnknownOrder {
        /// The cancel.
        line: LineNo,
        /// The number it names.
        order: OrderRef,
    },
}

#[cfg(test)]
#[path = "../../tests/unit/flow/lib.rs"]
mod tests;
