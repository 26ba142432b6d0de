//! What the archive needs of a store: all that may go wrong with it is behind this.

use std::fmt::Debug;
use std::io;

use bytes::Bytes;

/// What came of making an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Made {
    /// It is there now.
    New,
    /// There is one of that name already, and it stays as it is.
    Exists,
}

/// Objects by their names. What was made is found by every later request.
pub trait Objects: Debug + Send {
    /// All names, in order.
    ///
    /// # Errors
    /// No answer, or a refusal.
    fn list(&mut self) -> io::Result<Vec<String>>;

    /// Reads an object.
    ///
    /// # Errors
    /// No answer, or a refusal.
    fn read(&mut self, name: &str) -> io::Result<Bytes>;

    /// Makes an object, if there is none of that name.
    ///
    /// # Errors
    /// No answer, or a refusal; without an answer it may have been made, or still be.
    fn make(&mut self, name: &str, bytes: Bytes) -> io::Result<Made>;
}
