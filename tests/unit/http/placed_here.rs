//! Unit tests of `src/http/placed_here.rs`.

use super::*;

#[test]
fn commands_in_flight_are_waited_for() {
    let placed = PlacedHere::by(UserNo(1));
    placed.submitted(3);
    placed.hear(&(0..2), std::iter::empty(), &Outcome::Refused(Refusal::Overloaded));
    assert_eq!(placed.state.lock().in_flight, 1);
    placed.hear(&(2..3), std::iter::empty(), &Outcome::Lost);
    assert_eq!(placed.state.lock().in_flight, 0);
}
