//! What waits for an answer in the state image.

use std::collections::BTreeMap;

use super::checks::require;
use super::coding::{BadImage, ImageSink, ImageSource, Imaged, read_count, write_count};
use crate::command::{Command, TransferEnd};
use crate::ids::{MarketNo, UserNo};
use crate::units::{Money, Sequence};
use crate::waiting::{Disputes, Proposal, Proposals, Transfer, Transfers};

impl Imaged for Transfers {
    fn write(&self, sink: &mut impl ImageSink) {
        write_count(self.0.len(), sink);
        for ((user, asked), Transfer { out, amount }) in &self.0 {
            user.write(sink);
            asked.write(sink);
            out.write(sink);
            amount.write(sink);
        }
    }

    fn read(source: &mut impl ImageSource) -> Result<Self, BadImage> {
        let mut all = BTreeMap::new();
        for _ in 0..read_count(source)? {
            let whose = (UserNo::read(source)?, Sequence::read(source)?);
            let transfer = Transfer { out: Imaged::read(source)?, amount: Imaged::read(source)? };
            let last = all.last_key_value();
            require(last.is_none_or(|(last, _)| *last < whose), "transfers out of order")?;
            require(transfer.amount > Money::ZERO, "a transfer of nothing")?;
            all.insert(whose, transfer);
        }
        Ok(Transfers(all))
    }
}

/// Whether an operator may propose this command.
const fn is_proposed(command: &Command) -> bool {
    matches!(
        command,
        Command::ResolveMarket { .. }
            | Command::VoidMarket { .. }
            | Command::Withdraw { .. }
            | Command::EndTransfer { how: TransferEnd::Confirmed, .. }
    )
}

impl Imaged for Proposals<Command> {
    fn write(&self, sink: &mut impl ImageSink) {
        let Proposals { above, waiting } = self;
        above.write(sink);
        write_count(waiting.len(), sink);
        for (proposal, Proposal { operator, until, reference, command }) in waiting {
            proposal.write(sink);
            operator.write(sink);
            until.write(sink);
            reference.write(sink);
            command.number().write(sink);
            command.version().write(sink);
            command.write_fields(sink);
        }
    }

    fn read(source: &mut impl ImageSource) -> Result<Self, BadImage> {
        let (above, mut waiting) = (Imaged::read(source)?, BTreeMap::new());
        for _ in 0..read_count(source)? {
            let made = Sequence::read(source)?;
            let (operator, until) = (Imaged::read(source)?, Imaged::read(source)?);
            let (reference, number) = (Imaged::read(source)?, u16::read(source)?);
            let version = u8::read(source)?;
            let command = Command::read_fields(number, version, source)?;
            require(version == command.version(), "a proposal in another version")?;
            require(is_proposed(&command), "a proposal of what none proposes")?;
            let last: Option<(&Sequence, _)> = waiting.last_key_value();
            require(last.is_none_or(|(last, _)| *last < made), "proposals out of order")?;
            waiting.insert(made, Proposal { operator, until, reference, command });
        }
        Ok(Proposals { above, waiting })
    }
}

impl Imaged for Disputes {
    fn write(&self, sink: &mut impl ImageSink) {
        write_count(self.all().len(), sink);
        for ((market, user), bond) in self.all() {
            market.write(sink);
            user.write(sink);
            bond.write(sink);
        }
    }

    fn read(source: &mut impl ImageSource) -> Result<Self, BadImage> {
        let mut all = Disputes::default();
        let mut last = None;
        for _ in 0..read_count(source)? {
            let whose = (MarketNo::read(source)?, UserNo::read(source)?);
            let bond = Option::<Money>::read(source)?;
            require(last < Some(whose), "disputes out of order")?;
            require(bond.is_none_or(|bond| bond >= Money::ZERO), "a bond of less than nothing")?;
            require(bond.is_none() || all.open(whose.0).is_none(), "two disputes of one outcome")?;
            all.add(whose, bond).map_err(|_| BadImage::Contradiction("bonds out of range"))?;
            last = Some(whose);
        }
        Ok(all)
    }
}
