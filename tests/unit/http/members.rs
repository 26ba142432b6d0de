//! Unit tests of `src/http/members.rs`.

use super::*;
use crate::parse::Force;
use exchange::units::{Lots, Tick};
use proptest::prelude::*;

bodies! {
    /// An order, cut short.
    struct Short {
        required { "price" => price: Tick, "lots" => lots: Lots }
        optional { "force" => force: Force, "flag" => flag: bool, "most" => most: UpTo<9> }
    }
    check forced_is_flagged;
}

fn forced_is_flagged(short: &Short) -> Checked {
    match short {
        Short { force: Some(_), flag: None, .. } => Err(("force", Fault::invalid("has no flag"))),
        _ => Ok(()),
    }
}

fn plainly(body: &str) -> Option<Short> {
    let mut json = serde_json::Deserializer::from_str(body);
    let read = Short::plain(&mut json).ok()?;
    json.end().ok().map(|()| read)
}

/// What the tree of a body gives: the value, or the bad fields as `field CODE`.
fn by_tree(body: &str) -> Result<Short, Vec<String>> {
    let (json, mut faults) = (serde_json::from_str(body).unwrap(), Faults::default());
    let read = Short::noted(json, "", &mut faults).filter(|_| faults.is_empty());
    let told = |error: &FieldError| format!("{} {}", error.field, error.code.code());
    read.ok_or_else(|| faults.into_errors().iter().map(told).collect())
}

#[test]
fn a_body_is_read_in_one_pass_or_its_faults_are_listed() {
    let full = r#"{ "flag" : true , "lots":"2.5","pr\u0069ce":"0.6","force":"IOC","most":9}"#;
    assert_eq!(plainly(full), by_tree(full).ok());
    assert!(plainly(full).is_some_and(|short| short.most == Some(UpTo(9))));
    for (body, faults) in [
        (r#"["0.6","1"]"#, &["body WRONG_TYPE"][..]),
        ("{}", &["price REQUIRED", "lots REQUIRED"]),
        (r#"{"price":0.6,"lots":null}"#, &["price WRONG_TYPE", "lots WRONG_TYPE"]),
        (r#"{"price":"0.6","lots":"1","x":{}}"#, &["x UNKNOWN_FIELD"]),
        (r#"{"price":"0.6","lots":"1","lots":"1"}"#, &["lots REPEATED"]),
        (r#"{"price":"60","lots":"1","flag":"true"}"#, &["price INVALID_VALUE", "flag WRONG_TYPE"]),
        (r#"{"price":"0.6","lots":"1","flag":null}"#, &["flag WRONG_TYPE"]),
        (r#"{"price":"0.6","lots":"1","most":10}"#, &["most OUT_OF_BOUNDS"]),
        (r#"{"price":"0.6","lots":"1","most":-1}"#, &["most WRONG_TYPE"]),
        (r#"{"price":"0.6","lots":"1","force":"GTC"}"#, &["force INVALID_VALUE"]),
    ] {
        assert_eq!(
            (plainly(body), by_tree(body)),
            (None, Err(faults.iter().map(|f| (*f).to_owned()).collect())),
            "{body}"
        );
    }
}

#[test]
fn a_list_has_different_values_within_its_bounds() {
    let read = |json: &str| {
        let mut faults = Faults::default();
        let json = serde_json::from_str(json).unwrap();
        let read = Several::<Tick, 1, 2>::noted(json, "all", &mut faults);
        let told = |error: &FieldError| format!("{} {}", error.field, error.code.code());
        read.ok_or_else(|| faults.into_errors().iter().map(told).collect::<Vec<_>>())
    };
    assert_eq!(read(r#"["0.6","0.1"]"#).map(|all| all.0.len()), Ok(2));
    for (json, faults) in [
        ("[]", &["all OUT_OF_BOUNDS"][..]),
        (r#"["0.1","0.2","0.3"]"#, &["all OUT_OF_BOUNDS"]),
        (r#"{"0":"0.1"}"#, &["all WRONG_TYPE"]),
        (r#"["0.1","0.10"]"#, &["all[1] REPEATED"]),
        (r#"["2",1]"#, &["all[0] INVALID_VALUE", "all[1] WRONG_TYPE"]),
    ] {
        assert_eq!(read(json).unwrap_err(), faults, "{json}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::default()
    })]
    /// Both ways to read a body agree on what it says, and on whether it is good.
    #[test]
    fn the_tree_agrees(
        members in proptest::collection::vec(
            (
                prop_oneof!["price", "lots", "flag", "fl\\\\u0061g", "force", "most", "x"],
                prop_oneof![
                    "true",
                    "\"0\\.[0-9]{1,3}\"",
                    "\"\\PC{0,3}\"",
                    "[0-9]{1,2}",
                    "null",
                    "\"IOC\"",
                ],
            ),
            0..6,
        ),
    ) {
        let written = members.iter().map(|(name, value)| format!("\"{name}\":{value}"));
        let body = format!("{{{}}}", written.collect::<Vec<_>>().join(","));
        if serde_json::from_str::<Json>(&body).is_ok() {
            prop_assert_eq!(plainly(&body), by_tree(&body).ok());
        }
    }
}
