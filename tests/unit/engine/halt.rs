//! Unit tests of `src/engine/halt.rs`.

use super::*;

#[test]
fn a_panic_halts_and_an_end_does_not() {
    let halt = Halt::default();
    assert_eq!((halt.watch("folder", || 7), halt.reason()), (Some(7), None));
    let ended: Option<()> = halt.watch("folder", || panic!("on purpose"));
    assert_eq!((ended, halt.reason()), (None, Some(HaltReason::ThreadDied("folder"))));
}
