//! Streams in the read model's image.

use super::stream::{Row, Streams, Tail};
use crate::saved::{Saved, Sink, Source};
use crate::table::Number;
use exchange::ids::{MarketNo, UserNo};
use exchange::image::coding::BadImage;

/// A row of a stream of which the model holds the newest.
pub(crate) trait Refers: Row {
    /// What the streams belong to.
    type Owner: Number;

    /// The user and the market that the row refers to.
    fn refers(&self) -> (Option<UserNo>, Option<MarketNo>);
}

impl<R: Refers> Saved for Streams<R> {
    fn save(&self, sink: &mut Sink<'_>) {
        self.write(sink);
    }

    fn load(source: &mut Source<'_>) -> Result<Self, BadImage> {
        let sizes = source.sizes;
        let owners = R::Owner::count(sizes);
        let check = |row: &R| {
            let (user, market) = row.refers();
            user.map_or(Ok(()), |user| sizes.has_user(user))?;
            market.map_or(Ok(()), |market| sizes.has_market(market))
        };
        let check = |rows: &[R]| rows.iter().try_for_each(check);
        Streams::read(source.history.clone(), owners, source, check)
    }
}

impl<R: Row> Saved for Tail<R> {
    fn save(&self, sink: &mut Sink<'_>) {
        self.write(sink);
    }

    fn load(source: &mut Source<'_>) -> Result<Self, BadImage> {
        let rows = source.sizes.rows_per_page;
        Tail::read(rows, source).map(|(tail, _)| tail)
    }
}
