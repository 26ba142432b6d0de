//! `GET /metrics`: figures for monitoring. Names are stable; labels are kinds, codes and route
//! templates, never names of people; only the few users with most records are told by their ids.

pub mod print;

use std::fs;

use hyper::http::request::Parts;

use super::call::SharedState;
use super::problem::Problem;
use super::reply::Reply;
use super::traffic::Traffic;
use engine::Engine;
use engine::histogram::Histogram;
use engine::meter::Meter;
use exchange::rules::VENUE_NAMES_MAX;
use exchange::units::Sequence;
use print::{Family, Label, Value};

/// `GET /metrics`
pub fn page(shared: &SharedState, _: &Parts) -> Result<Reply, Problem> {
    let engine = shared.venue.engine()?;
    let (sequence, venue) = venue(engine);
    let mut families = stages(engine.meter(), sequence);
    families.extend(venue);
    families.extend(snapshots(engine));
    families.extend(traffic(shared));
    families.push(heaviest(shared, engine));
    families.extend(system());
    engine.meter().gauges.each(|gauge| {
        families.push(Family::single(gauge.name, gauge.help, Value::Level(gauge.read())));
    });
    let printed = print::print(families);
    let body = printed.map_err(|_| Problem::internal("figures could not be printed"))?;
    Ok(Reply::text(sequence, print::MEDIA_TYPE, body.into()))
}

/// Figures of the engine's stages.
fn stages(meter: &Meter, folded: Sequence) -> Vec<Family> {
    let (sequencer, matcher) = (&meter.sequencer, &meter.matcher);
    let times = |histogram: &Histogram| Value::Times(histogram.read());
    let (head, applied) = (sequencer.journal_head(), matcher.applied());
    let commands = matcher.commands().map(|(kind, result, count)| {
        (vec![("kind", kind.into()), ("result", result.into())], Value::Count(count))
    });
    vec![
        Family {
            name: "commands",
            help: "Commands carried out since the start, by kind and by result",
            rows: commands.collect(),
        },
        Family::single(
            "intake_wait_seconds",
            "From handing a command in to taking it into a block",
            times(&sequencer.intake_wait),
        ),
        Family::single(
            "journal_append_seconds",
            "From a full block to a durable one",
            times(&sequencer.append),
        ),
        Family::single(
            "apply_seconds",
            "From a durable block to its last answer: applied and folded",
            times(&matcher.apply),
        ),
        Family::single(
            "block_records",
            "Records that shared one append",
            Value::Counts(sequencer.block_records.read()),
        ),
        Family::single("journal_head_sequence", "The last durable record", level(head.get())),
        Family::single("applied_sequence", "The last record applied", level(applied.get())),
        Family::single("folded_sequence", "The last record readers see", level(folded.get())),
        Family::single(
            "read_lag_records",
            "Durable records that readers do not see yet",
            level(head.get().saturating_sub(folded.get())),
        ),
        Family::single(
            "blocks_waiting",
            "Durable blocks waiting to be applied",
            level(matcher.blocks_waiting()),
        ),
    ]
}

/// Sizes of the venue in one state of the read model, and that state's last record.
fn venue(engine: &Engine) -> (Sequence, Vec<Family>) {
    let view = engine.read();
    let sequence = view.watermark();
    let (orders, users) = (view.orders.open_count(), view.accounts.users_count());
    let markets = view.catalogue.markets_created().len();
    drop(view);
    let halted = Family {
        name: "halted",
        help: "1 once no command is taken until a restart, by reason",
        rows: match engine.halted() {
            Some(reason) => vec![(vec![("reason", reason.code().into())], Value::Level(1))],
            None => vec![(vec![("reason", "NONE".into())], Value::Level(0))],
        },
    };
    let families = vec![
        Family::single("open_orders", "Orders on the books", size(orders)),
        Family::single("users", "Users", size(users)),
        Family::single(
            "names",
            "Client order ids and idempotency keys remembered",
            level(engine.names()),
        ),
        Family::single(
            "names_max",
            "Names from which on only users with few may give more",
            level(VENUE_NAMES_MAX),
        ),
        Family::single("markets", "Markets, drafts and settled ones too", size(markets)),
        Family::single(
            "intake_waiting",
            "Commands waiting for the sequencer",
            size(engine.intake_waiting()),
        ),
        halted,
    ];
    (sequence, families)
}

/// Figures of snapshots.
fn snapshots(engine: &Engine) -> Vec<Family> {
    let status = engine.snapshots();
    vec![
        Family::single(
            "snapshot_sequence",
            "The last record of the newest snapshot",
            level(status.sequence.get()),
        ),
        Family::single(
            "snapshot_milliseconds",
            "How long the last snapshot took",
            level(status.duration_ms),
        ),
        Family::single("snapshot_bytes", "Bytes of the last snapshot", level(status.bytes)),
        Family::single("snapshots", "Snapshots taken since the start", Value::Count(status.taken)),
        Family::single(
            "snapshot_failures",
            "Snapshots that could not be taken or came to other results",
            Value::Count(status.failures),
        ),
    ]
}

/// Figures of the HTTP server.
fn traffic(shared: &SharedState) -> Vec<Family> {
    let traffic: &Traffic = &shared.traffic;
    let answers = traffic.answers().map(|(route, status, count)| {
        let (method, template) = route.unwrap_or(("", "none"));
        let status = status.map_or("other".into(), |status| status.to_string().into());
        let labels: Vec<Label> = vec![
            ("method", method.to_owned().into()),
            ("route", template.into()),
            ("status", status),
        ];
        (labels, Value::Count(count))
    });
    let took = traffic
        .took()
        .map(|(class, spread)| (vec![("class", class.name().into())], Value::Times(spread)));
    vec![
        Family {
            name: "http_answers",
            help: "Answers since the start, by route and status",
            rows: answers.collect(),
        },
        Family {
            name: "http_request_seconds",
            help: "From a request's head to its answer, by class",
            rows: took.collect(),
        },
        Family::single("connections", "Connections open", level(traffic.connections())),
        Family::single(
            "connections_turned_away",
            "Connections refused because all slots were taken",
            Value::Count(traffic.turned_away()),
        ),
        Family::single(
            "connections_gave_way",
            "Connections closed because all slots were taken and another needed theirs",
            Value::Count(traffic.gave_way()),
        ),
    ]
}

/// Records of the users who wrote most since the start.
fn heaviest(shared: &SharedState, engine: &Engine) -> Family {
    let view = engine.read();
    let rows = shared.keyring.heaviest().into_iter().filter_map(|(user, written)| {
        let id = view.accounts.user(user)?.id.to_string();
        Some((vec![("user", id.into())], Value::Count(written)))
    });
    Family {
        name: "user_records",
        help: "Records since the start of the users who wrote most",
        rows: rows.collect(),
    }
}

/// Memory and file descriptors of the process, if the system reports them.
fn system() -> Vec<Family> {
    let mut families = Vec::new();
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = resident.and_then(|text| text.trim().trim_end_matches("kB").trim().parse().ok());
    if let Some(bytes) = kib.and_then(|kib: i64| kib.checked_mul(1024)) {
        let help = "Memory that the process has resident";
        families.push(Family::single("resident_memory_bytes", help, Value::Level(bytes)));
    }
    if let Ok(entries) = fs::read_dir("/proc/self/fd") {
        let help = "File descriptors of the process";
        families.push(Family::single("open_descriptors", help, size(entries.count())));
    }
    families
}

fn level(value: u64) -> Value {
    Value::Level(i64::try_from(value).unwrap_or(i64::MAX))
}

fn size(value: usize) -> Value {
    Value::Level(i64::try_from(value).unwrap_or(i64::MAX))
}
