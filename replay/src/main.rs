//! The auditor's tool: proves, copies, rebuilds and explains a journal without the server.
//!
//! Must not know: the engine, HTTP, clocks, threads.

mod account;
mod answer;
mod book;
mod diff;
mod dump;
mod explain;
mod export;
mod fills;
mod import;
mod moment;
mod newfile;
mod pass;
mod progress;
mod rebuild;
mod reference;
mod register;
mod report;
mod salvage;
mod source;
mod tally;
mod verify;

use std::env;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{Args, CommandFactory, Parser, Subcommand};

use fills::{Format, Wanted};
use moment::Moment;
use reference::Reference;
use report::Wish;

const AFTER_HELP: &str = "\
A JOURNAL is a data directory of a stopped server, a copy of one, a file made by `export`, or the
folder of an archive (`openoutcry serve --archive`), which can be asked while it is written. A
running server holds a lock on its directory and opening it fails: stop the server, copy the
directory while it is stopped, or export once and ask the file. Opening a directory does what a
server's start does: a block that was refused, and so never acknowledged, is removed from it. To
leave a directory untouched ask a copy or an exported file, which is only ever read.

An exported file is plain, or compressed as gzip members that any gunzip unpacks to the plain one;
each is recognised by its first bytes, and every byte of either is verified.

A MOMENT is a record's sequence number (1342) or a time (2026-08-10T18:00:00Z), and means the state
after the last record not later than it. A time after the last record means the end; a state at a
record that is not there yet is an error, AT_BEYOND_END. As an end of a span any moment will do.
Users, markets and orders go by their id as clients saw it, or by the sequence number of the record
that made them.

With --json every answer is one object on one line (`fills` and `dump`: one a row) with `ok`; an
error has `ok` false, `code` and `error`. Answers go to stdout, and so do faults of the journal;
other errors go to stderr unless --json is given, and what ends a stream of rows always does. Long
work shows a bar where stderr is a terminal. Memory grows with users, markets and open orders, never
with the length of an exported file. Files are made whole or not at all and never overwrite.

Exit codes: 0 it is as it should be; 1 it could not be read, or what was asked for is not in it;
2 wrong usage; 3 the journal is damaged or contradicts itself, and the answer says where, or two
journals are not the same, or acknowledged records could not be salvaged.

Examples:
  openoutcry-replay export ./data journal.blocks.gz
  openoutcry-replay import journal.blocks.gz ./restored
  openoutcry-replay salvage ./data --archive /backup/venue --out ./salvaged
  openoutcry-replay verify journal.blocks.gz
  openoutcry-replay rebuild journal.blocks.gz --at 2026-08-10T18:00:00Z
  openoutcry-replay fills journal.blocks.gz --market 0198f3a2-... --format csv > fills.csv
  openoutcry-replay fills journal.blocks.gz --format parquet -o fills.parquet
  openoutcry-replay book journal.blocks.gz 0198f3a2-... --at 1342 --levels 5
  openoutcry-replay account journal.blocks.gz 0198f3a1-... --at 1342
  openoutcry-replay explain journal.blocks.gz 1342
  openoutcry-replay report journal.blocks.gz --market 0198f3a2-... -o report.html
  openoutcry-replay diff yesterday.blocks.gz journal.blocks.gz
  openoutcry-replay dump journal.blocks.gz --from 1300 --to 1342";

/// Proves, rebuilds and explains an openoutcry journal without the server.
#[derive(Parser)]
#[command(name = "openoutcry-replay", version, after_help = AFTER_HELP)]
struct Arguments {
    /// Answers as JSON: one line, or a line a row; errors too.
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    question: Question,
}

/// The journal asked.
#[derive(Args)]
struct Asked {
    /// Data directory of a stopped server, a copy of one, an exported file, or an archive.
    journal: PathBuf,
}

#[derive(Subcommand)]
enum Question {
    /// Is it whole? Every block, the results that it records, and after every block everything that
    /// is always true.
    Verify {
        #[command(flatten)]
        asked: Asked,
        /// Checks the bytes alone: checksums, chain, density, every field.
        #[arg(long)]
        no_state: bool,
    },
    /// Writes a journal's blocks to a file, byte for byte as journaled.
    Export {
        #[command(flatten)]
        asked: Asked,
        /// The file to make, compressed if its name ends in .gz; an existing one is left alone.
        out: PathBuf,
        /// Compresses it whatever its name.
        #[arg(long)]
        compress: bool,
    },
    /// Makes a new data directory that a server starts from, with exactly these blocks.
    Import {
        #[command(flatten)]
        asked: Asked,
        /// The directory to make; one that holds anything is left alone.
        data: PathBuf,
    },
    /// Rebuilds a journal from a damaged directory and an archive; says what is covered.
    ///
    /// The damaged directory is only read; sled is asked on a copy, for which there must be room
    /// beside the new directory. The result is the longest chain from record 1 that verifies.
    Salvage {
        /// The damaged data directory.
        data: PathBuf,
        /// An archive's folder, or an exported file.
        #[arg(long, value_name = "DIR")]
        archive: Option<PathBuf>,
        /// The data directory to make; one that holds anything is left alone.
        #[arg(long, value_name = "NEWDIR")]
        out: PathBuf,
    },
    /// What was the state? Digest, head, counts, and that money in is money out.
    Rebuild {
        #[command(flatten)]
        asked: Asked,
        /// At a moment; without it, at the end.
        #[arg(long, value_parser = Moment::parse, value_name = "MOMENT")]
        at: Option<Moment>,
    },
    /// Who traded with whom? Every fill, in both parties' own words.
    #[command(after_help = fills::COLUMNS_HELP)]
    Fills {
        #[command(flatten)]
        asked: Asked,
        #[command(flatten)]
        which: Which,
        /// How rows are written; with --json, ndjson. The default is a table.
        #[arg(long, value_enum)]
        format: Option<Format>,
        /// A file to make; an existing one is left alone. Without it, to stdout.
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// What stood in a market's book? For traders of yes and of no, best price first.
    Book {
        #[command(flatten)]
        asked: Asked,
        /// The market.
        #[arg(value_parser = Reference::parse)]
        market: Reference,
        /// At a moment; without it, at the end.
        #[arg(long, value_parser = Moment::parse, value_name = "MOMENT")]
        at: Option<Moment>,
        /// At most so many price levels a side; without it, all.
        #[arg(long)]
        levels: Option<usize>,
    },
    /// What did a user have? Money, positions, open orders.
    Account {
        #[command(flatten)]
        asked: Asked,
        /// The user.
        #[arg(value_parser = Reference::parse)]
        user: Reference,
        /// At a moment; without it, at the end.
        #[arg(long, value_parser = Moment::parse, value_name = "MOMENT")]
        at: Option<Moment>,
    },
    /// Why did this happen to an order? Its whole life, with reasons.
    Explain {
        #[command(flatten)]
        asked: Asked,
        /// The order; a refused one goes by its record.
        #[arg(value_parser = Reference::parse)]
        order: Reference,
        /// Up to a moment; without it, to the end.
        #[arg(long, value_parser = Moment::parse, value_name = "MOMENT")]
        at: Option<Moment>,
    },
    /// What happened in a market? A page for the file: prices, depth, fills, and the proof.
    #[command(after_help = report::REPORT_HELP)]
    Report {
        #[command(flatten)]
        asked: Asked,
        /// The market.
        #[arg(long, value_parser = Reference::parse, value_name = "ID")]
        market: Reference,
        /// Shows the book at this moment; may be given more than once.
        #[arg(long, value_parser = Moment::parse, value_name = "MOMENT")]
        depth_at: Vec<Moment>,
        /// Lists every fill, not only the first and the last.
        #[arg(long)]
        all_fills: bool,
        /// The page to make; an existing file is left alone.
        #[arg(short, long, value_name = "FILE")]
        output: PathBuf,
    },
    /// Where do two journals part? The first record that they do not share.
    Diff {
        /// One journal.
        first: PathBuf,
        /// The other.
        second: PathBuf,
    },
    /// What was asked, and what came of it? Records and effects in the text form.
    Dump {
        #[command(flatten)]
        asked: Asked,
        #[command(flatten)]
        span: Span,
    },
}

/// A part of a journal.
#[derive(Args, Clone, Copy)]
struct Span {
    /// Not before this moment.
    #[arg(long, value_parser = Moment::parse, value_name = "MOMENT")]
    from: Option<Moment>,
    /// Not after this moment.
    #[arg(long, value_parser = Moment::parse, value_name = "MOMENT")]
    to: Option<Moment>,
}

/// Which fills.
#[derive(Args)]
struct Which {
    /// Only those of a market.
    #[arg(long, value_parser = Reference::parse, value_name = "ID")]
    market: Option<Reference>,
    /// Only those of a user, on either side.
    #[arg(long, value_parser = Reference::parse, value_name = "ID")]
    user: Option<Reference>,
    /// Only those of an order, on either side.
    #[arg(long, value_parser = Reference::parse, value_name = "ID")]
    order: Option<Reference>,
    #[command(flatten)]
    span: Span,
}

fn main() -> ExitCode {
    let Arguments { json, question } = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        // Help is for people, whoever asks.
        Err(error) if error.use_stderr() && env::args_os().any(|word| word == "--json") => {
            return answer::misuse(&error.to_string());
        }
        Err(error) => error.exit(),
    };
    answer_question(question, json)
}

/// Asks the question and prints what it came to.
fn answer_question(question: Question, json: bool) -> ExitCode {
    let streams = matches!(question, Question::Fills { output: None, .. } | Question::Dump { .. });
    let result = match question {
        Question::Verify { asked, no_state } => verify::verify(&asked.journal, !no_state),
        Question::Export { asked, out, compress } => export::export(&asked.journal, &out, compress),
        Question::Import { asked, data } => import::import(&asked.journal, &data),
        Question::Salvage { data, archive, out } => {
            salvage::salvage(&data, archive.as_deref(), &out)
        }
        Question::Rebuild { asked, at } => rebuild::rebuild(&asked.journal, at),
        Question::Fills { asked, which, format, output } => {
            let format = match (format, json) {
                (Some(Format::Parquet), _) if output.is_none() => {
                    return usage("a Parquet file needs a place: give it with -o FILE", json);
                }
                (None, false) => Format::Table,
                (None, true) => Format::Ndjson,
                (Some(format), true) if output.is_none() && format != Format::Ndjson => {
                    let error = "--json writes fills to stdout as ndjson; other formats need -o";
                    return usage(error, json);
                }
                (Some(format), _) => format,
            };
            let Which { market, user, order, span: Span { from, to } } = which;
            fills::fills(
                &asked.journal,
                Wanted { market, user, order, from, to },
                format,
                output.as_deref(),
            )
        }
        Question::Book { asked, market, at, levels } => {
            book::book(&asked.journal, market, at, levels)
        }
        Question::Account { asked, user, at } => account::account(&asked.journal, user, at),
        Question::Explain { asked, order, at } => explain::explain(&asked.journal, order, at),
        Question::Report { asked, market, depth_at, all_fills, output } => {
            report::report(&asked.journal, &Wish { market, depth_at, all_fills }, &output)
        }
        Question::Diff { first, second } => diff::diff(&first, &second),
        Question::Dump { asked, span } => dump::dump(&asked.journal, span.from, span.to, json),
    };
    answer::print(result, json, streams)
}

/// Says what is wrong with the command line.
fn usage(error: &str, json: bool) -> ExitCode {
    if json {
        return answer::misuse(error);
    }
    Arguments::command().error(ErrorKind::ArgumentConflict, error).exit()
}
