//! Which fields the views know, and what a line has beyond them.
//!
//! New CLI versions add fields all the time and none of them breaks a view. This module makes the additions visible:
//! the golden file of the recordings is written with it.

use serde_json::Value;
use std::collections::BTreeSet;

/// What a view reads.
#[derive(Debug)]
pub(crate) enum Shape {
    /// A string, a number, a flag.
    Leaf,
    /// Anything: kept as text, or known and skipped.
    Opaque,
    /// A list of the same.
    List(&'static Self),
    /// An object whose keys are data.
    Entries(&'static Self),
    /// An object with these keys.
    Object {
        /// Key and what is behind it.
        fields: &'static [(&'static str, &'static Self)],
        /// More objects whose keys stand in the same one.
        rest: &'static [&'static Self],
    },
}

impl Shape {
    fn field(&self, key: &str) -> Option<&'static Self> {
        let Self::Object { fields, rest } = self else { return None };
        let own = fields.iter().find(|(name, _)| *name == key).map(|(_, shape)| *shape);
        own.or_else(|| rest.iter().find_map(|shape| shape.field(key)))
    }
}

/// The fields of a line that no view knows, as paths: `message.context_management`, `tasks[].run_id`,
/// `modelUsage.*.provider`. A line of an unknown type or subtype gives the one path `*`; one that isn't a JSON object
/// gives nothing.
#[must_use]
pub fn unknown_fields(line: &[u8]) -> BTreeSet<String> {
    let mut paths = BTreeSet::new();
    let text = String::from_utf8_lossy(line);
    let Ok(value @ Value::Object(_)) = serde_json::from_str(&text) else { return paths };
    match crate::message::shape(text.as_bytes()) {
        Some(shape) => walk(&value, shape, "", &mut paths),
        None => drop(paths.insert("*".to_owned())),
    }
    paths
}

fn walk(value: &Value, shape: &Shape, path: &str, paths: &mut BTreeSet<String>) {
    match (value, shape) {
        (Value::Object(map), Shape::Object { .. }) => {
            for (key, value) in map {
                let path = joined(path, key);
                match shape.field(key) {
                    Some(shape) => walk(value, shape, &path, paths),
                    None => drop(paths.insert(path)),
                }
            }
        }
        (Value::Object(map), Shape::Entries(shape)) => {
            map.values().for_each(|value| walk(value, shape, &joined(path, "*"), paths));
        }
        (Value::Array(list), Shape::List(shape)) => {
            list.iter().for_each(|value| walk(value, shape, &format!("{path}[]"), paths));
        }
        // One block instead of a list of them.
        (Value::Object(_), Shape::List(shape)) => walk(value, shape, path, paths),
        _ => {}
    }
}

fn joined(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}
