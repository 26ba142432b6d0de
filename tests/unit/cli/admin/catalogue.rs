//! Unit tests of `src/cli/admin/catalogue.rs`.

use super::*;

const WEATHER: &str = r#"{"category":{"ref":"weather","name":"Weather","slug":"weather"}}"#;

fn why(text: &str) -> String {
    read(text).unwrap_err().to_string()
}

#[test]
fn names_become_ids_and_leave_the_body() {
    let text = format!(
        "{WEATHER}\n\n{}\n{}\n",
        r#"{"event":{"ref":"rain","categories":["weather"],"images":[]}}"#,
        r#"{"market":{"event":"rain","categories":[],"highlighted":true}}"#
    );
    let lines = read(&text).unwrap();
    assert_eq!(lines.iter().map(|line| line.number).collect::<Vec<_>>(), [1, 3, 4]);
    let mut ids = HashMap::new();
    ids.insert((Kind::Category, "weather".to_owned()), "c1".to_owned());
    assert!(lines[2].body(&ids).is_err());
    ids.insert((Kind::Event, "rain".to_owned()), "e1".to_owned());
    let bodies: Vec<String> =
        lines.iter().map(|line| line.body(&ids).unwrap().to_string()).collect();
    assert_eq!(
        bodies,
        [
            r#"{"name":"Weather","slug":"weather"}"#,
            r#"{"categoryIds":["c1"],"images":[]}"#,
            r#"{"categoryIds":[],"eventId":"e1","highlighted":true}"#,
        ]
    );
}

#[test]
fn a_lines_key_is_by_what_it_says_and_which_copy_it_is() {
    let key = |text: &str, index: usize| read(text).unwrap()[index].idempotency_key.clone();
    let plain = r#"{"category":{"name":"A","text":"a"}}"#;
    let same = r#" { "category" : {"text":"a", "name":"A"} }"#;
    assert_eq!(key(plain, 0), key(same, 0));
    assert_eq!(key(plain, 0), key(&format!("{WEATHER}\n\n{plain}"), 1));
    assert_ne!(key(plain, 0), key(&format!("{plain}\n{same}"), 1));
    assert_ne!(key(plain, 0), key(WEATHER, 0));
    assert!(key(plain, 0).len() <= 64);
}

#[test]
fn a_line_that_nobody_could_import_is_named() {
    let alone = r#"must be {"category": {...}}, {"event": {...}} or {"market": {...}}, alone"#;
    let shape = format!("line 1: {alone}");
    for bad in ["[]", "{}", r#"{"user":{}}"#, r#"{"market":[]}"#, r#"{"event":{},"market":{}}"#] {
        assert_eq!(why(bad), shape, "{bad}");
    }
    assert!(why("{").starts_with("line 1: is not JSON: "));
    let event = r#"{"event":{"categories":["weather"]}}"#;
    let unknown = r#"no earlier line has the category with "ref": "weather""#;
    assert_eq!(why(&format!("{event}\n{WEATHER}")), format!("line 1: {unknown}"));
    let twice = format!("{WEATHER}\n{WEATHER}");
    assert_eq!(why(&twice), "line 2: the category of line 1 is called `weather` too");
    let both = r#"{"market":{"event":"a","eventId":"b"}}"#;
    assert_eq!(why(both), r#"line 1: "event" and "eventId" cannot both be there"#);
    assert_eq!(why(r#"{"event":{"ref":1}}"#), r#"line 1: "ref" must be a name"#);
    let list = r#"{"event":{"categories":"a"}}"#;
    assert_eq!(why(list), r#"line 1: "categories" must be a list of names"#);
}
