//! The demo's users with public keys.

use exchange::command::{KeyHash, Role};
use http::keys;

/// A demo user. The key is public, so it must be valid in a demo venue only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Person {
    /// Public name; no other user of the demo has it.
    pub name: &'static str,
    /// What the key may do.
    pub role: Role,
    /// The API key itself.
    pub key: &'static str,
}

const fn trader(name: &'static str, key: &'static str) -> Person {
    Person { name, role: Role::Trader, key }
}

/// The operator. The demo creates this user first, so its presence identifies a demo's journal.
pub(crate) const OPERATOR: Person =
    Person { name: "Olga", role: Role::Operator, key: "demo-olga-operator-of-a-local-venue-5" };

/// The traders. The demo writes their keys last, so the last one marks a complete demo.
pub(crate) const TRADERS: [Person; 4] = [
    trader("Ana", "demo-ana-trader-on-a-local-venue-1"),
    trader("Ben", "demo-ben-trader-on-a-local-venue-2"),
    trader("Carmen", "demo-carmen-trader-on-a-local-venue-3"),
    trader("Davi", "demo-davi-trader-on-a-local-venue-4"),
];

impl Person {
    /// Everyone with a key, traders first.
    pub(crate) fn all() -> impl Iterator<Item = Person> {
        TRADERS.into_iter().chain([OPERATOR])
    }

    /// The key's hash, as journaled.
    pub(crate) fn key_hash(&self) -> KeyHash {
        keys::hash(self.key.as_bytes())
    }

    /// The URL of the picture; it is not fetched.
    pub(crate) fn picture(&self) -> String {
        format!("https://assets.example.org/people/{}.png", self.name.to_ascii_lowercase())
    }
}

/// Whether this is one of the demo's public keys.
pub(crate) fn is_public(key: &str) -> bool {
    Person::all().any(|person| person.key == key)
}

#[cfg(test)]
#[path = "../../../tests/unit/cli/demo/people.rs"]
mod tests;
