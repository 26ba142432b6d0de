//! Where a server listens: the entrance for everybody, and that of operators if there is one.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::net::TcpListener;
use tokio::time::sleep;

use super::Failure;
use super::place::Place;
use super::settings::ServeArgs;
use engine::clock;
use http::Entrance;
use http::listener::Listener;
use http::tls::{Tls, TlsError};

/// How long an address in use is tried again.
const BIND_WAIT: Duration = Duration::from_secs(2);
/// Pause between two tries.
const BIND_PAUSE: Duration = Duration::from_millis(50);
const DAY_MS: i64 = 24 * 3_600_000;
/// Days before its end at which a certificate should have been renewed.
pub(crate) const RENEWED_DAYS: i64 = 14;

/// The addresses to be told.
pub(crate) struct Urls {
    /// Where everybody asks, also as a bare address.
    pub(crate) public: String,
    pub(crate) address: SocketAddr,
    /// Where operators ask.
    pub(crate) operators: String,
}

impl Urls {
    /// Those of these entrances, of which the operators' is the last.
    ///
    /// # Errors
    /// The system does not tell them.
    pub(crate) fn of(entrances: &[Entrance]) -> Result<Urls, Failure> {
        let found = || {
            let first = entrances.first().ok_or(ErrorKind::NotFound)?;
            let last = entrances.last().unwrap_or(first);
            Ok(Urls {
                public: first.listener.url(first.tls.is_some())?,
                address: first.listener.address()?.ok_or(ErrorKind::AddrNotAvailable)?,
                operators: last.listener.url(last.tls.is_some())?,
            })
        };
        found().map_err(|error: std::io::Error| {
            Failure::Failed(format!("no address to listen on: {error}"))
        })
    }
}

/// The certificate and key to speak TLS by, if that is asked for.
///
/// # Errors
/// They are at fault.
pub(crate) fn tls(args: &ServeArgs) -> Result<Option<Arc<Tls>>, Failure> {
    let files = args.tls_files()?;
    let opened = files.map(|(chain, key)| Tls::open(chain, key).map(Arc::new)).transpose();
    let opened = opened.map_err(no_tls)?;
    if let Some(tls) = &opened {
        warn_of_end(tls);
    }
    Ok(opened)
}

/// Whole days until the certificate is over, less than none after that.
pub(crate) fn days_left(tls: &Tls) -> Option<i64> {
    let left = tls.ends()?.get().saturating_sub(clock::now().get());
    Some(left.div_euclid(DAY_MS))
}

/// Warns of a certificate that is over, or soon will be.
pub(crate) fn warn_of_end(tls: &Tls) {
    if let Some(days) = days_left(tls).filter(|days| *days < RENEWED_DAYS) {
        tracing::warn!(days, "the certificate of TLS is over, or will be in so many days");
    }
}

/// The failure to speak TLS.
#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
pub(crate) fn no_tls(error: TlsError) -> Failure {
    Failure::Usage(error.to_string())
}

/// Opens the entrances, before anything else is opened or created, so that a port in use fails
/// early.
///
/// # Errors
/// One is not to be had.
pub(crate) async fn open(
    args: &ServeArgs,
    tls: Option<Arc<Tls>>,
) -> Result<Vec<Entrance>, Failure> {
    let (listener, public_tls) = (listen(args.listen).await?, tls.clone());
    let mut all = vec![Entrance { listener, tls: public_tls, operators: false }];
    let (listener, tls) = match &args.admin_listen {
        None => return Ok(all),
        Some(Place::Port(address)) => {
            (listen(*address).await?, tls.filter(|_| !address.ip().is_loopback()))
        }
        Some(place @ Place::Socket(path)) => {
            let opened = Listener::unix(path, args.admin_socket_mode);
            (opened.map_err(|error| cannot_listen(place, &error))?, None)
        }
    };
    all.push(Entrance { listener, tls, operators: true });
    Ok(all)
}

/// Binds an address. A server that was just killed may still hold it for a moment.
async fn listen(address: SocketAddr) -> Result<Listener, Failure> {
    let began = Instant::now();
    loop {
        match TcpListener::bind(address).await {
            Ok(listener) => return Ok(Listener::Tcp(listener)),
            Err(error) if error.kind() == ErrorKind::AddrInUse && began.elapsed() < BIND_WAIT => {
                sleep(BIND_PAUSE).await;
            }
            Err(error) => return Err(cannot_listen(&Place::Port(address), &error)),
        }
    }
}

fn cannot_listen(place: &Place, error: &std::io::Error) -> Failure {
    let taken = matches!(place, Place::Port(_)) && error.kind() == ErrorKind::AddrInUse;
    let hint = if taken { "; is another server running?" } else { "" };
    Failure::Failed(format!("cannot listen on {place}: {error}{hint}"))
}
