//! The auditor's tool: proves, copies, rebuilds and explains a journal without the server.
//!
//! Must not know: the engine, HTTP, clocks.

mod account;
mod answer;
mod book;
mod completions;
mod diff;
mod drill;
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
mod watch;

use std::env;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{Args, CommandFactory, Parser, Subcommand};

use answer::Answer;
use completions::Completions;
use drill::Drill;
use fills::{Format, Wanted};
use moment::Moment;
use reference::{MarketName, Reference};
use report::Wish;

const AFTER_HELP: &str = "\
A JOURNAL is the data directory of a server, which may be running, or a copy of one, a file made by
`export`, or the folder of an archive (`openoutcry serve --archive`). Nothing is written to any of
them, and nothing is locked. What a start would remove from a directory's end, because it was
refused or not written whole and so never acknowledged, is left out.

An exported file is plain, or a sequence of gzip members that any gunzip unpacks to the plain form.
The tool tells them apart by their first bytes and verifies every byte of either.

A MOMENT is a record's sequence number (1342) or a time (2026-08-10T18:00:00Z). It selects the state
after the last record that is not later. A time after the last record selects the end; a sequence
number after the last record is an error, AT_BEYOND_END, except as the end of a range. Users,
markets and orders are given by the id that clients saw, or by the sequence number of the record
that created them.

With --json every answer is one object on one line (`fills` and `dump`: one a row) with `ok`; an
error has `ok` false, `code` and `error`. Answers and faults of the journal go to stdout. Other
errors go to stderr unless --json is given; an error that ends a stream of rows always goes to
stderr. Long work shows a progress bar if stderr is a terminal. Memory grows with users, markets and
open orders, not with the length of an exported file. Output files are written whole or not at all,
for their owner alone, and existing files are never overwritten.

Exit codes: 0 success; 1 the journal could not be read, or does not contain what was asked for;
2 wrong usage; 3 the journal is damaged or contradicts itself (the answer says where), or two
journals differ, or acknowledged records could not be salvaged.

Examples:
  openoutcry-replay export ./data journal.blocks.gz
  openoutcry-replay import journal.blocks.gz ./restored
  openoutcry-replay import ./data-of-version-0.1 ./data
  openoutcry-replay import journal.blocks.gz ./restored --to 1342
  openoutcry-replay salvage ./data --archive /backup/venue --out ./salvaged
  openoutcry-replay drill /backup/venue --data ./data
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

/// Threads that a question may take: sled's in a salvage, and one that reads ahead.
const THREADS: usize = 10;

/// Proves, rebuilds and explains an openoutcry journal without the server.
#[derive(Parser)]
#[command(name = "openoutcry-replay", version, after_help = AFTER_HELP)]
struct Arguments {
    /// Print answers and errors as JSON: one line, or one line a row.
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    question: Question,
}

/// The journal to read.
#[derive(Args)]
struct Asked {
    /// Data directory of a server or a copy of one, an exported file, or an archive.
    journal: PathBuf,
}

#[derive(Subcommand)]
enum Question {
    /// Verify a journal: every block, the results it records, and all invariants after each block.
    Verify {
        #[command(flatten)]
        asked: Asked,
        /// Check only the bytes: checksums, hash chain, gaps, every field.
        #[arg(long)]
        no_state: bool,
    },
    /// Write a journal's blocks to a file, byte for byte as journaled.
    Export {
        #[command(flatten)]
        asked: Asked,
        /// The file to write, compressed if its name ends in .gz; must not exist.
        out: PathBuf,
        /// Compress it whatever its name.
        #[arg(long)]
        compress: bool,
        /// Only the whole blocks up to this moment.
        #[arg(long, value_parser = Moment::parse, value_name = "MOMENT")]
        to: Option<Moment>,
    },
    /// Make a data directory with exactly these blocks, from which a server can start.
    Import {
        #[command(flatten)]
        asked: Asked,
        /// The directory to make; must not exist or be empty.
        data: PathBuf,
        /// Only the whole blocks up to this moment: what was acknowledged later is left out.
        #[arg(long, value_parser = Moment::parse, value_name = "MOMENT")]
        to: Option<Moment>,
        /// Check only the bytes: do not replay them first, and take an archive whose files have
        /// other names than a server gives them.
        #[arg(long)]
        unchecked: bool,
    },
    /// Rebuild a journal from a damaged directory and an archive, and report what was recovered.
    ///
    /// The damaged directory is only read; its copy of the log is opened on a copy, which needs
    /// room next to the new directory. The result is the longest chain from record 1 that verifies.
    Salvage {
        /// The damaged data directory.
        data: PathBuf,
        /// An archive's folder, or an exported file.
        #[arg(long, value_name = "DIR")]
        archive: Option<PathBuf>,
        /// The data directory to make; must not exist or be empty.
        #[arg(long, value_name = "NEWDIR")]
        out: PathBuf,
    },
    /// Restore an archive into a temporary folder, verify it there, compare the end, and remove it.
    Drill(#[command(flatten)] Drill),
    /// Rebuild the state: digest, head, counts, and the check that money in equals money out.
    Rebuild {
        #[command(flatten)]
        asked: Asked,
        /// At a moment; at the end by default.
        #[arg(long, value_parser = Moment::parse, value_name = "MOMENT")]
        at: Option<Moment>,
    },
    /// List every fill, with both parties' orders as they placed them.
    #[command(after_help = fills::COLUMNS_HELP)]
    Fills {
        #[command(flatten)]
        asked: Asked,
        #[command(flatten)]
        which: Which,
        /// Format of the rows; a table by default, ndjson with --json.
        #[arg(long, value_enum)]
        format: Option<Format>,
        /// The file to write; must not exist. stdout by default.
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Show a market's order book, for traders of yes and of no, best price first.
    Book {
        #[command(flatten)]
        asked: Asked,
        /// The market.
        #[arg(value_parser = Reference::parse)]
        market: Reference,
        /// At a moment; at the end by default.
        #[arg(long, value_parser = Moment::parse, value_name = "MOMENT")]
        at: Option<Moment>,
        /// The most price levels a side; all by default.
        #[arg(long)]
        levels: Option<usize>,
    },
    /// Show a user's money, positions and open orders.
    Account {
        #[command(flatten)]
        asked: Asked,
        /// The user.
        #[arg(value_parser = Reference::parse)]
        user: Reference,
        /// At a moment; at the end by default.
        #[arg(long, value_parser = Moment::parse, value_name = "MOMENT")]
        at: Option<Moment>,
    },
    /// Explain what happened to an order and why, from placement to end.
    Explain {
        #[command(flatten)]
        asked: Asked,
        /// The order; a refused order by the sequence number of its record.
        #[arg(value_parser = Reference::parse)]
        order: Reference,
        /// Up to a moment; to the end by default.
        #[arg(long, value_parser = Moment::parse, value_name = "MOMENT")]
        at: Option<Moment>,
    },
    /// Write a page about a market: prices, depth, fills, and the proof.
    #[command(after_help = report::REPORT_HELP)]
    Report {
        #[command(flatten)]
        asked: Asked,
        /// The market: its id, the record that created it, or its slug.
        #[arg(long, value_parser = MarketName::parse, value_name = "MARKET")]
        market: MarketName,
        /// Show the book at this moment; may be given more than once.
        #[arg(long, value_parser = Moment::parse, value_name = "MOMENT")]
        depth_at: Vec<Moment>,
        /// List every fill, not only the first and the last.
        #[arg(long)]
        all_fills: bool,
        /// The file to write; must not exist.
        #[arg(short, long, value_name = "FILE")]
        output: PathBuf,
    },
    /// Compare two journals, and show the first record in which they differ.
    Diff {
        /// One journal.
        first: PathBuf,
        /// The other.
        second: PathBuf,
    },
    /// Print records and their effects as text.
    Dump {
        #[command(flatten)]
        asked: Asked,
        #[command(flatten)]
        span: Span,
    },
    /// Print a shell's completion script.
    Completions(#[command(flatten)] Completions),
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
    os::prepare();
    let Arguments { json, question } = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        // Help is printed as text even with `--json`.
        Err(error) if error.use_stderr() && env::args_os().any(|word| word == "--json") => {
            return answer::misuse(&error.to_string());
        }
        Err(error) => return answer::usage(&error),
    };
    if let Err(refused) = os::check_threads(THREADS) {
        return answer::print(Err(answer::Failure::failed(refused)), json, false);
    }
    answer_question(question, json)
}

/// Runs the command and prints its answer.
fn answer_question(question: Question, json: bool) -> ExitCode {
    let streams = matches!(question, Question::Fills { output: None, .. } | Question::Dump { .. });
    let result = match question {
        Question::Verify { asked, no_state } => {
            verify::verify(&asked.journal, !no_state).map(Answer::Fields)
        }
        Question::Export { asked, out, compress, to } => {
            export::export(&asked.journal, &out, compress, to)
        }
        Question::Import { asked, data, to, unchecked } => {
            import::import(&asked.journal, &data, to, !unchecked).map(Answer::Fields)
        }
        Question::Salvage { data, archive, out } => {
            salvage::salvage(&data, archive.as_deref(), &out)
        }
        Question::Drill(asked) => drill::drill(&asked),
        Question::Rebuild { asked, at } => rebuild::rebuild(&asked.journal, at),
        Question::Fills { asked, which, format, output } => {
            let format = match (format, json) {
                (Some(Format::Parquet), _) if output.is_none() => {
                    return usage(
                        "a Parquet file is not written to stdout: name a file with -o FILE",
                        json,
                    );
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
        Question::Completions(asked) => completions::completions(&asked, Arguments::command()),
        Question::Dump { asked, span } => dump::dump(&asked.journal, span.from, span.to, json),
    };
    answer::print(result, json, streams)
}

/// Reports an invalid command line.
fn usage(error: &str, json: bool) -> ExitCode {
    if json {
        return answer::misuse(error);
    }
    answer::usage(&Arguments::command().error(ErrorKind::ArgumentConflict, error))
}
