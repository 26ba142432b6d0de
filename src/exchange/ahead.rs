//! What stands before a resting order in the queue of its price.

use super::Exchange;
use super::ids::OrderNo;
use super::units::Lots;

/// What is filled before an order, if nothing ahead of it is cancelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Ahead {
    /// Contracts.
    pub quantity: Lots,
    /// Orders.
    pub orders: u32,
}

impl Exchange {
    /// What stands before an order; `None` if it does not rest, or its market has no book any more,
    /// or more than `most` orders stand before it and as many behind it. Walks to whichever end of
    /// the queue is nearer.
    pub fn ahead_of(&self, order: OrderNo, most: usize) -> Option<Ahead> {
        let slot = self.orders.find(order)?;
        let market = self.market(self.orders.get(slot).ok()?.market)?;
        if !market.status.keeps_orders() {
            return None;
        }
        let own = self.orders.resting(slot).ok()?;
        let level = market.book.level(own.side, own.price);
        let (mut before, mut behind) = (Ahead::default(), Ahead::default());
        let (mut to_front, mut to_back) = (own.queue.before, own.queue.after);
        for _ in 0..most {
            let (Some(front), Some(back)) = (to_front, to_back) else { break };
            let (front, back) = (self.orders.resting(front).ok()?, self.orders.resting(back).ok()?);
            before = before.and(front.remaining)?;
            behind = behind.and(back.remaining)?;
            (to_front, to_back) = (front.queue.before, back.queue.after);
        }
        match (to_front, to_back) {
            (None, _) => Some(before),
            (_, None) => {
                let Ahead { quantity, orders } = behind.and(own.remaining)?;
                Some(Ahead {
                    quantity: level.quantity.minus(quantity).ok()?,
                    orders: level.orders.checked_sub(orders)?,
                })
            }
            _ => None,
        }
    }
}

impl Ahead {
    fn and(self, quantity: Lots) -> Option<Ahead> {
        let quantity = self.quantity.plus(quantity).ok()?;
        Some(Ahead { quantity, orders: self.orders.checked_add(1)? })
    }
}
