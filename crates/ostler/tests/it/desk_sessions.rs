//! Sessions at a desk: fake children, and nothing left of them at the end.

use super::desk::{Desk, Ran};
use ostler_os::process::PidFd;
use ostler_os::{lockfile, tree};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// For anything that is waited for.
pub(crate) const PATIENCE: Duration = Duration::from_secs(40);

/// Whose processes these are: set for every session of a desk.
const MARK: &str = "TEST_DESK";

/// The fake child; a package's tests get the paths of its own programs only.
fn fake_claude() -> PathBuf {
    let path = Path::new(env!("CARGO_BIN_EXE_ostler")).with_file_name("fake-claude");
    assert!(path.exists(), "{} is missing: cargo build -p claude-lab --bin fake-claude", path.display());
    path
}

/// A desk whose sessions are fake children that play one script.
pub(crate) struct Office {
    pub(crate) desk: Desk,
}

impl Office {
    pub(crate) fn new(script: &str) -> Self {
        let desk = Desk::new();
        std::fs::create_dir(desk.path("gates")).unwrap();
        desk.file("script", script);
        Self { desk }
    }

    /// The options that make a session play the script.
    fn options(&self) -> Vec<String> {
        let path = |name: &str| self.desk.path(name).display().to_string();
        vec![
            format!("--claude={}", fake_claude().display()),
            format!("--env=FAKE_CLAUDE_SCRIPT={}", path("script")),
            format!("--env=FAKE_CLAUDE_GATES={}", path("gates")),
            format!("--env=FAKE_CLAUDE_LOG={}", path("log")),
            format!("--env={MARK}={}", self.desk.path("").display()),
        ]
    }

    /// The launch spec of the same, as the HTTP API takes it.
    pub(crate) fn http_spec(&self) -> serde_json::Value {
        let options = self.options();
        let env: Vec<_> = options.iter().filter_map(|word| word.strip_prefix("--env=")).collect();
        serde_json::json!({"claude": fake_claude(), "env": env, "cwd": self.desk.path("work")})
    }

    /// A verb that creates a session, with everything that it needs.
    pub(crate) fn creating(&self, verb: &str, more: &[&str]) -> Vec<String> {
        let mut words = vec![verb.to_owned()];
        words.extend(self.options());
        words.extend(more.iter().map(|word| (*word).to_owned()));
        words
    }

    /// Starts a session and waits until it has settled; its id.
    #[track_caller]
    pub(crate) fn settled(&self, more: &[&str]) -> String {
        let id = self.started(more);
        let ran = self.desk.run(&["wait", &id, "--timeout", "40s", "-q"]);
        assert_ne!(ran.status, Some(6), "it did not settle: {}", ran.all());
        id
    }

    /// Starts a session; its id.
    #[track_caller]
    pub(crate) fn started(&self, more: &[&str]) -> String {
        let mut words = self.creating("start", more);
        words.push("-q".to_owned());
        let ran = self.desk.run(&words).exits(0);
        ran.out.trim().to_owned()
    }

    pub(crate) fn run(&self, more: &[&str]) -> Ran {
        self.desk.run(&self.creating("run", more))
    }

    pub(crate) fn open(&self, gate: &str) {
        self.desk.file(&format!("gates/{gate}"), "");
    }

    /// Waits for a `mark` of the script.
    #[track_caller]
    pub(crate) fn reaches(&self, mark: &str) {
        let path = self.desk.path("gates").join(mark);
        until(mark, || path.exists().then_some(()));
    }

    /// What the children were told.
    pub(crate) fn told(&self) -> Vec<serde_json::Value> {
        let text = std::fs::read_to_string(self.desk.path("log")).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line.split_once('\t').unwrap().1).unwrap()).collect()
    }

    /// Waits until nothing of a session runs any more: its journal is complete.
    #[track_caller]
    pub(crate) fn becomes_cold(&self, session: &str) {
        until("claude to be gone", || {
            let shown = self.desk.run(&["show", session, "--json"]).exits(0).document();
            (shown["process"]["state"] == "cold").then_some(())
        });
    }

    /// Waits until somebody asks; the question's id.
    #[track_caller]
    pub(crate) fn asks(&self) -> String {
        until("a question", || {
            let asked = self.desk.run(&["pending", "--json"]).exits(0).document();
            asked["permissions"][0]["request"].as_str().map(str::to_owned)
        })
    }

    /// No process of these sessions is left, and their journals say what the store says.
    #[track_caller]
    pub(crate) fn close(self) {
        self.rests();
    }

    /// The same, for whoever still needs the desk.
    #[track_caller]
    pub(crate) fn rests(&self) {
        let sessions = self.desk.home().join("sessions");
        for folder in std::fs::read_dir(&sessions).into_iter().flatten() {
            for lock in ["keeper.lock", "lock"] {
                let lock = folder.as_ref().unwrap().path().join(lock);
                until("keeper and controller to leave", || {
                    (!lock.exists() || lockfile::try_lock_shared(&lock).unwrap().is_some()).then_some(())
                });
            }
        }
        until("every child to be gone", || self.living().is_empty().then_some(()));
        drop(self.desk.run(&["doctor", "rebuild"]).exits(0));
    }

    /// How many sessions have a living child; what a child has started counts with it.
    pub(crate) fn children(&self) -> usize {
        let session = |pid: u32| {
            let environment = std::fs::read(format!("/proc/{pid}/environ")).ok()?;
            let all = environment.split(|byte| *byte == 0);
            let mut own = all.filter(|variable| variable.starts_with(b"OSTLER_SESSION="));
            own.next().map(<[u8]>::to_vec)
        };
        self.living().into_iter().filter_map(session).collect::<BTreeSet<_>>().len()
    }

    fn living(&self) -> Vec<u32> {
        let value = self.desk.path("");
        let all = tree::by_marker(OsStr::new(MARK), value.as_os_str()).unwrap_or_default();
        all.into_iter().filter(|pid| !is_dead(*pid)).collect()
    }
}

impl Drop for Office {
    /// A test that failed leaves nothing behind either.
    fn drop(&mut self) {
        let sessions = self.desk.home().join("sessions");
        for folder in std::fs::read_dir(&sessions).into_iter().flatten().flatten() {
            for lock in ["keeper.lock", "lock"] {
                let lock = folder.path().join(lock);
                let held = lock.exists() && lockfile::try_lock_shared(&lock).is_ok_and(|free| free.is_none());
                let note = lockfile::note(&lock).unwrap_or_default();
                if let Some(pid) = String::from_utf8_lossy(&note).trim().parse().ok().filter(|_| held) {
                    kill(pid);
                }
            }
        }
        for pid in self.living() {
            kill(pid);
        }
    }
}

fn kill(pid: u32) {
    if let Ok(Some(handle)) = PidFd::open(pid) {
        let _ = handle.kill();
        let _ = handle.wait(Instant::now() + Duration::from_secs(1));
    }
}

fn is_dead(pid: u32) -> bool {
    PidFd::open(pid).is_ok_and(|handle| handle.is_none_or(|handle| handle.is_dead().unwrap_or(false)))
}

/// Looks until `look` finds something.
#[track_caller]
pub(crate) fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < deadline, "waited in vain for {what}");
        ostler_os::poll::Poller::new().wait(Some(Instant::now() + Duration::from_millis(5))).unwrap();
    }
}
