//! What stands in columns: words for enums, JSON, ids, unsigned numbers.

use ostler_core::ids::{ConversationId, DeliveryId, RuleId, SessionId};
use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ToSqlOutput, ValueRef};
use rusqlite::{Row, ToSql};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// A column holds what this version can't read.
#[derive(Debug, thiserror::Error)]
#[error("{value:?} is no {what}")]
pub(super) struct UnknownValue {
    /// What it should be.
    pub(super) what: &'static str,
    pub(super) value: String,
}

impl UnknownValue {
    fn of<T>(value: &str) -> FromSqlError {
        let path = std::any::type_name::<T>();
        let what = path.rsplit("::").next().unwrap_or(path);
        FromSqlError::Other(Box::new(Self { what, value: value.to_owned() }))
    }
}

/// An enum without fields, as the word that its serialisation is.
pub(super) struct Word<T>(pub(super) T);

impl<T: Serialize> ToSql for Word<T> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        let json = encode(&self.0)?;
        Ok(ToSqlOutput::from(json.trim_matches('"').to_owned()))
    }
}

impl<T: DeserializeOwned> FromSql for Word<T> {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        let word = value.as_str()?;
        let json = serde_json::Value::String(word.to_owned());
        serde_json::from_value(json).map(Self).map_err(|_| UnknownValue::of::<T>(word))
    }
}

/// Anything else that serialises, as JSON text.
pub(super) struct Json<T>(pub(super) T);

impl<T: Serialize> ToSql for Json<T> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        encode(&self.0).map(ToSqlOutput::from)
    }
}

impl<T: DeserializeOwned> FromSql for Json<T> {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        let text = value.as_str()?;
        serde_json::from_str(text).map(Self).map_err(|_| UnknownValue::of::<T>(text))
    }
}

fn encode(value: &impl Serialize) -> rusqlite::Result<String> {
    serde_json::to_string(value).map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))
}

/// An unsigned number. SQLite has signed ones only; none of ours comes near the border.
#[derive(Clone, Copy)]
pub(super) struct Count(pub(super) u64);

impl ToSql for Count {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        let signed = i64::try_from(self.0);
        signed.map(ToSqlOutput::from).map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))
    }
}

impl FromSql for Count {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        let signed = value.as_i64()?;
        u64::try_from(signed).map(Self).map_err(|_| UnknownValue::of::<u64>(&signed.to_string()))
    }
}

/// An id, in the usual spelling of a UUID.
pub(super) struct Id<T>(pub(super) T);

macro_rules! id_columns {
    ($($name:ty),*) => {$(
        impl ToSql for Id<$name> {
            fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
                Ok(ToSqlOutput::from(self.0.to_string()))
            }
        }

        impl FromSql for Id<$name> {
            fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
                let text = value.as_str()?;
                text.parse().map(Self).map_err(|_| UnknownValue::of::<$name>(text))
            }
        }
    )*};
}

id_columns!(SessionId, DeliveryId, ConversationId, RuleId);

/// A byte range in two columns, from the one with this name on.
pub(super) fn range(row: &Row<'_>, start: &str, end: &str) -> rusqlite::Result<Option<(u64, u64)>> {
    let start: Option<Count> = row.get(start)?;
    let end: Option<Count> = row.get(end)?;
    Ok(start.zip(end).map(|(start, end)| (start.0, end.0)))
}

/// A word that may be missing.
pub(super) fn word<T: DeserializeOwned>(row: &Row<'_>, column: &str) -> rusqlite::Result<Option<T>> {
    Ok(row.get::<_, Option<Word<T>>>(column)?.map(|word| word.0))
}

/// Both ends of a range for two columns.
pub(super) fn ends(range: Option<(u64, u64)>) -> (Option<Count>, Option<Count>) {
    (range.map(|range| Count(range.0)), range.map(|range| Count(range.1)))
}
