//! Users and keys in the read model's image, in order of their numbers.

use rustc_hash::FxHashMap;

use super::{Accounts, Balance, KeyRow, UserKeys, UserRow};
use crate::image::{hold, numbered};
use exchange::ids::{KeyNo, UserNo};
use exchange::image::coding::{
    BadImage, ImageSink, ImageSource, Imaged, imaged, read_count, room, write_count, write_text,
};

imaged!(Balance { available, reserved });
numbered!(UserRow(UserNo) { id, profile_name, profile_pic, created_at, balance, standing });
numbered!(KeyRow(KeyNo) { id, user, role, label, hash, created_at, revoked_at });

impl Imaged for Accounts {
    fn write(&self, sink: &mut impl ImageSink) {
        // `keys_of` and `keys_by_hash` are indexes of the keys.
        let Accounts {
            currency,
            users,
            keys,
            keys_of: _,
            keys_by_hash: _,
            venue_mode,
            fees,
            fees_taken,
        } = self;
        venue_mode.write(sink);
        fees.write(sink);
        fees_taken.write(sink);
        write_text(currency, sink);
        write_count(users.len(), sink);
        for row in users {
            row.write_in_table(sink);
        }
        write_count(keys.len(), sink);
        for row in keys {
            row.write_in_table(sink);
        }
    }

    fn read(source: &mut impl ImageSource) -> Result<Self, BadImage> {
        let venue_mode = Imaged::read(source)?;
        let (fees, fees_taken) = (Imaged::read(source)?, Imaged::read(source)?);
        let currency = String::read(source)?.into();
        let mut accounts = Accounts {
            currency,
            users: read_users(source)?,
            keys: Vec::new(),
            keys_of: Vec::new(),
            keys_by_hash: FxHashMap::default(),
            venue_mode,
            fees,
            fees_taken,
        };
        accounts.keys_of.resize_with(accounts.users.len(), UserKeys::default);
        for index in 0..read_count(source)? {
            let row = KeyRow::read_in_table(index, source)?;
            hold(accounts.keys.last().is_none_or(|last| last.id < row.id), "key ids out of order")?;
            let keys_of = accounts.keys_of.get_mut(row.user.index());
            let keys_of = keys_of.ok_or(BadImage::Contradiction("a key of nobody"))?;
            if row.revoked_at.is_some() {
                keys_of.revoked.push(row.no);
            } else {
                keys_of.in_force.push(row.no);
                let other = accounts.keys_by_hash.insert(row.hash, row.no);
                hold(other.is_none(), "one hash, two keys in force")?;
            }
            accounts.keys.push(row);
        }
        Ok(accounts)
    }
}

fn read_users(source: &mut impl ImageSource) -> Result<Vec<UserRow>, BadImage> {
    let count = read_count(source)?;
    let mut users: Vec<UserRow> = Vec::with_capacity(room::<UserRow>(count, source));
    for index in 0..count {
        let row = UserRow::read_in_table(index, source)?;
        hold(users.last().is_none_or(|last| last.id < row.id), "user ids out of order")?;
        users.push(row);
    }
    Ok(users)
}
