//! Forks: sessions that begin as a copy of a base, or of another session that rests.

use super::{ClientError, NewMessage, NewSession, Ostler, survey, worktree};
use crate::controller::transcript;
use crate::crash;
use ostler_core::base::Base;
use ostler_core::fingerprint::{Class, Difference, Field, Fingerprint, Found};
use ostler_core::ids::{ConversationId, SessionId};
use ostler_core::spec::{Forked, LaunchSpec, OnMiss, Transcript};
use ostler_store::DbError;
use ostler_store::db::{Fate, SessionRow};
use std::path::Path;
use std::time::{Duration, Instant};

/// How long a child may take to leave whose turn has settled.
const LEAVING: Duration = Duration::from_secs(10);
/// Between two looks.
const LOOK: Duration = Duration::from_millis(10);

/// Why a session is not copied.
#[derive(Debug, thiserror::Error)]
pub enum ForkError {
    /// It works, or something waits for it: a copy would be of half a turn.
    #[error("session {session} can't be forked while it works")]
    Running {
        /// The session.
        session: SessionId,
    },
    /// It was never answered.
    #[error("session {session} has nothing to copy: the model never answered")]
    Nothing {
        /// The session.
        session: SessionId,
    },
    /// It is stopped or closed.
    #[error("session {session} is {state}")]
    Gone {
        /// The session.
        session: SessionId,
        /// `stopped` or `closed`.
        state: &'static str,
    },
    /// The base is being trained, or retired.
    #[error("base {name} is {state}{}", reason.as_ref().map(|r| format!(": {r}")).unwrap_or_default())]
    NotSealed {
        /// Its name.
        name: String,
        /// `training` or `retired`.
        state: &'static str,
        /// Why.
        reason: Option<String>,
    },
    /// The transcript is not there, or not as it was when the base was sealed.
    #[error("base {name} is stale: {what}")]
    Stale {
        /// Its name.
        name: String,
        /// What is wrong.
        what: &'static str,
    },
    /// What would reach the model is not what the source had sent: the cache would not be read.
    #[error(
        "a fork of {name} would not read its cache: {} differ{}",
        words(fields),
        if fields.len() == 1 { "s" } else { "" }
    )]
    Breaking {
        /// The base's name, or the session's id.
        name: String,
        /// Which fields.
        fields: Vec<Field>,
    },
    /// The CLI takes the prompt from its own record, whatever it is told.
    #[error(
        "another system prompt has no effect on a fork: claude {version} replays the one that it recorded"
    )]
    WithoutEffect {
        /// The CLI's version.
        version: String,
    },
    /// The transcript can't be read.
    #[error("the transcript of session {session} can't be read")]
    Unreadable {
        /// The session.
        session: SessionId,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// A fork's worktree could not be made.
    #[error("the fork's worktree could not be made")]
    Worktree(#[source] worktree::WorktreeError),
}

fn words(fields: &[Field]) -> String {
    fields.iter().map(|field| field.word()).collect::<Vec<_>>().join(", ")
}

/// What is copied, and what its copies are compared with.
#[derive(Clone, Debug)]
pub struct Source {
    /// Its session.
    pub row: SessionRow,
    /// The base that it is, where it is one.
    pub base: Option<Base>,
    /// The base at the root of it.
    pub root: Option<SessionId>,
    /// Its launch spec.
    pub spec: LaunchSpec,
    /// The version that ran.
    pub version: String,
    /// Tokens that a copy's first request finds when everything is still there.
    pub expected_read: u64,
    conversation: ConversationId,
    transcript: Transcript,
    fingerprint: Fingerprint,
}

impl Source {
    /// What people call it.
    #[must_use]
    pub fn name(&self) -> String {
        self.base.as_ref().map_or_else(|| self.row.id.to_string(), |base| base.name.clone())
    }

    /// The launch spec of a copy: everything but what belongs to the source alone.
    #[must_use]
    pub fn spec_of_copy(&self) -> LaunchSpec {
        LaunchSpec {
            // Its owner takes it away one day; the copies only work in it.
            worktree: None,
            fork: None,
            max_turns: None,
            max_budget_usd: None,
            ..self.spec.clone()
        }
    }
}

/// A fork to make.
#[derive(Clone, Debug)]
pub struct NewFork {
    /// Its session; what it is a fork of is filled in.
    pub session: NewSession,
    /// What it is told.
    pub message: NewMessage,
    /// It works in a git worktree of its own, on a branch of this name or one that ostler names.
    pub worktree: Option<Option<String>>,
    /// Breaking differences are wanted.
    pub force: bool,
    /// What follows when it does not find its prefix.
    pub on_miss: OnMiss,
    /// At most so many forks of the source live at once.
    pub parallel: Option<u32>,
}

impl Ostler {
    /// What a fork of this session would copy.
    ///
    /// # Errors
    /// [`ForkError`]: it works, was never answered, is stopped or closed, is a base in training, retired or stale.
    pub fn source(&self, row: SessionRow) -> Result<Source, ClientError> {
        let session = row.id;
        if row.record.closed || row.record.stopped {
            let state = if row.record.closed { "closed" } else { "stopped" };
            return Err(ForkError::Gone { session, state }.into());
        }
        match self.db().base(session)? {
            Some(base) => self.base_source(row, base),
            None => self.session_source(row),
        }
    }

    fn base_source(&self, row: SessionRow, base: Base) -> Result<Source, ClientError> {
        let (name, reason) = (base.name.clone(), base.reason.clone());
        let Some(facts) = base.facts.clone().filter(|_| base.lives()) else {
            return Err(ForkError::NotSealed { name, state: base.state(), reason }.into());
        };
        match self.transcript_of(&row) {
            Ok(now) if now == facts.transcript => {}
            Ok(_) => {
                let what = "its transcript is not what it was when it was sealed";
                return Err(ForkError::Stale { name, what }.into());
            }
            Err(_) => return Err(ForkError::Stale { name, what: "its transcript is gone" }.into()),
        }
        Ok(Source {
            spec: self.spec_of(row.id)?,
            version: facts.version.clone(),
            expected_read: facts.expected_read(),
            conversation: facts.conversation,
            transcript: facts.transcript,
            fingerprint: facts.fingerprint,
            root: Some(base.session),
            base: Some(base),
            row,
        })
    }

    fn session_source(&self, row: SessionRow) -> Result<Source, ClientError> {
        let session = row.id;
        // A child that leaves still writes: what it had cost is the last row of its transcript.
        let deadline = Instant::now() + LEAVING;
        while self.settled(session)?.is_some() && self.child_lives(session) && Instant::now() < deadline {
            std::thread::sleep(LOOK);
        }
        if self.settled(session)?.is_none() || self.child_lives(session) {
            return Err(ForkError::Running { session }.into());
        }
        let machine = super::rebuild::fold_machine(self.home(), session)?;
        let request = machine.last_request().ok_or(ForkError::Nothing { session })?;
        let conversation = machine.conversation();
        let unreadable = |source| ForkError::Unreadable { session, source };
        let transcript = self.transcript_of(&row).map_err(unreadable)?;
        let spec = self.spec_of(session)?;
        let pinned = Some(spec.launcher.resolved.program.sha256.clone());
        let then = Found { program: pinned, ..survey::survey(&spec) };
        let version = machine.rows().generations.last().map(|g| g.version.clone());
        Ok(Source {
            version: version.unwrap_or_else(|| spec.launcher.resolved.version.clone()),
            expected_read: request.expected_read(),
            conversation,
            transcript,
            fingerprint: Fingerprint::of(&spec, &then),
            root: spec.fork.as_ref().and_then(|fork| fork.base),
            base: None,
            spec,
            row,
        })
    }

    /// The transcript as our own link has it: it is the CLI's own file, whatever the CLI's clean-up does to its name.
    fn transcript_of(&self, row: &SessionRow) -> std::io::Result<Transcript> {
        transcript::print(&self.home().session(row.id).transcript())
    }

    /// Where a fork with this launch spec differs from what it copies, as the machine is now.
    #[must_use]
    pub fn differences(&self, source: &Source, spec: &LaunchSpec) -> Vec<Difference> {
        let now = Fingerprint::of(spec, &survey::survey(spec));
        source.fingerprint.differences(&now, &source.version)
    }

    /// The sealed facts of a base and where a session's own spec and machine differ from it; for `base diff`.
    ///
    /// # Errors
    /// Its launch spec can't be read.
    pub fn fingerprint_of(&self, session: SessionId) -> Result<Fingerprint, ClientError> {
        if let Some(facts) = self.db().base(session)?.and_then(|base| base.facts) {
            return Ok(facts.fingerprint);
        }
        let spec = self.spec_of(session)?;
        Ok(Fingerprint::of(&spec, &survey::survey(&spec)))
    }

    /// Why a fork did not find its prefix, as far as can be told: what was wanted differently, what its child found
    /// differently, a cache that had gone cold. Empty: nothing is known to differ.
    ///
    /// # Errors
    /// The store or a journal can't be read.
    pub fn miss_causes(&self, session: SessionId) -> Result<Vec<String>, ClientError> {
        let Some(fork) = self.spec_of(session)?.fork else { return Ok(Vec::new()) };
        let mut causes: Vec<String> =
            fork.forced.iter().map(|field| format!("{field} differs (forced)")).collect();
        let Some(facts) = fork.base.map(|id| self.db().base(id)).transpose()?.flatten().and_then(|b| b.facts)
        else {
            return Ok(causes);
        };
        let machine = super::rebuild::fold_machine(self.home(), session)?;
        let Some(first) = machine.rows().generations.iter().find(|g| g.cache.is_some()) else {
            return Ok(causes);
        };
        if first.version != facts.version {
            causes.push(format!("claude {} ran, and {} had trained it", first.version, facts.version));
        }
        if machine.tools().is_some_and(|tools| tools != facts.tools) {
            causes.push("the child had other tools".to_owned());
        }
        if machine.last_request().is_some_and(|r| r.model != facts.request.model) {
            causes.push("another model ran".to_owned());
        }
        let others = self.db().forks_of_base(fork.base.unwrap_or(session))?;
        let whole = |f: &&ostler_store::db::ForkRow| !f.forced && f.started_at < Some(first.started_at);
        let read_last = others.iter().filter(whole).filter_map(|f| f.started_at).max();
        if facts.warm_until(read_last).is_none_or(|until| until < first.started_at) {
            causes.push("the cache had gone cold".to_owned());
        }
        Ok(causes)
    }

    /// Accepts a fork durably: session, copy and message. Starts nothing; [`Ostler::ensure`] does.
    ///
    /// # Errors
    /// [`ForkError::Breaking`] and [`ForkError::WithoutEffect`], by field; what [`Ostler::create`] and
    /// [`Ostler::deliver`] refuse. Nothing is left then.
    pub fn fork(&self, source: &Source, new: &NewFork) -> Result<(), ClientError> {
        let id = new.session.id;
        // An id that the caller chose: the folder of another session is not written over.
        if self.home().session(id).path.exists() || self.db().session(id)?.is_some() {
            return Err(DbError::SessionExists { id }.into());
        }
        let mut session = new.session.clone();
        if let Some(branch) = &new.worktree {
            // Looked at before anything is made: on most CLIs of old another directory breaks the prefix.
            self.refuse_field(source, Field::Cwd, new.force)?;
            let cwd = Path::new(&session.spec.cwd);
            let made = worktree::make(self.home().root(), id, branch.as_deref(), cwd);
            let made = made.map_err(ForkError::Worktree)?;
            (session.spec.cwd, session.spec.worktree) = (made.cwd, Some(made.worktree));
        }
        let undo = |error| {
            if let Some(made) = session.spec.worktree.as_ref().filter(|_| new.worktree.is_some()) {
                worktree::unmake(made);
            }
            error
        };
        let forked = self.forked(source, new, &session.spec).map_err(undo)?;
        let session =
            NewSession { spec: LaunchSpec { fork: Some(forked), ..session.spec.clone() }, ..session.clone() };
        self.create(&session).map_err(undo)?;
        crash::point("fork-created");
        if let Err(error) = self.accept(id, &new.message) {
            // A session that nobody could say anything to is none.
            let _ = self.close(id, Fate::Discard, true);
            return Err(error);
        }
        crash::point("fork-accepted");
        Ok(())
    }

    fn refuse_field(&self, source: &Source, field: Field, force: bool) -> Result<(), ForkError> {
        let breaks = ostler_core::fingerprint::class(field, &source.version) == Class::Breaking;
        if breaks && !force {
            return Err(ForkError::Breaking { name: source.name(), fields: vec![field] });
        }
        Ok(())
    }

    fn forked(&self, source: &Source, new: &NewFork, spec: &LaunchSpec) -> Result<Forked, ClientError> {
        let differences = self.differences(source, spec);
        let of = |class: Class| differences.iter().filter(move |d| d.class == class).map(|d| d.field);
        if of(Class::Neutral).any(|field| field == Field::Prompt) {
            return Err(ForkError::WithoutEffect { version: source.version.clone() }.into());
        }
        let breaking: Vec<Field> = of(Class::Breaking).collect();
        if !breaking.is_empty() && !new.force {
            return Err(ForkError::Breaking { name: source.name(), fields: breaking }.into());
        }
        let words = |fields: &mut dyn Iterator<Item = Field>| fields.map(|f| f.word().to_owned()).collect();
        Ok(Forked {
            session: source.row.id,
            conversation: source.conversation,
            base: source.root,
            transcript: source.transcript.clone(),
            expected_read: source.expected_read,
            on_miss: new.on_miss,
            differs: words(&mut of(Class::Neutral)),
            forced: words(&mut breaking.into_iter()),
            parallel: new.parallel,
        })
    }
}
