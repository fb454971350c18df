//! Exactly one controller for a session that is owed something.
//!
//! Whoever wants one connects and waits for an *answer*; where nobody answers and nobody holds `keeper.lock`, a keeper
//! is started, whose controller takes `lock`. Two who do this at once start two keepers, of which the second finds
//! the lock busy and leaves. A holder that does not answer is killed: its successor adopts whatever it had. One of another
//! version is asked, once, to make room for the next.

use super::talk::{PROMPT_ANSWER, ask};
use super::{ClientError, Ostler};
use crate::protocol::{Answer, Ask};
use ostler_core::ids::SessionId;
use ostler_core::machine::Phase;
use ostler_os::lockfile;
use ostler_os::process::PidFd;
use ostler_os::spawn::{self, SpawnError};
use ostler_store::{Home, SessionDir};
use std::ffi::OsString;
use std::path::Path;
use std::time::{Duration, Instant};

/// How long a controller may take to answer before its place is given to another.
const PATIENCE: Duration = Duration::from_secs(5);
/// And how long in all before the caller is told.
const GIVE_UP: Duration = Duration::from_secs(15);
/// What locks, notes and logs need on the disk, in bytes.
const SMALL_FILES: u64 = 64 << 10;
/// Between two looks.
const LOOK: Duration = Duration::from_millis(2);

impl Ostler {
    /// Makes sure that a controller answers, where there is something for one to do.
    ///
    /// # Errors
    /// [`ClientError::Controller`].
    pub fn ensure(&self, session: SessionId) -> Result<(), ClientError> {
        self.reach(session, &Ask::Hello)
    }

    /// Tells the controller that the store has something new; starts one if need be.
    ///
    /// # Errors
    /// [`ClientError::Controller`].
    pub fn poke(&self, session: SessionId) -> Result<(), ClientError> {
        self.reach(session, &Ask::Poke)
    }

    fn reach(&self, session: SessionId, what: &Ask) -> Result<(), ClientError> {
        let dir = self.home().session(session);
        let begun = Instant::now();
        let mut silent_since = Instant::now();
        let mut started: Option<Instant> = None;
        let mut asked_to_leave = false;
        loop {
            if let Ok(Answer::Here { version, .. }) = ask(&dir.control_sock(), what, PROMPT_ANSWER) {
                if asked_to_leave || version == crate::crash::version() {
                    return Ok(());
                }
                asked_to_leave = true;
                if !make_room(&dir) {
                    return Ok(());
                }
                silent_since = Instant::now();
                continue;
            }
            let attended = self.is_attended(session)?;
            if attended && silent_since.elapsed() >= PATIENCE {
                // The controller first: its keeper starts the next one. A keeper is only in the way when it doesn't.
                let _ = kill_holder(&dir.lock()) || kill_holder(&dir.keeper_lock());
                silent_since = Instant::now();
            }
            if !attended && !self.owes(session)? {
                // All was done before anybody could be told.
                return Ok(());
            }
            let due = started.is_none_or(|at| at.elapsed() >= Duration::from_secs(1));
            if !attended && due {
                if let Some(why) = self.no_room(session) {
                    return Err(ClientError::Controller { session, why });
                }
                self.start_keeper(session)?;
                started = Some(Instant::now());
                silent_since = Instant::now();
            }
            if begun.elapsed() >= GIVE_UP {
                return Err(ClientError::Controller { session, why: last_words(&dir) });
            }
            std::thread::sleep(LOOK);
        }
    }

    /// A keeper or a controller holds its lock.
    pub(super) fn is_attended(&self, session: SessionId) -> Result<bool, ClientError> {
        let dir = self.home().session(session);
        for path in [dir.keeper_lock(), dir.lock()] {
            if is_held(&path).map_err(|source| ClientError::File { what: "look at", path, source })? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// A controller would find something to do. A child that lives is that, though the store may not have heard of it:
    /// its first controller may have died before, and one of a stopped session is to be ended.
    pub(super) fn owes(&self, session: SessionId) -> Result<bool, ClientError> {
        Ok(self.child_lives(session)
            || self.db().sessions_owing()?.contains(&session) && self.unparked(session)?
            || self.is_unburied(session)?)
    }

    /// Its last child is dead, and everybody who could have written that down and killed what it left behind died with
    /// it, before the store heard of the generation.
    pub(super) fn is_unburied(&self, session: SessionId) -> Result<bool, ClientError> {
        let last = self.home().session(session).generations().unwrap_or_default().last().copied();
        let Some(no) = last.filter(|no| *no > 0) else { return Ok(false) };
        let rows = self.db().load_projection(session)?;
        if rows.generations.iter().any(|row| row.no == no && row.ended_at.is_some()) {
            return Ok(false);
        }
        // A folder alone, without a start, is nothing to come back for.
        let machine = super::rebuild::fold_machine(self.home(), session)?;
        Ok(machine.phase() != Phase::Cold || machine.open_turn().is_some())
    }

    /// Why neither keeper nor controller could even note who they are.
    pub(super) fn no_room(&self, session: SessionId) -> Option<String> {
        let path = self.home().session(session).path;
        let full = ostler_os::durable::free_space(&path).is_ok_and(|free| free < SMALL_FILES);
        full.then(|| crate::controller::disk_full(&path))
    }

    pub(super) fn child_lives(&self, session: SessionId) -> bool {
        let dir = self.home().session(session);
        let last = dir.generations().unwrap_or_default().last().copied();
        last.is_some_and(|no| ostler_os::alive::is_busy(&dir.generation(no).alive()).unwrap_or(false))
    }

    /// Adopts what is owed and has no controller, ends children of sessions that may have none. Every command does it
    /// once. Gives how many it had to start. One that can't be helped keeps nobody else from it.
    ///
    /// # Errors
    /// The store can't be read; or some session can't be helped, and all others were.
    pub fn sweep(&self) -> Result<u32, ClientError> {
        let (mut started, mut failed) = (0, None);
        let mut note = |done: Result<bool, ClientError>| match done {
            Ok(one) => started += u32::from(one),
            Err(error) => drop(failed.get_or_insert(error)),
        };
        note(self.go_on_training().map(|()| false));
        for session in self.db().sessions_owing()? {
            note(self.adopt_owing(session));
        }
        for (session, chore) in self.db().chores()? {
            note(self.do_chore(session, &chore));
        }
        failed.map_or(Ok(started), Err)
    }

    /// Starts a keeper where something is owed and nobody is at work; true where it did.
    fn adopt_owing(&self, session: SessionId) -> Result<bool, ClientError> {
        let due = !self.is_attended(session)? && self.unparked(session)?;
        if due {
            self.start_keeper(session)?;
        }
        Ok(due)
    }

    pub(super) fn start_keeper(&self, session: SessionId) -> Result<(), ClientError> {
        let started = self.starter.start_keeper(self.home(), session);
        started.map_err(|e| ClientError::Controller { session, why: chain(&e) })
    }
}

/// Asks a controller of another version to leave. One that does not know how is killed: its successor adopts what it
/// had. False: it stays, for its successor would be the same.
fn make_room(dir: &SessionDir) -> bool {
    match ask(&dir.control_sock(), &Ask::Leave, PROMPT_ANSWER) {
        Ok(Answer::Here { .. }) => false,
        Ok(Answer::Leaving) => true,
        _ => {
            kill_holder(&dir.lock());
            true
        }
    }
}

/// Somebody holds the exclusive lock. A file that isn't there is held by nobody, and none is made.
fn is_held(path: &Path) -> Result<bool, Box<dyn std::error::Error + Send + Sync>> {
    if !path.exists() {
        return Ok(false);
    }
    Ok(lockfile::try_lock_shared(path)?.is_none())
}

/// The holder noted its pid in the lock file; it is believed only while the lock is held. False: nobody holds it.
fn kill_holder(path: &Path) -> bool {
    let held = is_held(path).unwrap_or(false);
    let note = lockfile::note(path).unwrap_or_default();
    let pid = String::from_utf8_lossy(&note).trim().parse().ok().filter(|_| held);
    if let Some(Ok(Some(holder))) = pid.map(PidFd::open) {
        // Gone already, or not ours: the next look says which.
        let _ = holder.kill();
        let _ = holder.wait(Instant::now() + Duration::from_secs(1));
    }
    held
}

/// How keepers, and the lab, are started: by which program, in which environment.
#[derive(Clone, Debug)]
pub struct Starter {
    /// The ostler executable.
    pub exe: OsString,
    /// Its whole environment. What a child of the session gets is decided by its launch spec from this.
    pub env: Vec<(OsString, OsString)>,
}

impl Starter {
    /// This very program, in this environment less what marks a child of another session or a service.
    #[must_use]
    pub fn current() -> Self {
        const MARKERS: [&str; 4] = ["OSTLER_SESSION", "OSTLER_GENERATION", "OSTLER_TOKEN", "CLAUDECODE"];
        // What a service manager says to its service alone. A keeper is none.
        const MANAGER: [&str; 6] =
            ["NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES"];
        let env = std::env::vars_os().filter(|(name, _)| !MARKERS.iter().chain(&MANAGER).any(|m| name == m));
        let exe = ostler_os::me::exe().unwrap_or_else(|_| "ostler".into());
        Self { exe: exe.into_os_string(), env: env.collect() }
    }

    /// Starts the keeper of a session, detached from this process.
    pub(crate) fn start_keeper(&self, home: &Home, session: SessionId) -> Result<(), SpawnError> {
        let dir = home.session(session);
        let argv = [
            self.exe.clone(),
            "__keeper".into(),
            home.root().as_os_str().to_owned(),
            session.to_string().into(),
            dir.path.as_os_str().to_owned(),
        ];
        spawn::spawn_detached(&argv, &self.env, &dir.keeper_log()).map(drop)
    }

    /// Starts the lab of a home, detached from this process.
    pub(crate) fn start_lab(&self, home: &Home) -> Result<(), SpawnError> {
        let argv = [self.exe.clone(), "__lab".into(), home.root().as_os_str().to_owned()];
        spawn::spawn_detached(&argv, &self.env, &home.lab_dir().join("lab.log")).map(drop)
    }
}

fn chain(error: &dyn std::error::Error) -> String {
    crate::controller::chain(error)
}

/// What its logs say last, for people.
fn last_words(dir: &SessionDir) -> String {
    let last = |path: &Path| {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        text.lines().next_back().map(str::to_owned)
    };
    let words = last(&dir.controller_log()).or_else(|| last(&dir.keeper_log()));
    let log = dir.controller_log();
    words.unwrap_or_else(|| format!("it does not answer, and {} says nothing", log.display()))
}
