//! Channels: what can be listened to, and by whom.

use std::borrow::Cow;
use std::fmt;

use uuid::Uuid;

use crate::auth::Caller;
use crate::problem::{Kind, Problem};
use exchange::command::Role;
use exchange::ids::{MarketId, MarketNo, UserNo};

/// A channel as a client names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Channel {
    /// Every public market's texts, status and quote.
    Markets,
    /// What one market is about, or all public ones.
    Of(MarketChannel, Markets),
    /// What changes for the caller.
    Account,
    /// The journal's records; for operators and auditors.
    Journal,
}

/// The channels that each market has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum MarketChannel {
    /// The market and its figures.
    Market = 0,
    /// Price levels.
    Book = 1,
    /// The best bid and the best ask.
    Top = 2,
    /// Each resting order.
    Orders = 3,
    /// Public trades.
    Trades = 4,
    /// Trades and changes of status.
    Activity = 5,
}

/// One market, or all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Markets {
    /// This one.
    One(MarketId),
    /// All that are public.
    All,
}

/// A channel by number: what facts, rings and the watched set go by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Topic {
    /// Of one market.
    Market(MarketChannel, MarketNo),
    /// The same of all markets.
    EveryMarket(MarketChannel),
    /// The catalogue.
    Catalogue,
    /// Of one user.
    Account(UserNo),
    /// The journal.
    Journal,
}

impl Topic {
    /// The market, if it is of one.
    pub const fn market(self) -> Option<MarketNo> {
        match self {
            Topic::Market(_, market) => Some(market),
            Topic::EveryMarket(_) | Topic::Catalogue | Topic::Account(_) | Topic::Journal => None,
        }
    }

    /// Whether the latest state is told now and then, not each change.
    pub const fn tells_states(self) -> bool {
        match self {
            Topic::Market(channel, _) | Topic::EveryMarket(channel) => {
                matches!(channel, MarketChannel::Market | MarketChannel::Top)
            }
            Topic::Catalogue => true,
            Topic::Account(_) | Topic::Journal => false,
        }
    }
}

impl MarketChannel {
    /// All of them.
    pub const ALL: [MarketChannel; 6] = [
        MarketChannel::Market,
        MarketChannel::Book,
        MarketChannel::Top,
        MarketChannel::Orders,
        MarketChannel::Trades,
        MarketChannel::Activity,
    ];

    /// Its name, before the market's id. That of the best prices is `book`, with `:top` after it.
    const fn name(self) -> &'static str {
        match self {
            MarketChannel::Market => "market",
            MarketChannel::Book | MarketChannel::Top => "book",
            MarketChannel::Orders => "orders",
            MarketChannel::Trades => "trades",
            MarketChannel::Activity => "activity",
        }
    }

    /// Its bit in a set of channels.
    pub const fn bit(self) -> u8 {
        1 << self as u8
    }
}

impl Channel {
    /// Reads a channel's name.
    ///
    /// # Errors
    /// There is no such channel.
    pub fn parse(name: &str) -> Result<Channel, Problem> {
        Channel::read(name).ok_or_else(|| {
            let shown: String = name.chars().take(64).collect();
            Problem::new(Kind::ChannelNotFound, format!("there is no channel {shown}"))
        })
    }

    fn read(name: &str) -> Option<Channel> {
        let Some((kind, of)) = name.split_once(':') else {
            return match name {
                "markets" => Some(Channel::Markets),
                "account" => Some(Channel::Account),
                "journal" => Some(Channel::Journal),
                _ => None,
            };
        };
        let (kind, of) = match (kind, of.strip_suffix(":top")) {
            ("book", Some(of)) => (MarketChannel::Top, of),
            // A level has the prices of both outcomes: their books are one channel.
            ("book", None) => {
                let outcome = [":yes", ":no"].into_iter().find_map(|end| of.strip_suffix(end));
                (MarketChannel::Book, outcome.unwrap_or(of))
            }
            ("market", _) => (MarketChannel::Market, of),
            ("orders", _) => (MarketChannel::Orders, of),
            ("trades", _) => (MarketChannel::Trades, of),
            ("activity", _) => (MarketChannel::Activity, of),
            _ => return None,
        };
        let markets = match of {
            "*" => Markets::All,
            // Only the usual spelling.
            id => {
                let uuid = Uuid::try_parse(id).ok()?;
                let id = Some(MarketId::from_uuid(uuid)).filter(|known| known.to_string() == id);
                Markets::One(id?)
            }
        };
        Some(Channel::Of(kind, markets))
    }

    /// Whether this caller may listen.
    ///
    /// # Errors
    /// It is for operators and auditors.
    pub fn check(self, caller: &Caller) -> Result<(), Problem> {
        match self {
            Channel::Journal if !matches!(caller.role, Role::Operator | Role::Auditor) => {
                Err(Problem::new(Kind::Forbidden, "the journal is for operators"))
            }
            Channel::Markets | Channel::Of(..) | Channel::Account | Channel::Journal => Ok(()),
        }
    }

    /// Whether a reader that is slow gets the latest state instead of each change.
    pub const fn conflates(self) -> bool {
        match self {
            Channel::Markets => true,
            Channel::Of(kind, _) => {
                matches!(kind, MarketChannel::Market | MarketChannel::Book | MarketChannel::Top)
            }
            Channel::Account | Channel::Journal => false,
        }
    }

    /// Its name.
    pub fn name(&self) -> Cow<'static, str> {
        match self {
            Channel::Markets => "markets".into(),
            Channel::Account => "account".into(),
            Channel::Journal => "journal".into(),
            Channel::Of(kind, markets) => {
                let top = if *kind == MarketChannel::Top { ":top" } else { "" };
                match markets {
                    Markets::All => format!("{}:*{top}", kind.name()).into(),
                    Markets::One(id) => format!("{}:{id}{top}", kind.name()).into(),
                }
            }
        }
    }
}

impl fmt::Display for Channel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name())
    }
}

#[cfg(test)]
#[path = "../../../tests/unit/http/stream/channel.rs"]
mod tests;
