//! Submits commands without waiting for each answer, so that many share one journal write.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::sync::oneshot::Receiver;

use engine::Engine;
use engine::pending::{Answer, Refusal};
use exchange::command::Command;
use exchange::effect::Effect;

use super::SeedError;

/// Most unanswered commands of one pipeline. A dozen pipelines together stay below the engine's
/// queue limit, and each still fills blocks.
const WAITING_MAX: usize = 128;

/// Pause before resubmitting to an overloaded engine.
const OVERLOADED_PAUSE: Duration = Duration::from_millis(1);

/// Commands in order, each with a tag that is returned with its answer.
pub struct Pipeline<T> {
    engine: Engine,
    waiting: VecDeque<(T, Receiver<Result<Answer, Refusal>>)>,
    answered: VecDeque<(T, Answer)>,
}

impl<T> Pipeline<T> {
    /// An empty pipeline.
    pub fn new(engine: &Engine) -> Pipeline<T> {
        Pipeline { engine: engine.clone(), waiting: VecDeque::new(), answered: VecDeque::new() }
    }

    /// Submits a command after those sent before; waits while [`WAITING_MAX`] are unanswered.
    ///
    /// # Errors
    /// The engine takes no more commands.
    pub async fn send(&mut self, tag: T, command: Command) -> Result<(), SeedError> {
        while self.waiting.len() >= WAITING_MAX {
            self.receive_oldest().await?;
        }
        loop {
            match self.engine.submit_detached(command.clone()) {
                Ok(receiver) => {
                    self.waiting.push_back((tag, receiver));
                    return Ok(());
                }
                Err(Refusal::Overloaded) if self.waiting.is_empty() => {
                    tokio::time::sleep(OVERLOADED_PAUSE).await;
                }
                Err(Refusal::Overloaded) => self.receive_oldest().await?,
                Err(refusal) => return Err(SeedError::Engine(refusal)),
            }
        }
    }

    /// The oldest answer already received, without waiting.
    pub fn ready(&mut self) -> Option<(T, Answer)> {
        self.answered.pop_front()
    }

    /// The oldest answer not returned yet; waits for it. `None` if all have been returned.
    ///
    /// # Errors
    /// The engine stopped before it answered.
    pub async fn next(&mut self) -> Result<Option<(T, Answer)>, SeedError> {
        if self.answered.is_empty() && !self.waiting.is_empty() {
            self.receive_oldest().await?;
        }
        Ok(self.answered.pop_front())
    }

    async fn receive_oldest(&mut self) -> Result<(), SeedError> {
        if let Some((tag, receiver)) = self.waiting.pop_front() {
            let answer = receiver.await.map_err(|_| SeedError::Stopped)?;
            self.answered.push_back((tag, answer.map_err(SeedError::Engine)?));
        }
        Ok(())
    }
}

/// Submits all commands and returns their answers in the same order, refusals included.
///
/// # Errors
/// The engine takes no more commands.
pub async fn submit_all(engine: &Engine, commands: Vec<Command>) -> Result<Vec<Answer>, SeedError> {
    let mut pipeline = Pipeline::new(engine);
    let mut answers = Vec::with_capacity(commands.len());
    for command in commands {
        pipeline.send((), command).await?;
    }
    while let Some(((), answer)) = pipeline.next().await? {
        answers.push(answer);
    }
    Ok(answers)
}

/// Submits all commands; none may be refused.
///
/// # Errors
/// A command was refused, or the engine takes no more commands.
pub async fn submit_sure(
    engine: &Engine,
    commands: Vec<Command>,
) -> Result<Vec<Answer>, SeedError> {
    let answers = submit_all(engine, commands).await?;
    answers.iter().try_for_each(expect_done)?;
    Ok(answers)
}

/// Turns a refusal into an error.
///
/// # Errors
/// The refusal.
pub fn expect_done(answer: &Answer) -> Result<(), SeedError> {
    match answer.effects().first() {
        Some(Effect::Refused(reject)) => {
            Err(SeedError::Refused { sequence: answer.sequence(), reject: *reject })
        }
        _ => Ok(()),
    }
}
