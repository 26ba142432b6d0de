//! The format of a record: a header of 16 bytes, the idempotency key and the operator's act if
//! there are such, then the command's fields (journal-format.md). The fields and their order are
//! those of the table of commands; their bytes are what bincode writes for flat structs of them,
//! little-endian and of fixed width, so that a value has exactly one encoding.

use super::block::{BLOCK_BYTES_MAX, BLOCK_HEADER_BYTES};
use exchange::command::{
    Act, Command, Conversion, IdempotencyKey, KeyedCommand, PlaceOrder, Record, SeenTerms,
};
use exchange::image::coding::{BadImage, ImageSink, Imaged};
use exchange::image::words::{Fixed, Tagged};
use exchange::rules::{EVIDENCE_BYTES_MAX, REASON_BYTES_MAX, Rules};
use exchange::units::{Lots, Money, ORDER_LOTS_MAX, Sequence, TimeMs};

/// Bytes of a record's header: length of the body, kind, version, flags and time.
pub const RECORD_HEADER_BYTES: usize = 16;
/// Largest record, header included: alone it fills a block.
pub const RECORD_BYTES_MAX: usize = BLOCK_BYTES_MAX - BLOCK_HEADER_BYTES;
/// Flag: an idempotency key precedes the body.
const FLAG_ONCE: u8 = 1;
/// Flag: an operator's act precedes the body, after the idempotency key.
const FLAG_ACT: u8 = 2;
/// Space for most records: any of an order without a client order id.
const SMALL_BYTES: usize = 80;

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
    let KeyedCommand { once, act, command } = asked;
    let beside = (once.as_deref(), act.as_deref());
    check(command, beside)?;
    let mut length = Length(0);
    write(command, beside, TimeMs::default(), &mut length);
    if length.0 <= RECORD_BYTES_MAX { Ok(()) } else { Err(EncodeError::TooLarge) }
}

/// What a record has beside its command: an idempotency key, an operator's act.
pub type Beside<'a> = (Option<&'a IdempotencyKey>, Option<&'a Act>);

/// Appends a record's bytes to `out`, which has `bytes_max` at most then. Unchanged on error.
pub fn encode(
    command: &Command,
    beside: Beside<'_>,
    time: TimeMs,
    out: &mut Vec<u8>,
    bytes_max: usize,
) -> Result<(), EncodeError> {
    check(command, beside)?;
    let start = out.len();
    let end_max = bytes_max.min(start.saturating_add(RECORD_BYTES_MAX));
    let mut space = [0; SMALL_BYTES];
    let mut small = Fixed::over(&mut space);
    write(command, beside, time, &mut small);
    match small.written() {
        Some(record) => out.extend_from_slice(record),
        None => write(command, beside, time, &mut Tagged(&mut *out)),
    }
    let bytes = out.len().saturating_sub(start);
    let body = u32::try_from(bytes.saturating_sub(RECORD_HEADER_BYTES));
    let place = out.get_mut(start..).and_then(|record| record.first_chunk_mut::<4>());
    if let (Ok(body), Some(place)) = (body, place)
        && start.saturating_add(bytes) <= end_max
    {
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
    if !known(kind) {
        return Err(RecordError::UnknownKind(kind));
    }
    if !has_version(kind, version) {
        return Err(RecordError::UnknownVersion(kind, version));
    }
    let stamp = i64::from_le_bytes(*stamp);
    let time = TimeMs::new(stamp).ok_or(RecordError::Time(stamp))?;
    let mut body = Tagged(body);
    let bad = |bad: BadImage| match bad {
        BadImage::Field(field) | BadImage::Value(field) => RecordError::Field(kind, field),
        _ => RecordError::Body(kind),
    };
    if flags & !(FLAG_ONCE | FLAG_ACT) != 0 {
        return Err(RecordError::UnknownFlags(kind, flags));
    }
    let once = (flags & FLAG_ONCE != 0).then(|| IdempotencyKey::read(&mut body));
    let once = once.transpose().map_err(bad)?.map(Box::new);
    let act = (flags & FLAG_ACT != 0).then(|| Act::read(&mut body));
    let act = act.transpose().map_err(bad)?.map(Box::new);
    let command = Command::read_fields(kind, version, &mut body).map_err(bad)?;
    if !body.0.is_empty() {
        return Err(RecordError::Trailing(body.0.len()));
    }
    let checked = check_act(act.as_deref()).and_then(|()| check_fields(&command));
    checked.map_err(|BadField(field)| RecordError::Field(kind, field))?;
    records.push(Record { sequence, time, once, act, command });
    Ok(RECORD_HEADER_BYTES.saturating_add(length))
}

fn check(command: &Command, (_, act): Beside<'_>) -> Result<(), EncodeError> {
    let checked = check_act(act).and_then(|()| check_fields(command));
    checked.map_err(|BadField(field)| EncodeError::Field(command.number(), field))
}

/// Writes a record, but for the length that comes first: it is known last.
#[inline]
fn write(command: &Command, (once, act): Beside<'_>, time: TimeMs, sink: &mut impl ImageSink) {
    sink.put_array([0; 4]);
    command.number().write(sink);
    let flags = once.map_or(0, |_| FLAG_ONCE) | act.map_or(0, |_| FLAG_ACT);
    sink.put_array([command.version(), flags]);
    time.write(sink);
    if let Some(once) = once {
        once.write(sink);
    }
    if let Some(act) = act {
        act.write(sink);
    }
    command.write_fields(sink);
}

/// A sink that only counts.
struct Length(usize);

impl ImageSink for Length {
    #[inline]
    fn put(&mut self, bytes: &[u8]) {
        self.0 = self.0.saturating_add(bytes.len());
    }

    #[inline]
    fn tags(&self) -> bool {
        true
    }
}

// Kinds of records by number, and ranges of fields. The same check runs before a record is written
// and after it is read.

/// The name of a field whose value is out of range; as in journal-format.md.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BadField(pub &'static str);

/// Shortest and longest currency code.
const CURRENCY_LETTERS: std::ops::RangeInclusive<usize> = 3..=8;

/// Whether a kind has a body of this version; kinds themselves have version 1.
pub fn has_version(kind: u16, version: u8) -> bool {
    version == 1 || Command::LATER.contains(&(kind, version))
}

/// Whether a kind has this number.
pub const fn known(kind: u16) -> bool {
    Command::has_kind(kind)
}

/// The name of a kind's number; `unknown` for others.
pub fn kind_name(kind: u16) -> &'static str {
    Command::KINDS.iter().find(|(number, _)| *number == kind).map_or("unknown", |(_, name)| name)
}

/// Checks how long an act's texts are.
fn check_act(act: Option<&Act>) -> Result<(), BadField> {
    let fits = |text: Option<&String>, most: usize| {
        text.is_none_or(|text| (1..=most).contains(&text.len()))
    };
    match act {
        Some(act) if !fits(act.reason.as_ref(), REASON_BYTES_MAX) => Err(BadField("reason")),
        Some(act) if !fits(act.evidence.as_ref(), EVIDENCE_BYTES_MAX) => Err(BadField("evidence")),
        Some(_) | None => Ok(()),
    }
}

/// Checks what the types of a command leave open: amounts, quantities, the currency's form, the
/// venue's limits.
pub fn check_fields(command: &Command) -> Result<(), BadField> {
    match command {
        Command::OpenVenue(rules) => venue(rules),
        Command::AmendOrder { seen: Some(seen), quantity, .. } => {
            quantity.map_or(Ok(()), |quantity| order_quantity(quantity).map(drop))?;
            seen_quantities(seen)
        }
        Command::Deposit { amount, .. }
        | Command::Withdraw { amount, .. }
        | Command::AskDeposit { amount, .. }
        | Command::AskWithdrawal { amount, .. }
        | Command::TakeFees { amount, .. } => positive(*amount),
        Command::FileDispute { bond, .. } if bond.is_negative() => Err(BadField("bond")),
        Command::ReplaceOrder { terms, .. } => order_quantity(terms.quantity).map(drop),
        Command::PlaceOrder(PlaceOrder { quantity, .. })
        | Command::Convert(Conversion { quantity, .. })
        | Command::AmendOrder { quantity: Some(quantity), .. } => {
            order_quantity(*quantity).map(drop)
        }
        Command::SetExposureLimit { limit: Some(limit), .. } if limit.is_negative() => {
            Err(BadField("limit"))
        }
        _ => Ok(()),
    }
}

fn venue(rules: &Rules) -> Result<(), BadField> {
    let letters = rules.currency.bytes().all(|b| b.is_ascii_uppercase());
    let fits = CURRENCY_LETTERS.contains(&rules.currency.len());
    if !(letters && fits) {
        return Err(BadField("currency"));
    }
    rules.within_ceilings().map_err(BadField)
}

fn seen_quantities(seen: &SeenTerms) -> Result<(), BadField> {
    order_quantity(seen.quantity).map_err(|_| BadField("seen_quantity"))?;
    if seen.filled < seen.quantity { Ok(()) } else { Err(BadField("seen_filled")) }
}

fn positive(amount: Money) -> Result<(), BadField> {
    if amount > Money::ZERO { Ok(()) } else { Err(BadField("amount")) }
}

/// Checks the quantity of an order or a conversion.
#[inline]
fn order_quantity(quantity: Lots) -> Result<Lots, BadField> {
    let fits = !quantity.is_zero() && quantity.get() <= ORDER_LOTS_MAX;
    if fits { Ok(quantity) } else { Err(BadField("quantity")) }
}

#[cfg(test)]
#[path = "../../tests/unit/journal/record.rs"]
mod tests;

#[cfg(test)]
#[path = "../../tests/unit/journal/fields.rs"]
mod fields_tests;
