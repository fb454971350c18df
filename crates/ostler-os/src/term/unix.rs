//! termios(3).

use super::{Size, Stream};
use crate::poll::Source;
use rustix::stdio::{stderr, stdin, stdout};
use rustix::termios::{
    LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcgetwinsize, tcsetattr,
};
use std::io;
use std::os::fd::BorrowedFd;

fn descriptor(stream: Stream) -> BorrowedFd<'static> {
    match stream {
        Stream::Stdin => stdin(),
        Stream::Stdout => stdout(),
        Stream::Stderr => stderr(),
    }
}

pub(super) fn size(stream: Stream) -> Option<Size> {
    let size = tcgetwinsize(descriptor(stream)).ok()?;
    // A terminal that doesn't know says 0.
    (size.ws_col > 0 && size.ws_row > 0).then_some(Size { columns: size.ws_col, rows: size.ws_row })
}

#[derive(Debug)]
pub(super) struct Raw {
    before: Termios,
}

impl Raw {
    pub(super) fn enter() -> io::Result<Self> {
        let before = tcgetattr(stdin())?;
        let mut raw = before.clone();
        // Signals and output processing stay: Ctrl-C is still one, and lines still end in `\n`.
        raw.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO | LocalModes::IEXTEN);
        raw.special_codes[SpecialCodeIndex::VMIN] = 1;
        raw.special_codes[SpecialCodeIndex::VTIME] = 0;
        tcsetattr(stdin(), OptionalActions::Now, &raw)?;
        Ok(Self { before })
    }

    #[expect(clippy::unused_self, reason = "only who is in raw mode may read")]
    pub(super) fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        Ok(rustix::io::retry_on_intr(|| rustix::io::read(stdin(), &mut *buffer))?)
    }

    #[expect(clippy::unused_self, reason = "only who is in raw mode may wait for keys")]
    pub(super) fn source(&self) -> Source<'_> {
        stdin().into()
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        // The terminal may be gone by now.
        let _ = tcsetattr(stdin(), OptionalActions::Now, &self.before);
    }
}
