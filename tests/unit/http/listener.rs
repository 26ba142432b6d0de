//! Unit tests of `src/http/listener.rs`.

use super::*;

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[tokio::test]
async fn a_socket_has_its_mode_and_goes_with_its_listener() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("admin.sock");
    let listener = Listener::unix(&path, 0o640).unwrap();
    assert_eq!(mode(&path), 0o640);
    assert_eq!(listener.url(false).unwrap(), format!("unix:{}", path.display()));
    drop(listener);
    assert!(!path.exists());
}

#[tokio::test]
async fn a_stale_socket_is_replaced_and_nothing_else_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("admin.sock");
    let running = Listener::unix(&path, 0o660).unwrap();
    let refused = Listener::unix(&path, 0o660).unwrap_err();
    assert!(refused.to_string().contains("another server"), "{refused}");
    // As a killed server leaves it: the file without its listener.
    let moved = folder.path().join("moved");
    fs::rename(&path, &moved).unwrap();
    drop(running);
    fs::rename(&moved, &path).unwrap();
    let next = Listener::unix(&path, 0o660).unwrap();
    fs::remove_file(&path).unwrap();
    fs::write(&path, "somebody's").unwrap();
    let refused = Listener::unix(&path, 0o660).unwrap_err();
    assert!(refused.to_string().contains("no socket"), "{refused}");
    drop(next);
    assert_eq!(fs::read_to_string(&path).unwrap(), "somebody's");
}
