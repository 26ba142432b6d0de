//! The flags that say what the venue is to a browser.

use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;

use clap::builder::BoolishValueParser;
use clap::{ArgAction, Args, ValueEnum};
use ipnet::IpNet;

use super::Failure;
use super::identity::IdentityArgs;
use exchange::units::Money;
use http::assets::{Assets, Dashboard};
use http::bounds::DISPUTE_WINDOW_SECONDS_MAX;
use http::site::{SignUp, Site};

/// Play money for each user of the demo.
const DEMO_FAUCET: Money = Money::new(100_000_000_000);

/// The venue as browsers see it.
#[derive(Debug, Clone, Args)]
pub(crate) struct SiteArgs {
    /// Address under which browsers reach the venue, as `https://venue.example`: its host is the
    /// only one whose cookies count, and over https they are sent by TLS alone [default: loopback
    /// names]
    #[arg(long, value_name = "URL", env = "OPENOUTCRY_PUBLIC_URL", value_parser = public_url)]
    public_url: Option<String>,
    /// Origin of another site whose pages may ask with a key (CORS), as `https://app.example`;
    /// several with commas
    #[arg(
        long = "cors-origin",
        value_name = "ORIGIN",
        env = "OPENOUTCRY_CORS_ORIGIN",
        value_delimiter = ',',
        value_parser = public_url
    )]
    origins: Vec<String>,
    /// Origin of another site whose pictures the pages show, as `https://images.example`; several
    /// with commas
    #[arg(
        long = "image-origin",
        value_name = "ORIGIN",
        env = "OPENOUTCRY_IMAGE_ORIGIN",
        value_delimiter = ',',
        value_parser = public_url
    )]
    images: Vec<String>,
    /// Proxy, or network of proxies, that is believed where a client is (X-Forwarded-For), as
    /// `127.0.0.1` or `10.0.0.0/8`; several with commas
    #[arg(
        long = "trusted-proxy",
        value_name = "ADDR[/BITS]",
        env = "OPENOUTCRY_TRUSTED_PROXY",
        value_delimiter = ',',
        value_parser = network
    )]
    proxies: Vec<IpNet>,
    /// Who may make an account in the browser [default: invite; open in the demo]
    #[arg(long, value_name = "WHO", env = "OPENOUTCRY_SIGNUP", value_enum)]
    signup: Option<WhoSignsUp>,
    /// Play money that each user may have from the venue [default: none; 1000.00 in the demo]
    #[arg(long, value_name = "AMOUNT", env = "OPENOUTCRY_FAUCET", value_parser = faucet)]
    faucet: Option<Money>,
    /// Seconds between a resolution and its settlement, in which it may be disputed, of markets
    /// that name none
    #[arg(
        long,
        value_name = "SECONDS",
        env = "OPENOUTCRY_DISPUTE_WINDOW",
        default_value_t = 0,
        value_parser = clap::value_parser!(u32).range(..=i64::from(DISPUTE_WINDOW_SECONDS_MAX))
    )]
    dispute_window: u32,
    /// What somebody who holds contracts sets aside to dispute an outcome, once a market; without
    /// it only operators dispute
    #[arg(long, value_name = "AMOUNT", env = "OPENOUTCRY_DISPUTE_BOND", value_parser = limit)]
    dispute_bond: Option<Money>,
    /// Folder with pages of your own, read at the start, in place of the dashboard
    #[arg(long, value_name = "DIR", env = "OPENOUTCRY_DASHBOARD", conflicts_with = "no_dashboard")]
    dashboard: Option<PathBuf>,
    /// Serve no pages
    #[arg(
        long,
        env = "OPENOUTCRY_NO_DASHBOARD",
        value_name = "BOOL",
        value_parser = BoolishValueParser::new(),
        num_args = 0..=1,
        require_equals = true,
        default_value = "false",
        default_missing_value = "true",
        hide_default_value = true,
        action = ArgAction::Set
    )]
    no_dashboard: bool,
    #[command(flatten)]
    identity: IdentityArgs,
}

/// Who may make an account.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum WhoSignsUp {
    /// Whoever an operator invites
    Invite,
    /// Everybody
    Open,
    /// Nobody
    Off,
}

impl SiteArgs {
    /// Address under which browsers reach the venue, if it is named.
    pub(crate) fn public_url(&self) -> Option<&str> {
        self.public_url.as_deref()
    }

    /// Whether a proxy is believed where a client is.
    pub(crate) const fn trusts_a_proxy(&self) -> bool {
        !self.proxies.is_empty()
    }

    /// The site; the demo is open, with play money.
    ///
    /// # Errors
    /// The folder of the operator's own pages is not fit.
    pub(crate) fn site(&self, demo: bool) -> Result<Site, Failure> {
        let sign_up = match self.signup {
            Some(WhoSignsUp::Open) => SignUp::Open,
            Some(WhoSignsUp::Off) => SignUp::Off,
            None if demo => SignUp::Open,
            Some(WhoSignsUp::Invite) | None => SignUp::Invite,
        };
        let faucet = self.faucet.or(demo.then_some(DEMO_FAUCET));
        let dashboard = match &self.dashboard {
            _ if self.no_dashboard => Dashboard::Absent,
            Some(folder) => {
                let unfit = |error| format!("--dashboard {}: {error}", folder.display());
                let assets = Assets::read(folder).map_err(|error| Failure::Failed(unfit(error)))?;
                Dashboard::Own(Arc::new(assets))
            }
            None => Dashboard::BuiltIn,
        };
        let openid = self.identity.openid(self.public_url())?;
        let SiteArgs { public_url, origins, images, proxies, .. } = self.clone();
        let (dispute_window, dispute_bond) = (self.dispute_window, self.dispute_bond);
        let site = Site { dispute_window, dispute_bond, ..Site::default() };
        let site = Site { public_url, origins, images, proxies, ..site };
        Ok(Site { sign_up, faucet, demo, dashboard, openid, ..site })
    }
}

/// A network, or an address alone.
fn network(text: &str) -> Result<IpNet, String> {
    let alone = text.parse::<IpAddr>().map(IpNet::from);
    alone.or_else(|_| text.parse()).map_err(|_| "must be an address or a network".to_owned())
}

/// What a setting of money must be.
const AMOUNT: &str = "must be an amount such as 100.00";

/// An amount, or nothing.
pub(super) fn limit(text: &str) -> Result<Money, String> {
    Money::parse_limit(text).map_err(|_| AMOUNT.to_owned())
}

fn faucet(text: &str) -> Result<Money, String> {
    Money::parse(text).map_err(|_| AMOUNT.to_owned())
}

/// Scheme, host and perhaps port, and nothing else.
fn public_url(text: &str) -> Result<String, String> {
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    let host = rest.map(|rest| rest.trim_end_matches('/'));
    let plain = host.filter(|host| !host.is_empty() && !host.contains(['/', '?', '#', '@', ' ']));
    plain
        .map(|_| text.trim_end_matches('/').to_owned())
        .ok_or_else(|| "must be http:// or https://, a host, and perhaps a port".to_owned())
}
