//! Unit tests of `src/cli/admin/table.rs`.

use serde_json::json;

use super::*;

#[test]
fn columns_are_as_wide_as_their_widest_cell_and_nothing_trails() {
    let json = json!({"users": [{"id": "a", "name": "Zoë"}, {"id": "long", "name": null}]});
    let text = list(&json, "users", &[("ID", "id"), ("NAME", "name")]);
    assert_eq!(text, "ID    NAME\na     Zoë\nlong  -\n");
    assert_eq!(thing(&json, &[("first", "users.0.id")]), "first  a\n");
    assert_eq!(list(&json, "keys", &[("ID", "id")]), "ID\n");
}

#[test]
fn a_terminal_is_shown_nothing_to_act_on() {
    for (name, shown) in [
        ("x\u{1b}[2J\ny", r"x\u{1b}[2J\ny"),
        ("ann\u{202e}evil\u{2069}", r"ann\u{202e}evil\u{2069}"),
        ("a\u{200b}nn\u{feff}\u{2028}", r"a\u{200b}nn\u{feff}\u{2028}"),
        ("\u{9b}31m\tred\r", r"\u{9b}31m\tred\r"),
        (r"a\u{202e}", r"a\\u{202e}"),
        ("Zoë \"O'Neill\" 東京 🙂", "Zoë \"O'Neill\" 東京 🙂"),
        ("e\u{301}", "e\u{301}"),
    ] {
        assert_eq!(cell(&json!({"a": name}), "a"), shown);
    }
    assert_eq!(cell(&json!({"a": 0.5}), "a"), "0.5");
    assert_eq!(cell(&json!({"a": 1}), "a.b"), "-");
}

#[test]
fn a_state_has_its_colour_and_what_is_called_like_one_has_none() {
    let text = "ID  STATUS  QUESTION\na   ACTIVE  Is it ACTIVE?\nb   VOIDED  x\n";
    assert_eq!(
        coloured(text),
        "\x1b[1mID  STATUS  QUESTION\x1b[0m\na   \x1b[32mACTIVE\x1b[0m  Is it ACTIVE?\n\
         b   \x1b[31mVOIDED\x1b[0m  x\n"
    );
    assert_eq!(coloured("state     ready\n"), "state     \x1b[32mready\x1b[0m\n");
}
