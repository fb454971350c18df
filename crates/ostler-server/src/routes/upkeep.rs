//! What concerns the whole home: refused credentials, and what nobody needs any more.

use crate::app::App;
use crate::connection::Client;
use crate::dto::rfc3339;
use crate::extract::Choices;
use crate::problem::Problem;
use axum::extract::State;
use axum::{Extension, Json};
use ostler_controller::client::{ClientError, Rubbish};
use ostler_store::db::RateLimit;
use serde::{Deserialize, Serialize};
use std::time::Duration;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// How long closed sessions are kept unless told otherwise, in seconds: 30 days.
const KEPT: u64 = 30 * 86_400;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(limits)).routes(routes!(gc))
}

/// A credential that the API refuses for now.
#[derive(Debug, Serialize, ToSchema)]
struct LimitBody {
    /// A name for it, never the secret.
    credential: String,
    /// When it was refused last.
    since: String,
    /// When it is taken again; null: nobody said.
    until: Option<String>,
    /// Refusals in a row.
    tries: u64,
    /// When one of those who wait tries; null: not by itself.
    next_try: Option<String>,
}

/// Credentials that are refused.
#[derive(Debug, Serialize, ToSchema)]
struct LimitsBody {
    /// Each.
    items: Vec<LimitBody>,
}

impl From<RateLimit> for LimitBody {
    fn from(limit: RateLimit) -> Self {
        Self {
            credential: limit.credential,
            since: rfc3339(limit.since),
            until: limit.until.map(rfc3339),
            tries: limit.tries,
            next_try: limit.next_try.map(rfc3339),
        }
    }
}

/// Credentials that the API refuses for now. Sessions that need one of them wait.
#[utoipa::path(
    get, path = "/v1/rate-limits", tag = "operations", operation_id = "rate_limits",
    responses((status = 200, body = LimitsBody, description = "All of them"))
)]
async fn limits(State(app): State<App>) -> Result<Json<LimitsBody>, Problem> {
    let all = app.desk().quick(|ostler| ostler.db().rate_limits().map_err(ClientError::from)).await?;
    Ok(Json(LimitsBody { items: all.into_iter().map(Into::into).collect() }))
}

/// What to delete.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
struct Clean {
    /// Say what would be deleted, and delete nothing.
    dry_run: bool,
    /// Closed sessions are kept for so many seconds; 30 days unless given.
    #[schema(maximum = 3_153_600_000u64)]
    older_than: Option<u64>,
}

/// Something that was deleted, or would be.
#[derive(Debug, Serialize, ToSchema)]
struct RubbishBody {
    /// `session`, `purged`, `half_made`, `body`, `worktree`.
    kind: &'static str,
    /// Where it is or was.
    path: String,
    /// Of which session.
    session: Option<String>,
    /// Its size.
    bytes: u64,
}

/// What was deleted, or would be.
#[derive(Debug, Serialize, ToSchema)]
struct CleanedBody {
    /// Nothing was deleted.
    dry_run: bool,
    /// All of it together.
    bytes: u64,
    /// Each.
    deleted: Vec<RubbishBody>,
}

impl CleanedBody {
    fn of(found: &[Rubbish], dry_run: bool) -> Self {
        let one = |r: &Rubbish| RubbishBody {
            kind: r.kind.word(),
            path: r.path.display().to_string(),
            session: r.session.map(|id| id.to_string()),
            bytes: r.bytes,
        };
        let bytes = found.iter().map(|r| r.bytes).sum();
        Self { dry_run, bytes, deleted: found.iter().map(one).collect() }
    }
}

/// Deletes what nobody needs any more: sessions that were closed long ago, and what kills and crashes left.
#[utoipa::path(
    post, path = "/v1/gc", tag = "operations", operation_id = "gc", request_body = Clean,
    responses((status = 200, body = CleanedBody, description = "What was deleted, or would be"))
)]
async fn gc(
    State(app): State<App>,
    Extension(client): Extension<Client>,
    Choices(asked): Choices<Clean>,
) -> Result<Json<CleanedBody>, Problem> {
    let older_than = Duration::from_secs(super::seconds("older_than", asked.older_than.unwrap_or(KEPT))?);
    let done = app.desk().patient(move |ostler| {
        for found in ostler.gc(older_than, true)? {
            if let Some(session) = found.session.filter(|_| !asked.dry_run) {
                ostler.refuse_inside(session, client.decider())?;
            }
        }
        let found = ostler.gc(older_than, asked.dry_run)?;
        Ok::<_, Problem>(CleanedBody::of(&found, asked.dry_run))
    });
    Ok(Json(done.await?))
}
