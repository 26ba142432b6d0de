//! Applies the house rules to the whole source tree, one test per rule, and shows that each rule
//! can fail. `rooms.rs` has the lists, `rules.rs` the rules, `circles.rs` follows imports,
//! `source.rs` reads the files.

#![allow(clippy::unwrap_used)] // a test may stop at once

mod circles;
mod documents;
mod rooms;
mod rules;
mod source;

use std::sync::OnceLock;

use source::{Source, tree};

/// All sources, product and tests; read once.
fn everything() -> Vec<Source> {
    static TREE: OnceLock<Vec<Source>> = OnceLock::new();
    TREE.get_or_init(|| {
        tree(&["src", "play/src", "play/tests", "replay/src", "replay/tests", "tests", "benches"])
    })
    .clone()
}

/// The product's sources, without the tests, and without the script that runs in its build alone,
/// which tells cargo on stdout what it read.
fn product() -> Vec<Source> {
    let mut sources = everything();
    sources.retain(|source| {
        ["src/", "play/src/", "replay/src/"].iter().any(|ours| source.path.starts_with(ours))
            && !source.path.ends_with("/build.rs")
    });
    sources
}

/// The files of these rooms (top-level modules).
fn of_rooms(names: &[&str]) -> Vec<Source> {
    product().into_iter().filter(|source| names.contains(&source.room())).collect()
}

/// Asserts that a rule finds nothing in these files.
fn hold(sources: &[Source], rule: impl Fn(&Source) -> Vec<String>) {
    let found: Vec<String> = sources.iter().flat_map(rule).collect();
    assert!(found.is_empty(), "\n{}\n", found.join("\n"));
}

/// Asserts that a rule finds exactly one fault in the bad text, on its line, and none in the good
/// text.
fn guard(path: &str, bad: &str, good: &str, rule: impl Fn(&Source) -> Vec<String>) {
    let found = rule(&Source::new(path, bad));
    assert_eq!(found.len(), 1, "{bad}: {found:?}");
    assert!(found[0].starts_with(path), "{found:?}");
    let found = rule(&Source::new(path, good));
    assert!(found.is_empty(), "{good}: {found:?}");
}

#[test]
fn some_crates_are_used_by_listed_files_only() {
    hold(&product(), rules::crates_with_one_door);
}

#[test]
fn some_crates_are_used_by_listed_files_only_can_fail() {
    let rule = rules::crates_with_one_door;
    guard("src/journal/record.rs", "use bincode::Encode;", "use super::fields::check;", rule);
    guard("src/http/routes.rs", "let s = StatusCode::OK;", "let s = reply::created();", rule);
    guard("src/journal/record.rs", "use serde_json::Value;", "use super::fields;", rule);
}

#[test]
fn no_floats_where_state_is_kept() {
    hold(&of_rooms(&["exchange", "journal", "views", "engine", "http"]), rules::floats);
}

#[test]
fn no_floats_can_fail() {
    let good = "let a = (1..5, x.0.1, 0x1e5, 1_000, 7.pow(2)); // 1.5 f64";
    for bad in ["let a: f64 = b;", "fn f(a: f32) {}", "let a = 1.5;", "let a = 2.;", "let a = 1e5;"]
    {
        guard("src/exchange/a.rs", bad, good, rules::floats);
    }
    let serde = "fn visit_f64(self, _: f64) {}";
    assert!(rules::floats(&Source::new("src/http/json.rs", serde)).is_empty());
    assert!(!rules::floats(&Source::new("src/http/wire/order.rs", serde)).is_empty());
}

#[test]
fn the_exchange_is_pure() {
    hold(&of_rooms(&["exchange"]), |source| rules::banned_words(source, &rooms::IMPURE));
}

#[test]
fn the_exchange_is_pure_can_fail() {
    let rule = |source: &Source| rules::banned_words(source, &rooms::IMPURE);
    let good = "use std::fmt;\nuse rustc_hash::FxHashMap;\nlet operand = 1; // std::fs";
    for bad in [
        "let now = Instant::now();",
        "use chrono::{Utc}; Utc::now();",
        "use std::fs::File;",
        "use std::{fmt, io::Read};",
        "async fn f() {}",
        "let x = rand::random();",
        "let m = HashMap::new();",
        "std::thread::spawn(f);",
        "println!();",
    ] {
        guard("src/exchange/a.rs", bad, good, rule);
    }
}

#[test]
fn journal_and_read_model_know_no_clock() {
    let rooms = of_rooms(&["journal", "views", "replay"]);
    hold(&rooms, |source| rules::banned_words(source, &rooms::CLOCKED));
}

#[test]
fn there_is_one_clock() {
    let mut sources = product();
    // The player is a client, in a time of its own.
    sources.retain(|source| source.path != rooms::CLOCK && !source.path.starts_with("play/"));
    hold(&sources, |source| rules::banned_words(source, &rooms::CALENDARS));
}

#[test]
fn there_is_one_clock_can_fail() {
    let rule = |source: &Source| rules::banned_words(source, &rooms::CALENDARS);
    guard("src/http/a.rs", "let now = SystemTime::now();", "let now = clock::now();", rule);
    let rule = |source: &Source| rules::banned_words(source, &rooms::CLOCKED);
    guard("src/views/a.rs", "f().await;", "f(awaited);", rule);
}

#[test]
fn hash_tables_are_never_iterated() {
    hold(&of_rooms(&["exchange"]), rules::hash_walks);
}

#[test]
fn hash_tables_are_never_iterated_can_fail() {
    let rule = rules::hash_walks;
    let declared = "struct A { rows: FxHashMap<u8, u8>, list: Vec<u8> }\n";
    let good = format!("{declared}fn f(a: A) {{ a.rows.get(1); a.list.iter(); }}");
    for walk in [
        "fn f(a: A) { a.rows.iter(); }",
        "fn f(a: A) { a.rows\n        .values(); }",
        "fn f(a: A) { for r in &a.rows { g(r) } }",
    ] {
        guard("src/exchange/a.rs", &format!("{declared}{walk}"), &good, rule);
    }
    guard("src/exchange/a.rs", "fn f(m: &FxHashSet<u8>) { m.iter(); }", &good, rule);
}

#[test]
fn domain_types_derive_no_serialization() {
    let mut sources = of_rooms(&["exchange", "views"]);
    sources.extend(of_rooms(&["engine"]));
    hold(&sources, rules::derives);
}

#[test]
fn domain_types_derive_no_serialization_can_fail() {
    let bad = "#[derive(\n    Debug,\n    Encode,\n)]\nstruct A;";
    guard("src/exchange/a.rs", bad, "#[derive(Debug, Clone)]\nstruct A;", rules::derives);
}

#[test]
fn files_begin_with_a_module_comment() {
    hold(&everything(), rules::openings);
}

#[test]
fn files_begin_with_a_module_comment_can_fail() {
    let rule = rules::openings;
    guard("src/a/b.rs", "use std::fmt;\n//! Late.", "//! What lives here.\n", rule);
    guard("src/a/mod.rs", "//! A room.\n", "//! A room.\n//!\n//! Must not know: b.\n", rule);
}

#[test]
fn files_functions_and_lines_are_short() {
    hold(&everything(), rules::sizes);
}

#[test]
fn files_functions_and_lines_are_short_can_fail() {
    let rule = rules::sizes;
    let file = |lines: usize| "const A: u8 = 1;\n".repeat(lines);
    guard("src/a.rs", &file(401), &(file(400) + "// more\n\n#[cfg(test)]\nmod t {\n}\n"), rule);
    let function = |lines: usize| format!("fn f() {{\n{}}}\n", "    g();\n".repeat(lines - 2));
    guard("src/a.rs", &function(71), &function(70), rule);
    guard("src/a.rs", &format!("// {}", "\u{e9}".repeat(98)), &"/".repeat(100), rule);
}

#[test]
fn names_are_not_empty_words() {
    hold(&everything(), rules::names);
}

#[test]
fn names_are_not_empty_words_can_fail() {
    let rule = rules::names;
    for bad in ["struct OrderManager;", "fn order_helper() {}", "mod utils;", "fn process() {}"] {
        guard("src/engine/a.rs", bad, "fn process_id() {}\nstruct Dispute;", rule);
    }
    assert_eq!(rule(&Source::new("src/engine/helper.rs", "")).len(), 1);
    assert!(rule(&Source::new("src/engine/halt.rs", "")).is_empty());
    assert!(rule(&Source::new("src/http/a.rs", "fn order_handler() {}")).is_empty());
    assert!(!rule(&Source::new("src/engine/a.rs", "fn order_handler() {}")).is_empty());
}

#[test]
fn nothing_panics() {
    hold(&product(), rules::panics);
}

#[test]
fn nothing_panics_can_fail() {
    let rule = rules::panics;
    let good = "let a = b.unwrap_or(0); // .unwrap()\n#[cfg(test)]\nmod t { fn f() { panic!() } }";
    for bad in ["a.unwrap();", "a.expect(\"b\");", "panic!(\"a\");", "todo!()", "dbg!(a);"] {
        guard("src/a.rs", bad, good, rule);
    }
}

/// Whoever reads what a server prints may have left, stall, or have a full disk.
#[test]
fn one_file_prints_and_it_cannot_fail() {
    hold(&product(), |source| rules::banned_words(source, &rooms::PRINTING));
    let mut server = product();
    server.retain(|source| source.path.starts_with("src/") && source.path != rooms::PRINTER);
    hold(&server, |source| rules::banned_words(source, &rooms::STREAMS));
}

#[test]
fn one_file_prints_and_it_cannot_fail_can_fail() {
    let macros = |source: &Source| rules::banned_words(source, &rooms::PRINTING);
    let good = "output::note(\"a\"); // eprintln!\n#[cfg(test)]\nmod t { fn f() { println!() } }";
    for bad in ["println!(\"a\");", "print!(\"a\");", "eprintln!();", "std::eprint!(\"a\");"] {
        guard("replay/src/a.rs", bad, good, macros);
    }
    let streams = |source: &Source| rules::banned_words(source, &rooms::STREAMS);
    for bad in [
        "writeln!(io::stderr(), \"a\");",
        "let log = fmt().with_writer(std::io::stdout);",
        "use std::io::stderr;",
    ] {
        guard("src/cli/a.rs", bad, "said.use_stderr(); // stdout", streams);
    }
}

#[test]
fn no_result_is_ignored() {
    hold(&product(), rules::ignored);
}

#[test]
fn no_result_is_ignored_can_fail() {
    let rule = rules::ignored;
    let good = "let _lock = a()?; let (_, b) = c;\n#[cfg(test)]\nmod t { fn f() { let _ = a(); } }";
    for bad in ["let _ = write!(a, \"b\");", "let _: Result<(), E> = a();", "if let _ = a() {}"] {
        guard("src/a.rs", bad, good, rule);
    }
}

#[test]
fn no_todo_comments() {
    hold(&everything(), rules::promises);
}

#[test]
fn no_todo_comments_can_fail() {
    guard("src/a.rs", "f(); // TODO: better", "let a = \"TODO\";", rules::promises);
}

#[test]
fn bounds_of_the_exchange_are_journaled() {
    let mut sources = of_rooms(&["exchange"]);
    sources.retain(|source| {
        !rooms::BOUND_PLACES.iter().any(|(place, _)| source.path.starts_with(place))
    });
    hold(&sources, rules::bounds);
}

#[test]
fn bounds_of_the_exchange_are_journaled_can_fail() {
    guard("src/exchange/a.rs", "const A_MAX: u8 = 1;", "const MAXIMAL: u8 = 1;", rules::bounds);
}

/// Crates in a manifest's section of dependencies that its list does not have.
fn strangers(manifest: &str, known: &[&str]) -> Vec<String> {
    let mut inside = false;
    let mut found = Vec::new();
    for line in manifest.lines() {
        if line.starts_with('[') {
            inside = line == "[dependencies]";
        } else if inside
            && let Some((name, _)) = line.split_once(['=', '.'])
            && !known.contains(&name.trim())
        {
            found.push(name.trim().to_owned());
        }
    }
    found
}

#[test]
fn the_pure_crates_stay_pure() {
    for (path, manifest, known) in rooms::MANIFESTS {
        assert_eq!(strangers(manifest, known), [""; 0], "{path}");
    }
}

#[test]
fn the_pure_crates_stay_pure_can_fail() {
    let manifest =
        "[dependencies]\nsha2.workspace = true\ntokio = \"1\"\n[dev-dependencies]\nx.y = 1";
    assert_eq!(strangers(manifest, &["sha2"]), ["tokio"]);
}

#[test]
fn no_circle_has_more_than_three_files() {
    for (folder, most) in rooms::CIRCLES {
        for circle in circles::circles(folder, &product()) {
            assert!(circle.len() <= most, "{} files import each other: {circle:#?}", circle.len());
        }
    }
}

#[test]
fn no_circle_has_more_than_three_files_can_fail() {
    let found = |a: &str, b: &str, c: &str| {
        let texts = [("src/x/a.rs", a), ("src/x/b/mod.rs", b), ("src/x/b/c.rs", c)];
        let mut sources = texts.map(|(path, text)| Source::new(path, text)).to_vec();
        sources.push(Source::new("src/x/lib.rs", "mod a;\npub use a::A;\n"));
        circles::circles("src/x/", &sources).into_iter().map(|circle| circle.len()).max()
    };
    let (a, b) = ("use super::{b::{B, c::C}};", "use std::fmt;\npub(super) fn f() {}");
    assert_eq!(found(a, b, "use super::B;"), None);
    assert_eq!(found(a, b, "use super::super::a::A;"), Some(2));
    assert_eq!(found(a, "fn f() -> crate::a::A {}", "use super::B;"), Some(3));
    assert_eq!(found("use super::b::B;", b, "use crate::A;"), None);
    assert_eq!(found("use super::b::c::C;", b, "use crate::A;"), Some(3), "by way of lib.rs");
    let tested = "use super::B;\n#[cfg(test)]\nmod t { use crate::a::A; }";
    assert_eq!(found(a, b, tested), None);
}
