//! Parses the body of an order and resolves it into the exchange's terms (interface 4.5).

use super::call::Call;
use super::form::{Faults, Fields};
use super::lazy_view::LazyView;
use super::members::{self, Members, Noting};
use super::parse::{self, Fault, Force};
use super::problem::{FieldCode, Kind, Problem};
use engine;
use exchange::command::{
    Command, Condition, PlaceOrder, SelfTradePrevention, TimeInForce, Wording,
};
use exchange::ids::{MarketId, MarketNo, Token, UserId, UserNo};
use exchange::reject::Reject;
use exchange::units::{Lots, Tick, TimeMs};

/// An order as its owner wrote it, with every field parsed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrderForm {
    market: MarketId,
    wording: Wording,
    price: Tick,
    quantity: Lots,
    options: Options,
}

/// The optional fields of an order.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Options {
    time_in_force: TimeInForce,
    self_trade: SelfTradePrevention,
    condition: Condition,
    valid_until: Option<TimeMs>,
    copy_from: Option<UserId>,
    client_order_id: Option<Box<Token>>,
}

impl OrderForm {
    /// Parses the body, and whether this is a dry run.
    pub fn read(call: &Call) -> Result<(OrderForm, bool), Problem> {
        if call.query.is_none()
            && let Some(order) = members::object(&call.body, |plain| OrderForm::read_from(plain))
        {
            return Ok((order, false));
        }
        let mut form = call.form_with_body();
        let dry_run = form.query("dryRun", parse::boolean);
        let order = form.body(OrderForm::read_fields);
        let (order, dry_run) = form.finish(order.zip(dry_run))?;
        Ok((order, dry_run.unwrap_or(false)))
    }

    /// Reads an order from the fields of an object.
    pub fn read_fields(faults: &mut Faults, fields: &mut Fields<'_>) -> Option<OrderForm> {
        OrderForm::read_from(&mut Noting { faults, fields })
    }

    /// Reads an order from the members of an object.
    pub fn read_from(members: &mut impl Members) -> Option<OrderForm> {
        let market = members.text_required("marketId", parse::market_id);
        let outcome = members.text_required("outcomeId", parse::outcome);
        let side = members.text_required("side", parse::side);
        let order_type = members.text_required("orderType", parse::order_type);
        let price = members.text_required("price", parse::tick);
        let quantity = members.text_required("quantity", parse::lots);
        let options = Options::read(members);
        let () = order_type?;
        Some(OrderForm {
            market: market?,
            wording: Wording { outcome: outcome?, side: side? },
            price: price?,
            quantity: quantity?,
            options: options?,
        })
    }

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
        let named = self.options.client_order_id.is_some();
        let copy_from = self.options.copy_from;
        let copied = copy_from.map(|trader| copied(lazy_view, trader, named)).transpose()?;
        Ok(self.resolved(lazy_view.caller(), market, copied))
    }

    /// What the order asks for, in bytes, whoever places it.
    pub fn meaning(&self) -> Vec<u8> {
        let (market, copied) = (self.market.uuid(), self.options.copy_from.map(UserId::uuid));
        let terms = self.clone().resolved(UserNo(0), MarketNo(0), None);
        let terms = engine::meaning(&Command::PlaceOrder(terms));
        let copied = copied.as_ref().map_or(&[][..], |id| id.as_bytes());
        [market.as_bytes(), copied, &terms].concat()
    }

    fn resolved(self, user: UserNo, market: MarketNo, copy_from: Option<UserNo>) -> PlaceOrder {
        let Options {
            time_in_force,
            self_trade,
            condition,
            valid_until,
            copy_from: _,
            client_order_id,
        } = self.options;
        PlaceOrder {
            user,
            market,
            wording: self.wording,
            price: self.price,
            quantity: self.quantity,
            time_in_force,
            self_trade,
            condition,
            valid_until,
            copy_from,
            client_order_id,
        }
    }
}

impl Options {
    fn read(members: &mut impl Members) -> Option<Options> {
        let force = members.text("timeInForce", parse::force);
        let expires_at = members.text("expiresAt", parse::moment);
        let self_trade = members.text("selfTradePrevention", parse::self_trade);
        let post_only = members.truth("postOnly");
        let reduce_only = members.truth("reduceOnly");
        let valid_until = members.text("validUntil", parse::moment);
        let copy_from = members.text("copyFromTraderId", parse::user_id);
        let client_order_id = members.text("clientOrderId", parse::token);
        let time_in_force = match (force?.unwrap_or(Force::Gtc), expires_at?) {
            (Force::Gtc, expires_at) => TimeInForce::GoodTillCancelled { expires_at },
            (Force::Ioc, None) => TimeInForce::ImmediateOrCancel,
            (Force::Fok, None) => TimeInForce::FillOrKill,
            (Force::Ioc | Force::Fok, Some(_)) => {
                let fault = Fault::new(FieldCode::InvalidValue, "is only for timeInForce GTC");
                members.note("expiresAt", fault);
                return None;
            }
        };
        let condition = match (post_only?.unwrap_or(false), reduce_only?.unwrap_or(false)) {
            (false, false) => Condition::Unconditional,
            (true, false) => Condition::PostOnly,
            (false, true) => Condition::ReduceOnly,
            (true, true) => Condition::PostOnlyReduceOnly,
        };
        Some(Options {
            time_in_force,
            self_trade: self_trade?.unwrap_or(SelfTradePrevention::CancelTaker),
            condition,
            valid_until: valid_until?,
            copy_from: copy_from?,
            client_order_id: client_order_id?.map(Box::new),
        })
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
