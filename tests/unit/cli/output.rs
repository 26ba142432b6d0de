//! Unit tests of `src/cli/output.rs`.

#![allow(clippy::unwrap_used)] // a test may stop

use std::io::Read;
use std::sync::Mutex;

use super::*;

const LONG_WAIT: Duration = Duration::from_mins(1);

fn line(number: usize) -> Vec<u8> {
    format!("line {number:0>1000}\n").into_bytes()
}

#[test]
fn a_stalled_reader_holds_nobody_up_and_costs_only_lines_beyond_the_bound() {
    static RECOVERED: Mutex<u64> = Mutex::new(0);
    let (mut reader, writer) = io::pipe().unwrap();
    let lines = Lines::start("log", writer, |lost| *RECOVERED.lock().unwrap() += lost).unwrap();
    let count = 3_000;
    for number in 0..count {
        lines.put(line(number), None);
    }
    let lost = usize::try_from(lines.counts.lost.load(Ordering::Relaxed)).unwrap();
    // What fits the bound, and the pipe's own buffer, waits.
    assert!((1..count - 1_000).contains(&lost), "{lost}");
    assert!(!lines.put_and_wait(Vec::new(), Duration::from_millis(1)), "nobody reads");

    let reading = std::thread::spawn(move || {
        let mut text = Vec::new();
        reader.read_to_end(&mut text).unwrap();
        text
    });
    for bytes in [Vec::new(), line(count), Vec::new()] {
        assert!(lines.put_and_wait(bytes, LONG_WAIT));
    }
    assert_eq!(*RECOVERED.lock().unwrap(), u64::try_from(lost).unwrap());
    drop(lines);
    let text = reading.join().unwrap();
    let kept: Vec<_> = text.split_inclusive(|byte| *byte == b'\n').collect();
    assert_eq!(kept.len(), count + 1 - lost);
    assert_eq!((kept[0], kept[kept.len() - 1]), (&line(0)[..], &line(count)[..]));
}

#[test]
fn a_reader_who_left_and_a_full_disk_are_counted() {
    let (reader, writer) = io::pipe().unwrap();
    drop(reader);
    let full = File::options().write(true).open("/dev/full").unwrap();
    for stream in [File::from(std::os::fd::OwnedFd::from(writer)), full] {
        let lines = Lines::start("log", stream, |_| ()).unwrap();
        for lost in 1..4 {
            assert!(!lines.put_and_wait(line(0), LONG_WAIT));
            assert_eq!(lines.counts.lost.load(Ordering::Relaxed), lost);
        }
        assert_eq!(lines.counts.waiting_bytes.load(Ordering::Relaxed), 0);
    }
}

#[test]
fn a_stream_that_is_told_not_to_wait_is_waited_for() {
    let (mut reader, writer) = io::pipe().unwrap();
    rustix::io::ioctl_fionbio(&writer, true).unwrap();
    let lines = Lines::start("log", writer, |_| ()).unwrap();
    for number in 0..500 {
        lines.put(line(number), None);
    }
    // The thread ends after the last line, and closes the pipe.
    drop(lines);
    let mut text = Vec::new();
    reader.read_to_end(&mut text).unwrap();
    assert!(text == (0..500).flat_map(line).collect::<Vec<_>>());
}

#[test]
fn a_line_after_half_a_line_begins_anew() {
    let dir = tempfile::tempdir().unwrap();
    let mut file = File::create(dir.path().join("log")).unwrap();
    let mut torn = false;
    assert!(write_line(&mut file, b"whole\n", &mut torn) && !torn);
    file.write_all(b"ha").unwrap();
    torn = true;
    assert!(write_line(&mut file, b"", &mut torn) && torn);
    assert!(write_line(&mut file, b"next\n", &mut torn) && !torn);
    assert!(write_line(&mut file, b"last\n", &mut torn));
    let text = std::fs::read_to_string(dir.path().join("log")).unwrap();
    assert_eq!(text, "whole\nha\nnext\nlast\n");
}
