//! What controller and keeper say to each other: frames of NUL-separated fields.
//!
//! The keeper parses nothing richer than this, and knows nothing of what the fields mean beyond the start of a
//! process. Paths, arguments and variables can't hold a NUL byte, so it separates them.

use std::ffi::{OsStr, OsString};
use std::io::{self, Read, Write};

/// The most that one frame may hold, in bytes: arguments and environment of a child.
const LIMIT: u32 = 8 << 20;

/// Reads frames from a stream that never blocks.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    buffer: Vec<u8>,
}

impl Reader {
    /// Takes in what is there; false at the end of the stream.
    pub(crate) fn fill(&mut self, stream: &mut impl Read) -> io::Result<bool> {
        let mut chunk = [0; 16 << 10];
        loop {
            match stream.read(&mut chunk) {
                Ok(0) => return Ok(false),
                Ok(n) => self.buffer.extend_from_slice(&chunk[..n]),
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(true),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
            if self.buffer.len() > LIMIT as usize + 4 {
                return Ok(true);
            }
        }
    }

    /// The next whole frame.
    pub(crate) fn next(&mut self) -> io::Result<Option<Vec<OsString>>> {
        let Some(head) = self.buffer.first_chunk::<4>() else { return Ok(None) };
        let len = u32::from_le_bytes(*head);
        if len > LIMIT {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a frame is too long"));
        }
        let end = 4 + len as usize;
        if self.buffer.len() < end {
            return Ok(None);
        }
        let fields = self.buffer[4..end].split(|b| *b == 0).map(ostler_os::text::os_string).collect();
        self.buffer.drain(..end);
        Ok(Some(fields))
    }
}

/// Encodes one frame.
///
/// # Errors
/// It would be too long.
pub(crate) fn encode<S: AsRef<OsStr>>(fields: &[S]) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; 4];
    for (i, field) in fields.iter().enumerate() {
        if i > 0 {
            bytes.push(0);
        }
        bytes.extend_from_slice(field.as_ref().as_encoded_bytes());
    }
    let len = u32::try_from(bytes.len() - 4).ok().filter(|len| *len <= LIMIT);
    let len = len.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "a frame is too long"))?;
    bytes[..4].copy_from_slice(&len.to_le_bytes());
    Ok(bytes)
}

/// Writes all of it to a stream that never blocks; gives up on a peer that takes nothing until `deadline`.
pub(crate) fn send<S>(stream: &mut S, bytes: &[u8], deadline: std::time::Instant) -> io::Result<()>
where
    S: Write + ostler_os::poll::Pollable,
{
    let mut rest = bytes;
    while !rest.is_empty() {
        match stream.write(rest) {
            Ok(n) => rest = &rest[n..],
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                let mut poller = ostler_os::poll::Poller::new();
                poller.add(stream.source(), ostler_os::poll::Interest::Write);
                if poller.wait(Some(deadline))? == 0 {
                    return Err(io::ErrorKind::TimedOut.into());
                }
            }
            Err(e) => return Err(e),
        }
    }
    Ok(())
}
