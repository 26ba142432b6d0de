//! Accepting connections, and turning away those for which there is no place.

use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hyper::Response;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::Limits;
use super::connection_slots::ConnectionSlots;
use super::door::Door;
use super::venue::Venue;
use super::workers::{self, Workers};

/// Pause after a failed accept: mostly the process is out of file descriptors, and trying again
/// at once would only burn the time in which some are given back.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// Connections beyond the bound that are told so at once; more are closed without a word.
const TURNED_AWAY_MAX: usize = 64;
/// How long a client that is turned away is listened to: closing while its request is still on
/// its way would reset the connection and lose the answer.
const LINGER_WAIT: Duration = Duration::from_secs(1);
/// How much of it is read meanwhile.
const LINGER_BYTES_MAX: u64 = 64 * 1024;

/// How many threads serve connections: one a core.
pub fn lanes_count() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Serves until `shutdown` resolves, then drains.
pub async fn run(
    listener: TcpListener,
    venue: Venue,
    limits: Limits,
    shutdown: impl Future<Output = ()>,
) -> io::Result<()> {
    let door = Arc::new(Door::new(venue, limits).map_err(io::Error::other)?);
    let mut lanes = Workers::open(lanes_count(), &door, limits)?;
    let mut places = ConnectionSlots::new(limits.connections_max);
    let turned_away = Arc::new(Semaphore::new(TURNED_AWAY_MAX));
    let mut turning_away = JoinSet::new();
    let mut shutdown = pin!(shutdown);
    loop {
        tokio::select! {
            biased;
            () = &mut shutdown => break,
            Some(ended) = turning_away.join_next() => workers::report(ended),
            accepted = listener.accept() => match accepted {
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be accepted");
                    sleep(ACCEPT_PAUSE).await;
                }
                Ok((stream, _)) => {
                    if let Some(taken) = places.take() {
                        lanes.take(stream, taken);
                    } else if let Ok(place) = Arc::clone(&turned_away).try_acquire_owned() {
                        turning_away.spawn(turn_away(stream, Arc::clone(&door), place));
                    }
                }
            }
        }
    }
    drop(listener);
    // Those who are being turned away hear it to the end, too.
    let told = async {
        while let Some(ended) = turning_away.join_next().await {
            workers::report(ended);
        }
    };
    tokio::join!(lanes.close(), told);
    Ok(())
}

/// Tells a client that there is no place for it.
async fn turn_away(mut stream: TcpStream, door: Arc<Door>, _place: OwnedSemaphorePermit) {
    let told = timeout(LINGER_WAIT, async {
        stream.write_all(&raw(&door.no_place())).await?;
        stream.shutdown().await?;
        let mut rest = stream.take(LINGER_BYTES_MAX);
        tokio::io::copy(&mut rest, &mut tokio::io::sink()).await
    });
    match told.await {
        Ok(Ok(_)) | Err(_) => {}
        Ok(Err(error)) => tracing::debug!(%error, "a client left before it was turned away"),
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
