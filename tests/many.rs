//! One command that meets, cancels or pays hundreds of things deals with all of them: no bound in
//! the exchange is lower than those of its rules.

#![allow(clippy::unwrap_used)] // a test may stop at once

use std::fmt::Write;

use exchange::Exchange;
use exchange::effect::{CancelReason, Effect};
use exchange::script;

/// More than any round number that a loop might have been bounded by for a while.
const MANY: usize = 1_100;

/// Applies a script; returns the effects of its last record.
fn last_effects(text: &str) -> Vec<Effect> {
    effects_of_last(text, 1)
}

/// As [`last_effects`], with those of some clocks that follow at once: they may share the work.
fn clocked(text: &str) -> Vec<Effect> {
    effects_of_last(&format!("{text}{}", "\nclock".repeat(9)), 10)
}

fn effects_of_last(text: &str, count: usize) -> Vec<Effect> {
    let (mut exchange, mut effects) = (Exchange::new(), Vec::new());
    let records = script::parse(text).unwrap();
    for (number, record) in records.iter().enumerate() {
        if number + count <= records.len() {
            effects.clear();
        }
        exchange.apply(record, &mut effects).unwrap();
    }
    exchange.check().unwrap();
    effects
}

/// A venue in which Ann, Bob and Cal, in turn, offer one contract each, at 40 prices from 0.50 on.
fn offers(of: &[&str], ending: &str) -> String {
    let mut text = "venue USD\nmarket rain until +7d\npublish rain\n".to_owned();
    for name in ["ann", "bob", "cal", "dan"] {
        writeln!(text, "user {name}\ndeposit {name} 10000.00").unwrap();
    }
    for number in 0..MANY {
        let (name, tick) = (of[number % of.len()], 50 + number % 40);
        writeln!(text, "{name} sell yes 0.{tick} x1{ending} on rain").unwrap();
    }
    text
}

fn trades(effects: &[Effect]) -> usize {
    effects.iter().filter(|effect| matches!(effect, Effect::TradeMade(_))).count()
}

fn cancelled(effects: &[Effect], why: CancelReason) -> usize {
    let reasons = effects.iter().filter_map(|effect| match effect {
        Effect::OrderCancelled { reason, .. } => Some(*reason),
        _ => None,
    });
    reasons.filter(|reason| *reason == why).count()
}

#[test]
fn an_order_sweeps_every_order_that_it_can_meet() {
    let offers = offers(&["ann", "bob", "cal"], "");
    for kind in ["", " ioc", " fok", " stp=cancel-maker"] {
        let effects = last_effects(&format!("{offers}dan buy yes 0.99 x{MANY}{kind}"));
        assert_eq!(trades(&effects), MANY, "{kind}");
    }
    // One more than there is.
    let more = MANY + 1;
    let effects = last_effects(&format!("{offers}dan buy yes 0.99 x{more} ioc"));
    assert_eq!((trades(&effects), cancelled(&effects, CancelReason::IocRemainder)), (MANY, 1));
    let effects = last_effects(&format!("{offers}dan buy yes 0.99 x{more} fok"));
    assert_eq!((trades(&effects), cancelled(&effects, CancelReason::FokNotFillable)), (0, 1));
}

#[test]
fn an_amended_order_sweeps_as_far_as_a_new_one() {
    let offers = offers(&["ann", "bob"], "");
    let last = format!("{offers}dan buy yes 0.10 x{MANY} as d1\ndan amend d1 price 0.99");
    assert_eq!(trades(&last_effects(&last)), MANY);
}

#[test]
fn all_of_an_owners_orders_are_cancelled() {
    let reason = CancelReason::SelfTrade;
    let own = offers(&["dan"], "");
    let swept = last_effects(&format!("{own}dan buy yes 0.99 x1 stp=cancel-maker"));
    assert_eq!((trades(&swept), cancelled(&swept, reason)), (0, MANY));
    let all = last_effects(&format!("{own}dan cancel all"));
    assert_eq!(cancelled(&all, CancelReason::User), MANY);
    let silent = clocked(&format!("{own}dan heartbeat 5s\n+5s clock"));
    assert_eq!(cancelled(&silent, CancelReason::HeartbeatExpired), MANY);
}

#[test]
fn everything_that_expired_is_cancelled() {
    let offers = offers(&["ann", "bob", "cal"], " expires +1m");
    let clock = clocked(&format!("{offers}+1h clock"));
    assert_eq!(cancelled(&clock, CancelReason::Expired), MANY);
    // Also where an order meets it before the clock does.
    let met = last_effects(&format!("{offers}+1h dan buy yes 0.99 x1 ioc on rain"));
    assert_eq!((trades(&met), cancelled(&met, CancelReason::Expired)), (0, MANY));
}
