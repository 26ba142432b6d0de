//! Lanes: threads that serve connections, each with a runtime of its own, so that a connection's
//! work never moves between cores and an answer wakes nobody but its own thread.

use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::thread::Builder;
use std::time::Duration;

use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper::{Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use tokio::net::TcpStream;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;
use tokio::task::{JoinError, JoinSet};
use tokio::time::{sleep, timeout};

use super::Limits;
use super::connection_slots::Granted;
use super::cores::Cores;
use super::door::Door;
use super::future_pool::{FuturePool, RequestSlot};
use super::stream::Content;
use super::write_timeout::WriteTimeout;
use crate::engine::mailbox;

/// A connection and its place among all.
pub type AcceptedConnection = (std::net::TcpStream, Granted);

/// The lanes, which take connections in turn.
pub struct Workers {
    lanes: Vec<Worker>,
    next: usize,
}

/// One lane, as seen from outside.
struct Worker {
    // Bounded by the places: a connection that waits here has one.
    connections: UnboundedSender<AcceptedConnection>,
    ended: oneshot::Receiver<()>,
}

impl Workers {
    /// So many lanes, at least one, in which `door` answers.
    pub fn open(count: usize, door: &Arc<Door>, limits: Limits) -> io::Result<Workers> {
        let count = count.max(1);
        let cores = limits.workers_pinned.then(|| Cores::for_lanes(count)).flatten();
        if limits.workers_pinned && cores.is_none() {
            tracing::warn!(lanes = count, "lanes are not held: there is no core for each alone");
        }
        let lane = |number| Worker::open(number, Arc::clone(door), limits, cores);
        let lanes: io::Result<Vec<Worker>> = (0..count).map(lane).collect();
        Ok(Workers { lanes: lanes?, next: 0 })
    }

    /// Has a lane serve a connection.
    pub fn take(&mut self, stream: TcpStream, taken: Granted) {
        self.next = self.next.saturating_add(1).checked_rem(self.lanes.len()).unwrap_or(0);
        let given = stream.into_std().map(|stream| {
            let lane = self.lanes.get(self.next);
            lane.map(|lane| lane.connections.send((stream, taken)).is_ok())
        });
        if !matches!(given, Ok(Some(true))) {
            tracing::error!("a connection found no lane");
        }
    }

    /// Lets what is running end, for as long as the limits give it.
    pub async fn close(self) {
        // All are told before any is waited for.
        let ended: Vec<_> = self.lanes.into_iter().map(|lane| lane.ended).collect();
        for lane in ended {
            if lane.await.is_err() {
                tracing::error!("a lane ended before its time");
            }
        }
    }
}

impl Worker {
    fn open(
        number: usize,
        door: Arc<Door>,
        limits: Limits,
        cores: Option<Cores>,
    ) -> io::Result<Worker> {
        let (connections, taken) = unbounded_channel();
        let (ends, ended) = oneshot::channel();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .on_thread_park(mailbox::give_way)
            // Those that look into the past for it.
            .on_thread_start(move || {
                if let Some(cores) = cores {
                    cores.free();
                }
            })
            .build()?;
        Builder::new().name(format!("worker-{number}")).spawn(move || {
            if let Some(cores) = cores {
                cores.hold(number);
            }
            runtime.block_on(serve(taken, door, limits));
            // A look into the past that nobody waits for any more is not waited for.
            runtime.shutdown_background();
            // Whoever would hear of it may be gone as well.
            ends.send(()).unwrap_or_default();
        })?;
        Ok(Worker { connections, ended })
    }
}

/// Serves what is taken in, until there will be no more, and drains.
async fn serve(mut taken: UnboundedReceiver<AcceptedConnection>, door: Arc<Door>, limits: Limits) {
    let mail = tokio::spawn(mailbox::open());
    let beat = tokio::spawn(beat(limits.head_wait / 2));
    let graceful = GracefulShutdown::new();
    let mut connections = JoinSet::new();
    let open = Arc::clone(&door);
    let seats = FuturePool::new(move |desk: RequestSlot<Request<Incoming>, _>| {
        let door = Arc::clone(&open);
        async move {
            loop {
                let request = desk.next().await;
                desk.answer(Ok::<_, Infallible>(door.answer(request).await));
            }
        }
    });
    let service = service_fn(move |request| seats.seat(request));
    loop {
        tokio::select! {
            biased;
            Some(ended) = connections.join_next() => report(ended),
            next = taken.recv() => match next {
                None => break,
                Some((stream, taken)) => match TcpStream::from_std(stream) {
                    Err(error) => tracing::warn!(%error, "a connection could not be served"),
                    Ok(stream) => {
                        let (door, service) = (Arc::clone(&door), service.clone());
                        let watcher = graceful.watcher();
                        connections.spawn(attend(stream, door, service, limits, watcher, taken));
                    }
                },
            }
        }
    }
    drain(graceful, connections, limits).await;
    mail.abort();
    beat.abort();
}

/// Keeps a timer running that ends before any that a connection begins. Without one, each first
/// timer of an idle lane has the runtime wake itself with a system call, to look how long it may
/// sleep; and connections begin one after every answer.
async fn beat(every: Duration) {
    loop {
        sleep(every).await;
    }
}

/// Lets running requests end, and cuts off those that do not.
async fn drain(graceful: GracefulShutdown, mut connections: JoinSet<()>, limits: Limits) {
    if !connections.is_empty() {
        tracing::info!(connections = connections.len(), "draining");
    }
    let ended = timeout(limits.drain_wait, async {
        graceful.shutdown().await;
        while let Some(ended) = connections.join_next().await {
            report(ended);
        }
    });
    if ended.await.is_err() {
        tracing::warn!(connections = connections.len(), "cut off after the drain's time was over");
        connections.shutdown().await;
    }
}

/// Says if a connection's task panicked.
pub fn report(ended: Result<(), JoinError>) {
    if let Err(error) = ended
        && error.is_panic()
    {
        tracing::error!(%error, "a connection's task panicked");
    }
}

/// Serves one connection to its end, or until it gives its place away unheard.
async fn attend<S>(
    stream: TcpStream,
    door: Arc<Door>,
    service: S,
    limits: Limits,
    watcher: Watcher,
    Granted { place, given }: Granted,
) where
    S: Service<Request<Incoming>, Response = Response<Content>, Error = Infallible>,
{
    let service = service_fn(move |mut request: Request<Incoming>| {
        if !place.is_authenticated() {
            // Whoever looks at the key says so.
            request.extensions_mut().insert(Arc::clone(&place));
        }
        // Not by a closure, into which the request would be copied.
        let answered = if place.is_evicted() { None } else { Some(service.call(request)) };
        async move {
            match answered {
                Some(answered) => answered.await,
                // Nothing is done for one whose place is given: it is about to be closed.
                None => std::future::pending().await,
            }
        }
    });
    let _connected = door.traffic().connect();
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "answers may be delayed by the network stack");
    }
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.head_wait)
        .max_buf_size(limits.buffer_bytes_max)
        .keep_alive(true)
        // A client may end its side once it has asked: it is answered all the same. To see that at
        // once, each request would need a second read, and room for it.
        .half_close(true)
        .serve_connection(TokioIo::new(WriteTimeout::new(stream, limits.write_wait)), service);
    tokio::select! {
        biased;
        ended = watcher.watch(connection) => if let Err(error) = ended {
            tracing::debug!(%error, "a connection ended early");
        },
        Ok(()) = given => tracing::debug!("a connection that was never heard gave its place"),
    }
}
