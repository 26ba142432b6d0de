//! Trials of several orders and cancels at once, against the same asked one after the other.

use openoutcry::exchange::Exchange;
use openoutcry::exchange::command::{Asked, Command, Once, Record};
use openoutcry::exchange::effect::Effect;
use openoutcry::exchange::ids::{OrderNo, UserNo};
use openoutcry::exchange::reject::Reject;
use openoutcry::exchange::trial::several::{KeyedStep, Step as Part};

use crate::commands::{self, Step};
use crate::duel::Duel;

/// Makes of what random steps would ask now a batch of one user's, and holds its trial to what
/// comes of it in a copy of the venue.
pub fn tried_as_done(
    duel: &Duel,
    user: u32,
    steps: &[Step],
    links: &[Option<u8>],
) -> Result<Vec<Vec<Effect>>, String> {
    let user = UserNo(user);
    let now = duel.exchange.time();
    let asked = steps.iter().map(|step| commands::asked(&duel.twin, step, now));
    let mut parts: Vec<KeyedStep> = Vec::new();
    for (Asked { once, command }, link) in asked.zip(links) {
        let once = once.map(|once| Box::new(Once { caller: user, ..*once }));
        let placed_by = link.map(usize::from).filter(|link| *link < parts.len());
        let part = match command {
            Command::PlaceOrder(mut terms) if placed_by.is_none() => {
                terms.user = user;
                Part::Place(terms)
            }
            Command::CancelOrder { order, .. } | Command::AmendOrder { order, .. } => {
                Part::Cancel { placed_by, order: Some(order) }
            }
            _ if placed_by.is_some() => Part::Cancel { placed_by, order: None },
            _ => continue,
        };
        parts.push((part, once));
    }
    let digest = duel.exchange.digest();
    let tried = duel.exchange.trial_of_several(user, &parts, now);
    if duel.exchange.digest() != digest {
        return Err("a trial changed the state".to_owned());
    }
    let tried = tried.map_err(|broken| format!("a trial: {broken:?}"))?;
    let tried = tried.ok_or("a trial out of reach")?;
    let came = done(duel.exchange.clone(), user, &parts);
    for ((part, tried), came) in parts.iter().zip(&tried).zip(&came) {
        if tried != came {
            return Err(format!("{part:?} of {parts:?}\ntried: {tried:?}\ncame:  {came:?}"));
        }
    }
    Ok(came)
}

/// What comes of the parts, asked one after the other.
fn done(mut exchange: Exchange, user: UserNo, parts: &[KeyedStep]) -> Vec<Vec<Effect>> {
    let mut all: Vec<Vec<Effect>> = Vec::new();
    for (part, once) in parts {
        let command = match part {
            Part::Place(terms) => Some(Command::PlaceOrder(terms.clone())),
            Part::Cancel { placed_by, order } => {
                let placed = placed_by.and_then(|place| {
                    all[place].iter().find_map(|effect| match effect {
                        Effect::OrderAccepted { order, .. } => Some(*order),
                        Effect::Repeated { first } => Some(OrderNo(*first)),
                        _ => None,
                    })
                });
                placed.or(*order).map(|order| Command::CancelOrder { user, order })
            }
        };
        let mut effects = Vec::new();
        if let Some(command) = command {
            let (sequence, time) = (exchange.sequence().next(), exchange.time());
            let record = Record { sequence, time, once: once.clone(), command };
            exchange.apply(&record, &mut effects).unwrap();
        } else {
            effects.push(Effect::Refused(Reject::OrderNotFound));
        }
        all.push(effects);
    }
    all
}
