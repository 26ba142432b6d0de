//! A resting order in the state image. Its market, side and price are those of its queue.

use super::{Backing, Order, OrderPool, Slot};
use crate::command::{Condition, SelfTradePrevention, Wording};
use crate::ids::{KeyNo, MarketNo, OrderNo, UserNo};
use crate::image::coding::{BadImage, ImageSink, ImageSource, Imaged};
use crate::invariant::Broken;
use crate::units::{Lots, Tick, TimeMs};

impl OrderPool {
    /// Writes the order in a slot; its key if any order has one.
    pub(crate) fn write_order(&self, slot: Slot, sink: &mut impl ImageSink) -> Result<(), Broken> {
        // Slots, lists and counts are not written: inserting the orders rebuilds them.
        let Order {
            no,
            user,
            market: _,
            wording,
            price: _,
            quantity,
            filled,
            backing,
            expires_at,
            self_trade,
            condition,
            copy_from,
            // Apart, after everything else, so that images without groups stay as they are.
            group: _,
            key,
        } = self.get(slot)?;
        no.write(sink);
        user.write(sink);
        wording.write(sink);
        quantity.write(sink);
        filled.write(sink);
        backing.write(sink);
        expires_at.write(sink);
        self_trade.write(sink);
        condition.write(sink);
        copy_from.write(sink);
        if self.keyed() > 0 {
            key.write(sink);
        }
        Ok(())
    }
}

/// Reads an order that rests in a market at a price of yes; its key if the image has keys.
pub(crate) fn read_order(
    market: MarketNo,
    price: Tick,
    keyed: bool,
    source: &mut impl ImageSource,
) -> Result<Order, BadImage> {
    Ok(Order {
        no: OrderNo::read(source)?,
        user: UserNo::read(source)?,
        market,
        wording: Wording::read(source)?,
        price,
        quantity: Lots::read(source)?,
        filled: Lots::read(source)?,
        backing: Backing::read(source)?,
        expires_at: Option::<TimeMs>::read(source)?,
        self_trade: SelfTradePrevention::read(source)?,
        condition: Condition::read(source)?,
        copy_from: Option::<UserNo>::read(source)?,
        group: None,
        key: if keyed { Option::<KeyNo>::read(source)? } else { None },
    })
}
