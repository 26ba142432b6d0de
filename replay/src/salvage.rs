//! `salvage`: a new data directory from the readable parts of a damaged one and an archive.

use std::fs;
use std::path::{Path, PathBuf};

use exchange::units::Sequence;
use journal::import::{self, ImportError};
use journal::salvage::{Origin, Salvage, Salvaged, Span};
use serde_json::{Value, json};

use crate::answer::{Answer, Failure, head_fields};

/// Suffix of the copy of the damaged store, after the new directory's name.
const SCRATCH_SUFFIX: &str = ".scratch";

/// A directory that is removed on drop.
struct Scratch(PathBuf);

impl Scratch {
    /// Next to the new directory, on the same file system as it.
    fn beside(new: &Path) -> Result<Scratch, Failure> {
        // Without a trailing slash, which would put the suffix inside the directory.
        let mut path = new.components().as_path().as_os_str().to_owned();
        path.push(SCRATCH_SUFFIX);
        let path = PathBuf::from(path);
        fs::create_dir_all(path.parent().unwrap_or(&path))
            .and_then(|()| fs::create_dir(&path))
            .map_err(|error| Failure::writing(&path, error))?;
        Ok(Scratch(path))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A directory that cannot be removed only blocks the next salvage, which reports it.
        drop(fs::remove_dir_all(&self.0));
    }
}

/// Makes a data directory of the longest chain from record 1, and reports its coverage.
pub fn salvage(damaged: &Path, archive: Option<&Path>, new: &Path) -> Result<Answer, Failure> {
    if !damaged.is_dir() {
        let error = "no directory is there; of an archive alone `import` makes a journal";
        return Err(Failure::Failed(format!("CANNOT_READ: {}: {error}", damaged.display())));
    }
    let scratch = Scratch::beside(new)?;
    let mut chain = Salvage::of(damaged, archive, &scratch.0).map_err(Failure::failed)?;
    let made = match import::import(new, &mut chain, |_| ()) {
        Ok(_) => true,
        Err(ImportError::Empty) => false,
        Err(error) => return Err(Failure::failed(error)),
    };
    let salvaged = chain.finish();
    let (value, text) = (value(&salvaged, made), text(&salvaged, made));
    Ok(Answer::Text { value, text, sound: salvaged.complete })
}

fn span(span: &Span) -> Value {
    json!({ "first": span.first.get(), "last": span.last.get(), "from": span.origin.name() })
}

/// The first record that should be covered and is not.
fn missing(salvaged: &Salvaged) -> Option<Sequence> {
    let beyond = salvaged.beyond.iter().map(|span| span.last).max().unwrap_or_default();
    (salvaged.head.sequence < beyond).then(|| salvaged.head.sequence.next())
}

/// Why the chain ends where it does.
fn ended(salvaged: &Salvaged) -> String {
    let next = salvaged.head.sequence.next();
    if salvaged.complete {
        return "every acknowledged record is covered".to_owned();
    }
    let first = salvaged.beyond.iter().find(|span| span.first == next);
    if let Some(Span { origin: Origin::Log, .. }) = first.filter(|_| !salvaged.marked) {
        return format!(
            "the log has a block that begins with record {next}, and nobody can say that it was \
             not refused: the marker does not tell, nor was any built on it"
        );
    }
    if missing(salvaged).is_some() {
        return format!("no sound block that follows begins with record {next} in any source");
    }
    "no source has more; whether more was acknowledged nobody can say, because the end of the log \
     is damaged or gone"
        .to_owned()
}

fn value(salvaged: &Salvaged, made: bool) -> Value {
    json!({
        "ok": salvaged.complete,
        "made": made,
        "head": head_fields(&salvaged.head),
        "covered": salvaged.covered.iter().map(span).collect::<Vec<_>>(),
        "beyond": salvaged.beyond.iter().map(span).collect::<Vec<_>>(),
        "missing_from": missing(salvaged).map(Sequence::get),
        "ended": ended(salvaged),
        "faults": salvaged.faults,
    })
}

/// The text form.
fn text(salvaged: &Salvaged, made: bool) -> String {
    let mut text = String::new();
    let rows = |text: &mut String, name: &str, spans: &[Span]| {
        for (index, Span { first, last, origin }) in spans.iter().enumerate() {
            let name = if index == 0 { name } else { "" };
            text.extend([format!("{name:<13}records {first} to {last}, {}\n", origin.name())]);
        }
    };
    rows(&mut text, "covered", &salvaged.covered);
    let head = &salvaged.head;
    text.extend([format!(
        "\
head         record {sequence}, block hash {hash}
ended        {ended}
",
        sequence = head.sequence,
        hash = head.hash,
        ended = ended(salvaged)
    )]);
    if !made {
        text.push_str("made         nothing: there was no block; no server opens the new folder\n");
    }
    rows(&mut text, "not usable", &salvaged.beyond);
    for fault in &salvaged.faults {
        text.extend([format!("fault        {fault}\n")]);
    }
    text
}
