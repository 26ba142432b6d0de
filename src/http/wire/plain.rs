//! A scanner for plain JSON: strings without escapes, `true` and `false`, in objects and arrays.
//! Anything else yields `None` and is left to the full parser.

use super::escapes::first_escaped;

/// A text and the current offset.
#[derive(Debug)]
pub struct Scan<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Scan<'a> {
    /// Starts at the beginning of a text.
    pub const fn new(text: &'a str) -> Scan<'a> {
        Scan { text, at: 0 }
    }

    /// The current offset, in bytes.
    pub const fn at(&self) -> usize {
        self.at
    }

    /// Goes back to an earlier offset.
    pub const fn back_to(&mut self, at: usize) {
        self.at = at;
    }

    /// The text between `at` and the current offset.
    pub fn since(&self, at: usize) -> Option<&'a str> {
        self.text.get(at..self.at)
    }

    /// Consumes exactly this text, white space included.
    #[inline]
    pub fn exactly(&mut self, run: &str) -> Option<()> {
        let end = self.at.saturating_add(run.len());
        if self.text.as_bytes().get(self.at..end)? != run.as_bytes() {
            return None;
        }
        self.at = end;
        Some(())
    }

    /// The next byte after white space, not consumed; `None` at the end.
    #[inline]
    pub fn peek(&mut self) -> Option<u8> {
        loop {
            let byte = *self.text.as_bytes().get(self.at)?;
            if !matches!(byte, b' ' | b'\t' | b'\n' | b'\r') {
                return Some(byte);
            }
            self.at = self.at.saturating_add(1);
        }
    }

    /// Consumes the next byte, if it is this one.
    #[inline]
    pub fn sign(&mut self, sign: u8) -> Option<()> {
        if self.peek()? != sign {
            return None;
        }
        self.at = self.at.saturating_add(1);
        Some(())
    }

    /// Consumes the rest of a string after its first quotation mark.
    #[inline]
    fn begun_string(&mut self) -> Option<&'a str> {
        let end = self.at.checked_add(first_escaped(self.text.as_bytes().get(self.at..)?)?)?;
        let string = self.text.get(self.at..end)?;
        // Else it ends in a backslash or a control character.
        let ends = self.text.as_bytes().get(end) == Some(&b'"');
        self.at = end.saturating_add(1);
        ends.then_some(string)
    }

    /// Consumes a string that probably equals an earlier one: comparing is cheaper than scanning
    /// each byte.
    #[inline]
    pub fn string_like(&mut self, likely: &'a str) -> Option<&'a str> {
        self.sign(b'"')?;
        self.begun_string_like(likely)
    }

    /// [`Scan::string_like`] after the first quotation mark.
    #[inline]
    pub fn begun_string_like(&mut self, likely: &'a str) -> Option<&'a str> {
        let end = self.at.saturating_add(likely.len());
        let text = self.text.as_bytes();
        if text.get(end) == Some(&b'"') && text.get(self.at..end)? == likely.as_bytes() {
            self.at = end.saturating_add(1);
            return Some(likely);
        }
        self.begun_string()
    }

    /// Consumes `true` or `false`.
    pub fn truth(&mut self) -> Option<bool> {
        let (word, value) = if self.peek()? == b't' { ("true", true) } else { ("false", false) };
        if !self.text.get(self.at..)?.starts_with(word) {
            return None;
        }
        self.at = self.at.saturating_add(word.len());
        Some(value)
    }

    /// Consumes a member's name, which probably equals `likely`, and its colon.
    #[inline]
    pub fn name_like(&mut self, likely: &'a str) -> Option<&'a str> {
        let name = self.string_like(likely)?;
        self.sign(b':').map(|()| name)
    }

    /// Consumes an object; `member` consumes the name and value of each member.
    #[inline]
    pub fn object(&mut self, member: impl FnMut(&mut Scan<'a>) -> Option<()>) -> Option<()> {
        self.listed(*b"{}", member)
    }

    /// Consumes an array; `element` consumes each element.
    pub fn array(&mut self, element: impl FnMut(&mut Scan<'a>) -> Option<()>) -> Option<()> {
        self.listed(*b"[]", element)
    }

    /// Consumes a comma-separated list between these brackets.
    #[inline]
    fn listed(
        &mut self,
        [opening, closing]: [u8; 2],
        mut one: impl FnMut(&mut Scan<'a>) -> Option<()>,
    ) -> Option<()> {
        self.sign(opening)?;
        if self.peek()? == closing {
            return self.sign(closing);
        }
        loop {
            one(self)?;
            if self.peek()? == closing {
                return self.sign(closing);
            }
            self.sign(b',')?;
        }
    }

    /// Checks that only white space is left.
    pub fn end(&mut self) -> Option<()> {
        self.peek().is_none().then_some(())
    }
}
