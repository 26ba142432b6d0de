//! `openoutcry serve`: opens the data folder, replays the journal, and runs the exchange until
//! SIGTERM or SIGINT.

use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use super::Failure;
use super::archive_folder::{open_archive, outside};
use super::bootstrap::{self, bootstrap};
use super::config_file::Settings;
use super::data_folder;
use super::demo::pictures::Pictures;
use super::demo::{banner, history, living, stage};
use super::entrances::{self, Urls};
use super::logging;
use super::operator_key;
use super::output::{self, say};
use super::reload::Reload;
use super::settings::{ServeArgs, Switch};
use super::signals::Signals;
use super::venue_clock;
use engine::Engine;
use engine::archiver::ArchiveStatus;
use engine::clock;
use engine::history::HistoryStore;
use engine::meter::Meter;
use engine::shelf::Shelf;
use engine::start::{self, Options, Running, Snapshots, Storage};
use http::Entrance;
use http::door::Door;
use http::keys::ApiKey;
use http::site::Site;
use http::spans::Spans;
use http::tls::Tls;
use http::venue::Venue;
use journal::Journal;
use journal::directory::LogJournal;
use journal::reader::JournalReader;
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

/// Runs the exchange until a signal ends it.
///
/// # Errors
/// [`Failure`], with what to do about it.
pub(crate) fn run(whole: clap::Command, given: &ServeArgs) -> Result<(), Failure> {
    let settings = Settings::load(whole.clone(), &["serve"], given)?;
    let (args, reload) = (&settings.args, Reload::new(whole, &settings));
    let failed = |error: std::io::Error| Failure::Failed(error.to_string());
    os::check_threads(threads_wanted()).map_err(failed)?;
    output::start().map_err(failed)?;
    let operator_key = operator_key::wanted(args.operator_key_file.as_deref())?;
    if args.demo {
        args.loopback_only()?;
    }
    if let Some(archive) = &args.archive {
        outside(args.folder(), archive)?;
    }
    venue_clock::possible()?;
    let begins = data_folder::may_begin(args)?;
    logging::start(args.log_format, &args.log)?;
    // This runtime only accepts connections and waits for signals; workers answer requests.
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .map_err(|error| Failure::Failed(format!("no runtime: {error}")))?;
    let tls = entrances::tls(args)?;
    let apart = args.admin_listen.is_some();
    #[cfg(feature = "otel")]
    let spans = args.otlp.start()?;
    #[cfg(not(feature = "otel"))]
    let spans = None;
    let site = Site { tls: tls.is_some(), apart, spans, ..args.site.site(args.demo)? };
    let entrances = runtime.block_on(entrances::open(args, tls))?;
    let rates = args.rates.rates();
    let head_wait = Duration::from_secs(args.keep_alive);
    let limits = http::Limits { head_wait, rates, ..limits()? };
    let start = Start { args, begins, operator_key: operator_key.as_deref() };
    let (running, served) = runtime.block_on(serve(&start, reload, entrances, limits, site));
    // An abandoned replay may still be running; it has changed nothing.
    runtime.shutdown_background();
    let stopped = running.map_or(Ok(()), stop);
    served.and(stopped)
}

/// Stops the engine and logs the final state.
pub(crate) fn stop(running: Running) -> Result<(), Failure> {
    let stopped = running
        .stop()
        .map_err(|broken| Failure::Journal(format!("the state contradicts itself: {broken}")))?;
    if let (Some(digest), Some(results)) = (stopped.digest, stopped.results) {
        let sequence = stopped.sequence.get();
        tracing::info!(sequence, state_digest = %digest, %results, "stopped");
    } else {
        tracing::error!(sequence = stopped.sequence.get(), "stopped without a state to vouch for");
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

/// Opens the journal, or begins one if it may, and replays it.
///
/// `url` is where the pictures of a demo that begins are.
pub(crate) fn open(
    args: &ServeArgs,
    begins: bool,
    meter: Arc<Meter>,
    url: &str,
) -> Result<Running, Failure> {
    let data = args.folder();
    let named = |error: String| format!("{}: {error}", data.display());
    let failed = |error: String| Failure::Failed(named(error));
    let began = Instant::now();
    let opened = if begins { LogJournal::open(data) } else { LogJournal::open_existing(data) };
    let (mut journal, recovered) = opened.map_err(|error| data_folder::refused(data, &error))?;
    let head = recovered.head;
    tracing::info!(
        data = %data.display(), sequence = head.sequence.get(), chain = %head.hash,
        "journal opened"
    );
    if let Some(first) = recovered.cut {
        tracing::warn!(
            first = first.get(),
            "what was never acknowledged was removed from the journal's end"
        );
    }
    for repair in recovered.repairs.take() {
        tracing::warn!(data = %data.display(), "{repair}; check this disk");
    }
    if args.demo {
        let past = history::write(&mut journal, clock::now(), Pictures::at(url));
        if let Some(sequence) = past.map_err(|error| failed(error.to_string()))? {
            tracing::info!(sequence = sequence.get(), "the demo's past is written");
        }
    }
    let last = journal.head().time;
    let (clock, stamp) = venue_clock::open(data, last, args.accept_clock || args.demo)?;
    let archives = archives(args, &journal.reader())?;
    for folder in [Some(data), args.archive.as_deref()].into_iter().flatten() {
        warn_of_exposed(folder);
    }
    let history = HistoryStore::open(data).map_err(|error| failed(error.to_string()))?;
    let storage = Some(Storage { history, snapshots: snapshots(args) });
    let running =
        start::start(journal, Options { storage, archives, meter, clock: Some(clock), stamp })
            .map_err(|error| failure(error.is_damage(), named(error.to_string())))?;
    let sequence = running.engine().read().watermark().get();
    let replay_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
    tracing::info!(sequence, replay_ms, "journal replayed");
    Ok(running)
}

/// Opens the archives.
fn archives(args: &ServeArgs, journal: &JournalReader) -> Result<Vec<Box<dyn Shelf>>, Failure> {
    let mut archives: Vec<Box<dyn Shelf>> = Vec::new();
    if let Some(folder) = &args.archive {
        archives.push(Box::new(open_archive(folder, journal)?));
    }
    #[cfg(feature = "s3")]
    archives.extend(args.s3.open(journal.clone())?);
    Ok(archives)
}

/// Warns of a folder of another user's, and of files that others can read.
fn warn_of_exposed(folder: &Path) {
    let name = folder.display();
    if let Some(whose) = data_folder::of_another(folder) {
        tracing::warn!("{whose}, who could not read what is written now");
    }
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

/// Threads that a server has at its busiest.
pub(crate) fn threads_wanted() -> usize {
    THREADS_BESIDES_WORKERS.saturating_add(http::server::workers_count().saturating_mul(2))
}

/// File descriptors of everything but connections.
fn descriptors_reserved() -> u64 {
    let workers = u64::try_from(http::server::workers_count()).unwrap_or(u64::MAX);
    DESCRIPTORS_RESERVED.saturating_add(workers.saturating_mul(DESCRIPTORS_PER_WORKER))
}

/// File descriptors for as many connections as there may be.
pub(crate) fn descriptors_wanted() -> u64 {
    let connections = u64::try_from(http::Limits::STANDARD.connections_max).unwrap_or(u64::MAX);
    connections.saturating_add(descriptors_reserved())
}

/// The limits of the HTTP server, with connections capped by the file descriptor limit, so that the
/// journal never runs out of descriptors.
fn limits() -> Result<http::Limits, Failure> {
    let wanted = u64::try_from(http::Limits::STANDARD.connections_max).unwrap_or(u64::MAX);
    let reserved = descriptors_reserved();
    let given = rlimit::increase_nofile_limit(descriptors_wanted())
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

/// What a start is to do.
struct Start<'a> {
    args: &'a ServeArgs,
    /// Whether a venue may begin.
    begins: bool,
    operator_key: Option<&'a str>,
}

/// Serves until a signal: only health checks while the journal is replayed, then everything.
/// Returns the engine if it was started.
async fn serve(
    start: &Start<'_>,
    mut reload: Reload,
    entrances: Vec<Entrance>,
    limits: http::Limits,
    site: Site,
) -> (Option<Running>, Result<(), Failure>) {
    let mut running = None;
    let failed = |error: String| Failure::Failed(format!("serving failed: {error}"));
    let served = async {
        let mut signals = Signals::listen()?;
        let urls = Urls::of(&entrances)?;
        let meter = Arc::new(Meter::default());
        add_gauges(&meter, start.args.folder().to_owned(), site.spans.clone());
        let venue = Venue::opening(Arc::clone(&meter));
        let door = Door::of_site(venue.clone(), limits, site).map(Arc::new);
        let door = door.map_err(|error| failed(error.to_string()))?;
        let tls = entrances.iter().find_map(|entrance| entrance.tls.clone());
        if let Some(tls) = tls.clone() {
            let help = "Seconds of 1970 at which the certificate of TLS is over";
            meter.gauges.add("tls_certificate_ends_seconds", help, move || {
                tls.ends().map_or(0, |ends| ends.get() / 1_000)
            });
        }
        let mut reloads = || reload.run(|args| take_over(args, &door, tls.as_deref()));
        let (stop, stopped) = oneshot::channel::<()>();
        let mut serving =
            tokio::spawn(http::serve_door(entrances, Arc::clone(&door), limits, async move {
                // A dropped sender also stops the server.
                drop(stopped.await);
            }));
        let connections_max = limits.connections_max;
        tracing::info!(url = %urls.public, connections_max, "answering health checks");
        let (args, begins, url) = (start.args.clone(), start.begins, urls.public.clone());
        let opening = tokio::task::spawn_blocking(move || open(&args, begins, meter, &url));
        let opened = tokio::select! {
            opened = opening => opened
                .map_err(|error| Failure::Failed(format!("the journal was not opened: {error}")))??,
            () = signals.first(&mut reloads) => return Ok(()),
        };
        let engine = running.insert(opened).engine();
        start_serving(start, &venue, &engine, &urls)?;
        // They speak no TLS.
        let flows = start.args.demo && start.args.demo_flow == Switch::On && tls.is_none();
        let flows = flows && stage::has_a_crowd(&engine.read());
        let seed = engine.watermark().get();
        let people = flows.then(|| tokio::spawn(living::trade(urls.address, seed)));
        let served = tokio::select! {
            () = signals.first(&mut reloads) => {
                if let Some(people) = people {
                    people.abort();
                }
                drop(stop);
                serving.await
            }
            ended = &mut serving => ended,
        };
        served
            .map_err(|error| failed(error.to_string()))?
            .map_err(|error| failed(error.to_string()))
    };
    let served = served.await;
    (running, served)
}

/// Has the metrics tell of what is not the engine's.
fn add_gauges(meter: &Meter, data: PathBuf, spans: Option<Spans>) {
    let gauges = &meter.gauges;
    gauges.add("log_lines_lost", "Lines of the log that nobody took", || {
        i64::try_from(output::log_lines_lost()).unwrap_or(i64::MAX)
    });
    gauges.add("disk_free_bytes", "Bytes free on the disk of the journal", move || {
        os::free_bytes(&data).map_or(-1, |free| i64::try_from(free).unwrap_or(i64::MAX))
    });
    if let Some(spans) = spans {
        gauges.add("spans_lost", "Spans of traces that no collector took", move || {
            i64::try_from(spans.lost()).unwrap_or(i64::MAX)
        });
    }
}

/// Gives a running server the settings that it takes over.
fn take_over(
    args: &ServeArgs,
    door: &Door,
    tls: Option<&Tls>,
) -> Result<Option<&'static str>, Failure> {
    let renewed = match (tls, args.tls_files()?) {
        (Some(tls), Some((chain, key))) => {
            let renewed = tls.reload(chain, key).map_err(entrances::no_tls)?;
            entrances::warn_of_end(tls);
            renewed
        }
        _ => false,
    };
    door.shared().keyring.limit(args.rates.rates());
    Ok(renewed.then_some("another certificate"))
}

/// Bootstraps the venue, opens it to requests and announces the address.
fn start_serving(
    Start { args, operator_key, .. }: &Start<'_>,
    venue: &Venue,
    engine: &Engine,
    urls: &Urls,
) -> Result<(), Failure> {
    refuse_mixture(args, &engine.read())?;
    bootstrap(engine, *operator_key, announce_key)?;
    bootstrap::two_persons(engine, args.two_persons)?;
    venue.open(engine.clone());
    say(&format!("listening on {}", urls.public));
    tracing::info!(address = %urls.address, "listening");
    if args.tls_cert.is_none() && !args.listen.ip().is_loopback() && !args.site.trusts_a_proxy() {
        tracing::warn!(
            "others can read the keys that travel here: name --tls-cert and --tls-key, or the \
             proxy with TLS by --trusted-proxy"
        );
    }
    if args.demo {
        say(&banner::banner(&engine.read(), &urls.public));
    } else {
        if let Some(url) = args.site.public_url() {
            say(&format!("open: {url}"));
        }
        // A certificate is of a name, and not of an address.
        let named = args.site.public_url().filter(|_| args.tls_cert.is_some());
        let named = named.filter(|_| args.admin_listen.is_none());
        say(&format!("next: {}", next(&engine.read(), named.unwrap_or(&urls.operators))));
    }
    Ok(())
}

/// Prints a drawn key; whether it was printed.
pub(crate) fn announce_key(key: &ApiKey) -> bool {
    output::say_surely(&format!("operator key: {}", key.reveal()))
}

/// The one command that an operator gives next.
fn next(model: &ReadModel, url: &str) -> String {
    let verb = match model.catalogue.markets_published().next() {
        None => "--key-file KEY login prod",
        Some(_) => "markets list",
    };
    format!("openoutcry admin --url {url} {verb}")
}

/// Refuses to mix demos and real venues, before anything is written.
fn refuse_mixture(args: &ServeArgs, model: &ReadModel) -> Result<(), Failure> {
    if args.demo {
        stage::check(model).map_err(|error| Failure::Failed(error.to_string()))?;
    }
    // A demo's journal contains public keys, even when started without `--demo`.
    if stage::is_a_demo(model) {
        return args.loopback_only();
    }
    Ok(())
}
