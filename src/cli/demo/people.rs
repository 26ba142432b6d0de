//! The demo's users: five with public keys, and the names of the accounts that play recorded flow.

use exchange::command::{KeyHash, Role};
use exchange::units::{MONEY_PER_UNIT, Money};
use http::keys;

use super::texts::ASSETS;

/// A demo user. The key is public, so it must be valid in a demo venue only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Person {
    /// Public name; no other user of the demo has it.
    pub name: &'static str,
    /// What the key may do.
    pub role: Role,
    /// The API key itself.
    pub key: &'static str,
    /// First deposit, in whole units of the currency.
    pub deposit: u32,
}

/// The operator. The demo writes this key first, so its presence identifies a demo's journal.
pub const OPERATOR: Person = Person {
    name: "Olga",
    role: Role::Operator,
    key: "demo-olga-operator-of-a-local-venue-5",
    deposit: 25_000,
};

/// The traders. The demo writes their keys last, so the last one marks a complete demo.
pub const TRADERS: [Person; 4] = [
    Person {
        name: "Ana",
        role: Role::Trader,
        key: "demo-ana-trader-on-a-local-venue-1",
        deposit: 10_000,
    },
    Person {
        name: "Ben",
        role: Role::Trader,
        key: "demo-ben-trader-on-a-local-venue-2",
        deposit: 5_000,
    },
    Person {
        name: "Carmen",
        role: Role::Trader,
        key: "demo-carmen-trader-on-a-local-venue-3",
        deposit: 2_500,
    },
    Person {
        name: "Davi",
        role: Role::Trader,
        key: "demo-davi-trader-on-a-local-venue-4",
        deposit: 1_000,
    },
];

impl Person {
    /// Everyone with a key, traders first.
    pub fn all() -> impl Iterator<Item = Person> {
        TRADERS.into_iter().chain([OPERATOR])
    }

    /// The key's hash, as journaled.
    pub fn key_hash(&self) -> KeyHash {
        keys::hash(self.key.as_bytes())
    }

    /// The first deposit.
    pub fn money(&self) -> Money {
        Money::new(i64::from(self.deposit).saturating_mul(MONEY_PER_UNIT))
    }
}

/// Whether this is one of the demo's public keys.
pub fn is_public(key: &str) -> bool {
    Person::all().any(|person| person.key == key)
}

/// Deposit of each account of the recorded flow: enough for any prefix of that flow.
pub const BOOKKEEPER_MONEY: Money = Money::new(10_000_000 * MONEY_PER_UNIT);

const BIRDS: [&str; 24] = [
    "Arara",
    "Bem-te-vi",
    "Canario",
    "Cardenal",
    "Condor",
    "Curlew",
    "Falcon",
    "Flamenco",
    "Garza",
    "Goldfinch",
    "Gralha",
    "Heron",
    "Hornero",
    "Jabiru",
    "Kestrel",
    "Magpie",
    "Puffin",
    "Quetzal",
    "Sabia",
    "Siskin",
    "Tero",
    "Toucan",
    "Tucano",
    "Wren",
];
const COLOURS: [&str; 13] = [
    "amber", "azul", "blanco", "branco", "cobalt", "dorado", "indigo", "negro", "rojo", "roxo",
    "teal", "verde", "violet",
];

/// The public name of the `index`th account of the recorded flow; unique per index.
pub fn bookkeeper_name(index: usize) -> String {
    let bird = BIRDS.get(index % BIRDS.len()).unwrap_or(&"Bird");
    let round = index / BIRDS.len();
    let colour = COLOURS.get(round % COLOURS.len()).unwrap_or(&"grey");
    match round / COLOURS.len() {
        0 => format!("{bird} {colour}"),
        again => format!("{bird} {colour} {}", again.saturating_add(1)),
    }
}

/// The picture URL of a demo user; it is not fetched.
pub fn picture(name: &str) -> String {
    let file: String = name
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' })
        .collect();
    format!("{ASSETS}/people/{file}.png")
}

#[cfg(test)]
#[path = "../../../tests/unit/cli/demo/people.rs"]
mod tests;
