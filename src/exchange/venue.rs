//! The commands that open the venue, manage users, keys and money, and create or revise the
//! catalogue.

use rustc_hash::FxHashSet;

use super::catalogue::{CategoryDraft, EventDraft, EventRevision, MarketDraft};
use super::command::{KeyHash, Role};
use super::effect::Effect;
use super::exclusive::Event;
use super::ids::{EventNo, KeyNo, MarketNo, UserNo};
use super::image::coding::{BadImage, ImageSink, ImageSource, Imaged};
use super::invariant::Broken;
use super::market::Market;
use super::reject::Reject;
use super::restrictions::UserRestrictions;
use super::rules::Rules;
use super::units::{Money, TimeMs};
use super::{Exchange, Stamp, Stop};

/// One API key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key {
    /// Owner.
    pub user: UserNo,
    /// What it may do.
    pub role: Role,
    /// Hash of the key.
    pub hash: KeyHash,
    /// Whether it was revoked.
    pub revoked: bool,
}

/// All API keys ever given.
#[derive(Debug, Clone, Default)]
pub struct KeyRing {
    /// By key number.
    pub keys: Vec<Key>,
    /// Hashes of the keys in force.
    in_force: FxHashSet<KeyHash>,
}

impl Exchange {
    pub(super) fn open_venue(
        &mut self,
        rules: &Rules,
        effects: &mut Vec<Effect>,
    ) -> Result<(), Stop> {
        if self.rules.is_some() {
            return Err(Stop::Refused(Reject::VenueAlreadyOpen));
        }
        // Not a refusal: the venue would stay closed and every later record be silently refused.
        if !rules.known() {
            return Err(Stop::Broken(Broken::UnknownRules));
        }
        self.rules = Some(rules.clone());
        effects.push(Effect::VenueOpened(rules.clone()));
        Ok(())
    }

    pub(super) fn create_user(
        &mut self,
        profile_name: &str,
        profile_pic: &str,
        effects: &mut Vec<Effect>,
    ) -> Result<(), Stop> {
        let user = UserNo::next(self.ledger.users_count()).ok_or(Reject::VenueFull)?;
        self.ledger.add_user();
        self.orders.add_user();
        self.restrictions.users.push(UserRestrictions::default());
        let (profile_name, profile_pic) = (profile_name.to_owned(), profile_pic.to_owned());
        effects.push(Effect::UserCreated { user, profile_name, profile_pic });
        Ok(())
    }

    pub(super) fn rename_user(
        &mut self,
        user: UserNo,
        profile_name: &str,
        effects: &mut Vec<Effect>,
    ) -> Result<(), Stop> {
        self.known_user(user)?;
        effects.push(Effect::UserRenamed { user, profile_name: profile_name.to_owned() });
        Ok(())
    }

    pub(super) fn add_key(
        &mut self,
        user: UserNo,
        role: Role,
        label: &str,
        (hash, ends): (KeyHash, Option<TimeMs>),
        effects: &mut Vec<Effect>,
    ) -> Result<(), Stop> {
        self.known_user(user)?;
        if self.keys.in_force.contains(&hash) {
            return Err(Stop::Refused(Reject::KeyTaken));
        }
        let key = KeyNo::next(self.keys.keys.len()).ok_or(Reject::VenueFull)?;
        self.keys.keys.push(Key { user, role, hash, revoked: false });
        self.keys.in_force.insert(hash);
        let label = label.to_owned();
        effects.push(Effect::KeyAdded { user, key, role, label, hash, ends });
        Ok(())
    }

    pub(super) fn revoke_key(
        &mut self,
        user: UserNo,
        key: KeyNo,
        effects: &mut Vec<Effect>,
    ) -> Result<(), Stop> {
        self.known_user(user)?;
        let known = self.keys.keys.get_mut(key.index()).ok_or(Reject::KeyNotFound)?;
        if known.user != user || known.revoked {
            return Err(Stop::Refused(Reject::KeyNotFound));
        }
        known.revoked = true;
        // A revoked key may be added again: an operator who restores an old key is not locked out.
        self.keys.in_force.remove(&known.hash);
        effects.push(Effect::KeyRevoked { user, key });
        Ok(())
    }

    pub(super) fn deposit(
        &mut self,
        user: UserNo,
        amount: Money,
        effects: &mut Vec<Effect>,
    ) -> Result<(), Stop> {
        self.known_user(user)?;
        self.admit_deposit(amount)?;
        self.ledger.deposit(user, amount)?;
        effects.push(Effect::Deposited { user, amount });
        Ok(self.emit_account(user, effects)?)
    }

    /// Whether the venue has room for so much more money.
    pub(super) fn admit_deposit(&self, amount: Money) -> Result<(), Stop> {
        let supply = self.ledger.net_deposits().plus(amount)?;
        let most = i128::from(self.rules_in_force()?.money_supply_max.get());
        if supply.get() <= most { Ok(()) } else { Err(Stop::Refused(Reject::DepositLimit)) }
    }

    pub(super) fn withdraw_money(
        &mut self,
        user: UserNo,
        amount: Money,
        effects: &mut Vec<Effect>,
    ) -> Result<(), Stop> {
        self.admit_withdrawal(user, amount)?;
        self.ledger.withdraw(user, amount)?;
        effects.push(Effect::Withdrawn { user, amount });
        Ok(self.emit_account(user, effects)?)
    }

    /// Whether a user has so much to take out.
    pub(super) fn admit_withdrawal(&self, user: UserNo, amount: Money) -> Result<(), Reject> {
        let account = self.ledger.account(user).map_err(|_| Reject::UserNotFound)?;
        if amount <= account.available { Ok(()) } else { Err(Reject::InsufficientFunds) }
    }

    pub(super) fn take_fees(
        &mut self,
        user: UserNo,
        amount: Money,
        effects: &mut Vec<Effect>,
    ) -> Result<(), Stop> {
        self.admit_taking(user, amount)?;
        self.ledger.take_fees(user, amount)?;
        effects.push(Effect::FeesTaken { user, amount });
        Ok(self.emit_account(user, effects)?)
    }

    /// Whether there are so many fees to take.
    pub(super) fn admit_taking(&self, user: UserNo, amount: Money) -> Result<(), Reject> {
        self.known_user(user)?;
        let there = i128::from(amount.get()) <= self.ledger.fees().get();
        if there { Ok(()) } else { Err(Reject::InsufficientFees) }
    }

    pub(super) fn admit_category(&self, draft: &CategoryDraft) -> Result<(), Reject> {
        if self.catalogue.slug_taken(&draft.slug) { Err(Reject::SlugTaken) } else { Ok(()) }
    }

    pub(super) fn admit_event(&self, draft: &EventDraft) -> Result<(), Reject> {
        if !self.catalogue.has_categories(&draft.categories) {
            return Err(Reject::CategoryNotFound);
        }
        self.catalogue.event_slugs.admit(draft.slug.as_ref(), None)
    }

    pub(super) fn admit_market(&self, draft: &MarketDraft, at: Stamp) -> Result<(), Reject> {
        if !self.catalogue.has_categories(&draft.categories) {
            return Err(Reject::CategoryNotFound);
        }
        self.catalogue.market_slugs.admit(draft.slug.as_ref(), None)?;
        let event = draft.event.map(|event| self.event(event).ok_or(Reject::EventNotFound));
        let event = event.transpose()?;
        if draft.deadline <= at.time {
            return Err(Reject::DeadlineNotInFuture);
        }
        event.map_or(Ok(()), Event::admit_market)
    }

    pub(super) fn create_category(
        &mut self,
        draft: &CategoryDraft,
        effects: &mut Vec<Effect>,
    ) -> Result<(), Stop> {
        self.admit_category(draft)?;
        let category = self.catalogue.add_category(&draft.slug).ok_or(Reject::VenueFull)?;
        effects.push(Effect::CategoryCreated { category, draft: draft.clone() });
        Ok(())
    }

    pub(super) fn create_event(
        &mut self,
        draft: &EventDraft,
        effects: &mut Vec<Effect>,
    ) -> Result<(), Stop> {
        self.admit_event(draft)?;
        let event = self.catalogue.add_event(draft.mutually_exclusive).ok_or(Reject::VenueFull)?;
        self.catalogue.event_slugs.give(draft.slug.as_ref(), event);
        effects.push(Effect::EventCreated { event, draft: Box::new(draft.clone()) });
        Ok(())
    }

    pub(super) fn revise_event(
        &mut self,
        event: EventNo,
        revision: &EventRevision,
        effects: &mut Vec<Effect>,
    ) -> Result<(), Stop> {
        let categories = revision.categories.as_deref().unwrap_or_default();
        if !self.catalogue.has_categories(categories) {
            return Err(Stop::Refused(Reject::CategoryNotFound));
        }
        self.catalogue.event_slugs.admit(revision.slug.as_ref(), Some(event))?;
        if !self.catalogue.has_event(event) {
            return Err(Stop::Refused(Reject::EventNotFound));
        }
        self.catalogue.event_slugs.give(revision.slug.as_ref(), event);
        effects.push(Effect::EventRevised { event, revision: Box::new(revision.clone()) });
        Ok(())
    }

    pub(super) fn create_market(
        &mut self,
        draft: &MarketDraft,
        at: Stamp,
        effects: &mut Vec<Effect>,
    ) -> Result<(), Stop> {
        self.admit_market(draft, at)?;
        let market = MarketNo::next(self.markets.len()).ok_or(Reject::VenueFull)?;
        self.markets.push(Market::of_draft(draft));
        if let Some(event) = draft.event {
            self.catalogue.join(market, event).ok_or(Broken::Dangling)?;
        }
        self.catalogue.market_slugs.give(draft.slug.as_ref(), market);
        self.ledger.add_market();
        effects.push(Effect::MarketCreated { market, draft: Box::new(draft.clone()) });
        Ok(())
    }

    pub(super) fn known_user(&self, user: UserNo) -> Result<(), Reject> {
        if user.index() < self.ledger.users_count() { Ok(()) } else { Err(Reject::UserNotFound) }
    }

    /// Whether the user has, or had, this key.
    pub(super) fn known_key(&self, user: UserNo, key: KeyNo) -> Result<(), Reject> {
        let known = self.keys.keys.get(key.index()).is_some_and(|known| known.user == user);
        if known { Ok(()) } else { Err(Reject::KeyNotFound) }
    }

    /// A market that traders may see.
    pub(super) fn public_market(&self, market: MarketNo) -> Result<&Market, Reject> {
        let state = self.market(market).ok_or(Reject::MarketNotFound)?;
        if state.status.public() { Ok(state) } else { Err(Reject::MarketNotFound) }
    }
}

impl Imaged for KeyRing {
    fn write(&self, sink: &mut impl ImageSink) {
        // The keys in force are those not revoked.
        let KeyRing { keys, in_force: _ } = self;
        keys.write(sink);
    }

    fn read(source: &mut impl ImageSource) -> Result<Self, BadImage> {
        let keys: Vec<Key> = Imaged::read(source)?;
        let mut in_force = FxHashSet::default();
        for key in keys.iter().filter(|key| !key.revoked) {
            if !in_force.insert(key.hash) {
                return Err(BadImage::Contradiction("one hash, two keys in force"));
            }
        }
        Ok(KeyRing { keys, in_force })
    }
}
