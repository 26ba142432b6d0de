//! Stub, replaced by the replay tool.

fn main() {}
