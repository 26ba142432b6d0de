//! Plays one market's commands in order over one connection. Each command waits for the answer to
//! the previous one, because a cancel needs the id that its order was given.

use std::sync::Arc;

use bytes::Bytes;
use hyper::{Method, StatusCode};
use indicatif::ProgressBar;
use rustc_hash::FxHashMap;
use serde::Serialize;
use uuid::Uuid;

use crate::answers::{DepthAnswer, OrderAnswer, PlacedAnswer, lots, read};
use crate::compare::{self, Differences, LEVELS_SHOWN_MAX, Subject, Traded};
use crate::expect::{Expectations, ExpectedFills};
use crate::stage::Stage;
use crate::summary::{Kind, Latencies};
use client::{ApiKey, Ask, ClientError, Connection, Problem, Reply, Target};
use exchange::catalogue::Outcome;
use exchange::command::TimeInForce;
use exchange::units::Lots;
use flow::rows::{Action, BookRow, FillRow, PlacedOrder};
use flow::{AccountIndex, FlowLine, LineNo, MarketIndex, OrderRef};

/// State shared by the scripts of all markets.
pub struct SharedPlay {
    /// The server.
    pub target: Target,
    /// Markets and accounts on it.
    pub stage: Stage,
    /// The expected results.
    pub expectations: Expectations,
    /// Progress bar.
    pub progress: ProgressBar,
}

/// An order that the server accepted.
#[derive(Debug, Clone, Copy)]
pub struct Accepted {
    /// The server's id.
    pub id: Uuid,
    /// The line that placed it.
    pub line: LineNo,
    /// The account that placed it.
    pub account: AccountIndex,
    /// The order as recorded.
    pub order: PlacedOrder,
    /// Whether a cancel of it was answered.
    pub cancelled: bool,
}

/// A trade reported in the answer to its taker.
#[derive(Debug, Clone, Copy)]
pub struct ReportedTrade {
    /// The trade's id.
    pub id: Uuid,
    /// The taker's line.
    pub line: LineNo,
    /// The taker.
    pub taker: OrderRef,
    /// The expected maker, if fills are expected.
    pub maker: Option<OrderRef>,
    /// Price of the taker's outcome, and quantity.
    pub traded: Traded,
}

/// The result of playing one market.
pub struct Played {
    /// The market.
    pub market: MarketIndex,
    /// Orders accepted.
    pub orders: FxHashMap<OrderRef, Accepted>,
    /// Trades reported, in order.
    pub trades: Vec<ReportedTrade>,
    /// Differences found.
    pub differences: Differences,
    /// Latencies of the answers.
    pub latencies: Latencies,
    /// Counts.
    pub counts: Counts,
}

/// Counts of a play.
#[derive(Debug, Clone, Copy, Default)]
pub struct Counts {
    /// Commands answered.
    pub commands: u64,
    /// Orders accepted.
    pub placed: u64,
    /// Orders cancelled.
    pub cancelled: u64,
    /// Cancels refused because the order had ended, as the flow implies.
    pub ended: u64,
    /// Retries because the server was too busy.
    pub repeats: u64,
    /// Books compared.
    pub books: u64,
}

impl Counts {
    /// Adds another market's counts.
    pub fn absorb(&mut self, other: Counts) {
        self.commands += other.commands;
        self.placed += other.placed;
        self.cancelled += other.cancelled;
        self.ended += other.ended;
        self.repeats += other.repeats;
        self.books += other.books;
    }
}

/// Plays one market from its first line to its last. A lost connection ends it early and is
/// reported as a difference, since the outcome of the last command is then unknown.
pub async fn play(shared: Arc<SharedPlay>, market: MarketIndex, lines: Vec<FlowLine>) -> Played {
    let played = Played {
        market,
        orders: FxHashMap::default(),
        trades: Vec::new(),
        differences: Differences::default(),
        latencies: Latencies::default(),
        counts: Counts::default(),
    };
    let connection = Connection::open(&shared.target).await;
    let mut script = match connection {
        Ok(connection) => Script { shared: &shared, connection, played },
        Err(error) => return unplayed(played, lines.first(), &error),
    };
    let books = shared.expectations.books.get(market.0).map_or(&[][..], Vec::as_slice);
    let mut books = books.iter().peekable();
    for (position, line) in lines.iter().enumerate() {
        // A book expected after an earlier line is the current book.
        while let Some(book) = books.next_if(|book| book.after_line < line.line) {
            if let Err(error) = script.book(book).await {
                return unplayed(script.played, Some(line), &error);
            }
        }
        let Err(error) = script.command(line).await else { continue };
        return unplayed(script.played, lines.get(position), &error);
    }
    for book in books {
        if let Err(error) = script.book(book).await {
            return unplayed(script.played, None, &error);
        }
    }
    script.played
}

fn unplayed(mut played: Played, line: Option<&FlowLine>, error: &ClientError) -> Played {
    let says = format!("{error}; the rest of this market was not played");
    played.differences.add(Subject::Answer, line.map(|l| l.line), says);
    played
}

/// A market's script in progress.
struct Script<'a> {
    shared: &'a SharedPlay,
    connection: Connection,
    played: Played,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct OrderBody<'a> {
    market_id: &'a str,
    outcome_id: &'static str,
    side: &'static str,
    order_type: &'static str,
    price: String,
    quantity: String,
    time_in_force: &'static str,
}

impl OrderBody<'_> {
    fn of<'a>(market_id: &'a str, order: &PlacedOrder) -> OrderBody<'a> {
        OrderBody {
            market_id,
            outcome_id: order.wording.outcome.id(),
            side: order.wording.side.name(),
            order_type: "LIMIT",
            price: order.price.to_string(),
            quantity: order.quantity.to_string(),
            time_in_force: order.time_in_force.name(),
        }
    }
}

impl<'a> Script<'a> {
    async fn command(&mut self, line: &FlowLine) -> Result<(), ClientError> {
        match line.action {
            Action::Place(order) => self.place(line, order).await?,
            Action::Cancel => self.cancel(line).await?,
        }
        self.shared.progress.inc(1);
        Ok(())
    }

    async fn place(&mut self, line: &FlowLine, order: PlacedOrder) -> Result<(), ClientError> {
        let Some((market, key)) = self.parties(line) else { return Ok(()) };
        let body = serde_json::to_vec(&OrderBody::of(market, &order)).map(Bytes::from).ok();
        let ask =
            Ask { method: Method::POST, path: "/trading/orders", key, idempotency_key: None, body };
        let reply = self.ask(Kind::Place, &ask).await?;
        let expected = self.fills().map(|fills| fills.of_line(line.line));
        let verdict = match refusal(&reply, StatusCode::OK) {
            Some(says) => Err(says),
            None => read(&reply.body).and_then(|a| self.accepted(line, order, expected, &a)),
        };
        if let Err(says) = verdict {
            let owner = format!("order {}: {says}", line.order.0);
            self.differ(Subject::Answer, line.line, owner);
        }
        Ok(())
    }

    /// Records the answer to an accepted order and compares it.
    fn accepted(
        &mut self,
        line: &FlowLine,
        order: PlacedOrder,
        expected: Option<&[FillRow]>,
        answer: &PlacedAnswer,
    ) -> Result<(), String> {
        self.played.counts.placed += 1;
        let (id, account) = (answer.order_id, line.account);
        let accepted = Accepted { id, line: line.line, account, order, cancelled: false };
        self.played.orders.insert(line.order, accepted);
        let trades: Vec<Traded> =
            answer.trades.iter().map(compare::traded).collect::<Result<_, _>>()?;
        for (index, (trade, traded)) in answer.trades.iter().zip(&trades).enumerate() {
            let maker = expected.and_then(|fills| fills.get(index)).map(|fill| fill.maker);
            let (line, taker) = (line.line, line.order);
            self.played.trades.push(ReportedTrade {
                id: trade.id,
                line,
                taker,
                maker,
                traded: *traded,
            });
        }
        if let Some(Err(says)) = expected.map(|fills| compare::fills(fills, &trades)) {
            self.differ(Subject::Fill, line.line, format!("order {}: {says}", line.order.0));
        }
        compare::placed(&order, answer, &trades)
    }

    async fn cancel(&mut self, line: &FlowLine) -> Result<(), ClientError> {
        let Some((_, key)) = self.parties(line) else { return Ok(()) };
        let Some(accepted) = self.played.orders.get(&line.order).copied() else {
            let says = format!("order {} was refused, so it cannot be cancelled", line.order.0);
            self.differ(Subject::Answer, line.line, says);
            return Ok(());
        };
        let path = format!("/trading/orders/{}", accepted.id);
        let ask =
            Ask { method: Method::DELETE, path: &path, key, idempotency_key: None, body: None };
        let reply = self.ask(Kind::Cancel, &ask).await?;
        if let Some(order) = self.played.orders.get_mut(&line.order) {
            order.cancelled = true;
        }
        let filled = self.fills().map(|fills| fills.filled(line.order));
        if let Err(says) = self.cancelled(&accepted, filled, &reply) {
            let says = format!("cancel of order {}: {says}", line.order.0);
            self.differ(Subject::Answer, line.line, says);
        }
        Ok(())
    }

    /// Compares the answer to a cancel; a cancelled order must have its final expected fills.
    fn cancelled(
        &mut self,
        accepted: &Accepted,
        filled: Option<Lots>,
        reply: &Reply,
    ) -> Result<(), String> {
        let rested = matches!(accepted.order.time_in_force, TimeInForce::GoodTillCancelled { .. });
        let ended =
            filled.map(|filled| accepted.cancelled || !rested || filled == accepted.order.quantity);
        if reply.status == StatusCode::CONFLICT && ended != Some(false) {
            let problem: Problem = read(&reply.body)?;
            if problem.code == "ORDER_NOT_OPEN" {
                self.played.counts.ended += 1;
                return Ok(());
            }
        }
        if let Some(says) = refusal(reply, StatusCode::OK) {
            return Err(says);
        }
        self.played.counts.cancelled += 1;
        let order: OrderAnswer = read(&reply.body)?;
        let got = (order.id, order.status.as_str(), lots(&order.remaining_quantity)?);
        if got != (accepted.id, "CANCELLED", Lots::ZERO) {
            let (id, status, remaining) = got;
            return Err(format!("order {id} is {status} with {remaining} remaining"));
        }
        let got = lots(&order.filled_quantity)?;
        match filled {
            Some(expected) if expected != got => {
                Err(format!("expected {expected} filled, got {got}"))
            }
            _ => Ok(()),
        }
    }

    async fn book(&mut self, book: &BookRow) -> Result<(), ClientError> {
        let Some(market) = self.shared.stage.markets.get(self.played.market.0) else {
            return Ok(());
        };
        let Some(key) = self.shared.stage.keys.first() else { return Ok(()) };
        for outcome in [Outcome::Yes, Outcome::No] {
            let path = format!(
                "/trading/books/{market}/depth?outcome={}&levels={LEVELS_SHOWN_MAX}",
                outcome.id()
            );
            let ask =
                Ask { method: Method::GET, path: &path, key, idempotency_key: None, body: None };
            let reply = self.ask(Kind::Depth, &ask).await?;
            let verdict = match refusal(&reply, StatusCode::OK) {
                Some(says) => Err(says),
                None => read::<DepthAnswer>(&reply.body)
                    .and_then(|got| compare::book(book, outcome, &got)),
            };
            if let Err(says) = verdict {
                self.differ(Subject::Book, book.after_line, format!("{}: {says}", book.market));
            }
        }
        self.played.counts.books += 1;
        Ok(())
    }

    async fn ask(&mut self, kind: Kind, ask: &Ask<'_>) -> Result<Reply, ClientError> {
        let reply = self.connection.ask(ask).await?;
        self.played.latencies.record(kind, reply.took);
        self.played.counts.repeats += u64::from(reply.repeats);
        if kind != Kind::Depth {
            self.played.counts.commands += 1;
        }
        Ok(reply)
    }

    fn parties(&self, line: &FlowLine) -> Option<(&'a str, &'a ApiKey)> {
        let stage = &self.shared.stage;
        Some((stage.markets.get(line.market.0)?, stage.keys.get(line.account.0)?))
    }

    fn fills(&self) -> Option<&'a ExpectedFills> {
        self.shared.expectations.fills.as_ref()
    }

    fn differ(&mut self, subject: Subject, line: LineNo, says: String) {
        self.played.differences.add(subject, Some(line), says);
    }
}

/// The text of a reply whose status is not the expected one.
pub fn refusal(reply: &Reply, expected: StatusCode) -> Option<String> {
    if reply.status == expected {
        return None;
    }
    let says = read::<Problem>(&reply.body).map_or_else(
        |unreadable| unreadable,
        |problem| format!("{} {}", problem.code, problem.detail),
    );
    Some(format!("{} {says}", reply.status.as_u16()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_are_written_in_the_interface_s_words() {
        let order = PlacedOrder {
            wording: exchange::command::Wording {
                outcome: Outcome::No,
                side: exchange::command::Side::Sell,
            },
            price: exchange::units::Tick::new(5).unwrap(),
            quantity: Lots::new(2_500_000),
            time_in_force: TimeInForce::ImmediateOrCancel,
        };
        assert_eq!(
            serde_json::to_string(&OrderBody::of("m", &order)).unwrap(),
            concat!(
                r#"{"marketId":"m","outcomeId":"no","side":"SELL","orderType":"LIMIT","#,
                r#""price":"0.05","quantity":"2.5","timeInForce":"IOC"}"#
            )
        );
    }

    #[test]
    fn a_refusal_shows_its_code() {
        let reply = |status, body: &'static str| Reply {
            replayed: false,
            status,
            body: Bytes::from_static(body.as_bytes()),
            took: std::time::Duration::ZERO,
            repeats: 0,
        };
        let problem = r#"{"code":"INSUFFICIENT_FUNDS","detail":"short","status":422}"#;
        let refused = reply(StatusCode::UNPROCESSABLE_ENTITY, problem);
        assert_eq!(refusal(&refused, StatusCode::OK).unwrap(), "422 INSUFFICIENT_FUNDS short");
        assert!(refusal(&reply(StatusCode::OK, "{}"), StatusCode::OK).is_none());
        let broken = reply(StatusCode::BAD_GATEWAY, "<html>");
        assert!(refusal(&broken, StatusCode::OK).unwrap().starts_with("502 unreadable"));
    }
}
