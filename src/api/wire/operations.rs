//! The JSON for those who run the process.

use serde::Serialize;

/// How the process is.
#[derive(Debug, Serialize)]
pub struct StatusJson {
    /// One word.
    pub status: &'static str,
}
