//! What can go wrong for a face.

use super::Undeclared;
use super::worktree::WorktreeError;
use ostler_core::ids::{DeliveryId, SessionId};
use ostler_store::{DbError, HomeError};
use std::path::PathBuf;

/// Why a request of a face was not carried out.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The home can't be used.
    #[error(transparent)]
    Home(#[from] HomeError),
    /// The store can't be read or written.
    #[error(transparent)]
    Db(#[from] DbError),
    /// A folder or file of a session can't be used.
    #[error("failed to {what} {}", path.display())]
    File {
        /// What was tried.
        what: &'static str,
        /// Where.
        path: PathBuf,
        /// Why not.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The message is empty.
    #[error("the prompt is empty")]
    EmptyPrompt,
    /// The message is too large.
    #[error("the prompt has {len} bytes; at most {limit} are taken")]
    PromptTooLarge {
        /// Its length.
        len: usize,
        /// The limit.
        limit: usize,
    },
    /// The idempotency key is empty or too long.
    #[error("the idempotency key has {len} bytes; it must have 1 to {limit}")]
    Key {
        /// Its length.
        len: usize,
        /// The limit.
        limit: usize,
    },
    /// The working directory is not there.
    #[error("the working directory {} is not there", cwd.display())]
    NoCwd {
        /// The directory.
        cwd: PathBuf,
    },
    /// The session takes nothing: stopped or closed.
    #[error("session {session} is {state}")]
    NotTaking {
        /// The session.
        session: SessionId,
        /// `stopped`, `closed` or `sealed`.
        state: &'static str,
    },
    /// A session can't be copied, or not so.
    #[error(transparent)]
    Fork(#[from] super::fork::ForkError),
    /// The note of a declaration is too long.
    #[error("the note has {len} bytes; at most {limit} are taken")]
    NoteTooLong {
        /// Its length.
        len: usize,
        /// The limit.
        limit: usize,
    },
    /// An agent's declaration was not taken.
    #[error("nothing is declared for session {session}: {}", why.words())]
    Undeclared {
        /// The session.
        session: SessionId,
        /// Why.
        why: Undeclared,
    },
    /// A worktree is not taken away.
    #[error("session {session} is not closed: {source}")]
    Worktree {
        /// The session.
        session: SessionId,
        /// Why.
        #[source]
        source: WorktreeError,
    },
    /// What runs in a session neither decides for it nor deletes it.
    #[error(
        "this runs inside session {session}: what a session does is decided, and deleted, by somebody outside of it"
    )]
    Inside {
        /// The session.
        session: SessionId,
    },
    /// The same idempotency key was used with another body.
    #[error("the idempotency key was used before, for another message")]
    OtherBody,
    /// There is no such message in the session.
    #[error("session {session} has no message {delivery}")]
    NoDelivery {
        /// The session.
        session: SessionId,
        /// The message.
        delivery: DeliveryId,
    },
    /// A message can't be taken back any more.
    #[error("message {delivery} can't be taken back: it is {state}")]
    TooLate {
        /// The message.
        delivery: DeliveryId,
        /// Where it stands.
        state: String,
    },
    /// Somebody decided first.
    #[error("already decided: {decision}, by {by}")]
    Lost {
        /// `allow` or `deny`.
        decision: &'static str,
        /// By whom.
        by: String,
    },
    /// The question can't be answered any more.
    #[error("the question was withdrawn")]
    Withdrawn,
    /// There is no such question.
    #[error("there is no such question")]
    NoQuestion,
    /// The answer doesn't fit the question.
    #[error("the answer does not fit: {0}")]
    Answer(#[from] ostler_core::question::AnswerError),
    /// The child suggested nothing that it could remember.
    #[error("claude suggests nothing that it could remember; allow it once, or add a rule")]
    NothingToRemember,
    /// The input that a tool is to get is no JSON object, or too long.
    #[error("the input is not usable: {why}")]
    Input {
        /// Why.
        why: String,
    },
    /// A rule can't be made.
    #[error("no rule is made: {0}")]
    Pattern(#[from] ostler_core::rule::PatternError),
    /// There are too many rules.
    #[error("there are {limit} rules already; remove some")]
    TooManyRules {
        /// The limit.
        limit: usize,
    },
    /// No controller could be started, or none answers. What was accepted stays accepted.
    #[error("the controller of session {session} can't be reached: {why}")]
    Controller {
        /// The session.
        session: SessionId,
        /// What is known.
        why: String,
    },
    /// The journal can't be read.
    #[error("failed to read the journal of session {session}")]
    Journal {
        /// The session.
        session: SessionId,
        /// Why not.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}
