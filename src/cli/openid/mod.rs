//! The identity provider as the venue asks it (OpenID Connect): what it says of itself, where
//! people are sent, and its word for who comes back with a code.
//!
//! openidconnect, the crate, would switch on the clock of chrono, which nothing here may read.

mod signature;
mod word;

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use data_encoding::{BASE64, BASE64URL_NOPAD};
use form_urlencoded::{Serializer, byte_serialize};
use serde_json::Value;
use tokio::sync::{Mutex, Semaphore};
use tokio::time::timeout;

use self::signature::{Key, Unsigned};
use self::word::Wanted;
use client::tls::Trust;
use client::web::{self, Sent};
use exchange::units::TimeMs;
use http::identity::{Answering, Asked, Provider, Unvouched, Vouched};
use http::keys;

/// How long is believed what the provider says of itself.
const KNOWN_FOR: Duration = Duration::from_hours(1);
/// How often it is asked again for keys, and after it could not be reached.
const AGAIN_AFTER: Duration = Duration::from_secs(10);
/// Codes that are exchanged at once.
const EXCHANGES_MAX: usize = 16;
/// How long a code may wait for that.
const TURN_WAIT: Duration = Duration::from_secs(5);
/// What is asked of a person: who it is, and a name.
const SCOPE: &str = "openid profile";

/// The settings of a provider.
pub(crate) struct Settings {
    /// Its address, which its words name.
    pub(crate) issuer: String,
    /// What it calls the venue.
    pub(crate) client: String,
    /// What it knows the venue by, if it does.
    pub(crate) secret: Option<String>,
    /// Where people come back to.
    pub(crate) back: String,
}

/// A provider.
pub(crate) struct OpenIdProvider {
    settings: Settings,
    trust: Option<Trust>,
    known: Mutex<Known>,
    exchanges: Semaphore,
}

impl fmt::Debug for OpenIdProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("OpenIdProvider").field(&self.settings.issuer).finish()
    }
}

/// What is known of it.
#[derive(Default)]
struct Known {
    about: Option<(Instant, Arc<About>)>,
    failed: Option<(Instant, Unvouched)>,
}

/// What it says of itself.
struct About {
    authorization: String,
    token: String,
    userinfo: Option<String>,
    /// Whether the secret goes into the form, since the header is not taken.
    in_form: bool,
    keys: Vec<Key>,
}

fn refused(why: &impl ToString) -> Unvouched {
    Unvouched::Refused(why.to_string())
}

impl OpenIdProvider {
    /// The provider with these settings. It is asked when somebody comes, not before.
    ///
    /// # Errors
    /// There is nobody to believe its certificate of.
    pub(crate) fn of(settings: Settings) -> Result<OpenIdProvider, String> {
        if !graviola::util::is_cpu_supported() {
            return Err("this processor lacks instructions to check signatures".to_owned());
        }
        let secure = settings.issuer.starts_with("https://");
        let trust = if secure { Some(Trust::in_roots(None)?) } else { None };
        let exchanges = Semaphore::new(EXCHANGES_MAX);
        Ok(OpenIdProvider { settings, trust, known: Mutex::default(), exchanges })
    }

    /// JSON of an address of the provider's.
    async fn json(&self, url: &str, sent: Sent) -> Result<Value, Unvouched> {
        // What is said over TLS leads nowhere without.
        if self.trust.is_some() && !url.starts_with("https://") {
            return Err(refused(&format!("{url} is not https")));
        }
        let asked = web::ask(url, self.trust.as_ref(), sent).await;
        let (status, body) = asked.map_err(|error| Unvouched::Unreachable(error.to_string()))?;
        let json: Option<Value> = serde_json::from_slice(&body).ok();
        match (status.is_success(), json) {
            (true, Some(json)) => Ok(json),
            (_, json) if status.is_client_error() => {
                let error = json.as_ref().and_then(|json| json["error"].as_str());
                Err(refused(&format!("{url}: {status} {}", error.unwrap_or_default())))
            }
            _ => Err(Unvouched::Unreachable(format!("{url}: {status}, and no JSON"))),
        }
    }

    /// What it says of itself, asked anew when that is old, or older than `stale` at least.
    async fn about(&self, stale: Duration) -> Result<Arc<About>, Unvouched> {
        let mut known = self.known.lock().await;
        if let Some((at, about)) = &known.about
            && at.elapsed() < stale
        {
            return Ok(Arc::clone(about));
        }
        // Those who waited for the same answer do not ask for it one after the other.
        if let Some((at, failed)) = &known.failed
            && at.elapsed() < AGAIN_AFTER
        {
            return Err(failed.clone());
        }
        match self.ask_about().await {
            Ok(about) => {
                let about = Arc::new(about);
                *known = Known { about: Some((Instant::now(), Arc::clone(&about))), failed: None };
                Ok(about)
            }
            Err(failed) => {
                known.failed = Some((Instant::now(), failed.clone()));
                Err(failed)
            }
        }
    }

    async fn ask_about(&self) -> Result<About, Unvouched> {
        let issuer = &self.settings.issuer;
        let path = ".well-known/openid-configuration";
        let said =
            self.json(&format!("{}/{path}", issuer.trim_end_matches('/')), Sent::default()).await?;
        if said["issuer"].as_str() != Some(issuer) {
            let other = said["issuer"].as_str().unwrap_or_default();
            return Err(refused(&format!("it calls itself {other}, not {issuer}")));
        }
        let address = |name: &str| {
            let found = said[name].as_str().map(str::to_owned);
            found.ok_or_else(|| refused(&format!("it names no {name}")))
        };
        let keys = signature::keys_of(&self.json(&address("jwks_uri")?, Sent::default()).await?);
        let ways = said["token_endpoint_auth_methods_supported"].as_array();
        let takes = |way: &str| ways.is_some_and(|ways| ways.iter().any(|one| one == way));
        let in_form = takes("client_secret_post") && !takes("client_secret_basic");
        let (authorization, token) =
            (address("authorization_endpoint")?, address("token_endpoint")?);
        let userinfo = address("userinfo_endpoint").ok();
        Ok(About { authorization, token, userinfo, in_form, keys })
    }

    async fn send_to(&self, asked: &Asked) -> Result<String, Unvouched> {
        let about = self.about(KNOWN_FOR).await?;
        let Settings { client, back, .. } = &self.settings;
        let challenge = BASE64URL_NOPAD.encode(&keys::hash(asked.verifier.as_bytes()).0);
        let query = Serializer::new(String::new())
            .append_pair("response_type", "code")
            .append_pair("client_id", client)
            .append_pair("redirect_uri", back)
            .append_pair("scope", SCOPE)
            .append_pair("state", &asked.state)
            .append_pair("nonce", &asked.nonce)
            .append_pair("code_challenge", &challenge)
            .append_pair("code_challenge_method", "S256")
            .finish();
        let mark = if about.authorization.contains('?') { '&' } else { '?' };
        Ok(format!("{}{mark}{query}", about.authorization))
    }

    /// Exchanges a code for what the provider gives for it, its signed word among it.
    async fn exchange(&self, about: &About, code: &str, asked: &Asked) -> Result<Value, Unvouched> {
        let sent = self.shows(about, code, asked);
        let busy = || Unvouched::Unreachable("too many people sign in".to_owned());
        let turn = timeout(TURN_WAIT, self.exchanges.acquire()).await.map_err(|_| busy())?;
        let _turn = turn.map_err(|_| busy())?;
        self.json(&about.token, sent).await
    }

    /// What is shown for the word: the code, and who asks.
    fn shows(&self, about: &About, code: &str, asked: &Asked) -> Sent {
        let Settings { client, secret, back, .. } = &self.settings;
        let mut pairs = Serializer::new(String::new());
        pairs
            .append_pair("grant_type", "authorization_code")
            .append_pair("code", code)
            .append_pair("redirect_uri", back)
            .append_pair("code_verifier", &asked.verifier);
        let mut authorization = None;
        match secret {
            Some(secret) if !about.in_form => {
                let encoded = |text: &str| byte_serialize(text.as_bytes()).collect::<String>();
                let both = format!("{}:{}", encoded(client), encoded(secret));
                authorization = Some(format!("Basic {}", BASE64.encode(both.as_bytes())));
            }
            Some(secret) => {
                pairs.append_pair("client_id", client).append_pair("client_secret", secret);
            }
            None => {
                pairs.append_pair("client_id", client);
            }
        }
        Sent { form: Some(pairs.finish()), authorization, ..Sent::default() }
    }

    /// The name of whoever the provider vouches for, where its word has none. Without one there is
    /// still somebody.
    async fn name(&self, about: &About, given: &Value, subject: &Value) -> Option<String> {
        let token = given["access_token"].as_str()?;
        let sent = Sent { authorization: Some(format!("Bearer {token}")), ..Sent::default() };
        let said = self.json(about.userinfo.as_deref()?, sent).await.ok()?;
        if said["sub"] == *subject { word::name(&said) } else { None }
    }

    async fn look(&self, code: &str, asked: &Asked, now: TimeMs) -> Result<Vouched, Unvouched> {
        let about = self.about(KNOWN_FOR).await?;
        let given = self.exchange(&about, code, asked).await?;
        let signed = given["id_token"].as_str();
        let signed = signed.ok_or_else(|| refused(&"it gives no ID token"))?;
        let content = match signature::content(signed, &about.keys) {
            // It signs with a newer key.
            Err(Unsigned::Key) => {
                let about = self.about(AGAIN_AFTER).await?;
                signature::content(signed, &about.keys)
            }
            found => found,
        };
        let claims = content.map_err(|error| refused(&error))?;
        let Settings { issuer, client, .. } = &self.settings;
        let wanted = Wanted { issuer, client, nonce: &asked.nonce, now };
        let vouched = word::vouched(&claims, &wanted).map_err(|error| refused(&error))?;
        let name = match vouched.name {
            None => self.name(&about, &given, &claims["sub"]).await,
            known => known,
        };
        Ok(Vouched { name, ..vouched })
    }
}

impl Provider for OpenIdProvider {
    fn address(&self, asked: Asked) -> Answering<'_, String> {
        Box::pin(async move { self.send_to(&asked).await })
    }

    fn vouched(&self, code: String, asked: Asked, now: TimeMs) -> Answering<'_, Vouched> {
        Box::pin(async move { self.look(&code, &asked, now).await })
    }
}
