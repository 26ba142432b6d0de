//! The archive in a bucket of a store that speaks S3: an object for each write, which is never
//! changed and never deleted. Copied into a folder, the objects are an archive like any other.
//!
//! Must not know: what a record means, nor who is served.

mod archive;
mod objects;
#[cfg(feature = "store")]
mod bucket;
#[cfg(feature = "store")]
mod fetch;
#[cfg(feature = "store")]
mod place;
#[cfg(feature = "store")]
mod refusal;

pub use archive::BucketArchive;
pub use objects::{Made, Objects};
#[cfg(feature = "store")]
pub use {fetch::fetch, place::Place};
