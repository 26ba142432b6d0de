//! What the house rules list: crates and names that are kept out of places, and why.

/// What the purest crates may use. `Cargo.toml` lets nobody use more than it names; this test keeps
/// a clock, a thread or a socket out of these manifests.
pub const MANIFESTS: [(&str, &str, &[&str]); 4] = [
    (
        "src/exchange/Cargo.toml",
        include_str!("../../src/exchange/Cargo.toml"),
        // Ratios, hashes, ids, hash tables with a fixed seed: nothing that could differ in a
        // replay.
        &[
            "data-encoding",
            "fixed",
            "hashbrown",
            "rustc-hash",
            "sha2",
            "smallvec",
            "thiserror",
            "uuid",
        ],
    ),
    (
        "src/journal/Cargo.toml",
        include_str!("../../src/journal/Cargo.toml"),
        &[
            "bincode",
            "crc32fast",
            "data-encoding",
            "exchange",
            "flate2",
            "libc",
            "memchr",
            "rustix", // system calls without unsafe code of ours
            "sha2",
            "sled",
            "thiserror",
        ],
    ),
    (
        "src/views/Cargo.toml",
        include_str!("../../src/views/Cargo.toml"),
        &[
            "exchange",
            "fixedbitset",
            "icu_casemap",
            "icu_normalizer",
            "memchr",
            "rustc-hash",
            "thiserror",
        ],
    ),
    (
        "src/engine/Cargo.toml",
        include_str!("../../src/engine/Cargo.toml"),
        // Threads and channels, but no runtime: who waits, and how, is the callers' business.
        &[
            "crossbeam-channel",
            "exchange",
            "journal",
            "parking_lot",
            "rustix", // the boot's clock
            "thiserror",
            "tracing",
            "views",
        ],
    ),
];

/// The folders of the crates, and how many files may import each other in a circle. Where there are
/// more than three, there are no more than the code has: the number may only become smaller.
pub const CIRCLES: [(&str, usize); 8] = [
    ("src/exchange/", 25),
    ("src/journal/", 12),
    ("src/views/", 8),
    ("src/engine/", 3),
    ("play/flow/", 3),
    ("src/http/", 3),
    ("play/src/", 3),
    ("replay/src/", 3),
];

/// Crates restricted to these files, and why.
pub const DOORS: [(&str, &[&str], &str); 10] = [
    (
        "flate2",
        &["src/journal/member.rs", "src/http/packed.rs", "src/http/packing.rs", "play/flow/"],
        "a format changes in one place",
    ),
    ("bincode", &["src/journal/snapshot.rs"], "a format changes in one place"),
    ("prometheus_client", &["src/http/metrics/print.rs"], "a format changes in one place"),
    ("sled", &["src/journal/"], "the store is behind the trait Journal"),
    ("parquet", &["replay/src/fills/"], "a file's columns are defined in one place"),
    ("plotters", &["replay/src/report/"], "charts are drawn in one place"),
    (
        "serde",
        &["src/http/", "src/cli/", "src/client/", "play/", "replay/"],
        "JSON is for the edge",
    ),
    (
        "serde_json",
        &["src/http/", "src/cli/", "src/client/", "play/", "replay/"],
        "JSON is for the edge",
    ),
    (
        "schemars",
        &["src/http/wire/", "src/http/openapi/"],
        "what an answer is like is said where it is",
    ),
    (
        "StatusCode",
        // `reply.rs` sets the statuses of successes: 200, 201.
        &["src/http/problem.rs", "src/http/reply.rs", "src/client/", "src/s3/", "play/src/"],
        "an error has its status from problem.rs",
    ),
];

/// Lines that may name a float, and why.
pub const FLOAT_LINES: [(&str, &str, &str); 5] = [
    ("src/http/wire/print.rs", "fn serialize_f32", "serde's word for a number that is refused"),
    ("src/http/wire/print.rs", "fn serialize_f64", "serde's word for a number that is refused"),
    ("src/http/json.rs", "fn visit_f64", "serde's word for a number with a point or an exponent"),
    ("src/cli/admin/figures.rs", "let seconds", "a format whose numbers are floats"),
    (
        "src/http/metrics/print.rs",
        "f64::INFINITY",
        "the bound of a format whose numbers are floats",
    ),
];

/// Iterations over hash tables whose results are sorted before anything depends on their order.
pub const SORTED_WALKS: [(&str, &str, &str); 1] =
    [("src/exchange/catalogue.rs", "slugs", "slugs_sorted sorts what it collects")];

/// Names that would make a replay differ from the first run, or reach outside the process.
pub const IMPURE: [(&str, &str); 24] = [
    ("SystemTime", "time comes in the record"),
    ("Instant", "time comes in the record"),
    ("Utc::now", "time comes in the record"),
    ("std::time", "time comes in the record"),
    ("rand", "nothing is drawn"),
    ("getrandom", "nothing is drawn"),
    ("RandomState", "its seed differs in every process"),
    ("DefaultHasher", "its result may differ by version"),
    ("std::fs", "no disk"),
    ("std::net", "no network"),
    ("std::io", "no input or output"),
    ("std::env", "no environment"),
    ("std::process", "no process"),
    ("std::thread", "no thread"),
    ("std::sync::Mutex", "nothing is shared"),
    ("std::sync::atomic", "nothing is shared"),
    ("std::sync::mpsc", "nothing is shared"),
    ("async", "nothing waits"),
    (".await", "nothing waits"),
    ("println!", "nothing is printed"),
    ("eprintln!", "nothing is printed"),
    ("HashMap", "a table with a random seed; FxHashMap has a fixed one"),
    ("HashSet", "a table with a random seed; FxHashSet has a fixed one"),
    ("thread_local!", "the state is the value"),
];

/// Names that would make a journal or read model depend on when or where it is folded. These rooms
/// may use disks (journal) and shared values.
pub const CLOCKED: [(&str, &str); 6] = [
    ("SystemTime", "time comes in the record"),
    ("Instant", "time comes in the record"),
    ("Utc::now", "time comes in the record"),
    ("getrandom", "nothing is drawn"),
    ("async", "nothing waits"),
    (".await", "nothing waits"),
];

/// The only file of the product that reads a clock.
pub const CLOCK: &str = "src/engine/clock.rs";
/// Calls that read the wall clock, allowed in [`CLOCK`] only.
pub const CALENDARS: [(&str, &str); 3] = [
    ("SystemTime", "engine/clock.rs is the only clock"),
    ("Utc::now", "engine/clock.rs is the only clock"),
    ("Local::now", "engine/clock.rs is the only clock"),
];

/// Macros that print. They panic if nobody takes what they print.
pub const PRINTING: [(&str, &str); 4] = [
    ("println!", "it panics if stdout takes nothing"),
    ("print!", "it panics if stdout takes nothing"),
    ("eprintln!", "it panics if stderr takes nothing"),
    ("eprint!", "it panics if stderr takes nothing"),
];
/// The only file of the server that prints.
pub const PRINTER: &str = "src/cli/output.rs";
/// What the others would print to.
pub const STREAMS: [(&str, &str); 2] = [
    ("stdout", "a reader who stalls would hold up the server: cli/output.rs has a queue"),
    ("stderr", "a reader who stalls would hold up the server: cli/output.rs has a queue"),
];

/// Files of the exchange that may name a bound, and why.
pub const BOUND_PLACES: [(&str, &str); 4] = [
    ("src/exchange/rules.rs", "journaled"),
    ("src/exchange/units.rs", "the range of a unit is part of the format"),
    ("src/exchange/ids.rs", "the width of an id is part of the format"),
    ("src/exchange/script/", "bounds of a text form shape no outcome"),
];
