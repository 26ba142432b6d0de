//! Restoring from snapshots: picks the newest one that passes every check, or none. Each snapshot
//! that is passed over is logged by name, with the reason.

use std::io::Read;

use super::history::HistoryStore;
use super::throttle::{Ended, Paced, Throttle};
use exchange::Exchange;
use exchange::image::coding::BadImage;
use exchange::invariant::Broken;
use exchange::results::StateDigest;
use exchange::units::Sequence;
use journal::JournalError;
use journal::block::{ChainHash, Head};
use journal::reader::JournalReader;
use journal::replay::Replayer;
use journal::snapshot::{Kind, NEWEST_KEPT, OpenSnapshot, Point, SnapshotDamage, SnapshotFolder};
use views::ReadModel;
use views::history::History;

/// State and read model as of one record.
#[derive(Debug)]
pub struct Restored {
    /// The exchange, and the results hash of its records.
    pub replayer: Replayer,
    /// The read model.
    pub read_model: ReadModel,
}

impl Restored {
    /// The state before the first record; pages will go to `history`.
    pub fn nothing(history: &History) -> Restored {
        Restored { replayer: Replayer::new(), read_model: ReadModel::on(history) }
    }

    /// The record up to which the state goes.
    pub const fn sequence(&self) -> Sequence {
        self.replayer.exchange().sequence()
    }
}

/// Why a snapshot is not used. The codes are stable.
#[derive(Debug, thiserror::Error)]
pub enum Rejection {
    /// One of its files is damaged, or missing.
    #[error(transparent)]
    Damaged(#[from] SnapshotDamage),
    /// The two files are not of one record of one journal.
    #[error("SNAPSHOT_PAIR: its two files are of different snapshots")]
    Pair,
    /// The journal ends before it.
    #[error("SNAPSHOT_AHEAD: the journal ends with record {end}")]
    Ahead {
        /// The journal's last record.
        end: Sequence,
    },
    /// The journal has another block there, or no block that ends there.
    #[error("SNAPSHOT_ELSEWHERE: the journal's block there is {found}, it was taken after {of}")]
    Elsewhere {
        /// Hash of the block that the snapshot was taken after.
        of: ChainHash,
        /// Hash of the journal's block that holds that record.
        found: ChainHash,
    },
    /// The journal could not be read there.
    #[error("SNAPSHOT_JOURNAL: {0}")]
    Journal(#[from] JournalError),
    /// An image cannot be read.
    #[error("SNAPSHOT_IMAGE: the image of the {} cannot be read: {cause}", .kind.extension())]
    Image {
        /// Whose image.
        kind: Kind,
        /// What is wrong with it.
        cause: BadImage,
    },
    /// The image is as of another record.
    #[error("SNAPSHOT_PLACE: the {} are as of record {found}", .kind.extension())]
    Place {
        /// Whose image.
        kind: Kind,
        /// The record.
        found: Sequence,
    },
    /// The pages of history that its read model refers to are not stored here.
    #[error("SNAPSHOT_HISTORY: the pages of history up to it are not in the folder `history`")]
    History,
    /// The restored state is not the one that was written.
    #[error("SNAPSHOT_DIGEST: the restored state is {found}, {written} was written")]
    Digest {
        /// Per the header.
        written: StateDigest,
        /// As restored.
        found: StateDigest,
    },
    /// The restored state breaks an invariant.
    #[error("SNAPSHOT_BROKEN: {0}")]
    Broken(#[from] Broken),
    /// The engine is ending; no fault of the snapshot.
    #[error("{0}")]
    Ended(#[from] Ended),
}

/// Where the pages are that a restored read model refers to.
#[derive(Debug, Clone, Copy)]
pub enum Pages<'a> {
    /// In this store; they must be there, and new ones are put there.
    Here(&'a HistoryStore),
    /// Not needed: the read model is folded and written, never read.
    Elsewhere(&'a HistoryStore),
    /// In this store, where another read model puts them; they must be there.
    Behind(&'a HistoryStore),
}

impl Pages<'_> {
    fn history(self) -> History {
        match self {
            Pages::Here(store) => store.history(),
            Pages::Elsewhere(store) => store.rebuild_target(),
            Pages::Behind(store) => store.history().read_only(),
        }
    }
}

/// The newest valid snapshot up to `limit`; the empty state if there is none.
///
/// # Errors
/// [`Ended`] if the throttle says that the engine is ending.
pub fn newest(
    folder: &SnapshotFolder,
    journal: &JournalReader,
    limit: Sequence,
    pages: Pages<'_>,
    pace: &mut Throttle,
) -> Result<Restored, Ended> {
    let found = newest_after(folder, journal, (Sequence::ZERO, limit), pages, pace)?;
    Ok(found.unwrap_or_else(|| Restored::nothing(&pages.history())))
}

/// The newest valid snapshot after a record and up to a limit, if there is one.
///
/// # Errors
/// As of [`newest`].
pub fn newest_after(
    folder: &SnapshotFolder,
    journal: &JournalReader,
    (after, limit): (Sequence, Sequence),
    pages: Pages<'_>,
    pace: &mut Throttle,
) -> Result<Option<Restored>, Ended> {
    let views = listed(folder, Kind::Views);
    for (newer, sequence) in listed(folder, Kind::State).into_iter().enumerate() {
        // Earlier versions kept old states without their views.
        let old = newer >= NEWEST_KEPT && !views.contains(&sequence);
        if old || sequence > limit || sequence <= after {
            continue;
        }
        match restore(folder, journal, sequence, pages, pace) {
            Ok(restored) => return Ok(Some(restored)),
            Err(Rejection::Ended(ended)) => return Err(ended),
            Err(rejection) => log_rejected(folder, sequence, &rejection),
        }
    }
    Ok(None)
}

/// The newest valid state after record `after` and up to `limit`, and the block that it ends with;
/// views are not read.
pub fn newest_state(
    folder: &SnapshotFolder,
    journal: &JournalReader,
    after: Sequence,
    limit: Sequence,
) -> Option<(Replayer, Head)> {
    let listed = listed(folder, Kind::State).into_iter();
    for sequence in listed.filter(|sequence| *sequence > after && *sequence <= limit) {
        match restore_state(folder, journal, sequence) {
            Ok(state) => return Some(state),
            Err(rejection) => log_rejected(folder, sequence, &rejection),
        }
    }
    None
}

/// The snapshots of a kind, newest first.
fn listed(folder: &SnapshotFolder, kind: Kind) -> Vec<Sequence> {
    folder.list(kind).unwrap_or_else(|error| {
        tracing::warn!(%error, "the folder of snapshots cannot be read");
        Vec::new()
    })
}

fn log_rejected(folder: &SnapshotFolder, sequence: Sequence, rejection: &Rejection) {
    let file = folder.path(Kind::State, sequence);
    tracing::warn!(file = %file.display(), reason = %rejection, "snapshot not used");
}

/// Reads the state of one snapshot and checks that it belongs to the journal.
fn restore_state(
    folder: &SnapshotFolder,
    journal: &JournalReader,
    sequence: Sequence,
) -> Result<(Replayer, Head), Rejection> {
    let state = folder.read(Kind::State, sequence)?;
    let point = state.header().point;
    let head = belongs(&point, journal)?;
    let exchange = read_state(state, &point, &mut Throttle::full())?;
    Ok((Replayer::resume(exchange, point.results), head))
}

/// Reads one snapshot and checks that it belongs to the journal.
fn restore(
    folder: &SnapshotFolder,
    journal: &JournalReader,
    sequence: Sequence,
    pages: Pages<'_>,
    pace: &mut Throttle,
) -> Result<Restored, Rejection> {
    let state = folder.read(Kind::State, sequence)?;
    let views = folder.read(Kind::Views, sequence)?;
    let point = state.header().point;
    if views.header().point != point {
        return Err(Rejection::Pair);
    }
    belongs(&point, journal)?;
    if let Pages::Here(store) | Pages::Behind(store) = pages
        && !store.vouches(&point)
    {
        return Err(Rejection::History);
    }
    let exchange = read_state(state, &point, pace)?;
    let read_model = read_views(views, &point, &pages.history(), pace)?;
    let replayer = Replayer::resume(exchange, point.results);
    Ok(Restored { replayer, read_model })
}

/// Checks that the snapshot belongs to this journal: the block it was taken after is the journal's
/// block that ends there. Returns that block's head.
fn belongs(point: &Point, journal: &JournalReader) -> Result<Head, Rejection> {
    let end = journal.head().sequence;
    if point.sequence > end {
        return Err(Rejection::Ahead { end });
    }
    let block = journal.read(point.sequence).next().transpose()?;
    let found = block.map_or(Head::START, |block| block.head());
    if (found.sequence, found.time, found.hash) == (point.sequence, point.time, point.chain) {
        return Ok(found);
    }
    Err(Rejection::Elsewhere { of: point.chain, found: found.hash })
}

fn read_state(
    mut file: OpenSnapshot,
    point: &Point,
    pace: &mut Throttle,
) -> Result<Exchange, Rejection> {
    let kind = Kind::State;
    let mut image = Vec::new();
    if let Err(error) = (Paced { stream: &mut file, pace }).read_to_end(&mut image) {
        return Err(unreadable(&file, kind, BadImage::Unreadable(error.to_string()), pace));
    }
    file.drain()?;
    let exchange =
        Exchange::from_image(&image).map_err(|cause| Rejection::Image { kind, cause })?;
    drop(image);
    if exchange.sequence() != point.sequence {
        return Err(Rejection::Place { kind, found: exchange.sequence() });
    }
    // Of the restored state, not of the bytes: this also finds what does not survive the round
    // trip.
    let found = exchange.digest()?;
    if found != point.state {
        return Err(Rejection::Digest { written: point.state, found });
    }
    Ok(exchange)
}

fn read_views(
    mut file: OpenSnapshot,
    point: &Point,
    history: &History,
    pace: &mut Throttle,
) -> Result<ReadModel, Rejection> {
    let kind = Kind::Views;
    let mut paced = Paced { stream: &mut file, pace: &mut *pace };
    let read = ReadModel::read_image(&mut paced, history);
    let read_model = read.map_err(|cause| unreadable(&file, kind, cause, pace))?;
    file.drain()?;
    if read_model.watermark() != point.sequence {
        return Err(Rejection::Place { kind, found: read_model.watermark() });
    }
    Ok(read_model)
}

/// Why an image could not be read: the engine is ending, the file is damaged, or its bytes are no
/// image.
fn unreadable(file: &OpenSnapshot, kind: Kind, cause: BadImage, pace: &Throttle) -> Rejection {
    match (pace.ended(), file.damage()) {
        (Err(ended), _) => ended.into(),
        (Ok(()), Some(damage)) => damage.clone().into(),
        (Ok(()), None) => Rejection::Image { kind, cause },
    }
}
