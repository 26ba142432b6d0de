//! The JSON of the health checks.

use serde::Serialize;

/// The status of the process.
#[derive(Debug, Serialize)]
pub struct StatusJson {
    /// One word.
    pub status: &'static str,
}
