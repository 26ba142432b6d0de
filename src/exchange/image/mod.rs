//! The state image: everything that can shape an outcome, as canonical bytes. Snapshots store it
//! and digests hash it. Equal states have equal images, and a state read from an image behaves
//! exactly like the one written.
//!
//! Whatever can be derived is left out and rebuilt: slots, links, sums, the schedule.

mod checks;
pub mod coding;
mod waiting;
pub mod words;

use self::checks::require;
use self::coding::{
    BadImage, ImageSink, ImageSource, Imaged, read_count, read_end, room, write_count,
};
use super::Exchange;
use super::book::Book;
use super::ending::{Due, Ending, Schedule, Slice};
use super::idempotency::table::IdempotencyTable;
use super::ids::{EventNo, Group, MarketNo, UserNo};
use super::invariant::Broken;
use super::market::Market;
use super::orders::OrderPool;
use super::references::References;
use super::restrictions::{Heartbeat, Restrictions};
use super::sign_in::SignIns;
use super::waiting::{Disputes, Proposals, Transfers};

/// Versions of the image; a change of what it holds, or of its order, gets a new one. An image has
/// the first that can say it, so that digests of states without what came later stay as they are.
const IMAGE_VERSION: u32 = 1;
/// What some images have, each added to the version. At their end: how people sign in, the groups
/// of orders, the heartbeats of groups, slugs of markets and events, second factors, references of
/// transfers, transfers that wait, the rule of two persons, disputes. With each order: the key that
/// it was sent with.
const WITH_SIGN_INS: u32 = 1;
const WITH_GROUPS: u32 = 2;
const WITH_KEYS: u32 = 4;
const WITH_HEARTBEATS: u32 = 8;
const WITH_SLUGS: u32 = 16;
const WITH_FACTORS: u32 = 32;
const WITH_REFERENCES: u32 = 128;
const WITH_TRANSFERS: u32 = 256;
const WITH_PROPOSALS: u32 = 512;
const WITH_DISPUTES: u32 = 1024;
/// All of them; 64 is none.
const ALL_PARTS: u32 = 2047;

impl Exchange {
    /// Writes the image of the whole state. Takes time in proportion to its size.
    ///
    /// # Errors
    /// [`Broken`] if the state contradicts itself.
    pub fn write_image(&self, sink: &mut impl ImageSink) -> Result<(), Broken> {
        // The schedule follows from the markets, orders and heartbeats.
        let Exchange {
            rules,
            sequence,
            time,
            catalogue,
            keys,
            ledger,
            markets,
            orders,
            schedule: _,
            idempotency,
            restrictions,
            sign_ins,
            references,
            transfers: _,
            proposals: _,
            disputes: _,
            // Only tests have another than the program's.
            slice: _,
            plan: _,
        } = self;
        let grouped = orders.grouped();
        self.parts().saturating_add(IMAGE_VERSION).write(sink);
        sequence.write(sink);
        time.write(sink);
        rules.write(sink);
        catalogue.write(sink);
        keys.write(sink);
        ledger.write(sink);
        write_count(markets.len(), sink);
        let slices = self.ends_in_slices();
        for market in markets {
            market.write(orders, slices, sink)?;
        }
        restrictions.write(sink);
        idempotency.write(sink);
        if !sign_ins.is_empty() {
            sign_ins.write(sink);
        }
        if !grouped.is_empty() {
            write_count(grouped.len(), sink);
            for (user, group, order) in grouped {
                user.write(sink);
                group.write(sink);
                order.write(sink);
            }
        }
        if !restrictions.groups.is_empty() {
            write_count(restrictions.groups.len(), sink);
            for ((user, group), heartbeat) in &restrictions.groups {
                user.write(sink);
                group.write(sink);
                heartbeat.write(sink);
            }
        }
        if self.parts() & WITH_SLUGS != 0 {
            catalogue.market_slugs.write(sink);
            catalogue.event_slugs.write(sink);
        }
        if !sign_ins.factors.is_empty() {
            sign_ins.write_factors(sink);
        }
        if !references.is_empty() {
            references.all().write(sink);
        }
        self.write_waiting(sink);
        Ok(())
    }

    /// Writes what waits for somebody's answer, of which there may be nothing.
    fn write_waiting(&self, sink: &mut impl ImageSink) {
        if !self.transfers.is_empty() {
            self.transfers.write(sink);
        }
        if !self.proposals.is_empty() {
            self.proposals.write(sink);
        }
        if !self.disputes.is_empty() {
            self.disputes.write(sink);
        }
    }

    /// What its image has that others may not have.
    fn parts(&self) -> u32 {
        let parts = [
            (WITH_SIGN_INS, !self.sign_ins.is_empty()),
            (WITH_GROUPS, !self.orders.grouped().is_empty()),
            (WITH_KEYS, self.orders.keyed() > 0),
            (WITH_HEARTBEATS, !self.restrictions.groups.is_empty()),
            (
                WITH_SLUGS,
                !(self.catalogue.market_slugs.is_empty() && self.catalogue.event_slugs.is_empty()),
            ),
            (WITH_FACTORS, !self.sign_ins.factors.is_empty()),
            (WITH_REFERENCES, !self.references.is_empty()),
            (WITH_TRANSFERS, !self.transfers.is_empty()),
            (WITH_PROPOSALS, !self.proposals.is_empty()),
            (WITH_DISPUTES, !self.disputes.is_empty()),
        ];
        parts.into_iter().fold(0, |all, (part, there)| if there { all | part } else { all })
    }

    /// The image of the whole state.
    ///
    /// # Errors
    /// As [`write_image`](Exchange::write_image).
    pub fn image(&self) -> Result<Vec<u8>, Broken> {
        let mut image = Vec::new();
        self.write_image(&mut image)?;
        Ok(image)
    }

    /// Reads a state from an image. Any bytes may be given: the result is an error, or a state
    /// with exactly this image in which every invariant holds. Takes memory in proportion to the
    /// bytes and, as in the run that wrote them, 8 bytes for every 32,768 records.
    ///
    /// # Errors
    /// [`BadImage`] if they are not the image of a possible state.
    pub fn from_image(mut image: &[u8]) -> Result<Exchange, BadImage> {
        let exchange = Exchange::read_image(&mut image)?;
        read_end(&mut image)?;
        exchange.check_image()?;
        Ok(exchange)
    }

    fn read_image(source: &mut impl ImageSource) -> Result<Exchange, BadImage> {
        let version = u32::read(source)?;
        let parts = version.wrapping_sub(IMAGE_VERSION);
        if parts > ALL_PARTS {
            return Err(BadImage::Version(version));
        }
        let mut exchange = Exchange {
            sequence: Imaged::read(source)?,
            time: Imaged::read(source)?,
            rules: Imaged::read(source)?,
            catalogue: Imaged::read(source)?,
            keys: Imaged::read(source)?,
            ledger: Imaged::read(source)?,
            markets: Vec::new(),
            orders: OrderPool::default(),
            schedule: Schedule::default(),
            idempotency: IdempotencyTable::default(),
            restrictions: Restrictions::default(),
            sign_ins: SignIns::default(),
            references: References::default(),
            transfers: Transfers::default(),
            proposals: Proposals::default(),
            disputes: Disputes::default(),
            slice: Slice::default(),
            plan: super::plan::Plan::default(),
        };
        exchange.check_sequence()?;
        for _ in exchange.ledger.accounts() {
            exchange.orders.add_user();
        }
        let markets_count = read_count(source)?;
        exchange.markets.reserve(room::<Market>(markets_count, source));
        for index in 0..markets_count {
            let market = MarketNo::next(index).ok_or(BadImage::Value("MarketNo"))?;
            let state = exchange.read_market(market, parts & WITH_KEYS != 0, source)?;
            exchange.markets.push(state);
        }
        exchange.restrictions = Imaged::read(source)?;
        exchange.idempotency = Imaged::read(source)?;
        if parts & WITH_SIGN_INS != 0 {
            exchange.sign_ins = Imaged::read(source)?;
        }
        if parts & WITH_GROUPS != 0 {
            exchange.read_groups(source)?;
        }
        if parts & WITH_HEARTBEATS != 0 {
            exchange.read_heartbeats(source)?;
        }
        if parts & WITH_SLUGS != 0 {
            exchange.catalogue.market_slugs = Imaged::read(source)?;
            exchange.catalogue.event_slugs = Imaged::read(source)?;
        }
        if parts & WITH_FACTORS != 0 {
            exchange.sign_ins.read_factors(source)?;
        }
        if parts & WITH_REFERENCES != 0 {
            let references = References::of(Imaged::read(source)?);
            exchange.references = references.ok_or(BadImage::Contradiction(UNSORTED))?;
        }
        exchange.read_waiting(parts, source)?;
        if exchange.parts() != parts {
            return Err(BadImage::Version(version));
        }
        exchange.schedule_all();
        Ok(exchange)
    }

    fn read_waiting(&mut self, parts: u32, source: &mut impl ImageSource) -> Result<(), BadImage> {
        if parts & WITH_TRANSFERS != 0 {
            self.transfers = Imaged::read(source)?;
        }
        if parts & WITH_PROPOSALS != 0 {
            self.proposals = Imaged::read(source)?;
        }
        if parts & WITH_DISPUTES != 0 {
            self.disputes = Imaged::read(source)?;
        }
        Ok(())
    }

    fn read_groups(&mut self, source: &mut impl ImageSource) -> Result<(), BadImage> {
        let (count, mut last) = (read_count(source)?, None);
        for _ in 0..count {
            let next = (Imaged::read(source)?, Imaged::read(source)?, Imaged::read(source)?);
            if last >= Some(next) || !self.orders.set_group(next) {
                return Err(BadImage::Contradiction("a group of no order"));
            }
            last = Some(next);
        }
        Ok(())
    }

    fn read_heartbeats(&mut self, source: &mut impl ImageSource) -> Result<(), BadImage> {
        for _ in 0..read_count(source)? {
            let whose = (UserNo::read(source)?, Group::read(source)?);
            let groups = &mut self.restrictions.groups;
            require(groups.last_key_value().is_none_or(|(last, _)| *last < whose), OUT_OF_ORDER)?;
            groups.insert(whose, Heartbeat::read(source)?);
        }
        Ok(())
    }

    fn read_market(
        &mut self,
        market: MarketNo,
        keyed: bool,
        source: &mut impl ImageSource,
    ) -> Result<Market, BadImage> {
        let event: Option<EventNo> = Imaged::read(source)?;
        if let Some(event) = event {
            let known = self.catalogue.join(market, event);
            known.ok_or(BadImage::Contradiction("a market of no event"))?;
        }
        let slices = self.ends_in_slices();
        Ok(Market {
            ending: if slices { Imaged::read(source)? } else { None },
            status: Imaged::read(source)?,
            deadline: Imaged::read(source)?,
            dispute_window_seconds: Imaged::read(source)?,
            fees: Imaged::read(source)?,
            window_end: Imaged::read(source)?,
            winner: Imaged::read(source)?,
            settled_at: Imaged::read(source)?,
            event,
            book: Book::read(market, (self.sequence, keyed), &mut self.orders, source)?,
        })
    }

    /// Rebuilds the schedule from the markets, orders and heartbeats.
    fn schedule_all(&mut self) {
        let Exchange { markets, orders, schedule, restrictions, time, .. } = self;
        for (market, state) in (0..).map(MarketNo).zip(markets) {
            if state.status.keeps_orders() {
                schedule.add(state.deadline, Due::Deadline(market));
            }
            if let Some(Ending { since, .. }) = state.ending {
                schedule.add(since, Due::Ending(market));
            }
            // A window that is over while the market still ends has had its turn.
            let over = |end| state.ending.is_some() && end <= *time;
            if let Some(end) = state.window_end.filter(|end| !over(*end)) {
                schedule.add(end, Due::WindowEnd(market));
            }
        }
        for order in orders.all() {
            if let Some(expires_at) = order.expires_at {
                schedule.add(expires_at, Due::Expiry(order.no));
            }
        }
        for (whose, heartbeat) in restrictions.heartbeats() {
            let (user, group) = (whose.0, whose.1.map(Box::new));
            match heartbeat.until {
                Some(until) if !heartbeat.expired => {
                    schedule.add(until, Due::Heartbeat(user, group));
                }
                Some(until) if orders.has_guarded(whose) => {
                    schedule.add(until, Due::Abandoned(user, group));
                }
                _ => {}
            }
        }
    }
}

/// References that are not ascending, or twice the same.
const UNSORTED: &str = "references out of order";
/// The heartbeats of groups are not in the order of users and groups.
const OUT_OF_ORDER: &str = "heartbeats out of order";

impl Market {
    /// Writes the market; its end only where ends are sliced, so that older images stay as they
    /// are.
    fn write(
        &self,
        orders: &OrderPool,
        slices: bool,
        sink: &mut impl ImageSink,
    ) -> Result<(), Broken> {
        let Market {
            status,
            deadline,
            dispute_window_seconds,
            fees,
            window_end,
            winner,
            settled_at,
            ending,
            event,
            book,
        } = self;
        event.write(sink);
        if slices {
            ending.write(sink);
        }
        status.write(sink);
        deadline.write(sink);
        dispute_window_seconds.write(sink);
        fees.write(sink);
        window_end.write(sink);
        winner.write(sink);
        settled_at.write(sink);
        book.write(orders, sink)
    }
}
