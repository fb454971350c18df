//! `/v1/permissions`: what claude asks, and what is said to it.

use crate::app::App;
use crate::connection::Client;
use crate::dto::{DecidedBody, Page, QuestionBody, decision_word};
use crate::extract::{Message, Path, Query};
use crate::found;
use crate::problem::Problem;
use crate::reply::Reply;
use axum::extract::State;
use axum::http::StatusCode;
use axum::{Extension, Json};
use ostler_controller::client::{Choice, ClientError, Ostler, Question, Verdict};
use ostler_core::question::Answers;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// How many questions a page has unless told otherwise.
const PAGE: u32 = 50;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(list)).routes(routes!(show, decide))
}

/// Which questions.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
struct Asked {
    /// Of this session: the beginning of its id, or its label.
    session: Option<String>,
    /// `next` of the page before.
    after: Option<String>,
    /// How many, 1 to 500; 50 unless given.
    #[param(minimum = 1, maximum = 500)]
    limit: Option<u32>,
}

/// Questions that wait for somebody, the oldest first.
#[utoipa::path(
    get, path = "/v1/permissions", tag = "permissions", operation_id = "list_permissions", params(Asked),
    responses(
        (status = 200, body = Page<QuestionBody>, description = "A page of them"),
        (status = 404, body = Problem, description = "There is no such session"),
        (status = 409, body = Problem, description = "There are several such sessions"),
    )
)]
async fn list(
    State(app): State<App>,
    Query(asked): Query<Asked>,
) -> Result<Json<Page<QuestionBody>>, Problem> {
    let limit = usize::try_from(super::limit(asked.limit, PAGE)?).unwrap_or(usize::MAX);
    let page = app.desk().quick(move |ostler| {
        let session = asked.session.map(|name| found::session(ostler, &name)).transpose()?;
        let mut all = ostler.pending(session.map(|row| row.id))?;
        all.sort_by_cached_key(place);
        let after = asked.after.as_deref();
        let mut left = all.into_iter().filter(|one| after.is_none_or(|after| place(one).as_str() > after));
        let page: Vec<Question> = left.by_ref().take(limit).collect();
        let more = left.next().is_some();
        let next = page.last().map(place).filter(|_| more);
        let items = page.into_iter().map(|one| QuestionBody::from(one).listed()).collect();
        Ok::<_, Problem>(Page { items, next })
    });
    Ok(Json(page.await?))
}

/// Where a question stands in the listing, as text that sorts so: by its time, then by its name.
fn place(one: &Question) -> String {
    let at = one.asked_at.map_or(0, |at| at.0);
    format!("{at:016}.{}.{:010}.{}", one.session, one.generation, one.request_id)
}

/// A question, and what became of it.
#[utoipa::path(
    get, path = "/v1/permissions/{session}/{generation}/{request}", tag = "permissions",
    operation_id = "show_permission",
    params(
        ("session" = String, Path, description = "The beginning of its id, or its label"),
        ("generation" = u32, Path, description = "The process that asks"),
        ("request" = String, Path, description = "Claude's id for the question"),
    ),
    responses(
        (status = 200, body = QuestionBody, description = "All of it"),
        (status = 404, body = Problem, description = "There is no such session or question"),
        (status = 409, body = Problem, description = "There are several such sessions"),
    )
)]
async fn show(
    State(app): State<App>,
    Path((session, generation, request)): Path<(String, u32, String)>,
) -> Result<Json<QuestionBody>, Problem> {
    let body = app.desk().quick(move |ostler| {
        let row = found::session(ostler, &session)?;
        question(ostler, row.id, generation, &request)
    });
    Ok(Json(body.await?))
}

fn question(
    ostler: &Ostler,
    session: ostler_core::ids::SessionId,
    generation: u32,
    request: &str,
) -> Result<QuestionBody, Problem> {
    let named = |g: u32, r: &str| g == generation && r == request;
    let all = ostler.db().permissions(session)?;
    let row = all.iter().find(|p| named(p.journal.generation, &p.journal.request_id));
    let row = row.ok_or(ClientError::NoQuestion)?;
    // Deadline and rule are known of open ones.
    let open = ostler.pending(Some(session))?.into_iter().find(|q| named(q.generation, &q.request_id));
    Ok(QuestionBody::from(open.unwrap_or_else(|| ostler.question(row))).with_end(row))
}

/// What is said.
#[derive(Clone, Copy, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum Word {
    /// Yes.
    Allow,
    /// No.
    Deny,
    /// The answers to a question of the model, or to a form.
    Answer,
}

/// A decision.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct Decide {
    /// What is said.
    decision: Word,
    /// With `allow`: what the tool gets instead of its own input, what a hook says, what a form says.
    #[schema(value_type = Option<Object>)]
    input: Option<Box<RawValue>>,
    /// With `allow`: claude is to remember it; it gets its own suggestions back.
    #[serde(default)]
    always: bool,
    /// With `deny`: what claude is told.
    message: Option<String>,
    /// With `deny`: the turn ends as well.
    #[serde(default)]
    interrupt: bool,
    /// With `answer`: answers by question. A question is named by its text, its header, or its number from 1; an answer is
    /// a label, a label's number from 1, or any other text.
    answers: Option<BTreeMap<String, Vec<String>>>,
}

impl Decide {
    fn choice(self) -> Result<Choice, Problem> {
        let Self { decision, input, always, message, interrupt, answers } = self;
        let denies = message.is_some() || interrupt;
        let allows = input.is_some() || always;
        let input = input.map(|raw| raw.get().to_owned());
        match (decision, answers) {
            (Word::Allow, None) if !denies => Ok(Choice::Allow { input, always }),
            (Word::Deny, None) if !allows => Ok(Choice::Deny { message, interrupt }),
            (Word::Answer, Some(answers)) if !denies && !allows => Ok(Choice::Answer(Answers::from(answers))),
            (Word::Answer, None) => Err(Problem::bad_request("`answers` are missing")),
            _ => Err(Problem::bad_request(
                "`input` and `always` go with `allow`, `message` and `interrupt` with `deny`, `answers` with `answer`",
            )),
        }
    }
}

/// Decides a question. The first decision counts: who comes second is told who was first.
///
/// 200 says that it is decided, durably, and that whoever works on the session was told; 202 that nobody could be told yet.
#[utoipa::path(
    post, path = "/v1/permissions/{session}/{generation}/{request}", tag = "permissions",
    operation_id = "decide_permission", request_body = Decide,
    params(
        ("session" = String, Path, description = "The beginning of its id, or its label"),
        ("generation" = u32, Path, description = "The process that asks"),
        ("request" = String, Path, description = "Claude's id for the question"),
    ),
    responses(
        (status = 200, body = DecidedBody, description = "It is decided"),
        (status = 202, body = DecidedBody, description = "It is decided; nobody could be told yet"),
        (status = 404, body = Problem, description = "There is no such session or question"),
        (status = 409, body = Problem, description = "Somebody was first (`with.winner`), it was withdrawn, the session is closed, or there are several"),
    )
)]
async fn decide(
    State(app): State<App>,
    Extension(client): Extension<Client>,
    Path((session, generation, request)): Path<(String, u32, String)>,
    // An input may be as large as a message.
    Message(asked): Message<Decide>,
) -> Result<Reply<DecidedBody>, Problem> {
    let choice = asked.choice()?;
    let (at, decision) = (app.now(), choice.decision());
    let done = app.desk().patient(move |ostler| {
        let row = found::session(ostler, &session)?;
        let verdict = Verdict {
            generation,
            request_id: request,
            choice,
            by: "http".to_owned(),
            decider: client.decider(),
            at,
        };
        let warning = match ostler.decide(row.id, &verdict) {
            Ok(()) => None,
            // It is stored by then.
            Err(error @ ClientError::Controller { .. }) => Some(error.to_string()),
            Err(error) => return Err(Problem::from(error)),
        };
        Ok(DecidedBody {
            session: row.id.to_string(),
            generation,
            request: verdict.request_id,
            decision: decision_word(decision),
            warning,
        })
    });
    let body = done.await?;
    let status = if body.warning.is_some() { StatusCode::ACCEPTED } else { StatusCode::OK };
    Ok(Reply::new(status, body))
}
