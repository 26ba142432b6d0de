//! Unit tests of `src/s3/refusal.rs`.

use super::*;

fn xml(code: &str, message: &str) -> Vec<u8> {
    let top = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error>";
    format!("{top}<Code>{code}</Code><Message>{message}</Message><Key>k</Key></Error>").into_bytes()
}

#[test]
fn code_and_message_are_told_with_what_mends_it() {
    let none = told(&xml("NoSuchBucket", "The specified bucket doesn't exist"));
    let says = "NoSuchBucket: The specified bucket doesn't exist (make the bucket, or mend its \
                name in --archive-s3)";
    assert_eq!(none, says);
    assert_eq!(told(&xml("SlowDown", "Reduce your rate.")), "SlowDown: Reduce your rate.");
    assert_eq!(told(b"<Error><Code>InternalError</Code></Error>"), "InternalError");
}

#[test]
fn hostile_and_other_answers_stay_short_and_printable() {
    assert_eq!(told(b""), "");
    assert_eq!(told(b"<html>\n\x1b[31mno"), "<html>\\n\\u{1b}[31mno");
    assert_eq!(told(b"<Code>never closed"), "<Code>never closed");
    assert_eq!(told(&[0xff, b'x']), "\u{fffd}x");
    let long = told(&xml(&"c".repeat(500), &"\u{1b}".repeat(1_000)));
    assert_eq!(long.matches('c').count(), 300);
    assert_eq!((long.matches("\\u{1b}").count(), long.contains('\u{1b}')), (300, false));
    // What begins further on is not looked for.
    let far = [vec![b' '; LOOKED_AT], xml("NoSuchBucket", "x")].concat();
    assert!(!told(&far).contains("NoSuchBucket"));
}
