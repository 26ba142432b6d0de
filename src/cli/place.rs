//! Where operators are listened for: a port, or a socket of the file system.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;

/// What a socket of the file system is named with.
const SOCKET: &str = "unix:";

/// Such a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Place {
    Port(SocketAddr),
    /// Its whole path.
    Socket(PathBuf),
}

impl FromStr for Place {
    type Err = String;

    fn from_str(text: &str) -> Result<Place, String> {
        let place = match text.strip_prefix(SOCKET).map(PathBuf::from) {
            Some(path) => path.is_absolute().then_some(Place::Socket(path)),
            None => text.parse().ok().map(Place::Port),
        };
        place.ok_or_else(|| {
            "must be an IP address and a port, like 127.0.0.1:8081, or unix: and a whole path"
                .to_owned()
        })
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Port(address) => address.fmt(f),
            Place::Socket(path) => write!(f, "{SOCKET}{}", path.display()),
        }
    }
}
