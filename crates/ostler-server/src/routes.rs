//! The API: one file a subject, and what stands around all of them.

mod health;
mod openapi;
mod sessions;

use crate::app::App;
use crate::guard::{self, Guard};
use crate::problem::Problem;
use axum::Router;
use axum::http::Uri;
use axum::middleware::from_fn_with_state;
use std::sync::Arc;
use utoipa::OpenApi;
use utoipa_axum::router::OpenApiRouter;

/// The description that everything is added to.
#[derive(Debug, OpenApi)]
#[openapi(info(
    title = "ostler",
    description = "Start, steer, wake, interrupt, resume and fork headless Claude Code sessions."
))]
struct Description;

/// All routes of one server.
pub(crate) fn all(app: App, guard: Arc<Guard>) -> Router {
    let open = OpenApiRouter::new().merge(health::routes());
    let native = OpenApiRouter::new().merge(sessions::routes());
    let native = native.route_layer(from_fn_with_state(Arc::clone(&guard), guard::native));
    let (router, description) =
        OpenApiRouter::with_openapi(Description::openapi()).merge(open).merge(native).split_for_parts();
    router
        .route("/openapi.json", openapi::route(&description))
        .fallback(async |uri: Uri| Problem::no_route(uri.path()))
        .method_not_allowed_fallback(async || Problem::no_method())
        .layer(from_fn_with_state(guard, guard::place))
        .with_state(app)
}
