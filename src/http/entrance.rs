//! Where operators have an entrance of their own, what is theirs is refused at the others.

use super::connection_slots::ConnectionSlot;
use super::problem::{Kind, Problem};
use super::route::{Access, Route};
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
    let theirs = route.is_some_and(|route| route.access == Access::Operators);
    let elsewhere = connection.is_some_and(|slot| !slot.is_operators());
    if site.apart && theirs && elsewhere {
        let detail = "this path is answered at the operators' own address (--admin-listen)";
        return Err(Problem::new(Kind::Forbidden, detail));
    }
    Ok(())
}
