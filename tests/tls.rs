//! TLS in the server: what a client with the right root gets, and what others cannot take from it.

#![cfg(feature = "tls")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on stops")]

use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use bytes::Bytes;
use engine::meter::Meter;
use http::door::Door;
use http::site::Site;
use http::tls::Tls;
use http::venue::Venue;
use http::{Entrance, Limits};
use http_body_util::Empty;
use hyper::Request;
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, ProtocolVersion, RootCertStore, StreamOwned};
use rustls::{SupportedProtocolVersion, version};
use tokio::sync::oneshot;
use tokio_rustls::TlsConnector;

const PATIENCE: Duration = Duration::from_secs(40);

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tls").join(name)
}

/// A client's settings, with the root of the tests.
fn trusting(version: &'static SupportedProtocolVersion) -> ClientConfig {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(file("ca.pem")).unwrap()).unwrap();
    ClientConfig::builder_with_provider(Arc::new(rustls_graviola::default_provider()))
        .with_protocol_versions(&[version])
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth()
}

/// A server that answers health checks over TLS, with the certificate of that name.
struct Server {
    address: SocketAddr,
    tls: Arc<Tls>,
    door: Arc<Door>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Server {
    fn start(limits: Limits, site: Site) -> Server {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        let tls = Arc::new(Tls::open(&file("first.pem"), &file("first.key")).unwrap());
        let venue = Venue::opening(Arc::new(Meter::default()));
        let door = Arc::new(Door::of_site(venue, limits, Site { tls: true, ..site }).unwrap());
        let (stop, stopped) = oneshot::channel::<()>();
        let entrance = Entrance { tls: Some(Arc::clone(&tls)), ..Entrance::plain(listener) };
        let through = Arc::clone(&door);
        let thread = thread::spawn(move || {
            let served = http::serve_door(vec![entrance], through, limits, async {
                drop(stopped.await);
            });
            runtime.block_on(served).unwrap();
        });
        Server { address, tls, door, stop: Some(stop), thread: Some(thread) }
    }

    fn client(&self) -> Client {
        self.client_of(&version::TLS13, "localhost").unwrap()
    }

    /// A client after its handshake, which speaks this version alone.
    fn client_of(
        &self,
        version: &'static SupportedProtocolVersion,
        name: &'static str,
    ) -> std::io::Result<Client> {
        let mut config = trusting(version);
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        let socket = TcpStream::connect(self.address)?;
        socket.set_read_timeout(Some(PATIENCE))?;
        let name = ServerName::try_from(name).unwrap();
        let session = ClientConnection::new(Arc::new(config), name).unwrap();
        let mut client = Client(StreamOwned::new(session, socket));
        while client.0.conn.is_handshaking() {
            client.0.conn.complete_io(&mut client.0.sock)?;
        }
        Ok(client)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.stop.take());
        self.thread.take().unwrap().join().unwrap();
    }
}

struct Client(StreamOwned<ClientConnection, TcpStream>);

impl Client {
    /// Asks on the connection that there is; the answer's head and body.
    fn ask(&mut self, path: &str) -> std::io::Result<String> {
        write!(self.0, "GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n")?;
        let mut answer = Vec::new();
        loop {
            let mut bytes = [0; 4096];
            let count = self.0.read(&mut bytes)?;
            if count == 0 {
                return Err(ErrorKind::UnexpectedEof.into());
            }
            answer.extend_from_slice(&bytes[..count]);
            let text = String::from_utf8_lossy(&answer);
            let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            if length.is_some_and(|length| body.len() == length.parse::<usize>().unwrap()) {
                return Ok(text.into_owned());
            }
        }
    }

    /// The server's own certificate.
    fn certificate(&self) -> Vec<u8> {
        self.0.conn.peer_certificates().unwrap()[0].to_vec()
    }
}

fn certificate(name: &str) -> Vec<u8> {
    CertificateDer::from_pem_file(file(name)).unwrap().to_vec()
}

#[test]
fn a_client_with_the_root_is_answered_over_each_version() {
    let server = Server::start(Limits::STANDARD, Site::default());
    for (version, spoken) in
        [(&version::TLS13, ProtocolVersion::TLSv1_3), (&version::TLS12, ProtocolVersion::TLSv1_2)]
    {
        let mut client = server.client_of(version, "localhost").unwrap();
        assert_eq!(client.0.conn.protocol_version(), Some(spoken));
        assert_eq!(client.0.conn.alpn_protocol(), Some(&b"http/1.1"[..]));
        for _ in 0..3 {
            let answer = client.ask("/healthz").unwrap();
            assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
            assert!(!answer.contains("strict-transport-security"), "a loopback name");
        }
    }
    assert!(server.client_of(&version::TLS13, "venue.example").is_err(), "another name");
    // Who speaks no TLS gets no answer, and costs nobody else theirs.
    let mut plain = TcpStream::connect(server.address).unwrap();
    plain.write_all(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    plain.set_read_timeout(Some(PATIENCE)).unwrap();
    // An alert, or a reset.
    plain.read_to_end(&mut answer).unwrap_or_default();
    assert!(!answer.starts_with(b"HTTP"));
    assert!(server.client().ask("/healthz").is_ok());
}

#[test]
fn browsers_are_told_to_stay_with_tls_under_the_venues_name() {
    let site = Site { public_url: Some("https://localhost".to_owned()), ..Site::default() };
    let server = Server::start(Limits::STANDARD, site);
    let answer = server.client().ask("/healthz").unwrap();
    assert!(answer.contains("strict-transport-security: max-age=31536000\r\n"), "{answer}");
}

/// Ends the load, also where the test fails.
struct Ending<'a>(&'a AtomicBool);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn a_certificate_is_renewed_under_load_without_a_failed_request() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(Limits::STANDARD, Site::default());
    let (ends, asked) = (AtomicBool::new(false), AtomicUsize::new(0));
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut kept = server.client();
                while !ends.load(Ordering::Relaxed) {
                    kept.ask("/healthz").unwrap();
                    server.client().ask("/healthz").unwrap();
                    asked.fetch_add(1, Ordering::Relaxed);
                }
                assert_eq!(kept.certificate(), certificate("first.pem"));
            });
        }
        let _ending = Ending(&ends);
        let more = |count| {
            let wanted = asked.load(Ordering::Relaxed) + count;
            while asked.load(Ordering::Relaxed) < wanted {
                thread::yield_now();
            }
        };
        more(8);
        let [chain, key] = ["chain.pem", "key.pem"].map(|name| dir.path().join(name));
        fs::copy(file("second.pem"), &chain).unwrap();
        fs::copy(file("first.key"), &key).unwrap();
        let refused = server.tls.reload(&chain, &key).unwrap_err().to_string();
        assert!(refused.ends_with("key.pem: the key is not that of the certificate"), "{refused}");
        assert_eq!(server.client().certificate(), certificate("first.pem"));
        fs::copy(file("second.key"), &key).unwrap();
        assert!(server.tls.reload(&chain, &key).unwrap());
        assert!(!server.tls.reload(&chain, &key).unwrap(), "the same again");
        assert_eq!(server.client().certificate(), certificate("second.pem"));
        // 2120, and a second.
        assert_eq!(server.tls.ends().unwrap().get(), 4_733_510_401_000);
        more(8);
    });
}

#[test]
fn half_open_handshakes_cost_others_nothing_and_end() {
    const HALF_OPEN: usize = 200;
    let limits = Limits {
        handshake_wait: Duration::from_millis(500),
        connections_max: HALF_OPEN / 2,
        ..Limits::STANDARD
    };
    let server = Server::start(limits, Site::default());
    // The first bytes of a handshake, of more than they announce. Twice as many as there are slots.
    let begin = || {
        let mut stream = TcpStream::connect(server.address).unwrap();
        stream.write_all(&[22, 3, 1, 2, 0, 1, 0]).unwrap();
        stream
    };
    let half_open: Vec<TcpStream> = (0..HALF_OPEN).map(|_| begin()).collect();
    // While those that gave way are closed, some are turned away.
    let answered = || server.client_of(&version::TLS13, "localhost")?.ask("/healthz");
    while let Err(error) = answered() {
        assert!(matches!(error.kind(), ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset));
    }
    for mut stream in half_open {
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut rest = Vec::new();
        match stream.read_to_end(&mut rest) {
            Ok(_) => {}
            Err(error) => assert_eq!(error.kind(), ErrorKind::ConnectionReset),
        }
    }
    assert!(server.client().ask("/healthz").is_ok());
    assert!(server.door.shared().site.secure());
}

/// Sends requests on one HTTP/2 connection, all but the first at once; their statuses.
async fn side_by_side(address: SocketAddr, asked: Vec<Request<Empty<Bytes>>>) -> Vec<u16> {
    let mut config = trusting(&version::TLS13);
    config.alpn_protocols = vec![b"h2".to_vec()];
    let socket = tokio::net::TcpStream::connect(address).await.unwrap();
    let name = ServerName::try_from("localhost").unwrap();
    let stream = TlsConnector::from(Arc::new(config)).connect(name, socket).await.unwrap();
    let io = TokioIo::new(stream);
    let (sender, connection) = http2::handshake(TokioExecutor::new(), io).await.unwrap();
    let connection = tokio::spawn(connection);
    let ask = |request| {
        let mut sender = sender.clone();
        tokio::spawn(async move { sender.send_request(request).await.unwrap().status().as_u16() })
    };
    let (mut statuses, mut asked) = (Vec::new(), asked.into_iter());
    // With the first answer the client knows how many it may send at once.
    statuses.push(ask(asked.next().unwrap()).await.unwrap());
    for answer in asked.map(ask).collect::<Vec<_>>() {
        statuses.push(answer.await.unwrap());
    }
    connection.abort();
    statuses
}

#[test]
fn requests_of_http_2_are_answered_side_by_side_and_name_one_host() {
    let server = Server::start(Limits::STANDARD, Site::default());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let request = |path: &str, host: Option<&str>| {
        let request = Request::get(format!("https://localhost{path}"));
        let request = host.into_iter().fold(request, |request, host| request.header("host", host));
        request.body(Empty::new()).unwrap()
    };
    let mut asked: Vec<_> = (0..100).map(|_| request("/healthz", None)).collect();
    asked.push(request("/healthz", Some("localhost")));
    asked.push(request("/healthz", Some("elsewhere.example")));
    asked.push(request("/api/v1/markets", None));
    let statuses = runtime.block_on(side_by_side(server.address, asked));
    assert!(statuses[..101].iter().all(|status| *status == 200), "{statuses:?}");
    // Two names, of which a proxy might have meant the other; and a venue that is not open.
    assert_eq!(statuses[101..], [400, 503]);
}

/// A client that answers pings, but takes nothing of what it asked for, holds its connection and
/// the answer no longer than one of HTTP/1.1.
#[test]
fn a_client_of_http_2_that_takes_nothing_loses_its_connection() {
    let limits = Limits { write_wait: Duration::from_millis(300), ..Limits::STANDARD };
    let server = Server::start(limits, Site::default());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let ended = runtime.block_on(async {
        let mut config = trusting(&version::TLS13);
        config.alpn_protocols = vec![b"h2".to_vec()];
        let socket = tokio::net::TcpStream::connect(server.address).await.unwrap();
        let name = ServerName::try_from("localhost").unwrap();
        let stream = TlsConnector::from(Arc::new(config)).connect(name, socket).await.unwrap();
        let mut builder = http2::Builder::new(TokioExecutor::new());
        let client = builder.initial_stream_window_size(0).handshake(TokioIo::new(stream));
        let (mut sender, connection) = client.await.unwrap();
        let connection = tokio::spawn(connection);
        let request = Request::get("https://localhost/healthz").body(Empty::<Bytes>::new());
        let answer = sender.send_request(request.unwrap()).await.unwrap();
        assert_eq!(answer.status().as_u16(), 200);
        let ended = tokio::time::timeout(PATIENCE, connection).await;
        drop(answer);
        ended.is_ok()
    });
    assert!(ended, "it is still there");
}

#[test]
fn files_that_are_no_certificate_and_key_are_refused_by_name() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    fs::write(path("empty.pem"), "").unwrap();
    for (chain, key, says) in [
        (file("missing.pem"), file("first.key"), "missing.pem"),
        (path("empty.pem"), file("first.key"), "empty.pem: there is no certificate"),
        (file("first.pem"), path("empty.pem"), "empty.pem"),
        (file("first.pem"), file("second.key"), "TLS_PAIR"),
    ] {
        let error = Tls::open(&chain, &key).unwrap_err().to_string();
        assert!(error.starts_with("TLS_") && error.contains(says), "{error}");
    }
}
