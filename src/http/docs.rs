//! `GET /docs`: the interface's documentation, rendered in the browser by Swagger UI from
//! `/api/v1/openapi.json`. All files are embedded in the binary; the pages must not load anything
//! from elsewhere.

use std::io::Read;
use std::sync::LazyLock;

use flate2::read::DeflateDecoder;
use hyper::http::request::Parts;
use utoipa_swagger_ui_vendored::SWAGGER_UI_VENDORED;

use super::call::SharedState;
use super::packed::Packed;
use super::problem::Problem;
use super::reply::Reply;

const PAGE: &str = include_str!("docs/page.html");
const START: &str = include_str!("docs/start.js");

static PAGE_PACKED: LazyFile = LazyLock::new(|| Packed::new(PAGE).ok());
static START_PACKED: LazyFile = LazyLock::new(|| Packed::new(START).ok());
static SCRIPT: LazyFile = LazyLock::new(|| Packed::new(unpacked("swagger-ui-bundle.js")?).ok());
static STYLE: LazyFile = LazyLock::new(|| Packed::new(unpacked("swagger-ui.css")?).ok());

/// A file, compressed on first use; `None` if it cannot be read.
type LazyFile = LazyLock<Option<Packed>>;

/// Largest file to decompress: about three times the largest that exists.
const FILE_BYTES_MAX: u64 = 4 << 20;

/// `GET /docs`
pub fn page(shared: &SharedState, head: &Parts) -> Result<Reply, Problem> {
    file(shared, head, "text/html; charset=utf-8", &PAGE_PACKED)
}

/// `GET /docs/start.js`
pub fn start(shared: &SharedState, head: &Parts) -> Result<Reply, Problem> {
    file(shared, head, "text/javascript; charset=utf-8", &START_PACKED)
}

/// `GET /docs/swagger-ui-bundle.js`
pub fn script(shared: &SharedState, head: &Parts) -> Result<Reply, Problem> {
    file(shared, head, "text/javascript; charset=utf-8", &SCRIPT)
}

/// `GET /docs/swagger-ui.css`
pub fn style(shared: &SharedState, head: &Parts) -> Result<Reply, Problem> {
    file(shared, head, "text/css; charset=utf-8", &STYLE)
}

fn file(
    shared: &SharedState,
    head: &Parts,
    media: &'static str,
    file: &LazyFile,
) -> Result<Reply, Problem> {
    let file = file.as_ref().ok_or_else(|| Problem::internal("a page's file is not there"))?;
    Ok(file.reply(shared.venue.sequence(), media, &head.headers))
}

/// A file of the zip's `dist` folder.
fn unpacked(name: &str) -> Option<String> {
    let zip = SWAGGER_UI_VENDORED;
    let mut entry = directory(zip)?;
    loop {
        // A central directory header: 46 bytes, then name, extra field and comment.
        let head = entry.get(..46).filter(|head| head.starts_with(b"PK\x01\x02"))?;
        let [name_len, extra_len, comment_len] = [28, 30, 32].map(|at| number(head, at, 2));
        let path = entry.get(46..46 + name_len?)?;
        if path.ends_with(format!("/dist/{name}").as_bytes()) && number(head, 10, 2)? == 8 {
            let (packed_len, local) = (number(head, 20, 4)?, number(head, 42, 4)?);
            let local = zip.get(local..)?;
            let begin = 30 + number(local, 26, 2)? + number(local, 28, 2)?;
            let packed = local.get(begin..begin + packed_len)?;
            let mut text = String::new();
            DeflateDecoder::new(packed).take(FILE_BYTES_MAX).read_to_string(&mut text).ok()?;
            return Some(text);
        }
        entry = entry.get(46 + name_len? + extra_len? + comment_len?..)?;
    }
}

/// The zip's list of files, found by the record at its end.
fn directory(zip: &[u8]) -> Option<&[u8]> {
    let end = zip.windows(4).rposition(|four| four == b"PK\x05\x06")?;
    zip.get(number(zip.get(end..)?, 16, 4)?..)
}

/// A little-endian number of `len` bytes.
fn number(bytes: &[u8], at: usize, len: usize) -> Option<usize> {
    let digits = bytes.get(at..at + len)?;
    Some(digits.iter().rev().fold(0, |sum, digit| sum << 8 | usize::from(*digit)))
}

#[cfg(test)]
#[path = "../../tests/unit/http/docs.rs"]
mod tests;
