//! Lengths, characters and numbers as the description says them.

use serde_json::{Value, json};

use super::client::Answer;
use http::parse::{Name, Written};

use super::described::DOCUMENT;
use super::schema::matches;
use super::shapes;
use super::venue::{PICTURE, Venue, event_body, market_body, with};

/// Texts of so many characters in all languages.
fn long(letter: &str, count: usize) -> Value {
    let text = letter.repeat(count);
    json!({"pt": text, "en": text, "es": text})
}

/// Every text that a client sends, by the schema that bounds it.
fn sent(venue: &Venue, schema: &str, text: &dyn Fn(&str) -> String) -> Vec<Answer> {
    let (operator, words) = (&venue.operator, text("w"));
    let all = || json!({"pt": words, "en": words, "es": words});
    let market = |more: Value| operator.post("/admin/markets", &with(market_body(), &more));
    let event = |more: Value| operator.post("/admin/events", &with(event_body(), &more));
    let user = |name: &str| json!({"profileName": name, "profilePic": PICTURE});
    let category = json!({"name": words, "slug": format!("s{}", words.len())});
    match schema {
        "NameSent" => vec![
            operator.post("/admin/users", &user(&words)),
            operator.post("/admin/categories", &category),
        ],
        "LabelSent" => {
            let ann = venue.trader("ann");
            let body = json!({"scope": "read", "label": words});
            let own = ann.client.post("/account/keys", &body);
            let path = format!("/admin/users/{}/keys", ann.id);
            vec![own, operator.post(&path, &json!({"role": "reader", "label": words}))]
        }
        "TitleSent" => vec![market(json!({"questions": all()})), event(json!({"titles": all()}))],
        "SubTitleSent" => vec![event(json!({"subTitles": all()}))],
        "DescriptionSent" => {
            let texts = json!({"descriptions": all()});
            vec![market(texts.clone()), event(texts)]
        }
        "OutcomeTextSent" => {
            let outcome = |id: &str| json!({"id": id, "text": all()});
            vec![market(json!({"outcomes": [outcome("yes"), outcome("no")]}))]
        }
        "SearchSent" => {
            vec![operator.get(&format!("/markets/search?q={}", words.replace('é', "%C3%A9")))]
        }
        "ReasonSent" => {
            let body = json!({"mode": "normal", "reason": words});
            vec![operator.post("/admin/venue/mode", &body)]
        }
        other => panic!("nothing here sends a {other}"),
    }
}

#[test]
fn lengths_are_counted_in_characters() {
    let venue = Venue::open();
    let schemas = DOCUMENT["components"]["schemas"].as_object().unwrap();
    let bounded = schemas.iter().filter_map(|(name, schema)| {
        Some((name.as_str(), usize::try_from(schema["maxLength"].as_u64()?).unwrap()))
    });
    let mut count = 0;
    for (schema, most) in bounded.filter(|(name, _)| !["UrlSent", "AddressSlug"].contains(name)) {
        for letter in ["é", "w"] {
            for answer in sent(&venue, schema, &|_| letter.repeat(most)) {
                assert!(answer.status < 300, "{schema}: {answer:?}");
            }
            for answer in sent(&venue, schema, &|_| letter.repeat(most + 1)) {
                answer.refused(400, "INVALID_REQUEST");
                assert_eq!(
                    answer.json["errors"][0]["code"], "OUT_OF_BOUNDS",
                    "{schema}: {answer:?}"
                );
            }
        }
        count += 1;
    }
    assert_eq!(count, 8);
    // Letters of four bytes may fill more than a record.
    let body = with(market_body(), &json!({"descriptions": long("😀", 4900)}));
    let body = with(body, &json!({"questions": long("😀", 200)}));
    venue.operator.post("/admin/markets", &body).refused(413, "CONTENT_TOO_LARGE");
}

#[test]
fn an_integer_may_have_a_point_or_an_exponent() {
    let venue = Venue::open();
    let ann = venue.trader("ann");
    let send = |path: &str, body: &str| ann.client.send("POST", path, &[], Some(body.as_bytes()));
    for text in ["30", "30.0", "3e1", "3.0E+1", "300e-1"] {
        let answer = send("/trading/heartbeat", &format!(r#"{{"timeoutSeconds": {text}}}"#));
        assert_eq!(answer.ok(&shapes::heartbeat())["expired"], false, "{text}");
    }
    for (text, code) in [
        ("30.5", "WRONG_TYPE"),
        ("-30.0", "WRONG_TYPE"),
        ("3e-1", "WRONG_TYPE"),
        ("3e3", "OUT_OF_BOUNDS"),
        ("1e300", "WRONG_TYPE"),
        ("\"30\"", "WRONG_TYPE"),
    ] {
        let answer = send("/trading/heartbeat", &format!(r#"{{"timeoutSeconds": {text}}}"#));
        answer.bad_as("timeoutSeconds", code);
    }
    let body = with(market_body(), &json!({"disputeWindowSeconds": 3600.0}));
    let market = venue.operator.post("/admin/markets", &body);
    assert_eq!(market.status, 201, "{market:?}");
    // A price is a string, whatever a number looks like.
    let order = r#"{"outcomeId": "yes", "side": "BUY", "orderType": "LIMIT", "price": 1.0}"#;
    send("/trading/orders", order).refused(400, "INVALID_REQUEST");
}

#[test]
fn a_name_shows_every_character() {
    let venue = Venue::open();
    let ann = venue.trader("ann");
    let pattern =
        |schema: &str| DOCUMENT["components"]["schemas"][schema]["pattern"].as_str().unwrap();
    let name = |name: &str| {
        let user = json!({"profileName": name, "profilePic": PICTURE});
        venue.operator.post("/admin/users", &user)
    };
    for hidden in
        ["\u{202e}", "\u{200b}", "\u{2066}", "\u{feff}", "\u{ad}", "\u{3164}", "\n", "\u{e0041}"]
    {
        let text = format!("an{hidden}a");
        name(&text).bad_as("profileName", "INVALID_VALUE");
        let category = json!({"name": text, "slug": "s"});
        venue.operator.post("/admin/categories", &category).bad_as("name", "INVALID_VALUE");
        let key = json!({"scope": "read", "label": text});
        ann.client.post("/account/keys", &key).bad_as("label", "INVALID_VALUE");
        assert!(!matches(pattern("NameSent"), &text) && !matches(pattern("LabelSent"), &text));
    }
    for good in ["Zoë d'Ávila", "李小龙", "שלום"] {
        assert_eq!(name(good).status, 201, "{good}");
    }
    // The description says of each character what the server does.
    let (mut shown, mut count) = (String::from("a"), 0);
    for letter in '\0'..=char::MAX {
        if Name::read(&format!("a{letter}a")).is_ok() {
            shown.push(letter);
        } else {
            assert!(!matches(pattern("NameSent"), &format!("a{letter}a")), "{letter:?}");
            count += 1;
        }
    }
    assert!(matches(pattern("NameSent"), &shown) && count > 4000);
}

#[test]
fn a_url_has_the_characters_of_one() {
    let venue = Venue::open();
    let user = |url: &str| {
        let user = json!({"profileName": "x", "profilePic": url});
        venue.operator.post("/admin/users", &user)
    };
    let pattern = DOCUMENT["components"]["schemas"]["UrlSent"]["pattern"].as_str().unwrap();
    for good in ["HTTPS://Assets.Example/p.png", "http://[2001:db8::1]:80/p", "https://h/%41?a#b"] {
        assert_eq!(user(good).created(&shapes::user())["profilePic"], good);
    }
    for bad in [
        "https://h/<script>",
        "https://h/\"x",
        "https://h/a\\b",
        "https://h/%zz",
        "https://h/é",
        "https://h/{x}",
        "https://u@h/",
        "https://[::1/",
        "javascript:alert(1)",
        "https://h/\n",
    ] {
        user(bad).bad_as("profilePic", "INVALID_VALUE");
        assert!(!matches(pattern, bad), "{bad}");
    }
    let mut body = event_body();
    body["images"] = json!([PICTURE, "https://h/'\"><img>"]);
    venue.operator.post("/admin/events", &body).bad_as("images[1]", "INVALID_VALUE");
    venue.draft(&json!({"logo": "Https://h/~a"}));
    let body = with(market_body(), &json!({"logo": "https://h/`"}));
    venue.operator.post("/admin/markets", &body).bad_as("logo", "INVALID_VALUE");
}
