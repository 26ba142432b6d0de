//! Unit tests of `src/http/handshakes.rs`.

use super::*;

#[test]
fn an_address_shakes_hands_at_a_pace_and_others_meanwhile() {
    let (handshakes, now) = (Handshakes::default(), Instant::now());
    let (one, other): (IpAddr, IpAddr) = ([192, 0, 2, 1].into(), [192, 0, 2, 2].into());
    let most = Duration::from_secs(1);
    for _ in 0..AT_ONCE {
        assert_eq!(handshakes.wait(one, now, most), Some(Duration::ZERO));
    }
    let waits: Vec<_> = (0..300).map(|_| handshakes.wait(one, now, most)).collect();
    let expected = (1..=300).map(|place| Some(EVERY * place).filter(|wait| *wait <= most));
    assert!(waits.iter().copied().eq(expected), "{waits:?}");
    assert_eq!(handshakes.wait(other, now, most), Some(Duration::ZERO));
    // What was refused does not count, and time heals.
    assert_eq!(handshakes.wait(one, now + EVERY, most), Some(most));
    let later = now + Duration::from_mins(1);
    assert_eq!(handshakes.wait(one, later, most), Some(Duration::ZERO));
}

#[test]
fn the_table_is_bounded() {
    let (handshakes, now) = (Handshakes::default(), Instant::now());
    for number in 0..u32::try_from(COUNTED_MAX).unwrap() + 10 {
        let address = std::net::Ipv4Addr::from_bits(number).into();
        assert_eq!(handshakes.wait(address, now, EVERY), Some(Duration::ZERO));
    }
    assert_eq!(handshakes.0.lock().len(), COUNTED_MAX);
}
