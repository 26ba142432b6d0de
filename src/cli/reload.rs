//! SIGHUP: the configuration file is read again, and what can change in a running server does.

use clap::Command;

use super::config_file::{Setting, Settings};
use super::settings::ServeArgs;
use super::{Failure, logging};

/// Settings that a running server takes over.
const LIVE: [&str; 7] =
    ["log", "rate-reads", "rate-writes", "rate-cancels", "daily-records", "tls-cert", "tls-key"];

/// The settings in force, and how they are read again.
pub(crate) struct Reload {
    whole: Command,
    given: ServeArgs,
    in_force: Vec<Setting>,
}

impl Reload {
    /// These settings are in force; they come of this command line.
    pub(crate) fn new(whole: Command, settings: &Settings) -> Reload {
        Reload { whole, given: settings.args.clone(), in_force: settings.list.clone() }
    }

    /// Reads the settings again; `apply` gives the server those that it takes over, and names what
    /// else it found changed. One line of the
    /// log says what came of it.
    pub(crate) fn run(
        &mut self,
        apply: impl FnOnce(&ServeArgs) -> Result<Option<&'static str>, Failure>,
    ) {
        match self.read(apply) {
            Ok((applied, waiting)) if waiting.is_empty() => {
                tracing::info!(applied, "SIGHUP: the settings were read again");
            }
            Ok((applied, waiting)) => {
                tracing::warn!(
                    applied,
                    waiting,
                    "SIGHUP: the settings were read again; some need a restart"
                );
            }
            Err(Failure::Usage(why) | Failure::Failed(why) | Failure::Journal(why)) => {
                tracing::error!(why, "SIGHUP: nothing was changed");
            }
        }
    }

    /// What was applied, and what waits for a restart.
    fn read(
        &mut self,
        apply: impl FnOnce(&ServeArgs) -> Result<Option<&'static str>, Failure>,
    ) -> Result<(String, String), Failure> {
        let read = Settings::load(self.whole.clone(), &["serve"], &self.given)?;
        let renewed = apply(&read.args)?;
        logging::refilter(&read.args.log)?;
        let (mut applied, mut waiting) = (Vec::new(), Vec::new());
        applied.extend(renewed.map(str::to_owned));
        for (now, new) in self.in_force.iter_mut().zip(read.list).filter(|(now, new)| **now != *new)
        {
            let shown = |setting: &Setting| setting.value.clone().unwrap_or_else(|| "none".into());
            if now.value == new.value {
                continue;
            }
            let change = format!("{} {} -> {}", new.key, shown(now), shown(&new));
            // TLS itself begins and ends with the server.
            let begins =
                new.key.starts_with("tls-") && (now.value.is_none() || new.value.is_none());
            if LIVE.contains(&new.key.as_str()) && !begins {
                applied.push(change);
                *now = new;
            } else {
                waiting.push(change);
            }
        }
        Ok((applied.join(", "), waiting.join(", ")))
    }
}
