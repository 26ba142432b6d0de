//! Unit tests of `src/journal/store.rs`.

use super::*;

/// Damage keeps a process manager from another start, which a lack of space must not.
#[test]
fn an_unreadable_disk_is_damage_and_a_full_one_is_not() {
    let damaged = |error: io::Error| StoreError::of(Step::Open, &error, &error).damaged;
    assert!(damaged(io::Error::from_raw_os_error(libc::EIO)));
    assert!(damaged(ErrorKind::UnexpectedEof.into()) && damaged(ErrorKind::InvalidData.into()));
    let passing =
        [libc::ENOSPC, libc::EACCES, libc::EROFS, libc::ENOENT, libc::EMFILE, libc::EISDIR];
    for code in passing {
        assert!(!damaged(io::Error::from_raw_os_error(code)), "{code}");
    }
}
