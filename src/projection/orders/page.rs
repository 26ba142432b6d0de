//! Orders as they are packed: what was asked for in order of placing, and for each that is final
//! what became of it. The second may come long after the first was put away.

use std::collections::BTreeMap;

use super::marks::Marks;
use super::open::OpenOrders;
use super::row::{OrderRow, OrderStatus};
use crate::exchange::command::{TimeInForce, Wording};
use crate::exchange::effect::CancelReason;
use crate::exchange::ids::{MarketNo, OrderNo, Token, UserNo};
use crate::exchange::image::coding::{BadImage, ImageSink, Imaged};
use crate::exchange::units::{Lots, Money, Sequence, Tick, TimeMs};
use crate::projection::history::Kind;
use crate::projection::history::chain::{Links, RowChain, RowIndex};
use crate::projection::history::pack::{
    RowBuffer, pack, pack_money, pack_sequence, pack_time, pass, unpack, unpack_money,
    unpack_sequence, unpack_time, unpack_u32,
};
use crate::projection::history::stream::{Row, unpack_rows};

/// What an order asked for when it was placed.
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
    /// The user's orders before it in the same market.
    pub(super) in_market: Links,
}

/// Set if the order has a name, in the byte of its marks.
const NAMED: u8 = Marks::BITS + 1;

impl Row for Terms {
    type Base = (Sequence, TimeMs);

    const KIND: Kind = Kind::Orders;

    fn base(&self) -> Self::Base {
        (self.no.0, self.created_at)
    }

    fn pack(&self, place: RowIndex, before: &Self::Base, sink: &mut RowBuffer) {
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
        in_market.pack(place, sink);
    }

    fn unpack(place: RowIndex, before: &Self::Base, source: &mut &[u8]) -> Result<Self, BadImage> {
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
        let in_market = Links::unpack(place, source)?;
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

/// What became of an order that is final.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ending {
    pub(super) price: Tick,
    pub(super) quantity: Lots,
    pub(super) filled: Lots,
    pub(super) filled_cost: Money,
    /// Why the rest was cancelled; `None` if nothing was left.
    pub(super) reason: Option<CancelReason>,
    pub(super) updated_at: TimeMs,
    pub(super) fills: RowChain,
}

impl Ending {
    /// Of an order that stood until now.
    pub(super) const fn of(standing: &OpenOrders, reason: Option<CancelReason>) -> Ending {
        Ending {
            price: standing.price,
            quantity: standing.quantity,
            filled: standing.filled,
            filled_cost: standing.filled_cost,
            reason,
            updated_at: standing.updated_at,
            fills: standing.fills,
        }
    }

    /// Appends it, for the order at `slot` of its page.
    pub(super) fn pack(&self, slot: u32, created_at: TimeMs, sink: &mut RowBuffer) {
        let Ending { price, quantity, filled, filled_cost, reason, updated_at, fills } = self;
        pack(u64::from(slot), sink);
        price.write(sink);
        reason.write(sink);
        pack(quantity.get(), sink);
        pack(filled.get(), sink);
        pack_money(*filled_cost, sink);
        pack_time(created_at, *updated_at, sink);
        fills.pack(sink);
    }

    fn unpack(terms: &[Terms], source: &mut &[u8]) -> Result<(u32, Ending), BadImage> {
        let slot = unpack_u32(source)?;
        let terms = terms.get(slot as usize);
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

    /// Passes over an ending; gives the slot of its order.
    fn pass(source: &mut &[u8]) -> Result<u32, BadImage> {
        let slot = unpack_u32(source)?;
        // Its price, and why it ended.
        *source = source.get(2..).ok_or(BadImage::Truncated)?;
        // What was wanted, filled and paid, and when it ended.
        pass(4, source)?;
        RowChain::pass(source)?;
        Ok(slot)
    }

    /// The order that ended so.
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

/// Bytes of the length before what was asked for.
const LENGTH_BYTES: usize = 4;

/// A page of orders, unpacked.
#[derive(Debug, Clone, Default)]
pub(super) struct OrderPage {
    pub(super) terms: Vec<Terms>,
    /// By slot.
    pub(super) endings: BTreeMap<u32, Ending>,
}

impl OrderPage {
    /// Reads a page whose first order is at `first`.
    pub(super) fn unpack(first: RowIndex, rows: u32, bytes: &[u8]) -> Result<Self, BadImage> {
        let (mut asked, ended) = parts(bytes)?;
        let terms = unpack_rows(first, rows, &mut asked)?;
        if !asked.is_empty() {
            return Err(BadImage::Trailing);
        }
        let mut page = OrderPage { terms, endings: BTreeMap::new() };
        page.end(ended)?;
        Ok(page)
    }

    /// Takes in endings; the last one said of an order holds.
    pub(super) fn end(&mut self, mut bytes: &[u8]) -> Result<(), BadImage> {
        while !bytes.is_empty() {
            let (slot, ending) = Ending::unpack(&self.terms, &mut bytes)?;
            self.endings.insert(slot, ending);
        }
        Ok(())
    }
}

/// A page: how many bytes tell of what was asked for, these, and then the endings, in any order.
pub(super) fn page_of(asked: &[u8], ended: &[u8]) -> Vec<u8> {
    let mut page = Vec::with_capacity(LENGTH_BYTES + asked.len() + ended.len());
    u32::try_from(asked.len()).unwrap_or(u32::MAX).write(&mut page);
    page.extend_from_slice(asked);
    page.extend_from_slice(ended);
    page
}

/// What [`page_of`] was given.
fn parts(mut page: &[u8]) -> Result<(&[u8], &[u8]), BadImage> {
    let length = u32::read(&mut page)?;
    page.split_at_checked(length as usize).ok_or(BadImage::Truncated)
}

/// A page with endings that came after it was put away. None is told twice: a replay adds what is
/// there already.
pub(super) fn with_endings(page: &[u8], late: &[u8]) -> Result<Vec<u8>, BadImage> {
    let (asked, mut ended) = parts(page)?;
    let (mut told, mut rest) = (Vec::new(), late);
    while !rest.is_empty() {
        told.push(Ending::pass(&mut rest)?);
    }
    told.sort_unstable();
    let mut all = Vec::with_capacity(ended.len() + late.len());
    while !ended.is_empty() {
        let from = ended;
        let slot = Ending::pass(&mut ended)?;
        if told.binary_search(&slot).is_err() {
            all.extend_from_slice(from.get(..from.len() - ended.len()).unwrap_or_default());
        }
    }
    all.extend_from_slice(late);
    Ok(page_of(asked, &all))
}
