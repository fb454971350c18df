//! `/v1/sessions/{session}/deliveries`: messages.

use crate::app::App;
use crate::dto::{AcceptedBody, DeliveryBody, DeliveryDetail, Page};
use crate::extract::{Key, Message, Path, Query, Wait};
use crate::found;
use crate::problem::Problem;
use crate::reply::Reply;
use crate::say::{self, Mode, Said};
use crate::start;
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use ostler_controller::client::{NewMessage, Ostler};
use ostler_core::ids::DeliveryId;
use ostler_core::rows::DeliveryState;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::time::{Duration, Instant};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use uuid::Uuid;

/// How many messages a page has unless told otherwise.
const PAGE: u32 = 50;
/// Between two looks at a message that is waited for, at first and at most.
const LOOKS: (Duration, Duration) = (Duration::from_millis(20), Duration::from_millis(250));
/// Between two looks whether somebody works on it.
const ATTEND: Duration = Duration::from_secs(2);

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(list, send)).routes(routes!(show, cancel))
}

/// A message.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct NewDelivery {
    /// Its id. Default: a random one.
    id: Option<Uuid>,
    /// What to say: text. Either this or `content`.
    prompt: Option<String>,
    /// What to say: content blocks as the Messages API has them (text, images, documents).
    #[schema(value_type = Option<Vec<Object>>)]
    content: Option<Box<RawValue>>,
    /// How it may reach the model.
    #[serde(default)]
    mode: Mode,
    /// Send `/clear`, `/resume` and `/exit` too, which are refused otherwise.
    #[serde(default)]
    raw: bool,
    /// Send text that begins with `/` as text, not as a command.
    #[serde(default)]
    literal: bool,
    /// The sender's name for it, 1 to 256 bytes, as the header `Idempotency-Key` has it.
    #[schema(min_length = 1, max_length = 256)]
    key: Option<String>,
}

/// Sends a message to a session.
///
/// ostler decides how it reaches the model: into the running turn (`steer`), to a claude at rest (`feed`), or by starting
/// one (`wake`). 201 says that a claude has it; 202 that it is accepted, durably. Only who says `Prefer: wait=N` waits for
/// the former, for at most N seconds.
///
/// Sent twice under the same key (or id), it is delivered once.
#[utoipa::path(
    post, path = "/v1/sessions/{session}/deliveries", tag = "messages", operation_id = "send_message",
    request_body = NewDelivery,
    params(
        ("session" = String, Path, description = "The beginning of its id, or its label"),
        ("Prefer" = Option<String>, Header, description = "`wait=N`: how many seconds to wait for claude to have it"),
        ("Idempotency-Key" = Option<String>, Header, description = "The sender's name for this message"),
    ),
    responses(
        (status = 201, body = AcceptedBody, description = "A claude has it", headers(("location", description = "The message"))),
        (status = 202, body = AcceptedBody, description = "It is accepted", headers(("location", description = "The message"))),
        (status = 404, body = Problem, description = "There is no such session"),
        (status = 409, body = Problem, description = "The session is stopped or closed; or there are several"),
        (status = 422, body = Problem, description = "The key, or the id, was used for another message"),
    )
)]
async fn send(
    State(app): State<App>,
    Path(name): Path<String>,
    wait: Wait,
    key: Key,
    Message(new): Message<NewDelivery>,
) -> Result<Reply<AcceptedBody>, Problem> {
    let said = Said { prompt: new.prompt, content: new.content, raw: new.raw, literal: new.literal };
    let message = NewMessage {
        id: DeliveryId(new.id.unwrap_or_else(Uuid::new_v4)),
        content: said.content()?,
        mode: new.mode.into(),
        idempotency_key: key.or(new.key)?,
        at: app.now(),
    };
    let accepted = app.desk().patient(move |ostler| {
        let row = found::session(ostler, &name)?;
        Ok::<_, Problem>((row.id, say::deliver(ostler, row.id, &message)?))
    });
    let (session, accepted) = accepted.await?;
    let row = say::until_under_way(&app, accepted.id, wait).await?;
    let status = start::status_of(say::is_under_way(&row));
    let path = format!("{}/deliveries/{}", start::path_of(session), row.id);
    let delivery = app.desk().quick(move |ostler| DeliveryBody::read(ostler, &row)).await?;
    Ok(Reply::new(status, AcceptedBody { delivery, warning: accepted.warning }).at(path).waited(wait))
}

/// How far a message has come.
#[derive(Clone, Copy, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum StateWord {
    Accepted,
    Written,
    Queued,
    Started,
    Completed,
    Cancelled,
    Failed,
    Discarded,
    Cut,
}

impl From<StateWord> for DeliveryState {
    fn from(word: StateWord) -> Self {
        match word {
            StateWord::Accepted => Self::Accepted,
            StateWord::Written => Self::Written,
            StateWord::Queued => Self::Queued,
            StateWord::Started => Self::Started,
            StateWord::Completed => Self::Completed,
            StateWord::Cancelled => Self::Cancelled,
            StateWord::Failed => Self::Failed,
            StateWord::Discarded => Self::Discarded,
            StateWord::Cut => Self::Cut,
        }
    }
}

/// Which messages.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
struct Asked {
    /// Only those in this state.
    #[param(inline)]
    state: Option<StateWord>,
    /// `next` of the page before.
    after: Option<String>,
    /// How many, 1 to 500; 50 unless given.
    #[param(minimum = 1, maximum = 500)]
    limit: Option<u32>,
}

/// Messages of a session, in the order they came.
#[utoipa::path(
    get, path = "/v1/sessions/{session}/deliveries", tag = "messages", operation_id = "list_messages",
    params(("session" = String, Path, description = "The beginning of its id, or its label"), Asked),
    responses(
        (status = 200, body = Page<DeliveryBody>, description = "A page of them"),
        (status = 404, body = Problem, description = "There is no such session"),
        (status = 409, body = Problem, description = "There are several such sessions"),
    )
)]
async fn list(
    State(app): State<App>,
    Path(name): Path<String>,
    Query(asked): Query<Asked>,
) -> Result<Json<Page<DeliveryBody>>, Problem> {
    let limit = super::limit(asked.limit, PAGE)?;
    let after: i64 = asked.after.map_or(Ok(0), |text| text.parse().map_err(|_| super::no_page()))?;
    let after = u64::try_from(after).map_err(|_| super::no_page())?;
    let state = asked.state.map(DeliveryState::from);
    let page = app.desk().quick(move |ostler| {
        let row = found::session(ostler, &name)?;
        let page = ostler.db().deliveries_page(row.id, state, after, limit)?;
        let items = page.rows.iter().map(|row| DeliveryBody::read(ostler, row)).collect::<Result<_, _>>()?;
        Ok::<_, Problem>(Page { items, next: page.next.map(|seq| seq.to_string()) })
    });
    Ok(Json(page.await?))
}

/// A message, and what came of it.
///
/// With `Prefer: wait=N` it is answered when the message has its end and its turn has settled, or after N seconds; 202
/// says that it is not over.
#[utoipa::path(
    get, path = "/v1/sessions/{session}/deliveries/{delivery}", tag = "messages", operation_id = "show_message",
    params(
        ("session" = String, Path, description = "The beginning of its id, or its label"),
        ("delivery" = String, Path, description = "The beginning of the message's id"),
        ("Prefer" = Option<String>, Header, description = "`wait=N`: how many seconds to wait for its end"),
    ),
    responses(
        (status = 200, body = DeliveryDetail, description = "It is over; or nobody asked to wait for that"),
        (status = 202, body = DeliveryDetail, description = "It is not over"),
        (status = 404, body = Problem, description = "There is no such session or message"),
        (status = 409, body = Problem, description = "There are several"),
    )
)]
async fn show(
    State(app): State<App>,
    Path((session, delivery)): Path<(String, String)>,
    wait: Wait,
) -> Result<Reply<DeliveryDetail>, Problem> {
    let deadline = Instant::now() + wait.0.unwrap_or_default();
    let (mut pause, mut attended) = (LOOKS.0, Instant::now());
    loop {
        let (session, delivery) = (session.clone(), delivery.clone());
        let attend = wait.0.is_some() && attended.elapsed() >= ATTEND;
        let detail = if attend {
            attended = Instant::now();
            // Somebody has to work on it; a controller that died is replaced. That may take its time.
            app.desk().patient(move |ostler| look(ostler, &session, &delivery, LOOKS.0)).await?
        } else {
            app.desk().quick(move |ostler| look(ostler, &session, &delivery, Duration::ZERO)).await?
        };
        let over = detail.is_settled() || detail.is_halted();
        if over || Instant::now() >= deadline {
            let waits = wait.0.is_some() && !detail.is_settled();
            let status = if waits { StatusCode::ACCEPTED } else { StatusCode::OK };
            return Ok(Reply::new(status, detail).waited(wait));
        }
        tokio::select! {
            () = tokio::time::sleep_until((Instant::now() + pause).min(deadline).into()) => {}
            () = app.leaving() => return Ok(Reply::new(StatusCode::ACCEPTED, detail).waited(wait)),
        }
        pause = (pause * 2).min(LOOKS.1);
    }
}

/// What a wait for it would come to within so long.
fn look(ostler: &Ostler, session: &str, delivery: &str, within: Duration) -> Result<DeliveryDetail, Problem> {
    let row = found::session(ostler, session)?;
    let row = found::delivery(ostler, &row, delivery)?;
    let waited = ostler.wait_for(row.session, row.id, Some(Instant::now() + within))?;
    Ok(DeliveryDetail::read(ostler, &row, &waited)?)
}

/// Takes a message back that claude has not begun with.
#[utoipa::path(
    delete, path = "/v1/sessions/{session}/deliveries/{delivery}", tag = "messages", operation_id = "cancel_message",
    params(
        ("session" = String, Path, description = "The beginning of its id, or its label"),
        ("delivery" = String, Path, description = "The beginning of the message's id"),
    ),
    responses(
        (status = 200, body = DeliveryBody, description = "It is taken back"),
        (status = 404, body = Problem, description = "There is no such session or message"),
        (status = 409, body = Problem, description = "Too late: `with.state` says where it stands; or there are several"),
    )
)]
async fn cancel(
    State(app): State<App>,
    Path((session, delivery)): Path<(String, String)>,
) -> Result<Json<DeliveryBody>, Problem> {
    let done = app.desk().patient(move |ostler| {
        let row = found::session(ostler, &session)?;
        let row = found::delivery(ostler, &row, &delivery)?;
        ostler.cancel(row.session, row.id)?;
        let row = ostler.db().delivery(row.id)?.unwrap_or(row);
        Ok::<_, Problem>(DeliveryBody::read(ostler, &row)?)
    });
    Ok(Json(done.await?))
}
