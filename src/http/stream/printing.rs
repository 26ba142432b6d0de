//! Printing: from a fact to the text that all its readers get.

use std::sync::Arc;

use bytes::Bytes;

use super::build::{Fact, Told};
use super::message::Message;
use crate::wire::printed;
use crate::wire::record::RecordJson;
use crate::wire::stream::{Body, Envelope, RecordText, StreamStatsJson};
use engine::Engine;

/// Initial capacity of a message.
const BYTES_USUAL: usize = 384;

/// A fact as a message, at this place among those of its record; `conflated` if it stands for
/// changes that were left out. `None`, with a word in the log, if history cannot be read.
pub fn message(engine: &Engine, fact: Fact, order: u64, conflated: bool) -> Option<Arc<Message>> {
    let Fact { topic, channel, at, previous, told } = fact;
    let body = body(engine, told)
        .inspect_err(|error| tracing::error!(%channel, sequence = %at.0, %error, "no message"))
        .ok()?;
    let name = channel.name();
    let envelope = Envelope { conflated, ..Envelope::of(&name, at, previous, &body) };
    let text = printed(&envelope, BYTES_USUAL).map(Bytes::from).ok()?;
    Some(Arc::new(Message { sequence: at.0, order, market: topic.market(), text }))
}

fn body(engine: &Engine, told: Told) -> Result<Body, Box<dyn std::error::Error>> {
    match told {
        Told::Body(body) => Ok(body),
        Told::Record(record, mut orders, came) => {
            orders.look_up()?;
            // Ids never change: those of now are those of then.
            let json = RecordJson::of(&engine.read(), &orders, &record, came);
            let json = printed(&json, BYTES_USUAL)?;
            Ok(Body::Record(RecordText(json)))
        }
        Told::Stats(figures, probability) => {
            Ok(Body::Stats(StreamStatsJson::of(figures.stats()?, probability)))
        }
    }
}
