//! Slugs: names of markets and events for addresses that people read. Each is of one market or one
//! event for good: a former one goes on leading to its thing, so that old links do.

use std::collections::BTreeMap;
use std::fmt;

use super::image::coding::{
    BadImage, ImageSink, ImageSource, Imaged, read_count, write_count, write_text,
};
use super::reject::Reject;
use super::rules::SLUG_BYTES_MAX;
use super::table::{Field, Named, Shown, Value, shown};

/// Words of small ASCII letters and digits with one hyphen between each two, and no id.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slug(Box<str>);

impl Slug {
    /// The slug with this text; `None` if it is none.
    pub fn new(text: &str) -> Option<Slug> {
        let letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        let word = |word: &str| !word.is_empty() && word.bytes().all(letter);
        let fits = text.len() <= SLUG_BYTES_MAX && text.split('-').all(word);
        (fits && uuid::Uuid::try_parse(text).is_err()).then(|| Slug(text.into()))
    }

    /// Its text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Slug {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

shown! {
    Slug: it => Value::Text(it.as_str()), name in n => n.word(name, Slug::new);
}

impl Imaged for Slug {
    fn write(&self, sink: &mut impl ImageSink) {
        write_text(&self.0, sink);
    }

    fn read(source: &mut impl ImageSource) -> Result<Self, BadImage> {
        Slug::new(&String::read(source)?).ok_or(BadImage::Value("Slug"))
    }
}

/// Whose each slug is, former ones included.
#[derive(Debug, Clone)]
pub struct Slugs<N>(BTreeMap<Slug, N>);

impl<N> Default for Slugs<N> {
    fn default() -> Self {
        Slugs(BTreeMap::new())
    }
}

impl<N: Copy + PartialEq> Slugs<N> {
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whose slug it is.
    pub fn owner(&self, slug: &Slug) -> Option<N> {
        self.0.get(slug).copied()
    }

    /// The owners, some several times.
    pub fn owners(&self) -> impl Iterator<Item = N> {
        self.0.values().copied()
    }

    /// Whether a thing may have the slug, one that does not exist yet if there is no `owner`.
    pub(super) fn admit(&self, slug: Option<&Slug>, owner: Option<N>) -> Result<(), Reject> {
        let other = slug.and_then(|slug| self.owner(slug)).filter(|other| Some(*other) != owner);
        other.map_or(Ok(()), |_| Err(Reject::SlugTaken))
    }

    /// Gives a slug to a thing.
    pub(super) fn give(&mut self, slug: Option<&Slug>, owner: N) {
        if let Some(slug) = slug {
            self.0.insert(slug.clone(), owner);
        }
    }
}

/// By ascending slug.
impl<N: Imaged> Imaged for Slugs<N> {
    fn write(&self, sink: &mut impl ImageSink) {
        write_count(self.0.len(), sink);
        for (slug, owner) in &self.0 {
            slug.write(sink);
            owner.write(sink);
        }
    }

    fn read(source: &mut impl ImageSource) -> Result<Self, BadImage> {
        let mut slugs = BTreeMap::new();
        for _ in 0..read_count(source)? {
            let (slug, owner) = (Slug::read(source)?, N::read(source)?);
            if slugs.last_key_value().is_some_and(|(last, _)| *last >= slug) {
                return Err(BadImage::Contradiction("slugs out of order"));
            }
            slugs.insert(slug, owner);
        }
        Ok(Slugs(slugs))
    }
}

#[cfg(test)]
#[path = "../../tests/unit/exchange/slugs.rs"]
mod tests;
