//! What children ask, and what people say to it.
//!
//! Every face uses these two: [`Ostler::pending`] shows what is open, with everything that it takes to answer;
//! [`Ostler::decide`] answers, once: whoever comes second is told who was first.

use super::{ClientError, Decider, Ostler};
use claude_wire::{Message, Request};
use ostler_core::ctl::{Decision, Reply};
use ostler_core::ids::{GenerationNo, Millis, RuleId, SessionId};
use ostler_core::question::{self, Answers, Ask};
use ostler_core::rows::PermissionKind;
use ostler_core::rule::{self, Call, Effect, Place};
use ostler_core::spec::LaunchSpec;
use ostler_store::SessionFile;
use ostler_store::db::{Decided, NewDecision, PermissionRow};
use ostler_store::journal::read_range;
use serde_json::Value;
use serde_json::value::RawValue;

/// The longest input that a tool can be given instead of its own, in bytes. It stands in the journal.
pub const MAX_INPUT: usize = 1 << 20;

/// A decision about a question of a child.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// The generation that asks.
    pub generation: GenerationNo,
    /// The child's id for the question.
    pub request_id: String,
    /// What.
    pub choice: Choice,
    /// Who decides, for the record: `terminal`, `cli`, `http`, …
    pub by: String,
    /// Which process that is, so that none from inside the session decides for it.
    pub decider: Decider,
    /// When.
    pub at: Millis,
}

/// What is said to a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Yes: the tool runs, the plan is carried out, the hook has nothing to say, the form is accepted.
    Allow {
        /// JSON, an object: what the tool gets instead of its own input, what the hook says, what the form says.
        input: Option<String>,
        /// The child is to remember it: it gets its own suggestions back. Only for tools, and only where it has made some.
        always: bool,
    },
    /// No.
    Deny {
        /// What the child is told.
        message: Option<String>,
        /// The turn ends as well.
        interrupt: bool,
    },
    /// The answers to a question of the model, or to a form.
    Answer(Answers),
}

impl Choice {
    /// A plain yes.
    #[must_use]
    pub const fn allow() -> Self {
        Self::Allow { input: None, always: false }
    }

    /// A no, with what the child is told.
    #[must_use]
    pub const fn deny(message: Option<String>) -> Self {
        Self::Deny { message, interrupt: false }
    }

    /// Allow or deny.
    #[must_use]
    pub const fn decision(&self) -> Decision {
        match self {
            Self::Allow { .. } | Self::Answer(_) => Decision::Allow,
            Self::Deny { .. } => Decision::Deny,
        }
    }
}

/// Whether a question is waiting as any other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QuestionState {
    /// Nobody has decided it.
    Waiting,
    /// The same; ostler would have answered it itself, had it not answered so many in this turn.
    AutoContinueExhausted,
}

impl QuestionState {
    /// The word for it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::AutoContinueExhausted => "auto_continue_exhausted",
        }
    }
}

/// A question that waits for somebody, with all that the child says of it. What its line in the journal doesn't say is
/// None or empty.
#[derive(Clone, Debug)]
pub struct Question {
    /// Whose.
    pub session: SessionId,
    /// The generation that asks.
    pub generation: GenerationNo,
    /// The child's id for it.
    pub request_id: String,
    /// What kind of question.
    pub kind: PermissionKind,
    /// Whether it waits as any other.
    pub state: QuestionState,
    /// The tool; of an elicitation the server that asks, of a hook its callback.
    pub tool: Option<String>,
    /// A title, in the child's words.
    pub title: Option<String>,
    /// What the model says that the call is for.
    pub description: Option<String>,
    /// The call's input; what a hook is told.
    pub input: Option<Box<RawValue>>,
    /// Rules that the child would remember on "always", as it wrote them.
    pub suggestions: Option<Box<RawValue>>,
    /// What the model asks (`AskUserQuestion`).
    pub questions: Vec<Ask>,
    /// What an MCP server asks.
    pub message: Option<String>,
    /// Where it wants the person to go.
    pub url: Option<String>,
    /// What its form looks like: a JSON schema.
    pub schema: Option<Box<RawValue>>,
    /// Why the child asks.
    pub reason: Option<String>,
    /// The path that made it ask.
    pub blocked_path: Option<String>,
    /// The subagent that asks.
    pub agent: Option<String>,
    /// The rule that wants a person to be asked.
    pub rule: Option<RuleId>,
    /// When it was asked; None: just now, it is not written down yet.
    pub asked_at: Option<Millis>,
    /// When it is denied if nobody answers.
    pub deadline: Option<Millis>,
}

impl Ostler {
    /// Questions that wait for a decision: of one session, or of all; within a session in the order they were asked.
    ///
    /// # Errors
    /// The store can't be read. A journal that can't be read leaves its questions bare.
    pub fn pending(&self, session: Option<SessionId>) -> Result<Vec<Question>, ClientError> {
        let rows = self.db().pending_permissions(session)?;
        let rules = if rows.is_empty() { Vec::new() } else { self.db().rules()? };
        Ok(rows
            .iter()
            .map(|row| {
                let mut question = self.question(row);
                let file = SessionFile::read(&self.home().session(row.session)).ok();
                let spec = file.as_ref().and_then(|f| LaunchSpec::from_json(f.spec.get()).ok());
                question.deadline = row.journal.deadline(spec.as_ref().and_then(|s| s.permission_timeout));
                if let (Some(file), Some(tool), Some(input)) = (&file, &question.tool, &question.input) {
                    let label = file.label.as_deref();
                    let place = Place { session: Some(row.session), label, cwd: &file.cwd };
                    let call = Call::new(tool, input);
                    let rule = rule::choose(&rules, &call, &place, super::halt::wall());
                    question.rule = rule.filter(|r| r.effect == Effect::Ask).map(|r| r.id);
                }
                question
            })
            .collect())
    }

    /// One question, open or not, as its line in the journal says it. Deadline and rule are not looked for.
    #[must_use]
    pub fn question(&self, row: &PermissionRow) -> Question {
        let journal = &row.journal;
        let exhausted = journal.exhausted;
        let mut question = Question {
            session: row.session,
            generation: journal.generation,
            request_id: journal.request_id.clone(),
            kind: journal.kind,
            state: if exhausted { QuestionState::AutoContinueExhausted } else { QuestionState::Waiting },
            tool: journal.tool.clone(),
            title: None,
            description: None,
            input: None,
            suggestions: None,
            questions: Vec::new(),
            message: None,
            url: None,
            schema: None,
            reason: None,
            blocked_path: None,
            agent: None,
            rule: None,
            asked_at: journal.asked_at,
            deadline: None,
        };
        match self.asked(row) {
            Some(Request::CanUseTool(ask)) => {
                question.questions = question::asks(&ask.input);
                question.tool = Some(ask.tool_name);
                question.title = ask.title.or(ask.display_name);
                question.description = ask.description;
                question.input = Some(ask.input);
                question.suggestions = ask.suggestions;
                question.reason = ask.decision_reason;
                question.blocked_path = ask.blocked_path;
                question.agent = ask.agent_id;
            }
            Some(Request::Elicitation(ask)) => {
                question.tool = Some(ask.mcp_server_name);
                question.message = Some(ask.message);
                question.url = ask.url;
                question.schema = ask.requested_schema;
            }
            Some(Request::HookCallback(ask)) => {
                question.tool = Some(ask.callback_id);
                question.input = ask.input;
            }
            _ => {}
        }
        question
    }

    fn asked(&self, row: &PermissionRow) -> Option<Request> {
        let files = self.home().session(row.session).generation(row.journal.generation);
        let bytes = read_range(&files, row.journal.line.0, row.journal.line.1).ok()?;
        match Message::parse(&bytes) {
            (Message::ControlRequest(line), _) => Some(line.request),
            _ => None,
        }
    }

    /// Decides a question: the first decision wins, and is stored before anybody is told. The controller is told.
    ///
    /// # Errors
    /// [`ClientError::Lost`] (somebody was first), [`ClientError::Withdrawn`], [`ClientError::NoQuestion`],
    /// [`ClientError::Inside`]; [`ClientError::Answer`], [`ClientError::Input`] and [`ClientError::NothingToRemember`]
    /// when what is said does not fit what was asked; the session is closed; the store can't be written.
    pub fn decide(&self, session: SessionId, verdict: &Verdict) -> Result<(), ClientError> {
        self.refuse_closed(session)?;
        self.refuse_inside(session, verdict.decider)?;
        let reply = self.reply(session, verdict)?;
        let decided = self.db().decide_permission(&NewDecision {
            session,
            generation: verdict.generation,
            request_id: verdict.request_id.clone(),
            reply,
            by: verdict.by.clone(),
            at: verdict.at,
        })?;
        match decided {
            Decided::First => self.poke(session),
            Decided::Lost(winner) => {
                let decision = match winner.decision {
                    Decision::Allow => "allow",
                    Decision::Deny => "deny",
                };
                Err(ClientError::Lost { decision, by: winner.by })
            }
            Decided::Withdrawn => Err(ClientError::Withdrawn),
            Decided::Unknown => Err(ClientError::NoQuestion),
        }
    }

    /// What the child is to be told, checked against what it asked.
    fn reply(&self, session: SessionId, verdict: &Verdict) -> Result<Reply, ClientError> {
        let (input, always) = match &verdict.choice {
            Choice::Deny { message, interrupt } => {
                return Ok(Reply { interrupt: *interrupt, ..Reply::deny(message.clone()) });
            }
            Choice::Allow { input: None, always: false } => return Ok(Reply::allow()),
            Choice::Allow { input, always } => {
                (input.as_ref().map(|text| object(text)).transpose()?, *always)
            }
            Choice::Answer(_) => (None, false),
        };
        let named = |p: &PermissionRow| {
            p.journal.generation == verdict.generation && p.journal.request_id == verdict.request_id
        };
        let row = self.db().permissions(session)?.into_iter().find(named).ok_or(ClientError::NoQuestion)?;
        let question = self.question(&row);
        if always && question.suggestions.as_ref().is_none_or(|s| matches!(s.get().trim(), "null" | "[]")) {
            return Err(ClientError::NothingToRemember);
        }
        let input = match (&verdict.choice, question.kind) {
            (Choice::Answer(answers), PermissionKind::Elicitation) => {
                Some(question::filled(question.schema.as_deref(), answers)?)
            }
            (Choice::Answer(answers), PermissionKind::Question) => {
                let asked = question.input.as_deref().ok_or(question::AnswerError::NoQuestions)?;
                Some(question::answered(asked, answers)?)
            }
            (Choice::Answer(_), _) => return Err(question::AnswerError::NoQuestions.into()),
            _ => input,
        };
        Ok(Reply { input, always, ..Reply::allow() })
    }
}

/// One line of JSON, an object, as it is written to the child.
fn object(text: &str) -> Result<String, ClientError> {
    let bad = |why: String| ClientError::Input { why };
    if text.len() > MAX_INPUT {
        return Err(bad(format!("it has {} bytes; at most {MAX_INPUT} are taken", text.len())));
    }
    let value: Value = serde_json::from_str(text).map_err(|e| bad(e.to_string()))?;
    if value.is_object() { Ok(value.to_string()) } else { Err(bad("it is no JSON object".to_owned())) }
}
