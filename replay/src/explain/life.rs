//! The state of an order while it lives: how much is left, what backs it, and which orders are
//! ahead.

use exchange::Exchange;
use exchange::catalogue::Outcome;
use exchange::command::{Command, Direction, PlaceOrder, SelfTradePrevention};
use exchange::effect::{CancelReason, Effect};
use exchange::fees::{Charge, FeeRate, Fees};
use exchange::ids::{MarketNo, OrderNo, UserNo};
use exchange::invariant::Broken;
use exchange::orders::Backing;
use exchange::units::{Lots, Money, Tick, TimeMs};

/// A number of orders and their total quantity.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct QueueSize {
    /// Number of orders.
    pub orders: u64,
    /// Total quantity in lots.
    pub lots: Lots,
}

impl QueueSize {
    /// With one more order.
    pub fn and(self, lots: Lots) -> Result<QueueSize, Broken> {
        Ok(QueueSize { orders: self.orders.saturating_add(1), lots: self.lots.plus(lots)? })
    }
}

/// An open order.
#[derive(Debug, Clone, Copy)]
pub struct Other {
    /// Its number.
    pub no: OrderNo,
    /// Owner.
    pub user: UserNo,
    /// Price of yes.
    pub price: Tick,
    /// Remaining quantity.
    pub remaining: Lots,
    /// Whether it has expired.
    pub expired: bool,
}

/// A queue of orders in price-time priority, updated from effects.
#[derive(Debug, Clone, Default)]
pub struct Queue {
    /// First to be matched first.
    pub others: Vec<Other>,
    /// How many left it by being filled.
    pub filled: u64,
    /// How many left it by cancellation.
    pub cancelled: u64,
    /// How many lost their place by an amendment.
    pub moved: u64,
    /// Those cancelled by the current record.
    left: QueueSize,
}

impl Queue {
    /// The orders that an incoming order of this direction and limit can match, best price first.
    pub fn facing(
        exchange: &Exchange,
        market: MarketNo,
        direction: Direction,
        limit: Tick,
        now: TimeMs,
    ) -> Queue {
        let side = direction.opposite();
        let within = |price: &Tick| match direction {
            Direction::Up => *price <= limit,
            Direction::Down => *price >= limit,
        };
        let book = exchange.market(market).map(|market| &market.book);
        let prices = book.into_iter().flat_map(|book| book.levels(side).map(|(price, _)| price));
        let others = prices
            .take_while(within)
            .flat_map(|price| open_orders(exchange, market, side, price, now))
            .collect();
        Queue { others, ..Queue::default() }
    }

    /// The orders ahead of an open order, at its own price.
    pub fn ahead(exchange: &Exchange, order: OrderNo, now: TimeMs) -> Queue {
        let Some(own) = exchange.order(order) else { return Queue::default() };
        let others = open_orders(exchange, own.market, own.direction(), own.price, now)
            .take_while(|other| other.no != order)
            .collect();
        Queue { others, ..Queue::default() }
    }

    /// Number and quantity of all orders in it.
    pub fn size(&self) -> Result<QueueSize, Broken> {
        self.others.iter().try_fold(QueueSize::default(), |size, other| size.and(other.remaining))
    }

    /// Starts a new record.
    pub fn begin_record(&mut self) {
        self.left = QueueSize::default();
    }

    /// The whole queue, including orders that the current record has cancelled: if one record
    /// cancels several orders, none of them had become first by that.
    pub fn size_before_cancels(&self) -> Result<QueueSize, Broken> {
        let QueueSize { orders, lots } = self.size()?;
        Ok(QueueSize {
            orders: orders.saturating_add(self.left.orders),
            lots: lots.plus(self.left.lots)?,
        })
    }

    /// The orders at one price.
    pub fn size_at(&self, price: Tick) -> Result<QueueSize, Broken> {
        let there = self.others.iter().filter(|other| other.price == price);
        there.into_iter().try_fold(QueueSize::default(), |size, other| size.and(other.remaining))
    }

    /// How much of it an order can trade with, skipping expired orders and treating orders of the
    /// same owner by its self-trade mode; also the own order that stopped it, if any.
    pub fn tradable(&self, terms: &PlaceOrder) -> Result<(Lots, Option<Other>), Broken> {
        let mut found = Lots::ZERO;
        for other in self.others.iter().filter(|other| !other.expired) {
            match (other.user == terms.user, terms.self_trade) {
                (false, _) => found = found.plus(other.remaining)?,
                (true, SelfTradePrevention::CancelMaker) => {}
                (true, SelfTradePrevention::CancelTaker | SelfTradePrevention::CancelBoth) => {
                    return Ok((found, Some(*other)));
                }
            }
        }
        Ok((found, None))
    }

    /// Applies an effect: orders of the queue shrink and leave.
    pub fn follow(&mut self, effect: &Effect) -> Result<(), Broken> {
        let (order, left) = match effect {
            Effect::TradeMade(trade) => (trade.maker.order, trade.maker.remaining),
            Effect::OrderCancelled { order, rested: true, .. } => (*order, Lots::ZERO),
            Effect::OrderAmended { order, remaining, kept_place, .. } => {
                (*order, if *kept_place { *remaining } else { Lots::ZERO })
            }
            _ => return Ok(()),
        };
        let Some(index) = self.others.iter().position(|other| other.no == order) else {
            return Ok(());
        };
        if !left.is_zero() {
            if let Some(other) = self.others.get_mut(index) {
                other.remaining = left;
            }
            return Ok(());
        }
        let gone = self.others.remove(index);
        let count = match effect {
            Effect::TradeMade(_) => &mut self.filled,
            Effect::OrderCancelled { .. } => {
                self.left = self.left.and(gone.remaining)?;
                &mut self.cancelled
            }
            _ => &mut self.moved,
        };
        *count = count.saturating_add(1);
        Ok(())
    }
}

/// Whether a fill-or-kill order could not be filled; no money or contracts are reserved for such an
/// order.
pub fn killed(effects: &[Effect]) -> bool {
    let fok = |effect: &Effect| {
        matches!(effect, Effect::OrderCancelled { reason: CancelReason::FokNotFillable, .. })
    };
    effects.iter().any(fok)
}

fn open_orders(
    exchange: &Exchange,
    market: MarketNo,
    side: Direction,
    price: Tick,
    now: TimeMs,
) -> impl Iterator<Item = Other> {
    exchange.queue(market, side, price).map(move |order| Other {
        no: order.no,
        user: order.user,
        price,
        remaining: order.backing.remaining().unwrap_or_default(),
        expired: order.expired(now),
    })
}

/// An order since its acceptance.
#[derive(Debug, Clone)]
pub struct Life {
    /// Its terms when placed.
    pub terms: PlaceOrder,
    /// Limit price of yes, as last amended.
    pub limit: Tick,
    /// Quantity, as last amended.
    pub quantity: Lots,
    /// Filled quantity.
    pub filled: Lots,
    /// Number of fills.
    pub fills: u64,
    /// Price x quantity of the fills, at prices of the stated outcome.
    pub cost: Money,
    /// Quantity that will not be filled.
    pub cancelled: Lots,
    /// Backing of the remaining quantity.
    pub backing: Backing,
    /// Fees of its market.
    pub fees: Fees,
    /// Where the money went that backed it.
    pub money: MoneyFlow,
    /// The orders ahead of it at its price.
    pub ahead: Queue,
    /// The size of that queue when the order was put on the book.
    pub ahead_at_rest: QueueSize,
    /// Since when it has its place in the queue.
    pub rested_at: TimeMs,
    /// Whether it was matched in this place before.
    pub reached: bool,
    /// Whether it has ended.
    pub ended: bool,
}

/// All money of an order: what was set aside is what was paid, came back or still is set aside.
#[derive(Debug, Clone, Copy, Default)]
pub struct MoneyFlow {
    /// Set aside for contracts and fees, when it was placed and at each amendment.
    pub set_aside: Money,
    /// Of that, paid for contracts.
    pub paid: Money,
    /// Of that, paid as fees.
    pub fees: Money,
    /// Of that, released.
    pub came_back: Money,
    /// Received for contracts handed over, before fees.
    pub received: Money,
    /// Of that, taken as fees.
    pub fees_from_received: Money,
}

/// Money and contracts moved by one fill.
#[derive(Debug, Clone, Copy)]
pub struct Moved {
    /// Backing of the filled part.
    pub part: Backing,
    /// Paid for contracts that were backed by cash.
    pub paid: Money,
    /// Received for contracts handed over.
    pub received: Money,
    /// Reserved cash released by a price better than the limit.
    pub returned: Money,
    /// The fee, and what was released of the reserve for fees.
    pub charge: Charge,
}

impl Life {
    /// A new order.
    pub fn new(terms: PlaceOrder, backing: Backing, fees: Fees, now: TimeMs) -> Life {
        Life {
            limit: terms.wording.yes_price(terms.price),
            quantity: terms.quantity,
            terms,
            filled: Lots::ZERO,
            fills: 0,
            cost: Money::ZERO,
            cancelled: Lots::ZERO,
            backing,
            fees,
            money: MoneyFlow::default(),
            ahead: Queue::default(),
            ahead_at_rest: QueueSize::default(),
            rested_at: now,
            reached: false,
            ended: false,
        }
    }

    /// Direction of the bet.
    pub const fn direction(&self) -> Direction {
        self.terms.wording.direction()
    }

    /// The cost at the limit of a contract backed by cash.
    pub const fn own_limit(&self) -> Tick {
        self.direction().own_price(self.limit)
    }

    /// The outcome whose contracts it sells first.
    pub const fn closes(&self) -> Outcome {
        self.direction().closes()
    }

    /// The queue ahead of the order when it was cancelled.
    pub fn ahead_of_cancelled(
        &self,
        reason: CancelReason,
        command: &Command,
    ) -> Result<QueueSize, Broken> {
        let together = match reason {
            CancelReason::User | CancelReason::MarketClosed | CancelReason::MarketVoided => true,
            // An incoming order takes due orders off one by one, each when it is first; every other
            // command cancels all its orders together.
            CancelReason::Expired | CancelReason::HeartbeatExpired => {
                let incoming = matches!(command, Command::AmendOrder { .. });
                !incoming && command.placement().is_none()
            }
            // These are cancelled one by one when they reach the front of the queue.
            CancelReason::SelfTrade | CancelReason::IocRemainder | CancelReason::FokNotFillable => {
                false
            }
        };
        if together { self.ahead.size_before_cancels() } else { self.ahead.size() }
    }

    /// Applies a fill.
    pub fn fill(&mut self, price: Tick, quantity: Lots, rate: FeeRate) -> Result<Moved, Broken> {
        let own = self.direction().own_price(price);
        let part = self.backing.take(quantity)?;
        let limit = (self.direction(), self.limit);
        let charge = self.backing.charge(limit, part, price, (rate, self.fees))?;
        let paid = own.times(part.cash)?;
        let received = own.complement().times(part.contracts)?;
        let returned = self.own_limit().times(part.cash)?.minus(paid)?;
        self.filled = self.filled.plus(quantity)?;
        self.fills = self.fills.saturating_add(1);
        let worded = self.terms.wording.yes_price(price);
        self.cost = self.cost.plus(worded.times(quantity)?)?;
        let flow = &mut self.money;
        flow.paid = flow.paid.plus(paid)?;
        flow.fees = flow.fees.plus(charge.from_reserve)?;
        flow.came_back = flow.came_back.plus(returned)?.plus(charge.released)?;
        flow.received = flow.received.plus(received)?;
        flow.fees_from_received = flow.fees_from_received.plus(charge.from_proceeds)?;
        Ok(Moved { part, paid, received, returned, charge })
    }

    /// The money that is set aside for it now.
    pub fn still_set_aside(&self) -> Result<Money, Broken> {
        Ok(self.own_limit().times(self.backing.cash)?.plus(self.backing.fees)?)
    }

    /// Its backing was set aside, at the present limit.
    pub fn set_aside(&mut self) -> Result<Money, Broken> {
        let money = self.still_set_aside()?;
        self.money.set_aside = self.money.set_aside.plus(money)?;
        Ok(money)
    }

    /// What is left of its backing is released.
    pub fn release(&mut self) -> Result<Money, Broken> {
        let money = self.still_set_aside()?;
        self.money.came_back = self.money.came_back.plus(money)?;
        self.backing = Backing::default();
        Ok(money)
    }
}

/// Whether a price is better than another for orders of this direction.
pub fn better(direction: Direction, price: Tick, than: Tick) -> bool {
    match direction {
        Direction::Up => price > than,
        Direction::Down => price < than,
    }
}
