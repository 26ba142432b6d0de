//! Each user's fills, as that user sees them.

mod image;

use super::fault::Fault;
use super::history::chain::{Links, RowChain, RowIndex, Walk, length};
use super::history::onward::{OldestFirst, Onward, Start};
use super::history::stream::{Pages, Streams};
use super::history::{History, HistoryError};
use exchange::command::Wording;
use exchange::effect::{Applied, Effect, Party, Trade};
use exchange::ids::{MarketNo, OrderId, OrderNo, Token, TradeId, TradeIndex, UserNo};
use exchange::units::{Lots, Money, Sequence, Tick, TimeMs};

/// Whether a party was the maker or the taker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Liquidity {
    /// The resting order.
    Maker,
    /// The incoming order.
    Taker,
}

/// A party's contracts in a market after a fill. A record tells of an incoming order's owner once:
/// of its fills at once, each has what its owner held after the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Held {
    /// Yes contracts, those that back orders among them.
    pub yes: Lots,
    /// No contracts, the same.
    pub no: Lots,
}

/// One party's view of a trade.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FillRow {
    /// Index of the trade within its record.
    pub index: TradeIndex,
    /// The party's order.
    pub order: OrderNo,
    /// When that order was placed.
    pub placed: TimeMs,
    /// The order's client order id.
    pub client_id: Option<Token>,
    /// Market.
    pub market: MarketNo,
    /// The order's outcome and side.
    pub wording: Wording,
    /// Price of the order's own outcome.
    pub price: Tick,
    /// Quantity in lots.
    pub quantity: Lots,
    /// Maker or taker.
    pub liquidity: Liquidity,
    /// Fee paid by the party.
    pub fee: Money,
    /// The party's contracts in this market after it.
    pub held: Held,
    /// When the trade happened.
    pub time: TimeMs,
    /// The record that made the trade.
    pub sequence: Sequence,
}

impl FillRow {
    /// A party's side of a trade of this record, whose effects after the trade are `rest`; its
    /// order has this wording, time and name.
    pub fn of(
        (at, rest): (&Applied<'_>, &[Effect]),
        trade: &Trade,
        liquidity: Liquidity,
        (wording, placed, client_id): (Wording, TimeMs, Option<Token>),
    ) -> FillRow {
        let party = match liquidity {
            Liquidity::Maker => &trade.maker,
            Liquidity::Taker => &trade.taker,
        };
        FillRow {
            index: trade.index,
            order: party.order,
            placed,
            client_id,
            market: trade.market,
            wording,
            price: wording.yes_price(trade.price),
            quantity: trade.quantity,
            liquidity,
            fee: party.fee,
            held: held_after(rest, trade, liquidity),
            time: at.time,
            sequence: at.sequence,
        }
    }

    /// The trade; both parties see the same id.
    pub fn id(&self) -> TradeId {
        TradeId::of(self.time, self.sequence, self.index)
    }

    /// The order's public id.
    pub fn order_id(&self) -> OrderId {
        self.order.id(self.placed)
    }
}

/// What a party of a trade holds after it, by the effects that follow the trade: the resting
/// order's owner is told of at once, the incoming order's at the end of the record.
fn held_after(rest: &[Effect], trade: &Trade, liquidity: Liquidity) -> Held {
    let held = |party: &Party, effect: &Effect| match effect {
        Effect::PositionChanged { user, market, yes, no, .. }
            if (*user, *market) == (party.user, trade.market) =>
        {
            Some(Held { yes: yes.held, no: no.held })
        }
        _ => None,
    };
    let found = match liquidity {
        Liquidity::Maker => rest.iter().find_map(|effect| held(&trade.maker, effect)),
        Liquidity::Taker => rest.iter().rev().find_map(|effect| held(&trade.taker, effect)),
    };
    found.unwrap_or_default()
}

/// A fill as stored, with its links.
#[derive(Debug, Clone, Copy)]
pub struct Fill {
    row: FillRow,
    /// Links to earlier fills of the same order.
    of_order: Links,
    /// Links to the user's earlier fills in the same market.
    in_market: Links,
}

/// Every user's fills. Which of them belong to an order or a market is a chain through the user's
/// fills; its start is kept with the order or market.
#[derive(Debug, Default)]
pub(super) struct Fills {
    users: Streams<Fill>,
}

impl Fills {
    /// No fills yet; pages go to `history`.
    pub(super) const fn on(history: History) -> Fills {
        Fills { users: Streams::on(history) }
    }

    /// All of a user's fills.
    pub(super) fn of(&self, user: UserNo) -> FillList {
        let pages = self.users.pages(user.0);
        let left = pages.count();
        FillList { pages, kind: ListKind::All(left) }
    }

    /// The record of a user's last fill. O(1).
    pub(super) fn last(&self, user: UserNo) -> Sequence {
        self.users.base(user.0).map_or(Sequence::ZERO, |(sequence, _)| *sequence)
    }

    pub(super) fn add_user(&mut self, user: UserNo) -> Result<(), Fault> {
        self.users.add_owner(user.index())
    }

    /// Adds a fill of a user, and appends it to the chains of its order and its market.
    pub(super) fn add(
        &mut self,
        user: UserNo,
        row: FillRow,
        order: &mut RowChain,
        market: &mut RowChain,
    ) -> Result<(), Fault> {
        let row_index = self.users.count(user.0);
        let fill = Fill { row, of_order: order.push(row_index), in_market: market.push(row_index) };
        self.users.push(user.0, &fill, Fault::UnknownUser(user)).map(drop)
    }
}

/// Fills of one user as of one moment, newest first, to be read later. The length is known, and
/// skipping fills is cheap. Ends after the first error.
#[derive(Debug, Clone)]
pub struct FillList {
    pages: Pages<Fill>,
    kind: ListKind,
}

/// Which of a user's fills the list still returns.
#[derive(Debug, Clone, Copy)]
enum ListKind {
    /// This many, the oldest ones.
    All(RowIndex),
    /// Those of a chain, by the links that lead along it.
    Chain(Walk, fn(&Fill) -> Links),
}

impl FillList {
    /// Restricts the list to the fills of one order, given their chain.
    #[must_use]
    pub(super) fn of_order(self, chain: RowChain) -> FillList {
        FillList { kind: ListKind::Chain(chain.walk(), |fill| fill.of_order), ..self }
    }

    /// Restricts the list to the fills in one market, given their chain.
    #[must_use]
    pub(super) fn in_market(self, chain: RowChain) -> FillList {
        FillList { kind: ListKind::Chain(chain.walk(), |fill| fill.in_market), ..self }
    }

    /// An empty list.
    #[must_use]
    pub fn none(self) -> FillList {
        FillList { kind: ListKind::All(0), ..self }
    }

    /// Skips the fills made after this record, by binary search.
    ///
    /// # Errors
    /// History cannot be read.
    pub fn made_until(mut self, record: Sequence) -> Result<FillList, HistoryError> {
        let (mut later, mut rest) = (0, self.len());
        while later < rest {
            let middle = later.midpoint(rest);
            match self.clone().nth(middle).transpose()? {
                Some(fill) if fill.sequence > record => later = middle.saturating_add(1),
                _ => rest = middle,
            }
        }
        self.pass(later)?;
        Ok(self)
    }

    fn pass(&mut self, fills: usize) -> Result<(), HistoryError> {
        let FillList { pages, kind } = self;
        match kind {
            ListKind::All(left) => {
                *left = left.saturating_sub(RowIndex::try_from(fills).unwrap_or(RowIndex::MAX));
                Ok(())
            }
            ListKind::Chain(walk, links) => walk.pass(fills, |index| linked(pages, index, *links)),
        }
    }

    fn advance(&mut self) -> Result<Option<FillRow>, HistoryError> {
        let FillList { pages, kind } = self;
        let row_index = match kind {
            ListKind::All(left) => {
                let row_index = left.checked_sub(1);
                *left = row_index.unwrap_or(0);
                row_index
            }
            ListKind::Chain(walk, links) => walk.advance(|index| linked(pages, index, *links))?,
        };
        let Some(row_index) = row_index else { return Ok(None) };
        Ok(pages.row(row_index)?.map(|fill| fill.row))
    }

    fn ended(&mut self, error: HistoryError) -> HistoryError {
        self.kind = ListKind::All(0);
        error
    }
}

fn linked(
    pages: &mut Pages<Fill>,
    index: RowIndex,
    links: fn(&Fill) -> Links,
) -> Result<Links, HistoryError> {
    Ok(pages.row(index)?.map_or_else(Links::default, |fill| links(&fill)))
}

impl Iterator for FillList {
    type Item = Result<FillRow, HistoryError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.advance().map_err(|error| self.ended(error)).transpose()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = match &self.kind {
            ListKind::All(left) => length(*left),
            ListKind::Chain(walk, _) => walk.left(),
        };
        (left, Some(left))
    }

    fn nth(&mut self, passed: usize) -> Option<Self::Item> {
        match self.pass(passed) {
            Ok(()) => self.next(),
            Err(error) => Some(Err(self.ended(error))),
        }
    }
}

impl ExactSizeIterator for FillList {}

impl OldestFirst for FillList {
    /// Rows of a chain are reached by long links, so few pages are read, however many rows are
    /// older or newer.
    fn onward(mut self, start: Start, most: usize) -> Result<Onward<FillList>, HistoryError> {
        let first = self.pages.place(start)?;
        let FillList { pages, kind } = &mut self;
        let (count, newer, next) = match kind {
            ListKind::All(left) => {
                let (all, first) = (*left, first.min(*left));
                *left = first.saturating_add(most as RowIndex).min(all);
                (length(*left - first), length(all - *left), *left)
            }
            ListKind::Chain(walk, links) => {
                let links = *links;
                let (count, newer) =
                    walk.onward(first, most, |index| linked(pages, index, links))?;
                // Without newer ones in the chain, all rows that there are were looked at.
                let last = walk.index().filter(|_| newer > 0);
                let next = last.map_or(pages.count(), |index| index.saturating_add(1));
                (count, newer, next)
            }
        };
        Ok(Onward { list: self, count, newer, next })
    }
}
