//! What is true of an order while it lives: how much of it is left, what backs it, who is ahead.

use openoutcry::exchange::Exchange;
use openoutcry::exchange::catalogue::Outcome;
use openoutcry::exchange::command::{Command, Direction, PlaceOrder, SelfTradePrevention};
use openoutcry::exchange::effect::{CancelReason, Effect};
use openoutcry::exchange::fees::{FeeRate, Fees};
use openoutcry::exchange::ids::{MarketNo, OrderNo, UserNo};
use openoutcry::exchange::invariant::Broken;
use openoutcry::exchange::orders::Backing;
use openoutcry::exchange::units::{Lots, Money, Tick, TimeMs};

/// Orders, and the contracts in them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Crowd {
    /// How many orders.
    pub orders: u64,
    /// How many contracts.
    pub lots: Lots,
}

impl Crowd {
    /// With one more order.
    pub fn and(self, lots: Lots) -> Result<Crowd, Broken> {
        Ok(Crowd { orders: self.orders.saturating_add(1), lots: self.lots.plus(lots)? })
    }
}

/// An order that stands.
#[derive(Debug, Clone, Copy)]
pub struct Other {
    /// Its number.
    pub no: OrderNo,
    /// Owner.
    pub user: UserNo,
    /// Yes-price.
    pub price: Tick,
    /// What of it stands.
    pub remaining: Lots,
    /// Whether its time is over.
    pub expired: bool,
}

/// A queue of orders, the first to be served first, followed through effects.
#[derive(Debug, Clone, Default)]
pub struct Queue {
    /// In the order of service.
    pub others: Vec<Other>,
    /// How many left it filled.
    pub filled: u64,
    /// How many left it cancelled.
    pub cancelled: u64,
    /// How many left it for another place.
    pub moved: u64,
    /// Those that left it cancelled in the record at hand.
    left: Crowd,
}

impl Queue {
    /// The orders that an incoming order of this direction and limit meets, best price first.
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
            .flat_map(|price| standing(exchange, market, side, price, now))
            .collect();
        Queue { others, ..Queue::default() }
    }

    /// The orders ahead of one that stands, at its own price.
    pub fn ahead(exchange: &Exchange, order: OrderNo, now: TimeMs) -> Queue {
        let Some(own) = exchange.order(order) else { return Queue::default() };
        let others = standing(exchange, own.market, own.direction(), own.price, now)
            .take_while(|other| other.no != order)
            .collect();
        Queue { others, ..Queue::default() }
    }

    /// All of it.
    pub fn crowd(&self) -> Result<Crowd, Broken> {
        self.others.iter().try_fold(Crowd::default(), |crowd, other| crowd.and(other.remaining))
    }

    /// A record begins.
    pub fn begin_record(&mut self) {
        self.left = Crowd::default();
    }

    /// All of it, with those that the record at hand has cancelled: one record may cancel orders
    /// one after the other, and none of them was first for that.
    pub fn crowd_before_cancels(&self) -> Result<Crowd, Broken> {
        let Crowd { orders, lots } = self.crowd()?;
        Ok(Crowd {
            orders: orders.saturating_add(self.left.orders),
            lots: lots.plus(self.left.lots)?,
        })
    }

    /// What stands at one price of it.
    pub fn crowd_at(&self, price: Tick) -> Result<Crowd, Broken> {
        let there = self.others.iter().filter(|other| other.price == price);
        there.into_iter().try_fold(Crowd::default(), |crowd, other| crowd.and(other.remaining))
    }

    /// What of it an order could trade with: nothing expired, and of its owner's own orders what
    /// its self-trade mode says; and the own order behind which it could not go.
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

    /// Takes an effect in: orders of the queue shrink and leave.
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

/// Whether a fill-or-kill order could not be filled: nothing is ever set aside for it.
pub fn killed(effects: &[Effect]) -> bool {
    let fok = |effect: &Effect| {
        matches!(effect, Effect::OrderCancelled { reason: CancelReason::FokNotFillable, .. })
    };
    effects.iter().any(fok)
}

fn standing(
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

/// An order from its acceptance on.
#[derive(Debug, Clone)]
pub struct Life {
    /// What was asked, as it was asked.
    pub terms: PlaceOrder,
    /// Limit, as a price of yes, as last amended.
    pub limit: Tick,
    /// Contracts wanted, as last amended.
    pub quantity: Lots,
    /// Contracts traded.
    pub filled: Lots,
    /// Fills so far.
    pub fills: u64,
    /// Price times quantity of the fills, in the owner's words.
    pub cost: Money,
    /// What will not be filled.
    pub cancelled: Lots,
    /// What backs the rest.
    pub backing: Backing,
    /// What trading in its market costs.
    pub fees: Fees,
    /// Who is to be served before it at its price.
    pub ahead: Queue,
    /// Who was when it came to rest.
    pub ahead_at_rest: Crowd,
    /// Since when it stands where it does.
    pub rested_at: TimeMs,
    /// Whether it was reached there before.
    pub reached: bool,
    /// Whether it has ended.
    pub ended: bool,
}

/// What one fill moved.
#[derive(Debug, Clone, Copy)]
pub struct Moved {
    /// What backed the part that was filled.
    pub part: Backing,
    /// Paid for the contracts that were backed by cash.
    pub paid: Money,
    /// Received for the contracts handed over.
    pub received: Money,
    /// Of the cash set aside, what a better price gave back.
    pub returned: Money,
    /// Paid besides.
    pub fee: Money,
}

impl Life {
    /// A life that begins.
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
            ahead: Queue::default(),
            ahead_at_rest: Crowd::default(),
            rested_at: now,
            reached: false,
            ended: false,
        }
    }

    /// Which way it bets.
    pub const fn direction(&self) -> Direction {
        self.terms.wording.direction()
    }

    /// What a contract backed by cash costs at the limit.
    pub const fn own_limit(&self) -> Tick {
        self.direction().own_price(self.limit)
    }

    /// The contracts that it hands over first.
    pub const fn closes(&self) -> Outcome {
        self.direction().closes()
    }

    /// Who was ahead when the order was cancelled.
    pub fn ahead_of_cancelled(
        &self,
        reason: CancelReason,
        command: &Command,
    ) -> Result<Crowd, Broken> {
        let together = match reason {
            CancelReason::User
            | CancelReason::MarketClosed
            | CancelReason::MarketVoided
            | CancelReason::HeartbeatExpired => true,
            CancelReason::Expired => matches!(command, Command::AdvanceClock),
            // Met at the front of the queue, one after the other.
            CancelReason::SelfTrade | CancelReason::IocRemainder | CancelReason::FokNotFillable => {
                false
            }
        };
        if together { self.ahead.crowd_before_cancels() } else { self.ahead.crowd() }
    }

    /// Takes a fill in.
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
        Ok(Moved { part, paid, received, returned, fee: charge.fee()? })
    }
}

/// Whether a price is better than another for orders of this direction.
pub fn better(direction: Direction, price: Tick, than: Tick) -> bool {
    match direction {
        Direction::Up => price > than,
        Direction::Down => price < than,
    }
}
