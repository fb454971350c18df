//! Appending to `gen/N/ctl`. Only the holder of the session's `lock` may.

use crate::journal::MAX_LINE;
use crate::lines::{CHUNK, LineFile};
use crate::session_dir::{gen_dir, generation_no};
use claude_wire::{Split, Tail};
use ostler_core::ctl::Row;
use ostler_core::ids::GenerationNo;
use ostler_os::durable;
use ostler_os::reserve::{self, ReserveError};
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// One generation's `ctl`, open for appending.
///
/// The rules for its rows are at the top of this crate; [`CtlFile::append`] holds those it can check.
#[derive(Debug)]
pub struct CtlFile {
    file: File,
    path: PathBuf,
    /// The folder of all generations and the number of this one, when the path is one in a session folder.
    place: Option<(PathBuf, GenerationNo)>,
    len: u64,
    last_off: u64,
    reserve: u64,
    /// The file can grow to here without a new allocation.
    reserved_to: u64,
}

/// A line of a `ctl` file.
#[derive(Clone, Debug, PartialEq)]
pub enum CtlLine {
    /// A row.
    Row(Row),
    /// Something that is no row: byte range in the file, newline included.
    Garbled {
        /// Where it begins.
        start: u64,
        /// Where the next line begins.
        end: u64,
    },
}

impl CtlFile {
    /// Opens or creates `ctl` at `path` and cuts off a torn last row. `reserve` bytes are kept allocated ahead of its
    /// end, so that a full disk still leaves room for the rows that say so; 0 asks for none.
    ///
    /// # Errors
    /// It can't be opened, read, cut, or the reserve can't be had.
    pub fn open(path: &Path, reserve: u64) -> Result<Self, CtlError> {
        let file = durable::open_private(path).map_err(|e| CtlError::of("open", path, e.into()))?;
        let found = Found::read(path).map_err(|e| CtlError::of("read", path, e))?;
        if found.torn {
            file.set_len(found.len).map_err(|e| CtlError::of("cut", path, e))?;
        }
        let mut ctl = Self {
            file,
            path: path.to_owned(),
            place: place_of(path),
            len: found.len,
            last_off: found.last_off,
            reserve,
            reserved_to: 0,
        };
        ctl.top_up()?;
        Ok(ctl)
    }

    /// The generation whose rows it holds; None when its path is not one in a session folder.
    #[must_use]
    pub fn generation(&self) -> Option<GenerationNo> {
        self.place.as_ref().map(|(_, no)| *no)
    }

    /// Appends one row with one `write(2)`. It is seen by every reader at once; it survives a loss of power after
    /// [`CtlFile::sync`].
    ///
    /// # Errors
    /// [`CtlError::OffsetWentBack`], [`CtlError::Closed`] and [`CtlError::NotNewest`] when the row breaks the rules of
    /// the journal; [`CtlError::DiskFull`]; other trouble. After an error the file is as it was before.
    pub fn append(&mut self, row: &Row) -> Result<(), CtlError> {
        self.allow(row)?;
        let mut line =
            serde_json::to_vec(row).map_err(|source| CtlError::Encode { path: self.path.clone(), source })?;
        line.push(b'\n');
        let written = loop {
            match (&self.file).write(&line) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                written => break written,
            }
        };
        let error = match written {
            Ok(len) if len == line.len() => {
                self.len += line.len() as u64;
                self.last_off = row.off;
                // The row is there; who must know whether the next ones will fit asks for it.
                let _ = self.top_up();
                return Ok(());
            }
            // Only a disk that ran full in the middle of it makes a write to a file short.
            Ok(_) => io::ErrorKind::StorageFull.into(),
            Err(error) => error,
        };
        self.file.set_len(self.len).map_err(|e| CtlError::of("cut", &self.path, e))?;
        Err(CtlError::of("append to", &self.path, error))
    }

    /// The rules of the journal that can be checked here.
    fn allow(&self, row: &Row) -> Result<(), CtlError> {
        if row.off < self.last_off {
            let path = self.path.clone();
            return Err(CtlError::OffsetWentBack { path, off: row.off, last: self.last_off });
        }
        let Some((root, no)) = &self.place else { return Ok(()) };
        let newest =
            if *no == 0 { GenerationNo::try_from(row.off).unwrap_or(GenerationNo::MAX) } else { *no };
        let later = newest.saturating_add(1);
        if gen_dir(root, later).exists() {
            let path = self.path.clone();
            return Err(match no {
                0 => CtlError::NotNewest { path, off: row.off, later },
                _ => CtlError::Closed { path, later },
            });
        }
        Ok(())
    }

    /// Tops the reserve up again when half of it is used; cheap otherwise. [`CtlFile::append`] tries it too, but a
    /// row that went in is no error, so only this says that the disk is full.
    ///
    /// # Errors
    /// [`CtlError::DiskFull`].
    pub fn top_up(&mut self) -> Result<(), CtlError> {
        if self.reserve == 0 || self.reserved_to >= self.len + self.reserve / 2 {
            return Ok(());
        }
        reserve::top_up(&self.file, self.reserve).map_err(|error| match error {
            ReserveError::DiskFull(full) => {
                let source = io::Error::new(io::ErrorKind::StorageFull, full);
                CtlError::DiskFull { path: self.path.clone(), source }
            }
            ReserveError::Io(source) => CtlError::of("reserve space for", &self.path, source),
        })?;
        self.reserved_to = self.len + self.reserve;
        Ok(())
    }

    /// Gives back the space that is reserved behind the last row; the next [`CtlFile::top_up`] takes it again.
    ///
    /// # Errors
    /// As the operating system says.
    pub fn release(&mut self) -> Result<(), CtlError> {
        self.reserved_to = self.len;
        reserve::release_tail(&self.file)
            .map_err(|error| CtlError::of("give back space behind", &self.path, error))
    }

    /// Every line there is, from the beginning.
    ///
    /// # Errors
    /// The file can't be read.
    pub fn rows(&self) -> Result<Vec<CtlLine>, CtlError> {
        let mut rows = Vec::new();
        each_line(&self.path, |line| rows.push(line)).map_err(|e| CtlError::of("read", &self.path, e))?;
        Ok(rows)
    }

    /// Waits until everything appended is on the disk.
    ///
    /// # Errors
    /// It could not be brought there.
    pub fn sync(&self) -> Result<(), CtlError> {
        durable::fdatasync(&self.file).map_err(|e| CtlError::of("sync", &self.path, e))
    }

    /// The `off` of the last row; 0 without one. No later row may carry less.
    #[must_use]
    pub fn last_off(&self) -> u64 {
        self.last_off
    }

    /// How long the file is: the `ctl` offset of a cursor behind the last row.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.len
    }

    /// True before the first row.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

/// What was in a file when it was opened.
struct Found {
    /// Up to the last line end.
    len: u64,
    last_off: u64,
    torn: bool,
}

impl Found {
    fn read(path: &Path) -> io::Result<Self> {
        let mut last_off = 0;
        let tail = each_line(path, |line| {
            if let CtlLine::Row(row) = line {
                last_off = last_off.max(row.off);
            }
        })?;
        Ok(Self { len: tail.start, last_off, torn: tail.len > 0 })
    }
}

/// Shows every complete line to `visit`; what stands behind the last one is returned.
fn each_line(path: &Path, mut visit: impl FnMut(CtlLine)) -> io::Result<Tail> {
    let mut lines = LineFile::at(path.to_owned(), 0, MAX_LINE);
    let mut scratch = vec![0; CHUNK];
    while lines.fill(&mut scratch)? {
        match lines.take() {
            Some(Split::Line { start, end, bytes }) => visit(match serde_json::from_slice(&bytes) {
                Ok(row) => CtlLine::Row(row),
                Err(_) => CtlLine::Garbled { start, end },
            }),
            Some(Split::Oversized { start, end }) => visit(CtlLine::Garbled { start, end }),
            None => break,
        }
    }
    Ok(lines.tail())
}

/// `<root>/<no>/ctl` taken apart.
fn place_of(path: &Path) -> Option<(PathBuf, GenerationNo)> {
    let dir = path.parent()?;
    let no = generation_no(dir.file_name()?.to_str()?)?;
    Some((dir.parent()?.to_owned(), no))
}

/// What can go wrong with a `ctl` file.
#[derive(Debug, thiserror::Error)]
pub enum CtlError {
    /// Some operation failed.
    #[error("cannot {operation} {}", path.display())]
    Io {
        /// `open`, `read`, `append to`, `cut`, `sync`.
        operation: &'static str,
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// No room for a row, or for the reserve.
    #[error("no space left for {}; free some and go on", path.display())]
    DiskFull {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The row's offset is less than that of the row before.
    #[error("a row for {} carries offset {off} after one that carried {last}", path.display())]
    OffsetWentBack {
        /// The file.
        path: PathBuf,
        /// The row's.
        off: u64,
        /// The one before.
        last: u64,
    },
    /// A later generation exists: nothing may be added to this file any more.
    #[error("{} is closed: generation {later} exists", path.display())]
    Closed {
        /// The file.
        path: PathBuf,
        /// The generation that exists.
        later: GenerationNo,
    },
    /// A row outside any generation must carry the number of the newest one.
    #[error("a row for {} carries {off} as the newest generation, but {later} exists", path.display())]
    NotNewest {
        /// The file.
        path: PathBuf,
        /// The row's.
        off: u64,
        /// The generation that exists.
        later: GenerationNo,
    },
    /// The row can't be written as JSON.
    #[error("cannot write a row for {}", path.display())]
    Encode {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: serde_json::Error,
    },
}

impl CtlError {
    fn of(operation: &'static str, path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::DiskFull { path, source },
            _ => Self::Io { operation, path, source },
        }
    }
}
