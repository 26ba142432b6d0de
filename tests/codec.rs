//! Records and blocks as bytes: decoding gives back what was encoded, and refuses everything else.

#![allow(clippy::unwrap_used)] // a test may unwrap

mod records;

use exchange::command::{BodyHash, Command, IdempotencyKey, KeyedCommand, Record};
use exchange::ids::{Token, UserNo};
use exchange::results::{Results, ResultsHash};
use exchange::rules::Rules;
use exchange::units::{Lots, Money, Sequence, TimeMs};
use journal::block::{
    BLOCK_BYTES_FULL, BLOCK_HEADER_BYTES, Block, BlockBuilder, BlockFault, ChainHash, Head,
    RawBlock,
};
use journal::record::{self, EncodeError, RECORD_BYTES_MAX, RecordError};
use proptest::prelude::*;
use records::{asked, block_after, chain, largest_block, time};

fn encoded(asked: impl Into<KeyedCommand>, time: TimeMs) -> Vec<u8> {
    let KeyedCommand { once, act, command } = asked.into();
    let mut bytes = Vec::new();
    record::encode(&command, (once.as_deref(), act.as_deref()), time, &mut bytes, RECORD_BYTES_MAX)
        .unwrap();
    bytes
}

fn sealed(mut bytes: Vec<u8>) -> Vec<u8> {
    let mut crc = crc32fast::Hasher::new();
    crc.update(&bytes[..28]);
    crc.update(&bytes[32..]);
    let crc = crc.finalize().to_le_bytes();
    bytes[28..32].copy_from_slice(&crc);
    bytes
}

/// Decodes the record at the start of some bytes, and returns how many bytes it takes.
fn decode(bytes: &[u8], sequence: Sequence) -> Result<(Record, usize), RecordError> {
    let mut records = Vec::new();
    let taken = record::decode(bytes, sequence, &mut records)?;
    assert_eq!(records.len(), 1);
    Ok((records.swap_remove(0), taken))
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 1024,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn every_command_is_read_as_written(asked in asked(), time in time()) {
        let bytes = encoded(asked.clone(), time);
        let KeyedCommand { once, act, command } = asked;
        let sequence = Sequence::new(9);
        let read = decode(&bytes, sequence);
        prop_assert_eq!(read, Ok((Record { sequence, time, once, act, command }, bytes.len())));
    }

    #[test]
    fn a_record_cut_anywhere_is_refused(asked in asked(), time in time()) {
        let bytes = encoded(asked, time);
        for length in 0..bytes.len() {
            let cut = decode(&bytes[..length], Sequence::new(1));
            prop_assert_eq!(cut, Err(RecordError::Truncated));
            // Truncated, with the length field adjusted: no kind has a valid body that is shorter.
            if let Some(body) = length.checked_sub(16) {
                let mut cut = bytes[..length].to_vec();
                cut[..4].copy_from_slice(&u32::try_from(body).unwrap().to_le_bytes());
                let read = decode(&cut, Sequence::new(1));
                prop_assert!(read.is_err(), "{length}: {read:?}");
            }
        }
        let mut longer = bytes.clone();
        longer.push(0);
        longer[..4].copy_from_slice(&u32::try_from(bytes.len() - 15).unwrap().to_le_bytes());
        let read = decode(&longer, Sequence::new(1));
        prop_assert_eq!(read, Err(RecordError::Trailing(1)));
    }

    #[test]
    fn every_readable_record_has_exactly_one_encoding(
        asked in asked(),
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let mut bytes = encoded(asked, TimeMs::default());
        for (offset, byte) in flips {
            let offset = offset.index(bytes.len());
            bytes[offset] = byte;
        }
        if let Ok((read, taken)) = decode(&bytes, Sequence::new(1)) {
            let Record { time, once, act, command, .. } = read;
            prop_assert_eq!(encoded(KeyedCommand { once, act, command }, time), &bytes[..taken]);
        }
    }

    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), kind in 0..64_u8) {
        drop(decode(&bytes, Sequence::new(1)));
        drop(RawBlock::new(bytes.clone()).decode());
        let mut header = u32::try_from(bytes.len()).unwrap().to_le_bytes().to_vec();
        header.extend([kind, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        header.extend(bytes);
        drop(decode(&header, Sequence::new(1)));
    }

    #[test]
    fn blocks_are_read_as_built(
        commands in prop::collection::vec(asked(), 1..20), time in time(),
    ) {
        let block = block_after(&Head::START, time, commands);
        let read = RawBlock::new(block.bytes().to_vec()).decode();
        prop_assert_eq!(read.as_ref(), Ok(&block));
    }
}

#[test]
fn unknown_kinds_and_versions_are_named() {
    let bytes = encoded(Command::AdvanceClock, TimeMs::default());
    for kind in [0_u16, 37, 1000, u16::MAX] {
        let mut other = bytes.clone();
        other[4..6].copy_from_slice(&kind.to_le_bytes());
        let read = decode(&other, Sequence::new(1));
        assert_eq!(read, Err(RecordError::UnknownKind(kind)));
    }
    for strange in [2_u8, 9, u8::MAX] {
        let mut other = bytes.clone();
        other[6] = strange;
        let read = decode(&other, Sequence::new(1));
        assert_eq!(read, Err(RecordError::UnknownVersion(23, strange)));
        (other[6], other[7]) = (1, strange | 4);
        let read = decode(&other, Sequence::new(1));
        assert_eq!(read, Err(RecordError::UnknownFlags(23, strange | 4)));
    }
    for stamp in [-1, i64::MIN, TimeMs::MAX.get() + 1, i64::MAX] {
        let mut other = bytes.clone();
        other[8..16].copy_from_slice(&stamp.to_le_bytes());
        assert_eq!(decode(&other, Sequence::new(1)), Err(RecordError::Time(stamp)));
    }
}

#[test]
fn values_out_of_range_are_neither_written_nor_read() {
    let user = UserNo(1);
    let deposit = Command::Deposit { user, amount: Money::new(5) };
    let bytes = encoded(deposit, TimeMs::default());
    for units in [0, -1, i64::MIN] {
        let bad = Command::Deposit { user, amount: Money::new(units) };
        assert_eq!(record::admit(&bad.into()), Err(EncodeError::Field(5, "amount")));
        let mut forged = bytes.clone();
        forged[20..28].copy_from_slice(&units.to_le_bytes());
        let read = decode(&forged, Sequence::new(1));
        assert_eq!(read, Err(RecordError::Field(5, "amount")));
    }
    let (fits, most, supply) = (Rules::current(), u32::MAX, Money::new(i64::MAX));
    let bytes = encoded(Command::OpenVenue(fits.clone()), TimeMs::default());
    let limits = bytes.len() - 20;
    for (rules, field) in [
        (Rules { venue_open_orders_max: most, ..fits.clone() }, "venue_open_orders_max"),
        (Rules { money_supply_max: supply, ..fits.clone() }, "money_supply_max"),
        (Rules { money_supply_max: Money::ZERO, ..fits.clone() }, "money_supply_max"),
    ] {
        let mut forged = bytes.clone();
        forged[limits..limits + 4].copy_from_slice(&rules.venue_open_orders_max.to_le_bytes());
        forged[limits + 4..limits + 12]
            .copy_from_slice(&rules.money_supply_max.get().to_le_bytes());
        assert_eq!(
            record::admit(&Command::OpenVenue(rules).into()),
            Err(EncodeError::Field(1, field))
        );
        let read = decode(&forged, Sequence::new(1));
        assert_eq!(read, Err(RecordError::Field(1, field)));
    }
    let order = exchange::ids::OrderNo(Sequence::new(3));
    let amend = |lots| Command::AmendOrder {
        user,
        order,
        price: None,
        quantity: Some(Lots::new(lots)),
        seen: None,
    };
    let bytes = encoded(amend(7), TimeMs::default());
    for lots in [0, exchange::units::ORDER_LOTS_MAX + 1, u64::MAX] {
        assert_eq!(record::admit(&amend(lots).into()), Err(EncodeError::Field(20, "quantity")));
        let mut forged = bytes.clone();
        let start = forged.len() - 8;
        forged[start..].copy_from_slice(&lots.to_le_bytes());
        let read = decode(&forged, Sequence::new(1));
        assert_eq!(read, Err(RecordError::Field(20, "quantity")));
    }
}

/// An idempotency key in the journal must be one that a client could have sent.
#[test]
fn invalid_idempotency_keys_are_not_read() {
    let token = |text: &str| Token::new(text).unwrap();
    let once =
        IdempotencyKey { caller: UserNo(1), key: token("k"), part: 0, body: BodyHash([0; 32]) };
    let asked =
        KeyedCommand { once: Some(Box::new(once)), act: None, command: Command::AdvanceClock };
    let bytes = encoded(asked, TimeMs::default());
    // Offset of the key: after the record's head, the caller's number and the key's length.
    let offset = 16 + 4 + 8;
    assert_eq!(bytes[offset], b'k');
    for bad in [0, b' ', b'\n', 127] {
        let mut forged = bytes.clone();
        forged[offset] = bad;
        let read = decode(&forged, Sequence::new(1));
        assert_eq!(read, Err(RecordError::Field(23, "once.key")));
    }
}

#[test]
fn forged_lengths_do_not_allocate() {
    let event = Command::CreateUser { profile_name: "ann".into(), profile_pic: String::new() };
    let mut bytes = encoded(event, TimeMs::default());
    for length in [4_u64, 60_000, u64::from(u32::MAX), u64::MAX] {
        bytes[16..24].copy_from_slice(&length.to_le_bytes());
        assert_eq!(decode(&bytes, Sequence::new(1)), Err(RecordError::Body(2)));
    }
}

#[test]
fn a_record_too_large_for_any_block_is_an_error_and_the_largest_fits() {
    let name = |letters| Command::CreateUser {
        profile_name: "x".repeat(letters),
        profile_pic: String::new(),
    };
    let letters = RECORD_BYTES_MAX - 16 - 16;
    assert_eq!(record::admit(&name(letters).into()), Ok(()));
    assert_eq!(record::admit(&name(letters + 1).into()), Err(EncodeError::TooLarge));
    let block = largest_block(&Head::START, 1);
    assert_eq!(RawBlock::new(block.bytes().to_vec()).decode(), Ok(block));
}

#[test]
fn a_full_block_hands_the_record_back_unharmed() {
    let mut builder = BlockBuilder::new(&Head::START);
    let record = |n: usize| Record {
        sequence: Sequence::new(n as u64),
        time: TimeMs::default(),
        once: None,
        act: None,
        command: Command::CreateUser { profile_name: "x".repeat(900), profile_pic: "y".into() },
    };
    let mut count = 0;
    let refilled = loop {
        match builder.push(record(count + 1)) {
            Ok(()) => count += 1,
            Err(refill) => break refill.0,
        }
    };
    assert_eq!(refilled, record(count + 1));
    let first = builder.build(Results::NONE).unwrap();
    assert_eq!(first.records().len(), count);
    assert!((BLOCK_BYTES_FULL - 1000..=BLOCK_BYTES_FULL).contains(&first.bytes().len()));
    let mut next = BlockBuilder::new(&first.head());
    assert!(next.push(refilled).is_ok());
    let next = next.build(Results::NONE).unwrap();
    assert_eq!(next.follows(&first.head()), Ok(()));
    assert_eq!(next.first(), first.last().next());
}

#[test]
fn a_builder_refuses_gaps_time_going_back_and_empty_blocks() {
    let record = |sequence, ms| Record {
        sequence: Sequence::new(sequence),
        time: TimeMs::new(ms).unwrap(),
        once: None,
        act: None,
        command: Command::AdvanceClock,
    };
    let built = |records: Vec<Record>| {
        let mut builder = BlockBuilder::new(&Head::START);
        for record in records {
            assert!(builder.push(record).is_ok());
        }
        builder.build(Results::NONE).map(|block| block.last())
    };
    assert_eq!(built(vec![]), Err(EncodeError::Empty));
    assert_eq!(built(vec![record(1, 5), record(2, 5)]), Ok(Sequence::new(2)));
    let (expected, found) = (Sequence::new(2), Sequence::new(3));
    assert_eq!(
        built(vec![record(1, 5), record(3, 5)]),
        Err(EncodeError::Sequence { expected, found })
    );
    assert_eq!(built(vec![record(1, 5), record(2, 4)]), Err(EncodeError::Time(expected)));
}

#[test]
fn a_builder_takes_results_of_earlier_records_only_and_never_of_fewer() {
    let results =
        |through, byte| Results { through: Sequence::new(through), hash: ResultsHash([byte; 32]) };
    let built = |after: &Head, recorded: Results| {
        let mut builder = BlockBuilder::new(after);
        let sequence = after.sequence.next();
        let record = Record {
            sequence,
            time: TimeMs::MAX,
            once: None,
            act: None,
            command: Command::AdvanceClock,
        };
        assert!(builder.push(record).is_ok());
        builder.build(recorded).map(|block| block.head().results_through.get())
    };
    let refused = |through| Err(EncodeError::Results(Sequence::new(through)));
    let head = Head { results_through: Sequence::new(2), ..chain(2, 2)[1].head() };
    assert_eq!(built(&head, results(2, 7)), Ok(2));
    assert_eq!(built(&head, results(4, 7)), Ok(4));
    assert_eq!(built(&head, results(5, 7)), refused(5));
    assert_eq!(built(&head, results(1, 7)), refused(1));
    assert_eq!(built(&head, results(3, 0)), refused(3));
    assert_eq!(built(&Head::START, Results::NONE), Ok(0));
    assert_eq!(built(&Head::START, results(0, 7)), refused(0));
}

#[test]
fn a_block_cut_anywhere_or_with_any_bit_flipped_is_refused() {
    let blocks = chain(2, 3);
    for block in &blocks {
        let bytes = block.bytes();
        for length in 0..bytes.len() {
            let fault = RawBlock::new(bytes[..length].to_vec()).decode().unwrap_err();
            assert!(matches!(fault, BlockFault::Truncated { .. }), "{length}: {fault}");
        }
        let mut longer = bytes.to_vec();
        longer.push(0);
        let fault = RawBlock::new(longer).decode().unwrap_err();
        assert_eq!(fault, BlockFault::Length(bytes.len() + 1));
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.to_vec();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(RawBlock::new(flipped).decode().is_err(), "bit {bit}");
        }
    }
}

#[test]
fn a_forged_header_is_refused_by_name_even_with_a_good_checksum() {
    let block = &chain(1, 3)[0];
    let forge = |offset: usize, bytes: &[u8]| {
        let mut forged = block.bytes().to_vec();
        forged[offset..offset + bytes.len()].copy_from_slice(bytes);
        RawBlock::new(sealed(forged)).decode()
    };
    assert_eq!(forge(0, b"X"), Err(BlockFault::Magic));
    assert_eq!(forge(8, &[2, 0]), Err(BlockFault::UnknownVersion(2)));
    assert_eq!(forge(10, &[1, 0]), Err(BlockFault::Flags(1)));
    assert_eq!(forge(12, &[4]), Err(BlockFault::Count { counted: 4, found: 3 }));
    assert_eq!(forge(12, &[255; 4]), Err(BlockFault::Count { counted: u32::MAX, found: 3 }));
    assert!(matches!(forge(24, &[255; 4]), Err(BlockFault::Length(_))));
    assert!(matches!(forge(24, &[0; 4]), Err(BlockFault::Length(_))));
    // Results of a record of the block itself, and of no record at all.
    assert_eq!(forge(64, &[1]), Err(BlockFault::Results(Sequence::new(1))));
    assert_eq!(forge(72, &[1]), Err(BlockFault::Results(Sequence::ZERO)));
    let later = TimeMs::MAX.get().to_le_bytes();
    let second = Sequence::new(2);
    assert_eq!(forge(BLOCK_HEADER_BYTES + 8, &later), Err(BlockFault::Time(second)));
    let nothing = sealed({
        let mut header = block.bytes()[..BLOCK_HEADER_BYTES].to_vec();
        header[12..16].fill(0);
        header[24..28].fill(0);
        header
    });
    let fault = RawBlock::new(nothing).decode();
    assert_eq!(fault, Err(BlockFault::Count { counted: 0, found: 0 }));
}

#[test]
fn a_block_follows_only_its_predecessor() {
    let blocks: Vec<Block> = chain(3, 2);
    assert_eq!(blocks[1].follows(&blocks[0].head()), Ok(()));
    let gap = blocks[2].follows(&blocks[0].head());
    let (expected, found) = (Sequence::new(3), Sequence::new(5));
    assert_eq!(gap, Err(BlockFault::Gap { expected, found }));
    let forked = Head { hash: ChainHash([1; 32]), ..blocks[0].head() };
    assert!(matches!(blocks[1].follows(&forked), Err(BlockFault::Chain { .. })));
    let late = Head { time: TimeMs::MAX, ..blocks[0].head() };
    assert_eq!(blocks[1].follows(&late), Err(BlockFault::Time(Sequence::new(3))));
    let before = Sequence::new(2);
    let knowing = Head { results_through: before, ..blocks[0].head() };
    let found = Sequence::ZERO;
    assert_eq!(blocks[1].follows(&knowing), Err(BlockFault::ResultsBack { before, found }));
}
