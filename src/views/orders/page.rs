//! Rows of orders. What an order was when it was placed goes to a page in the order of placing;
//! what came of it is its ending. A page of orders holds the endings that came while it was the
//! newest; the others follow in pages of endings of their own. Each page is written once.

use std::collections::BTreeMap;

use super::open::OpenOrder;
use super::row::{OrderRow, OrderStatus};
use crate::history::chain::{Links, RowChain, RowIndex, length};
use crate::history::pack::{Coder, Packing, Unpacking};
use crate::history::stream::{Row, unpack_rows};
use crate::history::{Kind, PageKey};
use exchange::command::{TimeInForce, Wording};
use exchange::effect::CancelReason;
use exchange::ids::{Group, MarketNo, OrderNo, Token, UserNo};
use exchange::image::coding::BadImage;
use exchange::units::{Lots, Money, Sequence, Tick, TimeMs};

/// An order as it was placed.
#[derive(Debug, Clone, Copy)]
pub struct Terms {
    pub(super) no: OrderNo,
    pub(super) market: MarketNo,
    pub(super) wording: Wording,
    pub(super) price: Tick,
    pub(super) quantity: Lots,
    pub(super) time_in_force: TimeInForce,
    pub(super) created_at: TimeMs,
    pub(super) client_id: Option<Token>,
    pub(super) group: Option<Group>,
    /// Links to the user's earlier orders in the same market.
    pub(super) in_market: Links,
}

impl Row for Terms {
    type Base = (Sequence, TimeMs);

    const KIND: Kind = Kind::Orders;

    fn base(&self) -> Self::Base {
        (self.no.0, self.created_at)
    }

    fn code(
        row: Option<&Self>,
        index: RowIndex,
        before: &Self::Base,
        coder: &mut impl Coder,
    ) -> Result<Self, BadImage> {
        let no = OrderNo(coder.sequence(before.0, row.map(|row| row.no.0))?);
        let created_at = coder.time(before.1, row.map(|row| row.created_at))?;
        let head = |row: &Terms| {
            let labels = u64::from(row.group.is_some()) << 1 | u64::from(row.client_id.is_some());
            u64::from(row.market.0) << 2 | labels
        };
        let head = coder.number(row.map(head))?;
        let (named, grouped) = (head & 1 == 1, head & 2 == 2);
        let name = row.and_then(|row| row.client_id);
        let group = row.and_then(|row| Token::new(row.group.as_ref()?.as_str()));
        Ok(Terms {
            no,
            market: MarketNo(u32::try_from(head >> 2).map_err(|_| BadImage::Value("market"))?),
            wording: coder.imaged(row.map(|row| row.wording))?,
            price: coder.imaged(row.map(|row| row.price))?,
            quantity: coder.lots(row.map(|row| row.quantity))?,
            time_in_force: coder.imaged(row.map(|row| row.time_in_force))?,
            created_at,
            client_id: if named { Some(coder.token(name)?) } else { None },
            group: if grouped {
                let group = Group::new(coder.token(group)?.as_str());
                Some(group.ok_or(BadImage::Value("Group"))?)
            } else {
                None
            },
            in_market: Links::code(row.map(|row| row.in_market), index, coder)?,
        })
    }
}

impl Terms {
    /// The row that its record left, had it traded so much and ended nothing.
    pub(super) fn rested(&self, user: UserNo, filled: Lots, filled_cost: Money) -> OrderRow {
        let partly = !filled.is_zero();
        OrderRow {
            no: self.no,
            user,
            market: self.market,
            wording: self.wording,
            price: self.price,
            quantity: self.quantity,
            filled,
            remaining: self.quantity.minus(filled).unwrap_or_default(),
            cancelled: Lots::ZERO,
            filled_cost,
            status: if partly { OrderStatus::PartiallyFilled } else { OrderStatus::Open },
            cancel_reason: None,
            time_in_force: self.time_in_force,
            created_at: self.created_at,
            updated_at: self.created_at,
            client_id: self.client_id,
            group: self.group,
        }
    }
}

/// The outcome of a final order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ending {
    pub(super) price: Tick,
    pub(super) quantity: Lots,
    pub(super) filled: Lots,
    pub(super) filled_cost: Money,
    /// Why the rest was cancelled; `None` if the order was filled.
    pub(super) reason: Option<CancelReason>,
    pub(super) updated_at: TimeMs,
    pub(super) fills: RowChain,
    /// Whether the record that placed the order ended it.
    pub(super) at_once: bool,
}

impl Ending {
    /// The ending of an order that was open until now.
    pub(super) const fn of(
        order: &OpenOrder,
        reason: Option<CancelReason>,
        at_once: bool,
    ) -> Ending {
        Ending {
            price: order.price,
            quantity: order.quantity,
            filled: order.filled,
            filled_cost: order.filled_cost,
            reason,
            updated_at: order.updated_at,
            fills: order.fills,
            at_once,
        }
    }

    /// Appends the ending of the order at `slot` of its page.
    pub(super) fn pack(
        &self,
        slot: RowIndex,
        created_at: TimeMs,
        sink: &mut Vec<u8>,
    ) -> Result<(), BadImage> {
        let coder = &mut Packing(sink);
        coder.number(Some(slot << 1 | u64::from(self.at_once)))?;
        Ending::code(Some(self), self.at_once, created_at, coder).map(drop)
    }

    fn unpack(terms: &[Terms], source: &mut &[u8]) -> Result<(RowIndex, Ending), BadImage> {
        let coder = &mut Unpacking(source);
        let head = coder.number(None)?;
        let terms = terms.get(length(head >> 1));
        let terms = terms.ok_or(BadImage::Contradiction("the end of no order"))?;
        Ok((head >> 1, Ending::code(None, head & 1 == 1, terms.created_at, coder)?))
    }

    fn code(
        ending: Option<&Self>,
        at_once: bool,
        created_at: TimeMs,
        coder: &mut impl Coder,
    ) -> Result<Ending, BadImage> {
        Ok(Ending {
            price: coder.imaged(ending.map(|ending| ending.price))?,
            reason: coder.imaged(ending.map(|ending| ending.reason))?,
            quantity: coder.lots(ending.map(|ending| ending.quantity))?,
            filled: coder.lots(ending.map(|ending| ending.filled))?,
            filled_cost: coder.money(ending.map(|ending| ending.filled_cost))?,
            updated_at: coder.time(created_at, ending.map(|ending| ending.updated_at))?,
            fills: RowChain::code(ending.map(|ending| ending.fills), coder)?,
            at_once,
        })
    }

    /// The order with these terms and this ending.
    pub(super) fn row(&self, user: UserNo, terms: &Terms) -> OrderRow {
        let cancelled = self.quantity.minus(self.filled).unwrap_or_default();
        OrderRow {
            price: self.price,
            quantity: self.quantity,
            remaining: Lots::ZERO,
            cancelled,
            status: match self.reason {
                None => OrderStatus::Filled,
                Some(_) => OrderStatus::Cancelled,
            },
            cancel_reason: self.reason,
            updated_at: self.updated_at,
            ..terms.rested(user, self.filled, self.filled_cost)
        }
    }
}

/// A page of orders, unpacked.
#[derive(Debug, Clone, Default)]
pub(super) struct OrderPage {
    pub(super) terms: Vec<Terms>,
    /// By slot.
    pub(super) endings: BTreeMap<RowIndex, Ending>,
}

impl OrderPage {
    /// Reads a page whose first order has the index `first`: its orders, then endings.
    pub(super) fn unpack(
        first: RowIndex,
        rows: RowIndex,
        mut bytes: &[u8],
    ) -> Result<Self, BadImage> {
        let terms = unpack_rows(first, rows, &mut bytes)?;
        let mut page = OrderPage { terms, endings: BTreeMap::new() };
        page.end(bytes)?;
        Ok(page)
    }

    /// Adds endings. Returns how many.
    pub(super) fn end(&mut self, mut bytes: &[u8]) -> Result<RowIndex, BadImage> {
        let mut count = 0;
        while !bytes.is_empty() {
            let (slot, ending) = Ending::unpack(&self.terms, &mut bytes)?;
            self.endings.insert(slot, ending);
            count += 1;
        }
        Ok(count)
    }
}

/// The page of endings that follows when `stored` endings of the orders from index `first` on are
/// on earlier pages.
pub(super) const fn endings_key(user: UserNo, first: RowIndex, stored: RowIndex) -> PageKey {
    PageKey { kind: Kind::Endings, owner: user.0, page: first.saturating_add(stored) }
}
