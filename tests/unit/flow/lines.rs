//! Unit tests of `play/flow/lines.rs`.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::*;
use crate::rows::FillRow;

const FILL: &str =
    r#"{"line":3,"market":"m","taker":2,"maker":1,"outcome":"no","price":"0.40","qty":"1.5"}"#;

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

fn read(bytes: Vec<u8>) -> Vec<Result<(LineNo, FillRow), String>> {
    Source::bytes(bytes).rows().map(|row| row.map_err(|e| e.to_string())).collect()
}

#[test]
fn gzip_and_plain_read_the_same() {
    let text = format!("{FILL}\n{FILL}\n");
    let plain = read(text.clone().into_bytes());
    assert_eq!(plain.len(), 2);
    assert_eq!(plain, read(gzip(&text)));
    let members = [gzip(FILL), gzip("\n"), gzip(FILL)].concat();
    assert_eq!(plain, read(members));
}

#[test]
fn a_cut_gzip_is_an_error_with_its_line() {
    let mut cut = gzip(&format!("{FILL}\n").repeat(500));
    cut.truncate(cut.len() - 9);
    let rows = read(cut);
    assert!(rows.last().unwrap().as_ref().unwrap_err().contains("cannot be read"));
}

#[test]
fn a_bad_line_is_named_and_ends_the_reading() {
    let rows = read(format!("{FILL}\n{{}}\n{FILL}").into_bytes());
    assert_eq!(rows.len(), 2);
    assert!(rows[1].as_ref().unwrap_err().starts_with("line 2: missing field"));
}

#[test]
fn a_line_has_a_bound() {
    let rows = read(vec![b' '; 1 << 17]);
    assert_eq!(rows, [Err("line 1: longer than 65536 bytes".to_owned())]);
}
