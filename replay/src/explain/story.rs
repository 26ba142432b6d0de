//! Follows one order through a journal and records what happened to it, and why.

use std::collections::BTreeSet;

use exchange::Exchange;
use exchange::command::{Command, PlaceOrder, Record};
use exchange::effect::Effect;
use exchange::fees::Fees;
use exchange::ids::{OrderId, OrderNo, UserNo};
use exchange::ledger::{Purse, Terms};
use exchange::market::MarketStatus;
use exchange::orders::Backing;
use exchange::reject::Reject;
use exchange::units::{Lots, Money, Sequence, TimeMs};
use serde_json::{Value, json};

use super::life::{Life, Queue, QueueSize, better, killed};
use super::pairs::OwnHoldings;
use super::words::{
    a_side, backing, changed, conditions, contracts, queue_position, still_ahead, translation, wish,
};
use crate::answer::Failure;
use crate::pass::Listener;
use crate::reference::Reference;
use crate::register::Register;

/// One event in the order's life.
pub struct Event {
    /// The record that caused it.
    pub sequence: Sequence,
    /// When.
    pub time: TimeMs,
    /// Its kind in one word.
    pub kind: &'static str,
    /// The text form.
    pub text: String,
    /// The same figures as JSON.
    pub figures: Value,
}

/// The order's life so far.
pub struct Story {
    named: Reference,
    /// The order's number.
    pub no: OrderNo,
    /// Its id; `None` for a refused order, which got none.
    pub id: Option<OrderId>,
    /// Names of users and markets.
    pub register: Register,
    /// The venue's currency.
    pub currency: String,
    /// The order, from the record that requested it on.
    pub life: Option<Life>,
    /// Whether it was accepted.
    pub accepted: bool,
    /// The earlier record with the same request, if this one repeated it and placed nothing.
    pub done_before: Option<Sequence>,
    /// Its events.
    pub events: Vec<Event>,
    /// All users named in the story.
    pub parties: BTreeSet<UserNo>,
    /// The owner's money and contracts before the current record, if it places or amends the order.
    purse: Option<Purse>,
    /// Fees of the order's market.
    fees: Fees,
    /// The queue that the order can match when it comes in.
    pub facing: Queue,
    /// The owner's holdings in the market.
    pub holdings: OwnHoldings,
}

impl Listener for Story {
    fn before(&mut self, exchange: &Exchange, record: &Record) -> Result<(), Failure> {
        if let Some(life) = &mut self.life {
            life.ahead.begin_record();
        }
        match (&record.command, record.command.placement()) {
            (_, Some(terms)) if record.sequence == self.no.0 => {
                let limit = terms.wording.yes_price(terms.price);
                let direction = terms.wording.direction();
                self.purse = exchange.purse(terms.user, terms.market).ok();
                self.fees = exchange.market(terms.market).map_or(Fees::NONE, |market| market.fees);
                self.holdings = self
                    .purse
                    .map_or_else(OwnHoldings::default, |p| OwnHoldings::holding(&p.position));
                self.facing = Queue::facing(exchange, terms.market, direction, limit, record.time);
            }
            (Command::AmendOrder { order, price, .. }, _) if *order == self.no => {
                let Some(open_order) = exchange.order(*order) else { return Ok(()) };
                let price = price.map(|price| open_order.wording.yes_price(price));
                let (market, limit) = (open_order.market, price.unwrap_or(open_order.price));
                self.purse = exchange.purse(open_order.user, market).ok();
                let direction = open_order.direction();
                self.facing = Queue::facing(exchange, market, direction, limit, record.time);
            }
            _ => {}
        }
        Ok(())
    }

    fn after(
        &mut self,
        exchange: &Exchange,
        record: &Record,
        effects: &[Effect],
    ) -> Result<(), Failure> {
        if let Some(rules) = exchange.rules().filter(|_| self.currency.is_empty()) {
            self.currency.clone_from(&rules.currency);
        }
        if let Some(terms) = record.command.placement()
            && record.sequence == self.no.0
            && self.named.names_order(self.no.id(record.time))
        {
            match effects {
                [Effect::Repeated { first }] => self.done_before = Some(*first),
                _ => self.arrived(terms, record, effects)?,
            }
        }
        if let [Effect::Refused(reject)] = effects {
            self.refused(*reject, record);
        }
        for effect in effects {
            self.hear(exchange, record, effect)?;
            self.register.follow(record, effect);
        }
        self.holdings.end_record();
        Ok(())
    }
}

impl Story {
    /// Before the first record.
    pub fn of(named: Reference) -> Story {
        Story {
            named,
            no: OrderNo(named.record()),
            id: None,
            register: Register::default(),
            currency: String::new(),
            life: None,
            accepted: false,
            done_before: None,
            events: Vec::new(),
            parties: BTreeSet::new(),
            purse: None,
            fees: Fees::NONE,
            facing: Queue::default(),
            holdings: OwnHoldings::default(),
        }
    }

    /// Adds an event for a record.
    pub fn tell(&mut self, record: &Record, kind: &'static str, text: String, figures: Value) {
        let Record { sequence, time, .. } = *record;
        self.events.push(Event { sequence, time, kind, text, figures });
    }

    /// A user's name; remembers that the user was named.
    pub fn name(&mut self, user: UserNo) -> String {
        self.parties.insert(user);
        self.register.name(user)
    }

    fn arrived(
        &mut self,
        terms: &PlaceOrder,
        record: &Record,
        effects: &[Effect],
    ) -> Result<(), Failure> {
        let owner = self.name(terms.user);
        let at = (terms.wording.direction(), terms.wording.yes_price(terms.price));
        let needed = match &self.purse {
            Some(purse) => purse.backing_for(at, terms.quantity, self.fees)?,
            None => Backing::default(),
        };
        let mut life = Life::new(terms.clone(), needed, self.fees, record.time);
        let mut text = format!(
            "{owner} asked to {}. {} {}",
            wish(terms.wording, terms.price, terms.quantity),
            translation(&life),
            conditions(terms)
        );
        let mut figures = json!({
            "cash": life.own_limit().times(needed.cash)?.to_string(),
            "contracts": needed.contracts.to_string(),
            "for_fees": needed.fees.to_string(),
            "yes_limit": life.limit.to_string(),
        });
        let needs = backing(&life, needed, &self.currency)?;
        match effects {
            [Effect::Refused(Reject::InsufficientFunds | Reject::ReduceOnlyExceeded)] => {
                let available = self.purse.map_or(Money::ZERO, |purse| purse.account.available);
                text.extend([format!(
                    " It would have needed {needs}; its owner had {available} {} available.",
                    self.currency
                )]);
            }
            [Effect::Refused(_)] => {}
            _ => {
                self.accepted = true;
                self.id = Some(self.no.id(record.time));
                text.extend([if killed(effects) {
                    format!(" It passed every check; {needs} would have backed it.")
                } else {
                    format!(
                        " It was accepted and backed by {needs}, set aside at once so that every \
                         fill could be paid."
                    )
                }]);
            }
        }
        let backed = self.accepted && !killed(effects);
        let set_aside = if backed { life.set_aside()? } else { Money::ZERO };
        if let Some(figures) = figures.as_object_mut() {
            figures.insert("set_aside".to_owned(), set_aside.to_string().into());
        }
        self.life = Some(life);
        self.tell(record, "ARRIVED", text, figures);
        Ok(())
    }

    /// Handles a refused command, if it was about this order.
    fn refused(&mut self, reject: Reject, record: &Record) {
        let Some(life) = self.life.as_ref() else { return };
        let (owner, code) = (life.terms.user, reject.code());
        let (user, asked) = match record.command {
            Command::PlaceOrder(_) | Command::ReplaceOrder { .. }
                if record.sequence == self.no.0 =>
            {
                let text = format!("The order was refused with {code}: {reject}. Nothing changed.");
                return self.tell(record, "REFUSED", text, json!({ "code": code }));
            }
            Command::CancelOrder { user, order } if order == self.no => {
                (user, "cancel it".to_owned())
            }
            Command::ReplaceOrder { replaced, ref terms } if replaced == self.no => {
                (terms.user, "replace it".to_owned())
            }
            Command::AmendOrder { user, order, price, quantity, seen: _ } if order == self.no => {
                let price = price.map(|price| format!("the price {price}"));
                let total = quantity.map(|lots| format!("a total of {}", contracts(lots)));
                let parts: Vec<String> = price.into_iter().chain(total).collect();
                (user, format!("give it {}", parts.join(" and ")))
            }
            _ => return,
        };
        let who = self.name(user);
        let whose = if user == owner { "" } else { ", who is not its owner," };
        let text = format!(
            "{who}{whose} asked to {asked}. That was refused with {code}: {reject}. Nothing \
             changed."
        );
        self.tell(record, "COMMAND REFUSED", text, json!({ "code": code }));
    }

    fn hear(
        &mut self,
        exchange: &Exchange,
        record: &Record,
        effect: &Effect,
    ) -> Result<(), Failure> {
        let no = self.no;
        let over = |life: &Life| life.ended && !self.holdings.changed_by_order();
        if !self.accepted || self.life.as_ref().is_none_or(over) {
            return Ok(());
        }
        let Some(mut life) = self.life.take() else { return Ok(()) };
        match effect {
            Effect::TradeMade(trade) if trade.taker.order == no => {
                self.took(&mut life, record, trade)?;
            }
            Effect::TradeMade(trade) if trade.maker.order == no => {
                self.made(&mut life, exchange, record, trade)?;
            }
            Effect::OrderRested { order, remaining, .. } if *order == no => {
                self.rested(&mut life, exchange, record, *remaining)?;
            }
            Effect::OrderAmended { order, .. } if *order == no => {
                self.amended(&mut life, exchange, record, effect)?;
            }
            Effect::OrderCancelled { order, quantity, rested, reason, .. } if *order == no => {
                self.cancelled(&mut life, record, *quantity, (*rested, *reason))?;
            }
            Effect::MarketMoved { market, to, .. } if *market == life.terms.market => {
                self.market_moved(record, *to);
            }
            Effect::PositionChanged { user, market, yes, no, .. }
                if (*user, *market) == (life.terms.user, life.terms.market) =>
            {
                self.holds(&life, record, (yes, no))?;
            }
            _ => {}
        }
        life.ahead.follow(effect)?;
        self.facing.follow(effect)?;
        self.life = Some(life);
        Ok(())
    }

    fn rested(
        &mut self,
        life: &mut Life,
        exchange: &Exchange,
        record: &Record,
        remaining: Lots,
    ) -> Result<(), Failure> {
        life.ahead = Queue::ahead(exchange, self.no, record.time);
        life.ahead_at_rest = life.ahead.size()?;
        (life.rested_at, life.reached) = (record.time, false);
        let direction = life.direction();
        let mut ahead = QueueSize::default();
        let book = exchange.market(life.terms.market).map(|market| &market.book);
        for (price, level) in book.into_iter().flat_map(|book| book.levels(direction)) {
            if better(direction, price, life.limit) {
                ahead.orders = ahead.orders.saturating_add(u64::from(level.orders));
                ahead.lots = ahead.lots.plus(level.quantity)?;
            }
        }
        let what = if remaining == life.quantity { "All of it" } else { "What was left of it" };
        let text = format!(
            "{what}, {}, went to rest on the book as {} at {}, to wait for its turn. {}",
            contracts(remaining),
            a_side(direction),
            life.limit,
            queue_position(life.ahead_at_rest, ahead, direction)
        );
        let figures = json!({
            "remaining": remaining.to_string(),
            "ahead_orders": life.ahead_at_rest.orders,
            "ahead_quantity": life.ahead_at_rest.lots.to_string(),
            "better_orders": ahead.orders,
            "better_quantity": ahead.lots.to_string(),
        });
        self.tell(record, "RESTED", text, figures);
        Ok(())
    }

    fn amended(
        &mut self,
        life: &mut Life,
        exchange: &Exchange,
        record: &Record,
        effect: &Effect,
    ) -> Result<(), Failure> {
        let Effect::OrderAmended { price, quantity, remaining, kept_place, .. } = effect else {
            return Ok(());
        };
        let wording = life.terms.wording;
        let (from, to) = (wording.yes_price(life.limit), wording.yes_price(*price));
        let changed = changed((from, to), (life.quantity, *quantity));
        let mut text = format!(
            "Its owner {changed}; of {} there remained {remaining} to be filled.",
            contracts(*quantity)
        );
        let (mut released, mut set_aside) = (Money::ZERO, Money::ZERO);
        if let Some(purse) = &mut self.purse {
            let direction = life.direction();
            let before = Terms { direction, limit: life.limit, copy_from: life.terms.copy_from };
            purse.release(before, life.backing)?;
            released = life.release()?;
            life.backing = purse.backing_for((direction, *price), *remaining, life.fees)?;
            self.holdings.freed();
            life.limit = *price;
            set_aside = life.set_aside()?;
        }
        (life.limit, life.quantity) = (*price, *quantity);
        let backed = backing(life, life.backing, &self.currency)?;
        text.extend([format!(
            " What had backed it was released and it was backed anew by {backed}."
        )]);
        if *kept_place {
            let ahead = Queue::ahead(exchange, self.no, record.time).size()?;
            text.extend([format!(
                " At the same price and for no more than before it kept its place in the queue. {}",
                still_ahead(ahead)
            )]);
        } else {
            life.ahead = Queue::default();
            text.push_str(
                " A new price or a larger quantity costs the place in the queue: it left the book \
                 and came in again like a new order.",
            );
        }
        let figures = json!({
            "price": to.to_string(),
            "quantity": quantity.to_string(),
            "remaining": remaining.to_string(),
            "kept_place": kept_place,
            "released": released.to_string(),
            "set_aside": set_aside.to_string(),
        });
        self.tell(record, "AMENDED", text, figures);
        Ok(())
    }

    fn market_moved(&mut self, record: &Record, to: MarketStatus) {
        let text = match to {
            MarketStatus::Suspended => {
                "The operator suspended the market. The order stayed on the book; while the market \
                 is suspended nothing trades."
            }
            MarketStatus::Active => {
                "The operator reopened the market, with the book as it was and this order in its \
                 place."
            }
            _ => return,
        };
        self.tell(record, "MARKET", text.to_owned(), json!({ "status": to.name() }));
    }
}
