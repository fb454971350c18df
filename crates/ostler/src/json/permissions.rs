//! Questions and rules: `pending`, `rule`.

use super::event::word_of;
use crate::view::rfc3339;
use ostler_controller::client::{Explained, Question};
use ostler_core::question::{Ask, Choice};
use ostler_core::rule::Rule;
use serde::Serialize;
use serde_json::value::RawValue;

/// `pending`.
#[derive(Debug, Serialize)]
pub(crate) struct PendingDocument<'a> {
    permissions: Vec<PendingBody<'a>>,
}

#[derive(Debug, Serialize)]
struct PendingBody<'a> {
    session: String,
    generation: u32,
    request: &'a str,
    kind: Option<String>,
    state: &'static str,
    tool: Option<&'a str>,
    argument: Option<String>,
    title: Option<&'a str>,
    description: Option<&'a str>,
    input: Option<&'a RawValue>,
    suggestions: Option<&'a RawValue>,
    questions: Vec<AskBody<'a>>,
    message: Option<&'a str>,
    url: Option<&'a str>,
    schema: Option<&'a RawValue>,
    reason: Option<&'a str>,
    blocked_path: Option<&'a str>,
    agent: Option<&'a str>,
    rule: Option<String>,
    asked_at: Option<String>,
    deadline: Option<String>,
}

#[derive(Debug, Serialize)]
struct AskBody<'a> {
    question: &'a str,
    header: &'a str,
    multi: bool,
    options: Vec<ChoiceBody<'a>>,
}

#[derive(Debug, Serialize)]
struct ChoiceBody<'a> {
    label: &'a str,
    description: &'a str,
}

impl<'a> PendingDocument<'a> {
    pub(crate) fn of(all: &'a [Question]) -> Self {
        Self { permissions: all.iter().map(PendingBody::of).collect() }
    }
}

impl<'a> PendingBody<'a> {
    fn of(q: &'a Question) -> Self {
        Self {
            session: q.session.to_string(),
            generation: q.generation,
            request: &q.request_id,
            kind: word_of(&q.kind),
            state: q.state.word(),
            tool: q.tool.as_deref(),
            argument: crate::cli::argument_of(q),
            title: q.title.as_deref(),
            description: q.description.as_deref(),
            input: q.input.as_deref(),
            suggestions: q.suggestions.as_deref(),
            questions: q.questions.iter().map(AskBody::of).collect(),
            message: q.message.as_deref(),
            url: q.url.as_deref(),
            schema: q.schema.as_deref(),
            reason: q.reason.as_deref(),
            blocked_path: q.blocked_path.as_deref(),
            agent: q.agent.as_deref(),
            rule: q.rule.map(|id| id.to_string()),
            asked_at: q.asked_at.map(rfc3339),
            deadline: q.deadline.map(rfc3339),
        }
    }
}

impl<'a> AskBody<'a> {
    fn of(ask: &'a Ask) -> Self {
        let choice = |c: &'a Choice| ChoiceBody { label: &c.label, description: &c.description };
        let options = ask.options.iter().map(choice).collect();
        Self { question: &ask.question, header: &ask.header, multi: ask.multi, options }
    }
}

/// A rule.
#[derive(Debug, Serialize)]
pub(crate) struct RuleBody {
    rule: String,
    effect: &'static str,
    pattern: String,
    scope: &'static str,
    place: Option<String>,
    made_by: String,
    made_at: String,
    expires_at: Option<String>,
}

impl RuleBody {
    fn of(rule: &Rule) -> Self {
        Self {
            rule: rule.id.to_string(),
            effect: rule.effect.word(),
            pattern: rule.pattern.to_string(),
            scope: rule.scope.word(),
            place: rule.scope.what(),
            made_by: rule.made_by.clone(),
            made_at: rfc3339(rule.made_at),
            expires_at: rule.expires_at.map(rfc3339),
        }
    }
}

/// `rule add`, `rule ls`, `rule rm`.
#[derive(Debug, Serialize)]
pub(crate) struct RulesDocument {
    rules: Vec<RuleBody>,
}

impl RulesDocument {
    pub(crate) fn of<'a>(rules: impl IntoIterator<Item = &'a Rule>) -> Self {
        Self { rules: rules.into_iter().map(RuleBody::of).collect() }
    }
}

/// `rule test`.
#[derive(Debug, Serialize)]
pub(crate) struct RuleTestDocument {
    effect: Option<&'static str>,
    by: Option<RuleBody>,
    besides: Vec<RuleBody>,
}

impl RuleTestDocument {
    pub(crate) fn of(explained: &Explained) -> Self {
        Self {
            effect: explained.by.as_ref().map(|r| r.effect.word()),
            by: explained.by.as_ref().map(RuleBody::of),
            besides: explained.besides.iter().map(RuleBody::of).collect(),
        }
    }
}
