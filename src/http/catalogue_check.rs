//! What a line of a catalogue would be told if it were made, so that an import is begun only if all
//! of it can be made.

use super::admin_catalogue::NewCategory;
use super::admin_form::{NewEvent, NewMarket};
use super::asking::try_out;
use super::call::{Call, category_nos, event_no};
use super::form::Form;
use super::members::{Checked, bodies, lacking};
use super::problem::Problem;
use super::reply::Reply;
use exchange::command::Command;
use exchange::effect::{Applied, Effect};
use exchange::invariant::Broken;
use exchange::reject::Reject;
use exchange::trial::Step;
use views::ReadModel;

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

/// `POST /admin/catalogue/check`. A line under whose `Idempotency-Key` something was made is good:
/// whoever imports again has it already.
pub async fn check(call: Call) -> Result<Reply, Problem> {
    let line = call.read(Form::body)?;
    let (sequence, command) = call.look(|view| command(view, line))?;
    let once = call.once_for(&command);
    let told = move |_: &ReadModel, came: Result<&[Applied<'_>], Broken>| {
        let came = came.map_err(|_| Problem::internal("a trial came to what cannot be"))?;
        match came.first().map(|applied| applied.effects) {
            // It was another endpoint's, or lacks what the line refers to.
            Some([Effect::Refused(Reject::IdempotencyKeyReused)]) => Ok(()),
            Some([Effect::Refused(reject)]) => Err(Problem::refused(*reject, sequence)),
            _ => Ok(()),
        }
    };
    try_out(&call.engine, vec![(Step::Act(Box::new(command)), once)], told).await??;
    Ok(Reply::no_content(sequence))
}

/// What a line would have made.
fn command(view: &ReadModel, line: CatalogueLine) -> Result<Command, Problem> {
    Ok(match line {
        CatalogueLine { category: Some(category), .. } => Command::CreateCategory(category.draft()),
        CatalogueLine { event: Some(event), .. } => {
            let (mut draft, categories) = event.draft();
            draft.categories = category_nos(view, &categories)?;
            Command::CreateEvent(Box::new(draft))
        }
        CatalogueLine { market: Some(market), .. } => {
            let (mut draft, event, categories) = market.draft(0);
            draft.categories = category_nos(view, &categories)?;
            draft.event = event.map(|id| event_no(view, id)).transpose()?;
            Command::CreateMarket(Box::new(draft))
        }
        _ => return Err(Problem::internal("a line is nothing")),
    })
}
