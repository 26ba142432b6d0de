//! What a view does: it folds effects.

use super::fault::{Fault, Faults};
use exchange::effect::{Applied, Effect};

/// One view. It depends only on the folded effects, so the same journal always gives the same
/// result.
pub trait Projection {
    /// Applies one record's effects. An effect that contradicts what was folded before is noted in
    /// `faults` and skipped; never panics.
    fn fold(&mut self, applied: &Applied<'_>, faults: &mut Faults);
}

/// A view that takes in one effect after the other.
pub trait View {
    /// Applies the next effect of a record.
    ///
    /// # Errors
    /// The effect contradicts what was seen before.
    fn see(&mut self, at: &Applied<'_>, effect: &Effect) -> Result<(), Fault>;

    /// Follows the last effect of a record.
    ///
    /// # Errors
    /// As for an effect.
    fn conclude(&mut self, _: &Applied<'_>) -> Result<(), Fault> {
        Ok(())
    }
}

impl<V: View> Projection for V {
    fn fold(&mut self, applied: &Applied<'_>, faults: &mut Faults) {
        for effect in applied.effects {
            faults.check(self.see(applied, effect));
        }
        faults.check(self.conclude(applied));
    }
}
