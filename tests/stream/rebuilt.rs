//! What a client makes of the messages.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::venue::{Account, Level};

/// An order on a book.
#[derive(Debug, Clone)]
struct Resting {
    side: usize,
    price: u8,
    lots: u64,
}

/// Quantity and orders, by side and price.
type Levels = BTreeMap<(usize, u8), (u64, u32)>;

/// Everything that was told.
#[derive(Debug, Default)]
pub struct Rebuilt {
    books: BTreeMap<String, Levels>,
    orders: BTreeMap<String, BTreeMap<u64, Resting>>,
    tops: BTreeMap<String, [Option<Level>; 2]>,
    trades: BTreeMap<String, usize>,
    trade_ids: BTreeSet<String>,
    activity: BTreeMap<String, usize>,
    statuses: BTreeMap<String, String>,
    pub account: Account,
    pub account_begun: Option<u64>,
    pub records: Vec<u64>,
}

fn side(level: &Value) -> usize {
    usize::from(level["side"] == "ask")
}

/// A decimal in units of so many digits after the point.
fn parsed(text: &Value, digits: usize) -> u64 {
    let text = text.as_str().unwrap();
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    assert!(part.len() <= digits, "{text}");
    format!("{whole}{part:0<digits$}").parse().unwrap()
}

fn hundredths(text: &Value) -> u64 {
    parsed(text, 2)
}

fn lots(text: &Value) -> u64 {
    parsed(text, 6)
}

fn price(level: &Value) -> u8 {
    let (yes, no) = (hundredths(&level["price"]), hundredths(&level["priceNo"]));
    assert_eq!(yes + no, 100);
    u8::try_from(yes).unwrap()
}

fn level(level: &Value) -> Level {
    let orders = u32::try_from(level["orders"].as_u64().unwrap()).unwrap();
    (price(level), lots(&level["quantity"]), orders)
}

fn both(levels: impl Iterator<Item = (usize, Level)>) -> [Vec<Level>; 2] {
    let mut sides = [Vec::new(), Vec::new()];
    for (side, level) in levels {
        sides[side].push(level);
    }
    sides[0].sort_unstable_by(|one, other| other.cmp(one));
    sides[1].sort_unstable();
    sides
}

impl Rebuilt {
    pub fn take(&mut self, channel: &str, kind: &str, data: &Value, sequence: u64) {
        let id = channel.split(':').nth(1).unwrap_or_default().to_owned();
        match kind {
            "snapshot" if channel.starts_with("trades:") => {
                let count = usize::try_from(data["count"].as_u64().unwrap()).unwrap();
                self.trades.insert(id, count);
            }
            "snapshot" if channel.starts_with("activity:") => {
                let count = usize::try_from(data["count"].as_u64().unwrap()).unwrap();
                self.activity.insert(id, count);
            }
            "snapshot" | "stats" => {}
            "book" => {
                self.books.insert(id.clone(), BTreeMap::new());
                self.levels(&id, data);
            }
            "levels" => self.levels(&id, data),
            "top" => {
                let best = |one: &Value| (!one.is_null()).then(|| level(one));
                self.tops.insert(id, [best(&data["bestBid"]), best(&data["bestAsk"])]);
            }
            "orders" => {
                self.orders.insert(id.clone(), BTreeMap::new());
                for order in data["orders"].as_array().unwrap() {
                    self.add(&id, order);
                }
            }
            "added" => self.add(&id, data),
            "reduced" => {
                let order = self.order(&id, data);
                let left = lots(&data["quantity"]);
                assert!(left < order.lots);
                order.lots = left;
            }
            "removed" => {
                let no = data["order"].as_u64().unwrap();
                assert!(self.orders.get_mut(&id).unwrap().remove(&no).is_some(), "{data}");
            }
            "traded" => {
                let no = data["order"].as_u64().unwrap();
                let order = self.order(&id, data);
                let left = lots(&data["remainingQuantity"]);
                assert_eq!(order.lots, left + lots(&data["quantity"]));
                order.lots = left;
                if left == 0 {
                    self.orders.get_mut(&id).unwrap().remove(&no);
                }
            }
            "trade" => {
                assert!(self.trade_ids.insert(data["id"].as_str().unwrap().to_owned()), "{data}");
                if let Some(trades) = self.trades.get_mut(&id) {
                    *trades += 1;
                }
            }
            "activity" => {
                if let Some(activity) = self.activity.get_mut(&id) {
                    *activity += 1;
                }
            }
            "market" => {
                let id = data["id"].as_str().unwrap().to_owned();
                self.statuses.insert(id, data["status"].as_str().unwrap().to_owned());
            }
            "record" => self.records.push(data["sequence"].as_u64().unwrap()),
            "results" => assert_eq!(data["through"], sequence),
            _ => self.take_account(kind, data, sequence),
        }
    }

    fn take_account(&mut self, kind: &str, data: &Value, sequence: u64) {
        let account = &mut self.account;
        let text = |member: &str| data[member].as_str().unwrap().to_owned();
        match kind {
            "account" => {
                self.account_begun = Some(sequence);
                *account = Account::default();
                assert_eq!(data["truncated"], false);
                data["balance"]["available"].as_str().unwrap().clone_into(&mut account.available);
                data["balance"]["reserved"].as_str().unwrap().clone_into(&mut account.reserved);
                for order in data["orders"].as_array().unwrap() {
                    take_order(account, order);
                }
                for held in data["positions"].as_array().unwrap() {
                    take_position(account, held);
                }
            }
            "order" => take_order(account, data),
            "fill" => account.fills += 1,
            "position" => {
                let market = text("marketId");
                account.held.retain(|(of, _), _| *of != market);
                for held in data["positions"].as_array().unwrap() {
                    assert_eq!(held["marketId"], *market);
                    take_position(account, held);
                }
            }
            "balance" => {
                account.available = text("available");
                account.reserved = text("reserved");
            }
            "ledger" => account.ledger += 1,
            "settlement" | "heartbeatExpired" => {}
            unknown => panic!("{unknown}"),
        }
    }

    fn levels(&mut self, id: &str, data: &Value) {
        let book = self.books.get_mut(id);
        // Of a wildcard there is no snapshot of a market whose book was empty.
        let book = match book {
            Some(book) => book,
            None => self.books.entry(id.to_owned()).or_default(),
        };
        for one in data["levels"].as_array().unwrap() {
            let (price, lots, orders) = level(one);
            if lots == 0 {
                book.remove(&(side(one), price));
            } else {
                book.insert((side(one), price), (lots, orders));
            }
        }
    }

    fn add(&mut self, id: &str, order: &Value) {
        let resting =
            Resting { side: side(order), price: price(order), lots: lots(&order["quantity"]) };
        let no = order["order"].as_u64().unwrap();
        let before = self.orders.entry(id.to_owned()).or_default().insert(no, resting);
        assert!(before.is_none(), "{order}");
    }

    fn order(&mut self, id: &str, data: &Value) -> &mut Resting {
        self.orders.get_mut(id).unwrap().get_mut(&data["order"].as_u64().unwrap()).unwrap()
    }

    pub fn book(&self, id: &str) -> [Vec<Level>; 2] {
        let levels = self.books.get(id).into_iter().flatten();
        both(levels.map(|((side, price), (lots, orders))| (*side, (*price, *lots, *orders))))
    }

    pub fn book_of_orders(&self, id: &str) -> [Vec<Level>; 2] {
        let mut levels: BTreeMap<(usize, u8), (u64, u32)> = BTreeMap::new();
        for order in self.orders.get(id).into_iter().flat_map(BTreeMap::values) {
            let (lots, orders) = levels.entry((order.side, order.price)).or_default();
            *lots += order.lots;
            *orders += 1;
        }
        both(
            levels.into_iter().map(|((side, price), (lots, orders))| (side, (price, lots, orders))),
        )
    }

    pub fn trades_begun(&self, id: &str) -> Option<usize> {
        self.trades.get(id).copied()
    }

    pub fn activity_begun(&self, id: &str) -> Option<usize> {
        self.activity.get(id).copied()
    }

    pub fn top(&self, id: &str) -> [Option<Level>; 2] {
        self.tops.get(id).copied().unwrap_or_default()
    }

    pub fn status(&self, id: &str) -> Option<String> {
        self.statuses.get(id).cloned()
    }
}

fn take_order(account: &mut Account, order: &Value) {
    let id = order["id"].as_str().unwrap().to_owned();
    if matches!(order["status"].as_str().unwrap(), "OPEN" | "PARTIALLY_FILLED") {
        account.open.insert(id, order["remainingQuantity"].as_str().unwrap().to_owned());
    } else {
        account.open.remove(&id);
    }
}

fn take_position(account: &mut Account, held: &Value) {
    let text = |member: &str| held[member].as_str().unwrap().to_owned();
    account.held.insert((text("marketId"), text("outcomeId")), text("quantity"));
}
