//! The controller: the loop around one session.
//!
//! It holds the session's `lock`, folds the journal into a [`Machine`], and then repeats: read what the child said,
//! ask the machine what to do next, write the row that says so, do it. Everything it knows is in the journal and the
//! store, so it may be killed at any instruction: the keeper starts the next one, which folds the same files and goes
//! on.
//!
//! | file | subject |
//! | --- | --- |
//! | `controller/journal.rs` | folding at the start; reading `out`; appending rows |
//! | `controller/world.rs` | what the machine can't know: the store, the clock, what people ask for |
//! | `controller/perform.rs` | one action of the machine is carried out |
//! | `controller/start.rs` | a generation is started |
//! | `controller/transcript.rs` | where a conversation's transcript is, and what it had cost |
//! | `controller/pipe.rs` | bracketed writes to the child |
//! | `controller/death.rs` | the child is dead: what is left of its tree, what it said last |
//! | `controller/commit.rs` | durable first, then the store |
//! | `controller/continuation.rs` | messages that ostler sends itself |
//! | `controller/disk.rs` | full disks |
//! | `controller/gate.rs` | limits of who pays, slots of the machine |
//! | `controller/stderr.rs` | the child's stderr: capped, its last words |
//! | `controller/adopt.rs` | another controller's child |
//! | `controller/control.rs` | the control socket |
//! | `controller/declare.rs` | what an agent says of its own session |
//! | `controller/takeback.rs` | deliveries that somebody wants back |
//! | `controller/link.rs` | the keeper, as seen from here |
//! | `controller/lab.rs` | the lab that a lab session talks to |

mod adopt;
mod commit;
mod continuation;
mod control;
mod death;
mod declare;
mod disk;
mod error;
mod fork;
mod gate;
mod journal;
mod lab;
mod link;
mod perform;
mod pipe;
mod start;
mod stderr;
mod takeback;
pub(crate) mod transcript;
mod world;

use crate::keeper::{CONTROLLER_BUSY, CONTROLLER_DONE, CONTROLLER_LEFT, GLANCE};
pub(crate) use commit::wanted;
use control::Control;
use disk::Full;
pub(crate) use disk::disk_full;
use error::ControllerError;
pub(crate) use error::chain;
use gate::Gate;
use journal::OutTail;
pub(crate) use journal::{fold, wall};
use link::Keeper;
use ostler_core::ids::SessionId;
use ostler_core::machine::{Machine, Phase};
use ostler_core::rows::Projection;
use ostler_core::spec::LaunchSpec;
use ostler_os::lockfile;
use ostler_os::poll::{Interest, Pollable, Poller};
use ostler_os::process::{Identity, PidFd};
use ostler_store::{CtlFile, Db, Durability, Home, SessionDir, SessionFile};
use pipe::Pipe;
use std::ffi::OsString;
use std::path::Path;
use std::time::{Duration, Instant};
use world::Wants;
pub(crate) use world::pending;

/// How often a child's output is looked at while it speaks.
const LIVE_TICK: Duration = Duration::from_millis(20);
/// And when it has been silent for a while.
const SILENT_TICK: Duration = Duration::from_millis(50);
/// How long that while is.
const SILENT: Duration = Duration::from_secs(1);
/// How often the store is looked at when nothing happens.
const REST_TICK: Duration = Duration::from_millis(200);

/// Runs the controller of a session; `args`: home, session id. Gives the exit status.
pub fn main(args: &[OsString]) -> i32 {
    let [home, session] = args else { return 2 };
    let Some(session) = session.to_str().and_then(|s| s.parse().ok()) else { return 2 };
    match run(Path::new(home), session) {
        Ok(status) => status,
        Err(error) => {
            log(&format!("controller ends: {}", error::chain(&error)));
            1
        }
    }
}

fn run(home: &Path, session: SessionId) -> Result<i32, ControllerError> {
    let home = Home::open(home)?;
    let dir = home.session(session);
    let Some(lock) = lockfile::lock_within(&dir.lock(), GLANCE)? else { return Ok(CONTROLLER_BUSY) };
    lock.set_note(std::process::id().to_string().as_bytes())?;
    let db = home.db(Durability::Normal)?;
    let file = SessionFile::read(&dir)?;
    let spec = LaunchSpec::from_json(file.spec.get())?;
    let keeper = Keeper::connect(&dir)?;
    let control = Control::bind(&dir, &lock)?;
    let started = Instant::now();
    let machine = Machine::new(file.conversation, spec.limits);
    let mut controller = Controller {
        session,
        label: file.label,
        home,
        dir,
        db,
        spec,
        machine,
        keeper,
        control,
        started,
        out: None,
        ctl: None,
        pipe: None,
        child: None,
        wants: Wants::default(),
        lab: None,
        full: Full::default(),
        gate: Gate::default(),
        stderr_seen: None,
        slim: crate::slim::Slim::new(),
        dying: None,
        alive_seen: None,
        heard: Instant::now(),
        stored: None,
        committed: None,
        dirty: true,
    };
    match controller.run(&lock) {
        // Whatever failed: without a keeper nobody starts the next controller.
        Err(error) if controller.keeper.is_gone() => {
            log(&format!("interrupted: {}", chain(&error)));
            controller.find_another_keeper()
        }
        ended => ended,
    }
}

/// One session's controller.
#[derive(Debug)]
struct Controller {
    session: SessionId,
    /// Its name for people, which rules may go by.
    label: Option<String>,
    home: Home,
    dir: SessionDir,
    db: Db,
    spec: LaunchSpec,
    machine: Machine,
    keeper: Keeper,
    control: Control,
    started: Instant,
    /// The current generation's `out`, being read.
    out: Option<OutTail>,
    /// The current generation's `ctl`, being written.
    ctl: Option<CtlFile>,
    /// The way to the child.
    pipe: Option<Pipe>,
    /// The child, as far as it is known who it is.
    child: Option<(Identity, PidFd)>,
    wants: Wants,
    /// Held while a child of this session may need the lab.
    lab: Option<lockfile::Lock>,
    full: Full,
    gate: Gate,
    /// When the length of the child's stderr was looked at.
    stderr_seen: Option<Instant>,
    slim: crate::slim::Slim,
    /// The child is being killed.
    dying: Option<death::Dying>,
    /// When the child's `alive` was looked at.
    alive_seen: Option<Instant>,
    /// When the child's output last grew.
    heard: Instant,
    /// The rows that the store has, and since when.
    stored: Option<(Instant, Projection)>,
    /// When the store was last written.
    committed: Option<Instant>,
    /// The store doesn't have everything the machine has.
    dirty: bool,
}

impl Controller {
    /// Monotonic milliseconds of this process.
    fn now(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn run(&mut self, lock: &lockfile::Lock) -> Result<i32, ControllerError> {
        self.fold()?;
        self.take_over()?;
        crate::crash::point("taken-over");
        self.serve(lock)
    }

    fn serve(&mut self, lock: &lockfile::Lock) -> Result<i32, ControllerError> {
        loop {
            self.pump()?;
            self.notice_death()?;
            self.control.receive();
            self.serve_faces();
            self.refresh()?;
            self.tend_gate()?;
            self.go_on_writing()?;
            if self.may_make_room() {
                return self.make_room();
            }
            if self.machine.phase() != Phase::Cold {
                self.cap_stderr();
            }
            self.act()?;
            self.park_for_the_disk()?;
            self.answer_waiters()?;
            self.commit_if_due()?;
            if self.may_leave()? {
                self.commit()?;
                self.control.unlink();
                crate::crash::point("leaving");
                // Somebody may have stored work while the socket was still there, or found it gone just now.
                self.wants.must_refresh();
                self.refresh()?;
                if self.may_leave()? {
                    self.release_ctl();
                    return Ok(CONTROLLER_DONE);
                }
                self.control = Control::bind(&self.dir, lock)?;
            }
            if self.keeper.is_gone() {
                return self.find_another_keeper();
            }
            self.slim.down();
            self.rest()?;
        }
    }

    /// Does what the machine says until it has nothing more to say.
    fn act(&mut self) -> Result<(), ControllerError> {
        while let Some(action) = self.decide().filter(|_| !self.wants.leave) {
            if !self.perform(action)? {
                break;
            }
            self.pump()?;
        }
        Ok(())
    }

    /// Somebody wants another version to go on, and no line is half written.
    fn may_make_room(&self) -> bool {
        self.wants.leave && self.pipe.as_ref().is_none_or(|pipe| !pipe.is_writing())
    }

    /// The child stays, and the keeper starts the next controller.
    fn make_room(&mut self) -> Result<i32, ControllerError> {
        log("another version was asked for; the next controller goes on");
        self.commit()?;
        self.control.unlink();
        Ok(CONTROLLER_LEFT)
    }

    fn may_leave(&self) -> Result<bool, ControllerError> {
        let owed = self.machine.owes(&self.wants.pending);
        // A store that can't be written keeps it: the journal alone would look like a session without a controller.
        let unsaid = self.full.store && self.dirty;
        Ok(!owed && !unsaid && self.machine.phase() == Phase::Cold && !self.control.has_waiters())
    }

    /// Waits for the first thing to happen.
    fn rest(&self) -> Result<(), ControllerError> {
        let tick = match self.machine.phase() {
            Phase::Cold => REST_TICK,
            Phase::Resident if self.is_silent() => SILENT_TICK,
            _ => LIVE_TICK,
        };
        let mut poller = Poller::new();
        self.control.watch(&mut poller);
        self.keeper.watch(&mut poller);
        if let Some((_, pidfd)) = &self.child {
            poller.add(pidfd.source(), Interest::Read);
        }
        poller.wait(Some(Instant::now() + tick))?;
        Ok(())
    }

    /// Nothing was said for a while, and nothing is on its way to the child.
    fn is_silent(&self) -> bool {
        self.heard.elapsed() >= SILENT && self.pipe.as_ref().is_none_or(Pipe::is_ready)
    }

    /// A dead keeper can't be replaced under a living controller; both start anew and adopt the child.
    fn find_another_keeper(&self) -> Result<i32, ControllerError> {
        log("the keeper is gone; another one is started, and its controller goes on");
        self.control.unlink();
        let starter = crate::client::Starter::current();
        let failed = |e| ControllerError::Keeper { what: chain(&e) };
        starter.start_keeper(&self.home, self.session).map_err(failed)?;
        Ok(CONTROLLER_DONE)
    }
}

/// stderr is the controller's log.
fn log(text: &str) {
    use std::io::Write;
    let now = journal::wall().0;
    // Nobody could be told that the log can't be written.
    let _ = writeln!(std::io::stderr(), "{now} {text}");
}
