//! The simulated disk in the hands of who looks at it, damages it and puts it back.

use std::io;
use std::path::{Path, PathBuf};

use super::{Disk, Image, Node, names};

impl Disk {
    /// All that is on it, to be put back.
    pub fn image(&self) -> Image {
        Image(self.state().nodes.clone())
    }

    /// Puts back what was on it.
    pub fn restore(&self, image: Image) {
        let mut state = self.state();
        state.nodes = image.0;
        state.boots = state.boots.saturating_add(1);
        state.unlock();
    }

    /// The bytes of a file.
    pub fn read(&self, path: &Path) -> Option<Vec<u8>> {
        let state = self.state();
        let place = state.find(path).ok()?;
        match state.nodes.get(place)? {
            Node::File { live, .. } => Some(live.clone()),
            Node::Folder { .. } => None,
        }
    }

    /// Changes the bytes of a file under everybody, as a failing disk does; whether it is there.
    pub fn damage(&self, path: &Path, change: impl Fn(&mut Vec<u8>)) -> bool {
        let mut state = self.state();
        let Ok(place) = state.find(path) else { return false };
        match state.nodes.get_mut(place) {
            Some(Node::File { live, synced, .. }) => {
                change(live);
                change(synced);
                true
            }
            _ => false,
        }
    }

    /// Loses a name under everybody; whether it was there.
    pub fn lose(&self, path: &Path) -> bool {
        let mut state = self.state();
        let Some(name) = names(path).next_back() else { return false };
        let parent = path.parent().and_then(|parent| state.find(parent).ok());
        match parent.and_then(|parent| state.nodes.get_mut(parent)) {
            Some(Node::Folder { live, synced, .. }) => {
                synced.remove(&name);
                live.remove(&name).is_some()
            }
            _ => false,
        }
    }

    /// The files in a folder, for who damages them.
    pub fn files(&self, path: &Path) -> Vec<PathBuf> {
        let state = self.state();
        let place = state.find(path).ok().and_then(|place| state.nodes.get(place));
        match place {
            Some(Node::Folder { live, .. }) => live.keys().map(|name| path.join(name)).collect(),
            _ => Vec::new(),
        }
    }

    /// Writes all files below a folder to one of the system's, for a look at them.
    pub fn copy_to(&self, path: &Path, to: &Path) -> io::Result<()> {
        std::fs::create_dir_all(to)?;
        for file in self.files(path) {
            let name = to.join(file.file_name().unwrap_or_default());
            match self.read(&file) {
                Some(bytes) => std::fs::write(name, bytes)?,
                None => self.copy_to(&file, &name)?,
            }
        }
        Ok(())
    }

    /// Bytes of all files in a folder and those in it.
    pub fn used_in(&self, path: &Path) -> u64 {
        let state = self.state();
        let (mut bytes, mut left) = (0_usize, Vec::from_iter(state.find(path)));
        while let Some(node) = left.pop().and_then(|place| state.nodes.get(place)) {
            match node {
                Node::File { live, .. } => bytes = bytes.saturating_add(live.len()),
                Node::Folder { live, .. } => left.extend(live.values()),
            }
        }
        u64::try_from(bytes).unwrap_or(u64::MAX)
    }
}
