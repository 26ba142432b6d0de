//! What the demo's people want to trade at a moment: makers on both sides of the fair price, takers
//! who meet them. The past of a demo and its present are made of the same wishes.

use super::chance::Chance;
use super::people::Bird;
use exchange::command::{Direction, Side, Wording};
use exchange::units::{Lots, TICKS_PER_UNIT, Tick};

/// Levels that a maker quotes on a side.
const LEVELS: u8 = 2;
/// Contracts from which on a holder trades against the position, for each hundredth of its size.
const HELD_MOST: u64 = 3;
/// Takers who rather wait at a better price, in a hundred.
const PATIENT: u64 = 15;
/// Ticks through the fair price that an impatient taker pays at most.
const IMPATIENT_TICKS: u8 = 4;

/// An order that somebody wants, its price one of yes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Wish {
    /// Which way it bets.
    pub direction: Direction,
    /// The limit, a price of yes.
    pub price: Tick,
    /// Contracts wanted.
    pub quantity: Lots,
    /// Whether what is not filled at once rests.
    pub rests: bool,
}

/// What a maker quotes: the `place`th of the makers, around this price of yes. Sides that would be
/// outside the prices there are have none.
pub(crate) fn quotes(place: usize, fair: Tick, chance: &mut Chance) -> Vec<Wish> {
    let nearest = u8::try_from(place).unwrap_or(0).saturating_mul(2).saturating_add(1);
    let levels = (0..LEVELS)
        .flat_map(|level| [Direction::Up, Direction::Down].map(|direction| (level, direction)));
    let quote = |(level, direction): (u8, Direction)| {
        let away = nearest.saturating_add(level);
        let price = moved(fair, direction.opposite(), away)?;
        let contracts = chance.below(90).saturating_add(30);
        let quantity =
            Lots::contracts(contracts.saturating_mul(u64::from(level).saturating_add(1)));
        Some(Wish { direction, price, quantity, rests: true })
    };
    levels.filter_map(quote).collect()
}

/// What a taker wants who holds so many contracts, yes less no; the skilled know whether yes is
/// underrated.
pub(crate) fn taking(
    bird: Bird,
    fair: Tick,
    underrated: bool,
    held: i64,
    chance: &mut Chance,
) -> Wish {
    let most = HELD_MOST.saturating_mul(bird.size);
    let right = chance.percent(bird.skill);
    let up = if held.unsigned_abs() >= most { held < 0 } else { underrated == right };
    let direction = if up { Direction::Up } else { Direction::Down };
    let quantity = Lots::contracts(chance.taken(bird.size).min(most));
    let rests = chance.percent(PATIENT);
    let price = if rests {
        let back = u8::try_from(chance.below(4)).unwrap_or(0);
        moved(fair, direction.opposite(), back)
    } else {
        moved(fair, direction, IMPATIENT_TICKS)
    };
    let end = match direction {
        Direction::Up => Tick::MAX,
        Direction::Down => Tick::MIN,
    };
    Wish { direction, price: price.unwrap_or(if rests { fair } else { end }), quantity, rests }
}

/// A price of yes so many ticks further the way that somebody bets; `None` where there is none.
fn moved(price: Tick, way: Direction, ticks: u8) -> Option<Tick> {
    match way {
        Direction::Up => Tick::new(price.get().saturating_add(ticks)),
        Direction::Down => Tick::new(price.get().saturating_sub(ticks)),
    }
}

/// How the owner writes an order: most buy the outcome on which they bet.
pub(crate) fn worded(direction: Direction, chance: &mut Chance) -> Wording {
    let buys = chance.percent(70);
    let outcome = if buys { direction.gains() } else { direction.gains().other() };
    Wording { outcome, side: if buys { Side::Buy } else { Side::Sell } }
}

/// The price of the last of markets of which one resolves yes, when the others cost this.
pub(crate) fn rest_of_one(others: impl Iterator<Item = Tick>) -> Tick {
    let sum = others.map(Tick::get).fold(0, u8::saturating_add);
    Tick::new(TICKS_PER_UNIT.saturating_sub(sum)).unwrap_or(Tick::MIN)
}

/// Contracts that a position is worth to its holder's next decision: yes less no.
pub(crate) fn net(yes: Lots, no: Lots) -> i64 {
    let contracts =
        |lots: Lots| i64::try_from(lots.get() / Lots::contracts(1).get()).unwrap_or(i64::MAX);
    contracts(yes).saturating_sub(contracts(no))
}

#[cfg(test)]
#[path = "../../../tests/unit/cli/demo/flow.rs"]
mod tests;
