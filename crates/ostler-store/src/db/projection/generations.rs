//! The table `generation`.

use super::Folded;
use crate::db::columns::{Id, Json};
use ostler_core::ids::{GenerationNo, Millis, SessionId};
use ostler_core::rows::Generation;
use rusqlite::{Connection, Row, Transaction, params};

impl Folded for Generation {
    type Key = GenerationNo;

    const KIND: &'static str = "generation";

    fn key(&self) -> GenerationNo {
        self.no
    }

    fn load(conn: &Connection, session: SessionId) -> rusqlite::Result<Vec<Self>> {
        conn.prepare_cached(
            "SELECT no, conversation, resumed, version, model, credential, started_at, ended_at, exit, garbled, killed,
             proven, cache FROM generation WHERE session = ?1 ORDER BY no",
        )?
        .query_map([Id(session)], read)?
        .collect()
    }

    fn put(&self, tx: &Transaction<'_>, session: SessionId, _no: usize) -> rusqlite::Result<()> {
        // Destructured, so that a new field can't be forgotten here.
        let Self {
            no,
            conversation,
            resumed,
            version,
            model,
            credential,
            started_at,
            ended_at,
            exit,
            garbled,
            killed,
            proven,
            cache,
        } = self;
        tx.prepare_cached(
            "INSERT OR REPLACE INTO generation (session, host, no, conversation, resumed, version, model, credential,
             started_at, ended_at, exit, garbled, killed, proven, cache)
             VALUES (?1, (SELECT host FROM session WHERE id = ?1), ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)",
        )?
        .execute(params![
            Id(session),
            no,
            Id(*conversation),
            resumed,
            version,
            model,
            credential,
            started_at.0,
            ended_at.map(|at| at.0),
            exit.map(Json),
            garbled,
            killed,
            proven,
            cache.map(Json),
        ])?;
        Ok(())
    }

    fn remove(tx: &Transaction<'_>, session: SessionId, no: &GenerationNo) -> rusqlite::Result<()> {
        tx.prepare_cached("DELETE FROM generation WHERE session = ?1 AND no = ?2")?
            .execute(params![Id(session), no])?;
        Ok(())
    }
}

fn read(row: &Row<'_>) -> rusqlite::Result<Generation> {
    Ok(Generation {
        no: row.get("no")?,
        conversation: row.get::<_, Id<_>>("conversation")?.0,
        resumed: row.get("resumed")?,
        version: row.get("version")?,
        model: row.get("model")?,
        credential: row.get("credential")?,
        started_at: Millis(row.get("started_at")?),
        ended_at: row.get::<_, Option<i64>>("ended_at")?.map(Millis),
        exit: row.get::<_, Option<Json<_>>>("exit")?.map(|exit| exit.0),
        garbled: row.get("garbled")?,
        killed: row.get("killed")?,
        proven: row.get("proven")?,
        cache: row.get::<_, Option<Json<_>>>("cache")?.map(|cache| cache.0),
    })
}
