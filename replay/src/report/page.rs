//! The HTML page: a single file without scripts or external resources. All user-supplied text is
//! escaped, and the page's content security policy blocks what would slip through.

use std::fmt;
use std::io::{self, Write};

use exchange::ids::UserNo;
use exchange::units::{Lots, TimeMs};

use super::Checked;
use super::depth::{DepthSnapshot, Level};
use super::facts::{Facts, Fill, Share, Side, Subject};
use crate::answer::Failure;
use crate::moment::when;
use crate::register::spoken;

const STYLE: &str = include_str!("page.css");
/// Users in the table of largest traders.
const SHARES_SHOWN: usize = 10;
/// Levels of a book in the table below its chart.
const LEVELS_SHOWN: usize = 5;

/// User-supplied text, escaped for the page.
pub struct Text<'a>(pub &'a str);

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for c in self.0.chars() {
            match c {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                c if c.is_control() => f.write_str(" ")?,
                c => write!(f, "{c}")?,
            }
        }
        Ok(())
    }
}

/// A number with thousands separators.
pub fn grouped(number: impl fmt::Display) -> String {
    let text = number.to_string();
    let (whole, rest) = text.split_at(text.find('.').unwrap_or(text.len()));
    let (sign, digits) = whole.split_at(usize::from(whole.starts_with('-')));
    let mut out = sign.to_owned();
    for (index, digit) in digits.char_indices() {
        if index > 0 && digits.len().saturating_sub(index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out + rest
}

/// Begins the page: its subject, and what was verified.
pub fn head(
    out: &mut impl Write,
    subject: &Subject,
    facts: &Facts,
    checked: &Checked,
) -> Result<(), Failure> {
    let question = Text(&subject.draft.questions.en);
    let listing = facts.register.listing(subject.no)?;
    write!(
        out,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
         style-src 'unsafe-inline'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>Audit report: {question}</title>\n<style>\n{STYLE}</style>\n</head>\n\
         <body>\n<main>\n\
         <p class=\"kind\">Audit report on one market</p>\n<h1>{question}</h1>\n\
         <p>Market <span class=\"id\">{}</span>, {} as of record {}.</p>\n\
         <div class=\"verdict\"><p><strong>Verified.</strong> All {} records of the journal were \
         read and carried out again, in {} blocks, while this page was made. Every block's \
         checksum and its link to the block before it were right, and no record was missing. \
         What the records came to, every fill among it, is what the blocks recorded at the \
         time, up to record {}. After every block everything that must always be true of the \
         venue was true. The market's own money and contracts balanced after each of the {} \
         records that touched it.</p></div>\n",
        listing.id,
        listing.status.name(),
        checked.sequence,
        grouped(checked.sequence),
        grouped(checked.blocks),
        grouped(checked.confirmed),
        grouped(facts.proof.sums().compared),
    )?;
    let rows = [
        ("Journal", Text(&checked.journal).to_string()),
        ("Last record", format!("{}, {} UTC", grouped(checked.sequence), when(checked.time))),
        ("Hash of the last block", format!("<code>{}</code>", checked.head)),
        ("Hash of the results", format!("<code>{}</code>", checked.results)),
        ("Digest of the state", format!("<code>{}</code>", checked.state)),
        ("Tool", concat!("openoutcry-replay ", env!("CARGO_PKG_VERSION")).to_owned()),
    ];
    section(out, "Journal")?;
    pairs(out, "What was read, and the fingerprints by which to know it again", &rows)?;
    Ok(writeln!(
        out,
        "<p>Two copies of one journal have the same hash; whoever carries out the same records \
         gets the same results and the same digest. All times are UTC. A number called a record \
         is the place in the journal at which something happened.</p>"
    )?)
}

/// The question and the events in the market's life.
pub fn life(out: &mut impl Write, subject: &Subject, facts: &Facts) -> io::Result<()> {
    let draft = &subject.draft;
    section(out, "The market")?;
    let mut rows = vec![("Question", Text(&draft.questions.en).to_string())];
    if !draft.descriptions.en.is_empty() {
        rows.push(("How it is decided", Text(&draft.descriptions.en).to_string()));
    }
    let [yes, no] = [&draft.yes_text.en, &draft.no_text.en].map(|text| Text(text).to_string());
    if !(yes.is_empty() && no.is_empty()) {
        rows.push(("Outcomes", format!("yes: {yes}; no: {no}")));
    }
    let deadline = draft.deadline;
    let none = deadline == TimeMs::MAX;
    rows.push(("Deadline", if none { "none".to_owned() } else { when(deadline) }));
    pairs(out, "The market as last revised", &rows)?;
    let headings = [("record", true), ("time", false), ("what happened", false)];
    let (first, left_out, last) = facts.turns.parts();
    open_table(out, "Its life", &headings, "")?;
    for (index, turn) in first.iter().chain(last).enumerate() {
        if index == first.len() && left_out > 0 {
            gap(out, left_out, headings.len())?;
        }
        let (sequence, time) = (turn.at.sequence, when(turn.at.time));
        writeln!(
            out,
            "<tr><td class=\"n\">{sequence}</td><td class=\"t\">{time}</td><td>{}</td></tr>",
            Text(&turn.what)
        )?;
    }
    close_table(out)
}

/// The chart of price and volume.
pub fn prices(out: &mut impl Write, facts: &Facts, chart: Option<&str>) -> io::Result<()> {
    section(out, "Price and volume")?;
    let Some(chart) = chart else {
        return writeln!(out, "<p>No order was ever placed in this market.</p>");
    };
    let span = facts.traded.map_or_else(String::new, |(first, last)| {
        format!(
            "From {} (record {}) to {} (record {}). ",
            when(first.time),
            first.sequence,
            when(last.time),
            last.sequence
        )
    });
    let width = duration(facts.series.width());
    writeln!(
        out,
        "<figure>{chart}<figcaption>{span}Each candle covers {width}: the thin line reaches from \
         the lowest to the highest price traded, the box from the first to the last (white: the \
         price of yes rose, dark: it fell). The pale band lies between the best bid and the best \
         ask at the end of the step. Below: contracts traded.</figcaption></figure>"
    )
}

fn duration(ms: i64) -> String {
    let units = [(86_400_000, "day"), (3_600_000, "hour"), (60_000, "minute"), (1_000, "second")];
    let unit = units.into_iter().find(|(unit, _)| ms >= *unit && ms % unit == 0);
    let (length, name) = unit.unwrap_or((1, "millisecond"));
    let count = ms / length;
    format!("{count} {name}{}", if count == 1 { "" } else { "s" })
}

/// The book at the chosen moments, each with its chart.
pub fn books(out: &mut impl Write, snapshots: &[(&DepthSnapshot, String)]) -> io::Result<()> {
    section(out, "Depth at chosen moments")?;
    if snapshots.is_empty() {
        return writeln!(out, "<p>No order was ever placed in this market.</p>");
    }
    writeln!(
        out,
        "<p class=\"lead\">Left, blue: contracts that could have been sold at a price or better. \
         Right, orange: contracts that could have been bought. Prices of no are the \
         complements.</p>\n\
         <div class=\"books\">"
    )?;
    for (snapshot, chart) in snapshots {
        let DepthSnapshot { label, sequence, time, bids, asks } = snapshot;
        writeln!(out, "<figure><h3>{}</h3>{chart}<figcaption>", Text(label))?;
        writeln!(
            out,
            "After record {sequence}, {}. {}</figcaption>",
            when(*time),
            best(bids, asks)
        )?;
        levels(out, bids, asks)?;
        writeln!(out, "</figure>")?;
    }
    writeln!(out, "</div>")
}

fn best(bids: &[Level], asks: &[Level]) -> String {
    let orders = |side: &[Level]| side.iter().map(|level| u64::from(level.orders)).sum::<u64>();
    let all = |side: &[Level]| side.last().map_or(Lots::ZERO, |level| level.reached);
    let side = |side: &[Level], one: &str| match side.first() {
        None => format!("no {one}s"),
        Some(level) => format!(
            "best {one} {}; in all {} in {}",
            level.price,
            counted(all(side), "contract"),
            counted(orders(side), "order")
        ),
    };
    format!("Bids: {}. Asks: {}.", side(bids, "bid"), side(asks, "ask"))
}

/// `1 order`, `2 orders`.
fn counted(count: impl fmt::Display, what: &str) -> String {
    let count = grouped(count);
    let s = if count == "1" { "" } else { "s" };
    format!("{count} {what}{s}")
}

fn levels(out: &mut impl Write, bids: &[Level], asks: &[Level]) -> io::Result<()> {
    let rows = bids.len().max(asks.len()).min(LEVELS_SHOWN);
    if rows == 0 {
        return Ok(());
    }
    let headings = [
        ("orders", true),
        ("contracts", true),
        ("bid", true),
        ("ask", false),
        ("contracts", true),
        ("orders", true),
    ];
    let caption = if rows == 1 { "The best price" } else { "The best prices" };
    open_table(out, caption, &headings, "")?;
    for row in 0..rows {
        let cells = |level: Option<&Level>| {
            level.map_or_else(Default::default, |level| {
                (level.orders.to_string(), grouped(level.quantity), level.price.to_string())
            })
        };
        let (orders, lots, price): (String, String, String) = cells(bids.get(row));
        write!(out, "<tr><td class=\"n\">{orders}</td><td class=\"n\">{lots}</td>")?;
        write!(out, "<td class=\"n\">{price}</td>")?;
        let (orders, lots, price) = cells(asks.get(row));
        write!(out, "<td>{price}</td><td class=\"n\">{lots}</td>")?;
        writeln!(out, "<td class=\"n\">{orders}</td></tr>")?;
    }
    close_table(out)
}

/// Counts, sums, largest traders, and the proof that the market's money balances.
pub fn totals(out: &mut impl Write, facts: &Facts, currency: &str) -> io::Result<()> {
    let totals = &facts.totals;
    section(out, "Totals")?;
    let takers = totals.shares.values().filter(|share| !share.taken.is_zero()).count();
    let makers = totals.shares.values().filter(|share| !share.made.is_zero()).count();
    let down = totals.volume.saturating_minus(totals.taken_up);
    let rows = [
        ("Contracts traded", grouped(totals.volume)),
        ("&emsp;incoming order bet on yes", grouped(totals.taken_up)),
        ("&emsp;incoming order bet on no", grouped(down)),
        ("Fills", grouped(facts.fills.count())),
        ("Notional (price of yes times contracts)", money(totals.notional, currency)),
        ("Users whose incoming orders traded (takers)", grouped(takers)),
        ("Users whose resting orders traded (makers)", grouped(makers)),
        ("Orders accepted", grouped(totals.accepted)),
        ("Orders refused", grouped(totals.refused)),
        ("Orders cancelled with something left of them", grouped(totals.cancelled)),
    ];
    pairs(out, "All of the market's life", &rows)?;
    shares(out, facts)?;
    section(out, "Money and contracts of this market")?;
    let sums = facts.proof.sums();
    let rows = [
        ("Taken from accounts for contracts and fees", money(sums.paid_in, currency)),
        ("Given to accounts", money(sums.paid_out, currency)),
        ("&emsp;of that for contracts held to the end", money(sums.settled, currency)),
        ("Fees, the operator's", money(sums.fees, currency)),
        ("Taken less given and fees", money(sums.left, currency)),
        ("Yes contracts outstanding", grouped(sums.yes)),
        ("No contracts outstanding", grouped(sums.no)),
    ];
    pairs(
        out,
        "Conservation: taken less given and fees is 1.00 for every pair outstanding",
        &rows,
    )?;
    writeln!(
        out,
        "<p>A yes and a no contract together pay 1.00, whatever happens. So after every record \
         there must be as many yes as no contracts, and the accounts must have paid in, on \
         balance and besides fees, 1.00 for each pair. That was so after each of the {} records \
         that touched the market; it was added up from what the records did, apart from the \
         exchange's own books. Where contracts of the market's event were converted, the \
         venue counts as a \
         holder: it pays for the yes contracts that others got, and keeps the no \
         contracts.</p>",
        grouped(sums.compared)
    )
}

fn money(amount: impl fmt::Display, currency: &str) -> String {
    format!("{} {}", grouped(amount), Text(currency))
}

fn shares(out: &mut impl Write, facts: &Facts) -> io::Result<()> {
    let volume = |share: &Share| share.taken.get().saturating_add(share.made.get());
    let mut shares: Vec<(&UserNo, &Share)> = facts.totals.shares.iter().collect();
    shares.sort_by_key(|(user, share)| (std::cmp::Reverse(volume(share)), **user));
    let headings = [
        ("user", false),
        ("taken (incoming)", true),
        ("made (resting)", true),
        ("sides of fills", true),
    ];
    let shown = shares.len().min(SHARES_SHOWN);
    let caption = format!("Who traded most: {shown} of {} users, in contracts", shares.len());
    open_table(out, &caption, &headings, "")?;
    for (user, share) in shares.into_iter().take(SHARES_SHOWN) {
        let name = facts.register.name(*user);
        let [taken, made] = [share.taken, share.made].map(grouped);
        write!(out, "<tr><td>{}</td><td class=\"n\">{taken}</td>", Text(&name))?;
        writeln!(
            out,
            "<td class=\"n\">{made}</td><td class=\"n\">{}</td></tr>",
            grouped(share.fills)
        )?;
    }
    close_table(out)
}

/// Columns of the table of fills.
const FILL_HEADINGS: [(&str, bool); 12] = [
    ("record", true),
    ("time", false),
    ("yes", true),
    ("contracts", true),
    ("taker", false),
    ("side", false),
    ("order", true),
    ("fee", true),
    ("maker", false),
    ("side", false),
    ("order", true),
    ("fee", true),
];

/// Begins the table of fills.
pub fn begin_fills(out: &mut impl Write, all: bool, facts: &Facts) -> io::Result<()> {
    section(out, "Fills")?;
    let count = facts.fills.count();
    let (_, left_out, _) = facts.fills.parts();
    let shown = if all { 0 } else { left_out };
    let caption = match shown {
        0 => format!("All {} fills", grouped(count)),
        hidden => format!("{} of {} fills", grouped(count.saturating_sub(hidden)), grouped(count)),
    };
    writeln!(
        out,
        "<p>The taker's order came in and met the maker's, which was resting; the price is the \
         maker's. An order goes by the record that placed it: <code>openoutcry-replay \
         explain</code> tells its life.</p>"
    )?;
    open_table(out, &caption, &FILL_HEADINGS, "wide")
}

/// One row of the table of fills.
pub fn fill(out: &mut impl Write, fill: &Fill) -> io::Result<()> {
    let (sequence, time) = (fill.at.sequence, when(fill.at.time));
    write!(out, "<tr><td class=\"n\">{sequence}</td><td class=\"t\">{time}</td>")?;
    write!(
        out,
        "<td class=\"n\">{}</td><td class=\"n\">{}</td>",
        fill.price,
        grouped(fill.quantity)
    )?;
    for Side { order, name, wording, price, fee } in [&fill.taker, &fill.maker] {
        write!(out, "<td>{}</td><td>{} {price}</td>", Text(name), spoken(*wording))?;
        write!(out, "<td class=\"n\">{}</td><td class=\"n\">{}</td>", order.0, grouped(fee))?;
    }
    writeln!(out, "</tr>")
}

/// The first and the last fills.
pub fn some_fills(out: &mut impl Write, facts: &Facts) -> io::Result<()> {
    let (first, left_out, last) = facts.fills.parts();
    first.iter().try_for_each(|row| fill(out, row))?;
    if left_out > 0 {
        gap(out, left_out, FILL_HEADINGS.len())?;
    }
    last.into_iter().try_for_each(|row| fill(out, row))
}

/// Ends the table of fills, and the page.
pub fn end(out: &mut impl Write, checked: &Checked, market: &str, all: bool) -> io::Result<()> {
    close_table(out)?;
    let journal = Text(&checked.journal);
    if !all {
        writeln!(
            out,
            "<p>To have every fill here, make the report with <code>--all-fills</code>; to have \
             them as a table for other programs, see below.</p>"
        )?;
    }
    section(out, "How to check this page")?;
    writeln!(
        out,
        "<p>Nothing here need be believed. With the journal at hand:</p>\n\
         <pre class=\"short\">openoutcry-replay verify {journal}\n\
         openoutcry-replay fills {journal} --market {market} --format csv\n\
         openoutcry-replay book {journal} {market} --at RECORD\n\
         openoutcry-replay explain {journal} ORDER</pre>\n</main>\n</body>\n</html>"
    )
}

fn section(out: &mut impl Write, title: &str) -> io::Result<()> {
    writeln!(out, "<h2>{title}</h2>")
}

/// A table of names and values; both are HTML already.
fn pairs(out: &mut impl Write, caption: &str, rows: &[(&str, String)]) -> io::Result<()> {
    writeln!(out, "<table class=\"short\"><caption>{caption}</caption><tbody>")?;
    for (name, value) in rows {
        let number = value.starts_with(|c: char| c.is_ascii_digit() || c == '-');
        let class = if number && !value.contains(':') { " class=\"n\"" } else { "" };
        writeln!(out, "<tr><th scope=\"row\">{name}</th><td{class}>{value}</td></tr>")?;
    }
    close_table(out)
}

fn open_table(
    out: &mut impl Write,
    caption: &str,
    headings: &[(&str, bool)],
    class: &str,
) -> io::Result<()> {
    write!(out, "<table class=\"{class}\"><caption>{caption}</caption><thead><tr>")?;
    for (heading, number) in headings {
        let class = if *number { " class=\"n\"" } else { "" };
        write!(out, "<th scope=\"col\"{class}>{heading}</th>")?;
    }
    writeln!(out, "</tr></thead><tbody>")
}

fn close_table(out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "</tbody></table>")
}

fn gap(out: &mut impl Write, left_out: u64, columns: usize) -> io::Result<()> {
    let left_out = grouped(left_out);
    writeln!(out, "<tr class=\"gap\"><td colspan=\"{columns}\">{left_out} left out here</td></tr>")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_others_are_harmless() {
        let text = Text("<script>alert('1 & \"2\"')</script>\u{7}").to_string();
        let harmless = "&lt;script&gt;alert(&#39;1 &amp; &quot;2&quot;&#39;)&lt;/script&gt; ";
        assert_eq!(text, harmless);
    }

    #[test]
    fn thousands_stand_apart() {
        for (number, text) in
            [("1", "1"), ("1000", "1,000"), ("-123456.5000", "-123,456.5000"), ("-12", "-12")]
        {
            assert_eq!(grouped(number), text);
        }
        assert_eq!(duration(5_000), "5 seconds");
        assert_eq!(duration(3_600_000), "1 hour");
    }
}
