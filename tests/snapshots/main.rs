//! Snapshots: their files as bytes, and what a start makes of them.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on stops")]

mod files;
