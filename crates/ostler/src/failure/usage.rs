//! What can be wrong with a command line, beyond what the parser finds.

use ostler_core::content::{BlockError, ContentError};
use std::path::PathBuf;

/// What can be wrong with a command line.
#[derive(Debug, thiserror::Error)]
pub enum UsageError {
    /// No such level of log lines.
    #[error("OSTLER_LOG is {named:?}; it must be error, warn, info, debug or trace")]
    LogLevel {
        /// What it says.
        named: String,
    },
    /// Nothing to say.
    #[error("the prompt is empty")]
    EmptyPrompt,
    /// No prompt at all.
    #[error("there is no prompt")]
    NoPrompt,
    /// More than one.
    #[error("the prompt is given twice: {first} and {second}")]
    TwoPrompts {
        /// One place.
        first: &'static str,
        /// The other.
        second: &'static str,
    },
    /// Nobody said where this user's files are.
    #[error("HOME is not set, so there is no place for the bridge's key")]
    NoUserFolder,
    /// Not text.
    #[error(
        "the prompt from {place} is not valid UTF-8: the byte at offset {offset} belongs to no character"
    )]
    NotUtf8 {
        /// Where it came from.
        place: String,
        /// The first bad byte, from 0.
        offset: usize,
    },
    /// Too much.
    #[error("the prompt from {place} has more than {limit} bytes")]
    TooLarge {
        /// Where it came from.
        place: String,
        /// The limit.
        limit: usize,
    },
    /// Too much, with its files.
    #[error("the message has {len} bytes with its files as base64; at most {limit} are taken")]
    MessageTooLarge {
        /// Its length.
        len: usize,
        /// The limit.
        limit: usize,
    },
    /// Content blocks that can't be sent.
    #[error(transparent)]
    Content(ContentError),
    /// A file that can't be sent.
    #[error("{} can't be sent", path.display())]
    Attached {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: BlockError,
    },
    /// A command of the interactive CLI that would leave or swap the conversation.
    #[error("{word} would make claude leave or swap the session's conversation")]
    SlashCommand {
        /// `/clear`, `/resume`, `/exit`.
        word: String,
    },
    /// No message of the session has an id that begins so.
    #[error("the session has no message {name:?}")]
    NoMessage {
        /// The beginning.
        name: String,
    },
    /// Several have.
    #[error("several messages of the session begin with {name:?}")]
    WhichMessage {
        /// The beginning.
        name: String,
    },
    /// No base is called so.
    #[error("{name:?} is no base")]
    NoBase {
        /// What was asked for.
        name: String,
    },
    /// The name of a base can't be used.
    #[error("a base needs a name of 1 to {limit} bytes")]
    BaseName {
        /// The limit.
        limit: usize,
    },
    /// A field or value of `--change` that is none.
    #[error("{change:?} changes nothing that is known")]
    Change {
        /// What was said.
        change: String,
    },
    /// A line of JSON that is no prompt.
    #[error("line {line} of standard input is no prompt")]
    PromptLine {
        /// Which, from 1.
        line: usize,
        /// Why.
        #[source]
        source: serde_json::Error,
    },
    /// Too many at once.
    #[error("{count} forks are asked for; one command makes {limit} at most")]
    TooManyForks {
        /// How many.
        count: usize,
        /// The limit.
        limit: usize,
    },
    /// Two of them are to have the same id.
    #[error("the same id is given twice")]
    SameId,
    /// A file can't be read.
    #[error("failed to read {}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// Standard input can't be read.
    #[error("failed to read the prompt from standard input")]
    Stdin(#[source] std::io::Error),
    /// A file that should be text is none.
    #[error("{} is not valid UTF-8", path.display())]
    FileNotUtf8 {
        /// The file.
        path: PathBuf,
    },
    /// A limit that the machine can't hold.
    #[error("the session can't be limited")]
    Limits(#[source] ostler_os::scope::ScopeError),
    /// The working directory.
    #[error("the working directory {} can't be used", path.display())]
    Cwd {
        /// The directory.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// The working directory is something else.
    #[error("{} is not a directory", path.display())]
    NotADirectory {
        /// The path.
        path: PathBuf,
    },
    /// A path that can't be stored.
    #[error("{} is not valid UTF-8, and only such paths can be stored in a launch spec", path.display())]
    PathNotUtf8 {
        /// The path.
        path: PathBuf,
    },
    /// Options that exclude each other.
    #[error("{first} and {second} can't be given together")]
    Together {
        /// One.
        first: &'static str,
        /// The other.
        second: &'static str,
    },
    /// Which question is meant?
    #[error("{count} questions of session {session} are open; name one")]
    WhichQuestion {
        /// The session.
        session: String,
        /// How many.
        count: usize,
        /// Their ids.
        requests: Vec<String>,
    },
    /// None is open.
    #[error("session {session} has no open question{}", request.as_ref().map(|r| format!(" {r}")).unwrap_or_default())]
    NoQuestion {
        /// The session.
        session: String,
        /// The one that was named.
        request: Option<String>,
    },
    /// Nothing would hold it.
    #[error("claude refuses to run as root where it is to ask nothing")]
    SkipsAsRoot,
    /// No rule has an id that begins so, or several have.
    #[error("{count} rules begin with {name:?}")]
    WhichRule {
        /// The beginning.
        name: String,
        /// How many.
        count: usize,
    },
    /// A question that is answered by words.
    #[error("the model asks something: a yes says nothing")]
    NeedsAnswer {
        /// The session.
        session: String,
    },
    /// Not JSON.
    #[error("{option} is not a JSON object")]
    NotJson {
        /// Which option.
        option: &'static str,
        /// Why.
        #[source]
        source: serde_json::Error,
    },
    /// `declare` outside of a session.
    #[error("this is for the agent inside a session, and {name} does not say which")]
    NotInside {
        /// The variable that is missing or not understood.
        name: &'static str,
    },
    /// The parser's own finding.
    #[error("{0}")]
    Parser(String),
}
