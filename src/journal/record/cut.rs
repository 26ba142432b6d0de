//! Hand-written decoders for the two kinds of nearly all records. They read bincode's bytes field
//! by field, which is faster than moving a struct through a chain of results. Beside them the
//! bodies of an amend, which has two versions.

use bincode::{Decode, Encode};

use super::super::fields::{self, BadField};
use super::RecordError;
use exchange::command::{Command, PlaceOrder, Wording};
use exchange::ids::{MarketNo, OrderNo, UserNo};
use exchange::units::{Lots, Sequence};

/// An amend.
#[derive(Encode, Decode)]
pub(super) struct AmendOrderV1 {
    pub user: u32,
    pub order: u64,
    pub price: Option<u8>,
    pub quantity: Option<u64>,
}
/// An amend of what its owner saw.
#[derive(Encode, Decode)]
pub(super) struct AmendOrderV2 {
    pub amend: AmendOrderV1,
    /// Price, quantity and what is filled.
    pub seen: (u8, u64, u64),
}

#[derive(Encode)]
pub(super) struct PlaceOrderV1<'a> {
    pub user: u32,
    pub market: u32,
    pub outcome: u8,
    pub side: u8,
    pub price: u8,
    pub quantity: u64,
    pub time_in_force: u8,
    pub expires_at: Option<i64>,
    pub self_trade: u8,
    pub condition: u8,
    pub valid_until: Option<i64>,
    pub copy_from: Option<u32>,
    pub client_order_id: Option<&'a str>,
}
#[derive(Encode)]
pub(super) struct CancelOrderV1 {
    pub user: u32,
    pub order: u64,
}

/// The undecoded rest of a body.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fields<'a>(pub(super) &'a [u8]);

/// A flat struct with a hand-written decoder.
pub(super) trait HandDecoded<'a>: Sized {
    /// Decodes its fields in their order on disk; `None` if the bytes are no encoding of them.
    fn decode(fields: &mut Fields<'a>) -> Option<Self>;
}

impl<'a> Fields<'a> {
    #[inline]
    fn bytes<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*taken)
    }

    #[inline]
    fn u8(&mut self) -> Option<u8> {
        self.bytes().map(u8::from_le_bytes)
    }

    #[inline]
    fn u32(&mut self) -> Option<u32> {
        self.bytes().map(u32::from_le_bytes)
    }

    #[inline]
    fn u64(&mut self) -> Option<u64> {
        self.bytes().map(u64::from_le_bytes)
    }

    #[inline]
    fn i64(&mut self) -> Option<i64> {
        self.bytes().map(i64::from_le_bytes)
    }

    /// An optional value, after a tag byte.
    #[inline]
    #[allow(clippy::option_option, reason = "not spelled, or spelled and absent or there")]
    fn option<T>(&mut self, value: impl FnOnce(&mut Self) -> Option<T>) -> Option<Option<T>> {
        match self.u8()? {
            0 => Some(None),
            1 => value(self).map(Some),
            _ => None,
        }
    }

    /// A text, after its length.
    fn text(&mut self) -> Option<&'a str> {
        let length = usize::try_from(self.u64()?).ok()?;
        let (text, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        str::from_utf8(text).ok()
    }
}

impl<'a> HandDecoded<'a> for PlaceOrderV1<'a> {
    #[inline]
    fn decode(fields: &mut Fields<'a>) -> Option<PlaceOrderV1<'a>> {
        Some(PlaceOrderV1 {
            user: fields.u32()?,
            market: fields.u32()?,
            outcome: fields.u8()?,
            side: fields.u8()?,
            price: fields.u8()?,
            quantity: fields.u64()?,
            time_in_force: fields.u8()?,
            expires_at: fields.option(Fields::i64)?,
            self_trade: fields.u8()?,
            condition: fields.u8()?,
            valid_until: fields.option(Fields::i64)?,
            copy_from: fields.option(Fields::u32)?,
            client_order_id: fields.option(Fields::text)?,
        })
    }
}

impl<'a> HandDecoded<'a> for CancelOrderV1 {
    #[inline]
    fn decode(fields: &mut Fields<'a>) -> Option<CancelOrderV1> {
        Some(CancelOrderV1 { user: fields.u32()?, order: fields.u64()? })
    }
}

/// Converts an order; also checks its quantity.
#[inline]
pub(super) fn order_of(order: &PlaceOrderV1<'_>, kind: u16) -> Result<PlaceOrder, RecordError> {
    let bad = |BadField(field): BadField| RecordError::Field(kind, field);
    let outcome = fields::outcome(order.outcome, "outcome").map_err(bad)?;
    let side = fields::side(order.side).map_err(bad)?;
    let name = order.client_order_id.map(fields::client_order_id).transpose().map_err(bad)?;
    let force = fields::time_in_force(order.time_in_force, order.expires_at).map_err(bad)?;
    Ok(PlaceOrder {
        user: UserNo(order.user),
        market: MarketNo(order.market),
        wording: Wording { outcome, side },
        price: fields::price(order.price).map_err(bad)?,
        quantity: fields::order_quantity(Lots::new(order.quantity)).map_err(bad)?,
        time_in_force: force,
        self_trade: fields::self_trade(order.self_trade).map_err(bad)?,
        condition: fields::condition(order.condition).map_err(bad)?,
        valid_until: fields::time_option(order.valid_until, "valid_until").map_err(bad)?,
        copy_from: order.copy_from.map(UserNo),
        client_order_id: name.map(Box::new),
    })
}

#[inline]
pub(super) const fn cancelled_of(cancel: &CancelOrderV1) -> Command {
    let order = OrderNo(Sequence::new(cancel.order));
    Command::CancelOrder { user: UserNo(cancel.user), order }
}
