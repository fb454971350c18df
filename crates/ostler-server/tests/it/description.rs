//! `docs/openapi.json` is what the server describes itself as.

use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;

fn description() -> Value {
    serde_json::from_str(&ostler_server::description()).unwrap()
}

#[test]
fn the_copy_in_the_documentation_is_true() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/openapi.json");
    let said = ostler_server::description();
    if std::env::var_os("OSTLER_UPDATE_DOCS").is_some() {
        std::fs::write(&path, &said).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == said,
        "docs/openapi.json is out of date: OSTLER_UPDATE_DOCS=1 cargo test -p ostler-server"
    );
}

#[test]
fn every_operation_has_a_name_of_its_own_and_says_what_it_answers() {
    let mut names = BTreeSet::new();
    for (path, item) in description()["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let place = format!("{method} {path}");
            let name = operation["operationId"].as_str().unwrap_or_else(|| panic!("{place} has no name"));
            assert!(names.insert(name.to_owned()), "{place}: {name} is another one's");
            assert!(!operation["summary"].as_str().unwrap().is_empty(), "{place}");
            for (status, response) in operation["responses"].as_object().unwrap() {
                let text = response["description"].as_str().unwrap_or_default();
                assert!(!text.is_empty(), "{place} {status} is not described");
            }
            if path.starts_with("/v1/") {
                assert_eq!(operation["security"], serde_json::json!([{"token": []}]), "{place}");
            }
        }
    }
    assert!(names.contains("start_session") && names.contains("healthz"));
}

#[test]
fn every_reference_leads_somewhere() {
    let description = description();
    let mut all = vec![&description];
    let mut seen = 0;
    while let Some(value) = all.pop() {
        if let Some(reference) = value.get("$ref").and_then(Value::as_str) {
            let found = description.pointer(reference.trim_start_matches('#'));
            assert!(found.is_some(), "{reference} leads nowhere");
            seen += 1;
        }
        match value {
            Value::Object(map) => all.extend(map.values()),
            Value::Array(list) => all.extend(list),
            _ => {}
        }
    }
    assert!(seen > 10, "{seen}");
}
