//! Unit tests of `src/cli/admin/top/screen.rs`.

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use serde_json::json;

use super::*;

#[test]
fn a_look_is_drawn_with_its_warnings_and_books() {
    let spread = json!({"perSecond": 12, "p50Microseconds": 900, "p99Microseconds": 12_345});
    let told = json!({
        "state": "ready", "warnings": ["ARCHIVE_FAILING"], "headSequence": 4711,
        "requests": {"writes": spread}, "diskFreeBytes": 3_221_225_472_u64,
        "books": [{"market": "will-it-rain", "bestBid": "0.41", "bestAsk": "0.44"}],
    });
    let mut terminal = Terminal::new(TestBackend::new(100, 24)).unwrap();
    terminal.draw(|frame| page(frame, "https://venue.example", &told, "no answer")).unwrap();
    let drawn = terminal.backend().to_string();
    for part in [
        "https://venue.example  ready  ARCHIVE_FAILING  no answer",
        "4711",
        "0.900",
        "12.345",
        "3 GiB",
        "will-it-rain",
        "0.44",
    ] {
        assert!(drawn.contains(part), "{part} in\n{drawn}");
    }
    // A small window shows what it can.
    let mut small = Terminal::new(TestBackend::new(5, 2)).unwrap();
    small.draw(|frame| page(frame, "x", &Value::Null, "")).unwrap();
}

#[test]
fn units_are_those_that_people_read() {
    assert_eq!(
        [0, 1023, 1024, 5 << 20, 1 << 50].map(bytes),
        ["0 B", "1023 B", "1 KiB", "5 MiB", "1024 TiB"]
    );
    assert_eq!(["-", "1500", "18446744073709551615"].map(millis), ["-", "1.500", "beyond"]);
}
