//! The simulator: a whole venue in one thread, from a seed, through every misfortune. The code is
//! the product's; the disk, the clocks, the people and the order of steps are the seed's.
//!
//! `cargo run --release -p simulator -- --for 120` runs seeds for two minutes; a failure prints how
//! to see it again. `simulator/README.md` says what is checked and what was found.

#![allow(
    clippy::duplicated_attributes,
    clippy::match_same_arms,
    clippy::similar_names,
    clippy::too_many_lines,
    clippy::unused_self,
    reason = "a tool for tests"
)]
#![allow(dead_code, reason = "the twin is shared with the tests, which use other parts of it")]

mod bucket;
mod chance;
mod clock;
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]
#[path = "../../tests/model/commands/mod.rs"]
mod commands;
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]
#[path = "../../tests/model/compare.rs"]
mod compare;
mod damage;
mod disk;
mod marks;
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]
#[path = "../../tests/model/naive/mod.rs"]
mod naive;
mod options;
mod oracle;
mod people;
mod readers;
mod shorten;
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]
#[path = "../../tests/model/state.rs"]
mod state;
mod venue;
mod world;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Parser;

use marks::Marks;
use options::Options;
use shorten::Kept;
use world::{Summary, Trouble};

/// Runs a venue through every misfortune.
#[derive(Debug, Parser)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of the command line")]
struct Args {
    /// The first seed
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many seeds; all that there is time for unless it is given
    #[arg(long)]
    seeds: Option<u64>,
    /// Ends after this many commands
    #[arg(long)]
    commands: Option<u64>,
    /// Ends after this many seconds
    #[arg(long = "for")]
    seconds: Option<u64>,
    /// Families of faults that may come: cut, stop, damage, room, disk, clock, bucket; all unless
    /// it is given
    #[arg(long, value_delimiter = ',')]
    faults: Vec<String>,
    /// Only these steps of the seed, as a failure prints them
    #[arg(long)]
    only: Option<Kept>,
    /// Runs each seed twice, which must come to the same
    #[arg(long)]
    twice: bool,
    /// Prints each seed's options and digest
    #[arg(long)]
    verbose: bool,
    /// Prints a failure as it is, not the fewest steps that lead to it
    #[arg(long)]
    unshortened: bool,
    /// Writes what a failure leaves on the simulated disk to this folder
    #[arg(long)]
    left: Option<PathBuf>,
    /// Prints what the disk is asked to do
    #[arg(long)]
    trace: bool,
}

/// Runs a seed; a panic is a failure of it.
fn run(
    seed: u64,
    options: &Options,
    only: &dyn Fn(u64) -> bool,
    trace: bool,
    left: Option<&Path>,
) -> (Result<Summary, Trouble>, Vec<String>) {
    let ran = catch_unwind(AssertUnwindSafe(|| world::run(seed, options, only, trace, left)));
    ran.unwrap_or_else(|panic| {
        journal::disk::mounted::mount(None);
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        let what = format!("PANIC: {}", text.unwrap_or_default());
        (Err(Trouble { step: options.steps, what, newest: String::new(), records: 0 }), Vec::new())
    })
}

/// What one seed came to, if it came to the same twice.
fn same(first: Summary, second: &Summary) -> Result<Summary, Trouble> {
    if first.digest == second.digest && first.records == second.records {
        return Ok(first);
    }
    let what = format!("DIGEST: {:016x}, and then {:016x}", first.digest, second.digest);
    Err(Trouble { step: 0, what, newest: String::new(), records: first.records })
}

fn report(args: &Args, seed: u64, options: &Options, trouble: &Trouble) {
    println!("seed {seed}, step {}: {}", trouble.step, trouble.what);
    println!("{options}\nnewest records:\n{}", trouble.newest);
    if args.unshortened {
        return;
    }
    let kept = shorten::shortest(options.steps, trouble, &|kept| {
        run(seed, options, &|step| kept.has(step), false, None).0.err()
    });
    let faults = if args.faults.is_empty() {
        String::new()
    } else {
        format!(" --faults {}", args.faults.join(","))
    };
    println!(
        "{} steps are left of it; again:\n  cargo run --release -p simulator -- --seed {seed} \
         --seeds 1{faults} --trace --only {kept}",
        kept.count()
    );
}

fn main() -> ExitCode {
    let args = Args::parse();
    let (began, mut marks) = (Instant::now(), Marks::default());
    let (mut seeds, mut records, mut crashes) = (0_u64, 0_u64, 0_u64);
    let mut digest = chance::Chance::of(0);
    for seed in args.seed.. {
        let enough = args.seeds.is_some_and(|most| seeds >= most)
            || args.commands.is_some_and(|most| records >= most)
            || args.seconds.is_some_and(|most| began.elapsed() >= Duration::from_secs(most));
        if enough || args.seeds.or(args.commands).or(args.seconds).is_none() && seeds > 0 {
            break;
        }
        let options = Options::spread(seed, &args.faults);
        if args.verbose {
            println!("seed {seed}\n{options}");
        }
        let only = |step| args.only.as_ref().is_none_or(|kept| kept.has(step));
        let (mut done, trace) = run(seed, &options, &only, args.trace, args.left.as_deref());
        if args.twice {
            done = done.and_then(|first| same(first, &run(seed, &options, &only, false, None).0?));
        }
        for line in &trace {
            println!("{line}");
        }
        match done {
            Ok(summary) => {
                if args.verbose {
                    println!("seed {seed}: {} records, {:016x}", summary.records, summary.digest);
                }
                records = records.saturating_add(summary.records);
                crashes = crashes.saturating_add(summary.crashes);
                digest = chance::Chance::of(digest.number() ^ summary.digest);
                marks.add(summary.marks);
            }
            Err(trouble) => {
                report(&args, seed, &options, &trouble);
                let (records, seeds) = (records.saturating_add(trouble.records), seeds + 1);
                println!("found with {records} commands of {seeds} seeds");
                return ExitCode::FAILURE;
            }
        }
        seeds = seeds.saturating_add(1);
    }
    let seconds = began.elapsed().as_secs().max(1);
    println!("{marks}");
    println!(
        "{seeds} seeds from {}: {records} commands, {crashes} losses of power, 0 failures, {} \
         commands a second, digest {:016x}",
        args.seed,
        records / seconds,
        digest.number()
    );
    ExitCode::SUCCESS
}
