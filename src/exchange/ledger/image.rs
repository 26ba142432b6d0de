//! Accounts and positions in the state image; positions by ascending user number.

use super::{Holders, Ledger};
use crate::ids::UserNo;
use crate::image::coding::{
    BadImage, ImageSink, ImageSource, Imaged, read_count, room, write_count,
};
use crate::invariant::Broken;
use crate::ledger::{Account, Position};
use crate::units::MoneySum;

impl Imaged for Ledger {
    fn write(&self, sink: &mut impl ImageSink) {
        // The costs are the sums over the positions.
        let Ledger { accounts, costs: _, markets, net_deposits, fees } = self;
        accounts.write(sink);
        write_count(markets.len(), sink);
        for holders in markets {
            // No holders left and no holders ever must give the same image.
            match holders {
                Some(holders) => holders.write(sink),
                None => write_count(0, sink),
            }
        }
        net_deposits.write(sink);
        fees.write(sink);
    }

    fn read(source: &mut impl ImageSource) -> Result<Self, BadImage> {
        let accounts: Vec<Account> = Imaged::read(source)?;
        let markets_count = read_count(source)?;
        let mut markets = Vec::with_capacity(room::<u64>(markets_count, source));
        for _ in 0..markets_count {
            let holders = Holders::read(source)?;
            markets.push((!holders.rows.is_empty()).then(|| Box::new(holders)));
        }
        let mut costs = vec![MoneySum::ZERO; accounts.len()];
        for (user, position) in markets.iter().flatten().flat_map(|holders| &holders.rows) {
            let sum = costs.get_mut(user.index());
            let sum = sum.ok_or(BadImage::Contradiction("a position of nobody"))?;
            for cost in position.costs() {
                *sum = sum.plus(cost).map_err(Broken::from)?;
            }
        }
        let (net_deposits, fees) = (Imaged::read(source)?, Imaged::read(source)?);
        Ok(Ledger { accounts, costs, markets, net_deposits, fees })
    }
}

impl Imaged for Holders {
    fn write(&self, sink: &mut impl ImageSink) {
        // The order of the rows depends on history and shapes no outcome.
        let Holders { rows_by_user: _, rows } = self;
        let mut sorted: Vec<&(UserNo, Position)> = rows.iter().collect();
        sorted.sort_unstable_by_key(|(user, _)| *user);
        write_count(sorted.len(), sink);
        for (user, position) in sorted {
            user.write(sink);
            position.write(sink);
        }
    }

    fn read(source: &mut impl ImageSource) -> Result<Self, BadImage> {
        let count = read_count(source)?;
        let mut rows = Vec::with_capacity(room::<(UserNo, Position)>(count, source));
        let mut holders = Holders::default();
        for row in 0..count {
            let user = UserNo::read(source)?;
            if rows.last().is_some_and(|(before, _)| *before >= user) {
                return Err(BadImage::Contradiction("positions out of order"));
            }
            let row = u32::try_from(row).map_err(|_| BadImage::Contradiction("too many rows"))?;
            rows.push((user, Position::read(source)?));
            holders.rows_by_user.insert(user, row);
        }
        holders.rows = rows;
        Ok(holders)
    }
}

impl Ledger {
    /// Markets known to the ledger.
    pub(crate) const fn markets_count(&self) -> usize {
        self.markets.len()
    }
}
