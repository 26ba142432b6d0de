//! Readers that do not keep up.
