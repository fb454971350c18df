//! What claude asks.

use super::{decision_word, rfc3339, word_of};
use ostler_controller::client::Question;
use ostler_core::question::Ask;
use ostler_core::rows::PermissionState;
use ostler_store::db::PermissionRow;
use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

/// The longest input that stands in a listing, in bytes.
const LISTED: usize = 64 << 10;

/// A question, with all that claude says of it.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct QuestionBody {
    /// The session that asks.
    session: String,
    /// Its process that asks.
    generation: u32,
    /// Claude's id for the question.
    request: String,
    /// `tool`, `question`, `plan`, `hook`, `elicitation`, `other`.
    kind: String,
    /// `open`, `decided` (the answer is not proven written), `answered`, `withdrawn`.
    state: String,
    /// Of an open one: `waiting`; `auto_continue_exhausted`: ostler has answered so many in this turn that a person should.
    waits: Option<&'static str>,
    /// The tool; of an elicitation the server that asks, of a hook its callback.
    tool: Option<String>,
    /// A title, in claude's words.
    title: Option<String>,
    /// What the model says that the call is for.
    description: Option<String>,
    /// The call's input; what a hook is told. Null where there is none; in a listing also when it is longer than 64 KiB.
    #[schema(value_type = Option<Value>)]
    input: Option<Box<RawValue>>,
    /// The input's length.
    input_bytes: usize,
    /// Rules that claude would remember on "always", as it wrote them.
    #[schema(value_type = Option<Value>)]
    suggestions: Option<Box<RawValue>>,
    /// What the model asks.
    questions: Vec<AskBody>,
    /// What an MCP server asks.
    message: Option<String>,
    /// Where it wants the person to go.
    url: Option<String>,
    /// What its form looks like: a JSON schema.
    #[schema(value_type = Option<Value>)]
    schema: Option<Box<RawValue>>,
    /// Why claude asks.
    reason: Option<String>,
    /// The path that made it ask.
    blocked_path: Option<String>,
    /// The subagent that asks.
    agent: Option<String>,
    /// The rule that wants a person to be asked.
    rule: Option<String>,
    /// When it was asked.
    asked_at: Option<String>,
    /// When it is denied if nobody answers.
    deadline: Option<String>,
    /// `allow` or `deny`.
    decision: Option<&'static str>,
    /// Who decided.
    by: Option<String>,
    /// What a denied claude was told.
    told: Option<String>,
    /// Why it was withdrawn.
    withdrawn: Option<String>,
}

/// One of the questions that the model asks together.
#[derive(Debug, Serialize, ToSchema)]
struct AskBody {
    /// The question.
    question: String,
    /// Two or three words for it.
    header: String,
    /// More than one answer may be chosen.
    multi: bool,
    /// Answers to choose from; any other text is an answer too.
    options: Vec<OptionBody>,
}

/// An answer to choose.
#[derive(Debug, Serialize, ToSchema)]
struct OptionBody {
    /// What it is called.
    label: String,
    /// What it means.
    description: String,
}

impl From<&Ask> for AskBody {
    fn from(ask: &Ask) -> Self {
        let option = |o: &ostler_core::question::Choice| OptionBody {
            label: o.label.clone(),
            description: o.description.clone(),
        };
        Self {
            question: ask.question.clone(),
            header: ask.header.clone(),
            multi: ask.multi,
            options: ask.options.iter().map(option).collect(),
        }
    }
}

impl From<Question> for QuestionBody {
    fn from(q: Question) -> Self {
        Self {
            session: q.session.to_string(),
            generation: q.generation,
            request: q.request_id,
            kind: word_of(&q.kind),
            state: word_of(&PermissionState::Open),
            waits: Some(q.state.word()),
            tool: q.tool,
            title: q.title,
            description: q.description,
            input_bytes: q.input.as_ref().map_or(0, |input| input.get().len()),
            input: q.input,
            suggestions: q.suggestions,
            questions: q.questions.iter().map(Into::into).collect(),
            message: q.message,
            url: q.url,
            schema: q.schema,
            reason: q.reason,
            blocked_path: q.blocked_path,
            agent: q.agent,
            rule: q.rule.map(|id| id.to_string()),
            asked_at: q.asked_at.map(rfc3339),
            deadline: q.deadline.map(rfc3339),
            decision: None,
            by: None,
            told: None,
            withdrawn: None,
        }
    }
}

impl QuestionBody {
    /// The same in a listing, where one must not crowd the others out.
    pub(crate) fn listed(mut self) -> Self {
        self.input = self.input.filter(|input| input.get().len() <= LISTED);
        self
    }

    /// With what became of it.
    pub(crate) fn with_end(mut self, row: &PermissionRow) -> Self {
        let reply = row.face.as_ref().map(|face| (&face.reply, &face.by));
        let state = row.state();
        self.waits = self.waits.filter(|_| state == PermissionState::Open);
        self.state = word_of(&state);
        self.decision = row.journal.decision.or(reply.map(|(reply, _)| reply.decision)).map(decision_word);
        self.by = row.journal.decided_by.clone().or_else(|| reply.map(|(_, by)| by.clone()));
        self.told =
            row.journal.message.clone().or_else(|| reply.and_then(|(reply, _)| reply.message.clone()));
        self.withdrawn.clone_from(&row.journal.withdrawn);
        self
    }
}

/// What was decided.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct DecidedBody {
    /// The session that asks.
    pub(crate) session: String,
    /// Its process that asks.
    pub(crate) generation: u32,
    /// Claude's id for the question.
    pub(crate) request: String,
    /// `allow` or `deny`; an answer is an allow.
    pub(crate) decision: &'static str,
    /// What is wrong all the same: claude could not be told yet. The decision stands, and is tried again.
    pub(crate) warning: Option<String>,
}
