//! Trials of batches of orders and cancels, compared with the same applied one after the other.

use exchange::catalogue::Outcome;
use exchange::command::{Command, IdempotencyKey, KeyedCommand, PlaceOrder, Record, Side, Wording};
use exchange::effect::Effect;
use exchange::ids::{MarketNo, OrderNo, UserNo};
use exchange::reject::Reject;
use exchange::trial::{KeyedStep, Step as Part, Target};
use exchange::units::{Lots, ORDER_LOTS_MAX, Tick};
use exchange::{Exchange, script};

use crate::commands::{self, Step};
use crate::duel::Duel;

/// Builds a batch for one user from random steps, and compares its trial with the effects of
/// applying it to a copy of the venue.
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
    for (KeyedCommand { once, command, .. }, link) in asked.zip(links) {
        let once = once.map(|once| Box::new(IdempotencyKey { caller: user, ..*once }));
        let linked = link.and_then(|link| parts.get(usize::from(link)));
        let name =
            linked.and_then(|(part, _)| part.placement()?.client_order_id.as_deref().copied());
        let part = match command {
            Command::PlaceOrder(mut terms) if name.is_none() => {
                terms.user = user;
                Part::Place(terms)
            }
            Command::CancelOrder { order, .. } => {
                Part::Cancel { user, target: Target { name, order: Some(order) } }
            }
            Command::AmendOrder { order, price, quantity, .. } => {
                Part::Amend { user, target: Target { name, order: Some(order) }, price, quantity }
            }
            Command::ReplaceOrder { replaced, mut terms } => {
                terms.user = user;
                Part::Replace { target: Target { name, order: Some(replaced) }, terms }
            }
            _ if name.is_some() => Part::Cancel { user, target: Target { name, order: None } },
            _ => continue,
        };
        parts.push((part, once));
    }
    let digest = duel.exchange.digest();
    let tried = duel.exchange.trial(&parts, now, usize::MAX);
    if duel.exchange.digest() != digest {
        return Err("a trial changed the state".to_owned());
    }
    let tried = tried.map_err(|broken| format!("a trial: {broken:?}"))?;
    let tried = tried.ok_or("a trial out of reach")?;
    let applied = apply_in_turn(duel.exchange.clone(), user, &parts);
    for ((part, tried), applied) in parts.iter().zip(&tried).zip(&applied) {
        if tried != applied {
            return Err(format!("{part:?} of {parts:?}\ntried: {tried:?}\ncame:  {applied:?}"));
        }
    }
    Ok(applied)
}

/// The effects of the parts, applied one after the other.
fn apply_in_turn(mut exchange: Exchange, user: UserNo, parts: &[KeyedStep]) -> Vec<Vec<Effect>> {
    let mut all: Vec<Vec<Effect>> = Vec::new();
    for (part, once) in parts {
        let meant = |target: &Target| {
            // The newest order with that name, placed by an earlier part of the batch.
            let so_named = |part: &Part| {
                let name = part.placement().and_then(|terms| terms.client_order_id.as_deref());
                name.is_some() && name == target.name.as_ref()
            };
            let named = parts[..all.len()].iter().zip(&all).rev();
            let named = named.filter(|((part, _), _)| so_named(part));
            let mut numbers =
                named.flat_map(|(_, effects)| effects).filter_map(|effect| match effect {
                    Effect::OrderAccepted { order, .. } => Some(*order),
                    Effect::Repeated { first } => Some(OrderNo(*first)),
                    _ => None,
                });
            numbers.next().or(target.order)
        };
        let command = match part {
            Part::Place(terms) => Some(Command::PlaceOrder(terms.clone())),
            Part::Cancel { target, .. } => {
                meant(target).map(|order| Command::CancelOrder { user, order })
            }
            Part::Replace { target, terms } => meant(target)
                .map(|replaced| Command::ReplaceOrder { replaced, terms: terms.clone() }),
            Part::Amend { target, price, quantity, .. } => meant(target).map(|order| {
                let (price, quantity) = (*price, *quantity);
                Command::AmendOrder { user, order, price, quantity, seen: None }
            }),
            Part::Act(_) | Part::Ask => None,
        };
        let mut effects = Vec::new();
        if let Some(command) = command {
            let (sequence, time) = (exchange.sequence().next(), exchange.time());
            let record = Record { sequence, time, once: once.clone(), act: None, command };
            exchange.apply(&record, &mut effects).unwrap();
        } else {
            effects.push(Effect::Refused(Reject::OrderNotFound));
        }
        all.push(effects);
    }
    all
}

/// The bound on orders met, given to the trials below.
const MET_MAX: u64 = 200;

#[test]
fn a_trial_that_meets_too_many_orders_has_no_result() {
    let mut duel = Duel::unopened();
    let script = "venue USD orders 20000\nuser ann\nuser bob\ndeposit ann 1000\ndeposit bob 1000\n\
                  market rain\npublish rain\n";
    for record in script::parse(script).unwrap() {
        duel.exchange.apply(&record, &mut Vec::new()).unwrap();
    }
    let order = |user, ticks, lots| {
        let wording =
            Wording { outcome: Outcome::Yes, side: if user == 0 { Side::Sell } else { Side::Buy } };
        PlaceOrder::plain(
            UserNo(user),
            MarketNo(0),
            wording,
            Tick::new(ticks).unwrap(),
            Lots::new(lots),
        )
    };
    let tried = |exchange: &Exchange, lots: &[u64]| {
        let step = |lots: &u64| (Part::Place(order(1, 60, *lots)), None);
        let steps: Vec<KeyedStep> = lots.iter().map(step).collect();
        exchange.trial(&steps, exchange.time(), usize::try_from(MET_MAX).unwrap()).unwrap()
    };
    for _ in 0..=MET_MAX {
        assert!(tried(&duel.exchange, &[MET_MAX + 1]).is_some());
        let sequence = duel.exchange.sequence().next();
        let (time, command) = (duel.exchange.time(), Command::PlaceOrder(order(0, 50, 1)));
        let record = Record { sequence, time, once: None, act: None, command };
        duel.exchange.apply(&record, &mut Vec::new()).unwrap();
    }
    // The bound is for all steps together.
    for (lots, within) in [
        (&[MET_MAX + 1][..], false),
        (&[MET_MAX], true),
        (&[MET_MAX - 1, 2], false),
        (&[MET_MAX - 1, 1], true),
    ] {
        assert_eq!(tried(&duel.exchange, lots).is_some(), within, "{lots:?}");
    }
    // What is refused meets nobody.
    let refused = vec![Effect::Refused(Reject::InsufficientFunds)];
    assert_eq!(tried(&duel.exchange, &[ORDER_LOTS_MAX]), Some(vec![refused]));
}
