//! After the play: compares every account's fills, positions and balance with the answers received
//! during the play, with each other, and with the expected positions.

use std::collections::BTreeMap;

use hyper::{Method, StatusCode};
use rustc_hash::FxHashMap;
use serde::de::DeserializeOwned;
use uuid::Uuid;

use crate::answers::{
    BalanceAnswer, FillAnswer, FillsPage, PositionAnswer, PositionsPage, lots, money, read, tick,
};
use crate::compare::{self, Differences, Subject, Traded};
use crate::script::{Accepted, Played, ReportedTrade, SharedPlay, refusal};
use client::{ApiKey, Ask, ClientError, Connection};
use exchange::catalogue::Outcome;
use exchange::command::Side;
use exchange::units::{Lots, TICKS_PER_UNIT};
use flow::{AccountIndex, Flow, Gross, MarketIndex, OrderRef};

/// Fills per page: the maximum that the server allows (semantics 8).
const FILLS_PAGE: usize = 1_000;
/// Positions per page: the maximum that the server allows (interface 4.7).
const POSITIONS_PAGE: usize = 100;
/// Most pages read per list, so that a server whose list never ends cannot block the player.
const PAGES_MAX: usize = 10_000;

/// Counts of what was compared.
#[derive(Debug, Clone, Copy, Default)]
pub struct Audited {
    /// Trades matched between both parties' lists.
    pub trades: u64,
    /// Positions: pairs of account and market.
    pub positions: u64,
    /// Accounts.
    pub accounts: u64,
}

/// An order of this play, found by the server's id.
#[derive(Debug, Clone, Copy)]
struct Owned {
    market: MarketIndex,
    order: OrderRef,
    accepted: Accepted,
}

/// One party's side of a trade, from that account's fills.
#[derive(Debug, Clone, Copy)]
struct Party {
    owned: Owned,
    traded: Traded,
    taker: bool,
}

/// An account's positions by market, in lots: (yes, no).
type Holdings = BTreeMap<MarketIndex, (i128, i128)>;

/// Reads every account from the server and compares.
///
/// # Errors
/// The server stopped answering; differences found until then remain in `differences`.
pub async fn run(
    shared: &SharedPlay,
    flow: &Flow,
    played: &[Played],
    differences: &mut Differences,
) -> Result<Audited, ClientError> {
    let mut audit = Audit::of(shared, flow, played, differences);
    let mut connection = Connection::open(&shared.target).await?;
    let mut accounts = Vec::with_capacity(shared.stage.keys.len());
    for (number, key) in shared.stage.keys.iter().enumerate() {
        let account = AccountIndex(number);
        let pages = match fetch(&mut connection, key).await? {
            Ok(pages) => pages,
            Err(says) => {
                audit.differ(Subject::Balance, account, &says);
                continue;
            }
        };
        audit.take_fills(account, &pages.fills);
        accounts.push((account, pages));
    }
    audit.join(played);
    for (account, pages) in &accounts {
        audit.account(*account, pages);
    }
    audit.positions();
    audit.audited.accounts = accounts.len() as u64;
    Ok(audit.audited)
}

/// One account's lists.
struct Pages {
    fills: Vec<FillAnswer>,
    positions: Vec<PositionAnswer>,
    balance: BalanceAnswer,
}

async fn fetch(
    connection: &mut Connection,
    key: &ApiKey,
) -> Result<Result<Pages, String>, ClientError> {
    let mut pages = Pages {
        fills: Vec::new(),
        positions: Vec::new(),
        balance: match get(connection, key, "/trading/balance").await? {
            Ok(balance) => balance,
            Err(says) => return Ok(Err(says)),
        },
    };
    for _ in 0..PAGES_MAX {
        let path = format!("/trading/fills?limit={FILLS_PAGE}&offset={}", pages.fills.len());
        let FillsPage { fills } = match get(connection, key, &path).await? {
            Ok(page) => page,
            Err(says) => return Ok(Err(says)),
        };
        let last = fills.len() < FILLS_PAGE;
        pages.fills.extend(fills);
        if last {
            break;
        }
    }
    for _ in 0..PAGES_MAX {
        let offset = pages.positions.len();
        let path = format!("/trading/positions?limit={POSITIONS_PAGE}&offset={offset}");
        let PositionsPage { positions } = match get(connection, key, &path).await? {
            Ok(page) => page,
            Err(says) => return Ok(Err(says)),
        };
        let last = positions.len() < POSITIONS_PAGE;
        pages.positions.extend(positions);
        if last {
            break;
        }
    }
    Ok(Ok(pages))
}

async fn get<T: DeserializeOwned>(
    connection: &mut Connection,
    key: &ApiKey,
    path: &str,
) -> Result<Result<T, String>, ClientError> {
    let reply = connection
        .ask(&Ask { method: Method::GET, path, key, idempotency_key: None, body: None })
        .await?;
    Ok(match refusal(&reply, StatusCode::OK) {
        Some(says) => Err(format!("GET {path}: {says}")),
        None => read(&reply.body).map_err(|says| format!("GET {path}: {says}")),
    })
}

struct Audit<'a> {
    shared: &'a SharedPlay,
    flow: &'a Flow,
    owned: FxHashMap<Uuid, Owned>,
    markets: FxHashMap<&'a str, MarketIndex>,
    parties: BTreeMap<Uuid, Vec<Party>>,
    gross: BTreeMap<(MarketIndex, AccountIndex), Gross>,
    differences: &'a mut Differences,
    audited: Audited,
}

impl<'a> Audit<'a> {
    fn of(
        shared: &'a SharedPlay,
        flow: &'a Flow,
        played: &[Played],
        differences: &'a mut Differences,
    ) -> Audit<'a> {
        let mut owned = FxHashMap::default();
        for play in played {
            for (order, accepted) in &play.orders {
                let (market, order, accepted) = (play.market, *order, *accepted);
                if owned.insert(accepted.id, Owned { market, order, accepted }).is_some() {
                    let says = format!("two orders have the id {}", accepted.id);
                    differences.add(Subject::Answer, Some(accepted.line), says);
                }
            }
        }
        let numbered = shared.stage.markets.iter().enumerate();
        Audit {
            shared,
            flow,
            owned,
            markets: numbered.map(|(n, id)| (id.as_str(), MarketIndex(n))).collect(),
            parties: BTreeMap::new(),
            gross: BTreeMap::new(),
            differences,
            audited: Audited::default(),
        }
    }

    /// Adds an account's fills to its contracts and cash, and indexes them by trade.
    fn take_fills(&mut self, account: AccountIndex, fills: &[FillAnswer]) {
        for fill in fills {
            match self.party(account, fill) {
                Ok(party) => {
                    let key = (party.owned.market, account);
                    add(self.gross.entry(key).or_default(), &party);
                    self.parties.entry(fill.id).or_default().push(party);
                }
                Err(says) => {
                    self.differ(Subject::Fill, account, &format!("fill {}: {says}", fill.id));
                }
            }
        }
    }

    fn party(&self, account: AccountIndex, fill: &FillAnswer) -> Result<Party, String> {
        let owned = self.owned.get(&fill.order_id).copied();
        let owned = owned.ok_or_else(|| format!("of an unknown order {}", fill.order_id))?;
        if owned.accepted.account != account {
            return Err(format!("of another account's order {}", owned.order.0));
        }
        let taker = match fill.liquidity.as_str() {
            "TAKER" => true,
            "MAKER" => false,
            other => return Err(format!("has the liquidity `{other}`")),
        };
        let traded = Traded { price: tick(&fill.price)?, quantity: lots(&fill.quantity)? };
        Ok(Party { owned, traded, taker })
    }

    /// Checks that the trades in the lists are exactly those reported by answers, each in the lists
    /// of both parties.
    fn join(&mut self, played: &[Played]) {
        for reported in played.iter().flat_map(|play| &play.trades) {
            let parties = self.parties.remove(&reported.id).unwrap_or_default();
            self.audited.trades += 1;
            if let Err(says) = joined(reported, &parties) {
                let says = format!("order {}: {says}", reported.taker.0);
                self.differences.add(Subject::Fill, Some(reported.line), says);
            }
        }
        for (id, parties) in std::mem::take(&mut self.parties) {
            let line = parties.first().map(|party| party.owned.accepted.line);
            let says = format!("trade {id} is in the lists, but no answer told of it");
            self.differences.add(Subject::Fill, line, says);
        }
    }

    /// Checks that an account's holdings and cash follow from its fills. A yes/no pair still held
    /// counts as 1.00, the cash that merging it would bring.
    fn account(&mut self, account: AccountIndex, pages: &Pages) {
        let holdings = match self.holdings(&pages.positions) {
            Ok(holdings) => holdings,
            Err(says) => return self.differ(Subject::Position, account, &says),
        };
        let (mut pairs, mut cash) = (0, 0);
        for number in 0..self.flow.markets().len() {
            let market = MarketIndex(number);
            let (yes, no) = holdings.get(&market).copied().unwrap_or_default();
            let merged = self.gross.get(&(market, account)).copied().unwrap_or_default().merged();
            pairs += yes.min(no);
            cash += merged.cash.get();
            if yes - no != merged.net_lots {
                let held = compare::net(yes - no);
                let made = compare::net(merged.net_lots);
                let says = format!("{}: holds {held}, its fills make {made}", self.name(market));
                self.differ(Subject::Position, account, &says);
            }
        }
        let balance = money(&pages.balance.available)
            .and_then(|available| Ok((available, money(&pages.balance.reserved)?)));
        match balance {
            Ok((available, reserved)) => {
                let deposit = i128::from(self.shared.stage.deposit.get());
                let earned = i128::from(available.get()) + i128::from(reserved.get()) - deposit
                    + pairs * i128::from(TICKS_PER_UNIT);
                if earned != cash {
                    let says = format!("cash is off by {} money units", earned - cash);
                    self.differ(Subject::Balance, account, &says);
                }
            }
            Err(says) => self.differ(Subject::Balance, account, &says),
        }
    }

    fn holdings(&self, positions: &[PositionAnswer]) -> Result<Holdings, String> {
        let mut holdings = Holdings::new();
        for entry in positions {
            let market = self.markets.get(entry.market_id.as_str());
            let market = market.ok_or_else(|| format!("unknown market {}", entry.market_id))?;
            let held = holdings.entry(*market).or_default();
            let quantity = i128::from(lots(&entry.quantity)?.get());
            match entry.outcome_id.as_str() {
                "yes" => held.0 += quantity,
                "no" => held.1 += quantity,
                other => return Err(format!("unknown outcome `{other}`")),
            }
        }
        Ok(holdings)
    }

    /// Compares the positions with those expected; others are differences.
    fn positions(&mut self) {
        let Some(expected) = &self.shared.expectations.positions else { return };
        let mut keys: Vec<_> = expected.keys().chain(self.gross.keys()).copied().collect();
        keys.sort_unstable();
        keys.dedup();
        self.audited.positions = keys.len() as u64;
        for key in keys {
            let want = expected.get(&key).copied().unwrap_or_default();
            let have = self.gross.get(&key).copied().unwrap_or_default().merged();
            if let Err(says) = compare::position(want, have) {
                let says = format!("{}: {says}", self.name(key.0));
                self.differ(Subject::Position, key.1, &says);
            }
        }
    }

    fn name(&self, market: MarketIndex) -> &'a str {
        self.flow.markets().get(market.0).map_or("?", |name| name)
    }

    fn differ(&mut self, subject: Subject, account: AccountIndex, says: &str) {
        let name = self.flow.accounts().get(account.0).map_or("?", |name| name);
        self.differences.add(subject, None, format!("account {name}: {says}"));
    }
}

/// Adds one fill to its owner's contracts and cash, by the outcome and side of the owner's order.
fn add(gross: &mut Gross, party: &Party) {
    let wording = party.owned.accepted.order.wording;
    let quantity = i128::from(party.traded.quantity.get());
    let cash = quantity * i128::from(party.traded.price.get());
    let (contracts, cash) = match wording.side {
        Side::Buy => (quantity, -cash),
        Side::Sell => (-quantity, cash),
    };
    gross.cash_units += cash;
    match wording.outcome {
        Outcome::Yes => gross.yes_lots += contracts,
        Outcome::No => gross.no_lots += contracts,
    }
}

/// Compares a trade reported to its taker with the entries in both parties' lists.
fn joined(reported: &ReportedTrade, parties: &[Party]) -> Result<(), String> {
    let (taker, maker) = match parties {
        [one, other] if one.taker && !other.taker => (one, other),
        [one, other] if other.taker && !one.taker => (other, one),
        _ => {
            let takers = parties.iter().filter(|party| party.taker).count();
            let (trade, makers) = (reported.id, parties.len() - takers);
            return Err(format!(
                "trade {trade} is in the lists of {takers} takers, {makers} makers"
            ));
        }
    };
    if taker.owned.order != reported.taker || taker.traded != reported.traded {
        return Err(format!("trade {}: the taker's list and the answer differ", reported.id));
    }
    if let Some(expected) = reported.maker
        && expected != maker.owned.order
    {
        let got = maker.owned.order.0;
        return Err(format!("expected the maker to be order {}, got order {got}", expected.0));
    }
    let in_yes = |party: &Party| party.owned.accepted.order.wording.yes_price(party.traded.price);
    let same = maker.owned.market == taker.owned.market
        && in_yes(maker) == in_yes(taker)
        && maker.traded.quantity == taker.traded.quantity
        && maker.traded.quantity != Lots::ZERO;
    if same {
        return Ok(());
    }
    Err(format!("trade {}: the maker's list and the taker's differ", reported.id))
}

#[cfg(test)]
mod tests {
    use super::*;
    use exchange::command::{TimeInForce, Wording};
    use exchange::units::Tick;
    use flow::LineNo;
    use flow::rows::PlacedOrder;

    fn party(order: u64, outcome: Outcome, side: Side, price: u8, taker: bool) -> Party {
        let price = Tick::new(price).unwrap();
        let quantity = Lots::contracts(2);
        let time_in_force = TimeInForce::GoodTillCancelled { expires_at: None };
        let wording = Wording { outcome, side };
        let accepted = Accepted {
            id: Uuid::from_u128(u128::from(order)),
            line: LineNo(1),
            account: AccountIndex(0),
            order: PlacedOrder { wording, price, quantity, time_in_force },
            cancelled: false,
        };
        let owned = Owned { market: MarketIndex(0), order: OrderRef(order), accepted };
        Party { owned, traded: Traded { price, quantity }, taker }
    }

    fn reported(price: u8) -> ReportedTrade {
        let traded = Traded { price: Tick::new(price).unwrap(), quantity: Lots::contracts(2) };
        let (taker, maker) = (OrderRef(2), Some(OrderRef(1)));
        ReportedTrade { id: Uuid::nil(), line: LineNo(9), taker, maker, traded }
    }

    #[test]
    fn a_trade_needs_both_its_parties() {
        let maker = party(1, Outcome::Yes, Side::Buy, 44, false);
        let taker = party(2, Outcome::No, Side::Buy, 56, true);
        assert_eq!(joined(&reported(56), &[maker, taker]), Ok(()));
        assert_eq!(joined(&reported(56), &[taker, maker]), Ok(()));
        let stranger = party(3, Outcome::Yes, Side::Buy, 44, false);
        let dearer = party(1, Outcome::Yes, Side::Buy, 45, false);
        let second = Party { taker: true, ..maker };
        for wrong in [
            &[][..],
            &[taker],
            &[taker, maker, maker],
            &[taker, second],
            &[taker, stranger],
            &[taker, dearer],
        ] {
            assert!(joined(&reported(56), wrong).is_err(), "{wrong:?}");
        }
        assert!(joined(&reported(57), &[taker, maker]).is_err());
        let says = joined(&reported(56), &[taker, stranger]).unwrap_err();
        assert_eq!(says, "expected the maker to be order 1, got order 3");
    }

    #[test]
    fn all_four_words_of_a_bet_make_the_same_position() {
        // 2 contracts up at 0.44: yes bought, or no sold at 0.56.
        let mut bought = Gross::default();
        add(&mut bought, &party(1, Outcome::Yes, Side::Buy, 44, false));
        let mut sold = Gross::default();
        add(&mut sold, &party(1, Outcome::No, Side::Sell, 56, false));
        assert_eq!(bought.merged(), sold.merged());
        assert_eq!(bought.merged().cash.to_string(), "-0.88");
        // And back down at 0.50 gives 0.06 a contract.
        add(&mut bought, &party(2, Outcome::No, Side::Buy, 50, true));
        add(&mut sold, &party(2, Outcome::Yes, Side::Sell, 50, true));
        assert_eq!(bought.merged(), sold.merged());
        assert_eq!(
            (bought.merged().net_lots, bought.merged().cash.to_string()),
            (0, "0.12".into())
        );
    }
}
