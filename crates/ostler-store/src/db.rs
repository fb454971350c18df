//! `ostler.db`: records in SQLite. The only SQL of the project is in this module and its children.
//!
//! WAL, so that readers and the one writer don't wait for each other; every write is one `IMMEDIATE` transaction, so
//! that waiting for another writer happens at its beginning and nowhere else, and is bounded ([`DbError::Busy`]).

mod bases;
mod changes;
mod claims;
mod columns;
mod costs;
mod deliveries;
mod error;
mod figures;
mod find;
mod glance;
mod ledger;
mod limits;
mod list;
mod moves;
mod pages;
mod permissions;
mod projection;
mod rules;
mod schema;
mod sessions;
mod tasks;
mod webhooks;

pub use bases::{ForkRow, Sealing};
pub use changes::{Change, ChangePage};
pub use claims::Claim;
pub use costs::{Cost, CostFilter, CostKey};
pub use deliveries::{Body, DeliveryRow, Inserted, MAX_INLINE_BODY, Mode, NewDelivery, Pending};
pub use error::DbError;
pub use figures::Figures;
pub use find::FindError;
pub use glance::Glance;
pub use ledger::{LedgerBy, LedgerFilter, LedgerPage, LedgerSum};
pub use limits::RateLimit;
pub use list::{ListFilter, PageKey, SessionPage};
pub use moves::{Chore, Fate, Moved};
pub use pages::{DeliveryPage, Route};
pub use permissions::{Decided, NewDecision, PermissionRow, Winner};
pub use projection::{Committed, RecordChange};
pub use rules::RuleAdded;
pub use sessions::SessionRow;
pub use tasks::{NewTask, QueueLimit, TaskCancel, TaskEnd, TaskInserted, TaskRow, TaskState};
pub use webhooks::{WebhookEnd, WebhookRow};

use error::Failure;
use ostler_os::durable;
use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long to wait for another process's write. Transactions take milliseconds.
const PATIENCE: Duration = Duration::from_secs(10);

/// The page cache of a controller, in KiB: there may be a hundred of them.
const CONTROLLER_CACHE_KIB: i64 = 256;

/// What a commit promises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// It survives a loss of power: for faces, which accept things.
    Full,
    /// It survives the end of any process: for controllers, whose rows the journals can rebuild.
    Normal,
}

/// A connection to the database. One a thread; any number may be open at once, in any number of processes.
#[derive(Debug)]
pub struct Db {
    conn: Connection,
    path: PathBuf,
    patience: Duration,
}

impl Db {
    /// Opens the database in the folder `home`; creates or migrates it where needed.
    ///
    /// # Errors
    /// [`DbError::Newer`], [`DbError::Corrupt`], [`DbError::Busy`], [`DbError::DiskFull`], [`DbError::ReadOnly`] and
    /// other trouble.
    pub fn open(home: &Path, durability: Durability) -> Result<Self, DbError> {
        let path = home.join("ostler.db");
        // SQLite would create it readable for others. It must not be opened here: SQLite's locks on it would go when we
        // close it, those of this process's other connections too.
        durable::make_private(&path).map_err(|error| DbError::of_file(&path, error.into()))?;
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let explain = |failure: Failure| failure.explain("open", &path, PATIENCE);
        let conn = Connection::open_with_flags(&path, flags).map_err(|e| explain(e.into()))?;
        prepare(&conn).map_err(explain)?;
        Self { conn, path, patience: PATIENCE }.with_durability(durability)
    }

    /// The same connection with another limit on waiting for other writers; 10 s unless told otherwise.
    ///
    /// # Errors
    /// SQLite refuses.
    pub fn with_patience(self, patience: Duration) -> Result<Self, DbError> {
        let set = self.conn.busy_timeout(patience);
        set.map_err(|error| self.explain("wait", error))?;
        Ok(Self { patience, ..self })
    }

    fn explain(&self, operation: &'static str, failure: impl Into<Failure>) -> DbError {
        failure.into().explain(operation, &self.path, self.patience)
    }

    /// The same connection with another promise.
    pub(crate) fn with_durability(self, durability: Durability) -> Result<Self, DbError> {
        let set = match durability {
            Durability::Full => self.conn.pragma_update(None, "synchronous", "FULL"),
            Durability::Normal => self
                .conn
                .pragma_update(None, "synchronous", "NORMAL")
                .and_then(|()| self.conn.pragma_update(None, "cache_size", -CONTROLLER_CACHE_KIB)),
        };
        set.map_err(|error| self.explain("open", error))?;
        Ok(self)
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Runs `body` in one transaction and commits it. `operation` completes the sentence "cannot … in ostler.db".
    fn write<T>(
        &self,
        operation: &'static str,
        body: impl FnOnce(&Transaction<'_>) -> Result<T, Failure>,
    ) -> Result<T, DbError> {
        let run = || {
            let tx = Transaction::new_unchecked(&self.conn, TransactionBehavior::Immediate)?;
            let value = body(&tx)?;
            tx.commit()?;
            Ok(value)
        };
        run().map_err(|failure: Failure| self.explain(operation, failure))
    }

    /// Runs `body`, which only reads. Several statements in it see one state of the database.
    fn read<T>(
        &self,
        operation: &'static str,
        body: impl FnOnce(&Connection) -> Result<T, Failure>,
    ) -> Result<T, DbError> {
        let run = || {
            let tx = Transaction::new_unchecked(&self.conn, TransactionBehavior::Deferred)?;
            body(&tx)
        };
        run().map_err(|failure: Failure| self.explain(operation, failure))
    }
}

/// Makes a fresh connection fit for use.
fn prepare(conn: &Connection) -> Result<(), Failure> {
    conn.busy_timeout(PATIENCE)?;
    let found = schema::number(conn)?;
    schema::check(conn, found)?;
    if conn.is_readonly("main")? {
        return Err(Failure::ReadOnly);
    }
    write_ahead_log(conn)?;
    if found < schema::OURS { schema::migrate(conn) } else { Ok(()) }
}

/// Switches to WAL; stored in the file, so only the first process has to. SQLite does not wait for the lock that this
/// takes, whatever its timeout, so we do.
fn write_ahead_log(conn: &Connection) -> Result<(), Failure> {
    let until = Instant::now() + PATIENCE;
    loop {
        let mode = conn.query_row("PRAGMA journal_mode = WAL", [], |row| row.get::<_, String>(0));
        match mode {
            Ok(_) => return Ok(()),
            Err(error) if error::is_busy(&error) && Instant::now() < until => {
                std::thread::sleep(Duration::from_millis(5));
            }
            Err(error) => return Err(error.into()),
        }
    }
}
