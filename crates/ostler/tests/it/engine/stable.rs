//! One home with its sessions, in a temporary folder of its own; and the check at the end of every test.

use ostler_controller::client::{ClientError, NewMessage, NewSession, Ostler, Starter, Status, Waited};
use ostler_core::ctl::{Event, Exit, Row};
use ostler_core::env::{Choice, capture};
use ostler_core::ids::{DeliveryId, GenerationNo, Millis, SessionId};
use ostler_core::limits::Limits;
use ostler_core::machine::Mode;
use ostler_core::rows::{Delivery, DeliveryState, Outcome, Permission, Projection, Turn};
use ostler_core::spec::{LaunchSpec, Launcher, PinnedFile, Resolved};
use ostler_os::poll::Poller;
use ostler_os::process::PidFd;
use ostler_os::{lockfile, tree};
use ostler_store::{GenDir, SessionDir};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use uuid::Uuid;

/// For anything that is waited for. A machine with two busy cores needs most of it.
pub(crate) const PATIENCE: Duration = Duration::from_secs(40);
/// Between two looks at what nothing can be waited on for.
const LOOK: Duration = Duration::from_millis(3);
/// Whose tests these processes are; in the environment of keepers, controllers and children.
const MARK: &str = "TEST_STABLE";

/// Looks until `look` finds something.
#[track_caller]
pub(crate) fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < deadline, "waited in vain for {what}");
        Poller::new().wait(Some(Instant::now() + LOOK)).unwrap();
    }
}

/// The fake child; a package's tests get the paths of its own programs only.
pub(crate) fn fake_claude() -> PathBuf {
    let path = Path::new(env!("CARGO_BIN_EXE_ostler")).with_file_name("fake-claude");
    assert!(path.exists(), "{} is missing: cargo build -p claude-lab --bin fake-claude", path.display());
    path
}

/// A home and everything that its sessions need.
pub(crate) struct Stable {
    folder: TempDir,
    pub(crate) ostler: Ostler,
    env: Vec<(String, String)>,
    /// What keepers and controllers of this test have in their environment besides.
    more: String,
}

impl Stable {
    pub(crate) fn new() -> Self {
        Self::with(&[])
    }

    /// The same, with more variables for keepers and controllers.
    pub(crate) fn with(more: &[(&str, &str)]) -> Self {
        Self::build(tempfile::tempdir().unwrap(), more)
    }

    /// The same in a folder that the caller has prepared.
    pub(crate) fn in_folder(folder: TempDir) -> Self {
        Self::build(folder, &[])
    }

    /// The same, with more variables for keepers and controllers.
    pub(crate) fn in_folder_with(folder: TempDir, more: &[(&str, &str)]) -> Self {
        Self::build(folder, more)
    }

    fn build(folder: TempDir, more: &[(&str, &str)]) -> Self {
        for name in ["user", "tmp", "work", "gates"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        let home = &folder.path().join("home");
        let text = |path: &Path| path.to_str().unwrap().to_owned();
        let mut env = vec![
            ("PATH".to_owned(), std::env::var("PATH").unwrap()),
            ("HOME".to_owned(), text(&folder.path().join("user"))),
            ("TMPDIR".to_owned(), text(&folder.path().join("tmp"))),
            ("OSTLER_HOME".to_owned(), text(home)),
            (MARK.to_owned(), text(folder.path())),
        ];
        // So that the run's search for leftovers knows them.
        env.extend(std::env::var("OSTLER_TEST_RUN").ok().map(|run| ("OSTLER_TEST_RUN".to_owned(), run)));
        let mut stable = Self { ostler: Ostler::open(home).unwrap(), folder, env, more: format!("{more:?}") };
        stable.ostler = Ostler::open(home).unwrap().with_starter(stable.starter(more));
        stable
    }

    /// How keepers are started here, with more variables.
    pub(crate) fn starter(&self, more: &[(&str, &str)]) -> Starter {
        let own = self.env.iter().map(|(name, value)| (name.into(), value.into()));
        let more = more.iter().map(|(name, value)| (name.into(), value.into()));
        Starter { exe: env!("CARGO_BIN_EXE_ostler").into(), env: own.chain(more).collect() }
    }

    /// Keepers of this test's own face are started so from here on.
    pub(crate) fn starts_with(&mut self, starter: Starter) {
        self.ostler = Ostler::open(self.ostler.home().root()).unwrap().with_starter(starter);
    }

    /// Another face of the same home.
    pub(crate) fn another_face(&self) -> Ostler {
        Ostler::open(self.ostler.home().root()).unwrap().with_starter(self.starter(&[]))
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A session whose children play `script`.
    pub(crate) fn session(&self, script: &str) -> Session<'_> {
        self.session_of(script, |_| {})
    }

    /// The same; `shape` changes its launch spec.
    pub(crate) fn session_of(&self, script: &str, shape: impl FnOnce(&mut LaunchSpec)) -> Session<'_> {
        let id = SessionId(Uuid::new_v4());
        let folder = self.path("gates").join(id.to_string());
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("script"), script).unwrap();
        let mut spec = self.spec(&folder);
        shape(&mut spec);
        self.session_with(id, spec, folder)
    }

    /// The launch spec of a session to come whose children play `script`, with a program that is pinned as it is.
    pub(crate) fn spec_for(&self, id: SessionId, script: &str) -> LaunchSpec {
        let folder = self.path("gates").join(id.to_string());
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("script"), script).unwrap();
        let mut spec = self.spec(&folder);
        let program = &mut spec.launcher.resolved.program;
        let metadata = fs::metadata(&program.path).unwrap();
        let since = metadata.modified().unwrap().duration_since(std::time::UNIX_EPOCH).unwrap();
        (program.size, program.mtime_ns) = (metadata.len(), since.as_nanos().try_into().unwrap());
        spec
    }

    /// A session that was made in another way.
    pub(crate) fn known(&self, id: SessionId, folder: PathBuf) -> Session<'_> {
        Session { stable: self, id, dir: self.ostler.home().session(id), folder }
    }

    /// A session with a launch spec of its own.
    pub(crate) fn session_with(&self, id: SessionId, spec: LaunchSpec, folder: PathBuf) -> Session<'_> {
        self.ostler.create(&NewSession { id, label: None, spec, at: now() }).unwrap();
        Session { stable: self, id, dir: self.ostler.home().session(id), folder }
    }

    /// What every process of this test has in its environment; keepers and controllers have ostler's own besides.
    pub(crate) fn surroundings(&self) -> impl Iterator<Item = (String, String)> {
        self.env.iter().filter(|(name, _)| !name.starts_with("OSTLER_")).cloned()
    }

    fn spec(&self, folder: &Path) -> LaunchSpec {
        let path = fake_claude().to_str().unwrap().to_owned();
        let program = PinnedFile { path: path.clone(), sha256: "0".repeat(64), size: 0, mtime_ns: 0 };
        let resolved = Resolved {
            env: vec![],
            program,
            args: vec![],
            scripts: vec![],
            version: "2.1.332".to_owned(),
            agents_by_file: true,
        };
        let launcher = Launcher { command: vec![path], resolved };
        let text = |path: &Path| path.to_str().unwrap().to_owned();
        let mut set = vec![
            ("FAKE_CLAUDE_SCRIPT".to_owned(), text(&folder.join("script"))),
            ("FAKE_CLAUDE_LOG".to_owned(), text(&folder.join("log"))),
            ("FAKE_CLAUDE_GATES".to_owned(), text(folder)),
        ];
        set.extend(self.surroundings());
        let choice = Choice { credential: None, keep: vec![], set, secrets: vec![] };
        let parent: Vec<(OsString, OsString)> = Vec::new();
        let environment = capture(&parent, &choice, ostler_core::argv::Platform::Unix).unwrap();
        let cwd = fs::canonicalize(self.path("work")).unwrap();
        let mut spec = LaunchSpec::new(launcher, "claude-sonnet-4-5", cwd.to_str().unwrap(), environment);
        spec.limits = Limits { notification: 300, quiet: 300, ..Limits::default() };
        spec
    }

    /// Nothing is left: no process of these sessions lives, and their journals say what the store says.
    #[track_caller]
    pub(crate) fn finish(self) {
        self.is_left();
        for session in self.ostler.rebuild(false).unwrap() {
            assert_eq!(session.differs, Vec::<String>::new(), "session {}", session.session);
        }
    }

    /// Waits until every process of these sessions has ended by itself.
    #[track_caller]
    pub(crate) fn is_left(&self) {
        for id in self.ostler.home().sessions_on_disk().unwrap() {
            let dir = self.ostler.home().session(id);
            for lock in [dir.keeper_lock(), dir.lock()] {
                until("the keeper and the controller to leave", || {
                    (!lock.exists() || lockfile::try_lock_shared(&lock).unwrap().is_some()).then_some(())
                });
            }
        }
        let value = self.folder.path().as_os_str();
        until("every process of the test to be gone", || {
            let left = tree::by_marker(OsStr::new(MARK), value).unwrap();
            left.iter().all(|pid| is_dead(*pid)).then_some(())
        });
        for id in self.ostler.home().sessions_on_disk().unwrap() {
            let dir = self.ostler.home().session(id);
            for no in dir.generations().unwrap() {
                if let Some(pid) = started(&dir.generation(no)) {
                    assert!(is_dead(pid), "child {pid} of generation {no} lives");
                }
                for group in groups(&dir.generation(no)) {
                    assert!(!group.exists(), "{} is left", group.display());
                }
            }
        }
    }
}

impl Drop for Stable {
    /// A test that failed leaves nothing behind either.
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.tell();
        }
        let value = self.folder.path().as_os_str();
        for _ in 0..100 {
            let left = tree::by_marker(OsStr::new(MARK), value).unwrap_or_default();
            if left.is_empty() {
                break;
            }
            for pid in left {
                if let Ok(Some(handle)) = PidFd::open(pid) {
                    let _ = handle.kill();
                    let _ = handle.wait(Instant::now() + Duration::from_millis(100));
                }
            }
        }
        self.remove_groups();
    }
}

impl Stable {
    /// Control groups that a test which failed has left, and who is in them.
    fn remove_groups(&self) {
        for id in self.ostler.home().sessions_on_disk().unwrap_or_default() {
            let dir = self.ostler.home().session(id);
            for no in dir.generations().unwrap_or_default() {
                let text = fs::read_to_string(dir.generation(no).path.join("scope")).unwrap_or_default();
                let Some(scope) = ostler_os::scope::Scope::read(&text) else { continue };
                for pid in scope.members().unwrap_or_default() {
                    if let Ok(Some(handle)) = PidFd::open(pid) {
                        let _ = handle.kill();
                        let _ = handle.wait(Instant::now() + Duration::from_millis(100));
                    }
                }
                scope.remove();
            }
        }
    }

    /// What one wants to see of a test that failed.
    #[expect(clippy::print_stderr, reason = "the test runner shows it with the failure")]
    fn tell(&self) {
        eprintln!("=== {}", self.more);
        for id in self.ostler.home().sessions_on_disk().unwrap_or_default() {
            let dir = self.ostler.home().session(id);
            let mut paths = vec![dir.keeper_log(), dir.controller_log()];
            for no in dir.generations().unwrap_or_default() {
                let files = dir.generation(no);
                paths.extend([files.ctl(), files.out(), files.err(), files.exit()]);
            }
            paths.push(self.path("gates").join(id.to_string()).join("log"));
            eprintln!("=== session {id}: {:?}", self.ostler.db().record(id));
            for path in paths {
                eprintln!("--- {}\n{}", path.display(), tail(&path, 6000));
            }
        }
    }
}

/// The last bytes of a file, long lines shortened.
fn tail(path: &Path, bytes: usize) -> String {
    let all = fs::read(path).unwrap_or_default();
    let text = String::from_utf8_lossy(&all[all.len().saturating_sub(bytes)..]).into_owned();
    let short = |line: &str| line.chars().take(260).collect::<String>();
    text.lines().map(short).collect::<Vec<_>>().join("\n")
}

/// Writes a program; its path as text.
pub(crate) fn executable(path: &Path, text: &str) -> String {
    use std::os::unix::fs::PermissionsExt;
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    path.to_str().unwrap().to_owned()
}

/// Dead, reaped or not.
pub(crate) fn is_dead(pid: u32) -> bool {
    PidFd::open(pid).unwrap().is_none_or(|handle| handle.is_dead().unwrap())
}

/// Sends a signal by its name.
#[track_caller]
pub(crate) fn signal(pid: u32, name: &str) {
    let sent = std::process::Command::new("kill").args(["-s", name, &pid.to_string()]).status().unwrap();
    assert!(sent.success());
}

#[track_caller]
pub(crate) fn kill(pid: u32) {
    kill_at_once(&[pid]);
}

/// Kills them all before the first can notice that another one is gone.
#[track_caller]
pub(crate) fn kill_at_once(pids: &[u32]) {
    let handles: Vec<PidFd> = pids.iter().filter_map(|pid| PidFd::open(*pid).unwrap()).collect();
    for handle in &handles {
        handle.kill().unwrap();
    }
    for handle in handles {
        assert!(handle.wait(Instant::now() + PATIENCE).unwrap(), "{pids:?} survive SIGKILL");
    }
}

/// The control groups that were made for a generation.
fn groups(files: &GenDir) -> Vec<PathBuf> {
    let text = fs::read_to_string(files.path.join("scope")).unwrap_or_default();
    text.lines().filter_map(|line| line.split_once(' ')).map(|(_, path)| PathBuf::from(path)).collect()
}

/// The pid in `spawn.json`.
fn started(files: &GenDir) -> Option<u32> {
    let text = fs::read(files.spawn_json()).ok()?;
    let json: serde_json::Value = serde_json::from_slice(&text).unwrap();
    Some(u32::try_from(json["pid"].as_u64().unwrap()).unwrap())
}

pub(crate) fn now() -> Millis {
    Millis(i64::try_from(std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_millis()).unwrap())
}

/// One session.
pub(crate) struct Session<'a> {
    pub(crate) stable: &'a Stable,
    pub(crate) id: SessionId,
    pub(crate) dir: SessionDir,
    /// Its script, its gates, and the log of what its children read.
    pub(crate) folder: PathBuf,
}

impl Session<'_> {
    #[track_caller]
    pub(crate) fn send(&self, text: &str) -> DeliveryId {
        self.send_as(text, Mode::Auto).unwrap()
    }

    pub(crate) fn send_as(&self, text: &str, mode: Mode) -> Result<DeliveryId, ClientError> {
        let id = DeliveryId(Uuid::new_v4());
        let message = NewMessage { id, content: text.into(), mode, idempotency_key: None, at: now() };
        self.stable.ostler.deliver(self.id, &message)
    }

    /// Waits until nothing is owed; the last settled turn.
    #[track_caller]
    pub(crate) fn wait(&self) -> Turn {
        match self.stable.ostler.wait(self.id, Some(Instant::now() + PATIENCE)).unwrap() {
            Waited::Settled(Some(turn)) => turn,
            other => panic!("the session did not settle: {other:?}"),
        }
    }

    /// Sends, waits, and expects that it went well.
    #[track_caller]
    pub(crate) fn completes(&self, text: &str) -> Turn {
        self.send(text);
        let turn = self.wait();
        assert_eq!(turn.outcome, Some(Outcome::Completed), "{turn:?}");
        turn
    }

    /// The answer of the last settled turn.
    #[track_caller]
    pub(crate) fn answer(&self) -> String {
        self.stable.ostler.summary(self.id).unwrap().answer.expect("an answer")
    }

    /// Its launch spec, as it is stored.
    pub(crate) fn spec(&self) -> LaunchSpec {
        let file = ostler_store::SessionFile::read(&self.dir).unwrap();
        LaunchSpec::from_json(file.spec.get()).unwrap()
    }

    pub(crate) fn script(&self, text: &str) {
        fs::write(self.folder.join("script"), text).unwrap();
    }

    pub(crate) fn open(&self, gate: &str) {
        fs::write(self.folder.join(gate), "").unwrap();
    }

    /// Waits for a `mark` of the script.
    #[track_caller]
    pub(crate) fn reaches(&self, mark: &str) {
        until(mark, || self.folder.join(mark).exists().then_some(()));
    }

    /// What its children read, generation after generation.
    pub(crate) fn log(&self) -> Vec<serde_json::Value> {
        let text = fs::read_to_string(self.folder.join("log")).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line.split_once('\t').unwrap().1).unwrap()).collect()
    }

    /// How often a child was given this delivery.
    pub(crate) fn offers(&self, id: DeliveryId) -> usize {
        let id = id.to_string();
        self.log().iter().filter(|line| line["uuid"] == *id).count()
    }

    /// The subtypes of the control requests that were written to its children.
    pub(crate) fn requests(&self) -> Vec<String> {
        let subtype = |line: &serde_json::Value| line["request"]["subtype"].as_str().map(str::to_owned);
        self.log().iter().filter_map(subtype).collect()
    }

    pub(crate) fn generation(&self, no: GenerationNo) -> GenDir {
        self.dir.generation(no)
    }

    /// The rows of a generation's `ctl`.
    pub(crate) fn rows(&self, no: GenerationNo) -> Vec<Row> {
        let path = self.generation(no).ctl();
        if !path.exists() {
            return Vec::new();
        }
        let text = fs::read_to_string(path).unwrap();
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    /// Waits for a row of a generation.
    #[track_caller]
    pub(crate) fn row<T>(&self, no: GenerationNo, what: &str, look: impl Fn(&Event) -> Option<T>) -> T {
        until(what, || self.rows(no).iter().find_map(|row| look(&row.ev)))
    }

    /// Waits for a generation's end.
    #[track_caller]
    pub(crate) fn dead(&self, no: GenerationNo) -> (Exit, bool, u32) {
        self.row(no, "the death of the child", |ev| match ev {
            Event::Dead { exit, proven, killed, .. } => Some((*exit, *proven, *killed)),
            _ => None,
        })
    }

    /// The child of the newest generation, from `spawn.json`.
    #[track_caller]
    pub(crate) fn child(&self) -> u32 {
        until("spawn.json", || {
            let no = *self.dir.generations().unwrap().last()?;
            started(&self.generation(no))
        })
    }

    /// Who holds `lock`.
    #[track_caller]
    pub(crate) fn controller(&self) -> u32 {
        holder(&self.dir.lock())
    }

    #[track_caller]
    pub(crate) fn keeper(&self) -> u32 {
        holder(&self.dir.keeper_lock())
    }

    /// Keeper and controller, as far as they are there.
    pub(crate) fn holders(&self) -> Vec<u32> {
        [self.dir.keeper_lock(), self.dir.lock()].iter().filter_map(|lock| look_at_holder(lock)).collect()
    }

    pub(crate) fn projection(&self) -> Projection {
        self.stable.ostler.db().load_projection(self.id).unwrap()
    }

    #[track_caller]
    pub(crate) fn delivery(&self, id: DeliveryId) -> Delivery {
        let rows = self.projection().deliveries;
        rows.into_iter().find(|d| d.id == id).unwrap_or_else(|| panic!("no row of delivery {id}"))
    }

    /// Waits until a delivery has come so far, as the store says.
    #[track_caller]
    pub(crate) fn becomes(&self, id: DeliveryId, state: DeliveryState) {
        until(&format!("{state:?}"), || {
            self.projection().deliveries.iter().any(|d| d.id == id && d.state == state).then_some(())
        });
    }

    /// Waits for an open question.
    #[track_caller]
    pub(crate) fn question(&self) -> Permission {
        until("a question", || {
            let open = self.stable.ostler.db().pending_permissions(Some(self.id)).unwrap();
            open.into_iter().next().map(|row| row.journal)
        })
    }

    pub(crate) fn status(&self) -> Status {
        self.stable.ostler.status(self.id).unwrap()
    }
}

#[track_caller]
fn holder(lock: &Path) -> u32 {
    until("the holder of a lock", || look_at_holder(lock))
}

fn look_at_holder(lock: &Path) -> Option<u32> {
    if !lock.exists() || lockfile::try_lock_shared(lock).unwrap().is_some() {
        return None;
    }
    String::from_utf8(lockfile::note(lock).unwrap()).unwrap().parse().ok()
}
