//! Permissions: what is open, and who decided first.
//!
//! A row has two halves. One is the journal's (asked, decided, answered, withdrawn) and is written by
//! [`Db::commit_projection`] alone. The other is the decision of a face, written once by [`Db::decide_permission`]. So
//! neither can overwrite the other, and what a row means is read from both.

use super::columns::{Id, Word, range, word};
use super::{Db, DbError, changes};
use ostler_core::ctl::{Decision, Reply};
use ostler_core::ids::{GenerationNo, Millis, SessionId};
use ostler_core::rows::{Permission, PermissionState};
use rusqlite::{OptionalExtension, Row, params};

/// A decision that a face wants to take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewDecision {
    /// Whose permission.
    pub session: SessionId,
    /// The generation that asks.
    pub generation: GenerationNo,
    /// The child's id for it.
    pub request_id: String,
    /// What.
    pub reply: Reply,
    /// Who: `terminal`, `cli`, …
    pub by: String,
    /// When.
    pub at: Millis,
}

/// Who decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Winner {
    /// Allow or deny.
    pub decision: Decision,
    /// Who.
    pub by: String,
}

/// What became of a decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decided {
    /// It counts.
    First,
    /// Somebody was first.
    Lost(Winner),
    /// It can't be answered any more.
    Withdrawn,
    /// There is no such question.
    Unknown,
}

/// A permission as the database keeps it: what the journal says and what a face decided.
#[derive(Clone, Debug, PartialEq)]
pub struct PermissionRow {
    /// Whose.
    pub session: SessionId,
    /// What the journal says.
    pub journal: Permission,
    /// What a face decided; the journal may not say so yet, or never will.
    pub face: Option<NewDecision>,
}

impl PermissionRow {
    /// How far it has come, from both halves.
    #[must_use]
    pub fn state(&self) -> PermissionState {
        match self.journal.state {
            PermissionState::Open if self.face.is_some() => PermissionState::Decided,
            state => state,
        }
    }
}

impl Db {
    /// Decides a permission if nobody did so before.
    ///
    /// # Errors
    /// The database can't be written.
    pub fn decide_permission(&self, new: &NewDecision) -> Result<Decided, DbError> {
        self.write("decide a permission", |tx| {
            let set = tx
                .prepare_cached(
                    "UPDATE permission
                     SET face_decision = ?4, face_by = ?5, face_message = ?6, face_input = ?7, face_at = ?8,
                     face_always = ?9, face_interrupt = ?10
                     WHERE session = ?1 AND generation = ?2 AND request_id = ?3
                     AND state = 'open' AND face_decision IS NULL AND fold_no IS NOT NULL",
                )?
                .execute(params![
                    Id(new.session),
                    new.generation,
                    new.request_id,
                    Word(new.reply.decision),
                    new.by,
                    new.reply.message,
                    new.reply.input,
                    new.at.0,
                    new.reply.always,
                    new.reply.interrupt,
                ])?;
            if set == 1 {
                changes::append(tx, new.session, &["permission"])?;
                return Ok(Decided::First);
            }
            let sql = select("session = ?1 AND generation = ?2 AND request_id = ?3");
            let key = params![Id(new.session), new.generation, new.request_id];
            let row = tx.prepare_cached(&sql)?.query_row(key, PermissionRow::read).optional()?;
            Ok(row.map_or(Decided::Unknown, PermissionRow::into_loser))
        })
    }

    /// Permissions that wait for a decision: of one session, or of all. In the order they were asked, within a session.
    ///
    /// # Errors
    /// The database can't be read.
    pub fn pending_permissions(&self, session: Option<SessionId>) -> Result<Vec<PermissionRow>, DbError> {
        let condition = match session {
            Some(_) => "session = ?1 AND state = 'open' AND face_decision IS NULL",
            None => "?1 IS NULL AND state = 'open' AND face_decision IS NULL",
        };
        self.permission_rows(condition, session)
    }

    /// Decisions of faces that the journal doesn't know yet, as far as the database knows; and those of the last two
    /// generations that it never will, because the child was gone first.
    ///
    /// # Errors
    /// The database can't be read.
    pub fn decisions_to_write(&self, session: SessionId) -> Result<Vec<NewDecision>, DbError> {
        let condition =
            "session = ?1 AND face_decision IS NOT NULL AND (state = 'open' OR (state = 'withdrawn'
             AND decision IS NULL
             AND generation >= (SELECT max(no) FROM generation WHERE session = ?1) - 1))";
        let rows = self.permission_rows(condition, Some(session))?;
        Ok(rows.into_iter().filter_map(|row| row.face).collect())
    }

    /// All permissions of a session, in the order they were asked.
    ///
    /// # Errors
    /// The database can't be read.
    pub fn permissions(&self, session: SessionId) -> Result<Vec<PermissionRow>, DbError> {
        self.permission_rows("session = ?1", Some(session))
    }

    fn permission_rows(
        &self,
        condition: &str,
        session: Option<SessionId>,
    ) -> Result<Vec<PermissionRow>, DbError> {
        self.read("read permissions", |conn| {
            let sql = format!("{} ORDER BY session, fold_no", select(condition));
            let mut statement = conn.prepare_cached(&sql)?;
            let rows = statement.query_map([session.map(Id)], PermissionRow::read)?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }
}

fn select(condition: &str) -> String {
    format!(
        "SELECT session, generation, request_id, kind, tool, tool_use_id, line_start, line_end, state, decision,
         decided_by, message, withdrawn, input, always, interrupt, asked_at, exhausted, call, face_decision, face_by,
         face_message, face_input, face_at, face_always, face_interrupt
         FROM permission WHERE fold_no IS NOT NULL AND {condition}"
    )
}

impl PermissionRow {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        let session = row.get::<_, Id<_>>("session")?.0;
        let journal = read_journal(row)?;
        let face = match (word(row, "face_decision")?, row.get("face_by")?, row.get("face_at")?) {
            (Some(decision), Some(by), Some(at)) => Some(NewDecision {
                session,
                generation: journal.generation,
                request_id: journal.request_id.clone(),
                reply: Reply {
                    decision,
                    message: row.get("face_message")?,
                    input: row.get("face_input")?,
                    always: row.get("face_always")?,
                    interrupt: row.get("face_interrupt")?,
                },
                by,
                at: Millis(at),
            }),
            _ => None,
        };
        Ok(Self { session, journal, face })
    }

    /// What somebody is told who came too late for this row.
    fn into_loser(self) -> Decided {
        if self.journal.state == PermissionState::Withdrawn {
            return Decided::Withdrawn;
        }
        let journal = self.journal.decision.zip(self.journal.decided_by);
        let winner = journal.or(self.face.map(|face| (face.reply.decision, face.by)));
        winner.map_or(Decided::Withdrawn, |(decision, by)| Decided::Lost(Winner { decision, by }))
    }
}

/// The journal's half of a row.
pub(super) fn read_journal(row: &Row<'_>) -> rusqlite::Result<Permission> {
    Ok(Permission {
        generation: row.get("generation")?,
        request_id: row.get("request_id")?,
        kind: row.get::<_, Word<_>>("kind")?.0,
        tool: row.get("tool")?,
        tool_use_id: row.get("tool_use_id")?,
        line: range(row, "line_start", "line_end")?.unwrap_or_default(),
        state: row.get::<_, Word<_>>("state")?.0,
        decision: word(row, "decision")?,
        decided_by: row.get("decided_by")?,
        message: row.get("message")?,
        withdrawn: row.get("withdrawn")?,
        input: row.get("input")?,
        always: row.get("always")?,
        interrupt: row.get("interrupt")?,
        asked_at: row.get::<_, Option<i64>>("asked_at")?.map(Millis),
        exhausted: row.get("exhausted")?,
        call: row.get("call")?,
    })
}
