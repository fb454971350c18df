//! A place of its own for each test, and ways to hear from the processes that it starts.

use ostler_os::fifo;
use ostler_os::poll::{Interest, Poller};
use ostler_os::process::{Identity, PidFd, command_line};
use ostler_os::spawn::{ChildSpec, Started, spawn_child};
use ostler_os::tree::{KillPlan, kill_tree};
use std::ffi::{OsStr, OsString};
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A deadline that is never reached unless something is broken.
pub(crate) fn soon() -> Instant {
    Instant::now() + Duration::from_secs(30)
}

/// Waits for what no event tells. Where a lock was just given back, a process that another test's thread forked may
/// hold a copy of it until its exec.
#[track_caller]
pub(crate) fn eventually<T>(mut attempt: impl FnMut() -> Option<T>) -> T {
    let deadline = soon();
    loop {
        if let Some(value) = attempt() {
            return value;
        }
        assert!(Instant::now() < deadline, "it never came");
        std::thread::yield_now();
    }
}

/// Waits until nobody holds an alive file.
#[track_caller]
pub(crate) fn becomes_free(alive: &Path) {
    eventually(|| (!ostler_os::alive::is_busy(alive).unwrap()).then_some(()));
}

/// A temporary directory with the files of a child.
pub(crate) struct Stage {
    dir: TempDir,
}

impl Stage {
    pub(crate) fn new() -> Self {
        Self { dir: TempDir::with_prefix("ostler-os-").unwrap() }
    }

    pub(crate) fn dir(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// What a file of this stage holds.
    #[track_caller]
    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    /// A child that runs this shell script; `$DIR` is the stage.
    pub(crate) fn script(&self, script: &str) -> ChildSpec {
        self.program(["/bin/sh", "-c", script])
    }

    pub(crate) fn program<const N: usize>(&self, argv: [&str; N]) -> ChildSpec {
        let stdin_fifo = self.path("in");
        if !stdin_fifo.exists() {
            fifo::create(&stdin_fifo).unwrap();
        }
        ChildSpec {
            argv: argv.into_iter().map(OsString::from).collect(),
            env: self.env(),
            cwd: self.dir().to_owned(),
            stdin_fifo,
            stdout_append: self.path("out"),
            stderr: self.path("err"),
            alive: self.path("alive"),
            umask: 0o022,
            oom_score_adj: None,
            scope: None,
        }
    }

    pub(crate) fn env(&self) -> Vec<(OsString, OsString)> {
        vec![("PATH".into(), "/usr/bin:/bin:/usr/sbin:/sbin".into()), ("DIR".into(), self.dir().into())]
    }

    /// Writes a program by another process: while one of ours had it open for writing, a process that another test's
    /// thread forks just then would hold a copy, and nobody could run it.
    #[track_caller]
    pub(crate) fn executable(&self, name: &str, text: &str) {
        let write = "printf %s \"$1\" >\"$0\" && chmod 755 \"$0\"";
        let written = Command::new("sh").args(["-c", write]).arg(self.path(name)).arg(text).status();
        assert!(written.unwrap().success());
    }

    /// Something that a process can write to (`echo … >$DIR/name`) and the test can wait for.
    pub(crate) fn report(&self, name: &str) -> Report {
        let path = self.path(name);
        fifo::create(&path).unwrap();
        let nonblocking = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
        let file = OpenOptions::new().read(true).custom_flags(nonblocking).open(path).unwrap();
        Report { file, text: String::new() }
    }
}

impl Drop for Stage {
    /// A test that failed may not have come to its end; what it started has the stage in its environment.
    fn drop(&mut self) {
        if std::thread::panicking() {
            let _ = kill_tree(&KillPlan {
                roots: &[],
                marker: Some((OsStr::new("DIR"), self.dir().as_os_str())),
                scope: None,
                own_children: false,
                keep: &|_| false,
                deadline: soon(),
            });
        }
    }
}

/// The reading end of a FIFO.
pub(crate) struct Report {
    file: File,
    text: String,
}

impl Report {
    /// The next line, without its end.
    #[track_caller]
    pub(crate) fn line(&mut self) -> String {
        self.next_line().expect("a line")
    }

    /// The next line, `None` when nobody is left to write one.
    #[track_caller]
    pub(crate) fn next_line(&mut self) -> Option<String> {
        loop {
            if let Some((line, rest)) = self.text.split_once('\n') {
                let line = line.to_owned();
                self.text = rest.to_owned();
                return Some(line);
            }
            if !self.more() {
                return None;
            }
        }
    }

    /// Everything, until nobody has it open for writing any more.
    #[track_caller]
    pub(crate) fn rest(&mut self) -> String {
        while self.more() {}
        std::mem::take(&mut self.text)
    }

    /// False at the end. Before the first writer comes there is none.
    #[track_caller]
    fn more(&mut self) -> bool {
        let mut buffer = [0; 4096];
        loop {
            let mut poller = Poller::new();
            poller.add(self.file.as_fd().into(), Interest::Read);
            let ready = poller.wait(Some(soon())).unwrap();
            assert!(ready > 0, "nothing more came after {:?}", self.text);
            match (&self.file).read(&mut buffer) {
                Ok(0) => return false,
                Ok(length) => {
                    self.text.push_str(str::from_utf8(&buffer[..length]).unwrap());
                    return true;
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) => panic!("{error}"),
            }
        }
    }
}

/// A child of the test, killed and reaped at its end.
pub(crate) struct Cast(pub(crate) Started);

impl Cast {
    #[track_caller]
    pub(crate) fn start(spec: &ChildSpec) -> Self {
        Self(spawn_child(spec).unwrap())
    }

    /// Waits for its end; leaves it unreaped.
    #[track_caller]
    pub(crate) fn ended(&self) {
        assert!(self.0.pidfd.wait(soon()).unwrap(), "it goes on");
    }
}

impl Drop for Cast {
    fn drop(&mut self) {
        let _ = self.0.pidfd.kill();
        if let Some(pid) = i32::try_from(self.0.pid).ok().and_then(rustix::process::Pid::from_raw) {
            let _ = rustix::process::waitpid(Some(pid), rustix::process::WaitOptions::empty());
        }
    }
}

/// Any process, killed at the end of the test.
pub(crate) struct Doomed(pub(crate) PidFd);

impl Doomed {
    #[track_caller]
    pub(crate) fn new(identity: &Identity) -> Self {
        Self(PidFd::open_identity(identity).unwrap().expect("it lives"))
    }
}

impl Drop for Doomed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait(soon());
    }
}

/// Waits until a process runs exactly this: a shell says that it is ready before its last exec.
#[track_caller]
pub(crate) fn becomes(pid: u32, argv: &[&str]) {
    eventually(|| (command_line(pid).unwrap().unwrap() == argv).then_some(()));
}

/// Waits until a process has exactly these files open (sorted by name). A program that was just started still has
/// its libraries open.
#[track_caller]
pub(crate) fn has_open(pid: u32, expected: &[PathBuf]) {
    let mut open = Vec::new();
    let deadline = soon();
    while open != expected {
        assert!(Instant::now() < deadline, "it has {open:?} open");
        let entries = std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap();
        // One that was closed meanwhile has no target.
        open = entries.filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok()).collect();
        open.sort();
    }
}

/// A field of a process's `/proc/<pid>/status`.
#[track_caller]
pub(crate) fn status_field(pid: u32, name: &str) -> String {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    line.expect("a field of that name").trim().to_owned()
}
