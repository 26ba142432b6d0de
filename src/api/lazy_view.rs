//! A glance at the read model, for whoever only hands commands in: mostly nobody has to look, and
//! then nobody waits for whoever folds. Once somebody must, all look at one moment.

use std::cell::OnceCell;

use parking_lot::RwLockReadGuard;

use super::call::{Call, public_market, user_no};
use super::problem::Problem;
use crate::exchange::ids::{MarketId, MarketNo, UserId, UserNo};
use crate::projection::ReadModel;

/// One request's glance.
pub struct LazyView<'a> {
    call: &'a Call,
    /// Held from the first look on: whoever folds waits for that.
    view: OnceCell<RwLockReadGuard<'a, ReadModel>>,
}

impl<'a> LazyView<'a> {
    /// One that has not been taken yet.
    pub const fn of(call: &'a Call) -> LazyView<'a> {
        LazyView { call, view: OnceCell::new() }
    }

    /// Who asks.
    pub const fn caller(&self) -> UserNo {
        self.call.caller.user
    }

    /// The number of a market that the public may see, as it may ever after.
    pub fn market_no(&self, id: MarketId) -> Result<MarketNo, Problem> {
        let look = || self.look(|view| Ok(public_market(view, id)?.no));
        self.call.shared.directory.market(id, look)
    }

    /// The number of a user.
    pub fn user_no(&self, id: UserId) -> Result<UserNo, Problem> {
        self.look(|view| user_no(view, id))
    }

    /// The read model at this glance's moment.
    pub fn view(&self) -> &ReadModel {
        self.view.get_or_init(|| self.call.engine.read())
    }

    fn look<T>(&self, look: impl FnOnce(&ReadModel) -> Result<T, Problem>) -> Result<T, Problem> {
        let view = self.view();
        look(view).map_err(|problem| Problem { sequence: Some(view.watermark()), ..problem })
    }
}
