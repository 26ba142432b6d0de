//! Recorded flow, journaled and asked for its fills: they must be those that the recording's
//! authors worked out on their own, row for row. The committed sample is always asked; the large
//! set only where it is at hand, in `../shared/data/flow` beside the project's root, or in the
//! folder that `OPENOUTCRY_FLOW_DIR` names.

#![allow(clippy::unwrap_used, clippy::panic)] // a test may stop at once

mod venue;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;
use openoutcry::exchange::catalogue::{Localized, MarketDraft, Outcome};
use openoutcry::exchange::command::{
    Command, Condition, PlaceOrder, Record, SelfTradePrevention, Side, TimeInForce, Wording,
};
use openoutcry::exchange::ids::{MarketNo, OrderId, OrderNo, UserNo};
use openoutcry::exchange::rules::Rules;
use openoutcry::exchange::units::{Lots, Money, Sequence, Tick, TimeMs};
use serde_json::Value;
use uuid::Uuid;
use venue::{as_written, ask, export, told};

/// Money enough for any account of the recordings: 10,000,000.00.
const DEPOSIT: Money = Money::new(1_000_000_000_000_000);
/// Records in a block, about what a busy server's blocks hold.
const BLOCK_RECORDS: usize = 250;

/// Rows of a gzipped file of JSON lines.
fn rows(path: &Path) -> impl Iterator<Item = Value> {
    let lines = BufReader::new(MultiGzDecoder::new(File::open(path).unwrap())).lines();
    lines.map(|line| serde_json::from_str(&line.unwrap()).unwrap())
}

/// A flow as records, and which of them placed which order of the flow.
struct Told {
    records: Vec<Record>,
    references: BTreeMap<u64, u64>,
    markets: Vec<String>,
}

impl Told {
    fn of(flow: &Path) -> Told {
        let (mut markets, mut users) = (Vec::new(), Vec::new());
        for row in rows(flow) {
            for (names, name) in [(&mut markets, &row["market"]), (&mut users, &row["acct"])] {
                let name = name.as_str().unwrap().to_owned();
                if !names.contains(&name) {
                    names.push(name);
                }
            }
        }
        let mut told = Told { records: Vec::new(), references: BTreeMap::new(), markets };
        told.say(0, Command::OpenVenue(Rules::current()));
        for (user, name) in (0..).map(UserNo).zip(&users) {
            let (profile_name, profile_pic) = (name.clone(), String::new());
            told.say(0, Command::CreateUser { profile_name, profile_pic });
            told.say(0, Command::Deposit { user, amount: DEPOSIT });
        }
        for (market, name) in (0..).map(MarketNo).zip(told.markets.clone()) {
            told.say(0, Command::CreateMarket(Box::new(draft(&name))));
            told.say(0, Command::PublishMarket { market });
        }
        let users: BTreeMap<String, u32> = users.into_iter().zip(0..).collect();
        let markets: BTreeMap<String, u32> = told.markets.iter().cloned().zip(0..).collect();
        for row in rows(flow) {
            let user = UserNo(users[row["acct"].as_str().unwrap()]);
            let market = MarketNo(markets[row["market"].as_str().unwrap()]);
            told.play(&row, user, market);
        }
        told
    }

    fn say(&mut self, ms: i64, command: Command) {
        let sequence = Sequence::new(self.records.len() as u64 + 1);
        let before = self.records.last().map_or(TimeMs::default(), |record| record.time);
        let time = TimeMs::new(ms).unwrap().max(before);
        self.records.push(Record { sequence, time, once: None, command });
    }

    fn play(&mut self, row: &Value, user: UserNo, market: MarketNo) {
        let reference = row["ref"].as_u64().unwrap();
        let text = |name: &str| row[name].as_str().unwrap();
        let ms = row["t_ms"].as_i64().unwrap();
        if text("op") == "cancel" {
            let order = OrderNo(Sequence::new(self.references[&reference]));
            return self.say(ms, Command::CancelOrder { user, order });
        }
        self.references.insert(reference, self.records.len() as u64 + 1);
        let outcome = if text("outcome") == "yes" { Outcome::Yes } else { Outcome::No };
        let side = if text("side") == "BUY" { Side::Buy } else { Side::Sell };
        let terms = PlaceOrder {
            user,
            market,
            wording: Wording { outcome, side },
            price: Tick::parse(text("price")).unwrap(),
            quantity: Lots::parse(text("qty")).unwrap(),
            time_in_force: match text("tif") {
                "GTC" => TimeInForce::GoodTillCancelled { expires_at: None },
                "IOC" => TimeInForce::ImmediateOrCancel,
                _ => TimeInForce::FillOrKill,
            },
            self_trade: SelfTradePrevention::CancelTaker,
            condition: Condition::Unconditional,
            valid_until: None,
            copy_from: None,
            client_order_id: None,
        };
        self.say(ms, Command::PlaceOrder(terms));
    }
}

fn draft(name: &str) -> MarketDraft {
    MarketDraft {
        questions: Localized { en: name.to_owned(), ..Localized::default() },
        descriptions: Localized::default(),
        yes_text: Localized::default(),
        no_text: Localized::default(),
        logo: String::new(),
        deadline: TimeMs::MAX,
        categories: Vec::new(),
        event: None,
        highlighted: false,
        dispute_window_seconds: 0,
    }
}

/// Journals a flow and holds what `fills` prints against its file of fills.
fn compare(flow: &Path, fills: &Path) {
    let told = Told::of(flow);
    let by_record: BTreeMap<u64, u64> = told.references.iter().map(|(r, s)| (*s, *r)).collect();
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("flow.blocks");
    export(told.records.iter().cloned(), BLOCK_RECORDS, &file);
    let output = ask(&["fills", file.to_str().unwrap(), "--json"]);
    assert_eq!(output.status.code(), Some(0));
    let mut printed =
        output.stdout.lines().map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap());
    // All of an id must be right, so that clients know it again.
    let order = |id: &Value| {
        let id = OrderId::from_uuid(Uuid::try_parse(id.as_str().unwrap()).unwrap());
        let sequence = id.sequence();
        let record = &told.records[usize::try_from(sequence.get()).unwrap() - 1];
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
    println!("{} records, {count} fills", told.records.len());
    assert!(count > 0);
}

fn sample(kind: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../tests/flow/sample.{kind}.jsonl.gz"))
}

#[test]
fn the_sample_has_the_fills_it_was_recorded_with() {
    compare(&sample("flow"), &sample("fills"));
}

/// Two orders of the sample, each filled in part by others that came in, then cancelled by its
/// owner: one that bought no, and one that joined a queue.
#[test]
fn lives_of_the_sample_read_right() {
    let flow = Told::of(&sample("flow"));
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("sample.blocks");
    export(flow.records.iter().cloned(), BLOCK_RECORDS, &file);
    for reference in [70_u64, 3473] {
        let record = flow.references[&reference].to_string();
        let (code, text) = told("explain", &file, &record);
        assert_eq!(code, 0);
        as_written(&format!("explain-sample-{reference}.txt"), &text);
    }
}

#[test]
fn the_gold_windows_have_the_fills_they_were_recorded_with() {
    let folder = std::env::var_os("OPENOUTCRY_FLOW_DIR").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data/flow"),
        PathBuf::from,
    );
    let path = |kind: &str| folder.join(format!("kalshi-gold-1800-2045.{kind}.jsonl.gz"));
    if !path("flow").exists() {
        println!("skipped: {} is not here", path("flow").display());
        return;
    }
    compare(&path("flow"), &path("fills"));
}
