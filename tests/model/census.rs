//! Counts what a run has covered, so that a run that covers too little fails.

use std::collections::BTreeMap;

use exchange::command::{Command, Record};
use exchange::effect::{Effect, Party};
use exchange::ids::{MarketSet, OrderNo};
use exchange::reject::Reject;
use exchange::units::{Lots, Money};

/// Refusals that random commands cannot reach: a run's venue is open, and never that large; and
/// there are few groups, few proposals, and few people with accounts elsewhere
/// (`routes/openid.rs`).
const OUT_OF_REACH: [Reject; 5] = [
    Reject::VenueNotOpen,
    Reject::VenueFull,
    Reject::TooManyHeartbeats,
    Reject::TooManyProposals,
    Reject::IdentityTaken,
];

/// What a long run must have covered, besides every kind of command and every refusal.
const EXPECTED: [&str; 57] = [
    "amended beside opposites",
    "amended false then cancelled",
    "amended false then rested",
    "amended false then traded",
    "amended nothing",
    "amended true",
    "cancelled Expired by AdvanceClock",
    "cancelled Expired by CancelOrder",
    "cancelled Expired by CancelOrders",
    "cancelled Expired by CloseMarket",
    "cancelled Expired by PlaceOrder",
    "cancelled FokNotFillable by PlaceOrder",
    "cancelled HeartbeatExpired by AdvanceClock",
    "cancelled HeartbeatExpired by CancelOrder",
    "cancelled HeartbeatExpired by Heartbeat",
    "cancelled HeartbeatExpired by PlaceOrder",
    "cancelled IocRemainder by PlaceOrder",
    "cancelled MarketClosed by AdvanceClock",
    "cancelled MarketClosed by CancelOrder",
    "cancelled MarketClosed by CancelOrders",
    "cancelled MarketClosed by CloseMarket",
    "cancelled MarketClosed by ResolveMarket",
    "cancelled MarketVoided by AdvanceClock",
    "cancelled MarketVoided by VoidMarket",
    "cancelled SelfTrade by AmendOrder",
    "cancelled SelfTrade by PlaceOrder",
    "cancelled User by CancelOrder",
    "cancelled User by CancelOrders",
    "cancelled User by ReplaceOrder",
    "charged both",
    "charged nobody",
    "charged the taker",
    "converted one",
    "moved ACTIVE to CLOSED",
    "moved ACTIVE to SUSPENDED",
    "moved ACTIVE to VOIDED",
    "moved CLOSED to ACTIVE",
    "moved CLOSED to RESOLVED",
    "moved DISPUTED to RESOLVED",
    "moved RESOLVED to DISPUTED",
    "moved RESOLVED to SETTLED",
    "moved RESOLVED to VOIDED",
    "moved SUSPENDED to ACTIVE",
    "moved SUSPENDED to CLOSED",
    "paid",
    "paid a part of the settled",
    "paid a part of the voided",
    "repeated CancelOrder",
    "repeated PlaceOrder",
    "repeated PlaceOrder under a key",
    "repeated ReplaceOrder",
    "replaced then cancelled",
    "replaced then rested",
    "replaced then traded",
    "replacement refused of an open order",
    "swept 3 or more",
    "traded",
];

/// What a long run of conversions must have covered.
pub const OF_CONVERSIONS: [&str; 12] = [
    "converted all",
    "converted and merged",
    "converted at a profit",
    "converted one",
    "converted some",
    "refused EVENT_ALREADY_WON",
    "refused EVENT_COMPLETE",
    "refused EVENT_NOT_CONVERTIBLE",
    "refused EVENT_NOT_EXCLUSIVE",
    "refused INSUFFICIENT_CONTRACTS",
    "sets left nothing",
    "sets left something",
];

/// The `Command` variant of a record kind: `place_order` is `PlaceOrder`.
fn camel(kind: &str) -> String {
    let words = kind.split('_').map(|word| word[..1].to_uppercase() + &word[1..]);
    words.collect()
}

/// How often each thing was seen.
#[derive(Default)]
pub struct Census {
    seen: BTreeMap<String, u64>,
}

impl Census {
    fn see(&mut self, what: String) {
        *self.seen.entry(what).or_default() += 1;
    }

    /// Counts one record's effects.
    pub fn count(&mut self, record: &Record, effects: &[Effect]) {
        let asked = format!("{:?}", record.command);
        let asked = asked.split([' ', '(']).next().unwrap_or_default();
        self.see(format!("asked {asked}"));
        if let (Command::ReplaceOrder { .. }, [Effect::Refused(reject)]) =
            (&record.command, effects)
            && !matches!(reject, Reject::OrderNotOpen | Reject::OrderNotFound)
        {
            self.see("replacement refused of an open order".to_owned());
        }
        let mut trades = 0;
        for effect in effects {
            match effect {
                Effect::Refused(reject) => self.see(format!("refused {}", reject.code())),
                Effect::Repeated { .. } if record.once.is_some() => {
                    self.see(format!("repeated {asked} under a key"));
                    self.see(format!("repeated {asked}"));
                }
                Effect::Repeated { .. } => self.see(format!("repeated {asked}")),
                Effect::TradeMade(trade) => {
                    trades += 1;
                    let pays = |party: Party| party.fee > Money::ZERO;
                    let charged = match (pays(trade.maker), pays(trade.taker)) {
                        (true, true) => "both",
                        (true, false) => "the maker",
                        (false, true) => "the taker",
                        (false, false) => "nobody",
                    };
                    self.see(format!("charged {charged}"));
                    self.see("traded".to_owned());
                }
                Effect::OrderCancelled { reason, .. } => {
                    self.see(format!("cancelled {reason:?} by {asked}"));
                }
                Effect::OrderAmended { kept_place: true, .. } => {
                    self.see("amended true".to_owned());
                }
                Effect::MarketMoved { from, to, .. } => {
                    self.see(format!("moved {} to {}", from.name(), to.name()));
                }
                Effect::PositionSettled { .. } => self.see("paid".to_owned()),
                Effect::MarketPays { voided, .. } => {
                    let part = if *voided { "voided" } else { "settled" };
                    self.see(format!("paid a part of the {part}"));
                }
                Effect::Converted { markets, quantity, .. } => {
                    self.count_converted(markets, *quantity, effects);
                }
                Effect::SetsSettled { surplus, .. } => {
                    let left = surplus.get() > 0;
                    self.see(format!("sets left {}", if left { "something" } else { "nothing" }));
                }
                _ => {}
            }
        }
        if trades >= 3 {
            self.see("swept 3 or more".to_owned());
        }
        match record.command {
            Command::AmendOrder { .. } => self.count_amended(effects),
            Command::ReplaceOrder { .. } => {
                self.count_replaced(OrderNo(record.sequence), effects);
            }
            _ => {}
        }
    }

    fn count_converted(&mut self, given: &MarketSet, quantity: Lots, effects: &[Effect]) {
        let given = given.as_slice();
        let holdings = effects.iter().filter_map(|effect| match effect {
            Effect::PositionChanged { market, yes, .. } => Some((market, yes)),
            _ => None,
        });
        let received: Vec<_> = holdings.filter(|(market, _)| !given.contains(market)).collect();
        let how_many = match (given.len(), received.len()) {
            (_, 0) => "all",
            (1, _) => "one",
            _ => "some",
        };
        self.see(format!("converted {how_many}"));
        if received.iter().any(|(_, yes)| yes.held < quantity) {
            self.see("converted and merged".to_owned());
        }
        if given.len() > 1 && received.iter().any(|(_, yes)| yes.cost.get() == 0) {
            self.see("converted at a profit".to_owned());
        }
    }

    fn count_replaced(&mut self, placed: OrderNo, effects: &[Effect]) {
        for effect in effects {
            match effect {
                Effect::TradeMade(_) => self.see("replaced then traded".to_owned()),
                Effect::OrderRested { .. } => self.see("replaced then rested".to_owned()),
                Effect::OrderCancelled { order, .. } if *order == placed => {
                    self.see("replaced then cancelled".to_owned());
                }
                _ => {}
            }
        }
    }

    fn count_amended(&mut self, effects: &[Effect]) {
        match effects {
            [] => self.see("amended nothing".to_owned()),
            [Effect::OrderAmended { .. }, Effect::PositionChanged { yes, no, .. }, ..]
                if !yes.held.is_zero() && !no.held.is_zero() =>
            {
                self.see("amended beside opposites".to_owned());
            }
            _ => {}
        }
        let Some(Effect::OrderAmended { order, kept_place: false, .. }) = effects.first() else {
            return;
        };
        for effect in effects {
            match effect {
                Effect::TradeMade(_) => self.see("amended false then traded".to_owned()),
                Effect::OrderRested { .. } => self.see("amended false then rested".to_owned()),
                Effect::OrderCancelled { order: cancelled, .. } if cancelled == order => {
                    self.see("amended false then cancelled".to_owned());
                }
                _ => {}
            }
        }
    }

    /// What a long run should have covered and has not.
    pub fn missing(&self) -> Vec<String> {
        let refusals = Reject::ALL.iter().filter(|reject| !OUT_OF_REACH.contains(reject));
        let refused =
            refusals.map(|reject| format!("refused {}", reject.code())).collect::<Vec<_>>();
        let kinds: Vec<String> =
            Command::KINDS.iter().map(|(_, kind)| format!("asked {}", camel(kind))).collect();
        let kinds = kinds.iter().map(String::as_str);
        let all = EXPECTED.into_iter().chain(kinds).chain(refused.iter().map(String::as_str));
        self.missing_of(all)
    }

    /// Which of these have not been seen.
    pub fn missing_of<'a>(&self, all: impl IntoIterator<Item = &'a str>) -> Vec<String> {
        let unseen = |what: &&str| !self.seen.contains_key(*what);
        all.into_iter().filter(unseen).map(str::to_owned).collect()
    }

    /// The counts, one per line.
    pub fn report(&self) -> String {
        let line = |(what, count): (&String, &u64)| format!("{count:>9} {what}");
        self.seen.iter().map(line).collect::<Vec<_>>().join("\n")
    }
}
