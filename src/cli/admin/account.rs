//! `admin users account` and `cancel`: a user's account as its owner sees it, and its open orders.

use clap::{Args, ValueEnum};

use super::session::{AdminError, Session};
use super::table;

/// What is shown of an account, under which name of its lists, in which columns.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Part {
    /// Orders that stand in the book
    Orders,
    /// What the user holds
    Positions,
    /// What the user's orders traded
    Fills,
    /// Every change of the user's money
    Ledger,
}

const ORDERS: [(&str, &str); 8] = [
    ("ID", "id"),
    ("MARKET", "marketId"),
    ("SIDE", "side"),
    ("OUTCOME", "outcomeId"),
    ("PRICE", "price"),
    ("QUANTITY", "originalQuantity"),
    ("FILLED", "filledQuantity"),
    ("CREATED", "createdAt"),
];
const POSITIONS: [(&str, &str); 5] = [
    ("MARKET", "marketId"),
    ("OUTCOME", "outcomeId"),
    ("QUANTITY", "quantity"),
    ("PRICE", "averagePrice"),
    ("QUESTION", "market.questions.en"),
];
const FILLS: [(&str, &str); 7] = [
    ("ORDER", "orderId"),
    ("SIDE", "side"),
    ("OUTCOME", "outcomeId"),
    ("PRICE", "price"),
    ("QUANTITY", "quantity"),
    ("FEE", "fee"),
    ("TIME", "timestamp"),
];
const LEDGER: [(&str, &str); 5] = [
    ("SEQUENCE", "sequence"),
    ("CAUSE", "cause"),
    ("CHANGE", "available"),
    ("AVAILABLE", "availableAfter"),
    ("TIME", "timestamp"),
];
const CANCELLED: [(&str, &str); 3] =
    [("ORDER", "orderId"), ("FILLED", "filledQuantity"), ("CANCELLED", "cancelledQuantity")];

/// Whose account, and how much of it.
#[derive(Debug, Args)]
pub(crate) struct AccountArgs {
    /// The user's id or name
    user: String,
    /// What to show
    #[arg(value_enum)]
    part: Part,
    /// How many lines at most, the newest first
    #[arg(
        long,
        value_name = "N",
        default_value_t = 50,
        value_parser = clap::value_parser!(u32).range(1..=100)
    )]
    limit: u32,
}

/// Whose orders are cancelled.
#[derive(Debug, Args)]
pub(crate) struct CancelArgs {
    /// The user's id or name
    user: String,
    /// Only in this market
    #[arg(long, value_name = "MARKET", value_parser = super::names::id_or_slug)]
    market: Option<String>,
}

/// Shows a part of an account.
///
/// # Errors
/// [`AdminError`].
pub(crate) async fn show(session: &mut Session, args: &AccountArgs) -> Result<(), AdminError> {
    let user = session.user(&args.user).await?;
    let limit = args.limit;
    let (query, list, columns) = match args.part {
        Part::Orders => {
            (format!("orders?active=true&cursor=&limit={limit}"), "orders", &ORDERS[..])
        }
        Part::Positions => (format!("positions?limit={limit}"), "positions", &POSITIONS[..]),
        Part::Fills => (format!("fills?limit={limit}"), "fills", &FILLS[..]),
        Part::Ledger => (format!("ledger?limit={limit}"), "lines", &LEDGER[..]),
    };
    let answer = session.get(&format!("/admin/users/{user}/{query}")).await?;
    session.show(&answer, |json| table::list(json, list, columns))
}

/// Cancels a user's orders.
///
/// # Errors
/// [`AdminError`].
pub(crate) async fn cancel(session: &mut Session, args: &CancelArgs) -> Result<(), AdminError> {
    let user = session.user(&args.user).await?;
    let market = args.market.as_ref().map(|market| format!("?marketId={market}"));
    let path = format!("/admin/users/{user}/orders{}", market.unwrap_or_default());
    let cancelled = session.delete(&path).await?;
    let answer = session.answer(&cancelled)?;
    session.show(&answer, |json| table::list(json, "orders", &CANCELLED))
}
