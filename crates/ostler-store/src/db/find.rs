//! Finding the one session that a person means.

use super::{Db, DbError, SessionRow};
use ostler_core::ids::SessionId;

/// Why a name means no session.
#[derive(Debug, thiserror::Error)]
pub enum FindError {
    /// Nothing fits.
    #[error("no session is called {name:?} and no session id begins with it; `ostler ls` shows what there is")]
    NotFound {
        /// What was asked for.
        name: String,
    },
    /// Several fit.
    #[error("{name:?} means several sessions: {}; give more of the id", names(candidates))]
    Ambiguous {
        /// What was asked for.
        name: String,
        /// Which (at most 20), newest first, with their labels.
        candidates: Vec<(SessionId, Option<String>)>,
    },
    /// The database can't be read.
    #[error(transparent)]
    Db(#[from] DbError),
}

fn names(found: &[(SessionId, Option<String>)]) -> String {
    let one = |(id, label): &(SessionId, Option<String>)| match label {
        Some(label) => format!("{id} ({label})"),
        None => id.to_string(),
    };
    found.iter().map(one).collect::<Vec<_>>().join(", ")
}

impl Db {
    /// The session whose id begins with `name`, or whose label is `name`.
    ///
    /// # Errors
    /// [`FindError::NotFound`], [`FindError::Ambiguous`], or the database can't be read.
    pub fn find_session(&self, name: &str) -> Result<SessionRow, FindError> {
        todo!("{name}")
    }
}
