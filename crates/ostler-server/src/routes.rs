//! The API: one file a subject, and what stands around all of them.

mod deliveries;
mod events;
mod health;
mod ledger;
mod metrics;
mod openapi;
mod permissions;
mod rules;
mod session;
mod sessions;
mod timeline;
mod upkeep;

pub use openapi::description;

use crate::app::App;
use crate::bridge::{self, Bridge};
use crate::guard::{self, Guard};
use crate::observe::observe;
use crate::problem::Problem;
use axum::Router;
use axum::middleware::from_fn_with_state;
use axum::routing::any;
use std::sync::Arc;
use utoipa_axum::router::OpenApiRouter;

/// Routes that need no token.
fn open() -> OpenApiRouter<App> {
    OpenApiRouter::new().merge(health::routes())
}

/// Routes of the native API.
fn native() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .merge(sessions::routes())
        .merge(session::routes())
        .merge(deliveries::routes())
        .merge(metrics::routes())
        .merge(permissions::routes())
        .merge(rules::routes())
        .merge(timeline::routes())
        .merge(ledger::routes())
        .merge(upkeep::routes())
        .merge(events::routes())
}

/// All routes of one server.
pub(crate) fn all(app: App, guard: Arc<Guard>, bridge: Option<Bridge>) -> Router {
    let native = native().route_layer(from_fn_with_state(Arc::clone(&guard), guard::native));
    let (router, _) = OpenApiRouter::new().merge(open()).merge(native).split_for_parts();
    router
        .route("/openapi.json", openapi::route())
        .fallback_service(any(bridge::fallback).with_state(bridge.clone()))
        .method_not_allowed_fallback(async || Problem::no_method())
        .layer(from_fn_with_state(bridge, bridge::entry))
        .layer(from_fn_with_state(guard, guard::place))
        .layer(from_fn_with_state(app.clone(), observe))
        .with_state(app)
}

/// The most that a page has.
const MAX_PAGE: u32 = 500;

/// How many things a page is to have.
fn limit(asked: Option<u32>, usual: u32) -> Result<u32, Problem> {
    match asked.unwrap_or(usual) {
        limit if (1..=MAX_PAGE).contains(&limit) => Ok(limit),
        limit => Err(Problem::bad_request(format!("limit is {limit}; it must be 1 to {MAX_PAGE}"))),
    }
}

/// The longest time that is taken, in seconds: a hundred years.
const MAX_SECONDS: u64 = 3_153_600_000;

/// A time that can be meant.
fn seconds(name: &str, asked: u64) -> Result<u64, Problem> {
    match asked {
        0..=MAX_SECONDS => Ok(asked),
        _ => Err(Problem::bad_request(format!("`{name}` is {asked}; at most {MAX_SECONDS} are taken"))),
    }
}

/// `after` can't be read.
fn no_page() -> Problem {
    Problem::bad_request("`after` is not the `next` of a page")
}

/// Behind which place of a list a page begins.
fn after_index(after: Option<&str>) -> Result<usize, Problem> {
    after.map_or(Ok(0), |text| text.parse().map_err(|_| no_page()))
}

/// A page of a list that only grows, and what `after` is for the next one.
fn slice<T>(all: &[T], after: usize, limit: u32) -> (&[T], Option<String>) {
    let left = all.get(after..).unwrap_or_default();
    let page = &left[..left.len().min(usize::try_from(limit).unwrap_or(usize::MAX))];
    let end = after.saturating_add(page.len());
    (page, (end < all.len()).then(|| end.to_string()))
}
