//! The text that the demo prints once it listens: users with their keys, and example `curl` lines.

use std::fmt::Write;

use exchange::command::Direction;
use exchange::ids::MarketId;
use exchange::units::{Lots, Tick};
use views::ReadModel;

use super::people::{OPERATOR, Person, TRADERS};
use exchange::market::MarketStatus;

/// Contracts bought by the example order.
const BOUGHT: u64 = 3;
/// Ticks above the best ask at which the example order bids, so that it still trades after a small
/// price move.
const ABOVE_TICKS: u8 = 1;
/// Highest best ask, in ticks, of an example market; above it the outcome is nearly certain.
const EXAMPLE_ASK_MAX: u8 = 90;

/// The market of the example lines, and a price at which an order there trades immediately.
struct Example<'a> {
    market: MarketId,
    question: &'a str,
    price: Tick,
}

/// The whole text, ending in a newline; `url` is where the server listens.
pub(crate) fn banner(model: &ReadModel, url: &str) -> String {
    let base = format!("{url}/api/v1");
    let mut text = format!("\nOpen {url} in a browser, and make yourself an account.\n");
    text.extend(["\nopenoutcry demo for programs on ", &base, "\n\n"]);
    table(model, &mut text);
    let Some(example) = example(model) else {
        text.push_str("\nNo market takes orders any more: give the demo a new data directory.\n");
        return text;
    };
    let key = TRADERS.first().map_or(OPERATOR.key, |trader| trader.key);
    text.push_str("\nPaste any of these lines into a shell:\n");
    for (title, line) in lines(&base, key, &example) {
        let written = write!(text, "\n# {title}\n{line}\n");
        debug_assert!(written.is_ok(), "a String takes everything");
    }
    text
}

fn table(model: &ReadModel, text: &mut String) {
    let currency = model.accounts.currency();
    let row = |name: &str, role: &str, available: &str, key: &str| {
        format!("  {name:<8} {role:<10} {available:>18}  {key}\n")
    };
    text.push_str(&row("user", "role", &format!("available {currency}"), "key (X-API-Key)"));
    for person in Person::all() {
        let key = model.accounts.key_by_hash(&person.key_hash());
        let user = key.and_then(|key| model.accounts.user(key.user));
        let available =
            user.map_or_else(|| "revoked".to_owned(), |user| user.balance.available.to_string());
        text.push_str(&row(person.name, person.role.name(), &available, person.key));
    }
}

/// The active market with the narrowest spread among those with enough quantity at a fair best ask;
/// else any active market, where the order may rest.
fn example(model: &ReadModel) -> Option<Example<'_>> {
    let active =
        || model.catalogue.markets_published().filter(|row| row.status == MarketStatus::Active);
    let offered = active().filter_map(|row| {
        let bid = model.depth.best(row.no, Direction::Up)?;
        let ask = model.depth.levels(row.no, Direction::Down).next()?;
        let enough = ask.quantity >= Lots::contracts(BOUGHT);
        let fair = ask.price.get() <= EXAMPLE_ASK_MAX;
        (enough && fair).then(|| (ask.price.get().saturating_sub(bid.get()), row, ask.price))
    });
    let best = offered.min_by_key(|(spread, ..)| *spread).map(|(_, row, ask)| (row, ask));
    let (row, ask) = best.or_else(|| active().next().map(|row| (row, HALF)))?;
    let price = Tick::new(ask.get().saturating_add(ABOVE_TICKS)).unwrap_or(Tick::MAX);
    Some(Example { market: row.id, question: &row.draft.questions.en, price })
}

/// The price used when no book qualifies.
const HALF: Tick = match Tick::new(50) {
    Some(tick) => tick,
    None => Tick::MIN,
};

fn lines(base: &str, key: &str, example: &Example<'_>) -> [(String, String); 7] {
    let Example { market, question, price } = example;
    let get = |key: &str, path: &str| format!("curl -sS -H 'X-API-Key: {key}' '{base}{path}'");
    let rest = format!(r#""price":"{price}","quantity":"{BOUGHT}""#);
    let order = format!(
        r#"{{"marketId":"{market}","outcomeId":"yes","side":"BUY","orderType":"LIMIT",{rest}}}"#
    );
    let place = format!(
        "curl -sS -H 'X-API-Key: {key}' -H 'Content-Type: application/json' \
         -d '{order}' '{base}/trading/orders'"
    );
    [
        ("list markets".to_owned(), get(key, "/markets/public/list?limit=3")),
        (
            format!("read a book: {question}"),
            get(key, &format!("/trading/books/{market}/depth?outcome=yes&levels=5")),
        ),
        ("place an order that trades at once".to_owned(), place),
        ("see the order".to_owned(), get(key, &format!("/trading/orders?marketId={market}"))),
        ("see the position".to_owned(), get(key, "/trading/positions?limit=5")),
        ("see the balance".to_owned(), get(key, "/trading/balance")),
        (
            "as the operator: every market, drafts too".to_owned(),
            get(OPERATOR.key, "/admin/markets"),
        ),
    ]
}

#[cfg(test)]
#[path = "../../../tests/unit/cli/demo/banner.rs"]
mod tests;
