//! The keeper: tiny parent of an active session's controller and child.
//!
//! It was started detached and is a subreaper, so everything that the child ever starts ends below it. It holds
//! `keeper.lock`, restarts a controller that dies, starts a child when the controller asks for one, writes the
//! child's exit to `gen/N/exit`, and kills the tree on request. It reads no journal, no JSON and no database: it must
//! have nothing that could fail.
//!
//! A keeper that is killed leaves the child running: its controller notices, starts another keeper and leaves, and
//! the next controller adopts the child.

mod children;
mod scopes;

pub(crate) mod wire;

pub(crate) use scopes::file as scope_file;

use crate::slim::Slim;
use children::Children;
use ostler_os::ipc::{Listener, Stream};
use ostler_os::lockfile;
use ostler_os::poll::{Interest, Pollable, Poller};
use ostler_os::reap::{self, Exit};
use ostler_os::signals::{Signal, Signals};
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The controller found another one at work.
pub const CONTROLLER_BUSY: i32 = 75;
/// The controller has nothing left to do.
pub const CONTROLLER_DONE: i32 = 0;
/// The controller makes room for one of another version.
pub const CONTROLLER_LEFT: i32 = 76;

/// How long a lock may be held by somebody who only wants to know whether it is free.
pub(crate) const GLANCE: Duration = Duration::from_millis(100);

/// How long a dead controller's place stays empty, by how often it died in a row.
const BACKOFF: [u64; 6] = [0, 50, 200, 1_000, 3_000, 10_000];
/// A controller that lived this long has not died in a row.
const LIVED: Duration = Duration::from_secs(10);
/// How often in a row the executable that an upgrade has put there may fail.
const TRUSTED: usize = 3;
/// One that was killed has done nothing wrong: its place is not left empty, but no more than five are started a second.
const KILLED: Duration = Duration::from_millis(200);

/// The same number everywhere.
const SIGKILL: i32 = 9;

const SIGNALS: [Signal; 4] = [Signal::Child, Signal::Terminate, Signal::Hangup, Signal::Interrupt];

/// What a keeper is told at its start.
#[derive(Clone, Debug)]
pub(crate) struct Post {
    pub(crate) home: PathBuf,
    pub(crate) session: String,
    pub(crate) dir: PathBuf,
}

/// Runs the keeper of a session; `args`: home, session id, session folder. Gives the exit status.
pub fn main(args: &[OsString]) -> i32 {
    let [home, session, dir] = args else { return 2 };
    let session = session.to_string_lossy().into_owned();
    let post = Post { home: home.into(), session, dir: dir.into() };
    match keep(&post) {
        Ok(()) => 0,
        Err(error) => {
            log(&format!("keeper ends: {error}"));
            1
        }
    }
}

fn keep(post: &Post) -> Result<(), Box<dyn std::error::Error>> {
    let Some(lock) = lockfile::lock_within(&post.dir.join("keeper.lock"), GLANCE)? else { return Ok(()) };
    lock.set_note(std::process::id().to_string().as_bytes())?;
    // One that was started inside another session's child does not end with that.
    ostler_os::scope::leave();
    reap::become_subreaper()?;
    let signals = Signals::install(&SIGNALS)?;
    let listener = Listener::bind(&post.dir.join("keeper.sock"), &lock)?;
    let mut keeper = Keeper {
        post,
        listener,
        peer: None,
        children: Children::new(post),
        controller: Slot::new(),
        slim: Slim::new(),
    };
    let ended = keeper.run(&signals);
    keeper.listener.unlink()?;
    Ok(ended?)
}

struct Peer {
    stream: Stream,
    reader: wire::Reader,
}

/// Where the controller sits.
struct Slot {
    pid: Option<u32>,
    started: Instant,
    due: Instant,
    deaths: usize,
    given_up: bool,
}

impl Slot {
    fn new() -> Self {
        let now = Instant::now();
        Self { pid: None, started: now, due: now, deaths: 0, given_up: false }
    }
}

struct Keeper<'a> {
    post: &'a Post,
    listener: Listener,
    peer: Option<Peer>,
    children: Children,
    controller: Slot,
    slim: Slim,
}

impl Keeper<'_> {
    fn run(&mut self, signals: &Signals) -> io::Result<()> {
        loop {
            // Only a death matters. Nobody may end a keeper by asking: it would take the session with it.
            for signal in SIGNALS {
                let _ = signals.take(signal);
            }
            for (pid, exit) in reap::reap_all()? {
                self.children.died(pid, exit);
            }
            for (pid, exit) in self.children.take_others() {
                if self.controller.pid == Some(pid) {
                    self.controller_died(exit);
                }
            }
            if self.controller.given_up {
                return Ok(());
            }
            if self.controller.pid.is_none() && Instant::now() >= self.controller.due {
                self.start_controller();
            }
            self.slim.down();
            self.wait(signals)?;
            self.accept()?;
            self.serve();
        }
    }

    fn wait(&self, signals: &Signals) -> io::Result<()> {
        let mut poller = Poller::new();
        poller.add(signals.source(), Interest::Read);
        poller.add(self.listener.source(), Interest::Read);
        if let Some(peer) = &self.peer {
            poller.add(peer.stream.source(), Interest::Read);
        }
        let start = self.controller.pid.is_none().then_some(self.controller.due);
        let deadline = start.into_iter().chain(self.slim.due()).min();
        poller.wait(deadline).map(drop)
    }

    /// The newest controller is the one that counts: an older one can only be dead or dying.
    fn accept(&mut self) -> io::Result<()> {
        while let Some(stream) = self.listener.accept()? {
            self.peer = Some(Peer { stream, reader: wire::Reader::default() });
        }
        Ok(())
    }

    fn serve(&mut self) {
        let Some(mut peer) = self.peer.take() else { return };
        match self.exchange(&mut peer) {
            Ok(true) => self.peer = Some(peer),
            Ok(false) => {}
            Err(error) => log(&format!("a controller is not understood: {error}")),
        }
    }

    fn exchange(&mut self, peer: &mut Peer) -> io::Result<bool> {
        let open = peer.reader.fill(&mut peer.stream)?;
        while let Some(fields) = peer.reader.next()? {
            self.slim.touched();
            let reply = self.children.request(&fields, self.controller.pid);
            let deadline = Instant::now() + Duration::from_secs(2);
            wire::send(&mut peer.stream, &wire::encode(&reply)?, deadline)?;
        }
        Ok(open)
    }

    fn start_controller(&mut self) {
        match spawn_controller(self.post, self.controller.deaths) {
            Ok(pid) => {
                self.controller.pid = Some(pid);
                self.controller.started = Instant::now();
            }
            Err(error) => {
                log(&format!("failed to start a controller: {error}"));
                self.controller_gone();
            }
        }
    }

    fn controller_died(&mut self, exit: Exit) {
        self.controller.pid = None;
        if exit == Exit::Code(CONTROLLER_DONE) && !self.children.any_alive() {
            self.controller.given_up = true;
            return;
        }
        if self.controller.started.elapsed() >= LIVED {
            self.controller.deaths = 0;
        }
        if exit == Exit::Code(CONTROLLER_LEFT) {
            self.controller.due = self.controller.started + KILLED;
            return;
        }
        if exit != Exit::Code(CONTROLLER_BUSY) {
            log(&format!("the controller died: {exit:?}"));
        }
        if exit == Exit::Signal(SIGKILL) {
            self.controller.due = self.controller.started + KILLED;
            return;
        }
        self.controller_gone();
    }

    fn controller_gone(&mut self) {
        self.controller.deaths += 1;
        match BACKOFF.get(self.controller.deaths) {
            Some(ms) => self.controller.due = Instant::now() + Duration::from_millis(*ms),
            None => {
                log(
                    "the controller died too often in a row; the next ostler command will start another keeper",
                );
                self.controller.given_up = true;
            }
        }
    }
}

/// What lies where this executable was started from: after an upgrade that is the new one. Where controllers of it only
/// die, it is this very file again.
fn controller_exe(deaths: usize) -> io::Result<PathBuf> {
    let there = if deaths < TRUSTED { ostler_os::me::in_its_place()? } else { None };
    there.map_or_else(ostler_os::me::exe, Ok)
}

/// std's `Command` closes everything but stdio, and the keeper reaps by itself.
fn spawn_controller(post: &Post, deaths: usize) -> io::Result<u32> {
    let log = open_log(&post.dir.join("controller.log"))?;
    let child = std::process::Command::new(controller_exe(deaths)?)
        .arg("__controller")
        .arg(&post.home)
        .arg(&post.session)
        .stdin(std::process::Stdio::null())
        .stdout(log.try_clone()?)
        .stderr(log)
        .spawn()?;
    Ok(child.id())
}

/// Logs are capped: one that grew over the cap is begun anew, its predecessor kept beside it.
fn open_log(path: &Path) -> io::Result<std::fs::File> {
    const CAP: u64 = 1 << 20;
    if std::fs::metadata(path).is_ok_and(|m| m.len() > CAP) {
        std::fs::rename(path, path.with_extension("log.old"))?;
    }
    std::fs::OpenOptions::new().create(true).append(true).open(path)
}

/// stderr is the keeper's log.
fn log(text: &str) {
    use io::Write;
    let now = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default().as_millis();
    // Nobody could be told that the log can't be written.
    let _ = writeln!(io::stderr(), "{now} {text}");
}
