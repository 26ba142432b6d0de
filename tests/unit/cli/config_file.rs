//! Unit tests of `src/cli/config_file.rs`.

use super::*;

fn parsed(text: &str) -> Result<BTreeMap<String, String>, String> {
    ConfigFile::parse(Path::new("/etc/openoutcry/openoutcry.toml"), text).map(|file| file.values)
}

#[test]
fn a_key_is_a_flags_name_and_a_misspelt_one_names_the_nearest() {
    let good = "listen = \"0.0.0.0:443\"\nrate-reads = 50\nrate-writes = \"50:200\"\n";
    let values = parsed(good).unwrap();
    assert_eq!(values.get("rate-reads").map(String::as_str), Some("50"));
    assert_eq!(values.len(), 3);
    for (bad, says) in [
        ("archve = \"/backup\"", "archve is no setting; did you mean archive?"),
        ("rate_reads = 5", "did you mean rate-reads?"),
        ("[server]\nlisten = \"127.0.0.1:1\"", "[server]: there are no sections"),
        ("server = \"127.0.0.1:1\"", "server is no setting"),
        ("init = true", "init is no setting"),
        ("accept-clock = true", "accept-clock is no setting"),
        ("demo = true", "demo is no setting"),
        ("listen = \"localhost\"", "listen: invalid value 'localhost'"),
        ("keep-alive = 0", "keep-alive: invalid value '0'"),
        ("faucet = 10.0", "faucet: must be text in quotes"),
        ("log = \"loud\"", "log: invalid value 'loud'"),
        ("signup = \"everybody\"", "signup: invalid value"),
        ("a = 1\nlisten = \"x", "line 2: "),
        ("archive = \"\"", "archive: "),
    ] {
        let said = parsed(bad).unwrap_err();
        assert!(said.contains(says) && !said.contains('\n'), "{bad}: {said}");
    }
}

#[test]
fn a_relative_path_begins_at_the_file() {
    let paths = "archive = \"../backup\"\ns3-cacert = \"ca.pem\"\ndata = \"/var/lib/x\"";
    let values = parsed(paths).unwrap();
    assert_eq!(values["archive"], "/etc/openoutcry/../backup");
    assert_eq!(values["s3-cacert"], "/etc/openoutcry/ca.pem");
    assert_eq!(values["data"], "/var/lib/x");
}

#[test]
fn the_file_that_is_written_has_every_setting_and_sets_a_window_alone() {
    let text = template(None);
    let window = BTreeMap::from([("dispute-window".to_owned(), "3600".to_owned())]);
    assert_eq!(parsed(&text), Ok(window));
    let all = all();
    let mut known: Vec<&str> =
        keys(&all).map(|(key, _)| key).filter(|key| *key != "data").collect();
    let lines = || text.lines().filter_map(|line| line.strip_prefix('#')?.split_once(" = "));
    let mut written: Vec<&str> =
        lines().map(|(key, _)| key).filter(|key| !key.contains(' ')).collect();
    known.sort_unstable();
    written.sort_unstable();
    assert_eq!(written, known);
    assert!(known.len() > 10 && text.lines().all(|line| line.len() <= 100), "{text}");
    // With its defaults set it says the same.
    for (key, value) in lines().filter(|(key, value)| !key.contains(' ') && *value != "\"\"") {
        let said = parsed(&format!("{key} = {value}")).unwrap();
        let arg = keys(&all).find(|(known, _)| *known == key).unwrap().1;
        assert_eq!(said[key], arg.get_default_values()[0].to_str().unwrap(), "{key}");
    }
    let elsewhere = template(Some(Path::new("/srv/a \"venue\"")));
    assert_eq!(parsed(&elsewhere).unwrap()["data"], "/srv/a \"venue\"");
}

#[test]
fn what_is_shown_is_a_file_again() {
    let setting = |key: &str, value: Option<&str>, origin| Setting {
        key: key.to_owned(),
        value: value.map(str::to_owned),
        origin,
    };
    let args = ServeArgs::from_arg_matches(&all().get_matches_from(["serve"])).unwrap();
    let list = vec![
        setting("listen", Some("127.0.0.1:9"), Origin::Flag),
        setting("rate-reads", Some("50"), Origin::File),
        setting("archive", None, Origin::Default),
    ];
    let shown = Settings { args, file: None, list }.shown();
    assert_eq!(
        shown,
        "# no configuration file\nlisten = \"127.0.0.1:9\"  # flag\nrate-reads = 50  # file\n\
         # archive is not set\n"
    );
    assert_eq!(parsed(&shown).unwrap().len(), 2);
}
