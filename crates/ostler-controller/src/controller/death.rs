//! The child is dead: what is left of its tree, what it said last.

use super::error::ControllerError;
use super::link::Killed;
use super::{Controller, log, transcript};
use crate::crash;
use ostler_core::ctl::{Event, Exit, KillReason};
use ostler_core::machine::Phase;
use ostler_os::alive;
use ostler_store::GenDir;
use std::time::{Duration, Instant};

/// How long a process may outlive SIGKILL before people are told.
const STUCK: Duration = Duration::from_secs(10);
/// Between two attempts to kill one.
const AGAIN: Duration = Duration::from_secs(1);

/// A child that is being killed.
#[derive(Debug)]
pub(super) struct Dying {
    /// Since when.
    since: Instant,
    /// When it was tried last.
    tried: Instant,
    /// What people are told.
    stuck: Option<String>,
}

/// How long the exit of a process may take that has closed its files.
const EXIT: Duration = Duration::from_secs(2);
/// How often the lock of a child with a handle is looked at.
const ALIVE: Duration = Duration::from_secs(1);

impl Controller {
    /// Announces a kill and carries it out; the death itself is noticed like any other.
    pub(super) fn kill(&mut self, why: KillReason) -> Result<(), ControllerError> {
        self.say(Event::Kill { why })?;
        crash::point("kill-written");
        self.pipe = None;
        self.kill_tree()?;
        crash::point("killed");
        Ok(())
    }

    fn kill_tree(&mut self) -> Result<(), ControllerError> {
        let child = self.child.as_ref().map(|(identity, _)| identity);
        let files = self.dir.generation(self.machine.generation());
        let since = self.dying.as_ref().map_or_else(Instant::now, |dying| dying.since);
        let left = self.keeper.kill(&files, child)?.left;
        let mut stuck = self.dying.take().and_then(|dying| dying.stuck);
        if stuck.is_none() && !left.is_empty() && since.elapsed() >= STUCK {
            let text = words_of_stuck(&left);
            self.say(Event::Note { text: text.clone() })?;
            log(&text);
            stuck = Some(text);
        }
        self.dying = Some(Dying { since, tried: Instant::now(), stuck });
        Ok(())
    }

    /// Why nothing can be started: the child outlives its SIGKILL.
    pub(super) fn stuck(&self) -> Option<&str> {
        self.dying.as_ref()?.stuck.as_deref()
    }

    /// The kernel decides: a free `alive` lock is a dead child, and so is a process that ended, whatever it left behind
    /// that has inherited the lock.
    pub(super) fn notice_death(&mut self) -> Result<(), ControllerError> {
        if self.machine.phase() == Phase::Cold {
            return Ok(());
        }
        let files = self.dir.generation(self.machine.generation());
        let ended = match &self.child {
            Some((_, pidfd)) => pidfd.is_dead()?,
            None => false,
        };
        if !ended && self.lives(&files)? {
            let due = self.dying.as_ref().is_none_or(|dying| dying.tried.elapsed() >= AGAIN);
            if self.machine.killing() && due {
                // It takes longer; or a controller before us announced it and was killed itself.
                self.kill_tree()?;
            }
            return Ok(());
        }
        self.buried(&files)
    }

    /// Its lock is held. Where there is a handle on it, which says so at once, the lock is looked at now and then: the
    /// looking costs more than all the rest of a wake-up.
    fn lives(&mut self, files: &GenDir) -> Result<bool, ControllerError> {
        if self.child.is_some() && self.alive_seen.is_some_and(|at| at.elapsed() < ALIVE) {
            return Ok(true);
        }
        self.alive_seen = Some(Instant::now());
        Ok(alive::is_busy(&files.alive())?)
    }

    pub(super) fn buried(&mut self, files: &GenDir) -> Result<(), ControllerError> {
        // Its files are closed; its exit may take a moment more, and the row says that it is dead.
        if let Some((_, handle)) = self.child.take() {
            let _ = handle.wait(Instant::now() + EXIT)?;
        }
        (self.pipe, self.dying) = (None, None);
        self.pump()?;
        // What it left behind, in whatever group or session: found as our keeper's descendants and by its marker.
        crash::point("before-burial");
        let killed = self.bury(files)?;
        crash::point("buried");
        self.pump()?;
        self.note_transcript(files);
        let rest = self.out.as_ref().map(super::journal::OutTail::tail);
        if rest.is_some_and(|tail| tail.len > 0) {
            self.machine.torn();
        }
        if killed.proven {
            // Nobody appends any more: what was kept free for its lines is given back.
            self.release_out();
        }
        let exit = exit_of(files).unwrap_or(killed.exit);
        let said = with_limits(killed.limits, super::stderr::last_words(files));
        // The row's offset counts complete lines only: an unterminated rest is no line.
        self.say(Event::Dead { exit, proven: killed.proven, killed: killed.killed, said })?;
        crash::point("dead-written");
        self.lab = None;
        self.commit()
    }
}

impl Controller {
    /// Asked again while something is left that SIGKILL may still reach.
    fn bury(&mut self, files: &GenDir) -> Result<Killed, ControllerError> {
        let deadline = Instant::now() + STUCK;
        loop {
            let killed = self.keeper.bury(files)?;
            if killed.left.is_empty() || Instant::now() >= deadline {
                return Ok(killed);
            }
        }
    }

    /// Nobody of ours writes to the transcript from here until the next start.
    fn note_transcript(&self, files: &GenDir) {
        self.keep_transcript();
        let Some(config) = self.config_dir() else { return };
        if let Err(error) = transcript::note_length(files, &config, self.machine.conversation()) {
            log(&format!("the transcript's length could not be noted: {error}"));
        }
    }
}

/// What people are told of a child that does not die.
fn words_of_stuck(left: &[u32]) -> String {
    let pids: Vec<String> = left.iter().map(u32::to_string).collect();
    format!(
        "stuck: process {} is not dead {} s after SIGKILL, so it waits for something in the kernel (a dead disk or network \
         mount, most often); nothing is started before it is gone",
        pids.join(", "),
        STUCK.as_secs()
    )
}

/// What the limits did to it explains its death better than its own last words.
fn with_limits(limits: Option<String>, said: Option<String>) -> Option<String> {
    match (limits, said) {
        (Some(limits), Some(said)) => Some(format!("{limits}\n{said}")),
        (limits, said) => limits.or(said),
    }
}

/// What the keeper wrote when it reaped the child.
fn exit_of(files: &GenDir) -> Option<Exit> {
    let text = std::fs::read_to_string(files.exit()).ok()?;
    match text.trim().split_once(' ')? {
        ("code", n) => n.parse().ok().map(Exit::Code),
        ("signal", n) => n.parse().ok().map(Exit::Signal),
        _ => None,
    }
}
