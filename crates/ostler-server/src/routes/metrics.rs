//! `/metrics`, for Prometheus.

use crate::app::App;
use crate::problem::Problem;
use axum::extract::State;
use axum::http::header;
use axum::response::IntoResponse;
use std::time::Instant;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// What OpenMetrics is called.
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(metrics))
}

/// Counts and figures, as OpenMetrics text.
#[utoipa::path(
    get, path = "/metrics", tag = "operations", security(("token" = [])),
    responses(
        (status = 200, body = String, content_type = "application/openmetrics-text", description = "All of them"),
        (status = 401, body = Problem, description = "No token, or a wrong one"),
        (status = 403, body = Problem, description = "Not from here"),
    )
)]
async fn metrics(State(app): State<App>) -> impl IntoResponse {
    if let Some(_turn) = app.metrics().due().await {
        let begun = Instant::now();
        match app.desk().quick(|ostler| ostler.db().figures()).await {
            Ok(figures) => app.metrics().count(&figures, begun.elapsed()),
            // What was counted before is given with its age; what this server counts is true in any case.
            Err(problem) => tracing::warn!(problem = problem.detail(), "the store could not be counted"),
        }
    }
    ([(header::CONTENT_TYPE, OPEN_METRICS)], app.metrics().text(app.now()))
}
