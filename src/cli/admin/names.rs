//! How markets and events are named on the command line.

/// The name of a market or an event: an id or a slug, which a path takes as it is.
///
/// # Errors
/// It is neither.
pub(crate) fn id_or_slug(text: &str) -> Result<String, String> {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    if text.is_empty() || !text.bytes().all(fits) {
        return Err("is neither an id nor a slug".to_owned());
    }
    Ok(text.to_owned())
}
