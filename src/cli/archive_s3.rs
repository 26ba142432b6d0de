//! The archive in a store that speaks S3, as settings and as a command.

use std::path::PathBuf;

use clap::Args;

use super::Failure;
use super::output;
use engine::shelf::Shelf;
use journal::archive::ArchiveError;
use journal::reader::JournalReader;
use s3::{BucketArchive, Place};

const DETAILS: &str = "\
The keys are those of the environment, AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or of the file
that AWS_SHARED_CREDENTIALS_FILE names.

Example:
  openoutcry fetch-archive --archive-s3 s3://venue-archive/prod ./fetched
  openoutcry-replay drill ./fetched --data /var/lib/openoutcry";

/// Where the bucket is.
#[derive(Debug, Clone, Args)]
pub(super) struct S3Args {
    /// An archive in a bucket as well, <s3://BUCKET>[/PREFIX]; keys by `AWS_ACCESS_KEY_ID` and
    /// `AWS_SECRET_ACCESS_KEY`, or the file of `AWS_SHARED_CREDENTIALS_FILE`
    #[arg(
        long = "archive-s3",
        value_name = "URL",
        env = "OPENOUTCRY_ARCHIVE_S3",
        value_parser = bucket_url
    )]
    url: Option<String>,
    /// Base URL of a store that is not AWS
    #[arg(long = "s3-endpoint", value_name = "URL", env = "OPENOUTCRY_S3_ENDPOINT")]
    endpoint: Option<String>,
    /// The store's region; without it what `AWS_REGION` says
    #[arg(long = "s3-region", value_name = "NAME", env = "OPENOUTCRY_S3_REGION")]
    region: Option<String>,
    /// A file of root certificates in PEM, which the store is believed from instead of the system's
    #[arg(long = "s3-cacert", value_name = "FILE", env = "OPENOUTCRY_S3_CACERT")]
    cacert: Option<PathBuf>,
    /// Days for which the store refuses to delete what was written; needs object lock
    #[arg(long = "s3-retain-days", value_name = "DAYS", env = "OPENOUTCRY_S3_RETAIN_DAYS")]
    retain_days: Option<u32>,
}

impl S3Args {
    fn place(&self) -> Option<Place> {
        let S3Args { endpoint, region, cacert, retain_days, .. } = self.clone();
        Some(Place { url: self.url.clone()?, endpoint, region, cacert, retain_days })
    }

    /// Its URL and the last record in it, if there is to be one.
    ///
    /// # Errors
    /// The settings are at fault, it is of another journal, or the store does not answer.
    pub(super) fn ends(&self, journal: JournalReader) -> Option<Result<String, ArchiveError>> {
        let place = self.place()?;
        let store = place.objects();
        let ends = store.and_then(|store| BucketArchive::ends(&place.url, store, journal));
        Some(ends.map(|last| format!("{}: ends with record {}", place.url, last.get())))
    }

    /// Opens the archive, if there is to be one.
    ///
    /// # Errors
    /// The settings are at fault, or it is of another journal.
    pub(super) fn open(&self, journal: JournalReader) -> Result<Option<Box<dyn Shelf>>, Failure> {
        let Some(place) = self.place() else { return Ok(None) };
        let store = place.objects();
        let archive = store.and_then(|store| BucketArchive::open(&place.url, store, journal));
        let archive = archive.map_err(|error| failed(&error))?;
        let archived = archive.head().sequence.get();
        tracing::info!(archive = place.url, sequence = archived, "archive opened");
        Ok(Some(Box::new(archive)))
    }
}

fn bucket_url(text: &str) -> Result<String, String> {
    let bucket = text.strip_prefix("s3://").filter(|rest| !rest.is_empty());
    bucket.map(|_| text.to_owned()).ok_or_else(|| "must be like s3://BUCKET/PREFIX".to_owned())
}

/// What is copied where.
#[derive(Debug, Args)]
#[command(after_help = DETAILS)]
pub(crate) struct FetchArgs {
    #[command(flatten)]
    s3: S3Args,
    /// The folder: afterwards an archive, for `openoutcry-replay`. What it has is not copied again
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

/// Copies an archive from its bucket into a folder.
///
/// # Errors
/// The store does not answer or refuses, or the folder cannot be written.
pub(crate) fn fetch(args: &FetchArgs) -> Result<(), Failure> {
    let place = args.s3.place();
    let place = place.ok_or_else(|| Failure::Usage("--archive-s3 names the bucket".to_owned()))?;
    let (copied, all) = s3::fetch(&place, &args.folder).map_err(|error| failed(&error))?;
    if all == 0 {
        let why = format!("archive: nothing is at {}: are bucket and prefix right?", place.url);
        return Err(Failure::Failed(why));
    }
    output::print(&format!("{copied} copied, {all} in the archive\n"))
        .map_err(|error| Failure::Failed(format!("stdout: {error}")))
}

fn failed(error: &ArchiveError) -> Failure {
    Failure::Failed(format!("archive: {error}"))
}
