//! `rebuild`: the state at a moment, and the proof that no money is missing.

use std::path::Path;

use exchange::units::Sequence;
use serde_json::{Map, Value, json};

use crate::answer::{Answer, Failure, head_fields};
use crate::moment::{Moment, rfc3339};
use crate::pass::{Reached, pass_to};
use crate::source::Source;
use crate::tally::{Proof, Tally};

/// Applies every record up to a moment to an empty exchange and summarises the state.
pub fn rebuild(path: &Path, at: Option<Moment>) -> Result<Answer, Failure> {
    let mut source = Source::open(path)?;
    let mut tally = Tally::default();
    let reached = pass_to(&mut source, at, &mut tally)?;
    let exchange = &reached.exchange;
    let broken = |error: String| {
        let record = exchange.sequence().get();
        let error = format!("STATE_BROKEN: after record {record}: {error}");
        Failure::Damaged(json!({ "ok": false, "error": error, "record": record }))
    };
    exchange.check().map_err(|error| broken(error.to_string()))?;
    let proof = tally.proof()?;
    if !proof.holds() {
        return Err(broken(format!(
            "deposits less withdrawals are {}, but accounts, pairs, sets and fees hold {}",
            proof.net_deposits, proof.accounted
        )));
    }
    let time = (exchange.sequence() > Sequence::ZERO).then(|| rfc3339(exchange.time()));
    let markets: Map<String, Value> = tally
        .markets_by_status()
        .into_iter()
        .map(|(status, count)| (status.name().to_owned(), count.into()))
        .collect();
    let value = json!({
        "ok": true,
        "sequence": exchange.sequence().get(),
        "time": time,
        "state": exchange.digest()?.to_string(),
        "results": reached.results.hash.to_string(),
        "effects": tally.effects,
        "refused": tally.refused,
        "head": head_fields(&reached.head),
        "users": tally.users,
        "markets": markets,
        "open_orders": exchange.open_orders_count(),
        "trades": tally.trades,
        "volume": tally.volume.to_string(),
        "money": {
            "currency": exchange.rules().map(|rules| rules.currency.clone()),
            "net_deposits": proof.net_deposits.to_string(),
            "available": proof.available.to_string(),
            "reserved": proof.reserved.to_string(),
            "pairs": proof.pairs.to_string(),
            "sets": proof.sets.to_string(),
            "fees": proof.fees.to_string(),
            "accounted": proof.accounted.to_string(),
        },
    });
    let text = text(&reached, &tally, &proof)?;
    Ok(Answer::Text { value, text, sound: true })
}

/// The text form.
fn text(reached: &Reached, tally: &Tally, proof: &Proof) -> Result<String, Failure> {
    let exchange = &reached.exchange;
    let mut text = String::new();
    let none = exchange.sequence() == Sequence::ZERO;
    let when =
        if none { "no record yet".to_owned() } else { format!("of {}", rfc3339(exchange.time())) };
    let markets = tally.markets_by_status().into_iter();
    let markets: Vec<_> =
        markets.map(|(status, count)| format!("{count} {}", status.name())).collect();
    let currency = exchange.rules().map_or("", |rules| rules.currency.as_str());
    text.extend([format!(
        "\
state after record {sequence}, {when}
digest       {digest}
results      {results}
head         block up to record {head}, hash {hash}
records      {effects} effects, {refused} commands refused
users        {users}
markets      {markets}
open orders  {open}
trades       {trades}, {volume} contracts

money in     {deposits:>24} {currency}  deposits less withdrawals
money held   {available:>24} {currency}  available on accounts
             {reserved:>24} {currency}  set aside: open orders, withdrawals that wait, bonds
             {pairs:>24} {currency}  pairs of yes and no contracts, at 1.00 each
             {sets:>24} {currency}  left of the 1.00 of each set of converted contracts
             {fees:>24} {currency}  fees, and what sets have left: the operator's, not taken
             {accounted:>24} {currency}  in all: equal to money in
",
        sequence = exchange.sequence(),
        digest = exchange.digest()?,
        results = reached.results.hash,
        head = reached.head.sequence,
        hash = reached.head.hash,
        effects = tally.effects,
        refused = tally.refused,
        users = tally.users,
        markets = if markets.is_empty() { "none".to_owned() } else { markets.join(", ") },
        open = exchange.open_orders_count(),
        trades = tally.trades,
        volume = tally.volume,
        deposits = proof.net_deposits.to_string(),
        available = proof.available.to_string(),
        reserved = proof.reserved.to_string(),
        pairs = proof.pairs.to_string(),
        sets = proof.sets.to_string(),
        fees = proof.fees.to_string(),
        accounted = proof.accounted.to_string()
    )]);
    Ok(text)
}
