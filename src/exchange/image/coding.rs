//! The canonical bytes of values, both ways: of states in images, of commands in the journal, of
//! effects in the results hash. A sink for bytes, a source of them, and the errors of reading.
//! Integers are little-endian; lists and texts follow their length. No length is trusted with
//! memory before its bytes have arrived.
//!
//! The three differ in one thing: images hold an optional value of a small type at a fixed width,
//! journal and results hash hold every optional value after a tag byte, 0 or 1.

use std::cmp::Ordering;
use std::sync::Arc;

use crate::invariant::Broken;

/// Bytes of a text or list that may be allocated before they are read.
const STEP: usize = 64 << 10;

/// Where an image is written to. Writing cannot fail here: a sink that can fail keeps its error for
/// its owner.
pub trait ImageSink {
    /// Appends bytes.
    fn put(&mut self, bytes: &[u8]);

    /// Appends bytes of a length that is known to the compiler.
    #[inline]
    fn put_array<const N: usize>(&mut self, bytes: [u8; N]) {
        self.put(&bytes);
    }

    /// Whether every optional value follows a tag byte.
    #[inline]
    fn tags(&self) -> bool {
        false
    }

    /// Appends the first `count` of these bytes.
    #[inline]
    fn put_first(&mut self, bytes: [u8; 8], count: usize) {
        self.put(bytes.get(..count).unwrap_or(&bytes));
    }
}

impl ImageSink for Vec<u8> {
    #[inline]
    fn put(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }
}

/// Where an image is read from.
pub trait ImageSource {
    /// Fills all of `into` with the next bytes.
    ///
    /// # Errors
    /// [`BadImage::Truncated`] if there are too few; [`BadImage::Unreadable`] if reading fails.
    fn fill(&mut self, into: &mut [u8]) -> Result<(), BadImage>;

    /// The next eight bytes without consuming them, if the source can show them; consume them with
    /// [`pass`](ImageSource::pass). Bytes after the end are 0xFF.
    #[inline]
    fn ahead(&self) -> Option<[u8; 8]> {
        None
    }

    /// Consumes so many of the bytes that [`ahead`](ImageSource::ahead) returned.
    #[inline]
    fn pass(&mut self, _: usize) {}

    /// The number of bytes left, if known.
    #[inline]
    fn left(&self) -> Option<usize> {
        None
    }

    /// Whether every optional value follows a tag byte.
    #[inline]
    fn tags(&self) -> bool {
        false
    }
}

/// Why bytes are not an image of a state.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadImage {
    /// They end too early.
    #[error("the image ends too early")]
    Truncated,
    /// They go on after the end.
    #[error("the image goes on after its end")]
    Trailing,
    /// An image of a version that this program does not know.
    #[error("the image has version {0}, which this program does not know")]
    Version(u32),
    /// No form of any value of its type: a flag or tag above 1, a text that is not UTF-8.
    #[error("the image has no valid {0}")]
    Malformed(&'static str),
    /// A value that its type does not have.
    #[error("the image has no valid {0}")]
    Value(&'static str),
    /// A field with a value that its type does not have.
    #[error("the image has no valid {0}")]
    Field(&'static str),
    /// Values that contradict each other.
    #[error("the image contradicts itself: {0}")]
    Contradiction(&'static str),
    /// The state breaks an invariant.
    #[error("the image is of an impossible state: {0}")]
    Impossible(#[from] Broken),
    /// The bytes cannot be read.
    #[error("the image cannot be read: {0}")]
    Unreadable(String),
}

impl BadImage {
    /// A stable name for programs and logs.
    pub const fn code(&self) -> &'static str {
        match self {
            BadImage::Truncated => "IMAGE_TRUNCATED",
            BadImage::Trailing => "IMAGE_TRAILING",
            BadImage::Version(_) => "IMAGE_VERSION",
            BadImage::Malformed(_) | BadImage::Value(_) | BadImage::Field(_) => "IMAGE_VALUE",
            BadImage::Contradiction(_) => "IMAGE_CONTRADICTION",
            BadImage::Impossible(_) => "IMAGE_IMPOSSIBLE",
            BadImage::Unreadable(_) => "IMAGE_UNREADABLE",
        }
    }

    /// The same, of this field.
    #[must_use]
    #[cold]
    pub fn of_field(self, field: &'static str) -> BadImage {
        match self {
            BadImage::Value(_) => BadImage::Field(field),
            other => other,
        }
    }
}

/// A value with exactly one form in an image; reading refuses every other form.
pub trait Imaged: Sized {
    /// Appends the value's bytes.
    fn write(&self, sink: &mut impl ImageSink);

    /// Reads the value back.
    ///
    /// # Errors
    /// The next bytes are no value of this type.
    fn read(source: &mut impl ImageSource) -> Result<Self, BadImage>;

    /// The version of its bytes: the first that can say it.
    #[inline]
    fn version(&self) -> u8 {
        1
    }

    /// Reads bytes of this version.
    ///
    /// # Errors
    /// As [`read`](Imaged::read), which reads the first version.
    #[inline]
    fn read_version(_: u8, source: &mut impl ImageSource) -> Result<Self, BadImage> {
        Self::read(source)
    }

    /// Appends an optional value as an image holds it.
    #[inline]
    fn write_optional(value: Option<&Self>, sink: &mut impl ImageSink) {
        write_tagged(value, sink);
    }

    /// Reads what [`write_optional`](Imaged::write_optional) wrote.
    ///
    /// # Errors
    /// As [`read`](Imaged::read).
    #[inline]
    fn read_optional(source: &mut impl ImageSource) -> Result<Option<Self>, BadImage> {
        read_tagged(source)
    }
}

impl<T: Imaged> Imaged for Option<T> {
    #[inline]
    fn write(&self, sink: &mut impl ImageSink) {
        if sink.tags() {
            write_tagged(self.as_ref(), sink);
        } else {
            T::write_optional(self.as_ref(), sink);
        }
    }

    #[inline]
    fn read(source: &mut impl ImageSource) -> Result<Self, BadImage> {
        if source.tags() { read_tagged(source) } else { T::read_optional(source) }
    }
}

#[inline]
fn write_tagged<T: Imaged>(value: Option<&T>, sink: &mut impl ImageSink) {
    value.is_some().write(sink);
    if let Some(value) = value {
        value.write(sink);
    }
}

#[inline]
fn read_tagged<T: Imaged>(source: &mut impl ImageSource) -> Result<Option<T>, BadImage> {
    match u8::read(source)? {
        0 => Ok(None),
        1 => T::read(source).map(Some),
        _ => Err(BadImage::Malformed("tag")),
    }
}

/// Writes a field that only bytes from the version `since` on have, into bytes of this version,
/// which is the first that can say everything: the field whose version it is must be there, and an
/// older one follows a tag.
#[inline]
pub fn write_later<T: Imaged>(
    field: Option<&T>,
    since: u8,
    version: u8,
    sink: &mut impl ImageSink,
) {
    if version > since {
        write_tagged(field, sink);
    } else if let Some(field) = field {
        field.write(sink);
    }
}

/// Reads what [`write_later`] wrote.
///
/// # Errors
/// As [`read`](Imaged::read).
#[inline]
pub fn read_later<T: Imaged>(
    since: u8,
    version: u8,
    source: &mut impl ImageSource,
) -> Result<Option<T>, BadImage> {
    match version.cmp(&since) {
        Ordering::Less => Ok(None),
        Ordering::Equal => T::read(source).map(Some),
        Ordering::Greater => read_tagged(source),
    }
}

/// Writes the length of a list or text.
pub fn write_count(count: usize, sink: &mut impl ImageSink) {
    u64::try_from(count).unwrap_or(u64::MAX).write(sink);
}

/// Reads the length of a list or text. Not to be trusted with memory: see [`room`].
pub fn read_count(source: &mut impl ImageSource) -> Result<usize, BadImage> {
    usize::try_from(u64::read(source)?).map_err(|_| BadImage::Truncated)
}

/// The capacity for values of type `T` that may be allocated before they are read: at most `count`,
/// and at most what the bytes left could hold, so that a false length cannot take memory.
pub fn room<T>(count: usize, source: &impl ImageSource) -> usize {
    let bytes = source.left().unwrap_or(STEP);
    count.min(bytes.checked_div(size_of::<T>()).unwrap_or(0))
}

/// Checks that there are no more bytes.
pub fn read_end(source: &mut impl ImageSource) -> Result<(), BadImage> {
    match source.fill(&mut [0]) {
        Err(BadImage::Truncated) => Ok(()),
        Err(unreadable) => Err(unreadable),
        Ok(()) => Err(BadImage::Trailing),
    }
}

/// Writes a list, element by element.
pub fn write_list<'a, T: Imaged + 'a>(
    list: impl ExactSizeIterator<Item = &'a T>,
    sink: &mut impl ImageSink,
) {
    write_count(list.len(), sink);
    for element in list {
        element.write(sink);
    }
}

impl<T: Imaged> Imaged for Vec<T> {
    #[inline]
    fn write(&self, sink: &mut impl ImageSink) {
        write_list(self.iter(), sink);
    }

    fn read(source: &mut impl ImageSource) -> Result<Self, BadImage> {
        let count = read_count(source)?;
        let mut list = Vec::with_capacity(room::<T>(count, source));
        for _ in 0..count {
            list.push(T::read(source)?);
        }
        Ok(list)
    }
}

impl Imaged for String {
    fn write(&self, sink: &mut impl ImageSink) {
        write_text(self, sink);
    }

    fn read(source: &mut impl ImageSource) -> Result<Self, BadImage> {
        String::from_utf8(read_bytes(source)?).map_err(|_| BadImage::Malformed("text"))
    }
}

/// Writes a text: its length in bytes, then UTF-8.
pub fn write_text(text: &str, sink: &mut impl ImageSink) {
    write_bytes(text.as_bytes(), sink);
}

/// Writes bytes after their count.
pub fn write_bytes(bytes: &[u8], sink: &mut impl ImageSink) {
    write_count(bytes.len(), sink);
    sink.put(bytes);
}

/// Reads what [`write_bytes`] wrote. Memory grows only as bytes arrive.
pub fn read_bytes(source: &mut impl ImageSource) -> Result<Vec<u8>, BadImage> {
    let count = read_count(source)?;
    if source.left().is_some_and(|left| count > left) {
        return Err(BadImage::Truncated);
    }
    let mut bytes = Vec::new();
    while bytes.len() < count {
        let had = bytes.len();
        bytes.resize(count.min(had.saturating_add(STEP)), 0);
        source.fill(bytes.get_mut(had..).unwrap_or_default())?;
    }
    Ok(bytes)
}

impl<const N: usize> Imaged for [u8; N] {
    #[inline]
    fn write(&self, sink: &mut impl ImageSink) {
        sink.put_array(*self);
    }

    #[inline]
    fn read(source: &mut impl ImageSource) -> Result<Self, BadImage> {
        let mut bytes = [0; N];
        source.fill(&mut bytes)?;
        Ok(bytes)
    }
}

macro_rules! integers {
    ($($integer:ty),*) => {$(
        impl Imaged for $integer {
            #[inline]
            fn write(&self, sink: &mut impl ImageSink) {
                sink.put_array(self.to_le_bytes());
            }

            #[inline]
            fn read(source: &mut impl ImageSource) -> Result<Self, BadImage> {
                <[u8; size_of::<$integer>()]>::read(source).map(<$integer>::from_le_bytes)
            }
        }
    )*};
}

integers!(u8, u16, u32, u64, u128, i64, i128);

/// A text that is shared after reading.
impl Imaged for Arc<str> {
    fn write(&self, sink: &mut impl ImageSink) {
        write_text(self, sink);
    }

    fn read(source: &mut impl ImageSource) -> Result<Self, BadImage> {
        String::read(source).map(Into::into)
    }
}

macro_rules! pointers {
    ($($pointer:ident),*) => {$(
        impl<T: Imaged> Imaged for $pointer<T> {
            #[inline]
            fn write(&self, sink: &mut impl ImageSink) {
                T::write(self, sink);
            }

            #[inline]
            fn read(source: &mut impl ImageSource) -> Result<Self, BadImage> {
                T::read(source).map($pointer::new)
            }

            #[inline]
            fn version(&self) -> u8 {
                T::version(self)
            }

            #[inline]
            fn read_version(
                version: u8,
                source: &mut impl ImageSource,
            ) -> Result<Self, BadImage> {
                T::read_version(version, source).map($pointer::new)
            }
        }
    )*};
}

pointers!(Arc, Box);

impl Imaged for bool {
    #[inline]
    fn write(&self, sink: &mut impl ImageSink) {
        u8::from(*self).write(sink);
    }

    #[inline]
    fn read(source: &mut impl ImageSource) -> Result<Self, BadImage> {
        match u8::read(source)? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(BadImage::Malformed("flag")),
        }
    }
}

/// Implements [`Imaged`] for a struct: all its fields, in this order, with the names that they have
/// in the journal where those differ; after a semicolon each, fields that only bytes of a later
/// version have ([`write_later`]). A field missing here does not compile. The caller imports this
/// module's names.
#[macro_export]
macro_rules! imaged {
    ($name:ident {
        $($field:ident $(= $called:literal)?),* $(,)? $(; $version:literal $later:ident)*
    }) => {
        impl Imaged for $name {
            #[inline]
            fn write(&self, sink: &mut impl ImageSink) {
                let $name { $($field,)* $($later,)* } = self;
                $($field.write(sink);)*
                $($crate::image::coding::write_later(
                    $later.as_ref(), $version, self.version(), sink,
                );)*
            }

            #[inline]
            fn read(source: &mut impl ImageSource) -> Result<Self, BadImage> {
                Imaged::read_version(1, source)
            }

            #[inline]
            fn version(&self) -> u8 {
                let all = [$(Imaged::version(&self.$field)),*].into_iter().fold(1, u8::max);
                $(let all = if self.$later.is_some() { all.max($version) } else { all };)*
                all
            }

            #[inline]
            fn read_version(version: u8, source: &mut impl ImageSource) -> Result<Self, BadImage> {
                Ok($name {
                    $($field: match Imaged::read_version(version, source) {
                        Ok(value) => value,
                        Err(bad) => {
                            let called = $crate::image::coding::called!($field $($called)?);
                            return Err(bad.of_field(called));
                        }
                    },)*
                    $($later: $crate::image::coding::read_later($version, version, source)
                        .map_err(|bad| bad.of_field(stringify!($later)))?,)*
                })
            }
        }
    };
}
pub use imaged;

/// A field's name in the journal: as in the code unless another is given.
#[macro_export]
macro_rules! called {
    ($field:ident) => {
        stringify!($field)
    };
    ($field:ident $called:literal) => {
        $called
    };
}
pub use called;

/// Implements [`Imaged`] for an enum without fields: one byte, and 0 for none in an image. A
/// variant missing here does not compile.
#[macro_export]
macro_rules! imaged_choice {
    ($name:ident { $($choice:ident = $code:literal),* $(,)? }) => {
        impl Imaged for $name {
            #[inline]
            fn write(&self, sink: &mut impl ImageSink) {
                let code: u8 = match self {
                    $($name::$choice => $code),*
                };
                code.write(sink);
            }

            #[inline]
            fn read(source: &mut impl ImageSource) -> Result<Self, BadImage> {
                match u8::read(source)? {
                    $($code => Ok($name::$choice),)*
                    _ => Err(BadImage::Value(stringify!($name))),
                }
            }

            #[inline]
            fn write_optional(value: Option<&Self>, sink: &mut impl ImageSink) {
                match value {
                    Some(value) => value.write(sink),
                    None => 0_u8.write(sink),
                }
            }

            #[inline]
            fn read_optional(source: &mut impl ImageSource) -> Result<Option<Self>, BadImage> {
                match u8::read(source)? {
                    0 => Ok(None),
                    $($code => Ok(Some($name::$choice)),)*
                    _ => Err(BadImage::Value(stringify!($name))),
                }
            }
        }
    };
}
pub use imaged_choice;
