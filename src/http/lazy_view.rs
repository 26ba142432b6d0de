//! A read model guard that is taken only when needed. Most placements need no read model, and then
//! do not wait for the projector; once taken, all lookups of a request see one state.

use std::cell::OnceCell;

use parking_lot::RwLockReadGuard;

use super::call::{Call, public_market, user_no};
use super::problem::Problem;
use exchange::ids::{MarketId, MarketNo, UserId, UserNo};
use exchange::reject::Reject;
use exchange::units::{LotsSum, Sequence};
use views::ReadModel;

/// The lazily locked read model of one request.
pub struct LazyView<'a> {
    call: &'a Call,
    /// Held from the first lookup on: the projector waits meanwhile.
    view: OnceCell<RwLockReadGuard<'a, ReadModel>>,
}

impl<'a> LazyView<'a> {
    /// Takes no lock yet.
    pub const fn of(call: &'a Call) -> LazyView<'a> {
        LazyView { call, view: OnceCell::new() }
    }

    /// The user who sent the request.
    pub const fn caller(&self) -> UserNo {
        self.call.caller.user
    }

    /// The number of a public market. A market once public stays public, so it may come from the
    /// cache.
    pub fn market_no(&self, id: MarketId) -> Result<MarketNo, Problem> {
        let look = || self.look(|view| Ok(public_market(view, id)?.no));
        self.call.shared.caches.market_nos.find_or(id, Sequence::ZERO, look)
    }

    /// The number of a user who has traded.
    pub fn trader_no(&self, id: UserId) -> Result<UserNo, Problem> {
        self.look(|view| {
            let trader = user_no(view, id)?;
            match view.performance.total(trader).volume {
                LotsSum::ZERO => Err(Problem::of(Reject::UserNotFound)),
                _ => Ok(trader),
            }
        })
    }

    /// Whether the request has an idempotency key.
    pub const fn has_key(&self) -> bool {
        self.call.once.is_some()
    }

    /// The read model, locked on first use.
    pub fn view(&self) -> &ReadModel {
        self.view.get_or_init(|| self.call.engine.read())
    }

    fn look<T>(&self, look: impl FnOnce(&ReadModel) -> Result<T, Problem>) -> Result<T, Problem> {
        let view = self.view();
        look(view).map_err(|problem| Problem { sequence: Some(view.watermark()), ..problem })
    }
}
