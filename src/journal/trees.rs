//! The trees of an embedded store: sled's. On a disk that this thread has mounted they are a plain
//! map beside a file of what was put, since sled writes to the system's disk alone.
//!
//! Nothing here is relied on: what the trees hold is made again from the log.

#[cfg(feature = "simulated")]
pub(super) use plain::{Db, Tree, mounted, of_sled};
#[cfg(not(feature = "simulated"))]
pub(super) use sled::{Db, Tree};

/// The data file.
pub(super) const DATABASE_FILE: &str = "db";

/// Whether the trees in a folder are on a mounted disk; then they are opened.
#[cfg(not(feature = "simulated"))]
pub(super) const fn mounted(_: &std::path::Path) -> Option<sled::Result<Db>> {
    None
}

/// The trees of sled's that are open.
#[cfg(not(feature = "simulated"))]
pub(super) const fn of_sled(db: sled::Db) -> Db {
    db
}

#[cfg(feature = "simulated")]
mod plain {
    use std::collections::BTreeMap;
    use std::io;
    use std::ops::Range;
    use std::os::unix::fs::FileExt;
    use std::path::Path;
    use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

    use sled::IVec;

    use super::DATABASE_FILE;
    use crate::disk::{self, File, OpenOptions, mounted::ROOT};

    /// Bytes before an entry's name, key and value: their checksum and lengths.
    const ENTRY_HEADER_BYTES: usize = 16;

    /// Opens the trees of a folder on the mounted disk.
    pub fn mounted(folder: &Path) -> Option<sled::Result<Db>> {
        let here = folder.starts_with(ROOT) && disk::simulated();
        here.then(|| Plain::open(folder).map(|plain| Db::Plain(Arc::new(Mutex::new(plain)))))
    }

    /// A map from a tree's name and a key to a value, and the file of what was put.
    #[derive(Debug)]
    pub struct Plain {
        map: BTreeMap<(Vec<u8>, Vec<u8>), Vec<u8>>,
        file: File,
        end: u64,
    }

    impl Plain {
        fn open(folder: &Path) -> sled::Result<Plain> {
            disk::create_dir_all(folder)?;
            let file = |name: &str| {
                let mut how = OpenOptions::new();
                how.read(true).write(true).create(true).open(folder.join(name))
            };
            file("conf")?;
            let file = file(DATABASE_FILE)?;
            let bytes = disk::read(folder.join(DATABASE_FILE))?;
            let (mut map, mut end) = (BTreeMap::new(), 0);
            while let Some((length, entry)) = bytes.get(end..).and_then(entry) {
                let Some((name, key, value)) = entry else {
                    // Cut off as a torn write, unless something sound follows.
                    let rest = bytes.get(end + length..).unwrap_or_default();
                    if self::entry(rest).is_some_and(|(_, entry)| entry.is_some()) {
                        return Err(sled::Error::ReportableBug("a changed entry".to_owned()));
                    }
                    break;
                };
                map.insert((name, key), value);
                end += length;
            }
            let end = u64::try_from(end).unwrap_or(u64::MAX);
            file.set_len(end)?;
            Ok(Plain { map, file, end })
        }

        /// Writes an entry at once, as sled may at any time; whoever needs it on disk syncs.
        fn put(&mut self, name: &[u8], key: &[u8], value: &[u8]) -> io::Result<()> {
            let lengths = [name, key, value].map(|part| u32::try_from(part.len()).unwrap_or(0));
            let lengths = lengths.map(u32::to_le_bytes).concat();
            let body = [lengths.as_slice(), name, key, value].concat();
            let entry = [crc32fast::hash(&body).to_le_bytes().as_slice(), &body].concat();
            self.file.write_all_at(&entry, self.end)?;
            self.end += u64::try_from(entry.len()).unwrap_or(u64::MAX);
            self.map.insert((name.to_vec(), key.to_vec()), value.to_vec());
            Ok(())
        }
    }

    /// The name, key and value of an entry.
    type Entry = (Vec<u8>, Vec<u8>, Vec<u8>);

    /// The length of the entry with which bytes begin, and itself if it is sound.
    fn entry(bytes: &[u8]) -> Option<(usize, Option<Entry>)> {
        let (written, body) = bytes.split_first_chunk::<4>()?;
        let length = |at: usize| {
            let length = body.get(at..)?.first_chunk::<4>()?;
            usize::try_from(u32::from_le_bytes(*length)).ok()
        };
        let (name, key, value) = (length(0)?, length(4)?, length(8)?);
        let all = ENTRY_HEADER_BYTES.checked_add(name)?.checked_add(key)?.checked_add(value)?;
        let whole = bytes.get(4..all)?;
        if crc32fast::hash(whole) != u32::from_le_bytes(*written) {
            return Some((all, None));
        }
        let mut parts = whole.get(12..)?;
        let mut take = |length: usize| {
            let (part, rest) = parts.split_at_checked(length)?;
            parts = rest;
            Some(part.to_vec())
        };
        Some((all, Some((take(name)?, take(key)?, take(value)?))))
    }

    /// An open store.
    #[derive(Debug, Clone)]
    pub enum Db {
        /// sled's.
        Sled(sled::Db),
        /// On the mounted disk.
        Plain(Arc<Mutex<Plain>>),
    }

    impl Db {
        /// The tree of a name.
        pub fn open_tree(&self, name: &str) -> sled::Result<Tree> {
            match self {
                Db::Sled(db) => db.open_tree(name).map(Tree::Sled),
                Db::Plain(plain) => Ok(Tree::Plain(Arc::clone(plain), name.as_bytes().to_vec())),
            }
        }
    }

    /// The trees of sled's that are open.
    pub const fn of_sled(db: sled::Db) -> Db {
        Db::Sled(db)
    }

    /// A tree of a store.
    #[derive(Debug)]
    pub enum Tree {
        /// sled's.
        Sled(sled::Tree),
        /// On the mounted disk, with its name.
        Plain(Arc<Mutex<Plain>>, Vec<u8>),
    }

    fn lock(plain: &Mutex<Plain>) -> MutexGuard<'_, Plain> {
        plain.lock().unwrap_or_else(PoisonError::into_inner)
    }

    impl Tree {
        pub fn get(&self, key: impl AsRef<[u8]>) -> sled::Result<Option<IVec>> {
            match self {
                Tree::Sled(tree) => tree.get(key),
                Tree::Plain(plain, name) => {
                    let key = (name.clone(), key.as_ref().to_vec());
                    Ok(lock(plain).map.get(&key).map(|value| value.as_slice().into()))
                }
            }
        }

        pub fn insert<V: AsRef<[u8]>>(
            &self,
            key: impl AsRef<[u8]>,
            value: V,
        ) -> sled::Result<Option<IVec>> {
            match self {
                Tree::Sled(tree) => tree.insert(key, value.as_ref()),
                Tree::Plain(plain, name) => {
                    lock(plain).put(name, key.as_ref(), value.as_ref())?;
                    Ok(None)
                }
            }
        }

        pub fn is_empty(&self) -> bool {
            match self {
                Tree::Sled(tree) => tree.is_empty(),
                Tree::Plain(plain, of) => !lock(plain).map.keys().any(|(name, _)| name == of),
            }
        }

        pub fn last(&self) -> sled::Result<Option<(IVec, IVec)>> {
            match self {
                Tree::Sled(tree) => tree.last(),
                Tree::Plain(plain, of) => {
                    let plain = lock(plain);
                    let last = plain.map.iter().rev().find(|((name, _), _)| name == of);
                    Ok(last.map(|((_, key), value)| (key[..].into(), value[..].into())))
                }
            }
        }

        pub fn range(
            &self,
            keys: Range<[u8; 8]>,
        ) -> Box<dyn Iterator<Item = sled::Result<(IVec, IVec)>>> {
            match self {
                Tree::Sled(tree) => Box::new(tree.range(keys)),
                Tree::Plain(plain, name) => {
                    let to = |key: [u8; 8]| (name.clone(), key.to_vec());
                    let plain = lock(plain);
                    let found = plain.map.range(to(keys.start)..to(keys.end));
                    let found = found.map(|((_, key), value)| (key[..].into(), value[..].into()));
                    Box::new(found.map(Ok).collect::<Vec<_>>().into_iter())
                }
            }
        }

        pub fn flush(&self) -> sled::Result<usize> {
            match self {
                Tree::Sled(tree) => tree.flush(),
                Tree::Plain(..) => Ok(0),
            }
        }
    }
}
