//! Every endpoint over a real socket, laid out by address. Each answer in these tests is also
//! checked for what all answers must have.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop where it stands")]
#![allow(clippy::similar_names, reason = "a list and what is listed are not confused")]
#![allow(clippy::unused_self, reason = "a venue's own words read better as its methods")]
#![allow(clippy::format_push_string, reason = "a request is small and written once")]

mod client;
mod shape;
mod shapes;
mod schema;
mod proposals;
mod disputes;
mod transfers;
mod venue;
mod scene;
mod paging;
mod cursors;
#[path = "../chunks/mod.rs"]
mod chunks;
#[path = "../faults/mod.rs"]
mod faults;

mod markets;
mod events;
mod categories;
mod activity;
mod depth;
mod depth_as_of;
mod orders_place;
mod orders_place_refused;
mod orders_list;
mod orders_kept;
mod orders_cancel;
mod repeats;
mod preconditions;
mod batch;
mod conversions;
mod switches;
mod positions;
mod fills;
mod balance;
mod account_ledger;
mod account_pnl;
mod account_equity;
mod trades;
mod onward;
mod waiting;
mod books;
mod candles;
mod search;
mod second_factor;
mod leaderboard;
mod profiles;
mod quotes;
mod admin_categories;
mod admin_events;
mod admin_markets;
mod admin_life;
mod impact;
mod admin_users;
mod admin_keys;
mod admin_audit;
mod fees;
mod history;
mod admin_journal;
mod described;
mod matrix;
mod privacy;
mod sign_in;
mod openid;
mod examples;
mod methods;
mod messages;
mod unread;
mod bodies;
mod texts;
mod dry_run;
mod halted;
mod operations;
mod metrics;
mod account_limits;
mod account_keys;
mod acts;
mod previews;
mod roles;
mod request_ids;
mod reads;
mod dice;
mod damage;
mod slugs;
mod storm;
