//! What a path looked like, to see later whether it changed.

use crate::durable::file_id;
use std::fs::{self, Metadata};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::Path;
use std::time::SystemTime;

/// A path at one moment. A file that is written in place, twice within a tick of the file system's clock and to the
/// same length, looks the same; one that grows never does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Snapshot {
    Missing,
    File {
        id: (u64, u64),
        length: u64,
        modified: Option<SystemTime>,
    },
    Directory {
        id: (u64, u64),
        /// Of the sorted names: two entries that come within a tick leave one modification time.
        names: u64,
    },
}

impl Snapshot {
    pub(super) fn take(path: &Path) -> io::Result<Self> {
        let taken = fs::metadata(path).and_then(|metadata| Self::of(path, &metadata));
        match taken {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::Missing),
            other => other,
        }
    }

    pub(super) fn is_directory(&self) -> bool {
        matches!(self, Self::Directory { .. })
    }

    fn of(path: &Path, metadata: &Metadata) -> io::Result<Self> {
        let id = file_id(metadata);
        if !metadata.is_dir() {
            return Ok(Self::File { id, length: metadata.len(), modified: metadata.modified().ok() });
        }
        let mut names = Vec::new();
        for entry in fs::read_dir(path)? {
            names.push(entry?.file_name());
        }
        names.sort_unstable();
        let mut hasher = DefaultHasher::new();
        names.hash(&mut hasher);
        Ok(Self::Directory { id, names: hasher.finish() })
    }
}
