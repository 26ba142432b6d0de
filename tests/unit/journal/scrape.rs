//! Unit tests of `src/journal/scrape.rs`.

use super::*;

/// A file on a dead device: every read fails, also one behind its end.
struct Dead(u64);

impl ReadAt for Dead {
    fn read_at(&self, _: &mut [u8], offset: u64) -> io::Result<usize> {
        assert!(offset < self.0, "read on at {offset}, behind the end");
        Err(io::Error::other("no device"))
    }
}

#[test]
fn a_search_ends_with_the_file_where_every_read_fails() {
    for length in [0, 1, 4_096, 10_000, 9 << 20] {
        let lost = scrape(&Dead(length), length, |_, _| panic!("no byte was read"));
        assert_eq!(wide(lost), length);
    }
}

#[test]
fn only_regular_files_are_searched() {
    let folder = tempfile::tempdir().unwrap();
    let refused = scrape_file(folder.path(), |_, _| ()).unwrap_err();
    assert_eq!(refused.to_string(), "not a regular file");
    assert!(Damaged::open(folder.path()).is_err());
}
