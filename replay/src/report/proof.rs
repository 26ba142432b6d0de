//! The money of one market, computed from effects alone. After every record, what the accounts have
//! paid in on balance, without fees, must equal 1.00 for every outstanding pair of a yes and a no
//! contract. For converted contracts the venue counts as a holder.

use std::collections::BTreeMap;

use exchange::command::Record;
use exchange::effect::Effect;
use exchange::ids::{EventNo, MarketNo, UserNo};
use exchange::units::{Lots, MoneySum, Overflow, Sequence, SettlementPrice};

/// A market's money and contracts. Grows with the number of users.
#[derive(Debug, Default)]
pub struct Proof {
    /// Each user's money, available and reserved together, in money units.
    accounts: BTreeMap<UserNo, i128>,
    /// Each user's yes and no contracts in the market.
    held: BTreeMap<UserNo, (Lots, Lots)>,
    /// Yes and no contracts outstanding.
    outstanding: (Lots, Lots),
    /// The no contracts that the venue holds for converted sets.
    venue: Lots,
    event: Option<EventNo>,
    /// What a yes contract is paid, once the market pays.
    pays: Option<SettlementPrice>,
    paid_in: i128,
    paid_out: i128,
    settled: MoneySum,
    fees: MoneySum,
    /// Number of records after which the sums were compared.
    compared: u64,
    /// The first record after which they differed.
    broken: Option<Sequence>,
}

/// The figures of the proof for the report.
pub struct Sums {
    /// Taken from accounts for contracts and fees, and from the venue for contracts that others
    /// received in conversions.
    pub paid_in: MoneySum,
    /// Paid to accounts for contracts sold, pairs merged and contracts settled, and to the venue
    /// for contracts that it held to the end.
    pub paid_out: MoneySum,
    /// The part of that paid for contracts held to the end.
    pub settled: MoneySum,
    /// The part of the money taken that was fees.
    pub fees: MoneySum,
    /// What must remain.
    pub left: MoneySum,
    /// Yes contracts outstanding.
    pub yes: Lots,
    /// No contracts outstanding, including those of the venue.
    pub no: Lots,
    /// Number of records after which everything was compared.
    pub compared: u64,
    /// The first record after which it differed.
    pub broken: Option<Sequence>,
}

impl Proof {
    /// Applies a record, and compares the sums if it touched the market. Accounts are followed from
    /// the first record on, even before the market exists.
    pub fn follow(
        &mut self,
        market: Option<MarketNo>,
        record: &Record,
        effects: &[Effect],
    ) -> Result<(), Overflow> {
        // An account change belongs to the market named last before it: an effect is directly
        // followed by its consequences for the owner.
        let mut here = false;
        let mut touched = false;
        let converted = effects.iter().find_map(|effect| self.conversion(market, effect));
        for effect in effects {
            if let Some(named) = market_of(effect) {
                here = Some(named) == market;
                touched |= here;
            }
            match effect {
                Effect::Deposited { .. } | Effect::Withdrawn { .. } | Effect::FeesTaken { .. } => {
                    here = false;
                }
                Effect::AccountChanged { user, available, reserved } => {
                    let now = i128::from(available.get()) + i128::from(reserved.get());
                    let before = self.accounts.insert(*user, now).unwrap_or_default();
                    if here && converted.is_none() {
                        self.moved(now.saturating_sub(before));
                    }
                }
                Effect::PositionChanged { user, yes, no, .. } if here => {
                    let before = self.outstanding.1;
                    self.holds(*user, (yes.held, no.held))?;
                    if let Some(quantity) = converted {
                        self.convert(quantity, before)?;
                    }
                }
                Effect::DisputeEnded { bond, right: false, .. } if here => {
                    self.fees = self.fees.plus(*bond)?;
                }
                Effect::MarketCreated { draft, .. } if here => self.event = draft.event,
                Effect::MarketMoved { settled_at: Some(price), .. }
                | Effect::MarketPays { price, .. }
                    if here =>
                {
                    self.pays = Some(*price);
                    let paid = price.complement().times(self.venue)?;
                    self.paid_out = self.paid_out.saturating_add(paid.get().into());
                    self.venue = Lots::ZERO;
                }
                Effect::PositionSettled { user, payout, .. } if here => {
                    self.settled = self.settled.plus(*payout)?;
                    self.holds(*user, (Lots::ZERO, Lots::ZERO))?;
                }
                Effect::TradeMade(trade) if here => {
                    self.fees = self.fees.plus(trade.maker.fee)?.plus(trade.taker.fee)?;
                }
                _ => {}
            }
        }
        if touched { self.compare(record) } else { Ok(()) }
    }

    /// The current sums.
    pub fn sums(&self) -> Sums {
        Sums {
            paid_in: MoneySum::new(self.paid_in),
            paid_out: MoneySum::new(self.paid_out),
            settled: self.settled,
            fees: self.fees,
            left: MoneySum::new(self.left()),
            yes: self.outstanding.0,
            no: self.outstanding.1.plus(self.venue).unwrap_or(self.outstanding.1),
            compared: self.compared,
            broken: self.broken,
        }
    }

    fn left(&self) -> i128 {
        self.paid_in.saturating_sub(self.paid_out).saturating_sub(self.fees.get())
    }

    /// The yes contracts of this market that a conversion in its event creates; none if it takes
    /// this market's no contracts.
    fn conversion(&self, market: Option<MarketNo>, effect: &Effect) -> Option<Lots> {
        let Effect::Converted { event, markets, quantity, .. } = effect else { return None };
        let given = market.is_some_and(|market| markets.as_slice().contains(&market));
        let here = self.event == Some(*event);
        here.then_some(if given { Lots::ZERO } else { *quantity })
    }

    /// Applies a conversion: the venue created yes contracts by paying for pairs and keeps their no
    /// half, or it took the missing no contracts; pairs of the receiver were paid out.
    fn convert(&mut self, given: Lots, no_before: Lots) -> Result<(), Overflow> {
        let gone = no_before.minus(self.outstanding.1)?;
        let minted = SettlementPrice::ONE.times(given)?;
        self.paid_in = self.paid_in.saturating_add(minted.get().into());
        if given.is_zero() {
            self.venue = self.venue.plus(gone)?;
        } else {
            self.venue = self.venue.plus(given)?;
            let merged = SettlementPrice::ONE.times(gone)?;
            self.paid_out = self.paid_out.saturating_add(merged.get().into());
        }
        Ok(())
    }

    fn moved(&mut self, change: i128) {
        if change < 0 {
            self.paid_in = self.paid_in.saturating_sub(change);
        } else {
            self.paid_out = self.paid_out.saturating_add(change);
        }
    }

    fn holds(&mut self, user: UserNo, now: (Lots, Lots)) -> Result<(), Overflow> {
        let before = self.held.insert(user, now).unwrap_or_default();
        let (yes, no) = self.outstanding;
        let changed = |all: Lots, before, now| all.minus(before)?.plus(now);
        self.outstanding = (changed(yes, before.0, now.0)?, changed(no, before.1, now.1)?);
        Ok(())
    }

    fn compare(&mut self, record: &Record) -> Result<(), Overflow> {
        self.compared = self.compared.saturating_add(1);
        let (yes, no) = (self.outstanding.0, self.outstanding.1.plus(self.venue)?);
        // Where some are paid and others not, each contract counts as what it will be paid.
        let worth = match self.pays {
            Some(price) => price.times(yes)?.plus(price.complement().times(no)?)?,
            None => SettlementPrice::ONE.times(yes)?,
        };
        let paired = self.pays.is_some() || yes == no;
        let equal = paired && i128::from(worth.get()) == self.left();
        if !equal && self.broken.is_none() {
            self.broken = Some(record.sequence);
        }
        Ok(())
    }
}

/// The market that an effect names.
pub const fn market_of(effect: &Effect) -> Option<MarketNo> {
    match effect {
        Effect::MarketMoved { market, .. }
        | Effect::DisputeFiled { market, .. }
        | Effect::DisputeEnded { market, .. }
        | Effect::MarketRevised { market, .. }
        | Effect::OrderAmended { market, .. }
        | Effect::OrderRested { market, .. }
        | Effect::OrderCancelled { market, .. }
        | Effect::PositionChanged { market, .. }
        | Effect::PositionSettled { market, .. }
        | Effect::MarketPays { market, .. }
        | Effect::MarketCreated { market, .. } => Some(*market),
        Effect::OrderAccepted { terms, .. } => Some(terms.market),
        Effect::TradeMade(trade) => Some(trade.market),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::num::NonZeroU32;

    use super::*;
    use crate::pass::Listener;
    use crate::tally::Tally;
    use exchange::Exchange;
    use exchange::command::Command;
    use exchange::script;

    /// Two markets trade; one is settled and one voided, with deposits and withdrawals in between.
    const TWO: &str = "venue USD
user ann
user bob
deposit ann 100.00
deposit bob 100.00
market rain maker 0.0200 taker 0.0700 window 0s
market snow
publish rain
publish snow
ann buy yes 0.60 x10 on rain
bob buy no 0.45 x7 on rain
deposit bob 3.00
ann sell yes 0.50 x2 on snow
bob buy yes 0.50 x2 on snow
bob buy yes 0.65 x4 on rain
ann sell yes 0.62 x3 on rain
withdraw ann 1.00
ann cancel all
resolve rain yes
void snow 0.30
";

    /// No contracts of two of three markets are converted, and part of what is received merges.
    const CONVERTED: &str = "venue USD
user ann
user bob
deposit ann 100.00
deposit bob 100.00
event sky exclusive
market rain of sky
market snow of sky
market sun of sky
publish rain
publish snow
publish sun
ann buy no 0.60 x10 on rain
bob buy yes 0.40 x10 on rain
ann buy no 0.70 x10 on snow
bob buy yes 0.30 x10 on snow
ann buy no 0.80 x3 on sun
bob buy yes 0.20 x3 on sun
ann convert sky rain,snow x4
resolve rain no
void snow 0.30
resolve sun no
";

    #[test]
    fn the_venue_is_a_holder_where_contracts_are_converted() {
        for market in [0, 1, 2] {
            let sums = sums_of(CONVERTED, market, false);
            assert_eq!((sums.broken, sums.left), (None, MoneySum::ZERO), "{market}");
            assert_eq!((sums.yes, sums.no), (Lots::ZERO, Lots::ZERO));
            assert!(sums_of(CONVERTED, market, true).broken.is_some());
        }
    }

    /// An outcome that one holder disputes rightly, and another wrongly.
    const DISPUTED: &str = "venue USD
user ann
user bob
deposit ann 100.00
deposit bob 100.00
market rain window 1h
publish rain
ann buy yes 0.60 x10
bob sell yes 0.60 x10
resolve rain no
ann disputes rain bond 5.00 \"it rained\"
resolve rain yes
bob disputes rain bond 2.00 \"it did not\"
resolve rain yes
+1h clock
";

    #[test]
    fn a_lost_bond_is_the_venues() {
        let (mut exchange, mut proof, mut tally) =
            (Exchange::new(), Proof::default(), Tally::default());
        for record in script::parse(DISPUTED).unwrap() {
            let mut effects = Vec::new();
            exchange.apply(&record, &mut effects).unwrap();
            proof.follow(Some(MarketNo(0)), &record, &effects).unwrap();
            assert_eq!(proof.sums().broken, None, "{record:?}");
            tally.after(&exchange, &record, &effects).unwrap();
            let money = tally.proof().unwrap();
            assert!(money.accounted == money.net_deposits, "{record:?}: {money:?}");
        }
        let sums = proof.sums();
        assert_eq!((sums.left, sums.fees), (MoneySum::ZERO, MoneySum::new(200_000_000)));
    }

    /// In the middle of a pay-out, and at its end.
    #[test]
    fn what_is_paid_one_by_one_is_accounted_for_after_every_payment() {
        let mut exchange = Exchange::new().in_slices_of(NonZeroU32::MIN);
        let (mut proofs, mut tally) = ([0, 1, 2].map(|_| Proof::default()), Tally::default());
        let mut records: VecDeque<Record> = script::parse(CONVERTED).unwrap().into();
        let mut parts = 0;
        while let Some(record) = records.pop_front() {
            let mut effects = Vec::new();
            exchange.apply(&record, &mut effects).unwrap();
            for (proof, market) in proofs.iter_mut().zip(0..) {
                proof.follow(Some(MarketNo(market)), &record, &effects).unwrap();
                assert_eq!(proof.sums().broken, None, "{market}: {record:?}");
            }
            tally.after(&exchange, &record, &effects).unwrap();
            let money = tally.proof().unwrap();
            assert!(money.paired && money.accounted == money.net_deposits, "{record:?}: {money:?}");
            let part = |effect: &&Effect| matches!(effect, Effect::MarketPays { .. });
            parts += effects.iter().filter(part).count();
            if records.is_empty() && exchange.next_due().is_some_and(|due| due <= record.time) {
                let (sequence, command) = (record.sequence.next(), Command::AdvanceClock);
                records.push_back(Record { sequence, once: None, act: None, command, ..record });
            }
        }
        assert!(parts > 3, "{parts}");
        assert!(proofs.iter().all(|proof| proof.sums().left == MoneySum::ZERO));
    }

    fn sums_of(script: &str, market: u32, tamper: bool) -> Sums {
        let (mut exchange, mut proof) = (Exchange::new(), Proof::default());
        for record in script::parse(script).unwrap() {
            let mut effects = Vec::new();
            exchange.apply(&record, &mut effects).unwrap();
            for effect in &mut effects {
                if let (Effect::PositionChanged { yes, .. }, true) = (effect, tamper) {
                    yes.held = yes.held.plus(Lots::new(1)).unwrap();
                }
            }
            proof.follow(Some(MarketNo(market)), &record, &effects).unwrap();
        }
        proof.sums()
    }

    #[test]
    fn what_went_in_comes_out() {
        for market in [0, 1] {
            let sums = sums_of(TWO, market, false);
            assert_eq!(sums.broken, None);
            assert_eq!(sums.fees > MoneySum::ZERO, market == 0);
            assert!(sums.paid_in > MoneySum::ZERO && sums.compared > 4);
            assert_eq!((sums.left, sums.yes, sums.no), (MoneySum::ZERO, Lots::ZERO, Lots::ZERO));
            assert!(sums.settled > MoneySum::ZERO && sums.settled <= sums.paid_out);
            assert!(sums_of(TWO, market, true).broken.is_some());
        }
    }
}
