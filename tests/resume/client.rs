//! A client of the stream, as its socket would drive it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use engine::Engine;
use exchange::command::Role;
use exchange::ids::{KeyNo, UserNo};
use exchange::units::Sequence;
use http::auth::{Caller, Via};
use http::stream::channel::Channel;
use http::stream::hub::Hub;
use http::stream::listening::Listening;
use http::stream::message::Asked;
use serde_json::Value;

/// Bytes of one read: few messages.
const READ_BYTES: usize = 2_000;

/// What a channel's kinds show.
type States = BTreeMap<(String, String), String>;

pub fn caller(user: UserNo, role: Role) -> Caller {
    let (as_of, keys_as_of) = (Sequence::ZERO, Sequence::ZERO);
    Caller { user, via: Via::Key(KeyNo(0)), role, as_of, keys_as_of }
}

pub struct Client {
    caller: Caller,
    channels: Vec<Channel>,
    /// Whether every message counts, not only the latest state.
    pub is_exact: bool,
    listening: Option<Listening>,
    /// Everything up to this record was told.
    pub position: Sequence,
    pub told: Vec<(Sequence, String)>,
}

impl Client {
    pub fn of(caller: Caller, channels: &[&str], is_exact: bool) -> Client {
        let channels = channels.iter().map(|name| Channel::parse(name).unwrap()).collect();
        let (listening, position, told) = (None, Sequence::ZERO, Vec::new());
        Client { caller, channels, is_exact, listening, position, told }
    }

    /// Subscribes anew from where it is.
    pub fn ask(&mut self, hub: &Arc<Hub>, engine: &Engine) -> Vec<Asked> {
        let mut listening = hub.listen(engine).unwrap();
        let asked = listening.subscribe(&self.caller, &self.channels, Some(self.position));
        self.listening = Some(listening);
        asked
    }

    /// Goes on from where it is, if it is cut.
    pub fn resume(&mut self, hub: &Arc<Hub>, engine: &Engine) {
        if self.listening.is_none() {
            let asked = self.ask(hub, engine);
            assert!(asked.iter().all(Result::is_ok), "{asked:?}");
        }
    }

    pub fn cut(&mut self) {
        if let Some(listening) = self.listening.take() {
            // A client knows its last message, or a later heartbeat.
            if self.told.len().is_multiple_of(2) {
                self.position = self.position.max(listening.head());
            }
        }
    }

    /// Reads once; false if there was nothing.
    pub fn read(&mut self) -> bool {
        let Some(listening) = &mut self.listening else { return false };
        let mut messages = Vec::new();
        let mut cx = Context::from_waker(Waker::noop());
        match listening.poll_messages(&mut cx, &mut messages, READ_BYTES) {
            Poll::Pending => assert!(messages.is_empty()),
            Poll::Ready(Ok(delivered)) => assert!(delivered.bytes > 0 && !messages.is_empty()),
            Poll::Ready(Err(slow)) => {
                assert!(slow.sequence >= self.position);
                self.position = slow.sequence;
                self.listening = None;
            }
        }
        let any = !messages.is_empty();
        for message in messages {
            if self.is_exact {
                assert!(message.sequence >= self.position, "it goes back");
                self.position = message.sequence;
            }
            let text = String::from_utf8(message.text.to_vec()).unwrap();
            self.told.push((message.sequence, text));
        }
        any
    }

    /// Reads until it is told everything that readers see.
    pub fn catch_up(&mut self, engine: &Engine) {
        let end = engine.watermark();
        let (mut idle, mut head) = (0, Sequence::ZERO);
        while idle < 60_000 {
            while self.read() {}
            let Some(listening) = &self.listening else { panic!("it was cut as too slow") };
            // It may take long, as long as it goes on.
            idle = if listening.head() > head { 0 } else { idle + 1 };
            head = listening.head();
            if head >= end {
                // What was told together with the head.
                while self.read() {}
                return;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        panic!("{:?} has come to {head} of {end}, and no further", self.channels);
    }

    pub fn assert_told_as(&self, other: &Client) {
        for (place, (told, expected)) in self.told.iter().zip(&other.told).enumerate() {
            assert_eq!(told, expected, "message {place} of {:?}", self.channels);
        }
        assert_eq!(self.told.len(), other.told.len(), "{:?}", self.channels);
    }

    /// The last of each kind on each channel, without what says when it was told.
    fn states(&self) -> States {
        let state = |text: &String| {
            let Value::Object(message) = serde_json::from_str(text).unwrap() else { panic!() };
            let mut data = message["data"].clone();
            let of = data.as_object_mut().unwrap();
            of.remove("timestamp");
            let market = of.get("id").map_or(String::new(), Value::to_string);
            let (channel, kind) = (&message["channel"], &message["kind"]);
            ((format!("{channel} {market}"), kind.to_string()), data.to_string())
        };
        self.told.iter().map(|(_, text)| state(text)).collect()
    }
}

/// In the end all show the same state.
pub fn assert_same_state(clients: &mut [&mut Client]) {
    let mut states = Vec::new();
    for _ in 0..10_000 {
        for client in clients.iter_mut() {
            while client.read() {}
        }
        states = clients.iter().map(|client| client.states()).collect();
        if states.windows(2).all(|pair| pair.first() == pair.last()) {
            return;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    panic!("the states differ in the end: {states:#?}");
}
