//! Tasks of the bridge: a durable queue, and what became of each.
//!
//! A task is one message for one session. Its row knows its place in the queue, who it is, and how it ended; everything
//! between is the delivery's. Each move is a compare-and-set, so that two servers can't begin the same task, and one that
//! was cancelled is not begun after all.

use super::columns::{Count, Id, Word};
use super::deliveries::{self, NewDelivery};
use super::{Db, DbError, Inserted};
use ostler_core::ids::{DeliveryId, GenerationNo, Millis, SessionId};
use rusqlite::{OptionalExtension, Row, ToSql, params};
use serde::{Deserialize, Serialize};

/// Where a task stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskState {
    /// It waits for its turn.
    Queued,
    /// A server makes its session.
    Spawning,
    /// Its message is accepted.
    Running,
    /// It came to an end by itself. Final.
    Done,
    /// It did not. Final.
    Failed,
}

impl TaskState {
    /// The word for it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Spawning => "spawning",
            Self::Running => "running",
            Self::Done => "done",
            Self::Failed => "failed",
        }
    }
}

/// A task to accept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewTask {
    /// Its id; nobody else's.
    pub id: String,
    /// The working directory of its bridge.
    pub place: String,
    /// What was asked for, JSON.
    pub request: Vec<u8>,
    /// The session that it will have.
    pub session: SessionId,
    /// The message that it will be.
    pub delivery: DeliveryId,
    /// When.
    pub at: Millis,
}

/// What a queue may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueLimit {
    /// Tasks that wait.
    pub tasks: u64,
    /// Bytes of their requests together.
    pub bytes: u64,
}

/// A task as the database keeps it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskRow {
    /// Its place in the queue; only ever grows.
    pub seq: u64,
    /// Its id.
    pub id: String,
    /// The working directory of its bridge.
    pub place: String,
    /// When it was asked for.
    pub created_at: Millis,
    /// Where it stands.
    pub state: TaskState,
    /// Its session; there is none yet before it runs.
    pub session: SessionId,
    /// Its message; there is none yet before it runs.
    pub delivery: DeliveryId,
    /// Its message was accepted.
    pub ran: bool,
    /// The session's newest generation when it began; nothing of an older one is about it.
    pub behind: GenerationNo,
    /// Somebody asked for its end.
    pub cancelled: bool,
    /// When it began.
    pub started_at: Option<Millis>,
    /// When it ended.
    pub ended_at: Option<Millis>,
    /// 0 or 1, from its end on.
    pub exit_code: Option<i64>,
    /// Why it failed.
    pub reason: Option<String>,
}

/// How a task ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskEnd {
    /// True: by itself, whatever came of it.
    pub done: bool,
    /// 0 or 1.
    pub exit_code: i64,
    /// Why it failed.
    pub reason: Option<String>,
    /// When.
    pub at: Millis,
}

/// What became of a new task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskInserted {
    /// It is accepted, durably.
    New,
    /// The queue holds as much as it may.
    Full,
    /// The id is somebody else's.
    Taken,
}

/// What became of the wish to end a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskCancel {
    /// There is no such task.
    Unknown,
    /// It had not begun and never will.
    NotBegun,
    /// It runs, and its message is to be taken back or broken off.
    Running,
    /// It was over already.
    Over,
}

impl Db {
    /// Accepts a task at the end of the queue. With [`super::Durability::Full`] it survives a loss of power from here on.
    ///
    /// # Errors
    /// The database can't be written.
    pub fn insert_task(&self, new: &NewTask, limit: QueueLimit) -> Result<TaskInserted, DbError> {
        self.write("accept a task", |tx| {
            let waiting = "SELECT count(*), coalesce(sum(length(request)), 0) FROM bridge_task
                           WHERE place = ?1 AND ended_at IS NULL AND state = 'queued'";
            let (tasks, bytes) = tx
                .prepare_cached(waiting)?
                .query_row([&new.place], |row| Ok((row.get::<_, Count>(0)?.0, row.get::<_, Count>(1)?.0)))?;
            if tasks >= limit.tasks || bytes.saturating_add(new.request.len() as u64) > limit.bytes {
                return Ok(TaskInserted::Full);
            }
            let added = tx
                .prepare_cached(
                    "INSERT INTO bridge_task (id, place, created_at, request, state, session, delivery)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT (id) DO NOTHING",
                )?
                .execute(params![
                    new.id,
                    new.place,
                    new.at.0,
                    new.request,
                    Word(TaskState::Queued),
                    Id(new.session),
                    Id(new.delivery),
                ])?;
            Ok(if added == 1 { TaskInserted::New } else { TaskInserted::Taken })
        })
    }

    /// A task.
    ///
    /// # Errors
    /// The database can't be read.
    pub fn task(&self, id: &str) -> Result<Option<TaskRow>, DbError> {
        self.read("read a task", |conn| {
            let sql = format!("SELECT {COLUMNS} FROM bridge_task WHERE id = ?1");
            Ok(conn.prepare_cached(&sql)?.query_row([id], TaskRow::read).optional()?)
        })
    }

    /// What was asked for; None once nobody needs it any more.
    ///
    /// # Errors
    /// The database can't be read.
    pub fn task_request(&self, id: &str) -> Result<Option<Vec<u8>>, DbError> {
        self.read("read a task", |conn| {
            let sql = "SELECT request FROM bridge_task WHERE id = ?1";
            Ok(conn.prepare_cached(sql)?.query_row([id], |row| row.get(0)).optional()?.flatten())
        })
    }

    /// Tasks of a bridge that have begun and not ended, oldest first.
    ///
    /// # Errors
    /// The database can't be read.
    pub fn tasks_under_way(&self, place: &str) -> Result<Vec<TaskRow>, DbError> {
        let which = "place = ?1 AND ended_at IS NULL AND state IN ('spawning', 'running') ORDER BY seq";
        self.tasks(which, params![place])
    }

    /// Tasks of a bridge that wait, at most `limit`, oldest first.
    ///
    /// # Errors
    /// The database can't be read.
    pub fn tasks_queued(&self, place: &str, limit: u32) -> Result<Vec<TaskRow>, DbError> {
        let which = "place = ?1 AND ended_at IS NULL AND state = 'queued' ORDER BY seq LIMIT ?2";
        self.tasks(which, params![place, limit])
    }

    /// Tasks of a bridge that have ended at or after that time, oldest first.
    ///
    /// # Errors
    /// The database can't be read.
    pub fn tasks_ended_since(&self, place: &str, since: Millis) -> Result<Vec<TaskRow>, DbError> {
        let which = "place = ?1 AND ended_at IS NOT NULL AND ended_at >= ?2 ORDER BY seq";
        self.tasks(which, params![place, since.0])
    }

    fn tasks(&self, which: &str, with: &[&dyn ToSql]) -> Result<Vec<TaskRow>, DbError> {
        self.read("read tasks", |conn| {
            let sql = format!("SELECT {COLUMNS} FROM bridge_task WHERE {which}");
            let mut statement = conn.prepare_cached(&sql)?;
            Ok(statement.query_map(with, TaskRow::read)?.collect::<Result<_, _>>()?)
        })
    }

    /// A server takes a task out of the queue. False: somebody else did, or it was cancelled.
    ///
    /// # Errors
    /// The database can't be written.
    pub fn claim_task(&self, id: &str, at: Millis) -> Result<bool, DbError> {
        self.write("begin a task", |tx| {
            let claimed = tx.execute(
                "UPDATE bridge_task SET state = 'spawning', started_at = ?2 WHERE id = ?1 AND state = 'queued'",
                params![id, at.0],
            )?;
            Ok(claimed == 1)
        })
    }

    /// The message of a task is accepted, in the same instant in which the task begins to run. `session` is its session
    /// from now on: one of its own, or the one that it goes on with. None: the task was cancelled meanwhile, and nothing
    /// was accepted.
    ///
    /// # Errors
    /// [`DbError::NoSession`], [`DbError::DiskFull`], the body's file or the database can't be written.
    pub fn run_task(
        &self,
        id: &str,
        message: &NewDelivery,
        behind: GenerationNo,
    ) -> Result<Option<Inserted>, DbError> {
        let body = deliveries::Prepared::new(self, message);
        let accepted = self.write("begin a task", |tx| {
            let sql = "SELECT 1 FROM bridge_task WHERE id = ?1 AND state = 'spawning'";
            if !tx.prepare_cached(sql)?.exists([id])? {
                return Ok(None);
            }
            let accepted = body.accept(tx, message)?;
            if matches!(accepted, Inserted::New { .. } | Inserted::Same { .. }) {
                tx.execute(
                    "UPDATE bridge_task SET state = 'running', ran = 1, session = ?2, behind = ?3, request = NULL
                     WHERE id = ?1",
                    params![id, Id(message.session), behind],
                )?;
            }
            Ok(Some(accepted))
        });
        body.finish(accepted.as_ref().is_ok_and(Option::is_some));
        accepted
    }

    /// Somebody wants the end of a task. What has not begun has ended with that.
    ///
    /// # Errors
    /// The database can't be written.
    pub fn cancel_task(&self, id: &str, at: Millis) -> Result<TaskCancel, DbError> {
        self.write("cancel a task", |tx| {
            let sql = "SELECT state FROM bridge_task WHERE id = ?1";
            let state = tx.query_row(sql, [id], |row| Ok(row.get::<_, Word<TaskState>>(0)?.0)).optional()?;
            match state {
                None => Ok(TaskCancel::Unknown),
                Some(TaskState::Queued | TaskState::Spawning) => {
                    tx.execute(
                        "UPDATE bridge_task SET state = 'failed', cancelled = 1, exit_code = 1, reason = 'cancelled',
                         ended_at = ?2, request = NULL WHERE id = ?1",
                        params![id, at.0],
                    )?;
                    Ok(TaskCancel::NotBegun)
                }
                Some(TaskState::Running) => {
                    tx.execute("UPDATE bridge_task SET cancelled = 1 WHERE id = ?1", [id])?;
                    Ok(TaskCancel::Running)
                }
                Some(TaskState::Done | TaskState::Failed) => Ok(TaskCancel::Over),
            }
        })
    }

    /// Somebody listens to a task. True: nobody ever did before.
    ///
    /// # Errors
    /// The database can't be written.
    pub fn first_listens(&self, id: &str) -> Result<bool, DbError> {
        self.write("note who listens to a task", |tx| {
            let sql = "UPDATE bridge_task SET streamed = 1 WHERE id = ?1 AND streamed = 0";
            Ok(tx.execute(sql, [id])? == 1)
        })
    }

    /// A task has ended. False: it had ended before, and how it did then stays.
    ///
    /// # Errors
    /// The database can't be written.
    pub fn end_task(&self, id: &str, end: &TaskEnd) -> Result<bool, DbError> {
        self.write("end a task", |tx| {
            let state = if end.done { TaskState::Done } else { TaskState::Failed };
            let ended = tx.execute(
                "UPDATE bridge_task SET state = ?2, exit_code = ?3, reason = ?4, ended_at = ?5, request = NULL
                 WHERE id = ?1 AND ended_at IS NULL",
                params![id, Word(state), end.exit_code, end.reason, end.at.0],
            )?;
            Ok(ended == 1)
        })
    }
}

const COLUMNS: &str = "seq, id, place, created_at, state, session, delivery, ran, behind, cancelled, started_at, ended_at, \
    exit_code, reason";

impl TaskRow {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            seq: row.get::<_, Count>("seq")?.0,
            id: row.get("id")?,
            place: row.get("place")?,
            created_at: Millis(row.get("created_at")?),
            state: row.get::<_, Word<_>>("state")?.0,
            session: row.get::<_, Id<_>>("session")?.0,
            delivery: row.get::<_, Id<_>>("delivery")?.0,
            ran: row.get("ran")?,
            behind: row.get("behind")?,
            cancelled: row.get("cancelled")?,
            started_at: row.get::<_, Option<i64>>("started_at")?.map(Millis),
            ended_at: row.get::<_, Option<i64>>("ended_at")?.map(Millis),
            exit_code: row.get("exit_code")?,
            reason: row.get("reason")?,
        })
    }
}
