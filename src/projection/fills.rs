//! What each user's orders traded, as that user sees it.

mod image;

use super::fault::Fault;
use super::history::chain::{Links, RowChain, RowIndex, Walk};
use super::history::stream::{Pages, Streams};
use super::history::{History, HistoryError};
use crate::exchange::command::Wording;
use crate::exchange::ids::{MarketNo, OrderId, OrderNo, TradeId, TradeIndex, UserNo};
use crate::exchange::units::{Lots, Money, Sequence, Tick, TimeMs};

/// Which of a trade's two orders it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Liquidity {
    /// The resting order.
    Maker,
    /// The incoming order.
    Taker,
}

/// One party's view of a trade.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FillRow {
    /// Which of its record's trades.
    pub index: TradeIndex,
    /// The party's order.
    pub order: OrderNo,
    /// When that was placed.
    pub placed: TimeMs,
    /// Market.
    pub market: MarketNo,
    /// The order's outcome and side.
    pub wording: Wording,
    /// Price in the order's own words: of the outcome it names.
    pub price: Tick,
    /// Contracts.
    pub quantity: Lots,
    /// Resting or incoming.
    pub liquidity: Liquidity,
    /// What the party paid for it besides.
    pub fee: Money,
    /// When.
    pub time: TimeMs,
    /// The record that made the trade.
    pub sequence: Sequence,
}

impl FillRow {
    /// The trade; both parties see the same id.
    pub fn id(&self) -> TradeId {
        TradeId::of(self.time, self.sequence, self.index)
    }

    /// The order's outside id.
    pub fn order_id(&self) -> OrderId {
        self.order.id(self.placed)
    }
}

/// A fill as it is kept, with what it leads to.
#[derive(Debug, Clone, Copy)]
pub struct Fill {
    row: FillRow,
    /// The fills of the same order before it.
    of_order: Links,
    /// The fills in the same market before it.
    in_market: Links,
}

/// Every user's fills. Which of them an order or a market has, those keep themselves: chains that
/// run through the fills of one user.
#[derive(Debug, Default)]
pub(super) struct Fills {
    users: Streams<Fill>,
}

impl Fills {
    /// No fills yet, whose pages will go there.
    pub(super) const fn on(history: History) -> Fills {
        Fills { users: Streams::on(history) }
    }

    /// All of a user's fills.
    pub(super) fn of(&self, user: UserNo) -> FillList {
        let pages = self.users.pages(user.0);
        let left = pages.count();
        FillList { pages, kind: ListKind::All(left) }
    }

    pub(super) fn add_user(&mut self, user: UserNo) -> Result<(), Fault> {
        self.users.add_owner(user.index())
    }

    /// Adds a fill of a user, of an order and in a market that had these.
    pub(super) fn add(
        &mut self,
        user: UserNo,
        row: FillRow,
        order: &mut RowChain,
        market: &mut RowChain,
    ) -> Result<(), Fault> {
        let place = self.users.count(user.0);
        let fill = Fill { row, of_order: order.push(place), in_market: market.push(place) };
        self.users.push(user.0, &fill, Fault::UnknownUser(user)).map(drop)
    }
}

/// Fills of one user as they were at one moment, newest first, to be read whenever. Its length is
/// known, and passing over fills costs little. After an error nothing more comes.
#[derive(Debug, Clone)]
pub struct FillList {
    pages: Pages<Fill>,
    kind: ListKind,
}

/// Which of a user's fills a list still has.
#[derive(Debug, Clone, Copy)]
enum ListKind {
    /// So many, the oldest ones.
    All(RowIndex),
    OfOrder(Walk),
    InMarket(Walk),
}

impl FillList {
    /// Of these fills, those of an order, which are these.
    #[must_use]
    pub(super) fn of_order(self, chain: RowChain) -> FillList {
        FillList { kind: ListKind::OfOrder(chain.walk()), ..self }
    }

    /// Of these fills, those in a market, which are these.
    #[must_use]
    pub(super) fn in_market(self, chain: RowChain) -> FillList {
        FillList { kind: ListKind::InMarket(chain.walk()), ..self }
    }

    /// None of them.
    #[must_use]
    pub fn none(self) -> FillList {
        FillList { kind: ListKind::All(0), ..self }
    }

    /// Without the fills that were made after this record. Reads O(log n) fills, however many there
    /// are.
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
            ListKind::OfOrder(walk) => walk.pass(fills, |place| links(pages, place, of_order)),
            ListKind::InMarket(walk) => walk.pass(fills, |place| links(pages, place, in_market)),
        }
    }

    fn turn(&mut self) -> Result<Option<FillRow>, HistoryError> {
        let FillList { pages, kind } = self;
        let place = match kind {
            ListKind::All(left) => {
                let place = left.checked_sub(1);
                *left = place.unwrap_or(0);
                place
            }
            ListKind::OfOrder(walk) => walk.turn(|place| links(pages, place, of_order))?,
            ListKind::InMarket(walk) => walk.turn(|place| links(pages, place, in_market))?,
        };
        let Some(place) = place else { return Ok(None) };
        Ok(pages.row(place)?.map(|fill| fill.row))
    }

    fn ended(&mut self, error: HistoryError) -> HistoryError {
        self.kind = ListKind::All(0);
        error
    }
}

const fn of_order(fill: &Fill) -> Links {
    fill.of_order
}

const fn in_market(fill: &Fill) -> Links {
    fill.in_market
}

fn links(
    pages: &mut Pages<Fill>,
    place: RowIndex,
    which: fn(&Fill) -> Links,
) -> Result<Links, HistoryError> {
    Ok(pages.row(place)?.map_or_else(Links::default, |fill| which(&fill)))
}

impl Iterator for FillList {
    type Item = Result<FillRow, HistoryError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.turn().map_err(|error| self.ended(error)).transpose()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = match &self.kind {
            ListKind::All(left) => *left as usize,
            ListKind::OfOrder(walk) | ListKind::InMarket(walk) => walk.left(),
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
