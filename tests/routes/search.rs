//! `GET /markets/search`.

use serde_json::json;

use super::shapes;
use super::venue::{Venue, ids};

#[test]
fn questions_are_found_in_any_language() {
    let venue = Venue::open();
    let ann = venue.trader("ann").client;
    let questions = |pt: &str, en: &str, es: &str| json!({"pt": pt, "en": en, "es": es});
    let rain = questions("Vai chover amanhã?", "Will it rain tomorrow?", "¿Lloverá mañana?");
    let snow = questions("Vai nevar amanhã?", "Will it snow tomorrow?", "¿Nevará mañana?");
    let category = venue.category("weather");
    let rain = venue.market_with(&json!({"questions": rain, "categoryIds": [category]}));
    let snow_id = venue.market_with(&json!({"questions": snow, "highlighted": true}));
    venue.draft(&json!({"questions": snow}));
    let found = |query: &str| -> Vec<String> {
        let page = ann.get(&format!("/markets/search?{query}"));
        let page = page.ok(&shapes::page("markets", shapes::market()));
        assert_eq!(page["total"], page["markets"].as_array().unwrap().len());
        ids(&page["markets"]).into_iter().map(str::to_owned).collect()
    };
    for query in ["q=rain", "q=CHOVER", "q=llovera", "q=LLOVER%C3%81", "q=rain+amanha+will"] {
        assert_eq!(found(query), [rain.as_str()], "{query}");
    }
    assert_eq!(found("q=manana"), [snow_id.as_str(), &rain]);
    assert_eq!(found("q=tomorrow&highlighted=true"), [snow_id.as_str()]);
    assert_eq!(found(&format!("q=tomorrow&categoryIds={category}")), [rain.as_str()]);
    for query in ["q=hail", "q=rain+snow", "q=rain.*"] {
        assert_eq!(found(query), Vec::<String>::new(), "{query}");
    }
    let hail = json!({"questions": questions("Granizo?", "Hail?", "¿Granizo?")});
    let path = format!("/admin/markets/{rain}");
    venue.operator.patch(&path, &hail).ok(&shapes::market_detail());
    assert_eq!((found("q=hail"), found("q=rain")), (vec![rain], vec![]));
}

#[test]
fn an_invalid_search_is_a_bad_field() {
    let venue = Venue::open();
    for _ in 0..3 {
        venue.market();
    }
    let ask = |query: &str| venue.operator.get(&format!("/markets/search?{query}"));
    ask("").bad_as("q", "REQUIRED");
    for text in ["", "+", "%09", "%00", "%CC%81", "%FF", "rain%C3"] {
        ask(&format!("q={text}")).bad_as("q", "INVALID_VALUE");
    }
    ask(&format!("q={}", "a".repeat(1001))).bad_as("q", "OUT_OF_BOUNDS");
    ask("q=a&q=a").bad_as("q", "REPEATED");
    ask("q=a&status=ACTIVE&limit=0").bad(&["status", "limit"]);
    // Paging works as in every list of markets.
    let list = ask("q=question&limit=2&offset=1").ok(&shapes::page("markets", shapes::market()));
    assert_eq!(list["markets"].as_array().unwrap().len(), 2);
    assert_eq!(list["total"], 3);
    assert_eq!(ask("q=question&limit=2000").json["limit"], 1000);
}
