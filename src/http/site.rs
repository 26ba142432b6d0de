//! What the venue is to a browser: the names under which it is reached, who may sign up, and what a
//! new user of a venue with play money gets.

use ipnet::IpNet;

use super::assets::Dashboard;
use super::identity::OpenId;
use super::spans::Spans;
use exchange::units::Money;

/// Who may make an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SignUp {
    /// Whoever an operator invites.
    #[default]
    Invite,
    /// Everybody.
    Open,
    /// Nobody.
    Off,
}

impl SignUp {
    /// Its name in flags and answers.
    pub const fn name(self) -> &'static str {
        match self {
            SignUp::Invite => "invite",
            SignUp::Open => "open",
            SignUp::Off => "off",
        }
    }
}

/// The venue as a site.
#[derive(Debug, Clone, Default)]
pub struct Site {
    /// Scheme, host and perhaps port under which browsers reach it; loopback names if `None`.
    pub public_url: Option<String>,
    /// Whether this server speaks TLS itself.
    pub tls: bool,
    /// Who may make an account.
    pub sign_up: SignUp,
    /// Play money that a user may ask for, if there is any.
    pub faucet: Option<Money>,
    /// Seconds in which the resolution of a market may be disputed that names no other number.
    pub dispute_window: u32,
    /// What holders set aside to dispute an outcome; `None`: only operators dispute.
    pub dispute_bond: Option<Money>,
    /// Whether it is the demo.
    pub demo: bool,
    /// Origins of other sites whose pages may ask with a key, as `https://app.example`.
    pub origins: Vec<String>,
    /// Origins of other sites whose pictures the pages show, as `https://images.example`.
    pub images: Vec<String>,
    /// Proxies that are believed where a client is.
    pub proxies: Vec<IpNet>,
    /// Whether operators have an entrance of their own, and what is theirs is refused elsewhere.
    pub apart: bool,
    /// Its pages.
    pub dashboard: Dashboard,
    /// Who vouches for people, if anybody does.
    pub openid: Option<OpenId>,
    /// Where spans of requests are told, if traces are collected.
    pub spans: Option<Spans>,
}

impl Site {
    /// Whether browsers reach it over TLS.
    pub fn secure(&self) -> bool {
        self.tls || self.is_strict()
    }

    /// Whether browsers are to use nothing but TLS with it from now on. Not under loopback names,
    /// which belong to every program of the machine.
    pub fn is_strict(&self) -> bool {
        self.public_url.as_deref().is_some_and(|url| url.starts_with("https://"))
    }

    /// Its name to people who have several: its host.
    pub fn name(&self) -> &str {
        let host = self.public_url.as_deref().and_then(|url| url.split_once("://"));
        host.map_or("openoutcry", |(_, host)| host.trim_end_matches('/'))
    }

    /// Whether a request's `Host` is a name of the venue's. Any other is a foreign name that was
    /// made to resolve to it (DNS rebinding).
    pub fn is_host(&self, host: &str) -> bool {
        if let Some(url) = &self.public_url {
            let ours = url.split_once("://").map_or(url.as_str(), |(_, rest)| rest);
            if ours.trim_end_matches('/').eq_ignore_ascii_case(host) {
                return true;
            }
            // Operators come by a tunnel to an entrance of their own.
            if !self.apart {
                return false;
            }
        }
        let name = host.rsplit_once(':').map_or(host, |(name, port)| {
            if port.bytes().all(|byte| byte.is_ascii_digit()) { name } else { host }
        });
        matches!(name, "127.0.0.1" | "[::1]") || name.eq_ignore_ascii_case("localhost")
    }
}

#[cfg(test)]
#[path = "../../tests/unit/http/site.rs"]
mod tests;
