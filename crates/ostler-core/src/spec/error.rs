//! What can be wrong with a launch spec. Each says which field, and what to do where that isn't plain.

use thiserror::Error;

/// A spec that can't be read or must not be started.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SpecError {
    /// Written by an ostler that knows more than this one.
    #[error(
        "the launch spec has version {found} and this ostler knows {known}: use the newer ostler for this session"
    )]
    Newer {
        /// What it says.
        found: u32,
        /// What we know.
        known: u32,
    },
    /// Not a spec as this version knows it.
    #[error(
        "the launch spec can't be read; a field that this ostler doesn't know is refused, because it may be one that keeps the session safe"
    )]
    Unreadable(#[source] serde_json::Error),
    /// A path that isn't absolute.
    #[error("{field} must be an absolute path, not {value:?}")]
    NotAbsolute {
        /// Which field.
        field: &'static str,
        /// What it holds.
        value: String,
    },
    /// Something that must be there is empty.
    #[error("{field} is empty")]
    Empty {
        /// Which field.
        field: &'static str,
    },
    /// A value that would be read as a flag.
    #[error("{field} must not begin with a dash: {value:?}")]
    LeadingDash {
        /// Which field.
        field: &'static str,
        /// What it holds.
        value: String,
    },
    /// A control character (a line break, a NUL, …) where none can be passed on.
    #[error("{field} holds a control character: {value:?}")]
    ControlCharacter {
        /// Which field.
        field: &'static str,
        /// What it holds.
        value: String,
    },
    /// One word of a command line can't be that long.
    #[error("{field} has {bytes} bytes, {limit} are possible")]
    TooLong {
        /// Which field.
        field: &'static str,
        /// Its length.
        bytes: usize,
        /// What an operating system takes.
        limit: usize,
    },
    /// A text that has to be a JSON object.
    #[error("{field} is not JSON")]
    NotJson {
        /// Which field.
        field: &'static str,
        /// Why.
        #[source]
        source: serde_json::Error,
    },
    /// JSON, but not an object.
    #[error("{field} must be a JSON object")]
    NotAnObject {
        /// Which field.
        field: &'static str,
    },
    /// An alias where a full id is needed.
    #[error(
        "{alias:?} is an alias that means another model on every version; give the full id, such as {example:?}"
    )]
    ModelAlias {
        /// What was given.
        alias: String,
        /// What it may mean.
        example: &'static str,
    },
    /// Not a number of dollars that can be a limit.
    #[error("the budget must be a positive number of dollars, not {0}")]
    Budget(f64),
    /// No round at all.
    #[error("max turns must be at least 1")]
    MaxTurns,
    /// A flag that ostler sets itself or that would break the session.
    #[error("{flag} can't be passed to claude: {why}")]
    ForbiddenFlag {
        /// The flag as given.
        flag: String,
        /// The reason.
        why: &'static str,
    },
    /// A flag that nobody has looked at.
    #[error("{flag} is not among the flags that ostler passes on; these are: {known}")]
    UnknownFlag {
        /// The flag as given.
        flag: String,
        /// The list.
        known: String,
    },
    /// A flag without the value it needs, or with one that it doesn't take.
    #[error("{flag} {}", if *.wanted { "needs a value" } else { "takes no value" })]
    FlagValue {
        /// The flag.
        flag: String,
        /// True when it needs one.
        wanted: bool,
    },
    /// A word where a flag was expected.
    #[error("{0:?} is not a flag; prompts are never passed on the command line")]
    NotAFlag(String),
    /// The same flag twice.
    #[error("{0} is given twice")]
    FlagTwice(String),
    /// This CLI reads agents from the command line only, where everybody on the machine can read them.
    #[error(
        "claude {version} can't read agents from a file (and would ignore them without a word): 2.1.283 and later can"
    )]
    AgentsByFile {
        /// The CLI's version.
        version: String,
    },
    /// Lab and credential contradict each other.
    #[error("a session on the lab uses the lab's own credential and no other")]
    LabCredential,
    /// `--bare` reads neither OAuth nor the keychain.
    #[error("bare sessions need an API key or a cloud provider: with --bare claude reads no login")]
    BareLogin,
    /// The environment part names something impossible.
    #[error("the launch spec's environment can't be used")]
    Environment(#[from] crate::env::EnvError),
    /// `cmd.exe` can't be given this safely.
    #[error("{word:?} can't be passed through cmd.exe: {why}")]
    Cmd {
        /// The word.
        word: String,
        /// The reason.
        why: &'static str,
    },
}
