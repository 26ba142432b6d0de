//! `GET /metrics`: figures for monitoring. Names are stable; labels are kinds, codes and route
//! templates, never names of people; only the few users with most records are told by their ids.

pub mod print;
mod proc;

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
    families.extend(streams(shared));
    families.push(build());
    families.extend(proc::figures());
    engine.meter().gauges.each(|gauge| {
        families.push(level(gauge.name, gauge.help, gauge.read()));
    });
    let printed = print::print(families);
    let body = printed.map_err(|_| Problem::internal("figures could not be printed"))?;
    Ok(Reply::text(sequence, print::MEDIA_TYPE, body.into()))
}

/// Figures of the engine's stages.
fn stages(meter: &Meter, folded: Sequence) -> Vec<Family> {
    let (sequencer, matcher) = (&meter.sequencer, &meter.matcher);
    let times = |name, help, histogram: &Histogram| {
        Family::single(name, help, Value::Times(histogram.read()))
    };
    let (head, applied) = (sequencer.journal_head().get(), matcher.applied().get());
    let lag = head.saturating_sub(folded.get());
    let commands = matcher.commands().map(|(kind, result, count)| {
        (vec![("kind", kind.into()), ("result", result.into())], Value::Count(count))
    });
    let (wait, append) = (&sequencer.intake_wait, &sequencer.append);
    let shared = Value::Counts(sequencer.block_records.read());
    vec![
        Family {
            name: "commands",
            help: "Commands carried out since the start, by kind and by result",
            rows: commands.collect(),
        },
        times("intake_wait_seconds", "From handing a command in to taking it into a block", wait),
        times("journal_append_seconds", "From a full block to a durable one", append),
        times(
            "apply_seconds",
            "From a durable block to its last answer: applied and folded",
            &matcher.apply,
        ),
        Family::single("block_records", "Records that shared one append", shared),
        level("journal_head_sequence", "The last durable record", head),
        level("applied_sequence", "The last record applied", applied),
        level("folded_sequence", "The last record readers see", folded.get()),
        level("read_lag_records", "Durable records that readers do not see yet", lag),
        level("blocks_waiting", "Durable blocks waiting to be applied", matcher.blocks_waiting()),
    ]
}

/// Sizes of the venue in one state of the read model, and that state's last record.
fn venue(engine: &Engine) -> (Sequence, Vec<Family>) {
    let view = engine.read();
    let sequence = view.watermark();
    let (orders, users) = (view.orders.open_count(), view.accounts.users_count());
    let markets = view.catalogue.markets_created().len();
    drop(view);
    let (reason, halted) = engine.halted().map_or(("NONE", 0), |reason| (reason.code(), 1));
    let names_max = "Names from which on only users with few may give more";
    let families = vec![
        level("open_orders", "Orders on the books", orders),
        level("users", "Users", users),
        level("names", "Client order ids and idempotency keys remembered", engine.names()),
        level("names_max", names_max, VENUE_NAMES_MAX),
        level("markets", "Markets, drafts and settled ones too", markets),
        level("intake_waiting", "Commands waiting for the sequencer", engine.intake_waiting()),
        Family {
            name: "halted",
            help: "1 once no command is taken until a restart, by reason",
            rows: vec![(vec![("reason", reason.into())], Value::Level(halted))],
        },
    ];
    (sequence, families)
}

/// Figures of snapshots.
fn snapshots(engine: &Engine) -> Vec<Family> {
    let status = engine.snapshots();
    let newest = "The last record of the newest snapshot";
    let failures = "Snapshots that could not be taken or came to other results";
    vec![
        level("snapshot_sequence", newest, status.sequence.get()),
        level("snapshot_milliseconds", "How long the last snapshot took", status.duration_ms),
        level("snapshot_bytes", "Bytes of the last snapshot", status.bytes),
        count("snapshots", "Snapshots taken since the start", status.taken),
        count("snapshot_failures", failures, status.failures),
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
    let took = traffic.took().map(|((method, template, class), spread)| {
        let labels: Vec<Label> = vec![
            ("class", class.name().into()),
            ("method", method.to_string().into()),
            ("route", (*template).into()),
        ];
        (labels, Value::Times(spread))
    });
    let turned_away = "Connections refused because all slots were taken";
    let gave_way = "Connections closed because all slots were taken and another needed theirs";
    vec![
        Family {
            name: "http_answers",
            help: "Answers since the start, by route and status",
            rows: answers.collect(),
        },
        Family {
            name: "http_request_seconds",
            help: "From a request's head to its answer, by class and route",
            rows: took.collect(),
        },
        level("connections", "Connections open", traffic.connections()),
        count("connections_turned_away", turned_away, traffic.turned_away()),
        count("connections_gave_way", gave_way, traffic.gave_way()),
        count("wrong_keys", "Requests with a key that nobody has", shared.wrong_keys.total()),
    ]
}

/// Figures of what is pushed.
fn streams(shared: &SharedState) -> [Family; 2] {
    let held = "Bytes of messages kept for streams to read";
    [
        level("streams", "Streams of users", shared.seats.taken()),
        level("stream_held_bytes", held, shared.hub.held_bytes()),
    ]
}

/// Which software this is; `contrib/release` tells the compiler the revision.
fn build() -> Family {
    let revision = option_env!("SOURCE_REVISION").unwrap_or("unknown");
    let labels: Vec<Label> =
        vec![("version", env!("CARGO_PKG_VERSION").into()), ("revision", revision.into())];
    let help = "1, by version and revision of the software";
    Family { name: "build_info", help, rows: vec![(labels, Value::Level(1))] }
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

/// A gauge without labels.
fn level(name: &'static str, help: &'static str, value: impl TryInto<i64>) -> Family {
    Family::single(name, help, Value::Level(value.try_into().unwrap_or(i64::MAX)))
}

/// A counter without labels.
fn count(name: &'static str, help: &'static str, value: u64) -> Family {
    Family::single(name, help, Value::Count(value))
}
