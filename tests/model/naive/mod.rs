//! The naive twin: the exchange written a second time, from `semantics.md` alone, with maps and
//! sorted lists, so plain that it can be checked by reading. It shares the exchange's vocabulary
//! (commands, effects, refusals, the life-cycle table) and none of its books or arithmetic.
//!
//! It answers a record with the same effects, except the repeated account and position states:
//! those are compared as they are after the record.

#![allow(dead_code, clippy::missing_panics_doc, missing_docs)]

pub mod book;
pub mod exclusive;
pub mod ledger;
pub mod markets;
pub mod proposals;
pub mod disputes;
pub mod repeats;
pub mod sign_in;
pub mod standing;
pub mod trading;
pub mod transfers;

use std::collections::{BTreeMap, BTreeSet};

use exchange::catalogue::{CategoryDraft, EventDraft, EventRevision};
use exchange::command::{Command, PlaceOrder, Record, TradingMode, TransferEnd};
use exchange::effect::Effect;
use exchange::ids::{CategoryNo, EventNo, KeyNo, UserNo};
use exchange::reject::Reject;
use exchange::rules::Rules;
use exchange::slugs::Slug;
use exchange::units::{Lots, Money, TimeMs};

use ledger::{Backing, Ledger};
use markets::Market;

/// An order that was accepted, open or not.
#[derive(Debug, Clone)]
pub struct Order {
    pub number: u64,
    pub terms: PlaceOrder,
    /// Current limit in yes-ticks.
    pub price: u8,
    /// Current total quantity.
    pub original: i128,
    pub filled: i128,
    pub cancelled: i128,
    /// Sum of price x quantity over its fills, in the owner's outcome.
    pub filled_cost: i128,
    pub backing: Backing,
    /// Whether it rests on the book.
    pub rests: bool,
}

impl Order {
    /// Quantity still to be filled.
    pub const fn remaining(&self) -> i128 {
        self.original - self.filled - self.cancelled
    }
}

/// What has an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Addressed {
    Market,
    Event,
}

/// What a deposit or withdrawal is called.
fn reference(record: &Record) -> Option<String> {
    match record.command {
        Command::Deposit { .. }
        | Command::Withdraw { .. }
        | Command::EndTransfer { how: TransferEnd::Confirmed, .. } => {
            record.act.as_ref()?.reference.map(|reference| reference.to_string())
        }
        _ => None,
    }
}

#[derive(Clone)]
struct Key {
    user: UserNo,
    hash: [u8; 32],
    revoked: bool,
}

/// The whole exchange.
#[derive(Clone, Default)]
pub struct Naive {
    pub rules: Option<Rules>,
    pub users_count: u32,
    keys: Vec<Key>,
    pub invited: Vec<sign_in::Invited>,
    pub people: Vec<sign_in::Person>,
    slugs: Vec<String>,
    /// References of deposits and withdrawals.
    references: BTreeSet<String>,
    /// Every slug that a market or an event has or had.
    pub addresses: BTreeMap<(Addressed, String), u32>,
    events_count: u32,
    pub events: Vec<exclusive::Event>,
    pub ledger: Ledger,
    pub transfers: Vec<transfers::Waiting>,
    /// Withdrawals of more than this take two persons.
    pub two_persons: Option<Money>,
    pub proposals: Vec<proposals::Proposal>,
    pub disputes: Vec<disputes::Dispute>,
    pub markets: Vec<Market>,
    /// Every order ever accepted.
    pub orders: BTreeMap<u64, Order>,
    arrivals: u64,
    pub sequence: u64,
    pub now: TimeMs,
    effects: Vec<Effect>,
    memory: repeats::Memory,
    pub venue_mode: TradingMode,
    standings: BTreeMap<u32, standing::Standing>,
    pub beats: BTreeMap<standing::Whose, standing::Beat>,
    /// Orders cancelled and positions paid by one record at most.
    pub slice: Option<usize>,
}

impl Naive {
    pub fn new() -> Naive {
        Naive::default()
    }

    /// Applies a record; returns its effects without `AccountChanged` and `PositionChanged`.
    pub fn apply(&mut self, record: &Record) -> Vec<Effect> {
        self.sequence = record.sequence.get();
        self.now = record.time;
        self.ledger.begin();
        self.effects.clear();
        let effects = self.answer(record);
        self.ledger.end();
        self.forget_names();
        effects
    }

    fn answer(&mut self, record: &Record) -> Vec<Effect> {
        let mut reference = reference(record);
        let decided = match self.done_before(record) {
            Ok(Some(first)) => return Naive::repeat(first),
            Ok(None) => self
                .room_for_names(record)
                .and_then(|()| self.is_new(reference.as_ref()))
                .and_then(|()| match record.act.as_deref() {
                    Some(act) if self.takes_two(&record.command) => {
                        // It is used up when it is confirmed.
                        reference = None;
                        self.propose(act, &record.command)
                    }
                    _ => self.decide(&record.command),
                }),
            Err(reject) => Err(reject),
        };
        if let Err(reject) = decided {
            assert!(self.effects.is_empty(), "a refused command did something");
            assert!(self.ledger.accounts_before.is_empty(), "a refused command moved money");
            return vec![Effect::Refused(reject)];
        }
        self.note_names(record);
        self.references.extend(reference);
        std::mem::take(&mut self.effects)
    }

    fn decide(&mut self, command: &Command) -> Result<(), Reject> {
        if self.rules.is_none() && !matches!(command, Command::OpenVenue(_)) {
            return Err(Reject::VenueNotOpen);
        }
        match command {
            Command::OpenVenue(rules) => self.open(rules),
            Command::CreateUser { profile_name, profile_pic } => {
                self.create_user(profile_name.clone(), profile_pic.clone());
                Ok(())
            }
            Command::RenameUser { user, profile_name } => {
                self.known_user(*user)?;
                let profile_name = profile_name.clone();
                self.emit(Effect::UserRenamed { user: *user, profile_name });
                Ok(())
            }
            Command::AddKey { .. } | Command::RevokeKey { .. } => self.keys(command),
            Command::Deposit { user, amount } => self.deposit(*user, *amount),
            Command::Withdraw { user, amount } => self.withdraw(*user, *amount),
            Command::CreateCategory(draft) => self.create_category(draft),
            Command::CreateEvent(draft) => self.create_event(draft),
            Command::ReviseEvent { event, revision } => self.revise_event(*event, revision),
            Command::PlaceOrder(terms) => self.place(terms),
            Command::AmendOrder { user, order, price, quantity, seen } => {
                self.as_seen(*user, *order, *seen)?;
                self.amend(*user, *order, *price, *quantity)
            }
            Command::CancelOrder { user, order } => self.cancel(*user, *order),
            Command::ReplaceOrder { replaced, terms } => self.replace(*replaced, terms),
            Command::CancelOrders { user, market, group, key } => {
                self.cancel_all(*user, *market, group.as_deref(), *key)
            }
            Command::AskDeposit { .. }
            | Command::AskWithdrawal { .. }
            | Command::EndTransfer { .. }
            | Command::SetTwoPersons { .. }
            | Command::ConfirmProposal { .. }
            | Command::DropProposal { .. }
            | Command::FileDispute { .. } => self.waiting(command),
            Command::TakeFees { user, amount } => self.take_fees(*user, *amount),
            Command::Convert(asked) => self.convert(asked),
            Command::Heartbeat { user, timeout_seconds, group } => {
                self.beat(*user, group.as_deref().copied(), *timeout_seconds)
            }
            Command::SetVenueMode { mode } => self.set_mode(None, *mode),
            Command::SetUserMode { user, mode } => self.set_mode(Some(*user), *mode),
            Command::SetExposureLimit { user, limit } => self.set_limit(*user, *limit),
            Command::Invite { .. }
            | Command::SignUp { .. }
            | Command::SetPassword { .. }
            | Command::SignIn { .. }
            | Command::ExtendSession { .. }
            | Command::SignOut { .. }
            | Command::SignInByCode { .. }
            | Command::SignInByRecovery { .. }
            | Command::ClearSecondFactor { .. } => self.sign_in_command(command),
            Command::ChangePassword(change) => self.change_password(change),
            Command::SetSecondFactor { user, password_salt, factor } => {
                self.second_factor(*user, *password_salt, factor)
            }
            Command::CreateMarket(_)
            | Command::ReviseMarket { .. }
            | Command::PublishMarket { .. }
            | Command::SuspendMarket { .. }
            | Command::ReopenMarket { .. }
            | Command::CloseMarket { .. }
            | Command::ResolveMarket { .. }
            | Command::DisputeMarket { .. }
            | Command::VoidMarket { .. }
            | Command::AdvanceClock => self.run_market(command),
        }
    }

    fn revise_event(&mut self, event: EventNo, revision: &EventRevision) -> Result<(), Reject> {
        if let Some(categories) = &revision.categories {
            self.known_categories(categories)?;
        }
        self.may_be_called(Addressed::Event, revision.slug.as_ref(), Some(event.0))?;
        self.known_event(Some(event))?;
        self.call(Addressed::Event, revision.slug.as_ref(), event.0);
        self.emit(Effect::EventRevised { event, revision: Box::new(revision.clone()) });
        Ok(())
    }

    fn create_user(&mut self, profile_name: String, profile_pic: String) {
        let user = UserNo(self.users_count);
        self.users_count += 1;
        self.emit(Effect::UserCreated { user, profile_name, profile_pic });
    }

    /// What is about something that waits for an answer.
    fn waiting(&mut self, command: &Command) -> Result<(), Reject> {
        match command {
            Command::AskDeposit { user, amount, reference } => {
                self.ask_transfer(*user, false, *amount, *reference)
            }
            Command::AskWithdrawal { user, amount, reference } => {
                self.ask_transfer(*user, true, *amount, *reference)
            }
            Command::EndTransfer { user, transfer, how } => {
                self.end_transfer(*user, transfer.get(), *how)
            }
            Command::SetTwoPersons { above } => {
                self.two_persons = *above;
                self.emit(Effect::TwoPersonsSet { above: *above });
                Ok(())
            }
            Command::ConfirmProposal { operator, proposal } => self.confirm(*operator, *proposal),
            Command::DropProposal { operator, proposal } => {
                self.drop_proposal(*operator, *proposal)
            }
            Command::FileDispute { user, market, bond, reason } => {
                self.file_dispute((*market, *user), *bond, reason)
            }
            other => panic!("{other:?} waits for nobody"),
        }
    }

    fn is_new(&self, reference: Option<&String>) -> Result<(), Reject> {
        let used = reference.is_some_and(|reference| self.references.contains(reference));
        if used { Err(Reject::ReferenceUsed) } else { Ok(()) }
    }

    fn emit(&mut self, effect: Effect) {
        self.effects.push(effect);
    }

    fn open(&mut self, rules: &Rules) -> Result<(), Reject> {
        if self.rules.is_some() {
            return Err(Reject::VenueAlreadyOpen);
        }
        self.rules = Some(rules.clone());
        self.emit(Effect::VenueOpened(rules.clone()));
        Ok(())
    }

    fn known_user(&self, user: UserNo) -> Result<(), Reject> {
        if user.0 < self.users_count { Ok(()) } else { Err(Reject::UserNotFound) }
    }

    pub fn own_key(&self, user: UserNo, key: Option<KeyNo>) -> Result<(), Reject> {
        let own = |key: KeyNo| self.keys.get(key.index()).is_some_and(|known| known.user == user);
        if key.is_none_or(own) { Ok(()) } else { Err(Reject::KeyNotFound) }
    }

    fn known_categories(&self, categories: &[CategoryNo]) -> Result<(), Reject> {
        let known = categories.iter().all(|category| category.index() < self.slugs.len());
        if known { Ok(()) } else { Err(Reject::CategoryNotFound) }
    }

    fn may_be_called(
        &self,
        kind: Addressed,
        slug: Option<&Slug>,
        owner: Option<u32>,
    ) -> Result<(), Reject> {
        let had = slug.and_then(|slug| self.addresses.get(&(kind, slug.to_string())));
        if had.is_none() || had.copied() == owner { Ok(()) } else { Err(Reject::SlugTaken) }
    }

    fn call(&mut self, kind: Addressed, slug: Option<&Slug>, owner: u32) {
        self.addresses.extend(slug.map(|slug| ((kind, slug.to_string()), owner)));
    }

    fn known_event(&self, event: Option<EventNo>) -> Result<(), Reject> {
        match event {
            Some(event) if event.0 >= self.events_count => Err(Reject::EventNotFound),
            _ => Ok(()),
        }
    }

    fn keys(&mut self, command: &Command) -> Result<(), Reject> {
        match command {
            Command::AddKey { user, role, label, hash, ends } => {
                self.known_user(*user)?;
                if self.keys.iter().any(|key| key.hash == hash.0 && !key.revoked) {
                    return Err(Reject::KeyTaken);
                }
                let key = KeyNo(u32::try_from(self.keys.len()).expect("few keys"));
                self.keys.push(Key { user: *user, hash: hash.0, revoked: false });
                self.emit(Effect::KeyAdded {
                    user: *user,
                    key,
                    role: *role,
                    label: label.clone(),
                    hash: *hash,
                    ends: *ends,
                });
            }
            Command::RevokeKey { user, key } => {
                self.known_user(*user)?;
                match self.keys.get_mut(key.index()) {
                    Some(known) if known.user == *user && !known.revoked => known.revoked = true,
                    _ => return Err(Reject::KeyNotFound),
                }
                self.emit(Effect::KeyRevoked { user: *user, key: *key });
            }
            _ => unreachable!("only key commands come here"),
        }
        Ok(())
    }

    fn deposit(&mut self, user: UserNo, amount: Money) -> Result<(), Reject> {
        self.known_user(user)?;
        let units = i128::from(amount.get());
        let rules = self.rules.as_ref().expect("an open venue");
        if self.ledger.supply + units > i128::from(rules.money_supply_max.get()) {
            return Err(Reject::DepositLimit);
        }
        self.ledger.supply += units;
        self.ledger.account_mut(user.0).available += units;
        self.emit(Effect::Deposited { user, amount });
        Ok(())
    }

    fn withdraw(&mut self, user: UserNo, amount: Money) -> Result<(), Reject> {
        self.known_user(user)?;
        let units = i128::from(amount.get());
        if units > self.ledger.account(user.0).available {
            return Err(Reject::InsufficientFunds);
        }
        self.ledger.supply -= units;
        self.ledger.account_mut(user.0).available -= units;
        self.emit(Effect::Withdrawn { user, amount });
        Ok(())
    }

    fn take_fees(&mut self, user: UserNo, amount: Money) -> Result<(), Reject> {
        self.known_user(user)?;
        let units = i128::from(amount.get());
        if units > self.ledger.fees {
            return Err(Reject::InsufficientFees);
        }
        self.ledger.fees -= units;
        self.ledger.account_mut(user.0).available += units;
        self.emit(Effect::FeesTaken { user, amount });
        Ok(())
    }

    fn create_category(&mut self, draft: &CategoryDraft) -> Result<(), Reject> {
        if self.slugs.contains(&draft.slug) {
            return Err(Reject::SlugTaken);
        }
        let category = CategoryNo(u32::try_from(self.slugs.len()).expect("few categories"));
        self.slugs.push(draft.slug.clone());
        self.emit(Effect::CategoryCreated { category, draft: draft.clone() });
        Ok(())
    }

    fn create_event(&mut self, draft: &EventDraft) -> Result<(), Reject> {
        self.known_categories(&draft.categories)?;
        self.may_be_called(Addressed::Event, draft.slug.as_ref(), None)?;
        let event = EventNo(self.events_count);
        self.call(Addressed::Event, draft.slug.as_ref(), event.0);
        self.events_count += 1;
        self.events.push(exclusive::Event { exclusive: draft.mutually_exclusive, sets: 0 });
        self.emit(Effect::EventCreated { event, draft: Box::new(draft.clone()) });
        Ok(())
    }

    pub const fn slugs_count(&self) -> usize {
        self.slugs.len()
    }

    pub const fn keys_count(&self) -> usize {
        self.keys.len()
    }

    pub const fn events_count(&self) -> u32 {
        self.events_count
    }
}

/// A quantity as a plain number.
pub fn number(lots: Lots) -> i128 {
    i128::from(lots.get())
}
