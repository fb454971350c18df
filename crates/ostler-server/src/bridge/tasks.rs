//! What a request with the key is answered.

use super::answer::{self, Created, Output, OutputTask, Status, Told};
use super::path::{self, Route};
use super::request::Asked;
use super::{Bridge, body, ending, pulse, stream};
use crate::connection::Client;
use crate::extract::read_body;
use crate::problem::Problem;
use axum::body::Body;
use axum::http::{Request, Response, StatusCode, Uri};
use ostler_controller::client::{Choice, ClientError, Decider, Ostler, Verdict};
use ostler_core::ids::{DeliveryId, Millis, SessionId};
use ostler_core::rows::PermissionKind;
use ostler_store::db::{NewTask, PermissionRow, QueueLimit, TaskCancel, TaskInserted, TaskRow, TaskState};
use serde_json::{Map, Value};
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::time::Instant;
use uuid::Uuid;

/// What may wait.
const QUEUE: QueueLimit = QueueLimit { tasks: 10_000, bytes: 1 << 30 };
/// How long the answer to a cancel waits for the task's end.
const CANCEL: Duration = Duration::from_secs(5);

/// Answers a request below `/…/task`.
pub(super) async fn answer(bridge: &Bridge, request: Request<Body>) -> Response<Body> {
    let (head, body) = request.into_parts();
    let decider = decider(head.extensions.get());
    let task_id = path::parameter(&head.uri, "task_id");
    let done = match path::route(&head.method, head.uri.path()) {
        Route::Create => with_fields(bridge, body, async |fields| create(bridge, fields).await).await,
        Route::Cancel => with_fields(bridge, body, async |fields| cancel(bridge, &fields).await).await,
        Route::Permission => {
            with_fields(bridge, body, async |fields| permission(bridge, &fields, decider).await).await
        }
        Route::Output => output(bridge, task_id).await,
        Route::Status => status(bridge, task_id).await,
        Route::Stream { open } => Ok(streamed(bridge, task_id, open, &head.uri)),
    };
    done.unwrap_or_else(|problem| answer::error(problem.status(), problem.detail()))
}

fn streamed(bridge: &Bridge, task_id: Option<String>, open: bool, uri: &Uri) -> Response<Body> {
    match task_id {
        None => answer::error(StatusCode::BAD_REQUEST, "task_id required"),
        Some(id) => {
            let replay = path::parameter(uri, "replay").is_some_and(|value| value == "1");
            stream::open(bridge, id, open, replay)
        }
    }
}

async fn with_fields(
    bridge: &Bridge,
    body: Body,
    answer: impl AsyncFnOnce(Map<String, Value>) -> Result<Response<Body>, Problem>,
) -> Result<Response<Body>, Problem> {
    let limit = bridge.app().limits().message_body;
    let read = read_body(body, bridge.app(), limit).await?;
    match body::fields(&read.bytes) {
        Ok(fields) => answer(fields).await,
        Err(text) => Ok(answer::bare_error(&text)),
    }
}

/// Accepted at once and for good; whether it can begin is told by its output.
async fn create(bridge: &Bridge, fields: Map<String, Value>) -> Result<Response<Body>, Problem> {
    let request = serde_json::to_vec(&Asked::of(fields)).unwrap_or_default();
    loop {
        let at = bridge.app().now();
        let number = bridge.shared.count.fetch_add(1, Ordering::Relaxed);
        let new = NewTask {
            id: format!("task_{}_{number}", at.0),
            place: bridge.options().cwd.clone(),
            request: request.clone(),
            session: SessionId(Uuid::new_v4()),
            delivery: DeliveryId(Uuid::new_v4()),
            at,
        };
        let id = new.id.clone();
        let insert = move |ostler: &Ostler| ostler.db().insert_task(&new, QUEUE).map_err(ClientError::from);
        match bridge.app().desk().quick(insert).await? {
            TaskInserted::New => {
                bridge.touched();
                return Ok(answer::json(StatusCode::OK, &Created { task_id: &id, status: "created" }));
            }
            TaskInserted::Full => {
                return Ok(answer::error(StatusCode::SERVICE_UNAVAILABLE, "too many tasks wait already"));
            }
            // Another bridge of this home numbers too.
            TaskInserted::Taken => {}
        }
    }
}

/// Comes back when the task is over, if that doesn't take long; that it is to end is durable before.
async fn cancel(bridge: &Bridge, fields: &Map<String, Value>) -> Result<Response<Body>, Problem> {
    let Some(id) = body::word(fields, "task_id") else {
        return Ok(answer::error(StatusCode::BAD_REQUEST, "task_id required"));
    };
    let (name, at) = (id.clone(), bridge.app().now());
    let asked = move |ostler: &Ostler| ostler.db().cancel_task(&name, at).map_err(ClientError::from);
    match bridge.app().desk().quick(asked).await? {
        TaskCancel::Unknown => return Ok(answer::not_found()),
        TaskCancel::Over => {}
        TaskCancel::NotBegun => bridge.touched(),
        TaskCancel::Running => {
            bridge.touched();
            let (taking, name) = (bridge.clone(), id.clone());
            // Goes on when the client doesn't.
            tokio::spawn(async move { taking.take_back(&name).await });
            let until = Instant::now() + CANCEL;
            let mut beats = bridge.shared.pulse.listen();
            while Instant::now() < until && bridge.look(&id).await?.is_some_and(|row| row.ended_at.is_none())
            {
                pulse::next(&mut beats, pulse::LOOK).await;
            }
        }
    }
    Ok(answer::json(StatusCode::OK, &Told { status: "cancelled", task_id: &id }))
}

/// Whoever has the key is somebody elsewhere; a process of this machine that comes by the home's socket is known.
fn decider(client: Option<&Client>) -> Decider {
    match client {
        Some(Client::Local(peer)) => peer.pid.map_or(Decider::Remote, Decider::Process),
        _ => Decider::Remote,
    }
}

async fn permission(
    bridge: &Bridge,
    fields: &Map<String, Value>,
    decider: Decider,
) -> Result<Response<Body>, Problem> {
    let bad = |text| Ok(answer::error(StatusCode::BAD_REQUEST, text));
    let (Some(id), Some(behavior)) = (body::word(fields, "task_id"), body::word(fields, "behavior")) else {
        return bad("task_id and behavior required");
    };
    let input = match fields.get("updatedInput") {
        None | Some(Value::Null) => None,
        Some(input @ Value::Object(_)) => Some(input.to_string()),
        Some(_) => return bad("updatedInput must be an object"),
    };
    let choice = match behavior.as_str() {
        "allow" => Choice::Allow { input, always: false },
        "deny" => Choice::deny(body::word(fields, "message")),
        _ => return bad("behavior must be \"allow\" or \"deny\""),
    };
    let answer =
        Decided { request_id: body::word(fields, "request_id"), choice, decider, at: bridge.app().now() };
    let Some(row) = bridge.look(&id).await? else {
        return Ok(answer::error(StatusCode::OK, "no_pending_request"));
    };
    let decided = bridge.app().desk().quick(move |ostler| decide(ostler, &row, answer)).await?;
    if !decided {
        return Ok(answer::error(StatusCode::OK, "no_pending_request"));
    }
    Ok(answer::json(StatusCode::OK, &Told { status: "responded", task_id: &id }))
}

/// What a client decides.
struct Decided {
    request_id: Option<String>,
    choice: Choice,
    decider: Decider,
    at: Millis,
}

/// False: nothing that could be decided.
fn decide(ostler: &Ostler, row: &TaskRow, decided: Decided) -> Result<bool, ClientError> {
    let open = open_questions(ostler, row)?;
    let meant = |question: &&PermissionRow| match &decided.request_id {
        None => true,
        Some(id) => question.journal.request_id == *id,
    };
    let Some(question) = open.iter().find(meant) else { return Ok(false) };
    let verdict = Verdict {
        generation: question.journal.generation,
        request_id: question.journal.request_id.clone(),
        choice: decided.choice,
        by: "bridge".to_owned(),
        decider: decided.decider,
        at: decided.at,
    };
    match ostler.decide(row.session, &verdict) {
        // It is decided; whoever looks after the session next tells its controller.
        Ok(()) | Err(ClientError::Controller { .. }) => Ok(true),
        Err(ClientError::Lost { .. } | ClientError::Withdrawn | ClientError::NoQuestion) => Ok(false),
        Err(other) => Err(other),
    }
}

/// What waits for somebody's decision in a task, oldest first.
///
/// # Errors
/// The store can't be read.
pub(super) fn open_questions(ostler: &Ostler, row: &TaskRow) -> Result<Vec<PermissionRow>, ClientError> {
    if row.state != TaskState::Running {
        return Ok(Vec::new());
    }
    let mut open = ostler.db().pending_permissions(Some(row.session))?;
    if open.is_empty() {
        return Ok(open);
    }
    // Another task of the same session may be the one that asks, while this one's message still waits.
    let message = ostler.db().delivery(row.delivery)?;
    let begun = message.is_some_and(|message| message.written_at.is_some());
    let about_tools = [PermissionKind::Tool, PermissionKind::Question, PermissionKind::Plan];
    open.retain(|question| begun && about_tools.contains(&question.journal.kind));
    Ok(open)
}

async fn output(bridge: &Bridge, task_id: Option<String>) -> Result<Response<Body>, Problem> {
    let row = match task_id {
        Some(id) => bridge.look(&id).await?,
        None => None,
    };
    let Some(row) = row else { return Ok(answer::not_found()) };
    let (reading, of) = (bridge.clone(), row.clone());
    let told = move |ostler: &Ostler| {
        Ok::<_, ClientError>((ending::report(ostler, &of)?, reading.said(ostler, &of)?))
    };
    let (report, said) = bridge.app().desk().patient(told).await?;
    let over = row.ended_at.is_some();
    let failed = row.state == TaskState::Failed;
    let result = match &row.reason {
        Some(reason) => reason,
        None => report.answer.as_ref().unwrap_or(&said),
    };
    let task = OutputTask {
        id: &row.id,
        status: row.state.word(),
        result,
        exit_code: row.exit_code,
        usage: report.usage,
        session_id: session_of(&row),
        partial_result: failed.then_some(said.as_str()),
    };
    let retrieval_status = if over { "success" } else { "pending" };
    Ok(answer::json(StatusCode::OK, &Output { retrieval_status, task }))
}

async fn status(bridge: &Bridge, task_id: Option<String>) -> Result<Response<Body>, Problem> {
    let row = match task_id {
        Some(id) => bridge.look(&id).await?,
        None => None,
    };
    let Some(row) = row else { return Ok(answer::not_found()) };
    let of = row.clone();
    let report = bridge.app().desk().quick(move |ostler| ending::report(ostler, &of)).await?;
    let created = row.ended_at.or(row.started_at).unwrap_or(row.created_at);
    let told = Status {
        id: &row.id,
        status: row.state.word(),
        created: created.0,
        usage: report.usage,
        session_id: session_of(&row),
    };
    Ok(answer::json(StatusCode::OK, &told))
}

/// A session that there is.
fn session_of(row: &TaskRow) -> Option<String> {
    row.ran.then(|| row.session.to_string())
}

impl Bridge {
    /// A task as it is now.
    pub(super) async fn look(&self, id: &str) -> Result<Option<TaskRow>, Problem> {
        let (id, now) = (id.to_owned(), self.app().now());
        self.app().desk().quick(move |ostler| ending::look(ostler, &id, now)).await
    }

    /// Breaks off whatever a task does.
    pub(super) async fn take_back(&self, id: &str) {
        let id = id.to_owned();
        let take = move |ostler: &Ostler| {
            if let Some(row) = ostler.db().task(&id)? {
                ending::take_back(ostler, &row);
            }
            Ok::<_, ClientError>(())
        };
        if let Err(problem) = self.app().desk().patient(take).await {
            tracing::warn!(detail = problem.detail(), "a task could not be broken off");
        }
        self.touched();
    }

    /// What a task has said so far, where its answer doesn't say it.
    fn said(&self, ostler: &Ostler, row: &TaskRow) -> Result<String, ClientError> {
        match row.ran {
            true => self.shared.partial.text(ostler, row),
            false => Ok(String::new()),
        }
    }
}
