//! `/v1/sessions`: what there is.

use crate::app::App;
use crate::dto::{Page, SessionBody};
use crate::problem::Problem;
use axum::Json;
use axum::extract::{Query, State};
use ostler_controller::client::{ClientError, Ostler};
use ostler_core::ids::{Millis, SessionId};
use ostler_store::db::{ListFilter, PageKey};
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// How many sessions a page has unless told otherwise.
const PAGE: u32 = 50;
/// The most that a page has.
const MAX_PAGE: u32 = 500;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(list))
}

/// Which sessions; every condition that is given must hold.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
struct Asked {
    /// `new`, `active`, `idle`, `declared`, `error`.
    state: Option<String>,
    /// Exactly this label.
    label: Option<String>,
    /// Exactly this working directory.
    cwd: Option<String>,
    /// Only stopped ones, or only others.
    stopped: Option<bool>,
    /// Only closed ones, or only others.
    closed: Option<bool>,
    /// `next` of the page before.
    after: Option<String>,
    /// How many, 1 to 500; 50 unless given.
    #[param(minimum = 1, maximum = 500)]
    limit: Option<u32>,
}

/// Sessions, newest first.
#[utoipa::path(
    get, path = "/v1/sessions", tag = "sessions", params(Asked),
    responses((status = 200, body = Page<SessionBody>), (status = 400, body = Problem), (status = 401, body = Problem))
)]
async fn list(
    State(app): State<App>,
    Query(asked): Query<Asked>,
) -> Result<Json<Page<SessionBody>>, Problem> {
    let after = asked.after.as_deref().map(read_key).transpose()?;
    let limit = asked.limit.unwrap_or(PAGE);
    if !(1..=MAX_PAGE).contains(&limit) {
        return Err(Problem::bad_request(format!("limit is {limit}; it must be 1 to {MAX_PAGE}")));
    }
    let filter = ListFilter {
        state: asked.state,
        label: asked.label,
        cwd: asked.cwd,
        stopped: asked.stopped,
        closed: asked.closed,
    };
    let page = app.desk().quick(move |ostler| page(ostler, &filter, after, limit)).await?;
    Ok(Json(page))
}

fn page(
    ostler: &Ostler,
    filter: &ListFilter,
    after: Option<PageKey>,
    limit: u32,
) -> Result<Page<SessionBody>, ClientError> {
    let page = ostler.db().list_sessions(filter, after, limit)?;
    let items = page.rows.iter().map(SessionBody::of).collect();
    Ok(Page { items, next: page.next.map(write_key) })
}

/// Opaque for clients.
fn write_key(key: PageKey) -> String {
    format!("{}-{}", key.created_at.0, key.id.0.simple())
}

fn read_key(text: &str) -> Result<PageKey, Problem> {
    let key = text.split_once('-').and_then(|(at, id)| {
        Some(PageKey { created_at: Millis(at.parse().ok()?), id: id.parse::<SessionId>().ok()? })
    });
    key.ok_or_else(|| Problem::bad_request("`after` is not the `next` of a page"))
}
