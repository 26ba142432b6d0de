//! The client order ids of open orders.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use super::names::fingerprint;
use exchange::ids::{OrderNo, Token, UserNo};
use exchange::units::Sequence;

/// A name without spare capacity.
#[derive(Debug)]
struct StoredName {
    /// The key it is found by.
    fingerprint: u64,
    text: Box<str>,
}

/// The names of open orders.
#[derive(Debug, Default)]
pub(super) struct OpenOrderNames {
    by_order: FxHashMap<OrderNo, StoredName>,
    /// By owner and fingerprint.
    by_fingerprint: BTreeSet<(UserNo, u64, OrderNo)>,
}

impl OpenOrderNames {
    /// The name of an order.
    pub(super) fn of(&self, no: OrderNo) -> Option<Token> {
        self.by_order.get(&no).and_then(|name| Token::new(&name.text))
    }

    /// The user's newest open order with this name.
    pub(super) fn find(&self, user: UserNo, name: &Token) -> Option<OrderNo> {
        let fingerprint = fingerprint(user, name);
        let least = OrderNo(Sequence::ZERO);
        let same = self
            .by_fingerprint
            .range((user, fingerprint, least)..)
            .take_while(move |(owner, other, _)| (*owner, *other) == (user, fingerprint));
        let named = |no: &OrderNo| {
            self.by_order.get(no).is_some_and(|stored| *stored.text == *name.as_str())
        };
        same.map(|(_, _, no)| *no).filter(named).last()
    }

    pub(super) fn add(&mut self, user: UserNo, no: OrderNo, name: &Token) {
        let fingerprint = fingerprint(user, name);
        self.by_order.insert(no, StoredName { fingerprint, text: name.as_str().into() });
        self.by_fingerprint.insert((user, fingerprint, no));
    }

    /// Removes and returns the order's name.
    pub(super) fn remove(&mut self, user: UserNo, no: OrderNo) -> Option<Token> {
        // Most venues have no names at all.
        if self.by_order.is_empty() {
            return None;
        }
        let name = self.by_order.remove(&no)?;
        self.by_fingerprint.remove(&(user, name.fingerprint, no));
        Token::new(&name.text)
    }
}
