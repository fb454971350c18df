//! `/v1/sessions/{session}/timeline`.

use crate::app::App;
use crate::dto::{Happened, HappenedBody, Page};
use crate::extract::{Path, Query};
use crate::found;
use crate::problem::Problem;
use axum::Json;
use axum::extract::State;
use ostler_controller::client::{ClientError, Ostler};
use ostler_store::Flags;
use ostler_store::db::SessionRow;
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// How many things a page has unless told otherwise.
const PAGE: u32 = 100;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(timeline))
}

/// Which part of it.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
struct Asked {
    /// `next` of the page before.
    after: Option<String>,
    /// How many, 1 to 500; 100 unless given.
    #[param(minimum = 1, maximum = 500)]
    limit: Option<u32>,
}

/// What happened in a session, in the order of time: messages, processes, turns, decisions, and the last stop, resume or
/// close. Single lines are among its events.
#[utoipa::path(
    get, path = "/v1/sessions/{session}/timeline", tag = "sessions", operation_id = "session_timeline",
    params(("session" = String, Path, description = "The beginning of its id, or its label"), Asked),
    responses(
        (status = 200, body = Page<HappenedBody>, description = "A page of it"),
        (status = 404, body = Problem, description = "There is no such session"),
        (status = 409, body = Problem, description = "There are several such sessions"),
    )
)]
async fn timeline(
    State(app): State<App>,
    Path(name): Path<String>,
    Query(asked): Query<Asked>,
) -> Result<Json<Page<HappenedBody>>, Problem> {
    let limit = super::limit(asked.limit, PAGE)?;
    let after = asked.after.as_deref().map(read_key).transpose()?;
    let page = app.desk().quick(move |ostler| {
        let row = found::session(ostler, &name)?;
        Ok::<_, Problem>(page(happened(ostler, &row)?, after, limit))
    });
    Ok(Json(page.await?))
}

fn happened(ostler: &Ostler, row: &SessionRow) -> Result<Vec<Happened>, ClientError> {
    let db = ostler.db();
    let rows = db.load_projection(row.id)?;
    let flags = Flags::read(&ostler.home().session(row.id));
    let mut all = Happened::of_session(row, flags.as_ref());
    all.extend(db.deliveries(row.id)?.iter().flat_map(Happened::of_delivery));
    all.extend(rows.generations.iter().flat_map(Happened::of_generation));
    all.extend(rows.turns.iter().flat_map(Happened::of_turn));
    let asked = db.permissions(row.id)?;
    all.extend(asked.iter().enumerate().filter_map(|(no, row)| Happened::of_permission(row, no)));
    all.sort_by_key(|one| one.place);
    Ok(all)
}

fn page(all: Vec<Happened>, after: Option<(i64, u8, u64)>, limit: u32) -> Page<HappenedBody> {
    let mut left = all.into_iter().filter(|one| after.is_none_or(|after| one.place > after));
    let page: Vec<Happened> = left.by_ref().take(usize::try_from(limit).unwrap_or(usize::MAX)).collect();
    let more = left.next().is_some();
    let next = page.last().filter(|_| more).map(|one| {
        let (at, rank, no) = one.place;
        format!("{at}.{rank}.{no}")
    });
    Page { items: page.into_iter().map(Happened::into_body).collect(), next }
}

fn read_key(text: &str) -> Result<(i64, u8, u64), Problem> {
    let mut parts = text.split('.');
    let mut key = || {
        let key = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
        parts.next().is_none().then_some(key)
    };
    key().ok_or_else(super::no_page)
}
