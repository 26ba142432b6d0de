//! Compact packing of rows. Each field is spelled once, for both ways: a [`Coder`] gets the value
//! when it packs, and returns what it packed or read. Numbers close to those of the row before take
//! a byte or two. Every number has exactly one encoding; any other is refused when read.

use exchange::ids::{MarketNo, TOKEN_BYTES_MAX, Token};
use exchange::image::coding::{BadImage, ImageSink, ImageSource, Imaged};
use exchange::units::{Lots, Money, MoneySum, Sequence, TimeMs};

/// Bits of a number in a byte.
const BITS: u32 = 7;
/// Set in every byte of a number but its last.
const MORE: u8 = 1 << BITS;

/// Packs or reads the fields of a row in turn. Each method takes the value when packing, nothing
/// when reading, and returns the value.
pub trait Coder: Sized {
    /// A number, seven bits per byte, lowest bits first.
    fn wide(&mut self, number: Option<u128>) -> Result<u128, BadImage>;

    /// The same of at most 64 bits.
    fn number(&mut self, number: Option<u64>) -> Result<u64, BadImage>;

    /// A value in its image's form.
    fn imaged<T: Imaged + Copy>(&mut self, value: Option<T>) -> Result<T, BadImage>;

    /// A client order id.
    fn token(&mut self, token: Option<Token>) -> Result<Token, BadImage>;

    /// A number of at most 32 bits.
    fn short(&mut self, number: Option<u32>) -> Result<u32, BadImage> {
        let number = self.number(number.map(u64::from))?;
        u32::try_from(number).map_err(|_| BadImage::Value("number"))
    }

    /// A number as the difference to the one before.
    fn from(&mut self, before: u64, number: Option<u64>) -> Result<u64, BadImage> {
        let further = number.map(|number| number.wrapping_sub(before).cast_signed());
        let further = further.map(|number| folded(number).cast_unsigned());
        Ok(before.wrapping_add(unfolded(self.number(further)?).cast_unsigned()))
    }

    /// A market.
    fn market(&mut self, market: Option<MarketNo>) -> Result<MarketNo, BadImage> {
        self.short(market.map(|market| market.0)).map(MarketNo)
    }

    /// A quantity.
    fn lots(&mut self, lots: Option<Lots>) -> Result<Lots, BadImage> {
        self.number(lots.map(Lots::get)).map(Lots::new)
    }

    /// A sequence number as the difference to the one before.
    fn sequence(
        &mut self,
        before: Sequence,
        sequence: Option<Sequence>,
    ) -> Result<Sequence, BadImage> {
        self.from(before.get(), sequence.map(Sequence::get)).map(Sequence::new)
    }

    /// A time as the difference to the one before.
    fn time(&mut self, before: TimeMs, time: Option<TimeMs>) -> Result<TimeMs, BadImage> {
        let ms = time.map(|time| time.get().cast_unsigned());
        let ms = self.from(before.get().cast_unsigned(), ms)?.cast_signed();
        TimeMs::new(ms).ok_or(BadImage::Value("TimeMs"))
    }

    /// A signed amount of money.
    fn money(&mut self, money: Option<Money>) -> Result<Money, BadImage> {
        let ms = self.from(0, money.map(|money| money.get().cast_unsigned()))?;
        Ok(Money::new(ms.cast_signed()))
    }

    /// A signed sum of money.
    fn sum(&mut self, sum: Option<MoneySum>) -> Result<MoneySum, BadImage> {
        let folded =
            sum.map(|sum| (sum.get() << 1 ^ sum.get() >> (i128::BITS - 1)).cast_unsigned());
        let folded = self.wide(folded)?;
        let half = (folded >> 1).cast_signed();
        Ok(MoneySum::new(if folded & 1 == 0 { half } else { !half }))
    }
}

/// Small magnitudes become small numbers.
const fn folded(number: i64) -> i64 {
    number.wrapping_shl(1) ^ (number >> (i64::BITS - 1))
}

const fn unfolded(folded: u64) -> i64 {
    let half = (folded >> 1).cast_signed();
    if folded & 1 == 0 { half } else { !half }
}

/// Packs into a sink.
pub struct Packing<'a, S>(pub &'a mut S);

/// Without a value, nothing can be packed.
const NOTHING: BadImage = BadImage::Value("nothing");

impl<S: ImageSink> Coder for Packing<'_, S> {
    fn wide(&mut self, number: Option<u128>) -> Result<u128, BadImage> {
        let number = number.ok_or(NOTHING)?;
        let mut rest = number;
        loop {
            if let Ok(short) = u64::try_from(rest) {
                self.number(Some(short))?;
                return Ok(number);
            }
            let [low, ..] = rest.to_le_bytes();
            self.0.put(&[low | MORE]);
            rest >>= BITS;
        }
    }

    #[inline]
    fn number(&mut self, number: Option<u64>) -> Result<u64, BadImage> {
        let number = number.ok_or(NOTHING)?;
        let (mut bytes, mut rest, mut length) = ([0; 10], number, 0);
        for byte in &mut bytes {
            let [low, ..] = rest.to_le_bytes();
            (length, rest) = (length + 1, rest >> BITS);
            *byte = if rest > 0 { low | MORE } else { low & !MORE };
            if rest == 0 {
                break;
            }
        }
        self.0.put(bytes.get(..length).unwrap_or(&bytes));
        Ok(number)
    }

    #[inline]
    fn imaged<T: Imaged + Copy>(&mut self, value: Option<T>) -> Result<T, BadImage> {
        let value = value.ok_or(NOTHING)?;
        value.write(self.0);
        Ok(value)
    }

    fn token(&mut self, token: Option<Token>) -> Result<Token, BadImage> {
        let token = token.ok_or(NOTHING)?;
        self.number(Some(token.as_str().len() as u64))?;
        self.0.put(token.as_str().as_bytes());
        Ok(token)
    }
}

/// Reads what [`Packing`] packed.
pub struct Unpacking<'a, S>(pub &'a mut S);

impl<S: ImageSource> Coder for Unpacking<'_, S> {
    fn wide(&mut self, _: Option<u128>) -> Result<u128, BadImage> {
        let (mut number, mut shift, mut byte) = (0_u128, 0, [0]);
        loop {
            self.0.fill(&mut byte)?;
            let [byte] = byte;
            let bits = u128::from(byte & !MORE);
            let shifted = bits.checked_shl(shift).filter(|shifted| *shifted >> shift == bits);
            number |= shifted.ok_or(BadImage::Value("number"))?;
            shift += BITS;
            if byte & MORE == 0 {
                // A last byte of zero is redundant.
                let shortest = byte != 0 || shift == BITS;
                return shortest.then_some(number).ok_or(BadImage::Value("number"));
            }
        }
    }

    #[inline]
    fn number(&mut self, _: Option<u64>) -> Result<u64, BadImage> {
        u64::try_from(self.wide(None)?).map_err(|_| BadImage::Value("number"))
    }

    #[inline]
    fn imaged<T: Imaged + Copy>(&mut self, _: Option<T>) -> Result<T, BadImage> {
        T::read(self.0)
    }

    fn token(&mut self, _: Option<Token>) -> Result<Token, BadImage> {
        let length = usize::try_from(self.number(None)?).map_err(|_| BadImage::Truncated)?;
        let mut bytes = [0; TOKEN_BYTES_MAX];
        let text = bytes.get_mut(..length).ok_or(BadImage::Value("Token"))?;
        self.0.fill(text)?;
        let token = str::from_utf8(text).ok().and_then(Token::new);
        token.ok_or(BadImage::Value("Token"))
    }
}

#[cfg(test)]
#[path = "../../../tests/unit/views/history/pack.rs"]
mod tests;
