//! A start judges the system's clock by what it knows of this boot of the machine, or by the last
//! record.

use std::fs;
use std::path::Path;

use journal::Journal;
use journal::directory::LogJournal;
use journal::import::import;
use journal::portable::PortableFile;

use super::{KEY, Server, refused, serve};

/// Makes a data directory whose last record is of long ago; returns that time in milliseconds.
fn old_venue(data: &Path) -> i64 {
    let recorded = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/v1/amend.journal");
    let blocks = PortableFile::open(&recorded).unwrap();
    import(data, blocks, |_| ()).unwrap();
    LogJournal::open(data).unwrap().0.head().time.get()
}

fn last_time(data: &Path) -> i64 {
    LogJournal::open(data).unwrap().0.head().time.get()
}

/// Writes a stamp of this boot: `time` as of now.
fn stamp(data: &Path, time: i64) {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    let uptime = fs::read_to_string("/proc/uptime").unwrap();
    let at = uptime.split(' ').next().unwrap().replace('.', "") + "0";
    fs::write(data.join("clock"), format!("{} {at} {time}\n", boot.trim())).unwrap();
}

#[test]
fn a_clock_far_ahead_of_the_last_record_is_believed_when_somebody_says_so() {
    let dir = tempfile::tempdir().unwrap();
    for accept in ["--accept-clock", "OPENOUTCRY_ACCEPT_CLOCK"] {
        let data = dir.path().join(accept);
        old_venue(&data);
        for _ in 0..2 {
            let message = refused(&data, &[], KEY, 1);
            assert!(message.contains("CLOCK_AHEAD"), "{message}");
            assert!(message.contains("--accept-clock"), "{message}");
        }
        let mut command = serve(&data);
        if accept.starts_with("--") {
            command.arg(accept);
        } else {
            command.env(accept, "true");
        }
        assert_eq!(Server::from(command).stop().0.code(), Some(0));
        // From then on this boot's clock is known.
        assert_eq!(Server::start(&data).stop().0.code(), Some(0));
    }
}

#[test]
fn a_stamp_of_this_boot_tells_an_outage_from_a_leap() {
    const DAY_MS: i64 = 24 * 3_600_000;
    let dir = tempfile::tempdir().unwrap();
    // The boot's clock says that no time has passed.
    let data = dir.path().join("leap");
    let last = old_venue(&data);
    stamp(&data, last + 5_000);
    let (status, log) = Server::start(&data).stop();
    assert_eq!(status.code(), Some(0), "{log}");
    assert!(log.contains("has jumped ahead"), "{log}");
    let time = last_time(&data);
    assert!((last + 5_000..last + DAY_MS).contains(&time), "{last} {time}");

    // It says that all that time has passed.
    let data = dir.path().join("outage");
    let last = old_venue(&data);
    let now = fs::metadata(&data).unwrap().modified().unwrap();
    let now = now.duration_since(std::time::UNIX_EPOCH).unwrap().as_millis();
    stamp(&data, i64::try_from(now).unwrap());
    let (status, log) = Server::start(&data).stop();
    assert_eq!(status.code(), Some(0), "{log}");
    assert!(!log.contains("has jumped ahead"), "{log}");
    assert!(last_time(&data) > last + DAY_MS);

    // A stamp that says nothing, or too little.
    for wrong in ["", "x 1 2\n", "\u{0}"] {
        let data = dir.path().join(format!("wrong{}", wrong.len()));
        old_venue(&data);
        fs::write(data.join("clock"), wrong).unwrap();
        assert!(refused(&data, &[], KEY, 1).contains("CLOCK_AHEAD"));
    }
}
