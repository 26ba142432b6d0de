//! The dashboard's files: compiled in, compressed once, and served below a name that changes with
//! them, so that a browser keeps them for ever. One page answers every address of the dashboard.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use data_encoding::HEXLOWER;
use hyper::http::request::Parts;
use include_dir::{Dir, include_dir};
use sha2::{Digest, Sha256};

use super::call::SharedState;
use super::packing::Packed;
use super::problem::{Kind, Problem};
use super::reply::Reply;

static FOLDER: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../dashboard");

/// Where files are, and how the page names that.
const ASSETS: &str = "/assets/";
/// Digits of the hash in their address.
const HASH_DIGITS: usize = 16;

/// The files by path, each with its media type, and the page.
struct Files {
    below: String,
    all: BTreeMap<&'static str, (&'static str, Packed)>,
    page: Packed,
}

static FILES: OnceLock<Option<Files>> = OnceLock::new();

fn files() -> Result<&'static Files, Problem> {
    let files = FILES.get_or_init(made).as_ref();
    files.ok_or_else(|| Problem::internal("the dashboard's files are unfit"))
}

fn made() -> Option<Files> {
    let mut files = BTreeMap::new();
    let mut hash = Sha256::new();
    let mut folders = vec![&FOLDER];
    while let Some(folder) = folders.pop() {
        folders.extend(folder.dirs());
        for file in folder.files() {
            let path = file.path().to_str()?;
            let Some(media) = media_of(path) else { continue };
            hash.update(path.as_bytes());
            hash.update(file.contents());
            let packed = match file.contents_utf8().filter(|_| path.starts_with("js/")) {
                Some(script) => Packed::new(uncommented(script)),
                None => Packed::new(file.contents()),
            };
            files.insert(path, (media, packed.ok()?));
        }
    }
    let digits = HEXLOWER.encode(&hash.finalize());
    let below = format!("{ASSETS}{}/", digits.get(..HASH_DIGITS)?);
    let page = FOLDER.get_file("index.html")?.contents_utf8()?.replace(ASSETS, &below);
    Some(Files { below, all: files, page: Packed::new(page).ok()? })
}

/// A script without the lines that are comments: a tenth of what would be sent is for whoever reads
/// the sources.
fn uncommented(script: &str) -> String {
    let (mut kept, mut within) = (String::with_capacity(script.len()), false);
    for line in script.split_inclusive('\n') {
        let text = line.trim();
        within |= text.starts_with("/**") && (text.ends_with("*/") || !text.contains("*/"));
        if !within && !text.starts_with("//") {
            kept.push_str(line);
        }
        within &= !text.ends_with("*/");
    }
    kept
}

/// The media type of a file that is served; `None` for those that are not.
fn media_of(path: &str) -> Option<&'static str> {
    if path.starts_with("tests/") || path.ends_with(".d.ts") || path.ends_with("config.json") {
        return None;
    }
    Some(match path.rsplit_once('.')?.1 {
        "js" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "json" => "application/json",
        "svg" => "image/svg+xml",
        "woff2" => "font/woff2",
        _ => return None,
    })
}

/// `GET` of any address of the dashboard: the page, which knows the rest.
pub fn page(shared: &SharedState, head: &Parts) -> Result<Reply, Problem> {
    Ok(files()?.page.reply(shared.venue.sequence(), "text/html; charset=utf-8", &head.headers))
}

/// `GET /assets/{hash}/{path}`
pub fn file(shared: &SharedState, head: &Parts) -> Result<Reply, Problem> {
    let files = files()?;
    let none = || Problem::new(Kind::NotFound, "no such file");
    let path = head.uri.path().strip_prefix(files.below.as_str()).ok_or_else(none)?;
    let (media, packed) = files.all.get(path).ok_or_else(none)?;
    let reply = packed.reply(shared.venue.sequence(), media, &head.headers);
    Ok(Reply { lasting: true, ..reply })
}

#[cfg(test)]
#[path = "../../tests/unit/http/dashboard.rs"]
mod tests;
