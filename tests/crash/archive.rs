//! The archive beside the journal: after every kill it holds a prefix of the journal's blocks and
//! at most a torn tail. Kills alone hardly ever tear a write, so some tails are torn by the test.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use journal::JournalError;
use journal::member::MemberHeader;
use journal::portable::{PortableFile, segments};

use crate::dice::Dice;

/// What a server logs when it cuts off a torn tail.
const CUT: &str = "what it left was cut off";

/// Counts of what was seen of archives.
#[derive(Debug, Default)]
pub struct Seen {
    /// Blocks in the archives of all venues when each venue ended.
    pub blocks: u64,
    /// Kills after which the archive ended before the journal.
    pub behind: u64,
    /// Tails torn by a kill.
    pub torn_by_kill: u64,
    /// Tails torn by the test.
    pub torn_by_hand: u64,
    /// Torn tails that a server logged as cut off.
    pub cut: u64,
}

/// One venue's archive through all its kills.
#[derive(Debug, Default)]
pub struct Watch {
    /// Whole blocks at the last check.
    blocks: usize,
    /// Whether there was a torn tail at the last check.
    torn: bool,
}

impl Watch {
    /// Compares the archive with the journal's blocks; an error says what is wrong.
    pub fn judge(
        &mut self,
        folder: &Path,
        journal: &[Vec<u8>],
        log: &str,
        seen: &mut Seen,
    ) -> Result<(), String> {
        let cut = log.contains(CUT);
        seen.cut += u64::from(cut);
        if cut && !self.torn {
            return Err(format!("an archive that was whole was cut: {log}"));
        }
        let (blocks, torn) = whole_blocks(folder, journal)?;
        if blocks < self.blocks {
            return Err(format!("the archive shrank from {} blocks to {blocks}", self.blocks));
        }
        seen.torn_by_kill += u64::from(torn && (cut || !self.torn));
        seen.behind += u64::from(blocks < journal.len());
        (self.blocks, self.torn) = (blocks, torn);
        Ok(())
    }

    /// A server that listens must have cut off a torn tail, and said so.
    pub fn judge_start(&self, log: &str) -> Result<(), String> {
        if self.torn == log.contains(CUT) {
            Ok(())
        } else {
            Err(format!("torn at the start: {}, but it logged {log}", self.torn))
        }
    }

    /// After an orderly stop the archive must hold every block.
    pub fn judge_end(&self, journal: &[Vec<u8>], seen: &mut Seen) -> Result<(), String> {
        seen.blocks += u64::try_from(self.blocks).unwrap();
        if self.torn || self.blocks != journal.len() {
            let (blocks, all) = (self.blocks, journal.len());
            return Err(format!("the ended archive has {blocks} of {all} blocks"));
        }
        Ok(())
    }

    /// Leaves the tail as an interrupted write does: the last member cut short, or its end still
    /// zeros, or only the beginning of a further member.
    pub fn tear(&mut self, folder: &Path, journal: &[Vec<u8>], dice: &mut Dice, seen: &mut Seen) {
        let Some(path) = last_segment(folder).filter(|_| !self.torn) else { return };
        let bytes = fs::read(&path).unwrap();
        let Some(begin) = last_member(&bytes) else { return };
        let length = bytes.len() - begin;
        let at = begin + 1 + dice.below(length - 1);
        let file = OpenOptions::new().write(true).open(&path).unwrap();
        let offset = |at: usize| u64::try_from(at).unwrap();
        match dice.below(3) {
            0 => file.set_len(offset(at)).unwrap(),
            1 => file.write_all_at(&vec![0; bytes.len() - at], offset(at)).unwrap(),
            _ => file.write_all_at(&bytes[begin..at], offset(bytes.len())).unwrap(),
        }
        let (blocks, torn) = whole_blocks(folder, journal).unwrap();
        assert!(blocks <= self.blocks);
        // If the zeroed bytes were zeros before, the member is still whole.
        seen.torn_by_hand += u64::from(torn);
        (self.blocks, self.torn) = (blocks, torn);
    }
}

fn last_segment(folder: &Path) -> Option<PathBuf> {
    if !folder.exists() {
        return None;
    }
    segments(folder).unwrap()?.pop_back()
}

/// Offset of the last whole member of a file.
fn last_member(bytes: &[u8]) -> Option<usize> {
    let (mut last, mut at) = (None, 0);
    while let Ok(header) = MemberHeader::read(&bytes[at..]) {
        let end = at + usize::try_from(header.member_bytes()).unwrap();
        if end > bytes.len() {
            break;
        }
        (last, at) = (Some(at), end);
    }
    last
}

/// How many blocks of the journal the archive begins with, and whether a torn member follows.
/// Readable blocks of a torn member do not count: the server cuts off the whole member.
fn whole_blocks(folder: &Path, journal: &[Vec<u8>]) -> Result<(usize, bool), String> {
    let Some(last) = last_segment(folder) else { return Ok((0, false)) };
    let mut archive = PortableFile::open(folder).map_err(|error| error.to_string())?;
    let (mut blocks, mut member, mut before_member) = (0, None, 0);
    loop {
        let read = archive.next();
        let place = archive.place();
        let now = place.member.map(|member| (place.file.clone(), member.number));
        if now != member {
            (member, before_member) = (now, blocks);
        }
        match read {
            None => return Ok((blocks, false)),
            Some(Ok(block)) => match journal.get(blocks) {
                Some(bytes) if bytes == block.bytes() => blocks += 1,
                Some(_) => return Err(format!("block {blocks} of the archive is another")),
                None => return Err(format!("the archive has more than {blocks} blocks")),
            },
            Some(Err(JournalError::Damaged(damage))) => {
                if place.file != last {
                    return Err(format!("more than the tail is torn: {place:?}: {damage:?}"));
                }
                return Ok((before_member, true));
            }
            Some(Err(error)) => return Err(error.to_string()),
        }
    }
}
