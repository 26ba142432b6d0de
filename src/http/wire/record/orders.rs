//! Looks up the ids of orders that records name by number.

use std::collections::BTreeMap;

use exchange::command::{Command, Record};
use exchange::ids::{OrderId, OrderNo, UserNo};
use views::ReadModel;
use views::history::HistoryError;
use views::orders::OrderIds;

/// The orders that some records name, by user and number, with their ids once looked up.
#[derive(Debug)]
pub struct OrdersNamed {
    users: BTreeMap<UserNo, OrderIds>,
    ids: BTreeMap<(UserNo, OrderNo), Option<OrderId>>,
}

impl OrdersNamed {
    /// Collects the orders of these records.
    pub fn of(view: &ReadModel, records: &[Record]) -> OrdersNamed {
        let named = records.iter().filter_map(|record| match &record.command {
            Command::AmendOrder { user, order, .. } | Command::CancelOrder { user, order } => {
                Some((*user, *order))
            }
            Command::ReplaceOrder { replaced, terms } => Some((terms.user, *replaced)),
            _ => None,
        });
        let placed = records.iter().filter_map(|record| {
            record.command.placement().map(|terms| (terms.user, OrderNo(record.sequence)))
        });
        let ids: BTreeMap<_, _> = named.chain(placed).map(|named| (named, None)).collect();
        let users = ids.keys().map(|(user, _)| (*user, view.orders.ids(*user))).collect();
        OrdersNamed { users, ids }
    }

    /// Looks up the ids; reads history, so not under the read model's lock.
    ///
    /// # Errors
    /// History cannot be read.
    pub fn look_up(&mut self) -> Result<(), HistoryError> {
        for ((user, order), id) in &mut self.ids {
            if let Some(user) = self.users.get_mut(user) {
                *id = user.id(*order)?;
            }
        }
        Ok(())
    }

    /// The id of an order; `None` if it is not one of this user's.
    pub fn id(&self, user: UserNo, order: OrderNo) -> Option<OrderId> {
        self.ids.get(&(user, order)).copied().flatten()
    }
}
