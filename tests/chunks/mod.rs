//! Decodes an answer's body sent with chunked transfer encoding.

/// The body put together from its chunks; `None` if it was cut off.
pub fn joined(mut chunks: &[u8]) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let end = chunks.windows(2).position(|two| two == b"\r\n")?;
        let size = usize::from_str_radix(std::str::from_utf8(&chunks[..end]).ok()?, 16).ok()?;
        let (chunk, rest) = chunks.get(end + 2..)?.split_at_checked(size)?;
        body.extend_from_slice(chunk);
        chunks = rest.strip_prefix(b"\r\n")?;
        if size == 0 {
            return chunks.is_empty().then_some(body);
        }
    }
}
