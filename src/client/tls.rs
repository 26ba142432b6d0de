//! TLS to a venue, and whom it is believed from: the system's roots, or those of a file.

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{CertificateError, ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// Believed roots.
#[derive(Clone)]
pub struct Trust(TlsConnector);

impl fmt::Debug for Trust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Trust")
    }
}

impl Trust {
    /// Believes the roots in a file of PEM, or else those of the system.
    ///
    /// # Errors
    /// There are none, or this processor lacks what the cryptography is written with.
    pub fn in_roots(file: Option<&Path>) -> Result<Trust, String> {
        if !graviola::util::is_cpu_supported() {
            return Err("TLS_PROCESSOR: this processor lacks instructions for TLS".to_owned());
        }
        let mut roots = RootCertStore::empty();
        match file {
            Some(file) => {
                let named = |error: &dyn std::fmt::Display| format!("{}: {error}", file.display());
                let read = CertificateDer::pem_file_iter(file).map_err(|error| named(&error))?;
                for root in read {
                    let root = root.map_err(|error| named(&error))?;
                    roots.add(root).map_err(|error| named(&error))?;
                }
            }
            None => drop(
                roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs),
            ),
        }
        if roots.is_empty() {
            return Err("there is no root certificate to believe; name a file of them".to_owned());
        }
        let provider = Arc::new(rustls_graviola::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(Trust(TlsConnector::from(Arc::new(config))))
    }

    /// Shakes hands with the server of this name.
    ///
    /// # Errors
    /// It is not believed, or speaks no TLS.
    pub(crate) async fn connect(
        &self,
        host: &str,
        stream: TcpStream,
    ) -> io::Result<TlsStream<TcpStream>> {
        let name = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
        self.0.connect(name, stream).await.map_err(with_hint)
    }
}

/// What most often mends it, for those who do not know the library's words.
fn with_hint(error: io::Error) -> io::Error {
    let cause = error.get_ref().and_then(|cause| cause.downcast_ref::<rustls::Error>());
    let hint = match cause {
        Some(rustls::Error::InvalidMessage(_)) => {
            "does it speak TLS, or begins its URL with http:?"
        }
        Some(rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer)) => {
            "nobody who is believed vouches for it: name a file with its root"
        }
        _ => return error,
    };
    io::Error::other(format!("{error}; {hint}"))
}
