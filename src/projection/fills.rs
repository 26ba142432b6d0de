//! What each user's orders traded, as that user sees it.

mod image;

use rustc_hash::FxHashMap;

use super::chain::{Chain, Place};
use super::fault::Fault;
use crate::exchange::command::Wording;
use crate::exchange::ids::{MarketNo, OrderNo, TradeId, UserNo};
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
    /// The trade; both parties see the same id.
    pub id: TradeId,
    /// The party's order.
    pub order: OrderNo,
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

/// What a fill leads to: places among the fills of the same user.
#[derive(Debug, Clone, Copy)]
struct FillLinks {
    /// The fill of the same order before it.
    of_order: Place,
    /// The fill in the same market before it.
    in_market: Place,
}

/// One user's fills, oldest first.
#[derive(Debug, Default)]
struct UserFills {
    rows: Vec<FillRow>,
    /// One for each row.
    links: Vec<FillLinks>,
}

/// Every user's fills, and which of them a market has. Which of them an order has, the order
/// itself keeps: it has one owner, so its chain runs through that user's fills.
#[derive(Debug, Default)]
pub(super) struct Fills {
    of: Vec<UserFills>,
    by_market: FxHashMap<(UserNo, MarketNo), Chain>,
}

impl Fills {
    /// All of a user's fills.
    pub(super) fn of(&self, user: UserNo) -> FillList<'_> {
        let fills = self.of.get(user.index());
        let left = fills.map_or(0, |fills| fills.rows.len());
        FillList { fills, kind: ListKind::All(left) }
    }

    /// A user's fills in one market.
    pub(super) fn in_market(&self, user: UserNo, market: MarketNo) -> FillList<'_> {
        let chain = self.by_market.get(&(user, market)).copied().unwrap_or_default();
        FillList { fills: self.of.get(user.index()), kind: ListKind::InMarket(chain) }
    }

    /// The fills of an order of this user, which are these.
    pub(super) fn of_order(&self, user: UserNo, chain: Chain) -> FillList<'_> {
        FillList { fills: self.of.get(user.index()), kind: ListKind::OfOrder(chain) }
    }

    pub(super) fn add_user(&mut self) {
        self.of.push(UserFills::default());
    }

    /// Adds a fill of a user that was added before, of an order that had these.
    pub(super) fn add(
        &mut self,
        user: UserNo,
        fill: FillRow,
        order: &mut Chain,
    ) -> Result<(), Fault> {
        let fills = self.of.get_mut(user.index()).ok_or(Fault::UnknownUser(user))?;
        let place = Place::try_from(fills.rows.len());
        let place = place.map_err(|_| Fault::NotNext(fills.rows.len() as u64))?;
        let market = self.by_market.entry((user, fill.market)).or_default();
        let links = FillLinks { of_order: order.push(place), in_market: market.push(place) };
        fills.links.push(links);
        fills.rows.push(fill);
        Ok(())
    }
}

/// Fills of one user, newest first. Its length is known. Passing over fills costs nothing where
/// they are all of a user's; of one order or in one market, a few nanoseconds each, and nothing
/// past the end. The default is empty.
#[derive(Debug, Clone, Default)]
pub struct FillList<'a> {
    fills: Option<&'a UserFills>,
    kind: ListKind,
}

/// Which of a user's fills a list still has.
#[derive(Debug, Clone)]
enum ListKind {
    /// So many, the oldest ones.
    All(usize),
    OfOrder(Chain),
    InMarket(Chain),
}

impl Default for ListKind {
    fn default() -> Self {
        ListKind::All(0)
    }
}

impl FillList<'_> {
    /// Where the next one stands; it is passed over.
    fn turn(&mut self) -> Option<usize> {
        let (chain, link): (_, fn(&FillLinks) -> Place) = match &mut self.kind {
            ListKind::All(left) => {
                *left = left.checked_sub(1)?;
                return Some(*left);
            }
            ListKind::OfOrder(chain) => (chain, |links| links.of_order),
            ListKind::InMarket(chain) => (chain, |links| links.in_market),
        };
        let place = chain.newest()? as usize;
        chain.pass(link(self.fills?.links.get(place)?));
        Some(place)
    }
}

impl<'a> Iterator for FillList<'a> {
    type Item = &'a FillRow;

    fn next(&mut self) -> Option<&'a FillRow> {
        let place = self.turn()?;
        self.fills?.rows.get(place)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = match self.kind {
            ListKind::All(left) => left,
            ListKind::OfOrder(chain) | ListKind::InMarket(chain) => chain.len(),
        };
        (left, Some(left))
    }

    fn nth(&mut self, passed: usize) -> Option<&'a FillRow> {
        if passed >= self.len() {
            self.kind = ListKind::default();
            return None;
        }
        if let ListKind::All(left) = &mut self.kind {
            *left = left.saturating_sub(passed);
        } else {
            for _ in 0..passed {
                self.turn()?;
            }
        }
        self.next()
    }
}

impl ExactSizeIterator for FillList<'_> {}
