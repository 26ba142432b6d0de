//! What a line of a catalogue would be told if it were made, so that an import is begun only if all
//! of it can be made.

use super::admin_catalogue::NewCategory;
use super::admin_form::{NewEvent, NewMarket};
use super::call::{Call, category_nos, event_no};
use super::form::Form;
use super::members::{Checked, bodies, lacking};
use super::problem::Problem;
use super::reply::Reply;

bodies! {
    /// A line of a catalogue: one of the three.
    struct CatalogueLine {
        optional {
            "category" => category: NewCategory,
            "event" => event: NewEvent,
            "market" => market: NewMarket,
        }
    }
    check it_is_one_thing;
}

fn it_is_one_thing(line: &CatalogueLine) -> Checked {
    let CatalogueLine { category, event, market } = line;
    let given = [category.is_some(), event.is_some(), market.is_some()];
    match given.iter().filter(|is_there| **is_there).count() {
        1 => Ok(()),
        _ => lacking("one of category, event and market is needed"),
    }
}

/// `POST /admin/catalogue/check`. Slugs are left out: whoever imports again has them already.
pub async fn check(call: Call) -> Result<Reply, Problem> {
    let CatalogueLine { category: _, event, market } = call.read(Form::body)?;
    let (mut categories, mut of_event) = (Vec::new(), None);
    if let Some(event) = event {
        categories = event.draft().1;
    }
    if let Some(market) = market {
        (_, of_event, categories) = market.draft(0);
    }
    let (sequence, ()) = call.look(|view| {
        category_nos(view, &categories)?;
        of_event.map(|id| event_no(view, id)).transpose().map(drop)
    })?;
    Ok(Reply::no_content(sequence))
}
