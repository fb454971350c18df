//! `/v1/rules`: what may run without a person being asked.

use crate::app::App;
use crate::connection::Client;
use crate::dto::{ExplainedBody, RuleBody, RulesBody};
use crate::extract::{Choices, Path};
use crate::found;
use crate::problem::Problem;
use crate::reply::Reply;
use axum::extract::State;
use axum::http::StatusCode;
use axum::{Extension, Json};
use ostler_controller::client::{NewRule, Ostler, Where};
use ostler_core::ids::RuleId;
use ostler_core::rule::{Call, Effect, Rule, Scope};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use uuid::Uuid;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(list, add)).routes(routes!(remove)).routes(routes!(explain))
}

/// Every rule, the oldest first; at most 1000.
#[utoipa::path(
    get, path = "/v1/rules", tag = "permissions", operation_id = "list_rules",
    responses((status = 200, body = RulesBody, description = "All of them"))
)]
async fn list(State(app): State<App>) -> Result<Json<RulesBody>, Problem> {
    let all = app.desk().quick(|ostler| ostler.rules()).await?;
    Ok(Json(RulesBody { items: all.iter().map(Into::into).collect() }))
}

/// What a rule says.
#[derive(Clone, Copy, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum EffectWord {
    /// It may run.
    Allow,
    /// A person is asked, whatever the policy or another rule says.
    Ask,
    /// It may not run.
    Deny,
}

impl From<EffectWord> for Effect {
    fn from(word: EffectWord) -> Self {
        match word {
            EffectWord::Allow => Self::Allow,
            EffectWord::Ask => Self::Ask,
            EffectWord::Deny => Self::Deny,
        }
    }
}

/// Where a rule holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum ScopeWord {
    /// In every session.
    Everything,
    /// In sessions that work in a directory or below it.
    Cwd,
    /// In sessions of a label.
    Label,
    /// In one session.
    Session,
}

/// A rule to make.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct Add {
    /// What it says.
    effect: EffectWord,
    /// Of which calls: `Tool` or `Tool(argument)`, such as `Bash(git *)`; docs/permissions.md describes them.
    pattern: String,
    /// Where it holds.
    scope: ScopeWord,
    /// The directory (absolute), the label, or the session; none with `everything`.
    place: Option<String>,
    /// It holds for so many seconds. Default: until it is removed.
    #[schema(minimum = 1, maximum = 3_153_600_000u64)]
    expires_in: Option<u64>,
}

/// Makes a rule. It also decides what is asked right now.
#[utoipa::path(
    post, path = "/v1/rules", tag = "permissions", operation_id = "add_rule", request_body = Add,
    responses(
        (status = 201, body = RuleBody, description = "It holds"),
        (status = 404, body = Problem, description = "There is no such session"),
        (status = 409, body = Problem, description = "There are too many rules; or several such sessions"),
    )
)]
async fn add(
    State(app): State<App>,
    Extension(client): Extension<Client>,
    Choices(asked): Choices<Add>,
) -> Result<Reply<RuleBody>, Problem> {
    let at = app.now();
    let expires_in = asked.expires_in.map(|seconds| super::seconds("expires_in", seconds)).transpose()?;
    if expires_in == Some(0) {
        return Err(Problem::bad_request("`expires_in` is 0; such a rule would never hold"));
    }
    let rule = app.desk().patient(move |ostler| {
        let milliseconds = |seconds: u64| i64::try_from(seconds.saturating_mul(1000)).unwrap_or(i64::MAX);
        let new = NewRule {
            id: RuleId(Uuid::new_v4()),
            effect: asked.effect.into(),
            scope: scope(ostler, asked.scope, asked.place)?,
            pattern: asked.pattern,
            by: "http".to_owned(),
            expires_at: expires_in.map(|seconds| at.plus(milliseconds(seconds))),
            at,
        };
        Ok::<_, Problem>(ostler.add_rule(&new, client.decider())?)
    });
    let rule = rule.await?;
    Ok(Reply::new(StatusCode::CREATED, RuleBody::from(&rule)).at(format!("/v1/rules/{}", rule.id)))
}

fn scope(ostler: &Ostler, word: ScopeWord, place: Option<String>) -> Result<Scope, Problem> {
    match (word, place) {
        (ScopeWord::Everything, None) => Ok(Scope::Everything),
        (ScopeWord::Cwd, Some(dir)) => Ok(Scope::Cwd(absolute(dir)?)),
        (ScopeWord::Label, Some(label)) => Ok(Scope::Label(label)),
        (ScopeWord::Session, Some(name)) => Ok(Scope::Session(found::session(ostler, &name)?.id)),
        (ScopeWord::Everything, Some(_)) => Err(Problem::bad_request("`everything` has no `place`")),
        (_, None) => Err(Problem::bad_request("`place` is missing")),
    }
}

fn absolute(dir: String) -> Result<String, Problem> {
    match std::path::Path::new(&dir).is_absolute() {
        true => Ok(dir),
        false => Err(Problem::bad_request(format!("{dir:?} is no absolute path"))),
    }
}

/// Removes a rule. What it has decided stays decided.
#[utoipa::path(
    delete, path = "/v1/rules/{rule}", tag = "permissions", operation_id = "remove_rule",
    params(("rule" = String, Path, description = "The beginning of its id")),
    responses(
        (status = 200, body = RuleBody, description = "It was this one"),
        (status = 404, body = Problem, description = "There is none"),
        (status = 409, body = Problem, description = "There are several"),
    )
)]
async fn remove(
    State(app): State<App>,
    Extension(client): Extension<Client>,
    Path(name): Path<String>,
) -> Result<Json<RuleBody>, Problem> {
    let removed = app.desk().patient(move |ostler| {
        let rule = named(ostler.rules()?, &name)?;
        match ostler.remove_rule(rule.id, client.decider())? {
            true => Ok(RuleBody::from(&rule)),
            false => Err(no_rule(&name)),
        }
    });
    Ok(Json(removed.await?))
}

fn named(rules: Vec<Rule>, name: &str) -> Result<Rule, Problem> {
    let wanted = name.to_ascii_lowercase();
    let fits = |rule: &Rule| !wanted.is_empty() && rule.id.to_string().starts_with(&wanted);
    let mut fitting: Vec<Rule> = rules.into_iter().filter(fits).collect();
    match (fitting.pop(), fitting.len()) {
        (Some(rule), 0) => Ok(rule),
        (None, _) => Err(no_rule(name)),
        (Some(_), _) => {
            let detail = format!("{name:?} means several rules; give more of the id");
            Err(Problem::new(StatusCode::CONFLICT, "ambiguous", "The name means several rules", detail))
        }
    }
}

fn no_rule(name: &str) -> Problem {
    let detail = format!("no rule has an id that begins with {name:?}");
    Problem::new(StatusCode::NOT_FOUND, "no-rule", "No such rule", detail)
}

/// A call to hold rules against.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct Try {
    /// The tool.
    tool: String,
    /// Its main argument: a command, a path, a URL. Either this or `input`.
    argument: Option<String>,
    /// Its whole input.
    #[schema(value_type = Option<Object>)]
    input: Option<Box<RawValue>>,
    /// In this session: the beginning of its id, or its label. Either this or `cwd`.
    session: Option<String>,
    /// In a session that works there; absolute.
    cwd: Option<String>,
    /// And has this label.
    label: Option<String>,
}

/// Says which rule would decide a call, and which others speak of it.
#[utoipa::path(
    post, path = "/v1/rules/test", tag = "permissions", operation_id = "test_rules", request_body = Try,
    responses(
        (status = 200, body = ExplainedBody, description = "Which"),
        (status = 404, body = Problem, description = "There is no such session"),
        (status = 409, body = Problem, description = "There are several such sessions"),
    )
)]
async fn explain(
    State(app): State<App>,
    Choices(asked): Choices<Try>,
) -> Result<Json<ExplainedBody>, Problem> {
    let call = match (asked.argument, asked.input) {
        (Some(argument), None) => Call::typed(&asked.tool, &argument),
        (None, Some(input)) => Call::new(&asked.tool, &input),
        _ => return Err(Problem::bad_request("one of `argument` and `input` is needed")),
    };
    let at = app.now();
    let explained = app.desk().quick(move |ostler| {
        let place = match (asked.session, asked.cwd) {
            (Some(name), None) if asked.label.is_none() => Where::Session(found::session(ostler, &name)?.id),
            (None, Some(cwd)) => Where::Elsewhere { cwd: absolute(cwd)?, label: asked.label },
            _ => {
                return Err(Problem::bad_request(
                    "one of `session` and `cwd` is needed; `label` goes with `cwd`",
                ));
            }
        };
        Ok(ExplainedBody::from(&ostler.explain(&place, &call, at)?))
    });
    Ok(Json(explained.await?))
}
