//! Workers: threads that serve connections, each with its own single-threaded runtime. A connection
//! stays on one worker, so its work never moves between cores and an answer wakes only its own
//! thread.

use std::cell::Cell;
use std::convert::Infallible;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::thread::Builder;
use std::time::{Duration, Instant};

use bytes::Bytes;
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use rustix::net::sockopt;
use tokio::net::TcpStream;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;
use tokio::task::{JoinError, JoinHandle, JoinSet, yield_now};
use tokio::time::{sleep, sleep_until, timeout};

use super::client_stream::ClientStream;
use super::connection_slots::{ConnectionSlot, Granted};
use super::door::Door;
#[cfg(feature = "tls")]
use super::http2;
use super::limits::Limits;
use super::mailbox;
use super::placed_here::PlacedHere;
use super::socket::{Accepted, Socket};
use super::stream::commands::Beginning;
use super::stream::connection::Connection;
use super::stream::ending::Ending;
use super::stream::upgrade::{self, Handover, Opening};
use super::tls::Tls;
use engine::Engine;

/// Threads of a worker for work that takes long: two queries about the past, and compression.
const BLOCKING_THREADS_MAX: usize = 4;
/// How long such a thread stays without work: for the life of the process.
const BLOCKING_THREAD_IDLE_MAX: Duration = Duration::from_hours(100 * 365 * 24);
/// Turns of tasks after which a worker looks at its sockets. While it has work, a new request waits
/// for so many turns, each of up to half a millisecond.
const EVENT_INTERVAL: u32 = 8;
/// How long the other side of a stream may be silent altogether, on the level of TCP.
const GONE_AFTER: Duration = Duration::from_secs(20);
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

/// A connection, what it speaks TLS by, and its slot.
pub type AcceptedConnection = (Accepted, Option<Arc<Tls>>, Granted);

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
    pub fn take(&mut self, stream: Accepted, tls: Option<Arc<Tls>>, taken: Granted) {
        self.next = self.next.saturating_add(1).checked_rem(self.workers.len()).unwrap_or(0);
        let worker = self.workers.get(self.next);
        let handed_over = worker.map(|worker| worker.connections.send((stream, tls, taken)));
        if !matches!(handed_over, Some(Ok(()))) {
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
    let mut connections = JoinSet::new();
    let (leaving, left) = unbounded_channel();
    let cancels = tokio::spawn(cancel_for_those_who_left(left));
    loop {
        tokio::select! {
            biased;
            Some(ended) = connections.join_next() => report(ended),
            next = taken.recv() => match next {
                None => break,
                Some((stream, tls, taken)) => match stream.here() {
                    Err(error) => tracing::warn!(%error, "a connection could not be served"),
                    Ok(stream) => {
                        let (door, leaving) = (Arc::clone(&door), leaving.clone());
                        let connection = (stream, tls, taken);
                        connections.spawn(serve_connection(connection, door, limits, leaving));
                    }
                },
            }
        }
    }
    door.stop_waiting();
    drop(leaving);
    drain(connections, cancels, limits).await;
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
async fn drain(mut connections: JoinSet<()>, mut cancels: JoinHandle<()>, limits: Limits) {
    if !connections.is_empty() {
        tracing::info!(connections = connections.len(), "draining");
    }
    let ended = timeout(limits.drain_wait, async {
        while let Some(ended) = connections.join_next().await {
            report(ended);
        }
    });
    if ended.await.is_err() {
        tracing::warn!(connections = connections.len(), "cut off after the drain's time was over");
        connections.shutdown().await;
    }
    if timeout(limits.drain_wait, &mut cancels).await.is_err() {
        tracing::warn!("orders of connections that ended were not all cancelled");
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

/// The orders placed on a connection that has ended.
type Left = (Engine, Arc<PlacedHere>);

/// Cancels the orders of connections that have ended, until no more can end.
async fn cancel_for_those_who_left(mut left: UnboundedReceiver<Left>) {
    let mut cancelling = JoinSet::new();
    loop {
        tokio::select! {
            Some(ended) = cancelling.join_next() => report(ended),
            next = left.recv() => match next {
                Some((engine, placed)) => {
                    cancelling.spawn(placed.cancel(engine));
                }
                None => break,
            },
        }
    }
    while let Some(ended) = cancelling.join_next().await {
        report(ended);
    }
}

/// Serves one connection until it ends or is evicted.
async fn serve_connection(
    (stream, tls, Granted { slot, evicted }): (Socket, Option<Arc<Tls>>, Granted),
    door: Arc<Door>,
    limits: Limits,
    leaving: UnboundedSender<Left>,
) {
    let _connected = door.traffic().connect();
    // Dropped after the connection.
    let _closing;
    let serving = async {
        let Some(stream) = shake_hands(stream, tls, limits).await else { return };
        #[cfg(feature = "tls")]
        if stream.is_http2() {
            return http2::serve(stream, &door, limits, &slot).await;
        }
        let Some((stream, read, opening)) = serve_http(stream, &door, limits, &slot).await else {
            return;
        };
        serve_stream(stream, &read, opening, &door, limits, leaving, &slot).await;
    };
    tokio::select! {
        biased;
        () = serving => {}
        Ok(permit) = evicted => {
            _closing = permit;
            door.traffic().give_way();
        }
    }
}

/// Begins to speak TLS on a connection, if that is spoken; `None` if it comes to nothing.
async fn shake_hands(socket: Socket, tls: Option<Arc<Tls>>, limits: Limits) -> Option<Socket> {
    if let Some(Err(error)) = socket.tcp().map(|stream| stream.set_nodelay(true)) {
        tracing::debug!(%error, "answers may be delayed by the network stack");
    }
    let (stream, tls) = match (socket, tls) {
        (Socket::Tcp(stream), Some(tls)) => (stream, tls),
        (socket, _) => return Some(socket),
    };
    // Boxed, so that it takes no room of the connection's later life.
    match timeout(limits.handshake_wait, Box::pin(tls.accept(stream))).await {
        Ok(Ok(stream)) => return Some(Socket::Tls(Box::new(stream))),
        Ok(Err(error)) => tracing::debug!(%error, "a handshake failed"),
        Err(_) => tracing::debug!("a handshake took too long"),
    }
    None
}

/// Answers requests until the connection ends, or becomes that of a stream: then what was read of
/// it already, too.
async fn serve_http(
    stream: Socket,
    door: &Arc<Door>,
    limits: Limits,
    slot: &Arc<ConnectionSlot>,
) -> Option<(ClientStream<Socket>, Bytes, Opening)> {
    let handover = Handover::default();
    let presence = slot.presence.clone();
    let (answering, slot, handing) = (Arc::clone(door), Arc::clone(slot), handover.clone());
    let service = service_fn(move |mut request: Request<Incoming>| {
        let (turn, turn_is_over) = TURN.get().count();
        TURN.set(turn);
        let (door, slot) = (Arc::clone(&answering), Arc::clone(&slot));
        if upgrade::is_asked(request.headers()) {
            request.extensions_mut().insert(handing.clone());
        }
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
    let body_max = u64::try_from(limits.body_bytes_max).unwrap_or(u64::MAX);
    let stream = ClientStream::new(stream, body_max, limits.write_wait, presence);
    let mut connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.head_wait)
        .max_buf_size(limits.buffer_bytes_max)
        .keep_alive(true)
        // A client may close its sending side after a request and still gets its answer. To notice
        // the close early, each request would need a second read and buffer space for it.
        .half_close(true)
        .serve_connection(TokioIo::new(stream), service);
    let mut ends = door.shared().ends.listen();
    let mut stops = false;
    let ended = loop {
        let served = poll_fn(|cx| {
            TURN.set(Turn::Fresh);
            Pin::new(&mut connection).poll(cx)
        });
        tokio::select! {
            biased;
            ended = served => break ended,
            _ = ends.wait_for(|ends| ends.stopping), if !stops => {
                stops = true;
                Pin::new(&mut connection).graceful_shutdown();
            }
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended early");
        return None;
    }
    let opening = handover.take()?;
    let parts = connection.into_parts();
    Some((parts.io.into_inner(), parts.read_buf, opening))
}

/// Has the system end a connection whose other side has vanished without a word: no request is
/// awaited of a stream, so nothing else would notice.
fn notice_gone(stream: &TcpStream) -> io::Result<()> {
    sockopt::set_socket_keepalive(stream, true)?;
    sockopt::set_tcp_keepidle(stream, GONE_AFTER / 2)?;
    sockopt::set_tcp_keepintvl(stream, GONE_AFTER / 4)?;
    sockopt::set_tcp_keepcnt(stream, 2)?;
    // Of what was sent and not acknowledged.
    #[cfg(target_os = "linux")]
    sockopt::set_tcp_user_timeout(stream, u32::try_from(GONE_AFTER.as_millis()).unwrap_or(0))?;
    Ok(())
}

/// Serves a stream until it ends.
async fn serve_stream(
    stream: ClientStream<Socket>,
    read: &[u8],
    Opening { session }: Opening,
    door: &Arc<Door>,
    limits: Limits,
    leaving: UnboundedSender<Left>,
    slot: &Arc<ConnectionSlot>,
) {
    /// Has its orders cancelled, however the connection ends.
    struct Leaving(Box<Connection<Socket>>, Engine, UnboundedSender<Left>);

    impl Drop for Leaving {
        fn drop(&mut self) {
            if let Some(placed) = self.0.placed() {
                // The receiver ends after all connections.
                self.2.send((self.1.clone(), placed)).unwrap_or_default();
            }
        }
    }

    let Ok(engine) = door.venue().engine().cloned() else { return };
    let (door, slot, write_wait) = (Arc::clone(door), Arc::clone(slot), limits.write_wait);
    let mut ends = door.shared().ends.listen();
    let beginning = Beginning { door, engine: engine.clone(), slot, session, write_wait };
    let stream = stream.into_inner();
    if let Some(Err(error)) = stream.tcp().map(notice_gone) {
        tracing::debug!(%error, "a client that vanishes may not be noticed for long");
    }
    let connection = Connection::open(beginning, stream, read);
    let mut leaving = Leaving(Box::new(connection), engine, leaving);
    let connection = &mut leaving.0;
    if ends.borrow().stopping {
        connection.end(Ending::Stopping);
    }
    let mut look = Box::pin(sleep_until(connection.next_look().into()));
    let mut tells = true;
    loop {
        tokio::select! {
            biased;
            told = ends.changed(), if tells => {
                tells = told.is_ok();
                if ends.borrow_and_update().stopping || !tells {
                    connection.end(Ending::Stopping);
                }
                connection.check_key();
            }
            () = poll_fn(|cx| connection.poll(cx)) => return,
            () = look.as_mut() => {
                if connection.look() {
                    return;
                }
            }
        }
        // What ends it has moments of its own.
        look.as_mut().reset(connection.next_look().into());
    }
}
