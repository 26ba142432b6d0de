//! Unit tests of `src/http/identity.rs`.

#![allow(clippy::unwrap_used)] // a test may stop

use super::*;

#[derive(Debug)]
struct Nobody;

impl Provider for Nobody {
    fn address(&self, _: Asked) -> Answering<'_, String> {
        Box::pin(async { Err(Unvouched::Unreachable("it is nobody".to_owned())) })
    }

    fn vouched(&self, _: String, _: Asked, _: TimeMs) -> Answering<'_, Vouched> {
        Box::pin(async { Err(Unvouched::Refused("it is nobody".to_owned())) })
    }
}

fn at(ms: i64) -> TimeMs {
    TimeMs::new(ms).unwrap()
}

#[test]
fn a_way_is_read_back_while_it_lasts() {
    for ticket in [None, Some(KeyHash([7; 32]))] {
        let way = Way::begin(ticket, at(1_000_000)).unwrap();
        let read = |now| Way::read(&way.text(), at(now));
        assert_eq!(read(1_000_000), Some(way));
        assert_eq!(read(1_000_000 + AWAY_MS - 1), Some(way));
        assert_eq!(read(1_000_000 + AWAY_MS), None, "it took too long");
        assert_eq!(read(999_999), None, "it begins in the future");
    }
    let way = Way::begin(None, at(5)).unwrap().text();
    for no_way in [String::new(), "5".to_owned(), format!("{way}.1"), way.replace("5.", "x.")] {
        assert_eq!(Way::read(&no_way, at(6)), None, "{no_way}");
    }
}

#[test]
fn what_is_asked_follows_from_the_way_and_a_secret() {
    let (one, other) =
        (OpenId::of(Arc::new(Nobody)).unwrap(), OpenId::of(Arc::new(Nobody)).unwrap());
    let way = Way::begin(None, at(5)).unwrap();
    let parts = |openid: &OpenId, way: &Way| {
        let Asked { state, nonce, verifier } = openid.asked(way);
        [state, nonce, verifier]
    };
    let asked = parts(&one, &way);
    assert_eq!(asked, parts(&one, &Way::read(&way.text(), at(6)).unwrap()));
    assert_ne!(asked[0], asked[1]);
    assert_ne!(asked[1], asked[2]);
    // RFC 7636 wants 43 characters at least.
    assert!(asked.iter().all(|part| part.len() == 43));
    let changed = [
        parts(&other, &way),
        parts(&one, &Way { ticket: Some(KeyHash([1; 32])), ..way }),
        parts(&one, &Way { began: at(6), ..way }),
        parts(&one, &Way::begin(None, at(5)).unwrap()),
    ];
    assert!(changed.iter().all(|parts| parts.iter().all(|part| !asked.contains(part))));
}
