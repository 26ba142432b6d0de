//! Fills the demo's order books by playing the beginning of recorded order flow into its markets.
//!
//! Each market has its own task: markets do not depend on each other, so while one waits for the
//! number of an order that it must cancel, the others go on.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use tokio::task::JoinSet;

use engine::Engine;
use engine::pending::Answer;
use exchange::command::{Command, PlaceOrder, Wording};
use exchange::effect::Effect;
use exchange::ids::{MarketNo, OrderNo, UserNo};
use flow::rows::{Action, PlacedOrder};
use flow::{AccountIndex, Flow, FlowError, FlowLine, OrderRef, sample};

use super::SeedError;
use super::pipeline::{Pipeline, expect_done};

/// Commands played into one market. By then every recorded book has two sides and has traded, and
/// all markets together take about a second.
const FLOW_LINES_MAX: usize = 1500;

/// The recorded flow of one market.
pub struct MarketFlow {
    market: MarketNo,
    view: View,
    lines: Vec<FlowLine>,
}

/// Whether the outcomes of recorded orders are swapped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum View {
    /// As recorded.
    AsRecorded,
    /// With the outcomes swapped: the same flow makes another book, at complementary prices.
    Mirrored,
}

impl View {
    const fn wording(self, recorded: Wording) -> Wording {
        match self {
            View::AsRecorded => recorded,
            View::Mirrored => Wording { outcome: recorded.outcome.other(), side: recorded.side },
        }
    }
}

/// Reads the embedded recording.
///
/// # Errors
/// It cannot be read.
pub fn recording() -> Result<Flow, FlowError> {
    Flow::read(sample::flow(), None)
}

/// The flow that `book` names, for `market`: the name of a recorded market, prefixed with `~` to
/// swap the outcomes.
///
/// # Errors
/// No market of that name was recorded.
pub fn market_flow(
    recording: &Flow,
    market: MarketNo,
    book: &str,
) -> Result<MarketFlow, SeedError> {
    let (view, name) = match book.strip_prefix('~') {
        Some(name) => (View::Mirrored, name),
        None => (View::AsRecorded, book),
    };
    let recorded = recording.market(name).ok_or_else(|| SeedError::NoSuchFlow(name.to_owned()))?;
    let lines = recording.lines().iter().filter(|line| line.market == recorded);
    Ok(MarketFlow { market, view, lines: lines.take(FLOW_LINES_MAX).copied().collect() })
}

impl MarketFlow {
    /// The accounts of its commands, with repetitions.
    pub fn accounts(&self) -> impl Iterator<Item = AccountIndex> + '_ {
        self.lines.iter().map(|line| line.account)
    }

    /// Submits the commands and returns their count; `users` maps recorded accounts to users.
    async fn play(
        self,
        engine: Engine,
        users: Arc<FxHashMap<AccountIndex, UserNo>>,
    ) -> Result<usize, SeedError> {
        let mut pipeline = Pipeline::new(&engine);
        let mut placed = FxHashMap::default();
        for line in &self.lines {
            let user = *users.get(&line.account).ok_or(SeedError::NoSuchAccount(line.account))?;
            match line.action {
                Action::Place(order) => {
                    let command = Command::PlaceOrder(self.order(user, order));
                    pipeline.send(Some(line.order), command).await?;
                }
                Action::Cancel => {
                    let order = self.number(line.order, &mut pipeline, &mut placed).await?;
                    pipeline.send(None, Command::CancelOrder { user, order }).await?;
                }
            }
            while let Some(answer) = pipeline.ready() {
                note(answer, &mut placed)?;
            }
        }
        while let Some(answer) = pipeline.next().await? {
            note(answer, &mut placed)?;
        }
        Ok(self.lines.len())
    }

    /// The number of an order placed earlier; waits for its answer if necessary.
    async fn number(
        &self,
        order: OrderRef,
        pipeline: &mut Pipeline<Option<OrderRef>>,
        placed: &mut FxHashMap<OrderRef, OrderNo>,
    ) -> Result<OrderNo, SeedError> {
        loop {
            if let Some(number) = placed.remove(&order) {
                return Ok(number);
            }
            let answer = pipeline.next().await?.ok_or(SeedError::NoSuchOrder(order))?;
            note(answer, placed)?;
        }
    }

    fn order(&self, user: UserNo, recorded: PlacedOrder) -> PlaceOrder {
        PlaceOrder {
            time_in_force: recorded.time_in_force,
            ..PlaceOrder::plain(
                user,
                self.market,
                self.view.wording(recorded.wording),
                recorded.price,
                recorded.quantity,
            )
        }
    }
}

/// Plays all markets concurrently and returns the number of commands played.
///
/// # Errors
/// The first command that was refused, or an engine that stopped.
pub async fn play(
    engine: &Engine,
    flows: Vec<MarketFlow>,
    users: impl IntoIterator<Item = (AccountIndex, UserNo)>,
) -> Result<usize, SeedError> {
    let users: Arc<FxHashMap<_, _>> = Arc::new(users.into_iter().collect());
    let mut playing = JoinSet::new();
    for market_flow in flows {
        playing.spawn(market_flow.play(engine.clone(), Arc::clone(&users)));
    }
    let mut played: usize = 0;
    while let Some(market_flow) = playing.join_next().await {
        played = played.saturating_add(market_flow.map_err(|_| SeedError::Stopped)??);
    }
    Ok(played)
}

/// Records the number assigned to an order.
fn note(
    (order, answer): (Option<OrderRef>, Answer),
    placed: &mut FxHashMap<OrderRef, OrderNo>,
) -> Result<(), SeedError> {
    expect_done(&answer)?;
    if let (Some(order), Some(Effect::OrderAccepted { order: number, .. })) =
        (order, answer.effects().first())
    {
        placed.insert(order, *number);
    }
    Ok(())
}

#[cfg(test)]
#[path = "../../../tests/unit/cli/demo/books.rs"]
mod tests;
