//! `openoutcry serve`: opens the data folder, replays the journal, and runs the exchange until
//! SIGTERM or SIGINT.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::builder::{BoolishValueParser, FalseyValueParser};
use clap::{Args, ValueEnum};
use tokio::net::TcpListener;

use tokio::sync::oneshot;
use tokio::time::sleep;

use super::Failure;
use super::archive_folder::{open_archive, outside};
use super::bootstrap::bootstrap;
use super::data_folder::{self, Leave};
use super::demo::pictures::Pictures;
use super::demo::{self, banner, history, living, stage};
use super::logging::{self, LogFormat};
use super::operator_key;
use super::output::{self, say};
use super::signals::Signals;
use super::site::SiteArgs;
use super::venue_clock;
use engine::Engine;
use engine::archiver::ArchiveStatus;
use engine::clock;
use engine::history::HistoryStore;
use engine::meter::Meter;
use engine::start::{self, Options, Running, Snapshots, Storage};
use http::keys::ApiKey;
use http::rates::{Daily, Limit, Rates};
use http::site::Site;
use http::venue::Venue;
use journal::Journal;
use journal::directory::LogJournal;
use journal::snapshot::SnapshotFolder;
use views::ReadModel;

/// File descriptors not available to connections: those of the journal, the runtime and connections
/// being rejected; besides [`DESCRIPTORS_PER_WORKER`].
const DESCRIPTORS_RESERVED: u64 = 128;
/// File descriptors that each worker thread holds besides its connections.
const DESCRIPTORS_PER_WORKER: u64 = 4;
/// Threads that a server has at its busiest, besides two for each worker: those of the table in
/// ARCHITECTURE.md and of sled, and a few to spare.
const THREADS_BESIDES_WORKERS: usize = 24;
/// How long an address in use is tried again.
const BIND_WAIT: Duration = Duration::from_secs(2);
/// Pause between two tries.
const BIND_PAUSE: Duration = Duration::from_millis(50);
/// Longest time that a connection without a request is kept, in seconds.
const KEEP_ALIVE_SECONDS_MAX: u64 = 3600;
/// Records between two snapshots: a start replays this many in a fraction of a second, and a busy
/// venue takes a while to write them.
const SNAPSHOT_EVERY: u64 = 500_000;

const DETAILS: &str = "\
The folder holds the journal, which is the whole state: copy it to move the venue, keep it to keep
the venue, with the server stopped. One process at a time can use it. Its subfolders `snapshots` and
`history` are made from the journal and may be deleted while no server runs.

With --archive the server also writes every block, compressed and verified, to a second folder,
about a second after the block is durable; use another disk. Trading never waits for the archive: if
that disk is full or slow, the archive falls behind, the server logs it, and the archive catches up
later. A start continues the archive where it ends, and refuses one of another journal.
`openoutcry-replay import` makes a journal from an archive; `openoutcry-replay salvage` combines it
with what can be read of a damaged folder.

A start whose clock is more than a day ahead of the last record, on a boot of the machine that the
folder does not know, is refused with CLOCK_AHEAD: --accept-clock says that the clock is right.

Environment:
  OPENOUTCRY_OPERATOR_KEY  the operator's API key, 32 to 128 visible ASCII characters, best drawn at
                           random; a new value replaces the old key. Without it the first start
                           makes a random key and prints it once, as `operator key: ...`
  OPENOUTCRY_LOG           log filter: error, warn, info (default), debug, trace, or per module
A start refuses other variables that begin with OPENOUTCRY_.

SIGTERM, SIGINT and SIGQUIT stop the server in order: it answers requests in progress, makes the
journal durable, and exits with code 0. So does SIGHUP where the server has a terminal; elsewhere it
is logged, and the server goes on. Lines of the log or of stdout that nobody takes are lost, and
nothing else changes.

Exit codes: 0 stopped in order; 1 failure, and the same start may succeed once its cause is gone;
2 wrong usage; 3 the journal is refused, because it is damaged, contradicts itself or lacks a part:
do not start the server again before the folder is copied.";

/// The arguments of `serve`.
#[derive(Debug, Clone, Args)]
#[command(after_help = DETAILS)]
#[allow(clippy::struct_excessive_bools, reason = "flags of a command line")]
pub(crate) struct ServeArgs {
    /// Folder of the journal [default: ./data]
    #[arg(long, value_name = "DIR", env = "OPENOUTCRY_DATA")]
    pub(super) data: Option<PathBuf>,
    /// Begin a new venue if the folder holds none. Without it only --demo, and a start without
    /// --data where there is no ./data, begin one
    #[arg(long, env = "OPENOUTCRY_INIT", value_parser = BoolishValueParser::new())]
    pub(super) init: bool,
    /// Address and port to listen on; port 0 takes a free one
    #[arg(
        long,
        value_name = "ADDR:PORT",
        env = "OPENOUTCRY_LISTEN",
        default_value = "127.0.0.1:8080",
        value_parser = address
    )]
    listen: SocketAddr,
    /// Load a catalogue, people with public keys, and sixty days of trading; loopback only
    #[arg(long)]
    pub(super) demo: bool,
    /// Whether the demo's people go on trading by themselves
    #[arg(long, value_name = "SWITCH", value_enum, default_value = "on", requires = "demo")]
    demo_flow: Switch,
    #[command(flatten)]
    site: SiteArgs,
    /// Folder of an archive of the journal; created if missing
    #[arg(long, value_name = "DIR", env = "OPENOUTCRY_ARCHIVE")]
    archive: Option<PathBuf>,
    /// Commands between two snapshots, which make starts fast; 0 for none
    #[arg(
        long,
        value_name = "N",
        env = "OPENOUTCRY_SNAPSHOT_EVERY",
        default_value_t = SNAPSHOT_EVERY
    )]
    snapshot_every: u64,
    /// Believe the system's clock at this start, however far it is ahead of the last record
    #[arg(long, env = "OPENOUTCRY_ACCEPT_CLOCK", value_parser = FalseyValueParser::new())]
    accept_clock: bool,
    #[command(flatten)]
    rates: RateArgs,
    /// Seconds after which a connection without a request is closed; more than those of the pools
    /// in front of the server, which keep connections for 60 as a rule
    #[arg(
        long,
        value_name = "SECONDS",
        env = "OPENOUTCRY_KEEP_ALIVE",
        default_value_t = http::Limits::STANDARD.head_wait.as_secs(),
        value_parser = clap::value_parser!(u64).range(1..=KEEP_ALIVE_SECONDS_MAX)
    )]
    keep_alive: u64,
    /// Format of log lines
    #[arg(long, value_enum, default_value = "text")]
    log_format: LogFormat,
}

/// Something that is on or off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Switch {
    /// It happens
    On,
    /// It does not
    Off,
}

impl ServeArgs {
    /// The data directory.
    pub(crate) fn folder(&self) -> &Path {
        self.data.as_deref().unwrap_or(Path::new(data_folder::DEFAULT))
    }
}

/// How much a user may ask.
#[derive(Debug, Clone, Args)]
struct RateArgs {
    /// Reads per second of each user and, after a colon, the burst (default: two seconds' worth); 0
    /// for no limit. An operator's key has none
    #[arg(
        long = "rate-reads",
        value_name = "N[:BURST]",
        env = "OPENOUTCRY_RATE_READS",
        default_value = "2000"
    )]
    reads: Limit,
    /// The same for writes other than cancels
    #[arg(
        long = "rate-writes",
        value_name = "N[:BURST]",
        env = "OPENOUTCRY_RATE_WRITES",
        default_value = "2000"
    )]
    writes: Limit,
    /// The same for cancels
    #[arg(
        long = "rate-cancels",
        value_name = "N[:BURST]",
        env = "OPENOUTCRY_RATE_CANCELS",
        default_value = "4000"
    )]
    cancels: Limit,
    /// Records a day of each user: commands, each of which stays in the journal for ever; 0 for no
    /// limit. Cancels have an allowance of the same size of their own. Counted anew after a start
    #[arg(
        long = "daily-records",
        value_name = "N",
        env = "OPENOUTCRY_DAILY_RECORDS",
        default_value = "10000000"
    )]
    records: Daily,
}

impl RateArgs {
    const fn rates(&self) -> Rates {
        let RateArgs { reads, writes, cancels, records } = *self;
        Rates { reads, writes, cancels, records }
    }
}

/// Runs the exchange until a signal ends it.
///
/// # Errors
/// [`Failure`], with what to do about it.
pub(crate) fn run(args: &ServeArgs) -> Result<(), Failure> {
    let failed = |error: std::io::Error| Failure::Failed(error.to_string());
    let workers = http::server::workers_count();
    os::check_threads(THREADS_BESIDES_WORKERS.saturating_add(workers.saturating_mul(2)))
        .map_err(failed)?;
    output::start().map_err(failed)?;
    let operator_key = operator_key::from_environment()?;
    if args.demo {
        demo::loopback_only(args.listen).map_err(|error| Failure::Usage(error.to_string()))?;
    }
    if let Some(archive) = &args.archive {
        outside(args.folder(), archive)?;
    }
    venue_clock::possible()?;
    let leave = data_folder::leave(args)?;
    logging::start(args.log_format)?;
    // This runtime only accepts connections and waits for signals; workers answer requests.
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .map_err(|error| Failure::Failed(format!("no runtime: {error}")))?;
    let listener = runtime.block_on(listen(args.listen))?;
    let rates = args.rates.rates();
    let head_wait = Duration::from_secs(args.keep_alive);
    let limits = http::Limits { head_wait, rates, ..limits()? };
    let site = args.site.site(args.demo)?;
    let (running, served) =
        runtime.block_on(serve(args, leave, operator_key.as_deref(), listener, limits, site));
    // An abandoned replay may still be running; it has changed nothing.
    runtime.shutdown_background();
    let stopped = running.map_or(Ok(()), stop);
    served.and(stopped)
}

/// Stops the engine and logs the final state.
fn stop(running: Running) -> Result<(), Failure> {
    let stopped = running
        .stop()
        .map_err(|broken| Failure::Journal(format!("the state contradicts itself: {broken}")))?;
    if let (Some(digest), Some(results)) = (stopped.digest, stopped.results) {
        let sequence = stopped.sequence;
        tracing::info!(%sequence, state_digest = %digest, %results, "stopped");
    } else {
        tracing::error!(sequence = %stopped.sequence, "stopped without a state to vouch for");
    }
    if let Some(reason) = stopped.halted {
        return Err(failure(reason.is_contradiction(), reason.to_string()));
    }
    match stopped.archive.filter(|archive| archive.behind > 0) {
        Some(ArchiveStatus { archived, behind, .. }) => Err(Failure::Failed(format!(
            "the journal is complete, but its archive ends with record {archived}, {behind} \
             records before it; the next start goes on there"
        ))),
        None => Ok(()),
    }
}

/// The failure that says whether another start would be refused too.
const fn failure(journal_refused: bool, message: String) -> Failure {
    if journal_refused { Failure::Journal(message) } else { Failure::Failed(message) }
}

/// Opens the journal and replays it.
fn open(
    args: &ServeArgs,
    leave: Leave,
    meter: Arc<Meter>,
    address: SocketAddr,
) -> Result<Running, Failure> {
    let data = args.folder();
    let named = |error: String| format!("{}: {error}", data.display());
    let failed = |error: String| Failure::Failed(named(error));
    let began = Instant::now();
    if leave == Leave::BeginUnasked {
        say(&format!("a new venue begins in {}", data.display()));
    }
    let opened = match leave {
        Leave::Begin | Leave::BeginUnasked => LogJournal::open(data),
        Leave::Open => LogJournal::open_existing(data),
    };
    let (mut journal, recovered) = opened.map_err(|error| data_folder::refused(data, &error))?;
    let head = recovered.head;
    tracing::info!(
        data = %data.display(), sequence = %head.sequence, chain = %head.hash,
        "journal opened"
    );
    if let Some(first) = recovered.cut {
        tracing::warn!(
            %first, "what was never acknowledged was removed from the journal's end"
        );
    }
    for repair in recovered.repairs.take() {
        tracing::warn!(data = %data.display(), "{repair}; check this disk");
    }
    if args.demo {
        let pictures = Pictures::at(&format!("http://{address}"));
        let past = history::write(&mut journal, clock::now(), pictures);
        if let Some(sequence) = past.map_err(|error| failed(error.to_string()))? {
            tracing::info!(%sequence, "the demo's past is written");
        }
    }
    let last = journal.head().time;
    let (clock, stamp) = venue_clock::open(data, last, args.accept_clock || args.demo)?;
    let archive = args.archive.as_deref().map(|folder| open_archive(folder, &journal.reader()));
    let archive = archive.transpose()?;
    for folder in [Some(data), args.archive.as_deref()].into_iter().flatten() {
        warn_of_exposed(folder);
    }
    let history = HistoryStore::open(data).map_err(|error| failed(error.to_string()))?;
    let storage = Some(Storage { history, snapshots: snapshots(args) });
    let running =
        start::start(journal, Options { storage, archive, meter, clock: Some(clock), stamp })
            .map_err(|error| failure(error.is_damage(), named(error.to_string())))?;
    let sequence = running.engine().read().watermark();
    let replay_ms = began.elapsed().as_millis();
    tracing::info!(%sequence, replay_ms, "journal replayed");
    Ok(running)
}

/// Warns of files made by other hands, or by a version that heeded the caller's mask.
fn warn_of_exposed(folder: &Path) {
    let name = folder.display();
    match os::exposed(folder) {
        Ok(exposed) => {
            if let Some(first) = exposed.first() {
                tracing::warn!(
                    files = exposed.len(), first = %first.display(),
                    "other users of this machine can read or change the venue: \
                     chmod -R go-rwx {name}"
                );
            }
        }
        Err(error) => tracing::warn!(%error, "nobody can say who else can read {name}"),
    }
}

/// Opens the folder of snapshots. They only make starts faster, so a failure is logged and ignored.
fn snapshots(args: &ServeArgs) -> Option<Snapshots> {
    let every = NonZeroU64::new(args.snapshot_every);
    match SnapshotFolder::open(args.folder()) {
        Ok(folder) => Some(Snapshots { folder, every }),
        Err(error) => {
            tracing::warn!(%error, "the folder of snapshots cannot be used; starting without");
            None
        }
    }
}

/// Binds the address before anything is opened or created, so that a port in use fails early. A
/// server that was just killed may still hold the address for a moment.
async fn listen(address: SocketAddr) -> Result<TcpListener, Failure> {
    let began = Instant::now();
    loop {
        match TcpListener::bind(address).await {
            Ok(listener) => return Ok(listener),
            Err(error) if error.kind() == ErrorKind::AddrInUse && began.elapsed() < BIND_WAIT => {
                sleep(BIND_PAUSE).await;
            }
            Err(error) => {
                return Err(Failure::Failed(format!("cannot listen on {address}: {error}")));
            }
        }
    }
}

/// The limits of the HTTP server, with connections capped by the file descriptor limit, so that the
/// journal never runs out of descriptors.
fn limits() -> Result<http::Limits, Failure> {
    let wanted = u64::try_from(http::Limits::STANDARD.connections_max).unwrap_or(u64::MAX);
    let workers = u64::try_from(http::server::workers_count()).unwrap_or(u64::MAX);
    let reserved =
        DESCRIPTORS_RESERVED.saturating_add(workers.saturating_mul(DESCRIPTORS_PER_WORKER));
    let given = rlimit::increase_nofile_limit(wanted.saturating_add(reserved))
        .map_err(|error| Failure::Failed(format!("no limit of file descriptors: {error}")))?;
    let connections = given.saturating_sub(reserved).min(wanted);
    if connections == 0 {
        let needed = reserved.saturating_add(1);
        return Err(Failure::Failed(format!(
            "the system gives {given} file descriptors, {needed} are needed; raise `ulimit -n`"
        )));
    }
    if connections < wanted {
        tracing::warn!(connections, "fewer connections than usual: raise `ulimit -n`");
    }
    let connections_max = usize::try_from(connections).unwrap_or(usize::MAX);
    Ok(http::Limits { connections_max, ..http::Limits::STANDARD })
}

/// Serves until a signal: only health checks while the journal is replayed, then everything.
/// Returns the engine if it was started.
async fn serve(
    args: &ServeArgs,
    leave: Leave,
    operator_key: Option<&str>,
    listener: TcpListener,
    limits: http::Limits,
    site: Site,
) -> (Option<Running>, Result<(), Failure>) {
    let mut running = None;
    let served = async {
        let mut signals = Signals::listen()?;
        let address = listener
            .local_addr()
            .map_err(|error| Failure::Failed(format!("no address to listen on: {error}")))?;
        let meter = Arc::new(Meter::default());
        meter.gauges.add("log_lines_lost", "Lines of the log that nobody took", || {
            i64::try_from(output::log_lines_lost()).unwrap_or(i64::MAX)
        });
        let venue = Venue::opening(Arc::clone(&meter));
        let (stop, stopped) = oneshot::channel::<()>();
        let mut serving =
            tokio::spawn(http::serve_site(listener, venue.clone(), limits, site, async move {
                // A dropped sender also stops the server.
                drop(stopped.await);
            }));
        let connections_max = limits.connections_max;
        tracing::info!(%address, connections_max, "answering health checks");
        let opening_args = args.clone();
        let opening =
            tokio::task::spawn_blocking(move || open(&opening_args, leave, meter, address));
        let opened = tokio::select! {
            opened = opening => opened
                .map_err(|error| Failure::Failed(format!("the journal was not opened: {error}")))??,
            () = signals.first() => return Ok(()),
        };
        let engine = running.insert(opened).engine();
        start_serving(args, &venue, &engine, operator_key, address)?;
        let flows = args.demo && args.demo_flow == Switch::On && stage::has_a_crowd(&engine.read());
        let seed = engine.watermark().get();
        let people = flows.then(|| tokio::spawn(living::trade(address, seed)));
        let served = tokio::select! {
            () = signals.first() => {
                if let Some(people) = people {
                    people.abort();
                }
                drop(stop);
                serving.await
            }
            ended = &mut serving => ended,
        };
        let failed = |error: String| Failure::Failed(format!("serving failed: {error}"));
        served
            .map_err(|error| failed(error.to_string()))?
            .map_err(|error| failed(error.to_string()))
    };
    let served = served.await;
    (running, served)
}

/// Bootstraps the venue, opens it to requests and announces the address.
fn start_serving(
    args: &ServeArgs,
    venue: &Venue,
    engine: &Engine,
    operator_key: Option<&str>,
    address: SocketAddr,
) -> Result<(), Failure> {
    refuse_mixture(args, &engine.read())?;
    let announce = |key: &ApiKey| output::say_surely(&format!("operator key: {}", key.reveal()));
    bootstrap(engine, operator_key, announce)?;
    venue.open(engine.clone());
    say(&format!("listening on http://{address}"));
    tracing::info!(%address, "listening");
    if args.demo {
        say(&banner::banner(&engine.read(), address));
    }
    Ok(())
}

/// Refuses to mix demos and real venues, before anything is written.
fn refuse_mixture(args: &ServeArgs, model: &ReadModel) -> Result<(), Failure> {
    if args.demo {
        stage::check(model).map_err(|error| Failure::Failed(error.to_string()))?;
    }
    // A demo's journal contains public keys, even when started without `--demo`.
    if stage::is_a_demo(model) {
        return demo::loopback_only(args.listen).map_err(|e| Failure::Usage(e.to_string()));
    }
    Ok(())
}

fn address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| "must be an IP address and a port, like 127.0.0.1:8080".to_owned())
}
