//! The orders placed on a connection, which are cancelled when it ends.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};

use super::asking::ask_several;
use engine::Engine;
use engine::pending::{Outcome, Refusal};
use exchange::command::{Command, KeyedCommand};
use exchange::effect::Effect;
use exchange::ids::{OrderNo, UserNo};

/// Cancels that are submitted together: those of one connection must not fill the intake.
const TOGETHER_MAX: usize = 256;
/// Pause after the intake was full.
const FULL_PAUSE: Duration = Duration::from_millis(20);
/// How long answers of commands in flight are waited for: the engine may have ended.
const ANSWERS_WAIT: Duration = Duration::from_secs(10);
/// Orders noted before those that have ended are first looked for.
const NOTED_MIN: usize = 1024;

/// The orders placed on one connection by one user.
#[derive(Debug)]
pub struct PlacedHere {
    user: UserNo,
    state: Mutex<State>,
    /// Told when no command is in flight any more.
    settled: Notify,
}

#[derive(Debug, Default)]
struct State {
    orders: Vec<OrderNo>,
    /// At so many, ended ones are left out.
    prune_at: usize,
    in_flight: usize,
}

impl PlacedHere {
    /// None yet.
    pub fn by(user: UserNo) -> PlacedHere {
        let state = State { prune_at: NOTED_MIN, ..State::default() };
        PlacedHere { user, state: Mutex::new(state), settled: Notify::new() }
    }

    /// Notes that so many commands were submitted.
    pub fn submitted(&self, commands: usize) {
        let mut state = self.state.lock();
        state.in_flight = state.in_flight.saturating_add(commands);
    }

    /// Notes what became of the commands at these positions, of which some are placements.
    pub fn hear(
        &self,
        positions: &Range<usize>,
        placements: impl Iterator<Item = usize>,
        outcome: &Outcome,
    ) {
        let mut state = self.state.lock();
        if let Outcome::Applied(block, first) = outcome {
            for position in placements {
                let index = first.saturating_add(position.saturating_sub(positions.start));
                let Some(applied) = block.record(index) else { continue };
                if !matches!(applied.effects, [Effect::Refused(_) | Effect::Repeated { .. }]) {
                    // An order has the number of the record that placed it.
                    state.orders.push(OrderNo(applied.sequence));
                }
            }
        }
        state.in_flight = state.in_flight.saturating_sub(positions.len());
        if state.in_flight == 0 {
            self.settled.notify_one();
        }
    }

    /// Leaves out orders that have ended, once there are twice as many as after the last time.
    pub fn prune(&self, engine: &Engine) {
        let wants = |state: &State| state.orders.len() >= state.prune_at;
        if !wants(&self.state.lock()) {
            return;
        }
        let view = engine.read();
        let mut state = self.state.lock();
        state.orders.retain(|order| view.orders.open_order_of(self.user, *order).is_some());
        state.prune_at = state.orders.len().saturating_mul(2).max(NOTED_MIN);
    }

    /// Cancels them, once the answers of what is in flight are there. The user's limits do not
    /// apply: this is what protects the user.
    pub async fn cancel(self: Arc<Self>, engine: Engine) {
        let settled = async {
            while self.state.lock().in_flight > 0 {
                self.settled.notified().await;
            }
        };
        if timeout(ANSWERS_WAIT, settled).await.is_err() {
            tracing::warn!("the orders of a connection are cancelled as far as they are known");
        }
        let mut orders = std::mem::take(&mut self.state.lock().orders);
        while !orders.is_empty() && engine.halted().is_none() {
            let rest = orders.split_off(orders.len().min(TOGETHER_MAX));
            let together = std::mem::replace(&mut orders, rest);
            let open: Vec<OrderNo> = {
                let view = engine.read();
                let is_open =
                    |order: &OrderNo| view.orders.open_order_of(self.user, *order).is_some();
                together.into_iter().filter(is_open).collect()
            };
            let full = self.cancel_now(&engine, open).await;
            if !full.is_empty() {
                orders.extend(full);
                sleep(FULL_PAUSE).await;
            }
        }
    }

    /// Cancels these; returns those for which there was no room.
    async fn cancel_now(&self, engine: &Engine, orders: Vec<OrderNo>) -> Vec<OrderNo> {
        let user = self.user;
        let cancel = |order: &OrderNo| Command::CancelOrder { user, order: *order };
        let commands: Vec<KeyedCommand> =
            orders.iter().map(|order| KeyedCommand::from(cancel(order))).collect();
        if commands.is_empty() {
            return Vec::new();
        }
        let outcomes = ask_several(engine, commands).await;
        let full = outcomes.each().zip(&orders);
        full.filter(|(came, _)| matches!(came, Err(Refusal::Overloaded)))
            .map(|(_, order)| *order)
            .collect()
    }
}

#[cfg(test)]
#[path = "../../tests/unit/http/placed_here.rs"]
mod tests;
