//! Workers: threads that serve connections, each with its own single-threaded runtime. A connection
//! stays on one worker, so its work never moves between cores and an answer wakes only its own
//! thread.

use std::cell::Cell;
use std::convert::Infallible;
use std::future::poll_fn;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::thread::Builder;
use std::time::{Duration, Instant};

use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use tokio::net::TcpStream;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;
use tokio::task::{JoinError, JoinSet, yield_now};
use tokio::time::{sleep, timeout};

use super::client_stream::ClientStream;
use super::connection_slots::Granted;
use super::door::Door;
use super::limits::Limits;
use super::mailbox;

/// Threads of a worker for work that takes long: two queries about the past, and compression.
const BLOCKING_THREADS_MAX: usize = 4;
/// How long such a thread stays without work: for the life of the process.
const BLOCKING_THREAD_IDLE_MAX: Duration = Duration::from_hours(100 * 365 * 24);
/// Turns of tasks after which a worker looks at its sockets. While it has work, a new request waits
/// for so many turns, each of up to half a millisecond.
const EVENT_INTERVAL: u32 = 8;
/// How long a connection's turn has lasted, from its second request on, when its next request,
/// which has arrived already, waits for the next turn.
const TURN_MAX: Duration = Duration::from_micros(200);

/// How much of its turn a connection has had. A turn with one request, as most are, asks no clock.
#[derive(Clone, Copy)]
enum Turn {
    Fresh,
    One,
    Several(Instant),
}

impl Turn {
    /// Counts a request; whether it is to wait for the next turn.
    fn count(self) -> (Turn, bool) {
        match self {
            Turn::Fresh => (Turn::One, false),
            Turn::One => (Turn::Several(Instant::now()), false),
            Turn::Several(since) => (self, since.elapsed() > TURN_MAX),
        }
    }
}

thread_local! {
    /// The turn of the connection that this worker serves now.
    static TURN: Cell<Turn> = const { Cell::new(Turn::Fresh) };
}

/// A connection and its slot.
pub type AcceptedConnection = (std::net::TcpStream, Granted);

/// The workers, which are given connections in turn.
pub struct Workers {
    workers: Vec<Worker>,
    next: usize,
}

/// Handle to one worker thread.
struct Worker {
    // Bounded by the connection slots, and by the evicted connections that may still be open.
    connections: UnboundedSender<AcceptedConnection>,
    ended: oneshot::Receiver<()>,
}

impl Workers {
    /// Starts `count` workers, at least one, that answer through `door`.
    pub fn open(count: usize, door: &Arc<Door>, limits: Limits) -> io::Result<Workers> {
        let count = count.max(1);
        let worker = |number| Worker::open(number, Arc::clone(door), limits);
        let workers: io::Result<Vec<Worker>> = (0..count).map(worker).collect();
        Ok(Workers { workers: workers?, next: 0 })
    }

    /// Hands a connection to the next worker.
    pub fn take(&mut self, stream: TcpStream, taken: Granted) {
        self.next = self.next.saturating_add(1).checked_rem(self.workers.len()).unwrap_or(0);
        let handed_over = stream.into_std().map(|stream| {
            let worker = self.workers.get(self.next);
            worker.map(|worker| worker.connections.send((stream, taken)).is_ok())
        });
        if !matches!(handed_over, Ok(Some(true))) {
            tracing::error!("no worker took a connection");
        }
    }

    /// Stops the workers; running requests may take as long as [`Limits::drain_wait`] allows.
    pub async fn close(self) {
        // Dropping the senders stops all workers before any is waited for.
        let ended: Vec<_> = self.workers.into_iter().map(|worker| worker.ended).collect();
        for worker in ended {
            if worker.await.is_err() {
                tracing::error!("a worker ended while the server runs");
            }
        }
    }
}

impl Worker {
    fn open(number: usize, door: Arc<Door>, limits: Limits) -> io::Result<Worker> {
        let (connections, taken) = unbounded_channel();
        let (ends, ended) = oneshot::channel();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .event_interval(EVENT_INTERVAL)
            .on_thread_park(mailbox::give_way)
            .max_blocking_threads(BLOCKING_THREADS_MAX)
            .thread_keep_alive(BLOCKING_THREAD_IDLE_MAX)
            .build()?;
        // Where there is one, later work waits for it if the system gives no other. Where there is
        // none, the runtime panics.
        drop(runtime.spawn_blocking(|| ()));
        Builder::new().name(format!("worker-{number}")).spawn(move || {
            runtime.block_on(serve(taken, door, limits));
            // Do not wait for a past query whose caller is gone.
            runtime.shutdown_background();
            // The receiver may be gone as well.
            ends.send(()).unwrap_or_default();
        })?;
        Ok(Worker { connections, ended })
    }
}

/// Serves incoming connections until the sender is dropped, then drains.
async fn serve(mut taken: UnboundedReceiver<AcceptedConnection>, door: Arc<Door>, limits: Limits) {
    let mail = tokio::spawn(mailbox::open());
    let beat = tokio::spawn(beat(limits.head_wait / 2));
    let graceful = GracefulShutdown::new();
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            biased;
            Some(ended) = connections.join_next() => report(ended),
            next = taken.recv() => match next {
                None => break,
                Some((stream, taken)) => match TcpStream::from_std(stream) {
                    Err(error) => tracing::warn!(%error, "a connection could not be served"),
                    Ok(stream) => {
                        let (door, watcher) = (Arc::clone(&door), graceful.watcher());
                        connections.spawn(serve_connection(stream, door, limits, watcher, taken));
                    }
                },
            }
        }
    }
    door.stop_waiting();
    drain(graceful, connections, limits).await;
    mail.abort();
    beat.abort();
}

/// Keeps a timer running that expires before any timer of a connection. Without it, each first
/// timer of an idle worker makes the runtime wake itself with a system call to recompute its sleep
/// time; and a connection starts a timer after every answer.
async fn beat(every: Duration) {
    loop {
        sleep(every).await;
    }
}

/// Lets running requests finish; aborts those that exceed the drain time.
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

/// Logs the panic of a connection's task.
pub fn report(ended: Result<(), JoinError>) {
    if let Err(error) = ended
        && error.is_panic()
    {
        tracing::error!(%error, "a connection's task panicked");
    }
}

/// Serves one connection until it ends or is evicted.
async fn serve_connection(
    stream: TcpStream,
    door: Arc<Door>,
    limits: Limits,
    watcher: Watcher,
    Granted { slot, evicted }: Granted,
) {
    let _connected = door.traffic().connect();
    let answering = Arc::clone(&door);
    let service = service_fn(move |request: Request<Incoming>| {
        let (turn, turn_is_over) = TURN.get().count();
        TURN.set(turn);
        let (door, slot) = (Arc::clone(&answering), Arc::clone(&slot));
        // Boxed, so that an idle connection does not keep room for it.
        Box::pin(async move {
            if turn_is_over {
                yield_now().await;
            }
            // An evicted connection is about to be closed: its request is not processed.
            if slot.is_evicted() {
                std::future::pending::<()>().await;
            }
            Ok::<_, Infallible>(door.answer_on(request, Some(&slot)).await)
        })
    });
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "answers may be delayed by the network stack");
    }
    let body_max = u64::try_from(limits.body_bytes_max).unwrap_or(u64::MAX);
    let stream = ClientStream::new(stream, body_max, limits.write_wait);
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.head_wait)
        .max_buf_size(limits.buffer_bytes_max)
        .keep_alive(true)
        // A client may close its sending side after a request and still gets its answer. To notice
        // the close early, each request would need a second read and buffer space for it.
        .half_close(true)
        .serve_connection(TokioIo::new(stream), service);
    // Dropped after the connection.
    let _closing;
    let mut serving = pin!(watcher.watch(connection));
    let served = poll_fn(|cx| {
        TURN.set(Turn::Fresh);
        serving.as_mut().poll(cx)
    });
    tokio::select! {
        biased;
        ended = served => if let Err(error) = ended {
            tracing::debug!(%error, "a connection ended early");
        },
        Ok(permit) = evicted => {
            _closing = permit;
            door.traffic().give_way();
        }
    }
}
