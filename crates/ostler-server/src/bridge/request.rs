//! What a client asked for: which session, which message.

use super::body::word;
use super::{Bridge, BridgeOptions};
use crate::launch::NewSpec;
use ostler_controller::client::{ClientError, Ostler};
use ostler_core::content::{Blocks, Content, MAX_MESSAGE, swapping_command};
use ostler_core::ids::SessionId;
use ostler_core::spec::LaunchSpec;
use ostler_store::db::SessionRow;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::error::Error;
use std::path::Path;

/// What of a request counts, as it waits in the queue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Asked {
    /// Text, or content blocks.
    prompt: Value,
    /// `permission_mode` is `bypass`: ostler allows what claude asks.
    bypass: bool,
    /// `skip_permissions` is `true`: claude asks nothing.
    skip: bool,
    /// A working directory.
    cwd: Option<String>,
    /// A session to go on with.
    session: Option<String>,
}

/// Why a task can't begin: for its client.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unmeant {
    /// The message can't be sent.
    #[error("{0}")]
    Prompt(String),
    /// The directory is not one of those that are allowed.
    #[error("the working directory {0:?} is not allowed here")]
    Cwd(String),
    /// The session can't be gone on with.
    #[error("session {0:?} {1}")]
    Session(String, &'static str),
    /// No launch spec.
    #[error("{0}")]
    Launch(String),
    /// The store.
    #[error(transparent)]
    Client(#[from] ClientError),
}

/// The session that a task is for.
#[derive(Debug)]
pub(super) enum Meant {
    /// A new one.
    New(Box<LaunchSpec>),
    /// One that there is.
    GoOn(SessionId),
}

impl Asked {
    /// Out of the fields of a request. Nothing is refused yet: a task is accepted first.
    pub(super) fn of(mut fields: Map<String, Value>) -> Self {
        let is = |name: &str, value: &Value| fields.get(name) == Some(value);
        Self {
            bypass: is("permission_mode", &Value::from("bypass")),
            // The text "false" is true in JavaScript, and this is no place for surprises.
            skip: is("skip_permissions", &Value::Bool(true)),
            cwd: word(&fields, "cwd"),
            session: word(&fields, "sessionId").or_else(|| word(&fields, "session_id")),
            prompt: fields.remove("prompt").unwrap_or_default(),
        }
    }

    /// What is to be said.
    pub(super) fn content(&self) -> Result<Content, Unmeant> {
        let refuse = |why: String| Err(Unmeant::Prompt(why));
        let content = match &self.prompt {
            Value::Null => return refuse("the prompt is empty".to_owned()),
            Value::String(text) if text.trim().is_empty() => return refuse("the prompt is empty".to_owned()),
            Value::String(text) => Content::Text(text.clone()),
            Value::Array(_) => {
                let blocks = Blocks::parse(&self.prompt.to_string());
                Content::Blocks(blocks.map_err(|error| Unmeant::Prompt(chain(&error)))?)
            }
            _ => return refuse("the prompt is neither text nor a list of content blocks".to_owned()),
        };
        let texts = match &content {
            Content::Text(text) => vec![text.clone()],
            Content::Blocks(blocks) => blocks.texts(),
        };
        if let Some(command) = texts.iter().find_map(|text| swapping_command(text)) {
            return refuse(format!("{command} would leave the conversation, and is not sent"));
        }
        match content.size() {
            len if len > MAX_MESSAGE => {
                refuse(format!("the prompt has {len} bytes; at most {MAX_MESSAGE} are taken"))
            }
            _ => Ok(content),
        }
    }

    /// Which session. May take as long as an installation of claude does.
    pub(super) fn meant(&self, ostler: &Ostler, bridge: &Bridge) -> Result<Meant, Unmeant> {
        match &self.session {
            Some(name) => self.known(ostler, name, bridge.options()).map(|row| Meant::GoOn(row.id)),
            None => {
                let made = bridge.app().launch().spec(&self.spec(bridge.options())?);
                let spec = made.map_err(|refused| Unmeant::Launch(chain(refused.source.as_ref())))?;
                Ok(Meant::New(Box::new(spec)))
            }
        }
    }

    fn spec(&self, options: &BridgeOptions) -> Result<NewSpec, Unmeant> {
        let mut spec = options.spec.clone();
        if let Some(cwd) = &self.cwd {
            if !allowed(Path::new(cwd), options) {
                return Err(Unmeant::Cwd(cwd.clone()));
            }
            spec.cwd = Some(cwd.clone());
        }
        spec.cwd.get_or_insert_with(|| options.cwd.clone());
        if self.bypass {
            spec.permission = Some("allow".to_owned());
        }
        spec.skip_permissions |= self.skip;
        Ok(spec)
    }

    /// A session of this home that works where tasks may.
    fn known(&self, ostler: &Ostler, name: &str, options: &BridgeOptions) -> Result<SessionRow, Unmeant> {
        let refuse = |why| Unmeant::Session(name.to_owned(), why);
        let id = name.parse::<SessionId>().map_err(|_| refuse("is not known"))?;
        let row =
            ostler.db().session(id).map_err(ClientError::from)?.ok_or_else(|| refuse("is not known"))?;
        if !allowed(Path::new(&row.cwd), options) {
            return Err(refuse("works in a directory that is not allowed here"));
        }
        match (row.record.closed, row.record.stopped) {
            (true, _) => Err(refuse("is closed")),
            (_, true) => Err(refuse("is stopped")),
            _ => Ok(row),
        }
    }
}

/// The bridge's directory, those that were allowed besides, and everything below them; links are followed first.
fn allowed(path: &Path, options: &BridgeOptions) -> bool {
    let Ok(path) = path.canonicalize() else { return false };
    let own = Path::new(&options.cwd);
    let mut roots = std::iter::once(own).chain(options.allow.iter().map(AsRef::as_ref));
    path.is_dir() && roots.any(|root| root.canonicalize().is_ok_and(|root| path.starts_with(root)))
}

/// An error and its causes, on one line.
pub(super) fn chain(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        if !text.contains(&more) {
            text.push_str(": ");
            text.push_str(&more);
        }
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn asked(fields: Value) -> Asked {
        match fields {
            Value::Object(fields) => Asked::of(fields),
            other => panic!("{other} is no object"),
        }
    }

    #[test]
    fn only_a_true_skips_and_only_bypass_allows() {
        for value in [json!("false"), json!("true"), json!(1), json!(null), json!(false), json!({})] {
            let asked = asked(json!({"prompt": "a", "skip_permissions": value, "permission_mode": "plan"}));
            assert!(!asked.skip && !asked.bypass, "{asked:?}");
        }
        let asked = asked(json!({"skip_permissions": true, "permission_mode": "bypass"}));
        assert!(asked.skip && asked.bypass);
    }

    #[test]
    fn what_can_be_said() {
        let of = |prompt: Value| asked(json!({"prompt": prompt})).content();
        assert_eq!(of(json!("a")).expect("text"), Content::Text("a".to_owned()));
        assert!(matches!(of(json!([{"type": "text", "text": "a"}])), Ok(Content::Blocks(_))));
        for bad in [
            json!(""),
            json!(" \n"),
            json!(null),
            json!(7),
            json!([]),
            json!([{"type": "nonsense"}]),
            json!("/clear now"),
        ] {
            assert!(matches!(of(bad.clone()), Err(Unmeant::Prompt(_))), "{bad}");
        }
        assert!(of(json!("/review")).is_ok() && of(json!("/clearly")).is_ok());
        assert!(of(json!("x".repeat(MAX_MESSAGE + 1))).is_err());
    }

    #[test]
    fn a_task_works_at_or_below_what_is_allowed() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        for name in ["own", "own/below", "more", "other", "own-not"] {
            std::fs::create_dir(path(name)).expect("a folder");
        }
        std::os::unix::fs::symlink(path("other"), path("own/out")).expect("a link");
        let options = BridgeOptions {
            listen: ([127, 0, 0, 1], 0).into(),
            cwd: path("own").display().to_string(),
            key: super::super::BridgeKey::of_user(folder.path()).expect("a key"),
            home_mode: false,
            max_concurrent: 3,
            allow: vec![path("more")],
            spec: NewSpec::default(),
        };
        for (name, may) in [
            ("own", true),
            ("own/below", true),
            ("own/../more", true),
            ("other", false),
            ("own-not", false),
            ("own/out", false),
            ("own/..", false),
            ("own/nothing", false),
        ] {
            assert_eq!(allowed(&path(name), &options), may, "{name}");
        }
        assert!(!allowed(Path::new("/"), &options));
    }
}
