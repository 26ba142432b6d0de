//! The HTTP API: serves requests with hyper, over the engine and its read model.
//!
//! Must not know: the disk format, the inside of an order book, trading rules, who started the
//! engine.

pub mod server;
pub mod connection_slots;
pub mod workers;
pub mod members;
pub mod venue;
mod answer_log;
pub mod asking;
mod bell;
pub mod gather;
mod outbox;
pub mod placed_here;
pub mod mailbox;
pub mod past;
mod framing;
mod client_stream;
mod socket;
mod tries;
#[cfg(feature = "tls")]
mod certificate;
#[cfg(feature = "tls")]
mod handshakes;
#[cfg(feature = "tls")]
pub mod tls;
#[cfg(not(feature = "tls"))]
#[path = "without_tls.rs"]
pub mod tls;
#[cfg(feature = "tls")]
mod http2;
mod presence;
pub mod door;
mod caught;
mod entrance;
pub mod head;
pub mod body;
pub mod traffic;
pub mod auth;
pub mod cookies;
mod cors;
mod proxies;
pub mod assets;
pub mod site;
pub mod wrong_keys;
pub mod passwords;
pub mod visit;
pub mod totp;
pub mod second_factor;
pub mod sign_in;
pub mod identity;
pub mod openid;
pub mod keys;
pub mod limits;
pub mod rates;
pub mod response_cache;
pub mod keyring;
pub mod tokens;
pub mod media;
pub mod packed;
pub mod packing;
pub mod idempotency;
pub mod preconditions;
pub mod route;
pub mod routes;
pub mod call;
pub mod lazy_view;
pub mod json;
pub mod form;
pub mod parse;
pub mod slugs;
pub mod page;
pub mod cursor;
mod onward;
pub mod waiting;
pub mod bounds;
pub mod problem;
pub mod reply;
pub mod request_id;
mod respond;
pub mod listed;
pub mod stream;
pub mod unread_rows;
mod wire;
mod market_cache;
mod quotes;
pub mod markets;
pub mod events;
pub mod categories;
pub mod books;
pub mod own_orders;
pub mod orders;
mod order_list;
mod orders_onward;
mod queue_place;
pub mod batch_form;
pub mod batch;
pub mod trials;
pub mod conversions;
pub mod switches;
pub mod order_form;
pub mod positions;
pub mod account;
pub mod statement;
pub mod tape;
mod board;
mod leaderboard;
mod profiles;
pub mod account_keys;
pub mod operations;
pub mod metrics;
pub mod admin_form;
pub mod admin_catalogue;
mod catalogue_check;
pub mod admin_markets;
mod impact;
pub mod admin_users;
pub mod admin_keys;
pub mod admin_accounts;
pub mod admin_audit;
pub mod openapi;
pub mod dashboard;
pub mod pictures;

pub use limits::Limits;
pub use server::{Entrance, serve, serve_door, serve_site};
