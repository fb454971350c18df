//! `/v1/sessions`: what there is, and starting one.

use crate::app::App;
use crate::dto::{DeliveryBody, Page, SessionBody, StartedBody};
use crate::extract::{Key, Message, Query, Wait, object};
use crate::launch::NewSpec;
use crate::problem::Problem;
use crate::reply::Reply;
use crate::say::{self, Said};
use crate::start::{self, New, Tree};
use axum::Json;
use axum::extract::State;
use ostler_controller::client::{ClientError, Ostler};
use ostler_core::ids::{Millis, SessionId};
use ostler_store::db::{ListFilter, PageKey};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use uuid::Uuid;

/// How many sessions a page has unless told otherwise.
const PAGE: u32 = 50;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(list, create))
}

/// Where a record stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum StateWord {
    /// No turn was ever started.
    New,
    /// A turn is under way.
    Active,
    /// The last turn is over.
    Idle,
    /// The agent said where it stands.
    Declared,
    /// The last turn failed.
    Error,
}

/// Which sessions; every condition that is given must hold.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
struct Asked {
    /// Where the record stands.
    #[param(inline)]
    state: Option<StateWord>,
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
    get, path = "/v1/sessions", tag = "sessions", operation_id = "list_sessions", params(Asked),
    responses((status = 200, body = Page<SessionBody>, description = "A page of them"))
)]
async fn list(
    State(app): State<App>,
    Query(asked): Query<Asked>,
) -> Result<Json<Page<SessionBody>>, Problem> {
    let after = asked.after.as_deref().map(read_key).transpose()?;
    let limit = super::limit(asked.limit, PAGE)?;
    let filter = ListFilter {
        state: asked.state.map(|state| crate::dto::word_of(&state)),
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
    let items = page.rows.iter().map(|row| SessionBody::read(ostler, row)).collect::<Result<_, _>>()?;
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
    key.ok_or_else(super::no_page)
}

/// A new session.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct NewSession {
    /// Its id. Default: a random one; under an idempotency key, one that follows from the key.
    id: Option<Uuid>,
    /// A name for people; need not be unique.
    #[schema(min_length = 1, max_length = 256)]
    label: Option<String>,
    /// What to say first: text. Either this or `content`.
    prompt: Option<String>,
    /// What to say first: content blocks as the Messages API has them (text, images, documents).
    #[schema(value_type = Option<Vec<Object>>)]
    content: Option<Box<RawValue>>,
    /// Send `/clear`, `/resume` and `/exit` too, which are refused otherwise.
    #[serde(default)]
    raw: bool,
    /// Send text that begins with `/` as text, not as a command.
    #[serde(default)]
    literal: bool,
    /// Work in a git worktree of its own: `true`, or the name of a new branch for it.
    #[schema(value_type = Option<Object>)]
    worktree: Option<Tree>,
    /// The sender's name for it, 1 to 256 bytes, as the header `Idempotency-Key` has it.
    #[schema(min_length = 1, max_length = 256)]
    key: Option<String>,
    /// How its children start.
    #[serde(default, deserialize_with = "object")]
    spec: NewSpec,
}

/// Starts a session with its first message.
///
/// 201 says that claude runs and was given the message; 202 that all of it is accepted, durably. Only who says
/// `Prefer: wait=N` waits for the former, for at most N seconds.
///
/// Sent twice under the same key, it is started once: the second time the session of the first one answers. The message
/// must be the same then; what else the second request says is not looked at.
#[utoipa::path(
    post, path = "/v1/sessions", tag = "sessions", operation_id = "start_session", request_body = NewSession,
    params(
        ("Prefer" = Option<String>, Header, description = "`wait=N`: how many seconds to wait for claude to run"),
        ("Idempotency-Key" = Option<String>, Header, description = "The sender's name for this session"),
    ),
    responses(
        (status = 201, body = StartedBody, description = "Claude runs with it", headers(("location", description = "The session"))),
        (status = 202, body = StartedBody, description = "It is accepted", headers(("location", description = "The session"))),
        (status = 409, body = Problem, description = "There is one with this id; or its worktree can't be made"),
        (status = 422, body = Problem, description = "The key was used for another message"),
    )
)]
async fn create(
    State(app): State<App>,
    wait: Wait,
    key: Key,
    Message(new): Message<NewSession>,
) -> Result<Reply<StartedBody>, Problem> {
    let said = Said { prompt: new.prompt, content: new.content, raw: new.raw, literal: new.literal };
    let new = New {
        id: new.id,
        label: new.label,
        tree: new.worktree,
        spec: new.spec,
        content: said.content()?,
        key: key.or(new.key)?,
    };
    let starting = app.clone();
    let (id, accepted) = app.desk().patient(move |ostler| start::start(&starting, ostler, new)).await?;
    let row = say::until_under_way(&app, accepted.id, wait).await?;
    let status = start::status_of(say::is_under_way(&row));
    let body = app.desk().quick(move |ostler| {
        let session = ostler.db().session(id)?.ok_or(ostler_store::DbError::NoSession { id })?;
        Ok::<_, ClientError>(StartedBody {
            session: SessionBody::read(ostler, &session)?,
            delivery: DeliveryBody::read(ostler, &row)?,
            warning: accepted.warning,
        })
    });
    Ok(Reply::new(status, body.await?).at(start::path_of(id)).waited(wait))
}
