//! Bytes of the operating system's own strings, and back.

use std::ffi::OsString;

/// The string whose encoded bytes these are, as `OsStr::as_encoded_bytes` gave them in a process of this same
/// platform. On Unix every byte string is one.
#[must_use]
#[cfg(unix)]
pub fn os_string(bytes: &[u8]) -> OsString {
    use std::os::unix::ffi::OsStrExt;
    std::ffi::OsStr::from_bytes(bytes).to_owned()
}

/// The string whose encoded bytes these are; what isn't Unicode is replaced, for only then could it be another
/// string's part.
#[must_use]
#[cfg(not(unix))]
pub fn os_string(bytes: &[u8]) -> OsString {
    OsString::from(String::from_utf8_lossy(bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(unix)]
    fn every_byte_string_comes_back() {
        let bytes = b"caf\xe9 \xff/x";
        assert_eq!(os_string(bytes).as_encoded_bytes(), bytes);
    }
}
