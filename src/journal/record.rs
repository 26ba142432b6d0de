//! The format of a record: a header of 16 bytes, the idempotency key if there is one, then a flat
//! struct in bincode, one per kind and version. Only this module and its submodules know bincode
//! (journal-format.md, "Records").

mod cut;
mod kinds;
mod plain;

use bincode::config::{Configuration, Fixint, Limit, LittleEndian};
use bincode::enc::write::Writer;
use bincode::{BorrowDecode, Decode, Encode};

use self::cut::{AmendOrderV1, AmendOrderV2, CancelOrderV1, Fields, HandDecoded, PlaceOrderV1};
use self::cut::{cancelled_of, order_of};
use self::plain::plain_order;
use super::block::{BLOCK_BYTES_MAX, BLOCK_HEADER_BYTES};
use super::fields::{self, BadField, kind_name};
use exchange::command::{BodyHash, Command, IdempotencyKey, KeyedCommand, Record};
use exchange::ids::{Token, UserNo};
use exchange::units::{Sequence, TimeMs};

/// Bytes of a record's header: length of the body, kind, version, flags and time.
pub const RECORD_HEADER_BYTES: usize = 16;
/// Largest record, header included: alone it fills a block.
pub const RECORD_BYTES_MAX: usize = BLOCK_BYTES_MAX - BLOCK_HEADER_BYTES;
/// Version of the bodies of the kinds that are encoded and decoded by hand.
const BODY_VERSION: u8 = 1;
/// The kinds of nearly all records of a busy venue.
const PLACED: u16 = 19;
const CANCELLED: u16 = 21;
/// Flag: an idempotency key precedes the body.
const FLAG_ONCE: u8 = 1;

/// Little-endian and fixed-width: variable-width integers have several encodings, and a hash chain
/// needs exactly one. Limited, so that a forged length cannot allocate.
type BincodeConfig = Configuration<LittleEndian, Fixint, Limit<RECORD_BYTES_MAX>>;
const BINCODE: BincodeConfig = bincode::config::standard()
    .with_little_endian()
    .with_fixed_int_encoding()
    .with_limit::<RECORD_BYTES_MAX>();

/// Why bytes are not a record.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    /// The bytes end inside the record's header or body.
    #[error("RECORD_TRUNCATED: the bytes end inside a record")]
    Truncated,
    /// A kind that this version of the format does not have.
    #[error("RECORD_UNKNOWN_KIND: no record kind has the number {0}")]
    UnknownKind(u16),
    /// A known kind in a version that this software cannot read.
    #[error("RECORD_UNKNOWN_VERSION: {name} has no version {1}", name = kind_name(*.0))]
    UnknownVersion(u16, u8),
    /// A flag that has no meaning in this version of the format.
    #[error("RECORD_UNKNOWN_FLAGS: {name} with flags {1}", name = kind_name(*.0))]
    UnknownFlags(u16, u8),
    /// The time is before 1970 or after 9999.
    #[error("RECORD_TIME: {0} ms is no moment between 1970 and 9999")]
    Time(i64),
    /// The body is no encoding of its kind's struct: truncated, a bad tag, text that is not UTF-8.
    #[error("RECORD_BODY: the body is no {name}", name = kind_name(*.0))]
    Body(u16),
    /// The body goes on after its kind's last field.
    #[error("RECORD_TRAILING: {0} bytes follow the last field")]
    Trailing(usize),
    /// A field holds a value outside its range.
    #[error("RECORD_FIELD: {name}.{1} is out of range", name = kind_name(*.0))]
    Field(u16, &'static str),
}

/// Why a record cannot be written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EncodeError {
    /// Its texts are longer than a block.
    #[error("ENCODE_TOO_LARGE: the record is larger than {RECORD_BYTES_MAX} bytes")]
    TooLarge,
    /// A field holds a value outside its range.
    #[error("ENCODE_FIELD: {name}.{1} is out of range", name = kind_name(*.0))]
    Field(u16, &'static str),
    /// The record's sequence is not the one after the last.
    #[error("ENCODE_SEQUENCE: expected record {expected}, found {found}")]
    Sequence {
        /// The next free sequence.
        expected: Sequence,
        /// The record's.
        found: Sequence,
    },
    /// The record is stamped before the one it follows.
    #[error("ENCODE_TIME: record {0} is stamped earlier than the one before it")]
    Time(Sequence),
    /// A block of no records.
    #[error("ENCODE_EMPTY: a block holds at least one record")]
    Empty,
    /// The results are of records that are not before the block, or of fewer than the block before
    /// records.
    #[error("ENCODE_RESULTS: results up to record {0} cannot be recorded here")]
    Results(Sequence),
}

/// Checks that a command can be journaled. Called before it is stamped, so that a command that
/// cannot be encoded never shares a block with others.
pub fn admit(asked: &KeyedCommand) -> Result<(), EncodeError> {
    let KeyedCommand { once, command } = asked;
    if is_small(command) {
        let kind = fields::kind_of(command);
        return fields::check(command).map_err(|BadField(field)| EncodeError::Field(kind, field));
    }
    encode(command, once.as_deref(), TimeMs::default(), &mut Vec::new(), RECORD_BYTES_MAX)
}

/// Whether a command has no long texts, so that its record is always small: it need not be encoded
/// to check its size. These are most of a busy venue's commands.
const fn is_small(command: &Command) -> bool {
    matches!(
        command,
        Command::PlaceOrder(_)
            | Command::AmendOrder { .. }
            | Command::CancelOrder { .. }
            | Command::CancelOrders { .. }
            | Command::Heartbeat { .. }
    )
}

/// Appends a record's bytes to `out`, which grows to `bytes_max` at most. Unchanged on error.
pub fn encode(
    command: &Command,
    once: Option<&IdempotencyKey>,
    time: TimeMs,
    out: &mut Vec<u8>,
    bytes_max: usize,
) -> Result<(), EncodeError> {
    let kind = fields::kind_of(command);
    fields::check(command).map_err(|BadField(field)| EncodeError::Field(kind, field))?;
    let start = out.len();
    // The fast path: nearly all orders, at a fixed length.
    if let (Command::PlaceOrder(order), None) = (command, once)
        && let Some(record) = plain_order(order, time)
    {
        if start.saturating_add(record.len()) > bytes_max {
            return Err(EncodeError::TooLarge);
        }
        out.extend_from_slice(&record);
        return Ok(());
    }
    let mut tail = Tail { out, bytes_max: bytes_max.min(start.saturating_add(RECORD_BYTES_MAX)) };
    // A placeholder: the length comes first and is known last.
    let written = tail
        .write(&[0; 4])
        .and_then(|()| tail.write(&kind.to_le_bytes()))
        .and_then(|()| tail.write(&[fields::version_of(command), once.map_or(0, |_| FLAG_ONCE)]))
        .and_then(|()| tail.write(&time.get().to_le_bytes()))
        .and_then(|()| once.map_or(Ok(()), |once| tail.put(OnceV1::from(once))))
        .and_then(|()| kinds::encode_body(command, &mut tail));
    let bytes = out.len().saturating_sub(start);
    let body = u32::try_from(bytes.saturating_sub(RECORD_HEADER_BYTES));
    let place = out.get_mut(start..).and_then(|record| record.first_chunk_mut::<4>());
    if let (Ok(()), Ok(body), Some(place)) = (written, body, place) {
        *place = body.to_le_bytes();
        Ok(())
    } else {
        out.truncate(start);
        Err(EncodeError::TooLarge)
    }
}

/// Decodes the record at the start of `bytes` as number `sequence` and appends it to `records`;
/// returns the bytes it takes.
pub fn decode(
    bytes: &[u8],
    sequence: Sequence,
    records: &mut Vec<Record>,
) -> Result<usize, RecordError> {
    let (length, rest) = bytes.split_first_chunk::<4>().ok_or(RecordError::Truncated)?;
    let (kind, rest) = rest.split_first_chunk::<2>().ok_or(RecordError::Truncated)?;
    let ([version, flags], rest) = rest.split_first_chunk::<2>().ok_or(RecordError::Truncated)?;
    let (stamp, rest) = rest.split_first_chunk::<8>().ok_or(RecordError::Truncated)?;
    let length = usize::try_from(u32::from_le_bytes(*length)).unwrap_or(usize::MAX);
    let body = rest.get(..length).ok_or(RecordError::Truncated)?;
    let (kind, version, flags) = (u16::from_le_bytes(*kind), *version, *flags);
    if !fields::known(kind) {
        return Err(RecordError::UnknownKind(kind));
    }
    if !fields::has_version(kind, version) {
        return Err(RecordError::UnknownVersion(kind, version));
    }
    let stamp = i64::from_le_bytes(*stamp);
    let time = TimeMs::new(stamp).ok_or(RecordError::Time(stamp))?;
    let body = Body { kind, version, bytes: body };
    let taken = RECORD_HEADER_BYTES.saturating_add(length);
    // The fast path for nearly all records. They are built in place: moving a record through
    // several results takes longer than decoding it.
    match (kind, flags) {
        (PLACED, 0) => {
            let command = Command::PlaceOrder(order_of(&body.decode_by_hand()?, kind)?);
            records.push(Record { sequence, time, once: None, command });
        }
        (CANCELLED, 0) => {
            let command = cancelled_of(&body.decode_by_hand()?);
            records.push(Record { sequence, time, once: None, command });
        }
        _ => {
            let (once, command) = any(body, flags)?;
            records.push(Record { sequence, time, once, command });
        }
    }
    Ok(taken)
}

/// Decodes a command of any kind, and its idempotency key.
#[inline(never)]
fn any(
    mut body: Body<'_>,
    flags: u8,
) -> Result<(Option<Box<IdempotencyKey>>, Command), RecordError> {
    let kind = body.kind;
    let once = match flags {
        0 => None,
        FLAG_ONCE => Some(Box::new(body.split_once()?)),
        unknown => return Err(RecordError::UnknownFlags(kind, unknown)),
    };
    let command = kinds::read(&body)?;
    fields::check(&command).map_err(|BadField(field)| RecordError::Field(kind, field))?;
    Ok((once, command))
}

/// The end of a buffer that must not grow past a bound.
struct Tail<'a> {
    out: &'a mut Vec<u8>,
    bytes_max: usize,
}

impl Writer for Tail<'_> {
    fn write(&mut self, bytes: &[u8]) -> Result<(), bincode::error::EncodeError> {
        if self.out.len().saturating_add(bytes.len()) > self.bytes_max {
            return Tail::no_room();
        }
        self.out.extend_from_slice(bytes);
        Ok(())
    }
}

impl Tail<'_> {
    /// The error for a body that does not fit.
    const fn no_room() -> Encoded {
        Err(bincode::error::EncodeError::UnexpectedEnd)
    }

    /// Encodes one flat struct.
    fn put(&mut self, body: impl Encode) -> Encoded {
        bincode::encode_into_writer(body, &mut *self, BINCODE)
    }
}

/// Whether a body fit.
type Encoded = Result<(), bincode::error::EncodeError>;

/// A body's bytes and the kind they claim to be.
struct Body<'a> {
    kind: u16,
    version: u8,
    bytes: &'a [u8],
}

impl<'a> Body<'a> {
    /// Decodes the idempotency key that precedes the body.
    fn split_once(&mut self) -> Result<IdempotencyKey, RecordError> {
        let (once, taken): (OnceV1<'_>, usize) =
            bincode::borrow_decode_from_slice(self.bytes, BINCODE)
                .map_err(|_| RecordError::Body(self.kind))?;
        self.bytes = self.bytes.get(taken..).unwrap_or_default();
        let key = Token::new(once.key).ok_or(RecordError::Field(self.kind, "once.key"))?;
        let (caller, body) = (UserNo(once.caller), BodyHash(once.body));
        Ok(IdempotencyKey { caller, key, part: once.part, body })
    }

    /// Decodes one flat struct, which must take all bytes.
    fn read<T: BorrowDecode<'a, ()>>(&self) -> Result<T, RecordError> {
        let (body, taken) = bincode::borrow_decode_from_slice(self.bytes, BINCODE)
            .map_err(|_| RecordError::Body(self.kind))?;
        ends(self.bytes.get(taken..).unwrap_or_default())?;
        Ok(body)
    }

    /// The same for the kinds decoded by hand.
    #[inline]
    fn decode_by_hand<T: HandDecoded<'a>>(&self) -> Result<T, RecordError> {
        let mut fields = Fields(self.bytes);
        let body = T::decode(&mut fields).ok_or(RecordError::Body(self.kind))?;
        ends(fields.0)?;
        Ok(body)
    }
}

/// Checks that no bytes are left.
#[inline]
const fn ends(rest: &[u8]) -> Result<(), RecordError> {
    if rest.is_empty() { Ok(()) } else { Err(RecordError::Trailing(rest.len())) }
}

// The flat structs, one per kind. The order of fields is the order on disk; a struct is never
// changed, a new version gets a new struct.

#[derive(Clone, Copy, Encode, BorrowDecode)]
struct TextsV1<'a> {
    pt: &'a str,
    en: &'a str,
    es: &'a str,
}
#[derive(Encode, BorrowDecode)]
struct OnceV1<'a> {
    caller: u32,
    key: &'a str,
    part: u8,
    body: [u8; 32],
}

impl<'a> From<&'a IdempotencyKey> for OnceV1<'a> {
    fn from(once: &'a IdempotencyKey) -> Self {
        let (key, body) = (once.key.as_str(), once.body.0);
        OnceV1 { caller: once.caller.0, key, part: once.part, body }
    }
}

#[derive(Encode, BorrowDecode)]
struct OpenVenueV1<'a> {
    rules_version: u32,
    currency: &'a str,
    user_open_orders_max: u32,
    venue_open_orders_max: u32,
    money_supply_max: i64,
    repeat_window_seconds: u32,
    user_names_max: u32,
}
#[derive(Encode, BorrowDecode)]
struct CreateUserV1<'a> {
    profile_name: &'a str,
    profile_pic: &'a str,
}
#[derive(Encode, BorrowDecode)]
struct AddKeyV1<'a> {
    user: u32,
    role: u8,
    label: &'a str,
    hash: [u8; 32],
}
#[derive(Encode, Decode)]
struct RevokeKeyV1 {
    user: u32,
    key: u32,
}
#[derive(Encode, Decode)]
struct TransferV1 {
    user: u32,
    amount: i64,
}
#[derive(Encode, BorrowDecode)]
struct CreateCategoryV1<'a> {
    name: &'a str,
    slug: &'a str,
}
#[derive(Encode, BorrowDecode)]
struct CreateEventV1<'a> {
    titles: TextsV1<'a>,
    sub_titles: TextsV1<'a>,
    descriptions: TextsV1<'a>,
    images: Vec<&'a str>,
    highlighted: bool,
    categories: Vec<u32>,
    mutually_exclusive: bool,
}
#[derive(Encode, BorrowDecode)]
struct CreateMarketV1<'a> {
    questions: TextsV1<'a>,
    descriptions: TextsV1<'a>,
    yes_text: TextsV1<'a>,
    no_text: TextsV1<'a>,
    logo: &'a str,
    deadline: i64,
    categories: Vec<u32>,
    event: Option<u32>,
    highlighted: bool,
    dispute_window_seconds: u32,
    maker_fee: u16,
    taker_fee: u16,
}
#[derive(Encode, BorrowDecode)]
struct ReviseEventV1<'a> {
    event: u32,
    titles: Option<TextsV1<'a>>,
    sub_titles: Option<TextsV1<'a>>,
    descriptions: Option<TextsV1<'a>>,
    images: Option<Vec<&'a str>>,
    highlighted: Option<bool>,
    categories: Option<Vec<u32>>,
}
#[derive(Encode, BorrowDecode)]
struct ReviseMarketV1<'a> {
    market: u32,
    questions: Option<TextsV1<'a>>,
    descriptions: Option<TextsV1<'a>>,
    yes_text: Option<TextsV1<'a>>,
    no_text: Option<TextsV1<'a>>,
    logo: Option<&'a str>,
    deadline: Option<i64>,
    categories: Option<Vec<u32>>,
    highlighted: Option<bool>,
    maker_fee: Option<u16>,
    taker_fee: Option<u16>,
}
#[derive(Encode, Decode)]
struct PublishMarketV1 {
    market: u32,
}
#[derive(Encode, Decode)]
struct SuspendMarketV1 {
    market: u32,
}
#[derive(Encode, Decode)]
struct ReopenMarketV1 {
    market: u32,
    deadline: Option<i64>,
}
#[derive(Encode, Decode)]
struct CloseMarketV1 {
    market: u32,
}
#[derive(Encode, Decode)]
struct ResolveMarketV1 {
    market: u32,
    winner: u8,
}
#[derive(Encode, Decode)]
struct DisputeMarketV1 {
    market: u32,
}
#[derive(Encode, Decode)]
struct VoidMarketV1 {
    market: u32,
    price: u8,
}
#[derive(Encode, Decode)]
struct CancelOrdersV1 {
    user: u32,
    market: Option<u32>,
}
#[derive(Encode, Decode)]
struct AdvanceClockV1 {}
#[derive(Encode, Decode)]
struct HeartbeatV1 {
    user: u32,
    timeout_seconds: u32,
}
#[derive(Encode, Decode)]
struct SetVenueModeV1 {
    mode: u8,
}
#[derive(Encode, Decode)]
struct SetUserModeV1 {
    user: u32,
    mode: u8,
}
#[derive(Encode, Decode)]
struct SetExposureLimitV1 {
    user: u32,
    limit: Option<i64>,
}
#[derive(Encode, Decode)]
struct ConvertV1 {
    user: u32,
    event: u32,
    markets: Vec<u32>,
    quantity: u64,
}
