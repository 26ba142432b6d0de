//! Unit tests of `src/http/problem.rs`.

use super::*;
use engine::halt::HaltReason;

/// The statuses of semantics 7, and those of later refusals.
const STATUSES: &str = "
        400 INVALID_REQUEST
        404 USER_NOT_FOUND KEY_NOT_FOUND CATEGORY_NOT_FOUND EVENT_NOT_FOUND MARKET_NOT_FOUND
        401 SECOND_FACTOR_REQUIRED SECOND_FACTOR_REFUSED
        404 ORDER_NOT_FOUND INVITATION_NOT_FOUND SESSION_NOT_FOUND SECOND_FACTOR_NOT_FOUND
        404 TRANSFER_NOT_FOUND PROPOSAL_NOT_FOUND
        409 PROPOSAL_OF_OWN
        409 ALREADY_DISPUTED
        422 PROPOSAL_LIMIT
        422 NO_CONTRACTS
        409 CLIENT_ORDER_ID_REUSED IDEMPOTENCY_KEY_REUSED
        409 EVENT_COMPLETE EVENT_ALREADY_WON NAME_TAKEN IDENTITY_TAKEN PASSWORD_CHANGED
        409 SLUG_TAKEN KEY_TAKEN INVALID_TRANSITION ORDER_NOT_OPEN VENUE_ALREADY_OPEN
        409 NAME_TAKEN PASSWORD_CHANGED REFERENCE_USED
        412 PRECONDITION_FAILED
        422 MARKET_NOT_ACTIVE INSUFFICIENT_FUNDS POST_ONLY_WOULD_CROSS REDUCE_ONLY_EXCEEDED
        422 EVENT_NOT_EXCLUSIVE EVENT_NOT_CONVERTIBLE INSUFFICIENT_CONTRACTS INSUFFICIENT_FEES
        422 TRADING_READ_ONLY TRADING_CANCEL_ONLY HEARTBEAT_EXPIRED HEARTBEAT_LIMIT EXPOSURE_LIMIT
        422 TRANSFER_LIMIT OPEN_ORDER_LIMIT ORDER_TOO_LATE DEPOSIT_LIMIT VENUE_FULL QUANTITY_FILLED
        429 TOO_MANY_NAMES
        503 VENUE_NOT_OPEN
    ";

#[test]
fn every_refusal_has_the_status_of_semantics_7() {
    for reject in Reject::ALL {
        let kind = Kind::Refused(reject);
        let row = STATUSES
            .lines()
            .find(|line| line.split_whitespace().any(|word| word == kind.code()))
            .unwrap_or_else(|| panic!("no row for {}", kind.code()));
        assert!(row.trim().starts_with(kind.status().as_str()), "{}", kind.code());
    }
}

#[test]
fn a_deadline_in_the_past_is_a_bad_field() {
    let problem = Problem::refused(Reject::DeadlineNotInFuture, Sequence::new(9));
    assert_eq!(problem.errors.first().map(|e| e.field.as_str()), Some("deadline"));
    assert_eq!(problem.sequence, Some(Sequence::new(9)));
}

#[test]
fn an_unknown_outcome_does_not_claim_that_nothing_was_accepted() {
    let reason = HaltReason::JournalUnknown;
    let unknown = Problem::from(Refusal::OutcomeUnknown(reason));
    let refused = Problem::from(Refusal::JournalUnavailable(reason));
    assert_eq!(
        (unknown.kind.status(), unknown.kind.code()),
        (refused.kind.status(), "OUTCOME_UNKNOWN")
    );
    assert!(refused.detail.contains("nothing was accepted"));
    assert!(refused.detail.contains("journal cannot be written"));
    let own = Problem::from(Refusal::JournalUnavailable(HaltReason::ReadModelBroken));
    assert!(own.detail.contains("nothing was accepted"), "{}", own.detail);
    assert!(!own.detail.contains("cannot be written"), "{}", own.detail);
    assert!(!unknown.detail.contains("nothing was accepted"), "{}", unknown.detail);
}
