//! An order as a body has it, and how it resolves into the exchange's terms (interface 4.5).

use super::lazy_view::LazyView;
use super::members::{Checked, bodies};
use super::parse::{Fault, Force, OrderType};
use super::problem::{Kind, Problem};
use engine;
use exchange::catalogue::Outcome;
use exchange::command::{
    Command, Condition, PlaceOrder, SelfTradePrevention, Side, TimeInForce, Wording,
};
use exchange::ids::{Group, MarketId, MarketNo, Token, UserId, UserNo};
use exchange::reject::Reject;
use exchange::units::{Lots, Tick, TimeMs};

bodies! {
    /// An order as its owner wrote it.
    struct OrderForm {
        required {
            "marketId" => market: MarketId,
            "outcomeId" => outcome: Outcome,
            "side" => side: Side,
            "orderType" => order_type: OrderType,
            "price" => price: Tick,
            "quantity" => quantity: Lots,
        }
        optional {
            "timeInForce" => force: Force,
            "expiresAt" => expires_at: TimeMs,
            "selfTradePrevention" => self_trade: SelfTradePrevention,
            "postOnly" => post_only: bool,
            "reduceOnly" => reduce_only: bool,
            "validUntil" => valid_until: TimeMs,
            "copyFromTraderId" => copy_from: UserId,
            "clientOrderId" => client_order_id: Box<Token>,
            "group" => group: Box<Group>,
        }
    }
    judge only_what_rests_expires, by force expires_at;
}

/// Only an order that may rest expires.
fn only_what_rests_expires(force: Option<&Force>, expires_at: Option<&TimeMs>) -> Checked {
    match (force, expires_at) {
        (Some(Force::Ioc | Force::Fok), Some(_)) => {
            Err(("expiresAt", Fault::invalid("is only for timeInForce GTC")))
        }
        _ => Ok(()),
    }
}

impl OrderForm {
    /// The order in the exchange's terms. A market that is not public counts as missing; whether it
    /// is active is for the exchange to judge.
    pub fn resolve(self, lazy_view: &LazyView<'_>) -> Result<PlaceOrder, Problem> {
        self.resolve_like(&mut None, lazy_view)
    }

    /// [`OrderForm::resolve`], trying the market looked up last first.
    #[inline]
    pub fn resolve_like(
        self,
        likely: &mut Option<(MarketId, MarketNo)>,
        lazy_view: &LazyView<'_>,
    ) -> Result<PlaceOrder, Problem> {
        let market = match *likely {
            Some((id, market)) if id == self.market => market,
            _ => lazy_view.market_no(self.market)?,
        };
        *likely = Some((self.market, market));
        let named = self.client_order_id.is_some();
        let copy_from = self.copy_from;
        let copied = copy_from.map(|trader| copied(lazy_view, trader, named)).transpose()?;
        Ok(self.resolved(lazy_view.caller(), market, copied))
    }

    /// What the order asks for, in bytes, whoever places it.
    pub fn meaning(&self) -> Vec<u8> {
        let (market, copied) = (self.market.uuid(), self.copy_from.map(UserId::uuid));
        let terms = self.clone().resolved(UserNo(0), MarketNo(0), None);
        let terms = engine::meaning(&Command::PlaceOrder(terms));
        let copied = copied.as_ref().map_or(&[][..], |id| id.as_bytes());
        [market.as_bytes(), copied, &terms].concat()
    }

    fn resolved(self, user: UserNo, market: MarketNo, copy_from: Option<UserNo>) -> PlaceOrder {
        let OrderType::Limit = self.order_type;
        let time_in_force = match self.force.unwrap_or(Force::Gtc) {
            Force::Gtc => TimeInForce::GoodTillCancelled { expires_at: self.expires_at },
            Force::Ioc => TimeInForce::ImmediateOrCancel,
            Force::Fok => TimeInForce::FillOrKill,
        };
        let condition = match (self.post_only.unwrap_or(false), self.reduce_only.unwrap_or(false)) {
            (false, false) => Condition::Unconditional,
            (true, false) => Condition::PostOnly,
            (false, true) => Condition::ReduceOnly,
            (true, true) => Condition::PostOnlyReduceOnly,
        };
        PlaceOrder {
            user,
            market,
            wording: Wording { outcome: self.outcome, side: self.side },
            price: self.price,
            quantity: self.quantity,
            time_in_force,
            self_trade: self.self_trade.unwrap_or(SelfTradePrevention::CancelTaker),
            condition,
            valid_until: self.valid_until,
            copy_from,
            client_order_id: self.client_order_id,
            group: self.group,
            key: None,
        }
    }
}

/// The time limits that an order may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeLimit {
    /// Its `expiresAt`.
    ExpiresAt,
    /// Its `validUntil`.
    ValidUntil,
}

impl TimeLimit {
    /// The limit that has passed if the order is refused as too late: the earlier one.
    pub fn of(terms: &PlaceOrder) -> TimeLimit {
        let expires_at = match terms.time_in_force {
            TimeInForce::GoodTillCancelled { expires_at } => expires_at,
            TimeInForce::ImmediateOrCancel | TimeInForce::FillOrKill => None,
        };
        match (expires_at, terms.valid_until) {
            (Some(expires_at), Some(valid_until)) if expires_at > valid_until => {
                TimeLimit::ValidUntil
            }
            (Some(_), _) => TimeLimit::ExpiresAt,
            (None, _) => TimeLimit::ValidUntil,
        }
    }

    /// Names the field in the refusal of an order that is too late, or copies nobody.
    pub fn named(self, problem: Problem) -> Problem {
        let detail = match (problem.kind, self) {
            (Kind::Refused(Reject::OrderTooLate), TimeLimit::ExpiresAt) => {
                "the order came when its expiresAt had passed"
            }
            (Kind::Refused(Reject::OrderTooLate), TimeLimit::ValidUntil) => {
                "the order came after its validUntil"
            }
            (Kind::Refused(Reject::UserNotFound), _) => COPIES_NOBODY,
            _ => return problem,
        };
        Problem { detail: detail.into(), ..problem }
    }
}

/// Why a trader cannot be copied. The same whether there is no such user or one without a trade, so
/// that nobody learns who has an account.
const COPIES_NOBODY: &str = "no trader with a public trade has the id in copyFromTraderId";

/// A number that no user has.
const NOBODY: UserNo = UserNo(u32::MAX);

/// The trader that an order copies, who must have traded: trades are public. The exchange refuses
/// an order that copies nobody. One with a name is left to it, since it may know the name.
fn copied(lazy_view: &LazyView<'_>, trader: UserId, named: bool) -> Result<UserNo, Problem> {
    match lazy_view.trader_no(trader) {
        Ok(trader) => Ok(trader),
        Err(_) if named || lazy_view.has_key() => Ok(NOBODY),
        Err(problem) => Err(Problem { detail: COPIES_NOBODY.into(), ..problem }),
    }
}
