//! The simulated disk as the journal's code sees it: paths, handles, locks.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use journal::disk::mounted::{Files, Metadata, OpenFile, OpenOptions};
use parking_lot::{Mutex, MutexGuard};

use super::{Disk, EIO, Node, Renamed, SEGMENT_BYTES, State, failed, folder, names};

/// The disk, for the journal's code.
#[derive(Debug, Clone)]
pub struct Mounted(pub Arc<Disk>);

impl Files for Mounted {
    fn open(&self, path: &Path, how: &OpenOptions) -> io::Result<Box<dyn OpenFile>> {
        let mut state = self.0.state();
        state.alive()?;
        let place = match state.find(path) {
            Ok(place) => place,
            Err(error) if error.kind() == io::ErrorKind::NotFound && how.create => {
                let (live, synced) = (Vec::new(), Vec::new());
                let unsynced = Vec::new();
                state.note(|| format!("make {}", path.display()));
                let file =
                    Node::File { live, synced, unsynced, forgot: false, links: 1, locked: false };
                state.make(path, file)?
            }
            Err(error) => return Err(error),
        };
        if how.truncate {
            state.set_len(place, 0)?;
        }
        let boots = state.boots;
        Ok(Box::new(Handle { disk: Arc::clone(&self.0), place, boots, locked: Mutex::new(false) }))
    }

    fn metadata(&self, path: &Path) -> io::Result<Metadata> {
        let state = self.0.state();
        state.alive()?;
        state.find(path).and_then(|place| state.told(place))
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<String>> {
        let state = self.0.state();
        state.alive()?;
        match state.nodes.get(state.find(folder)?) {
            Some(Node::Folder { live, .. }) => Ok(live.keys().cloned().collect()),
            _ => Err(io::ErrorKind::NotADirectory.into()),
        }
    }

    fn make_folders(&self, path: &Path) -> io::Result<()> {
        let mut state = self.0.state();
        let mut above = PathBuf::from("/");
        for name in names(path) {
            above.push(name);
            state.alive()?;
            match state.find(&above) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    state.note(|| format!("make {}", above.display()));
                    state.make(&above, folder())?;
                }
                found => drop(found?),
            }
        }
        Ok(())
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = self.0.state();
        state.alive()?;
        state.find(from)?;
        let ((folder, old), (there, new)) = (state.parent(from)?, state.parent(to)?);
        if folder != there {
            return Err(io::ErrorKind::CrossesDevices.into());
        }
        if let Ok(replaced) = state.find(to) {
            unlink(&mut state, replaced);
        }
        state.note(|| format!("rename {} {}", from.display(), to.display()));
        state.name(folder, Renamed::Moved(old, new))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut state = self.0.state();
        state.alive()?;
        let place = state.find(path)?;
        let (parent, name) = state.parent(path)?;
        state.note(|| format!("remove {}", path.display()));
        state.name(parent, Renamed::Gone(name))?;
        unlink(&mut state, place);
        Ok(())
    }

    fn segment_bytes(&self) -> usize {
        SEGMENT_BYTES
    }
}

fn unlink(state: &mut State, place: usize) {
    if let Some(Node::File { links, .. }) = state.nodes.get_mut(place) {
        *links = links.saturating_sub(1);
    }
}

/// An open file or folder.
#[derive(Debug)]
struct Handle {
    disk: Arc<Disk>,
    place: usize,
    boots: u64,
    locked: Mutex<bool>,
}

impl Handle {
    fn state(&self) -> io::Result<MutexGuard<'_, State>> {
        let state = self.disk.state();
        state.alive()?;
        if state.boots == self.boots { Ok(state) } else { Err(failed(EIO)) }
    }
}

impl OpenFile for Handle {
    fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut state = self.state()?;
        let short = state.faults.short_reads;
        let short = into.len() > 1 && state.chance.one_in(short);
        let Some(Node::File { live, .. }) = state.nodes.get(self.place) else {
            return Err(io::ErrorKind::IsADirectory.into());
        };
        let rest = usize::try_from(offset).ok().and_then(|from| live.get(from..));
        let rest = rest.unwrap_or_default();
        let room = if short { into.len() / 2 } else { into.len() };
        let length = rest.len().min(room);
        let (Some(to), Some(from)) = (into.get_mut(..length), rest.get(..length)) else {
            return Ok(0);
        };
        to.copy_from_slice(from);
        Ok(length)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        let mut state = self.state()?;
        let place = self.place;
        state.note(|| format!("write {place} {offset} {}", bytes.len()));
        state.write(place, bytes, offset)
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        let mut state = self.state()?;
        let place = self.place;
        state.note(|| format!("length {place} {length}"));
        state.set_len(place, length)
    }

    fn sync(&self) -> io::Result<()> {
        let mut state = self.state()?;
        let place = self.place;
        state.note(|| format!("sync {place}"));
        state.sync(place)
    }

    fn metadata(&self) -> io::Result<Metadata> {
        self.state()?.told(self.place)
    }

    fn lock(&self) -> io::Result<bool> {
        let mut state = self.state()?;
        let Some(Node::File { locked, .. } | Node::Folder { locked, .. }) =
            state.nodes.get_mut(self.place)
        else {
            return Ok(false);
        };
        if std::mem::replace(locked, true) {
            return Ok(false);
        }
        *self.locked.lock() = true;
        Ok(true)
    }

    fn again(&self) -> Box<dyn OpenFile> {
        let (disk, locked) = (Arc::clone(&self.disk), Mutex::new(false));
        Box::new(Handle { disk, place: self.place, boots: self.boots, locked })
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        if !*self.locked.lock() {
            return;
        }
        let mut state = self.disk.state();
        if state.boots == self.boots
            && let Some(Node::File { locked, .. } | Node::Folder { locked, .. }) =
                state.nodes.get_mut(self.place)
        {
            *locked = false;
        }
    }
}
