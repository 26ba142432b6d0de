//! The dashboard's files: compiled in, or an operator's own copy that is read once at the start.
//! They are served below a name that changes with them, so that a browser keeps them for ever.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::{Arc, LazyLock};

use bytes::Bytes;
use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};

use super::packed::{Packed, gunzip};

/// The files as `build.rs` packs them: each after a line with its length and its path.
static FOLDER: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/dashboard.gz"));
static BUILT_IN: LazyLock<Option<Arc<Assets>>> =
    LazyLock::new(|| Assets::of(unpacked(FOLDER)?).ok().map(Arc::new));

/// Where files are, and how the page names that.
const ASSETS: &str = "/assets/";
/// The page.
const PAGE: &str = "index.html";
/// Digits of the hash in their address.
const HASH_DIGITS: usize = 16;
/// Most bytes of an operator's own copy, all of which is kept in memory.
const OWN_BYTES_MAX: u64 = 64 << 20;

/// Which dashboard a venue has.
#[derive(Debug, Clone, Default)]
pub enum Dashboard {
    /// The one that is compiled in.
    #[default]
    BuiltIn,
    /// The operator's own.
    Own(Arc<Assets>),
    /// None.
    Absent,
}

impl Dashboard {
    /// Its files, if there are any.
    pub fn assets(&self) -> Option<&Assets> {
        match self {
            Dashboard::BuiltIn => BUILT_IN.as_deref(),
            Dashboard::Own(assets) => Some(assets),
            Dashboard::Absent => None,
        }
    }
}

/// Files by path, each with its media type, and the page.
#[derive(Debug)]
pub struct Assets {
    below: String,
    all: BTreeMap<String, (&'static str, Packed)>,
    page: Packed,
}

impl Assets {
    /// Reads a folder.
    ///
    /// # Errors
    /// It cannot be read, has no `index.html`, or is too large.
    pub fn read(folder: &Path) -> io::Result<Assets> {
        let (mut files, mut left) = (Vec::new(), OWN_BYTES_MAX);
        let mut folders = vec![folder.to_owned()];
        while let Some(inner) = folders.pop() {
            for entry in fs::read_dir(inner)? {
                let path = entry?.path();
                // Neither what is hidden nor a link back to where it came from is served.
                let meta = fs::symlink_metadata(&path)?;
                let name = path.strip_prefix(folder).ok().and_then(Path::to_str);
                let Some(name) = name.filter(|name| !name.contains("/.") && !name.starts_with('.'))
                else {
                    continue;
                };
                if meta.is_dir() {
                    folders.push(path);
                } else if meta.is_file() && (name == PAGE || media_of(name).is_some()) {
                    left = left
                        .checked_sub(meta.len())
                        .ok_or_else(|| io::Error::other("it has more than 64 MiB"))?;
                    files.push((name.to_owned(), fs::read(&path)?.into()));
                }
            }
        }
        Assets::of(files)
    }

    fn of(mut files: Vec<(String, Bytes)>) -> io::Result<Assets> {
        files.sort_unstable();
        let mut all = BTreeMap::new();
        let (mut hash, mut page) = (Sha256::new(), None);
        for (path, contents) in files {
            hash.update(path.as_bytes());
            hash.update(&contents);
            if path == PAGE {
                page = Some(String::from_utf8_lossy(&contents).into_owned());
            } else if let Some(media) = media_of(&path) {
                all.insert(path, (media, Packed::new(contents)?));
            }
        }
        let page = page.ok_or_else(|| io::Error::other("it has no index.html"))?;
        let digits: String = HEXLOWER.encode(&hash.finalize()).chars().take(HASH_DIGITS).collect();
        let below = format!("{ASSETS}{digits}/");
        let page = Packed::new(page.replace(ASSETS, &below))?;
        Ok(Assets { below, all, page })
    }

    /// The page that answers every address.
    pub const fn page(&self) -> &Packed {
        &self.page
    }

    /// The file at an address, with its media type.
    pub fn file(&self, address: &str) -> Option<&(&'static str, Packed)> {
        self.all.get(address.strip_prefix(self.below.as_str())?)
    }
}

/// The files of a packed folder; `None` if it is not one.
fn unpacked(folder: &[u8]) -> Option<Vec<(String, Bytes)>> {
    let (mut all, mut files) = (Bytes::from(gunzip(folder).ok()?), Vec::new());
    while let Some(line) = memchr::memchr(b'\n', &all) {
        let head = all.split_to(line.checked_add(1)?);
        let (length, path) = str::from_utf8(&head).ok()?.trim_end().split_once(' ')?;
        let length = length.parse().ok().filter(|length| *length <= all.len())?;
        let mut contents = all.split_to(length);
        if path.starts_with("js/") {
            contents = uncommented(str::from_utf8(&contents).ok()?).into();
        }
        files.push((path.to_owned(), contents));
    }
    Some(files)
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
        "png" => "image/png",
        "ico" => "image/x-icon",
        "woff2" => "font/woff2",
        _ => return None,
    })
}

#[cfg(test)]
#[path = "../../tests/unit/http/assets.rs"]
mod tests;
