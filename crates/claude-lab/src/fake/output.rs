//! What a fake child writes: each line with one call, so that lines of several writers never mix.

use std::fs::File;
use std::io::Write;
use std::path::Path;

use serde_json::Value;

use super::Refusal;
use super::black_box::BlackBox;

/// The standard output, and the optional log of what was read.
#[derive(Debug)]
pub(super) struct Output {
    log: Option<File>,
    black_box: Option<BlackBox>,
    read: u64,
    /// The reader is gone.
    pub(super) broken: bool,
}

impl Output {
    pub(super) fn open() -> Result<Self, Refusal> {
        let log = std::env::var_os(super::LOG_VARIABLE).map(|path| append(Path::new(&path))).transpose()?;
        Ok(Self { log, black_box: BlackBox::open()?, read: 0, broken: false })
    }

    /// Writes one line.
    pub(super) fn line(&mut self, value: &Value) {
        let mut bytes = value.to_string().into_bytes();
        bytes.push(b'\n');
        self.bytes(&bytes);
    }

    /// Writes bytes as they are. A full disk loses them and the child goes on, as the real one does (protocol page,
    /// "Framing").
    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        if let Some(black_box) = &mut self.black_box {
            black_box.writes(bytes);
        }
        let mut stdout = std::io::stdout().lock();
        // The lock's buffer holds nothing back after the flush; a line is one write unless the pipe is full.
        let written = stdout.write_all(bytes).and_then(|()| stdout.flush());
        if written.is_err_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe) {
            self.broken = true;
        }
    }

    /// Notes what the child does, for whoever compares it with what others say.
    pub(super) fn note(&mut self, row: impl FnOnce() -> Value) {
        if let Some(black_box) = &mut self.black_box {
            black_box.row(&row());
        }
    }

    /// Notes a line that was read.
    pub(super) fn log(&mut self, line: &[u8]) {
        self.read += 1;
        if let Some(black_box) = &mut self.black_box {
            black_box.reads(line);
        }
        let Some(log) = &mut self.log else { return };
        let mut row = format!("{}\t", self.read).into_bytes();
        row.extend_from_slice(line);
        row.push(b'\n');
        // A log that can't be written shows in the test that reads it.
        drop(log.write_all(&row));
    }
}

fn append(path: &Path) -> Result<File, Refusal> {
    File::options()
        .create(true)
        .append(true)
        .open(path)
        .map_err(|error| Refusal::new(format!("fake-claude: cannot open {}: {error}", path.display())))
}

/// Writes to stdout, outside the protocol.
pub(super) fn say(text: &str) {
    drop(std::io::stdout().write_all(text.as_bytes()));
}

/// Writes one line to stderr.
pub(super) fn complain(text: &str) {
    drop(writeln!(std::io::stderr(), "{text}"));
}
