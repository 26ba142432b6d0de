//! The rows of the files as typed values: commands, fills, books and positions.

use serde::Deserialize;

use super::{FlowError, Gross, LineNo, OrderRef, PositionUnit};
use exchange::catalogue::Outcome;
use exchange::command::{Side, TimeInForce, Wording};
use exchange::units::{Lots, Money, Overflow, Tick, UnitError};

/// A kind of row.
pub trait Row: Sized {
    /// Reads one line.
    ///
    /// # Errors
    /// What is wrong with it, and where.
    fn read(line: LineNo, text: &[u8]) -> Result<Self, FlowError>;
}

/// What a command does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Places an order.
    Place(PlacedOrder),
    /// Cancels one placed before.
    Cancel,
}

/// An order as its owner wrote it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlacedOrder {
    /// Outcome and side.
    pub wording: Wording,
    /// Limit, a price of the outcome named.
    pub price: Tick,
    /// Contracts wanted.
    pub quantity: Lots,
    /// How long it rests.
    pub time_in_force: TimeInForce,
}

impl PlacedOrder {
    /// The stake at its limit: price times quantity for a buyer, the complement for a seller.
    ///
    /// # Errors
    /// More than an account can hold.
    pub fn cost(&self) -> Result<Money, Overflow> {
        match self.wording.side {
            Side::Buy => self.price.times(self.quantity),
            Side::Sell => self.price.complement().times(self.quantity),
        }
    }
}

/// One line of a flow file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandRow {
    /// Recorded time, milliseconds.
    pub t_ms: i64,
    /// Market's name.
    pub market: String,
    /// Account's name.
    pub account: String,
    /// The order placed, or the one to cancel.
    pub order: OrderRef,
    /// Whether it places or cancels the order.
    pub action: Action,
}

/// One expected fill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FillRow {
    /// Line of the taker's order in the flow.
    pub line: LineNo,
    /// Market's name.
    pub market: String,
    /// The incoming order.
    pub taker: OrderRef,
    /// The resting order.
    pub maker: OrderRef,
    /// The outcome that the taker named.
    pub outcome: Outcome,
    /// A price of that outcome.
    pub price: Tick,
    /// Contracts.
    pub quantity: Lots,
}

/// One level of an expected book.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BookLevel {
    /// A price of yes.
    pub price: Tick,
    /// Contracts that rest there.
    pub quantity: Lots,
}

/// One expected book, in prices of yes even if the file has bids for no; best first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BookRow {
    /// The book is that after the market's last command at or before this line of the flow.
    pub after_line: LineNo,
    /// Market's name.
    pub market: String,
    /// Bids, highest first.
    pub bids: Vec<BookLevel>,
    /// Asks, lowest first.
    pub asks: Vec<BookLevel>,
}

/// The expected result of one account in one market.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PositionRow {
    /// Market's name.
    pub market: String,
    /// Account's name.
    pub account: String,
    yes: i64,
    no: i64,
    cash: i64,
}

impl PositionRow {
    /// The figures in lots and money units.
    pub fn gross(&self, unit: PositionUnit) -> Gross {
        // 2^63 times 10,000 is far below 2^127.
        let scaled = |count: i64| i128::from(count).saturating_mul(unit.lots());
        Gross {
            yes_lots: scaled(self.yes),
            no_lots: scaled(self.no),
            cash_units: scaled(self.cash),
        }
    }
}

// ---------------------------------------------------------------------------------------------
// JSON

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum OpText {
    Place,
    Cancel,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum OutcomeText {
    Yes,
    No,
}

#[derive(Deserialize)]
#[serde(rename_all = "UPPERCASE")]
enum SideText {
    Buy,
    Sell,
}

#[derive(Deserialize)]
#[serde(rename_all = "UPPERCASE")]
enum TifText {
    Gtc,
    Ioc,
    Fok,
}

#[derive(Deserialize)]
struct CommandText<'a> {
    t_ms: i64,
    market: String,
    op: OpText,
    #[serde(rename = "ref")]
    order: u64,
    acct: String,
    outcome: Option<OutcomeText>,
    side: Option<SideText>,
    price: Option<&'a str>,
    qty: Option<&'a str>,
    tif: Option<TifText>,
}

#[derive(Deserialize)]
struct FillText<'a> {
    line: u32,
    market: String,
    taker: u64,
    maker: u64,
    outcome: OutcomeText,
    price: &'a str,
    qty: &'a str,
}

#[derive(Deserialize)]
struct BookText<'a> {
    after_line: u32,
    market: String,
    #[serde(borrow)]
    yes_bids: Vec<(&'a str, &'a str)>,
    #[serde(borrow)]
    yes_asks: Option<Vec<(&'a str, &'a str)>>,
    #[serde(borrow)]
    no_bids: Option<Vec<(&'a str, &'a str)>>,
}

#[derive(Deserialize)]
struct PositionText {
    market: String,
    acct: String,
    yes: i64,
    no: i64,
    cash_cents: i64,
}

fn json<'a, T: Deserialize<'a>>(line: LineNo, text: &'a [u8]) -> Result<T, FlowError> {
    serde_json::from_slice(text).map_err(|cause| FlowError::Json { line, cause })
}

fn outcome(text: &OutcomeText) -> Outcome {
    match text {
        OutcomeText::Yes => Outcome::Yes,
        OutcomeText::No => Outcome::No,
    }
}

/// Adds the line and the member to a parse error.
fn with_field<T>(
    line: LineNo,
    field: &'static str,
    parsed: Result<T, UnitError>,
) -> Result<T, FlowError> {
    parsed.map_err(|cause| FlowError::Unit { line, field, cause })
}

fn required<T>(line: LineNo, field: &'static str, value: Option<T>) -> Result<T, FlowError> {
    value.ok_or(FlowError::Missing { line, field })
}

impl CommandText<'_> {
    fn placed(&self, line: LineNo) -> Result<PlacedOrder, FlowError> {
        let side = match required(line, "side", self.side.as_ref())? {
            SideText::Buy => Side::Buy,
            SideText::Sell => Side::Sell,
        };
        let time_in_force = match required(line, "tif", self.tif.as_ref())? {
            TifText::Gtc => TimeInForce::GoodTillCancelled { expires_at: None },
            TifText::Ioc => TimeInForce::ImmediateOrCancel,
            TifText::Fok => TimeInForce::FillOrKill,
        };
        let outcome = outcome(required(line, "outcome", self.outcome.as_ref())?);
        Ok(PlacedOrder {
            wording: Wording { outcome, side },
            price: with_field(line, "price", Tick::parse(required(line, "price", self.price)?))?,
            quantity: with_field(line, "qty", Lots::parse(required(line, "qty", self.qty)?))?,
            time_in_force,
        })
    }
}

impl Row for CommandRow {
    fn read(line: LineNo, text: &[u8]) -> Result<Self, FlowError> {
        let text: CommandText<'_> = json(line, text)?;
        let action = match text.op {
            OpText::Place => Action::Place(text.placed(line)?),
            OpText::Cancel => Action::Cancel,
        };
        let (market, account, order) = (text.market, text.acct, OrderRef(text.order));
        Ok(CommandRow { t_ms: text.t_ms, market, account, order, action })
    }
}

impl Row for FillRow {
    fn read(line: LineNo, text: &[u8]) -> Result<Self, FlowError> {
        let text: FillText<'_> = json(line, text)?;
        Ok(FillRow {
            line: LineNo(text.line),
            market: text.market,
            taker: OrderRef(text.taker),
            maker: OrderRef(text.maker),
            outcome: outcome(&text.outcome),
            price: with_field(line, "price", Tick::parse(text.price))?,
            quantity: with_field(line, "qty", Lots::parse(text.qty))?,
        })
    }
}

impl Row for BookRow {
    fn read(line: LineNo, text: &[u8]) -> Result<Self, FlowError> {
        let text: BookText<'_> = json(line, text)?;
        let levels = |field, rows: &[(&str, &str)]| -> Result<Vec<BookLevel>, FlowError> {
            let level = |(price, quantity): &(&str, &str)| {
                Ok(BookLevel {
                    price: with_field(line, field, Tick::parse(price))?,
                    quantity: with_field(line, field, Lots::parse(quantity))?,
                })
            };
            rows.iter().map(level).collect()
        };
        let bids = levels("yes_bids", &text.yes_bids)?;
        let asks = match (&text.yes_asks, &text.no_bids) {
            (Some(asks), _) => levels("yes_asks", asks)?,
            // A bid for no at q is an ask for yes at 1 - q: the highest bid is the lowest ask.
            (None, Some(bids)) => {
                let mut asks = levels("no_bids", bids)?;
                for level in &mut asks {
                    level.price = level.price.complement();
                }
                asks
            }
            (None, None) => return Err(FlowError::Missing { line, field: "yes_asks" }),
        };
        Ok(BookRow { after_line: LineNo(text.after_line), market: text.market, bids, asks })
    }
}

impl Row for PositionRow {
    fn read(line: LineNo, text: &[u8]) -> Result<Self, FlowError> {
        let text: PositionText = json(line, text)?;
        let (yes, no, cash) = (text.yes, text.no, text.cash_cents);
        Ok(PositionRow { market: text.market, account: text.acct, yes, no, cash })
    }
}

#[cfg(test)]
#[path = "../../tests/unit/flow/rows.rs"]
mod tests;
