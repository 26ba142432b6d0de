//! The demo: a venue with a catalogue, users and living books, made on the spot.
//!
//! Must not know: any rule of trade; HTTP beyond the lines it prints.

pub mod people;
pub mod texts;
