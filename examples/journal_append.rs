//! Appends blocks to a journal and prints a line after each: the minimal use of a journal, and the
//! program that tests/durability.sh traces.
//!
//!     cargo run --example journal_append -- DATA_DIRECTORY COUNT [FOLDER]
//!
//! With a FOLDER, the journal is archived to `archive` in it and exported to `copies/venue.blocks`.

use std::env;
use std::error::Error;
use std::fs;
use std::io::{Write, stdout};
use std::iter;
use std::path::PathBuf;

use exchange::command::{Command, Record};
use exchange::rules::Rules;
use exchange::units::Sequence;
use journal::archive::Archive;
use journal::block::BlockBuilder;
use journal::directory::LogJournal;
use journal::replay::{Replayer, replay};
use journal::{Journal, portable};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args_os().skip(1);
    let data = PathBuf::from(arguments.next().ok_or("which data directory?")?);
    let count = arguments.next().ok_or("how many blocks?")?;
    let count: u32 = count.to_str().ok_or("how many blocks?")?.parse()?;
    let (mut journal, recovered) = LogJournal::open(&data)?;
    let mut out = stdout();
    writeln!(out, "opened at {} cut {:?}", recovered.head.sequence, recovered.cut)?;
    // Each block records the results of the records before it.
    let mut replayer = Replayer::new();
    replay(journal.read(Sequence::ZERO.next()), &mut replayer, |_, _| {})?;
    for _ in 0..count {
        let head = *journal.head();
        let sequence = head.sequence.next();
        let first = sequence.get() == 1;
        let command =
            if first { Command::OpenVenue(Rules::current()) } else { Command::AdvanceClock };
        let mut builder = BlockBuilder::new(&head);
        let record = Record { sequence, time: head.time, once: None, act: None, command };
        builder.push(record).map_err(|_| "an empty block has room")?;
        match journal.append(builder.build(replayer.results())?) {
            Ok(block) => {
                writeln!(out, "appended {}", block.last())?;
                replay(iter::once(Ok(block)), &mut replayer, |_, _| {})?;
            }
            Err(error) => writeln!(out, "failed {error}")?,
        }
    }
    let Some(folder) = arguments.next().map(PathBuf::from) else { return Ok(()) };
    let blocks: Result<Vec<_>, _> = journal.read(Sequence::ZERO.next()).collect();
    Archive::open(&folder.join("archive"))?.0.append(&blocks?)?;
    writeln!(out, "archived")?;
    let copies = folder.join("copies");
    fs::create_dir(&copies)?;
    portable::export(journal.read(Sequence::ZERO.next()), &copies.join("venue.blocks"))?;
    writeln!(out, "exported")?;
    Ok(())
}
