//! Packed orders: the terms in the order they were placed, and an ending for each final order. An
//! ending may come long after the page with the terms was written.

use std::collections::BTreeMap;

use super::marks::Marks;
use super::open::OpenOrder;
use super::row::{OrderRow, OrderStatus};
use crate::history::Kind;
use crate::history::chain::{Links, RowChain, RowIndex, length};
use crate::history::pack::{
    RowBuffer, pack, pack_money, pack_sequence, pack_time, pass, unpack, unpack_money,
    unpack_sequence, unpack_time, unpack_u32,
};
use crate::history::stream::{Row, unpack_rows};
use exchange::command::{TimeInForce, Wording};
use exchange::effect::CancelReason;
use exchange::ids::{MarketNo, OrderNo, Token, UserNo};
use exchange::image::coding::{BadImage, ImageSink, Imaged};
use exchange::units::{Lots, Money, Sequence, Tick, TimeMs};

/// The terms of an order when it was placed.
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
    /// Links to the user's earlier orders in the same market.
    pub(super) in_market: Links,
}

/// Set in the marks byte if the order has a client order id.
const NAMED: u8 = Marks::BITS + 1;

impl Row for Terms {
    type Base = (Sequence, TimeMs);

    const KIND: Kind = Kind::Orders;

    fn base(&self) -> Self::Base {
        (self.no.0, self.created_at)
    }

    fn pack(&self, index: RowIndex, before: &Self::Base, sink: &mut RowBuffer) {
        let Terms { no, market, wording, price, quantity, .. } = self;
        let Terms { time_in_force, created_at, client_id, in_market, .. } = self;
        pack_sequence(before.0, no.0, sink);
        pack_time(before.1, *created_at, sink);
        pack(u64::from(market.0), sink);
        let marks = Marks::of(*wording, *time_in_force);
        let bits = marks.bits() | if client_id.is_some() { NAMED } else { 0 };
        bits.write(sink);
        if let TimeInForce::GoodTillCancelled { expires_at: Some(expires_at) } = time_in_force {
            pack_time(*created_at, *expires_at, sink);
        }
        price.write(sink);
        pack(quantity.get(), sink);
        if let Some(name) = client_id {
            pack(name.as_str().len() as u64, sink);
            sink.put(name.as_str().as_bytes());
        }
        in_market.pack(index, sink);
    }

    fn unpack(index: RowIndex, before: &Self::Base, source: &mut &[u8]) -> Result<Self, BadImage> {
        let no = OrderNo(unpack_sequence(before.0, source)?);
        let created_at = unpack_time(before.1, source)?;
        let market = MarketNo(unpack_u32(source)?);
        let bits = u8::read(source)?;
        if bits > NAMED | Marks::BITS {
            return Err(BadImage::Value("order"));
        }
        let marks = Marks::from_bits(bits);
        let expires_at = marks.expires().then(|| unpack_time(created_at, source)).transpose()?;
        let (wording, time_in_force) = (marks.wording(), marks.time_in_force(expires_at));
        let price = Imaged::read(source)?;
        let quantity = Lots::new(unpack(source)?);
        let client_id = (bits & NAMED != 0).then(|| unpack_name(source)).transpose()?;
        let in_market = Links::unpack(index, source)?;
        Ok(Terms {
            no,
            market,
            wording,
            price,
            quantity,
            time_in_force,
            created_at,
            client_id,
            in_market,
        })
    }
}

fn unpack_name(source: &mut &[u8]) -> Result<Token, BadImage> {
    let length = usize::try_from(unpack(source)?).map_err(|_| BadImage::Truncated)?;
    let (name, rest) = source.split_at_checked(length).ok_or(BadImage::Truncated)?;
    *source = rest;
    let name = str::from_utf8(name).ok().and_then(Token::new);
    name.ok_or(BadImage::Value("Token"))
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
}

impl Ending {
    /// The ending of an order that was open until now.
    pub(super) const fn of(order: &OpenOrder, reason: Option<CancelReason>) -> Ending {
        Ending {
            price: order.price,
            quantity: order.quantity,
            filled: order.filled,
            filled_cost: order.filled_cost,
            reason,
            updated_at: order.updated_at,
            fills: order.fills,
        }
    }

    /// Appends the ending of the order at `slot` of its page.
    pub(super) fn pack(&self, slot: RowIndex, created_at: TimeMs, sink: &mut RowBuffer) {
        let Ending { price, quantity, filled, filled_cost, reason, updated_at, fills } = self;
        pack(slot, sink);
        price.write(sink);
        reason.write(sink);
        pack(quantity.get(), sink);
        pack(filled.get(), sink);
        pack_money(*filled_cost, sink);
        pack_time(created_at, *updated_at, sink);
        fills.pack(sink);
    }

    fn unpack(terms: &[Terms], source: &mut &[u8]) -> Result<(RowIndex, Ending), BadImage> {
        let slot = unpack(source)?;
        let terms = terms.get(length(slot));
        let terms = terms.ok_or(BadImage::Contradiction("the end of no order"))?;
        let ending = Ending {
            price: Imaged::read(source)?,
            reason: Imaged::read(source)?,
            quantity: Lots::new(unpack(source)?),
            filled: Lots::new(unpack(source)?),
            filled_cost: unpack_money(source)?,
            updated_at: unpack_time(terms.created_at, source)?,
            fills: RowChain::unpack(source)?,
        };
        Ok((slot, ending))
    }

    /// Skips an ending. Returns the slot of its order.
    fn pass(source: &mut &[u8]) -> Result<RowIndex, BadImage> {
        let slot = unpack(source)?;
        // The price tick and the cancel reason, one byte each.
        *source = source.get(2..).ok_or(BadImage::Truncated)?;
        // Quantity, filled quantity, filled cost and the time of the last update.
        pass(4, source)?;
        RowChain::pass(source)?;
        Ok(slot)
    }

    /// The order with these terms and this ending.
    pub(super) fn row(&self, user: UserNo, terms: &Terms) -> OrderRow {
        let Terms { no, market, wording, time_in_force, created_at, client_id, .. } = *terms;
        let cancelled = self.quantity.minus(self.filled).unwrap_or_default();
        OrderRow {
            no,
            user,
            market,
            wording,
            price: self.price,
            quantity: self.quantity,
            filled: self.filled,
            remaining: Lots::ZERO,
            cancelled,
            filled_cost: self.filled_cost,
            status: match self.reason {
                None => OrderStatus::Filled,
                Some(_) => OrderStatus::Cancelled,
            },
            cancel_reason: self.reason,
            time_in_force,
            created_at,
            updated_at: self.updated_at,
            client_id,
        }
    }
}

/// Bytes of the length field in front of the terms.
const LENGTH_BYTES: usize = 4;

/// A page of orders, unpacked.
#[derive(Debug, Clone, Default)]
pub(super) struct OrderPage {
    pub(super) terms: Vec<Terms>,
    /// By slot.
    pub(super) endings: BTreeMap<RowIndex, Ending>,
}

impl OrderPage {
    /// Reads a page whose first order has the index `first`.
    pub(super) fn unpack(first: RowIndex, rows: RowIndex, bytes: &[u8]) -> Result<Self, BadImage> {
        let (mut asked, ended) = parts(bytes)?;
        let terms = unpack_rows(first, rows, &mut asked)?;
        if !asked.is_empty() {
            return Err(BadImage::Trailing);
        }
        let mut page = OrderPage { terms, endings: BTreeMap::new() };
        page.end(ended)?;
        Ok(page)
    }

    /// Adds endings; the last one for an order wins.
    pub(super) fn end(&mut self, mut bytes: &[u8]) -> Result<(), BadImage> {
        while !bytes.is_empty() {
            let (slot, ending) = Ending::unpack(&self.terms, &mut bytes)?;
            self.endings.insert(slot, ending);
        }
        Ok(())
    }
}

/// A page: the length of the packed terms, the terms, and the endings in any order.
pub(super) fn page_of(asked: &[u8], ended: &[u8]) -> Vec<u8> {
    let mut page = Vec::with_capacity(LENGTH_BYTES + asked.len() + ended.len());
    u32::try_from(asked.len()).unwrap_or(u32::MAX).write(&mut page);
    page.extend_from_slice(asked);
    page.extend_from_slice(ended);
    page
}

/// Splits a page of [`page_of`] into terms and endings.
fn parts(mut page: &[u8]) -> Result<(&[u8], &[u8]), BadImage> {
    let length = u32::read(&mut page)?;
    page.split_at_checked(length as usize).ok_or(BadImage::Truncated)
}

/// A written page with late endings added. An ending replaces one for the same order, because a
/// replay adds endings that the page already has.
pub(super) fn with_endings(page: &[u8], late: &[u8]) -> Result<Vec<u8>, BadImage> {
    let (asked, mut ended) = parts(page)?;
    let (mut late_slots, mut rest) = (Vec::new(), late);
    while !rest.is_empty() {
        late_slots.push(Ending::pass(&mut rest)?);
    }
    late_slots.sort_unstable();
    let mut all = Vec::with_capacity(ended.len() + late.len());
    while !ended.is_empty() {
        let from = ended;
        let slot = Ending::pass(&mut ended)?;
        if late_slots.binary_search(&slot).is_err() {
            all.extend_from_slice(from.get(..from.len() - ended.len()).unwrap_or_default());
        }
    }
    all.extend_from_slice(late);
    Ok(page_of(asked, &all))
}
