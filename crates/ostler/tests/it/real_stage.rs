//! The real `claude` as a session of ostler, behind a lab of the test's own; and what it must have cost.

use super::engine::stable::{Session, Stable, kill, until};
use claude_lab::blocking::LabThread;
use claude_lab::{Charge, LabConfig, Script};
use ostler_controller::client::{Choice, Decider, Verdict};
use ostler_core::argv::Platform;
use ostler_core::ctl::{Decision, Event, Line};
use ostler_core::env::{self, capture};
use ostler_core::ids::{DeliveryId, GenerationNo, SessionId};
use ostler_core::rows::{Permission, SpendMethod, Tokens};
use ostler_core::spec::{LaunchSpec, Launcher, PinnedFile, Resolved};
use ostler_store::journal::read_range;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::TempDir;
use uuid::Uuid;

/// A model whose price both versions know.
pub(crate) const MODEL: &str = "claude-haiku-4-5";

/// One test for each version that CI runs.
macro_rules! on_both_versions {
    ($($name:ident)*) => {
        mod v2_1_332 { $( #[test] fn $name() { super::$name("2.1.332"); } )* }
        mod v2_1_200 { $( #[test] fn $name() { super::$name("2.1.200"); } )* }
    };
}
pub(crate) use on_both_versions;

/// 2.1.206 and later have receipts, lists of background tasks, and totals that a resume restores.
pub(crate) fn is_new(version: &str) -> bool {
    version == "2.1.332"
}

/// The executable of a version.
pub(crate) fn claude(version: &str) -> PathBuf {
    let folder = std::env::var_os("OSTLER_TEST_CLAUDE")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/claude"), PathBuf::from);
    let path = folder.join(version).join("claude");
    assert!(path.is_file(), "{} is missing: run scripts/get-claude {version}", path.display());
    path.canonicalize().unwrap()
}

/// What the store must say about money at the end of a test.
pub(crate) enum Paid {
    /// Tokens of every class and dollars are the lab's bill.
    Exactly,
    /// Tokens are the bill's, by the messages themselves; the child could not say, or does not say, all of its
    /// dollars, so these are a part of the bill at most. The text is the reason.
    TokensOnly(&'static str),
    /// The input is the bill's. Of an answer that broke off, the CLI counts as output what it took to have received
    /// instead of what the API had said; dollars are the list price of that. The text is the reason.
    OutputGuessed(&'static str),
    /// The bill without the charges that this CLI never shows to anybody. The text is the reason.
    Without(&'static str, fn(&Charge) -> bool),
}

/// A lab, a home, and one version of the CLI.
pub(crate) struct Stage {
    pub(crate) lab: LabThread,
    pub(crate) stable: Stable,
    pub(crate) version: &'static str,
}

impl Stage {
    pub(crate) fn new(version: &'static str, script: &str) -> Self {
        Self::with(version, script, &[])
    }

    /// The same, with more variables for keepers and controllers.
    pub(crate) fn with(version: &'static str, script: &str, more: &[(&str, &str)]) -> Self {
        let scripts = vec![Script::parse(script).unwrap()];
        let lab = LabThread::start(LabConfig { scripts, ..LabConfig::default() }).unwrap();
        let more = [&[("ANTHROPIC_API_KEY", "lab")], more].concat();
        Self { lab, stable: Stable::with(&more), version }
    }

    /// The same in a folder that the caller has prepared.
    pub(crate) fn in_folder(version: &'static str, script: &str, folder: TempDir) -> Self {
        let scripts = vec![Script::parse(script).unwrap()];
        let lab = LabThread::start(LabConfig { scripts, ..LabConfig::default() }).unwrap();
        let stable = Stable::in_folder_with(folder, &[("ANTHROPIC_API_KEY", "lab")]);
        Self { lab, stable, version }
    }

    pub(crate) fn session(&self) -> Session<'_> {
        self.session_of(&[], |_| {})
    }

    /// With more variables for the child, and another launch spec.
    pub(crate) fn session_of(
        &self,
        more: &[(&str, &str)],
        shape: impl FnOnce(&mut LaunchSpec),
    ) -> Session<'_> {
        let id = SessionId(Uuid::new_v4());
        let mut spec = self.spec(more);
        shape(&mut spec);
        self.stable.session_with(id, spec, self.stable.path("work"))
    }

    fn spec(&self, more: &[(&str, &str)]) -> LaunchSpec {
        let path = claude(self.version).to_str().unwrap().to_owned();
        let program = PinnedFile { path: path.clone(), sha256: "0".repeat(64), size: 0, mtime_ns: 0 };
        let resolved = Resolved {
            env: vec![],
            program,
            args: vec![],
            scripts: vec![],
            version: self.version.to_owned(),
            agents_by_file: is_new(self.version),
        };
        let config = self.stable.path("user/config");
        fs::create_dir_all(&config).unwrap();
        let own = [
            ("ANTHROPIC_BASE_URL".to_owned(), self.lab.base_url()),
            ("CLAUDE_CONFIG_DIR".to_owned(), config.to_str().unwrap().to_owned()),
        ];
        // The updater is switched off by ostler itself.
        let switches =
            ["CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "DISABLE_TELEMETRY", "DISABLE_ERROR_REPORTING"];
        let switches = switches.map(|name| (name.to_owned(), "1".to_owned()));
        let more = more.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let set = self.stable.surroundings().chain(own).chain(switches).chain(more).collect();
        // The key is a secret: the spec has its name only, its value is in the environment of the controller.
        let parent: Vec<(OsString, OsString)> = vec![("ANTHROPIC_API_KEY".into(), "lab".into())];
        let choice = env::Choice { credential: None, keep: vec![], set, secrets: vec![] };
        let environment = capture(&parent, &choice, Platform::Unix).unwrap();
        let cwd = fs::canonicalize(self.stable.path("work")).unwrap();
        let launcher = Launcher { command: vec![path], resolved };
        LaunchSpec::new(launcher, MODEL, cwd.to_str().unwrap(), environment)
    }

    /// Nothing is left, the journals say what the store says, and the store says what the lab charged.
    #[track_caller]
    pub(crate) fn finish(self, paid: &Paid) {
        self.stable.is_left();
        self.check_bill(paid);
        self.stable.finish();
    }

    #[track_caller]
    fn check_bill(&self, paid: &Paid) {
        let not_counted: fn(&Charge) -> bool = match paid {
            Paid::Without(_, which) => *which,
            _ => |_| false,
        };
        let (not_counted, mut owed): (Vec<Charge>, Vec<Charge>) =
            self.lab.bill().per_request.into_iter().partition(not_counted);
        if let Paid::Without(why, _) = paid {
            assert_ne!(not_counted, [], "an exception that excepts nothing: {why}");
        }
        for id in self.stable.ostler.home().sessions_on_disk().unwrap() {
            let rows = self.stable.ostler.db().load_projection(id).unwrap();
            let mut names: BTreeSet<String> =
                rows.generations.iter().map(|g| g.conversation.to_string()).collect();
            names.insert(self.stable.ostler.db().session(id).unwrap().unwrap().conversation.to_string());
            let (own, others) = owed.into_iter().partition(|c| names.contains(&c.session_id));
            owed = others;
            let charged = by_model(own);
            let mut spent: BTreeMap<String, (Tokens, f64)> = BTreeMap::new();
            let mut estimated = false;
            for row in rows.spend {
                estimated |= row.method == SpendMethod::Estimated || row.usd.is_none();
                let sum = spent.entry(row.model).or_default();
                *sum = (sum.0.plus(row.tokens), sum.1 + row.usd.unwrap_or(0.0));
            }
            let tokens = |of: &BTreeMap<String, (Tokens, f64)>| -> Vec<(String, Tokens)> {
                of.iter().map(|(model, (tokens, _))| (model.clone(), *tokens)).collect()
            };
            let mut said = tokens(&spent);
            if let Paid::OutputGuessed(why) = paid {
                for ((_, of), (charged, _)) in said.iter_mut().zip(charged.values()) {
                    assert!(of.output > charged.output, "an exception that excepts nothing: {why}");
                    of.output = charged.output;
                }
            }
            assert_eq!(said, tokens(&charged), "tokens of the ledger, and of the lab's bill");
            for (model, (tokens, usd)) in &spent {
                let (billed, bill) = charged[model];
                let list = claude_lab::price::of_model(model).unwrap().usual;
                let guessed = (tokens.output - billed.output) as f64 * list.output / 1e6;
                match paid {
                    Paid::TokensOnly(why) => assert!(estimated && *usd < bill + 1e-9, "{usd} {bill}: {why}"),
                    _ => assert!(
                        !estimated && (usd - bill - guessed).abs() < 1e-9,
                        "{model}: {usd}, charged {bill}"
                    ),
                }
            }
        }
        assert_eq!(owed, [], "charges of nobody's conversation");
    }

    /// The text blocks and tool results that the API was sent last, as one text.
    pub(crate) fn last_request(&self) -> String {
        self.lab.requests().last().unwrap().json()["messages"].to_string()
    }

    #[track_caller]
    pub(crate) fn asked(&self, text: &str) {
        let found = self.lab.wait_for_request(|r| r.text.contains(text), Duration::from_secs(40));
        assert!(found.is_some(), "the API was never asked {text:?}");
    }

    pub(crate) fn decide(&self, session: &Session<'_>, question: &Permission, decision: Decision, why: &str) {
        let choice = match decision {
            Decision::Allow => Choice::allow(),
            Decision::Deny => Choice::deny((!why.is_empty()).then(|| why.to_owned())),
        };
        self.choose(session, question, choice);
    }

    pub(crate) fn choose(&self, session: &Session<'_>, question: &Permission, choice: Choice) {
        let verdict = Verdict {
            generation: question.generation,
            request_id: question.request_id.clone(),
            choice,
            by: "test".to_owned(),
            decider: Decider::This,
            at: super::engine::stable::now(),
        };
        self.stable.ostler.decide(session.id, &verdict).unwrap();
    }
}

/// What was charged, model by model.
pub(crate) fn by_model(charges: Vec<Charge>) -> BTreeMap<String, (Tokens, f64)> {
    let mut sums: BTreeMap<String, (Tokens, f64)> = BTreeMap::new();
    for charge in charges {
        let t = charge.tokens;
        let tokens = Tokens {
            input: t.input,
            output: t.output,
            cache_read: t.cache_read,
            cache_write_5m: t.cache_write_5m,
            cache_write_1h: t.cache_write_1h,
        };
        let sum = sums.entry(charge.model).or_default();
        *sum = (sum.0.plus(tokens), sum.1 + charge.usd);
    }
    sums
}

/// A line of a child's.
pub(crate) struct Said {
    /// The byte behind its newline.
    pub(crate) end: u64,
    pub(crate) json: serde_json::Value,
}

impl Said {
    pub(crate) fn is(&self, kind: &str) -> bool {
        self.json["type"] == kind
    }
}

/// Everything that a generation has said so far.
pub(crate) fn said(session: &Session<'_>, no: GenerationNo) -> Vec<Said> {
    let bytes = fs::read(session.generation(no).out()).unwrap_or_default();
    let mut end = 0;
    let mut all = Vec::new();
    for line in bytes.split_inclusive(|b| *b == b'\n').filter(|line| line.ends_with(b"\n")) {
        end += line.len() as u64;
        all.push(Said { end, json: serde_json::from_slice(line).unwrap() });
    }
    all
}

/// Waits for a line of a generation's.
#[track_caller]
pub(crate) fn says(
    session: &Session<'_>,
    no: GenerationNo,
    what: &str,
    wanted: impl Fn(&serde_json::Value) -> bool,
) {
    until(what, || said(session, no).iter().any(|line| wanted(&line.json)).then_some(()));
}

/// Waits until a word of the answer has been streamed.
#[track_caller]
pub(crate) fn streams(session: &Session<'_>, no: GenerationNo, word: &str) {
    says(session, no, word, |line| {
        line["event"]["delta"]["text"].as_str().is_some_and(|text| text.contains(word))
    });
}

/// Waits until a tool was called.
#[track_caller]
pub(crate) fn calls(session: &Session<'_>, no: GenerationNo, tool: &str) {
    says(session, no, tool, |line| {
        let blocks = line["message"]["content"].as_array().filter(|_| line["type"] == "assistant");
        blocks.is_some_and(|blocks| blocks.iter().any(|b| b["type"] == "tool_use" && b["name"] == tool))
    });
}

/// Waits until a delivery was written to a generation and the child has taken it out of its pipe.
#[track_caller]
pub(crate) fn is_read(session: &Session<'_>, no: GenerationNo, delivery: DeliveryId) {
    let write = session.row(no, "the delivery's write", |ev| match ev {
        Event::Begin { write, line: Line::User { delivery: it }, .. } if *it == delivery => Some(*write),
        _ => None,
    });
    session.row(no, "its end", |ev| matches!(ev, Event::Done { write: it } if *it == write).then_some(()));
    let pipe = ostler_os::fifo::open_writer(&session.generation(no).in_()).unwrap();
    until("the child to read it", || (pipe.pending().unwrap() == 0).then_some(()));
}

/// The answer that a delivery got.
pub(crate) fn answer_to(session: &Session<'_>, id: DeliveryId) -> String {
    let row = session.delivery(id);
    let (start, end) = row.answer.unwrap_or_else(|| panic!("no answer: {row:?}"));
    let bytes = read_range(&session.generation(row.generation), start, end).unwrap();
    let json: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
    json["result"].as_str().unwrap_or_default().to_owned()
}

/// Runs until `go` is there in the working directory, and says by `begun` that it runs.
pub(crate) const WAITING: &str = "touch begun; until test -e go; do sleep 0.05; done; echo gone";

/// Waits until [`WAITING`] runs.
#[track_caller]
pub(crate) fn runs(session: &Session<'_>) {
    let begun = session.stable.path("work/begun");
    until("the tool to run", || begun.exists().then_some(()));
}

/// Kills the holder of a session's lock and waits until another controller has adopted the child.
#[track_caller]
pub(crate) fn another_controller(session: &Session<'_>, no: GenerationNo, victim: u32) {
    let adopted = |rows: &[ostler_core::ctl::Row]| {
        rows.iter().filter(|row| matches!(row.ev, Event::Adopted { .. })).count()
    };
    let before = adopted(&session.rows(no));
    kill(victim);
    until("an adoption", || (adopted(&session.rows(no)) > before).then_some(()));
}
