//! Which market a slug leads to: a pass of its own, since a market may get it late in its life.

use exchange::Exchange;
use exchange::command::Record;
use exchange::effect::Effect;
use exchange::ids::MarketNo;
use exchange::slugs::Slug;

use crate::answer::Failure;
use crate::pass::{Listener, pass};
use crate::reference::Reference;
use crate::register::Register;
use crate::source::Source;

/// Follows who gets the slug: one market, for good.
struct Seeker<'a> {
    slug: &'a Slug,
    register: Register,
    found: Option<MarketNo>,
}

impl Listener for Seeker<'_> {
    fn after(&mut self, _: &Exchange, record: &Record, effects: &[Effect]) -> Result<(), Failure> {
        for effect in effects {
            self.register.follow(record, effect);
            let given = match effect {
                Effect::MarketCreated { market, draft } => draft.slug.as_ref().zip(Some(*market)),
                Effect::MarketRevised { market, revision } => {
                    revision.slug.as_ref().zip(Some(*market))
                }
                _ => None,
            };
            if let Some((_, market)) = given.filter(|(slug, _)| *slug == self.slug) {
                self.found = Some(market);
            }
        }
        Ok(())
    }
}

/// The market that has or had this slug.
pub fn market(source: &mut Source, slug: &Slug) -> Result<Reference, Failure> {
    let mut seeker = Seeker { slug, register: Register::default(), found: None };
    pass(source, None, false, &mut seeker)?;
    let unknown = || Failure::not_found(format!("no market has or had the slug {slug}"));
    let found = seeker.found.ok_or_else(unknown)?;
    Ok(Reference::Id(seeker.register.listing(found)?.id.uuid()))
}
