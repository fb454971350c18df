//! Finding the one session that a person means.

use super::error::Failure;
use super::{Db, DbError, SessionRow};
use ostler_core::ids::SessionId;
use rusqlite::Connection;

/// How many candidates are named at most.
const CANDIDATES: usize = 20;

/// Why a name means no session.
#[derive(Debug, thiserror::Error)]
pub enum FindError {
    /// Nothing fits.
    #[error(
        "no session is called {name:?} and no session id begins with it; `ostler ls` shows what there is"
    )]
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
        let found = self.read("look for a session", |conn| {
            let mut found = by_label(conn, name)?;
            for row in by_id(conn, name)? {
                if found.iter().all(|other| other.id != row.id) {
                    found.push(row);
                }
            }
            Ok(found)
        })?;
        one(name, found)
    }
}

/// The only one, or why not.
fn one(name: &str, mut found: Vec<SessionRow>) -> Result<SessionRow, FindError> {
    let name = name.to_owned();
    if found.len() > 1 {
        found.sort_by_key(|row| std::cmp::Reverse((row.created_at, row.id)));
        found.truncate(CANDIDATES);
        let candidates = found.into_iter().map(|row| (row.id, row.label)).collect();
        return Err(FindError::Ambiguous { name, candidates });
    }
    found.pop().ok_or(FindError::NotFound { name })
}

fn by_label(conn: &Connection, label: &str) -> Result<Vec<SessionRow>, Failure> {
    let sql = format!(
        "SELECT {} FROM session INDEXED BY session_by_label WHERE label = ?1
         ORDER BY created_at DESC, id DESC LIMIT {CANDIDATES}",
        SessionRow::COLUMNS
    );
    let mut statement = conn.prepare_cached(&sql)?;
    Ok(statement.query_map([label], SessionRow::read)?.collect::<Result<_, _>>()?)
}

fn by_id(conn: &Connection, prefix: &str) -> Result<Vec<SessionRow>, Failure> {
    let prefix = prefix.to_ascii_lowercase();
    if prefix.is_empty() || !prefix.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-') {
        return Ok(Vec::new());
    }
    // Every character of an id is less than `g`, so this bounds everything that begins with the prefix.
    let sql = format!(
        "SELECT {} FROM session WHERE id >= ?1 AND id < ?1 || 'g' ORDER BY id LIMIT {CANDIDATES}",
        SessionRow::COLUMNS
    );
    let mut statement = conn.prepare_cached(&sql)?;
    Ok(statement.query_map([prefix], SessionRow::read)?.collect::<Result<_, _>>()?)
}
