//! The references: a hyper server that reads the request's body and answers fixed bytes, and the
//! same with an empty durable commit to sled before every answer.

use std::convert::Infallible;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

/// Makes this binary run as the reference; names the file with the answer.
const ANSWER_FILE: &str = "OPENOUTCRY_BENCH_ANSWER";
/// Names the folder of the commits; without it, the reference does not commit.
const COMMITS: &str = "OPENOUTCRY_BENCH_COMMITS";

/// The command that runs this binary as the reference.
pub fn command(answer: &Path, commits: Option<&Path>) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this binary"));
    command.env(ANSWER_FILE, answer);
    if let Some(folder) = commits {
        command.env(COMMITS, folder);
    }
    command
}

/// Serves until killed, if this process is to be the reference.
pub fn serve_if_asked() -> bool {
    let Some(answer) = std::env::var_os(ANSWER_FILE) else { return false };
    let answer = Bytes::from(std::fs::read(answer).expect("the answer's file"));
    let commits = std::env::var_os(COMMITS).map(|folder| committer(PathBuf::from(folder)));
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    runtime.expect("a runtime").block_on(serve(answer, commits));
    true
}

async fn serve(answer: Bytes, commits: Option<Sender<oneshot::Sender<()>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    println!("listening on http://{}", listener.local_addr().expect("an address"));
    loop {
        let (stream, _) = listener.accept().await.expect("a connection");
        stream.set_nodelay(true).expect("no delay");
        let (answer, commits) = (answer.clone(), commits.clone());
        tokio::spawn(async move {
            let service = service_fn(|request| respond(request, answer.clone(), commits.clone()));
            let connection = hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service);
            // A client that disconnects ends only its own connection.
            drop(connection.await);
        });
    }
}

async fn respond(
    request: Request<Incoming>,
    answer: Bytes,
    commits: Option<Sender<oneshot::Sender<()>>>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    drop(request.into_body().collect().await);
    if let Some(commits) = commits {
        let (done, committed) = oneshot::channel();
        commits.send(done).expect("the committer");
        committed.await.expect("a commit");
    }
    let mut response = Response::new(Full::new(answer));
    let json = hyper::header::HeaderValue::from_static("application/json");
    response.headers_mut().insert(hyper::header::CONTENT_TYPE, json);
    Ok(response)
}

/// A thread that commits for all waiting requests at once (group commit).
fn committer(folder: PathBuf) -> Sender<oneshot::Sender<()>> {
    let (sender, waiting): (Sender<oneshot::Sender<()>>, Receiver<_>) = channel();
    std::thread::spawn(move || {
        let mut store = Store::open(&folder);
        while let Ok(first) = waiting.recv() {
            let group: Vec<_> = std::iter::once(first).chain(waiting.try_iter()).collect();
            store.commit();
            for done in group {
                // A client may have disconnected.
                done.send(()).unwrap_or_default();
            }
        }
    });
    sender
}

/// A sled database with keys and empty values.
struct Store {
    db: sled::Db,
    file: File,
    next: u64,
}

impl Store {
    fn open(folder: &Path) -> Store {
        let db = sled::Config::new().path(folder).flush_every_ms(None).open().expect("sled");
        let file = File::open(folder.join("db")).expect("sled's file");
        Store { db, file, next: 0 }
    }

    /// An empty value, made durable.
    fn commit(&mut self) {
        self.db.insert(self.next.to_be_bytes(), &[]).expect("an insert");
        self.next += 1;
        self.db.flush().expect("a flush");
        self.file.sync_data().expect("a sync");
    }
}

/// The median time of a durable commit without concurrent requests.
pub fn one_commit() -> Duration {
    const COMMITS: usize = 301;
    let folder = super::target::folder();
    let mut store = Store::open(folder.path());
    let mut took: Vec<Duration> = (0..COMMITS)
        .map(|_| {
            let began = Instant::now();
            store.commit();
            began.elapsed()
        })
        .collect();
    took.sort();
    took[COMMITS / 2]
}
