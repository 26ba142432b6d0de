//! Users and keys in the read model's image, in order of their numbers.

use rustc_hash::FxHashMap;

use super::{Accounts, Balance, KeyRow, UserRow};
use crate::exchange::ids::{KeyNo, UserNo};
use crate::exchange::image::coding::{
    BadImage, ImageSink, ImageSource, Imaged, imaged, read_count, room, write_count, write_text,
};
use crate::projection::image::hold;

imaged!(Balance { available, reserved });

impl Imaged for Accounts {
    fn write(&self, sink: &mut impl ImageSink) {
        // The two tables are indexes of the keys.
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
            let UserRow { no: _, id, profile_name, profile_pic, created_at, balance, standing } =
                row;
            id.write(sink);
            profile_name.write(sink);
            profile_pic.write(sink);
            created_at.write(sink);
            balance.write(sink);
            standing.write(sink);
        }
        write_count(keys.len(), sink);
        for row in keys {
            let KeyRow { no: _, id, user, role, label, hash, created_at, revoked_at } = row;
            id.write(sink);
            user.write(sink);
            role.write(sink);
            label.write(sink);
            hash.write(sink);
            created_at.write(sink);
            revoked_at.write(sink);
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
        accounts.keys_of.resize_with(accounts.users.len(), Vec::new);
        for index in 0..read_count(source)? {
            let row = KeyRow {
                no: KeyNo::next(index).ok_or(BadImage::Value("KeyNo"))?,
                id: Imaged::read(source)?,
                user: Imaged::read(source)?,
                role: Imaged::read(source)?,
                label: Imaged::read(source)?,
                hash: Imaged::read(source)?,
                created_at: Imaged::read(source)?,
                revoked_at: Imaged::read(source)?,
            };
            hold(accounts.keys.last().is_none_or(|last| last.id < row.id), "key ids out of order")?;
            let keys_of = accounts.keys_of.get_mut(row.user.index());
            keys_of.ok_or(BadImage::Contradiction("a key of nobody"))?.push(row.no);
            if row.revoked_at.is_none() {
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
        let row = UserRow {
            no: UserNo::next(index).ok_or(BadImage::Value("UserNo"))?,
            id: Imaged::read(source)?,
            profile_name: Imaged::read(source)?,
            profile_pic: Imaged::read(source)?,
            created_at: Imaged::read(source)?,
            balance: Imaged::read(source)?,
            standing: Imaged::read(source)?,
        };
        hold(users.last().is_none_or(|last| last.id < row.id), "user ids out of order")?;
        users.push(row);
    }
    Ok(users)
}
