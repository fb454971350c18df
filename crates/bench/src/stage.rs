//! A home with sessions whose children are this very program playing a fake `claude`.

use crate::lines::now;
use ostler_controller::client::{NewSession, Ostler, Starter, Waited};
use ostler_core::argv::Platform;
use ostler_core::env::{Choice, capture};
use ostler_core::ids::{DeliveryId, Millis, SessionId};
use ostler_core::spec::{LaunchSpec, Launcher, PinnedFile, Resolved};
use ostler_os::process::PidFd;
use ostler_os::{lockfile, tree};
use ostler_store::SessionDir;
use ostler_store::db::{Mode, NewDelivery};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use uuid::Uuid;

/// In the environment of a child: the file that it writes the time of its first instruction to.
pub(crate) const STARTED: &str = "BENCH_STARTED";
/// In the environment of every process of a stage.
const MARK: &str = "BENCH_STAGE";
/// For anything that is waited for.
const PATIENCE: Duration = Duration::from_secs(30);

/// Looks every half millisecond until there is something.
pub(crate) fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < deadline, "waited in vain for {what}");
        std::thread::sleep(Duration::from_micros(500));
    }
}

/// A program that was built beside this one.
pub(crate) fn beside(name: &str) -> PathBuf {
    let path = std::env::current_exe().expect("we run").with_file_name(name);
    assert!(path.exists(), "{} is missing: scripts/bench builds it", path.display());
    path
}

/// A home in a temporary folder, and every process that works in it.
pub(crate) struct Stage {
    folder: TempDir,
    pub(crate) ostler: Ostler,
    env: Vec<(String, String)>,
}

impl Stage {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        for name in ["user", "tmp", "work"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        let inherited = |name: &str| std::env::var(name).ok().map(|value| (name.to_owned(), value));
        let own = |name: &str, path: &Path| (name.to_owned(), text(path));
        // OSTLER_TEST_RUN: so that the test run's search for leftovers knows them.
        let mut env: Vec<_> = ["PATH", "OSTLER_TEST_RUN"].into_iter().filter_map(inherited).collect();
        env.push(own("HOME", &folder.path().join("user")));
        env.push(own("TMPDIR", &folder.path().join("tmp")));
        env.push(own(MARK, folder.path()));
        // More children than the machine's memory would hold real ones of.
        env.push(("OSTLER_CHILD_SLOTS".to_owned(), "1000".to_owned()));
        let of_keepers = env.iter().map(|(name, value)| (name.into(), value.into())).collect();
        // A copy: others may run the same file, and memory that is shared with them would not be counted. On the disk,
        // or its pages would count as dirty.
        let exe = folder.path().join("ostler");
        fs::copy(beside("ostler"), &exe).unwrap();
        fs::File::open(&exe).unwrap().sync_all().unwrap();
        let starter = Starter { exe: exe.into(), env: of_keepers };
        let ostler = Ostler::open(&folder.path().join("home")).unwrap().with_starter(starter);
        Self { folder, ostler, env }
    }

    /// A command in the environment of this stage.
    pub(crate) fn command(&self, program: &Path) -> std::process::Command {
        let mut command = std::process::Command::new(program);
        command.env_clear().envs(self.env.iter().cloned()).env("OSTLER_HOME", self.ostler.home().root());
        command
    }

    /// A session whose children play `script`.
    pub(crate) fn session(&self, script: &str) -> Session<'_> {
        let id = SessionId(Uuid::new_v4());
        let gates = self.folder.path().join(id.to_string());
        fs::create_dir(&gates).unwrap();
        fs::write(gates.join("script"), script).unwrap();
        let spec = self.spec(&gates);
        self.ostler.create(&NewSession { id, label: None, spec, at: wall() }).unwrap();
        Session { stage: self, id, dir: self.ostler.home().session(id), gates }
    }

    fn spec(&self, gates: &Path) -> LaunchSpec {
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
            ("FAKE_CLAUDE_SCRIPT".to_owned(), text(&gates.join("script"))),
            ("FAKE_CLAUDE_GATES".to_owned(), text(gates)),
            (STARTED.to_owned(), text(&gates.join("started"))),
        ];
        set.extend(self.env.iter().filter(|(name, _)| !name.starts_with("OSTLER_")).cloned());
        let choice = Choice { credential: None, keep: vec![], set, secrets: vec![] };
        let parent: [(OsString, OsString); 0] = [];
        let environment = capture(&parent, &choice, Platform::Unix).unwrap();
        let launcher = Launcher { command: vec![path], resolved };
        LaunchSpec::new(launcher, "claude-sonnet-4-5", &text(&self.folder.path().join("work")), environment)
    }
}

impl Drop for Stage {
    /// Nothing is left, however this ends.
    fn drop(&mut self) {
        let left = || tree::by_marker(OsStr::new(MARK), self.folder.path().as_os_str()).unwrap_or_default();
        let deadline = Instant::now() + PATIENCE;
        while let Some(pid) = left().first().copied().filter(|_| Instant::now() < deadline) {
            if let Ok(Some(handle)) = PidFd::open(pid) {
                // Gone already, or the next look finds it again.
                let _ = handle.kill();
                let _ = handle.wait(Instant::now() + Duration::from_millis(200));
            }
        }
    }
}

fn text(path: &Path) -> String {
    path.to_str().expect("paths here are UTF-8").to_owned()
}

fn wall() -> Millis {
    Millis(i64::try_from(now() / 1_000_000).unwrap_or(i64::MAX))
}

/// One session.
pub(crate) struct Session<'a> {
    pub(crate) stage: &'a Stage,
    pub(crate) id: SessionId,
    pub(crate) dir: SessionDir,
    gates: PathBuf,
}

impl Session<'_> {
    /// The durable half of a delivery: the row.
    pub(crate) fn accept(&self) {
        let new = NewDelivery {
            id: DeliveryId(Uuid::new_v4()),
            session: self.id,
            body: br#""Say hello""#.to_vec(),
            mode: Mode::Auto,
            idempotency_key: None,
            created_at: wall(),
            continues: None,
        };
        self.stage.ostler.db().insert_delivery(&new).unwrap();
    }

    /// A delivery, and a controller for it.
    pub(crate) fn send(&self) {
        self.accept();
        self.stage.ostler.ensure(self.id).unwrap();
    }

    /// Waits until everything is answered and its processes have left.
    pub(crate) fn rests(&self) {
        let waited = self.stage.ostler.wait(self.id, Some(Instant::now() + PATIENCE)).unwrap();
        assert!(matches!(waited, Waited::Settled(Some(_))), "{waited:?}");
        for lock in [self.dir.keeper_lock(), self.dir.lock()] {
            until("keeper and controller to leave", || {
                (!lock.exists() || lockfile::try_lock_shared(&lock).unwrap().is_some()).then_some(())
            });
        }
    }

    pub(crate) fn opens(&self, gate: &str) {
        fs::write(self.gates.join(gate), "").unwrap();
    }

    /// Waits for a `mark` of the script.
    pub(crate) fn reaches(&self, mark: &str) {
        until(mark, || self.gates.join(mark).exists().then_some(()));
    }

    /// When the newest child ran its first instruction.
    pub(crate) fn started(&self) -> u64 {
        let text = fs::read_to_string(self.gates.join("started")).unwrap();
        text.parse().expect("a child writes it")
    }

    /// The child of the newest generation.
    pub(crate) fn child(&self) -> u32 {
        until("spawn.json", || {
            let no = *self.dir.generations().unwrap().last()?;
            let json = fs::read(self.dir.generation(no).spawn_json()).ok()?;
            let json: serde_json::Value = serde_json::from_slice(&json).unwrap();
            u32::try_from(json["pid"].as_u64()?).ok()
        })
    }

    /// Keeper and controller.
    pub(crate) fn ours(&self) -> [u32; 2] {
        self.ours_now().expect("both are there")
    }

    /// The same; None: one of them has just come and not yet said who it is.
    pub(crate) fn ours_now(&self) -> Option<[u32; 2]> {
        let holder = |lock| std::str::from_utf8(&lockfile::note(lock).ok()?).ok()?.parse().ok();
        Some([holder(&self.dir.keeper_lock())?, holder(&self.dir.lock())?])
    }
}
