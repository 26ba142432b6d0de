//! The identity provider that vouches for people, if there is one.

use std::path::PathBuf;

use clap::Args;

use super::Failure;
use super::operator_key;
use http::identity::{BACK, OpenId};

/// The identity provider (OpenID Connect).
#[expect(clippy::struct_field_names, reason = "the names of the flags")]
#[derive(Debug, Clone, Args)]
pub(crate) struct IdentityArgs {
    /// Identity provider (OpenID Connect) with which people may sign in, as `https://id.example`.
    /// It must know the address /api/v1/session/openid/back below --public-url
    #[arg(
        long,
        value_name = "URL",
        env = "OPENOUTCRY_OPENID_ISSUER",
        value_parser = issuer,
        requires = "openid_client_id"
    )]
    openid_issuer: Option<String>,
    /// What the identity provider calls the venue
    #[arg(long, value_name = "ID", env = "OPENOUTCRY_OPENID_CLIENT_ID")]
    openid_client_id: Option<String>,
    /// A file with the secret by which the identity provider knows the venue [default: none, for a
    /// public client]
    #[arg(long, value_name = "FILE", env = "OPENOUTCRY_OPENID_CLIENT_SECRET_FILE")]
    openid_client_secret_file: Option<PathBuf>,
}

impl IdentityArgs {
    /// The provider, if there is one.
    ///
    /// # Errors
    /// Something that belongs to it is lacking, or this program was built without.
    pub(crate) fn openid(&self, public_url: Option<&str>) -> Result<Option<OpenId>, Failure> {
        let (Some(issuer), Some(client)) = (&self.openid_issuer, &self.openid_client_id) else {
            return Ok(None);
        };
        let nowhere = || {
            let why = "--openid-issuer needs --public-url: people come back there";
            Failure::Usage(why.to_owned())
        };
        let back = format!("{}{BACK}", public_url.ok_or_else(nowhere)?);
        let secret =
            self.openid_client_secret_file.as_deref().map(operator_key::read).transpose()?;
        provider(issuer.clone(), client.clone(), secret, back).map(Some)
    }
}

#[cfg(feature = "oidc")]
fn provider(
    issuer: String,
    client: String,
    secret: Option<String>,
    back: String,
) -> Result<OpenId, Failure> {
    use super::openid::{OpenIdProvider, Settings};
    let settings = Settings { issuer, client, secret, back };
    let provider = OpenIdProvider::of(settings).map_err(Failure::Failed)?;
    OpenId::of(std::sync::Arc::new(provider)).map_err(|error| Failure::Failed(error.to_string()))
}

#[cfg(not(feature = "oidc"))]
fn provider(_: String, _: String, _: Option<String>, _: String) -> Result<OpenId, Failure> {
    let why = "OPENID_ABSENT: this program was built without OpenID Connect (cargo feature `oidc`)";
    Err(Failure::Failed(why.to_owned()))
}

/// An address without query; plain HTTP does on this machine only.
fn issuer(text: &str) -> Result<String, String> {
    let (scheme, rest) = text.split_once("://").unwrap_or_default();
    let host = rest.split('/').next().unwrap_or_default();
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
    let here = matches!(name, "127.0.0.1" | "localhost" | "[::1]");
    let plain = !host.is_empty() && !rest.contains(['?', '#', '@', ' ']);
    let known = scheme == "https" || (scheme == "http" && here);
    if plain && known {
        Ok(text.to_owned())
    } else {
        Err("must be https://, a host and perhaps a path (http:// on this machine)".to_owned())
    }
}
