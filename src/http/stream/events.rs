//! Server-sent events: the same messages for clients that cannot open a WebSocket. They only
//! listen.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;
use std::time::Instant;

use bytes::Bytes;
use hyper::http::request::Parts;
use tokio::sync::mpsc::{Sender, channel};
use tokio::sync::watch;
use tokio::time::sleep_until;

use super::ending::Ending;
use super::ends::Ends;
use super::limits::HEARTBEAT_EVERY;
use super::listening::{CHANNELS_MAX, Listening};
use super::message::Message;
use super::print;
use super::session::Session;
use crate::call::SharedState;
use crate::form::Form;
use crate::media::EVENT_STREAM;
use crate::parse::{self, Fault};
use crate::problem::{FieldCode, FieldError, Problem};
use crate::reply::Reply;
use engine::Engine;
use exchange::units::Sequence;

/// The header with which a client goes on.
const LAST_EVENT_ID: &str = "last-event-id";
/// Pieces printed ahead of the reader, and about how large each is.
const PIECES_AHEAD: usize = 1;
const PIECE_BYTES: usize = 64 * 1024;

/// Whether a client wants events.
pub fn is_asked(head: &Parts) -> bool {
    let listed = |value: &hyper::header::HeaderValue| {
        let value = value.to_str().unwrap_or_default();
        value
            .split(',')
            .any(|media| media.split(';').next().is_some_and(|media| media.trim() == EVENT_STREAM))
    };
    head.headers.get_all(hyper::header::ACCEPT).iter().any(listed)
}

/// Begins to send events.
///
/// # Errors
/// The request is bad, or a channel cannot be listened to: there is no other place to say so.
pub fn open(
    shared: &Arc<SharedState>,
    engine: &Engine,
    session: Session,
    head: &Parts,
) -> Result<Reply, Problem> {
    let mut form = Form::new(&[], head.uri.query());
    let names = form.query_required("subscribe", channels);
    let from = form.query("from", sequence);
    let (names, from) = form.finish(names.zip(from))?;
    let from = last_seen(head)?.or(from);
    let mut listening = shared.hub.listen(engine)?;
    let asked = session.subscribe(&mut listening, &names, from);
    if let Some(problem) = asked.into_iter().find_map(|one| one.came.err()) {
        return Err(problem);
    }
    let sequence = session.caller.as_of;
    let (sender, pieces) = channel(PIECES_AHEAD);
    let ends = shared.ends.listen();
    let events = Events {
        shared: Arc::clone(shared),
        engine: engine.clone(),
        session,
        listening,
        whole: from.is_some(),
        catching_up: Some(engine.watermark()),
    };
    tokio::spawn(events.run(sender, ends));
    Ok(Reply::events(sequence, pieces))
}

fn channels(text: &str) -> parse::Read<Vec<String>> {
    let names: Vec<String> = text.split(',').map(str::to_owned).collect();
    if names.len() > CHANNELS_MAX {
        let detail = format!("must be at most {CHANNELS_MAX} channels");
        return Err(Fault::new(FieldCode::OutOfBounds, detail));
    }
    Ok(names)
}

fn sequence(text: &str) -> parse::Read<Sequence> {
    parse::digits(text).map(Sequence::new)
}

/// The record that the client saw last.
fn last_seen(head: &Parts) -> Result<Option<Sequence>, Problem> {
    let Some(value) = head.headers.get(LAST_EVENT_ID) else { return Ok(None) };
    let read = sequence(value.to_str().unwrap_or_default());
    read.map(Some).map_err(|Fault { code, detail }| {
        Problem::invalid(vec![FieldError { field: "Last-Event-ID".to_owned(), code, detail }])
    })
}

/// Sends events until one side has enough.
struct Events {
    shared: Arc<SharedState>,
    engine: Engine,
    session: Session,
    listening: Listening,
    /// What was there at first goes up to this record, until it was sent.
    catching_up: Option<Sequence>,
    /// Whether a client that goes on after the last id misses nothing: it has all snapshots.
    whole: bool,
}

impl Events {
    fn has_caught_up(&self) -> bool {
        self.catching_up.is_some_and(|to| self.listening.head() >= to)
    }

    /// Whether the client is to be told how far it has everything: in time, and at once when it has
    /// what was there at first.
    fn must_beat(&self, beat_at: Instant) -> bool {
        Instant::now() >= beat_at || self.has_caught_up()
    }

    async fn run(mut self, sender: Sender<Bytes>, mut ends: watch::Receiver<Ends>) {
        let mut beat_at = Instant::now() + HEARTBEAT_EVERY;
        let mut messages: Vec<Arc<Message>> = Vec::new();
        let mut text = Vec::new();
        let ending = loop {
            if !self.session.refresh(&self.engine, &self.shared) {
                break Ending::BadKey;
            }
            // Nothing is fetched before the reader has room for it.
            let room = tokio::select! {
                biased;
                ended = ends.wait_for(|ends| ends.stopping) => match ended {
                    Ok(_) | Err(_) => break Ending::Stopping,
                },
                room = sender.reserve() => room,
                () = sleep_until((Instant::now() + HEARTBEAT_EVERY).into()) => {
                    match self.listening.check() {
                        Ok(()) => continue,
                        Err(slow) => break Ending::Slow(slow.sequence),
                    }
                }
            };
            // The body was dropped: the client has left.
            let Ok(room) = room else { return };
            let fetched =
                poll_fn(|cx| match self.listening.poll_messages(cx, &mut messages, PIECE_BYTES) {
                    Poll::Pending if self.must_beat(beat_at) => Poll::Ready(Ok(())),
                    fetched => fetched.map(|fetched| fetched.map(drop)),
                });
            let fetched = tokio::select! {
                biased;
                // What it was is looked at before the next is fetched.
                _ = ends.changed() => continue,
                () = sender.closed() => return,
                fetched = fetched => fetched,
                () = sleep_until((Instant::now() + HEARTBEAT_EVERY).into()) => continue,
            };
            if let Err(slow) = fetched {
                break Ending::Slow(slow.sequence);
            }
            let head = self.listening.head();
            let through = messages.last().map_or(head, |last| last.sequence);
            if !self.session.refresh_to(through, &self.engine, &self.shared) {
                // What was fetched is not told.
                self.whole = false;
                break Ending::BadKey;
            }
            let next = messages.iter().skip(1).map(|message| Some(message.sequence));
            let next: Vec<_> = next.chain([None]).collect();
            for (message, next) in messages.drain(..).zip(next) {
                let last = next != Some(message.sequence);
                let id = Some(message.sequence).filter(|_| last && self.whole);
                event(&mut text, None, id, &message.text);
            }
            if self.must_beat(beat_at) {
                beat_at = Instant::now() + HEARTBEAT_EVERY;
                if self.has_caught_up() {
                    (self.catching_up, self.whole) = (None, true);
                }
                let beat = print::heartbeat(head, self.engine.now());
                event(&mut text, None, Some(head).filter(|_| self.whole), &beat);
            }
            room.send(Bytes::from(std::mem::take(&mut text)));
        };
        let reason = ending.reason();
        let head = Some(self.listening.head()).filter(|_| self.whole);
        event(&mut text, Some("close"), head, reason.as_bytes());
        // If the reader has no room, it has the end of the connection.
        drop(sender.try_send(Bytes::from(text)));
    }
}

/// Prints an event.
fn event(to: &mut Vec<u8>, kind: Option<&str>, id: Option<Sequence>, data: &[u8]) {
    if let Some(kind) = kind {
        to.extend_from_slice(format!("event: {kind}\n").as_bytes());
    }
    if let Some(id) = id {
        to.extend_from_slice(format!("id: {id}\n").as_bytes());
    }
    to.extend_from_slice(b"data: ");
    to.extend_from_slice(data);
    to.extend_from_slice(b"\n\n");
}
