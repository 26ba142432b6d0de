//! Per-key state kept in memory while the process runs: rate limit buckets, and when the key was
//! last used. None of it is journaled.

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
/// Keys in the first segment of the table; each segment is twice as long as the one before.
const FIRST_SEGMENT: usize = 256;
/// Enough segments for every possible key number.
const SEGMENTS: usize = 25;

/// Request classes with a bucket.
const LIMITED: [RequestClass; 3] =
    [RequestClass::Reads, RequestClass::Writes, RequestClass::Cancels];

/// The state of one key.
#[derive(Debug, Default)]
struct KeyUse {
    reads: Bucket,
    writes: Bucket,
    cancels: Bucket,
    /// Minutes since 1970; 0 before the first use.
    used: AtomicU32,
}

/// A request needs more tokens than its key has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lacking {
    /// The class with too few tokens.
    pub class: RequestClass,
    /// Tokens of it that the request needs.
    pub asked: u32,
    /// The state of its bucket, and the wait until there are enough.
    pub left: Allowance,
}

/// A table of keys by number. It grows only with the keys that are used; growing never moves
/// entries, so it needs no lock.
#[derive(Debug)]
pub struct Keyring {
    rates: Rates,
    began: Instant,
    segments: [OnceLock<Box<[KeyUse]>>; SEGMENTS],
}

impl Keyring {
    /// An empty table under these limits.
    pub fn new(rates: Rates) -> Keyring {
        Keyring { rates, began: Instant::now(), segments: std::array::from_fn(|_| OnceLock::new()) }
    }

    /// Records the use of a key and takes one token for its request. `None` if there is no limit.
    /// Operators' keys have none, since the whole venue depends on them.
    pub fn admit(&self, caller: &Caller, class: RequestClass, now: Instant) -> Option<Allowance> {
        let row = self.row(caller.key)?;
        let minute = clock::now().get() / MS_PER_MINUTE;
        row.used.store(u32::try_from(minute).unwrap_or(u32::MAX), Ordering::Relaxed);
        let (rate, bucket) = (self.rates.of(class)?, row.bucket(class)?);
        (!caller.is_operator()).then(|| bucket.take(rate, 1, self.since_began(now)))
    }

    /// Takes the tokens for several commands in one request: `writes` writes and `cancels` cancels,
    /// all or none. The one token of class `drew` that the request itself took is one of them; if
    /// it is not needed, it is returned. A refused request costs that one, since it was read.
    ///
    /// # Errors
    /// The class with too few tokens. Nothing more was taken then.
    pub fn admit_several(
        &self,
        caller: &Caller,
        writes: u32,
        cancels: u32,
        drew: RequestClass,
    ) -> Result<(), Lacking> {
        let Some(row) = self.row(caller.key).filter(|_| !caller.is_operator()) else {
            return Ok(());
        };
        let now = self.now();
        let wanted = [(RequestClass::Cancels, cancels), (RequestClass::Writes, writes)];
        let limited = |class| self.rates.of(class).zip(row.bucket(class));
        let more = |class, tokens: u32| tokens.saturating_sub(u32::from(drew == class));
        let give_back = |class, tokens| {
            if let Some((rate, bucket)) = limited(class) {
                bucket.give_back(rate, tokens);
            }
        };
        let refused = |class, asked| {
            let left = limited(class).map(|(rate, bucket)| bucket.wait_for(rate, asked, now));
            left.map_or(Ok(()), |left| Err(Lacking { class, asked, left }))
        };
        // What no bucket can ever hold is refused as such, whatever the buckets hold now.
        for (class, tokens) in wanted {
            if limited(class).is_some_and(|(rate, _)| tokens > rate.burst()) {
                return refused(class, tokens);
            }
        }
        let take = |class, tokens| match (limited(class), more(class, tokens)) {
            (None, _) | (_, 0) => true,
            (Some((rate, bucket)), more) => bucket.take(rate, more, now).wait_seconds.is_none(),
        };
        if !take(RequestClass::Cancels, cancels) {
            return refused(RequestClass::Cancels, cancels);
        }
        if !take(RequestClass::Writes, writes) {
            give_back(RequestClass::Cancels, more(RequestClass::Cancels, cancels));
            return refused(RequestClass::Writes, writes);
        }
        if wanted.contains(&(drew, 0)) {
            give_back(drew, 1);
        }
        Ok(())
    }

    /// Splits the tokens of the key that created another one between the two, so that creating keys
    /// does not evade the limits. A key created by an operator starts with full buckets.
    pub fn share(&self, maker: &Caller, made: KeyNo) {
        let Some((own, new)) = self.row(maker.key).zip(self.row(made)) else { return };
        for class in LIMITED.into_iter().filter(|_| !maker.is_operator()) {
            if let (Some(rate), Some(own), Some(new)) =
                (self.rates.of(class), own.bucket(class), new.bucket(class))
            {
                own.halve(rate, new, self.now());
            }
        }
    }

    /// Gives a key the buckets of the key that it replaces.
    pub fn inherit(&self, replaced: KeyNo, made: KeyNo) {
        let Some((old, new)) = self.row(replaced).zip(self.row(made)) else { return };
        for class in LIMITED {
            if let (Some(old), Some(new)) = (old.bucket(class), new.bucket(class)) {
                new.replace(old);
            }
        }
    }

    /// The rate and state of a class's bucket, taking nothing; `None` if there is no limit.
    pub fn look(&self, caller: &Caller, class: RequestClass) -> Option<(u32, Allowance)> {
        let (rate, row) = (self.rates.of(class)?, self.row(caller.key)?);
        let bucket = row.bucket(class).filter(|_| !caller.is_operator())?;
        Some((rate.per_second(), bucket.look(rate, self.now())))
    }

    /// The minute in which a key was last used, since the process started.
    pub fn last_used(&self, key: KeyNo) -> Option<TimeMs> {
        let (segment, position) = position(key)?;
        let minute = self.segments.get(segment)?.get()?.get(position)?.used.load(Ordering::Relaxed);
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
        let (segment, position) = position(key)?;
        let empty = || (0..FIRST_SEGMENT << segment).map(|_| KeyUse::default()).collect();
        self.segments.get(segment)?.get_or_init(empty).get(position)
    }
}

impl KeyUse {
    const fn bucket(&self, class: RequestClass) -> Option<&Bucket> {
        match class {
            RequestClass::Reads => Some(&self.reads),
            RequestClass::Writes => Some(&self.writes),
            RequestClass::Cancels => Some(&self.cancels),
            RequestClass::Probes => None,
        }
    }
}

/// A key's segment and its index there. Segment `p` starts at key `FIRST_SEGMENT` x (2^p - 1).
fn position(key: KeyNo) -> Option<(usize, usize)> {
    let index = key.index();
    let segment = (index / FIRST_SEGMENT).checked_add(1)?.ilog2();
    let before = FIRST_SEGMENT * ((1 << segment) - 1);
    Some((usize::try_from(segment).ok()?, index.checked_sub(before)?))
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
    fn every_key_has_its_own_position() {
        let last = u32::MAX as usize;
        let mut next = (0, 0);
        for key in 0..10_000 {
            let (segment, at) = position(KeyNo(key)).unwrap();
            assert_eq!((segment, at), next, "{key}");
            next = if at + 1 == FIRST_SEGMENT << segment {
                (segment + 1, 0)
            } else {
                (segment, at + 1)
            };
        }
        let (segment, at) = position(KeyNo(u32::MAX)).unwrap();
        assert!(segment < SEGMENTS && at < FIRST_SEGMENT << segment, "{last}");
    }

    #[test]
    fn keys_and_classes_share_nothing_and_operators_have_no_limit() {
        let limit = "1:1".parse().unwrap();
        let keyring = Keyring::new(Rates { reads: limit, writes: limit, ..Rates::NONE });
        let (ann, bob) = (caller(3, Role::Trader), caller(700, Role::Trader));
        assert_eq!(keyring.last_used(ann.key), None);
        let admit = |caller, class| {
            keyring.admit(caller, class, Instant::now()).map(|left| left.wait_seconds)
        };
        // Assumes that these lines take less than a second; a slower run would admit more. `rates`
        // tests refusals with its own clock.
        assert_eq!(admit(&ann, RequestClass::Reads), Some(None));
        assert_eq!(
            (admit(&ann, RequestClass::Writes), admit(&bob, RequestClass::Reads)),
            (Some(None), Some(None))
        );
        assert_eq!(
            (admit(&ann, RequestClass::Cancels), admit(&ann, RequestClass::Probes)),
            (None, None)
        );
        let operator = caller(4, Role::Operator);
        assert_eq!(
            (admit(&operator, RequestClass::Writes), keyring.look(&operator, RequestClass::Writes)),
            (None, None)
        );
        assert!(
            keyring.look(&ann, RequestClass::Reads).is_some_and(|(per_second, _)| per_second == 1)
        );
        let used = [ann, bob, operator].map(|caller| keyring.last_used(caller.key).is_some());
        assert_eq!((used, keyring.last_used(KeyNo(5))), ([true; 3], None));
    }

    /// A write token may refill while a batch without writes is read: then it needs no cancel
    /// token.
    #[test]
    fn tokens_that_a_batch_did_not_need_are_returned() {
        let limit = "1:5".parse().unwrap();
        let keyring = Keyring::new(Rates { writes: limit, cancels: limit, ..Rates::NONE });
        for (class, writes, cancels) in
            [(RequestClass::Cancels, 2, 0), (RequestClass::Writes, 0, 2)]
        {
            let ann = caller(writes, Role::Trader);
            assert!(keyring.admit(&ann, class, Instant::now()).is_some());
            assert_eq!(keyring.admit_several(&ann, writes, cancels, class), Ok(()));
            let left = keyring.look(&ann, class).map(|(_, left)| left.remaining);
            assert_eq!(left, Some(5), "{class:?}");
        }
    }
}
