//! One busy book and many listeners; the reference writes the same frames and does nothing else.

use std::net::SocketAddr;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use parking_lot::Mutex;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use super::load::histogram;
use super::pipelined::{alone, frame, masked, open};
use super::server::Server;
use super::target::Exchange;

const LISTENERS: [usize; 4] = [1, 100, 1000, 4000];
/// Listeners of one user: there are limits.
const LISTENERS_PER_USER: usize = 30;
/// Messages a second of the book, of which the listeners get each.
const RATES: [u64; 5] = [500, 1500, 3000, 6000, 20_000];
/// Makes this binary run as the reference.
const REFERENCE: &str = "OPENOUTCRY_BENCH_FANOUT";
/// The reference's messages are about as long as ours.
const TEXT_BYTES: usize = 230;
/// Messages of the reference that wait for a listener at a time.
const WAITING: usize = 128;

/// Serves frames until killed, if this process is to be the reference.
pub fn serve_if_asked() -> bool {
    if std::env::var_os(REFERENCE).is_none() {
        return false;
    }
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    runtime.expect("a runtime").block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        println!("listening on http://{}", listener.local_addr().expect("an address"));
        loop {
            let (mut stream, _) = listener.accept().await.expect("a connection");
            tokio::spawn(async move {
                let text = tungstenite::Message::text("x".repeat(TEXT_BYTES));
                let memory = std::io::Cursor::new(Vec::new());
                let role = tungstenite::protocol::Role::Server;
                let mut socket = tungstenite::WebSocket::from_raw_socket(memory, role, None);
                loop {
                    for _ in 0..WAITING {
                        socket.write(text.clone()).expect("memory");
                    }
                    socket.flush().expect("memory");
                    let bytes = std::mem::take(socket.get_mut().get_mut());
                    socket.get_mut().set_position(0);
                    if stream.write_all(&bytes).await.is_err() {
                        return;
                    }
                }
            });
        }
    });
    true
}

/// Prints what each number of listeners gets.
pub fn run(duration: Duration) {
    println!(
        "{:<10} {:>9} {:>10} {:>12} {:>10} {:>10} {:>8}",
        "server", "listeners", "sent/s", "received/s", "p50 us", "p99 us", "missed"
    );
    for listeners in LISTENERS {
        {
            let reference = Server::start({
                let mut command = Command::new(std::env::current_exe().expect("this binary"));
                command.env(REFERENCE, "1");
                command
            });
            let received = reference_run(reference.address(), listeners, duration);
            println!("{:<10} {:>9} {:>10} {:>12.0}", "bare", listeners, "", received);
        }
        let users = listeners.div_ceil(LISTENERS_PER_USER).max(2);
        for rate in RATES {
            let exchange = Exchange::open(users);
            let run = exchange_run(&exchange, listeners, rate, duration);
            println!(
                "{:<10} {:>9} {:>10.0} {:>12.0} {:>10} {:>10} {:>8}",
                "exchange",
                listeners,
                run.sent,
                run.received,
                run.latency.value_at_quantile(0.5),
                run.latency.value_at_quantile(0.99),
                run.missed,
            );
            if run.missed > 0 || run.sent < rate as f64 * 0.8 {
                break;
            }
        }
    }
}

fn reference_run(address: SocketAddr, listeners: usize, duration: Duration) -> f64 {
    let (received, stop) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    runtime.expect("a runtime").block_on(async {
        for _ in 0..listeners {
            let mut stream = TcpStream::connect(address).await.expect("a connection");
            let received = Arc::clone(&received);
            tokio::spawn(async move {
                let mut bytes = Vec::with_capacity(64 * 1024);
                while stream.read_buf(&mut bytes).await.is_ok_and(|count| count > 0) {
                    let mut done = 0;
                    while let Some((head, length)) = frame(&bytes[done..]) {
                        done += head + length;
                        received.fetch_add(1, Ordering::Relaxed);
                    }
                    bytes.drain(..done);
                }
            });
        }
        let before = received.load(Ordering::Relaxed);
        tokio::time::sleep(duration).await;
        stop.store(true, Ordering::Relaxed);
        (received.load(Ordering::Relaxed) - before) as f64 / duration.as_secs_f64()
    })
}

/// What a run measured.
struct Run {
    sent: f64,
    received: f64,
    /// From the answer to the placement to its message.
    latency: Histogram<u64>,
    /// Messages that were left out.
    missed: u64,
}

/// When each record was answered, by its sequence.
type Answered = Arc<Mutex<rustc_hash::FxHashMap<u64, Instant>>>;

#[allow(clippy::too_many_lines, reason = "a run from its beginning to its end")]
fn exchange_run(exchange: &Exchange, listeners: usize, rate: u64, duration: Duration) -> Run {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let address = exchange.server.address();
    runtime.expect("a runtime").block_on(async {
        let received = Arc::new(AtomicU64::new(0));
        let missed = Arc::new(AtomicU64::new(0));
        let came: Arc<Mutex<Vec<(u64, Instant)>>> = Arc::default();
        let answered: Answered = Arc::default();
        let (stop, stopped) = watch::channel(false);
        let subscribe =
            format!(r#"{{"op":"subscribe","id":"s","channels":["book:{}"]}}"#, exchange.market);
        for number in 0..listeners {
            let key = &exchange.keys[number / LISTENERS_PER_USER];
            let mut stream = open(address, key).await;
            stream.write_all(&masked(subscribe.as_bytes())).await.expect("sending");
            let (received, missed, came) =
                (Arc::clone(&received), Arc::clone(&missed), Arc::clone(&came));
            // One in so many notes when what came.
            let notes = number.is_multiple_of(97);
            tokio::spawn(async move {
                let mut bytes = Vec::with_capacity(16 * 1024);
                while stream.read_buf(&mut bytes).await.is_ok_and(|count| count > 0) {
                    let (now, mut done) = (Instant::now(), 0);
                    while let Some((head, length)) = frame(&bytes[done..]) {
                        let text = &bytes[done + head..done + head + length];
                        done += head + length;
                        if text.starts_with(b"{\"channel\"") {
                            received.fetch_add(1, Ordering::Relaxed);
                            if notes && let Some(sequence) = number_after(text, b"\"sequence\":") {
                                came.lock().push((sequence, now));
                            }
                            if notes && contains(text, b"\"conflated\":true") {
                                missed.fetch_add(1, Ordering::Relaxed);
                            }
                        } else if contains(text, b"\"code\"") {
                            missed.fetch_add(1, Ordering::Relaxed);
                        }
                    }
                    bytes.drain(..done);
                }
            });
        }
        tokio::time::sleep(Duration::from_millis(300)).await;
        let before = received.load(Ordering::Relaxed);
        let key = exchange.keys.last().expect("a key").clone();
        let orders = Arc::new(alone(exchange));
        let began = Instant::now();
        let (noting, mut until) = (Arc::clone(&answered), stopped.clone());
        let sending = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.expect("a runtime").block_on(async {
                tokio::select! {
                    _ = until.wait_for(|stop| *stop) => {}
                    () = pace(address, &key, &orders, rate, &noting) => {}
                }
            });
        });
        tokio::time::sleep(duration).await;
        let elapsed = began.elapsed().as_secs_f64();
        let count = received.load(Ordering::Relaxed) - before;
        stop.send(true).expect("a driver");
        sending.join().expect("a driver");
        tokio::time::sleep(Duration::from_millis(200)).await;
        let answered = answered.lock();
        let mut latency = histogram();
        for (sequence, at) in came.lock().iter() {
            if let Some(answered) = answered.get(sequence) {
                let after = at.saturating_duration_since(*answered);
                latency.saturating_record(u64::try_from(after.as_micros()).unwrap_or(u64::MAX));
            }
        }
        let (sent, received) = (answered.len() as f64 / elapsed, count as f64 / elapsed);
        Run { sent, received, latency, missed: missed.load(Ordering::Relaxed) }
    })
}

/// Sends orders at a rate, and notes when each was answered.
async fn pace(address: SocketAddr, key: &str, orders: &[Vec<u8>], rate: u64, noting: &Answered) {
    let stream = open(address, key).await;
    let (mut reads, mut writes) = stream.into_split();
    let began = Instant::now();
    let sends = async {
        let (mut sent, mut next) = (0, orders.iter().cycle());
        let mut out = Vec::new();
        loop {
            let due = u64::try_from(began.elapsed().as_micros()).unwrap_or(0) * rate / 1_000_000;
            out.clear();
            while sent < due {
                out.extend_from_slice(next.next().expect("an order"));
                sent += 1;
            }
            writes.write_all(&out).await.expect("sending");
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    let hears = async {
        let mut bytes = Vec::with_capacity(64 * 1024);
        while reads.read_buf(&mut bytes).await.is_ok_and(|count| count > 0) {
            let (now, mut done) = (Instant::now(), 0);
            while let Some((head, length)) = frame(&bytes[done..]) {
                let text = &bytes[done + head..done + head + length];
                done += head + length;
                if text.starts_with(b"{\"id\"")
                    && let Some(sequence) = number_after(text, b"\"sequence\":")
                {
                    noting.lock().insert(sequence, now);
                }
            }
            bytes.drain(..done);
        }
    };
    tokio::join!(sends, hears);
}

fn number_after(text: &[u8], name: &[u8]) -> Option<u64> {
    let at = text.windows(name.len()).position(|part| part == name)? + name.len();
    let digits = text[at..].iter().take_while(|byte| byte.is_ascii_digit());
    Some(digits.fold(0, |sum, byte| sum * 10 + u64::from(byte - b'0')))
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}
