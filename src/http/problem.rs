//! Problems (RFC 9457): every answer that is not a success. Only this module maps refusals, bad
//! requests and halts to HTTP statuses (semantics 7).

use std::borrow::Cow;
use std::num::NonZeroU32;

use hyper::StatusCode;

use super::rates::Allowance;
use super::wire::order::ListedOrder;
use engine::TRIAL_MEETS_MAX;
use engine::halt::HaltReason;
use engine::meter::ReplayProgress;
use engine::past::PastError;
use engine::pending::Refusal;
use exchange::reject::Reject;
use exchange::units::Sequence;
use views::history::HistoryError;

/// `Retry-After` when the engine's queue was full: it drains in milliseconds, and the header's unit
/// is a second.
const RETRY_AFTER_SECONDS: u32 = 1;
/// `Retry-After` for a user with too many remembered names. Each is forgotten a day after its use
/// unless its order is still open, so room becomes free gradually, and a minute avoids most useless
/// retries.
const NAMES_RETRY_SECONDS: u32 = 60;

/// Declares what may be wrong with a field, each with its stable code.
macro_rules! field_codes {
    ($($(#[$about:meta])* $Fault:ident => $code:literal;)*) => {
        /// The fault of one field.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum FieldCode {
            $($(#[$about])* $Fault,)*
        }

        impl FieldCode {
            /// The stable code.
            pub const fn code(self) -> &'static str {
                match self {
                    $(FieldCode::$Fault => $code,)*
                }
            }
        }
    };
}

field_codes! {
    /// It is missing.
    Required => "REQUIRED";
    /// Another JSON type is expected.
    WrongType => "WRONG_TYPE";
    /// Not one of the forms allowed.
    InvalidValue => "INVALID_VALUE";
    /// Too small, too large, too long or too many.
    OutOfBounds => "OUT_OF_BOUNDS";
    /// The request has no such field.
    UnknownField => "UNKNOWN_FIELD";
    /// It is given more than once.
    Repeated => "REPEATED";
    /// The body as a whole cannot be read as JSON.
    Malformed => "MALFORMED";
    /// A moment that had to be in the future.
    NotInFuture => "NOT_IN_FUTURE";
}

/// One bad field of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldError {
    /// Its name; nested members as `questions.pt`, elements as `images[0]`, the whole body as
    /// `body`.
    pub field: String,
    /// What is wrong.
    pub code: FieldCode,
    /// The same for people.
    pub detail: Cow<'static, str>,
}

/// Declares the kinds of problems that are not refusals, each with its stable code and its status.
macro_rules! kinds {
    ($($(#[$about:meta])* $Kind:ident => $code:literal, $status:ident;)*) => {
        /// What kind of problem: its status and its stable code.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Kind {
            $($(#[$about])* $Kind,)*
            /// The exchange refused the command.
            Refused(Reject),
        }

        impl Kind {
            /// Every kind that is not a refusal by the exchange.
            pub const OWN: [Kind; [$($code),*].len()] = [$(Kind::$Kind),*];

            /// Its stable code.
            pub const fn code(self) -> &'static str {
                match self {
                    $(Kind::$Kind => $code,)*
                    Kind::Refused(Reject::DeadlineNotInFuture) => Kind::InvalidRequest.code(),
                    Kind::Refused(reject) => reject.code(),
                }
            }

            /// Its HTTP status.
            pub const fn status(self) -> StatusCode {
                match self {
                    $(Kind::$Kind => StatusCode::$status,)*
                    Kind::Refused(reject) => status_of(reject),
                }
            }
        }
    };
}

kinds! {
    /// The form is bad; the errors say where.
    InvalidRequest => "INVALID_REQUEST", BAD_REQUEST;
    /// No key was sent.
    MissingApiKey => "MISSING_API_KEY", UNAUTHORIZED;
    /// The key is not, or no longer, known.
    InvalidApiKey => "INVALID_API_KEY", UNAUTHORIZED;
    /// No user has this name and password.
    CredentialsRefused => "CREDENTIALS_REFUSED", UNAUTHORIZED;
    /// The key's role does not allow the request.
    Forbidden => "FORBIDDEN", FORBIDDEN;
    /// No such path.
    NotFound => "NOT_FOUND", NOT_FOUND;
    /// The path exists, the method on it does not.
    MethodNotAllowed => "METHOD_NOT_ALLOWED", METHOD_NOT_ALLOWED;
    /// The client takes no JSON.
    NotAcceptable => "NOT_ACCEPTABLE", NOT_ACCEPTABLE;
    /// The body took too long to arrive.
    RequestTimeout => "REQUEST_TIMEOUT", REQUEST_TIMEOUT;
    /// A body is needed and neither its length nor chunks were announced.
    LengthRequired => "LENGTH_REQUIRED", LENGTH_REQUIRED;
    /// The body is too large.
    ContentTooLarge => "CONTENT_TOO_LARGE", PAYLOAD_TOO_LARGE;
    /// The address is too long.
    UriTooLong => "URI_TOO_LONG", URI_TOO_LONG;
    /// The body is not announced as JSON.
    UnsupportedMediaType => "UNSUPPORTED_MEDIA_TYPE", UNSUPPORTED_MEDIA_TYPE;
    /// The headers are too many or too large.
    HeadersTooLarge => "HEADERS_TOO_LARGE", REQUEST_HEADER_FIELDS_TOO_LARGE;
    /// A server error.
    Internal => "INTERNAL_ERROR", INTERNAL_SERVER_ERROR;
    /// A part of history is missing or damaged; the next start rebuilds it.
    HistoryUnreadable => "HISTORY_UNREADABLE", INTERNAL_SERVER_ERROR;
    /// Too many connections, a full engine queue, too many past queries, or too many unread rows.
    Overloaded => "OVERLOADED", SERVICE_UNAVAILABLE;
    /// The past moment asked for is too far from any saved state.
    OutOfReach => "OUT_OF_REACH", SERVICE_UNAVAILABLE;
    /// The server is shutting down.
    Stopping => "STOPPING", SERVICE_UNAVAILABLE;
    /// The journal could not be made durable.
    JournalUnavailable => "JOURNAL_UNAVAILABLE", SERVICE_UNAVAILABLE;
    /// The command may be in the journal and take effect at the next start.
    OutcomeUnknown => "OUTCOME_UNKNOWN", SERVICE_UNAVAILABLE;
    /// The user has as many keys as may be.
    KeyLimit => "KEY_LIMIT", UNPROCESSABLE_ENTITY;
    /// The dry run could meet too many resting orders.
    TrialTooLarge => "TRIAL_TOO_LARGE", UNPROCESSABLE_ENTITY;
    /// The user exceeded the rate limit.
    RateLimited => "RATE_LIMITED", TOO_MANY_REQUESTS;
    /// Too many wrong passwords.
    TooManyTries => "TOO_MANY_TRIES", TOO_MANY_REQUESTS;
    /// The user has no records left for now.
    RecordLimit => "RECORD_LIMIT", TOO_MANY_REQUESTS;
    /// There is no channel of this name.
    ChannelNotFound => "CHANNEL_NOT_FOUND", NOT_FOUND;
    /// The connection does not listen to the channel.
    NotSubscribed => "NOT_SUBSCRIBED", CONFLICT;
    /// The connection listens to as many channels as may be, or the channel is too large.
    ChannelLimit => "CHANNEL_LIMIT", UNPROCESSABLE_ENTITY;
    /// As many connections catch up from the journal as may at once.
    ReplayBusy => "REPLAY_BUSY", SERVICE_UNAVAILABLE;
    /// The user has as many streams as may be.
    StreamLimit => "STREAM_LIMIT", TOO_MANY_REQUESTS;
    /// The journal is being replayed.
    Starting => "STARTING", SERVICE_UNAVAILABLE;
    /// The intake is closed until a restart.
    Halted => "HALTED", SERVICE_UNAVAILABLE;
}

impl Kind {
    /// Seconds after which the client should retry the same request, if it should.
    pub const fn retry_after(self) -> Option<u32> {
        match self {
            Kind::Overloaded | Kind::ReplayBusy | Kind::Starting | Kind::Stopping => {
                Some(RETRY_AFTER_SECONDS)
            }
            Kind::Refused(Reject::TooManyNames) => Some(NAMES_RETRY_SECONDS),
            _ => None,
        }
    }

    /// Whether a bucket lacks tokens, whose state says how long to wait.
    pub const fn has_allowance(self) -> bool {
        matches!(self, Kind::RateLimited | Kind::RecordLimit)
    }

    /// Whether the request carried no key that is in force.
    pub const fn lacks_good_key(self) -> bool {
        matches!(self, Kind::MissingApiKey | Kind::InvalidApiKey)
    }

    /// Whether the connection must be closed, because the rest of the client's bytes cannot be told
    /// apart from a new request.
    pub const fn closes(self) -> bool {
        matches!(self, Kind::RequestTimeout | Kind::ContentTooLarge | Kind::HeadersTooLarge)
    }
}

/// The status of a refusal. Exhaustive, so that a new refusal does not compile without one.
const fn status_of(reject: Reject) -> StatusCode {
    match reject {
        Reject::DeadlineNotInFuture => StatusCode::BAD_REQUEST,
        Reject::UserNotFound
        | Reject::KeyNotFound
        | Reject::TransferNotFound
        | Reject::ProposalNotFound
        | Reject::InvitationNotFound
        | Reject::SessionNotFound
        | Reject::SecondFactorNotFound
        | Reject::CategoryNotFound
        | Reject::EventNotFound
        | Reject::MarketNotFound
        | Reject::OrderNotFound => StatusCode::NOT_FOUND,
        Reject::VenueAlreadyOpen
        | Reject::KeyTaken
        | Reject::NameTaken
        | Reject::IdentityTaken
        | Reject::PasswordChanged
        | Reject::SlugTaken
        | Reject::ReferenceUsed
        | Reject::ProposalOfOwn
        | Reject::InvalidTransition
        | Reject::AlreadyDisputed
        | Reject::EventComplete
        | Reject::EventAlreadyWon
        | Reject::OrderNotOpen
        | Reject::ClientOrderIdReused
        | Reject::IdempotencyKeyReused => StatusCode::CONFLICT,
        Reject::SecondFactorRequired | Reject::SecondFactorRefused => StatusCode::UNAUTHORIZED,
        Reject::PreconditionFailed => StatusCode::PRECONDITION_FAILED,
        Reject::MarketNotActive
        | Reject::EventNotExclusive
        | Reject::EventNotConvertible
        | Reject::InsufficientContracts
        | Reject::OrderTooLate
        | Reject::QuantityFilled
        | Reject::OpenOrderLimit
        | Reject::ReduceOnlyExceeded
        | Reject::InsufficientFunds
        | Reject::InsufficientFees
        | Reject::PostOnlyWouldCross
        | Reject::DepositLimit
        | Reject::TradingReadOnly
        | Reject::TradingCancelOnly
        | Reject::HeartbeatExpired
        | Reject::TooManyHeartbeats
        | Reject::TooManyTransfers
        | Reject::TooManyProposals
        | Reject::NoContracts
        | Reject::ExposureLimit
        | Reject::VenueFull => StatusCode::UNPROCESSABLE_ENTITY,
        Reject::TooManyNames => StatusCode::TOO_MANY_REQUESTS,
        // The engine opens the venue before it takes commands: this would be a server error.
        Reject::VenueNotOpen => StatusCode::SERVICE_UNAVAILABLE,
    }
}

/// Detail of a deadline that has passed.
pub const NOT_IN_FUTURE: &str = "must be in the future";

/// What a problem tells besides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Told {
    /// Replay progress, if the venue is not open yet.
    Replay(ReplayProgress),
    /// How the order ended that is not open.
    Order(ListedOrder),
}

/// Why a request did not succeed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Status and code.
    pub kind: Kind,
    /// The same for people.
    pub detail: Cow<'static, str>,
    /// All bad fields of an invalid request.
    pub errors: Vec<FieldError>,
    /// The record that refused, or that the check looked at.
    pub sequence: Option<Sequence>,
    /// The allowed methods, if the method was wrong.
    pub allow: Option<Box<str>>,
    /// Whether the body's coding was the reason.
    pub coded: bool,
    /// State of the bucket that had too few tokens.
    pub allowance: Option<Box<Allowance>>,
    /// What the client is told besides.
    pub told: Option<Box<Told>>,
    /// Seconds to wait before the request is sent again, if its kind does not tell.
    pub wait: Option<NonZeroU32>,
    /// The cause of a server error: for the log, never for the client.
    pub cause: Option<&'static str>,
}

impl Problem {
    /// A wrong name or password: which of them is not told.
    pub fn wrong_password() -> Problem {
        Problem::new(Kind::CredentialsRefused, "the name or the password is wrong")
    }

    /// A problem with only a kind and a detail.
    pub fn new(kind: Kind, detail: impl Into<Cow<'static, str>>) -> Problem {
        Problem {
            kind,
            detail: detail.into(),
            errors: Vec::new(),
            sequence: None,
            allow: None,
            coded: false,
            allowance: None,
            told: None,
            wait: None,
            cause: None,
        }
    }

    /// An invalid request with these bad fields.
    pub fn invalid(errors: Vec<FieldError>) -> Problem {
        let detail = "one or more fields of the request are not as they must be";
        Problem { errors, ..Problem::new(Kind::InvalidRequest, detail) }
    }

    /// The path does not have the method; `allow` lists those it has.
    pub fn method_not_allowed(allow: String) -> Problem {
        let detail = "this path does not have this method";
        Problem {
            allow: Some(allow.into_boxed_str()),
            ..Problem::new(Kind::MethodNotAllowed, detail)
        }
    }

    /// A row that must be in the read model is missing.
    pub fn lacking_row() -> Problem {
        Problem::internal("the read model lacks a row that it must have")
    }

    /// The venue is not open yet.
    pub fn starting(progress: ReplayProgress) -> Problem {
        let ReplayProgress { applied, head } = progress;
        let detail = match head {
            Sequence::ZERO => "the journal is being opened".into(),
            _ => format!("the journal is being replayed: {applied} of {head} records are done"),
        };
        let problem = Problem::new(Kind::Starting, detail);
        let told = Some(Box::new(Told::Replay(progress)));
        Problem { sequence: Some(applied), told, ..problem }
    }

    /// The intake is closed for this reason.
    pub fn halted(reason: HaltReason) -> Problem {
        let code = reason.code();
        Problem::new(Kind::Halted, format!("no command is taken until a restart: {code}"))
    }

    /// A refusal found before the exchange was asked.
    pub fn of(reject: Reject) -> Problem {
        let errors = match reject {
            Reject::DeadlineNotInFuture => vec![FieldError {
                field: "deadline".to_owned(),
                code: FieldCode::NotInFuture,
                detail: Cow::Borrowed(NOT_IN_FUTURE),
            }],
            _ => Vec::new(),
        };
        Problem { errors, ..Problem::new(Kind::Refused(reject), reject.to_string()) }
    }

    /// A refusal by the record `sequence`.
    pub fn refused(reject: Reject, sequence: Sequence) -> Problem {
        Problem { sequence: Some(sequence), ..Problem::of(reject) }
    }

    /// An impossible state; `cause` is logged.
    pub fn internal(cause: &'static str) -> Problem {
        let detail = "the request could not be answered; this is our fault";
        Problem { cause: Some(cause), ..Problem::new(Kind::Internal, detail) }
    }
}

impl From<serde_json::Error> for Problem {
    fn from(_: serde_json::Error) -> Problem {
        Problem::internal("an answer could not be printed")
    }
}

impl From<HistoryError> for Problem {
    fn from(error: HistoryError) -> Problem {
        tracing::error!(
            %error,
            "history cannot be read; the next start makes it anew from the journal"
        );
        let detail = "this part of history cannot be read until it is made anew from the journal";
        Problem::new(Kind::HistoryUnreadable, detail)
    }
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Problem {
        match refusal {
            Refusal::Overloaded => Problem::new(
                Kind::Overloaded,
                "more is asked at once than can be taken; nothing was accepted",
            ),
            Refusal::Stopping => {
                Problem::new(Kind::Stopping, "the server is stopping; nothing was accepted")
            }
            Refusal::TooLarge => {
                Problem::new(Kind::ContentTooLarge, "this is more than one journal record can hold")
            }
            Refusal::TrialTooLarge => Problem::new(
                Kind::TrialTooLarge,
                format!(
                    "more than {TRIAL_MEETS_MAX} resting orders could be met, more than a trial \
                     may cost; try less"
                ),
            ),
            Refusal::JournalUnavailable(reason) => Problem::new(
                Kind::JournalUnavailable,
                match reason {
                    HaltReason::JournalFailed
                    | HaltReason::JournalUnknown
                    | HaltReason::FilesChanged(_) => {
                        "the journal cannot be written; nothing was accepted"
                    }
                    HaltReason::StateBroken(_)
                    | HaltReason::ResultsDiffer(_)
                    | HaltReason::ReadModelBroken
                    | HaltReason::ThreadDied(_) => {
                        "the exchange found a fault in itself and journals nothing more; nothing \
                         was accepted"
                    }
                },
            ),
            Refusal::OutcomeUnknown(_) => Problem::new(
                Kind::OutcomeUnknown,
                "the exchange stopped while it had this in hand; whether it was accepted shows \
                 after its restart: look before you repeat it",
            ),
        }
    }
}

impl From<PastError> for Problem {
    fn from(error: PastError) -> Problem {
        match error {
            PastError::Busy => Problem::new(
                Kind::Overloaded,
                "as many questions about the past are being answered as can be at once",
            ),
            PastError::Another => Problem::new(
                Kind::Overloaded,
                "another question about the past of this user is being answered; ask one at a time",
            ),
            PastError::Beyond(_) => Problem::invalid(vec![FieldError {
                field: "asOf".to_owned(),
                code: FieldCode::OutOfBounds,
                detail: "is not in the past yet".into(),
            }]),
            PastError::OutOfReach(records) => Problem::new(
                Kind::OutOfReach,
                format!(
                    "{records} records lie between this moment and the nearest saved state before \
                     it, more than one question may cost; openoutcry-replay answers it"
                ),
            ),
            PastError::Journal(_) => Problem::internal("the journal cannot be read"),
            PastError::Fault(_) | PastError::Views(_) => {
                Problem::internal("the journal cannot be replayed")
            }
            PastError::Lost => Problem::internal("a question about the past was lost"),
        }
    }
}

#[cfg(test)]
#[path = "../../tests/unit/http/problem.rs"]
mod tests;
