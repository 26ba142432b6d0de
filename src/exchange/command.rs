//! The commands of the exchange, and the record: a command with its sequence number and time.
//! Callers build commands from checked types only; the sequencer makes records of them.

use super::catalogue::{
    CategoryDraft, EventDraft, EventRevision, MarketDraft, MarketRevision, Outcome,
};
pub use super::credentials::{
    KeyHash, Password, PasswordChange, PasswordScheme, RecoveryCodes, SecondFactor,
};
use super::ids::{EventNo, Group, KeyNo, MarketNo, MarketSet, OrderNo, Token, UserNo};
pub use super::order_terms::{
    Condition, Direction, PlaceOrder, SelfTradePrevention, Side, TimeInForce, Wording,
};
use super::rules::Rules;
use super::table::{choice, part, table};
use super::units::{Lots, Money, Sequence, SettlementPrice, Tick, TimeMs};

part! {
    /// No contracts of an event's markets, to be exchanged for cash and yes contracts that pay the
    /// same (`conversion.rs`).
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Conversion {
        /// Owner.
        pub user: UserNo,
        /// A mutually exclusive event.
        pub event: EventNo,
        /// The markets whose no contracts are given.
        pub markets: MarketSet,
        /// Contracts given of each; more than zero.
        pub quantity: Lots,
    }
}

choice! {
    /// What one user, or every user, may do with orders. Ordered: each mode allows less than the
    /// one before.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
    pub enum TradingMode by name {
        /// Everything.
        #[default]
        Normal = 1 "normal",
        /// Orders may be cancelled, not placed or amended.
        CancelOnly = 2 "cancel-only",
        /// Orders cannot be changed; they still expire.
        ReadOnly = 3 "read-only",
    }
}

impl TradingMode {
    /// The mode of this name.
    pub fn named(name: &str) -> Option<TradingMode> {
        TradingMode::ALL.into_iter().find(|mode| mode.name() == name)
    }
}

choice! {
    /// What becomes of a transfer that a user asked for.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum TransferEnd by name {
        /// The money has come, or has gone out.
        Confirmed = 1 "confirmed",
        /// The venue does not do it.
        Refused = 2 "refused",
        /// The user took it back.
        Cancelled = 3 "cancelled",
    }
}

choice! {
    /// What an API key may do. Which routes that is, the interface says.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum Role by name {
        /// Reads for its user.
        Reader = 3 "reader",
        /// Trades and reads for its user.
        Trader = 1 "trader",
        /// Also runs the venue.
        Operator = 2 "operator",
        /// Reads everything, and writes nothing.
        Auditor = 4 "auditor",
        /// Reads the metrics and nothing else.
        Metrics = 5 "metrics",
        /// Pays money in and out, and reads for its user.
        Cashier = 6 "cashier",
        /// Makes, changes and publishes events and markets, and reads for its user.
        Catalogue = 7 "catalogue",
    }
}

impl Role {
    /// Whether whoever may do this may hand out keys that may do the other.
    #[must_use]
    pub const fn covers(self, other: Role) -> bool {
        match (self, other) {
            (Role::Metrics, other) => matches!(other, Role::Metrics),
            (Role::Operator, _) | (_, Role::Reader) => true,
            (Role::Reader, _) => false,
            (Role::Trader, other) => matches!(other, Role::Trader),
            (Role::Auditor, other) => matches!(other, Role::Auditor | Role::Metrics),
            (Role::Cashier, other) => matches!(other, Role::Cashier),
            (Role::Catalogue, other) => matches!(other, Role::Catalogue),
        }
    }
}

table! {
    /// A command: what a user, the operator or the clock asks for.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub enum Command numbered u16 {
        /// Opens the venue under these rules; the first record of every journal, and only that.
        1 open_venue = OpenVenue(rules: Rules);
        /// Creates a user.
        2 create_user = CreateUser {
            /// Public name.
            profile_name: String,
            /// Picture URL.
            profile_pic: String,
        };
        /// Gives a user an API key.
        3 add_key = AddKey {
            /// Owner of the key.
            user: UserNo,
            /// What it may do.
            role: Role,
            /// The operator's note on it.
            label: String,
            /// Hash of the key.
            hash: KeyHash,
            ; 2
            /// First moment at which it opens nothing any more.
            ends: TimeMs,
        };
        /// Revokes an API key for good.
        4 revoke_key = RevokeKey {
            /// Owner of the key.
            user: UserNo,
            /// The key.
            key: KeyNo,
        } => "revoke {key} of {user}";
        /// Adds money to an account.
        5 deposit = Deposit {
            /// Account.
            user: UserNo,
            /// More than zero.
            amount: Money,
        } => "deposit {user} {amount}";
        /// Takes available money out of an account.
        6 withdraw = Withdraw {
            /// Account.
            user: UserNo,
            /// More than zero.
            amount: Money,
        } => "withdraw {user} {amount}";
        /// Creates a category.
        7 create_category = CreateCategory(draft: CategoryDraft);
        /// Creates an event.
        8 create_event = CreateEvent(draft: Box<EventDraft>) @ 2;
        /// Creates a market, as a DRAFT.
        9 create_market = CreateMarket(draft: Box<MarketDraft>) @ 2;
        /// Changes an event's texts or flags.
        10 revise_event = ReviseEvent {
            /// Event.
            event: EventNo,
            /// What changes.
            revision: Box<EventRevision>,
        } @ 2;
        /// Changes a market's texts, flags or deadline.
        11 revise_market = ReviseMarket {
            /// Market.
            market: MarketNo,
            /// What changes.
            revision: Box<MarketRevision>,
        } @ 2;
        /// DRAFT to ACTIVE.
        12 publish_market = PublishMarket {
            /// Market.
            market: MarketNo,
        } => "publish {market}";
        /// ACTIVE to SUSPENDED.
        13 suspend_market = SuspendMarket {
            /// Market.
            market: MarketNo,
        } => "suspend {market}";
        /// SUSPENDED, or CLOSED with a later deadline, to ACTIVE.
        14 reopen_market = ReopenMarket {
            /// Market.
            market: MarketNo,
            /// New deadline.
            deadline: Option<TimeMs>,
        } => "reopen {market} {deadline?until *:}";
        /// To CLOSED.
        15 close_market = CloseMarket {
            /// Market.
            market: MarketNo,
        } => "close {market}";
        /// Announces the outcome.
        16 resolve_market = ResolveMarket {
            /// Market.
            market: MarketNo,
            /// The outcome that happened.
            winner: Outcome,
        } => "resolve {market} {winner}";
        /// RESOLVED to DISPUTED.
        17 dispute_market = DisputeMarket {
            /// Market.
            market: MarketNo,
        } => "dispute {market}";
        /// Ends a market at a stated price.
        18 void_market = VoidMarket {
            /// Market.
            market: MarketNo,
            /// What a yes contract pays; a no contract pays the complement.
            price: SettlementPrice,
        } => "void {market} {price=0.50?*:}";
        /// Places an order.
        19 place_order = PlaceOrder(order: PlaceOrder) @ 2 3;
        /// Changes a resting order's price, total quantity, or both.
        20 amend_order = AmendOrder {
            /// Owner.
            user: UserNo,
            /// Order.
            order: OrderNo,
            /// New limit in the order's own wording; `None` keeps it.
            price: Option<Tick>,
            /// New total quantity, what has been filled included; `None` keeps it.
            quantity: Option<Lots>,
            ; 2
            /// Only if the order is as the owner saw it; `None` whatever it is.
            seen: SeenTerms,
        };
        /// Cancels a resting order.
        21 cancel_order = CancelOrder {
            /// Owner.
            user: UserNo,
            /// Order.
            order: OrderNo,
        } => "{user} cancel {order}";
        /// Cancels all of a user's resting orders, oldest first.
        22 cancel_orders = CancelOrders {
            /// Owner.
            user: UserNo,
            /// Only those of this market.
            market: Option<MarketNo>,
            ; 2
            /// Only those of this group.
            group: Box<Group>,
            ; 3
            /// Only those that were sent with this key.
            key: KeyNo,
        } => "{user} cancel all {group?group *:} {key?by *:} {market?*:}";
        /// Executes everything that is due by this record's time: deadlines, the ends of dispute
        /// windows, heartbeat timeouts, order expiries (semantics 3).
        23 advance_clock = AdvanceClock => "clock";
        /// Resets a dead man's switch: the user's orders, or those of a group, are cancelled unless
        /// another heartbeat arrives in time.
        24 heartbeat = Heartbeat {
            /// User.
            user: UserNo,
            /// Seconds until the switch runs out; zero disarms it.
            timeout_seconds: u32,
            ; 2
            /// The group whose switch it is; `None` for that of all orders.
            group: Box<Group>,
        } => "{user} heartbeat {timeout_seconds=0s?*:off} {group?group *:}";
        /// Sets the trading mode of the whole venue.
        25 set_venue_mode = SetVenueMode {
            /// The new mode.
            mode: TradingMode,
        } => "mode venue {mode}";
        /// Sets the trading mode of one user.
        26 set_user_mode = SetUserMode {
            /// User.
            user: UserNo,
            /// The new mode.
            mode: TradingMode,
        } => "mode {user} {mode}";
        /// Bounds what a user may lose.
        27 set_exposure_limit = SetExposureLimit {
            /// User.
            user: UserNo,
            /// The largest sum of reserved money and the cost of contracts held, checked when an
            /// order is accepted; `None` is no limit.
            limit: Option<Money>,
        } => "limit {user} {limit?*:none}";
        /// Exchanges no contracts for cash and yes contracts.
        28 convert = Convert(asked: Conversion) => "{user} convert {event} {markets} x{quantity}";
        /// Moves the operator's earned fees to an account.
        29 take_fees = TakeFees {
            /// Account.
            user: UserNo,
            /// More than zero.
            amount: Money,
        } => "take-fees {user} {amount}";
        /// Cancels a resting order and places another: both or neither.
        30 replace_order = ReplaceOrder {
            /// The order that gives way, of the owner of the other.
            replaced: OrderNo,
            /// The order that is placed.
            terms: Box<PlaceOrder>,
        } @ 2 3;
        /// Invites a user to set a password; an earlier invitation of the user is over.
        31 invite = Invite {
            /// Who is invited.
            user: UserNo,
            /// What the person may do.
            role: Role,
            /// Hash of what the link carries.
            invitation: KeyHash,
            /// First moment at which it is over.
            ends: TimeMs,
        } => "invite {user} {role} {invitation} until {ends}";
        /// Creates a user who signs in with this name and password.
        32 sign_up = SignUp {
            /// The name, also the public one.
            name: Token,
            /// The password.
            password: Password,
        } => "sign-up {name} {scheme} {salt} {hashed}";
        /// Sets with what a user signs in, and ends the user's sessions.
        33 set_password = SetPassword {
            /// User.
            user: UserNo,
            /// The invitation that allows it; `None` for a user who has a password.
            invitation: Option<KeyHash>,
            /// The name.
            name: Token,
            /// The password.
            password: Password,
        } => "{user} password {invitation?*:own} {name} {scheme} {salt} {hashed}";
        /// Begins a session.
        34 sign_in = SignIn {
            /// Whose.
            user: UserNo,
            /// When the password was set that was shown: another one was set if not then.
            password_set: TimeMs,
            /// Hash of what the browser carries.
            session: KeyHash,
            /// First moment at which it is over unless it is used.
            until: TimeMs,
            /// First moment at which it is over in any case.
            ends: TimeMs,
        } => "{user} sign-in {password_set} {session} {until} {ends}";
        /// Lets a session last longer.
        35 extend_session = ExtendSession {
            /// Whose.
            user: UserNo,
            /// The session.
            session: KeyHash,
            /// First moment at which it is over unless it is used.
            until: TimeMs,
        } => "{user} stays {session} {until}";
        /// Ends sessions.
        36 sign_out = SignOut {
            /// Whose.
            user: UserNo,
            /// Which; `None` for all.
            session: Option<KeyHash>,
        } => "{user} sign-out {session?*:all}";
        /// Asks for a code at each signing in from now on. Takes the place of an earlier factor.
        40 set_second_factor = SetSecondFactor {
            /// Whose.
            user: UserNo,
            /// Salt of the password under which the secret is sealed.
            password_salt: KeyHash,
            /// The factor.
            factor: SecondFactor,
        } => "{user} factor {password_salt} {factor_salt} {sealed} {used} {recovery=?*:none}";
        /// Begins a session of somebody who has shown a code.
        41 sign_in_by_code = SignInByCode {
            /// Whose.
            user: UserNo,
            /// As in `sign_in`.
            password_set: TimeMs,
            /// Hash of what the browser carries.
            session: KeyHash,
            /// First moment at which it is over unless it is used.
            until: TimeMs,
            /// First moment at which it is over in any case.
            ends: TimeMs,
            /// When the code began to be good.
            used: TimeMs,
        } => "{user} sign-in-by-code {password_set} {session} {until} {ends} {used}";
        /// Begins a session of somebody who has shown a recovery code.
        42 sign_in_by_recovery = SignInByRecovery {
            /// Whose.
            user: UserNo,
            /// As in `sign_in`.
            password_set: TimeMs,
            /// Hash of what the browser carries.
            session: KeyHash,
            /// First moment at which it is over unless it is used.
            until: TimeMs,
            /// First moment at which it is over in any case.
            ends: TimeMs,
            /// Hash of the code.
            recovery_code: KeyHash,
        } => "{user} sign-in-by-recovery {password_set} {session} {until} {ends} {recovery_code}";
        /// Asks for no code any more.
        43 clear_second_factor = ClearSecondFactor {
            /// Whose.
            user: UserNo,
        } => "{user} factor off";
        /// Sets another password of a user with a second factor, which stays.
        44 change_password = ChangePassword(change: Box<PasswordChange>) =>
            "{user} new-password {password_before} {factor_before} {scheme} {salt} {hashed} \
             {factor_salt} {sealed} {session} {until} {ends}";
        /// Asks for money to come in; nothing moves until it is confirmed.
        46 ask_deposit = AskDeposit {
            /// Account.
            user: UserNo,
            /// More than zero.
            amount: Money,
            /// What the user calls it.
            reference: Option<Token>,
        } => "{user} asks-deposit {amount} {reference?for *:}";
        /// Asks for money to go out; it is set aside until that is answered.
        47 ask_withdrawal = AskWithdrawal {
            /// Account.
            user: UserNo,
            /// More than zero.
            amount: Money,
            /// What the user calls it.
            reference: Option<Token>,
        } => "{user} asks-withdrawal {amount} {reference?for *:}";
        /// Answers what a user asked for, or takes it back.
        48 end_transfer = EndTransfer {
            /// Account.
            user: UserNo,
            /// The record that asked for it.
            transfer: Sequence,
            /// What becomes of it.
            how: TransferEnd,
        } => "{user} transfer {transfer} {how}";
        /// Has resolving, voiding and large withdrawals take two operators from now on, or not.
        49 set_two_persons = SetTwoPersons {
            /// Withdrawals of more than this take two; `None`: nothing does.
            above: Option<Money>,
        } => "two-persons {above?above *:off}";
        /// Does what another operator proposed.
        50 confirm_proposal = ConfirmProposal {
            /// Who confirms; not who proposed.
            operator: UserNo,
            /// The record that proposed it.
            proposal: Sequence,
        } => "{operator} confirms {proposal}";
        /// Ends a proposal, one's own or another's.
        51 drop_proposal = DropProposal {
            /// Who ends it.
            operator: UserNo,
            /// The record that proposed it.
            proposal: Sequence,
        } => "{operator} rejects {proposal}";
        /// Disputes an announced outcome: RESOLVED to DISPUTED, by somebody who holds contracts.
        52 file_dispute = FileDispute {
            /// Who disputes it.
            user: UserNo,
            /// Market.
            market: MarketNo,
            /// What is set aside until the outcome is announced again; zero or more.
            bond: Money,
            /// Why.
            reason: String,
        } => "{user} disputes {market} bond {bond} {reason}";
        /// Gives a user another public name. What the user signs in with stays.
        53 rename_user = RenameUser {
            /// Who.
            user: UserNo,
            /// The name from now on.
            profile_name: String,
        };
    }
}

impl Command {
    /// The order that it places, if it places one. The order's number is the record's.
    pub fn placement(&self) -> Option<&PlaceOrder> {
        match self {
            Command::PlaceOrder(terms) => Some(terms),
            Command::ReplaceOrder { terms, .. } => Some(terms),
            _ => None,
        }
    }

    /// The same, sent with this API key: the order that it places says so.
    #[must_use]
    pub fn by_key(mut self, key: Option<KeyNo>) -> Command {
        match &mut self {
            Command::PlaceOrder(terms) => terms.key = key,
            Command::ReplaceOrder { terms, .. } => terms.key = key,
            _ => {}
        }
        self
    }
}

/// What an amend may change of a resting order, and what else does: by these an owner says which
/// state of the order is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SeenTerms {
    /// Limit in the order's own wording.
    pub price: Tick,
    /// Total quantity.
    pub quantity: Lots,
    /// What has been filled of it.
    pub filled: Lots,
}

part! {
    /// What an operator's command says beside what it asks for.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Act {
        /// The operator.
        pub actor: UserNo,
        /// The key that was shown; `None` for somebody who has signed in.
        pub key: Option<KeyNo>,
        /// Why, in 1 to [`REASON_BYTES_MAX`](super::rules::REASON_BYTES_MAX) bytes.
        pub reason: Option<String>,
        /// What a deposit or withdrawal is called elsewhere, such as in a bank's statement.
        pub reference: Option<Token>,
        /// Where to find what shows that an outcome is right, in 1 to
        /// [`EVIDENCE_BYTES_MAX`](super::rules::EVIDENCE_BYTES_MAX) bytes.
        pub evidence: Option<String>,
        /// SHA-256 of what is found there.
        pub evidence_hash: Option<KeyHash>,
    }
}

impl Act {
    /// The act of somebody who gives no grounds.
    pub const fn of(actor: UserNo, key: Option<KeyNo>) -> Act {
        Act { actor, key, reason: None, reference: None, evidence: None, evidence_hash: None }
    }
}

/// A command with its sequence number and time: the unit of the journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Position in the journal.
    pub sequence: Sequence,
    /// The sequencer's time; never earlier than that of the record before.
    pub time: TimeMs,
    /// The idempotency key it was sent with, if any.
    pub once: Option<Box<IdempotencyKey>>,
    /// Whose act it is, if an operator asked for it.
    pub act: Option<Box<Act>>,
    /// The command.
    pub command: Command,
}

impl Record {
    /// Whether it has a client order id or an idempotency key, so that a repetition does nothing.
    pub fn is_named(&self) -> bool {
        let order = self.command.placement().is_some_and(|terms| terms.client_order_id.is_some());
        order || self.once.is_some()
    }
}

/// A command that has no sequence number and time yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyedCommand {
    /// The idempotency key it is sent with, if any.
    pub once: Option<Box<IdempotencyKey>>,
    /// Whose act it is, if an operator asks for it.
    pub act: Option<Box<Act>>,
    /// The command.
    pub command: Command,
}

impl From<Command> for KeyedCommand {
    fn from(command: Command) -> KeyedCommand {
        KeyedCommand { once: None, act: None, command }
    }
}

/// SHA-256 of a request's meaning, independent of its layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct BodyHash(pub [u8; 32]);

/// A caller's idempotency key: a request sent with it is executed once, however often it is
/// repeated (semantics 8).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IdempotencyKey {
    /// The user who sent the request.
    pub caller: UserNo,
    /// The caller's key.
    pub key: Token,
    /// The index of this command among those of one request.
    pub part: u8,
    /// Hash of the whole request, all parts together.
    pub body: BodyHash,
}
