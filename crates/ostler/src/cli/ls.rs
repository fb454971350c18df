//! `ostler ls`.

use super::face::{Face, now};
use super::found;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::json::ListDocument;
use crate::view::{self, Style, clip, one_line, width};
use clap::Args;
use ostler_core::record::State;
use ostler_store::db::{ListFilter, SessionRow};

/// Lists sessions, the newest first.
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
        face.document(&ListDocument::of(&page.rows, more))?;
        return Ok(Exit::Completed);
    }
    if face.quiet {
        face.print(&page.rows.iter().map(|row| format!("{}\n", row.id)).collect::<String>())?;
        return Ok(Exit::Completed);
    }
    let shown: Vec<Line> = page.rows.iter().map(|row| Line::of(row, found::short(&ostler, row.id))).collect();
    face.print(&table(face, &shown))?;
    if shown.is_empty() {
        face.remark("no sessions");
    } else if more {
        face.remark(&format!("there are more; --limit {} shows more", args.limit.saturating_mul(2)));
    }
    Ok(Exit::Completed)
}

struct Line {
    id: String,
    state: String,
    style: Style,
    age: String,
    label: String,
    cwd: String,
}

impl Line {
    fn of(row: &SessionRow, id: String) -> Self {
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
        for (flag, word) in [(record.stopped, "stopped"), (record.closed, "closed")] {
            if flag {
                state = format!("{state}, {word}");
            }
        }
        let age = u64::try_from(now().since(row.created_at)).unwrap_or(0);
        Self {
            id,
            state: clip(&state, 32),
            style,
            age: view::age(age),
            label: one_line(row.label.as_deref().unwrap_or("")),
            cwd: one_line(&row.cwd),
        }
    }
}

/// Columns as wide as their widest cell; the last one takes what is left.
fn table(face: &Face, lines: &[Line]) -> String {
    let widest = |cell: fn(&Line) -> &str| lines.iter().map(|l| width(cell(l))).max().unwrap_or(0);
    let widths = [widest(|l| &l.id), widest(|l| &l.state), widest(|l| &l.age), widest(|l| &l.label)];
    let pad = |text: &str, to: usize| " ".repeat(to.saturating_sub(width(text)));
    let mut out = String::new();
    for line in lines {
        let cells = [
            (&line.id, Style::Bold),
            (&line.state, line.style),
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
