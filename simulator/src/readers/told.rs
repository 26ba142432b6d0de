//! What readers must be shown, in the twin's words.

use exchange::effect::{Effect, Party, Trade};
use exchange::ids::{MarketNo, OrderNo, TradeIndex};
use exchange::units::{Lots, Sequence};

/// A fill or a trade: its record, its place in that, its market, how much, and whose order it was.
pub type Row = (Sequence, TradeIndex, MarketNo, Lots, Option<OrderNo>);

/// What the records so far came to, in the twin's words.
#[derive(Debug, Default)]
pub struct Told {
    /// Of each user.
    pub fills: Vec<Vec<Row>>,
    /// Of each market.
    pub trades: Vec<Vec<Row>>,
    /// How many effects each record had.
    pub effects: Vec<usize>,
}

fn push(lists: &mut Vec<Vec<Row>>, owner: u32, row: Row) {
    let owner = usize::try_from(owner).unwrap_or(usize::MAX);
    if lists.len() <= owner {
        lists.resize_with(owner.saturating_add(1), Vec::new);
    }
    if let Some(list) = lists.get_mut(owner) {
        list.push(row);
    }
}

/// An owner's rows.
pub fn of(lists: &[Vec<Row>], owner: u32) -> &[Row] {
    usize::try_from(owner).ok().and_then(|owner| lists.get(owner)).map_or(&[], Vec::as_slice)
}

impl Told {
    /// The next record's effects.
    pub fn see(&mut self, at: Sequence, effects: &[Effect]) {
        self.effects.push(effects.len());
        for effect in effects {
            if let Effect::TradeMade(trade) = effect {
                let Trade { index, market, quantity, .. } = *trade;
                let row = |order| (at, index, market, quantity, order);
                push(&mut self.trades, market.0, row(None));
                for Party { user, order, .. } in [&trade.maker, &trade.taker] {
                    push(&mut self.fills, user.0, row(Some(*order)));
                }
            }
        }
    }
}
