//! What the door remembers of every key while the process runs: what is left of its buckets, and
//! when it was last used. Nothing of it is journaled.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

use super::auth::Caller;
use super::rates::{Allowance, Bucket, Rates};
use super::routes::RequestClass;
use crate::engine::clock;
use crate::exchange::ids::KeyNo;
use crate::exchange::units::TimeMs;

const MS_PER_MINUTE: i64 = 60_000;
/// Keys in the first part of the table; each part has twice the one before.
const FIRST_PART: usize = 256;
/// Parts enough for every number a key can have.
const PARTS: usize = 25;

/// Lanes that have a bucket.
const LIMITED: [RequestClass; 3] =
    [RequestClass::Reads, RequestClass::Writes, RequestClass::Cancels];

/// One key's.
#[derive(Debug, Default)]
struct KeyUse {
    reads: Bucket,
    writes: Bucket,
    cancels: Bucket,
    /// Minutes since 1970; 0 before the first use.
    used: AtomicU32,
}

/// The table. It grows with the keys that are used and with nothing else; growing moves nothing,
/// so nobody locks it.
#[derive(Debug)]
pub struct Keyring {
    rates: Rates,
    began: Instant,
    parts: [OnceLock<Box<[KeyUse]>>; PARTS],
}

impl Keyring {
    /// An empty table under these limits.
    pub fn new(rates: Rates) -> Keyring {
        Keyring { rates, began: Instant::now(), parts: std::array::from_fn(|_| OnceLock::new()) }
    }

    /// Notes that a key is used, and takes what its request costs now. `None`: there is no limit,
    /// as for an operator, on whose key everybody waits.
    pub fn admit(&self, caller: &Caller, lane: RequestClass, now: Instant) -> Option<Allowance> {
        let row = self.row(caller.key)?;
        let minute = clock::now().get() / MS_PER_MINUTE;
        row.used.store(u32::try_from(minute).unwrap_or(u32::MAX), Ordering::Relaxed);
        let (rate, bucket) = (self.rates.of(lane)?, row.bucket(lane)?);
        (!caller.is_operator()).then(|| bucket.take(rate, 1, self.since_began(now)))
    }

    /// Takes what several commands in one request cost: so many writes and so many cancels, all or
    /// none, beside the one that the request itself `drew`.
    ///
    /// # Errors
    /// The lane that does not hold enough, what it holds, and when the request would be taken. It
    /// is not free: what it drew itself stays taken.
    pub fn admit_several(
        &self,
        caller: &Caller,
        writes: u32,
        cancels: u32,
        drew: RequestClass,
    ) -> Result<(), (RequestClass, Allowance)> {
        let Some(row) = self.row(caller.key).filter(|_| !caller.is_operator()) else {
            return Ok(());
        };
        let now = self.now();
        let more = |lane, tokens: u32| tokens.saturating_sub(u32::from(drew == lane));
        let limited = |lane| self.rates.of(lane).zip(row.bucket(lane));
        let take = |lane, tokens| match (limited(lane), more(lane, tokens)) {
            (None, _) | (_, 0) => Ok(()),
            (Some((rate, bucket)), more) => match bucket.take(rate, more, now).wait_seconds {
                None => Ok(()),
                // Whoever asks again needs the whole, since the request draws again.
                Some(_) => Err((lane, bucket.wait_for(rate, tokens, now))),
            },
        };
        let give_back = |lane, tokens| {
            if let Some((rate, bucket)) = limited(lane) {
                bucket.give_back(rate, tokens);
            }
        };
        take(RequestClass::Cancels, cancels)?;
        take(RequestClass::Writes, writes).inspect_err(|_| {
            give_back(RequestClass::Cancels, more(RequestClass::Cancels, cancels));
        })?;
        let for_nothing = match drew {
            RequestClass::Writes => writes == 0,
            RequestClass::Cancels => cancels == 0,
            RequestClass::Reads | RequestClass::Probes => false,
        };
        if for_nothing {
            give_back(drew, 1);
        }
        Ok(())
    }

    /// Has a key that a user made share what is left in the buckets of the key that made it: to
    /// make keys must not be a way around their limits. One that an operator made begins full.
    pub fn share(&self, maker: &Caller, made: KeyNo) {
        let Some((own, new)) = self.row(maker.key).zip(self.row(made)) else { return };
        for lane in LIMITED.into_iter().filter(|_| !maker.is_operator()) {
            if let (Some(rate), Some(own), Some(new)) =
                (self.rates.of(lane), own.bucket(lane), new.bucket(lane))
            {
                own.halve(rate, new, self.now());
            }
        }
    }

    /// Has a key go on with the buckets of the one that it replaces.
    pub fn inherit(&self, replaced: KeyNo, made: KeyNo) {
        let Some((old, new)) = self.row(replaced).zip(self.row(made)) else { return };
        for lane in LIMITED {
            if let (Some(old), Some(new)) = (old.bucket(lane), new.bucket(lane)) {
                new.replace(old);
            }
        }
    }

    /// What is left in a lane, taking nothing; `None` where there is no limit.
    pub fn look(&self, caller: &Caller, lane: RequestClass) -> Option<(u32, Allowance)> {
        let (rate, row) = (self.rates.of(lane)?, self.row(caller.key)?);
        let bucket = row.bucket(lane).filter(|_| !caller.is_operator())?;
        Some((rate.per_second(), bucket.look(rate, self.now())))
    }

    /// The minute in which a key was last used since the process began.
    pub fn last_used(&self, key: KeyNo) -> Option<TimeMs> {
        let (part, place) = place(key)?;
        let minute = self.parts.get(part)?.get()?.get(place)?.used.load(Ordering::Relaxed);
        let used = (minute > 0).then_some(i64::from(minute))?;
        TimeMs::new(used.checked_mul(MS_PER_MINUTE)?)
    }

    fn now(&self) -> u64 {
        self.since_began(Instant::now())
    }

    fn since_began(&self, moment: Instant) -> u64 {
        let since = moment.saturating_duration_since(self.began);
        u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
    }

    fn row(&self, key: KeyNo) -> Option<&KeyUse> {
        let (part, place) = place(key)?;
        let empty = || (0..FIRST_PART << part).map(|_| KeyUse::default()).collect();
        self.parts.get(part)?.get_or_init(empty).get(place)
    }
}

impl KeyUse {
    const fn bucket(&self, lane: RequestClass) -> Option<&Bucket> {
        match lane {
            RequestClass::Reads => Some(&self.reads),
            RequestClass::Writes => Some(&self.writes),
            RequestClass::Cancels => Some(&self.cancels),
            RequestClass::Probes => None,
        }
    }
}

/// A key's part of the table and its place in it. Part `p` begins after `FIRST_PART` x (2^p - 1).
fn place(key: KeyNo) -> Option<(usize, usize)> {
    let index = key.index();
    let part = (index / FIRST_PART).checked_add(1)?.ilog2();
    let before = FIRST_PART * ((1 << part) - 1);
    Some((usize::try_from(part).ok()?, index.checked_sub(before)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exchange::command::Role;
    use crate::exchange::ids::UserNo;
    use crate::exchange::units::Sequence;

    fn caller(key: u32, role: Role) -> Caller {
        let (as_of, keys_as_of) = (Sequence::ZERO, Sequence::ZERO);
        Caller { user: UserNo(0), key: KeyNo(key), role, as_of, keys_as_of }
    }

    #[test]
    fn every_key_has_its_own_place() {
        let last = u32::MAX as usize;
        let mut next = (0, 0);
        for key in 0..10_000 {
            let (part, at) = place(KeyNo(key)).unwrap();
            assert_eq!((part, at), next, "{key}");
            next = if at + 1 == FIRST_PART << part { (part + 1, 0) } else { (part, at + 1) };
        }
        let (part, at) = place(KeyNo(u32::MAX)).unwrap();
        assert!(part < PARTS && at < FIRST_PART << part, "{last}");
    }

    #[test]
    fn keys_and_lanes_share_nothing_and_operators_have_no_limit() {
        let limit = "1:1".parse().unwrap();
        let keyring = Keyring::new(Rates { reads: limit, writes: limit, ..Rates::NONE });
        let (ann, bob) = (caller(3, Role::Trader), caller(700, Role::Trader));
        assert_eq!(keyring.last_used(ann.key), None);
        let admit = |caller, lane| {
            keyring.admit(caller, lane, Instant::now()).map(|left| left.wait_seconds)
        };
        // A second is longer than these lines take; were it not, more would be admitted, and the
        // refusal is tried in `rates` on a clock of its own.
        assert_eq!(admit(&ann, RequestClass::Reads), Some(None));
        assert_eq!(
            (admit(&ann, RequestClass::Writes), admit(&bob, RequestClass::Reads)),
            (Some(None), Some(None))
        );
        assert_eq!(
            (admit(&ann, RequestClass::Cancels), admit(&ann, RequestClass::Probes)),
            (None, None)
        );
        let desk = caller(4, Role::Operator);
        assert_eq!(
            (admit(&desk, RequestClass::Writes), keyring.look(&desk, RequestClass::Writes)),
            (None, None)
        );
        assert!(
            keyring.look(&ann, RequestClass::Reads).is_some_and(|(per_second, _)| per_second == 1)
        );
        let used = [ann, bob, desk].map(|caller| keyring.last_used(caller.key).is_some());
        assert_eq!((used, keyring.last_used(KeyNo(5))), ([true; 3], None));
    }

    /// A write may come while a batch without one is read: then it needs no cancel.
    #[test]
    fn what_a_batch_drew_for_nothing_is_given_back() {
        let limit = "1:5".parse().unwrap();
        let keyring = Keyring::new(Rates { writes: limit, cancels: limit, ..Rates::NONE });
        for (lane, writes, cancels) in [(RequestClass::Cancels, 2, 0), (RequestClass::Writes, 0, 2)]
        {
            let ann = caller(writes, Role::Trader);
            assert!(keyring.admit(&ann, lane, Instant::now()).is_some());
            assert_eq!(keyring.admit_several(&ann, writes, cancels, lane), Ok(()));
            let left = keyring.look(&ann, lane).map(|(_, left)| left.remaining);
            assert_eq!(left, Some(5), "{lane:?}");
        }
    }
}
