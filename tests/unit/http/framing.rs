//! Unit tests of `src/http/framing.rs`.

use super::*;

const BODY_MAX: u64 = 20;

/// Follows the bytes cut at these places. What may be read, and why no more.
fn read(bytes: &[u8], cuts: [usize; 2]) -> (Vec<u8>, Option<Fault>) {
    let mut framing = Framing::new(BODY_MAX);
    let mut bytes = bytes.to_vec();
    let [first, second] = cuts.map(|cut| cut.min(bytes.len()));
    let mut done = 0;
    for end in [first, second, bytes.len()] {
        if let Err((sound, fault)) = framing.follow(&mut bytes[done..end]) {
            bytes.truncate(done + sound);
            return (bytes, Some(fault));
        }
        done = end;
    }
    assert!(framing.is_between_requests(), "{}", String::from_utf8_lossy(&bytes));
    (bytes, None)
}

/// All ways to cut bytes into three parts.
fn cuts(bytes: &[u8]) -> impl Iterator<Item = [usize; 2]> {
    let length = bytes.len();
    (0..=length).flat_map(move |first| (first..=length).map(move |second| [first, second]))
}

#[test]
fn sound_requests_pass_unchanged_however_they_are_cut() {
    let requests = [
        "GET / HTTP/1.1\r\nHost: h\r\n\r\n",
        "\r\n\r\n\r\n\r\nGET / HTTP/1.0\r\n\r\n",
        "P / HTTP/1.1\r\ncontent-LENGTH:\t4 \r\nContent-Length: 4\r\n\r\n\n\n\r\n",
        "P / HTTP/1.1\r\nContent-Length: 0\r\n\r\n",
        "P / HTTP/1.1\r\nTransfer-Encoding: gzip, Chunked\r\n\r\n2;a=b\r\n\n\n\r\n0\r\n\r\n",
        "P / HTTP/1.1\r\nTransfer-encoding:chunked\r\nContent-Length: 9\r\n\r\n\
             a\r\n0123456789\r\nA \r\n0123456789\r\n0\r\nX: y\r\n\r\n",
    ];
    for first in requests {
        let two = [first, requests[0]].concat().into_bytes();
        for cut in cuts(&two) {
            assert_eq!(read(&two, cut), (two.clone(), None), "{first:?} {cut:?}");
        }
    }
}

#[test]
fn what_is_refused_ends_in_a_byte_that_no_parser_takes() {
    for bytes in [
        "GET / HTTP/1.1\n",
        "GET / HTTP/1.1\r\nHost: h\n",
        "GET / HTTP/1.1\r\nHost: h\r\n\n",
        "\n",
        "\r\n\r\n\r\n\r\n\r\n",
        "PRI * HTTP/2.0\r\n",
        "P / HTTP/1.1\r\nTransfer-Encoding: chunked\r\ntransfer-encoding: chunked\r\n",
        "P / HTTP/1.1\r\nTransfer-Encoding: chunked, chunked\r\n",
        "P / HTTP/1.1\r\nTransfer-Encoding: chunked, gzip\r\n",
        "P / HTTP/1.1\r\nTransfer-Encoding:\r\n",
        "P / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n",
        "P / HTTP/1.1\r\nContent-Length: +1\r\n",
        "P / HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n",
    ] {
        let begin = "P / HTTP/1.1\r\nContent-Length: 1\r\n\r\n\n";
        let bytes = [begin, bytes].concat();
        let mut refused = bytes.clone().into_bytes();
        *refused.last_mut().unwrap() = 0;
        let more = format!("{bytes}GET / HTTP/1.1\r\n\r\n").into_bytes();
        for cut in cuts(&more) {
            let expected = (refused.clone(), Some(Fault::BadHead));
            assert_eq!(read(&more, cut), expected, "{bytes:?} {cut:?}");
        }
    }
    let long = format!("P / HTTP/1.1\r\nContent-Length: {}1\r\n", "0".repeat(LINE_KEPT_MAX));
    assert_eq!(read(long.as_bytes(), [40, 40]).1, Some(Fault::BadHead));
    for (body, fault) in [
        ("2\n", Fault::Refused),
        ("2\r\n{}\r\n0\r\nX: y\n", Fault::Refused),
        ("15", Fault::TooLarge),
        ("2\r\n{}\r\n13", Fault::TooLarge),
        ("fffffffffffffffff", Fault::TooLarge),
    ] {
        let bytes = format!("P / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n{body}\r\n");
        for cut in cuts(bytes.as_bytes()) {
            assert_eq!(read(bytes.as_bytes(), cut).1, Some(fault), "{body:?} {cut:?}");
        }
    }
}

#[test]
fn a_higher_minor_version_is_read_as_ours() {
    let (bytes, fault) = read(b"GET /HTTP/1.9 HTTP/1.9\r\nHTTP/1.9\r\n\r\n", [0, 0]);
    assert_eq!((&*bytes, fault), (&b"GET /HTTP/1.9 HTTP/1.1\r\nHTTP/1.9\r\n\r\n"[..], None));
}
