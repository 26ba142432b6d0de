//! The settings of a server: each is one field here, from which its flag, its variable, its key in
//! the configuration file, its default and its description come.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use clap::builder::{BoolishValueParser, FalseyValueParser};
use clap::{Args, ValueEnum};

use super::logging::{self, LogFormat};
use super::place::Place;
use super::site::{SiteArgs, limit};
use super::{Failure, demo};
use exchange::units::Money;
use http::rates::{Daily, Limit, Rates};

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

Each setting is a flag, a variable and a key of the configuration file, which is the flag's name
without its dashes: a flag comes before a variable, that before the file, that before the default.
`openoutcry config show` says what is in force and where it is from. One more variable:
  OPENOUTCRY_OPERATOR_KEY  the operator's API key, 32 to 128 visible ASCII characters, best drawn at
                           random; a new value replaces the old key. Without it the first start
                           makes a random key and prints it once, as `operator key: ...`
A start refuses other variables that begin with OPENOUTCRY_, and other keys in the file.

SIGHUP reads the file again, and the certificate, where the server has no terminal: limits of users,
the log filter and the certificate are applied without a connection ended, and a line of the log
says what changed, and what waits for a restart.

SIGTERM, SIGINT and SIGQUIT stop the server in order: it answers requests in progress, makes the
journal durable, and exits with code 0. So does SIGHUP where the server has a terminal. Lines of the
log or of stdout that nobody takes are lost, and nothing else changes.

Exit codes: 0 stopped in order; 1 failure, and the same start may succeed once its cause is gone;
2 wrong usage; 3 the journal is refused, because it is damaged, contradicts itself or lacks a part:
do not start the server again before the folder is copied.";

/// The arguments of `serve`.
#[derive(Debug, Clone, Args)]
#[command(after_help = DETAILS)]
#[allow(clippy::struct_excessive_bools, reason = "flags of a command line")]
pub(crate) struct ServeArgs {
    /// Folder of the journal
    #[arg(long, value_name = "DIR", env = "OPENOUTCRY_DATA", default_value = "./data")]
    pub(super) data: PathBuf,
    /// Configuration file [default: openoutcry.toml in the folder of the journal, if it is there]
    #[arg(long, value_name = "FILE", env = "OPENOUTCRY_CONFIG")]
    pub(super) config: Option<PathBuf>,
    /// Begin a new venue if the folder holds none. Without it only --demo, and `openoutcry init`,
    /// begin one
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
    pub(super) listen: SocketAddr,
    /// Address and port of an entrance for operators, or a socket of the file system as
    /// `unix:/run/openoutcry/admin.sock`: /api/v1/admin and /metrics are refused at the other one
    /// then. On loopback and a socket it speaks plain HTTP, elsewhere what --listen speaks
    #[arg(long, value_name = "ADDR:PORT|unix:PATH", env = "OPENOUTCRY_ADMIN_LISTEN")]
    pub(super) admin_listen: Option<Place>,
    /// Permissions of that socket's file
    #[arg(
        long,
        value_name = "MODE",
        env = "OPENOUTCRY_ADMIN_SOCKET_MODE",
        default_value = "0660",
        value_parser = mode
    )]
    pub(super) admin_socket_mode: u32,
    /// A file with the operator's API key, which `OPENOUTCRY_OPERATOR_KEY` comes before;
    /// systemd gives a credential as such a file
    #[arg(long, value_name = "FILE", env = "OPENOUTCRY_OPERATOR_KEY_FILE")]
    pub(super) operator_key_file: Option<PathBuf>,
    /// Speak TLS: a file with the certificate, its own first, then those that it hangs on, in PEM
    #[arg(long, value_name = "FILE", env = "OPENOUTCRY_TLS_CERT")]
    pub(super) tls_cert: Option<PathBuf>,
    /// A file with the certificate's key, in PEM
    #[arg(long, value_name = "FILE", env = "OPENOUTCRY_TLS_KEY")]
    pub(super) tls_key: Option<PathBuf>,
    /// Load a catalogue, people with public keys, and sixty days of trading; loopback only
    #[arg(long)]
    pub(super) demo: bool,
    /// Whether the demo's people go on trading by themselves; they speak no TLS
    #[arg(long, value_name = "SWITCH", value_enum, default_value = "on", requires = "demo")]
    pub(super) demo_flow: Switch,
    #[command(flatten)]
    pub(super) site: SiteArgs,
    /// Have resolving and voiding take two operators, and withdrawals of more than this: one
    /// proposes, another confirms
    #[arg(long, value_name = "AMOUNT", env = "OPENOUTCRY_TWO_PERSONS", value_parser = limit)]
    pub(super) two_persons: Option<Money>,
    /// Folder of an archive of the journal; created if missing
    #[arg(long, value_name = "DIR", env = "OPENOUTCRY_ARCHIVE")]
    pub(super) archive: Option<PathBuf>,
    #[cfg(feature = "s3")]
    #[command(flatten)]
    pub(super) s3: super::archive_s3::S3Args,
    /// Commands between two snapshots, which make starts fast; 0 for none
    #[arg(
        long,
        value_name = "N",
        env = "OPENOUTCRY_SNAPSHOT_EVERY",
        default_value_t = SNAPSHOT_EVERY
    )]
    pub(super) snapshot_every: u64,
    /// Believe the system's clock at this start, however far it is ahead of the last record
    #[arg(long, env = "OPENOUTCRY_ACCEPT_CLOCK", value_parser = FalseyValueParser::new())]
    pub(super) accept_clock: bool,
    #[command(flatten)]
    pub(super) rates: RateArgs,
    /// Seconds after which a connection without a request is closed; more than those of the pools
    /// in front of the server, which keep connections for 60 as a rule
    #[arg(
        long,
        value_name = "SECONDS",
        env = "OPENOUTCRY_KEEP_ALIVE",
        default_value_t = http::Limits::STANDARD.head_wait.as_secs(),
        value_parser = clap::value_parser!(u64).range(1..=KEEP_ALIVE_SECONDS_MAX)
    )]
    pub(super) keep_alive: u64,
    #[cfg(feature = "otel")]
    #[command(flatten)]
    pub(super) otlp: super::otlp::OtlpArgs,
    /// Log filter: error, warn, info, debug, trace or off, or such a level for a module, as
    /// `openoutcry::http=debug`
    #[arg(
        long,
        value_name = "FILTER",
        env = "OPENOUTCRY_LOG",
        default_value = logging::FILTER_DEFAULT,
        value_parser = logging::filter_text
    )]
    pub(super) log: String,
    /// Format of log lines
    #[arg(long, env = "OPENOUTCRY_LOG_FORMAT", value_enum, default_value = "text")]
    pub(super) log_format: LogFormat,
}

/// Something that is on or off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Switch {
    /// It happens
    On,
    /// It does not
    Off,
}

impl ServeArgs {
    /// The data directory.
    pub(crate) fn folder(&self) -> &Path {
        &self.data
    }

    /// Refuses addresses that others can reach, for a demo, whose keys are public.
    ///
    /// # Errors
    /// One is not of loopback.
    pub(super) fn loopback_only(&self) -> Result<(), Failure> {
        let operators = match self.admin_listen {
            Some(Place::Port(address)) => Some(address),
            Some(Place::Socket(_)) | None => None,
        };
        [Some(self.listen), operators].into_iter().flatten().try_for_each(|address| {
            demo::loopback_only(address).map_err(|error| Failure::Usage(error.to_string()))
        })
    }

    /// The files of certificate and key, if TLS is to be spoken.
    ///
    /// # Errors
    /// One is named without the other.
    pub(super) fn tls_files(&self) -> Result<Option<(&Path, &Path)>, Failure> {
        match (&self.tls_cert, &self.tls_key) {
            (Some(chain), Some(key)) => Ok(Some((chain, key))),
            (None, None) => Ok(None),
            _ => Err(Failure::Usage("--tls-cert and --tls-key belong together".to_owned())),
        }
    }
}

/// How much a user may ask.
#[derive(Debug, Clone, Args)]
pub(super) struct RateArgs {
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
    /// The limits that these are.
    pub(super) const fn rates(&self) -> Rates {
        let RateArgs { reads, writes, cancels, records } = *self;
        Rates { reads, writes, cancels, records }
    }
}

fn address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| "must be an IP address and a port, like 127.0.0.1:8080".to_owned())
}

fn mode(text: &str) -> Result<u32, String> {
    let mode = u32::from_str_radix(text, 8).ok().filter(|mode| *mode <= 0o777);
    mode.ok_or_else(|| "must be permissions in octal digits, like 0660".to_owned())
}
