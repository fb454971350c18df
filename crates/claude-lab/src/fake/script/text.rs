//! Escapes in texts and bytes.

/// Bytes of a text with `\n`, `\r`, `\t`, `\\`, `\xNN` and `\u{…}` (also of a lone surrogate, in its three-byte form).
pub(super) fn bytes(text: &str) -> Result<Vec<u8>, String> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        if c != '\\' {
            push(&mut out, u32::from(c));
            continue;
        }
        match rest.next() {
            Some('n') => out.push(b'\n'),
            Some('r') => out.push(b'\r'),
            Some('t') => out.push(b'\t'),
            Some('\\') => out.push(b'\\'),
            Some('x') => {
                let digits: String = rest.by_ref().take(2).collect();
                out.push(
                    u8::from_str_radix(&digits, 16).map_err(|_| "write \\x with two hexadecimal digits")?,
                );
            }
            Some('u') => {
                if rest.next() != Some('{') {
                    return Err("write \\u{…} with braces".to_owned());
                }
                let digits: String = rest.by_ref().take_while(|c| *c != '}').collect();
                let code = u32::from_str_radix(&digits, 16).ok().filter(|code| *code <= 0x10_ffff);
                push(&mut out, code.ok_or("write \\u{…} with a code point in hexadecimal digits")?);
            }
            _ => return Err("after \\ comes one of n r t \\ x u".to_owned()),
        }
    }
    Ok(out)
}

/// The same where the result must be text.
pub(super) fn string(text: &str) -> Result<String, String> {
    String::from_utf8(bytes(text)?).map_err(|_| "this must be UTF-8; use `bytes` for other bytes".to_owned())
}

/// UTF-8 of a code point; surrogates get the three bytes that UTF-8 forbids.
fn push(out: &mut Vec<u8>, code: u32) {
    match char::from_u32(code) {
        Some(c) => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        None => {
            let low = |shift: u32| 0x80 | u8::try_from(code >> shift & 0x3f).unwrap_or_default();
            out.extend_from_slice(&[0xe0 | u8::try_from(code >> 12).unwrap_or_default(), low(6), low(0)]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_become_bytes() {
        assert_eq!(bytes("a\\n\\x00\\u{85}\\u{d99c}\\\\").unwrap(), b"a\n\0\xc2\x85\xed\xa6\x9c\\");
        assert!(bytes("\\q").is_err());
        assert!(string("\\xff").is_err());
    }
}
