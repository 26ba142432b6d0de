//! Where a bucket is, and by whose name it is spoken to.

use std::fs;
use std::path::PathBuf;

use rusty_s3::{Bucket, Credentials, UrlStyle};
use url::Url;

use super::archive::failed;
use super::bucket::Store;
use super::objects::Objects;
use journal::archive::ArchiveError;

/// The region where nothing names one.
const REGION: &str = "us-east-1";

/// A bucket, and how to speak to it.
#[derive(Debug, Clone)]
pub struct Place {
    /// `s3://BUCKET[/PREFIX]`
    pub url: String,
    /// Base URL of the store; without it that of the region at AWS.
    pub endpoint: Option<String>,
    /// Region; without it what `AWS_REGION` says.
    pub region: Option<String>,
    /// A file of root certificates in PEM; without it the system's.
    pub cacert: Option<PathBuf>,
    /// Days for which the store refuses to delete what was written; it needs a bucket with object
    /// lock.
    pub retain_days: Option<u32>,
}

impl Place {
    /// The objects of the archive there; nothing is asked yet.
    ///
    /// # Errors
    /// The settings or the keys are at fault.
    pub fn objects(&self) -> Result<Box<dyn Objects>, ArchiveError> {
        let store = Store::at(self).map_err(|error| failed(&self.url, error.into()))?;
        Ok(Box::new(store))
    }

    /// The bucket, and the prefix of the objects in it: empty, or with a slash at its end.
    ///
    /// # Errors
    /// What is no URL of a bucket.
    pub(crate) fn bucket(&self) -> Result<(Bucket, String), String> {
        let bad = || format!("`{}` is not of the form s3://BUCKET[/PREFIX]", self.url);
        let rest = self.url.strip_prefix("s3://").ok_or_else(bad)?;
        let (name, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        let parts = prefix.trim_matches('/').split('/');
        // Dots would be taken for steps in a path of folders.
        if name.is_empty() || parts.into_iter().any(|part| part == "." || part == "..") {
            return Err(bad());
        }
        let region = self.region.clone().or_else(|| variable("AWS_REGION"));
        let region = region.or_else(|| variable("AWS_DEFAULT_REGION"));
        let region = region.unwrap_or_else(|| REGION.to_owned());
        let (endpoint, style) = match &self.endpoint {
            Some(endpoint) => (endpoint.clone(), UrlStyle::Path),
            None => (format!("https://s3.{region}.amazonaws.com"), UrlStyle::VirtualHost),
        };
        let endpoint: Url = endpoint.parse().map_err(|error| format!("{endpoint}: {error}"))?;
        let bucket = Bucket::new(endpoint, style, name.to_owned(), region);
        let bucket = bucket.map_err(|error| format!("{}: {error}", self.url))?;
        let prefix = prefix.trim_matches('/');
        let slash = if prefix.is_empty() { "" } else { "/" };
        Ok((bucket, format!("{prefix}{slash}")))
    }
}

/// The keys of the environment, or else of the file that `AWS_SHARED_CREDENTIALS_FILE` names.
///
/// # Errors
/// There are none, or the file cannot be read.
pub(crate) fn credentials() -> Result<Credentials, String> {
    let none = "no keys for the store: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or name a \
                file by AWS_SHARED_CREDENTIALS_FILE";
    if let Some(key) = variable("AWS_ACCESS_KEY_ID") {
        let secret = variable("AWS_SECRET_ACCESS_KEY").ok_or(none)?;
        return Ok(match variable("AWS_SESSION_TOKEN") {
            Some(token) => Credentials::new_with_token(key, secret, token),
            None => Credentials::new(key, secret),
        });
    }
    let path = variable("AWS_SHARED_CREDENTIALS_FILE").ok_or(none)?;
    let text = fs::read_to_string(&path).map_err(|error| format!("{path}: {error}"))?;
    in_file(&text).ok_or_else(|| format!("{path}: no keys in the profile [default]"))
}

/// The keys of the profile `default`.
fn in_file(text: &str) -> Option<Credentials> {
    let lines = text.lines().map(str::trim);
    let lines = lines.skip_while(|line| *line != "[default]").skip(1);
    let own: Vec<(&str, &str)> = lines
        .take_while(|line| !line.starts_with('['))
        .filter_map(|line| line.split_once('='))
        .map(|(name, value)| (name.trim(), value.trim()))
        .collect();
    let find = |name: &str| own.iter().find(|(other, _)| *other == name).map(|(_, value)| *value);
    let (key, secret) = (find("aws_access_key_id")?, find("aws_secret_access_key")?);
    Some(match find("aws_session_token") {
        Some(token) => Credentials::new_with_token(key, secret, token),
        None => Credentials::new(key, secret),
    })
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

#[cfg(test)]
#[path = "../../tests/unit/s3/place.rs"]
mod tests;
