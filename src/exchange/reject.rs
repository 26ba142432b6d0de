//! The refusals, with their stable codes, in order of precedence.

/// Declares the refusals: each with its stable code (semantics 7) and its text.
macro_rules! refusals {
    (
        $(#[$meta:meta])*
        pub enum Reject {
            $( $(#[$row_meta:meta])* $row:ident = $code:literal $text:literal, )*
        }
    ) => {
        $(#[$meta])*
        pub enum Reject {
            $( $(#[$row_meta])* #[error($text)] $row, )*
        }

        impl Reject {
            /// Every refusal, in order of precedence.
            pub const ALL: [Reject; [$($code),*].len()] = [$(Reject::$row),*];

            /// The stable code.
            #[must_use]
            pub const fn code(self) -> &'static str {
                match self {
                    $( Reject::$row => $code, )*
                }
            }
        }
    };
}

refusals! {
    /// Why a command was refused. A refused command changed nothing. Where several apply, the one
    /// listed first is given, with one exception: `DEADLINE_NOT_IN_FUTURE` comes after
    /// `INVALID_TRANSITION` where a closed market is reopened, or fees are changed too. Existing
    /// journals rely on it. Codes are never renamed; a retired one stays in the list.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
    pub enum Reject {
        /// A command before the venue was opened.
        VenueNotOpen = "VENUE_NOT_OPEN" "the venue is not open",
        /// A second opening.
        VenueAlreadyOpen = "VENUE_ALREADY_OPEN" "the venue cannot be opened like this",
        /// The caller used this idempotency key for something else within the last day.
        IdempotencyKeyReused = "IDEMPOTENCY_KEY_REUSED"
            "this idempotency key was used for another request",
        /// The user gave this client order id to another order, which is open or not a day old.
        ClientOrderIdReused = "CLIENT_ORDER_ID_REUSED"
            "this client order id belongs to another order",
        /// The user has as many remembered client order ids and idempotency keys as allowed.
        TooManyNames = "TOO_MANY_NAMES" "too many client order ids and idempotency keys in one day",
        /// What the owner saw of the order is no longer so.
        PreconditionFailed = "PRECONDITION_FAILED" "it is no longer as it was when it was read",
        /// An earlier deposit or withdrawal has this reference.
        ReferenceUsed = "REFERENCE_USED" "an earlier deposit or withdrawal has this reference",
        /// No such user.
        UserNotFound = "USER_NOT_FOUND" "no such user",
        /// The operator has set this user, or the whole venue, to read-only.
        TradingReadOnly = "TRADING_READ_ONLY"
            "trading is stopped: orders can be neither placed nor cancelled",
        /// The operator has set this user, or the whole venue, to cancel-only.
        TradingCancelOnly = "TRADING_CANCEL_ONLY"
            "trading is stopped: orders can only be cancelled",
        /// The user's heartbeat has run out.
        HeartbeatExpired = "HEARTBEAT_EXPIRED"
            "the heartbeat has run out: send one before the next order",
        /// The user has as many groups with a heartbeat as allowed.
        TooManyHeartbeats = "HEARTBEAT_LIMIT"
            "too many groups have a heartbeat: switch one off first",
        /// No such transfer waits.
        TransferNotFound = "TRANSFER_NOT_FOUND" "no such transfer waits for an answer",
        /// As many transfers of the user wait as allowed.
        TooManyTransfers = "TRANSFER_LIMIT" "too many transfers wait for an answer",
        /// No such proposal, or it is over.
        ProposalNotFound = "PROPOSAL_NOT_FOUND" "no such proposal waits to be confirmed",
        /// The operator who proposed something confirms it.
        ProposalOfOwn = "PROPOSAL_OF_OWN" "another operator confirms what one proposes",
        /// There are as many proposals as allowed.
        TooManyProposals = "PROPOSAL_LIMIT" "too many proposals wait to be confirmed",
        /// No such key, or another user's.
        KeyNotFound = "KEY_NOT_FOUND" "the user has no such key",
        /// This or another user already has the key in force. A revoked key may be given again.
        KeyTaken = "KEY_TAKEN" "this key is already in use",
        /// No such invitation, or it was used, replaced or is over.
        InvitationNotFound = "INVITATION_NOT_FOUND"
            "this invitation was used, replaced by another, or is over",
        /// Somebody else signs in with this name.
        NameTaken = "NAME_TAKEN" "somebody else has this name",
        /// Somebody else signs in with this account of the identity provider.
        IdentityTaken = "IDENTITY_TAKEN" "somebody else signs in with this account",
        /// The password was changed while somebody signed in with the one before.
        PasswordChanged = "PASSWORD_CHANGED" "the password was just changed",
        /// The user is asked for a code, too.
        SecondFactorRequired = "SECOND_FACTOR_REQUIRED"
            "a code of the second factor is needed, too",
        /// The code is wrong, or was used before.
        SecondFactorRefused = "SECOND_FACTOR_REFUSED" "the code is wrong, or was used before",
        /// The user has no second factor.
        SecondFactorNotFound = "SECOND_FACTOR_NOT_FOUND" "there is no second factor",
        /// The user has no such session, or it is over.
        SessionNotFound = "SESSION_NOT_FOUND" "the user is not signed in like this",
        /// No such category.
        CategoryNotFound = "CATEGORY_NOT_FOUND" "no such category",
        /// The slug belongs, or once belonged, to another of the kind.
        SlugTaken = "SLUG_TAKEN" "another has, or had, this slug",
        /// No such event.
        EventNotFound = "EVENT_NOT_FOUND" "no such event",
        /// No such market, or one not yet published.
        MarketNotFound = "MARKET_NOT_FOUND" "no such market",
        /// A deadline that is not after the time of the command.
        DeadlineNotInFuture = "DEADLINE_NOT_IN_FUTURE" "the deadline is not in the future",
        /// The market's status does not allow this.
        InvalidTransition = "INVALID_TRANSITION" "the market's status does not allow this",
        /// The user disputed an outcome of this market before.
        AlreadyDisputed = "ALREADY_DISPUTED" "each holder disputes a market once",
        /// The user holds no contracts of this market.
        NoContracts = "NO_CONTRACTS" "only who holds contracts of a market disputes its outcome",
        /// A mutually exclusive event that has as many markets as allowed, or in which contracts
        /// were already converted.
        EventComplete = "EVENT_COMPLETE" "the event takes no more markets",
        /// The announced yes-prices of a mutually exclusive event would sum to more than 1.00.
        EventAlreadyWon = "EVENT_ALREADY_WON"
            "the announced prices of yes of the event's markets would sum to more than 1.00",
        /// No such order, or another user's.
        OrderNotFound = "ORDER_NOT_FOUND" "no such order",
        /// The order does not rest on a book (any more).
        OrderNotOpen = "ORDER_NOT_OPEN" "the order is no longer open",
        /// The market takes no orders: not ACTIVE, or its deadline has passed.
        MarketNotActive = "MARKET_NOT_ACTIVE" "the market takes no orders now",
        /// The event's markets do not exclude each other.
        EventNotExclusive = "EVENT_NOT_EXCLUSIVE"
            "the markets of this event are not mutually exclusive",
        /// A market of the event is a draft or its outcome was announced, or the event has only one
        /// market.
        EventNotConvertible = "EVENT_NOT_CONVERTIBLE"
            "contracts of this event cannot be converted now",
        /// The record's time is after the order's `validUntil`, or not before its `expiresAt`.
        OrderTooLate = "ORDER_TOO_LATE"
            "the order came after its validUntil, or its expiresAt is not to come",
        /// An amended quantity that leaves nothing to fill.
        QuantityFilled = "QUANTITY_FILLED" "the order has already filled that much",
        /// The user, or the venue, has as many open orders as allowed.
        OpenOrderLimit = "OPEN_ORDER_LIMIT" "too many open orders",
        /// The user's free contracts do not back the whole order.
        ReduceOnlyExceeded = "REDUCE_ONLY_EXCEEDED"
            "a reduce-only order may not exceed the free contracts it closes",
        /// The user has fewer free no contracts than the conversion takes.
        InsufficientContracts = "INSUFFICIENT_CONTRACTS" "not enough free no contracts",
        /// Not enough available money.
        InsufficientFunds = "INSUFFICIENT_FUNDS" "not enough available money",
        /// The operator asked for more fees than there are.
        InsufficientFees = "INSUFFICIENT_FEES"
            "trading has not earned that much, or it was taken before",
        /// The order would take the user past the exposure limit that the operator set.
        ExposureLimit = "EXPOSURE_LIMIT" "the order exceeds what this user may be exposed to",
        /// A post-only order would have traded at once.
        PostOnlyWouldCross = "POST_ONLY_WOULD_CROSS" "a post-only order would have traded at once",
        /// The deposit would take the venue past its money supply limit.
        DepositLimit = "DEPOSIT_LIMIT" "the venue cannot hold this much money",
        /// The venue has no number left for a thing of this kind.
        VenueFull = "VENUE_FULL" "the venue can hold no more of these",
    }
}
