//! The rooms of the house: who may import whom, and which crates of others each may use. The
//! lists are the rule; a new arrow or crate is added here, with the reason, or not at all.

use crate::source::Source;

/// Crates that any room may use: errors as enums.
const EVERYWHERE: [&str; 1] = ["thiserror"];

/// One room.
pub struct Room {
    /// Folder under `src`, or the root file, or the member `replay`.
    pub name: &'static str,
    /// Rooms it may import.
    pub ours: &'static [&'static str],
    /// Crates of others it may use; `*` for any.
    pub others: &'static [&'static str],
}

impl Room {
    /// Whether it may import that room.
    pub fn may_import(&self, room: &str) -> bool {
        self.ours.contains(&room)
    }

    /// Whether it may use that crate.
    pub fn may_use(&self, name: &str) -> bool {
        self.others.contains(&"*") || self.others.contains(&name) || EVERYWHERE.contains(&name)
    }
}

/// Every room, in reading order.
pub const ROOMS: [Room; 10] = [
    Room {
        name: "exchange",
        ours: &[],
        // Ratios, hashes, ids, tables with a fixed seed; nothing that could differ in a replay.
        others: &["fixed", "sha2", "uuid", "rustc_hash", "data_encoding"],
    },
    Room {
        name: "journal",
        ours: &["exchange"],
        others: &[
            "bincode",
            "crc32fast",
            "flate2",
            "libc",
            "memchr",
            "sha2",
            "sled",
            "data_encoding",
        ],
    },
    Room {
        name: "projection",
        ours: &["exchange"],
        others: &["fixedbitset", "memchr", "rustc_hash"],
    },
    Room {
        name: "engine",
        ours: &["exchange", "journal", "projection"],
        // Queues between threads, reply slots, the read model's lock, the log, a clock that nobody
        // sets.
        others: &["crossbeam_channel", "parking_lot", "rustix", "tokio", "tracing"],
    },
    Room {
        name: "flow",
        ours: &["exchange"],
        // The recorded flow that the player and the demonstration read: gzipped lines of JSON.
        others: &["serde", "serde_json", "flate2", "chrono", "data_encoding", "rustc_hash"],
    },
    Room {
        name: "api",
        ours: &["exchange", "projection", "engine"],
        others: &[
            "bytes",
            "chrono",
            "data_encoding",
            "flate2", // packing long answers, unpacking the pages that show the API's description
            "form_urlencoded",
            "getrandom",
            "http_body_util",
            "hyper",
            "hyper_util",
            "matchit",
            "parking_lot",
            "prometheus_client",
            "rustc_hash",
            "rustix", // holding lanes on cores
            "serde",
            "serde_json",
            "sha2",
            "subtle",
            "tokio",
            "tracing",
            "utoipa_swagger_ui_vendored",
            "uuid",
        ],
    },
    Room {
        name: "cli",
        ours: &["exchange", "journal", "projection", "engine", "flow", "api"],
        others: &["*"],
    },
    Room { name: "lib", ours: &[], others: &[] },
    Room { name: "main", ours: &["cli"], others: &["clap"] },
    Room {
        name: "replay",
        ours: &["exchange", "journal", "projection"],
        // The command line, JSON, times and ids as people write them, a bar for long work, fills as
        // typed columns, charts.
        others: &["clap", "serde_json", "chrono", "uuid", "indicatif", "parquet", "plotters"],
    },
];

/// A room that the table does not know may import nothing.
const UNKNOWN: Room = Room { name: "?", ours: &[], others: &[] };

/// The room of a file.
pub fn of(source: &Source) -> &'static Room {
    ROOMS.iter().find(|room| room.name == source.room()).unwrap_or(&UNKNOWN)
}

/// Crates that only these files may use, and why.
pub const DOORS: [(&str, &[&str], &str); 9] = [
    (
        "flate2",
        &["src/journal/member.rs", "src/flow/", "src/api/docs.rs", "src/api/packing.rs"],
        "a format changes in one place",
    ),
    ("bincode", &["src/journal/record"], "a format changes in one place"),
    ("prometheus_client", &["src/api/metrics/print.rs"], "a format changes in one place"),
    ("sled", &["src/journal/"], "the store is behind the trait Journal"),
    ("parquet", &["replay/src/fills/"], "a file's columns are defined in one place"),
    ("plotters", &["replay/src/report/"], "charts are drawn in one place"),
    ("serde", &["src/api/", "src/cli/", "src/flow/", "replay/"], "JSON is for the edge"),
    ("serde_json", &["src/api/", "src/cli/", "src/flow/", "replay/"], "JSON is for the edge"),
    (
        "StatusCode",
        // `reply.rs` puts the status of an answer that is no problem: 200, 201.
        &["src/api/problem.rs", "src/api/reply.rs", "src/cli/client.rs", "src/cli/play/"],
        "an error has its status from problem.rs",
    ),
];

/// Lines that may name a float, and why.
pub const FLOAT_LINES: [(&str, &str, &str); 4] = [
    ("src/api/wire/json.rs", "fn visit_f64", "serde's word for a number that is refused unread"),
    ("src/api/wire/print.rs", "fn serialize_f32", "serde's word for a number that is refused"),
    ("src/api/wire/print.rs", "fn serialize_f64", "serde's word for a number that is refused"),
    ("src/api/metrics/print.rs", "f64::INFINITY", "the bound of a format whose numbers are floats"),
];

/// Walks over hash tables that are sorted before anything depends on their order.
pub const SORTED_WALKS: [(&str, &str, &str); 1] =
    [("src/exchange/catalogue.rs", "slugs", "slugs_sorted sorts what it collects")];

/// What would make a replay differ from the first run, or touch the world.
pub const IMPURE: [(&str, &str); 22] = [
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
    ("std::sync", "nothing is shared"),
    ("async", "nothing waits"),
    (".await", "nothing waits"),
    ("println!", "nothing is printed"),
    ("eprintln!", "nothing is printed"),
    ("HashMap", "a table with a random seed; FxHashMap has a fixed one"),
    ("HashSet", "a table with a random seed; FxHashSet has a fixed one"),
    ("thread_local!", "the state is the value"),
];

/// What would make a journal or a read model differ by when or where it is folded. They may use
/// disks (journal) and shared values.
pub const CLOCKED: [(&str, &str); 6] = [
    ("SystemTime", "time comes in the record"),
    ("Instant", "time comes in the record"),
    ("Utc::now", "time comes in the record"),
    ("getrandom", "nothing is drawn"),
    ("async", "nothing waits"),
    (".await", "nothing waits"),
];

/// The one clock of the product.
pub const CLOCK: &str = "src/engine/clock.rs";
/// Readings of the calendar, which only the clock may take.
pub const CALENDARS: [(&str, &str); 3] = [
    ("SystemTime", "engine/clock.rs is the only clock"),
    ("Utc::now", "engine/clock.rs is the only clock"),
    ("Local::now", "engine/clock.rs is the only clock"),
];

/// Files of the exchange that may name a bound, and why.
pub const BOUND_PLACES: [(&str, &str); 4] = [
    ("src/exchange/rules.rs", "journaled"),
    ("src/exchange/units.rs", "the range of a unit is part of the format"),
    ("src/exchange/ids.rs", "the width of an id is part of the format"),
    ("src/exchange/script/", "bounds of a text form shape no outcome"),
];
