//! In place of `tls.rs` in a build without the feature `tls`.

use std::io;
use std::path::Path;

use tokio::net::TcpStream;

use exchange::units::TimeMs;

/// There are no such connections.
pub type TlsStream = TcpStream;

/// Why there is no TLS.
#[derive(Debug, thiserror::Error)]
#[error("TLS_ABSENT: this program was built without TLS (cargo feature `tls`)")]
pub struct TlsError;

/// There is none.
#[derive(Debug)]
pub enum Tls {}

impl Tls {
    /// Reads no file.
    ///
    /// # Errors
    /// Always.
    pub const fn open(_: &Path, _: &Path) -> Result<Tls, TlsError> {
        Err(TlsError)
    }

    /// Cannot be called.
    ///
    /// # Errors
    /// None.
    pub const fn reload(&self, _: &Path, _: &Path) -> Result<bool, TlsError> {
        match *self {}
    }

    /// Cannot be called.
    pub const fn ends(&self) -> Option<TimeMs> {
        match *self {}
    }

    /// Cannot be called.
    pub const fn stranger(&self, _: &str) -> Option<String> {
        match *self {}
    }

    /// Cannot be called.
    ///
    /// # Errors
    /// None.
    pub async fn accept(&self, _: TcpStream) -> io::Result<TlsStream> {
        match *self {}
    }
}

/// The connection underneath.
pub const fn tcp(stream: &TlsStream) -> &TcpStream {
    stream
}
