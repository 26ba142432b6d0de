//! Readers for the fields that the operator's event and market bodies share.

use super::bounds::{
    CATEGORIES_MAX, DESCRIPTION_CHARS_MAX, IMAGES_MAX, OUTCOME_CHARS_MAX, TITLE_CHARS_MAX,
};
use super::form::{Faults, Fields, Form, array, localized, text, texts};
use super::parse::{self, Fault, Read};
use super::problem::{FieldCode, NOT_IN_FUTURE};
use super::wire::json::Json;
use exchange::catalogue::{Localized, Outcome};
use exchange::ids::CategoryId;
use exchange::units::TimeMs;

/// Reads questions or titles.
pub fn titles(faults: &mut Faults, field: &str, json: Json<'_>) -> Option<Localized> {
    localized(|text| parse::words(text, TITLE_CHARS_MAX))(faults, field, json)
}

/// Reads subtitles, which may be empty.
pub fn sub_titles(faults: &mut Faults, field: &str, json: Json<'_>) -> Option<Localized> {
    localized(|text| parse::prose(text, TITLE_CHARS_MAX))(faults, field, json)
}

/// Reads descriptions, which may be empty.
pub fn descriptions(faults: &mut Faults, field: &str, json: Json<'_>) -> Option<Localized> {
    localized(|text| parse::prose(text, DESCRIPTION_CHARS_MAX))(faults, field, json)
}

/// Reads picture URLs.
pub fn images(faults: &mut Faults, field: &str, json: Json<'_>) -> Option<Vec<String>> {
    texts(parse::url, IMAGES_MAX)(faults, field, json)
}

/// Reads category ids.
pub fn categories(faults: &mut Faults, field: &str, json: Json<'_>) -> Option<Vec<CategoryId>> {
    texts(parse::category_id, CATEGORIES_MAX)(faults, field, json)
}

/// Records a past deadline together with other faults. Alone it is left to the exchange, which
/// refuses it in the order of its records, and not again for a repetition.
pub fn note_passed(form: &mut Form<'_>, deadline: Option<TimeMs>, now: TimeMs) {
    if deadline.is_some_and(|deadline| deadline <= now) {
        form.note_beside("deadline", Fault::new(FieldCode::NotInFuture, NOT_IN_FUTURE));
    }
}

/// The texts of a market's two outcomes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutcomeTexts {
    /// Text of yes.
    pub yes: Localized,
    /// Text of no.
    pub no: Localized,
}

/// Reads exactly the outcomes yes and no, in any order.
pub fn outcomes(faults: &mut Faults, field: &str, json: Json<'_>) -> Option<OutcomeTexts> {
    let elements = array(faults, field, json, 2)?;
    let count = elements.len();
    // `Some` if the outcome was present, with its text if that is valid.
    let (mut yes, mut no) = (None, None);
    for (index, element) in elements.into_iter().enumerate() {
        let path = format!("{field}[{index}]");
        let (id, words) = outcome(faults, &path, element);
        let slot = match id {
            Some(Outcome::Yes) => &mut yes,
            Some(Outcome::No) => &mut no,
            None => continue,
        };
        if slot.is_some() {
            let fault = Fault::new(FieldCode::Repeated, "is there already");
            faults.note(&format!("{path}.id"), fault);
        } else {
            *slot = Some(words);
        }
    }
    if count < 2 {
        faults.note(field, Fault::new(FieldCode::OutOfBounds, "must be the outcomes yes and no"));
    }
    Some(OutcomeTexts { yes: yes??, no: no?? })
}

/// Reads an outcome's id and text; each may be bad while the other is good.
fn outcome(
    faults: &mut Faults,
    path: &str,
    json: Json<'_>,
) -> (Option<Outcome>, Option<Localized>) {
    let Some(mut fields) = Fields::open(faults, path, json) else { return (None, None) };
    let id = fields.required(faults, "id", text(parse::outcome));
    let words = fields.required(faults, "text", localized(outcome_text));
    fields.close(faults);
    (id, words)
}

fn outcome_text(text: &str) -> Read<String> {
    parse::words(text, OUTCOME_CHARS_MAX)
}

#[cfg(test)]
#[path = "../../tests/unit/http/admin_form.rs"]
mod tests;
