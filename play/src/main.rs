//! `play`: plays recorded order flow to a running server over its stream or its HTTP interface, and
//! compares every answer and account with expectations.
//!
//! Must not know: any trading rule, or server internals.

mod answers;
mod audit;
mod compare;
mod expect;
mod script;
mod stage;
mod summary;
mod transport;

use std::io::Write;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::thread::available_parallelism;
use std::time::Instant;

use clap::Parser;
use indicatif::{ProgressBar, ProgressStyle};
use tokio::task::JoinSet;

use audit::Audited;
use client::{ApiKey, ClientError, Target};
use compare::{Differences, Subject};
use expect::{ExpectationError, Expectations};
use flow::lines::Source;
use flow::{Flow, FlowError, MarketIndex};
use script::{Counts, Played, SharedPlay};
use stage::StageError;
use summary::{Latencies, Summary};
use transport::{Transport, Way};

/// Exit code for bad arguments or files.
const EXIT_USAGE: u8 = 2;

const DETAILS: &str = "\
Each run creates the flow's markets and accounts again and funds the accounts. Markets are played in
parallel, each with its commands in order, as fast as the server answers. Books and accounts are
read over HTTP with either transport. The summary on stdout has throughput, latency percentiles and
the number of differences.

Exit codes: 0 no difference; 1 differences, or the server could not be played on; 2 the arguments
or the files are wrong.";

/// Plays recorded order flow against a running server and compares the results
#[derive(Debug, Parser)]
#[command(name = "play", version, after_help = DETAILS)]
struct PlayArgs {
    /// The flow: one command a line, JSON, plain or gzip
    #[arg(value_name = "FLOW.jsonl[.gz]")]
    flow: PathBuf,

    /// Base URL of the server; /api/v1 is added where there is no path
    #[arg(
        long,
        value_name = "URL",
        env = "OPENOUTCRY_URL",
        default_value = "http://127.0.0.1:8080/api/v1"
    )]
    url: String,

    /// API key with the operator's role; better in the environment than on the command line
    #[arg(long, value_name = "KEY", env = "OPENOUTCRY_OPERATOR_KEY", hide_env_values = true)]
    operator_key: String,

    /// How commands are sent
    #[arg(long, value_enum, default_value_t = Transport::Stream)]
    transport: Transport,

    /// Expected fills: every fill must be there, in order, with its maker, and no other
    #[arg(long, value_name = "FILLS.jsonl[.gz]")]
    check: Option<PathBuf>,

    /// Expected books after given lines; the 50 best levels a side are compared, in both views
    #[arg(long, value_name = "BOOKS.jsonl[.gz]")]
    books: Option<PathBuf>,

    /// Expected positions, before pairs are merged; compared after merging, and cash too
    #[arg(long, value_name = "POSITIONS.jsonl[.gz]")]
    positions: Option<PathBuf>,

    /// Play the first N lines only; positions are then not compared with the file's
    #[arg(long, value_name = "N")]
    limit: Option<u32>,

    /// Print the summary as one JSON object
    #[arg(long)]
    json: bool,
}

/// Why a flow could not be played.
#[derive(Debug, thiserror::Error)]
enum PlayError {
    #[error("{path}: {cause}")]
    Flow { path: String, cause: FlowError },
    #[error("{path}: {cause}")]
    Expectation { path: String, cause: ExpectationError },
    #[error(transparent)]
    Address(ClientError),
    #[error("set-up: {0}")]
    Stage(#[from] StageError),
    #[error("cannot start the player's threads: {0}")]
    Threads(std::io::Error),
    #[error("a market's script stopped: {0}")]
    Stopped(#[from] tokio::task::JoinError),
}

impl PlayError {
    const fn is_usage(&self) -> bool {
        matches!(
            self,
            PlayError::Flow { .. } | PlayError::Expectation { .. } | PlayError::Address(_)
        )
    }
}

/// Plays the flow, prints the summary on stdout, and returns the exit code.
fn main() -> ExitCode {
    let args = PlayArgs::parse();
    match played(&args) {
        Ok(summary) => {
            let text =
                if args.json { format!("{}\n", summary.json()) } else { summary.to_string() };
            let mut out = std::io::stdout();
            let printed = out.write_all(text.as_bytes()).and_then(|()| out.flush());
            if let Err(error) = &printed {
                note(&format!("stdout: {error}"));
            }
            let good = printed.is_ok() && summary.differences.total() == 0;
            if good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(error) => {
            note(&error.to_string());
            if error.is_usage() { ExitCode::from(EXIT_USAGE) } else { ExitCode::FAILURE }
        }
    }
}

/// Says what went wrong on stderr, if that takes it.
fn note(what: &str) {
    drop(writeln!(std::io::stderr(), "play: {what}"));
}

fn played(args: &PlayArgs) -> Result<Summary, PlayError> {
    let path = args.flow.display().to_string();
    let flow = Source::open(&args.flow)
        .and_then(|source| Flow::read(source, args.limit))
        .map_err(|cause| PlayError::Flow { path, cause })?;
    // Expected positions are those after the whole flow.
    let positions = args.positions.as_deref().filter(|_| args.limit.is_none());
    let expectations =
        Expectations::read(&flow, args.check.as_deref(), args.books.as_deref(), positions)
            .map_err(|(path, cause)| PlayError::Expectation { path, cause })?;
    let target = Target::parse(&args.url).map_err(PlayError::Address)?;
    let operator = ApiKey::new(&args.operator_key).map_err(PlayError::Address)?;
    // The runtime would panic without its threads.
    let threads = available_parallelism().map_or(1, NonZeroUsize::get);
    os::check_threads(threads.saturating_add(1)).map_err(PlayError::Threads)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(PlayError::Threads)?;
    runtime.block_on(orchestrate(args, flow, expectations, target, &operator))
}

async fn orchestrate(
    args: &PlayArgs,
    flow: Flow,
    expectations: Expectations,
    target: Target,
    operator: &ApiKey,
) -> Result<Summary, PlayError> {
    let fills = expectations.fills.as_ref().map(|fills| fills.count);
    let progress = progress(flow.lines().len());
    progress.set_message("making markets and accounts");
    let stage = stage::build(&target, operator, &flow).await?;
    let deposit = stage.deposit;
    let way = Way::of(args.transport, stage.keys.len());
    let shared = Arc::new(SharedPlay { target, way, stage, expectations, progress });

    shared.progress.set_message("playing");
    shared.progress.reset();
    let started = Instant::now();
    let played = play(&shared, &flow).await?;
    let took = started.elapsed();

    shared.progress.set_message("comparing accounts");
    let mut differences = Differences::default();
    let audited = match audit::run(&shared, &flow, &played, &mut differences).await {
        Ok(audited) => audited,
        Err(error) => {
            differences.add(Subject::Balance, None, format!("accounts: {error}"));
            Audited::default()
        }
    };
    shared.progress.finish_and_clear();

    let (mut counts, mut latencies) = (Counts::default(), Latencies::default());
    for play in played {
        counts.absorb(play.counts);
        latencies.absorb(play.latencies);
        differences.absorb(play.differences);
    }
    Ok(Summary {
        flow: args.flow.file_name().unwrap_or_default().display().to_string(),
        markets: flow.markets().len(),
        accounts: flow.accounts().len(),
        transport: args.transport,
        deposit,
        lines: flow.lines().len(),
        fills,
        positions_left_out: args.positions.is_some() && args.limit.is_some(),
        took,
        counts,
        audited,
        latencies,
        differences,
    })
}

/// Plays all markets concurrently.
async fn play(shared: &Arc<SharedPlay>, flow: &Flow) -> Result<Vec<Played>, PlayError> {
    let mut scripts = JoinSet::new();
    for (number, lines) in flow.by_market().into_iter().enumerate() {
        scripts.spawn(script::play(Arc::clone(shared), MarketIndex(number), lines));
    }
    let mut played = Vec::new();
    while let Some(one) = scripts.join_next().await {
        played.push(one?);
    }
    played.sort_by_key(|play| play.market);
    Ok(played)
}

fn progress(lines: usize) -> ProgressBar {
    let bar = ProgressBar::new(lines as u64);
    let template = "{msg:<28} {wide_bar} {human_pos}/{human_len} {per_sec} {eta}";
    // The template is a constant; if it is invalid, the default bar style remains.
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar
}
