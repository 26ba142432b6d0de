//! Signatures of JSON texts (RFC 7515, compact form) by the keys that a provider publishes
//! (RFC 7517). The kind of the key decides what is checked, never the text alone.

use data_encoding::BASE64URL_NOPAD;
use graviola::hashing::Sha256;
use graviola::signing::ecdsa::{self, P256};
use graviola::signing::eddsa::Ed25519VerifyingKey;
use graviola::signing::rsa;
use serde_json::Value;

/// Longest text that is looked at, in bytes.
const BYTES_MAX: usize = 16 * 1024;
/// Most keys of a provider that are kept.
const KEYS_MAX: usize = 64;

/// A provider's key.
pub(crate) struct Key {
    id: Option<String>,
    of: Kind,
}

#[expect(clippy::large_enum_variant, reason = "a few keys, and most are of this kind")]
enum Kind {
    Rsa(rsa::VerifyingKey),
    P256(ecdsa::VerifyingKey<P256>),
    Ed25519(Ed25519VerifyingKey),
}

/// Why a text is not believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unsigned {
    /// It is no signed text.
    #[error("it is no signed text")]
    Form,
    /// None of the keys is the one that it names. The provider may have a newer one.
    #[error("it is signed by a key that the provider does not publish")]
    Key,
    /// The signature is another text's, or of a kind that is not taken.
    #[error("its signature is wrong")]
    Signature,
}

/// The keys of a set that sign; those of other kinds are left out.
pub(crate) fn keys_of(set: &Value) -> Vec<Key> {
    let keys = set["keys"].as_array().into_iter().flatten();
    let signs = keys.filter(|key| key["use"].as_str().is_none_or(|of| of == "sig"));
    signs.filter_map(key_of).take(KEYS_MAX).collect()
}

fn key_of(key: &Value) -> Option<Key> {
    let part = |name: &str| BASE64URL_NOPAD.decode(key[name].as_str()?.as_bytes()).ok();
    let of = match (key["kty"].as_str()?, key["crv"].as_str()) {
        ("RSA", _) => {
            let der = sequence(&[integer(&part("n")?), integer(&part("e")?)].concat());
            Kind::Rsa(rsa::VerifyingKey::from_pkcs1_der(&der).ok()?)
        }
        ("EC", Some("P-256")) => {
            let point = [vec![4], part("x")?, part("y")?].concat();
            Kind::P256(ecdsa::VerifyingKey::from_x962_uncompressed(&point).ok()?)
        }
        ("OKP", Some("Ed25519")) => {
            Kind::Ed25519(Ed25519VerifyingKey::from_bytes(&part("x")?).ok()?)
        }
        _ => return None,
    };
    Some(Key { id: key["kid"].as_str().map(str::to_owned), of })
}

/// The content of a signed text.
///
/// # Errors
/// None of these keys has signed it.
pub(crate) fn content(text: &str, keys: &[Key]) -> Result<Value, Unsigned> {
    let mut parts = text.split('.');
    let (Some(head), Some(content), Some(signature), None) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return Err(Unsigned::Form);
    };
    if text.len() > BYTES_MAX {
        return Err(Unsigned::Form);
    }
    let bytes = |part: &str| BASE64URL_NOPAD.decode(part.as_bytes()).map_err(|_| Unsigned::Form);
    let json =
        |part: &str| serde_json::from_slice::<Value>(&bytes(part)?).map_err(|_| Unsigned::Form);
    let (header, signature) = (json(head)?, bytes(signature)?);
    // What must be understood and is not.
    if !header["crit"].is_null() {
        return Err(Unsigned::Form);
    }
    let (named, algorithm) = (header["kid"].as_str(), header["alg"].as_str().unwrap_or_default());
    let meant = |key: &&Key| named.is_none() || key.id.as_deref() == named;
    let mut meant = keys.iter().filter(meant).peekable();
    if meant.peek().is_none() {
        return Err(Unsigned::Key);
    }
    let signed = format!("{head}.{content}");
    if meant.any(|key| key.of.has_signed(algorithm, signed.as_bytes(), &signature)) {
        json(content)
    } else {
        Err(Unsigned::Signature)
    }
}

impl Kind {
    fn has_signed(&self, algorithm: &str, text: &[u8], signature: &[u8]) -> bool {
        match (self, algorithm) {
            (Kind::Rsa(key), "RS256") => key.verify_pkcs1_sha256(signature, text).is_ok(),
            (Kind::Rsa(key), "PS256") => key.verify_pss_sha256(signature, text).is_ok(),
            (Kind::P256(key), "ES256") => key.verify::<Sha256>(&[text], signature).is_ok(),
            (Kind::Ed25519(key), "EdDSA") => key.verify(signature, text).is_ok(),
            _ => false,
        }
    }
}

/// A positive integer in DER.
fn integer(bytes: &[u8]) -> Vec<u8> {
    let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
    let digits = bytes.get(zeros..).unwrap_or_default();
    // A first bit that is set would make it negative.
    let sign = digits.first().is_none_or(|byte| byte & 0x80 != 0);
    tagged(2, &[if sign { &[0][..] } else { &[] }, digits].concat())
}

fn sequence(content: &[u8]) -> Vec<u8> {
    tagged(0x30, content)
}

/// A tag, the length of the content, and it.
fn tagged(tag: u8, content: &[u8]) -> Vec<u8> {
    let length = content.len().to_be_bytes();
    let zeros = length.iter().take_while(|byte| **byte == 0).count();
    let digits = length.get(zeros..).unwrap_or_default();
    let mut all = vec![tag];
    if let short @ 0..0x80 = content.len() {
        all.push(u8::try_from(short).unwrap_or_default());
    } else {
        all.push(0x80 | u8::try_from(digits.len()).unwrap_or_default());
        all.extend(digits);
    }
    all.extend(content);
    all
}

#[cfg(test)]
#[path = "../../../tests/unit/cli/openid/signature.rs"]
mod tests;
