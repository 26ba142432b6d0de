//! The stream: everything that happens, pushed. The announcer copies what changes into facts on the
//! matcher's thread, the hub prints each once into the rings of its channels, and every connection
//! reads the rings at its own pace.

pub mod channel;
mod topics;
mod build;
pub mod message;
mod bell;
mod ring;
mod rings;
mod printing;
mod snapshot;
mod announcing;
mod turn;
mod drawing;
mod draft;
mod gathered;
mod resume;
mod subscription;
mod resumed;
pub mod hub;
pub mod listening;
mod begins;
pub mod limits;
pub mod control;
pub mod entry;
pub mod frames;
pub mod ending;
pub mod ends;
pub mod seats;
pub mod session;
pub mod print;
pub mod commands;
pub mod connection;
pub mod upgrade;
pub mod events;
pub mod waiting;
