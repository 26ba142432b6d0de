//! Unit tests of `src/views/saved.rs`.

use super::*;
use crate::table::Table;
use exchange::ids::KeyNo;
use exchange::image::coding::read_end;

fn bytes_of(value: &impl Saved) -> Vec<u8> {
    let mut bytes = Vec::new();
    let out = BufWriter::new(&mut bytes as &mut dyn Write);
    let mut sink = Sink { out, failed: Ok(()) };
    value.save(&mut sink);
    sink.out.flush().unwrap();
    drop(sink);
    bytes
}

/// Loads a value of a venue with two users, one key and a market.
fn loaded<T: Saved>(mut bytes: &[u8]) -> Result<T, BadImage> {
    let sizes = Sizes { users: 2, keys: 1, markets: 1, ..Sizes::default() };
    let from = BufReader::new(&mut bytes as &mut dyn Read);
    let mut source = Source { from, sizes, history: History::default() };
    let value = T::load(&mut source)?;
    read_end(&mut source)?;
    Ok(value)
}

#[test]
fn a_number_of_nothing_that_exists_is_refused() {
    assert_eq!(loaded(&bytes_of(&UserNo(1))), Ok(UserNo(1)));
    assert_eq!(loaded::<UserNo>(&bytes_of(&UserNo(2))), Err(NO_USER));
    assert!(loaded::<KeyNo>(&bytes_of(&KeyNo(1))).is_err());
    assert_eq!(
        loaded(&bytes_of(&vec![Some(MarketNo(0)), None])),
        Ok(vec![Some(MarketNo(0)), None])
    );
    assert!(loaded::<Vec<MarketNo>>(&bytes_of(&vec![MarketNo(0), MarketNo(1)])).is_err());
}

#[test]
fn no_length_is_trusted_and_every_value_has_one_form() {
    let claimed = bytes_of(&usize::MAX);
    assert_eq!(loaded::<Vec<u64>>(&claimed), Err(BadImage::Truncated));
    assert_eq!(loaded::<String>(&claimed), Err(BadImage::Truncated));
    assert_eq!(loaded::<BTreeMap<u32, u8>>(&claimed), Err(BadImage::Truncated));
    assert!(loaded::<Option<u8>>(&[2, 0]).is_err());
    let sorted = [(1_u32, 7_u8), (2, 8)];
    let map: FxHashMap<u32, u8> = sorted.into_iter().rev().collect();
    assert_eq!(bytes_of(&map), bytes_of(&sorted.to_vec()));
    assert_eq!(loaded(&bytes_of(&map)), Ok(map));
    for falling in [[(2_u32, 7_u8), (1, 8)], [(1, 7), (1, 8)]] {
        assert!(loaded::<FxHashMap<u32, u8>>(&bytes_of(&falling.to_vec())).is_err());
    }
}

#[test]
fn a_table_has_a_row_for_each_thing_of_its_kind() {
    let mut table: Table<UserNo, u8> = Table::default();
    assert!(table.add(UserNo(1), 5).is_err() && table.row(UserNo(0)).is_err());
    table.add(UserNo(0), 5).unwrap();
    table.add(UserNo(1), 6).unwrap();
    assert_eq!((table.get(UserNo(1)), table.at(UserNo(2))), (Some(&6), 0));
    let bytes = bytes_of(&table);
    assert_eq!(bytes, [5, 6]);
    assert_eq!(loaded::<Table<UserNo, u8>>(&bytes).unwrap().rows(), [5, 6]);
    assert_eq!(loaded::<Table<UserNo, u8>>(&bytes[..1]).unwrap_err(), BadImage::Truncated);
    assert_eq!(loaded::<Table<MarketNo, u8>>(&bytes).unwrap_err(), BadImage::Trailing);
}
