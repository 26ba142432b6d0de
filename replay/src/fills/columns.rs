//! Fills as typed columns of a Parquet file. Rows are collected into groups of bounded size and
//! written column by column, so memory does not grow with the number of rows.

use std::io::Write;
use std::sync::Arc;

use parquet::basic::Compression;
use parquet::column::writer::ColumnWriter;
use parquet::data_type::{ByteArray, FixedLenByteArray};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use uuid::Uuid;

use super::row::Row;

/// Rows per group: a few megabytes in memory, and small enough for readers to skip groups by their
/// statistics.
const GROUP_ROWS: usize = 1 << 14;
/// Rows passed to a column's encoder at once.
const BATCH_ROWS: usize = 1 << 10;

/// Extracts a column's value from a row.
enum Pick {
    /// A 32-bit number.
    Small(fn(&Row) -> i32),
    /// A 64-bit number.
    Long(fn(&Row) -> i64),
    /// An id.
    Id(fn(&Row) -> Uuid),
    /// One of a few words.
    Word(fn(&Row) -> &'static str),
}

/// A column: its name, its type in Parquet's schema language, and its value.
type Column = (&'static str, &'static str, Pick);

const ID: &str = "fixed_len_byte_array(16) {} (UUID)";
/// Ticks of 0.01.
const PRICE: &str = "int32 {} (DECIMAL(3,2))";
/// Lots of 0.000001 contract.
const LOTS: &str = "int64 {} (DECIMAL(18,6))";
/// Money units of 0.00000001.
const MONEY: &str = "int64 {} (DECIMAL(18,8))";
const TIME: &str = "int64 {} (TIMESTAMP(MILLIS,true))";
const WORD: &str = "binary {} (STRING)";
const PLAIN: &str = "int64 {}";

/// The columns, with the names of the CSV form.
const COLUMNS: [Column; 18] = [
    ("sequence", PLAIN, Pick::Long(|row| whole(row.sequence.get()))),
    ("time", TIME, Pick::Long(|row| row.time.get())),
    ("trade_id", ID, Pick::Id(|row| row.trade.uuid())),
    ("market_id", ID, Pick::Id(|row| row.market.uuid())),
    ("yes_price", PRICE, Pick::Small(|row| i32::from(row.yes_price.get()))),
    ("quantity", LOTS, Pick::Long(|row| whole(row.quantity.get()))),
    ("maker_order_id", ID, Pick::Id(|row| row.maker.order.uuid())),
    ("maker_user_id", ID, Pick::Id(|row| row.maker.user.uuid())),
    ("maker_outcome", WORD, Pick::Word(|row| row.maker.wording.outcome.id())),
    ("maker_side", WORD, Pick::Word(|row| row.maker.wording.side.name())),
    ("maker_price", PRICE, Pick::Small(|row| i32::from(row.maker.price.get()))),
    ("maker_fee", MONEY, Pick::Long(|row| row.maker.fee.get())),
    ("taker_order_id", ID, Pick::Id(|row| row.taker.order.uuid())),
    ("taker_user_id", ID, Pick::Id(|row| row.taker.user.uuid())),
    ("taker_outcome", WORD, Pick::Word(|row| row.taker.wording.outcome.id())),
    ("taker_side", WORD, Pick::Word(|row| row.taker.wording.side.name())),
    ("taker_price", PRICE, Pick::Small(|row| i32::from(row.taker.price.get()))),
    ("taker_fee", MONEY, Pick::Long(|row| row.taker.fee.get())),
];

/// Sequence numbers have 48 bits and a fill at most an order's lots: both fit.
fn whole(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// The file's schema.
fn schema() -> String {
    let mut text = "message fills {".to_owned();
    for (name, kind, _) in &COLUMNS {
        text.extend([format!(" required {};", kind.replacen("{}", name, 1))]);
    }
    text + " }"
}

/// A Parquet file being written.
pub struct Sheet<W: Write + Send> {
    file: SerializedFileWriter<W>,
    group: Vec<Row>,
}

impl<W: Write + Send> Sheet<W> {
    /// An empty file.
    pub fn new(out: W) -> Result<Sheet<W>, ParquetError> {
        let schema = Arc::new(parse_message_type(&schema())?);
        let version = concat!("openoutcry-replay version ", env!("CARGO_PKG_VERSION"));
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_created_by(version.to_owned())
            .build();
        let file = SerializedFileWriter::new(out, schema, Arc::new(properties))?;
        Ok(Sheet { file, group: Vec::new() })
    }

    /// Adds a row.
    pub fn push(&mut self, row: Row) -> Result<(), ParquetError> {
        self.group.push(row);
        if self.group.len() >= GROUP_ROWS { self.write_group() } else { Ok(()) }
    }

    /// Writes the remaining rows and the footer; returns the output.
    pub fn finish(mut self) -> Result<W, ParquetError> {
        if !self.group.is_empty() {
            self.write_group()?;
        }
        self.file.into_inner()
    }

    fn write_group(&mut self) -> Result<(), ParquetError> {
        let mut group = self.file.next_row_group()?;
        for (name, _, pick) in &COLUMNS {
            let missing = || ParquetError::General(format!("there is no column {name}"));
            let mut column = group.next_column()?.ok_or_else(missing)?;
            for rows in self.group.chunks(BATCH_ROWS) {
                write(column.untyped(), pick, rows)?;
            }
            column.close()?;
        }
        group.close()?;
        self.group.clear();
        Ok(())
    }
}

/// Passes the values of some rows to a column's encoder.
fn write(column: &mut ColumnWriter<'_>, pick: &Pick, rows: &[Row]) -> Result<(), ParquetError> {
    let written = match (column, pick) {
        (ColumnWriter::Int32ColumnWriter(column), Pick::Small(pick)) => {
            column.write_batch(&rows.iter().map(pick).collect::<Vec<_>>(), None, None)
        }
        (ColumnWriter::Int64ColumnWriter(column), Pick::Long(pick)) => {
            column.write_batch(&rows.iter().map(pick).collect::<Vec<_>>(), None, None)
        }
        (ColumnWriter::FixedLenByteArrayColumnWriter(column), Pick::Id(pick)) => {
            let bytes = |row| FixedLenByteArray::from(pick(row).as_bytes().to_vec());
            column.write_batch(&rows.iter().map(bytes).collect::<Vec<_>>(), None, None)
        }
        (ColumnWriter::ByteArrayColumnWriter(column), Pick::Word(pick)) => {
            let bytes = |row| ByteArray::from(pick(row));
            column.write_batch(&rows.iter().map(bytes).collect::<Vec<_>>(), None, None)
        }
        _ => Err(ParquetError::General("a column is not of its type".to_owned())),
    };
    written.map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fills::row::HEADINGS;

    #[test]
    fn columns_are_named_as_in_the_comma_separated_form() {
        let names: Vec<&str> = COLUMNS.iter().map(|(name, ..)| *name).collect();
        assert_eq!(names.join(","), HEADINGS);
        assert!(parse_message_type(&schema()).is_ok());
    }
}
