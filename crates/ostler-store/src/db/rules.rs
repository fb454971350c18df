//! Permission rules. People make them; nothing else does, so no journal knows them.

use super::columns::{Id, UnknownValue, Word};
use super::{Db, DbError};
use ostler_core::ids::{Millis, RuleId};
use ostler_core::rule::{MAX_RULES, Rule, Scope};
use rusqlite::{Row, params};

/// What became of a new rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuleAdded {
    /// It holds from now on.
    New,
    /// There are as many as there may be.
    TooMany,
}

impl Db {
    /// Every rule, the oldest first; also those that are over.
    ///
    /// # Errors
    /// The database can't be read.
    pub fn rules(&self) -> Result<Vec<Rule>, DbError> {
        self.read("read rules", |conn| {
            let mut statement = conn.prepare_cached("SELECT * FROM rule ORDER BY made_at, id")?;
            Ok(statement.query_map([], read)?.collect::<Result<_, _>>()?)
        })
    }

    /// Adds a rule. Rules that are over make room.
    ///
    /// # Errors
    /// The database can't be written.
    pub fn add_rule(&self, rule: &Rule) -> Result<RuleAdded, DbError> {
        self.write("store a rule", |tx| {
            tx.execute("DELETE FROM rule WHERE expires_at <= ?1", [rule.made_at.0])?;
            let count: i64 = tx.query_row("SELECT count(*) FROM rule", [], |row| row.get(0))?;
            if usize::try_from(count).unwrap_or(usize::MAX) >= MAX_RULES {
                return Ok(RuleAdded::TooMany);
            }
            tx.prepare_cached(
                "INSERT INTO rule (id, effect, pattern, scope, place, made_by, made_at, expires_at)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
            )?
            .execute(params![
                Id(rule.id),
                Word(rule.effect),
                rule.pattern.to_string(),
                rule.scope.word(),
                rule.scope.what(),
                rule.made_by,
                rule.made_at.0,
                rule.expires_at.map(|at| at.0),
            ])?;
            Ok(RuleAdded::New)
        })
    }

    /// Removes a rule; false: there was none.
    ///
    /// # Errors
    /// The database can't be written.
    pub fn remove_rule(&self, id: RuleId) -> Result<bool, DbError> {
        self.write("remove a rule", |tx| Ok(tx.execute("DELETE FROM rule WHERE id = ?1", [Id(id)])? == 1))
    }
}

fn read(row: &Row<'_>) -> rusqlite::Result<Rule> {
    let unknown = |what: &'static str, value: String| {
        let error = UnknownValue { what, value };
        rusqlite::Error::FromSqlConversionFailure(0, rusqlite::types::Type::Text, Box::new(error))
    };
    let pattern: String = row.get("pattern")?;
    let (scope, place): (String, Option<String>) = (row.get("scope")?, row.get("place")?);
    Ok(Rule {
        id: row.get::<_, Id<_>>("id")?.0,
        effect: row.get::<_, Word<_>>("effect")?.0,
        pattern: pattern.parse().map_err(|_| unknown("pattern", pattern.clone()))?,
        scope: Scope::of(&scope, place.as_deref()).ok_or_else(|| unknown("scope", scope))?,
        made_by: row.get("made_by")?,
        made_at: Millis(row.get("made_at")?),
        expires_at: row.get::<_, Option<i64>>("expires_at")?.map(Millis),
    })
}
