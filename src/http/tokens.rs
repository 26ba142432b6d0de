//! Takes the tokens that requests cost, and says which are lacking.

use std::time::Instant;

use super::auth::Caller;
use super::call::Call;
use super::keyring::{Keyring, Lacking};
use super::problem::{FieldCode, FieldError, Kind, Problem};
use super::rates::{Allowance, RequestClass};

/// Takes one token for a request. If none of its class is left and the request has `several`
/// commands, it takes a cancel's, since it may only cancel. Returns the class that was charged and
/// the state of its bucket.
///
/// # Errors
/// No token is left.
pub fn take(
    keyring: &Keyring,
    caller: &Caller,
    class: RequestClass,
    several: bool,
    now: Instant,
) -> Result<(RequestClass, Option<Allowance>), Problem> {
    let left = keyring.admit(caller, class, now);
    let Some(lacking) = left.filter(|left| left.wait_seconds.is_some()) else {
        return Ok((class, left));
    };
    if !several {
        return Err(Problem::beyond(Lacking { class, asked: 1, left: lacking }));
    }
    let left = keyring.admit(caller, RequestClass::Cancels, now);
    match left.filter(|left| left.wait_seconds.is_some()) {
        None => Ok((RequestClass::Cancels, left)),
        // The body was not read, so which of the two it needs is unknown.
        Some(cancels) => Err(Problem::beyond_both(lacking, cancels)),
    }
}

/// Takes the tokens for the operations of one request, all or none.
///
/// # Errors
/// Too few tokens are left, or the bucket never holds as many.
pub fn take_several(call: &Call, writes: usize, cancels: usize) -> Result<(), Problem> {
    let count = |operations| u32::try_from(operations).unwrap_or(u32::MAX);
    let (keyring, caller) = (&call.shared.keyring, &call.caller);
    let taken = keyring.admit_several(caller, count(writes), count(cancels), call.drew);
    taken.map_err(|lacking| {
        let Lacking { class, asked, left } = lacking;
        if asked <= left.limit {
            return Problem::beyond(lacking);
        }
        // Waiting does not help, so this is not a 429.
        let (limit, name) = (left.limit, class.name());
        let detail = format!(
            "has {asked} {name}, and a user never has more than {limit} at once: send parts"
        );
        let (field, code) = ("operations".to_owned(), FieldCode::OutOfBounds);
        let invalid = Problem::invalid(vec![FieldError { field, code, detail: detail.into() }]);
        let left = Allowance { wait_seconds: None, ..left };
        Problem { allowance: Some(Box::new(left)), ..invalid }
    })
}

impl Problem {
    /// The user has too few tokens of one class.
    pub fn beyond(Lacking { class, asked, left }: Lacking) -> Problem {
        let (limit, remaining, class) = (left.limit, left.remaining, class.name());
        let why = if asked == 1 {
            format!("none of the {limit} {class} of this key's user are left")
        } else {
            format!(
                "{asked} {class} are needed, and this key's user has {remaining} of {limit} left"
            )
        };
        Problem::rate_limited(&why, left)
    }

    /// The user has neither writes nor cancels left. Names the bucket that has a token first.
    pub fn beyond_both(writes: Allowance, cancels: Allowance) -> Problem {
        let sooner = if cancels.wait_seconds < writes.wait_seconds { cancels } else { writes };
        Problem::rate_limited("this key's user has neither writes nor cancels left", sooner)
    }

    /// The user's daily allowance of records is used up for now.
    pub fn beyond_daily(left: Allowance) -> Problem {
        let why = format!("this key's user has written the {} records of a day", left.limit);
        Problem::to_wait(Kind::RecordLimit, &why, left)
    }

    fn rate_limited(why: &str, left: Allowance) -> Problem {
        Problem::to_wait(Kind::RateLimited, why, left)
    }

    fn to_wait(kind: Kind, why: &str, left: Allowance) -> Problem {
        let wait = left.wait_seconds.unwrap_or_default();
        let detail = format!("{why}; wait {wait} s, and see /account/limits");
        let allowance = Some(Box::new(left));
        Problem { allowance, ..Problem::new(kind, detail) }
    }
}
