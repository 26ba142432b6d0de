//! Unit tests of `src/cli/logging.rs`.

use super::*;

/// What passes of the API at debug level, and of another module as information and as an error.
fn passes(text: &str) -> (bool, bool, bool) {
    let subscriber = registry().with(filter(text).unwrap());
    tracing::subscriber::with_default(subscriber, || {
        (
            tracing::enabled!(target: "http::door", tracing::Level::DEBUG),
            tracing::enabled!(target: "engine::halt", tracing::Level::INFO),
            tracing::enabled!(target: "engine::halt", tracing::Level::ERROR),
        )
    })
}

#[test]
fn a_filter_for_one_module_leaves_the_others_at_the_default() {
    assert_eq!(passes(""), (false, true, true));
    assert_eq!(passes("openoutcry::api=debug"), (true, true, true));
    assert_eq!(passes("info,openoutcry::api=debug"), (true, true, true));
    assert_eq!(passes("warn,openoutcry::api=debug"), (true, false, true));
    assert_eq!(passes("openoutcry::api=debug,warn"), (true, false, true));
    assert_eq!(passes("openoutcry::http::door=debug,warn"), (true, false, true));
    assert_eq!(passes("off,openoutcry=info"), (false, true, true));
    assert_eq!(passes("debug"), (true, true, true));
    assert_eq!(passes("off"), (false, false, false));
    assert!(filter("openoutcry=loud").is_err());
}
