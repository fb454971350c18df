//! `ostler show`.

use super::face::Face;
use super::{found, ls};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::json::{ShowDocument, Shown};
use crate::view::{self, Paint, Style, clock, dollars, one_line, tokens};
use clap::Args;
use ostler_controller::client::Ostler;
use ostler_core::ids::{DeliveryId, SessionId};
use ostler_core::record::State;
use ostler_core::rows::{CacheVerdict, Turn};
use ostler_core::spec::LaunchSpec;
use ostler_store::SessionFile;
use ostler_store::db::SessionRow;

/// Shows everything that is known of a session.
///
/// Its state, its process, turns, messages, questions, what it cost, and where its files are.
///
/// Examples:
///
///     ostler show 4f3a2b1c
///     ostler show nightly --json
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(super) struct ShowArgs {
    /// The session
    session: String,
}

pub(super) fn show(args: &ShowArgs, face: &Face) -> Result<Exit, Failure> {
    let ostler = face.open()?;
    let row = found::session(&ostler, &args.session)?;
    let shown = gather(&ostler, row)?;
    if face.json {
        face.document(&ShowDocument::of(&shown))?;
    } else {
        face.print(&page(face, &ostler, &shown))?;
    }
    Ok(Exit::Completed)
}

fn gather(ostler: &Ostler, row: SessionRow) -> Result<Shown, Failure> {
    let dir = ostler.home().session(row.id);
    let file = SessionFile::read(&dir)?;
    Ok(Shown {
        spec: LaunchSpec::from_json(file.spec.get())?,
        status: ostler.status(row.id)?,
        rows: ostler.db().load_projection(row.id)?,
        deliveries: ostler.db().deliveries(row.id)?,
        permissions: ostler.db().permissions(row.id)?,
        summary: ostler.summary(row.id)?,
        base: ostler.db().base(row.id)?.map(|base| super::base::view(ostler, base)).transpose()?,
        causes: causes(ostler, row.id)?,
        listed: ls::listed(ostler, row)?,
        dir,
    })
}

/// Why a fork did not find the whole prefix; nothing for one that did.
fn causes(ostler: &Ostler, session: SessionId) -> Result<Vec<String>, Failure> {
    let seen = ostler.summary(session)?.cache;
    let missed = seen.is_some_and(|seen| seen.verdict() != CacheVerdict::Hit);
    Ok(if missed { ostler.miss_causes(session)? } else { Vec::new() })
}

/// How many of the newest turns are listed.
const TURNS: usize = 20;
/// Columns of what a message says.
const SAYS: usize = 60;

fn page(face: &Face, ostler: &Ostler, s: &Shown) -> String {
    let mut page = Page { paint: face.paint, out: String::new() };
    page.row("session", &s.listed.row.id.to_string());
    if let Some(label) = &s.listed.row.label {
        page.row("label", &one_line(label));
    }
    page.row("state", &state(&s.listed.row));
    page.row("liveness", if s.listed.row.record.online() { "online" } else { "offline" });
    page.row("process", &process(s));
    page.row("directory", &one_line(&s.listed.row.cwd));
    let resolved = &s.spec.launcher.resolved;
    page.row("claude", &format!("{} at {}", one_line(&resolved.version), one_line(&resolved.program.path)));
    page.row("model", &one_line(&s.spec.model));
    let who =
        if s.spec.lab.is_some() { "the lab (nobody pays)" } else { s.spec.environment.credential.word() };
    page.row("credential", who);
    page.row("created", &clock(s.listed.row.created_at));
    let t = s.summary.tokens;
    let written = t.cache_write_5m.saturating_add(t.cache_write_1h);
    page.row(
        "tokens",
        &format!(
            "{} in, {} out; cache {} read, {} written",
            tokens(t.input),
            tokens(t.output),
            tokens(t.cache_read),
            tokens(written)
        ),
    );
    page.fork(s);
    page.row("cost", &dollars(s.summary.usd));
    let open = s.listed.questions;
    if open > 0 {
        page.row(
            "asks",
            &format!("{open} (`ostler pending {}` shows them)", found::short(ostler, s.listed.row.id)),
        );
    }
    page.row("folder", &s.dir.path.display().to_string());
    page.row("go on", &found::go_on(face, ostler, s.listed.row.id));
    page.turns(&s.rows.turns);
    page.deliveries(s, |id| found::said(ostler, id));
    page.out
}

struct Page {
    paint: Paint,
    out: String,
}

impl Page {
    fn row(&mut self, name: &str, text: &str) {
        let name = self.paint.apply(Style::Dim, &format!("{name:<11}"));
        self.out.push_str(&format!("{name} {text}\n"));
    }

    fn fork(&mut self, s: &Shown) {
        if let Some(base) = &s.base {
            self.row("base", &format!("{}, {}", one_line(&base.base.name), base.base.state()));
        }
        let Some(fork) = &s.spec.fork else { return };
        self.row("fork of", &fork.session.to_string());
        for (name, fields) in [("differs", &fork.differs), ("forced", &fork.forced)] {
            if !fields.is_empty() {
                self.row(name, &fields.join(", "));
            }
        }
        let expected = format!("{} tokens to be read", tokens(fork.expected_read));
        self.row("cache", &s.summary.cache.map_or(expected, view::cache_line));
        if !s.causes.is_empty() {
            self.row("because", &one_line(&s.causes.join("; ")));
        }
    }

    fn turns(&mut self, turns: &[Turn]) {
        if turns.is_empty() {
            return;
        }
        self.out.push_str("\nturns\n");
        let hidden = turns.len().saturating_sub(TURNS);
        if hidden > 0 {
            self.out.push_str(&format!("  {hidden} earlier ones (--json has all)\n"));
        }
        for turn in &turns[hidden..] {
            let (style, outcome) = match turn.outcome {
                None => (Style::Good, "running".to_owned()),
                Some(outcome) => outcome_words(outcome, turn.failure.as_deref()),
            };
            let took = turn.settled_at.map_or_else(String::new, |at| {
                format!("  {}", view::duration(u64::try_from(at.since(turn.started_at)).unwrap_or(0)))
            });
            let outcome = self.paint.apply(style, &outcome);
            let rounds =
                if turn.rounds == 1 { "1 round".to_owned() } else { format!("{} rounds", turn.rounds) };
            let facts = format!("{}  {rounds}{took}", clock(turn.started_at));
            self.out.push_str(&format!(
                "  {:>3}  {outcome}  {}\n",
                turn.no,
                self.paint.apply(Style::Dim, &facts)
            ));
        }
    }

    fn deliveries(&mut self, s: &Shown, said: impl Fn(DeliveryId) -> Option<String>) {
        let waiting: Vec<_> = s.deliveries.iter().filter(|d| !d.state.is_final()).collect();
        if waiting.is_empty() {
            return;
        }
        self.out.push_str("\nmessages under way\n");
        for d in waiting {
            let state = format!("{:?}", d.state).to_lowercase();
            let own = if d.continues.is_some() { "  by ostler itself, to go on" } else { "" };
            let says = said(d.id).map(|text| format!("  {}", view::clip(&one_line(&text), SAYS)));
            let says = says.unwrap_or_default();
            self.out.push_str(&format!("  {}  {state}  {}{own}{says}\n", d.id, view::bytes(d.body_len)));
        }
    }
}

fn outcome_words(outcome: ostler_core::rows::Outcome, failure: Option<&str>) -> (Style, String) {
    use ostler_core::rows::Outcome as O;
    let with = |word: &str| failure.map_or_else(|| word.to_owned(), |f| format!("{word}: {}", one_line(f)));
    match outcome {
        O::Completed => (Style::Good, "completed".to_owned()),
        O::Interrupted => (Style::Warn, "interrupted".to_owned()),
        O::Failed => (Style::Bad, with("failed")),
        O::Unfinished => (Style::Bad, with("unfinished")),
    }
}

fn state(row: &SessionRow) -> String {
    let mut text = row.record.state.word().to_owned();
    match &row.record.state {
        State::Error { reason } => text = format!("{text}: {}", one_line(reason)),
        State::Declared { kind, note, .. } => {
            let note = note.as_deref().map(|n| format!(": {}", one_line(n))).unwrap_or_default();
            text = format!("{text} {}{note}", kind.word());
        }
        _ => {}
    }
    for (flag, word) in [(row.record.stopped, "stopped"), (row.record.closed, "closed")] {
        if flag {
            text = format!("{text}, {word}");
        }
    }
    text
}

fn process(s: &Shown) -> String {
    let mut text = s.status.process.clone();
    if let Some(pid) = s.status.pid {
        text.push_str(&format!(", pid {pid}"));
    }
    if s.status.generation > 0 {
        text.push_str(&format!(", generation {}", s.status.generation));
    }
    if let Some(activity) = &s.status.activity {
        text.push_str(&format!(", {}", one_line(activity)));
    }
    if let Some(parked) = &s.status.parked {
        text.push_str(&format!("; parked: {}", one_line(parked)));
    }
    text
}
