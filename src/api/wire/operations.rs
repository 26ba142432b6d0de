//! The JSON of the health checks.

use serde::Serialize;

/// The status of the process.
#[derive(Debug, Serialize)]
pub struct StatusJson {
    /// One word.
    pub status: &'static str,
    /// What fails beside the venue, by stable codes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<&'static str>,
}
