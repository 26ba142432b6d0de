//! Why an account's money changed, and how that is packed in history.

use super::history::Coder;
use exchange::ids::{EventNo, MarketNo, OrderNo};
use exchange::image::coding::BadImage;
use exchange::units::{Sequence, TimeMs};

/// The order that a change refers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Subject {
    /// The order.
    pub order: OrderNo,
    /// When it was placed, which is part of its id.
    pub placed: TimeMs,
    /// Its market.
    pub market: MarketNo,
}

/// Why an account changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Cause {
    /// Deposit.
    Deposited,
    /// Withdrawal.
    Withdrawn,
    /// Money was set aside for a withdrawal that was asked for.
    WithdrawalHeld,
    /// It was given back.
    WithdrawalFreed,
    /// The operator took earned trading fees.
    FeesTaken,
    /// A bond was set aside for a dispute of this market's outcome.
    BondHeld(MarketNo),
    /// It was given back: the dispute was right.
    BondFreed(MarketNo),
    /// The venue kept it: the dispute was wrong.
    BondLost(MarketNo),
    /// Money was reserved for an order.
    Reserved(Subject),
    /// Money reserved for an order was released.
    Released(Subject),
    /// An order was amended, and its reserved money changed.
    Amended(Subject),
    /// An order traded: the price paid or received for contracts, and 1.00 for each pair that the
    /// trade completed.
    Traded(Subject),
    /// Contracts that no longer back an order were merged with opposite ones, at 1.00 per pair.
    Merged(Subject),
    /// No contracts of an event's markets were converted to their common value, and yes contracts
    /// received for them were merged.
    Converted(EventNo),
    /// Fee for an order's trade.
    Fee(Subject),
    /// Payout of a settled market.
    Settled(MarketNo),
    /// Payout of a voided market.
    Voided(MarketNo),
}

impl Cause {
    /// The interface's name.
    pub const fn name(self) -> &'static str {
        match self {
            Cause::Deposited => "DEPOSIT",
            Cause::Withdrawn => "WITHDRAWAL",
            Cause::WithdrawalHeld => "WITHDRAWAL_HELD",
            Cause::WithdrawalFreed => "WITHDRAWAL_FREED",
            Cause::FeesTaken => "FEES_TAKEN",
            Cause::BondHeld(_) => "DISPUTE_BOND_HELD",
            Cause::BondFreed(_) => "DISPUTE_BOND_FREED",
            Cause::BondLost(_) => "DISPUTE_BOND_LOST",
            Cause::Reserved(_) => "ORDER_RESERVED",
            Cause::Released(_) => "ORDER_RELEASED",
            Cause::Amended(_) => "ORDER_AMENDED",
            Cause::Traded(_) => "TRADE",
            Cause::Merged(_) => "MERGE",
            Cause::Converted(_) => "CONVERSION",
            Cause::Fee(_) => "FEE",
            Cause::Settled(_) => "SETTLEMENT",
            Cause::Voided(_) => "VOID",
        }
    }

    /// The order that it refers to.
    pub const fn subject(self) -> Option<Subject> {
        match self {
            Cause::Reserved(subject)
            | Cause::Released(subject)
            | Cause::Amended(subject)
            | Cause::Traded(subject)
            | Cause::Merged(subject)
            | Cause::Fee(subject) => Some(subject),
            Cause::Deposited
            | Cause::Withdrawn
            | Cause::WithdrawalHeld
            | Cause::WithdrawalFreed
            | Cause::FeesTaken
            | Cause::BondHeld(_)
            | Cause::BondFreed(_)
            | Cause::BondLost(_)
            | Cause::Converted(_)
            | Cause::Settled(_)
            | Cause::Voided(_) => None,
        }
    }

    /// The event in which contracts were converted.
    pub const fn event(self) -> Option<EventNo> {
        if let Cause::Converted(event) = self { Some(event) } else { None }
    }

    /// The market that paid out, or whose outcome is disputed.
    pub const fn ending_market(self) -> Option<MarketNo> {
        match self {
            Cause::Settled(market)
            | Cause::Voided(market)
            | Cause::BondHeld(market)
            | Cause::BondFreed(market)
            | Cause::BondLost(market) => Some(market),
            _ => None,
        }
    }
}

impl Cause {
    const fn code(self) -> u8 {
        match self {
            Cause::Deposited => 1,
            Cause::Withdrawn => 2,
            Cause::Reserved(_) => 3,
            Cause::Released(_) => 4,
            Cause::Amended(_) => 5,
            Cause::Traded(_) => 6,
            Cause::Merged(_) => 7,
            Cause::Settled(_) => 8,
            Cause::Voided(_) => 9,
            Cause::Fee(_) => 10,
            Cause::Converted(_) => 11,
            Cause::FeesTaken => 12,
            Cause::WithdrawalHeld => 13,
            Cause::WithdrawalFreed => 14,
            Cause::BondHeld(_) => 15,
            Cause::BondFreed(_) => 16,
            Cause::BondLost(_) => 17,
        }
    }

    pub(super) fn packed(
        cause: Option<Self>,
        at: (Sequence, TimeMs),
        coder: &mut impl Coder,
    ) -> Result<Self, BadImage> {
        let subject = cause.and_then(Cause::subject);
        let about = |coder: &mut _| subject_of(subject, at, coder);
        let ending = cause.and_then(Cause::ending_market);
        Ok(match coder.imaged(cause.map(Cause::code))? {
            1_u8 => Cause::Deposited,
            2 => Cause::Withdrawn,
            3 => Cause::Reserved(about(coder)?),
            4 => Cause::Released(about(coder)?),
            5 => Cause::Amended(about(coder)?),
            6 => Cause::Traded(about(coder)?),
            7 => Cause::Merged(about(coder)?),
            8 => Cause::Settled(coder.market(ending)?),
            9 => Cause::Voided(coder.market(ending)?),
            10 => Cause::Fee(about(coder)?),
            11 => {
                let event = cause.and_then(Cause::event);
                Cause::Converted(EventNo(coder.short(event.map(|event| event.0))?))
            }
            12 => Cause::FeesTaken,
            13 => Cause::WithdrawalHeld,
            14 => Cause::WithdrawalFreed,
            15 => Cause::BondHeld(coder.market(ending)?),
            16 => Cause::BondFreed(coder.market(ending)?),
            17 => Cause::BondLost(coder.market(ending)?),
            _ => return Err(BadImage::Value("Cause")),
        })
    }
}

fn subject_of(
    subject: Option<Subject>,
    at: (Sequence, TimeMs),
    coder: &mut impl Coder,
) -> Result<Subject, BadImage> {
    Ok(Subject {
        order: OrderNo(coder.sequence(at.0, subject.map(|subject| subject.order.0))?),
        placed: coder.time(at.1, subject.map(|subject| subject.placed))?,
        market: coder.market(subject.map(|subject| subject.market))?,
    })
}
