//! TLS: the certificate and key of a server, which can be read again while it runs. Connections
//! that are open keep theirs; new ones get what was read last.
//!
//! HTTP/2 and HTTP/1.1 are offered.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::RwLock;
use rustls::client::verify_server_name;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, ServerConfig};
use tokio::net::TcpStream;
use tokio::time::sleep;
use tokio_rustls::TlsAcceptor;
use url::Url;

use super::certificate;
use super::handshakes::Handshakes;
use exchange::units::TimeMs;

/// How long a handshake waits for others of its address.
const HANDSHAKE_WAIT_MAX: Duration = Duration::from_secs(5);

/// A connection whose handshake is done.
pub type TlsStream = tokio_rustls::server::TlsStream<TcpStream>;

/// How a client asks for HTTP/2.
const HTTP_2: &[u8] = b"h2";

/// Why there is no TLS.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// The processor lacks instructions that the cryptography is written with.
    #[error(
        "TLS_PROCESSOR: this processor lacks instructions that TLS here is written with (of 2014 \
         and later: AES, AVX2, ADX); put a proxy with TLS in front of the server"
    )]
    Processor,
    /// A file cannot be read.
    #[error("TLS_FILE: {0}: {1}")]
    File(String, pem::Error),
    /// The file has no certificate, or no key.
    #[error("TLS_FILE: {0}: there is no {1} in it")]
    Empty(String, &'static str),
    /// Certificate and key do not belong together, or are of a kind that is not known.
    #[error("TLS_PAIR: {chain} and {key}: {why}")]
    Pair {
        /// The file of the certificate.
        chain: String,
        /// The file of the key.
        key: String,
        /// What is wrong with them.
        why: String,
    },
    /// The library refuses what the server asks of it.
    #[error("TLS_FAILED: {0}")]
    Failed(#[from] rustls::Error),
}

impl TlsError {
    fn of_pair(chain: &Path, key: &Path, error: &rustls::Error) -> TlsError {
        let why = match error {
            rustls::Error::InconsistentKeys(_) => "the key is not that of the certificate".into(),
            other => other.to_string(),
        };
        let [chain, key] = [chain, key].map(|path| path.display().to_string());
        TlsError::Pair { chain, key, why }
    }
}

/// The certificate chain and key in use.
#[derive(Debug)]
pub struct Tls {
    in_use: RwLock<InUse>,
    handshakes: Handshakes,
}

#[derive(Debug)]
struct InUse {
    chain: Vec<CertificateDer<'static>>,
    config: Arc<ServerConfig>,
}

impl Tls {
    /// Reads the chain, the server's own certificate first, and the key, both PEM.
    ///
    /// # Errors
    /// [`TlsError`].
    pub fn open(chain: &Path, key: &Path) -> Result<Tls, TlsError> {
        let in_use = RwLock::new(InUse::read(chain, key)?);
        Ok(Tls { in_use, handshakes: Handshakes::default() })
    }

    /// Reads them again; whether the certificate is another. What is in use stays if they are at
    /// fault.
    ///
    /// # Errors
    /// [`TlsError`].
    pub fn reload(&self, chain: &Path, key: &Path) -> Result<bool, TlsError> {
        let read = InUse::read(chain, key)?;
        let mut in_use = self.in_use.write();
        let differs = in_use.chain != read.chain;
        *in_use = read;
        Ok(differs)
    }

    /// The first moment at which a certificate of the chain is over, if that can be read.
    pub fn ends(&self) -> Option<TimeMs> {
        self.in_use.read().chain.iter().filter_map(|one| certificate::ends(one)).min()
    }

    /// What keeps browsers from believing the certificate at this address: the names that it is for
    /// instead. `None`: it is for the address's host.
    pub fn stranger(&self, url: &str) -> Option<String> {
        let url = Url::parse(url).ok()?;
        let host = url.host_str()?.trim_matches(['[', ']']);
        let name = ServerName::try_from(host).ok()?;
        let in_use = self.in_use.read();
        let parsed = ParsedCertificate::try_from(in_use.chain.first()?);
        match parsed.and_then(|parsed| verify_server_name(&parsed, &name)) {
            Ok(()) => None,
            Err(rustls::Error::InvalidCertificate(CertificateError::NotValidForNameContext {
                presented,
                ..
            })) if !presented.is_empty() => {
                // `DnsName("localhost")`
                let bare = |name: &String| {
                    let name = name.trim_start_matches(char::is_alphabetic);
                    name.trim_matches(['(', ')', '"']).to_owned()
                };
                Some(presented.iter().map(bare).collect::<Vec<_>>().join(", "))
            }
            Err(rustls::Error::InvalidCertificate(
                CertificateError::NotValidForNameContext { .. } | CertificateError::NotValidForName,
            )) => Some("no host".to_owned()),
            Err(error) => Some(error.to_string()),
        }
    }

    /// Shakes hands with a client, in its address's turn.
    ///
    /// # Errors
    /// It does not speak TLS as it must, has gone, or too many of its address wait already.
    pub async fn accept(&self, stream: TcpStream) -> io::Result<TlsStream> {
        let address = stream.peer_addr()?.ip();
        let wait = self.handshakes.wait(address, Instant::now(), HANDSHAKE_WAIT_MAX);
        sleep(wait.ok_or_else(|| io::Error::other("too many handshakes of one address"))?).await;
        let config = Arc::clone(&self.in_use.read().config);
        TlsAcceptor::from(config).accept(stream).await
    }
}

impl InUse {
    fn read(chain: &Path, key: &Path) -> Result<InUse, TlsError> {
        // The library would panic later.
        if !graviola::util::is_cpu_supported() {
            return Err(TlsError::Processor);
        }
        let failed = |path: &Path| {
            let name = path.display().to_string();
            move |error| TlsError::File(name, error)
        };
        let certificates = CertificateDer::pem_file_iter(chain).map_err(failed(chain))?;
        let certificates: Result<Vec<_>, _> = certificates.collect();
        let certificates = certificates.map_err(failed(chain))?;
        if certificates.is_empty() {
            return Err(TlsError::Empty(chain.display().to_string(), "certificate"));
        }
        let found = PrivateKeyDer::from_pem_file(key).map_err(|error| match error {
            pem::Error::NoItemsFound => TlsError::Empty(key.display().to_string(), "key"),
            other => failed(key)(other),
        })?;
        // Its suites are those of TLS 1.3, and of 1.2 those with forward secrecy and AEAD.
        let provider = Arc::new(rustls_graviola::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(certificates.clone(), found)
            .map_err(|error| TlsError::of_pair(chain, key, &error))?;
        config.alpn_protocols = vec![HTTP_2.to_vec(), b"http/1.1".to_vec()];
        // Sessions go on by tickets, which cost the server no memory.
        config.ticketer = rustls_graviola::Ticketer::new()?;
        Ok(InUse { chain: certificates, config: Arc::new(config) })
    }
}

/// Whether the client speaks HTTP/2 on it.
pub fn is_http2(stream: &TlsStream) -> bool {
    stream.get_ref().1.alpn_protocol() == Some(HTTP_2)
}

/// The connection underneath.
pub fn tcp(stream: &TlsStream) -> &TcpStream {
    stream.get_ref().0
}
