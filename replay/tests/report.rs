//! The page of `report`: complete, safe, and consistent with the other commands.

#![allow(clippy::unwrap_used, clippy::panic)] // a test may stop at once

mod venue;

use std::fs;
use std::path::Path;

use serde_json::Value;
use venue::{journal, run_on};

/// A market and a user with hostile texts.
const HOSTILE: &str = r#"venue USD
user ann "</td><img src=x onerror=alert(1)>"
user bob
deposit ann 100.00
deposit bob 100.00
market rain questions "?" "<script>alert('rain & snow')</script>" "?" until +1h window 0s
market snow
+1s publish rain
publish snow
+1s ann buy yes 0.60 x10 on rain
ann buy yes 0.55 x4 on rain
bob buy no 0.45 x7 on rain
+1s bob buy yes 0.65 x2 on snow
+1s bob buy yes 0.62 x3 on rain
ann sell yes 0.61 x5 on rain
bob buy yes 0.99 x5000 on rain
+1s resolve rain yes
"#;
const RAIN: &str = "6";

fn page(folder: &Path, rest: &str) -> (Value, String) {
    let file = journal(folder, "hostile", HOSTILE);
    let out = folder.join("report.html");
    drop(fs::remove_file(&out));
    let rest = format!("--market {RAIN} -o {} --json {rest}", out.display());
    let (code, answer) = run_on("report", &file, &rest);
    assert_eq!(code, 0, "{answer}");
    (serde_json::from_str(&answer).unwrap(), fs::read_to_string(out).unwrap())
}

/// Checks that every opened element is closed, in order.
fn well_formed(page: &str) {
    const EMPTY: [&str; 3] = ["meta", "!DOCTYPE", "br"];
    let mut open = Vec::new();
    for tag in page.split('<').skip(1) {
        let (tag, _) = tag.split_once('>').unwrap();
        let name = tag.split([' ', '\n', '/']).next().unwrap();
        if let Some(closed) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(closed));
        } else if !EMPTY.contains(&name) && !tag.ends_with('/') {
            open.push(name);
        }
    }
    assert!(open.is_empty(), "{open:?}");
}

#[test]
fn texts_of_others_do_no_harm() {
    let dir = tempfile::tempdir().unwrap();
    let (_, page) = page(dir.path(), "--all-fills");
    for forbidden in ["<script", "<img", "http://", "https://", "<link", "url(", "@import"] {
        let page = page.replace("xmlns=\"http://www.w3.org/2000/svg\"", "");
        assert!(!page.contains(forbidden), "{forbidden}");
    }
    assert!(
        page.contains("<h1>&lt;script&gt;alert(&#39;rain &amp; snow&#39;)&lt;/script&gt;</h1>")
    );
    assert!(page.contains("&lt;/td&gt;&lt;img src=x onerror=alert(1)&gt;"));
    assert!(page.contains("default-src 'none'"));
    well_formed(&page);
}

#[test]
fn a_page_says_what_other_questions_say() {
    let dir = tempfile::tempdir().unwrap();
    let (answer, page) = page(dir.path(), "--depth-at 12 --depth-at 2023-11-14T22:13:22Z");
    let file = dir.path().join("hostile");
    let verified: Value = serde_json::from_str(&run_on("verify", &file, "--json").1).unwrap();
    assert_eq!(
        (&answer["hash"], &answer["state"]),
        (&verified["head"]["hash"], &verified["state"])
    );
    let fills = run_on("fills", &file, &format!("--market {RAIN} --format csv")).1.lines().count();
    assert_eq!(answer["fills"], fills - 1);
    for said in [
        verified["head"]["hash"].as_str().unwrap(),
        verified["state"].as_str().unwrap(),
        "SETTLED as of record 17",
        "ACTIVE to CLOSED by the operator",
        "RESOLVED to SETTLED by the operator, a yes contract paying 1.00",
        "At record 12",
        "After record 12, 2023-11-14 22:13:22.000. Bids: best bid 0.60; in all 7 contracts in 2 \
         orders. Asks: no asks.",
        &format!("All {} fills", fills - 1),
        "<th scope=\"row\">Orders refused</th><td class=\"n\">1</td>",
        "<th scope=\"row\">Taken less given and fees</th><td class=\"n\">0.00 USD</td>",
    ] {
        assert!(page.contains(said), "{said}");
    }
    assert_eq!(page.matches("<svg role=\"img\"").count(), 3);
    assert_eq!(page.matches("<title id=").count(), 3);
    well_formed(&page);
}

/// A market goes by each slug that it ever had.
#[test]
fn a_market_is_named_by_its_slug() {
    let script = r#"venue USD
market snow slug "will-it-snow"
market rain slug "will-it-rain"
revise market rain slug "rain-at-christmas"
"#;
    let dir = tempfile::tempdir().unwrap();
    let file = journal(dir.path(), "named", script);
    let report = |named: &str| {
        let out = dir.path().join(format!("{named}.html"));
        let rest = format!("--market {named} --json -o {}", out.display());
        let (code, answer) = run_on("report", &file, &rest);
        (code, serde_json::from_str::<Value>(&answer).unwrap(), out.exists())
    };
    let market = |named: &str| {
        let (code, answer, _) = report(named);
        assert_eq!(code, 0, "{answer}");
        answer["market_id"].as_str().unwrap().to_owned()
    };
    let [snow, rain] = ["2", "3"].map(market);
    assert_ne!(snow, rain);
    assert_eq!(market("will-it-snow"), snow);
    assert_eq!([market("will-it-rain"), market("rain-at-christmas"), market(&rain)], [&*rain; 3]);
    let (code, answer, made) = report("hail");
    assert_eq!((code, made), (1, false));
    assert_eq!(answer["error"], "NOT_FOUND: no market has or had the slug hail");
}

#[test]
fn a_revised_market_is_shown_as_last_revised() {
    let script = r#"venue USD
category weather
market rain descriptions "-" "old rules" "-" yes "-" "old yes" "-" no "-" "old no" "-" until +1h
revise market rain descriptions "-" "new rules" "-" until +2h
revise market rain yes "-" "new yes" "-" no "-" "new no" "-"
revise market rain logo "https://assets.example.org/x.png" in weather highlighted yes maker 0.0100
revise market rain
"#;
    let dir = tempfile::tempdir().unwrap();
    let (file, out) = (journal(dir.path(), "revised", script), dir.path().join("report.html"));
    let (code, answer) = run_on("report", &file, &format!("--market 3 -o {}", out.display()));
    assert_eq!(code, 0, "{answer}");
    let page = fs::read_to_string(out).unwrap();
    for said in [
        "<td>new rules</td>",
        "<td>yes: new yes; no: new no</td>",
        "<td>texts, deadline revised by the operator</td>",
        "<td>texts revised by the operator</td>",
        "<td>logo, categories, highlight, fees revised by the operator</td>",
        "<td>nothing revised by the operator</td>",
    ] {
        assert!(page.contains(said), "{said}: {page}");
    }
    for gone in ["old rules", "old yes", "old no"] {
        assert!(!page.contains(gone), "{gone}");
    }
    well_formed(&page);
}

#[test]
fn moments_are_chosen_where_none_are_named() {
    let dir = tempfile::tempdir().unwrap();
    let (_, page) = page(dir.path(), "");
    for said in ["After a quarter of the trading", "Half way", "Just before the close"] {
        assert!(page.contains(said), "{said}");
    }
    assert!(page.contains("After record 16,"));
}

#[test]
fn of_what_is_wrong_there_is_no_page() {
    let dir = tempfile::tempdir().unwrap();
    page(dir.path(), "");
    let (file, out) = (dir.path().join("hostile"), dir.path().join("report.html"));
    let ask = |market: &str| {
        let (code, answer) =
            run_on("report", &file, &format!("--market {market} --json -o {}", out.display()));
        (code, serde_json::from_str::<Value>(&answer).unwrap()["code"].clone())
    };
    assert_eq!(ask(RAIN), (1, "CANNOT_WRITE".into()));
    fs::remove_file(&out).unwrap();
    assert_eq!(ask("5"), (1, "NOT_FOUND".into()));
    let mut bytes = fs::read(&file).unwrap();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    fs::write(&file, &bytes).unwrap();
    assert_eq!(ask(RAIN).0, 3);
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
}

/// Whoever asked for something is named with it, and why: not whoever carries it out.
#[test]
fn a_dispute_and_a_proposal_are_those_of_who_made_them() {
    let script = r#"venue USD
user ann
user olga
user otto
deposit ann 10.00
deposit otto 10.00
two-persons above 2.00
market rain window 1h
publish rain
ann buy yes 0.60 x2
otto sell yes 0.60 x2
by olga resolve rain no
otto confirms 12
ann disputes rain bond 1.00 "it rained"
"#;
    let dir = tempfile::tempdir().unwrap();
    let (file, out) = (journal(dir.path(), "asked", script), dir.path().join("report.html"));
    let (code, answer) = run_on("report", &file, &format!("--market 8 -o {}", out.display()));
    assert_eq!(code, 0, "{answer}");
    let page = fs::read_to_string(out).unwrap();
    for said in [
        "CLOSED to RESOLVED by otto, announced outcome: no; proposed by olga",
        "RESOLVED to DISPUTED by ann for a bond of 1.00, announced outcome: no; reason: it rained",
    ] {
        assert!(page.contains(said), "{said}: {page}");
    }
}
