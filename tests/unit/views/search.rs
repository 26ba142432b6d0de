//! Unit tests of `src/views/search.rs`.

use proptest::prelude::*;
use proptest::sample::Index;

use super::super::fixture::*;
use super::*;
use exchange::catalogue::MarketRevision;

fn texts([pt, en, es]: [&str; 3]) -> Localized {
    Localized { pt: pt.into(), en: en.into(), es: es.into() }
}

fn texts_of(text: &str) -> Localized {
    texts([text, "", ""])
}

fn asked(market: MarketNo, questions: Localized) -> Effect {
    let Effect::MarketCreated { mut draft, .. } = super::super::fixture::market(market, None)
    else {
        panic!("a market")
    };
    draft.questions = questions;
    Effect::MarketCreated { market, draft }
}

fn revised(market: MarketNo, questions: Localized) -> Effect {
    let revision = MarketRevision { questions: Some(questions), ..MarketRevision::default() };
    Effect::MarketRevised { market, revision: Box::new(revision) }
}

fn found(search: &Search, text: &str) -> Vec<u32> {
    let found = search.found(&Words::of(text).unwrap());
    let markets = u32::try_from(search.questions.len()).unwrap();
    (0..markets).filter(|market| found.contains(*market as usize)).collect()
}

#[test]
fn words_are_found_in_every_language_whatever_their_accents() {
    let mut search = Search::default();
    let rain = texts(["Vai chover amanhã na EDIÇÃO?", "Will it rain?", "¿Lloverá mañana?"]);
    assert_eq!(fold(&mut search, 1, &[asked(RAIN, rain)]), 0);
    for text in [
        "amanha",
        "EDIÇÃO",
        "edicao",
        "rain will",
        "manana",
        "MAN\u{303}ANA",
        "llov",
        "chover rain",
        "i",
        "?",
        "¿",
    ] {
        assert_eq!(found(&search, text), [RAIN.0], "{text}");
    }
    for not in ["snow", "rain snow", "rain?¿", "b", "0", "l rain k"] {
        assert_eq!(found(&search, not), [0; 0], "{not}");
    }
    assert!(!search.found(&Words::of("rain").unwrap()).contains(1));
    assert_eq!(Words::of(" \t"), None);
}

#[test]
fn words_are_found_however_they_are_typed() {
    for (question, texts) in [
        ("Straße groß", &["STRASSE", "straße", "STRA\u{1e9e}E", "GROSS"][..]),
        ("STRASSE", &["Straße"]),
        ("ΟΔΥΣΣΕΥΣ", &["οδυσσευς", "οδυσσευσ", "Οδυσσεύς"]),
        ("\u{fb01}nal \u{fb02}ood o\u{fb03}ce \u{fb05}op", &["FINAL", "flood", "office", "stop"]),
        ("final", &["\u{fb01}nal"]),
        ("\u{130}STANBUL Kadıköy", &["istanbul", "\u{130}stanbul", "KADIKÖY", "kadikoy"]),
        ("the Fed’s rate", &["Fed's", "fed´s", "FED`S", "fed‘s", "fed\u{2bc}s", "fed\u{ff07}s"]),
        ("the Fed's rate", &["Fed’s", "Fed\u{2032}s"]),
        ("COVID\u{2011}19, 2026–2028", &["covid-19", "2026-2028", "2026—2028", "2026\u{2212}2028"]),
        ("covid-19", &["COVID\u{2010}19"]),
        ("1.ª 2º CO₂ m²", &["1.A", "2o", "co2", "M2"]),
        ("1a", &["1ª"]),
        ("co\u{ad}operate ze\u{200b}ro", &["cooperate", "zero"]),
        ("“Fed” ＦＥＤ ½", &["\"fed\"", "fed", "1/2"]),
    ] {
        let mut search = Search::default();
        assert_eq!(fold(&mut search, 1, &[asked(RAIN, texts_of(question))]), 0);
        for text in texts {
            assert_eq!(found(&search, text), [RAIN.0], "{question}: {text}");
        }
    }
}

#[test]
fn a_difference_of_case_alone_makes_none() {
    let mut count = 0;
    for letter in '\0'..=char::MAX {
        let cases = [letter.to_uppercase().to_string(), letter.to_lowercase().to_string()];
        for other in cases.iter().filter(|other| !other.chars().eq([letter])) {
            let own = plain(&letter.to_string());
            assert_eq!((plain(other), plain(&own)), (own.clone(), own), "{letter:?}");
            count += 1;
        }
    }
    assert!(count > 2500, "{count}");
}

#[test]
fn only_the_longest_words_are_looked_for() {
    let words: Vec<String> = (10..99).map(|number| number.to_string()).collect();
    let text = format!("{} rain abcd", words.join(" "));
    let Words(sought) = Words::of(&text).unwrap();
    assert_eq!(
        (sought.len(), &sought[..2]),
        (SEARCHED_WORDS_MAX, &["rain", "abcd"].map(String::from)[..])
    );
}

#[test]
fn what_nobody_knows_is_a_fault() {
    let mut search = Search::default();
    let questions = || texts(["a", "b", "c"]);
    assert_eq!(fold(&mut search, 1, &[revised(RAIN, questions())]), 1);
    assert_eq!(fold(&mut search, 2, &[asked(MarketNo(1), questions())]), 1);
    assert_eq!(found(&search, "a"), [0; 0]);
}

#[test]
fn words_that_stand_nowhere_are_forgotten() {
    let mut search = Search::default();
    let questions = |number: usize| texts([&format!("n{number}"), "rain", "x"]);
    let others = [texts(["sol", "sun", "x"]), texts(["", "", ""])];
    assert_eq!(fold(&mut search, 1, &[asked(RAIN, questions(0))]), 0);
    for (market, others) in (1..).map(MarketNo).zip(others) {
        assert_eq!(fold(&mut search, 1, &[asked(market, others)]), 0);
    }
    for number in 1..10 * UNUSED_MIN {
        assert_eq!(fold(&mut search, 2, &[revised(RAIN, questions(number))]), 0);
        assert_eq!(search.vocabulary.len(), search.unused + 5);
        assert!(search.unused < UNUSED_MIN);
        assert_eq!(found(&search, &format!("n{number} rain")), [RAIN.0]);
        assert_eq!(found(&search, &format!("n{}x", number - 1)), [0; 0]);
        assert_eq!((found(&search, "un sol"), found(&search, "x")), (vec![1], vec![0, 1]));
    }
    assert_eq!(fold(&mut search, 3, &[asked(MarketNo(3), questions(0))]), 0);
    assert_eq!(found(&search, "n0"), [3]);
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(128)
    })]

    /// Few letters, so that words contain one another; many markets, so that every search path
    /// is taken.
    #[test]
    fn found_is_whose_question_has_all_words(
        questions in prop::collection::vec("[abÃ1 ?]{0,12}", 1..150),
        revisions in prop::collection::vec((any::<Index>(), "[abcé ]{0,12}"), 0..40),
        asked_for in prop::collection::vec("[abcÁ1 ?]{1,8}", 1..20),
    ) {
        let (mut search, mut expected) = (Search::default(), Vec::new());
        for (no, question) in (0..).map(MarketNo).zip(&questions) {
            let effect = asked(no, texts([question, "en", "es"]));
            prop_assert_eq!(fold(&mut search, 1, &[effect]), 0);
            expected.push(format!("{}\nen\nes", plain(question)));
        }
        for (which, question) in &revisions {
            let market = which.index(questions.len());
            let no = MarketNo(u32::try_from(market).unwrap());
            let effect = revised(no, texts([question, "en", "es"]));
            prop_assert_eq!(fold(&mut search, 2, &[effect]), 0);
            expected[market] = format!("{}\nen\nes", plain(question));
        }
        for text in &asked_for {
            let asked_for = plain(text);
            if Words::of(text).is_none() {
                prop_assert!(asked_for.trim().is_empty());
                continue;
            }
            let has_all = |question: &String| {
                asked_for.split_whitespace().all(|word| question.contains(word))
            };
            let having = (0..).zip(&expected).filter(|(_, question)| has_all(question));
            let having: Vec<u32> = having.map(|(market, _)| market).collect();
            prop_assert_eq!(found(&search, text), having, "{}", text);
        }
    }
}
