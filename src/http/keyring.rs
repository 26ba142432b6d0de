//! State of keys and their users kept in memory while the process runs: when a key was last used,
//! and the token buckets and counts of a user, which all keys of the user share. None of it is
//! journaled.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Instant;

use parking_lot::{Mutex, RwLock};

use super::auth::{Caller, Via};
use super::rates::{Allowance, Bucket, Rate, Rates, RequestClass};
use engine::clock;
use exchange::command::Command;
use exchange::ids::{KeyNo, UserNo};
use exchange::units::TimeMs;

const MS_PER_MINUTE: i64 = 60_000;
/// Rows in the first segment of a table; each segment is twice as long as the one before.
const FIRST_SEGMENT: usize = 256;
/// Enough segments for every possible number.
const SEGMENTS: usize = 25;
/// Users known by name as those with most records.
const HEAVIEST: usize = 10;
/// A user's records between two looks at whether it is one of those.
const LOOK_EVERY: u64 = 64;

/// The last minute in which a key was used, since 1970; 0 before the first use.
type LastUse = AtomicU32;

/// What the keys of one user share.
#[derive(Debug, Default)]
struct UserUse {
    reads: Bucket,
    writes: Bucket,
    cancels: Bucket,
    /// The daily allowance of records.
    records: Bucket,
    /// The same of those that only end something, so that a user without records can still leave.
    endings: Bucket,
    /// Records since the process started.
    written: AtomicU64,
}

/// A request needs more tokens than its user has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lacking {
    /// The class with too few tokens.
    pub class: RequestClass,
    /// Tokens of it that the request needs.
    pub asked: u32,
    /// The state of its bucket, and the wait until there are enough.
    pub left: Allowance,
}

/// Rows by number. It grows only with those that are used; growing never moves rows, so it needs
/// no lock.
#[derive(Debug)]
struct Table<T>([OnceLock<Box<[T]>>; SEGMENTS]);

impl<T: Default> Table<T> {
    fn new() -> Table<T> {
        Table(std::array::from_fn(|_| OnceLock::new()))
    }

    fn row(&self, index: usize) -> Option<&T> {
        let (segment, position) = position(index)?;
        let empty = || (0..FIRST_SEGMENT << segment).map(|_| T::default()).collect();
        self.0.get(segment)?.get_or_init(empty).get(position)
    }

    /// The row, if its segment is used.
    fn used(&self, index: usize) -> Option<&T> {
        let (segment, position) = position(index)?;
        self.0.get(segment)?.get()?.get(position)
    }
}

/// The use of keys, and the limits and counts of their users.
#[derive(Debug)]
pub struct Keyring {
    rates: RwLock<Rates>,
    began: Instant,
    keys: Table<LastUse>,
    users: Table<UserUse>,
    heaviest: Mutex<Vec<UserNo>>,
}

/// What is left of a user's daily allowance.
#[derive(Debug, Clone, Copy)]
pub struct DailyLeft {
    /// Of records.
    pub records: Allowance,
    /// Of cancels and revocations, which have an allowance of their own.
    pub endings: Allowance,
}

impl Keyring {
    /// Nothing used yet, under these limits.
    pub fn new(rates: Rates) -> Keyring {
        let (keys, users) = (Table::new(), Table::new());
        Keyring {
            rates: RwLock::new(rates),
            began: Instant::now(),
            keys,
            users,
            heaviest: Mutex::default(),
        }
    }

    /// Limits everybody in another way from now on. What is left in a bucket stays, as time until
    /// it is full.
    pub fn limit(&self, rates: Rates) {
        *self.rates.write() = rates;
    }

    fn rates(&self) -> Rates {
        *self.rates.read()
    }

    /// Records the use of a key and takes one of its user's tokens for its request. `None` if there
    /// is no limit. Operators' keys have none, since the whole venue depends on them.
    pub fn admit(&self, caller: &Caller, class: RequestClass, now: Instant) -> Option<Allowance> {
        let minute = clock::now().get() / MS_PER_MINUTE;
        let minute = u32::try_from(minute).unwrap_or(u32::MAX);
        if let Via::Key(key) = caller.via {
            self.keys.row(key.index())?.store(minute, Ordering::Relaxed);
        }
        let row = self.users.row(caller.user.index())?;
        let (rate, bucket) = (self.rates().of(class)?, row.bucket(class)?);
        (!caller.is_staff()).then(|| bucket.take(rate, 1, self.since_began(now)))
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
        let row = self.users.row(caller.user.index()).filter(|_| !caller.is_staff());
        let Some(row) = row else {
            return Ok(());
        };
        let (now, rates) = (self.now(), self.rates());
        let wanted = [(RequestClass::Cancels, cancels), (RequestClass::Writes, writes)];
        let limited = |class| rates.of(class).zip(row.bucket(class));
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

    /// Takes one record from a user's daily allowance, for this command. Cancels and revocations
    /// have an allowance of their own.
    ///
    /// # Errors
    /// It is used up.
    pub fn record(&self, caller: &Caller, command: &Command) -> Result<(), Allowance> {
        let Some(row) = self.users.row(caller.user.index()) else { return Ok(()) };
        if let Some(rate) = self.daily(caller) {
            let left = row.daily(command).take(rate, 1, self.now());
            if left.wait_seconds.is_some() {
                return Err(left);
            }
        }
        let written = row.written.fetch_add(1, Ordering::Relaxed).saturating_add(1);
        if written.is_power_of_two() || written.is_multiple_of(LOOK_EVERY) {
            self.note_heavy(caller.user, written);
        }
        Ok(())
    }

    /// What is left of a user's daily allowance, and that allowance; `None` if there is no limit.
    pub fn daily_left(&self, caller: &Caller) -> Option<(u32, DailyLeft)> {
        let (rate, now) = (self.daily(caller)?, self.now());
        let row = self.users.row(caller.user.index())?;
        let (records, endings) = (row.records.look(rate, now), row.endings.look(rate, now));
        Some((rate.tokens(), DailyLeft { records, endings }))
    }

    fn daily(&self, caller: &Caller) -> Option<Rate> {
        self.rates().records.0.filter(|_| !caller.is_staff())
    }

    /// The users with most records since the process started, and how many, most first.
    pub fn heaviest(&self) -> Vec<(UserNo, u64)> {
        let users = self.heaviest.lock().clone();
        let mut heaviest: Vec<_> =
            users.into_iter().map(|user| (user, self.written(user))).collect();
        heaviest.sort_unstable_by_key(|(user, written)| (u64::MAX - written, *user));
        heaviest
    }

    fn written(&self, user: UserNo) -> u64 {
        self.users.used(user.index()).map_or(0, |row| row.written.load(Ordering::Relaxed))
    }

    /// Puts a user among the heaviest, if it is one of them.
    fn note_heavy(&self, user: UserNo, written: u64) {
        let mut heaviest = self.heaviest.lock();
        if heaviest.contains(&user) {
            return;
        }
        if heaviest.len() < HEAVIEST {
            heaviest.push(user);
        } else if let Some(least) = heaviest.iter_mut().min_by_key(|other| self.written(**other))
            && self.written(*least) < written
        {
            *least = user;
        }
    }

    /// The rate and state of a class's bucket, taking nothing; `None` if there is no limit.
    pub fn look(&self, caller: &Caller, class: RequestClass) -> Option<(u32, Allowance)> {
        let (rate, row) = (self.rates().of(class)?, self.users.row(caller.user.index())?);
        let bucket = row.bucket(class).filter(|_| !caller.is_staff())?;
        Some((rate.tokens(), bucket.look(rate, self.now())))
    }

    /// The minute in which a key was last used, since the process started.
    pub fn last_used(&self, key: KeyNo) -> Option<TimeMs> {
        let minute = self.keys.used(key.index())?.load(Ordering::Relaxed);
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
}

impl UserUse {
    const fn bucket(&self, class: RequestClass) -> Option<&Bucket> {
        match class {
            RequestClass::Reads => Some(&self.reads),
            RequestClass::Writes => Some(&self.writes),
            RequestClass::Cancels => Some(&self.cancels),
            RequestClass::Probes => None,
        }
    }

    /// The daily allowance from which a command's record is taken.
    const fn daily(&self, command: &Command) -> &Bucket {
        match command {
            Command::CancelOrder { .. }
            | Command::CancelOrders { .. }
            | Command::RevokeKey { .. } => &self.endings,
            _ => &self.records,
        }
    }
}

/// The segment of a row and its index there. Segment `p` starts at `FIRST_SEGMENT` x (2^p - 1).
fn position(index: usize) -> Option<(usize, usize)> {
    let segment = (index / FIRST_SEGMENT).checked_add(1)?.ilog2();
    let before = FIRST_SEGMENT * ((1 << segment) - 1);
    Some((usize::try_from(segment).ok()?, index.checked_sub(before)?))
}

#[cfg(test)]
#[path = "../../tests/unit/http/keyring.rs"]
mod tests;
