//! A session comes into being, with its first message.

use super::face::{Face, now};
use super::prompt::PromptArgs;
use super::spec::launch_spec;
use super::spec_options::SpecArgs;
use crate::failure::Failure;
use ostler_controller::client::{ClientError, NewMessage, NewSession, Ostler, worktree};
use ostler_core::content::Content;
use ostler_core::ids::{DeliveryId, SessionId};
use ostler_core::machine::Mode;
use ostler_core::spec::LaunchSpec;
use ostler_store::db::Fate;
use std::path::Path;
use uuid::Uuid;

/// A session with its first message accepted.
pub(super) struct Created {
    pub(super) ostler: Ostler,
    pub(super) session: SessionId,
    pub(super) delivery: DeliveryId,
    pub(super) label: Option<String>,
    pub(super) spec: LaunchSpec,
}

/// Reads the prompt, finds claude, creates the session.
pub(super) fn create(prompt: &PromptArgs, args: &SpecArgs, face: &Face) -> Result<Prepared, Failure> {
    let content = prompt.read()?;
    let ostler = face.open()?;
    let mut spec = launch_spec(args, face)?;
    // Random and not by time: the first characters of ids made in the same minute must differ, for people name
    // sessions by them.
    let session = SessionId(Uuid::new_v4());
    let label = args.label.clone();
    if let Some(branch) = &args.worktree {
        let made = worktree::make(ostler.home().root(), session, branch.as_deref(), Path::new(&spec.cwd))?;
        (spec.cwd, spec.worktree) = (made.cwd, Some(made.worktree));
    }
    let new = NewSession { id: session, label: label.clone(), spec: spec.clone(), at: now() };
    if let Err(error) = ostler.create(&new) {
        if let Some(made) = &spec.worktree {
            worktree::unmake(made);
        }
        return Err(error.into());
    }
    Ok(Prepared { ostler, session, label, spec, content })
}

/// A session that exists, and a message that was not delivered yet.
pub(super) struct Prepared {
    ostler: Ostler,
    session: SessionId,
    label: Option<String>,
    spec: LaunchSpec,
    content: Content,
}

impl Prepared {
    /// Delivers the message.
    pub(super) fn deliver(self) -> Result<Created, Failure> {
        let message = message(self.content, Mode::Auto, None);
        let delivery = match self.ostler.deliver(self.session, &message) {
            Ok(delivery) => delivery,
            // It was accepted, and the next command tries again.
            Err(error @ ClientError::Controller { .. }) => return Err(error.into()),
            Err(error) => {
                // A session that nobody could say anything to is none. What is left of it, `gc` finds.
                let _ = self.ostler.close(self.session, Fate::Discard, true);
                return Err(error.into());
            }
        };
        let Self { ostler, session, label, spec, .. } = self;
        Ok(Created { ostler, session, delivery, label, spec })
    }
}

/// A message with an id of its own.
pub(super) fn message(content: Content, mode: Mode, key: Option<String>) -> NewMessage {
    NewMessage { id: DeliveryId(Uuid::new_v4()), content, mode, idempotency_key: key, at: now() }
}
