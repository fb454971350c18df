//! What was spent: `/v1/ledger`, and `/v1/sessions/{session}/spend`.

use crate::app::App;
use crate::dto::{LedgerBody, SpendBody, SpendPage};
use crate::extract::{Path, Query};
use crate::found;
use crate::problem::Problem;
use axum::Json;
use axum::extract::State;
use ostler_core::ids::Millis;
use ostler_store::db::{LedgerBy, LedgerFilter};
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// How many sums a page has unless told otherwise.
const PAGE: u32 = 100;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(ledger)).routes(routes!(spend))
}

/// By what to sum.
#[derive(Clone, Copy, Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum By {
    /// Sessions.
    #[default]
    Session,
    /// Labels.
    Label,
    /// Models.
    Model,
    /// Days (UTC) on which processes were started.
    Day,
}

/// What is summed; every condition that is given must hold.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
struct Asked {
    /// By what: `session` unless given.
    #[param(inline)]
    by: Option<By>,
    /// Of this session: the beginning of its id, or its label.
    session: Option<String>,
    /// Of sessions with exactly this label.
    label: Option<String>,
    /// On this model.
    model: Option<String>,
    /// By processes that were started then or later: a day (UTC), or a time as RFC 3339 has it.
    since: Option<String>,
    /// By processes that were started before that.
    until: Option<String>,
    /// `next` of the page before.
    after: Option<String>,
    /// How many, 1 to 500; 100 unless given.
    #[param(minimum = 1, maximum = 500)]
    limit: Option<u32>,
}

/// What was spent, summed by session, label, model or day. Sessions that were purged have no sum any more.
#[utoipa::path(
    get, path = "/v1/ledger", tag = "spend", operation_id = "ledger", params(Asked),
    responses(
        (status = 200, body = LedgerBody, description = "A page of sums, and the sum of all"),
        (status = 404, body = Problem, description = "There is no such session"),
        (status = 409, body = Problem, description = "There are several such sessions"),
    )
)]
async fn ledger(State(app): State<App>, Query(asked): Query<Asked>) -> Result<Json<LedgerBody>, Problem> {
    let limit = super::limit(asked.limit, PAGE)?;
    let by = match asked.by.unwrap_or_default() {
        By::Session => LedgerBy::Session,
        By::Label => LedgerBy::Label,
        By::Model => LedgerBy::Model,
        By::Day => LedgerBy::Day,
    };
    let (since, until) = (time(asked.since, "since")?, time(asked.until, "until")?);
    let body = app.desk().quick(move |ostler| {
        let session = asked.session.map(|name| found::session(ostler, &name)).transpose()?;
        let session = session.map(|row| row.id);
        let filter = LedgerFilter { session, label: asked.label, model: asked.model, since, until };
        let after = asked.after.as_deref().map(read_key).transpose()?;
        let page = ostler.db().ledger(by, &filter, after, limit)?;
        let last = page.sums.last().filter(|_| page.more);
        Ok::<_, Problem>(LedgerBody {
            items: page.sums.iter().map(Into::into).collect(),
            next: last.map(|sum| write_key(sum.key.as_deref())),
            total: (&page.total).into(),
        })
    });
    Ok(Json(body.await?))
}

/// Opaque for clients; the key of sessions without a label is the empty one.
fn write_key(key: Option<&str>) -> String {
    format!("k{}", key.unwrap_or_default())
}

fn read_key(text: &str) -> Result<&str, Problem> {
    text.strip_prefix('k').ok_or_else(super::no_page)
}

/// A day, which begins at midnight UTC, or a time.
fn time(text: Option<String>, name: &str) -> Result<Option<Millis>, Problem> {
    let Some(text) = text else { return Ok(None) };
    let day = || format!("{text}T00:00:00Z").parse().ok();
    let at: Option<jiff::Timestamp> = text.parse().ok().or_else(day);
    let bad = || Problem::bad_request(format!("`{name}` is neither a day nor a time as RFC 3339 has it"));
    at.map(|at| Some(Millis(at.as_millisecond()))).ok_or_else(bad)
}

/// A page of a session's spend.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
struct OfSession {
    /// `next` of the page before.
    after: Option<String>,
    /// How many, 1 to 500; 100 unless given.
    #[param(minimum = 1, maximum = 500)]
    limit: Option<u32>,
}

/// What each process of a session spent on each model, in order.
#[utoipa::path(
    get, path = "/v1/sessions/{session}/spend", tag = "spend", operation_id = "session_spend",
    params(("session" = String, Path, description = "The beginning of its id, or its label"), OfSession),
    responses(
        (status = 200, body = SpendPage, description = "A page of it, and the sum of all"),
        (status = 404, body = Problem, description = "There is no such session"),
        (status = 409, body = Problem, description = "There are several such sessions"),
    )
)]
async fn spend(
    State(app): State<App>,
    Path(name): Path<String>,
    Query(asked): Query<OfSession>,
) -> Result<Json<SpendPage>, Problem> {
    let limit = super::limit(asked.limit, PAGE)?;
    let after = super::after_index(asked.after.as_deref())?;
    let page = app.desk().quick(move |ostler| {
        let row = found::session(ostler, &name)?;
        let rows = ostler.db().load_projection(row.id)?.spend;
        let summary = ostler.summary(row.id)?;
        let (items, next) = super::slice(&rows, after, limit);
        Ok::<_, Problem>(SpendPage {
            items: items.iter().map(SpendBody::from).collect(),
            next,
            tokens: summary.tokens.into(),
            usd: summary.usd.map(|usd| usd + 0.0),
        })
    });
    Ok(Json(page.await?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_times_are_read() {
        let read = |text: &str| time(Some(text.to_owned()), "since").map(|at| at.map(|at| at.0)).ok();
        assert_eq!(read("1970-01-02"), Some(Some(86_400_000)));
        assert_eq!(read("1970-01-01T00:00:01Z"), Some(Some(1_000)));
        assert_eq!(read("1970-01-01T01:00:01+01:00"), Some(Some(1_000)));
        for bad in ["", "yesterday", "1970-13-01", "0"] {
            assert_eq!(read(bad), None, "{bad}");
        }
    }
}
