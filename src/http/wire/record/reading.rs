//! Converts a command to JSON: internal numbers become public ids. The match is exhaustive, so that
//! a new command does not compile without its JSON.

use super::{
    CommandJson, EventRevisionJson, Id, IdempotencyKeyJson, MarketRevisionJson, OrdersNamed,
    OutcomeTextJson, PlaceOrderJson, SeenJson,
};
use crate::wire::catalogue::LocalizedJson;
use crate::wire::{OutcomeId, Text, Timestamp};
use exchange::catalogue::{
    CategoryDraft, EventDraft, EventRevision, Localized, MarketDraft, MarketRevision, Outcome,
};
use exchange::command::{
    Command, Conversion, KeyHash, PlaceOrder, Record, Role, SelfTradePrevention, TimeInForce,
};
use exchange::ids::{
    CategoryId, CategoryNo, EventId, EventNo, KeyId, KeyNo, MarketId, MarketNo, OrderId, OrderNo,
    UserId, UserNo,
};
use exchange::rules::Rules;
use exchange::units::{Sequence, TimeMs};
use views::ReadModel;

/// A record and what is needed to look up ids.
pub struct Reading<'v, 'a> {
    pub view: &'v ReadModel,
    pub orders: &'v OrdersNamed,
    pub record: &'a Record,
}

impl<'a> Reading<'_, 'a> {
    /// The command.
    pub fn command(&self) -> CommandJson<'a> {
        use Command as C;
        use CommandJson as J;
        match &self.record.command {
            C::OpenVenue(rules) => open_venue(rules),
            C::CreateUser { profile_name, profile_pic } => {
                let user_id = self.made(UserId::derive, |id| self.view.accounts.user_no(id));
                J::CreateUser { user_id, profile_name, profile_pic }
            }
            C::AddKey { user, role, label, hash } => self.add_key(*user, *role, label, hash),
            C::RevokeKey { user, key } => {
                J::RevokeKey { user_id: self.user(*user), key_id: self.key(*key) }
            }
            C::Deposit { user, amount } => {
                J::Deposit { user_id: self.user(*user), amount: Text(*amount) }
            }
            C::Withdraw { user, amount } => {
                J::Withdraw { user_id: self.user(*user), amount: Text(*amount) }
            }
            C::TakeFees { user, amount } => {
                J::TakeFees { user_id: self.user(*user), amount: Text(*amount) }
            }
            C::CreateCategory(draft) => self.create_category(draft),
            C::CreateEvent(draft) => self.create_event(draft),
            C::CreateMarket(draft) => self.create_market(draft),
            C::ReviseEvent { event, revision } => self.revise_event(*event, revision),
            C::ReviseMarket { market, revision } => self.revise_market(*market, revision),
            C::PublishMarket { market } => J::PublishMarket { market_id: self.market(*market) },
            C::SuspendMarket { market } => J::SuspendMarket { market_id: self.market(*market) },
            C::ReopenMarket { market, deadline } => J::ReopenMarket {
                market_id: self.market(*market),
                deadline: deadline.map(Timestamp),
            },
            C::CloseMarket { market } => J::CloseMarket { market_id: self.market(*market) },
            C::ResolveMarket { market, winner } => J::ResolveMarket {
                market_id: self.market(*market),
                winning_outcome_id: OutcomeId(*winner),
            },
            C::DisputeMarket { market } => J::DisputeMarket { market_id: self.market(*market) },
            C::VoidMarket { market, price } => {
                J::VoidMarket { market_id: self.market(*market), price: Text(*price) }
            }
            C::PlaceOrder(terms) => J::PlaceOrder(Box::new(self.place_order(terms))),
            C::AmendOrder { user, order, price, quantity, seen } => {
                let (order_id, user_id) = (self.order(*user, *order), self.user(*user));
                let (price, quantity) = (price.map(Text), quantity.map(Text));
                J::AmendOrder { order_id, user_id, price, quantity, seen: seen.map(SeenJson::from) }
            }
            C::CancelOrder { user, order } => {
                J::CancelOrder { order_id: self.order(*user, *order), user_id: self.user(*user) }
            }
            C::CancelOrders { user, market } => J::CancelOrders {
                user_id: self.user(*user),
                market_id: market.and_then(|market| self.market(market)),
            },
            C::Convert(asked) => self.convert(asked),
            C::AdvanceClock => J::AdvanceClock {},
            C::Heartbeat { user, timeout_seconds } => {
                J::Heartbeat { user_id: self.user(*user), timeout_seconds: *timeout_seconds }
            }
            C::SetVenueMode { mode } => J::SetVenueMode { mode: mode.name() },
            C::SetUserMode { user, mode } => {
                J::SetUserMode { user_id: self.user(*user), mode: mode.name() }
            }
            C::SetExposureLimit { user, limit } => {
                J::SetExposureLimit { user_id: self.user(*user), limit: limit.map(Text) }
            }
        }
    }

    /// The idempotency key.
    pub fn once(&self) -> Option<IdempotencyKeyJson> {
        self.record.once.as_ref().map(|once| IdempotencyKeyJson {
            caller_id: self.user(once.caller),
            key: Text(once.key),
            part: once.part,
        })
    }

    fn add_key(&self, user: UserNo, role: Role, label: &'a str, hash: &KeyHash) -> CommandJson<'a> {
        CommandJson::AddKey {
            user_id: self.user(user),
            key_id: self.made(KeyId::derive, |id| self.view.accounts.key_no(id)),
            role: role.name(),
            label,
            key_hash: data_encoding::HEXLOWER.encode(&hash.0),
        }
    }

    fn create_category(&self, draft: &'a CategoryDraft) -> CommandJson<'a> {
        let CategoryDraft { name, slug } = draft;
        let catalogue = &self.view.catalogue;
        let category_id = self.made(CategoryId::derive, |id| catalogue.category_no(id));
        CommandJson::CreateCategory { category_id, name, slug }
    }

    fn create_event(&self, draft: &'a EventDraft) -> CommandJson<'a> {
        CommandJson::CreateEvent {
            event_id: self.made(EventId::derive, |id| self.view.catalogue.event_no(id)),
            titles: (&draft.titles).into(),
            sub_titles: (&draft.sub_titles).into(),
            descriptions: (&draft.descriptions).into(),
            images: &draft.images,
            highlighted: draft.highlighted,
            category_ids: self.categories(&draft.categories),
            mutually_exclusive: draft.mutually_exclusive,
        }
    }

    fn create_market(&self, draft: &'a MarketDraft) -> CommandJson<'a> {
        CommandJson::CreateMarket {
            market_id: self.made(MarketId::derive, |id| self.view.catalogue.market_no(id)),
            event_id: draft.event.and_then(|event| self.event(event)),
            questions: (&draft.questions).into(),
            descriptions: (&draft.descriptions).into(),
            outcomes: [
                outcome_text(Outcome::Yes, &draft.yes_text),
                outcome_text(Outcome::No, &draft.no_text),
            ],
            logo: &draft.logo,
            deadline: Timestamp(draft.deadline),
            highlighted: draft.highlighted,
            category_ids: self.categories(&draft.categories),
            dispute_window_seconds: draft.dispute_window_seconds,
            maker_fee: Text(draft.fees.maker),
            taker_fee: Text(draft.fees.taker),
        }
    }

    fn revise_event(&self, event: EventNo, revision: &'a EventRevision) -> CommandJson<'a> {
        let revision = EventRevisionJson {
            titles: revision.titles.as_ref().map(LocalizedJson::from),
            sub_titles: revision.sub_titles.as_ref().map(LocalizedJson::from),
            descriptions: revision.descriptions.as_ref().map(LocalizedJson::from),
            images: revision.images.as_deref(),
            highlighted: revision.highlighted,
            category_ids: revision.categories.as_deref().map(|all| self.categories(all)),
        };
        CommandJson::ReviseEvent { event_id: self.event(event), revision }
    }

    fn revise_market(&self, market: MarketNo, revision: &'a MarketRevision) -> CommandJson<'a> {
        let yes = revision.yes_text.iter().map(|text| outcome_text(Outcome::Yes, text));
        let no = revision.no_text.iter().map(|text| outcome_text(Outcome::No, text));
        let revision = MarketRevisionJson {
            questions: revision.questions.as_ref().map(LocalizedJson::from),
            descriptions: revision.descriptions.as_ref().map(LocalizedJson::from),
            outcomes: yes.chain(no).collect(),
            logo: revision.logo.as_deref(),
            deadline: revision.deadline.map(Timestamp),
            highlighted: revision.highlighted,
            category_ids: revision.categories.as_deref().map(|all| self.categories(all)),
            maker_fee: revision.maker_fee.map(Text),
            taker_fee: revision.taker_fee.map(Text),
        };
        CommandJson::ReviseMarket { market_id: self.market(market), revision }
    }

    fn place_order(&self, terms: &PlaceOrder) -> PlaceOrderJson {
        let expires_at = match terms.time_in_force {
            TimeInForce::GoodTillCancelled { expires_at } => expires_at,
            TimeInForce::ImmediateOrCancel | TimeInForce::FillOrKill => None,
        };
        PlaceOrderJson {
            order_id: self.order(terms.user, OrderNo(self.record.sequence)),
            user_id: self.user(terms.user),
            market_id: self.market(terms.market),
            outcome_id: OutcomeId(terms.wording.outcome),
            side: terms.wording.side.name(),
            price: Text(terms.price),
            quantity: Text(terms.quantity),
            time_in_force: terms.time_in_force.name(),
            expires_at: expires_at.map(Timestamp),
            self_trade_prevention: self_trade_name(terms.self_trade),
            post_only: terms.condition.post_only(),
            reduce_only: terms.condition.reduce_only(),
            valid_until: terms.valid_until.map(Timestamp),
            copy_from_trader_id: terms.copy_from.and_then(|trader| self.user(trader)),
            client_order_id: terms.client_order_id.as_deref().copied().map(Text),
        }
    }

    fn convert(&self, asked: &Conversion) -> CommandJson<'a> {
        CommandJson::Convert {
            user_id: self.user(asked.user),
            event_id: self.event(asked.event),
            market_ids: asked.markets.as_slice().iter().map(|no| self.market(*no)).collect(),
            quantity: Text(asked.quantity),
        }
    }

    /// The id of the object that the record created; `None` if it was refused.
    fn made<T: Copy, N>(
        &self,
        derive: impl FnOnce(TimeMs, Sequence, u32) -> T,
        find: impl FnOnce(T) -> Option<N>,
    ) -> Id<T> {
        let id = derive(self.record.time, self.record.sequence, 0);
        find(id).map(|_| Text(id))
    }

    fn user(&self, user: UserNo) -> Id<UserId> {
        self.view.accounts.user(user).map(|row| Text(row.id))
    }

    fn key(&self, key: KeyNo) -> Id<KeyId> {
        self.view.accounts.key(key).map(|row| Text(row.id))
    }

    fn event(&self, event: EventNo) -> Id<EventId> {
        self.view.catalogue.event(event).map(|row| Text(row.id))
    }

    fn market(&self, market: MarketNo) -> Id<MarketId> {
        self.view.catalogue.market(market).map(|row| Text(row.id))
    }

    fn order(&self, user: UserNo, order: OrderNo) -> Id<OrderId> {
        self.orders.id(user, order).map(Text)
    }

    fn categories(&self, categories: &[CategoryNo]) -> Vec<Id<CategoryId>> {
        let id = |no: &CategoryNo| self.view.catalogue.category(*no).map(|row| Text(row.id));
        categories.iter().map(id).collect()
    }
}

fn outcome_text(outcome: Outcome, text: &Localized) -> OutcomeTextJson<'_> {
    OutcomeTextJson { id: OutcomeId(outcome), text: text.into() }
}

fn open_venue(rules: &Rules) -> CommandJson<'_> {
    CommandJson::OpenVenue {
        rules_version: rules.version,
        currency: &rules.currency,
        user_open_orders_max: rules.user_open_orders_max,
        venue_open_orders_max: rules.venue_open_orders_max,
        money_supply_max: Text(rules.money_supply_max),
        repeat_window_seconds: rules.repeat_window_seconds,
        user_names_max: rules.user_names_max,
    }
}

/// The interface's name of a self-trade rule.
const fn self_trade_name(rule: SelfTradePrevention) -> &'static str {
    match rule {
        SelfTradePrevention::CancelTaker => "CANCEL_TAKER",
        SelfTradePrevention::CancelMaker => "CANCEL_MAKER",
        SelfTradePrevention::CancelBoth => "CANCEL_BOTH",
    }
}
