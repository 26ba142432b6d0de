//! Commands sent ahead of their answers, so that many share one write to the disk.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::sync::oneshot::Receiver;

use crate::engine::Engine;
use crate::engine::pending::{Answer, Refusal};
use crate::exchange::command::Command;
use crate::exchange::effect::Effect;

use super::SeedError;

/// Answers that one pipeline waits for. A dozen pipelines together stay below what the engine
/// queues, and each still fills blocks.
const WAITING_MAX: usize = 128;

/// How long to leave an engine alone that is busy with others.
const OVERLOADED_PAUSE: Duration = Duration::from_millis(1);

/// Commands in order, each with a tag that comes back with its answer.
pub struct Pipeline<T> {
    engine: Engine,
    waiting: VecDeque<(T, Receiver<Result<Answer, Refusal>>)>,
    answered: VecDeque<(T, Answer)>,
}

impl<T> Pipeline<T> {
    /// An empty one.
    pub fn new(engine: &Engine) -> Pipeline<T> {
        Pipeline { engine: engine.clone(), waiting: VecDeque::new(), answered: VecDeque::new() }
    }

    /// Sends a command behind those sent before.
    ///
    /// # Errors
    /// The engine takes no commands any more.
    pub async fn send(&mut self, tag: T, command: Command) -> Result<(), SeedError> {
        while self.waiting.len() >= WAITING_MAX {
            self.hear().await?;
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
                Err(Refusal::Overloaded) => self.hear().await?,
                Err(refusal) => return Err(SeedError::Engine(refusal)),
            }
        }
    }

    /// The oldest answer that has been waited for already, if there is one.
    pub fn heard(&mut self) -> Option<(T, Answer)> {
        self.answered.pop_front()
    }

    /// The oldest answer not yet given out; waits for it. `None` when all have been.
    ///
    /// # Errors
    /// The engine stopped before it answered.
    pub async fn next(&mut self) -> Result<Option<(T, Answer)>, SeedError> {
        if self.answered.is_empty() && !self.waiting.is_empty() {
            self.hear().await?;
        }
        Ok(self.answered.pop_front())
    }

    async fn hear(&mut self) -> Result<(), SeedError> {
        if let Some((tag, receiver)) = self.waiting.pop_front() {
            let answer = receiver.await.map_err(|_| SeedError::Stopped)?;
            self.answered.push_back((tag, answer.map_err(SeedError::Engine)?));
        }
        Ok(())
    }
}

/// Sends all commands and gives their answers in the same order, refusals included.
///
/// # Errors
/// The engine takes no commands any more.
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

/// Sends all commands, of which none may be refused.
///
/// # Errors
/// One was refused, or the engine takes no commands any more.
pub async fn submit_sure(
    engine: &Engine,
    commands: Vec<Command>,
) -> Result<Vec<Answer>, SeedError> {
    let answers = submit_all(engine, commands).await?;
    answers.iter().try_for_each(expect_done)?;
    Ok(answers)
}

/// An error if the command was refused.
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
