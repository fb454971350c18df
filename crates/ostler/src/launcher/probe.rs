//! Asking an executable who it is: `--version`, and `--help` for what its version number doesn't tell.

use super::known::Answer;
use super::{FLOOR, LauncherError, Origin, Search, Version, command};
use ostler_core::argv::Platform;
use ostler_core::env::{Choice, capture};
use ostler_core::spec::Credential;
use ostler_os::process::{PidFd, identity_of};
use ostler_os::tree::{KillPlan, kill_tree};
use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

/// How long an executable may take to say its version. It takes 20 ms on an idle machine.
pub const PROBE_DEADLINE: Duration = Duration::from_secs(20);

/// The same for programs that may have to download the package first (`npx`).
const DOWNLOAD_DEADLINE: Duration = Duration::from_secs(10 * 60);

/// Programs that fetch what they run.
const FETCHERS: &[&str] = &["npx", "pnpm", "pnpx", "bunx", "yarn", "npm"];

/// How much of an answer is read.
const ANSWER_LIMIT: u64 = 256 * 1024;

/// How long a dying tree is waited for.
const KILL_DEADLINE: Duration = Duration::from_secs(5);

/// In the `--help` of a CLI that reads agents from a file; older ones say `<json>` and ignore a path in silence
/// (measured on 2.1.200, .240, .283, .299 and .332).
const AGENTS_BY_FILE: &str = "--agents <json-or-file>";

/// The variable by which whatever a probe leaves behind is found.
const MARKER: &str = "OSTLER_PROBE";

/// Asks, and refuses what isn't a supported Claude Code.
pub(super) fn ask(
    path: &Path,
    env: &[(String, String)],
    args: &[String],
    search: &Search<'_>,
    origin: &Origin,
) -> Result<Answer, LauncherError> {
    let version = version(path, env, args, search, origin)?;
    if version < FLOOR {
        return Err(LauncherError::TooOld { command: shown(path, args), version });
    }
    let help = run(path, env, args, "--help", search, origin)?;
    Ok(Answer { version: version.to_string(), agents_by_file: help.out.contains(AGENTS_BY_FILE) })
}

/// Asks for the version and judges nothing.
fn version(
    path: &Path,
    env: &[(String, String)],
    args: &[String],
    search: &Search<'_>,
    origin: &Origin,
) -> Result<Version, LauncherError> {
    let shown = shown(path, args);
    let said = run(path, env, args, "--version", search, origin)?;
    if !said.status.success() {
        let last = tail(if said.err.trim().is_empty() { &said.out } else { &said.err });
        return Err(LauncherError::Broken { command: shown, status: said.status.to_string(), said: last });
    }
    Version::in_answer(&said.out)
        .ok_or_else(|| LauncherError::NotClaude { command: shown, said: tail(&said.out) })
}

/// What one executable says its version is, supported or not; for `doctor`.
///
/// # Errors
/// As [`super::find`] for that executable.
pub fn version_of(path: &Path, search: &Search<'_>) -> Result<Version, LauncherError> {
    version(path, &[], &[], search, &Origin::Path)
}

/// Whether a fresh installation works.
pub(super) fn answers(path: &Path, env: &[(OsString, OsString)], cwd: &Path) -> Result<(), LauncherError> {
    ask(path, &[], &[], &Search::new(env, cwd), &Origin::Installed).map(drop)
}

/// What a program said until it ended.
struct Said {
    status: ExitStatus,
    out: String,
    err: String,
}

fn run(
    path: &Path,
    env: &[(String, String)],
    args: &[String],
    flag: &str,
    search: &Search<'_>,
    origin: &Origin,
) -> Result<Said, LauncherError> {
    let marker = marker();
    let mut command = Command::new(path);
    command.args(args).arg(flag).current_dir(search.cwd).env_clear().envs(probe_env(search.env)?);
    command.envs(env.iter().map(|(n, v)| (n, v))).env(MARKER, &marker);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|source| LauncherError::NotExecutable {
        path: path.to_owned(),
        origin: origin.clone(),
        source,
    })?;
    let out = read_aside(child.stdout.take());
    let err = read_aside(child.stderr.take());
    let waited = if FETCHERS.contains(&command::stem(&path.to_string_lossy()).as_str()) {
        DOWNLOAD_DEADLINE
    } else {
        search.deadline
    };
    let status = wait(&mut child, Instant::now() + waited);
    if !matches!(status, Ok(Some(_))) {
        end(&mut child, &marker);
    }
    match status.map_err(LauncherError::io("wait for", path))? {
        None => Err(LauncherError::Hanging { command: format!("{} {flag}", shown(path, args)), waited }),
        Some(status) => Ok(Said { status, out: collect(&out), err: collect(&err) }),
    }
}

/// What a child of this launcher would get, without anything that costs or pays.
fn probe_env(parent: &[(OsString, OsString)]) -> Result<Vec<(OsString, OsString)>, LauncherError> {
    let choice = Choice { credential: Some(Credential::Login), ..Choice::default() };
    let environment = capture(parent, &choice, Platform::of(std::env::consts::OS))?;
    let quiet = ["DISABLE_AUTOUPDATER", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC"];
    let kept = environment.values.into_iter().map(|(n, v)| (n.into(), v.into()));
    Ok(kept.chain(quiet.map(|n| (n.into(), "1".into()))).collect())
}

/// Waits until it ends or the time is over.
fn wait(child: &mut Child, deadline: Instant) -> std::io::Result<Option<ExitStatus>> {
    if let Ok(Some(handle)) = PidFd::open(child.id())
        && handle.wait(deadline)?
    {
        return child.wait().map(Some);
    }
    // No such handles here, or the time is over already.
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if Instant::now() >= deadline {
            return Ok(None);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Kills it with all that it started.
fn end(child: &mut Child, marker: &str) {
    let roots: Vec<_> = identity_of(child.id()).ok().flatten().into_iter().collect();
    let plan = KillPlan {
        roots: &roots,
        marker: Some((OsStr::new(MARKER), OsStr::new(marker))),
        scope: None,
        own_children: false,
        keep: &|_| false,
        deadline: Instant::now() + KILL_DEADLINE,
    };
    // The error that is reported is that it hung; a kill that fails has nothing to add to it.
    let _ = kill_tree(&plan);
    let _ = child.kill();
    let _ = child.wait();
}

/// Reads a pipe in a thread of its own, for what a grandchild holds open never ends.
fn read_aside(pipe: Option<impl Read + Send + 'static>) -> Receiver<Vec<u8>> {
    let (send, receive) = mpsc::channel();
    if let Some(mut pipe) = pipe {
        std::thread::spawn(move || {
            let mut left = ANSWER_LIMIT;
            let mut chunk = [0; 8192];
            while left > 0 {
                match pipe.read(&mut chunk) {
                    Ok(0) | Err(_) => return,
                    Ok(n) => {
                        left = left.saturating_sub(n as u64);
                        if send.send(chunk[..n].to_vec()).is_err() {
                            return;
                        }
                    }
                }
            }
            // More than is wanted: taken and thrown away, so that the program can end.
            let _ = std::io::copy(&mut pipe, &mut std::io::sink());
        });
    }
    receive
}

/// Everything up to the end of the pipe, or what came within a second after the program's end.
fn collect(pipe: &Receiver<Vec<u8>>) -> String {
    let deadline = Instant::now() + Duration::from_secs(1);
    let mut all = Vec::new();
    while let Ok(chunk) = pipe.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
        all.extend(chunk);
    }
    String::from_utf8_lossy(&all).into_owned()
}

/// Different for every run of every process of this machine.
fn marker() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    format!("{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

fn shown(path: &Path, args: &[String]) -> String {
    std::iter::once(path.display().to_string()).chain(args.iter().cloned()).collect::<Vec<_>>().join(" ")
}

/// The last lines of an answer.
fn tail(text: &str) -> String {
    let text = text.trim();
    let start = text.len().saturating_sub(400);
    let start = (start..text.len()).find(|i| text.is_char_boundary(*i)).unwrap_or(text.len());
    text[start..].to_owned()
}
