//! docs/json.md, read as the schema of what `--json` prints.

use super::desk::repository;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;

/// Field → type, as the page says.
type Fields = BTreeMap<String, String>;

/// Every table of the page, by the heading above it.
pub(crate) struct Schema {
    shapes: BTreeMap<String, Fields>,
}

impl Schema {
    pub(crate) fn load() -> Self {
        let text = fs::read_to_string(repository().join("docs/json.md")).unwrap();
        let mut shapes: BTreeMap<String, Fields> = BTreeMap::new();
        let mut heading = String::new();
        for line in text.lines() {
            if let Some(title) = line.strip_prefix("### ") {
                heading = title.replace('`', "");
            }
            let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
            if line.starts_with("| `") && cells.len() == 3 {
                let field = cells[0].trim_matches('`').to_owned();
                let known =
                    shapes.entry(heading.clone()).or_default().insert(field.clone(), cells[1].to_owned());
                assert_eq!(known, None, "{heading}: {field} stands there twice");
            }
        }
        assert!(shapes.len() > 20, "the page has lost its tables");
        Self { shapes }
    }

    /// Fails unless `value` is exactly of that shape.
    #[track_caller]
    pub(crate) fn holds(&self, shape: &str, value: &Value) {
        if let Err(what) = self.check(shape, value) {
            panic!("{what}\n{value:#}");
        }
    }

    /// Fails unless every event is of its shape; gives their names, each once, in order.
    #[track_caller]
    pub(crate) fn holds_events(&self, events: &[Value]) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for event in events {
            let name = event["event"].as_str().unwrap_or("?").to_owned();
            self.holds(&format!("event {name}"), event);
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    fn check(&self, shape: &str, value: &Value) -> Result<(), String> {
        let fields = self.shapes.get(shape).ok_or_else(|| format!("the page has no table for {shape:?}"))?;
        let object = value.as_object().ok_or_else(|| format!("{shape} is no object"))?;
        if let Some(extra) = object.keys().find(|key| !fields.contains_key(*key)) {
            return Err(format!("{shape}.{extra} is not on the page"));
        }
        for (name, kind) in fields {
            let value = object.get(name).ok_or_else(|| format!("{shape}.{name} is missing"))?;
            self.of_type(kind, value).map_err(|what| format!("{shape}.{name}: {what}"))?;
        }
        Ok(())
    }

    fn of_type(&self, kind: &str, value: &Value) -> Result<(), String> {
        if let Some(inner) = kind.strip_suffix(" or null") {
            return if value.is_null() { Ok(()) } else { self.of_type(inner, value) };
        }
        if let Some(inner) = kind.strip_prefix("list of ") {
            let list = value.as_array().ok_or_else(|| format!("{value} is no list"))?;
            return list.iter().try_for_each(|item| self.of_type(inner, item));
        }
        if let Some(link) = kind.strip_prefix('[') {
            return self.check(link.split(']').next().unwrap_or_default(), value);
        }
        let fits = match kind {
            "string" => value.is_string(),
            "integer" => value.is_i64() || value.is_u64(),
            "number" => value.is_number(),
            "boolean" => value.is_boolean(),
            "object" => value.is_object(),
            other => return Err(format!("the page has a type {other:?} that the test doesn't know")),
        };
        if fits { Ok(()) } else { Err(format!("{value} is no {kind}")) }
    }
}

/// A check that can't fail proves nothing.
#[test]
fn the_schema_finds_what_is_wrong() {
    let schema = Schema::load();
    let good = serde_json::json!({"session": "a", "delivery": "b"});
    assert_eq!(schema.check("send", &good), Ok(()));
    for bad in [
        serde_json::json!({"session": "a"}),
        serde_json::json!({"session": "a", "delivery": null}),
        serde_json::json!({"session": "a", "delivery": "b", "more": 1}),
        serde_json::json!([]),
    ] {
        assert!(schema.check("send", &bad).is_err(), "{bad}");
    }
    let tokens = serde_json::json!({"input": 1.5, "output": 0, "cache_read": 0, "cache_write_5m": 0, "cache_write_1h": 0});
    assert!(schema.check("tokens", &tokens).is_err());
}

/// Every type that a table names is one that the test can check.
#[test]
fn every_type_on_the_page_is_known() {
    let schema = Schema::load();
    for (shape, fields) in &schema.shapes {
        for (name, kind) in fields {
            let kind = kind.trim_end_matches(" or null").trim_start_matches("list of ");
            let known = ["string", "integer", "number", "boolean", "object"].contains(&kind)
                || kind
                    .strip_prefix('[')
                    .is_some_and(|k| schema.shapes.contains_key(k.split(']').next().unwrap()));
            assert!(known, "{shape}.{name}: {kind}");
        }
    }
}
