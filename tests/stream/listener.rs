//! A connection that reads at once, checks what must hold of any messages, and rebuilds what it can
//! from them.

use std::collections::{BTreeMap, VecDeque};
use std::task::{Context, Poll, Waker};
use std::thread::sleep;
use std::time::{Duration, Instant};

use engine::Engine;
use exchange::command::Role;
use exchange::ids::{KeyNo, UserNo};
use exchange::units::Sequence;
use http::auth::{Caller, Via};
use http::stream::channel::Channel;
use http::stream::listening::Listening;
use http::stream::message::Slow;
use serde_json::Value;

use crate::rebuilt::Rebuilt;
use crate::venue::{Shown, Venue};

/// How long what must come may take on a busy machine.
pub const PATIENCE: Duration = Duration::from_mins(1);

/// Channels that tell each change, with the sequences of the message before.
#[derive(Debug, Default)]
struct Chain {
    /// What the next message must name as the one before.
    last: u64,
    /// Of the record before that.
    before: u64,
}

pub struct Listener {
    pub caller: Caller,
    pub listening: Listening,
    waiting: VecDeque<Value>,
    chains: BTreeMap<String, Chain>,
    /// The sequence of the last message.
    last: u64,
    pub rebuilt: Rebuilt,
    /// The first message of each kind.
    pub examples: BTreeMap<String, Value>,
    subscribed: Vec<Channel>,
    engine: Engine,
}

impl Listener {
    pub fn of(venue: &Venue, user: UserNo) -> Listener {
        let (watermark, keys) = venue.engine.watermark_and_keys();
        let role =
            if user == UserNo(1) || user == UserNo(0) { Role::Operator } else { Role::Reader };
        let caller =
            Caller { user, via: Via::Key(KeyNo(0)), role, as_of: watermark, keys_as_of: keys };
        Listener {
            caller,
            listening: venue.hub.listen(&venue.engine).unwrap(),
            waiting: VecDeque::new(),
            chains: BTreeMap::new(),
            last: 0,
            rebuilt: Rebuilt::default(),
            examples: BTreeMap::new(),
            subscribed: Vec::new(),
            engine: venue.engine.clone(),
        }
    }

    pub fn subscribe(&mut self, channels: &[Channel]) {
        for asked in self.listening.subscribe(&self.caller, channels, None) {
            asked.unwrap();
        }
        self.subscribed.extend(channels);
    }

    /// What there is to read now.
    pub fn read(&mut self) -> Result<(), Slow> {
        let mut cx = Context::from_waker(Waker::noop());
        let mut into = Vec::new();
        // Few bytes, so that what there is comes in many parts.
        while let Poll::Ready(delivered) = self.listening.poll_messages(&mut cx, &mut into, 700) {
            delivered?;
        }
        for message in into {
            let value: Value = serde_json::from_slice(&message.text).unwrap();
            assert_eq!(value["sequence"], message.sequence.get());
            self.waiting.push_back(value);
        }
        Ok(())
    }

    /// Reads, and takes in everything up to this record.
    pub fn catch_up(&mut self, through: Sequence) {
        let began = Instant::now();
        while self.listening.head() < through {
            self.read().unwrap();
            assert!(began.elapsed() < PATIENCE, "{} of {through}", self.listening.head());
            sleep(Duration::from_micros(50));
        }
        while self
            .waiting
            .front()
            .is_some_and(|next| next["sequence"].as_u64() <= Some(through.get()))
        {
            let next = self.waiting.pop_front().unwrap();
            self.take(&next);
        }
    }

    fn take(&mut self, message: &Value) {
        let sequence = message["sequence"].as_u64().unwrap();
        let previous = message["previous"].as_u64().unwrap();
        let channel = message["channel"].as_str().unwrap();
        let kind = message["kind"].as_str().unwrap();
        self.examples.entry(kind.to_owned()).or_insert_with(|| message.clone());
        assert!(sequence >= self.last, "{message} after {}", self.last);
        self.last = sequence;
        let states =
            channel == "markets" || channel.starts_with("market:") || channel.ends_with(":top");
        assert!(previous <= sequence, "{message}");
        if !states {
            let snapshot = matches!(kind, "snapshot" | "account" | "book" | "orders");
            match self.chains.get_mut(channel) {
                // It shows a state that the record `previous` made.
                None if snapshot => {
                    self.chains.insert(channel.to_owned(), Chain { last: previous, before: 0 });
                }
                // Of a wildcard there is no snapshot of an empty book.
                None => {
                    let chain = Chain { last: sequence, before: previous };
                    self.chains.insert(channel.to_owned(), chain);
                }
                Some(chain) if chain.last == sequence => {
                    assert_eq!(previous, chain.before, "{message}");
                }
                Some(chain) => {
                    assert_eq!(previous, chain.last, "{message}");
                    *chain = Chain { last: sequence, before: previous };
                }
            }
        }
        self.rebuilt.take(channel, kind, &message["data"], sequence);
    }

    fn listens(&self, channel: &str) -> bool {
        self.subscribed.iter().any(|own| {
            let own = own.to_string();
            own == channel
                || own.split_once(":*").is_some_and(|(kind, top)| {
                    channel.split_once(':').is_some_and(|(other, id)| {
                        kind == other && id.ends_with(":top") != top.is_empty()
                    })
                })
        })
    }

    /// Compares what was rebuilt with what readers see after the same record.
    pub fn compare(&self, shown: &Shown) {
        let at = shown.sequence;
        for (id, [bids, asks]) in &shown.books {
            if self.listens(&format!("book:{id}")) {
                let book = self.rebuilt.book(id);
                assert_eq!(book, [bids.clone(), asks.clone()], "book {id} at {at}");
            }
            if self.listens(&format!("orders:{id}")) {
                let book = self.rebuilt.book_of_orders(id);
                assert_eq!(book, [bids.clone(), asks.clone()], "orders {id} at {at}");
            }
            // Of a wildcard it is not said how many there were of each.
            if self.listens(&format!("trades:{id}"))
                && let Some(trades) = self.rebuilt.trades_begun(id)
            {
                assert_eq!(trades, shown.trades[id], "trades {id} at {at}");
            }
            if self.listens(&format!("activity:{id}"))
                && let Some(activity) = self.rebuilt.activity_begun(id)
            {
                assert_eq!(activity, shown.activity[id], "activity {id} at {at}");
            }
        }
        if self.listens("account") {
            let mut own = shown.accounts[&self.caller.user].clone();
            // What came before the snapshot is not told.
            let begun = self.rebuilt.account_begun.unwrap();
            own.fills = self.rebuilt.account.fills;
            own.ledger = self.rebuilt.account.ledger;
            assert_eq!(self.rebuilt.account, own, "account at {at}");
            let view = self.engine.read();
            let fills = view.orders.fills_of(self.caller.user);
            let new = fills.filter(|fill| {
                let sequence = fill.as_ref().unwrap().sequence;
                sequence.get() > begun && sequence <= at
            });
            assert_eq!(new.count(), own.fills, "fills at {at}");
            let ledger = view.statements.of(self.caller.user);
            let new = ledger.filter(|line| {
                let sequence = line.as_ref().unwrap().sequence;
                sequence.get() > begun && sequence <= at
            });
            assert_eq!(new.count(), own.ledger, "ledger at {at}");
        }
        if self.listens("journal")
            && let Some(first) = self.rebuilt.records.first()
        {
            assert!(self.rebuilt.records.iter().copied().eq(*first..=at.get()), "records at {at}");
        }
    }

    /// Waits until what is told now and then is what readers see, which does not change any more.
    pub fn await_states(&mut self, shown: &Shown) {
        let began = Instant::now();
        loop {
            let wrong = shown.books.iter().find(|(id, [bids, asks])| {
                let top = [bids.first().copied(), asks.first().copied()];
                self.listens(&format!("book:{id}:top")) && self.rebuilt.top(id) != top
            });
            let wrong = wrong.map(|(id, _)| id.clone()).or_else(|| {
                let of = |(id, status): (&String, &String)| {
                    let told = self.rebuilt.status(id);
                    told.is_some_and(|told| told != *status).then(|| id.clone())
                };
                shown.status.iter().find_map(of)
            });
            let Some(wrong) = wrong else { break };
            assert!(began.elapsed() < PATIENCE, "{wrong}");
            self.read().unwrap();
            while let Some(next) = self.waiting.pop_front() {
                self.take(&next);
            }
            sleep(Duration::from_millis(5));
        }
    }
}
