//! `fills`: every trade of a journal, one row each, as its parties saw it.

mod columns;
mod row;

use std::io::{self, BufWriter, Write};
use std::path::Path;

use clap::ValueEnum;
use exchange::Exchange;
use exchange::command::Record;
use exchange::effect::{Effect, Trade};
use exchange::ids::TradeId;
use serde_json::json;

use crate::answer::{Answer, Failure};
use crate::moment::Moment;
use crate::newfile::NewFile;
use crate::pass::{Listener, pass};
use crate::reference::Reference;
use crate::register::Register;
use crate::source::Source;
use columns::Sheet;
use row::{HEADINGS, Party, Row, table_headings};

/// Help text for the columns.
pub const COLUMNS_HELP: &str = "\
Columns (csv, parquet; ndjson nests the two parties, table shows the same for people):
  sequence                            the record that made the trade             INT64
  time                                of that record, UTC                        TIMESTAMP(MILLIS)
  trade_id, market_id                 as clients saw them                        UUID
  yes_price                           of the trade, as a price of yes            DECIMAL(3,2)
  quantity                            contracts                                  DECIMAL(18,6)
  maker_order_id, maker_user_id       whose order was resting                    UUID
  maker_outcome, maker_side           in its owner's words: yes/no, BUY/SELL     STRING
  maker_price                         of the outcome that the owner named        DECIMAL(3,2)
  maker_fee                           what the fill cost its owner besides       DECIMAL(18,8)
  taker_...                           the same of the order that came in
In a Parquet file (last column) no value is null, a UUID has 16 bytes, and a decimal is the whole
number of ticks of 0.01 (INT32), of lots of 0.000001 contract or of money units of 0.00000001
(INT64); Snappy, at most 16,384
rows a group.

Examples:
  openoutcry-replay fills journal.blocks --user 0198f3a1-... --from 2026-08-10T00:00:00Z
  openoutcry-replay fills journal.blocks --format csv > fills.csv
  openoutcry-replay fills journal.blocks --format parquet -o fills.parquet
  openoutcry-replay fills journal.blocks --json | jq -r .yes_price";

/// Format of the rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Columns for people, with one line of headings.
    Table,
    /// Comma-separated values with one line of headings.
    Csv,
    /// One JSON object a line.
    Ndjson,
    /// A Parquet file of typed columns; needs -o.
    Parquet,
}

/// A filter for fills; `None` matches all.
#[derive(Debug, Clone, Copy, Default)]
pub struct Wanted {
    /// Of this market.
    pub market: Option<Reference>,
    /// Of this user, on either side.
    pub user: Option<Reference>,
    /// Of this order, on either side.
    pub order: Option<Reference>,
    /// Not before.
    pub from: Option<Moment>,
    /// Not after.
    pub to: Option<Moment>,
}

/// The output of rows.
enum Out {
    /// Lines of text.
    Lines(Lines, Format),
    /// Typed columns.
    Columns(Box<Sheet<NewFile>>),
}

/// A text output.
enum Lines {
    Stdout(BufWriter<io::StdoutLock<'static>>),
    File(NewFile),
}

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Lines::Stdout(out) => out.write(bytes),
            Lines::File(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Lines::Stdout(out) => out.flush(),
            Lines::File(file) => file.flush(),
        }
    }
}

impl Out {
    fn open(file: Option<&Path>, format: Format) -> Result<Out, Failure> {
        let file = file.map(NewFile::create).transpose()?;
        let mut lines = match (file, format) {
            (Some(file), Format::Parquet) => {
                let sheet = Sheet::new(file).map_err(Failure::failed)?;
                return Ok(Out::Columns(Box::new(sheet)));
            }
            (None, Format::Parquet) => {
                return Err(Failure::Failed(
                    "USAGE: a Parquet file is not written to stdout".to_owned(),
                ));
            }
            (Some(file), _) => Lines::File(file),
            (None, _) => Lines::Stdout(BufWriter::new(io::stdout().lock())),
        };
        match format {
            Format::Csv => writeln!(lines, "{HEADINGS}")?,
            Format::Table => table_headings(&mut lines)?,
            Format::Ndjson | Format::Parquet => {}
        }
        Ok(Out::Lines(lines, format))
    }

    fn push(&mut self, row: Row) -> Result<(), Failure> {
        match self {
            Out::Columns(sheet) => sheet.push(row).map_err(Failure::failed)?,
            Out::Lines(out, Format::Csv) => row.csv(out)?,
            Out::Lines(out, Format::Ndjson) => row.ndjson(out)?,
            Out::Lines(out, _) => row.table(out)?,
        }
        Ok(())
    }

    /// Completes a file; does nothing more for a stream than flushing.
    fn finish(self) -> Result<(), Failure> {
        match self {
            Out::Columns(sheet) => sheet.finish().map_err(Failure::failed)?.finish(),
            Out::Lines(Lines::File(file), _) => file.finish(),
            Out::Lines(Lines::Stdout(mut out), _) => Ok(out.flush()?),
        }
    }
}

/// Writes rows as trades occur.
struct Rows {
    out: Out,
    written: u64,
    wanted: Wanted,
    register: Register,
    /// Whether the requested order was placed; only then does an empty result mean that it had no
    /// fills.
    order_seen: bool,
}

impl Rows {
    fn party(&self, trade: &Trade, taker: bool) -> Result<Party, Failure> {
        let party = if taker { trade.taker } else { trade.maker };
        let open_order = *self.register.open_order(party.order)?;
        let (order, user) = (open_order.id, self.register.person(party.user)?.id);
        let price = open_order.wording.yes_price(trade.price);
        Ok(Party { order, user, wording: open_order.wording, price, fee: party.fee })
    }

    fn wants(&self, parties: [&Party; 2]) -> bool {
        let Wanted { user, order, .. } = self.wanted;
        let any = |named: &dyn Fn(&Party) -> bool| parties.iter().any(|party| named(party));
        user.is_none_or(|user| any(&|party| user.names_user(party.user)))
            && order.is_none_or(|order| any(&|party| order.names_order(party.order)))
    }

    fn row(&mut self, record: &Record, trade: &Trade) -> Result<(), Failure> {
        let market = self.register.listing(trade.market)?.id;
        if self.wanted.market.is_some_and(|wanted| !wanted.names_market(market)) {
            return Ok(());
        }
        let (maker, taker) = (self.party(trade, false)?, self.party(trade, true)?);
        if !self.wants([&maker, &taker]) {
            return Ok(());
        }
        self.written = self.written.saturating_add(1);
        self.out.push(Row {
            sequence: record.sequence,
            time: record.time,
            trade: TradeId::of(record.time, record.sequence, trade.index),
            market,
            yes_price: trade.price,
            quantity: trade.quantity,
            maker,
            taker,
        })
    }

    /// A requested item that never existed is an error: an empty result would look like no fills.
    fn all_known(&self) -> Result<(), Failure> {
        if let Some(market) = self.wanted.market {
            self.register.find_market(market)?;
        }
        if let Some(user) = self.wanted.user {
            self.register.find_user(user)?;
        }
        match self.wanted.order {
            Some(order) if !self.order_seen => {
                Err(Failure::not_found(format!("{order} made no order by then")))
            }
            _ => Ok(()),
        }
    }
}

impl Listener for Rows {
    fn after(
        &mut self,
        _exchange: &Exchange,
        record: &Record,
        effects: &[Effect],
    ) -> Result<(), Failure> {
        let early = self.wanted.from.is_some_and(|from| from.is_after(record));
        for effect in effects {
            match effect {
                Effect::OrderAccepted { order, .. } => {
                    let id = order.id(record.time);
                    self.order_seen |= self.wanted.order.is_some_and(|named| named.names_order(id));
                }
                Effect::TradeMade(trade) if !early => self.row(record, trade)?,
                _ => {}
            }
            self.register.follow(record, effect);
        }
        Ok(())
    }
}

/// Writes the matching fills, each as soon as it occurs, to a new file or to stdout.
pub fn fills(
    path: &Path,
    wanted: Wanted,
    format: Format,
    file: Option<&Path>,
) -> Result<Answer, Failure> {
    let mut source = Source::open(path)?;
    let (out, register) = (Out::open(file, format)?, Register::default());
    let mut rows = Rows { out, written: 0, wanted, register, order_seen: false };
    let passed = pass(&mut source, wanted.to, file.is_none(), &mut rows);
    let known = passed.and_then(|_| rows.all_known());
    let Some(file) = file else {
        rows.out.finish()?;
        return known.map(|()| Answer::Streamed);
    };
    known?;
    rows.out.finish()?;
    let (file, rows) = (file.display().to_string(), rows.written);
    Ok(Answer::Fields(json!({ "ok": true, "file": file, "fills": rows })))
}
