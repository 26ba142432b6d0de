//! The JSON of an account's statement, settlements, and profit and loss.

use serde::Serialize;

use super::{CursorEcho, OutcomeId, Text, Timestamp};
use exchange::ids::{EventId, MarketId, OrderId};
use exchange::units::{Lots, Money, MoneySum, Overflow};
use views::ReadModel;
use views::performance::{MarketPnl, Pnl};
use views::settlements::SettlementRow;
use views::statements::Change;

/// One change of the caller's money.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LedgerLineJson {
    number: u64,
    sequence: u64,
    timestamp: Timestamp,
    cause: &'static str,
    order_id: Option<Text<OrderId>>,
    market_id: Option<Text<MarketId>>,
    event_id: Option<Text<EventId>>,
    available: Text<Money>,
    reserved: Text<Money>,
    available_after: Text<Money>,
    reserved_after: Text<Money>,
}

impl LedgerLineJson {
    /// The change as its owner sees it.
    pub fn of(view: &ReadModel, change: &Change) -> LedgerLineJson {
        let subject = change.cause.subject();
        let market = change.cause.paying_market().or_else(|| subject.map(|subject| subject.market));
        let market = market.and_then(|market| view.catalogue.market(market));
        let event = change.cause.event().and_then(|event| view.catalogue.event(event));
        LedgerLineJson {
            number: change.number,
            sequence: change.sequence.get(),
            timestamp: Timestamp(change.time),
            cause: change.cause.name(),
            order_id: subject.map(|subject| Text(subject.order.id(subject.placed))),
            market_id: market.map(|market| Text(market.id)),
            event_id: event.map(|event| Text(event.id)),
            available: Text(change.available),
            reserved: Text(change.reserved),
            available_after: Text(change.after.available),
            reserved_after: Text(change.after.reserved),
        }
    }
}

/// A page of a statement.
#[derive(Debug, Serialize)]
pub struct LedgerJson {
    /// Newest first.
    pub lines: Vec<LedgerLineJson>,
    /// The next page.
    #[serde(flatten)]
    pub next: CursorEcho,
}

/// What the caller was paid when a market became final.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SettlementJson {
    market_id: Option<Text<MarketId>>,
    outcome_id: OutcomeId,
    quantity: Text<Lots>,
    payout: Text<Money>,
    realised_pnl: Text<MoneySum>,
    timestamp: Timestamp,
    sequence: u64,
}

impl SettlementJson {
    /// The settlement as its owner sees it.
    pub fn of(view: &ReadModel, row: &SettlementRow) -> SettlementJson {
        SettlementJson {
            market_id: view.catalogue.market(row.market).map(|market| Text(market.id)),
            outcome_id: OutcomeId(row.outcome),
            quantity: Text(row.quantity),
            payout: Text(row.payout),
            realised_pnl: Text(row.realised),
            timestamp: Timestamp(row.time),
            sequence: row.sequence.get(),
        }
    }
}

/// A page of settlements.
#[derive(Debug, Serialize)]
pub struct SettlementsJson {
    /// Newest first.
    pub settlements: Vec<SettlementJson>,
    /// The next page.
    #[serde(flatten)]
    pub next: CursorEcho,
}

/// The caller's profit and loss. Deposits minus withdrawals, plus fees taken and realised profit,
/// equal the money on the account plus the cost of the contracts held.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PnlJson {
    deposits: Text<MoneySum>,
    withdrawals: Text<MoneySum>,
    fees_taken: Text<MoneySum>,
    realised_pnl: Text<MoneySum>,
    unrealised_pnl: Text<MoneySum>,
    holdings_cost: Text<MoneySum>,
    holdings_value: Text<MoneySum>,
    available: Text<Money>,
    reserved: Text<Money>,
    equity: Text<MoneySum>,
    currency: String,
}

/// The caller's profit and loss in one market.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MarketPnlJson {
    market_id: Text<MarketId>,
    realised_pnl: Text<MoneySum>,
    unrealised_pnl: Text<MoneySum>,
    holdings_cost: Text<MoneySum>,
    holdings_value: Text<MoneySum>,
    currency: String,
}

impl MarketPnlJson {
    /// These figures in the venue's currency.
    pub fn of(market: MarketId, pnl: &MarketPnl, currency: &str) -> Result<Self, Overflow> {
        Ok(MarketPnlJson {
            market_id: Text(market),
            realised_pnl: Text(pnl.realised),
            unrealised_pnl: Text(pnl.value.less(pnl.cost)?),
            holdings_cost: Text(pnl.cost),
            holdings_value: Text(pnl.value),
            currency: currency.to_owned(),
        })
    }
}

impl PnlJson {
    /// These figures in the venue's currency.
    pub fn of(pnl: &Pnl, currency: &str) -> Result<PnlJson, Overflow> {
        Ok(PnlJson {
            deposits: Text(pnl.deposited),
            withdrawals: Text(pnl.withdrawn),
            fees_taken: Text(pnl.fees_taken),
            realised_pnl: Text(pnl.realised),
            unrealised_pnl: Text(pnl.unrealised()?),
            holdings_cost: Text(pnl.cost),
            holdings_value: Text(pnl.value),
            available: Text(pnl.available),
            reserved: Text(pnl.reserved),
            equity: Text(pnl.equity()?),
            currency: currency.to_owned(),
        })
    }
}
