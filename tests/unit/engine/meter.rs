//! Unit tests of `src/engine/meter.rs`.

use super::*;
use exchange::ids::{MarketNo, UserNo};
use exchange::units::Money;

#[test]
fn commands_are_counted_by_kind_and_result() {
    let meter = MatcherMeter::default();
    let (user, market) = (UserNo(0), MarketNo(0));
    let deposit = Command::Deposit { user, amount: Money::new(1) };
    let close = Command::CloseMarket { market };
    meter.count(&deposit, &[]);
    meter.count(&deposit, &[]);
    meter.count(&deposit, &[Effect::Refused(Reject::DepositLimit)]);
    meter.count(&close, &[Effect::Refused(Reject::ALL[0])]);
    meter.count(&Command::CancelOrders { user, market: None, group: None, key: None }, &[]);
    meter.count(&Command::AdvanceClock, &[]);
    let counted: Vec<_> = meter.commands().filter(|(_, _, count)| *count > 0).collect();
    let expected = [
        ("deposit", "accepted", 2),
        ("deposit", "DEPOSIT_LIMIT", 1),
        ("close_market", "VENUE_NOT_OPEN", 1),
        ("cancel_orders", "accepted", 1),
    ];
    assert_eq!(counted, expected);
    assert_eq!(
        meter.commands().filter(|row| row.1 == "accepted").count(),
        Command::KINDS.len() - 1
    );
}
