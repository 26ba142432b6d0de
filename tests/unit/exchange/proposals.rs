//! Unit tests of `src/exchange/proposals.rs`.

use super::*;
use crate::script;

#[test]
fn proposals_are_bounded_until_a_day_is_over() {
    let (proposed, mut exchange) = ("by ann withdraw ann 1.00\n", Exchange::new());
    let many = proposed.repeat(PROPOSALS_MAX + 1);
    let given = "venue USD\nuser ann\ndeposit ann 1.00\ntwo-persons above 0.00\n";
    let mut said = Vec::new();
    for record in script::parse(&format!("{given}{many}+1d {proposed}")).unwrap() {
        let mut effects = Vec::new();
        exchange.apply(&record, &mut effects).unwrap();
        said.extend(effects);
    }
    let refused = said.iter().filter(|effect| matches!(effect, Effect::Refused(_)));
    assert_eq!(refused.collect::<Vec<_>>(), [&Effect::Refused(Reject::TooManyProposals)]);
    let count = said.iter().filter(|effect| matches!(effect, Effect::Proposed(_))).count();
    assert_eq!((count, exchange.proposals.waiting.len()), (PROPOSALS_MAX + 1, 1));
    assert_eq!(exchange.ledger.account(UserNo(0)).unwrap().available, Money::new(100_000_000));
}
