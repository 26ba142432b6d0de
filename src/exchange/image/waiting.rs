//! What waits for an answer in the state image.

use std::collections::BTreeMap;

use super::checks::require;
use super::coding::{BadImage, ImageSink, ImageSource, Imaged, read_count, write_count};
use crate::ids::UserNo;
use crate::units::{Money, Sequence};
use crate::waiting::{Transfer, Transfers};

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
