//! Where operators have an entrance of their own, what is theirs is refused at the others.

use super::connection_slots::ConnectionSlot;
use super::problem::{Kind, Problem};
use super::route::Route;
use super::site::Site;

/// Refuses a route of operators on a connection that came in elsewhere.
///
/// # Errors
/// It is one.
pub fn check(
    route: Option<&Route>,
    connection: Option<&ConnectionSlot>,
    site: &Site,
) -> Result<(), Problem> {
    let theirs = route.is_some_and(|route| route.access.is_staffs());
    if theirs && is_elsewhere(connection, site) { Err(elsewhere()) } else { Ok(()) }
}

/// Whether operators have an entrance of their own, and this connection did not come in there.
pub fn is_elsewhere(connection: Option<&ConnectionSlot>, site: &Site) -> bool {
    site.apart && connection.is_some_and(|slot| !slot.is_operators())
}

/// The problem of who asks elsewhere for what is the operators'.
pub fn elsewhere() -> Problem {
    let detail = "this is answered at the operators' own address (--admin-listen)";
    Problem::new(Kind::Forbidden, detail)
}
