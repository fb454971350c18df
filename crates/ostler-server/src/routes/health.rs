//! Is it there, and is it of use? Both need no token.

use crate::app::App;
use crate::problem::Problem;
use axum::Json;
use axum::extract::State;
use ostler_controller::client::ClientError;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(healthz)).routes(routes!(readyz))
}

/// That it runs.
#[derive(Debug, Serialize, ToSchema)]
struct Health {
    /// `ok`.
    status: &'static str,
    /// Ostler's version.
    version: &'static str,
}

const OK: Health = Health { status: "ok", version: env!("CARGO_PKG_VERSION") };

/// The server runs. Says nothing about the store.
#[utoipa::path(get, path = "/healthz", tag = "operations", responses((status = 200, body = Health, description = "It runs")))]
async fn healthz() -> Json<Health> {
    Json(OK)
}

/// The server runs, its store can be read, and it is not about to leave.
#[utoipa::path(
    get, path = "/readyz", tag = "operations",
    responses(
        (status = 200, body = Health, description = "It runs, and can be used"),
        (status = 503, body = Problem, description = "It can't be used now"),
        (status = 500, body = Problem, description = "The store can't be used"),
    )
)]
async fn readyz(State(app): State<App>) -> Result<Json<Health>, Problem> {
    if app.is_leaving() {
        return Err(Problem::leaving());
    }
    app.desk().quick(|ostler| ostler.db().last_change_seq().map_err(ClientError::from)).await?;
    Ok(Json(OK))
}
