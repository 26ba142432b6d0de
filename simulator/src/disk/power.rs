//! What a loss of power leaves of what was not synced.

use super::{Node, Unsynced, put};
use crate::chance::Chance;

/// The least that is written as a whole.
pub(super) const SECTOR_BYTES: usize = 512;

/// What a loss of power leaves of a file or a folder.
pub(super) fn lose(node: &mut Node, mood: u64, chance: &mut Chance) {
    match node {
        Node::File { live, synced, unsynced, forgot, locked, .. } => {
            *locked = false;
            // Most files are as they are on the disk.
            if unsynced.is_empty() && !std::mem::take(forgot) {
                return;
            }
            let kept = chance.index(unsynced.len().saturating_add(1));
            for (place, change) in unsynced.drain(..).enumerate() {
                let whole = match mood {
                    0 => false,
                    1 => true,
                    2 => place < kept,
                    _ => chance.one_in(2),
                };
                match change {
                    change if whole => change.reach(synced),
                    Unsynced::Length(_) => {}
                    Unsynced::Bytes { at, bytes } if mood >= 2 => {
                        some_sectors(synced, at, &bytes, mood == 2, chance);
                    }
                    Unsynced::Bytes { .. } => {}
                }
            }
            live.clone_from(synced);
        }
        Node::Folder { live, synced, unsynced, locked } => {
            *locked = false;
            let kept = match mood {
                0 => 0,
                1 => unsynced.len(),
                _ => chance.index(unsynced.len().saturating_add(1)),
            };
            unsynced.drain(..).take(kept).for_each(|change| change.happen(synced));
            live.clone_from(synced);
        }
    }
}

/// Puts some sectors of a write: the first ones, or any.
fn some_sectors(file: &mut Vec<u8>, at: usize, bytes: &[u8], first: bool, chance: &mut Chance) {
    let end = at.saturating_add(bytes.len());
    let mut from = at;
    while from < end {
        let to = (from / SECTOR_BYTES).saturating_add(1).saturating_mul(SECTOR_BYTES).min(end);
        let there = chance.one_in(2);
        if there {
            let sector = bytes.get(from.saturating_sub(at)..to.saturating_sub(at));
            put(file, from, sector.unwrap_or_default());
        } else if first {
            return;
        }
        from = to;
    }
}
