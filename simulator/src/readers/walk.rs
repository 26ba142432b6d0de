//! Reading a list page by page, as the interface does.

use std::borrow::Cow;

use exchange::ids::{MarketNo, UserNo};
use exchange::units::{Sequence, TimeMs};
use views::ReadModel;
use views::fills::FillRow;
use views::history::HistoryError;
use views::history::onward::{OldestFirst, Onward, Start};
use views::tape::TradeRow;

use super::told::{Row, Told, of};
use crate::chance::Chance;
use crate::oracle::Oracle;

/// What is read page by page.
#[derive(Debug, Clone, Copy)]
enum List {
    /// A user's fills.
    Fills(UserNo),
    /// A user's fills in a market.
    Within(UserNo, MarketNo),
    /// A market's trades.
    Trades(MarketNo),
}

impl List {
    /// What must be in it, oldest first.
    fn told(self, told: &Told) -> Cow<'_, [Row]> {
        match self {
            List::Fills(user) => of(&told.fills, user.0).into(),
            List::Within(user, market) => {
                let fills = of(&told.fills, user.0).iter();
                fills.filter(|row| row.2 == market).copied().collect()
            }
            List::Trades(market) => of(&told.trades, market.0).into(),
        }
    }
}

/// Where the next page is.
#[derive(Debug, Clone, Copy)]
enum Next {
    /// The newest of so many rows, or of all, and older ones.
    Older(Option<usize>),
    /// From here on; so many rows are older.
    Newer(Start, usize),
}

/// Somebody who reads a list page by page.
#[derive(Debug, Clone, Copy)]
pub struct Walk {
    list: List,
    /// Rows of a page.
    pub most: usize,
    next: Next,
}

impl Walk {
    /// Somebody begins with some list.
    pub fn begin(oracle: &Oracle, chance: &mut Chance) -> Walk {
        let (twin, told) = (&oracle.twin, &oracle.told);
        let any = |chance: &mut Chance, of: usize| u32::try_from(chance.index(of)).unwrap_or(0);
        let user = UserNo(any(chance, told.fills.len()));
        let market = MarketNo(any(chance, twin.markets.len()));
        let list = match chance.below(3) {
            0 => List::Fills(user),
            1 => List::Within(user, market),
            _ => List::Trades(market),
        };
        let rows = list.told(told);
        let after = chance.index(oracle.records.len());
        let record = oracle
            .records
            .get(after)
            .map_or((Sequence::ZERO, TimeMs::default()), |it| (it.sequence, it.time));
        let time = |row: &Row| oracle.record(row.0).map_or(TimeMs::default(), |it| it.time);
        let next = match chance.below(5) {
            0 => Next::Newer(Start::Place(0), 0),
            1 => {
                let older = rows.partition_point(|row| row.0 <= record.0);
                Next::Newer(Start::After(record.0), older)
            }
            2 => {
                let older = rows.partition_point(|row| time(row) < record.1);
                Next::Newer(Start::At(record.1), older)
            }
            _ => Next::Older(None),
        };
        Walk { list, most: chance.of_all(&[1, 3, 50, 500], 50), next }
    }

    /// The next page, which must show what was told; `None` at the end.
    pub fn page(&self, view: &ReadModel, told: &Told) -> Result<Option<Walk>, String> {
        let fill =
            |row: FillRow| (row.sequence, row.index, row.market, row.quantity, Some(row.order));
        let told = self.list.told(told);
        let read = match self.list {
            List::Fills(user) => self.read(view.orders.fills_of(user), told.len(), fill),
            List::Within(user, market) => {
                let list = view.orders.fills_in(user, market).list();
                list.and_then(|list| self.read(list, told.len(), fill))
            }
            List::Trades(market) => {
                let row = |row: TradeRow| (row.sequence, row.index, market, row.quantity, None);
                self.read(view.tape.trades(market), told.len(), row)
            }
        };
        let (mut rows, from, next) = read.map_err(|error| format!("READ: {error}"))?;
        rows.reverse();
        let end = from.saturating_add(self.most).min(told.len());
        let whole = match self.next {
            Next::Older(older) => from..older.unwrap_or(told.len()),
            Next::Newer(..) => from..end,
        };
        if told.get(whole.clone()) == Some(&rows) {
            return Ok(next.map(|next| Walk { next, ..*self }));
        }
        Err(format!("READ: {self:?} shows {rows:?}, not {:?}", told.get(whole)))
    }

    /// Reads as the interface does: the rows, the newest first, how many are older, and where the
    /// next page is; `all` rows are there.
    fn read<T, L>(
        &self,
        list: L,
        all: usize,
        row: impl Fn(T) -> Row,
    ) -> Result<(Vec<Row>, usize, Option<Next>), HistoryError>
    where
        L: OldestFirst + ExactSizeIterator<Item = Result<T, HistoryError>>,
    {
        match self.next {
            Next::Older(older) => {
                let (total, older) = (list.len(), older.unwrap_or(all));
                let newer = total.saturating_sub(older);
                let page = list.skip(newer).take(self.most);
                let rows = page.map(|found| found.map(&row)).collect::<Result<Vec<_>, _>>()?;
                // Too few rows must not end the reading: what is left is not what was shown.
                let rest = older.saturating_sub(self.most);
                Ok((rows, rest, (rest > 0).then_some(Next::Older(Some(rest)))))
            }
            Next::Newer(start, older) => {
                let Onward { list, count, newer, next } = list.onward(start, self.most)?;
                let page = list.take(count);
                let rows = page.map(|found| found.map(&row)).collect::<Result<Vec<_>, _>>()?;
                let heard = older.saturating_add(count);
                let next = Next::Newer(Start::Place(next), heard);
                Ok((rows, older, (newer > 0 || heard < all).then_some(next)))
            }
        }
    }
}
