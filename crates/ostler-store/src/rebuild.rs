//! Session rows from session folders, for a database that was lost.

use crate::db::SessionRow;
use crate::db::{Db, DbError};
use crate::flags::Flags;
use crate::home::Home;
use crate::session_file::{SessionFile, SessionFileError};
use ostler_core::ids::SessionId;
use std::path::PathBuf;

/// What [`rebuild_session_rows`] did.
#[derive(Debug, Default)]
pub struct Rebuilt {
    /// Sessions whose row was made from their folder.
    pub inserted: Vec<SessionId>,
    /// Sessions whose row was there.
    pub kept: usize,
    /// Folders that say nothing usable.
    pub unreadable: Vec<(PathBuf, SessionFileError)>,
}

/// Makes a row for every session folder that has none, with a fresh record: `new`, stopped or closed as the folder says.
/// Rows that exist are left alone. The caller folds the journals afterwards.
///
/// # Errors
/// The folder of sessions can't be listed, or the database can't be written.
pub fn rebuild_session_rows(home: &Home, db: &Db) -> Result<Rebuilt, RebuildError> {
    let list = |source| RebuildError::List { path: home.sessions_dir(), source };
    let mut rebuilt = Rebuilt::default();
    for id in home.sessions_on_disk().map_err(list)? {
        if db.session(id)?.is_some() {
            rebuilt.kept += 1;
            continue;
        }
        let dir = home.session(id);
        match SessionFile::read(&dir) {
            Ok(file) => {
                let mut row = SessionRow::of(&file);
                if let Some(flags) = Flags::read(&dir) {
                    (row.record.stopped, row.record.closed) = (flags.stopped, flags.closed);
                }
                db.insert_session(&row)?;
                rebuilt.inserted.push(id);
            }
            Err(error) => rebuilt.unreadable.push((dir.path, error)),
        }
    }
    Ok(rebuilt)
}

/// Why rows could not be rebuilt.
#[derive(Debug, thiserror::Error)]
pub enum RebuildError {
    /// The folder of sessions can't be listed.
    #[error("cannot list {}", path.display())]
    List {
        /// The folder.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// The database can't be written.
    #[error(transparent)]
    Db(#[from] DbError),
}
