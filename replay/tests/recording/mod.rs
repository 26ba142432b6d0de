//! Recorded flow as records of a journal.

#![allow(dead_code)] // each test uses its part

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use exchange::catalogue::{Localized, MarketDraft, Outcome};
use exchange::command::{
    Command, Condition, PlaceOrder, Record, SelfTradePrevention, Side, TimeInForce, Wording,
};
use exchange::ids::{MarketNo, OrderNo, UserNo};
use exchange::rules::Rules;
use exchange::units::{Lots, Money, Sequence, Tick, TimeMs};
use flate2::read::MultiGzDecoder;
use serde_json::Value;

/// Enough money for any account of the recordings: 10,000,000.00.
const DEPOSIT: Money = Money::new(1_000_000_000_000_000);
/// Records per block, about as many as in a busy server's blocks.
pub const BLOCK_RECORDS: usize = 250;

/// Rows of a gzipped file of JSON lines.
pub fn rows(path: &Path) -> impl Iterator<Item = Value> {
    let lines = BufReader::new(MultiGzDecoder::new(File::open(path).unwrap())).lines();
    lines.map(|line| serde_json::from_str(&line.unwrap()).unwrap())
}

/// A flow as journal records, with the record that placed each order of the flow.
pub struct RecordedFlow {
    /// The records.
    pub records: Vec<Record>,
    /// The record that placed each order, by the flow's own order reference.
    pub references: BTreeMap<u64, u64>,
    markets: Vec<String>,
    /// Offset added to recorded times.
    later_ms: i64,
}

impl RecordedFlow {
    /// A flow as recorded.
    pub fn of(flow: &Path) -> RecordedFlow {
        RecordedFlow::repeated(flow, 1, |_| None)
    }

    /// A flow repeated `rounds` times. After each round all users cancel their open orders. In the
    /// last round, a market with an ending is resolved at that time of the flow, and its later
    /// lines are skipped.
    pub fn repeated(
        flow: &Path,
        rounds: u32,
        ending: impl Fn(&str) -> Option<(i64, Outcome)>,
    ) -> RecordedFlow {
        let (mut markets, mut users) = (Vec::new(), Vec::new());
        for row in rows(flow) {
            for (names, name) in [(&mut markets, &row["market"]), (&mut users, &row["acct"])] {
                let name = name.as_str().unwrap().to_owned();
                if !names.contains(&name) {
                    names.push(name);
                }
            }
        }
        let references = BTreeMap::new();
        let mut recorded = RecordedFlow { records: Vec::new(), references, markets, later_ms: 0 };
        recorded.open(&users);
        let mut ended = BTreeSet::new();
        let user_numbers: BTreeMap<String, u32> = users.iter().cloned().zip(0..).collect();
        let markets: BTreeMap<String, u32> = recorded.markets.iter().cloned().zip(0..).collect();
        for round in 1..=rounds {
            let (mut first, mut last) = (None, 0);
            for row in rows(flow) {
                let user = UserNo(user_numbers[row["acct"].as_str().unwrap()]);
                let name = row["market"].as_str().unwrap();
                let market = MarketNo(markets[name]);
                last = row["t_ms"].as_i64().unwrap();
                first.get_or_insert(last);
                match ending(name).filter(|(end, _)| round == rounds && last >= *end) {
                    Some((end, winner)) if ended.insert(name.to_owned()) => {
                        recorded.push(end, Command::ResolveMarket { market, winner });
                    }
                    Some(_) => {}
                    None => recorded.play(&row, user, market),
                }
            }
            for user in (0..).map(UserNo).take(users.len()).filter(|_| rounds > 1) {
                recorded.push(
                    last,
                    Command::CancelOrders { user, market: None, group: None, key: None },
                );
            }
            recorded.later_ms += last - first.unwrap_or_default() + 1000;
        }
        recorded
    }

    /// Opens a venue with these users and the flow's markets, just before the flow begins.
    fn open(&mut self, users: &[String]) {
        self.push(0, Command::OpenVenue(Rules::current()));
        for (user, name) in (0..).map(UserNo).zip(users) {
            let (profile_name, profile_pic) = (name.clone(), String::new());
            self.push(0, Command::CreateUser { profile_name, profile_pic });
            self.push(0, Command::Deposit { user, amount: DEPOSIT });
        }
        for (market, name) in (0..).map(MarketNo).zip(self.markets.clone()) {
            self.push(0, Command::CreateMarket(Box::new(draft(&name))));
            self.push(0, Command::PublishMarket { market });
        }
    }

    /// The record that created the flow's first market.
    pub fn first_market(&self) -> u64 {
        let first = self.records.iter().find(|r| matches!(r.command, Command::CreateMarket(_)));
        first.unwrap().sequence.get()
    }

    fn push(&mut self, ms: i64, command: Command) {
        let sequence = Sequence::new(self.records.len() as u64 + 1);
        let before = self.records.last().map_or(TimeMs::default(), |record| record.time);
        let time = TimeMs::new(ms + self.later_ms).unwrap().max(before);
        self.records.push(Record { sequence, time, once: None, act: None, command });
    }

    fn play(&mut self, row: &Value, user: UserNo, market: MarketNo) {
        let reference = row["ref"].as_u64().unwrap();
        let text = |name: &str| row[name].as_str().unwrap();
        let ms = row["t_ms"].as_i64().unwrap();
        if text("op") == "cancel" {
            let order = OrderNo(Sequence::new(self.references[&reference]));
            return self.push(ms, Command::CancelOrder { user, order });
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
            group: None,
            key: None,
        };
        self.push(ms, Command::PlaceOrder(terms));
    }
}

fn draft(name: &str) -> MarketDraft {
    MarketDraft {
        questions: Localized { en: name.to_owned(), ..Localized::default() },
        ..MarketDraft::plain(TimeMs::MAX)
    }
}

/// A file of the committed sample.
pub fn sample(kind: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../tests/flow/sample.{kind}.jsonl.gz"))
}

/// A file of the large set, which may be missing.
pub fn large(kind: &str) -> PathBuf {
    let folder = std::env::var_os("OPENOUTCRY_FLOW_DIR").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data/flow"),
        PathBuf::from,
    );
    folder.join(format!("kalshi-gold-1800-2045.{kind}.jsonl.gz"))
}
