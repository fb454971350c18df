//! A session comes into being over HTTP, with its first message.

use crate::app::App;
use crate::launch::NewSpec;
use crate::problem::Problem;
use crate::say::{self, Accepted};
use axum::http::StatusCode;
use ostler_controller::client::{ClientError, NewMessage, NewSession, Ostler, worktree};
use ostler_core::content::Content;
use ostler_core::ids::{DeliveryId, SessionId};
use ostler_core::machine::Mode;
use ostler_core::spec::LaunchSpec;
use ostler_store::DbError;
use ostler_store::db::Fate;
use serde::Deserialize;
use sha2::{Digest, Sha256};
use std::path::Path;
use uuid::Uuid;

/// The longest label, in bytes.
const MAX_LABEL: usize = 256;

/// A git worktree for the session alone.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Tree {
    /// On a branch with a name of ostler's.
    Usual,
    /// On this new branch.
    Branch(String),
}

impl<'de> Deserialize<'de> for Tree {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match serde_json::Value::deserialize(deserializer)? {
            serde_json::Value::Bool(true) => Ok(Self::Usual),
            serde_json::Value::String(branch) => Ok(Self::Branch(branch)),
            _ => Err(serde::de::Error::custom("`worktree` is true, or the name of a new branch")),
        }
    }
}

/// A session to start.
#[derive(Debug)]
pub(crate) struct New {
    pub(crate) id: Option<Uuid>,
    pub(crate) label: Option<String>,
    pub(crate) tree: Option<Tree>,
    pub(crate) spec: NewSpec,
    pub(crate) content: Content,
    pub(crate) key: Option<String>,
}

/// Creates a session and accepts its first message.
///
/// Under an idempotency key the session's id follows from the key, so that a request that is sent again, whatever was
/// killed in between, finds the session that the first one made and says what is still to be said.
pub(crate) fn start(app: &App, ostler: &Ostler, new: New) -> Result<(SessionId, Accepted), Problem> {
    let id = SessionId(new.id.or_else(|| new.key.as_deref().map(id_of)).unwrap_or_else(Uuid::new_v4));
    refuse_label(new.label.as_deref())?;
    let known = ostler.db().session(id)?.is_some();
    if known && new.key.is_none() {
        return Err(DbError::SessionExists { id }.into());
    }
    if !known {
        let spec = app.launch().spec(&new.spec)?;
        match create(app, ostler, id, new.label, spec, new.tree.as_ref()) {
            // Somebody with the same key was first.
            Err(ClientError::Db(DbError::SessionExists { .. })) if new.key.is_some() => {}
            created => created?,
        }
    }
    let message = NewMessage {
        id: DeliveryId(Uuid::new_v4()),
        content: new.content,
        mode: Mode::Auto,
        idempotency_key: new.key.clone(),
        at: app.now(),
    };
    match say::deliver(ostler, id, &message) {
        Ok(accepted) => Ok((id, accepted)),
        Err(error) => {
            if !known && new.key.is_none() {
                // A session that nobody could say anything to is none. What is left of it, `gc` finds.
                let _ = ostler.close(id, Fate::Discard, true);
            }
            Err(error.into())
        }
    }
}

fn create(
    app: &App,
    ostler: &Ostler,
    id: SessionId,
    label: Option<String>,
    mut spec: LaunchSpec,
    tree: Option<&Tree>,
) -> Result<(), ClientError> {
    if let Some(tree) = tree {
        let branch = match tree {
            Tree::Usual => None,
            Tree::Branch(name) => Some(name.as_str()),
        };
        let made = worktree::make(ostler.home().root(), id, branch, Path::new(&spec.cwd))
            .map_err(|source| ClientError::Worktree { session: id, source })?;
        (spec.cwd, spec.worktree) = (made.cwd, Some(made.worktree));
    }
    let new = NewSession { id, label, spec, at: app.now() };
    let created = ostler.create(&new);
    if let (Err(_), Some(made)) = (&created, &new.spec.worktree) {
        worktree::unmake(made);
    }
    created
}

fn refuse_label(label: Option<&str>) -> Result<(), Problem> {
    match label.map(str::len) {
        Some(len) if !(1..=MAX_LABEL).contains(&len) => {
            Err(Problem::bad_request(format!("the label has {len} bytes; it must have 1 to {MAX_LABEL}")))
        }
        _ => Ok(()),
    }
}

/// The id of the session that is started under a key: always the same.
fn id_of(key: &str) -> Uuid {
    let digest = Sha256::digest(format!("session\0{key}").as_bytes());
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&digest[..16]);
    uuid::Builder::from_custom_bytes(bytes).into_uuid()
}

/// A path of the API, for `Location`.
pub(crate) fn path_of(session: SessionId) -> String {
    format!("/v1/sessions/{session}")
}

/// 201 says that a child runs with it, 202 that it is accepted.
pub(crate) const fn status_of(under_way: bool) -> StatusCode {
    if under_way { StatusCode::CREATED } else { StatusCode::ACCEPTED }
}
