//! The page of `admin top`.

use std::time::Duration;

use ratatui::crossterm::event::{self, Event, KeyCode, KeyModifiers};
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Style, Stylize};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Paragraph, Row, Table};
use ratatui::{DefaultTerminal, Frame};
use serde_json::Value;

use super::super::session::AdminError;
use super::super::table::cell;

/// Records behind which an archive is worth a look: more than a second's worth.
const BEHIND_MUCH: u64 = 10_000;
/// What is shown with how long it took: words, and members.
const SPREADS: [(&str, &str); 6] = [
    ("reads", "requests.reads"),
    ("writes", "requests.writes"),
    ("cancels", "requests.cancels"),
    ("queue", "steps.queue"),
    ("append", "steps.append"),
    ("apply", "steps.apply"),
];
/// What is shown of the venue: words, and members.
const VENUE: [(&str, &str); 13] = [
    ("records", "headSequence"),
    ("records/s", "recordsPerSecond"),
    ("refused/s", "refusedPerSecond"),
    ("open orders", "openOrders"),
    ("users", "users"),
    ("markets", "markets"),
    ("connections", "connections"),
    ("streams", "streams"),
    ("read lag", "readLagRecords"),
    ("memory", "memoryBytes"),
    ("disk free", "diskFreeBytes"),
    ("archive behind", "archiveBehindRecords"),
    ("bucket behind", "archiveS3BehindRecords"),
];
/// The columns of the books.
const BOOKS: [&str; 7] =
    ["market", "status", "bestBid", "bestAsk", "lastPrice", "volume24h", "openInterest"];

/// The terminal, which shows the page until this is dropped.
pub(super) struct Screen {
    terminal: DefaultTerminal,
    url: String,
    told: Value,
}

impl Drop for Screen {
    fn drop(&mut self) {
        ratatui::restore();
    }
}

impl Screen {
    /// Takes over the terminal.
    ///
    /// # Errors
    /// It cannot be set up.
    pub(super) fn open(url: &str) -> Result<Screen, AdminError> {
        let terminal = ratatui::try_init().map_err(|error| failed(&error))?;
        let mut screen = Screen { terminal, url: url.to_owned(), told: Value::Null };
        screen.say("looking")?;
        Ok(screen)
    }

    /// Whether the person has asked to leave.
    ///
    /// # Errors
    /// The terminal is gone.
    pub(super) fn is_left(&mut self) -> Result<bool, AdminError> {
        while event::poll(Duration::ZERO).map_err(|error| failed(&error))? {
            match event::read().map_err(|error| failed(&error))? {
                Event::Key(key) => match key.code {
                    KeyCode::Char('q') | KeyCode::Esc => return Ok(true),
                    KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => {
                        return Ok(true);
                    }
                    _ => {}
                },
                Event::Resize(..) => self.draw("")?,
                _ => {}
            }
        }
        Ok(false)
    }

    /// Shows a look.
    ///
    /// # Errors
    /// The terminal is gone.
    pub(super) fn show(&mut self, told: &Value) -> Result<(), AdminError> {
        self.told = told.clone();
        self.draw("")
    }

    /// Says something beside the last look.
    ///
    /// # Errors
    /// The terminal is gone.
    pub(super) fn say(&mut self, what: &str) -> Result<(), AdminError> {
        self.draw(what)
    }

    fn draw(&mut self, said: &str) -> Result<(), AdminError> {
        let (url, told) = (&self.url, &self.told);
        let drawn = self.terminal.draw(|frame| page(frame, url, told, said));
        drawn.map(drop).map_err(|error| failed(&error))
    }
}

fn failed(error: &std::io::Error) -> AdminError {
    AdminError::Local(format!("the terminal: {error}"))
}

fn page(frame: &mut Frame<'_>, url: &str, told: &Value, said: &str) {
    let middle = u16::try_from(VENUE.len()).unwrap_or(u16::MAX).saturating_add(2);
    let areas = [Constraint::Length(1), Constraint::Length(middle), Constraint::Min(3)];
    let [head, middle, below] = Layout::vertical(areas).areas(frame.area());
    let sides = [Constraint::Percentage(58), Constraint::Percentage(42)];
    let [left, right] = Layout::horizontal(sides).areas(middle);
    frame.render_widget(Paragraph::new(title(url, told, said)), head);
    spreads(frame, left, told);
    venue(frame, right, told);
    books(frame, below, told);
}

/// The first line: which venue, how it is, and what was said.
fn title<'a>(url: &'a str, told: &Value, said: &'a str) -> Line<'a> {
    let state = cell(told, "state");
    let state = if state == "ready" { state.green() } else { state.red() };
    let mut words =
        vec![Span::from("openoutcry ").bold(), Span::from(url), Span::from("  "), state];
    for warning in told.get("warnings").and_then(Value::as_array).into_iter().flatten() {
        words.push(format!("  {}", warning.as_str().unwrap_or_default()).red());
    }
    words.push(format!("  {said}").yellow());
    words.push("  q ends".dim());
    Line::from(words)
}

fn spreads(frame: &mut Frame<'_>, area: Rect, told: &Value) {
    let rows = SPREADS.map(|(name, path)| {
        let part = |member: &str| cell(told, &format!("{path}.{member}"));
        let time = |member: &str| millis(&part(member));
        Row::new([
            name.to_owned(),
            part("perSecond"),
            time("p50Microseconds"),
            time("p99Microseconds"),
        ])
    });
    let head = Row::new(["", "a second", "p50 ms", "p99 ms"]).style(Style::new().bold());
    let table = Table::new(rows, [Constraint::Fill(1); 4]).header(head);
    frame
        .render_widget(table.block(Block::bordered().title("requests, and a command's way")), area);
}

fn venue(frame: &mut Frame<'_>, area: Rect, told: &Value) {
    let rows = VENUE.map(|(name, member)| {
        let value = cell(told, member);
        let count = value.parse::<u64>().ok();
        let shown = if member.ends_with("Bytes") { count.map(bytes) } else { None };
        let row = Row::new([name.to_owned(), shown.unwrap_or(value)]);
        let late = member.ends_with("BehindRecords") && count.is_some_and(|n| n > BEHIND_MUCH);
        if late { row.red() } else { row }
    });
    let table = Table::new(rows, [Constraint::Fill(1); 2]);
    frame.render_widget(table.block(Block::bordered().title("venue")), area);
}

fn books(frame: &mut Frame<'_>, area: Rect, told: &Value) {
    let books = told.get("books").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let rows = books.iter().map(|book| Row::new(BOOKS.map(|member| cell(book, member))));
    let head = ["market", "status", "bid", "ask", "last", "24 h", "open"];
    let head = Row::new(head).style(Style::new().bold());
    let widths = [Constraint::Fill(3), Constraint::Length(9), Constraint::Length(5)];
    let widths = widths.into_iter().chain([Constraint::Length(5); 2]);
    let widths = widths.chain([Constraint::Fill(1); 2]);
    let table = Table::new(rows, widths).header(head);
    frame.render_widget(table.block(Block::bordered().title("books of yes")), area);
}

/// Microseconds as milliseconds.
fn millis(micros: &str) -> String {
    match micros.parse::<u64>() {
        Ok(u64::MAX) => "beyond".to_owned(),
        Ok(micros) => format!("{}.{:03}", micros / 1000, micros % 1000),
        Err(_) => "-".to_owned(),
    }
}

/// Bytes in the largest unit of which there is one.
fn bytes(count: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut units = UNITS.iter().enumerate().rev().map(|(power, unit)| {
        (count.checked_shr(u32::try_from(power).unwrap_or(0).saturating_mul(10)).unwrap_or(0), unit)
    });
    let found = units.find(|(whole, _)| *whole > 0);
    found.map_or_else(|| "0 B".to_owned(), |(whole, unit)| format!("{whole} {unit}"))
}

#[cfg(test)]
#[path = "../../../../tests/unit/cli/admin/top/screen.rs"]
mod tests;
