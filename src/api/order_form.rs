//! The body of an order, read and resolved into the exchange's terms (interface 4.5).

use super::call::{Call, market_no, user_no};
use super::form::{Form, boolean, text};
use super::parse::{self, Fault, Force};
use super::problem::{FieldCode, Problem};
use crate::exchange::command::{Condition, PlaceOrder, SelfTradePrevention, TimeInForce, Wording};
use crate::exchange::ids::{MarketId, Token, UserId, UserNo};
use crate::exchange::units::{Lots, Tick, TimeMs};
use crate::projection::ReadModel;

/// An order as its owner wrote it, every field of the right form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrderForm {
    market: MarketId,
    wording: Wording,
    price: Tick,
    quantity: Lots,
    options: Options,
}

/// What an order may leave out.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Options {
    time_in_force: TimeInForce,
    self_trade: SelfTradePrevention,
    condition: Condition,
    valid_until: Option<TimeMs>,
    copy_from: Option<UserId>,
    client_order_id: Option<Token>,
}

impl OrderForm {
    /// Reads the body.
    pub fn read(call: &Call) -> Result<OrderForm, Problem> {
        let mut form = call.form_with_body();
        let market = form.field("marketId", text(parse::market_id));
        let outcome = form.field("outcomeId", text(parse::outcome));
        let side = form.field("side", text(parse::side));
        let order_type = form.field("orderType", text(parse::order_type));
        let price = form.field("price", text(parse::tick));
        let quantity = form.field("quantity", text(parse::lots));
        let options = Options::read(&mut form);
        let whole = || {
            let () = order_type?;
            Some(OrderForm {
                market: market?,
                wording: Wording { outcome: outcome?, side: side? },
                price: price?,
                quantity: quantity?,
                options: options?,
            })
        };
        let order = whole();
        form.finish(order)
    }

    /// The order in the exchange's own terms. Whether the market is public and active is the
    /// exchange's to judge.
    pub fn resolve(self, view: &ReadModel, user: UserNo) -> Result<PlaceOrder, Problem> {
        let Options {
            time_in_force,
            self_trade,
            condition,
            valid_until,
            copy_from,
            client_order_id,
        } = self.options;
        let market = market_no(view, self.market)?;
        let copy_from = copy_from.map(|trader| user_no(view, trader)).transpose()?;
        Ok(PlaceOrder {
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
        })
    }
}

impl Options {
    fn read(form: &mut Form<'_>) -> Option<Options> {
        let force = form.field_optional("timeInForce", text(parse::force));
        let expires_at = form.field_optional("expiresAt", text(parse::moment));
        let self_trade = form.field_optional("selfTradePrevention", text(parse::self_trade));
        let post_only = form.field_optional("postOnly", boolean);
        let reduce_only = form.field_optional("reduceOnly", boolean);
        let valid_until = form.field_optional("validUntil", text(parse::moment));
        let copy_from = form.field_optional("copyFromTraderId", text(parse::user_id));
        let client_order_id = form.field_optional("clientOrderId", text(parse::token));
        let time_in_force = match (force?.unwrap_or(Force::Gtc), expires_at?) {
            (Force::Gtc, expires_at) => TimeInForce::GoodTillCancelled { expires_at },
            (Force::Ioc, None) => TimeInForce::ImmediateOrCancel,
            (Force::Fok, None) => TimeInForce::FillOrKill,
            (Force::Ioc | Force::Fok, Some(_)) => {
                let fault = Fault::new(FieldCode::InvalidValue, "is only for timeInForce GTC");
                form.faults.note("expiresAt", fault);
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
            client_order_id: client_order_id?,
        })
    }
}
