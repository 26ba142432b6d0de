//! Unit tests of `src/cli/admin/texts.rs`.

use serde_json::json;

use super::*;

#[test]
fn a_text_in_one_language_is_marked_in_the_others() {
    let pt = in_all("Chuva", Language::Pt, None);
    assert_eq!(pt, json!({"pt": "Chuva", "en": "[pt] Chuva", "es": "[pt] Chuva"}));
    let en = in_all("Rain", Language::En, Some(&json!({"pt": "Chuva", "en": "x", "es": "Lluvia"})));
    assert_eq!(en, json!({"pt": "Chuva", "en": "Rain", "es": "Lluvia"}));
    assert_eq!(in_all("", Language::En, None), json!({"pt": "", "en": "", "es": ""}));
}

#[test]
fn all_texts_of_an_object_are_filled_and_nothing_else() {
    let mut market = json!({
        "questions": "Rain?", "descriptions": {"es": "Lluvia"}, "logo": "https://x/y.png",
        "outcomes": [{"id": "yes", "text": "Yes"}, {"id": "no", "text": {"pt": "Não"}}],
        "titles": {}, "slug": "rain",
    });
    fill(market.as_object_mut().unwrap());
    let in_all = |text: &str| {
        let from_en = format!("[en] {text}");
        json!({"en": text, "pt": from_en, "es": from_en})
    };
    assert_eq!(
        market,
        json!({
            "questions": in_all("Rain?"),
            "descriptions": {"es": "Lluvia", "en": "[es] Lluvia", "pt": "[es] Lluvia"},
            "logo": "https://x/y.png",
            "outcomes": [{"id": "yes", "text": in_all("Yes")},
                {"id": "no", "text": {"pt": "Não", "en": "[pt] Não", "es": "[pt] Não"}}],
            "titles": {}, "slug": "rain",
        })
    );
}
