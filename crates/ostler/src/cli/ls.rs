//! `ostler ls`.

use super::face::{Face, now};
use super::found;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::json::{ListDocument, Listed};
use crate::view::{self, Style, clip, one_line, width};
use clap::Args;
use ostler_controller::client::Ostler;
use ostler_core::record::State;
use ostler_store::db::{ListFilter, SessionRow};

/// Lists sessions, the newest first.
///
/// Of each: its id, what it means (its record), whether a claude lives (`cold`, `starting`, `resident`, `ending`), its
/// age, label and directory. `asks` marks those with an open question; `ostler pending` shows it.
///
/// Examples:
///
///     ostler ls
///     ostler ls --state active
///     ostler ls --cwd . --limit 5 --json
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(super) struct LsArgs {
    /// Only those in this state
    #[arg(long, value_name = "STATE", value_parser = ["new", "active", "idle", "declared", "error"])]
    state: Option<String>,
    /// Only those with this label
    #[arg(long, value_name = "NAME")]
    label: Option<String>,
    /// Only those that work in this directory
    #[arg(long, value_name = "DIR")]
    cwd: Option<std::path::PathBuf>,
    /// At most so many
    #[arg(long, short = 'n', value_name = "N", default_value = "50", value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,
}

pub(super) fn ls(args: &LsArgs, face: &Face) -> Result<Exit, Failure> {
    let ostler = face.open()?;
    let cwd = args.cwd.as_ref().map(|dir| dir.canonicalize().unwrap_or_else(|_| dir.clone()));
    let filter = ListFilter {
        state: args.state.clone(),
        label: args.label.clone(),
        cwd: cwd.map(|dir| dir.to_string_lossy().into_owned()),
        stopped: None,
        closed: None,
    };
    let page = ostler.db().list_sessions(&filter, None, args.limit)?;
    let more = page.next.is_some();
    if face.json {
        let rows = page.rows.into_iter().map(|row| listed(&ostler, row)).collect::<Result<Vec<_>, _>>()?;
        face.document(&ListDocument::of(&rows, more))?;
        return Ok(Exit::Completed);
    }
    if face.quiet {
        face.print(&page.rows.iter().map(|row| format!("{}\n", row.id)).collect::<String>())?;
        return Ok(Exit::Completed);
    }
    let lines = page.rows.into_iter().map(|row| {
        let short = found::short(&ostler, row.id);
        Ok(Line::of(&listed(&ostler, row)?, short))
    });
    let shown: Vec<Line> = lines.collect::<Result<_, Failure>>()?;
    face.print(&table(face, &shown))?;
    if shown.is_empty() {
        face.remark("no sessions");
    } else if more {
        face.remark(&format!("there are more; --limit {} shows more", args.limit.saturating_mul(2)));
    }
    Ok(Exit::Completed)
}

/// What a listing says of a session besides its row.
pub(super) fn listed(ostler: &Ostler, row: SessionRow) -> Result<Listed, Failure> {
    let questions = ostler.db().pending_permissions(Some(row.id))?.len();
    Ok(Listed { process: ostler.process(row.id), questions, row })
}

struct Line {
    id: String,
    state: String,
    style: Style,
    process: String,
    age: String,
    label: String,
    cwd: String,
}

impl Line {
    fn of(listed: &Listed, id: String) -> Self {
        let row = &listed.row;
        let record = &row.record;
        let (mut state, style) = match &record.state {
            State::New => ("new".to_owned(), Style::Plain),
            State::Active => ("active".to_owned(), Style::Good),
            State::Idle => ("idle".to_owned(), Style::Plain),
            State::Declared { kind, note, .. } => {
                let note = note.as_deref().map(|n| format!(": {}", one_line(n))).unwrap_or_default();
                (format!("{}{note}", kind.word()), Style::Good)
            }
            State::Error { reason } => (format!("error: {}", one_line(reason)), Style::Bad),
        };
        match (record.closed, record.stopped) {
            (true, _) => state = "closed".to_owned(),
            (false, true) => state = format!("{state}, stopped"),
            (false, false) if listed.questions > 0 => state = format!("{state}, asks"),
            (false, false) => {}
        }
        let age = u64::try_from(now().since(row.created_at)).unwrap_or(0);
        Self {
            id,
            state: clip(&state, 32),
            style,
            process: listed.process.phase.word().to_owned(),
            age: view::age(age),
            label: one_line(row.label.as_deref().unwrap_or("")),
            cwd: one_line(&row.cwd),
        }
    }
}

/// Columns as wide as their widest cell; the last one takes what is left.
fn table(face: &Face, lines: &[Line]) -> String {
    let widest = |cell: fn(&Line) -> &str| lines.iter().map(|l| width(cell(l))).max().unwrap_or(0);
    let widths = [
        widest(|l| &l.id),
        widest(|l| &l.state),
        widest(|l| &l.process),
        widest(|l| &l.age),
        widest(|l| &l.label),
    ];
    let pad = |text: &str, to: usize| " ".repeat(to.saturating_sub(width(text)));
    let mut out = String::new();
    for line in lines {
        let cells = [
            (&line.id, Style::Bold),
            (&line.state, line.style),
            (&line.process, Style::Dim),
            (&line.age, Style::Dim),
            (&line.label, Style::Plain),
        ];
        let mut used = 0;
        for ((text, style), to) in cells.into_iter().zip(widths) {
            if to == 0 {
                continue;
            }
            out.push_str(&face.paint.apply(style, text));
            out.push_str(&pad(text, to));
            out.push_str("  ");
            used += to + 2;
        }
        let left = face.columns().saturating_sub(used).max(20);
        out.push_str(&face.paint.apply(Style::Dim, &clip(&line.cwd, left)));
        out.push('\n');
    }
    out
}
