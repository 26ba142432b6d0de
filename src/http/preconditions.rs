//! Entity tags, and the headers that compare them (RFC 9110, 8.8.3 and 13): whoever changes what
//! was read before can have the change refused if another one came between, and whoever reads again
//! what has not changed gets no body.

use hyper::Method;
use hyper::header::{self, HeaderMap, HeaderName};
use sha2::{Digest, Sha256};

use super::problem::{FieldCode, FieldError, Problem};
use exchange::reject::Reject;
use exchange::units::Sequence;

/// What a compressed answer's tag ends with: it is another representation of the same.
pub const GZIP_SUFFIX: &str = "-gzip";

/// The tag of an answer's body, with its quotes.
pub fn tag_of(body: &[u8]) -> String {
    format!("\"{}\"", digits(body))
}

/// The tag of a body of which only a part can be revised: `part`, then the whole.
pub fn tag_of_part(part: &[u8], body: &[u8]) -> String {
    format!("\"{}.{}\"", digits(part), digits(body))
}

/// The tag of what last changed with this record. It is weak: what is shown with it may say the
/// same in other words, as the time at which it was read.
pub fn weak_tag(changed: Sequence) -> String {
    format!("W/\"{changed}\"")
}

fn digits(bytes: &[u8]) -> String {
    let hash: [u8; 32] = Sha256::digest(bytes).into();
    data_encoding::HEXLOWER.encode(hash.first_chunk::<12>().unwrap_or(&[0; 12]))
}

/// The tags of a header.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Tags {
    /// `*`: whatever there is.
    Any,
    /// Each as it stands, with its quotes, and whether it is strong.
    Listed(Vec<(String, bool)>),
}

/// The conditions of a request.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Preconditions {
    only_if: Option<Tags>,
    unless: Option<Tags>,
}

impl Preconditions {
    /// Reads the headers. A write whose condition would not be checked is refused: its client
    /// relies on it. `tagged` says whether what the path names has tags.
    pub fn read(
        method: &Method,
        headers: &HeaderMap,
        tagged: bool,
    ) -> Result<Preconditions, Problem> {
        if matches!(*method, Method::GET | Method::HEAD) {
            // What is not well-formed is no condition: a read does no harm.
            let read = |name| tags(headers, &name).ok().flatten().filter(|_| tagged);
            let (only_if, unless) = (read(header::IF_MATCH), read(header::IF_NONE_MATCH));
            return Ok(Preconditions { only_if, unless });
        }
        for name in [header::IF_UNMODIFIED_SINCE, header::IF_NONE_MATCH] {
            if headers.contains_key(&name) {
                let detail = "is not taken with a write: send If-Match with the ETag of an order \
                              or a market to amend it";
                return Err(bad(&name, FieldCode::UnknownField, detail));
            }
        }
        let only_if = tags(headers, &header::IF_MATCH)?;
        if only_if.is_some() && !tagged {
            let detail = "is taken only where an order is amended or a market is revised";
            return Err(bad(&header::IF_MATCH, FieldCode::UnknownField, detail));
        }
        Ok(Preconditions { only_if, unless: None })
    }

    /// Whether there is any.
    pub const fn is_any(&self) -> bool {
        self.only_if.is_some() || self.unless.is_some()
    }

    /// Whether a write depends on the tag of what it changes.
    pub const fn guards(&self) -> bool {
        matches!(self.only_if, Some(Tags::Listed(_)))
    }

    /// Refuses a request that was made for another state than the one of this tag. Weak tags do not
    /// identify a state.
    pub fn check(&self, tag: &str) -> Result<(), Problem> {
        self.check_by(|listed| same(listed, tag))
    }

    /// The same for a revision: only what can be revised must be as it was.
    pub fn check_part(&self, tag: &str) -> Result<(), Problem> {
        let part = |tag: &str| tag.split_once('.').map(|(part, _)| part.to_owned());
        self.check_by(|listed| part(listed) == part(tag) && listed.len() >= tag.len())
    }

    fn check_by(&self, is_it: impl Fn(&str) -> bool) -> Result<(), Problem> {
        match &self.only_if {
            Some(Tags::Listed(all)) if !all.iter().any(|(tag, strong)| *strong && is_it(tag)) => {
                Err(Problem::of(Reject::PreconditionFailed))
            }
            _ => Ok(()),
        }
    }

    /// Whether a reader has this already.
    pub fn is_known(&self, tag: &str) -> bool {
        let tag = tag.strip_prefix("W/").unwrap_or(tag);
        match &self.unless {
            None => false,
            Some(Tags::Any) => true,
            Some(Tags::Listed(all)) => all.iter().any(|(listed, _)| same(listed, tag)),
        }
    }
}

/// Whether a tag that was sent is this one, compressed or not.
fn same(sent: &str, tag: &str) -> bool {
    let sent = sent.strip_suffix('"').unwrap_or_default();
    sent.strip_suffix(GZIP_SUFFIX).unwrap_or(sent) == tag.strip_suffix('"').unwrap_or_default()
}

/// Reads a list of tags; a header sent several times is one list.
fn tags(headers: &HeaderMap, name: &HeaderName) -> Result<Option<Tags>, Problem> {
    let malformed = || bad(name, FieldCode::InvalidValue, "must be * or entity tags in quotes");
    let mut listed = Vec::new();
    let (mut any, mut lines) = (false, 0_usize);
    for value in headers.get_all(name) {
        lines = lines.saturating_add(1);
        let mut rest = value.to_str().map_err(|_| malformed())?.trim();
        any |= rest == "*";
        while rest != "*" && !rest.is_empty() {
            let (strong, opened) = match rest.strip_prefix("W/") {
                Some(weak) => (false, weak),
                None => (true, rest),
            };
            let inside = opened.strip_prefix('"').ok_or_else(malformed)?;
            let (tag, after) = inside.split_once('"').ok_or_else(malformed)?;
            listed.push((format!("\"{tag}\""), strong));
            let after = after.trim_start();
            rest = match after.strip_prefix(',') {
                Some(next) => next.trim_start(),
                None if after.is_empty() => after,
                None => return Err(malformed()),
            };
        }
    }
    match (lines, any, listed.is_empty()) {
        (0, ..) => Ok(None),
        (1, true, true) => Ok(Some(Tags::Any)),
        // A list may be empty (RFC 9110, 5.6.1): nothing is as its sender saw it.
        (_, false, _) => Ok(Some(Tags::Listed(listed))),
        _ => Err(malformed()),
    }
}

fn bad(name: &HeaderName, code: FieldCode, detail: &'static str) -> Problem {
    let field = match *name {
        header::IF_MATCH => "If-Match",
        header::IF_NONE_MATCH => "If-None-Match",
        _ => "If-Unmodified-Since",
    };
    Problem::invalid(vec![FieldError { field: field.to_owned(), code, detail: detail.into() }])
}

#[cfg(test)]
#[path = "../../tests/unit/http/preconditions.rs"]
mod tests;
