//! Snapshots: their files as bytes, how they are taken behind a running venue, and how a start uses
//! sound and damaged ones.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on stops")]

#[path = "../faults/mod.rs"]
mod faults;
mod files;
mod following;
mod starts;
mod taking;
mod venue;
