//! What people want: one of the twin's intents, as the seed weighs them. An intent becomes a
//! command in the state of the moment, so it means something also when others before it are left
//! out.

use exchange::command::{Condition, SelfTradePrevention, TradingMode};

use crate::chance::Chance;
use crate::commands::{Amount, Intent, Key, Life, Place, Run, Step, USERS_COUNT};

/// Kinds of intents.
pub const KINDS: [&str; 23] = [
    "place",
    "flood",
    "amend",
    "replace",
    "cancel",
    "cancel-all",
    "deposit",
    "withdraw",
    "fees",
    "ask-transfer",
    "end-transfer",
    "two-persons",
    "answer",
    "dispute",
    "run",
    "clock",
    "catalogue",
    "people",
    "again",
    "convert",
    "heartbeat",
    "mode",
    "limit",
];
/// How often each is usual.
const USUAL: [u64; KINDS.len()] =
    [60, 0, 12, 6, 7, 1, 2, 2, 1, 3, 3, 1, 3, 4, 5, 2, 2, 2, 4, 5, 3, 1, 1];
/// Lots of a contract.
const CONTRACT_LOTS: u64 = 1_000_000;

/// How often each kind is in real flow: nearly as many cancels as orders, and little else.
const REAL: [u64; KINDS.len()] =
    [520, 0, 13, 0, 480, 1, 2, 1, 1, 1, 1, 1, 1, 1, 4, 1, 1, 1, 5, 1, 1, 1, 1];
/// Hundredths of a contract that orders of a recorded day of a Kalshi market had: each tenth of
/// them, the smallest first.
const REAL_HUNDREDTHS: [u64; 10] = [1, 10, 100, 1_000, 1_100, 2_200, 3_100, 4_300, 7_600, 200_000];
/// How many in a thousand stood so many cents from the last trade there, from ten below it.
const REAL_DISTANCES: [u64; 21] =
    [71, 24, 23, 23, 29, 38, 50, 61, 71, 86, 111, 82, 67, 55, 45, 32, 23, 16, 14, 11, 68];

/// What the orders of a seed look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// All kinds of orders around the middle.
    Mixed,
    /// Sizes, distances and lives of a recorded day.
    Real,
    /// Single lots, the least that can be traded.
    Dust,
    /// All at one price.
    OnePrice,
    /// A deep book, order by order over all prices, and sweeping cancels.
    Ladder,
    /// The first and the last cent, and whole balances and holdings.
    LastCent,
}

impl Shape {
    /// That of a seed.
    pub fn of(chance: &mut Chance) -> Shape {
        match chance.below(12) {
            0 | 1 => Shape::Real,
            2 => Shape::Dust,
            3 => Shape::OnePrice,
            4 => Shape::Ladder,
            5 => Shape::LastCent,
            _ => Shape::Mixed,
        }
    }

    /// An order of this shape.
    fn shaped(self, chance: &mut Chance, place: Place) -> Place {
        match self {
            Shape::Mixed => place,
            Shape::Real => {
                let hundredths = chance.of_all(&REAL_HUNDREDTHS, 100);
                let distance = i64::try_from(chance.weighted(&REAL_DISTANCES)).unwrap_or(10) - 10;
                let middle = [20, 35, 50, 65, 80].get(usize::from(place.market % 5));
                let price = middle.copied().unwrap_or(50) + distance;
                Place {
                    price: u8::try_from(price).unwrap_or(50),
                    quantity: Amount::Lots(hundredths * CONTRACT_LOTS / 100),
                    life: if chance.one_in(30) { Life::Immediate } else { Life::Standing },
                    condition: Condition::Unconditional,
                    ..place
                }
            }
            Shape::Dust => Place { quantity: Amount::Lots(chance.within(1, 2)), ..place },
            Shape::OnePrice => Place { price: 50, ..place },
            Shape::Ladder => Place {
                price: if place.buy == place.yes {
                    chance.byte(1, 49)
                } else {
                    chance.byte(50, 99)
                },
                quantity: Amount::Lots(1),
                life: Life::Standing,
                ..place
            },
            Shape::LastCent => {
                let whole = chance.one_in(2);
                Place {
                    price: if chance.one_in(2) { 1 } else { 99 },
                    quantity: if whole { Amount::Holding(0) } else { place.quantity },
                    ..place
                }
            }
        }
    }
}

/// How often each kind is in one seed: some not at all, others more than usual.
pub fn weights(chance: &mut Chance, shape: Shape) -> [u64; KINDS.len()] {
    let mut weights = match shape {
        Shape::Real => return REAL,
        _ => USUAL,
    };
    for weight in &mut weights {
        let of_seed = chance.of_all(&[0, 1, 4, 4, 4, 4, 20], 4);
        *weight = weight.saturating_mul(of_seed);
    }
    if chance.one_in(8) {
        // One price, one user's cancels, dust.
        weights[1] = 300;
    }
    weights[0] = weights[0].max(40);
    match shape {
        // Few cancels at a time, but of all that stands.
        Shape::Ladder => (weights[0], weights[4], weights[5]) = (2_000, 1, 2),
        Shape::LastCent => (weights[6], weights[7], weights[8]) = (10, 20, 20),
        Shape::Mixed | Shape::Real | Shape::Dust | Shape::OnePrice => {}
    }
    weights
}

/// The next thing that somebody wants.
pub fn step(chance: &mut Chance, weights: &[u64; KINDS.len()], shape: Shape) -> Step {
    let known = USERS_COUNT.to_le_bytes()[0];
    let intent = match intent(chance, weights, known) {
        Intent::Place(place) => Intent::Place(shape.shaped(chance, place)),
        // The whole balance, to the last cent.
        Intent::Withdraw { user, .. } if shape == Shape::LastCent => {
            Intent::Withdraw { user, share: 100 }
        }
        other => other,
    };
    let once = chance.one_in(7).then(|| Key {
        caller: user(chance, known),
        name: chance.byte(0, 2),
        part: if chance.one_in(4) { chance.byte(0, 2) } else { 0 },
        body: chance.byte(0, 1),
    });
    Step { later_ms: 0, once, intent }
}

/// Mostly somebody known.
fn user(chance: &mut Chance, known: u8) -> u8 {
    if chance.one_in(40) { known } else { chance.byte(0, known.saturating_sub(1)) }
}

fn amount(chance: &mut Chance) -> Amount {
    match chance.weighted(&[4, 1, 2, 2, 2]) {
        0 => Amount::Lots(chance.within(1, 4) * CONTRACT_LOTS),
        1 => Amount::Lots(1),
        2 => Amount::Lots(chance.within(1, 9)),
        3 => Amount::Lots(chance.within(1, 3 * CONTRACT_LOTS)),
        _ => Amount::Holding(small(chance, -2, 3)),
    }
}

fn small(chance: &mut Chance, from: i16, to: i16) -> i8 {
    i8::try_from(chance.signed(from, to)).unwrap_or(0)
}

fn price(chance: &mut Chance) -> u8 {
    match chance.below(17) {
        0 => chance.of_all(&[1, 99, 2, 50, 98], 50),
        _ => chance.byte(47, 53),
    }
}

fn place(chance: &mut Chance, known: u8) -> Place {
    let life = match chance.weighted(&[10, 2, 2, 2]) {
        0 => Life::Standing,
        1 => Life::Expires(chance.signed(-3, 300)),
        2 => Life::Immediate,
        _ => Life::Whole,
    };
    let conditions = [
        Condition::Unconditional,
        Condition::PostOnly,
        Condition::ReduceOnly,
        Condition::PostOnlyReduceOnly,
    ];
    let condition = chance.weighted(&[22, 3, 3, 1]);
    let self_trade = chance.of_all(
        &[
            SelfTradePrevention::CancelMaker,
            SelfTradePrevention::CancelBoth,
            SelfTradePrevention::CancelTaker,
        ],
        SelfTradePrevention::CancelTaker,
    );
    Place {
        user: user(chance, known),
        market: if chance.one_in(31) { chance.byte(8, 12) } else { chance.byte(0, 7) },
        yes: chance.one_in(2),
        buy: chance.one_in(2),
        price: price(chance),
        quantity: amount(chance),
        life,
        self_trade,
        condition: conditions.get(condition).copied().unwrap_or(Condition::Unconditional),
        valid_for: chance.one_in(20).then(|| small(chance, -3, 9)),
        copy_from: chance.one_in(7).then(|| user(chance, known)),
        client: chance.one_in(4).then(|| chance.byte(0, 5)),
    }
}

fn run(chance: &mut Chance) -> Run {
    let later = |chance: &mut Chance| chance.one_in(2).then(|| chance.signed(-20, 3_000));
    match chance.weighted(&[2, 2, 2, 4, 2, 4, 6, 1, 2]) {
        0 => Run::Create { deadline_in: chance.signed(-2, 3_000), window: chance.byte(0, 2) },
        1 => Run::Publish,
        2 => Run::Suspend,
        3 => Run::Reopen(later(chance)),
        4 => Run::Close,
        5 => Run::Resolve(chance.one_in(2)),
        6 => Run::Dispute,
        7 => Run::Void(chance.byte(0, 100)),
        _ => Run::Revise(later(chance)),
    }
}

fn intent(chance: &mut Chance, weights: &[u64; KINDS.len()], known: u8) -> Intent {
    let pick = u16::try_from(chance.below(1 << 16)).unwrap_or(0);
    let user = user(chance, known);
    match KINDS.get(chance.weighted(weights)).copied().unwrap_or_default() {
        "flood" => Intent::Place(Place {
            user: 0,
            market: 0,
            price: 50,
            quantity: Amount::Lots(1),
            life: Life::Standing,
            ..place(chance, known)
        }),
        "amend" => Intent::Amend {
            pick,
            price: chance.one_in(2).then(|| price(chance)),
            quantity: match chance.weighted(&[2, 2, 1]) {
                0 => None,
                1 => Some(Amount::Tenths(small(chance, -9, 7))),
                _ => Some(amount(chance)),
            },
        },
        "replace" => Intent::Replace { pick, place: place(chance, known) },
        "cancel" => Intent::Cancel { pick, by: chance.byte(0, 11) },
        "cancel-all" => {
            Intent::CancelAll { user, market: chance.one_in(2).then(|| chance.byte(0, 12)) }
        }
        "deposit" => {
            let units = i64::try_from(chance.within(1, 400_000_000)).unwrap_or(1);
            Intent::Deposit { user, units }
        }
        "withdraw" => Intent::Withdraw { user, share: chance.byte(0, 110) },
        "fees" => Intent::TakeFees { user, share: chance.byte(0, 110) },
        "ask-transfer" => {
            Intent::AskTransfer { user, share: chance.byte(0, 110), out: chance.one_in(2) }
        }
        "end-transfer" => Intent::EndTransfer { pick: chance.byte(0, 255), by: chance.byte(0, 7) },
        "two-persons" => {
            let units = i64::try_from(chance.below(40_000_000)).unwrap_or(0);
            Intent::TwoPersons { units: chance.one_in(2).then_some(units) }
        }
        "answer" => Intent::Answer { pick: chance.byte(0, 255), by: chance.byte(0, 11) },
        "dispute" => {
            Intent::FileDispute { market: chance.byte(0, 255), user, share: chance.byte(0, 110) }
        }
        "run" => {
            let market = if chance.one_in(5) { chance.byte(0, 7) } else { chance.byte(8, 12) };
            Intent::Run { market, what: run(chance) }
        }
        "clock" => Intent::Clock,
        "catalogue" => Intent::Catalogue(chance.byte(0, 255)),
        "people" => Intent::Catalogue(chance.byte(0, 15).saturating_mul(8).saturating_add(7)),
        "again" => Intent::Again(pick),
        "convert" => Intent::Convert { user, pick, quantity: amount(chance) },
        "heartbeat" => Intent::Heartbeat {
            user,
            seconds: chance.byte(0, 2),
            group: chance.one_in(2).then(|| chance.byte(0, 1)),
        },
        "mode" => Intent::Mode {
            user: (!chance.one_in(4)).then_some(user),
            mode: match chance.below(8) {
                0 => TradingMode::CancelOnly,
                1 => TradingMode::ReadOnly,
                _ => TradingMode::Normal,
            },
        },
        "limit" => {
            let units = i64::try_from(chance.below(900_000_000)).unwrap_or(0);
            Intent::Limit { user, units: chance.one_in(2).then_some(units) }
        }
        _ => Intent::Place(place(chance, known)),
    }
}
