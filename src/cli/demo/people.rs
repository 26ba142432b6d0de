//! The demo's people. Their keys are public, so they must be valid in a demo venue only.

use exchange::command::{KeyHash, Role};
use http::keys;

/// A person whose key the demo prints.
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

/// The operator, whose key the demo adds among its first records: it identifies a demo's journal.
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
    /// Everyone whose key is printed, traders first.
    pub(crate) fn all() -> impl Iterator<Item = Person> {
        TRADERS.into_iter().chain([OPERATOR])
    }

    /// The key's hash, as journaled.
    pub(crate) fn key_hash(&self) -> KeyHash {
        keys::hash(self.key.as_bytes())
    }
}

/// One of those who trade by themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Bird {
    /// Public name; no other user of the demo has it.
    pub name: &'static str,
    /// In how many of a hundred cases the bird is on the right side.
    pub skill: u64,
    /// How much it trades, in hundredths of what is usual.
    pub size: u64,
}

const fn bird(name: &'static str, skill: u64, size: u64) -> Bird {
    Bird { name, skill, size }
}

/// Who quotes both sides: the first near the fair price, the second wider.
pub(crate) const MAKERS: [Bird; 2] = [bird("Albatroz", 50, 100), bird("Petrel", 50, 200)];

/// Who takes.
pub(crate) const CROWD: [Bird; 30] = [
    bird("Arara", 61, 90),
    bird("Bem-te-vi", 55, 60),
    bird("Canario", 48, 40),
    bird("Cardenal", 57, 120),
    bird("Condor", 68, 260),
    bird("Curlew", 50, 50),
    bird("Falcon", 72, 180),
    bird("Flamenco", 44, 110),
    bird("Garza", 53, 70),
    bird("Goldfinch", 46, 30),
    bird("Gralha", 41, 150),
    bird("Heron", 63, 80),
    bird("Hornero", 56, 60),
    bird("Ibis", 51, 100),
    bird("Jabiru", 49, 210),
    bird("Kestrel", 66, 100),
    bird("Lechuza", 70, 70),
    bird("Magpie", 38, 90),
    bird("Martin", 54, 50),
    bird("Osprey", 60, 130),
    bird("Pelicano", 47, 60),
    bird("Puffin", 52, 40),
    bird("Quetzal", 64, 150),
    bird("Sabia", 58, 110),
    bird("Siskin", 45, 30),
    bird("Tero", 43, 70),
    bird("Toucan", 50, 300),
    bird("Tucano", 59, 80),
    bird("Urraca", 40, 50),
    bird("Wren", 62, 40),
];

impl Bird {
    /// The API key, as public as the others.
    pub(crate) fn key(&self) -> String {
        format!("demo-{}-bird-of-the-crowd-on-a-local-venue", self.name.to_ascii_lowercase())
    }

    /// The key's hash, as journaled.
    pub(crate) fn key_hash(&self) -> KeyHash {
        keys::hash(self.key().as_bytes())
    }

    /// Everyone who trades by themselves, makers first.
    pub(crate) fn all() -> impl Iterator<Item = Bird> {
        MAKERS.into_iter().chain(CROWD)
    }
}

/// Whether this is one of the demo's public keys.
pub(crate) fn is_public(key: &str) -> bool {
    Person::all().any(|person| person.key == key) || Bird::all().any(|bird| bird.key() == key)
}

#[cfg(test)]
#[path = "../../../tests/unit/cli/demo/people.rs"]
mod tests;
