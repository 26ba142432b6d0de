//! The JSON of an account's statement, settlements, and profit and loss.

use schemars::JsonSchema;
use serde::Serialize;

use super::{CursorEcho, OutcomeId, RecordNo, Text, Timestamp};
use exchange::ids::{EventId, MarketId, MarketNo, OrderId};
use exchange::units::{Lots, Money, MoneySum};
use views::ReadModel;
use views::equity::EquityPoint;
use views::performance::{MarketPnl, Pnl};
use views::settlements::SettlementRow;
use views::statements::{Cause, Change};

answers! {
    /// A change of the caller's money.
    LedgerLineJson = "LedgerLine" (view: &ReadModel, change: &Change) {
        /// Which of the account's changes, from 1.
        number: u64 = change.number;
        sequence: RecordNo = RecordNo(change.sequence);
        timestamp: Timestamp = Timestamp(change.time);
        cause: Text<Cause> = Text(change.cause);
        /// The order that it was about.
        order_id: Option<Text<OrderId>> =
            change.cause.subject().map(|subject| Text(subject.order.id(subject.placed)));
        /// The market of the order, the one that paid, or the one whose outcome is disputed.
        market_id: Option<Text<MarketId>> =
            market_of(change.cause).and_then(|market| market_id(view, market));
        /// The event in which contracts were converted.
        event_id: Option<Text<EventId>> = change.cause.event()
            .and_then(|event| view.catalogue.event(event)).map(|event| Text(event.id));
        /// How much more, or less, is free to use.
        available: Text<Money> = Text(change.available);
        /// How much more, or less, is set aside: for open orders, withdrawals that wait, bonds.
        reserved: Text<Money> = Text(change.reserved);
        available_after: Text<Money> = Text(change.after.available);
        reserved_after: Text<Money> = Text(change.after.reserved);
    }

    /// What a final market paid for the caller's contracts of an outcome.
    SettlementJson = "Settlement" (view: &ReadModel, row: &SettlementRow) {
        #[schemars(with = "Text<MarketId>")]
        market_id: Option<Text<MarketId>> = market_id(view, row.market);
        outcome_id: OutcomeId = Text(row.outcome);
        quantity: Text<Lots> = Text(row.quantity);
        payout: Text<Money> = Text(row.payout);
        realised_pnl: Text<MoneySum> = Text(row.realised);
        timestamp: Timestamp = Timestamp(row.time);
        sequence: RecordNo = RecordNo(row.sequence);
    }

    /// What the caller's account was worth at some moment.
    EquityPointJson = "EquityPoint" (point: &EquityPoint) {
        timestamp: Timestamp = Timestamp(point.time);
        /// available + reserved + what the contracts held were worth at the displayed
        /// probabilities.
        equity: Text<MoneySum> = Text(point.equity);
        /// deposits - withdrawals + feesTaken until then; what equity is above it was gained.
        paid_in: Text<MoneySum> = Text(point.paid_in);
        /// The record after which it was so.
        sequence: RecordNo = RecordNo(point.sequence);
    }

    /// Profit and loss. deposits - withdrawals + feesTaken + realisedPnl = available + reserved +
    /// holdingsCost.
    PnlJson = "Pnl" (pnl: &Pnl, unrealised: MoneySum, equity: MoneySum, currency: &str) {
        deposits: Text<MoneySum> = Text(pnl.deposited);
        withdrawals: Text<MoneySum> = Text(pnl.withdrawn);
        /// What an operator has taken of the venue's fees; 0.00 for everybody else.
        fees_taken: Text<MoneySum> = Text(pnl.fees_taken);
        /// What contracts brought that were sold, merged, converted or paid out, less their
        /// average cost, and less fees.
        realised_pnl: Text<MoneySum> = Text(pnl.realised);
        /// holdingsValue - holdingsCost.
        unrealised_pnl: Text<MoneySum> = Text(unrealised);
        /// What the contracts held cost, at the average cost of each outcome, without fees.
        holdings_cost: Text<MoneySum> = Text(pnl.cost);
        /// At the displayed probabilities.
        holdings_value: Text<MoneySum> = Text(pnl.value);
        available: Text<Money> = Text(pnl.available);
        reserved: Text<Money> = Text(pnl.reserved);
        /// available + reserved + holdingsValue.
        equity: Text<MoneySum> = Text(equity);
        currency: String = currency.to_owned();
    }

    /// Profit and loss in one market.
    MarketPnlJson = "MarketPnl" (
        id: MarketId, pnl: &MarketPnl, unrealised: MoneySum, currency: &str,
    ) {
        market_id: Text<MarketId> = Text(id);
        /// What contracts brought that were sold, merged, converted or paid out, less their
        /// average cost, and less fees.
        realised_pnl: Text<MoneySum> = Text(pnl.realised);
        /// holdingsValue - holdingsCost.
        unrealised_pnl: Text<MoneySum> = Text(unrealised);
        /// What the contracts held cost, without fees.
        holdings_cost: Text<MoneySum> = Text(pnl.cost);
        /// At the displayed probabilities.
        holdings_value: Text<MoneySum> = Text(pnl.value);
        currency: String = currency.to_owned();
    }
}

/// The id of a market.
pub(super) fn market_id(view: &ReadModel, market: MarketNo) -> Option<Text<MarketId>> {
    view.catalogue.market(market).map(|market| Text(market.id))
}

fn market_of(cause: Cause) -> Option<MarketNo> {
    cause.ending_market().or_else(|| cause.subject().map(|subject| subject.market))
}

/// A page of changes, newest first.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Ledger")]
pub struct LedgerJson {
    pub lines: Vec<LedgerLineJson>,
    #[serde(flatten)]
    pub next: CursorEcho,
}

/// A page of settlements, newest first.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "SettlementPage")]
pub struct SettlementsJson {
    pub settlements: Vec<SettlementJson>,
    #[serde(flatten)]
    pub next: CursorEcho,
}

/// A page of an account's equity as time passed.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "EquityPage")]
pub struct EquityJson {
    pub points: Vec<EquityPointJson>,
    #[serde(flatten)]
    pub next: CursorEcho,
}
