//! A flow as journal records: those that a venue would write if the flow were played one line
//! after the other. For tests and benches that use the exchange without a server.

use rustc_hash::FxHashMap;

use super::rows::Action;
use super::{Flow, FlowLine};
use exchange::catalogue::MarketDraft;
use exchange::command::{Command, PlaceOrder, Record};
use exchange::ids::{MarketNo, OrderNo, UserNo};
use exchange::rules::Rules;
use exchange::units::{Money, Sequence, TimeMs};

/// The deposit of every account, ten million: enough for any recorded flow, and small enough for
/// thousands of accounts within the venue's money supply.
const DEPOSIT: Money = Money::new(1_000_000_000_000_000);

/// The records that play a flow on an empty venue: its opening, users, deposits and markets, then
/// one record per line. Markets and accounts keep their numbers; an order's number is its record's.
#[derive(Debug, Clone)]
pub struct FlowRecords {
    /// All records, from sequence 1.
    pub records: Vec<Record>,
    /// How many of them come before the first line.
    pub opening_count: usize,
}

impl FlowRecords {
    /// Converts a flow to records.
    pub fn of(flow: &Flow) -> FlowRecords {
        let mut commands = vec![Command::OpenVenue(Rules::current())];
        let numbered = |count: usize| (0..).take(count);
        for (user, name) in (0..).map(UserNo).zip(flow.accounts()) {
            let (profile_name, profile_pic) = (name.to_string(), String::new());
            commands.push(Command::CreateUser { profile_name, profile_pic });
            commands.push(Command::Deposit { user, amount: DEPOSIT });
        }
        for market in numbered(flow.markets().len()).map(MarketNo) {
            commands.push(Command::CreateMarket(Box::new(draft())));
            commands.push(Command::PublishMarket { market });
        }
        let opening_count = commands.len();
        let mut placed = FxHashMap::default();
        for line in flow.lines() {
            let sequence = sequence_after(commands.len());
            commands.push(command(line, sequence, &mut placed));
        }
        let mut time = TimeMs::default();
        let records = (0_usize..).zip(commands).map(|(before, command)| {
            let line = before.checked_sub(opening_count).and_then(|at| flow.lines().get(at));
            time = line.and_then(|line| TimeMs::new(line.t_ms)).unwrap_or(time).max(time);
            Record { sequence: sequence_after(before), time, once: None, act: None, command }
        });
        FlowRecords { records: records.collect(), opening_count }
    }
}

/// The sequence number of the record after `before` others.
fn sequence_after(before: usize) -> Sequence {
    Sequence::new(u64::try_from(before).unwrap_or(u64::MAX)).next()
}

fn command(
    line: &FlowLine,
    sequence: Sequence,
    placed: &mut FxHashMap<super::OrderRef, OrderNo>,
) -> Command {
    let user = UserNo(u32::try_from(line.account.0).unwrap_or(u32::MAX));
    let market = MarketNo(u32::try_from(line.market.0).unwrap_or(u32::MAX));
    match line.action {
        Action::Place(order) => {
            placed.insert(line.order, OrderNo(sequence));
            Command::PlaceOrder(PlaceOrder {
                time_in_force: order.time_in_force,
                ..PlaceOrder::plain(user, market, order.wording, order.price, order.quantity)
            })
        }
        Action::Cancel => {
            // `Flow::read` has checked that the order was placed before; sequence 0 is refused.
            let order = placed.get(&line.order).copied().unwrap_or(OrderNo(Sequence::ZERO));
            Command::CancelOrder { user, order }
        }
    }
}

fn draft() -> MarketDraft {
    MarketDraft::plain(TimeMs::MAX)
}
