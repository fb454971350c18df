//! A home in a folder of its own, its sessions, and the processes that work in it.

use crate::dice::Dice;
use crate::scripts;
use ostler_controller::client::{NewSession, Ostler, Starter};
use ostler_core::argv::Platform;
use ostler_core::ctl::Event;
use ostler_core::env::{Choice, capture};
use ostler_core::ids::{Millis, SessionId};
use ostler_core::limits::Limits;
use ostler_core::spec::{LaunchSpec, Launcher, PinnedFile, Resolved};
use ostler_os::process::{Identity, PidFd};
use ostler_os::{lockfile, tree};
use ostler_store::{GenDir, SessionDir};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};
use uuid::Uuid;

/// In the environment of every process of a stage.
const MARK: &str = "TORTURE_STAGE";

/// Each stands for somebody who pays: what the API refuses to one of them stops the sessions of the others no more than
/// it has to.
const CONFIGS: [&str; 3] = ["config-1", "config-2", "config-3"];

/// A limit that is announced ends so many seconds after the session was made; who waits for it comes within seconds.
const SOON: i64 = 2;

/// A folder, and what is needed to work in it.
pub(crate) struct Stage {
    folder: PathBuf,
    env: Vec<(String, String)>,
    /// The argument of every `sleep` that children leave behind: nobody else sleeps for so long.
    pub(crate) token: String,
}

/// One session.
pub(crate) struct Session {
    pub(crate) id: SessionId,
    pub(crate) dir: SessionDir,
    /// What is wrong with its children.
    pub(crate) nature: &'static str,
    /// Nobody breaks off what it does.
    pub(crate) gentle: bool,
    /// Where its children keep their conversations. Whoever shares it pays with the same credential.
    config: PathBuf,
    /// Script, gates, and the black boxes of its children.
    pub(crate) folder: PathBuf,
}

impl Stage {
    pub(crate) fn new(folder: &Path, seed: u64, round: u64) -> Self {
        for name in ["user", "tmp", "work"].into_iter().chain(CONFIGS) {
            fs::create_dir(folder.join(name)).unwrap();
        }
        let own = |name: &str, path: &Path| (name.to_owned(), text(path));
        let inherited = |name: &str| std::env::var(name).ok().map(|value| (name.to_owned(), value));
        // OSTLER_TEST_RUN: so that the test run's search for leftovers knows them.
        let mut env: Vec<_> = ["PATH", "OSTLER_TEST_RUN"].into_iter().filter_map(inherited).collect();
        env.push(own("HOME", &folder.join("user")));
        env.push(own("TMPDIR", &folder.join("tmp")));
        env.push(own(MARK, folder));
        let pid = std::process::id();
        let token = format!("99999.{pid:07}{:04}{:04}", seed % 10_000, round % 10_000);
        Self { folder: folder.to_owned(), env, token }
    }

    /// Another face of this home.
    pub(crate) fn face(&self) -> Ostler {
        let env = self.env.iter().map(|(name, value)| (name.into(), value.into())).collect();
        // This very program is keeper, controller and child.
        let exe = std::env::current_exe().expect("we run");
        let face = Ostler::open(&self.folder.join("home")).expect("a home can be opened");
        face.with_starter(Starter { exe: exe.into(), env })
    }

    pub(crate) fn session(&self, face: &Ostler, dice: &mut Dice) -> Session {
        let id = SessionId(Uuid::new_v4());
        let folder = self.folder.join(id.to_string());
        fs::create_dir(&folder).unwrap();
        fs::create_dir(folder.join("box")).unwrap();
        fs::write(folder.join("now"), "").unwrap();
        let (nature, script) = scripts::script(dice, &self.token, wall().0 / 1000 + SOON);
        fs::write(folder.join("script"), script).unwrap();
        let config = self.folder.join(dice.of(&CONFIGS));
        let mut spec = self.spec(&folder, &config);
        spec.limits = limits(dice);
        face.create(&NewSession { id, label: None, spec, at: wall() }).unwrap();
        let gentle = dice.once_in(4);
        Session { id, dir: face.home().session(id), nature, gentle, config, folder }
    }

    fn spec(&self, folder: &Path, config: &Path) -> LaunchSpec {
        let path = text(&std::env::current_exe().expect("we run"));
        let program = PinnedFile { path: path.clone(), sha256: "0".repeat(64), size: 0, mtime_ns: 0 };
        let resolved = Resolved {
            env: vec![],
            program,
            args: vec![],
            scripts: vec![],
            version: "2.1.332".to_owned(),
            agents_by_file: true,
        };
        let mut set = vec![
            ("FAKE_CLAUDE_SCRIPT".to_owned(), text(&folder.join("script"))),
            ("FAKE_CLAUDE_GATES".to_owned(), text(folder)),
            (claude_lab::fake::BOX_VARIABLE.to_owned(), text(&folder.join("box"))),
            ("CLAUDE_CONFIG_DIR".to_owned(), text(config)),
        ];
        set.extend(self.env.iter().filter(|(name, _)| !name.starts_with("OSTLER_")).cloned());
        let choice = Choice { credential: None, keep: vec![], set, secrets: vec![] };
        let parent: [(OsString, OsString); 0] = [];
        let environment = capture(&parent, &choice, Platform::Unix).unwrap();
        let launcher = Launcher { command: vec![path], resolved };
        LaunchSpec::new(launcher, "claude-sonnet-4-5", &text(&self.folder.join("work")), environment)
    }

    /// Processes of this stage that live. Orphans with an empty environment are not among them: see [`Stage::sleepers`].
    pub(crate) fn processes(&self) -> Vec<u32> {
        let marked = tree::by_marker(OsStr::new(MARK), self.folder.as_os_str()).unwrap_or_default();
        marked.into_iter().filter(|pid| lives(*pid)).collect()
    }

    /// Processes that children left behind and that live, whatever their environment.
    pub(crate) fn sleepers(&self) -> Vec<u32> {
        let pids = fs::read_dir("/proc").into_iter().flatten().flatten();
        let pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        let token = OsStr::new(&self.token);
        let ours = |pid: &u32| {
            let words = ostler_os::process::command_line(*pid).ok().flatten().unwrap_or_default();
            words.iter().any(|word| word == token) && lives(*pid)
        };
        pids.filter(ours).collect()
    }

    /// Nothing of it lives any more, whatever happened.
    pub(crate) fn clear(&self) {
        let deadline = Instant::now() + Duration::from_secs(10);
        loop {
            let left = [self.processes(), self.sleepers()].concat();
            if left.is_empty() || Instant::now() >= deadline {
                return;
            }
            for handle in left.into_iter().filter_map(|pid| PidFd::open(pid).ok().flatten()) {
                // Gone already, or the next look finds it again.
                let _ = handle.kill();
                let _ = handle.wait(Instant::now() + Duration::from_millis(200));
            }
        }
    }
}

fn lives(pid: u32) -> bool {
    PidFd::open(pid).ok().flatten().is_some_and(|handle| !handle.is_dead().unwrap_or(false))
}

/// Short ones, so that every deadline passes within a round, and what waits behind several of them comes to its end
/// within seconds.
fn limits(dice: &mut Dice) -> Limits {
    Limits {
        start: 1_500,
        slow: 500,
        stalled: 1_500,
        compaction: 1_500,
        wake_wait: 700,
        shells: 800,
        agents: 800,
        notification: 300,
        quiet: 400,
        interrupt: 600,
        aborted: 900,
        end: 500,
        write: 1_500,
        backoff: 200,
        linger: *dice.of(&[0, 0, 0, 300, 1_500]),
        ..Limits::default()
    }
}

impl Session {
    pub(crate) fn opens(&self, gate: &str) {
        fs::write(self.folder.join(gate), "").unwrap();
    }

    /// The newest conversation of it that its children keep.
    pub(crate) fn transcript(&self, face: &Ostler) -> Option<PathBuf> {
        let name = format!("{}.jsonl", face.db().session(self.id).ok()??.conversation);
        let folders = fs::read_dir(self.config.join("projects")).ok()?;
        folders.flatten().map(|folder| folder.path().join(&name)).find(|path| path.exists())
    }

    pub(crate) fn keeper(&self) -> Option<PidFd> {
        holder(&self.dir.keeper_lock())
    }

    pub(crate) fn controller(&self) -> Option<PidFd> {
        holder(&self.dir.lock())
    }

    /// The newest child.
    pub(crate) fn child(&self) -> Option<PidFd> {
        let no = *self.dir.generations().ok()?.last()?;
        let rows = rows(&self.dir.generation(no));
        let child = rows.into_iter().rev().find_map(|event| match event {
            Event::Child { pid, start, boot } => Some(Identity { pid, start_ticks: start, boot_id: boot }),
            _ => None,
        });
        PidFd::open_identity(&child?).ok().flatten()
    }
}

/// What a generation's `ctl` says.
pub(crate) fn rows(files: &GenDir) -> Vec<Event> {
    let text = fs::read_to_string(files.ctl()).unwrap_or_default();
    let row = |line: &str| serde_json::from_str::<ostler_core::ctl::Row>(line).ok();
    text.lines().filter_map(row).map(|row| row.ev).collect()
}

/// Who holds a lock. The note is believed only while the lock is held by the one who is opened.
fn holder(lock: &Path) -> Option<PidFd> {
    let held = || lock.exists() && lockfile::try_lock_shared(lock).ok().is_some_and(|free| free.is_none());
    let note = || std::str::from_utf8(&lockfile::note(lock).ok()?).ok()?.parse::<u32>().ok();
    let pid = note().filter(|_| held())?;
    let handle = PidFd::open(pid).ok().flatten()?;
    (held() && note() == Some(pid) && pid != std::process::id()).then_some(handle)
}

fn text(path: &Path) -> String {
    path.to_str().expect("paths here are UTF-8").to_owned()
}

pub(crate) fn wall() -> Millis {
    let since = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
    Millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}
