//! `drill`: a restore that is thrown away, so that it is known that one would succeed.

use std::fs::{self, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use clap::Args;
use exchange::units::Sequence;
use serde_json::{Value, json};
use tempfile::{NamedTempFile, TempDir};

use crate::answer::{Answer, Failure};
use crate::import::import;
use crate::source::Source;
use crate::verify::verify;

/// What is restored, and against what it is held.
#[derive(Args)]
pub struct Drill {
    /// The archive, or an exported file.
    archive: PathBuf,
    /// The venue's data directory, whose server may be running: what was restored must be in it.
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Where to restore to, for as long as it takes; the system's folder of temporary files by
    /// default.
    #[arg(long, value_name = "DIR")]
    room: Option<PathBuf>,
    /// A file for `node_exporter`'s textfile collector, written only by a drill that succeeds.
    #[arg(long, value_name = "FILE")]
    metric_file: Option<PathBuf>,
}

/// Restores into a folder that it removes again, proves every state there, and compares the end
/// with that of the archive and with the same block of the venue.
pub fn drill(asked: &Drill) -> Result<Answer, Failure> {
    let Drill { archive, data, room, metric_file } = asked;
    if let Source::Directory { .. } = Source::open(archive)? {
        let name = archive.display();
        let why =
            format!("NO_ARCHIVE: {name} is a data directory, which shows nothing of a backup");
        return Err(Failure::Failed(why));
    }
    let place = room.as_ref().map_or_else(TempDir::new, TempDir::new_in);
    let place = place.map_err(|error| Failure::failed(format!("CANNOT_WRITE: {error}")))?;
    let restored = place.path().join("restored");
    let copied = import(archive, &restored, None, true)?;
    let mut proved = verify(&restored, true)?;
    if proved["head"] != copied["head"] {
        return Err(differs(archive, &proved));
    }
    let records = proved["records"].as_u64().unwrap_or_default();
    let behind = match data {
        Some(data) => Some(behind(data, records, &proved)?),
        None => None,
    };
    proved["behind"] = json!(behind);
    if let Some(file) = metric_file {
        // This tool asks no clock; the file system has just asked it.
        let made = fs::metadata(&restored).map(|made| made.mtime());
        let posted = made.and_then(|made| post(file, made, records));
        posted.map_err(|error| Failure::writing(file, error))?;
    }
    let lag = behind.map_or_else(String::new, |behind| format!(", {behind} behind the venue"));
    let (head, state) = (&proved["head"]["hash"], &proved["state"]);
    let [head, state] = [head, state].map(|hash| hash.as_str().unwrap_or_default());
    let text =
        format!("restored and verified {records} records{lag}: head {head}, state {state}\n");
    Ok(Answer::Text { value: proved, text, sound: true })
}

/// How many records the restored journal lacks of the venue's, which has the same block there.
fn behind(data: &Path, records: u64, proved: &Value) -> Result<u64, Failure> {
    let Source::Directory { journal, .. } = Source::open(data)? else {
        return Err(Failure::reading(data, &io::Error::other("it is no data directory")));
    };
    let there = journal.read(Sequence::new(records)).next().transpose();
    let there = there.map_err(Failure::failed)?.map(|block| block.head());
    let same = |hash: String| proved["head"]["hash"] == hash.as_str();
    if !there.is_some_and(|at| at.sequence.get() == records && same(at.hash.to_string())) {
        return Err(differs(data, proved));
    }
    Ok(journal.head().sequence.get().saturating_sub(records))
}

fn differs(from: &Path, proved: &Value) -> Failure {
    let error = format!("RESTORED_DIFFERS: {} has no block that ends so", from.display());
    Failure::Damaged(json!({ "ok": false, "error": error, "head": proved["head"] }))
}

/// Puts the figures in place of those of an earlier drill, at once, for everybody to read. The
/// restored directory was `made` so many seconds after the beginning of 1970.
fn post(file: &Path, made: i64, records: u64) -> io::Result<()> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    let mut partial = NamedTempFile::new_in(folder.unwrap_or(Path::new(".")))?;
    let name = "openoutcry_drill_last_success_timestamp_seconds";
    let last = "openoutcry_drill_last_success_sequence";
    write!(
        partial,
        "# HELP {name} When a drill last restored the archive\n# TYPE {name} gauge\n\
         {name} {made}\n# HELP {last} The last record that it restored\n# TYPE {last} gauge\n\
         {last} {records}\n"
    )?;
    partial.as_file().set_permissions(Permissions::from_mode(0o644))?;
    partial.persist(file)?;
    Ok(())
}
