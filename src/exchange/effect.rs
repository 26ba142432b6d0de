//! Effects: what a record did, in past tense. They are the exchange's only output.
//!
//! A projection can fold them without knowing any trading rule: amounts are those after the change,
//! and every change of the book names its side and price.

use super::Exchange;
use super::catalogue::{
    CategoryDraft, EventDraft, EventRevision, MarketDraft, MarketRevision, Outcome,
};
use super::command::{
    Direction, KeyHash, Password, PlaceOrder, Role, SecondFactor, TradingMode, TransferEnd,
};
use super::ids::{
    CategoryNo, EventNo, Group, KeyNo, MarketNo, MarketSet, OrderNo, Token, TradeIndex, UserNo,
};
use super::invariant::Broken;
use super::ledger::{Account, Position, Purse};
use super::market::MarketStatus;
use super::reject::Reject;
use super::rules::Rules;
use super::table::{choice, part, table};
use super::units::{Lots, Money, MoneySum, Sequence, SettlementPrice, Tick, TimeMs};

choice! {
    /// Why an order was cancelled before it was completely filled (semantics 4).
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum CancelReason by code {
        /// Its owner cancelled it.
        User = 1 "USER",
        /// Immediate-or-cancel: the unfilled rest.
        IocRemainder = 2 "IOC_REMAINDER",
        /// Fill-or-kill, and it could not be filled completely.
        FokNotFillable = 3 "FOK_NOT_FILLABLE",
        /// It met another order of its owner.
        SelfTrade = 4 "SELF_TRADE",
        /// It reached its `expiresAt`.
        Expired = 5 "EXPIRED",
        /// Its market closed.
        MarketClosed = 6 "MARKET_CLOSED",
        /// Its market was voided.
        MarketVoided = 7 "MARKET_VOIDED",
        /// Its owner sent no heartbeat in time.
        HeartbeatExpired = 8 "HEARTBEAT_EXPIRED",
    }
}

/// One of the two orders of a trade, as the trade left it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Party {
    /// Order.
    pub order: OrderNo,
    /// Its owner.
    pub user: UserNo,
    /// The unfilled quantity of the order. Zero: the order is filled.
    pub remaining: Lots,
    /// The owner's trading fee, on top of the price.
    pub fee: Money,
}

part! {
    /// A trade between an incoming and a resting order.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct Trade {
        /// Index of the trade within its record.
        pub index: TradeIndex,
        /// Market.
        pub market: MarketNo,
        /// The yes-price, which is the resting order's. The party on the down side trades at its
        /// complement.
        pub price: Tick,
        /// Contracts that changed hands; more than zero.
        pub quantity: Lots,
        /// Which way the incoming order bets; the resting one bets the other way.
        pub taker_direction: Direction,
        /// The incoming order.
        pub taker: Party,
        /// The resting order.
        pub maker: Party,
    }
}

part! {
    /// What an operator proposed: to resolve a market (`winner`), to void one (`price`), to pay
    /// money out, or to confirm a withdrawal that the user asked for (`transfer`).
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Proposed {
        /// The record that proposed it.
        pub proposal: Sequence,
        /// Who proposed it.
        pub operator: UserNo,
        /// First moment at which it is over.
        pub until: TimeMs,
        /// Market.
        pub market: Option<MarketNo>,
        /// The outcome that happened.
        pub winner: Option<Outcome>,
        /// What a yes contract is paid.
        pub price: Option<SettlementPrice>,
        /// Whose money goes out.
        pub user: Option<UserNo>,
        /// How much.
        pub amount: Option<Money>,
        /// The record that asked for it.
        pub transfer: Option<Sequence>,
    }
}

impl Proposed {
    /// A proposal of nothing yet.
    pub(super) const fn of(proposal: Sequence, operator: UserNo, until: TimeMs) -> Proposed {
        let (market, winner, price, user, amount, transfer) = (None, None, None, None, None, None);
        Proposed { proposal, operator, until, market, winner, price, user, amount, transfer }
    }
}

/// What a user holds of one outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Holding {
    /// Contracts, free and locked.
    pub held: Lots,
    /// The part of `held` that backs resting orders.
    pub locked: Lots,
    /// What the held contracts cost.
    pub cost: Money,
    /// The trader that the opening order copied.
    pub copy_from: Option<UserNo>,
}

table! {
    /// One effect of a record.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub enum Effect numbered u8 {
        /// The command was refused; the only effect of its record.
        1 refused = Refused(reject: Reject) => "refused {reject}";
        /// The venue opened.
        2 venue_opened = VenueOpened(rules: Rules) => "the venue opens in {currency}";
        /// A user was created.
        3 user_created = UserCreated {
            /// Number of the user.
            user: UserNo,
            /// Public name.
            profile_name: String,
            /// Picture URL.
            profile_pic: String,
        } => "user {user}";
        /// An API key was added for a user.
        4 key_added = KeyAdded {
            /// Owner.
            user: UserNo,
            /// Number of the key.
            key: KeyNo,
            /// What it may do.
            role: Role,
            /// The operator's note.
            label: String,
            /// Hash of the key.
            hash: KeyHash,
            ; 2
            /// First moment at which it opens nothing any more.
            ends: TimeMs,
        } => "key {key} for {user} as {role} {ends?until *:}";
        /// An API key stopped working.
        5 key_revoked = KeyRevoked {
            /// Owner.
            user: UserNo,
            /// Number of the key.
            key: KeyNo,
        } => "key {key} of {user} revoked";
        /// Money came in.
        6 deposited = Deposited {
            /// Account.
            user: UserNo,
            /// How much.
            amount: Money,
        } => "{user} deposited {amount}";
        /// Money went out.
        7 withdrawn = Withdrawn {
            /// Account.
            user: UserNo,
            /// How much.
            amount: Money,
        } => "{user} withdrew {amount}";
        /// An account's money after the change.
        8 account_changed = AccountChanged {
            /// Account.
            user: UserNo,
            /// Money free to use.
            available: Money,
            /// Money that backs resting orders.
            reserved: Money,
        } => "{user} has {available}, reserved {reserved}";
        /// A category was created.
        9 category_created = CategoryCreated {
            /// Number of the category.
            category: CategoryNo,
            /// What it is.
            draft: CategoryDraft,
        } => "category {category}";
        /// An event was created.
        10 event_created = EventCreated {
            /// Number of the event.
            event: EventNo,
            /// What it is.
            draft: Box<EventDraft>,
        } => "event {event}";
        /// A market was created, as a DRAFT.
        11 market_created = MarketCreated {
            /// Number of the market.
            market: MarketNo,
            /// What it is.
            draft: Box<MarketDraft>,
        } => "market {market} DRAFT until {deadline}";
        /// An event's texts or flags changed.
        12 event_revised = EventRevised {
            /// Event.
            event: EventNo,
            /// What changed.
            revision: Box<EventRevision>,
        } => "event {event} revised";
        /// A market's texts, flags or deadline changed.
        13 market_revised = MarketRevised {
            /// Market.
            market: MarketNo,
            /// What changed.
            revision: Box<MarketRevision>,
        } => "market {market} revised {deadline?until *:}";
        /// A market went from one status to another.
        14 market_moved = MarketMoved {
            /// Market.
            market: MarketNo,
            /// Status before.
            from: MarketStatus,
            /// Status now.
            to: MarketStatus,
            /// The deadline now.
            deadline: TimeMs,
            /// The announced outcome; `None` before the first announcement.
            winner: Option<Outcome>,
            /// What a yes contract paid; only set once SETTLED or VOIDED.
            settled_at: Option<SettlementPrice>,
        };
        /// An order passed every check. The later effects of the same record say what became of it;
        /// an order with nothing left after its trades is filled.
        15 order_accepted = OrderAccepted {
            /// Number of the order: the record's own sequence.
            order: OrderNo,
            /// The terms of the order.
            terms: PlaceOrder,
        } => "{order} accepted";
        /// An order's price or quantity was changed. Unless `kept_place`, it is off the book until
        /// a later effect of the same record rests it again.
        16 order_amended = OrderAmended {
            /// Order.
            order: OrderNo,
            /// Owner.
            user: UserNo,
            /// Market.
            market: MarketNo,
            /// Its side of the book.
            direction: Direction,
            /// The yes-price at which it rested.
            price_before: Tick,
            /// The yes-price of its limit now.
            price: Tick,
            /// Unfilled quantity before.
            remaining_before: Lots,
            /// Total quantity now, the filled part included.
            quantity: Lots,
            /// Unfilled quantity now.
            remaining: Lots,
            /// Whether it kept its time priority and never left the book.
            kept_place: bool,
        } =>
            "{order} amended {direction} {price_before} x{remaining_before} to {direction} \
             {price} x{remaining} of {quantity}, {kept_place?keeps:loses} its place";
        /// Two orders traded.
        17 trade_made = TradeMade(trade: Trade);
        /// The unfilled rest of an order went on the book.
        18 order_rested = OrderRested {
            /// Order.
            order: OrderNo,
            /// Owner.
            user: UserNo,
            /// Market.
            market: MarketNo,
            /// Its side of the book.
            direction: Direction,
            /// The yes-price at which it rests.
            price: Tick,
            /// Contracts that rest.
            remaining: Lots,
        } => "{order} rests {direction} {price} x{remaining}";
        /// The unfilled rest of an order was cancelled.
        19 order_cancelled = OrderCancelled {
            /// Order.
            order: OrderNo,
            /// Owner.
            user: UserNo,
            /// Market.
            market: MarketNo,
            /// Its side of the book.
            direction: Direction,
            /// The yes-price of its limit.
            price: Tick,
            /// Contracts cancelled.
            quantity: Lots,
            /// Whether it rested on the book.
            rested: bool,
            /// Why.
            reason: CancelReason,
        } =>
            "{order} cancelled {direction} {price} x{quantity} {rested?off the \
             book:unrested}: {reason}";
        /// A user's position in a market after the change.
        20 position_changed = PositionChanged {
            /// User.
            user: UserNo,
            /// Market.
            market: MarketNo,
            /// Yes contracts.
            yes: Holding,
            /// No contracts.
            no: Holding,
            /// Profit and loss realised in this market so far.
            realised: MoneySum,
        };
        /// A market paid out a user's contracts.
        21 position_settled = PositionSettled {
            /// User.
            user: UserNo,
            /// Market.
            market: MarketNo,
            /// Yes contracts paid.
            yes: Lots,
            /// No contracts paid.
            no: Lots,
            /// Money paid for them.
            payout: Money,
            /// Profit and loss realised in this market, the pay-out included.
            realised: MoneySum,
        };
        /// The command repeats, by its client order id or idempotency key, one that the record
        /// `first` executed; the only effect of its record.
        22 repeated = Repeated {
            /// The record that executed it.
            first: Sequence,
        } => "done before, by record {first}";
        /// The answer to this record also answers every repetition of it: at least until `until`,
        /// and for as long as the order that it placed rests. The last effect of its record.
        23 answer_kept = AnswerKept {
            /// First moment at which it may be forgotten.
            until: TimeMs,
        } => "kept in mind until {until}";
        /// A user's dead man's switch was set.
        24 heartbeat_set = HeartbeatSet {
            /// User.
            user: UserNo,
            /// When it runs out; `None`: never.
            until: Option<TimeMs>,
        } => "heartbeat of {user} {until?until *:off}";
        /// A user's switch ran out. The orders are cancelled in the same record, and new ones are
        /// refused until it is set again.
        25 heartbeat_expired = HeartbeatExpired {
            /// User.
            user: UserNo,
        } => "heartbeat of {user} has run out";
        /// The trading mode of the whole venue changed.
        26 venue_mode_set = VenueModeSet {
            /// The mode.
            mode: TradingMode,
        } => "the venue is {mode}";
        /// The trading mode of a user changed.
        27 user_mode_set = UserModeSet {
            /// User.
            user: UserNo,
            /// The mode.
            mode: TradingMode,
        } => "{user} is {mode}";
        /// A user's exposure limit changed.
        28 exposure_limit_set = ExposureLimitSet {
            /// User.
            user: UserNo,
            /// The limit; `None` is no limit.
            limit: Option<Money>,
        } => "exposure limit of {user}: {limit?*:none}";
        /// No contracts of some of an event's markets were exchanged for cash, and for as many yes
        /// contracts of each of its other markets. The new positions and the account follow.
        29 converted = Converted {
            /// User.
            user: UserNo,
            /// Event.
            event: EventNo,
            /// The markets whose no contracts were given.
            markets: MarketSet,
            /// Contracts given of each, and received of each other market.
            quantity: Lots,
            /// Money received, without that for received contracts that merged into pairs.
            cash: Money,
        } => "{user} converts no x{quantity} of {markets} in {event} for {cash} and yes";
        /// The last market of an event has paid out: what is left of the 1.00 of each converted set
        /// goes to the operator.
        30 sets_settled = SetsSettled {
            /// Event.
            event: EventNo,
            /// Sets that were converted.
            sets: Lots,
            /// What is left; zero if the yes-prices sum to 1.00.
            surplus: Money,
        } => "the sets x{sets} of {event} leave {surplus} to the operator";
        /// The operator's earned fees, held outside all accounts until then, went to an account.
        31 fees_taken = FeesTaken {
            /// Account.
            user: UserNo,
            /// How much.
            amount: Money,
        } => "{user} takes {amount} of the fees";
        /// A market pays out in slices: what this record pays follows. It becomes SETTLED or VOIDED
        /// when all is paid.
        32 market_pays = MarketPays {
            /// Market.
            market: MarketNo,
            /// What a yes contract is paid.
            price: SettlementPrice,
            /// Whether it will be VOIDED.
            voided: bool,
        } => "{market} pays {price} for yes";
        /// A user was invited to set a password; an earlier invitation is over.
        33 invited = Invited {
            /// User.
            user: UserNo,
            /// What the person may do.
            role: Role,
            /// Hash of what the link carries.
            invitation: KeyHash,
            /// First moment at which it is over.
            ends: TimeMs,
        } => "{user} is invited as {role} until {ends}";
        /// A user's name and password were set; the user's sessions, invitation and second factor
        /// are over.
        34 password_set = PasswordSet {
            /// User.
            user: UserNo,
            /// What the person may do.
            role: Role,
            /// The name to sign in with.
            name: Token,
            /// The password.
            password: Password,
        } => "{user} signs in as {name}";
        /// A session began. The user's sessions that were over are forgotten.
        35 signed_in = SignedIn {
            /// Whose.
            user: UserNo,
            /// What it may do.
            role: Role,
            /// Hash of what the browser carries.
            session: KeyHash,
            /// First moment at which it is over unless it is used.
            until: TimeMs,
            /// First moment at which it is over in any case.
            ends: TimeMs,
        } => "{user} is signed in until {until}";
        /// A session lasts longer.
        36 session_extended = SessionExtended {
            /// Whose.
            user: UserNo,
            /// The session.
            session: KeyHash,
            /// First moment at which it is over unless it is used.
            until: TimeMs,
        } => "{user} stays signed in until {until}";
        /// Sessions ended.
        37 signed_out = SignedOut {
            /// Whose.
            user: UserNo,
            /// Which; `None` for all.
            session: Option<KeyHash>,
        } => "{user} is signed out";
        /// The dead man's switch of a user's group was set.
        38 group_heartbeat_set = GroupHeartbeatSet {
            /// User.
            user: UserNo,
            /// Group.
            group: Box<Group>,
            /// When it runs out; `None`: never.
            until: Option<TimeMs>,
        } => "heartbeat of {user} for {group} {until?until *:off}";
        /// The switch of a user's group ran out. The group's orders are cancelled in the same
        /// record, and new ones are refused until it is set again.
        39 group_heartbeat_expired = GroupHeartbeatExpired {
            /// User.
            user: UserNo,
            /// Group.
            group: Box<Group>,
        } => "heartbeat of {user} for {group} has run out";
        /// A user is asked for a code from now on, too.
        43 second_factor_set = SecondFactorSet {
            /// Whose.
            user: UserNo,
            /// The factor.
            factor: SecondFactor,
        } => "{user} has a second factor";
        /// A code was used.
        44 code_used = CodeUsed {
            /// Whose.
            user: UserNo,
            /// When it began to be good.
            used: TimeMs,
        } => "{user} shows a code";
        /// A recovery code was used, and is one no more.
        45 recovery_code_used = RecoveryCodeUsed {
            /// Whose.
            user: UserNo,
            /// Its hash.
            recovery_code: KeyHash,
        } => "{user} shows a recovery code";
        /// A user is asked for no code any more.
        46 second_factor_cleared = SecondFactorCleared {
            /// Whose.
            user: UserNo,
        } => "{user} has no second factor";
        /// A user asked for money to come in or go out. What is to go out is reserved.
        50 transfer_asked = TransferAsked {
            /// The record that asked for it.
            transfer: Sequence,
            /// Account.
            user: UserNo,
            /// Whether it goes out.
            out: bool,
            /// Amount.
            amount: Money,
            /// What the user calls it.
            reference: Option<Token>,
        } => "{user} asks to {out?withdraw:deposit} {amount}";
        /// What a user asked for was answered or taken back. What moves follows.
        51 transfer_ended = TransferEnded {
            /// The record that asked for it.
            transfer: Sequence,
            /// Account.
            user: UserNo,
            /// What became of it.
            how: TransferEnd,
        } => "transfer {transfer} of {user} is {how}";
        /// Some acts take two operators from now on, or none does.
        52 two_persons_set = TwoPersonsSet {
            /// Withdrawals of more than this do, and resolving and voiding; `None`: nothing does.
            above: Option<Money>,
        } => "two persons {above?for withdrawals above *:for nothing}";
        /// An operator proposed what takes two.
        53 proposed = Proposed(proposed: Box<Proposed>) =>
            "{operator} proposes {proposal}: {winner?resolve *:} {price?void *:} {market?*:} \
             {user?withdraw *:} {amount?*:} {transfer?as * asks:}, until {until}";
        /// A proposal was confirmed, and done in this record, or rejected.
        54 proposal_ended = ProposalEnded {
            /// The record that proposed it.
            proposal: Sequence,
            /// Who confirmed or rejected it.
            operator: UserNo,
            /// Whether it was done.
            confirmed: bool,
        } => "{operator} {confirmed?confirms:rejects} proposal {proposal}";
        /// Somebody disputed an announced outcome. The bond is reserved.
        55 dispute_filed = DisputeFiled {
            /// Market.
            market: MarketNo,
            /// Who disputes it.
            user: UserNo,
            /// What is set aside.
            bond: Money,
            /// Why.
            reason: String,
        } => "{user} disputes {market} for a bond of {bond}: {reason}";
        /// The disputed outcome was announced again, or another one, or the market is voided.
        56 dispute_ended = DisputeEnded {
            /// Market.
            market: MarketNo,
            /// Who disputed it.
            user: UserNo,
            /// What was set aside.
            bond: Money,
            /// Whether the dispute was right: the bond is given back. If not, it is the venue's.
            right: bool,
        } => "dispute of {market} by {user} was {right?right:wrong}, bond {bond}";
        /// A user has another public name.
        57 user_renamed = UserRenamed {
            /// Who.
            user: UserNo,
            /// The name from now on.
            profile_name: String,
        } => "{user} is named {profile_name}";
    }
}

/// A record's effects, with its sequence number and time: what every projection folds.
#[derive(Debug, Clone, Copy)]
pub struct Applied<'a> {
    /// The record.
    pub sequence: Sequence,
    /// Its time, which is the time of all its effects.
    pub time: TimeMs,
    /// What happened, in order.
    pub effects: &'a [Effect],
}

// Builds the effects that report accounts and positions after a change.

impl Account {
    /// The effect that reports it.
    pub(super) fn changed(self, user: UserNo) -> Effect {
        let Account { available, reserved } = self;
        Effect::AccountChanged { user, available, reserved }
    }
}

impl Purse {
    /// The effect that reports its position.
    pub(super) fn position_changed(&self, user: UserNo, market: MarketNo) -> Effect {
        let Position { yes, no, realised } = self.position;
        Effect::PositionChanged { user, market, yes, no, realised }
    }
}

impl Exchange {
    /// Reports a user's position in a market.
    pub(super) fn emit_position(
        &self,
        user: UserNo,
        market: MarketNo,
        effects: &mut Vec<Effect>,
    ) -> Result<(), Broken> {
        effects.push(self.ledger.purse(user, market)?.position_changed(user, market));
        Ok(())
    }

    /// Reports a user's money.
    pub(super) fn emit_account(
        &self,
        user: UserNo,
        effects: &mut Vec<Effect>,
    ) -> Result<(), Broken> {
        effects.push(self.ledger.account(user)?.changed(user));
        Ok(())
    }
}
