//! Bases: trained once, then sealed, and only copied from then on.
//!
//! A base is a session like any other until it is sealed. Its row is there before its session, and says how many
//! messages train it; they are all accepted before anything starts. So whoever is killed leaves a base in training, and
//! the next command goes on: it seals what is trained, and retires what can't be.

use super::halt::wall;
use super::{ClientError, NewMessage, NewSession, Ostler, Waited, survey};
use crate::controller::transcript;
use crate::crash;
use ostler_core::base::{Base, Facts};
use ostler_core::fingerprint::Fingerprint;
use ostler_core::ids::{Millis, SessionId};
use ostler_core::rows::{DeliveryState, Outcome, Projection};
use ostler_core::spec::LaunchSpec;
use ostler_os::lockfile;
use ostler_store::db::{Fate, Sealing};
use ostler_store::{DbError, SessionFile};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Why a base is retired whose maker was killed.
const BROKEN_OFF: &str = "its training was broken off";

/// A base to train.
#[derive(Clone, Debug)]
pub struct NewBase {
    /// What it is called.
    pub name: String,
    /// Its session.
    pub session: NewSession,
    /// What it is told, in order; each is a turn of its own.
    pub messages: Vec<NewMessage>,
    /// The base that is retired when this one is sealed.
    pub replaces: Option<SessionId>,
}

/// How a training stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trained {
    /// It is sealed.
    Sealed(Box<Base>),
    /// It goes on.
    Training,
    /// It failed, and is retired: why.
    Failed(String),
}

impl Ostler {
    /// Begins a training: everything is stored before anything starts.
    ///
    /// # Errors
    /// The name is taken; the working directory is missing; a message is refused; the store can't be written;
    /// [`ClientError::Controller`]: it is accepted, and the next command goes on.
    pub fn train(&self, new: &NewBase) -> Result<(), ClientError> {
        let session = new.session.id;
        let base = Base {
            session,
            name: new.name.clone(),
            created_at: new.session.at,
            prompts: u32::try_from(new.messages.len()).unwrap_or(u32::MAX),
            replaces: new.replaces,
            sealed_at: None,
            retired_at: None,
            reason: None,
            facts: None,
        };
        let making = self.making(session);
        let locked = lockfile::try_lock(&making).map_err(|e| lock_failed(&making, e))?;
        let made = self.db().insert_base(&base).map_err(ClientError::from).and_then(|()| {
            crash::point("base-noted");
            self.make(new).inspect_err(|_| {
                // Should this fail as well, the next sweep does it.
                let _ = self.abandon(session);
            })
        });
        // Nobody else has this name.
        let _ = std::fs::remove_file(&making);
        drop(locked);
        made?;
        crash::point("base-accepted");
        self.poke(session)
    }

    fn make(&self, new: &NewBase) -> Result<(), ClientError> {
        self.create(&new.session)?;
        crash::point("base-created");
        for message in &new.messages {
            self.accept(new.session.id, message)?;
        }
        Ok(())
    }

    /// Locked for as long as somebody stores what a base is trained with.
    fn making(&self, session: SessionId) -> PathBuf {
        self.home().slots_dir().join(format!("train-{session}"))
    }

    /// Whoever stored what the base is trained with was killed over it.
    fn broken_off(&self, session: SessionId) -> bool {
        let making = self.making(session);
        let held = making.exists() && !matches!(lockfile::try_lock(&making), Ok(Some(_)));
        if !held {
            let _ = std::fs::remove_file(&making);
        }
        !held
    }

    /// Waits until a base is sealed or its training has failed; [`Trained::Training`] when the deadline passed first.
    ///
    /// # Errors
    /// As [`Ostler::wait`].
    pub fn wait_sealed(&self, session: SessionId, deadline: Option<Instant>) -> Result<Trained, ClientError> {
        match self.wait(session, deadline)? {
            Waited::StillRunning => Ok(Trained::Training),
            _ => self.seal(session),
        }
    }

    /// Seals a base whose training is over; says how it stands.
    ///
    /// # Errors
    /// The store or a journal can't be read or written.
    pub fn seal(&self, session: SessionId) -> Result<Trained, ClientError> {
        let Some(base) = self.db().base(session)? else {
            return Ok(Trained::Failed("it is no base".to_owned()));
        };
        if let Some(reason) = base.reason.clone().filter(|_| base.retired_at.is_some()) {
            return Ok(Trained::Failed(reason));
        }
        if base.is_sealed() {
            return Ok(Trained::Sealed(Box::new(base)));
        }
        let rows = match self.training(&base)? {
            Ok(rows) => rows,
            Err(None) => return Ok(Trained::Training),
            Err(Some(reason)) => {
                self.db().retire_base(session, &reason, wall())?;
                return Ok(Trained::Failed(reason));
            }
        };
        let facts = match self.facts(session, &rows)? {
            Ok(facts) => facts,
            Err(reason) => {
                self.db().retire_base(session, reason, wall())?;
                return Ok(Trained::Failed(reason.to_owned()));
            }
        };
        let sealed = Base { sealed_at: Some(wall()), facts: Some(facts), ..base };
        crash::point("base-sealing");
        match self.db().seal_base(&sealed)? {
            Sealing::Busy => Ok(Trained::Training),
            Sealing::Sealed | Sealing::Over => {
                crash::point("base-sealed");
                let now = self.db().base(session)?.unwrap_or(sealed);
                Ok(match now.retired_at {
                    Some(_) => Trained::Failed(now.reason.unwrap_or_default()),
                    None => Trained::Sealed(Box::new(now)),
                })
            }
        }
    }

    /// Goes on with trainings that somebody began. Every sweep does it. One that can't be helped keeps no other from it.
    pub(super) fn go_on_training(&self) -> Result<(), ClientError> {
        let mut failed = None;
        for base in self.db().bases(false)?.into_iter().filter(|base| !base.is_sealed()) {
            if let Err(error) = self.go_on_with(&base) {
                failed.get_or_insert(error);
            }
        }
        failed.map_or(Ok(()), Err)
    }

    fn go_on_with(&self, base: &Base) -> Result<(), ClientError> {
        let session = base.session;
        if self.db().session(session)?.is_none() {
            let broken = self.broken_off(session) && self.db().session(session)?.is_none();
            return if broken { self.abandon(session) } else { Ok(()) };
        }
        if self.seal(session)? == Trained::Failed(BROKEN_OFF.to_owned()) {
            self.abandon(session)?;
        }
        Ok(())
    }

    /// Takes back a training that nobody was told of: what it was to be told must not run, and its name is free.
    fn abandon(&self, session: SessionId) -> Result<(), ClientError> {
        if self.db().session(session)?.is_some() {
            return self.close(session, Fate::Discard, true).map(drop);
        }
        self.db().forget_session(session)?;
        // A folder that stays is found by `gc`.
        let _ = std::fs::remove_dir_all(self.home().session(session).path);
        Ok(())
    }

    /// Retires a base: nothing is copied from it any more. Its session stays, sealed.
    ///
    /// # Errors
    /// It is none, or retired already; the store can't be written.
    pub fn retire(&self, base: &Base, reason: &str) -> Result<(), ClientError> {
        let done = self.db().retire_base(base.session, reason, wall())?;
        match done {
            Some(_) => Ok(()),
            None => Err(ClientError::NotTaking { session: base.session, state: "retired" }),
        }
    }

    /// The rows of a training that is over; why not, or None while it goes on.
    fn training(&self, base: &Base) -> Result<Result<Projection, Option<String>>, ClientError> {
        let session = base.session;
        let (record, _) = match self.db().record(session) {
            Err(DbError::NoSession { .. }) => return Ok(Err(None)),
            record => record?,
        };
        if record.closed {
            return Ok(Err(Some("it was closed while it was trained".to_owned())));
        }
        // Looked at first: a maker who ends in between has stored everything.
        let broken = self.broken_off(session);
        let deliveries = self.db().deliveries(session)?;
        let accepted = u32::try_from(deliveries.iter().filter(|d| d.continues.is_none()).count());
        if accepted.unwrap_or(u32::MAX) < base.prompts {
            return Ok(Err(broken.then(|| BROKEN_OFF.to_owned())));
        }
        if self.settled(session)?.is_none() || self.child_lives(session) {
            return Ok(Err(None));
        }
        let rows = self.db().load_projection(session)?;
        if rows.generations.last().is_some_and(|generation| generation.ended_at.is_none()) {
            // Whoever buries the child keeps its transcript; one that was killed before that is replaced.
            self.poke(session)?;
            return Ok(Err(None));
        }
        let failed = rows.turns.iter().find(|turn| turn.outcome != Some(Outcome::Completed));
        if let Some(turn) = failed {
            let what = turn.message.as_deref().or(turn.failure.as_deref()).unwrap_or("it did not complete");
            return Ok(Err(Some(format!("turn {} of its training failed: {what}", turn.no))));
        }
        if deliveries.iter().any(|d| d.state != DeliveryState::Completed) || rows.turns.is_empty() {
            return Ok(Err(Some("a message of its training was not answered".to_owned())));
        }
        Ok(Ok(rows))
    }

    /// Everything that forks are compared with; why it can't be had.
    fn facts(
        &self,
        session: SessionId,
        rows: &Projection,
    ) -> Result<Result<Facts, &'static str>, ClientError> {
        let spec = self.spec_of(session)?;
        let machine = super::rebuild::fold_machine(self.home(), session)?;
        let Some(request) = machine.last_request().cloned() else {
            return Ok(Err("the model never answered"));
        };
        // Its controller has kept a link to it, at the latest when its child was dead.
        let link = self.home().session(session).transcript();
        let Ok(transcript) = transcript::print(&link) else {
            return Ok(Err("it has no transcript of its own: is its file system another one?"));
        };
        let found = survey::survey(&spec);
        let fingerprint = Fingerprint::of(&spec, &found);
        let last = rows.generations.last();
        let version = last.map_or_else(|| spec.launcher.resolved.version.clone(), |g| g.version.clone());
        Ok(Ok(Facts {
            conversation: machine.conversation(),
            version,
            program: found.program,
            request,
            requested_at: rows.turns.last().map_or(Millis(0), |turn| turn.started_at),
            transcript,
            tools: machine.tools().unwrap_or_default().to_vec(),
            fingerprint,
        }))
    }

    /// The launch spec of a session.
    ///
    /// # Errors
    /// Its file can't be read.
    pub fn spec_of(&self, session: SessionId) -> Result<LaunchSpec, ClientError> {
        let dir = self.home().session(session);
        let failed = |source: Box<dyn std::error::Error + Send + Sync>| ClientError::File {
            what: "read",
            path: dir.session_json(),
            source,
        };
        let file = SessionFile::read(&dir).map_err(|e| failed(Box::new(e)))?;
        LaunchSpec::from_json(file.spec.get()).map_err(|e| failed(Box::new(e)))
    }
}

fn lock_failed(path: &Path, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> ClientError {
    ClientError::File { what: "lock", path: path.to_owned(), source: source.into() }
}
