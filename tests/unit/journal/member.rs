//! Unit tests of `src/journal/member.rs`.

use std::io::Read;

use flate2::read::MultiGzDecoder;

use super::*;

/// All bytes of all members, or the first fault.
fn unpacked(file: &[u8]) -> Result<Vec<u8>, MemberFault> {
    let (mut members, mut all) = (Members::new(file), Vec::new());
    loop {
        let before = all.len();
        match members.fill(&mut all, before + 700) {
            Ok(()) if members.over() => return Ok(all),
            Ok(()) => {}
            Err(UnpackError::Fault(fault)) => return Err(fault),
            Err(UnpackError::Io(error)) => panic!("{error}"),
        }
    }
}

/// Compressible bytes.
fn bytes(count: u32) -> Vec<u8> {
    (0..count).flat_map(|n| [n.wrapping_mul(2_654_435_761).to_le_bytes()[3], 0, 7]).collect()
}

#[test]
fn members_unpack_to_what_was_packed_here_and_by_any_gzip() {
    let parts = [bytes(1), bytes(0), bytes(50_000), bytes(300)];
    let file: Vec<u8> = parts.iter().flat_map(|part| pack(part).unwrap()).collect();
    assert!(file.len() < parts.concat().len());
    assert_eq!(unpacked(&file), Ok(parts.concat()));
    let mut other = Vec::new();
    MultiGzDecoder::new(file.as_slice()).read_to_end(&mut other).unwrap();
    assert_eq!(other, parts.concat());
}

#[test]
fn every_changed_bit_and_every_cut_is_found() {
    let whole = bytes(150);
    let file = [pack(&whole).unwrap(), pack(&bytes(40)).unwrap()].concat();
    let second = pack(&whole).unwrap().len();
    for bit in 0..file.len() * 8 {
        let mut changed = file.clone();
        changed[bit / 8] ^= 1 << (bit % 8);
        assert!(unpacked(&changed).is_err(), "bit {bit}");
    }
    for length in 1..file.len() {
        let cut = unpacked(&file[..length]);
        let expected = if length == second { Ok(whole.clone()) } else { Err(()) };
        assert_eq!(cut.clone().map_err(drop), expected, "{length}");
        assert!(cut.is_ok() || cut == Err(MemberFault::Truncated), "{length}: {cut:?}");
    }
}

#[test]
fn a_member_that_goes_on_or_that_another_program_packed_is_refused() {
    let mut file = pack(&bytes(9)).unwrap();
    file.extend([0; 30]);
    assert_eq!(unpacked(&file), Err(MemberFault::Header));
    let mut other = flate2::write::GzEncoder::new(Vec::new(), Compression::fast());
    std::io::Write::write_all(&mut other, &bytes(9)).unwrap();
    assert_eq!(unpacked(&other.finish().unwrap()), Err(MemberFault::Header));
}
