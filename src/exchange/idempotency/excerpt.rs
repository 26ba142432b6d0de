//! Copies the names that a trial's commands use into the trial's excerpt.

use super::{Exchange, NameEntry, Sequence, key_name, order_name};
use crate::command::{Command, Record};
use crate::ids::UserNo;
use crate::units::TimeMs;

impl Exchange {
    /// The records that executed requests with this record's names.
    pub(crate) fn first_executions(&self, record: &Record) -> Vec<Sequence> {
        let entries = names(record).filter_map(|name| self.idempotency.get(name));
        entries.flat_map(|entry| entry.firsts.into_iter().map(|(_, first)| first)).collect()
    }

    /// Copies what the whole exchange remembers of a record's names, with record numbers translated
    /// to this excerpt. Fingerprints stay those of the whole exchange's numbers.
    pub(crate) fn copy_names(
        &mut self,
        whole: &Exchange,
        record: &Record,
        number: impl Fn(Sequence) -> Sequence,
    ) {
        for name in names(record) {
            if let Some(entry) = whole.idempotency.get(name) {
                let firsts = entry.firsts.iter().map(|(part, first)| (*part, number(*first)));
                let entry = NameEntry { firsts: firsts.collect(), ..entry };
                // Never checked for expiry here.
                self.idempotency.add(TimeMs::MAX, name, &entry);
            }
        }
    }

    /// Copies the number of a user's names.
    pub(crate) fn copy_names_count(&mut self, whole: &Exchange, user: UserNo) {
        self.idempotency.copy_counts(&whole.idempotency, user);
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
