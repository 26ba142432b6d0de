//! Unit tests of `src/http/assets.rs`.

#![allow(clippy::unwrap_used)] // a test may stop

use super::*;

#[test]
fn the_page_names_its_files_by_their_hash_and_each_is_there() {
    let files = Dashboard::BuiltIn;
    let files = files.assets().unwrap();
    let packed = unpacked(FOLDER).unwrap();
    let page = packed.iter().find(|(path, _)| path == PAGE).unwrap();
    let page = str::from_utf8(&page.1).unwrap();
    let mut named = 0;
    for part in page.split(ASSETS).skip(1) {
        let path = part.split('"').next().unwrap();
        assert!(files.all.contains_key(path), "{path}");
        named += 1;
    }
    assert!(named > 3, "the page names its styles and its script");
    assert!(files.below.starts_with(ASSETS) && files.below.len() > ASSETS.len() + 1);
}

#[test]
fn what_is_for_authors_is_not_served() {
    let files = Dashboard::BuiltIn;
    let files = files.assets().unwrap();
    for path in files.all.keys() {
        assert!(!path.starts_with("tests/") && media_of(path).is_some(), "{path}");
    }
    assert_eq!(media_of("README.md"), None);
    assert_eq!(media_of("vendor/htm.d.ts"), None);
    assert_eq!(media_of("js/app.js"), Some("text/javascript; charset=utf-8"));
}

#[test]
fn comments_are_not_served() {
    let script = "// About it.\nlet a = \"// text\"; // beside\n  /** @type {x} */\n/**\n * Two\n */\n\
                  const b = /** @type {y} */ (a);\n";
    let served = "let a = \"// text\"; // beside\nconst b = /** @type {y} */ (a);\n";
    assert_eq!(uncommented(script), served);
}

/// The script that a browser loads stays small.
#[test]
fn all_script_is_under_150_kilobytes_compressed() {
    let files = Dashboard::BuiltIn;
    let files = files.assets().unwrap().all.values();
    let scripts = files.filter(|(media, _)| media.starts_with("text/javascript"));
    let bytes: usize = scripts.map(|(_, script)| script.body(true).len()).sum();
    assert!((10_000..150_000).contains(&bytes), "{bytes}");
}

#[test]
fn an_operators_own_copy_is_read_whole_but_what_is_hidden() {
    let dir = tempfile::tempdir().unwrap();
    assert!(Assets::read(dir.path()).is_err(), "it has no page");
    let write = |name: &str, text: &str| std::fs::write(dir.path().join(name), text).unwrap();
    std::fs::create_dir_all(dir.path().join("js")).unwrap();
    std::fs::create_dir_all(dir.path().join(".git")).unwrap();
    write("index.html", "<script src=\"/assets/js/app.js\"></script>");
    write("js/app.js", "own");
    write(".git/config.js", "hidden");
    write(".hidden.js", "hidden");
    write("notes.txt", "no file of a page");
    std::os::unix::fs::symlink("/etc/hostname", dir.path().join("js/link.js")).unwrap();
    let one = Assets::read(dir.path()).unwrap();
    assert_eq!(one.all.keys().collect::<Vec<_>>(), ["js/app.js"]);
    assert!(one.file(&format!("{}js/app.js", one.below)).is_some());
    assert!(one.file("/assets/js/app.js").is_none());
    write("js/app.js", "changed");
    assert_ne!(Assets::read(dir.path()).unwrap().below, one.below, "its name changes with it");
    assert!(Dashboard::Absent.assets().is_none());
}
