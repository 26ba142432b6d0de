//! Recorded flow, journaled and asked for its fills: they must match, row for row, the fills that
//! the authors of the recording computed on their own. The committed sample is always checked; the
//! large set only if it exists, in `../shared/data/flow` beside the project's root or in the folder
//! that `OPENOUTCRY_FLOW_DIR` names.

#![allow(clippy::unwrap_used, clippy::panic)] // a test may stop at once

mod recording;
mod venue;

use std::collections::BTreeMap;
use std::io::BufRead;
use std::path::Path;

use exchange::ids::{OrderId, OrderNo};
use exchange::units::Lots;
use recording::{BLOCK_RECORDS, RecordedFlow, large, rows, sample};
use serde_json::Value;
use uuid::Uuid;
use venue::{as_written, ask, export, run_on};

/// Journals a flow and compares the output of `fills` with its file of fills.
fn compare(flow: &Path, fills: &Path) {
    let recorded = RecordedFlow::of(flow);
    let by_record: BTreeMap<u64, u64> = recorded.references.iter().map(|(r, s)| (*s, *r)).collect();
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("flow.blocks");
    export(recorded.records.iter().cloned(), BLOCK_RECORDS, &file);
    let output = ask(&["fills", file.to_str().unwrap(), "--json"]);
    assert_eq!(output.status.code(), Some(0));
    let mut printed =
        output.stdout.lines().map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap());
    // The whole id must match, since clients know orders by it.
    let order = |id: &Value| {
        let id = OrderId::from_uuid(Uuid::try_parse(id.as_str().unwrap()).unwrap());
        let sequence = id.sequence();
        let record = &recorded.records[usize::try_from(sequence.get()).unwrap() - 1];
        assert_eq!(OrderNo(sequence).id(record.time), id, "an id of another time");
        by_record[&sequence.get()]
    };
    let mut market_ids = BTreeMap::new();
    let mut count = 0;
    for expected in rows(fills) {
        let row = printed.next().unwrap();
        let (taker, maker) = (&row["taker"], &row["maker"]);
        assert_eq!(order(&taker["order_id"]), expected["taker"], "{row} {expected}");
        assert_eq!(order(&maker["order_id"]), expected["maker"], "{row} {expected}");
        assert_eq!(taker["outcome"], expected["outcome"], "{row} {expected}");
        assert_eq!(taker["price"], expected["price"], "{row} {expected}");
        let lots = |text: &Value| Lots::parse(text.as_str().unwrap()).unwrap();
        assert_eq!(lots(&row["quantity"]), lots(&expected["qty"]), "{row} {expected}");
        let same =
            market_ids.entry(row["market_id"].to_string()).or_insert(expected["market"].clone());
        assert_eq!(*same, expected["market"]);
        count += 1;
    }
    assert!(printed.next().is_none(), "more fills than expected");
    println!("{} records, {count} fills", recorded.records.len());
    assert!(count > 0);
}

#[test]
fn the_sample_has_the_fills_it_was_recorded_with() {
    compare(&sample("flow"), &sample("fills"));
}

/// Two orders of the sample, each partly filled as maker and then cancelled by its owner: one that
/// bought no, and one that joined a queue.
#[test]
fn lives_of_the_sample_read_right() {
    let flow = RecordedFlow::of(&sample("flow"));
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("sample.blocks");
    export(flow.records.iter().cloned(), BLOCK_RECORDS, &file);
    for reference in [70_u64, 3473] {
        let record = flow.references[&reference].to_string();
        let (code, text) = run_on("explain", &file, &record);
        assert_eq!(code, 0);
        as_written(&format!("explain-sample-{reference}.txt"), &text);
    }
}

#[test]
fn the_gold_windows_have_the_fills_they_were_recorded_with() {
    let (flow, fills) = (large("flow"), large("fills"));
    if !flow.exists() {
        println!("skipped: {} is not here", flow.display());
        return;
    }
    compare(&flow, &fills);
}
