//! The names that owners gave to orders that stand.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use super::names::mark;
use crate::exchange::ids::{OrderNo, Token, UserNo};
use crate::exchange::units::Sequence;

/// A name, as short as it is.
#[derive(Debug)]
struct Title {
    /// What it is found by.
    mark: u64,
    text: Box<str>,
}

/// The names of open orders.
#[derive(Debug, Default)]
pub(super) struct OpenOrderNames {
    of: FxHashMap<OrderNo, Title>,
    /// By owner and mark.
    marked: BTreeSet<(UserNo, u64, OrderNo)>,
}

impl OpenOrderNames {
    /// The name of this order.
    pub(super) fn of(&self, no: OrderNo) -> Option<Token> {
        self.of.get(&no).and_then(|title| Token::new(&title.text))
    }

    /// The newest order of that name.
    pub(super) fn find(&self, user: UserNo, name: &Token) -> Option<OrderNo> {
        let mark = mark(user, name);
        let least = OrderNo(Sequence::ZERO);
        let same = self
            .marked
            .range((user, mark, least)..)
            .take_while(move |(owner, other, _)| (*owner, *other) == (user, mark));
        let named =
            |no: &OrderNo| self.of.get(no).is_some_and(|title| *title.text == *name.as_str());
        same.map(|(_, _, no)| *no).filter(named).last()
    }

    pub(super) fn add(&mut self, user: UserNo, no: OrderNo, name: &Token) {
        let mark = mark(user, name);
        self.of.insert(no, Title { mark, text: name.as_str().into() });
        self.marked.insert((user, mark, no));
    }

    /// Forgets the order's name; gives it.
    pub(super) fn remove(&mut self, user: UserNo, no: OrderNo) -> Option<Token> {
        // Most have none.
        if self.of.is_empty() {
            return None;
        }
        let title = self.of.remove(&no)?;
        self.marked.remove(&(user, title.mark, no));
        Token::new(&title.text)
    }
}
