//! `/v1/sessions/{session}` and what is done to it: interrupt, stop, resume, close.

use crate::app::App;
use crate::connection::Client;
use crate::dto::{CloseBody, InterruptBody, ResumeBody, SessionDetail, StopBody};
use crate::extract::{Choices, Path};
use crate::found;
use crate::problem::Problem;
use axum::extract::State;
use axum::{Extension, Json};
use ostler_store::db::Fate;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(show))
        .routes(routes!(interrupt))
        .routes(routes!(stop))
        .routes(routes!(resume))
        .routes(routes!(close))
}

/// Everything that is known of a session.
#[utoipa::path(
    get, path = "/v1/sessions/{session}", tag = "sessions", operation_id = "show_session",
    params(("session" = String, Path, description = "The beginning of its id, or its label")),
    responses(
        (status = 200, body = SessionDetail, description = "All of it"),
        (status = 404, body = Problem, description = "There is none"),
        (status = 409, body = Problem, description = "There are several; `with.candidates` names them"),
    )
)]
async fn show(State(app): State<App>, Path(name): Path<String>) -> Result<Json<SessionDetail>, Problem> {
    // Its controller is asked what it is doing, and may be slow to answer.
    let shown = app.desk().patient(move |ostler| {
        let row = found::session(ostler, &name)?;
        Ok::<_, Problem>(SessionDetail::read(ostler, &row)?)
    });
    Ok(Json(shown.await?))
}

/// How to interrupt.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
struct Interrupt {
    /// Take back the messages that wait, too.
    cancel_queued: bool,
}

/// Interrupts the running turn, and answers when claude has confirmed it.
#[utoipa::path(
    post, path = "/v1/sessions/{session}/interrupt", tag = "sessions", operation_id = "interrupt_session",
    request_body = Interrupt,
    params(("session" = String, Path, description = "The beginning of its id, or its label")),
    responses(
        (status = 200, body = InterruptBody, description = "What became of it"),
        (status = 404, body = Problem, description = "There is none"),
        (status = 409, body = Problem, description = "It is closed; or there are several"),
    )
)]
async fn interrupt(
    State(app): State<App>,
    Path(name): Path<String>,
    Choices(asked): Choices<Interrupt>,
) -> Result<Json<InterruptBody>, Problem> {
    let done = app.desk().patient(move |ostler| {
        let row = found::session(ostler, &name)?;
        let done = ostler.break_off(row.id, asked.cancel_queued)?;
        Ok::<_, Problem>(InterruptBody::of(row.id, &done))
    });
    Ok(Json(done.await?))
}

/// Nothing to choose.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
struct Nothing {}

/// Stops a session: its claude is ended, and it takes no message until it is resumed.
///
/// Answers when all of its processes are gone, or when that could not be proven (`not_proven`; it is stopped all the same).
#[utoipa::path(
    post, path = "/v1/sessions/{session}/stop", tag = "sessions", operation_id = "stop_session",
    request_body = Nothing,
    params(("session" = String, Path, description = "The beginning of its id, or its label")),
    responses(
        (status = 200, body = StopBody, description = "What became of it"),
        (status = 404, body = Problem, description = "There is none"),
        (status = 409, body = Problem, description = "It is closed; or there are several"),
    )
)]
async fn stop(
    State(app): State<App>,
    Path(name): Path<String>,
    Choices(Nothing {}): Choices<Nothing>,
) -> Result<Json<StopBody>, Problem> {
    let done = app.desk().patient(move |ostler| {
        let row = found::session(ostler, &name)?;
        let done = ostler.stop(row.id)?;
        let waiting = ostler.db().pending_deliveries(row.id)?.len();
        Ok::<_, Problem>(StopBody::of(row.id, &done, waiting))
    });
    Ok(Json(done.await?))
}

/// Takes a stop back. Starts no turn by itself; messages that no claude was given go on.
#[utoipa::path(
    post, path = "/v1/sessions/{session}/resume", tag = "sessions", operation_id = "resume_session",
    request_body = Nothing,
    params(("session" = String, Path, description = "The beginning of its id, or its label")),
    responses(
        (status = 200, body = ResumeBody, description = "What became of it"),
        (status = 404, body = Problem, description = "There is none"),
        (status = 409, body = Problem, description = "It is closed; or there are several"),
    )
)]
async fn resume(
    State(app): State<App>,
    Path(name): Path<String>,
    Choices(Nothing {}): Choices<Nothing>,
) -> Result<Json<ResumeBody>, Problem> {
    let done = app.desk().patient(move |ostler| {
        let row = found::session(ostler, &name)?;
        let done = ostler.resume(row.id)?;
        Ok::<_, Problem>(ResumeBody::of(row.id, &done))
    });
    Ok(Json(done.await?))
}

/// What becomes of a worktree that ostler made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum TreeFate {
    /// Removed, if nothing is lost by it; otherwise nothing happens at all.
    #[default]
    Remove,
    /// Removed with everything in it.
    Discard,
    /// Left alone.
    Keep,
}

/// How to close.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
struct Close {
    /// Delete everything of it: journal, messages, ledger.
    purge: bool,
    /// What becomes of its worktree.
    worktree: TreeFate,
}

/// Closes a session for good: its claude is ended, messages that wait are taken back.
#[utoipa::path(
    post, path = "/v1/sessions/{session}/close", tag = "sessions", operation_id = "close_session",
    request_body = Close,
    params(("session" = String, Path, description = "The beginning of its id, or its label")),
    responses(
        (status = 200, body = CloseBody, description = "What became of it"),
        (status = 404, body = Problem, description = "There is none"),
        (status = 409, body = Problem, description = "It is closed already; its worktree would lose something; or there are several"),
    )
)]
async fn close(
    State(app): State<App>,
    Extension(client): Extension<Client>,
    Path(name): Path<String>,
    Choices(asked): Choices<Close>,
) -> Result<Json<CloseBody>, Problem> {
    let fate = match asked.worktree {
        TreeFate::Remove => Fate::Remove,
        TreeFate::Discard => Fate::Discard,
        TreeFate::Keep => Fate::Keep,
    };
    let done = app.desk().patient(move |ostler| {
        let row = found::session(ostler, &name)?;
        if asked.purge {
            ostler.refuse_inside(row.id, client.decider())?;
        }
        let done = ostler.close(row.id, fate, asked.purge)?;
        Ok::<_, Problem>(CloseBody::of(row.id, done))
    });
    Ok(Json(done.await?))
}
