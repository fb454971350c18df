//! Bases and forks of the real `claude`, made through the binary, behind a lab of the test's own; and what they cost.

use super::desk::{Desk, Ran};
use super::desk_sessions::until;
use super::real_stage::{MODEL, by_model, claude};
use claude_lab::blocking::LabThread;
use claude_lab::{LabConfig, Script};
use ostler_core::ids::SessionId;
use ostler_core::rows::{SpendMethod, Tokens};
use ostler_os::process::PidFd;
use ostler_os::{lockfile, tree};
use ostler_store::{Db, Durability};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

/// Whose processes these are: set for every session of a stage.
const MARK: &str = "TEST_FORKS";

/// A desk, a lab, and one version of the CLI.
pub(crate) struct ForkStage {
    pub(crate) desk: Desk,
    pub(crate) lab: LabThread,
    pub(crate) version: &'static str,
}

impl ForkStage {
    pub(crate) fn new(version: &'static str, script: &str) -> Self {
        let scripts = vec![Script::parse(script).unwrap()];
        let lab = LabThread::start(LabConfig { scripts, ..LabConfig::default() }).unwrap();
        Self { desk: Desk::new(), lab, version }
    }

    /// The command, with whoever pays in its environment.
    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = self.desk.command(words);
        command.env("ANTHROPIC_API_KEY", "lab").env("ANTHROPIC_BASE_URL", self.lab.base_url());
        command
    }

    pub(crate) fn run(&self, words: &[&str]) -> Ran {
        let output = self.command(words).output().unwrap();
        let text = |bytes: Vec<u8>| self.desk.plain(&String::from_utf8(bytes).unwrap());
        Ran { status: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }

    /// A verb that creates a session, with everything that it needs.
    pub(crate) fn creating(&self, verb: &[&str], more: &[&str]) -> Vec<String> {
        let switches =
            ["CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "DISABLE_TELEMETRY", "DISABLE_ERROR_REPORTING"];
        let mut words: Vec<String> = verb.iter().map(|w| (*w).to_owned()).collect();
        words.push(format!("--claude={}", claude(self.version).display()));
        words.push(format!("--model={MODEL}"));
        words.extend(switches.map(|name| format!("--env={name}=1")));
        words.push(format!("--env={MARK}={}", self.desk.path("").display()));
        words.extend(more.iter().map(|w| (*w).to_owned()));
        words
    }

    pub(crate) fn create(&self, verb: &[&str], more: &[&str]) -> Ran {
        let words = self.creating(verb, more);
        self.run(&words.iter().map(String::as_str).collect::<Vec<_>>())
    }

    /// Trains a base; its document.
    #[track_caller]
    pub(crate) fn train(&self, name: &str, more: &[&str]) -> Value {
        self.create(&["base", "train", name, "--json"], more).exits(0).document()
    }

    /// Forks, waits, and gives the results in their order.
    #[track_caller]
    pub(crate) fn fork(&self, source: &str, more: &[&str]) -> Vec<Value> {
        let ran = self.run(&[&["fork", source, "--wait", "--json"], more].concat()).exits(0);
        ran.events().into_iter().filter(|e| e["event"] == "result").map(|e| e["result"].clone()).collect()
    }

    pub(crate) fn db(&self) -> Db {
        Db::open(&self.desk.home(), Durability::Normal).unwrap()
    }

    pub(crate) fn show(&self, session: &str) -> Value {
        self.run(&["show", session, "--json"]).exits(0).document()
    }

    /// Where the CLI keeps the transcript of a conversation.
    pub(crate) fn transcript(&self, conversation: &str) -> PathBuf {
        let projects = self.desk.path("user/.claude/projects");
        let folders = std::fs::read_dir(projects).unwrap().map(|f| f.unwrap().path());
        let name = format!("{conversation}.jsonl");
        folders.map(|f| f.join(&name)).find(|p| p.is_file()).expect("a transcript")
    }

    /// Every session has left, the store says what the journals say, and what the lab charged.
    #[track_caller]
    pub(crate) fn finish(self) {
        self.left();
        self.pays();
        drop(self.run(&["doctor", "rebuild"]).exits(0));
    }

    #[track_caller]
    pub(crate) fn left(&self) {
        for folder in std::fs::read_dir(self.desk.home().join("sessions")).unwrap() {
            let folder = folder.unwrap().path();
            for lock in ["keeper.lock", "lock"].map(|name| folder.join(name)) {
                until("keeper and controller to leave", || {
                    (!lock.exists() || lockfile::try_lock_shared(&lock).unwrap().is_some()).then_some(())
                });
            }
        }
    }

    /// Tokens and dollars of every session are the lab's bill of its conversation, and nothing is left of the bill.
    #[track_caller]
    pub(crate) fn pays(&self) {
        let db = self.db();
        let mut owed = self.lab.bill().per_request;
        for folder in std::fs::read_dir(self.desk.home().join("sessions")).unwrap() {
            let id: SessionId = folder.unwrap().file_name().to_str().unwrap().parse().unwrap();
            let rows = db.load_projection(id).unwrap();
            let names: BTreeSet<String> =
                rows.generations.iter().map(|g| g.conversation.to_string()).collect();
            let (own, others) = owed.into_iter().partition(|c| names.contains(&c.session_id));
            owed = others;
            let charged = by_model(own);
            let mut spent: BTreeMap<String, (Tokens, f64)> = BTreeMap::new();
            for row in &rows.spend {
                assert_ne!(row.method, SpendMethod::Estimated, "{row:?}");
                let sum = spent.entry(row.model.clone()).or_default();
                *sum = (sum.0.plus(row.tokens), sum.1 + row.usd.unwrap());
            }
            assert_eq!(
                spent.iter().map(|(m, (t, _))| (m.clone(), *t)).collect::<Vec<_>>(),
                charged.iter().map(|(m, (t, _))| (m.clone(), *t)).collect::<Vec<_>>(),
                "tokens of the ledger, and of the lab's bill, of {id}"
            );
            for (model, (_, usd)) in &spent {
                let bill = charged[model].1;
                assert!((usd - bill).abs() < 1e-9, "{id} {model}: {usd}, charged {bill}");
            }
        }
        assert_eq!(owed, [], "charges of nobody's conversation");
    }
}

impl Drop for ForkStage {
    /// A test that failed leaves nothing behind either.
    fn drop(&mut self) {
        let sessions = self.desk.home().join("sessions");
        for folder in std::fs::read_dir(&sessions).into_iter().flatten().flatten() {
            for lock in ["keeper.lock", "lock"].map(|name| folder.path().join(name)) {
                let held = lock.exists() && lockfile::try_lock_shared(&lock).is_ok_and(|free| free.is_none());
                let note = lockfile::note(&lock).unwrap_or_default();
                if let Some(pid) = String::from_utf8_lossy(&note).trim().parse().ok().filter(|_| held) {
                    kill(pid);
                }
            }
        }
        let value = self.desk.path("");
        for pid in tree::by_marker(OsStr::new(MARK), value.as_os_str()).unwrap_or_default() {
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

/// A number of a document.
#[track_caller]
pub(crate) fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is no number"))
}
