//! When a certificate is over: as much of X.509 (RFC 5280, 4.1) as leads there.

use chrono::NaiveDateTime;

use exchange::units::TimeMs;

/// Tags of DER.
const VERSION: u8 = 0xa0;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;

/// The first moment at which a certificate is over; `None` if it is written in a way of its own.
pub fn ends(der: &[u8]) -> Option<TimeMs> {
    let (_, mut certificate) = element(&mut &*der)?;
    let (_, mut signed) = element(&mut certificate)?;
    // An optional version, the serial number, the algorithm, the issuer, the dates.
    if signed.first() == Some(&VERSION) {
        element(&mut signed)?;
    }
    for _ in 0..3 {
        element(&mut signed)?;
    }
    let (_, mut dates) = element(&mut signed)?;
    element(&mut dates)?;
    let (tag, last) = element(&mut dates)?;
    let last = str::from_utf8(last).ok()?;
    let text = match tag {
        // Two digits of the year are of 1950 to 2049.
        UTC_TIME if last < "50" => format!("20{last}"),
        UTC_TIME => format!("19{last}"),
        GENERALIZED_TIME => last.to_owned(),
        _ => return None,
    };
    let last = NaiveDateTime::parse_from_str(&text, "%Y%m%d%H%M%SZ").ok()?;
    TimeMs::new(last.and_utc().timestamp_millis().checked_add(1_000)?)
}

/// Takes the next element: its tag and content.
fn element<'a>(der: &mut &'a [u8]) -> Option<(u8, &'a [u8])> {
    let (tag, rest) = der.split_first()?;
    let (first, mut rest) = rest.split_first()?;
    let mut length = usize::from(*first);
    if *first >= 0x80 {
        let (digits, after) = rest.split_at_checked(usize::from(*first & 0x7f))?;
        length = digits.iter().try_fold(0_usize, |sum, digit| {
            sum.checked_mul(256)?.checked_add(usize::from(*digit))
        })?;
        rest = after;
    }
    let (content, after) = rest.split_at_checked(length)?;
    *der = after;
    Some((*tag, content))
}
