//! The archive in a bucket of a store that speaks S3: an object for each write, which is never
//! changed and never deleted. Copied into a folder, the objects are an archive like any other.
//!
//! Must not know: what a record means, nor who is served.

mod archive;
mod bucket;
mod place;
mod refusal;

pub use archive::{BucketArchive, fetch};
pub use place::Place;
