//! `Authorization` as the bridge's clients send it.
//!
//! The scheme's word and the user's name mean nothing: the key is what stands between the first and the second colon of
//! the decoded rest. So `Basic base64(anything:KEY)` works, and `Bearer base64(x:KEY)` does.

use axum::http::{HeaderMap, header};
use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

/// Decodes what other programs encode carelessly.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// The key that a request offers, if it offers any.
pub(super) fn offered(headers: &HeaderMap) -> Option<Vec<u8>> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let encoded = value.split_once(' ')?.1.trim();
    let plain: String = encoded
        .chars()
        .filter_map(|c| match c {
            '-' => Some('+'),
            '_' => Some('/'),
            '+' | '/' => Some(c),
            _ => c.is_ascii_alphanumeric().then_some(c),
        })
        .collect();
    let decoded = LENIENT.decode(plain).ok()?;
    decoded.split(|b| *b == b':').nth(1).map(<[u8]>::to_vec)
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;
    use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE};

    fn of(value: &str) -> Option<String> {
        let mut headers = HeaderMap::new();
        headers.insert(header::AUTHORIZATION, HeaderValue::from_str(value).expect("a header"));
        offered(&headers).map(|key| String::from_utf8(key).expect("text"))
    }

    #[test]
    fn the_key_stands_between_the_first_two_colons() {
        for user in ["bridge", "x", "", "a b", "ü"] {
            let plain = format!("{user}:h2c_key");
            assert_eq!(
                of(&format!("Basic {}", STANDARD.encode(&plain))).as_deref(),
                Some("h2c_key"),
                "{user}"
            );
            assert_eq!(of(&format!("Bearer {}", STANDARD_NO_PAD.encode(&plain))).as_deref(), Some("h2c_key"));
            assert_eq!(of(&format!("x  {}", URL_SAFE.encode(&plain))).as_deref(), Some("h2c_key"));
        }
        assert_eq!(of(&format!("Basic {}", STANDARD.encode("x:key:more"))).as_deref(), Some("key"));
        assert_eq!(of(&format!("Basic {}", STANDARD.encode("x:"))).as_deref(), Some(""));
        for nothing in ["", "Basic", "Basic ", "h2c_key", &format!("Basic {}", STANDARD.encode("h2c_key"))] {
            assert_eq!(of(nothing), None, "{nothing}");
        }
        assert_eq!(offered(&HeaderMap::new()), None);
    }
}
