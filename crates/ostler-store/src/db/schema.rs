//! Tables, and how an older database becomes a newer one.
//!
//! `PRAGMA user_version` is the schema number. A migration only adds: tables, columns, indexes. So an older ostler can
//! go on using a database that a newer one has migrated, as long as its own number is not below `lowest_reader` in
//! the table `meta`; a migration that changes what existing columns mean must raise that.

use super::error::Failure;
use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior};

/// One step from a schema number to the next.
struct Migration {
    /// What it runs.
    sql: &'static str,
    /// The schema number that a reader must know from then on.
    lowest_reader: i64,
}

/// Step `n` (from 0) leads from schema `n` to `n + 1`. Released steps are never edited.
const MIGRATIONS: &[Migration] = &[
    Migration { sql: include_str!("schema/0001.sql"), lowest_reader: 1 },
    Migration { sql: include_str!("schema/0002.sql"), lowest_reader: 1 },
    Migration { sql: include_str!("schema/0003.sql"), lowest_reader: 1 },
    Migration { sql: include_str!("schema/0004.sql"), lowest_reader: 1 },
    Migration { sql: include_str!("schema/0005.sql"), lowest_reader: 1 },
    Migration { sql: include_str!("schema/0006.sql"), lowest_reader: 1 },
    Migration { sql: include_str!("schema/0007.sql"), lowest_reader: 1 },
];

/// The schema number that this version writes.
pub(super) const OURS: i64 = MIGRATIONS.len() as i64;

/// The schema number of the database; 0 for an empty file.
pub(super) fn number(conn: &Connection) -> rusqlite::Result<i64> {
    conn.query_row("PRAGMA user_version", [], |row| row.get(0))
}

/// Fails when the database is too new for us. Looks only.
pub(super) fn check(conn: &Connection, found: i64) -> Result<(), Failure> {
    if found <= OURS {
        return Ok(());
    }
    let lowest: Option<i64> = conn
        .query_row("SELECT value FROM meta WHERE name = 'lowest_reader'", [], |row| row.get(0))
        .optional()?;
    // A newer schema that doesn't say who may read it is not one of ours to judge.
    let lowest_reader = lowest.unwrap_or(found);
    if lowest_reader > OURS { Err(Failure::Newer { found, lowest_reader }) } else { Ok(()) }
}

/// Brings an older database up to date; does nothing to one that is. Several processes may try at once.
pub(super) fn migrate(conn: &Connection) -> Result<(), Failure> {
    let tx = Transaction::new_unchecked(conn, TransactionBehavior::Immediate)?;
    // Read again: somebody else may have migrated it while we waited.
    let from = usize::try_from(number(&tx)?).unwrap_or(0);
    for step in MIGRATIONS.iter().skip(from) {
        tx.execute_batch(step.sql)?;
        tx.execute(
            "INSERT INTO meta (name, value) VALUES ('lowest_reader', ?1)
             ON CONFLICT (name) DO UPDATE SET value = max(value, excluded.value)",
            [step.lowest_reader],
        )?;
    }
    if from < MIGRATIONS.len() {
        tx.pragma_update(None, "user_version", OURS)?;
    }
    tx.commit()?;
    Ok(())
}
