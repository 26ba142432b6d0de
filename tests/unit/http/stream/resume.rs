//! Unit tests of `src/http/stream/resume.rs`.
