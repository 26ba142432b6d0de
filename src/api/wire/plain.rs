//! JSON of a plain kind, scanned in place: strings in which nothing is escaped, `true` and `false`,
//! in objects and arrays. Whatever stands there otherwise is `None`, and left to those who read
//! any JSON.

use super::escapes::first_escaped;

/// A text, and how far it is scanned.
#[derive(Debug)]
pub struct Scan<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Scan<'a> {
    /// The beginning of a text.
    pub const fn new(text: &'a str) -> Scan<'a> {
        Scan { text, at: 0 }
    }

    /// How far it is scanned, in bytes.
    pub const fn at(&self) -> usize {
        self.at
    }

    /// Goes back to where it was scanned to before.
    pub const fn back_to(&mut self, at: usize) {
        self.at = at;
    }

    /// What was scanned from there on.
    pub fn since(&self, at: usize) -> Option<&'a str> {
        self.text.get(at..self.at)
    }

    /// Takes exactly this, white space and all.
    #[inline]
    pub fn exactly(&mut self, run: &str) -> Option<()> {
        let end = self.at.saturating_add(run.len());
        if self.text.as_bytes().get(self.at..end)? != run.as_bytes() {
            return None;
        }
        self.at = end;
        Some(())
    }

    /// The next sign after white space, still to be taken; `None` at the end.
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

    /// Takes the next sign, if it is this.
    #[inline]
    pub fn sign(&mut self, sign: u8) -> Option<()> {
        if self.peek()? != sign {
            return None;
        }
        self.at = self.at.saturating_add(1);
        Some(())
    }

    /// Takes a string.
    #[inline]
    pub fn string(&mut self) -> Option<&'a str> {
        self.sign(b'"')?;
        self.begun_string()
    }

    /// Takes the rest of a string, whose first quotation mark is taken.
    #[inline]
    fn begun_string(&mut self) -> Option<&'a str> {
        let end = self.at.checked_add(first_escaped(self.text.as_bytes().get(self.at..)?)?)?;
        let string = self.text.get(self.at..end)?;
        // It may be a backslash, or a control character.
        let ends = self.text.as_bytes().get(end) == Some(&b'"');
        self.at = end.saturating_add(1);
        ends.then_some(string)
    }

    /// The same, where it is likely to be one that was taken before: to compare is less than to
    /// look at each byte.
    #[inline]
    pub fn string_like(&mut self, likely: &'a str) -> Option<&'a str> {
        self.sign(b'"')?;
        self.begun_string_like(likely)
    }

    /// The same with the rest of a string, whose first quotation mark is taken.
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

    /// Takes `true` or `false`.
    pub fn truth(&mut self) -> Option<bool> {
        let (word, value) = if self.peek()? == b't' { ("true", true) } else { ("false", false) };
        if !self.text.get(self.at..)?.starts_with(word) {
            return None;
        }
        self.at = self.at.saturating_add(word.len());
        Some(value)
    }

    /// Takes a member's name, which is likely to be this one that was taken before.
    #[inline]
    pub fn name_like(&mut self, likely: &'a str) -> Option<&'a str> {
        let name = self.string_like(likely)?;
        self.sign(b':').map(|()| name)
    }

    /// Takes the members of an object; `member` takes each one's name and its value.
    #[inline]
    pub fn object(&mut self, member: impl FnMut(&mut Scan<'a>) -> Option<()>) -> Option<()> {
        self.listed(*b"{}", member)
    }

    /// Takes the elements of an array; `element` takes each.
    pub fn array(&mut self, element: impl FnMut(&mut Scan<'a>) -> Option<()>) -> Option<()> {
        self.listed(*b"[]", element)
    }

    /// Takes what stands between these brackets, with a comma between one and the next.
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

    /// Whether nothing is left but white space.
    pub fn end(&mut self) -> Option<()> {
        self.peek().is_none().then_some(())
    }
}
