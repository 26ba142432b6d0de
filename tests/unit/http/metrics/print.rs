//! Unit tests of `src/http/metrics/print.rs`.

use super::*;

#[test]
fn figures_are_printed_by_type() {
    let spread = |bound| Spread { buckets: vec![(bound, 2), (2 * bound, 0)], beyond: 1, sum: 9 };
    let labels = vec![("kind", "a".into()), ("result", "b\"c".into())];
    let printed = print(vec![
        Family { name: "calls", help: "Calls", rows: vec![(labels, Value::Count(3))] },
        Family::single("level", "Level", Value::Level(-4)),
        Family::single("took_seconds", "Took", Value::Times(spread(1_000))),
        Family::single("size_records", "Size", Value::Counts(spread(1))),
        Family::single("process_cpu_seconds", "CPU", Value::Time(Duration::from_millis(1_500))),
        Family { name: "nothing", help: "No rows", rows: Vec::new() },
    ]);
    let expected = "\
            # HELP openoutcry_calls_total Calls\n\
            # TYPE openoutcry_calls_total counter\n\
            openoutcry_calls_total{kind=\"a\",result=\"b\\\"c\"} 3\n\
            # HELP openoutcry_level Level\n\
            # TYPE openoutcry_level gauge\n\
            openoutcry_level -4\n\
            # HELP openoutcry_took_seconds Took\n\
            # TYPE openoutcry_took_seconds histogram\n\
            openoutcry_took_seconds_sum 9e-9\n\
            openoutcry_took_seconds_count 3\n\
            openoutcry_took_seconds_bucket{le=\"0.000001\"} 2\n\
            openoutcry_took_seconds_bucket{le=\"0.000002\"} 2\n\
            openoutcry_took_seconds_bucket{le=\"+Inf\"} 3\n\
            # HELP openoutcry_size_records Size\n\
            # TYPE openoutcry_size_records histogram\n\
            openoutcry_size_records_sum 9.0\n\
            openoutcry_size_records_count 3\n\
            openoutcry_size_records_bucket{le=\"1.0\"} 2\n\
            openoutcry_size_records_bucket{le=\"2.0\"} 2\n\
            openoutcry_size_records_bucket{le=\"+Inf\"} 3\n\
            # HELP process_cpu_seconds_total CPU\n\
            # TYPE process_cpu_seconds_total counter\n\
            process_cpu_seconds_total 1.5\n";
    assert_eq!(printed.as_deref(), Ok(expected));
}
