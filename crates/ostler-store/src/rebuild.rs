//! Session rows from session folders, for a database that was lost.

use crate::db::{Db, DbError};
use crate::home::Home;
use crate::session_file::SessionFileError;
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

/// Makes a row for every session folder that has none, with a fresh record (`new`, not stopped, not closed). Rows that
/// exist are left alone. The caller folds the journals afterwards.
///
/// # Errors
/// The folder of sessions can't be listed, or the database can't be written.
pub fn rebuild_session_rows(home: &Home, db: &mut Db) -> Result<Rebuilt, RebuildError> {
    todo!("{home:?} {db:?}")
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
