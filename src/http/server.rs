//! Accepts connections, hands them to the workers, and rejects those for which there is no slot.

use std::future::poll_fn;
use std::io;
use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use bytes::Bytes;
use hyper::Response;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::connection_slots::{Arrival, ConnectionSlots};
use super::door::Door;
use super::limits::Limits;
use super::listener::Listener;
use super::site::Site;
use super::socket::Accepted;
use super::tls::Tls;
use super::venue::Venue;
use super::workers::{self, Workers};

/// Pause after a failed accept: usually the process is out of file descriptors, and retrying
/// immediately would only burn CPU time.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// Connections accepted within [`RUSH_PAUSE`]; further ones wait that long.
const RUSH_MAX: u32 = 4;
const RUSH_PAUSE: Duration = Duration::from_millis(1);
/// Connections beyond the bound that are answered with a rejection at the same time; further ones
/// are closed without an answer.
const TURNED_AWAY_MAX: usize = 64;
/// How long the input of a rejected client is read: closing while its request is still arriving
/// would reset the connection and lose the answer.
const LINGER_WAIT: Duration = Duration::from_secs(1);
/// Most bytes read from it meanwhile.
const LINGER_BYTES_MAX: u64 = 64 * 1024;

/// The number of workers: one per available core.
pub fn workers_count() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// [`serve_site`] for programs alone.
///
/// # Errors
/// As there.
pub async fn serve(
    listener: TcpListener,
    venue: impl Into<Venue>,
    limits: Limits,
    shutdown: impl Future<Output = ()>,
) -> io::Result<()> {
    serve_site(listener, venue, limits, Site::default(), shutdown).await
}

/// Serves the API on `listener` until `shutdown` resolves, then drains for at most
/// [`Limits::drain_wait`]. While the venue is opening, only health checks are answered; everything
/// else is refused.
///
/// # Errors
/// The table of routes is inconsistent, or a worker cannot be started. Errors of single connections
/// are only logged.
pub async fn serve_site(
    listener: TcpListener,
    venue: impl Into<Venue>,
    limits: Limits,
    site: Site,
    shutdown: impl Future<Output = ()>,
) -> io::Result<()> {
    let door = Arc::new(Door::of_site(venue, limits, site).map_err(io::Error::other)?);
    serve_door(vec![Entrance::plain(listener)], door, limits, shutdown).await
}

/// Where connections come in.
#[derive(Debug)]
pub struct Entrance {
    /// What accepts them.
    pub listener: Listener,
    /// What they speak TLS by; plain HTTP if there is none.
    pub tls: Option<Arc<Tls>>,
    /// Whether it is for operators: where the site has such, what is theirs is refused elsewhere.
    pub operators: bool,
}

impl Entrance {
    /// For everybody, over plain HTTP.
    pub const fn plain(listener: TcpListener) -> Entrance {
        Entrance { listener: Listener::Tcp(listener), tls: None, operators: false }
    }
}

/// How many connections came at once: a crowd is let in at a pace that leaves orders a core.
struct Rush {
    since: Instant,
    count: u32,
}

impl Rush {
    /// Counts a connection, and waits if there were enough of them for now.
    async fn slow_down(&mut self) {
        if self.since.elapsed() >= RUSH_PAUSE {
            *self = Rush { since: Instant::now(), count: 0 };
        }
        self.count = self.count.saturating_add(1);
        if self.count > RUSH_MAX {
            sleep(RUSH_PAUSE).await;
        }
    }
}

/// The next connection, and where it came in. A crowd elsewhere does not keep operators waiting.
async fn accept(entrances: &[Entrance]) -> (io::Result<(Accepted, Option<IpAddr>)>, &Entrance) {
    poll_fn(|cx| {
        let theirs = entrances.iter().filter(|entrance| entrance.operators);
        let mut all = theirs.chain(entrances.iter().filter(|entrance| !entrance.operators));
        let came = all.find_map(|entrance| match entrance.listener.poll_accept(cx) {
            Poll::Ready(accepted) => Some((accepted, entrance)),
            Poll::Pending => None,
        });
        came.map_or(Poll::Pending, Poll::Ready)
    })
    .await
}

/// [`serve_site`] through a door that is there already, and several entrances.
///
/// # Errors
/// A worker cannot be started.
pub async fn serve_door(
    entrances: Vec<Entrance>,
    door: Arc<Door>,
    limits: Limits,
    shutdown: impl Future<Output = ()>,
) -> io::Result<()> {
    let mut workers = Workers::open(workers_count(), &door, limits)?;
    let slots = ConnectionSlots::new(limits.connections_max);
    let rejection_permits = Arc::new(Semaphore::new(TURNED_AWAY_MAX));
    let mut rejections = JoinSet::new();
    let mut shutdown = pin!(shutdown);
    let followed = Arc::clone(&door);
    let mut rush = Rush { since: Instant::now(), count: 0 };
    let mut follow_keys = pin!(followed.shared().ends.follow_keys(followed.venue()));
    loop {
        tokio::select! {
            biased;
            () = &mut shutdown => break,
            Some(ended) = rejections.join_next() => workers::report(ended),
            () = &mut follow_keys => {}
            (accepted, entrance) = accept(&entrances) => match accepted {
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be accepted");
                    sleep(ACCEPT_PAUSE).await;
                }
                Ok((stream, peer)) => {
                    rush.slow_down().await;
                    let engine = door.venue().engine().ok();
                    if let Some(taken) = slots.take(engine, entrance.operators) {
                        let operators = entrance.operators;
                        taken.slot.arrives(Arrival { peer, operators });
                        workers.take(stream, entrance.tls.clone(), taken);
                    } else if entrance.tls.is_some() {
                        // To say why would take a handshake.
                        door.traffic().turn_away();
                    } else if let Ok(permit) = Arc::clone(&rejection_permits).try_acquire_owned() {
                        rejections.spawn(reject(stream, Arc::clone(&door), permit));
                    }
                }
            }
        }
    }
    drop(entrances);
    door.shared().ends.stop();
    // Let pending rejections finish, too.
    let answered = async {
        while let Some(ended) = rejections.join_next().await {
            workers::report(ended);
        }
    };
    tokio::join!(workers.close(), answered);
    Ok(())
}

/// Tells a client that no slot is free.
async fn reject(stream: Accepted, door: Arc<Door>, _permit: OwnedSemaphorePermit) {
    let answered = timeout(LINGER_WAIT, async {
        let mut stream = stream.here()?;
        stream.write_all(&raw(&door.no_slot())).await?;
        stream.shutdown().await?;
        let mut rest = stream.take(LINGER_BYTES_MAX);
        tokio::io::copy(&mut rest, &mut tokio::io::sink()).await
    });
    match answered.await {
        Ok(Ok(_)) | Err(_) => {}
        Ok(Err(error)) => tracing::debug!(%error, "a client left before it was refused"),
    }
}

/// An answer as bytes, for a connection that hyper does not serve.
fn raw(response: &Response<Bytes>) -> Vec<u8> {
    let mut bytes = format!("HTTP/1.1 {}\r\n", response.status()).into_bytes();
    for (name, value) in response.headers() {
        bytes.extend_from_slice(name.as_str().as_bytes());
        bytes.extend_from_slice(b": ");
        bytes.extend_from_slice(value.as_bytes());
        bytes.extend_from_slice(b"\r\n");
    }
    let length = response.body().len();
    let end = format!("content-length: {length}\r\nconnection: close\r\n\r\n");
    bytes.extend_from_slice(end.as_bytes());
    bytes.extend_from_slice(response.body());
    bytes
}
