//! The one table from errors to kinds of failure, with what to do where the error itself doesn't say.

use super::{Failure, Kind, UsageError};
use crate::launcher::LauncherError;
use claude_lab::{LabError, ScriptError};
use ostler_controller::client::worktree::WorktreeError;
use ostler_controller::client::{ClientError, ForkError};
use ostler_core::content::BlockError;
use ostler_core::env::EnvError;
use ostler_core::spec::SpecError;
use ostler_server::{ListenError, PostError, ServeError, WebhookError};
use ostler_store::db::FindError;
use ostler_store::{CursorError, DbError, HomeError, JournalError, SessionFileError};
use std::io;

impl From<UsageError> for Failure {
    fn from(error: UsageError) -> Self {
        let kind = match &error {
            UsageError::WhichQuestion { .. }
            | UsageError::NoQuestion { .. }
            | UsageError::NoBase { .. }
            | UsageError::NoMessage { .. }
            | UsageError::WhichRule { .. }
            | UsageError::WhichMessage { .. } => Kind::NotFound,
            _ => Kind::Usage,
        };
        let hint = match &error {
            UsageError::EmptyPrompt | UsageError::NoPrompt => {
                Some("give it as an argument, with --prompt-file FILE, or through a pipe".to_owned())
            }
            UsageError::TooLarge { .. } | UsageError::MessageTooLarge { .. } => {
                Some("put it into a file in the working directory and ask claude to read that".to_owned())
            }
            UsageError::Content(_) => Some(
                r#"such as [{"type":"text","text":"Hello"}]; docs/json.md, "Content blocks", has them all"#
                    .to_owned(),
            ),
            UsageError::Attached { source, .. } => attached(source).map(str::to_owned),
            UsageError::SlashCommand { .. } => {
                Some("--raw sends it all the same; --literal sends it as text that is no command".to_owned())
            }
            UsageError::WhichQuestion { requests, .. } => Some(format!("open are: {}", requests.join(", "))),
            UsageError::NotInside { .. } => {
                Some("claude's own tools run it; ostler puts the variables into its environment".to_owned())
            }
            UsageError::NoMessage { .. } | UsageError::WhichMessage { .. } => {
                Some("`ostler show SESSION --json` lists them all".to_owned())
            }
            UsageError::SkipsAsRoot => Some(
                "run ostler as another user; or --permission allow, with which claude asks and ostler says yes; in a \
                 container that holds it, --env IS_SANDBOX=1"
                    .to_owned(),
            ),
            UsageError::WhichRule { .. } => Some("`ostler rule ls` shows their ids".to_owned()),
            UsageError::NeedsAnswer { session } => Some(format!(
                "`ostler pending {session}` shows the choices, `ostler answer {session} \"…\"` answers"
            )),
            UsageError::NoBase { .. } => Some("`ostler base ls --all` shows what there is".to_owned()),
            UsageError::Change { .. } => Some(
                "such as --change model=claude-haiku-4-5; `ostler fork --help` names the fields".to_owned(),
            ),
            UsageError::PromptLine { .. } => {
                Some(r#"such as "Say hello", or {"prompt":"Say hello","label":"a"}"#.to_owned())
            }
            UsageError::NoQuestion { .. } => Some("`ostler pending` shows what is open".to_owned()),
            _ => None,
        };
        let failure = Self::new(kind, error);
        hint.into_iter().fold(failure, Self::hint)
    }
}

/// What to do with a file that can't be sent as what was said.
fn attached(why: &BlockError) -> Option<&'static str> {
    match why {
        BlockError::NoDocument { found: Some(_) } => Some("--image sends images"),
        BlockError::NoImage { found: Some(_) } => Some("--file sends documents"),
        BlockError::NoDocument { .. } | BlockError::NoImage { .. } => {
            Some("put it into the working directory and ask claude to look at it there")
        }
        BlockError::ImageTooLarge { .. } => {
            Some("make it smaller; more than 1568 pixels are of no use to the model")
        }
        _ => None,
    }
}

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Self {
        match error {
            ClientError::Home(e) => e.into(),
            ClientError::Db(e) => e.into(),
            ClientError::EmptyPrompt => UsageError::EmptyPrompt.into(),
            ClientError::Worktree {
                source: WorktreeError::Dirty { .. } | WorktreeError::Unmerged { .. },
                ..
            } => Self::new(Kind::Conflict, error).hint(
                "commit or merge it, or say --keep-worktree to leave it, --force-worktree to discard it",
            ),
            ClientError::Inside { .. } => Self::new(Kind::Conflict, error)
                .hint("run it in a terminal of your own, outside of the session's tools"),
            ClientError::Worktree { .. } => Self::new(Kind::Conflict, error),
            ClientError::Answer(_)
            | ClientError::NothingToRemember
            | ClientError::Input { .. }
            | ClientError::Pattern(_) => Self::new(Kind::Usage, error),
            ClientError::TooManyRules { .. } => Self::new(Kind::Conflict, error)
                .hint("`ostler rule ls` lists them, `ostler rule rm` removes some"),
            ClientError::NoteTooLong { .. } => Self::new(Kind::Usage, error),
            ClientError::Undeclared { .. } => Self::new(Kind::Conflict, error),
            ClientError::Fork(e) => e.into(),
            ClientError::NotTaking { session, state: "sealed" } => Self::new(Kind::Conflict, error)
                .hint(format!("a base is only copied: `ostler fork {session} \"…\"`")),
            ClientError::NotTaking { session, state: "stopped" } => Self::new(Kind::Conflict, error)
                .hint(format!("`ostler resume {session}` takes the stop back")),
            ClientError::Key { .. } => {
                Self::new(Kind::Usage, error).hint("any name that no other message of the session has")
            }
            ClientError::PromptTooLarge { .. } | ClientError::NoCwd { .. } => Self::new(Kind::Usage, error),
            ClientError::Journal { session, source } => match source.downcast::<JournalError>() {
                Ok(journal) => match *journal {
                    JournalError::Cursor(e) => e.into(),
                    other => {
                        Self::new(Kind::Store, ClientError::Journal { session, source: Box::new(other) })
                    }
                },
                Err(source) => Self::new(Kind::Store, ClientError::Journal { session, source }),
            },
            ClientError::File { .. } => Self::new(Kind::Store, error),
            ClientError::NotTaking { .. } | ClientError::Lost { .. } | ClientError::Withdrawn => {
                Self::new(Kind::Conflict, error)
            }
            ClientError::OtherBody => {
                Self::new(Kind::Conflict, error).hint("use another --key for another message")
            }
            ClientError::TooLate { .. } => Self::new(Kind::Conflict, error).hint(
                "`ostler interrupt SESSION` breaks off what runs; `ostler show SESSION` tells how it stands",
            ),
            ClientError::NoDelivery { .. } => Self::new(Kind::NotFound, error)
                .hint("`ostler show SESSION` lists the messages under way, with --json all of them"),
            ClientError::NoQuestion => {
                Self::new(Kind::NotFound, error).hint("`ostler pending` shows what is open")
            }
            ClientError::Controller { .. } => Self::new(Kind::Controller, error)
                .hint("what was accepted stays accepted; the next ostler command tries again"),
        }
    }
}

impl From<ForkError> for Failure {
    fn from(error: ForkError) -> Self {
        if let ForkError::Worktree(source) = error {
            return source.into();
        }
        let hint = match &error {
            ForkError::Running { session } => Some(format!("`ostler wait {session}`, then fork it")),
            ForkError::NotSealed { state: "training", name, .. } => {
                Some(format!("`ostler base show {name}` says how far it is"))
            }
            ForkError::Breaking { .. } => Some(
                "train another base, or say --force to fork all the same; `ostler base diff` tells what it costs"
                    .to_owned(),
            ),
            ForkError::Stale { name, .. } => Some(format!("`ostler base refresh {name}` trains it anew")),
            _ => None,
        };
        let kind = match &error {
            ForkError::WithoutEffect { .. } => Kind::Usage,
            ForkError::Unreadable { .. } => Kind::Store,
            _ => Kind::Conflict,
        };
        hint.into_iter().fold(Self::new(kind, error), Self::hint)
    }
}

impl From<WorktreeError> for Failure {
    fn from(error: WorktreeError) -> Self {
        let hint = match &error {
            WorktreeError::NotARepository { .. } | WorktreeError::Bare { .. } => {
                Some("run it in a checked-out repository, or without --worktree")
            }
            WorktreeError::NoCommit { .. } => Some("make a first commit, or run it without --worktree"),
            WorktreeError::BranchExists { .. } => Some("--worktree=NAME names another branch"),
            WorktreeError::NotCommitted { .. } => Some("commit it, or start in a directory that is"),
            _ => None,
        };
        hint.into_iter().fold(Self::new(Kind::Usage, error), Self::hint)
    }
}

impl From<FindError> for Failure {
    fn from(error: FindError) -> Self {
        match error {
            FindError::Db(e) => e.into(),
            other => Self::new(Kind::NotFound, other),
        }
    }
}

impl From<DbError> for Failure {
    fn from(error: DbError) -> Self {
        let kind = match &error {
            DbError::NoSession { .. } | DbError::NoDelivery { .. } => Kind::NotFound,
            DbError::BaseExists { .. } | DbError::SessionExists { .. } => Kind::Conflict,
            _ => Kind::Store,
        };
        Self::new(kind, error)
    }
}

impl From<HomeError> for Failure {
    fn from(error: HomeError) -> Self {
        Self::new(Kind::Store, error)
    }
}

impl From<SessionFileError> for Failure {
    fn from(error: SessionFileError) -> Self {
        Self::new(Kind::Store, error)
    }
}

impl From<CursorError> for Failure {
    fn from(error: CursorError) -> Self {
        let kind = match &error {
            CursorError::Malformed { .. } => Kind::Usage,
            _ => Kind::NotFound,
        };
        Self::new(kind, error)
    }
}

impl From<JournalError> for Failure {
    fn from(error: JournalError) -> Self {
        match error {
            JournalError::Cursor(e) => e.into(),
            other => Self::new(Kind::Store, other),
        }
    }
}

impl From<LauncherError> for Failure {
    fn from(error: LauncherError) -> Self {
        Self::new(Kind::Claude, error)
    }
}

impl From<SpecError> for Failure {
    fn from(error: SpecError) -> Self {
        Self::new(Kind::Usage, error)
    }
}

impl From<EnvError> for Failure {
    fn from(error: EnvError) -> Self {
        Self::new(Kind::Usage, error)
    }
}

impl From<LabError> for Failure {
    fn from(error: LabError) -> Self {
        Self::new(Kind::Lab, error)
    }
}

impl From<ScriptError> for Failure {
    fn from(error: ScriptError) -> Self {
        Self::new(Kind::Usage, error)
    }
}

impl From<ServeError> for Failure {
    fn from(error: ServeError) -> Self {
        match error {
            ServeError::Client(e) => e.into(),
            ServeError::Post(e) => e.into(),
            ServeError::Listen(ListenError::Taken { .. }) => Self::new(Kind::Conflict, error),
            ServeError::Listen(ListenError::Wide { .. })
            | ServeError::Nowhere
            | ServeError::Open
            | ServeError::Webhook(
                WebhookError::Url | WebhookError::Read { .. } | WebhookError::Short { .. },
            ) => Self::new(Kind::Usage, error),
            ServeError::Listen(ListenError::Tcp { .. }) => Self::new(Kind::Server, error)
                .hint("--listen names another address, --bridge-port another port for the bridge"),
            other => Self::new(Kind::Server, other),
        }
    }
}

impl From<PostError> for Failure {
    fn from(error: PostError) -> Self {
        match error {
            PostError::Taken { .. } | PostError::Busy { .. } => Self::new(Kind::Conflict, error),
            PostError::Path(_) | PostError::Note(_) => Self::new(Kind::Store, error),
            PostError::End { .. } => Self::new(Kind::Server, error),
        }
    }
}

/// Trouble with our own output: a reader that left is no error worth telling.
pub(crate) fn output(error: io::Error) -> Failure {
    let kind = if error.kind() == io::ErrorKind::BrokenPipe { Kind::ReaderGone } else { Kind::Output };
    Failure::new(kind, error)
}
