//! Unit tests of `src/cli/environment.rs`.

use clap::CommandFactory;

use super::*;

fn refused(names: &[&str]) -> Option<String> {
    let names = names.iter().map(OsString::from);
    match check(&crate::cli::Cli::command(), names) {
        Ok(()) => None,
        Err(Failure::Usage(why)) => Some(why),
        Err(other) => panic!("{other:?}"),
    }
}

#[test]
fn every_variable_of_a_flag_is_known_and_a_misspelt_one_is_not() {
    let ours = ["DATA", "INIT", "LISTEN", "LOG", "OPERATOR_KEY", "RATE_READS", "URL"];
    let ours = ours.map(|name| format!("{PREFIX}{name}"));
    let ours: Vec<_> = ours.iter().map(String::as_str).chain(["OPENOUTCRY", "PATH"]).collect();
    assert_eq!(refused(&ours), None);
    for (wrong, right) in [
        ("OPENOUTCRY_ARCHIV", "OPENOUTCRY_ARCHIVE"),
        ("OPENOUTCRY_DATA_DIR", "OPENOUTCRY_DATA"),
        ("OPENOUTCRY_OPERATORKEY", "OPENOUTCRY_OPERATOR_KEY"),
        ("OPENOUTCRY_log", "OPENOUTCRY_LOG"),
        ("OPENOUTCRY_SNAPSHOTS_EVERY", "OPENOUTCRY_SNAPSHOT_EVERY"),
        ("OPENOUTCRY_", "OPENOUTCRY_LOG"),
    ] {
        let why = refused(&[wrong]).unwrap_or_default();
        assert!(why.contains(wrong) && why.contains(&format!("{right}?")), "{wrong}: {why}");
    }
}

#[test]
fn a_filter_that_would_log_nothing_is_refused() {
    for good in [
        "",
        "info",
        "OFF",
        "warn,openoutcry::api=debug",
        " info , openoutcry=trace",
        "openoutcry::engine",
        "engine=debug,http::workers=warn",
        "debug,",
    ] {
        assert_eq!(check_filter(good), Ok(()), "{good}");
    }
    for bad in [
        "verbose",
        "warning",
        "inof,openoutcry=debug",
        "openoutcry=loud",
        "hyper=debug",
        "htpp::workers=debug",
        "flow=debug",
        "journal=trace",
        "openoutcry::journal=trace",
        "openoutry::api=debug",
        "openoutcry:api=debug",
        "openoutcry::=debug",
        "openoutcry::htpp=debug",
        "openoutcry::htpp",
        "=info",
        "info;",
        "openoutcry=",
        "[{user}]=debug",
        "info debug",
    ] {
        assert!(check_filter(bad).is_err(), "{bad}");
    }
}
