//! What forks cost beside sessions that begin from nothing: one base and eight forks against eight sessions that are told
//! the same, with the real `claude` behind a lab. Prints a table in Markdown.
//!
//!     cargo build -p ostler && cargo run -p ostler --example forks -- target/claude/2.1.332/claude …
//!
//! *cold* sessions meet a cache that holds nothing; *warm* ones run right behind each other, so that they read what all
//! sessions of a directory share (tools, system prompt).
#![expect(clippy::unwrap_used, reason = "what can't be measured ends the example, and the panic says where")]
#![expect(clippy::print_stdout, reason = "the table is what it is for")]

use claude_lab::blocking::LabThread;
use claude_lab::{LabConfig, Script};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

const MODEL: &str = "claude-haiku-4-5";
const QUESTIONS: usize = 8;

/// What one way came to, by the lab's own bill.
#[derive(Default)]
struct Sum {
    requests: usize,
    read: u64,
    written: u64,
    usd: f64,
}

impl Sum {
    fn add(&mut self, lab: &LabThread) {
        for charge in lab.bill().per_request {
            self.requests += 1;
            self.read += charge.tokens.cache_read;
            self.written += charge.tokens.cache_write_5m + charge.tokens.cache_write_1h;
            self.usd += charge.usd;
        }
    }

    fn row(&self, version: &str, name: &str, beside: f64) -> String {
        let share = self.usd / beside * 100.0;
        format!(
            "| {version} | {name} | {} | {} | {} | ${:.6} | {share:.0} % |",
            self.requests, self.read, self.written, self.usd
        )
    }
}

/// A home with its own lab.
struct Stage {
    folder: tempfile::TempDir,
    lab: LabThread,
    claude: PathBuf,
    ostler: PathBuf,
}

impl Stage {
    fn new(claude: &Path) -> Self {
        let script = Script::parse("otherwise\n  say Understood.\n").unwrap();
        let lab = LabThread::start(LabConfig { scripts: vec![script], ..LabConfig::default() }).unwrap();
        let folder = tempfile::tempdir().unwrap();
        for name in ["user", "work", "tmp"] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
        }
        let own = std::env::current_exe().unwrap();
        let ostler = own.parent().unwrap().parent().unwrap().join("ostler");
        assert!(ostler.is_file(), "{} is missing: cargo build -p ostler", ostler.display());
        Self { folder, lab, claude: claude.canonicalize().unwrap(), ostler }
    }

    fn run(&self, words: &[&str]) -> Value {
        let at = |name: &str| self.folder.path().join(name);
        let mut command = Command::new(&self.ostler);
        command.args(words).arg("--json").env_clear().current_dir(at("work"));
        command.env("PATH", std::env::var_os("PATH").unwrap()).env("HOME", at("user"));
        command.env("TMPDIR", at("tmp")).env("OSTLER_HOME", at("home"));
        command.env("ANTHROPIC_API_KEY", "lab").env("ANTHROPIC_BASE_URL", self.lab.base_url());
        let output = command.output().unwrap();
        assert!(output.status.success(), "{words:?}\n{}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).unwrap();
        let last = text.lines().rfind(|line| !line.is_empty()).unwrap();
        serde_json::from_str(&text).or_else(|_| serde_json::from_str(last)).unwrap()
    }

    fn creating(&self, verb: &[&str], more: &[&str]) -> Value {
        let claude = format!("--claude={}", self.claude.display());
        let model = format!("--model={MODEL}");
        let quiet =
            ["CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "DISABLE_TELEMETRY", "DISABLE_ERROR_REPORTING"];
        let quiet = quiet.map(|name| format!("--env={name}=1"));
        let mut words = verb.to_vec();
        words.extend([claude.as_str(), model.as_str()]);
        words.extend(quiet.iter().map(String::as_str));
        words.extend(more);
        self.run(&words)
    }
}

fn main() {
    let brief: String = (0..600).map(|n| format!("Rule {n}: what is in place {n} stays there.\n")).collect();
    let questions: Vec<String> = (1..=QUESTIONS).map(|n| format!("What does rule {n} say?")).collect();
    let mut out = String::from(
        "| claude | | requests | tokens read | tokens written | dollars | beside cold |\n|---|---|---|---|---|---|---|\n",
    );
    for claude in std::env::args().skip(1).map(PathBuf::from) {
        let mut cold = Sum::default();
        for question in &questions {
            let stage = Stage::new(&claude);
            stage.creating(&["run"], &[&format!("{brief}\n{question}")]);
            cold.add(&stage.lab);
        }
        let (stage, mut warm) = (Stage::new(&claude), Sum::default());
        for question in &questions {
            stage.creating(&["run"], &[&format!("{brief}\n{question}")]);
        }
        warm.add(&stage.lab);
        let (stage, mut forks) = (Stage::new(&claude), Sum::default());
        let base = stage.creating(&["base", "train", "rules"], &[&brief]);
        let mut words = vec!["fork", "rules", "--wait"];
        words.extend(questions.iter().map(String::as_str));
        let done = stage.run(&words);
        assert_eq!(done["hit"], QUESTIONS, "{done}");
        forks.add(&stage.lab);
        let version = base["version"].as_str().unwrap();
        let rows = [
            cold.row(version, "8 sessions, cold", cold.usd),
            warm.row(version, "8 sessions, one behind the other", cold.usd),
            forks.row(version, "1 base and 8 forks", cold.usd),
        ];
        out.push_str(&rows.join("\n"));
        out.push('\n');
    }
    print!("{out}");
}
