//! What accepts connections: a TCP port, or a socket of the file system, which only those reach
//! whom its mode lets.

use std::fs::{self, Permissions};
use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::UnixStream as StdUnixStream;
use std::path::{Path, PathBuf};
use std::task::{Context, Poll};

use tokio::net::{TcpListener, UnixListener};

use super::socket::Accepted;

/// Accepts connections.
#[derive(Debug)]
pub enum Listener {
    /// On a port.
    Tcp(TcpListener),
    /// On a socket of the file system.
    Unix(UnixListener, SocketFile),
}

/// The file of a socket; it is removed with its listener.
#[derive(Debug)]
pub struct SocketFile {
    path: PathBuf,
    /// Which file it is: another server's at the same path is left alone.
    inode: u64,
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        if fs::symlink_metadata(&self.path).is_ok_and(|there| there.ino() == self.inode)
            && let Err(error) = fs::remove_file(&self.path)
        {
            tracing::warn!(%error, path = %self.path.display(), "a socket's file stays");
        }
    }
}

impl Listener {
    /// Listens on a socket of the file system with these permissions. The file that a killed
    /// server left is replaced.
    ///
    /// # Errors
    /// Somebody listens there, what is there is no socket, or the system refuses.
    pub fn unix(path: &Path, mode: u32) -> io::Result<Listener> {
        let listener = match UnixListener::bind(path) {
            Err(error) if error.kind() == ErrorKind::AddrInUse => {
                remove_stale(path)?;
                UnixListener::bind(path)?
            }
            bound => bound?,
        };
        let file = SocketFile { path: path.to_owned(), inode: fs::symlink_metadata(path)?.ino() };
        // Until now the process's mask kept everybody else out.
        fs::set_permissions(path, Permissions::from_mode(mode))?;
        Ok(Listener::Unix(listener, file))
    }

    /// Its address, if it is a port.
    ///
    /// # Errors
    /// The system does not tell it.
    pub fn address(&self) -> io::Result<Option<SocketAddr>> {
        match self {
            Listener::Tcp(listener) => listener.local_addr().map(Some),
            Listener::Unix(..) => Ok(None),
        }
    }

    /// Where it is asked, as a URL; over TLS or not.
    ///
    /// # Errors
    /// The system does not tell it.
    pub fn url(&self, tls: bool) -> io::Result<String> {
        let scheme = if tls { "https" } else { "http" };
        match self {
            Listener::Tcp(listener) => Ok(format!("{scheme}://{}", listener.local_addr()?)),
            Listener::Unix(_, file) => Ok(format!("unix:{}", file.path.display())),
        }
    }

    /// The next connection, and the address that it comes from, if it has one.
    pub fn poll_accept(
        &self,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<(Accepted, Option<IpAddr>)>> {
        match self {
            Listener::Tcp(listener) => listener.poll_accept(cx).map(|accepted| {
                let (stream, peer) = accepted?;
                Ok((Accepted::Tcp(stream.into_std()?), Some(peer.ip())))
            }),
            Listener::Unix(listener, _) => listener.poll_accept(cx).map(|accepted| {
                let (stream, _) = accepted?;
                Ok((Accepted::Unix(stream.into_std()?), None))
            }),
        }
    }
}

/// Removes the file of a socket that nobody listens on.
fn remove_stale(path: &Path) -> io::Result<()> {
    let refused = |why: &str| Err(io::Error::new(ErrorKind::AddrInUse, why.to_owned()));
    if !fs::symlink_metadata(path)?.file_type().is_socket() {
        return refused("what is there is no socket");
    }
    match StdUnixStream::connect(path) {
        Err(error) if error.kind() == ErrorKind::ConnectionRefused => fs::remove_file(path),
        Err(error) => Err(error),
        Ok(_) => refused("another server listens there"),
    }
}

#[cfg(test)]
#[path = "../../tests/unit/http/listener.rs"]
mod tests;
