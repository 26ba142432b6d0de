//! Words of the markets' questions, to be searched in any of the three languages.

use super::Projection;
use super::catalogue::Catalogue;
use super::fault::{Fault, Faults, is_next};
use crate::exchange::catalogue::Localized;
use crate::exchange::effect::{Applied, Effect};
use crate::exchange::ids::MarketNo;

/// Every market's question in all languages, in the form in which texts are compared.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Search {
    questions: Vec<Box<str>>,
}

/// What is searched for: words of which each must stand in the question, in one language or
/// another, whole or as a part. Capitals and accents make no difference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Words(Vec<String>);

impl Words {
    /// The words of a text; `None` if it has none.
    pub fn of(text: &str) -> Option<Words> {
        let words: Vec<String> = plain(text).split_whitespace().map(str::to_owned).collect();
        if words.is_empty() { None } else { Some(Words(words)) }
    }
}

impl Search {
    /// What the questions of this catalogue are searched by.
    pub fn of(catalogue: &Catalogue) -> Search {
        let oldest_first = catalogue.markets_created().rev();
        Search { questions: oldest_first.map(|row| told(&row.draft.questions)).collect() }
    }

    /// Whether all words stand in a market's question. O(its length).
    pub fn matches(&self, market: MarketNo, words: &Words) -> bool {
        let question = self.questions.get(market.index());
        question.is_some_and(|question| words.0.iter().all(|word| question.contains(word)))
    }

    fn fold_effect(&mut self, effect: &Effect) -> Result<(), Fault> {
        match effect {
            Effect::MarketCreated { market, draft } => {
                is_next(market.index(), self.questions.len())?;
                self.questions.push(told(&draft.questions));
                Ok(())
            }
            Effect::MarketRevised { market, revision } => {
                let question = self.questions.get_mut(market.index());
                let question = question.ok_or(Fault::UnknownMarket(*market))?;
                if let Some(questions) = &revision.questions {
                    *question = told(questions);
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

impl Projection for Search {
    fn fold(&mut self, applied: &Applied<'_>, faults: &mut Faults) {
        for effect in applied.effects {
            faults.check(self.fold_effect(effect));
        }
    }
}

/// A text in all its languages, as it is compared. No word spans two of them.
fn told(text: &Localized) -> Box<str> {
    let Localized { pt, en, es } = text;
    [pt, en, es].map(|text| plain(text)).join("\n").into()
}

/// A text in small letters without the accents of Portuguese, Spanish and their neighbours.
fn plain(text: &str) -> String {
    text.chars().flat_map(char::to_lowercase).filter_map(without_accent).collect()
}

const fn without_accent(letter: char) -> Option<char> {
    Some(match letter {
        'á' | 'à' | 'â' | 'ã' | 'ä' | 'å' => 'a',
        'é' | 'è' | 'ê' | 'ë' => 'e',
        'í' | 'ì' | 'î' | 'ï' => 'i',
        'ó' | 'ò' | 'ô' | 'õ' | 'ö' => 'o',
        'ú' | 'ù' | 'û' | 'ü' => 'u',
        'ç' => 'c',
        'ñ' => 'n',
        'ý' | 'ÿ' => 'y',
        // Accents that stand as characters of their own.
        '\u{300}'..='\u{36f}' => return None,
        other => other,
    })
}

#[cfg(test)]
mod tests {
    use super::super::fixture::*;
    use super::*;

    fn asked(pt: &str, en: &str, es: &str) -> Search {
        let questions = Localized { pt: pt.into(), en: en.into(), es: es.into() };
        let Effect::MarketCreated { market, mut draft } = market(RAIN, None) else {
            panic!("a market")
        };
        draft.questions = questions;
        let mut search = Search::default();
        assert_eq!(fold(&mut search, 1, &[Effect::MarketCreated { market, draft }]), 0);
        search
    }

    #[test]
    fn words_are_found_in_every_language_whatever_their_accents() {
        let search = asked("Vai chover amanhã na EDIÇÃO?", "Will it rain?", "¿Lloverá mañana?");
        for found in [
            "amanha",
            "EDIÇÃO",
            "edicao",
            "rain will",
            "manana",
            "MAN\u{303}ANA",
            "llov",
            "chover rain",
        ] {
            assert!(search.matches(RAIN, &Words::of(found).unwrap()), "{found}");
        }
        for not in ["snow", "rain snow", "rain?¿"] {
            assert!(!search.matches(RAIN, &Words::of(not).unwrap()), "{not}");
        }
        assert!(!search.matches(MarketNo(1), &Words::of("rain").unwrap()));
        assert_eq!(Words::of(" \t"), None);
    }
}
