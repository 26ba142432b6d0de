//! What an excerpt must know of the names that are given in it.

use super::{Exchange, Known, Sequence, key_name, order_name};
use crate::exchange::command::{Command, Record};
use crate::exchange::ids::UserNo;

impl Exchange {
    /// The records that did what is asked by this one's names, as far as there are any.
    pub(in crate::exchange) fn firsts_of(&self, record: &Record) -> Vec<Sequence> {
        let known = names(record).filter_map(|name| self.repeats.known.get(&name));
        known.flat_map(|known| known.firsts.iter().map(|(_, first)| *first)).collect()
    }

    /// Takes over what the whole knows of a record's names, in the numbers of this excerpt. The
    /// names themselves, and what was asked under them, stay in the whole's.
    pub(in crate::exchange) fn take_names(
        &mut self,
        whole: &Exchange,
        record: &Record,
        number: impl Fn(Sequence) -> Sequence,
    ) {
        for name in names(record) {
            if let Some(known) = whole.repeats.known.get(&name) {
                let firsts = known.firsts.iter().map(|(part, first)| (*part, number(*first)));
                let known = Known { firsts: firsts.collect(), ..known.clone() };
                self.repeats.known.insert(name, known);
            }
        }
    }

    /// Takes over how many names of a user's are held.
    pub(in crate::exchange) fn hold_names(&mut self, whole: &Exchange, user: UserNo) {
        self.repeats.count(user, whole.repeats.held_of(user));
    }
}

/// The names that a record gives.
fn names(record: &Record) -> impl Iterator<Item = super::Fingerprint> {
    let order = match &record.command {
        Command::PlaceOrder(terms) => order_name(terms),
        _ => None,
    };
    record.once.as_deref().map(key_name).into_iter().chain(order)
}
