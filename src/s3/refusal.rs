//! What a store's refusal says, in a line: the code and the message of its XML, and what mends it.

/// As much of an answer as is looked at.
const LOOKED_AT: usize = 4_096;
/// As much of a text as a line of the log can bear.
const SAID_MAX: usize = 300;
/// What mends the common ones.
const MENDED: [(&str, &str); 6] = [
    ("NoSuchBucket", "make the bucket, or mend its name in --archive-s3"),
    (
        "AccessDenied",
        "the key needs s3:PutObject, s3:GetObject and s3:ListBucket on this bucket, with \
         --s3-retain-days also s3:PutObjectRetention",
    ),
    (
        "SignatureDoesNotMatch",
        "AWS_SECRET_ACCESS_KEY is not the secret of AWS_ACCESS_KEY_ID, or --s3-region is another",
    ),
    ("InvalidAccessKeyId", "AWS_ACCESS_KEY_ID is no key of this store: look at --s3-endpoint, too"),
    ("AuthorizationHeaderMalformed", "--s3-region is not the bucket's"),
    ("RequestTimeTooSkewed", "synchronise the clock"),
];

/// The line. What is not printable is escaped; an answer that is not of S3 is shown as it begins.
pub(super) fn told(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body.get(..LOOKED_AT).unwrap_or(body));
    let Some(code) = within(&text, "Code") else { return line(&text) };
    let message = within(&text, "Message").map(|message| format!(": {}", line(message)));
    let mended = MENDED.iter().find(|(known, _)| *known == code);
    let mended = mended.map(|(_, mended)| format!(" ({mended})"));
    line(code) + &message.unwrap_or_default() + &mended.unwrap_or_default()
}

/// The text of the first element of this name.
fn within<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(&format!("<{name}>"))?;
    rest.split_once(&format!("</{name}>")).map(|(inner, _)| inner.trim())
}

fn line(text: &str) -> String {
    let shown: String = text.chars().take(SAID_MAX).collect();
    // Quotes are printable.
    shown.escape_debug().to_string().replace("\\'", "'").replace("\\\"", "\"")
}

#[cfg(test)]
#[path = "../../tests/unit/s3/refusal.rs"]
mod tests;
