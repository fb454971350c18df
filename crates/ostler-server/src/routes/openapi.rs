//! `/openapi.json`: generated from the routes that there are. `docs/openapi.json` is a copy, held by a test.

use super::{native, open};
use crate::app::App;
use axum::http::header;
use axum::routing::{MethodRouter, get};
use bytes::Bytes;
use serde_json::{Map, Value, json};
use utoipa::OpenApi;
use utoipa_axum::router::OpenApiRouter;

/// The description that everything is added to.
#[derive(Debug, OpenApi)]
#[openapi(info(
    title = "ostler",
    description = "Start, steer, wake, interrupt, resume and fork headless Claude Code sessions."
))]
struct Description;

/// What every route of the native API may answer besides what it says itself.
const EVERYWHERE: [(&str, &str); 6] = [
    ("400", "The request can't be meant"),
    ("401", "No token, or a wrong one"),
    ("403", "Not from here: a foreign page, a name that isn't ours, or from inside the session"),
    ("500", "The store can't be used, or a defect"),
    ("503", "Busy, or something that is needed can't be reached; nothing was done unless it says so"),
    ("507", "The disk is full"),
];
/// And what one with a body may.
const WITH_BODY: [(&str, &str); 3] = [
    ("408", "The body came too slowly"),
    ("413", "The body, or the message, is too large; `with.limit` says how many bytes are taken"),
    ("415", "The content type is not application/json"),
];

/// The description as JSON text.
#[must_use]
pub fn description() -> String {
    let router = OpenApiRouter::<App>::with_openapi(Description::openapi()).merge(open()).merge(native());
    let mut value = serde_json::to_value(router.into_openapi()).unwrap_or_default();
    value["components"]["securitySchemes"]["token"] = json!({
        "type": "http", "scheme": "bearer",
        "description": "What the file `token` of the home holds. Over the local socket none is needed."
    });
    if let Some(paths) = value["paths"].as_object_mut() {
        for (path, item) in paths.iter_mut() {
            for (method, operation) in item.as_object_mut().into_iter().flatten() {
                complete(path, method, operation);
            }
        }
    }
    for (name, schema) in value["components"]["schemas"].as_object_mut().into_iter().flatten() {
        say_what_is_always_there(name, schema);
    }
    let mut text = serde_json::to_string_pretty(&value).unwrap_or_default();
    text.push('\n');
    text
}

/// Says what is true of many routes, so that none of them has to.
fn complete(path: &str, method: &str, operation: &mut Value) {
    if path.starts_with("/v1/") {
        operation["security"] = json!([{"token": []}]);
        let body = matches!(method, "post" | "put" | "patch");
        let common = EVERYWHERE.iter().chain(WITH_BODY.iter().filter(|_| body));
        if let Some(responses) = operation["responses"].as_object_mut() {
            for (status, description) in common {
                responses.entry(*status).or_insert_with(|| problem(description));
            }
        }
    }
    for response in operation["responses"].as_object_mut().into_iter().flat_map(Map::values_mut) {
        let is_problem = response.pointer("/content/application~1json/schema/$ref")
            == Some(&Value::from("#/components/schemas/Problem"));
        if is_problem {
            response["content"] = problem_content();
        }
    }
}

/// In what we answer a field is always there, also when its value is null; but not in problems, nor in the events of a
/// stream. What we are asked refuses unknown fields, and is known by that.
fn say_what_is_always_there(name: &str, schema: &mut Value) {
    let answered =
        !["Problem", "StreamEvent"].contains(&name) && schema.get("additionalProperties").is_none();
    let fields: Option<Vec<Value>> = schema
        .get("properties")
        .and_then(Value::as_object)
        .map(|fields| fields.keys().cloned().map(Value::from).collect());
    if let Some(fields) = fields.filter(|_| answered) {
        schema["required"] = fields.into();
    }
}

fn problem(description: &str) -> Value {
    json!({"description": description, "content": problem_content()})
}

fn problem_content() -> Value {
    json!({"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}})
}

/// Answers with the description, which never changes while a server runs.
pub(super) fn route() -> MethodRouter<App> {
    let text = Bytes::from(description());
    get(async move || ([(header::CONTENT_TYPE, "application/json")], text))
}
