//! Plays one market's commands in order. Commands of one account that follow each other may be sent
//! together; all else waits for the answers before it, because accounts' streams have no common
//! order, and a cancel needs the id that its order was given.

use std::sync::Arc;

use hyper::{Method, StatusCode};
use indicatif::ProgressBar;
use rustc_hash::FxHashMap;
use uuid::Uuid;

use crate::answers::{DepthAnswer, OrderAnswer, PlacedAnswer, lots, read};
use crate::compare::{self, Differences, LEVELS_SHOWN_MAX, Subject, Traded};
use crate::expect::{Expectations, ExpectedFills};
use crate::stage::Stage;
use crate::summary::{Kind, Latencies};
use crate::transport::{Command, OrderBody, Way};
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
    /// How commands get there.
    pub way: Way,
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
    let mut left = &lines[..];
    while let Some(first) = left.first() {
        // A book expected after an earlier line is the current book.
        while let Some(book) = books.next_if(|book| book.after_line < first.line) {
            if let Err(error) = script.book(book).await {
                return unplayed(script.played, Some(first), &error);
            }
        }
        let book_after = books.peek().map(|book| book.after_line);
        let (now, later) = left.split_at(script.together(left, book_after));
        if let Err(error) = script.commands(now).await {
            return unplayed(script.played, Some(first), &error);
        }
        left = later;
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

impl<'a> Script<'a> {
    /// How many of the lines can be sent together: those of one account before the next expected
    /// book, if the orders that they cancel are known. A cancel is not sent behind a placement: if
    /// a busy server refused the placement alone, it could not be retried in its place.
    fn together(&self, lines: &[FlowLine], book_after: Option<LineNo>) -> usize {
        let pairs = lines.iter().zip(lines.iter().skip(1));
        let more = |(before, line): &(&FlowLine, &FlowLine)| {
            line.account == before.account
                && book_after.is_none_or(|book| line.line <= book)
                && match (before.action, line.action) {
                    (_, Action::Place(_)) => true,
                    (Action::Place(_), Action::Cancel) => false,
                    (Action::Cancel, Action::Cancel) => {
                        self.played.orders.contains_key(&line.order)
                    }
                }
        };
        let depth = self.shared.way.depth();
        pairs.take_while(more).count().saturating_add(1).min(depth)
    }

    /// Sends commands of one account together, and compares their answers.
    async fn commands(&mut self, lines: &[FlowLine]) -> Result<(), ClientError> {
        let (mut asked, mut commands) = (Vec::new(), Vec::new());
        for line in lines {
            let Some(command) = self.command(line) else { continue };
            asked.push(line);
            commands.push(command);
        }
        if let Some(first) = asked.first()
            && let Some((_, key)) = self.parties(first)
        {
            let SharedPlay { way, target, .. } = self.shared;
            let by = (first.account, key);
            let replies = way.ask(&mut self.connection, target, by, &commands).await?;
            for (line, reply) in asked.iter().zip(replies) {
                self.answered(line, &reply);
            }
        }
        self.shared.progress.inc(lines.len() as u64);
        Ok(())
    }

    fn command(&mut self, line: &FlowLine) -> Option<Command<'a>> {
        let (market, _) = self.parties(line)?;
        if let Action::Place(order) = line.action {
            return Some(Command::Place { body: OrderBody::of(market, &order) });
        }
        let Some(accepted) = self.played.orders.get(&line.order) else {
            let says = format!("order {} was refused, so it cannot be cancelled", line.order.0);
            self.differ(Subject::Answer, line.line, says);
            return None;
        };
        Some(Command::Cancel { order_id: accepted.id.to_string() })
    }

    /// Compares the answer to a command.
    fn answered(&mut self, line: &FlowLine, reply: &Reply) {
        self.played.counts.commands += 1;
        match line.action {
            Action::Place(order) => {
                self.count(Kind::Place, reply);
                self.placed(line, order, reply);
            }
            Action::Cancel => {
                self.count(Kind::Cancel, reply);
                self.cancelled_by(line, reply);
            }
        }
    }

    fn placed(&mut self, line: &FlowLine, order: PlacedOrder, reply: &Reply) {
        let expected = self.fills().map(|fills| fills.of_line(line.line));
        let verdict = match refusal(reply, StatusCode::OK) {
            Some(says) => Err(says),
            None => read(&reply.body).and_then(|a| self.accepted(line, order, expected, &a)),
        };
        if let Err(says) = verdict {
            let owner = format!("order {}: {says}", line.order.0);
            self.differ(Subject::Answer, line.line, owner);
        }
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

    fn cancelled_by(&mut self, line: &FlowLine, reply: &Reply) {
        let Some(order) = self.played.orders.get_mut(&line.order) else { return };
        let accepted = *order;
        order.cancelled = true;
        let filled = self.fills().map(|fills| fills.filled(line.order));
        if let Err(says) = self.cancelled(&accepted, filled, reply) {
            let says = format!("cancel of order {}: {says}", line.order.0);
            self.differ(Subject::Answer, line.line, says);
        }
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
            let reply = self.connection.ask(&ask).await?;
            self.count(Kind::Depth, &reply);
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

    fn count(&mut self, kind: Kind, reply: &Reply) {
        self.played.latencies.record(kind, reply.took);
        self.played.counts.repeats += u64::from(reply.repeats);
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
    use bytes::Bytes;

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
