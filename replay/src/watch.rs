//! Checks the states that a pass goes through, in proportion to the journal and not to the venue:
//! after every block what its records touched and the sums over everything, every so often and at
//! the end the whole state.

use exchange::Exchange;
use exchange::effect::Effect;
use exchange::invariant::Broken;
use exchange::invariant::running::Running;
use exchange::units::Sequence;

/// Records between two checks of the whole state, at least.
const WHOLE_EVERY_MIN: u64 = 1 << 17;
/// The whole state is checked no more often than once in this many records for each open order, so
/// that these checks cost a small part of the pass.
const WHOLE_EVERY_PER_ORDER: u64 = 4;

/// A check of a whole state.
pub type Invariants = fn(&Exchange) -> Result<(), Broken>;

/// What the checks know.
pub struct Watch {
    whole: Invariants,
    running: Running,
    /// The last record after which the whole state was found sound.
    sound: Sequence,
    /// Whether the whole state was found broken after a later one.
    whole_broken: bool,
}

impl Watch {
    /// Checks from the first record on.
    pub fn with(whole: Invariants) -> Watch {
        let (running, sound) = (Running::default(), Sequence::ZERO);
        Watch { whole, running, sound, whole_broken: false }
    }

    /// Notes what a record touched.
    pub fn follow(&mut self, exchange: &Exchange, effects: &[Effect]) {
        self.running.follow(exchange, effects);
    }

    /// Checks after a block's last record.
    pub fn block_done(&mut self, exchange: &Exchange) -> Result<(), Broken> {
        self.running.check(exchange)?;
        let orders = u64::from(exchange.open_orders_count());
        let every = orders.saturating_mul(WHOLE_EVERY_PER_ORDER).max(WHOLE_EVERY_MIN);
        if exchange.sequence().get().saturating_sub(self.sound.get()) < every {
            return Ok(());
        }
        self.end(exchange)
    }

    /// Checks the whole state.
    pub fn end(&mut self, exchange: &Exchange) -> Result<(), Broken> {
        let checked = (self.whole)(exchange);
        match checked {
            Ok(()) => self.sound = exchange.sequence(),
            Err(_) => self.whole_broken = true,
        }
        checked
    }

    /// Where the first record after which the whole state is broken lies behind: known if only the
    /// whole state showed that something is.
    pub fn broken_after(&self) -> Option<Sequence> {
        self.whole_broken.then_some(self.sound)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use exchange::script;

    /// Applies a script, one record a block, and follows the effects that `told` keeps.
    fn watched(whole: Invariants, text: &str, told: fn(&Effect) -> bool) -> Result<(), Broken> {
        let (mut exchange, mut watch) = (Exchange::new(), Watch::with(whole));
        for record in script::parse(text).unwrap() {
            let mut effects = Vec::new();
            exchange.apply(&record, &mut effects)?;
            effects.retain(told);
            watch.follow(&exchange, &effects);
            watch.block_done(&exchange)?;
        }
        Ok(())
    }

    #[test]
    fn what_a_block_touched_is_checked_after_it() {
        let text = "venue USD\nuser ann\ndeposit ann 5.00";
        assert_eq!(watched(|_| Ok(()), text, |_| true), Ok(()));
        let silent = |effect: &Effect| !matches!(effect, Effect::AccountChanged { .. });
        assert_eq!(watched(|_| Ok(()), text, silent), Err(Broken::MoneyNotConserved));
    }

    /// What no block touched, and what its effects do not tell, is found all the same, later.
    #[test]
    fn the_whole_state_is_checked_every_so_often() {
        let broken_at_last = |exchange: &Exchange| match exchange.sequence().get() {
            ..WHOLE_EVERY_MIN => panic!("too early"),
            _ => Err(Broken::CrossedBook),
        };
        let clocks = |count| format!("venue USD{}", "\nclock".repeat(count));
        let most = usize::try_from(WHOLE_EVERY_MIN).unwrap() - 2;
        assert_eq!(watched(broken_at_last, &clocks(most), |_| true), Ok(()));
        let found = watched(broken_at_last, &clocks(most + 1), |_| true);
        assert_eq!(found, Err(Broken::CrossedBook));
    }
}
