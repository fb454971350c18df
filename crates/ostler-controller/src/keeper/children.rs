//! The children of the session: started, reaped and killed here.

use super::{Post, SIGKILL, log, scopes};
use ostler_os::process::{self, Identity};
use ostler_os::reap::Exit;
use ostler_os::scope::{Caps, Scope};
use ostler_os::spawn::{ChildSpec, SpawnError, Started, spawn_child};
use ostler_os::tree::{KillPlan, kill_tree};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A child raises its own OOM score: under pressure it goes before its keeper does.
const OOM: i16 = 300;
/// How long one request to kill may take before what is left is reported: the controller that waits for it answers
/// nobody, and asks again.
const KILL: Duration = Duration::from_secs(2);
/// How long the exit of a process may take that has closed its files.
const END: Duration = Duration::from_secs(2);

struct Child {
    generation: OsString,
    dir: PathBuf,
    started: Started,
    /// None where the system doesn't tell which boot this is.
    identity: Option<Identity>,
    exit: Option<Exit>,
    /// Processes of its tree that were killed so far, itself not counted.
    killed: usize,
}

/// Every generation that this keeper started; at most one of them is alive.
pub(super) struct Children {
    session: OsString,
    dir: PathBuf,
    last: Option<Child>,
    /// Who else was reaped here: the controller may be among them.
    others: Vec<(u32, Exit)>,
}

impl Children {
    pub(super) fn new(post: &Post) -> Self {
        Self { session: OsString::from(&post.session), dir: post.dir.clone(), last: None, others: Vec::new() }
    }

    pub(super) fn any_alive(&self) -> bool {
        self.last.as_ref().is_some_and(|c| c.exit.is_none())
    }

    /// A process was reaped: ours, or something that was left to us.
    pub(super) fn died(&mut self, pid: u32, exit: Exit) {
        let Some(child) = self.last.as_mut().filter(|c| c.started.pid == pid && c.exit.is_none()) else {
            self.others.push((pid, exit));
            return;
        };
        child.exit = Some(exit);
        let text = exit_words(Some(exit));
        // Whole or not there, but not brought to the disk: a death is told at once, and after a crash of the machine
        // nobody needs to hear of it.
        let (new, path) = (child.dir.join("exit.new"), child.dir.join("exit"));
        if let Err(error) = std::fs::write(&new, text).and_then(|()| std::fs::rename(&new, path)) {
            log(&format!("failed to write the exit of generation {}: {error}", child.generation.display()));
        }
    }

    /// Who was reaped that is no child of the session.
    pub(super) fn take_others(&mut self) -> Vec<(u32, Exit)> {
        std::mem::take(&mut self.others)
    }

    /// Carries out one request; the reply's fields.
    pub(super) fn request(&mut self, fields: &[OsString], controller: Option<u32>) -> Vec<OsString> {
        match fields.first().and_then(|f| f.to_str()) {
            Some("spawn") => self.spawn(&fields[1..]),
            Some("kill") => self.kill(&fields[1..], controller),
            Some("bury") => {
                self.wait_for_end();
                self.kill(&fields[1..], controller)
            }
            Some("child") => self.describe(),
            _ => vec!["failed".into(), "unknown request".into()],
        }
    }

    /// Fields: generation, its folder, the most processes and bytes of memory it may use (`-`: any), cwd, number of
    /// arguments, arguments, `NAME=value` …
    fn spawn(&mut self, fields: &[OsString]) -> Vec<OsString> {
        if self.any_alive() {
            return vec!["failed".into(), "another child of this session is alive".into()];
        }
        let Some((generation, dir, caps, mut spec)) = parse_spawn(fields) else {
            return vec!["failed".into(), "the start request is not complete".into()];
        };
        spec.scope = match scopes::make(&self.session, &generation, &dir, &caps) {
            Ok(scope) => scope,
            Err(why) => return vec!["failed".into(), why.into()],
        };
        match start(&mut spec, &dir, &caps) {
            Ok(started) => {
                let identity = started.identity().ok();
                let reply = [started.pid.to_string(), started.start_ticks.to_string()];
                self.last = Some(Child { generation, dir, started, identity, exit: None, killed: 0 });
                crate::crash::point(crate::crash::IN_KEEPER);
                ["started".to_owned()].into_iter().chain(reply).map(OsString::from).collect()
            }
            Err(error) => vec!["failed".into(), report(&error).into()],
        }
    }

    /// Fields: generation, its folder; pid, start time and boot of its child, where the controller knows them.
    fn kill(&mut self, fields: &[OsString], controller: Option<u32>) -> Vec<OsString> {
        let me = &self.dir;
        let keep = |pid: u32| Some(pid) == controller || is_other_keeper(pid, me) || is_lab(pid);
        let own = self.last.as_ref().filter(|c| fields.first() == Some(&c.generation));
        // What another keeper started and left to init may have got away from us.
        let all_ours = own.is_some();
        let roots: Vec<Identity> =
            own.and_then(|c| c.identity.clone()).or_else(|| named(fields)).into_iter().collect();
        let scope = fields.get(1).and_then(|dir| scopes::of(Path::new(dir)));
        let plan = KillPlan {
            roots: &roots,
            marker: Some((OsStr::new("OSTLER_SESSION"), &self.session)),
            scope: scope.as_ref(),
            own_children: true,
            keep: &keep,
            deadline: Instant::now() + KILL,
        };
        let lived = self.any_alive();
        if crate::crash::kills_do_nothing() {
            let left = roots.first().map(|root| root.pid.to_string()).unwrap_or_default();
            return ["killed", "0", "0", "unknown", &left, ""].map(OsString::from).to_vec();
        }
        let killed = match kill_tree(&plan) {
            Ok(killed) => killed,
            Err(error) => return vec!["failed".into(), error.to_string().into()],
        };
        let met = scope.as_ref().map(Scope::met).unwrap_or_default();
        if let Some(scope) = &scope {
            // Whoever is left in it keeps it.
            scope.remove();
        }
        for (pid, exit) in &killed.reaped {
            self.died(*pid, *exit);
        }
        let mut all = killed.killed;
        let mut exit = None;
        if let Some(child) = &mut self.last {
            let itself = lived && child.exit == Some(Exit::Signal(SIGKILL));
            child.killed += killed.killed.saturating_sub(usize::from(itself));
            (all, exit) = (child.killed, child.exit);
        }
        let proven = killed.left.is_empty() && (all_ours && killed.proven || killed.emptied);
        let left: Vec<String> = killed.left.iter().map(u32::to_string).collect();
        vec![
            "killed".into(),
            all.to_string().into(),
            u8::from(proven).to_string().into(),
            exit_words(exit).into(),
            left.join(" ").into(),
            scopes::words(met).into(),
        ]
    }

    /// A child whose `alive` lock is free is dead or in the middle of its exit: it is given a moment to finish that,
    /// so that its own status is not SIGKILL.
    fn wait_for_end(&mut self) {
        let Some(child) = self.last.as_ref().filter(|c| c.exit.is_none()) else { return };
        // When even that fails, the kill decides.
        let _ = child.started.pidfd.wait(Instant::now() + END);
        for (pid, exit) in ostler_os::reap::reap_all().unwrap_or_default() {
            self.died(pid, exit);
        }
    }

    /// Which child this keeper is the parent of.
    fn describe(&self) -> Vec<OsString> {
        let Some(child) = &self.last else { return vec!["none".into()] };
        vec![
            "child".into(),
            child.generation.clone(),
            child.started.pid.to_string().into(),
            child.started.start_ticks.to_string().into(),
            exit_words(child.exit).into(),
        ]
    }
}

/// `code N`, `signal N`, or `unknown`: also the contents of `gen/N/exit`.
fn exit_words(exit: Option<Exit>) -> String {
    match exit {
        Some(Exit::Code(code)) => format!("code {code}"),
        Some(Exit::Signal(signal)) => format!("signal {signal}"),
        None => "unknown".to_owned(),
    }
}

/// The child that a kill is about.
fn named(fields: &[OsString]) -> Option<Identity> {
    let [_, _, pid, ticks, boot_id] = fields else { return None };
    let number = |text: &OsString| text.to_str()?.parse::<u64>().ok();
    let pid = u32::try_from(number(pid)?).ok()?;
    Some(Identity { pid, start_ticks: number(ticks)?, boot_id: boot_id.to_str()?.to_owned() })
}

/// Starts it in its scope. Where the machine lets a group be made and nobody be put in, it starts without, unless it
/// is to be held to something.
fn start(spec: &mut ChildSpec, dir: &Path, caps: &Caps) -> Result<Started, SpawnError> {
    let started = match spawn_child(spec) {
        Err(SpawnError::Scope { .. } | SpawnError::Path(_)) if spec.scope.is_some() && caps.is_none() => {
            let scope = spec.scope.take();
            scope.iter().for_each(|scope| scopes::forget(dir, scope));
            spawn_child(spec)
        }
        started => started,
    };
    match (&started, &mut spec.scope) {
        (Ok(_), Some(scope)) => scopes::joined(dir, scope),
        (Err(_), Some(scope)) => scopes::forget(dir, scope),
        (_, None) => {}
    }
    started
}

fn parse_spawn(fields: &[OsString]) -> Option<(OsString, PathBuf, Caps, ChildSpec)> {
    let [generation, dir, pids, memory, cwd, count, rest @ ..] = fields else { return None };
    let caps = Caps { pids: limit(pids)?, memory: limit(memory)? };
    let count: usize = count.to_str()?.parse().ok()?;
    let (argv, env) = rest.split_at_checked(count)?;
    let dir = PathBuf::from(dir);
    let spec = ChildSpec {
        argv: argv.to_vec(),
        env: env.iter().map(|e| split_variable(e)).collect::<Option<_>>()?,
        cwd: cwd.into(),
        stdin_fifo: dir.join("in"),
        stdout_append: dir.join("out"),
        stderr: dir.join("err"),
        alive: dir.join("alive"),
        umask: 0o022,
        oom_score_adj: Some(OOM),
        scope: None,
    };
    Some((generation.clone(), dir, caps, spec))
}

/// A number, or `-` for none.
fn limit<T: std::str::FromStr>(field: &OsStr) -> Option<Option<T>> {
    if field == "-" { Some(None) } else { field.to_str()?.parse().ok().map(Some) }
}

fn split_variable(text: &OsStr) -> Option<(OsString, OsString)> {
    let bytes = text.as_encoded_bytes();
    let at = bytes.iter().position(|b| *b == b'=')?;
    Some((ostler_os::text::os_string(&bytes[..at]), ostler_os::text::os_string(&bytes[at + 1..])))
}

/// A session that was started from inside this one has a keeper of its own below us, and lives on. It is believed
/// when it names another session folder whose keeper lock it holds.
fn is_other_keeper(pid: u32, mine: &Path) -> bool {
    let Ok(Some(words)) = process::command_line(pid) else { return false };
    let [_, verb, _, _, dir, ..] = words.as_slice() else { return false };
    if verb != "__keeper" || Path::new(dir) == mine {
        return false;
    }
    is_held_by(pid, &Path::new(dir).join("keeper.lock"))
}

/// The lab that one session's controller started serves the other sessions of its home too, and lives on. It is
/// believed when it holds the lock of a lab.
fn is_lab(pid: u32) -> bool {
    let Ok(Some(words)) = process::command_line(pid) else { return false };
    let [_, verb, home, ..] = words.as_slice() else { return false };
    verb == "__lab" && is_held_by(pid, &Path::new(home).join("lab").join("lock"))
}

/// The lock is held, and its holder noted this pid.
fn is_held_by(pid: u32, lock: &Path) -> bool {
    let noted = ostler_os::lockfile::note(lock).is_ok_and(|note| note == pid.to_string().as_bytes());
    noted && ostler_os::lockfile::try_lock_shared(lock).is_ok_and(|free| free.is_none())
}

fn report(error: &SpawnError) -> String {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}
